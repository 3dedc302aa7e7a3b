/*
 * wire/message.h - typed messages between Carrel's own processes, over SOCK_SEQPACKET sockets.
 *
 * One datagram is one message: a head, then a body whose shape the kind decides. Descriptors ride along.
 * A message of another version, an unknown kind or a wrong length is ERROR_PROTOCOL-worthy: the receiver answers
 * -EPROTO and gives up; there is no text to parse and nothing to guess. Compiled into every process: needs nothing
 * but libc, allocates nothing, and returns negative errno values because the maker and the guest have no sentences.
 */
#ifndef CARREL_WIRE_MESSAGE_H
#define CARREL_WIRE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WIRE_MAGIC = 0x4c525243, WIRE_VERSION = 1, WIRE_FDS_MAX = 200, WIRE_BODY_MAX = 200 * 1024 };

enum wire_kind {
        /* keeper to maker */
        WIRE_MAKE = 1,        /* body: a packed plan; descriptors: the guest's control end, then the sources */
        WIRE_KILL,            /* no body: the box dies now */
        /* maker to keeper */
        WIRE_SPAWNED,         /* struct wire_spawned; descriptors: one per CGROUP_WATCH step, in order */
        WIRE_MAKE_FAILED,     /* struct wire_failed: nothing is left behind */
        WIRE_BOX_ENDED,       /* struct wire_box_ended: the box is gone and its groups are removed */
        /* keeper to guest */
        WIRE_EXEC,            /* struct wire_exec and its strings; descriptors: stdin, stdout, stderr, or none for a terminal */
        WIRE_SIGNAL,          /* struct wire_number: signal for the command's process group */
        WIRE_RESIZE,          /* struct wire_size */
        /* guest to keeper */
        WIRE_BOX_FAILED,      /* struct wire_failed: a BOX or GUEST step did not succeed; the box is gone */
        WIRE_EXEC_STARTED,    /* no body; descriptor: the terminal's master side where one was asked for */
        WIRE_EXEC_FAILED,     /* struct wire_exec_failed: the command did not start */
        WIRE_EXEC_ENDED,      /* struct wire_exec_ended */
        WIRE_KIND_MAX
};

struct wire_head { uint32_t magic; uint16_t version, kind; };

struct wire_spawned { int32_t pid; };
struct wire_failed { uint32_t step; int32_t sys; };       /* step: index in the plan; UINT32_MAX: the message itself */
struct wire_box_ended {
        int32_t wait_status;          /* of the box's pid 1 */
        uint32_t has_usage;           /* the next fields are meant */
        uint64_t cpu_ns, memory_peak, oom_kills;
};
struct wire_number { int32_t number; };
struct wire_size { uint16_t rows, columns; };

enum wire_exec_flag { WIRE_EXEC_TTY = 1u << 0, WIRE_EXEC_LAST = 1u << 1 /* the box ends with this command */,
                      WIRE_EXEC_NO_PATH = 1u << 2 /* argv[0] is not looked up */ };
enum wire_reset_flag { WIRE_RESET_SIGNALS = 1u << 0, WIRE_RESET_FDS = 1u << 1 };

/* Followed by argc + envc + 1 NUL-terminated strings: the arguments, the environment, the working directory. */
struct wire_exec {
        uint32_t flags, argc, envc, skip_resets /* enum wire_reset_flag; tests only */;
        uint64_t cpu_seconds;         /* RLIMIT_CPU for the command where groups cannot count, else 0 */
        uint16_t rows, columns;       /* of the terminal */
        uint32_t strings_len;
};
enum wire_exec_stage { WIRE_STAGE_LOOKUP = 1, WIRE_STAGE_DIRECTORY, WIRE_STAGE_TERMINAL, WIRE_STAGE_SPAWN, WIRE_STAGE_PREPARE };
struct wire_exec_failed { int32_t sys; uint32_t stage; };
struct wire_exec_ended {
        int32_t code;                 /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
        int32_t status;               /* exit status or signal number */
        uint64_t user_us, system_us, max_rss_kb;
};

struct wire_message {
        uint16_t kind;
        size_t len;                   /* of the body, bytes */
        int fds[WIRE_FDS_MAX];        /* close-on-exec; owned by the receiver */
        size_t fd_count;
};

/* Sends one message. `fds` stay the caller's. 0 or -errno (-EPIPE when the other side is gone). */
int wire_send(int socket, uint16_t kind, const void *body, size_t len, const int *fds, size_t fd_count);

/*
 * Receives one message; the body goes to `body` (room bytes, 8-byte aligned). `wait` 0: -EAGAIN when there is none.
 * 1: a message; 0: the other side is gone; -errno, -EPROTO for anything malformed (its descriptors are closed).
 */
int wire_receive(int socket, int wait, struct wire_message *ret, void *body, size_t room);

/* Closes every descriptor the message still holds; entries moved out are set to -1 by the mover. */
void wire_message_close(struct wire_message *m);

#endif
