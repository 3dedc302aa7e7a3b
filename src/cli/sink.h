/*
 * cli/sink.h - writes output exactly, without ever blocking on its reader, and escaped if the
 * reader is a terminal.
 */
#ifndef CARREL_CLI_SINK_H
#define CARREL_CLI_SINK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "text/visible.h"

enum sink_kind {
        SINK_FILE /* never blocks */,
        SINK_NONBLOCKING,
        SINK_SOCKET,
        SINK_CAREFUL /* small writes, only when poll(2) reports room */
};
enum { SINK_CHUNK = 16 * 1024 };

struct sink {
        int fd;
        bool owns_fd, escapes, is_gone;
        enum sink_kind kind;
        int error; /* errno, if bytes were lost while the reader was still there: a full disk */
        struct visible visible;
        const char *at;
        size_t left;       /* the caller's bytes that are not yet written */
        size_t start, end; /* in `shown` */
        char shown[VISIBLE_MAX * (SINK_CHUNK + VISIBLE_HELD_MAX)];
};

/*
 * `fd` is borrowed, and its flags are not changed, because other processes may share it. Control
 * bytes are escaped if it is a terminal, unless `is_raw`.
 */
void sink_init(struct sink *s, int fd, bool is_raw);
void sink_fini(struct sink *s);

/* Takes bytes; the caller keeps them unchanged until sink_is_busy() is false. */
void sink_put(struct sink *s, const void *bytes, size_t len);

/* No bytes follow: bytes that were held back are written too. */
void sink_end(struct sink *s);

bool sink_is_busy(const struct sink *s);

/* What to poll for; fd -1 if there is nothing to write. */
struct pollfd sink_poll(const struct sink *s);

/*
 * Writes what can be written now. Returns -1 if the reader is gone or `error` is set; all later
 * bytes are dropped.
 */
int sink_write(struct sink *s);

#endif
