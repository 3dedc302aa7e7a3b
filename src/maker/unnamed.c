/*
 * maker/unnamed.c - counts files that a box holds open and that have no name any more.
 *
 * Room: maker (program). Touches: /proc (reading only).
 * Theory: such a file takes space until it is closed, and no walk finds it. /proc shows where it
 * was: as the box sees it, since the link is made from the mounts of the box. So a file of a mount
 * on the same disk is not counted.
 */
#include "maker/unnamed.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "maker/usage.h"

enum { SECTOR_BYTES = 512, TABLE_SIZE = 2 * UNNAMED_FILES_MAX };

struct search {
        const struct plan_view *view;
        dev_t device;
        unsigned fds;
        size_t count;
        uint64_t bytes;
};

static ino_t seen[TABLE_SIZE]; /* by inode, open addressing; 0: free */

/* True once for each inode, until the table is half full. */
static bool
is_new(struct search *s, ino_t inode)
{
        size_t at = (size_t)(inode % TABLE_SIZE);

        while (seen[at] != 0 && seen[at] != inode)
                at = (at + 1) % TABLE_SIZE;
        if (seen[at] == inode || s->count == UNNAMED_FILES_MAX)
                return false;
        seen[at] = inode;
        s->count++;
        return true;
}

/* Is `path`, as the box sees it, in a private place on the disk? */
static bool
is_private(const struct plan_view *view, const char *path)
{
        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step step = plan_view_step(view, i);
                size_t len = step.op == STEP_PRIVATE && (step.flags & STEP_ON_IMAGE) != 0
                                     ? strlen(step.path)
                                     : 0;

                if (len > 0 && strncmp(path, step.path, len) == 0 && path[len] == '/')
                        return true;
        }
        return false;
}

static void
look_at(struct search *s, int dir, const char *name)
{
        char path[PATH_MAX];
        struct stat st;
        ssize_t len;

        if (fstatat(dir, name, &st, 0) < 0 || st.st_nlink > 0 || !S_ISREG(st.st_mode) ||
            st.st_dev != s->device)
                return;
        len = readlinkat(dir, name, path, sizeof path - 1);
        path[len > 0 ? len : 0] = '\0';
        if (is_private(s->view, path) && is_new(s, st.st_ino))
                s->bytes += (uint64_t)st.st_blocks * SECTOR_BYTES;
}

uint64_t
unnamed_bytes(const struct plan_view *view, pid_t box, dev_t device)
{
        static pid_t list[USAGE_PROCESSES_MAX];
        struct search s = { .view = view, .device = device };
        size_t count = usage_processes(box, list);

        memset(seen, 0, sizeof seen);
        for (size_t i = 0; i < count && s.fds < UNNAMED_FDS_MAX; i++) {
                char path[64];
                struct dirent *entry;
                DIR *fds;

                (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)list[i]);
                fds = opendir(path);
                while (fds && s.fds < UNNAMED_FDS_MAX && (entry = readdir(fds)) != NULL) {
                        if (entry->d_name[0] == '.')
                                continue;
                        s.fds++;
                        look_at(&s, dirfd(fds), entry->d_name);
                }
                if (fds)
                        (void)closedir(fds);
        }
        return s.bytes;
}
