/*
 * cli/events.c - `carrel events`: prints the events of the sandboxes as they happen.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), clock; libcarrel does the rest.
 */
#include <inttypes.h>
#include <time.h>

#include "api/ending.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/finding_print.h"
#include "clock/clock.h"

static void
member(struct json_writer *w, const char *key, const char *text)
{
        if (text)
                json_member_text(w, key, text);
}

/* One line per event, so that a program can read them as they come. */
static int
print_json(const struct carrel_event *event)
{
        struct outcome o = ending_of_carrel(&event->end);
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_text(&w, "event", event->event);
        json_key(&w, "at_ms");
        json_uint(&w, event->at_ms);
        member(&w, "id", event->id);
        if (event->exec > 0)
                json_member_int(&w, "exec", event->exec);
        member(&w, "status", event->status);
        member(&w, "cause", event->cause);
        if (event->has_end)
                ending_write(&w, &o);
        member(&w, "slug", event->slug);
        member(&w, "actor", event->actor);
        member(&w, "purpose", event->purpose);
        member(&w, "granted_by", event->granted_by);
        member(&w, "host_path", event->host_path);
        member(&w, "kept_at", event->kept_at);
        member(&w, "reason", event->reason);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static void
print_word(const char *before, const char *text)
{
        if (!text)
                return;
        (void)fputs(before, stdout);
        print_escaped(stdout, text, false);
}

static int
print_text(const struct carrel_event *event)
{
        time_t seconds = (time_t)(event->at_ms / 1000);
        char when[32] = "";
        struct tm parts;

        if (localtime_r(&seconds, &parts))
                (void)strftime(when, sizeof when, "%H:%M:%S", &parts);
        (void)printf("%s.%03u", when, (unsigned)(event->at_ms % 1000));
        print_word("  ", event->event);
        print_word("  ", event->id);
        if (event->exec > 0)
                (void)printf("  exec %" PRIu32, event->exec);
        print_word("  ", event->status);
        print_word("  ", event->cause);
        print_word("  ", event->outcome);
        if (event->exit_code >= 0)
                (void)printf(" %d", event->exit_code);
        print_word("  ", event->slug);
        print_word(" as ", event->purpose);
        print_word(" for ", event->actor);
        print_word(", granted by ", event->granted_by);
        print_word("  ", event->host_path);
        print_word(", now at ", event->kept_at);
        print_word(": ", event->reason);
        (void)fputc('\n', stdout);
        return fflush(stdout) == 0 ? 0 : 125;
}

static int
follow(const struct ask *a, struct carrel_events *events, uint64_t until)
{
        int status = 0;

        while (status == 0) {
                uint64_t now = clock_boot_ms();
                struct carrel_event event;
                struct carrel_error e;
                int got;

                if (now >= until)
                        return 0;
                got = carrel_events_next(events,
                                         until == UINT64_MAX   ? -1
                                         : until - now > 60000 ? 60000
                                                               : (int)(until - now),
                                         &event, &e);
                if (got < 0)
                        return ask_failed(a, NULL, &e);
                if (got > 0)
                        status = a->is_json ? print_json(&event) : print_text(&event);
        }
        return status;
}

struct watching {
        struct ask ask;
        uint64_t for_ms; /* 0: until it is ended */
};

static int
cmd_events(int argc, char **argv)
{
        struct watching w = { .for_ms = 0 };
        struct ask *a = &w.ask;
        struct carrel_events *events;
        struct carrel_error failed;
        struct error e;
        int status;

        if (ask_parse(a, &command_events, argc, argv, &w, &e) < 0)
                return ask_wrong(a, &e);
        status = ask_open(a);
        if (status != 0)
                return status;
        if (carrel_watch(a->c, a->word_count > 0 ? a->words[0] : NULL, &events, &failed) < 0)
                return ask_close(a, ask_failed(a, NULL, &failed));
        status = follow(a, events, w.for_ms > 0 ? clock_boot_ms() + w.for_ms : UINT64_MAX);
        carrel_events_free(events);
        return ask_close(a, status);
}

static const struct option options[] = {
        OPTION_NUMBER(struct watching, for_ms, VALUE_DURATION, "--for", "T",
                      "stop after this time"),
        STATE_OPTION(struct watching, ask.state),
        OPTION_FLAG(struct watching, ask.is_json, "--json", "one JSON object a line"),
        OPTION_END,
};

static const struct operand operands[] = { { "[ID]", VALUE_SANDBOX }, { NULL } };

const struct command command_events = {
        .name = "events",
        .help = "Show events of the sandboxes as they happen.",
        .options = options,
        .operands = operands,
        .example = "carrel events --for 100ms",
        .run = cmd_events,
};
