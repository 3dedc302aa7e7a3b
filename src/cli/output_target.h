/*
 * cli/output_target.h - writes output exactly, without ever blocking on its reader, and escaped if
 * the reader is a terminal.
 */
#ifndef CARREL_CLI_OUTPUT_TARGET_H
#define CARREL_CLI_OUTPUT_TARGET_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "text/visible.h"

enum output_target_kind {
        SINK_FILE /* never blocks */,
        SINK_NONBLOCKING,
        SINK_SOCKET,
        SINK_CAREFUL /* small writes, only when poll(2) reports room */
};
enum { SINK_CHUNK = 16 * 1024 };

struct output_target {
        int fd;
        bool owns_fd, escapes, is_gone;
        enum output_target_kind kind;
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
void output_target_init(struct output_target *s, int fd, bool is_raw);
void output_target_fini(struct output_target *s);

/* Takes bytes; the caller keeps them unchanged until output_target_is_busy() is false. */
void output_target_put(struct output_target *s, const void *bytes, size_t len);

/* No bytes follow: bytes that were held back are written too. */
void output_target_end(struct output_target *s);

bool output_target_is_busy(const struct output_target *s);

/* What to poll for; fd -1 if there is nothing to write. */
struct pollfd output_target_poll(const struct output_target *s);

/*
 * Writes what can be written now. Returns -1 if the reader is gone or `error` is set; all later
 * bytes are dropped.
 */
int output_target_write(struct output_target *s);

#endif
