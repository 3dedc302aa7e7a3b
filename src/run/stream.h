/*
 * run/stream.h - moves bytes from one descriptor to another: live, exact, bounded and counted.
 *
 * A stream never blocks: it reads only what its buffer can hold and writes only when the other side
 * accepts data. A reader that stops reading therefore blocks the payload, as a pipe does, but never
 * the runtime's own deadlines.
 */
#ifndef CARREL_RUN_STREAM_H
#define CARREL_RUN_STREAM_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/terminal.h"
#include "text/sanitize.h"
#include "text/visible.h"

enum stream_sink {
        STREAM_PIPE, /* moved inside the kernel with splice(2) */
        STREAM_FILE, /* never blocks */
        STREAM_SOCKET,
        STREAM_CAREFUL, /* terminals and others: small writes, only after poll(2) reports room */
        STREAM_CAPTURE, /* kept in memory */
};

enum { STREAM_BUFFER = 64 * 1024 };

struct stream {
        int from, to; /* -1 once that side has ended; borrowed unless owned, see below */
        bool owns_from, owns_to;
        enum stream_sink sink;
        bool escapes; /* control bytes are shown as text: the output is a person's terminal */
        struct visible visible;
        struct sanitize sanitize; /* what is removed from all bytes, before `escapes` */
        struct buffer clean;      /* sanitised, and not passed on yet */
        size_t clean_at;
        char *buffer; /* STREAM_BUFFER bytes, allocated at the first use */
        size_t start, end;
        int error; /* errno, if bytes were lost while the reader was still there: a full disk */
        uint64_t bytes, dropped; /* bytes read from the source, and how many of them were dropped */
        /* bytes that may still be passed on, shared between streams; NULL: no limit */
        uint64_t *budget;
        /* called with all bytes as they were read, and `which`; NULL: not called */
        void (*seen)(int which, const char *bytes, size_t len);
        int which;
        struct terminal_mode *shown_on; /* the terminal that shows this output, or NULL */
        char *captured;                 /* STREAM_CAPTURE */
        size_t captured_len, captured_max;
};

/*
 * Makes a descriptor that only this process uses non-blocking. Not for a caller's descriptor, which
 * other processes share. Returns 0 or -1.
 */
int stream_set_nonblocking(int fd);

/* Chooses the sink by the type of `to`. */
void stream_init(struct stream *s, int from, int to);

/* A stream into memory, at most max bytes; further bytes are counted as dropped. */
void stream_init_capture(struct stream *s, int from, size_t max);

/* Fills at most two entries for poll(2). Returns their number. */
size_t stream_poll(const struct stream *s, struct pollfd *fds);

/*
 * Moves what poll(2) reported as possible. Returns 0, or -1 when the reader is gone or `error` is
 * set (the source is closed then).
 */
int stream_move(struct stream *s, const struct pollfd *fds, size_t count);

/* Has the source ended, and is everything written? */
bool stream_is_over(const struct stream *s);

/*
 * Drops and counts the bytes in transit: the reader does not read, and the stream stops waiting for
 * it.
 */
void stream_abandon(struct stream *s);

void stream_fini(struct stream *s);

#endif
