/*
 * wire/box.h - what keeper and box say to each other. One box process a sandbox; it outlives
 * keepers.
 *
 * The keeper that makes a box talks to it over the socket it passed along; a later keeper connects
 * to the box's own listening socket. Each connection begins with HELLO from the box, then one
 * LISTED for every exec it knows (finished ones that are kept too) and READY or GONE as it stands.
 * The box never waits for a keeper: news that cannot be sent is kept in its table and journal, and
 * is part of the next LISTED. BOX_PROTOCOL grows by one when a message changes; a keeper speaks all
 * from BOX_PROTOCOL_OLDEST on, because boxes of an older installation keep running. A keeper of an
 * older version meets later boxes too, after a downgrade. For it, three things never change: HELLO
 * has this shape, WIRE_BOX_STOP has no body and ends the box, and the box then closes its socket.
 */
#ifndef CARREL_WIRE_BOX_H
#define CARREL_WIRE_BOX_H

#include <stdint.h>

#include "wire/channel.h"
#include "wire/message.h"

/* 1: the first. 2: WIRE_BOX_USAGE. 3: WIRE_BOX_WALL (wire/gate.h). 4: the stock of a routed wall.
 * 5: WIRE_BOX_HANDED. 6: WIRE_BOX_REFUSED, WIRE_WALL_COUNTED. 7: WIRE_BOX_FOUND instead of
 * WIRE_BOX_KEPT, WIRE_BOX_SHOWN. 8: WIRE_BOX_ALLOWED.
 * 9: all of struct wire_box_used, also before WIRE_BOX_GONE. 10: BOX_EXEC_SANITIZE,
 * memory_kb_ms of struct wire_box_used, WIRE_BOX_STREAMS. 11: `sanitized` of struct
 * wire_box_streams and struct channel_end, storage_kb_ms, WIRE_BOX_VOLUMES. 12: WIRE_BOX_UPPER.
 * 13: BOX_EXEC_TOLD. 14: WIRE_BOX_LIMIT. */
enum {
        BOX_PROTOCOL = 14,
        BOX_PROTOCOL_OLDEST = 1,
        BOX_PROTOCOL_HANDED = 5,
        BOX_PROTOCOL_REFUSED = 6,
        BOX_PROTOCOL_FOUND = 7,
        BOX_PROTOCOL_ALLOWED = 8,
        BOX_PROTOCOL_METERED = 9,
        BOX_PROTOCOL_SANITIZE = 10,
        BOX_PROTOCOL_STREAMS = 10,
        BOX_PROTOCOL_COUNTED = 11,
        BOX_PROTOCOL_UPPER = 12,
        BOX_PROTOCOL_TOLD = 13,
        BOX_PROTOCOL_LIMIT = 14
};
enum { BOX_ID_LEN = 32, BOX_KEY_LEN = 64, BOX_COMMAND_LEN = 128 }; /* with the NUL */

/*
 * Appends a word of a command line to `text` (BOX_COMMAND_LEN bytes, zero at first; `len` are used)
 * as far as there is room, control bytes as "?". Returns the new length. Box and keeper both make
 * wire_box_listed.command so: the keeper compares it to recognise a key that was used for another
 * command.
 */
size_t box_command_add(char *text, size_t len, const char *word);

/* WIRE_BOX_BEGIN, keeper to spawner: struct wire_box_begin, then the packed plan. Descriptors: the
 * box's end of its keeper socket (seqpacket), its listening socket (seqpacket), its state
 * directory, then the plan's sources. Answered by the box itself: HELLO, then READY or GONE. */
struct wire_box_begin {
        char id[BOX_ID_LEN];
        uint64_t deadline_ms; /* moment of the boot clock when the box ends, UINT64_MAX: none */
        uint64_t keep_bytes;  /* output that is kept for one exec and stream, when the exec does not
                                 say */
        uint64_t
                floor_mb; /* free space of writable sources below which the box is ended, 0: none */
        uint64_t floor_mask[4]; /* which sources are writable: bit i of word i / 64 */
        uint32_t cpu_count;
        uint16_t flags;  /* enum box_begin_flag */
        uint16_t engine; /* enum provider_engine (spec/provider.h): what runs the commands; an
                            older keeper sends 0, the namespaces */
};

/*
 * BOX_BEGIN_ONE: the box of one command, whose keeper is `carrel run`. It ends with its command, or
 * with its keeper, and has neither a state directory nor a listening socket nor channels:
 * WIRE_BOX_EXEC carries the command's standard streams (none for a terminal, whose master side
 * WIRE_BOX_STARTED carries), and output goes past the box. WIRE_BOX_READY says that WIRE_BOX_WALL
 * may be asked. WIRE_BOX_FINISHED comes when every process has ended and everything is undone, and
 * counts all of them; then the last connections and refusals, when the gate closed the link; then
 * WIRE_BOX_GONE.
 *
 * BOX_BEGIN_TIED: a box of commands one after the other, as the daemon has them, whose keeper is
 * `carrel audit replay`. It ends with that keeper, and has neither a state directory nor a
 * listening socket.
 */
