/*
 * maker/survey.h - the search after a command. It finds repositories that the command created or
 * changed in a host directory, if the host's git would run something in them (H4). It also finds
 * names below the top on which other programs act (below.h).
 *
 * Mounts cannot prevent such repositories. They are reported, and nothing in them is removed. A
 * SURVEY step holds what was known about one source when the sandbox started. Each entry is a
 * letter and a path:
 *
 *     k  a repository whose configuration and hooks are held: not examined.
 *     l  a gitlink in the index of the top.
 *     L  there are more gitlinks than the list holds: none is compared.
 *     o  opened (metadata.carrel.unprotect): nothing in it is examined.
 *     h  a held name below the top: it was read to judge this sandbox.
 *     t  a name below the top that the index tracks.
 *     T  there are more of those than the list holds: each name counts as tracked.
 *     w  the source is a linked git worktree; the host path, inside another source, of its index.
 *     s  metadata.carrel.protect: strict. No path.
 *
 * A look is bounded by SURVEY_DIRECTORIES_MAX and SURVEY_MS, and reports it when it reaches a
 * bound. It runs as the source's owner, through descriptors, and follows no symbolic link.
 */
#ifndef CARREL_MAKER_SURVEY_H
#define CARREL_MAKER_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "maker/below.h"
#include "maker/kept.h"
#include "maker/told.h"
#include "plan/pack.h"
#include "wire/message.h"

enum {
        SURVEY_DIRECTORIES_MAX = 8192, /* directories opened, over all sources */
        SURVEY_MS = 500,               /* for one look */
        SURVEY_NAMES_MAX = 1 << 19,    /* bytes of the paths of directories still to search */
        SURVEY_REPORTS_MAX = 16,
        SURVEY_SOURCES_MAX = 16,
        SURVEY_PAUSE_MS = 200,
        SURVEY_PAUSES_MAX = 256 /* between two looks; what is new in a further one counts as made by
                                   a command */
};

/* dir is owned, O_PATH; the plan owns the rest */
struct survey_source {
        int dir;
        unsigned index;
        const char *path, *list;
        size_t list_len;
};

struct survey {
        struct survey_source sources[SURVEY_SOURCES_MAX];
        size_t count;
        struct timespec since; /* wall clock: what was created before is not the command's */
        bool is_open;          /* a command has run since */
        /* Boot clock: the caller runs survey_look() at this time. UINT64_MAX: no look is due. */
        uint64_t due_ms;
        struct kept_places places;
        struct timespec begun; /* exact start of a sandbox of one command; else all 0 */
        /* the payload has had no process since then; all 0: it may have one */
        struct timespec rested;
        /* the earlier times without one, since `since`, in ascending order */
        struct below_pause pauses[SURVEY_PAUSES_MAX];
        size_t pause_count;
        struct told told; /* since `since` */
        bool must_kill;   /* a name that was found requires the box to end */
        void (*report)(const struct wire_kept *news); /* NULL: reports are dropped */
};

/*
 * Reads the lists of the plan, before any process of the box runs. `sources` are borrowed. With
 * `is_living` the box waits for its commands; else whatever is created from now on is the
 * command's.
 */
void survey_begin(struct survey *s, const struct plan_view *view, const int *sources,
                  bool is_living);

/*
 * Notes that the first of the running commands began at that time (wall clock as inodes are
 * stamped: CLOCK_REALTIME_COARSE).
 */
void survey_mark(struct survey *s, const struct timespec *began);

/* Notes that the payload has no process left: a look is due SURVEY_PAUSE_MS later. */
void survey_rest(struct survey *s);

/*
 * Searches every source, moves names and sends reports. `is_busy`: a command is running and may
 * rename directories during the search, so the next look covers the same time again.
 */
void survey_look(struct survey *s, bool is_busy);

/*
 * Call it after the last process has ended: a last look if one is due, and all descriptors are
 * closed.
 */
void survey_end(struct survey *s);

#endif
