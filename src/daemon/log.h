/*
 * daemon/log.h - what the launcher has to say, one line each, on standard error: words for people, or JSON.
 */
#ifndef CARREL_DAEMON_LOG_H
#define CARREL_DAEMON_LOG_H

#include <stdbool.h>

#include "base/error.h"

/* From here on: {"at_ms", "event", "message"} lines instead of words. */
void log_json(bool is_json);

/* `event` is a word for programs ("ready", "restarted", "ended"). */
void log_say(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An error, with its code and what to do. */
void log_error(const char *event, const struct error *e);

#endif
