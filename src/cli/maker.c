/*
 * cli/maker.c - starts the processes of `carrel run`.
 *
 * Room: cli (joining). Touches: processes, fd.
 * Theory: the maker is started with one socket as its descriptor 3 and nothing else. It starts the
 * box, which speaks on that socket. The maker is a child of this process and ends last.
 */
#include "cli/maker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sample.h"
#include "base/scoped.h"
#include "clock/clock.h"
#include "programs/programs.h"

enum { LEASE_LOOK = 16, NAME_ROOM = 64 };

struct prepared {
        pid_t pid;
        int socket;
};
static struct prepared prepared = { 0, -1 };

static char maker_name[] = "carrel-init";

static int
start_maker(struct prepared *ret, struct error *e)
{
        return program_start_linked(PROGRAM_INIT, (char *[]){ maker_name, NULL },
                                    clock_environment(), &ret->socket, &ret->pid, e);
}

int
maker_prepare(struct error *e)
{
        return prepared.socket >= 0 ? 0 : start_maker(&prepared, e);
}

static bool
is_lease(const char *name)
{
        size_t len = strlen(name);

        return len > 6 && len < NAME_ROOM && strcmp(name + len - 6, ".lease") == 0;
}

/* A lease without a holder can be locked; the lock is released at once. */
static bool
is_abandoned(int dir, const char *name)
{
        scoped_fd int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

        return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Looks at a few, whichever they are (maker/lease.c): a start costs the same however many sandboxes
 * live. */
static bool
has_abandoned(const char *directory)
{
        static char names[LEASE_LOOK][NAME_ROOM];
        DIR *list = opendir(directory);
        uint64_t state = sample_begin();
        struct dirent *entry;
        size_t seen = 0;
        bool result = false;

        while (list && (entry = readdir(list)) != NULL) {
                size_t place = is_lease(entry->d_name) ? sample_place(seen++, LEASE_LOOK, &state)
                                                       : LEASE_LOOK;

                if (place < LEASE_LOOK)
                        memcpy(names[place], entry->d_name, strlen(entry->d_name) + 1);
        }
        for (size_t i = 0; i < seen && i < LEASE_LOOK && !result; i++)
                result = is_abandoned(dirfd(list), names[i]);
        if (list)
                (void)closedir(list);
        return result;
}

void
maker_collect(const char *directory)
{
        struct error e;
        scoped_fd int image = -1;
        char argument[4096];
        pid_t pid;

        if (!has_abandoned(directory) || program_open(PROGRAM_INIT, &image, &e) < 0)
                return;
        if (snprintf(argument, sizeof argument, "%s", directory) >= (int)sizeof argument)
                return;
        if (program_start(image, -1, (char *[]){ maker_name, argument, NULL }, (char *[]){ NULL },
                          &pid) == 0)
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
}

int
maker_start(int *ret_socket, pid_t *ret_pid, struct error *e)
{
        struct prepared maker = prepared;

        prepared = (struct prepared){ 0, -1 };
        if (maker.socket < 0 && start_maker(&maker, e) < 0)
                return -1;
        *ret_socket = maker.socket;
        *ret_pid = maker.pid;
        return 0;
}
