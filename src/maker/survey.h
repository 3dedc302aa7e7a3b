/*
 * maker/survey.h - the search when a command has ended: repositories that it made or changed in a directory of the host, and in which git of the host would
 * run something (H4), and names below the top that other programs act on (below.h).
 *
 * Mounts cannot prevent them. Repositories are reported, and nothing of them is removed. A SURVEY step holds what was known of one source when the
 * sandbox began. Each entry is a letter and a path:
 *
 *     k  a repository whose configuration and hooks are held: not looked at.
 *     l  a gitlink in the index of the top.
 *     L  there are more gitlinks than the list holds: none is compared.
 *     o  opened (metadata.carrel.unprotect): nothing in it is looked at.
 *     h  a name below the top that is held, because it was read to judge this sandbox for one.
 *     t  a name below the top that the index tracks.
 *     T  there are more of those than the list holds: each counts as tracked.
 *     w  the source is a linked worktree of git; the path of the host, within another source, where its index lies.
 *     s  metadata.carrel.protect: strict. No path.
 *
 * The look has bounds: SURVEY_DIRECTORIES_MAX, SURVEY_MS; where it reaches one, it says so. It is made as the source's owner, through descriptors,
 * following no symbolic link.
 */
#ifndef CARREL_MAKER_SURVEY_H
#define CARREL_MAKER_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "maker/kept.h"
#include "plan/pack.h"
#include "wire/message.h"

enum {
        SURVEY_DIRECTORIES_MAX = 8192,         /* that are opened, in all sources together */
        SURVEY_MS = 500,                       /* of one look */
        SURVEY_NAMES_MAX = 1 << 19,            /* bytes of paths of directories that wait */
        SURVEY_REPORTS_MAX = 16, SURVEY_SOURCES_MAX = 16, SURVEY_PAUSE_MS = 200,
};

struct survey_source { int dir; unsigned index; const char *path, *list; size_t list_len; };     /* owned, O_PATH; the rest is in the plan */

struct survey {
        struct survey_source sources[SURVEY_SOURCES_MAX];
        size_t count;
        struct timespec since;                 /* wall clock: what was made before is not the command's */
        bool is_open;                          /* a command ran since */
        uint64_t due_ms;                       /* boot clock: whoever holds this calls survey_look() then; UINT64_MAX: not yet */
        struct kept_places places;
        struct timespec begun;                 /* exact, of a sandbox of one command; else all 0 */
        struct timespec rested;                /* the payload has had no process since; all 0: it may have one */
        bool must_kill;                        /* a name that was found ends the box */
        void (*report)(const struct wire_kept *news);          /* NULL: nobody listens */
};

/*
 * Takes up the lists of the plan, before anything of the box runs. `sources` are borrowed. With `is_living` the box waits for its commands; else what
 * is made from now on is the command's.
 */
void survey_begin(struct survey *s, const struct plan_view *view, const int *sources, bool is_living);

/* A command began at that moment (of the wall clock, as inodes are stamped: CLOCK_REALTIME_COARSE) where none was. */
void survey_mark(struct survey *s, const struct timespec *began);

/* The payload has no process any more: a look is due SURVEY_PAUSE_MS later. */
void survey_rest(struct survey *s);

/* Looks at every source, moves and reports. With `is_busy` a command is running and may rename what is looked at: the next look begins at the same moment again. */
void survey_look(struct survey *s, bool is_busy);

/* After the last process is gone: a last look where one is missing, and everything is closed. */
void survey_end(struct survey *s);

#endif
