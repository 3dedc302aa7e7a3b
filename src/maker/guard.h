/*
 * maker/guard.h - names that were not in a directory of the host when the sandbox began, and content that may change: what became of them.
 *
 * A GUARD step holds one list for one source. Each entry is a letter and a path:
 *
 *     m  did not exist. Made by the command, it is moved into the sandbox's keeping (KEEPING step) at once.
 *     t  did not exist, and may be made (a new `.git`): reported.
 *     c  content that the repository tracks: a change is reported when the box ends.
 *     s  as m, and the box is killed (metadata.carrel.protect: strict).
 *
 * Everything here is done with the file-system identity of the source's owner, through descriptors, following no symbolic link.
 */
#ifndef CARREL_MAKER_GUARD_H
#define CARREL_MAKER_GUARD_H

#include <stdbool.h>

#include "plan/pack.h"
#include "wire/message.h"

enum { GUARD_PLACES_MAX = 2, GUARD_ITEMS_MAX = 512, GUARD_MOVES_MAX = 64 };

struct guard_item {
        const char *path;                      /* relative to the source; in the plan */
        uint16_t source;
        char mode;                             /* 'm', 't', 'c', 's'; 0: over */
        uint64_t mark;                         /* 'c': what it was */
};

struct guard {
        const struct plan_view *view;
        const char *keeping[GUARD_PLACES_MAX]; /* the first that can be used is */
        size_t place_count;
        struct guard_item items[GUARD_ITEMS_MAX];
        size_t count;
        int dirs[PLAN_SOURCES_MAX];            /* the sources, O_PATH; -1 where nothing is guarded */
        const char *paths[PLAN_SOURCES_MAX];   /* their host paths */
        int inotify;                           /* -1: none; whoever holds this calls guard_sweep() often enough */
        unsigned moves, must_kill;
        void (*report)(const struct wire_kept *news);          /* called for each thing to report; NULL: nobody listens */
};

/*
 * Takes up the lists of the plan, before anything of the box runs. `sources` are borrowed. Names that exist by now are not guarded. With `is_watching`
 * inotify says when to look; closing it takes the kernel 10 to 20 ms (it waits for a grace period), so a box of one command does without.
 */
void guard_begin(struct guard *g, const struct plan_view *view, const int *sources, bool is_watching);

/* Looks for every name, and moves or reports what is found. must_kill is set where the box must end. */
void guard_sweep(struct guard *g);

/* After the last process is gone: one more sweep, changes of content, and everything is closed. */
void guard_end(struct guard *g);

#endif
