/*
 * secret/command.c - a program whose standard output is the value.
 *
 * Room: secret (acting). Touches: processes, fd, the environment (a few names for the program).
 * Theory: no shell, nothing open but a pipe, a group of its own that is killed when its time is
 * over and when it has ended. What it says on standard error is thrown away: it may hold the value.
 * It leaves no core.
 *
 *     forked --writes--> read --end of file, then its status--> value
 *        \---- time over, too much ----> killed, refused
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"
#include "secret/sources.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { WORD_ROOM = 4096, ENV_MAX = 16, NOT_EXECUTED = 127, FD_LAST = 1024 };

static const char placeholder[] = "{slug}";

/* What programs that keep secrets need to find their own things. */
static const char *const names[] = { "PATH",
                                     "HOME",
                                     "USER",
                                     "LOGNAME",
                                     "LANG",
                                     "TMPDIR",
                                     "XDG_RUNTIME_DIR",
                                     "XDG_CONFIG_HOME",
                                     "DBUS_SESSION_BUS_ADDRESS",
                                     "GNUPGHOME",
                                     "PASSWORD_STORE_DIR",
                                     "CREDENTIALS_DIRECTORY" };

struct words {
        char *argv[HOST_COMMAND_WORDS_MAX + 1], *env[ENV_MAX + 1];
        char text[WORD_ROOM];
        size_t used;
};

static char *
add_word(struct words *w, const char *before, const char *middle, const char *after)
{
        char *word = w->text + w->used;
        int len = snprintf(word, sizeof w->text - w->used, "%s%s%s", before, middle, after);

        if (len < 0 || (size_t)len >= sizeof w->text - w->used)
                return NULL;
        w->used += (size_t)len + 1;
        return word;
}

static int
write_words(const struct host_source *source, const char *slug, struct words *w, struct error *e)
{
        size_t count = 0;

        *w = (struct words){ .used = 0 };
        for (size_t i = 0; i < source->argv.count; i++) {
                const char *item = source->argv.items[i], *at = strstr(item, placeholder);
                char before[WORD_ROOM / 4];

                (void)snprintf(before, sizeof before, "%.*s", (int)(at ? at - item : 0), item);
                w->argv[i] = at ? add_word(w, before, slug, at + sizeof placeholder - 1)
                                : add_word(w, item, "", "");
                if (!w->argv[i] || (at && at - item >= (ptrdiff_t)sizeof before))
                        return fail(e, ERROR_AUTH_UNRESOLVABLE,
                                    "the words of the command %.100s are too long",
                                    source->argv.items[0]);
        }
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                const char *value = getenv(names[i]);

                if (value && (w->env[count] = add_word(w, names[i], "=", value)) != NULL)
                        count++;
        }
        return 0;
}

static _Noreturn void
become(const struct words *w, int out)
{
        struct rlimit core = {
                1, 1
        }; /* 1: no core helper either, which would read the value (plan/harden.c) */
        struct sigaction standard = { .sa_handler = SIG_DFL };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        sigset_t nothing;

        for (int number = 1; number < 32; number++)
                (void)sigaction(number, &standard, NULL);
        (void)sigemptyset(&nothing);
        (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)setsid();
        if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0 ||
            chdir("/") < 0 || (setrlimit(RLIMIT_CORE, &core) < 0 && errno != EPERM))
                _exit(NOT_EXECUTED);
        if (syscall(SYS_close_range, 3, ~0u, 0) < 0)
                for (int fd = 3; fd < FD_LAST; fd++)
                        (void)close(fd);
        (void)execve(w->argv[0], w->argv, w->env);
        _exit(NOT_EXECUTED);
}

/* All it says, until the end. 0; ETIMEDOUT, EFBIG or another errno. */
static int
hear(int fd, uint64_t until, char *text, size_t room, size_t *ret_len)
{
        size_t len = 0;

        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                ssize_t got;

                if (clock_boot_ms() >= until)
                        return ETIMEDOUT;
                if (clock_poll(&p, 1, until) <= 0)
                        continue;
                if (len == room)
                        return EFBIG;
                got = read(fd, text + len, room - len);
                if (got < 0 && errno != EINTR && errno != EAGAIN)
                        return errno;
                if (got == 0) {
                        *ret_len = len;
                        return 0;
                }
                len += got > 0 ? (size_t)got : 0;
        }
}

/* Its end, if it comes in time; whatever is left of its group is killed. */
static int
end(pid_t pid, uint64_t until, bool is_over, int *ret_status)
{
        const struct timespec moment = { 0, 2000000 };
        pid_t got = 0;

        while (!is_over && (got = waitpid(pid, ret_status, WNOHANG)) == 0 &&
               clock_boot_ms() < until)
                (void)nanosleep(&moment, NULL);
        (void)kill(-pid, SIGKILL);
        if (got == pid)
                return 0;
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                continue;
        return ETIMEDOUT;
}

static int
refuse(const struct host_source *source, int sys, int status, struct error *e)
{
        const char *name = source->argv.items[0];
        char what[80];

        if (sys == ETIMEDOUT)
                (void)snprintf(what, sizeof what, "did not end within %llu ms",
                               (unsigned long long)source->timeout_ms);
        else if (sys == EFBIG)
                (void)snprintf(what, sizeof what, "says more than 64 KiB");
        else if (sys != 0)
                (void)snprintf(what, sizeof what, "cannot be heard: errno %d", sys);
        else if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_EXECUTED)
                (void)snprintf(what, sizeof what, "could not be executed");
        else
                (void)snprintf(what, sizeof what, "ended with %s %d",
                               WIFSIGNALED(status) ? "signal" : "status",
                               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, "", "not_found", "the command %.100s %s", name,
                      what);
        error_hint(e, "Run it by hand as the daemon's user: what it says on standard error is not "
                      "shown, because that might hold the value.");
        return -1;
}

static int
run(const struct host_source *source, const struct words *w, char *text, size_t room,
    size_t *ret_len, struct error *e)
{
        uint64_t until = clock_boot_ms() + source->timeout_ms;
        scoped_fd int from = -1;
        scoped_fd int to = -1;
        int pipes[2], status = 0, sys, late;
        pid_t pid;

        if (pipe2(pipes, O_CLOEXEC) < 0)
                return fail_sys(e, ERROR_AUTH_UNRESOLVABLE, errno,
                                "making a pipe for the command %.100s", w->argv[0]);
        from = pipes[0];
        to = pipes[1];
        pid = fork();
        if (pid < 0)
                return fail_sys(e, ERROR_AUTH_UNRESOLVABLE, errno, "starting the command %.100s",
                                w->argv[0]);
        if (pid == 0)
                become(w, to);
        scoped_fd_close(&to);
        sys = hear(from, until, text, room, ret_len);
        late = end(pid, until, sys != 0, &status);
        if (sys == 0)
                sys = late;
        if (sys == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return 0;
        explicit_bzero(text, room);
        return refuse(source, sys, status, e);
}

int
secret_command_fetch(const struct host_source *source, const char *slug,
                     struct secret_values *values, struct error *e)
{
        struct words w;
        size_t room, len = 0;
        char *text = secret_values_room(values, &room);

        if (write_words(source, slug, &w, e) < 0 || run(source, &w, text, room, &len, e) < 0)
                return -1;
        if (len > 0 && text[len - 1] == '\n')
                len--;
        return secret_values_keep(values, slug, len, source->argv.items[0], e) < 0 ? -1 : 1;
}
