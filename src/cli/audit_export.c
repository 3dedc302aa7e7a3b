/*
 * cli/audit_export.c - `carrel audit export`.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the audit log, files that are
 * named.
 */
#include "cli/audit_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/export.h"
#include "policy/grant.h"
#include "ref/file.h"

enum { SECRET_MAX = 4096 };

/* One end of a range: a number, or a time in the form of entries. */
struct bound {
        bool is_given, is_time;
        uint64_t seq;
        char time[AUDIT_TIME_TEXT];
};

struct exporting {
        struct bound from, to;
        audit_export_fn *write; /* NULL: the entries as they are */
        struct audit_export x;
        bool has_begun;
        struct error e;
};

/* -- the range --------------------------------------------------------------------------------- */

/* Milliseconds of ".25" in a time that was read already; further digits are dropped. */
static uint64_t
fraction_ms(const char *text)
{
        const char *point = strchr(text, '.');
        uint64_t ms = 0;

        for (size_t i = 1, is_over = !point; i <= 3; i++) {
                is_over = is_over || point[i] < '0' || point[i] > '9';
                ms = ms * 10 + (is_over ? 0 : (uint64_t)(point[i] - '0'));
        }
        return ms;
}

static int
bound_read(const char *option, const char *text, struct bound *ret, struct error *e)
{
        int64_t seconds;

        if (!text)
                return 0;
        ret->is_given = true;
        errno = 0;
        ret->seq = strtoull(text, NULL, 10);
        if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0' && errno == 0)
                return 0;
        if (grant_time_read(text, &seconds) == 0 && seconds >= 0) {
                ret->is_time = true;
                audit_time_text((uint64_t)seconds * 1000 + fraction_ms(text), ret->time);
                return 0;
        }
        (void)fail(e, ERROR_INVALID_ARGUMENT,
                   "%s must be the number of an entry or a time of RFC 3339, not \"%.100s\"",
                   option, text);
        error_hint(e, "For example: %s 12, or %s 2026-01-31T08:00:00Z", option, option);
        return -1;
}

static bool
is_before(const struct audit_entry *entry, const struct bound *from)
{
        return from->is_time ? strcmp(entry->time, from->time) < 0 : entry->seq < from->seq;
}

static bool
is_behind(const struct audit_entry *entry, const struct bound *to)
{
        return to->is_given &&
               (to->is_time ? strcmp(entry->time, to->time) > 0 : entry->seq > to->seq);
}

static int
range_read(const struct audit_export_request *r, struct exporting *x, struct error *e)
{
        const struct bound *from = &x->from, *to = &x->to;

        if (bound_read("--from", r->from, &x->from, e) < 0 ||
            bound_read("--to", r->to, &x->to, e) < 0)
                return -1;
        if (from->is_given && to->is_given && from->is_time == to->is_time &&
            (to->is_time ? strcmp(to->time, from->time) < 0 : to->seq < from->seq)) {
                (void)fail(e, ERROR_INVALID_ARGUMENT, "--to %.60s is before --from %.60s", r->to,
                           r->from);
                error_hint(e, "carrel audit export --from %.60s --to %.60s", r->to, r->from);
                return -1;
        }
        return 0;
}

/* -- the rows ---------------------------------------------------------------------------------- */

static void
say_beginning(const struct audit_entry *entry)
{
        if (entry->seq > 0)
                (void)fprintf(
                        stderr,
                        "carrel: the export begins with entry %" PRIu64
                        ", in the middle of the chain: nothing in it shows what came before\n",
                        entry->seq);
}

static bool
export_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct exporting *x = ctx;
        struct buffer row = { 0 };

        if (is_before(entry, &x->from))
                return true;
        if (is_behind(entry, &x->to))
                return false;
        if (!x->has_begun)
                say_beginning(entry);
        x->has_begun = true;
        if (!x->write) {
                (void)fwrite(line, 1, len, stdout);
                (void)fputc('\n', stdout);
        } else if (x->write(&x->x, entry, &row, &x->e) == 0) {
                (void)fwrite(row.bytes, 1, row.len, stdout);
        }
        buffer_fini(&row);
        return x->e.code == ERROR_NONE && ferror(stdout) == 0;
}

static int
read_secret(struct arena *arena, const struct audit_export_request *r, struct exporting *x,
            struct error *e)
{
        const char *secret;
        size_t len;

        if (!r->secret) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "--form %s signs each row, and needs --secret FILE", r->form);
                error_hint(e, "The file holds the secret that the other program verifies with.");
                return -1;
        }
        if (ref_file_read(arena, r->secret, SECRET_MAX, NULL, &secret, &len, e) < 0)
                return -1;
        while (len > 0 && (secret[len - 1] == '\n' || secret[len - 1] == '\r'))
                len--;
        if (len == 0)
                return fail(e, ERROR_INVALID_ARGUMENT, "the file %s is empty", r->secret);
        audit_export_init(&x->x, (const unsigned char *)secret, len);
        return 0;
}

int
audit_export_print(struct audit_log *log, struct arena *arena, const struct audit_export_request *r,
                   struct error *e)
{
        struct exporting x = { .write = NULL };

        if (range_read(r, &x, e) < 0)
                return -1;
        if (r->form && strcmp(r->form, "agentskit") == 0)
                x.write = audit_export_agentskit;
        else if (r->form && strcmp(r->form, "agentgovernance") == 0)
                x.write = audit_export_row;
        if (x.write && read_secret(arena, r, &x, e) < 0)
                return -1;
        if (audit_log_read(log, x.from.is_time ? 0 : x.from.seq, export_entry, &x, e) < 0)
                return -1;
        if (!x.has_begun)
                (void)fputs("carrel: no entry is in this range\n", stderr);
        *e = x.e;
        return x.e.code == ERROR_NONE ? 0 : -1;
}
