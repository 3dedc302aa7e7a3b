/*
 * cli/run_facts.c - what a command did, as entries of the audit log of `carrel run --audit`.
 *
 * Room: cli (joining, program). Touches: the recorder's socket, clock.
 * Theory: events of a kind are collected and written together, when there are FLUSH_LEN bytes of
 * them, or after FLUSH_MS when the next one arrives, and at the end of the command. If an entry
 * cannot be written, the run ends with that error.
 */
#include "cli/run_facts.h"

#include <stdio.h>
#include <string.h>

#include "api/event_record.h"
#include "clock/clock.h"
#include "event/event.h"

enum { FLUSH_LEN = 32 * 1024, FLUSH_MS = 1000 };

/* One run has one command at a time. */
static struct {
        int (*record)(const char *action, struct json_writer *output, struct error *e);
        struct json_writer kinds[EVENT_KINDS]; /* the list of events; its text is NULL if empty */
        uint64_t due_ms;
        struct error error; /* the first */
        bool has_failed;
} now;

static void
flush_kind(enum event_kind kind)
{
        struct json_writer *list = &now.kinds[kind], output;
        char action[EVENT_ACTION_ROOM];
        struct error e;

        if (!list->text)
                return;
        event_action(kind, action);
        json_close_list(list);
        json_init(&output, false);
        json_open_map(&output);
        json_key(&output, "events");
        json_raw(&output, list->text, list->len);
        json_close_map(&output);
        output.is_broken |= list->is_broken;
        json_fini(list);
        *list = (struct json_writer){ .text = NULL };
        if (now.record(action, &output, &e) < 0 && !now.has_failed) {
                now.error = e;
                now.has_failed = true;
        }
}

static void
flush(void)
{
        for (size_t i = 0; i < EVENT_KINDS; i++)
                flush_kind((enum event_kind)i);
        now.due_ms = clock_boot_ms() + FLUSH_MS;
}

static void
hear(const struct event *e)
{
        struct json_writer *list = &now.kinds[e->kind];

        if ((event_row(e->kind)->readers & EVENT_AUDITED) == 0)
                return;
        if (!list->text) {
                json_init(list, false);
                json_open_list(list);
        }
        json_open_map(list);
        event_audit_json(list, e);
        json_close_map(list);
        if (list->len >= FLUSH_LEN)
                flush_kind(e->kind);
        if (clock_boot_ms() >= now.due_ms)
                flush();
}

void
run_facts_begin(struct run_options *options,
                int (*record)(const char *action, struct json_writer *output, struct error *e))
{
        now.record = record;
        now.due_ms = clock_boot_ms() + FLUSH_MS;
        options->fact = hear;
}

int
run_facts_end(struct error *e)
{
        flush();
        if (now.has_failed)
                *e = now.error;
        return now.has_failed ? -1 : 0;
}
