/*
 * cli/approvals.c - `carrel approvals`, `carrel approve`, `carrel deny`: operations that wait for a
 * person.
 *
 * Room: cli (joining, program). Touches: fd (standard streams); libcarrel does the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "client/record.h"
#include "codec/codec.h"
#include "event/event.h"

static bool
waits(const struct carrel_approval *a)
{
        return strcmp(a->state, "requested") == 0;
}

/* -- printing ---------------------------------------------------------------------------------- */

static void
print_text(const char *before, const char *text)
{
        (void)fputs(before, stdout);
        print_escaped(stdout, text, false);
}

static void
print_state(const struct carrel_approval *a)
{
        char span[SPAN_TEXT];

        if (waits(a)) {
                (void)printf("; %s left", span_text(span_until(a->expires_at_ms), span));
                return;
        }
        print_text("; ", a->state);
        if (a->answered_by)
                print_text(" by ", a->answered_by);
        if (a->reason)
                print_text(": ", a->reason);
}

static void
print_one(const struct carrel_approval *a)
{
        char span[SPAN_TEXT];

        print_text("", a->id);
        print_text("  ", a->operation);
        print_text(" in ", a->name ? a->name : a->sandbox);
        print_text(", asked by ", a->asked_by);
        (void)printf(", %s ago", span_text(span_since(a->at_ms), span));
        print_state(a);
        (void)fputc('\n', stdout);
        for (size_t i = 0; i < a->bound_count && waits(a); i++) {
                print_text("    ", a->bound[i]);
                (void)fputc('\n', stdout);
        }
        for (size_t i = 0; i < a->approval_from_count && waits(a); i++) {
                print_text("    approval from: ", a->approval_from[i]);
                (void)fputc('\n', stdout);
        }
        if (waits(a) && a->answered_by) {
                print_text("    approved so far by: ", a->answered_by);
                (void)fputc('\n', stdout);
        }
        if (waits(a)) {
                print_text("    sha256: ", a->digest);
                print_text("\n    To answer: carrel approve ", a->id);
                print_text("    or: carrel deny ", a->id);
                (void)fputc('\n', stdout);
        }
}

struct listing {
        struct ask ask;
        bool follows, has_all;
};

static bool
is_waiting_item(const struct record_entry *entry)
{
        struct record item = { entry->value, entry->len };

        return entry->type != RECORD_NESTED ||
               strcmp(record_get_text(&item, FIELD_STATE, ""), "requested") == 0;
}

/* The members of REST; without --all only what waits, as in the list for people. */
static int
print_json(const struct listing *l, const struct carrel_approvals *all)
{
        struct record r = client_record(all), shown;
        struct record_writer w;
        struct record_entry entry;
        struct json_writer json;
        unsigned char *bytes = malloc(r.len + 1);
        size_t at = 0;

        if (!bytes)
                return 125;
        record_init(&w, bytes, r.len + 1);
        while (record_next(&r, &at, &entry) > 0)
                if (l->has_all || is_waiting_item(&entry))
                        record_bytes(&w, entry.tag, entry.type, entry.value, entry.len);
        shown = (struct record){ bytes, w.len };
        json_init(&json, true);
        json_open_map(&json);
        codec_write(&json, operation(OP_APPROVAL_LIST), &shown, 0);
        json_close_map(&json);
        free(bytes);
        return json_print(&json, stdout);
}

static int
print_list(const struct listing *l, const struct carrel_approvals *all)
{
        size_t count = 0;

        if (l->ask.is_json)
                return print_json(l, all);
        for (size_t i = 0; i < all->count; i++) {
                if (!waits(&all->items[i]) && !l->has_all)
                        continue;
                print_one(&all->items[i]);
                count++;
        }
        if (count == 0 && !l->follows)
                (void)puts("Nothing waits for an approval.");
        return 0;
}

/* -- following --------------------------------------------------------------------------------- */

static int
print_new(const struct listing *l, const char *id)
{
        struct carrel_approval *a;
        struct carrel_error e;
        int status = 0;

        if (carrel_approval_get(l->ask.c, id, &a, &e) < 0)
                return strcmp(e.code, "approval_not_found") == 0 ? 0
                                                                 : ask_failed(&l->ask, NULL, &e);
        if (l->ask.is_json)
                status = ask_json(OP_APPROVAL_GET, a);
        else
                print_one(a);
        carrel_free(a);
        return status != 0 ? status : fflush(stdout) == 0 ? 0 : 125;
}