enum box_begin_flag {
        BOX_BEGIN_ONE = 1u << 0,
        BOX_BEGIN_NET_ONLY = 1u << 1, /* with ONE, for `carrel gate`: the plan makes a network
                                        namespace alone, and the command stays in the session and
                                        process group of the keeper */
        BOX_BEGIN_TIED = 1u << 2
};

/* WIRE_BOX_HELLO */
struct wire_box_hello {
        uint32_t protocol; /* BOX_PROTOCOL of the box */
        int32_t pid;       /* of the box process: for people, never for kill(2) */
        char id[BOX_ID_LEN];
        uint64_t started_ms; /* boot clock */
        uint64_t deadline_ms;
        uint32_t is_ready, is_frozen;
        uint32_t can_freeze, has_groups;
};

enum box_exec_flag {
        BOX_EXEC_BACKGROUND = 1u << 0, /* keeps running when the caller disconnects; without it the
                                          tree is killed when its channel closes without DETACH */
        BOX_EXEC_LOSSLESS = 1u << 1, /* while its caller is connected, the command blocks instead of
                                        losing output */
        BOX_EXEC_NO_STDIN = 1u << 2, /* standard input is empty */
        BOX_EXEC_QUIET =
                1u << 3, /* started by the keeper: not listed, and the box still counts as idle */
        BOX_EXEC_KILL_REST =
                1u << 4, /* processes that the command leaves running are killed when it ends */
        BOX_EXEC_KEEP_STREAMS =
                1u << 7, /* what it reads and writes is kept for the audit log: WIRE_BOX_STREAMS */
        BOX_EXEC_REPEAT = 1u << 6, /* WIRE_BOX_ATTACH: by a call with the exec's key; it takes over
                                      the exec if the first caller never connected */
        BOX_EXEC_BY =
                7u << 8, /* who set timeout_ms (enum time_limit_by); the box only reports it back */
        BOX_EXEC_TOLD = 1u << 11,     /* with QUIET: its end is reported to the keeper, as
                                         WIRE_BOX_STREAMS and WIRE_BOX_FINISHED: a call that changes
                                         files, for the audit log */
        BOX_EXEC_SANITIZE = 7u << 12, /* what is removed from the output before it is kept: a mask
                                         of text/sanitize.h. Not with a terminal */
        BOX_EXEC_AGAIN = 1u << 5, /* WIRE_BOX_ATTACH: by a repeated call, which sends the same input
                                     from its first byte on */
};

/*
 * WIRE_BOX_EXEC: this, then struct wire_exec with its strings. Descriptor: the box's end of the
 * caller's channel, or none. A key that was used before attaches the channel to that exec instead
 * of starting another (from offset 0). Answered by STARTED or FAILED on the channel, and by
 * WIRE_BOX_STARTED / WIRE_BOX_FINISHED to the keeper.
 */
struct wire_box_exec {
        uint32_t flags; /* enum box_exec_flag */
        uint32_t exec;  /* chosen by the keeper, unique in the box, ascending; 0: the box chooses */
        char key[BOX_KEY_LEN];  /* idempotency key, "" for none */
        char task[BOX_KEY_LEN]; /* the task it belongs to, "" for none */
        uint64_t deadline_ms;   /* boot clock moment at which the tree is killed as timed_out;
                                   UINT64_MAX: none */
        uint64_t timeout_ms; /* the same as a span, not counting time frozen; UINT64_MAX: none. The
                                earlier one acts */
        uint64_t cpu_ms;     /* UINT64_MAX: none */
        uint64_t keep_bytes; /* per stream, 0: the box's own choice */
        uint64_t output_bytes; /* output beyond this is dropped and counted; UINT64_MAX: no end */
};

/* WIRE_BOX_ATTACH, descriptor: the box's end of a channel. Bytes before an offset are not sent
 * again. Unknown exec: the channel closes at once. */
struct wire_box_attach {
        uint32_t exec, flags /* BOX_EXEC_LOSSLESS, BOX_EXEC_AGAIN */;
        uint64_t stdout_offset, stderr_offset;
};

/*
 * WIRE_BOX_HANDED: struct wire_exec_number. The caller has received its end of the channel that
 * this keeper last gave to this exec. If a keeper ends before that, its end closes, and the box
 * cannot distinguish this from a caller that disconnected. A foreground exec with a key, for which
 * HANDED has not arrived, therefore keeps running for BOX_REPEAT_MS: its caller repeats the call.
 */
