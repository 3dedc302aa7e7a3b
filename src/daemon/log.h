/*
 * daemon/log.h - the launcher's log on standard error: one line each, as text or JSON.
 */
#ifndef CARREL_DAEMON_LOG_H
#define CARREL_DAEMON_LOG_H

#include <stdbool.h>

#include "base/error.h"

/* Switches to JSON lines with "at_ms", "event" and "message". */
void log_json(bool is_json);

/* `event` is a word for programs ("ready", "restarted", "ended"). */
void log_say(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Logs an error with its code and hint. */
void log_error(const char *event, const struct error *e);

#endif
