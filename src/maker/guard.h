/*
 * maker/guard.h - names that were not in a directory of the host when the sandbox began, and content that may change: what became of them.
 *
 * A GUARD step holds one list for one source. Each entry is a letter and a path:
 *
 *     m  did not exist. Made by the command, it is moved into the sandbox's keeping (KEEPING step) at once.
 *     t  did not exist, and may be made (a new `.git`): reported.
 *     c  content that the repository tracks: a change is reported when the box ends.
 *     g  a configuration of git: changes that run nothing stay; with any other it is moved away, and put back as it was.
 *     s  as m, and the box is killed (metadata.carrel.protect: strict).
 *
 * What appears while the payload has no process is the host's: it stays, and a change of it is reported when a command ends.
 *
 * Everything here is done with the file-system identity of the source's owner, through descriptors, following no symbolic link.
 */
#ifndef CARREL_MAKER_GUARD_H
#define CARREL_MAKER_GUARD_H

#include <stdbool.h>

#include "maker/config.h"
#include "maker/kept.h"
#include "plan/pack.h"
#include "plan/request.h"
#include "wire/message.h"

enum { GUARD_ITEMS_MAX = 1024, GUARD_MOVES_MAX = 64, GUARD_CONFIGS_MAX = PLAN_CONFIGS_MAX };

struct guard_item {
        const char *path;                      /* relative to the source; in the plan */
        uint16_t source, config;               /* 'g': its place in configs */
        char mode;                             /* 'm', 't', 'c', 'g', 's'; 0: over */
        bool is_hosts, is_found;               /* made while nothing of the payload ran; seen by the look that is under way */
        uint64_t mark;                         /* 'c', or the host's: what it was */
};

struct guard_config { struct config good, seen; /* what it may be; what a look that is under way found */ int seen_result; };

struct guard {
        const struct plan_view *view;
        struct kept_places places;
        struct guard_item items[GUARD_ITEMS_MAX];
        size_t count;
        size_t config_count;                   /* where there is one, whoever holds this calls guard_sweep() often while the box is busy */
        int dirs[PLAN_SOURCES_MAX];            /* the sources, O_PATH; -1 where nothing is guarded */
        const char *paths[PLAN_SOURCES_MAX];   /* their host paths */
        bool has_hosts;                        /* one is the host's: that it goes is looked for too */
        unsigned rests;                        /* how often the payload had no process any more */
        bool is_busy;                          /* the payload may have a process */
        void (*refresh)(struct guard *g);      /* brings is_busy up to date: called after a look, before what it found is judged; or NULL */
        int inotify;                           /* -1: none; whoever holds this calls guard_sweep() often enough */
        unsigned moves, must_kill;
        void (*report)(const struct wire_kept *news);          /* called for each thing to report; NULL: nobody listens */
        struct guard_config configs[GUARD_CONFIGS_MAX];        /* last: 2 MiB of which nothing is touched that is not needed */
};

/*
 * Takes up the lists of the plan, before anything of the box runs. `sources` are borrowed. Names that exist by now are not guarded. With `is_watching`
 * it is a box that stays: not busy, and inotify says when to look; closing it takes the kernel 10 to 20 ms (it waits for a grace period), so a box of one command does without.
 */
void guard_begin(struct guard *g, const struct plan_view *view, const int *sources, bool is_watching);

/* Looks for every name. While the box is busy, what is found is moved or reported, and must_kill is set where the box must end; else it is the host's. */
void guard_sweep(struct guard *g);

/* The payload has no process any more: one more sweep, and changes of what is the host's are reported. */
void guard_rest(struct guard *g);

/* After the last process is gone: one more sweep, changes of content, and everything is closed. */
void guard_end(struct guard *g);

#endif
