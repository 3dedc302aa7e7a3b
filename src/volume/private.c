/*
 * volume/private.c - a directory for one sandbox, removed with it.
 *
 * Room: volume (words). Touches: fd, directories of the state directory.
 * Theory: a sweep erases each directory that has a name of removed ones and no lock. So the lock is
 * taken before the directory gets that name, under the lock of the directory above. From then on no
 * record of it is needed if the maker is killed.
 */
#include "volume/private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "volume/erase.h"
#include "volume/place.h"

static int
make(int dir, const char *hidden, const char *name, uint32_t uid, uint32_t gid)
{
        scoped_fd int top = -1;
        int result;

        if (mkdirat(dir, hidden, 0700) < 0)
                return -errno;
        top = result = place_into(dir, hidden, 0);
        if (result >= 0 &&
            (fchown(top, uid, gid) < 0 || fchmod(top, 0700) < 0 ||
             flock(top, LOCK_EX | LOCK_NB) < 0 || renameat(dir, hidden, dir, name) < 0))
                result = -errno;
        if (result < 0)
                (void)unlinkat(dir, hidden, AT_REMOVEDIR);
        return result < 0 ? result : fd_take(&top);
}

int
private_open(const char *directory, uint64_t id, uint32_t uid, uint32_t gid,
             struct private_directory *ret)
{
        struct private_directory p = { .dir = -1, .top = -1 };
        char hidden[PRIVATE_NAME_ROOM];
        struct stat st;

        (void)snprintf(hidden, sizeof hidden, ".new-%016" PRIx64, id);
        (void)snprintf(p.name, sizeof p.name, ".gone-%016" PRIx64, id);
        p.dir = place_lock(directory, true);
        if (p.dir < 0)
                return p.dir;
        p.top = fstatat(p.dir, p.name, &st, AT_SYMLINK_NOFOLLOW) == 0
                        ? -EEXIST
                        : make(p.dir, hidden, p.name, uid, gid);
        (void)flock(p.dir, LOCK_UN);
        if (p.top < 0) {
                (void)close(p.dir);
                return p.top;
        }
        *ret = p;
        return 0;
}

void
private_close(struct private_directory *p)
{
        if (p->top >= 0) {
                (void)erase_all(p->dir, p->name);
                (void)close(p->top);
        }
        if (p->dir >= 0)
                (void)close(p->dir);
        p->dir = p->top = -1;
}
