/*
 * keeper/changed.h - the files that a sandbox's commands changed, for the audit log.
 *
 *     box made --> base known --exec ends--> look --rows, done--> entries, then the ends of its
 * execs (commands wait)            ^---- another has ended meanwhile
 *
 * F1: no command starts before its sandbox's base is known, or is said not to be.
 * F2: the end of an exec is recorded after a look that began after it, or after an entry that says
 * why there was none; except that nothing holds up an end when the sandbox is gone.
 * No answer to a caller waits for a look. What changed while several commands ran is
 * recorded with the numbers of all of them.
 */
#ifndef CARREL_KEEPER_CHANGED_H
#define CARREL_KEEPER_CHANGED_H

#include "keeper/keeper.h"
#include "keeper/sandbox.h"

enum {
        CHANGED_BASE_MS = 15 * 1000,  /* a command waits at most so long for the base */
        CHANGED_LOOK_MS = 30 * 1000,  /* an end waits at most so long for a look */
        CHANGED_PAUSE_MS = 1000,      /* the longest pause between two looks: as long as the last */
        CHANGED_RETRY_MS = 60 * 1000, /* after a process that did not help; each time doubled */
        CHANGED_RETRY_MAX_MS = 60 * 60 * 1000,
        CHANGED_DEAF_MS = 10,    /* rows wait so long for a recorder that is behind */
        CHANGED_HELD_MAX = 1024, /* ends of one sandbox that wait */
        CHANGED_BURST = 8 << 20, /* bytes of rows that a sandbox may write at once */
        CHANGED_RATE = 64 << 10, /* and more each second */
        CHANGED_ROW_LEN = 256    /* bytes that a row is expected to take */
};

/* Takes the keeper's end of the socket pair with carrel-files. */
int changed_open(struct keeper *k, int take_fd, struct error *e);

/* Its box is being made, from the sources in s->prepared. */
void changed_make(struct sandbox *s);

/* Its box is ready, and its sources are still open; or an earlier keeper's box was found. */
void changed_ready(struct sandbox *s);

/* For an exec: CALL_WAITS until the base is known. */
enum call_state changed_need(struct call *c, struct sandbox *s);

/* The box got the order to start it. */
void changed_exec_begins(struct sandbox *s, uint32_t exec);

/* true: its end is recorded later, by this file. */
bool changed_exec_ended(struct sandbox *s, const struct wire_box_listed *l);

/* The sandbox is freed: the last look goes on without it. */
void changed_gone(struct sandbox *s);

/* Does a look of a sandbox that is gone go on? */
bool changed_is_busy(const struct keeper *k);

/* Frees what has ended. */
void changed_sweep(void);

#endif
