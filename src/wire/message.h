/*
 * wire/message.h - typed messages between Carrel's own processes, over SOCK_SEQPACKET sockets.
 *
 * One datagram is one message: a head, then a body whose shape the kind decides. Descriptors ride
 * along. A message of another version, an unknown kind or a wrong length is ERROR_PROTOCOL-worthy:
 * the receiver answers -EPROTO and gives up; there is no text to parse and nothing to guess.
 * Compiled into every process: needs nothing but libc, allocates nothing, and returns negative
 * errno values because the maker and the guest have no sentences.
 */
#ifndef CARREL_WIRE_MESSAGE_H
#define CARREL_WIRE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WIRE_MAGIC = 0x4c525243, WIRE_VERSION = 2, WIRE_FDS_MAX = 200, WIRE_BODY_MAX = 200 * 1024 };

enum wire_kind {
        /* keeper or box to maker */
        WIRE_MAKE =
                1, /* body: a packed plan; descriptors: the guest's control end, then the sources */
        WIRE_KILL, /* no body: the box dies now */
        /* maker to keeper or box */
        WIRE_SPAWNED, /* struct wire_spawned; descriptors: one per CGROUP_WATCH step, in order, then
                         the group's own if there is one */
        WIRE_MAKE_FAILED, /* struct wire_failed: nothing is left behind */
        WIRE_BOX_ENDED,   /* struct wire_box_ended: the box is gone and its groups are removed */
        /* keeper or box to guest */
        WIRE_EXEC,      /* struct wire_exec and its strings; descriptors: see struct wire_exec */
        WIRE_SIGNAL,    /* struct wire_exec_number: signal for the command's process group */
        WIRE_RESIZE,    /* struct wire_exec_size; also `carrel run` to its box */
        WIRE_KILL_TREE, /* struct wire_exec_number: every process that came from this exec (0: from
                           any), where no group does it */
        WIRE_CONNECT,   /* struct wire_connect: a connection to a port inside */
        /* guest to keeper or box */
        WIRE_BOX_FAILED, /* struct wire_failed: a BOX or GUEST step did not succeed; the box is gone
                          */
        WIRE_EXEC_STARTED, /* struct wire_exec_number: its pid inside; descriptor: the terminal's
                              master side where one was asked for */
        WIRE_EXEC_FAILED,  /* struct wire_exec_failed: the command did not start */
        WIRE_EXEC_ENDED,   /* struct wire_exec_ended */
        WIRE_CONNECTED,    /* struct wire_connected; descriptor: the socket, where sys is 0 */
        /* keeper to spawner */
        WIRE_BOX_BEGIN, /* wire/box.h: makes a box process and its maker */
        /* keeper and box: wire/box.h */
        WIRE_BOX_HELLO,
        WIRE_BOX_EXEC,
        WIRE_BOX_ATTACH,
        WIRE_BOX_SIGNAL,
        WIRE_BOX_KILL,
        WIRE_BOX_LIST,
        WIRE_BOX_LISTED,
        WIRE_BOX_CONNECT,
        WIRE_BOX_CONNECTED,
        WIRE_BOX_FREEZE,
        WIRE_BOX_FROZEN,
        WIRE_BOX_DEADLINE,
        WIRE_BOX_STOP,
        WIRE_BOX_READY /* also pid 1 to its box, first of all: every step is done */,
        WIRE_BOX_STARTED,
        WIRE_BOX_FINISHED,
        WIRE_BOX_GONE,
        WIRE_BOX_USAGE,
        WIRE_BOX_USED,
        /* a caller and the keeper: wire/call.h */
        WIRE_CALL,
        WIRE_REPLY,
        WIRE_EVENT,
        WIRE_CANCEL,
        /* the wall: wire/gate.h */
        WIRE_BOX_WALL,
        WIRE_BOX_WALLED,
        WIRE_GATE_CONFIG,
        WIRE_GATE_ADD,
        WIRE_GATE_SET,
        WIRE_GATE_ADDED,
        WIRE_GATE_DROP,
        WIRE_GATE_USAGE,
        WIRE_GATE_USED,
        WIRE_WALL,
        WIRE_WALL_BEGIN,
        WIRE_WALL_NAMED,
        WIRE_WALL_LISTEN,
        WIRE_WALL_LISTENED,
        WIRE_WALL_DENIED,
        /* keeper and fetcher: wire/secret.h */
        WIRE_SECRET_ASK,
        WIRE_SECRET_TOLD,
        /* box to guest, of one release always; below those whose numbers keepers and boxes of other
           releases speak */
        WIRE_PREFORK, /* struct wire_spare; descriptor: the cgroup.procs it joins, none with number
                       * 0
                       */
        /* the wall again: wire/gate.h */
        WIRE_BOX_DENIED,
        WIRE_GATE_STARTED,
        WIRE_GATE_DROPPED,
        /* maker to keeper or box, and box to keeper: struct wire_kept */
        WIRE_KEPT,
        WIRE_BOX_KEPT,
        /* keeper to box: struct wire_exec_number, its number 0 (wire/box.h) */
        WIRE_BOX_HANDED,
        /* keeper to spawner */
        WIRE_COLLECT, /* body: the absolute path of a directory of leases; what killed makers left
                         is undone. Not answered */
        WIRE_BUSY, /* box to maker, of one release always: struct wire_busy, 1 before a command is
                      begun, 0 once no process of any is left */
        WIRE_IDLE, /* guest to box, no body: pid 1 has no child left (told only where execs are
                      WIRE_EXEC_TREE) */
        /* the wall again: wire/gate.h */
        WIRE_BOX_REFUSED,
        WIRE_WALL_COUNTED,
        /* box to keeper, and keeper to box: wire/box.h */
        WIRE_BOX_FOUND,
        WIRE_BOX_SHOWN,
        WIRE_ROOT, /* builder to spawner, of one release always: maker/prepared.c; descriptor: a
                      mount namespace */
        /* a recorder and its client, of one release always: recorder/message.h */
        WIRE_AUDIT,
        WIRE_AUDITED,
        /* carrel-judge and a process that asks it, of one release always: wire/judge.h */
        WIRE_JUDGE,
        WIRE_JUDGE_THIS,
        WIRE_JUDGE_LOOKUP,
        WIRE_JUDGE_FILES,
        WIRE_JUDGED,
        /* allowed connections: gate to box, and box to gate; box to keeper: wire/gate.h */
        WIRE_WALL_ALLOWED,
        WIRE_BOX_ALLOWED,
        /* the daemon's recorder and the keeper, of one release always: recorder/message.h */
        WIRE_AUDIT_ENTRY,
        WIRE_AUDIT_DONE,
        WIRE_AUDIT_SETTLE,
        WIRE_AUDIT_OPEN,
        /* executions: guest to box, of one release always: struct wire_executed; box to keeper:
         * wire/box.h */
        WIRE_EXECUTED,
        WIRE_BOX_EXECUTED,
        /* a recorder and its client, of one release always: recorder/message.h */
        WIRE_AUDIT_CONTENT,
        WIRE_AUDIT_CONTENT_DONE,
        WIRE_AUDIT_KEEP,
        /* carrel-unpack and who imports an image, of one release always: wire/unpack.h */
        WIRE_UNPACK,
        WIRE_UNPACK_STEP,
        WIRE_UNPACKED,
        WIRE_UNPACK_FAILED,
        /* what commands read and wrote: box to keeper, and keeper to box: wire/box.h */
        WIRE_BOX_STREAMS,
        WIRE_BOX_STREAMS_KEPT,
        /* the daemon's recorder to the keeper, of one release always: recorder/message.h */
        WIRE_AUDIT_KEPT,
        /* the keeper, and the processes that look for changed files, of one release always:
         * changes/message.h */
        WIRE_FILES_BEGIN,
        WIRE_FILES_BEGUN,
        WIRE_FILES_LOOK,
        WIRE_FILES_ROWS,
        WIRE_FILES_DONE,
        WIRE_FILES_ADOPT,
        WIRE_FILES_TREE,
        /* carrel-validate and a process that asks it, of one release always: wire/validator.h */
        WIRE_VALIDATE,
        WIRE_VALIDATE_THIS,
        WIRE_VALIDATED,
        /* box to maker, of one release always: what do the private places hold on a disk? No body.
         * Its answer: struct wire_stored */
        WIRE_STORED,
        /* keeper to box: wire/box.h */
        WIRE_BOX_VOLUMES,
        /* what root inside writes to its image: maker's child to box, of one release always, and
         * box to keeper: wire/box.h */
        WIRE_UPPER,
        WIRE_BOX_UPPER,
        /* the wall once more: wire/gate.h */
        WIRE_GATE_QUOTA_ASK,
        WIRE_GATE_QUOTA,
        /* other limits for a sandbox that runs: keeper to box, and box to keeper (wire/box.h); box
         * to maker, and maker to box, of one release always. Both pairs have the same bodies:
         * struct wire_limit, then a packed plan of CGROUP_LIMIT steps if it changes something;
         * struct wire_limited */
        WIRE_BOX_LIMIT,
        WIRE_BOX_LIMITED,
        WIRE_LIMIT,
        WIRE_LIMITED,
        WIRE_GATE_TRANSCRIPT,
        WIRE_KIND_MAX
};