enum { BOX_EXEC_BY_SHIFT = 8, BOX_EXEC_SANITIZE_SHIFT = 12 };
enum {
        BOX_REPEAT_MS = 15000
}; /* longer than libcarrel retries, and than a daemon needs to restart */

/* WIRE_BOX_SIGNAL: struct wire_exec_number. WIRE_BOX_KILL: the whole tree of one exec, or of every
 * exec of a task, or of all (with what forgotten ones left). */
struct wire_box_kill {
        uint32_t exec /* 0: by task */;
        uint32_t word /* enum outcome_word: KILLED, TIMED_OUT, POLICY_KILLED */;
        char task[BOX_KEY_LEN] /* "": all */;
};

/* WIRE_BOX_LIST asks (no body); WIRE_BOX_LISTED, one an exec, then one with exec 0.
 * WIRE_BOX_STARTED and WIRE_BOX_FINISHED are sent without a request. */
enum box_exec_state { BOX_EXEC_STARTING = 1, BOX_EXEC_RUNNING, BOX_EXEC_ENDED, BOX_EXEC_FAILED };
struct wire_box_listed {
        uint32_t exec, state, flags;
        int32_t pid;
        char key[BOX_KEY_LEN], task[BOX_KEY_LEN];
        uint64_t started_ms;                 /* boot clock */
        uint64_t stdout_first, stderr_first; /* offset of the oldest byte still kept */
        struct channel_end_listed end;       /* state ENDED; else the byte counts so far */
        union {
                struct wire_exec_failed failed; /* state FAILED */
                struct {
                        uint32_t low, high, pad;
                } timeout; /* any other: timeout_ms of WIRE_BOX_EXEC; 0: none, or an older box */
        };
        char command[BOX_COMMAND_LEN]; /* beginning of the command line, for people; control bytes
                              already replaced */
};

static inline void
wire_timeout_set(struct wire_box_listed *l, uint64_t ms)
{
        l->timeout.low = (uint32_t)ms;
        l->timeout.high = (uint32_t)(ms >> 32);
}

/* 0: none, or not known. */
static inline uint64_t
wire_timeout_get(const struct wire_box_listed *l)
{
        return l->state == BOX_EXEC_FAILED ? 0 : (uint64_t)l->timeout.high << 32 | l->timeout.low;
}

/* WIRE_BOX_CONNECT: struct wire_connect, answered by WIRE_BOX_CONNECTED: struct wire_connected and
 * its descriptor. */
/*
 * WIRE_BOX_FREEZE: struct wire_number (1 freeze, 0 thaw), answered by WIRE_BOX_FROZEN: struct
 * wire_exec_number {number wanted, errno}: 0 once every process is frozen, ENOTSUP if nothing can
 * freeze, ESRCH while there is no box, ECANCELED if it was thawed meanwhile. An exec that is
 * requested in a frozen box waits as STARTING until it is thawed. Meanwhile ports answer, and trees
 * can be killed.
 */
/* WIRE_BOX_DEADLINE: struct wire_box_deadline, no answer. WIRE_BOX_STOP: no body; answered by
 * WIRE_BOX_GONE once everything is undone. */
struct wire_box_deadline {
        uint64_t deadline_ms;
};

/* WIRE_BOX_GONE: the box has ended and its process ends after this. */
enum box_gone {
        BOX_GONE_STOPPED = 1,
        BOX_GONE_DEADLINE,
        BOX_GONE_OOM,
        BOX_GONE_POLICY,
        BOX_GONE_DIED,
        BOX_GONE_MAKE_FAILED,
        BOX_GONE_STUCK, /* an exec was killed and did not end */
        BOX_GONE_DISK   /* its private directory held more than disk_mb */
};
struct wire_box_gone {
        uint32_t cause;
        struct wire_failed failed /* MAKE_FAILED */;
        uint32_t pad;
        uint64_t cpu_ns, oom_kills;
};

/*
 * WIRE_BOX_USAGE (no body, protocol 2), answered by WIRE_BOX_USED: totals since the box began,
 * which never decrease. An older box sends the first BOX_USED_FIRST, BOX_USED_METERED or
 * BOX_USED_MEMORY bytes alone. Sent once more before WIRE_BOX_GONE, and then also in the journal.
 * UINT64_MAX: not known on this machine.
 */
struct wire_box_used {
        uint64_t cpu_ns; /* control group; without one, of the execs that ended */
        uint32_t running;
        uint32_t pad;
        uint64_t wall_ms;               /* since the box began, without the time it was paused */
        uint64_t memory_peak_kb;        /* largest of its execs */
        uint64_t execs;                 /* begun by callers */
        uint64_t output_bytes;          /* standard output and standard error of all execs */
        uint64_t egress_out, egress_in; /* bytes of connections that have ended */
        /* over time, KiB times ms; 0: not known, as in the journal of an older box */
        uint64_t memory_kb_ms;
        uint64_t storage_kb_ms; /* private places on a disk, and volumes */
};
enum {
        BOX_USED_FIRST = 16,
        BOX_USED_METERED = 64, /* protocol 9 */
        BOX_USED_MEMORY = 72   /* protocol 10 */
};
_Static_assert(sizeof(struct wire_box_used) == BOX_USED_MEMORY + 8, "one field later");

