/*
 * cli/finding_print.c - prints errors and warnings, for people and for programs.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the environment (NO_COLOR, TERM).
 * Theory: bytes are decoded as UTF-8 once, here. Anything that is not a plain character is written
 * as an escape, so that nothing in a manifest, a name or a path can move the cursor, change colours
 * or change the text direction (P14, E05).
 */
#include "cli/finding_print.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "outcome/outcome.h"
#include "text/utf8.h"

static const char red[] = "\033[1;31m", yellow[] = "\033[1;33m", dim[] = "\033[2m",
                  plain[] = "\033[0m";

bool
print_wants_colour(FILE *out)
{
        const char *term = getenv("TERM");

        return !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0 && isatty(fileno(out));
}

/* Length of the UTF-8 sequence at `at` (NUL-terminated), its value in *ret; 0 if invalid. */
static size_t
decode(const unsigned char *at, uint32_t *ret)
{
        size_t len = at[0] < 0x80                    ? 1
                     : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                     : at[0] >= 0xe0                 ? 3
                     : at[0] >= 0xc2                 ? 2
                                                     : 0;
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        uint32_t value = len == 1 ? at[0] : len == 0 ? 0 : at[0] & (0xffu >> (len + 1));

        if (len == 0 || at[0] >= 0xf5)
                return 0;
        for (size_t i = 1; i < len; i++) {
                if ((at[i] & 0xc0) != 0x80)
                        return 0;
                value = value << 6 | (at[i] & 0x3fu);
        }
        if (value < least[len] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
                return 0;
        *ret = value;
        return len;
}

void
print_escaped(FILE *out, const char *text, bool keeps_lines)
{
        const unsigned char *at = (const unsigned char *)text;

        while (*at != '\0') {
                uint32_t c = 0;
                size_t len = decode(at, &c);

                if (*at == '\n' && keeps_lines)
                        (void)fputc('\n', out);
                else if (*at == '\n')
                        (void)fputs("\\n", out);
                else if (len == 0 || (len == 1 && utf8_is_hidden(c)))
                        (void)fprintf(out, "\\x%02x", *at);
                else if (utf8_is_hidden(c))
                        (void)fprintf(out, "\\u{%04x}", c);
                else
                        (void)fwrite(at, 1, len, out);
                at += len > 0 ? len : 1;
        }
}

static void
print_place(FILE *out, const char *file, unsigned line, unsigned column)
{
        if (!file)
                return;
        print_escaped(out, file, false);
        if (line > 0)
                (void)fprintf(out, ":%u:%u", line, column);
        (void)fputs(": ", out);
}

static void
print_label(FILE *out, const char *colour, const char *label)
{
        bool is_coloured = print_wants_colour(out);

        (void)fprintf(out, "%s%s:%s ", is_coloured ? colour : "", label, is_coloured ? plain : "");
}

/* "    code · at PATH (reason)" */
static void
print_facts(FILE *out, const char *code, const char *path, const char *reason)
{
        bool is_coloured = print_wants_colour(out);

        (void)fprintf(out, "    %s", is_coloured ? dim : "");
        print_escaped(out, code, false);
        if (*reason) {
                (void)fputs(", ", out);
                print_escaped(out, reason, false);
        }
        if (*path) {
                (void)fputs(", at ", out);
                print_escaped(out, path, false);
        }
        (void)fprintf(out, "%s\n", is_coloured ? plain : "");
}

void
print_error(FILE *out, const char *file, const struct error *e)
{
        print_place(out, file, e->line, e->column);
        print_label(out, red, "error");
        print_escaped(out, e->message, false);
        (void)fputc('\n', out);
        print_facts(out, error_wire_name(e->code), e->path, e->reason);
        (void)fputs("    Next: ", out);
        print_escaped(out, error_hint_text(e), true);
        (void)fputc('\n', out);
}

void
print_warning(FILE *out, const char *file, const struct warning *w)
{
        print_place(out, file, w->line, w->column);
        print_label(out, yellow, print_is_remark(w->name) ? "note" : "warning");
        print_escaped(out, w->message, false);
        (void)fputc('\n', out);
        print_facts(out, w->name, w->path, "");
}

/*
 * Remarks on spelling and form, and reminders of a field's meaning: they do not change the result.
 */
static const char *const remarks[] = {
        "standalone_field_missing", "standalone_field_inline", "alias_spelling", "bare_block",
        "policy_shorthand",         "metadata_not_namespaced", "mount_uncapped"
};

bool
print_is_remark(const char *name)
{
        for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
                if (strcmp(remarks[i], name) == 0)
                        return true;
        return false;
}

void
print_run_warnings(FILE *out, const char *file, const struct findings *findings)
{
        for (const struct warning *w = findings->warnings; w; w = w->next)
                if (!print_is_remark(w->name))
                        print_warning(out, file, w);
}

void
print_more_errors(FILE *out, const char *file, const struct findings *findings)
{
        if (findings->error_count < 2)
                return;
        (void)fprintf(out, "    And %zu more: `carrel check ", findings->error_count - 1);
        print_escaped(out, file ? file : "", false);
        (void)fputs("` shows them all.\n", out);
}

void
print_limits_reached(unsigned reached)
{
        const struct outcome_limit_words *l;

        for (size_t i = 0; (l = outcome_limit_at(i)) != NULL; i++)
                if ((reached & l->limit & ~(unsigned)OUTCOME_OUTER_TIME) != 0)
                        (void)fprintf(stderr, "carrel: %s. %s\n", l->sentence, l->hint);
}

void
print_findings(FILE *out, const char *file, const struct findings *findings)
{
        for (const struct finding *f = findings->errors; f; f = f->next)
                print_error(out, file, &f->error);
        for (const struct warning *w = findings->warnings; w; w = w->next)
                print_warning(out, file, w);
}

static void
json_place(struct json_writer *w, const char *key, unsigned value)
{
        json_key(w, key);
        if (value > 0)
                json_uint(w, value);
        else
                json_text(w, NULL);
}

void
json_error(struct json_writer *w, const struct error *e)
{
        json_open_map(w);
        json_member_text(w, "code", error_wire_name(e->code));
        json_member_text(w, "path", e->path);
        json_place(w, "line", e->line);
        json_place(w, "column", e->column);
        json_member_text(w, "reason", e->reason);
        json_member_text(w, "message", e->message);
        json_member_text(w, "hint", error_hint_text(e));
        json_close_map(w);
}

static void
json_warning(struct json_writer *w, const struct warning *warning)
{
        json_open_map(w);
        json_member_text(w, "name", warning->name);
        json_member_text(w, "path", warning->path);
        json_place(w, "line", warning->line);
        json_place(w, "column", warning->column);
        json_member_text(w, "message", warning->message);
        json_close_map(w);
}

void
json_findings(struct json_writer *w, const struct findings *findings)
{
        json_key(w, "errors");
        json_open_list(w);
        for (const struct finding *f = findings->errors; f; f = f->next)
                json_error(w, &f->error);
        json_close_list(w);
        json_key(w, "warnings");
        json_open_list(w);
        for (const struct warning *warning = findings->warnings; warning; warning = warning->next)
                json_warning(w, warning);
        json_close_list(w);
}

int
print_unwritten(int sys)
{
        (void)fprintf(stderr,
                      "carrel: standard output could not be written%s%s\nNext: free some disk "
                      "space, or write elsewhere.\n",
                      sys != 0 ? ": " : "", sys != 0 ? strerror(sys) : "");
        return 125;
}

int
json_print(struct json_writer *w, FILE *out)
{
        int status = 0;

        if (w->is_broken || !w->text || fprintf(out, "%s\n", w->text) < 0 || fflush(out) != 0)
                status = 125;
        json_fini(w);
        return status;
}

int
print_failure(const char *file, const struct error *e, bool is_json)
{
        struct json_writer w;

        if (!is_json) {
                print_error(stderr, file ? file : "carrel", e);
                return error_exit_status(e->code);
        }
        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "error");
        json_error(&w, e);
        json_close_map(&w);
        (void)json_print(&w, stdout);
        return error_exit_status(e->code);
}