/* WIRE_EXECUTED: struct wire_exec_number: whose process it is, 0: not known; then this, then the
 * path with its NUL (if path_len > 0), and the first words of the command, each with its NUL. */
enum executed_flag {
        EXECUTED_UNREAD = 1u << 0, /* its memory could not be read: there is no path */
        EXECUTED_CUT = 1u << 1,    /* the path or the words are longer, or end where memory ends */
        EXECUTED_BY_FD = 1u << 2,  /* an open file: the path is empty */
};
struct wire_executed {
        int32_t pid;    /* inside */
        uint32_t flags; /* enum executed_flag */
        uint32_t argc;  /* words, at most 8192 are counted */
        uint32_t path_len, words_len;
};
enum {
        WIRE_EXECUTED_PATH = 1024, /* bytes of the path, and of the words */
        WIRE_EXECUTED_WORDS = 2048,
        WIRE_EXECUTED_MAX =
                (int)sizeof(struct wire_executed) + WIRE_EXECUTED_PATH + WIRE_EXECUTED_WORDS
};

struct wire_head {
        uint32_t magic;
        uint16_t version, kind;
};

/* What the box's v2 group is for. */
enum wire_group {
        WIRE_GROUP_NONE,
        WIRE_GROUP_COMMANDS, /* each command has one of its own below it; pid 1 stays outside */
        WIRE_GROUP_WHOLE,    /* pid 1 is with its commands in the one below it: WIRE_GROUP_NAME */
        WIRE_GROUP_MACHINE, /* pid 1 is in a virtual machine, which is in it, and so is the relay */
};
#define WIRE_GROUP_NAME "box"