/* WIRE_BOX_VOLUMES, protocol 11, keeper to box: struct wire_box_volumes, not answered. What its
 * volumes hold, which counts until the next message. */
struct wire_box_volumes {
        uint64_t kb;
};

/*
 * WIRE_BOX_FOUND: what a command left behind on which host programs act. Sent when it is found, and
 * what the box keeps of it (boxstate/found.h) to each keeper that connects, before READY or GONE.
 * WIRE_BOX_SHOWN: the owner has seen those up to this number.
 */
struct wire_box_found {
        uint64_t number; /* counted from 1 */
        uint64_t at_ms;  /* since 1970 */
        uint64_t shown;  /* those up to this number were shown */
        struct wire_kept kept;
};
/*
 * WIRE_BOX_EXECUTED, protocol 8: this, then struct wire_executed with its texts (wire/message.h).
 * Only where the plan watches executions. Not repeated to a later keeper.
 */
struct wire_box_executed {
        uint32_t exec;   /* whose it was, 0: not known */
        uint32_t missed; /* executions before this one that could not be sent */
};
struct wire_box_shown {
        uint64_t number;
};

/*
 * WIRE_BOX_UPPER, protocol 12: no body; descriptor: the directory (O_PATH) with all that was
 * written to the root of a sandbox on an image. Before WIRE_BOX_READY, if its commands are root in
 * it and its files are on this machine. The keeper closes it with the box's end.
 */

/*
 * WIRE_BOX_LIMIT, protocol 14, keeper to box: struct wire_limit (wire/message.h), then the packed
 * steps. Answered by WIRE_BOX_LIMITED, to every keeper: a later one ignores a number that is not
 * its own. A change that its keeper neither keeps nor undoes before it is gone is undone.
 */

/*
 * WIRE_BOX_STREAMS, protocol 10: what an exec read and wrote. Sent, and in the journal, before its
 * WIRE_BOX_FINISHED, and again to each keeper that connects, before its WIRE_BOX_LISTED. Not of
 * execs that did not start, and not of those of the keeper itself. Descriptors: sealed files in
 * memory, one for each bit of `files`, in the order of the bits; only with BOX_EXEC_KEEP_STREAMS.
 * WIRE_BOX_STREAMS_KEPT: struct wire_exec_number; the files are on the disk, and the box frees its
 * own.
 */
/*
 * Of a BOX_EXEC_TOLD that writes files: of[0] is the content of its files, in their order, with a
 * newline between two, and of[1] a list of them, whose file is always there: for each file a struct
 * wire_box_put, its path, and the SHA-256 of its content. A struct with path_len 0 ends the list;
 * without it, the call did not get all of its input, and changed nothing.
 */
struct wire_box_put {
        uint64_t bytes; /* of its content */
        uint32_t mode, flags /* enum file_put_flag */;
        uint32_t path_len, pad;
};
enum { BOX_STREAMS = 3, BOX_SUM_LEN = 32 }; /* standard input, output (or the terminal), error */
struct wire_box_stream {
        /* the digest is over so many bytes, from the first on; less than were printed: see
         * box/output.h */
        uint64_t bytes;
        uint64_t kept; /* the first bytes, in the file */
        unsigned char sha256[BOX_SUM_LEN];
};
struct wire_box_streams {
        uint32_t exec, known; /* known: bit i: of[i] was seen */
        uint32_t files, pad;
        struct wire_box_stream of[BOX_STREAMS];
        struct channel_sanitized sanitized; /* of both streams; an older box sends the message
                                               without it */
};
enum { BOX_STREAMS_FIRST = 160 };
_Static_assert(offsetof(struct wire_box_streams, sanitized) == BOX_STREAMS_FIRST, "later");

/*
 * The journal in the state directory: one struct after another, appended before the news is sent.
 * The first has kind 0 and carries the protocol in `exec`. BOX_GONE carries its cause in
 * listed.state, a step that failed and its errno in listed.failed.exec and .sys, CPU time in
 * listed.end.cpu_ms. WIRE_BOX_USED before it has a struct wire_box_used in place of `listed`, and
 * WIRE_BOX_STREAMS a struct wire_box_streams. When
 * it has grown long, it is rewritten (one entry for each exec that is still known) and replaced by
 * a rename.
 */
struct box_journal {
        uint32_t kind /* enum wire_kind: BOX_STARTED, BOX_STREAMS, BOX_FINISHED, BOX_GONE */;
        uint32_t exec;
        struct wire_box_listed listed;
};

#endif
