/*
 * cli/doc_daemon.c - a daemon of its own, for claims about what only a daemon does.
 *
 * Room: cli (joining). Touches: processes, fd, clock, a directory in /tmp that it makes and
 * removes; libcarrel does the rest.
 */
#include "cli/doc_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doc_log.h"
#include "clock/clock.h"

enum { READY_MS = 60000, LOOK_MS = 20, NOT_STARTED = 125, PATH_ROOM = 64 };

static void
write_state(const struct doc_daemon *d, char path[PATH_ROOM])
{
        (void)snprintf(path, PATH_ROOM, "%s/state", d->folder);
}

static _Noreturn void
become(const char *state, const char *host_file)
{
        const char *argv[] = { "carrel",  "serve", "--state", state, host_file ? "--host" : NULL,
                               host_file, NULL };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        if (null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0)
                (void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
        _exit(NOT_STARTED);
}

static int
has_ended(struct doc_daemon *d)
{
        if (waitpid(d->pid, NULL, WNOHANG) != d->pid)
                return 0;
        d->pid = 0;
        return 1;
}

int
doc_daemon_open(struct doc_daemon *d, const char *host_file, struct error *e)
{
        uint64_t until = clock_boot_ms() + READY_MS;
        char state[PATH_ROOM];
        struct carrel_error why;

        *d = (struct doc_daemon){ .folder = "/tmp/carrel-times-XXXXXX" };
        if (!mkdtemp(d->folder) || chmod(d->folder, 0755) < 0) { /* its sandboxes have other uids */
                d->folder[0] = '\0';
                return fail_sys(e, ERROR_STORAGE_FULL, errno,
                                "making a directory in /tmp for a daemon");
        }
        write_state(d, state);
        (void)fflush(NULL);
        d->pid = fork();
        if (d->pid == 0)
                become(state, host_file);
        while (d->pid > 0 && !has_ended(d) && clock_boot_ms() < until) {
                if (carrel_open(state, &d->c, &why) == 0)
                        return 0;
                (void)clock_poll(NULL, 0, clock_boot_ms() + LOOK_MS);
        }
        return fail(e, ERROR_BACKEND_FAILED,
                    d->pid > 0 ? "a daemon for the claims about time did not answer within 60 s"
                               : "a daemon for the claims about time could not be started");
}

void
doc_daemon_close(struct doc_daemon *d)
{
        struct carrel_sandboxes *all = NULL;
        struct carrel_error ignored;

        if (d->c && carrel_list(d->c, &all, &ignored) == 0)
                for (size_t i = 0; i < all->count; i++)
                        (void)carrel_stop(d->c, all->items[i].id, NULL, &ignored);
        carrel_free(all);
        carrel_close(d->c);
        d->c = NULL;
        if (d->pid > 0 && kill(d->pid, SIGTERM) == 0)
                while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        d->pid = 0;
        if (d->folder[0] != '\0')
                doc_folder_remove(d->folder);
        d->folder[0] = '\0';
}
