/*
 * cli/systemd_scope.c - gets a control group from systemd.
 *
 * Room: cli (joining). Touches: the environment, one socket of the user's systemd, execve.
 * Theory: on a host that systemd manages, only systemd may create groups, and it delegates them
 * with Delegate=yes. `systemd-run --scope` executes this program in place, so process id, terminal
 * and exit status stay. First this process connects to the user's manager as a test, because after
 * the exec it cannot return.
 */
#include "cli/systemd_scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/scoped.h"
#include "host/facts.h"

enum { WORDS = 8 };

static bool
wants_group(const struct spec *spec)
{
        const struct spec_limits *l = &spec->limits;

        return l->memory_mb != SPEC_UNSET || l->cpu_ms != SPEC_UNSET ||
               l->cpu_millicores != SPEC_UNSET || l->io_read_bps != SPEC_UNSET ||
               l->io_write_bps != SPEC_UNSET;
}

static bool
has_group(const struct host_facts *facts)
{
        return facts->cgroup.place[CGROUP_MEMORY].version != 0;
}

static bool
manager_answers(void)
{
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        scoped_fd int fd = -1;
        int len = runtime ? snprintf(address.sun_path, sizeof address.sun_path,
                                     "%s/systemd/private", runtime)
                          : -1;

        if (len < 0 || (size_t)len >= sizeof address.sun_path)
                return false;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
}

static void
execute_in_scope(int argc, char **argv)
{
        static const char *const words[WORDS] = { "systemd-run",  "--user",    "--scope",
                                                  "--quiet",      "--collect", "-p",
                                                  "Delegate=yes", "--" };
        const char **all = calloc((size_t)argc + WORDS + 2, sizeof *all);
        char self[4096];
        ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

        if (len <= 0 || !all || setenv("CARREL_IN_SCOPE", "1", 1) < 0) {
                free(all);
                return;
        }
        self[len] = '\0';
        memcpy(all, words, sizeof words);
        all[WORDS] = self;
        memcpy(all + WORDS + 1, argv, (size_t)argc * sizeof *argv);
        (void)execvp(all[0], (char *const *)(uintptr_t)all);
        free(all); /* no systemd-run: the warnings apply, as without systemd */
}

static bool
may_ask(const struct host_facts *facts)
{
        return !facts->is_privileged && !getenv("CARREL_IN_SCOPE") && !has_group(facts) &&
               access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 && manager_answers();
}

void
systemd_scope_enter(const struct run_way *w, int argc, char **argv)
{
        if (wants_group(w->p.spec) && may_ask(&w->host.facts))
                execute_in_scope(argc, argv);
}

void
systemd_scope_enter_for_daemon(int argc, char **argv)
{
        struct host_facts *facts = calloc(1, sizeof *facts);
        struct error e;

        /* A service gets its group from its unit, and its descriptors and process id are bound
         * to it. */
        if (facts && !getenv("LISTEN_FDS") && !getenv("NOTIFY_SOCKET") &&
            host_facts_read(facts, &e) == 0 && may_ask(facts))
                execute_in_scope(argc, argv);
        free(facts);
        (void)unsetenv("CARREL_IN_SCOPE");
}
