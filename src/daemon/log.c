/*
 * daemon/log.c - the launcher's log.
 *
 * Room: daemon (joining). Touches: standard error, clock.
 */
#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "loop/loop.h"
#include "text/json.h"

enum { LINE_MAX_LEN = 1024 };

static bool speaks_json;

void
log_json(bool is_json)
{
        speaks_json = is_json;
}

static void
write_json(const char *event, const char *message, const struct error *e)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "at_ms", (int64_t)loop_wall_ms());
        json_member_text(&w, "event", event);
        if (e) {
                json_member_text(&w, "code", error_wire_name(e->code));
                json_member_text(&w, "hint", error_hint_text(e));
        }
        json_member_text(&w, "message", message);
        json_close_map(&w);
        if (!w.is_broken)
                (void)fprintf(stderr, "%s\n", w.text);
        json_fini(&w);
}

void
log_say(const char *event, const char *fmt, ...)
{
        char line[LINE_MAX_LEN];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(line, sizeof line, fmt, ap);
        va_end(ap);
        if (speaks_json)
                write_json(event, line, NULL);
        else
                (void)fprintf(stderr, "carrel: %s\n", line);
}

void
log_error(const char *event, const struct error *e)
{
        if (speaks_json)
                write_json(event, e->message, e);
        else
                (void)fprintf(stderr, "carrel: %s (%s)\nNext: %s\n", e->message,
                              error_wire_name(e->code), error_hint_text(e));
}
