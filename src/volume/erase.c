/*
 * volume/erase.c - erases directories that a payload filled.
 *
 * Room: volume (words). Touches: fd, directories of the state directory, clock (how long a step
 * took).
 * Theory: a payload may nest directories to any depth and remove its owner's access. So the walk
 * keeps one descriptor, goes down by one name and up by "..", and opens a closed directory by its
 * handle. No link is followed. Going up ends at the start directory, which is recognised by its
 * inode. To free one file in 60,000 pieces can take the kernel more than a minute, so a file is
 * shortened from its end: a hole as a whole, data by STEP bytes.
 */
#include "volume/erase.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/scoped.h"
#include "volume/place.h"

enum {
        STEP = 128 << 10, /* bytes of data cut off at once: at most 32 pieces */
        ENTRY_US = 128    /* an entry or step that takes longer counts as several */
};

static uint64_t
now_us(void)
{
        struct timespec now = { 0, 0 };

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Charges one entry or step that was begun at that time. */
static void
charge(uint64_t *budget, uint64_t begun_us)
{
        uint64_t cost = 1 + (now_us() - begun_us) / ENTRY_US;

        *budget -= cost < *budget ? cost : *budget;
}

/* Opens a file for writing, whatever its mode. */
static int
open_file(int dir, const char *name)
{
        scoped_fd int file = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        char link[40];
        int fd;

        if (file < 0)
                return -errno;
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        fd = open(link, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && chmod(link, 0600) == 0)
                fd = open(link, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* The size after the next step. */
static uint64_t
next_size(int fd, uint64_t size)
{
        uint64_t step = STEP;

        while (step < size && lseek(fd, (off_t)(size - step), SEEK_DATA) < 0 && errno == ENXIO)
                step *= 2;
        if (step > STEP)
                step /= 2; /* so much is a hole */
        return step < size ? size - step : 0;
}

/*
 * Shortens a long file that has no other name, as far as the budget goes. What cannot be shortened
 * is left to the removal of its name.
 */
static void
shorten(int dir, const char *name, uint64_t *budget)
{
        struct stat st;
        uint64_t size;
        int fd;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            st.st_nlink != 1 || st.st_blocks * 512 <= STEP || st.st_size <= STEP)
                return;
        size = (uint64_t)st.st_size;
        fd = open_file(dir, name);
        while (fd >= 0 && size > 0 && *budget > 0) {
                uint64_t begun = now_us();

                size = next_size(fd, size);
                if (ftruncate(fd, (off_t)size) < 0)
                        break;
                charge(budget, begun);
        }
        if (fd >= 0)
                (void)close(fd);
}

/*
 * Removes the content of `dir`, up to a directory that is not empty: *ret_next is that one, open,
 * or -1 if `dir` is empty. The budget counts down; the walk stops at 0. Returns 0 or -errno.
 */
static int
empty_one(int dir, uint64_t *budget, int *ret_next)
{
        DIR *list = place_entries(dir);
        struct dirent *entry;
        int result = list ? 0 : -errno;

        *ret_next = -1;
        while (list && result == 0 && *budget > 0 && *ret_next < 0 &&
               (entry = readdir(list)) != NULL) {
                uint64_t begun;

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN)
                        shorten(dir, entry->d_name, budget);
                if (*budget == 0)
                        break;
                begun = now_us();
                if (unlinkat(dir, entry->d_name, 0) < 0 &&
                    unlinkat(dir, entry->d_name, AT_REMOVEDIR) < 0) {
                        if (errno != ENOTEMPTY && errno != EEXIST)
                                result = -errno;
                        else if ((*ret_next = place_open_up(dir, entry->d_name, 0700)) < 0)
                                result = *ret_next;
                }
                charge(budget, begun);
        }
        if (list)
                (void)closedir(list);
        return result;
}

static bool
is_same(int dir, const struct stat *top)
{
        struct stat st;

        return fstat(dir, &st) == 0 && st.st_dev == top->st_dev && st.st_ino == top->st_ino;
}

/*
 * Erases everything below `top`; *at is the current directory, open. 0: `top` is empty; 1: the
 * budget is used up, and the next call continues at *at; -errno.
 */
static int
empty_below(int top, int *at, uint64_t *budget)
{
        struct stat start;

        if (fstat(top, &start) < 0)
                return -errno;
        while (*budget > 0) {
                int next = -1, result = empty_one(*at, budget, &next);

                if (result < 0)
                        return result;
                if (next < 0 && *budget == 0)
                        break;
                if (next < 0 && is_same(*at, &start))
                        return 0;
                if (next < 0)
                        next = place_into(*at, "..", 0);
                if (next < 0)
                        return next;
                (void)close(*at);
                *at = next;
        }
        return 1;
}

/* `top` is `name` below `dir`, and nothing in it is in use. */
static int
erase(int dir, const char *name, int top, int *at, uint64_t *budget)
{
        int result = empty_below(top, at, budget);

        return result != 0                                                ? result
               : unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno
                                                                          : 0;
}

int
erase_all(int dir, const char *name)
{
        scoped_fd int top = place_open_up(dir, name, 0700),
                      at = top < 0 ? -1 : fcntl(top, F_DUPFD_CLOEXEC, 3);
        uint64_t budget = UINT64_MAX;

        if (top < 0)
                return top == -ENOENT ? 0 : top;
        return at < 0 ? -errno : erase(dir, name, top, &at, &budget);
}

/* -- removed volumes --------------------------------------------------------------------------- */

static void
close_gone(struct volume_sweep *s)
{
        if (s->top >= 0)
                (void)close(s->top);
        if (s->at >= 0)
                (void)close(s->at);
        s->top = s->at = -1;
}

void
volume_sweep_init(struct volume_sweep *s)
{
        *s = (struct volume_sweep){ .dir = -1, .top = -1, .at = -1 };
}

void
volume_sweep_fini(struct volume_sweep *s)
{
        close_gone(s);
        if (s->dir >= 0)
                (void)close(s->dir);
        s->dir = -1;
}

/*
 * Opens the next removed volume. Its name cannot be used any more, so its owner's directory need
 * not be locked; another process that erases it holds its lock. 1: found; 0: none is left; -errno.
 */
static int
find_gone(struct volume_sweep *s)
{
        DIR *list = place_entries(s->dir);
        struct dirent *entry;
        int result = list ? 0 : -errno;

        while (list && result == 0 && (entry = readdir(list)) != NULL) {
                if (strncmp(entry->d_name, ".gone-", 6) != 0 ||
                    strlen(entry->d_name) >= sizeof s->name)
                        continue;
                memcpy(s->name, entry->d_name, strlen(entry->d_name) + 1);
                s->top = place_open_up(s->dir, s->name, 0700);
                if (s->top == -ENOENT || (s->top >= 0 && flock(s->top, LOCK_EX | LOCK_NB) < 0)) {
                        close_gone(s);
                        continue;
                }
                result = s->top < 0                                        ? s->top
                         : (s->at = fcntl(s->top, F_DUPFD_CLOEXEC, 3)) < 0 ? -errno
                                                                           : 1;
        }
        if (list)
                (void)closedir(list);
        return result;
}

/*
 * The process that creates a volume holds the lock, so a directory with this name was left by a
 * killed maker.
 */
static int
erase_unmade(int dir)
{
        DIR *list = place_entries(dir);
        struct dirent *entry;
        int result = list ? 0 : -errno;

        while (list && result == 0 && (entry = readdir(list)) != NULL)
                if (strncmp(entry->d_name, ".new-", 5) == 0)
                        result = erase_all(dir, entry->d_name);
        if (list)
                (void)closedir(list);
        return result;
}

static int
begin(struct volume_sweep *s, const char *directory)
{
        int result;

        s->dir = place_lock(directory, false);
        if (s->dir < 0)
                return s->dir == -ENOENT ? 0 : s->dir;
        result = erase_unmade(s->dir);
        (void)flock(s->dir, LOCK_UN);
        return result;
}

int
volume_sweep(struct volume_sweep *s, const char *directory, uint64_t budget)
{
        int result = s->dir < 0 ? begin(s, directory) : 0;

        while (result == 0 && s->dir >= 0) {
                if (s->top < 0 && (result = find_gone(s)) <= 0)
                        break;
                result = erase(s->dir, s->name, s->top, &s->at, &budget);
                if (result != 1)
                        close_gone(s);
        }
        if (result != 1)
                volume_sweep_fini(s);
        return result;
}

/* Does a living maker hold the lock? A file that a killed maker left is removed. */
static bool
is_held(int uses, const char *file)
{
        scoped_fd int fd = openat(uses, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

        if (fd < 0)
                return false;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return true;
        (void)unlinkat(uses, file, 0);
        return false;
}

int
erase_find_users(int volume, struct volume_info *info)
{
        scoped_fd int uses = place_into(volume, "use", 0);
        DIR *list = uses >= 0 ? place_entries(uses) : NULL;
        struct dirent *entry;

        if (!list)
                return uses < 0 ? uses : -errno;
        while ((entry = readdir(list)) != NULL)
                if (strspn(entry->d_name, "0123456789abcdef") == VOLUME_ID_LEN &&
                    is_held(uses, entry->d_name)) {
                        memcpy(info->user, entry->d_name, VOLUME_ID_LEN);
                        info->users++;
                }
        (void)closedir(list);
        return 0;
}
