/*
 * box/ns/state.h - what the parts of the namespace engine share.
 */
#ifndef CARREL_BOX_NS_STATE_H
#define CARREL_BOX_NS_STATE_H

#include <stddef.h>

#include "box/engine.h"
#include "box/ns/counters.h"
#include "box/ns/groups.h"
#include "wire/queue.h"

enum { NS_QUEUE_MAX = 16 << 20 }; /* bytes that wait for pid 1 */

#define ns_holder(pointer, member) \
        ((struct ns *)(void *)((char *)(pointer)-offsetof(struct ns, member)))

struct prefork {             /* a child of pid 1 that is ready to become the next command */
        struct group *group; /* the group that it is in; NULL: no spare */
        uint32_t number;     /* of the last one */
        uint64_t last_ms;    /* when the last command began; 0: never */
        uint64_t kills;      /* out-of-memory kills, as of the last request for a spare */
        uint64_t idle_ms;    /* struct ns_start */
        struct loop_timer timer;
};

struct quiet {
        unsigned is_busy; /* as last reported to the maker */
        unsigned is_idle; /* as last reported by pid 1 */
        uint64_t wait_ms; /* until the next look */
        struct loop_timer timer;
};

struct freezer {
        unsigned is_on;    /* from the order until the thaw */
        unsigned lets_go;  /* thawed for a moment */
        uint64_t wait_ms;  /* until the next attempt */
        uint64_t until_ms; /* then it is given up */
        struct loop_watch events;
        struct loop_timer late;
};

struct ns {
        struct engine engine; /* first: the box's view */
        struct loop *loop;
        struct loop_watch maker, guest;
        struct wire_queue to_guest;
        unsigned has_guest, has_maker, has_begun, is_spawned, is_ready, is_ending, has_no_groups,
                is_one;
        struct job *jobs;           /* sent, and with something left to kill; newest first */
        uint32_t starting, running; /* sent, and not over */
        struct groups groups;
        struct counters counters;
        struct prefork prefork;
        struct quiet quiet;
        struct freezer freezer;
        uint64_t stored_kb;   /* as the maker last said; ENGINE_UNKNOWN */
        unsigned asks_stored; /* its next answer is not there yet */
};

static inline struct ns *
ns_of(struct engine *e)
{
        return (struct ns *)(void *)e;
}

/* -- ns.c -------------------------------------------------------------------------------------- */
/* `fds` are borrowed. If the message cannot even be queued, the box hears that pid 1 is lost. */
void ns_say(struct ns *ns, uint16_t kind, const void *body, size_t len, const int *fds,
            size_t fd_count);

/* -- hear.c ------------------------------------------------------------------------------------ */
int ns_hear_begin(struct ns *ns, int maker, int guest);
/* handles all messages of pid 1 so far */
void ns_hear_guest(struct ns *ns);
void ns_hear_end(struct ns *ns);

/* -- prefork.c --------------------------------------------------------------------------------- */
/* requests a spare soon, when no more urgent command starts */
void prefork_want(struct ns *ns);
/* a command begins, with a spare or without */
void prefork_begun(struct ns *ns);
/* for a command that begins now; NULL: no spare */
struct group *prefork_take(struct ns *ns, uint32_t *ret_number);
void prefork_drop(struct ns *ns);

/* -- freezer.c --------------------------------------------------------------------------------- */
/* as freeze() of box/engine.h */
int ns_freeze(struct engine *e, int is_wanted);
void freezer_close(struct ns *ns);

/* -- quiet.c ----------------------------------------------------------------------------------- */
/* before a command is sent to pid 1: 0, or -errno: do not send it */
int quiet_end(struct ns *ns);
/* a command has ended: checks whether any process still runs */
void quiet_look(struct ns *ns);
/* pid 1 reports that it has no child left */
void quiet_heard(struct ns *ns);

#endif
