/*
 * maker/guard.h - watches names that did not exist in a host directory when the sandbox started,
 * and content that may change. Moves or reports what the command did to them.
 *
 * A GUARD step holds one list for one source. Each entry is a letter and a path:
 *
 *     m  did not exist. If the command creates it, it is moved at once into the sandbox's keeping
 *        (KEEPING step).
 *     t  did not exist, and may be created (a new `.git`): reported.
 *     c  content that the repository tracks: a change is reported when the box ends.
 *     g  a git configuration: a change that runs no program stays; with any other change the file
 * is moved away, and restored as it was. s  as m, and the box is killed (metadata.carrel.protect:
 * strict).
 *
 * What appears while the payload has no process is the host's. It stays, and a change of it is
 * reported when a command ends.
 *
 * All work is done with the file-system identity of the source's owner, through descriptors, and
 * follows no symbolic link.
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
        const char *path;        /* relative to the source; the plan owns the text */
        uint16_t source, config; /* 'g': its index in configs */
        char mode;               /* 'm', 't', 'c', 'g', 's'; 0: no longer watched */
        /* created while no payload process ran; found by the current look */
        bool is_hosts, is_found;
        uint64_t mark; /* 'c', or the host's: its state at the start */
};

struct guard_config {
        struct config good, seen; /* the allowed content; the content that the current look found */
        int seen_result;
};

struct guard {
        const struct plan_view *view;
        struct kept_places places;
        size_t count;
        size_t config_count; /* not 0: the caller runs guard_sweep() often while the box is busy */
        int dirs[PLAN_SOURCES_MAX]; /* the sources, O_PATH; -1 if nothing in it is guarded */
        const char *paths[PLAN_SOURCES_MAX]; /* their host paths */
        bool has_hosts;                      /* a name is the host's: its removal is detected too */
        unsigned rests;                      /* how often the payload's last process has ended */
        bool is_busy;                        /* the payload may have a process */
        /* Updates is_busy: called after a look, before its results are judged; or NULL. */
        void (*refresh)(struct guard *g);
        int inotify; /* -1: not used; the caller then runs guard_sweep() often enough */
        unsigned moves, must_kill;
        /* called once for each report; NULL: reports are dropped */
        void (*report)(const struct wire_kept *news);
        /* last, because of their size: 24 KiB and 2 MiB, of which only used pages are touched */
        struct guard_item items[GUARD_ITEMS_MAX];
        struct guard_config configs[GUARD_CONFIGS_MAX];
};

/*
 * Reads the lists of the plan, before any process of the box runs. `sources` are borrowed. Names
 * that exist at this time are not guarded. `is_watching` is for a long-lived box: it starts not
 * busy, and inotify says when to look. To close inotify takes 10 to 20 ms (an RCU grace period in
 * the kernel), so a box of one command does not use it.
 */
void guard_begin(struct guard *g, const struct plan_view *view, const int *sources,
                 bool is_watching);

/*
 * Checks every name. While the box is busy, a name that exists is moved or reported, and must_kill
 * is set if the box must end. Otherwise the name is the host's.
 */
void guard_sweep(struct guard *g);

/*
 * The payload's last process has ended: runs one more sweep and reports changes of names that are
 * the host's.
 */
void guard_rest(struct guard *g);

/*
 * Call it after the last process has ended: one more sweep, a check for changed content, and all
 * descriptors are closed.
 */
void guard_end(struct guard *g);

#endif
