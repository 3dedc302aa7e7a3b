/*
 * cli/events.c - `carrel events`: prints the events of the sandboxes as they happen.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), clock; libcarrel does the rest.
 */
#include <inttypes.h>
#include <time.h>

#include "api/event_record.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/finding_print.h"
#include "clock/clock.h"

/* As the table of events has it; borrows from both. */
static struct event
event_of(const struct carrel_event *got, const struct outcome *end)
{
        return (struct event){
                .kind = event_find(got->event),
                .word = got->event,
                .from = { .at_ms = got->at_ms,
                          .id = got->id,
                          .status = got->status,
                          .cause = got->cause },
#define OF_TEXT(member) got->member
#define OF_UINT(member) got->member
#define OF_ENDING(member) got->has_end ? end : NULL
#define MEMBER(TAG, member, TYPE) .member = OF_##TYPE(member),
#include "event/event.def"
        };
}

/* One line per event, so that a program can read them as they come. */
static int
print_json(const struct event *event)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        event_json(&w, event);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static void
print_word(const char *text)
{
        if (!text || text[0] == '\0')
                return;
        (void)fputs("  ", stdout);
        print_escaped(stdout, text, false);
}

static int
print_text(const struct event *event)
{
        time_t seconds = (time_t)(event->from.at_ms / 1000);
        char when[32] = "", line[EVENT_LINE_ROOM];
        struct tm parts;

        if (localtime_r(&seconds, &parts))
                (void)strftime(when, sizeof when, "%H:%M:%S", &parts);
        (void)printf("%s.%03u", when, (unsigned)(event->from.at_ms % 1000));
        print_word(event->word);
        print_word(event->from.id);
        if (event->exec > 0)
                (void)printf("  exec %" PRIu64, event->exec);
        print_word(event->from.status);
        print_word(event->from.cause);
        event_line(event, line);
        print_word(line);
        (void)fputc('\n', stdout);
        return fflush(stdout) == 0 ? 0 : 125;
}

static int
print_event(const struct carrel_event *got, bool is_json)
{
        struct outcome end = ending_of_carrel(&got->end);
        struct event event = event_of(got, &end);

        return is_json ? print_json(&event) : print_text(&event);
}

static int
follow(const struct ask *a, struct carrel_events *events, uint64_t until)
{
        int status = 0;

        while (status == 0) {
                uint64_t now = clock_boot_ms();
                struct carrel_event event;
                struct carrel_error e;
                int result;

                if (now >= until)
                        return 0;
                result = carrel_events_next(events,
                                            until == UINT64_MAX   ? -1
                                            : until - now > 60000 ? 60000
                                                                  : (int)(until - now),
                                            &event, &e);
                if (result < 0)
                        return ask_failed(a, NULL, &e);
                if (result > 0)
                        status = print_event(&event, a->is_json);
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
