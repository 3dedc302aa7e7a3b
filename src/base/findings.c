/*
 * base/findings.c - everything a judge has to say about one input.
 *
 * Room: base (words). Touches: mem.
 */
#include "base/findings.h"

#include <stdio.h>
#include <string.h>

void
findings_init(struct findings *f, struct arena *arena)
{
        *f = (struct findings){ .arena = arena };
        f->errors_end = &f->errors;
        f->warnings_end = &f->warnings;
}

void
findings_add(struct findings *f, const struct error *e)
{
        struct finding *added;

        if (f->error_count++ >= FINDINGS_MAX)
                return;
        added = arena_new(f->arena, struct finding);
        if (!added)
                return;
        added->error = *e;
        *f->errors_end = added;
        f->errors_end = &added->next;
}

/* "memory_mb" accepts "limit_unenforceable:memory_mb". */
static bool
is_accepted(const struct findings *f, const char *name)
{
        const char *tail = strchr(name, ':');

        for (size_t i = 0; i < f->accepted_count; i++)
                if (strcmp(f->accepted[i], name) == 0 ||
                    (tail && strcmp(f->accepted[i], tail + 1) == 0))
                        return true;
        return false;
}

void
findings_warn(struct findings *f, const char *name, const char *path, unsigned line,
              unsigned column, const char *fmt, ...)
{
        struct warning *added;
        char text[512];
        va_list ap;

        if (is_accepted(f, name))
                return;
        added = arena_new(f->arena, struct warning);
        f->warning_count++;
        if (!added)
                return;
        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        added->name = arena_text(f->arena, name);
        added->path = arena_text(f->arena, path ? path : "");
        added->message = arena_text(f->arena, text);
        if (!added->name || !added->path || !added->message)
                return;
        added->line = line;
        added->column = column;
        *f->warnings_end = added;
        f->warnings_end = &added->next;
}

int
findings_verdict(const struct findings *f, struct error *e)
{
        if (f->error_count == 0)
                return 0;
        if (f->errors)
                *e = f->errors->error;
        else
                (void)fail(e, ERROR_NO_MEMORY,
                           "the input has errors, and there was no memory to keep them");
        return -1;
}
