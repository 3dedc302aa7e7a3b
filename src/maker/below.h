/*
 * maker/below.h - names below the top of a directory of the host that a command made, and on which programs act in whatever directory they are
 * (rows with PROTECT_DEEP of plan/protect.c): `.envrc`, `.vscode`, `.claude` and their like.
 *
 * At the top names are guarded one by one (guard.h). Below it they are found by the search at a command's end (survey.h), and judged by times of change,
 * which a command cannot set:
 *
 *     its inode is of before --------------------------------------> not the command's, also where a directory above it was renamed
 *     held by a mount ('h' of the list) ---------------------------> not the command's
 *     tracked by the index at the start ('t') ---------------------> content: reported as changed
 *     its directory is of before, so it had the name before -------> reported as changed
 *     later than the last process of the payload ------------------> the host's
 *     of the tick of the clock in which a sandbox of one command began: reported as changed; a person may have made it just before
 *     within an installed package, or within a repository ---------> reported, and left: a package manager, or that repository's git, would miss it
 *     else --------------------------------------------------------> moved into the sandbox's keeping and reported; strict: and the box is killed
 *
 * "Within a repository" is below a directory with a `.git` of its own, and everywhere where the top's `.git` was not there at the start (no 'k' for it). What
 * a command makes in a repository or a package is so reported only: a payload can choose such a place, and the report is all there is.
 *
 * A directory that was there and changed, in a directory that changed as well, is taken for the command's: whether it was renamed there cannot be seen.
 * Everything is done as the source's owner, through descriptors, following no symbolic link; what is moved is the inode that was judged.
 */
#ifndef CARREL_MAKER_BELOW_H
#define CARREL_MAKER_BELOW_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "maker/kept.h"
#include "wire/message.h"

enum { BELOW_MOVES_MAX = 64 };                 /* of one look; the next one cannot be moved, and the box is killed */

/* Reported in one line: the first, others as far as they fit (relative to their source), and how many. */
struct below_fold { unsigned count; size_t more_len; char first[760], more[1024]; };

enum below_kind { BELOW_CHANGED, BELOW_PACKAGE, BELOW_REPOSITORY, BELOW_CLOSED, BELOW_KINDS };

struct below {
        const struct kept_places *places;
        struct timespec since, rested;         /* rested: the payload has had no process since; all 0: it may have one */
        struct timespec begun;                 /* of a sandbox of one command, by the exact clock; what is not later may be of before. All 0: of others */
        void (*report)(const struct wire_kept *news);  /* or NULL */

        int source;                            /* the one that is searched: O_PATH; changed between sources. All of it borrowed */
        unsigned index;                        /* its number in the plan */
        const char *path, *list;  size_t list_len;     /* of the host; of the SURVEY step */

        unsigned moves;
        bool must_kill;
        ino_t closed;                          /* the last directory that cannot be listed */
        struct below_fold folds[BELOW_KINDS];
        char asked[4096];  bool is_asked, was_in_repository;   /* the last directory that was asked about */
};

/* Clears all that was found. What is above the first empty line is the caller's to set. */
void below_begin(struct below *b);

/*
 * Judges one name of the directory `dir`, whose path in the source is `path`, not "". A name that is not in the table costs no system call. Called as
 * the source's owner (owner.h). True: it is moved away.
 */
bool below_meet(struct below *b, int dir, const char *path, const char *name);

/* Looks at the names that are content. Called as the source's owner. */
void below_compare(struct below *b);

/* The directory `path` cannot be listed, or not entered. Reported if it changed since. */
void below_be_closed(struct below *b, const char *path);

/* Reports what is reported in one line. */
void below_end(struct below *b);

#endif
