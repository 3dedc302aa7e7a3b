/*
 * sandbox/repository.h - what git of the host runs because files of a repository lead there (H4): directories of hooks, included
 * configuration, submodules and other repositories within, targets of links.
 */
#ifndef CARREL_SANDBOX_REPOSITORY_H
#define CARREL_SANDBOX_REPOSITORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/* A mount's source, and who holds names in it: hold() is called with paths relative to the source and flags of enum protect_flag. */
struct repository {
        struct arena *arena;
        int fd;
        const char *host_path;
        bool is_bare;                              /* the source is the repository's own directory */
        int common_fd;                             /* of a linked worktree, its repository's directory, whose configuration counts here; else -1 */
        const char *index;  size_t index_len;      /* git's, of the repository at the top; NULL: none */
        int (*hold)(void *holder, const char *path, unsigned flags, const char *why, struct error *e);
        void (*know)(void *holder, char letter, const char *path);     /* a repository whose parts are held ('k'), a gitlink of the index ('l'): maker/survey.h */
        void *holder;
};

/*
 * Looks, with bounds, and has everything held that is found within the source; what is outside of it is not the payload's. Errors: those of hold(),
 * ERROR_NO_MEMORY.
 */
int repository_hold(const struct repository *r, struct error *e);

#endif
