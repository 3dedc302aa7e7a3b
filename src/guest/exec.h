/*
 * guest/exec.h - the commands of a box: a table of the running ones, and the messages about them
 * that are not sent yet.
 *
 * The table is also the queue. An ended command stays in its row until the control socket has taken
 * the report. So a keeper or box that does not read cannot block pid 1, and no report is lost. The
 * table has a fixed size. Rows beyond the highest number in use so far are never touched.
 */
#ifndef CARREL_GUEST_EXEC_H
#define CARREL_GUEST_EXEC_H

#include <poll.h>
#include <sys/resource.h>

#include "guest/command.h"
#include "guest/preforked.h"
#include "guest/report.h"

enum { EXEC_MAX = 1024 };

enum exec_state { EXEC_FREE, EXEC_STARTING, EXEC_RUNNING, EXEC_OVER };

struct exec {
        uint32_t number; /* chosen by the caller */
        uint8_t state;
        uint8_t is_last, is_dying; /* the box ends with this exec; its process tree is being
                                    * killed */
        /* messages that the control socket has not taken yet */
        uint8_t tells_start, tells_failure, tells_end;
        pid_t pid;   /* of the command; 0 while it is not known */
        pid_t child; /* pid 1's own child: the command, its reaper or the
                      * function; 0 after it was reaped */
        uint8_t has_reaper, is_function, is_as_caller;
        int start;        /* reports the result of its start (command_fork()); -1: it
                           * comes another way, or is known */
        int master;       /* of its terminal; -1: none */
        unsigned passes;  /* kill passes so far */
        unsigned alone;   /* of those: passes under freeze that found nothing alive
                           * below its reaper */
        uint64_t signals; /* bit n - 1: signal n arrived before the command's pid was
                           * known */
        struct wire_exec_failed failed;
        struct wire_exec_ended ended;
};

struct execs {
        int control;     /* non-blocking */
        int reports[2];  /* the pipe of guest/report.h; -1 until it is first needed */
        size_t used;     /* rows from here on were never touched */
        int has_news;    /* a report waits for room in the socket */
        int disk;        /* the root of the private disk; -1: it cannot be
                          * inspected */
        int has_ended;   /* one of the waiting reports is the end of a command */
        int has_tried;   /* one of those ends is a failure, or of a command that ran
                          * long enough to try the network */
        int has_refusal; /* a refusal without a row waits as well */
        int is_ending;   /* the last command has ended, and this was reported */
        int owes_idle;   /* WIRE_IDLE is due once no child is left */
        int has_strays;  /* a reaper was killed: its descendants are children of pid 1
                          * now */
        unsigned stray_passes, stray_finds; /* kill passes so far; of those: passes under freeze
                                             * that found nothing */
        uint64_t due_ms;                    /* boot clock: no kill pass before this time */
        unsigned held, held_max;            /* descriptors kept for terminals, and their maximum */
        unsigned starts;                    /* descriptors kept for commands that are starting */
        /* the exec whose child still reads its strings in this process's memory (command_share());
         * NULL: none */
        struct exec *sharing;
        struct command shared;
        struct command_attempt attempt;
        size_t shared_len;
        unsigned has_no_spare; /* too few descriptors for a spare */
        struct preforked spare;
        int has_lost; /* the spare ended before its command had begun, so the
                       * command must be started again */
        struct wire_exec_failed refusal;
        struct exec rows[EXEC_MAX];
};

/*
 * `x` is zeroed and the only one of its process. `control` must be non-blocking. At most `held_max`
 * terminals are kept at a time.
 */
void execs_init(struct execs *x, int control, unsigned held_max);

/* The buffer for the next message: WIRE_BODY_MAX bytes. */
char *execs_body(const struct execs *x);

/*
 * Handles a WIRE_EXEC. `body` is the buffer of execs_body(), with its strings; it is wiped as soon
 * as it is not needed. Takes descriptors that it needs longer out of the message.
 */
void execs_start(struct execs *x, struct wire_message *m, char *body);

/* Handles a WIRE_PREFORK: creates a spare, or drops it. */
void execs_spare(struct execs *x, const struct wire_message *m, const struct wire_spare *wanted);

/*
 * The exec whose process this is: the only one that runs, or found by its parents. 0: not known. It
 * is decided here, because the box learns later than pid 1 that another one has ended.
 */
uint32_t execs_of(const struct execs *x, pid_t pid);

void execs_signal(struct execs *x, uint32_t exec, int number);
void execs_resize(struct execs *x, const struct wire_exec_size *size);
void execs_kill_tree(struct execs *x, uint32_t exec);

/*
 * execs_hear() reads reports. execs_reap() handles children that ended or stopped; 1: there may be
 * more than it looked at.
 */
void execs_hear(struct execs *x);
int execs_reap(struct execs *x);

/*
 * The commands that are starting: at most EXEC_MAX descriptors to poll, and then the results. Call
 * nothing else between the two.
 */
size_t execs_poll(const struct execs *x, struct pollfd *fds);
void execs_hear_starts(struct execs *x, const struct pollfd *fds, size_t count);

/*
 * Starts commands again whose spare ended first. Call it after all requests were read, because a
 * request may have killed such a command.
 */
void execs_resume(struct execs *x);

/* Sends as many messages as the socket takes. -1: the other end is closed. */
int execs_tell(struct execs *x);

/*
 * Does one kill pass over dying trees. Returns milliseconds until the next pass is due; -1: none
 * is.
 */
int execs_kill(struct execs *x);

#endif
