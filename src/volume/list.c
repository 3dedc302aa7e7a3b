/*
 * volume/list.c - the volumes of one owner, their sizes and their users.
 *
 * Room: volume (words). Touches: fd, directories of the state directory (reading only, except locks
 * that a killed maker left).
 * Theory: a payload chose the content of a volume, so the count is bounded in entries and depth,
 * and says if there is more.
 */
#include "volume/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "volume/erase.h"
#include "volume/place.h"

enum { DEPTH_MAX = 48, BLOCK = 512 };

/* Adds one entry; a directory is opened to be counted next, or -1. */
static int
count_entry(int dir, const char *name, struct volume_info *info, unsigned depth)
{
        struct stat st;
        int fd;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -1;
        info->bytes += (uint64_t)st.st_blocks * BLOCK /
                       (S_ISREG(st.st_mode) && st.st_nlink > 1 ? st.st_nlink : 1);
        info->files++;
        if (!S_ISDIR(st.st_mode))
                return -1;
        fd = depth < DEPTH_MAX ? place_into(dir, name, 0) : -1;
        info->is_partial |= fd < 0;
        return fd;
}

static void
count(int take_top, struct volume_info *info, uint64_t *budget)
{
        DIR *ways[DEPTH_MAX + 1];
        unsigned depth = 0;

        ways[0] = fdopendir(take_top);
        if (!ways[0]) {
                (void)close(take_top);
                info->is_partial = true;
                return;
        }
        for (;;) {
                struct dirent *entry = *budget > 0 ? readdir(ways[depth]) : NULL;
                int next;

                info->is_partial |= *budget == 0;
                if (!entry) {
                        (void)closedir(ways[depth]);
                        if (depth-- == 0)
                                return;
                        continue;
                }
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                --*budget;
                next = count_entry(dirfd(ways[depth]), entry->d_name, info, depth);
                if (next < 0)
                        continue;
                ways[depth + 1] = fdopendir(next);
                if (ways[depth + 1])
                        depth++;
                else
                        (void)close(next);
        }
}

/* The directory is locked only while its users are read, because a count may take long. */
static int
look(int dir, const char *name, struct volume_info *info, int *ret_data)
{
        scoped_fd int volume = -1;
        struct stat st;
        int result;

        while (flock(dir, LOCK_EX) < 0)
                if (errno != EINTR)
                        return -ENOLCK;
        volume = result = place_into(dir, name, 0);
        if (result >= 0 && fstatat(volume, "use", &st, AT_SYMLINK_NOFOLLOW) == 0)
                info->used_ms =
                        (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000;
        if (result >= 0 && (result = erase_find_users(volume, info)) == 0)
                *ret_data = result = place_into(volume, "data", 0);
        (void)flock(dir, LOCK_UN);
        return result;
}

int
volume_list(const char *directory, uint64_t budget,
            int (*each)(void *ctx, const struct volume_info *info), void *ctx)
{
        scoped_fd int dir = place_lock(directory, false);
        DIR *list = dir >= 0 ? place_entries(dir) : NULL;
        struct dirent *entry;
        int result = dir == -ENOENT ? 0 : dir < 0 ? dir : !list ? -errno : 0;

        if (dir >= 0)
                (void)flock(dir, LOCK_UN);
        while (list && result == 0 && (entry = readdir(list)) != NULL) {
                struct volume_info info = { .users = 0 };
                int data = -1, found;

                if (!name_is_valid(entry->d_name))
                        continue;
                memcpy(info.name, entry->d_name, strlen(entry->d_name) + 1);
                found = look(dir, entry->d_name, &info, &data);
                if (found == -ENOENT) /* removed in the meantime */
                        continue;
                if (data >= 0)
                        count(data, &info, &budget);
                info.is_partial |= found < 0;
                result = each(ctx, &info);
        }
        if (list)
                (void)closedir(list);
        return result;
}
