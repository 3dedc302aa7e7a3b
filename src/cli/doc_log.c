/*
 * cli/doc_log.c - a state directory of its own for recorded probes.
 *
 * Room: cli (joining). Touches: a directory in /tmp that it makes and removes.
 */
#include "cli/doc_log.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/state.h"

enum { FOLDERS_OPEN_MAX = 8 };

/* The probes use the caller's images, and change none. */
static int
show_images(const struct doc_asked *a)
{
        const char *state, *to, *from;
        struct arena arena;
        struct error nowhere;
        int result = 0;

        arena_init(&arena, 1 << 16);
        if (state_choose(&arena, NULL, &state, &nowhere) == 0) {
                to = arena_format(&arena, "%s/images", state);
                from = arena_format(&arena, "%s/images", a->log);
                result = to && from ? symlink(to, from) : -1;
        }
        arena_fini(&arena);
        return result;
}

int
doc_log_open(struct doc_asked *a, struct error *e)
{
        static char path[] = "/tmp/carrel-doc-XXXXXX";

        a->log = mkdtemp(path);
        return a->log && show_images(a) == 0
                       ? 0
                       : fail_sys(e, ERROR_STORAGE_FULL, errno,
                                  "making a directory in /tmp for the log of the probes");
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        (void)st;
        (void)kind;
        (void)at;
        (void)remove(path);
        return 0;
}

void
doc_folder_remove(const char *path)
{
        (void)nftw(path, remove_one, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void
doc_log_close(struct doc_asked *a)
{
        if (a->log)
                doc_folder_remove(a->log);
        a->log = NULL;
}
