/*
 * guest/exec.h - the commands of a box: a table of those that run, and what is still to be told of each.
 *
 * The table is the queue: an ending stays in its row until the control socket has taken it, so a keeper or box that does not read
 * cannot make pid 1 wait, and nothing is lost. Fixed in number and never touched beyond what was used at most at once.
 */
#ifndef CARREL_GUEST_EXEC_H
#define CARREL_GUEST_EXEC_H

#include <poll.h>
#include <sys/resource.h>

#include "guest/command.h"
#include "guest/report.h"
#include "guest/spare.h"

enum { EXEC_MAX = 1024 };

enum exec_state { EXEC_FREE, EXEC_STARTING, EXEC_RUNNING, EXEC_OVER };

struct exec {
        uint32_t number;               /* the caller's */
        uint8_t state;
        uint8_t is_last, is_dying;     /* the box ends with it; its tree is being killed */
        uint8_t tells_start, tells_failure, tells_end;     /* what the control socket has not taken yet */
        pid_t pid;                     /* of the command, 0 while it is not known */
        pid_t child;                   /* ours: the command, its reaper or the function; 0 once it was reaped */
        uint8_t has_reaper, is_function;
        int start;                     /* says what comes of its start (command_fork()), -1: something else does, or it is known */
        int master;                    /* of its terminal, -1 if none */
        unsigned passes;               /* of killing so far */
        unsigned alone;                /* of those: frozen, and nothing lived below its reaper */
        uint64_t signals;              /* bit n - 1: signal n came before the command's pid was known */
        struct wire_exec_failed failed;
        struct wire_exec_ended ended;
};

struct execs {
        int control;                   /* does not block */
        int reports[2];                /* the pipe of guest/report.h, -1 before the first who needs it */
        size_t used;                   /* rows from here on were never touched */
        int has_news;                  /* somebody's ending waits for room in the socket */
        int disk;                      /* the root of the private disk, -1: it cannot be looked at */
        int has_ended;                 /* of that, the end of a command */
        int has_tried;                 /* of that, one that failed, or that took long enough to have tried the network */
        int has_refusal;               /* and so does a refusal for which there was no row */
        int is_ending;                 /* the last command is over, and told */
        int owes_idle;                 /* WIRE_IDLE, once no child is left */
        int has_strays;                /* a reaper was killed: what it held is below pid 1 now */
        unsigned stray_passes, stray_finds;    /* so far; of those: nothing was found although everything stood still */
        uint64_t due_ms;               /* boot clock: no pass of killing before that */
        unsigned held, held_max;       /* descriptors kept for terminals, and how many may be */
        unsigned starts;               /* descriptors kept for those that start */
        struct exec *sharing;          /* its child reads its words in our memory (command_share()); NULL: nobody's does */
        struct command shared;
        struct command_attempt attempt;
        size_t shared_len;
        unsigned has_no_spare;         /* there are too few descriptors for one */
        struct spare spare;
        int has_lost;                  /* the spare went before the command had begun, and another has to follow it */
        struct wire_exec_failed refusal;
        struct exec rows[EXEC_MAX];
};

/* `x` is zeroed and the only one of its process; `control` must not block; no more than `held_max` terminals are kept at a time. */
void execs_init(struct execs *x, int control, unsigned held_max);

/* Where the next message is to be received: WIRE_BODY_MAX bytes. */
char *execs_body(const struct execs *x);

/* Takes a WIRE_EXEC: its strings in `body`, which came from there, and is wiped as soon as it is not needed. Descriptors it needs longer are taken out of the message. */
void execs_start(struct execs *x, struct wire_message *m, char *body);

/* Takes a WIRE_SPARE: makes one ready, or lets it go. */
void execs_spare(struct execs *x, const struct wire_message *m, const struct wire_spare *wanted);

void execs_signal(struct execs *x, uint32_t exec, int number);
void execs_resize(struct execs *x, const struct wire_exec_size *size);
void execs_kill_tree(struct execs *x, uint32_t exec);

/* Takes in reports; and children that ended or were stopped: 1 where there may be more of them than were looked at. */
void execs_hear(struct execs *x);
int execs_reap(struct execs *x);

/* Those that start: at most EXEC_MAX descriptors to wait for, and what became of them. Nothing else is called between. */
size_t execs_poll(const struct execs *x, struct pollfd *fds);
void execs_hear_starts(struct execs *x, const struct pollfd *fds, size_t count);

/* Starts again what a spare did not come to; after everything that was asked has been heard, because it may have been killed meanwhile. */
void execs_resume(struct execs *x);

/* Tells what the socket takes; -1 when nobody listens any more. */
int execs_tell(struct execs *x);

/* One pass of killing where trees are dying. Milliseconds until the next one is due, -1: none is. */
int execs_kill(struct execs *x);

#endif