struct wire_spawned {
        int32_t pid;
        uint32_t group; /* enum wire_group: the last descriptor is its directory */
};
struct wire_failed {
        uint32_t step;
        int32_t sys;
}; /* step: index in the plan; UINT32_MAX: the message itself */
struct wire_box_ended {
        int32_t wait_status; /* of the box's pid 1 */
        uint32_t has_usage;  /* the next fields are meant */
        uint64_t cpu_ns, memory_peak, oom_kills;
        uint64_t pids_refused; /* how often a task was not started for limits.pids */
        uint32_t is_over_disk,
                pad; /* it was killed: its private directory held more than disk_mb */
};
/* All steps are applied, or none. */
enum wire_limit_what {
        WIRE_LIMIT_ASK, /* what is used? */
        WIRE_LIMIT_SET,
        WIRE_LIMIT_UNDO, /* takes the last change back: its number is `number` */
        WIRE_LIMIT_KEEP  /* of the box alone, not answered: the keeper has stored that change */
};
enum { WIRE_LIMIT_MAX = 8192 /* bytes of the whole body */ };
struct wire_limit {
        uint64_t number; /* returned in the answer */
        uint32_t what;   /* enum wire_limit_what */
        uint32_t pad;
};
/* UINT64_MAX: not counted by a group of its own. */
struct wire_limited {
        uint64_t number;
        uint64_t memory_bytes; /* in use */
        uint64_t tasks;        /* in use, with pid 1 and its spare */
        uint64_t cpu_ns;       /* used; the box fills it in */
        int32_t sys;           /* 0, or why nothing changed: EBUSY: more memory is in use; ENOENT:
                                  the sandbox was made without this limit; ESRCH: it is ending */
        uint32_t step;         /* index of the step that failed */
};
/* What became of a name that programs of the host act on. name: on the host; kept: where it is now,
 * "" if nowhere. Of a longer path the end. */
