/*
 * maker/usage.c - measures what the processes of a box have used, from outside, just before they
 * are killed.
 *
 * Room: maker (program). Touches: /proc (reading only).
 * Theory: pid 1 of a killed box reaps no children, and the kernel then loses their counts. No group
 * is needed.
 */
#include "maker/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        TEXT_ROOM = 4096,
        TIMES = 4,
        BEFORE_TIMES = 12 /* fields of stat between the name and utime */
};

static ssize_t
read_text(pid_t pid, const char *name, char *text, size_t room)
{
        char path[64];
        ssize_t len;
        int fd;

        (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        len = read(fd, text, room - 1);
        (void)close(fd);
        text[len > 0 ? len : 0] = '\0';
        return len;
}

/* utime, stime, cutime and cstime; the name before them may contain any bytes. */
static uint64_t
ticks_of(pid_t pid, char *text)
{
        const char *at = read_text(pid, "stat", text, TEXT_ROOM) > 0 ? strrchr(text, ')') : NULL;
        uint64_t ticks = 0;

        for (int i = 0; at && i < BEFORE_TIMES; i++)
                at = strchr(at + 1, ' ');
        for (int i = 0; at && i < TIMES; i++) {
                ticks += strtoull(at, NULL, 10);
                at = strchr(at + 1, ' ');
        }
        return ticks;
}

static uint64_t
peak_of(pid_t pid, char *text)
{
        const char *at =
                read_text(pid, "status", text, TEXT_ROOM) > 0 ? strstr(text, "\nVmHWM:") : NULL;

        return at ? strtoull(at + sizeof "\nVmHWM:" - 1, NULL, 10) << 10 : 0;
}

static size_t
add_children(pid_t pid, char *text, pid_t *list, size_t count)
{
        char name[32];
        char *at = text;

        (void)snprintf(name, sizeof name, "task/%d/children", (int)pid);
        if (read_text(pid, name, text, TEXT_ROOM) <= 0)
                return count;
        while (count < USAGE_PROCESSES_MAX) {
                long child = strtol(at, &at, 10);

                if (child <= 0)
                        break;
                list[count++] = (pid_t)child;
        }
        return count;
}

size_t
usage_processes(pid_t pid, pid_t list[USAGE_PROCESSES_MAX])
{
        static char text[TEXT_ROOM];
        size_t count = add_children(pid, text, list, 0);

        for (size_t i = 0; i < count; i++)
                count = add_children(list[i], text, list, count);
        return count;
}

void
usage_look(pid_t pid, struct usage *ret)
{
        static char text[TEXT_ROOM];
        static pid_t list[USAGE_PROCESSES_MAX];
        long per_second = sysconf(_SC_CLK_TCK);
        uint64_t ticks = 0;
        size_t count = usage_processes(pid, list);

        *ret = (struct usage){ 0, 0 };
        for (size_t i = 0; i < count; i++) {
                uint64_t peak = peak_of(list[i], text);

                ticks += ticks_of(list[i], text);
                ret->peak_bytes = peak > ret->peak_bytes ? peak : ret->peak_bytes;
        }
        ret->cpu_ns = per_second > 0 ? ticks * (1000000000u / (uint64_t)per_second) : 0;
}
