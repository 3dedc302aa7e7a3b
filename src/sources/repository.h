/*
 * sources/repository.h - finds what the host's git runs because files of a repository point to it
 * (H4): hook directories, included configuration, submodules and other repositories inside, link
 * targets.
 */
#ifndef CARREL_SOURCES_REPOSITORY_H
#define CARREL_SOURCES_REPOSITORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * A mount's source, and the callbacks that hold names in it. hold() receives paths relative to the
 * source and flags of enum protect_flag.
 */
struct repository {
        struct arena *arena;
        int fd;
        const char *host_path;
        bool is_bare; /* the source is the repository's own directory */
        /* linked worktree: the directory of its repository, whose configuration applies; else -1 */
        int common_fd;
        /* git's index of the repository at the top; NULL: none */
        const char *index;
        size_t index_len;
        int (*hold)(void *holder, const char *path, unsigned flags, const char *why,
                    struct error *e);
        /* Records a repository whose parts are held ('k') or a gitlink of the index ('l'):
         * maker/survey.h. */
        void (*know)(void *holder, char letter, const char *path);
        void *holder;
};

/*
 * Searches within bounds and calls hold() for every such name inside the source. The payload cannot
 * change names outside the source. Errors: those of hold(), ERROR_NO_MEMORY.
 */
int repository_hold(const struct repository *r, struct error *e);

#endif