enum wire_kept_what {
        KEPT_MOVED = 1,
        KEPT_MADE,
        KEPT_CHANGED,
        KEPT_STUCK /* could not be moved; the box is killed */,
        KEPT_STRICT /* moved, the box is killed */,
        KEPT_RESTORED /* a configuration: moved, and put back as it was before; key: what may not
                         change, "" where it cannot be read */
        ,
        /* Repositories that the command made or changed. kept: what git would run, one a line
           (maker/gitdir.h) */
        KEPT_REPOSITORY,
        KEPT_BARE,
        KEPT_GITLINK,
        KEPT_SUBMODULE,
        KEPT_GITFILE /* a file or link .git that leads to one */,
        KEPT_INDEX /* an index that changed and is not read: its gitlinks are not known */,
        KEPT_MORE /* more than are reported */,
        KEPT_BOUND /* only so many directories were looked at; kept: how many */,
        /* Below the top (maker/below.h), in one line: name: the first; kept: others, one a line,
           relative to the mount's source; key: how many in all */
        KEPT_CHANGED_BELOW,
        KEPT_PACKAGES,
        KEPT_WITHIN /* in a repository */,
        KEPT_CLOSED /* directories that cannot be listed */,
        KEPT_WHAT_MAX
};
struct wire_kept {
        uint32_t what;
        int32_t sys;
        char name[760], kept[1024], key[256];
};
struct wire_number {
        int32_t number;
};
struct wire_busy {
        int32_t number;
        uint32_t nsec;
        int64_t sec;
}; /* sec, nsec: now, of CLOCK_REALTIME_COARSE: as inodes are stamped */
struct wire_stored {
        uint64_t bytes; /* UINT64_MAX: they are memory, or not counted yet */
};
struct wire_size {
        uint16_t rows, columns;
};
struct wire_exec_number {
        uint32_t exec;
        int32_t number;
};
struct wire_exec_size {
        uint32_t exec;
        uint16_t rows, columns;
};

enum wire_exec_flag {
        WIRE_EXEC_TTY = 1u << 0,
        WIRE_EXEC_LAST = 1u << 1 /* the box ends with this command */,
        WIRE_EXEC_NO_PATH = 1u << 2 /* argv[0] is not looked up */,
        WIRE_EXEC_BUILTIN = 1u << 3 /* argv[0] names a function of the guest (guest/files.h), run in
                                       a child of its own */
        ,
        WIRE_EXEC_GROUP =
                1u << 4 /* the last descriptor is a cgroup.procs: the command joins by writing 0 */,
        WIRE_EXEC_TREE =
                1u << 5 /* no group: the guest must be able to kill the tree (WIRE_KILL_TREE) */
        ,
        WIRE_EXEC_AS_CALLER =
                1u
                << 6 /* keeps what the guest has of its caller: session, process group, directory,
                        limits, umask, ignored signals; a signal goes to its pid alone */
};
enum wire_reset_flag { WIRE_RESET_SIGNALS = 1u << 0, WIRE_RESET_FDS = 1u << 1 };

