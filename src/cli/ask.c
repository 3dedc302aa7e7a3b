/*
 * cli/ask.c - shared code of the commands that talk to a daemon.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), clock; libcarrel does the rest.
 */
#include "cli/ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/ending.h"
#include "base/arena.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/finding_print.h"
#include "cli/left.h"
#include "clock/clock.h"
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

int
ask_open(struct ask *a)
{
        struct carrel_error e;

        return carrel_open(a->state, &a->c, &e) < 0 ? ask_failed(a, NULL, &e) : 0;
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

static void
member_uint(struct json_writer *w, const char *key, uint64_t value)
{
        json_key(w, key);
        json_uint(w, value);
}

static void
member_optional(struct json_writer *w, const char *key, const char *text)
{
        if (text)
                json_member_text(w, key, text);
}

/* The caller's own JSON, parsed only to print it again. */
static void
member_metadata(struct json_writer *w, const char *text)
{
        const struct node *root;
        struct arena arena;
        struct error e;

        if (!text)
                return;
        arena_init(&arena, 16 << 20);
        json_key(w, "metadata");
        if (json_read(&arena, text, strlen(text), &text_limits_manifest, &root, &e) == 0)
                json_node(w, root);
        else
                json_text(w, text);
        arena_fini(&arena);
}

static void
json_warnings(struct json_writer *w, const struct carrel_sandbox *s)
{
        json_key(w, "warnings");
        json_open_list(w);
        for (size_t i = 0; i < s->warning_count; i++) {
                json_open_map(w);
                json_member_text(w, "code", s->warnings[i].code);
                json_member_text(w, "at", s->warnings[i].path);
                json_member_text(w, "message", s->warnings[i].message);
                if (s->warnings[i].line > 0) {
                        member_uint(w, "line", s->warnings[i].line);
                        member_uint(w, "column", s->warnings[i].column);
                }
                json_close_map(w);
        }
        json_close_list(w);
}

void
json_sandbox(struct json_writer *w, const struct carrel_sandbox *s)
{
        json_open_map(w);
        json_member_text(w, "id", s->id);
        member_optional(w, "name", s->name);
        json_member_text(w, "status", s->status);
        member_uint(w, "created_at_ms", s->created_at_ms);
        if (s->remaining_ms != CARREL_NONE)
                member_uint(w, "timeout_ms", s->remaining_ms);
        if (s->delete_at_ms != CARREL_NONE)
                member_uint(w, "delete_at_ms", s->delete_at_ms);
        member_optional(w, "owner", s->owner);
        member_optional(w, "provider", s->provider);
        member_optional(w, "runtime", s->runtime);
        member_optional(w, "workspace", s->workspace);
        member_optional(w, "disk", s->disk);
        member_optional(w, "disk_at", s->disk_at);
        if (s->disk_mb > 0)
                member_uint(w, "disk_mb", s->disk_mb);
        member_optional(w, "cause", s->cause);
        json_key(w, "ports");
        json_open_list(w);
        for (size_t i = 0; i < s->port_count; i++)
                json_uint(w, s->ports[i]);
        json_close_list(w);
        json_member_bool(w, "read_only", s->is_read_only != 0);
        member_metadata(w, s->metadata);
        json_warnings(w, s);
        left_write_all(w, &s->left);
        json_close_map(w);
}

void
json_denials(struct json_writer *w, const char *name, const struct carrel_denials *all)
{
        json_key(w, name);
        json_open_list(w);
        for (size_t i = 0; i < all->count; i++) {
                const struct carrel_denial *d = &all->items[i];

                json_open_map(w);
                if (d->at_ms != 0)
                        json_member_int(w, "at_ms", (int64_t)d->at_ms);
                if (d->exec != 0)
                        json_member_int(w, "exec", d->exec);
                member_optional(w, "reason", d->reason);
                member_optional(w, "host", d->host);
                if (d->port != 0)
                        json_member_int(w, "port", d->port);
                member_optional(w, "address", d->address);
                member_optional(w, "said", d->said);
                json_member_int(w, "count", d->count);
                member_optional(w, "message", d->message);
                json_close_map(w);
        }
        json_close_list(w);
}

void
json_exec(struct json_writer *w, const struct carrel_exec_info *x)
{
        struct outcome o = ending_of_carrel(&x->end);

        json_open_map(w);
        member_uint(w, "exec", x->exec);
        member_optional(w, "command", x->command);
        json_member_text(w, "state", x->state);
        if (x->pid > 0)
                json_member_int(w, "pid", x->pid);
        member_optional(w, "task", x->task);
        json_member_bool(w, "background", x->is_background != 0);
        member_uint(w, "started_at_ms", x->started_at_ms);
        if (x->timeout_ms > 0) {
                member_uint(w, "timeout_ms", x->timeout_ms);
                member_optional(w, "timeout_by", x->timeout_by);
        }
        if (x->has_end)
                ending_write(w, &o);
        else
                ending_write_bytes(w, &o);
        json_close_map(w);
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

void
print_sandbox_warnings(const struct ask *a, const struct carrel_sandbox *s)
{
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
print_text(const struct carrel_sandbox *s)
{
        char age[SPAN_TEXT], left[SPAN_TEXT];

        print_line("id", s->id);
        print_line("name", s->name);
        print_line("status", s->status);
        print_line("cause", s->cause);
        print_line("provider", s->provider);
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
        struct json_writer w;

        if (!a->is_json) {
                print_text(s);
                return 0;
        }
        json_init(&w, true);
        json_sandbox(&w, s);
        return json_print(&w, stdout);
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

static int
list_json(const struct list *l)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "items");
        json_open_list(&w);
        for (size_t i = 0; i < l->count; i++)
                l->json(&w, (const char *)l->items + i * l->size);
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
}

int
list_print(const struct list *l, bool is_json)
{
        struct table t = { .widths = { 0 } };

        if (is_json)
                return list_json(l);
        if (l->count == 0) {
                (void)puts(l->empty);
                return 0;
        }
        list_rows(l, &t, NULL);
        list_rows(l, &t, stdout);
        return 0;
}
