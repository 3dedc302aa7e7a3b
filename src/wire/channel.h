/*
 * wire/channel.h - one exec as its caller sees it: a SOCK_STREAM unix socket between caller and
 * box, carrying frames.
 *
 * The keeper introduces caller and box and is not on this path. From the box: STARTED once (or
 * FAILED, and nothing after it), then STDOUT and STDERR, then END once; after END or FAILED the box
 * closes. To the box: STDIN, STDIN_END, SIGNAL, RESIZE, DETACH. Offsets are those of the exec's
 * output log, counted from its first byte: if a frame begins after the end of the one before it,
 * the bytes between were dropped. A caller that closes without DETACH has disconnected; the start
 * flags of the exec say what follows.
 */
#ifndef CARREL_WIRE_CHANNEL_H
#define CARREL_WIRE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

enum channel_kind {
        CHANNEL_STARTED = 1, /* struct channel_started */
        CHANNEL_FAILED, /* struct wire_exec_failed (wire/message.h): the command did not start */
        CHANNEL_STDOUT, /* bytes; a terminal's output too */
        CHANNEL_STDERR, /* bytes */
        CHANNEL_END,    /* struct channel_end; without `sanitized` if its kinds are 0 */
        CHANNEL_STDIN = 16, /* bytes */
        CHANNEL_STDIN_END,  /* none */
        CHANNEL_SIGNAL,     /* struct wire_number */
        CHANNEL_RESIZE,     /* struct wire_size */
        CHANNEL_DETACH,     /* none: the exec keeps running without this caller */
        CHANNEL_KIND_MAX
};

enum { CHANNEL_FRAME_MAX = 256 * 1024 }; /* bytes after the head */

struct channel_frame {
        uint32_t kind, len; /* len: bytes that follow */
        uint64_t offset;    /* STDOUT, STDERR: of the first byte; else 0 */
};

struct channel_started {
        uint32_t exec;
        int32_t pid /* inside */;
};

/* What was removed from its output (text/sanitize.h). */
enum { CHANNEL_SANITIZE_KINDS = 3 };
struct channel_sanitized {
        uint32_t kinds, pad; /* mask of those that were looked for; 0: an older box may not know */
        uint64_t counts[CHANNEL_SANITIZE_KINDS];
};

/*
 * How it ended: the members of struct outcome (outcome/outcome.h), fixed in width.
 *
 * denied   how often it was refused a way out before it ended, at most UINT16_MAX
 * reached  enum outcome_limit
 * found    things left behind that were not shown yet (wire/box.h), at most UINT8_MAX
 *
 * An older box says 0 for these three.
 */
#define CHANNEL_END_MEMBERS                           \
        uint32_t word; /* enum outcome_word */        \
        int32_t exit_code, signal;                    \
        uint16_t denied;                              \
        uint8_t reached, found;                       \
        uint64_t duration_ms, cpu_ms, memory_peak_kb; \
        uint64_t stdout_bytes, stderr_bytes, dropped_bytes;

/* In lists and journals, and as the body of CHANNEL_END where nothing is removed from output. */
struct channel_end_listed {
        CHANNEL_END_MEMBERS
};
struct channel_end {
        CHANNEL_END_MEMBERS
        struct channel_sanitized sanitized;
};
_Static_assert(offsetof(struct channel_end, sanitized) == sizeof(struct channel_end_listed),
               "the same, and more");

/* -- reading without waiting: bytes in, pieces of frames out ----------------------------------- */

enum channel_side { CHANNEL_FROM_BOX, CHANNEL_TO_BOX }; /* which way the bytes go */

enum {
        CHANNEL_FIXED_MAX = sizeof(struct channel_end)
}; /* the longest body of a kind that has a shape */

/*
 * Holds at most the head of one frame and one body of fixed shape: bulk bytes are never copied.
 * What a reader is given may be cut anywhere. Its members are its own.
 */
struct channel_reader {
        enum channel_side side;
        int is_over, is_broken; /* after END or FAILED nothing comes; after a malformed frame
                                   nothing is read */
        unsigned char head[sizeof(struct channel_frame)];
        size_t head_got, body_got;
        uint64_t next[2]; /* earliest offsets of standard output and standard error */
        _Alignas(8) unsigned char fixed[CHANNEL_FIXED_MAX];
};

/*
 * What one step gave. Kinds of bytes (STDOUT, STDERR, STDIN): a slice of what the caller fed, in
 * order, `offset` is that of its first byte; one frame may come in several pieces, none longer than
 * the frame. Other kinds: the whole struct, within the reader, aligned to 8, valid until the next
 * step; members that were not sent are 0.
 */
struct channel_piece {
        uint32_t kind;
        const void *bytes;
        size_t len;
        uint64_t offset;
};

void channel_reader_init(struct channel_reader *r, enum channel_side side);

/*
 * Takes from *bytes, *len (both move on) until there is a piece. 1: a piece; 0: everything was
 * taken and more is needed; -EPROTO: a kind that is unknown or goes the other way, a length that
 * its kind does not have, more than CHANNEL_FRAME_MAX, an offset that repeats bytes or wraps
 * around, a frame after the last; and so at every later call.
 */
int channel_reader_next(struct channel_reader *r, const unsigned char **bytes, size_t *len,
                        struct channel_piece *ret);

/* Is the reader between two frames? At the end of a stream anything else means that its end was cut
 * off. */
int channel_reader_is_between(const struct channel_reader *r);

/* -- writing ----------------------------------------------------------------------------------- */

/* The head of a frame; `len` up to CHANNEL_FRAME_MAX. `offset` only for STDOUT and STDERR. */
struct channel_frame channel_head(uint32_t kind, size_t len, uint64_t offset);

/*
 * Sends one frame over a blocking socket, whole. `bytes` may be longer than a frame where the kind
 * is bytes: then several go. 0 or -errno (-EPIPE: the other side is gone; no signal is raised).
 */
int channel_send(int socket, uint32_t kind, const void *bytes, size_t len, uint64_t offset);

/* -- reading and waiting, for programs that have nothing else to do ---------------------------- */

/*
 * Receives one whole frame over a blocking socket; its body goes to `body` (room bytes;
 * CHANNEL_FRAME_MAX are always enough). 1: a frame; 0: the other side closed between two frames;
 * -errno: -EPROTO as above, -EMSGSIZE: the body does not fit, -EPIPE: closed within a frame. `r`
 * keeps what was seen of the stream; start it with channel_reader_init().
 */
int channel_receive(int socket, struct channel_reader *r, struct channel_frame *ret, void *body,
                    size_t room);

#endif
