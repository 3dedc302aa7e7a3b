/*
 * maker/below.h - protected names below the top of a host directory: `.envrc`, `.vscode`, `.claude`
 * and others (rows with PROTECT_DEEP in plan/protect.c). Programs act on them in any directory.
 * This module judges those that a command created.
 *
 * At the top, names are guarded one by one (guard.h). Below the top, the search after a command
 * finds them (survey.h). It judges them by ctime, which a command cannot set. The first row that
 * matches decides:
 *
 *     inode older than the command ---------------> not the command's, also if a directory above
 * was renamed held by a mount ('h' in the list) ----------> not the command's tracked by the index
 * at the start ('t') ----> content: reported as changed directory older, so it had the name before
 * -> reported as changed while the payload had no process -> the host's in the clock tick
 * in which a sandbox of one command began ----------------------------> reported as changed: a
 * person may have made it just before inside an installed package or a repository > reported, not
 * moved: a package manager or git would miss it else ---------------------------------------> moved
 * into the sandbox's keeping and reported; strict: the box is killed too
 *
 * "Inside a repository" means below a directory that has its own `.git`. If the top had no `.git`
 * at the start (no 'k' for it), the whole source counts as inside a repository. A payload can
 * choose to create a name in a repository or a package; it is then only reported.
 *
 * If a directory that existed before has changed and its parent has changed too, it counts as the
 * command's: a rename cannot be seen. All work is done as the source's owner, through descriptors,
 * and follows no symbolic link. The inode that is moved is the inode that was judged.
 */
#ifndef CARREL_MAKER_BELOW_H
#define CARREL_MAKER_BELOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "maker/kept.h"
#include "maker/told.h"
#include "wire/message.h"

/* A time in which the payload had no process; both ends are outside (wall clock). */
struct below_pause {
        struct timespec from, until;
};

/* in one look; a further name cannot be moved, and the box is killed */
enum { BELOW_MOVES_MAX = 64 };

/*
 * One report line: the first path, as many others as fit (relative to their source), and the count.
 */
struct below_fold {
        uint64_t evidence; /* told.h */
        unsigned count;
        size_t more_len;
        char first[760], more[1024];
};

enum below_kind { BELOW_CHANGED, BELOW_PACKAGE, BELOW_REPOSITORY, BELOW_CLOSED, BELOW_KINDS };

struct below {
        const struct kept_places *places;
        /* rested: the payload has had no process since then; all 0: it may have one */
        struct timespec since, rested;
        const struct below_pause *pauses; /* between `since` and `rested`; borrowed */
        size_t pause_count;
        /* Exact start time of a sandbox of one command; what is not later may be older than it.
         * All 0 for other sandboxes. */
        struct timespec begun;
        void (*report)(const struct wire_kept *news); /* or NULL */
        struct told *told;                            /* what was reported before; borrowed */

        /* the source that is searched (O_PATH); the caller changes it between sources. All
         * fields are borrowed. */
        int source;
        unsigned index; /* the source's number in the plan */
        /* host path of the source; list of the SURVEY step */
        const char *path, *list;
        size_t list_len;

        unsigned moves;
        bool must_kill;
        ino_t closed; /* the last directory that could not be listed */
        struct below_fold folds[BELOW_KINDS];
        /* the last directory that was checked for being inside a repository */
        char asked[4096];
        bool is_asked, was_in_repository;
};

/* Clears all results. The caller sets the fields above the first empty line. */
void below_begin(struct below *b);

/*
 * Judges one name in the directory `dir`, whose path in the source is `path` (not ""). A name that
 * is not in the table costs no system call. Call it as the source's owner (owner.h). Returns true
 * if the name was moved away.
 */
bool below_meet(struct below *b, int dir, const char *path, const char *name);

/* Compares the names that are tracked content. Call it as the source's owner. */
void below_compare(struct below *b);

/*
 * Notes that the directory `path` cannot be listed or entered. It is reported if it changed since.
 */
void below_be_closed(struct below *b, const char *path);

/* Sends the reports that are collected into one line. */
void below_end(struct below *b);

#endif
