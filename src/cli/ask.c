/*
 * cli/ask.c - shared code of the commands that talk to a daemon.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), clock; libcarrel does the rest.
 */
#include "cli/ask.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "client/record.h"
#include "clock/clock.h"
#include "codec/codec.h"
#include "text/utf8.h"

enum { MINUTE_MS = 60000, HOUR_MS = 3600000 };

/* -- the call ---------------------------------------------------------------------------------- */

const struct option ask_options[] = {
        STATE_OPTION(struct ask, state),
        OPTION_FLAG(struct ask, is_json, "--json", JSON_DOC),
        OPTION_END,
};

const struct operand ask_sandbox[] = { { "ID", VALUE_SANDBOX }, { NULL } };
const struct operand ask_exec[] = { { "ID", VALUE_SANDBOX }, { "EXEC", VALUE_EXEC }, { NULL } };

int
ask_parse(struct ask *a, const struct command *c, int argc, char **argv, void *into,
          struct error *e)
{
        struct words words;
        int result = options_read(c, argc, argv, into, &words, e);

        a->words = words.items;
        a->word_count = words.count;
        return result;
}

/* A call waits for a person: says how to answer, while it goes on waiting. */
static void
print_waits(void *data, const char *approval)
{
        (void)data;
        (void)fputs("carrel: waiting for approval ", stderr);
        print_escaped(stderr, approval, false);
        (void)fputs("; on this machine: carrel approve ", stderr);
        print_escaped(stderr, approval, false);
        (void)fputc('\n', stderr);
}

int
ask_open(struct ask *a)
{
        struct carrel_error e;

        if (carrel_open(a->state, &a->c, &e) < 0)
                return ask_failed(a, NULL, &e);
        carrel_on_approval(a->c, print_waits, NULL);
        return 0;
}

int
ask_close(struct ask *a, int status)
{
        carrel_close(a->c);
        a->c = NULL;
        return status;
}

int
ask_wrong(const struct ask *a, const struct error *e)
{
        return print_failure(NULL, e, a->is_json);
}

int
ask_failed(const struct ask *a, const char *file, const struct carrel_error *e)
{
        struct error own = { .code = error_code_find(e->code),
                             .sys = e->sys,
                             .line = e->line,
                             .column = e->column };

        if (own.code == ERROR_NONE)
                own.code = ERROR_PROTOCOL;
        (void)snprintf(own.path, sizeof own.path, "%s", e->path);
        (void)snprintf(own.reason, sizeof own.reason, "%s", e->reason);
        (void)snprintf(own.message, sizeof own.message, "%s", e->message);
        (void)snprintf(own.hint, sizeof own.hint, "%s", e->hint);
        return print_failure(e->line > 0 ? file : NULL, &own, a->is_json);
}

int
ask_no_sandbox(const struct ask *a, const char *id)
{
        struct carrel_execs *execs = NULL;
        struct carrel_error said;
        struct error e;

        /* carrel_get() only says that it does not exist; this says why */
        if (carrel_exec_list(a->c, id, &execs, &said) < 0 &&
            strcmp(said.code, error_wire_name(ERROR_NOT_FOUND)) == 0)
                return ask_failed(a, NULL, &said);
        carrel_free(execs);
        (void)fail_at(&e, ERROR_NOT_FOUND, "id", NULL, "there is no sandbox %.64s", id);
        return ask_wrong(a, &e);
}

/* -- JSON -------------------------------------------------------------------------------------- */

int
ask_json(enum operation_code op, const void *answer)
{
        struct record r = client_record(answer);
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        codec_write(&w, operation(op), &r, 0);
        json_close_map(&w);
        return json_print(&w, stdout);
}

int
ask_json_existed(int existed)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, api_field(FIELD_EXISTED)->name, existed != 0);
        json_close_map(&w);
        return json_print(&w, stdout);
}

/* -- for people -------------------------------------------------------------------------------- */

static void
print_line(const char *label, const char *text)
{
        if (!text)
                return;
        (void)printf("%-10s ", label);
        print_escaped(stdout, text, false);
        (void)fputc('\n', stdout);
}

bool
ask_has_manifest(const char *directory)
{
        static const char *const names[] = { "SANDBOX.md", "WORKSPACE.md" };
        char path[PATH_MAX + 16];

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
                if (access(path, F_OK) == 0)
                        return true;
        }
        return false;
}

void
print_sandbox_warnings(const struct ask *a, const struct carrel_sandbox *s)
{
        (void)fflush(stdout); /* both streams may be one file: what was printed comes first */
        for (size_t i = 0; i < s->warning_count && !a->is_json; i++) {
                struct warning warning = {
                        s->warnings[i].code, s->warnings[i].path, s->warnings[i].message, 0, 0, NULL
                };

                if (!print_is_remark(warning.name))
                        print_warning(stderr, "carrel", &warning);
        }
}

static void
print_ports(const struct carrel_sandbox *s)
{
        if (s->port_count == 0)
                return;
        (void)printf("%-10s", "ports");
        for (size_t i = 0; i < s->port_count; i++)
                (void)printf(" %u", s->ports[i]);
        (void)fputc('\n', stdout);
}

/* Where /tmp and the home are, and what applies at their limit. */
static void
print_files(const struct carrel_sandbox *s)
{
        if (!s->disk)
                return;
        (void)printf("%-10s ", "files");
        if (s->disk_at) {
                bool is_image = strcmp(s->disk, "image") == 0;

                (void)fputs(is_image ? "on disk, on an image in " : "on disk, in ", stdout);
                print_escaped(stdout, s->disk_at, false);
                (void)printf(is_image ? "; full at %" PRIu64 " MiB\n"
                                      : "; watched: ended above %" PRIu64 " MiB\n",
                             s->disk_mb);
        } else {
                (void)printf("in memory; full at %" PRIu64 " MiB\n", s->disk_mb);
        }
}

