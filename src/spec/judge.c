/*
 * spec/judge.c - the state that section readers share while they judge a block.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows how a place becomes a path and a fault becomes a finding. Knows nothing of fields.
 */
#include "spec/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spec/credential.h"

enum { QUOTE_MAX = 48 };

static size_t
trail_add(const struct trail *at, char *text, size_t len)
{
        size_t used;
        int wrote;

        if (!at)
                return 0;
        used = trail_add(at->up, text, len);
        if (used >= len)
                return len;
        if (!at->key)
                wrote = snprintf(text + used, len - used, "%s%zu", used ? "/" : "", at->index);
        else
                wrote = snprintf(text + used, len - used, "%s%s", used ? "/" : "",
                                 credential_shape_find(at->key) ? "(hidden)" : at->key);
        return wrote < 0 ? used : used + (size_t)wrote;
}

void
trail_write(const struct trail *at, char *text, size_t len)
{
        text[0] = '\0';
        (void)trail_add(at, text, len);
}

static bool
is_reported(const struct judge *j, const char *path)
{
        for (const struct finding *f = j->findings->errors; f; f = f->next)
                if (f->error.code == ERROR_PLAINTEXT_CREDENTIAL && strcmp(f->error.path, path) == 0)
                        return true;
        return false;
}

__attribute__((format(printf, 8, 0))) static void
add(struct judge *j, unsigned line, unsigned column, const struct trail *at, enum error_code code,
    const char *reason, const char *hint, const char *fmt, va_list ap)
{
        struct error e;
        char path[sizeof e.path], sentence[sizeof e.message];

        trail_write(at, path, sizeof path);
        if (is_reported(j, path))
                return;
        (void)vsnprintf(sentence, sizeof sentence, fmt, ap);
        (void)fail_at(&e, code, path, reason, "%s", sentence);
        e.line = line;
        e.column = column;
        if (hint)
                error_hint(&e, "%s", hint);
        findings_add(j->findings, &e);
}

void
judge_error(struct judge *j, const struct node *where, const struct trail *at, enum error_code code,
            const char *reason, const char *hint, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        add(j, where ? where->line : 0, where ? where->column : 0, at, code, reason, hint, fmt, ap);
        va_end(ap);
}

void
judge_error_key(struct judge *j, const struct node *where, const struct trail *at,
                enum error_code code, const char *reason, const char *hint, const char *fmt, ...)
{
        va_list ap;

        va_start(ap, fmt);
        add(j, where->key_line, where->key_column, at, code, reason, hint, fmt, ap);
        va_end(ap);
}

void
judge_warn(struct judge *j, const struct node *where, const struct trail *at, const char *name,
           const char *fmt, ...)
{
        bool has_key = where && where->key;
        unsigned line = has_key ? where->key_line : where ? where->line : 0;
        unsigned column = has_key ? where->key_column : where ? where->column : 0;
        char path[256], sentence[512];
        va_list ap;

        trail_write(at, path, sizeof path);
        va_start(ap, fmt);
        (void)vsnprintf(sentence, sizeof sentence, fmt, ap);
        va_end(ap);
        findings_warn(j->findings, name, path, line, column, "%s", sentence);
}

const char *
judge_quote(struct judge *j, const char *text)
{
        size_t len = strlen(text);
        bool is_cut = len > QUOTE_MAX;
        char *copy;

        if (credential_shape_find(text))
                return "(hidden)";
        copy = arena_format(j->arena, "%.*s%s", (int)(is_cut ? QUOTE_MAX : len), text,
                            is_cut ? "..." : "");
        if (!copy)
                return "(no memory)";
        for (char *c = copy; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        *c = '?';
        return copy;
}