/*
 * Followed by argc + envc + 1 NUL-terminated strings: the arguments, the environment, the working
 * directory. Descriptors: stdin, stdout, stderr, or none for a terminal; then the group's
 * cgroup.procs with WIRE_EXEC_GROUP.
 */
struct wire_exec {
        uint32_t exec; /* the caller's number for it, not 0, in every message about it */
        uint32_t flags, argc, envc, skip_resets /* enum wire_reset_flag; tests only */;
        uint32_t spare; /* box to guest: the spare that is to become it, where it still lives; 0:
                           none */
        uint64_t cpu_seconds;   /* RLIMIT_CPU for the command where groups cannot count, else 0 */
        uint16_t rows, columns; /* of the terminal */
        uint32_t strings_len;
};
enum wire_exec_stage {
        WIRE_STAGE_LOOKUP = 1,
        WIRE_STAGE_DIRECTORY,
        WIRE_STAGE_TERMINAL,
        WIRE_STAGE_SPAWN,
        WIRE_STAGE_PREPARE,
        WIRE_STAGE_PROVIDER /* with a provider, elsewhere */
};
struct wire_exec_failed {
        uint32_t exec;
        int32_t sys;
        uint32_t stage;
};
struct wire_exec_ended {
        uint32_t exec;
        uint32_t is_disk_full;                   /* the private disk was, when it ended */
        int32_t code;                            /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
        int32_t status;                          /* exit status or signal number */
        uint64_t user_us, system_us, max_rss_kb; /* of the command and what it waited for */
};
struct wire_spare {
        uint32_t number, pad;
}; /* the box's number for the child that is made ready; 0: none is wanted any more */
struct wire_connect {
        uint32_t request;
        uint16_t port;
        uint16_t pad;
};
struct wire_connected {
        uint32_t request;
        int32_t sys;
}; /* ECONNREFUSED: nothing listens. From carrel-bridge: where sys is 0, followed by the address of
      the port, at most WIRE_URL_MAX bytes of text without a NUL, and there is no descriptor */
enum { WIRE_URL_MAX = 2048 };

struct wire_message {
        uint16_t kind;
        size_t len;            /* of the body, bytes */
        int fds[WIRE_FDS_MAX]; /* close-on-exec; owned by the receiver */
        size_t fd_count;
};

/* Sends one message. `fds` stay the caller's. 0 or -errno (-EPIPE when the other side is gone). */
int wire_send(int socket, uint16_t kind, const void *body, size_t len, const int *fds,
              size_t fd_count);

/*
 * Can a message that was not sent be sent later? With -EAGAIN the socket is full. With
 * -ETOOMANYREFS all processes of this user together have more descriptors in flight than this one
 * may have open. This passes, without a notification: sleep a millisecond in a loop.
 */
int wire_is_for_later(int result);

/*
 * Is the peer up to date? At most a quarter of what the socket holds waits to be read, so a few
 * messages more are sure to fit. 0 also if the connection is closed.
 */
int wire_has_room(int socket);

/*
 * wire_send() on a blocking socket, by a process that has no other work meanwhile: tries again for
 * about five seconds while wire_is_for_later().
 */
int wire_send_in_time(int socket, uint16_t kind, const void *body, size_t len, const int *fds,
                      size_t fd_count);

/*
 * Receives one message; the body goes to `body` (room bytes, 8-byte aligned). `wait` 0: -EAGAIN if
 * no message is waiting. 1: a message; 0: the other side is gone; -errno, -EPROTO for anything
 * malformed (its descriptors are closed). -EMFILE: a whole message, but this process had no place
 * for its descriptors, and has none of them; who can do without answers that, who cannot gives up
 * as for any error.
 */
int wire_receive(int socket, int wait, struct wire_message *ret, void *body, size_t room);

/* Closes every descriptor the message still holds; entries moved out are set to -1 by the mover. */
void wire_message_close(struct wire_message *m);

#endif
