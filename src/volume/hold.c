/*
 * volume/hold.c - creates a volume, holds it for a sandbox, removes its name.
 *
 * Room: volume (words). Touches: fd, directories and lock files of the state directory.
 *
 *     absent --create as .new-NAME, rename--> NAME --rename--> .gone-NUMBER --sweep--> absent
 *                                               | a maker holds use/ID.INDEX: not renamed
 *
 * Theory: one rename creates a volume and one removes it, both under the lock of its owner's
 * directory. So a kill in between leaves at most a hidden directory, which the next sweep erases. A
 * process that starts to use a volume adds its own lock file under that same lock.
 */
#include "volume/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "volume/erase.h"
#include "volume/place.h"

enum { HIDDEN_ROOM = NAME_MAX_LEN + 16, INDEX_MAX = 9999 };

/* -- creating ---------------------------------------------------------------------------------- */

static int
make_data(int made)
{
        scoped_fd int data = -1;
        int result;

        if (mkdirat(made, "data", 0700) < 0 || mkdirat(made, "use", 0700) < 0)
                return -errno;
        data = result = place_into(made, "data", 0);
        if (result < 0)
                return result;
        /* Like a new home; sets the group even if the parent directory passes its own on. */
        return fchown(data, (uid_t)-1, getegid()) < 0 || fchmod(data, 0755) < 0 || fsync(data) < 0
                       ? -errno
                       : 0;
}

static int
make(int dir, const char *name)
{
        char hidden[HIDDEN_ROOM];
        scoped_fd int made = -1;
        int result;

        (void)snprintf(hidden, sizeof hidden, ".new-%s", name);
        result = erase_all(dir, hidden);
        if (result < 0)
                return result;
        if (mkdirat(dir, hidden, 0700) < 0)
                return -errno;
        made = result = place_into(dir, hidden, 0);
        if (result >= 0)
                result = make_data(made);
        if (result == 0 && (renameat(dir, hidden, dir, name) < 0 || fsync(dir) < 0))
                result = -errno;
        if (result < 0)
                (void)erase_all(dir, hidden);
        return result;
}

/* -EUSERS if the maximum is reached. */
static int
check_room(int dir, uint64_t most)
{
        DIR *list = place_entries(dir);
        struct dirent *entry;
        uint64_t count = 0;

        if (!list)
                return -errno;
        while ((entry = readdir(list)) != NULL)
                count += name_is_valid(entry->d_name);
        (void)closedir(list);
        return count < most ? 0 : -EUSERS;
}

/* Opens the volume and creates it if missing. A descriptor, or -errno. */
static int
open_volume(int dir, const char *name, uint64_t most, bool *ret_is_new)
{
        int fd = place_into(dir, name, 0), result;

        *ret_is_new = false;
        if (fd != -ENOENT)
                return fd;
        result = check_room(dir, most);
        if (result == 0)
                result = make(dir, name);
        *ret_is_new = result == 0;
        return result < 0 ? result : place_into(dir, name, 0);
}

int
volume_create(const char *directory, const char *name, uint64_t most, bool *ret_is_new)
{
        scoped_fd int dir = -1, volume = -1;

        if (!name_is_valid(name))
                return -EINVAL;
        dir = place_lock(directory, true);
        if (dir < 0)
                return dir;
        volume = open_volume(dir, name, most, ret_is_new);
        return volume < 0 ? volume : 0;
}

/* -- using ------------------------------------------------------------------------------------- */

static int
hold(int volume, struct volume_use *u)
{
        u->uses = place_into(volume, "use", 0);
        if (u->uses < 0)
                return u->uses;
        u->lock = openat(u->uses, u->file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                         0600);
        if (u->lock < 0 || flock(u->lock, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        return 0;
}

int
volume_hold(const char *directory, const char *name, uint64_t id, int index, uint64_t most,
            struct volume_use *ret, int *ret_data)
{
        struct volume_use u = { .uses = -1, .lock = -1 };
        scoped_fd int dir = -1, volume = -1;
        bool is_new;
        int data, result;

        if (!name_is_valid(name) || index < 0 || index > INDEX_MAX)
                return -EINVAL;
        (void)snprintf(u.file, sizeof u.file, "%016" PRIx64 ".%d", id, index);
        dir = place_lock(directory, true);
        if (dir < 0)
                return dir;
        volume = open_volume(dir, name, most, &is_new);
        if (volume < 0)
                return volume;
        data = place_into(volume, "data", O_PATH);
        result = data < 0 ? data : hold(volume, &u);
        if (result < 0) {
                if (data >= 0)
                        (void)close(data);
                volume_let_go(&u);
                return result;
        }
        *ret = u;
        *ret_data = data;
        return 0;
}

void
volume_let_go(struct volume_use *u)
{
        if (u->lock >= 0) {
                (void)unlinkat(u->uses, u->file, 0);
                (void)close(u->lock);
        }
        if (u->uses >= 0)
                (void)close(u->uses);
        u->uses = u->lock = -1;
}

/* -- removing ---------------------------------------------------------------------------------- */

int
volume_remove(const char *directory, const char *name, char ret_user[VOLUME_ID_LEN + 1])
{
        scoped_fd int dir = -1, volume = -1;
        struct volume_info info = { .users = 0 };
        char hidden[HIDDEN_ROOM];
        uint64_t number;
        int result;

        if (!name_is_valid(name))
                return -ENOENT;
        dir = place_lock(directory, false);
        if (dir < 0)
                return dir;
        volume = place_into(dir, name, 0);
        if (volume < 0)
                return volume;
        result = erase_find_users(volume, &info);
        memcpy(ret_user, info.user, sizeof info.user);
        if (result < 0 || info.users > 0)
                return result < 0 ? result : -EBUSY;
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
                return -EIO;
        (void)snprintf(hidden, sizeof hidden, ".gone-%016" PRIx64, number);
        return renameat(dir, name, dir, hidden) < 0 || fsync(dir) < 0 ? -errno : 0;
}