static int
follow(const struct listing *l, struct carrel_events *events)
{
        int status = fflush(stdout) == 0 ? 0 : 125;

        while (status == 0) {
                struct carrel_event event;
                struct carrel_error e;
                int got = carrel_events_next(events, -1, &event, &e);
                enum event_kind kind;

                if (got < 0)
                        return ask_failed(&l->ask, NULL, &e);
                kind = got > 0 ? event_find(event.event) : EVENT_KINDS;
                if (event.approval &&
                    (kind == EVENT_APPROVAL_REQUESTED || kind == EVENT_APPROVAL_ANSWERED))
                        status = print_new(l, event.approval);
        }
        return status;
}

static int
list(const struct listing *l)
{
        struct carrel_events *events = NULL;
        struct carrel_approvals *all;
        struct carrel_error e;
        int status;

        /* watched before the list is read, so that none is missed between the two */
        if (l->follows && carrel_watch(l->ask.c, NULL, &events, &e) < 0)
                return ask_failed(&l->ask, NULL, &e);
        if (carrel_approval_list(l->ask.c, &all, &e) < 0) {
                carrel_events_free(events);
                return ask_failed(&l->ask, NULL, &e);
        }
        status = print_list(l, all);
        carrel_free(all);
        if (status == 0 && events)
                status = follow(l, events);
        carrel_events_free(events);
        return status;
}

static int
cmd_approvals(int argc, char **argv)
{
        struct listing l = { .follows = false };
        struct error e;
        int status;

        if (ask_parse(&l.ask, &command_approvals, argc, argv, &l, &e) < 0)
                return ask_wrong(&l.ask, &e);
        status = ask_open(&l.ask);
        return status != 0 ? status : ask_close(&l.ask, list(&l));
}

static const struct option approvals_options[] = {
        OPTION_FLAG(struct listing, follows, "-f",
                    "keep printing requests and answers as they come"),
        OPTION_FLAG(struct listing, has_all, "--all", "also those that were answered lately"),
        ASK_OPTIONS(struct listing, ask),
        OPTION_END,
};

const struct command command_approvals = {
        .name = "approvals",
        .help = "Show the operations that wait until you approve them.",
        .options = approvals_options,
        .example = "carrel approvals --all --json",
        .run = cmd_approvals,
};

/* -- answering --------------------------------------------------------------------------------- */

struct answering {
        struct ask ask;
        const char *reason;
        bool is_once;
};

static void
print_answered(const struct carrel_approval *a, bool is_approved)
{
        print_text(is_approved ? "approved: " : "denied: ", a->operation);
        print_text(" in ", a->name ? a->name : a->sandbox);
        if (waits(a))
                print_text("; it waits for others: `carrel approvals` shows whom", "");
        (void)fputc('\n', stdout);
}

static int
answer(const struct command *command, int argc, char **argv, bool is_approved)
{
        struct answering w = { .reason = NULL };
        struct ask *a = &w.ask;
        struct carrel_approval *got;
        struct carrel_error failed;
        struct error e;
        int status;

        if (ask_parse(a, command, argc, argv, &w, &e) < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        if (carrel_approval_answer(a->c, a->words[0], is_approved, w.reason, &got, &failed) < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        if (a->is_json)
                status = ask_json(OP_APPROVAL_ANSWER, got);
        else
                print_answered(got, is_approved);
        carrel_free(got);
        return ask_close(a, status);
}

static int
cmd_approve(int argc, char **argv)
{
        return answer(&command_approve, argc, argv, true);
}

static int
cmd_deny(int argc, char **argv)
{
        return answer(&command_deny, argc, argv, false);
}

static const struct option approve_options[] = {
        OPTION_FLAG(struct answering, is_once, "--once",
                    "for this one request (default; there is no other)"),
        ASK_OPTIONS(struct answering, ask),
        OPTION_END,
};

static const struct option deny_options[] = {
        OPTION_TEXT(struct answering, reason, VALUE_TEXT, "--reason", "TEXT",
                    "one sentence for the caller, at most 200 bytes"),
        ASK_OPTIONS(struct answering, ask),
        OPTION_END,
};

static const struct operand answer_operands[] = {
        { "APPROVAL-ID", VALUE_TEXT, "id of the request, from `carrel approvals`", false }, { NULL }
};

const struct command command_approve = {
        .name = "approve",
        .help = "Approve one operation that waits, once.",
        .options = approve_options,
        .operands = answer_operands,
        .needs = "the id of a request (carrel approvals lists them)",
        .example = "carrel approve APPROVAL-ID",
        .run = cmd_approve,
};

const struct command command_deny = {
        .name = "deny",
        .help = "Deny one operation that waits.",
        .options = deny_options,
        .operands = answer_operands,
        .needs = "the id of a request (carrel approvals lists them)",
        .example = "carrel deny APPROVAL-ID --reason 'not on this branch'",
        .run = cmd_deny,
};
