/*
 * cli/sink.h - where output goes: exact, without ever waiting for its reader, and visible where that is a person's terminal.
 */
#ifndef CARREL_CLI_SINK_H
#define CARREL_CLI_SINK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "text/visible.h"

enum sink_kind { SINK_FILE /* never waits */, SINK_NONBLOCKING, SINK_SOCKET, SINK_CAREFUL /* small writes, only when asked for */ };
enum { SINK_CHUNK = 16 * 1024 };

struct sink {
        int fd;
        bool owns_fd, escapes, is_gone;
        enum sink_kind kind;
        int error;                             /* errno, where bytes were lost although no reader went away: a full disk */
        struct visible visible;
        const char *at;  size_t left;          /* the caller's bytes that are still to go */
        size_t start, end;                     /* of `shown` */
        char shown[VISIBLE_MAX * (SINK_CHUNK + VISIBLE_HELD_MAX)];
};

/* `fd` is borrowed, and its flags stay as they are for who else has it. Control bytes are shown where it is a terminal, unless `is_raw`. */
void sink_init(struct sink *s, int fd, bool is_raw);
void sink_fini(struct sink *s);

/* Takes bytes; they are the caller's and stay until sink_is_busy() is false. */
void sink_put(struct sink *s, const void *bytes, size_t len);

/* Nothing follows: what was held back goes out too. */
void sink_end(struct sink *s);

bool sink_is_busy(const struct sink *s);

/* What to wait for; fd -1 when there is nothing to write. */
struct pollfd sink_poll(const struct sink *s);

/* Writes what can be written now. -1: the reader is gone, or `error` says what else; all later bytes go nowhere. */
int sink_write(struct sink *s);

#endif
