/*
 * sandbox/stream.h - bytes on their way from one descriptor to another: live, exact, bounded, and counted.
 *
 * A stream never blocks: it reads only what it can hold and writes only when the other side can take it, so a reader that
 * stops reading holds up the payload (that is what a pipe does) but never the runtime's own deadlines.
 */
#ifndef CARREL_SANDBOX_STREAM_H
#define CARREL_SANDBOX_STREAM_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/terminal.h"
#include "text/visible.h"

enum stream_sink {
        STREAM_PIPE,           /* moved inside the kernel */
        STREAM_FILE,           /* never waits */
        STREAM_SOCKET,
        STREAM_CAREFUL,        /* terminals and the rest: small writes, only when asked for */
        STREAM_CAPTURE,        /* kept in memory */
};

enum { STREAM_BUFFER = 64 * 1024 };

struct stream {
        int from, to;                  /* -1 once that side is over; `from` and `to` are borrowed unless owned below */
        bool owns_from, owns_to;
        enum stream_sink sink;
        bool escapes;                  /* control bytes become visible: the reader is a person's terminal */
        struct visible visible;
        char *buffer;                  /* STREAM_BUFFER bytes, taken at the first use */
        size_t start, end;
        int error;                     /* errno, where bytes were lost although no reader went away: a full disk */
        uint64_t bytes, dropped;       /* read from the source, and how much of that went nowhere */
        uint64_t *budget;              /* bytes that may still pass, shared between streams; NULL: no end */
        struct terminal_mode *shown_on;        /* the terminal that what passes here goes to, or NULL */
        char *captured;                /* STREAM_CAPTURE */
        size_t captured_len, captured_max;
};

/* Makes an end of our own never wait. Not for a caller's descriptor, which others share. 0 or -1. */
int stream_set_nonblocking(int fd);

/* Chooses the sink by what `to` is. */
void stream_init(struct stream *s, int from, int to);

/* A stream into memory, at most max bytes; what comes after is counted as dropped. */
void stream_init_capture(struct stream *s, int from, size_t max);

/* Sets up at most two entries for poll(2); gives their number. */
size_t stream_poll(const struct stream *s, struct pollfd *fds);

/* Does what poll said is possible. 0, or -1 when the reader is gone, or `error` says what else (the source is closed then). */
int stream_move(struct stream *s, const struct pollfd *fds, size_t count);

/* Is everything that came also gone? */
bool stream_is_over(const struct stream *s);

/* Gives up what is still on its way, and counts it as dropped: the reader does not read and nobody will wait for it. */
void stream_abandon(struct stream *s);

void stream_fini(struct stream *s);

#endif
