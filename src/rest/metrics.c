/*
 * rest/metrics.c - the counts of the daemon in the text format of Prometheus.
 *
 * Room: rest (joining). Touches: mem.
 * Theory: the keeper answers a record, and a row of the table below says which of its fields is
 * which metric. A field that is absent writes no sample, and a metric without a sample no head.
 * Source: Prometheus, exposition formats, text format 0.0.4.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "loop/deferred.h"
#include "rest/ask.h"
#include "rest/rest.h"

enum { PAGE_MAX = 1 << 20, LINE_ROOM = 512, MS_IN_S = 1000 };

#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metric {
        const char *name, *type, *help;
        uint16_t tag;      /* the value; 0: always 1 */
        uint16_t each;     /* one sample for each such record; 0: one in all */
        const char *label; /* NULL: none */
        uint16_t labelled;
        const char *unlabelled; /* value of the label if its field is absent */
        const char *direction;  /* value of a further label; NULL: none */
        int is_ms;              /* the field has milliseconds, the metric seconds */
};

#define OWNER .each = FIELD_OWNERS, .label = "owner", .labelled = FIELD_OWNER
#define EGRESS "carrel_usage_egress_bytes_total"
#define EGRESS_HELP "Bytes of ended connections out of sandboxes, by owner and direction."

/* Rows of one name are in sequence. */
static const struct metric metrics[] = {
        { "carrel_build_info", "gauge", "Version of the daemon.", 0, .label = "version",
          .labelled = FIELD_VERSION },
        { "carrel_sandboxes", "gauge", "Sandboxes that have an owner, by state.", FIELD_COUNT,
          .each = FIELD_STATES, .label = "state", .labelled = FIELD_STATUS },
        { "carrel_sandboxes_created_total", "counter",
          "Sandboxes that were created since the daemon started.", FIELD_CREATED },
        { "carrel_execs_started_total", "counter",
          "Commands that were started since the daemon started.", FIELD_EXECS },
        { "carrel_execs_ended_total", "counter",
          "Commands that ended since the daemon started, by outcome.", FIELD_COUNT,
          .each = FIELD_OUTCOMES, .label = "outcome", .labelled = FIELD_OUTCOME,
          .unlabelled = "not_started" },
        { "carrel_usage_cpu_seconds_total", "counter", "CPU time of sandboxes, by owner.",
          FIELD_CPU, OWNER, .is_ms = 1 },
        { "carrel_usage_wall_seconds_total", "counter",
          "Time that sandboxes ran, without pauses, by owner.", FIELD_WALL, OWNER, .is_ms = 1 },
        { "carrel_usage_memory_byte_seconds_total", "counter",
          "Memory in use by sandboxes, summed over time, by owner.", FIELD_MEMORY_TIME, OWNER },
        { "carrel_usage_storage_byte_seconds_total", "counter",
          "What sandboxes hold on disks, and their volumes, summed over time, by owner.",
          FIELD_STORAGE_TIME, OWNER },
        { "carrel_usage_output_bytes_total", "counter",
          "Bytes that commands wrote to standard output and standard error, by owner.",
          FIELD_OUTPUT_TOTAL, OWNER },
        { EGRESS, "counter", EGRESS_HELP, FIELD_BYTES_OUT, OWNER, .direction = "out" },
        { EGRESS, "counter", EGRESS_HELP, FIELD_BYTES_IN, OWNER, .direction = "in" },
        { "carrel_egress_day_bytes", "gauge",
          "Bytes that max-egress-bytes-per-day counts today, by owner.", FIELD_DAY_BYTES, OWNER },
        { "carrel_approvals_waiting", "gauge", "Requests for approval that wait for an answer.",
          FIELD_APPROVALS },
        { "carrel_pool_ready", "gauge", "Sandboxes of the pool that are ready.", FIELD_POOL },
};

/* -- the text ---------------------------------------------------------------------------------- */

struct page {
        struct buffer text;
        const char *name; /* the last whose head was written; NULL: none */
        int is_broken;
};

static void
add(struct page *p, const char *text, size_t len)
{
        p->is_broken |= buffer_add(&p->text, text, len, PAGE_MAX) < 0;
}