static void
print_provider(const struct carrel_sandbox *s)
{
        if (!s->provider)
                return;
        (void)printf("%-10s ", "provider");
        print_escaped(stdout, s->provider, false);
        if (s->tier) {
                (void)fputs(", tier ", stdout);
                print_escaped(stdout, s->tier, false);
        }
        if (s->chosen) {
                (void)fputs("; ", stdout);
                print_escaped(stdout, s->chosen, false);
        }
        (void)fputc('\n', stdout);
}

static void
print_machine(const struct carrel_sandbox *s)
{
        if (!s->machine_start)
                return;
        (void)printf("%-10s ", "machine");
        print_escaped(stdout, s->machine_start, false);
        if (s->machine_why) {
                (void)fputs(": ", stdout);
                print_escaped(stdout, s->machine_why, false);
        }
        (void)fputc('\n', stdout);
}

static void
print_text(const struct carrel_sandbox *s)
{
        char age[SPAN_TEXT], left[SPAN_TEXT];

        print_line("id", s->id);
        print_line("name", s->name);
        print_line("status", s->status);
        print_line("cause", s->cause);
        print_provider(s);
        print_machine(s);
        print_line("image", s->image);
        print_line("runtime", s->runtime);
        print_line("workspace", s->workspace);
        print_files(s);
        print_line("owner", s->owner);
        print_line("age", span_text(span_since(s->created_at_ms), age));
        print_line("left",
                   s->remaining_ms == CARREL_NONE ? "no end" : span_text(s->remaining_ms, left));
        print_line("deleted in", s->delete_at_ms == CARREL_NONE
                                         ? NULL
                                         : span_text(span_until(s->delete_at_ms), left));
        print_ports(s);
        print_line("metadata", s->metadata);
        if (s->is_read_only)
                print_line("read only", "yes: no command may run");
}

int
print_sandbox(const struct ask *a, const struct carrel_sandbox *s)
{
        if (a->is_json)
                return ask_json(OP_GET, s);
        print_text(s);
        return 0;
}

/* " 59 min" after hours, " 5 h" after days; nothing for less than one. */
static void
append_rest(char *out, uint64_t rest_ms, uint64_t unit_ms)
{
        uint64_t unit = unit_ms == HOUR_MS ? MINUTE_MS : HOUR_MS;
        size_t len = strlen(out);

        if (rest_ms >= unit)
                (void)snprintf(out + len, SPAN_TEXT - len, " %" PRIu64 " %s", rest_ms / unit,
                               unit == HOUR_MS ? "h" : "min");
}

const char *
span_text(uint64_t ms, char *out)
{
        static const struct {
                uint64_t below, unit;
                const char *name;
        } rows[] = {
                { 1000, 1, "ms" },
                { 120000, 1000, "s" },
                { 7200000, 60000, "min" },
                { 172800000, 3600000, "h" },
                { UINT64_MAX, 86400000, "d" },
        };
        size_t i = 0;

        while (ms >= rows[i].below && i + 1 < sizeof rows / sizeof *rows)
                i++;
        (void)snprintf(out, SPAN_TEXT, "%" PRIu64 " %s", ms / rows[i].unit, rows[i].name);
        if (rows[i].unit >=
            HOUR_MS) /* "2 h" of 2 h 59 min would hide the hour that `carrel extend` adds */
                append_rest(out, ms % rows[i].unit, rows[i].unit);
        return out;
}

uint64_t
span_since(uint64_t moment_ms)
{
        uint64_t now = clock_wall_ms();

        return now > moment_ms ? now - moment_ms : 0;
}

uint64_t
span_until(uint64_t moment_ms)
{
        uint64_t now = clock_wall_ms();

        return moment_ms > now ? moment_ms - now : 0;
}

/* -- tables ------------------------------------------------------------------------------------ */

/* Columns of a text as print_escaped() shows it: approximate for wide characters. */
static size_t
shown_width(const char *text)
{
        size_t width = 0, left = strlen(text);

        while (left > 0) {
                uint32_t point;
                size_t n = utf8_next(text, left, &point);

                width += point == UTF8_INVALID || point < 0x20 || point == 0x7f ? 4 * n : 1;
                text += n;
                left -= n;
        }
        return width;
}

void
table_row(struct table *t, FILE *out, const char *const *cells, size_t count)
{
        for (size_t i = 0; i < count && i < TABLE_COLUMNS_MAX; i++) {
                size_t width = shown_width(cells[i]);

                if (!out) {
                        if (width > t->widths[i])
                                t->widths[i] = width;
                        continue;
                }
                print_escaped(out, cells[i], false);
                if (i + 1 < count)
                        (void)fprintf(out, "%*s", (int)(t->widths[i] - width + 2), "");
        }
        if (out)
                (void)fputc('\n', out);
}

static void
list_rows(const struct list *l, struct table *t, FILE *out)
{
        table_row(t, out, l->heads, l->columns);
        for (size_t i = 0; i < l->count; i++)
                l->row(t, out, (const char *)l->items + i * l->size);
}

void
list_print(const struct list *l)
{
        struct table t = { .widths = { 0 } };

        if (l->count == 0) {
                (void)puts(l->empty);
                return;
        }
        list_rows(l, &t, NULL);
        list_rows(l, &t, stdout);
}
