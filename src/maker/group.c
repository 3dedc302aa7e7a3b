/*
 * maker/group.c - control groups through their files.
 *
 * Room: maker (program). Touches: fd, cgroup files.
 */
#include "maker/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { REMOVE_TRIES = 2000, READ_MAX = 4096, INNER_LEVELS = 2 };

int
group_write(const char *path, const char *value, size_t len)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        ssize_t written;
        int result = 0;

        if (fd < 0)
                return -errno;
        written = write(fd, value, len);
        if (written < 0)
                result = -errno;
        else if ((size_t)written != len)
                result = -EIO;
        (void)close(fd);
        return result;
}

int
group_write_words(const char *path, const char *words)
{
        while (*words != '\0') {
                size_t len = strcspn(words, " ");
                int result = group_write(path, words, len);

                if (result < 0 && result != -EINVAL && result != -ENOENT)
                        return result;
                words += len + (words[len] == ' ');
        }
        return 0;
}

int
group_path(char *out, size_t room, const char *dir, const char *file)
{
        int len = snprintf(out, room, "%s/%s", dir, file);

        return len < 0 || (size_t)len >= room ? -ENAMETOOLONG : 0;
}

size_t
group_number(char *out, uint64_t number)
{
        return (size_t)snprintf(out, 21, "%llu", (unsigned long long)number);
}

static void
kill_members(int dir)
{
        int fd = openat(dir, "cgroup.kill", O_WRONLY | O_CLOEXEC);
        char text[READ_MAX];
        ssize_t len;
        char *at;

        if (fd >= 0) {
                (void)!write(fd, "1", 1);
                (void)close(fd);
                return;
        }
        fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        len = read(fd, text, sizeof text - 1);
        (void)close(fd);
        text[len > 0 ? len : 0] = '\0';
        for (at = text; *at >= '0' && *at <= '9'; at++) {
                pid_t pid = (pid_t)strtol(at, &at, 10);

                if (pid > 1 && pid != getpid())
                        (void)kill(pid, SIGKILL);
        }
}

/* Removes inner groups first; a living sandbox has two levels of them. */
static void
remove_inner(int dir, int levels)
{
        int copy = levels > 0 ? openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;

        if (!list && copy >= 0)
                (void)close(copy);
        while (list && (entry = readdir(list)) != NULL) {
                int inner;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                inner = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (inner >= 0) {
                        remove_inner(inner, levels - 1);
                        (void)close(inner);
                }
                (void)unlinkat(dir, entry->d_name, AT_REMOVEDIR);
        }
        if (list)
                (void)closedir(list);
}

int
group_remove(const char *dir)
{
        const struct timespec moment = { .tv_nsec = 1000000 };
        int fd;

        if (rmdir(dir) == 0 || errno == ENOENT)
                return 0;
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int i = 0; i < REMOVE_TRIES; i++) {
                if (fd >= 0) {
                        kill_members(fd);
                        remove_inner(fd, INNER_LEVELS);
                }
                if (rmdir(dir) == 0 || errno == ENOENT)
                        break;
                (void)nanosleep(&moment, NULL);
        }
        if (fd >= 0)
                (void)close(fd);
        return access(dir, F_OK) == 0 ? -EBUSY : 0;
}