static void __attribute__((format(printf, 2, 3))) say(struct page *p, const char *fmt, ...)
{
        char line[LINE_ROOM];
        va_list ap;
        int len;

        va_start(ap, fmt);
        len = vsnprintf(line, sizeof line, fmt, ap);
        va_end(ap);
        if (len < 0 || (size_t)len >= sizeof line)
                p->is_broken = 1;
        else
                add(p, line, (size_t)len);
}

/* The three characters that a label value escapes. */
static void
add_label(struct page *p, const char *name, const char *value)
{
        say(p, "%s=\"", name);
        for (const char *c = value; *c != '\0'; c++) {
                if (*c == '\n')
                        add(p, "\\n", 2);
                else if (*c == '\\' || *c == '"')
                        add(p, (const char[]){ '\\', *c }, 2);
                else
                        add(p, c, 1);
        }
        add(p, "\"", 1);
}

static void
add_head(struct page *p, const struct metric *m)
{
        if (p->name && strcmp(p->name, m->name) == 0)
                return;
        p->name = m->name;
        say(p, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
}

static void
add_labels(struct page *p, const struct metric *m, const struct record *r)
{
        const char *value = record_get_text(r, m->labelled, m->unlabelled);

        add(p, "{", 1);
        add_label(p, m->label, value ? value : "");
        if (m->direction) {
                add(p, ",", 1);
                add_label(p, "direction", m->direction);
        }
        add(p, "}", 1);
}

static void
add_sample(struct page *p, const struct metric *m, const struct record *r)
{
        struct record_entry entry;
        uint64_t value = m->tag ? record_get_uint(r, m->tag, 0) : 1;

        if (m->tag && !record_find(r, m->tag, &entry))
                return;
        add_head(p, m);
        say(p, "%s", m->name);
        if (m->label)
                add_labels(p, m, r);
        if (m->is_ms)
                say(p, " %" PRIu64 ".%03" PRIu64 "\n", value / MS_IN_S, value % MS_IN_S);
        else
                say(p, " %" PRIu64 "\n", value);
}

static void
add_metric(struct page *p, const struct metric *m, const struct record *answer)
{
        struct record_entry entry;
        size_t at = 0;

        if (!m->each)
                add_sample(p, m, answer);
        while (m->each && record_next(answer, &at, &entry) > 0)
                if (entry.tag == m->each)
                        add_sample(p, m, &(struct record){ entry.value, entry.len });
}

/* -- the answer -------------------------------------------------------------------------------- */

struct scrape {
        struct link_call call; /* must be first */
        struct exchange *x;
};

static void
end(struct scrape *s)
{
        link_call_end(&s->call);
        deferred_free(s);
}

static void
on_refused(struct link_call *c, const struct error *e)
{
        struct scrape *s = (struct scrape *)(void *)c;

        exchange_fail(s->x, e);
        end(s);
}

static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        struct scrape *s = (struct scrape *)(void *)c;
        struct page page = { .is_broken = 0 };

        (void)is_last; /* its answer has one part */
        for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
                add_metric(&page, &metrics[i], fields);
        if (page.is_broken)
                exchange_no_memory(s->x);
        else
                exchange_answer(s->x, 200, CONTENT_TYPE, page.text.bytes, page.text.len);
        buffer_fini(&page.text);
        end(s);
}

static const struct exchange_hooks answered_anyway = { 0 };

static void
scrape(struct exchange *x, const struct route *r)
{
        static const struct link_call_ops ops = { .reply = on_reply, .refused = on_refused };
        struct scrape *s = deferred_make(x->loop, struct scrape);
        struct error e;

        if (!s) {
                exchange_no_memory(x);
                return;
        }
        s->call.ops = &ops;
        s->x = x;
        exchange_hold(x, &answered_anyway, s);
        if (ask(x, r, r->operation, NULL, &s->call, &e) < 0) {
                exchange_fail(x, &e);
                deferred_free(s);
        }
}

void
rest_metrics(struct exchange *x, const struct route *r)
{
        if (exchange_accepts(x, "application/json"))
                rest_call(x, r);
        else
                scrape(x, r);
}
