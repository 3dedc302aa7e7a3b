/*
 * guest/spare.h - a child of pid 1 that is ready ahead: in its control group already, waiting to be told which command it is.
 *
 * To join a group can take many milliseconds (the kernel lets every processor pass first), so it is done while nobody waits. The box
 * says when one is wanted and in which group (WIRE_SPARE), and with a command that it is to be that one (struct wire_exec). A spare is never
 * relied on: the message and its descriptors are kept until it has become the command, and whatever happens to it before
 * that, the command is started the ordinary way. Never more than one; none where there are no groups.
 */
#ifndef CARREL_GUEST_SPARE_H
#define CARREL_GUEST_SPARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/command.h"

enum { SPARE_FDS = 6 };                /* pid 1 needs at most so many for it: its socket's ends, and what is kept */

enum spare_word { SPARE_QUIET, SPARE_STARTED, SPARE_FAILED, SPARE_LOST };

struct spare_mark;
struct spare {
        uint32_t number;               /* the box's for it; 0: nobody waits */
        pid_t pid;
        int socket;                    /* our end of its socket; -1: there is none, or it is decided */
        struct spare_mark *mark;       /* NULL before the first one */
        uint32_t exec;                 /* what it is becoming; 0: nothing */
        char *kept;                    /* that one's message, in memory that no child gets */
        size_t kept_len;
        int stdio[3], group;           /* and its descriptors, owned */
};

/* `s` is zeroed. */
void spare_init(struct spare *s);

/* A new one in place of any that waits; `group`, an open cgroup.procs, stays the caller's. Nothing where that cannot be had, or one is becoming a command. */
void spare_make(struct spare *s, uint32_t number, int group);

/* Lets the one go that waits. */
void spare_drop(struct spare *s);

/* Could it be this command? */
int spare_serves(const struct spare *s, const struct command *c);

/*
 * Tells it to become `c`, whose message is `body`. 0: it was told, and c's descriptors are its own from now on (spare_settle() closes
 * them). -errno: it is gone, and nothing has changed.
 */
int spare_pass(struct spare *s, const struct command *c, const char *body, size_t len);

/*
 * What became of it: nothing yet; s->pid has started to be the command; *ret_sys at *ret_stage; or it went before that, and the command is to be
 * started by another, for which spare_again() reads it anew. After any but QUIET: spare_settle().
 */
enum spare_word spare_hear(struct spare *s, int *ret_sys, enum wire_exec_stage *ret_stage);

/* 0 or -errno; strings and descriptors stay ours until spare_settle(). */
int spare_again(struct spare *s, char **pointers, size_t room, struct command *ret);
void spare_settle(struct spare *s);

#endif
