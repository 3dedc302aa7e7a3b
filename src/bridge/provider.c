/*
 * bridge/provider.c - a running provider's program.
 *
 * Room: bridge (joining). Touches: processes, fd.
 * Theory: both pipes are non-blocking. What the program does not read waits in a bounded queue, and
 * a line that it writes is bounded too, so it cannot make this process grow.
 */
#include "bridge/provider.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/test_switches.h"

enum { QUEUE_MAX = 16 << 20, CHUNK = 64 * 1024, EXIT_NOT_STARTED = 127 };

#define provider_holder(pointer, member) \
        ((struct provider *)(void *)((char *)(pointer)-offsetof(struct provider, member)))

static void
be_broken(struct provider *p, const struct error *why)
{
        if (p->is_broken)
                return;
        p->is_broken = 1;
        loop_watch_remove(&p->output);
        loop_watch_remove(&p->input);
        p->news->broke(p, why);
}

static void
say_broken(struct provider *p, const char *reason, const char *why)
{
        struct error e;

        (void)fail_at(&e, ERROR_PROTOCOL, "provider", reason,
                      "the provider's program broke the bridge protocol: %s: %s", reason, why);
        be_broken(p, &e);
}

/* -- what it says ------------------------------------------------------------------------------ */

static void
hear_line(struct provider *p, const char *line, size_t len)
{
        struct bridge_message m;
        struct arena arena;
        struct error e;
        unsigned is_end = 0;

        arena_init(&arena, BRIDGE_ARENA_MAX);
        if (bridge_message_read(&arena, line, len, &m, &e) < 0) {
                if (!bridge_switch_is_off(BRIDGE_SWITCH_MESSAGE))
                        be_broken(p, &e);
        } else if (bridge_session_take(&p->session, &m, &is_end, &e) < 0 &&
                   !bridge_switch_is_off(BRIDGE_SWITCH_SESSION)) {
                be_broken(p, &e);
        } else {
                p->news->heard(p, &m, is_end);
        }
        arena_fini(&arena);
}

static void
hear_lines(struct provider *p)
{
        while (!p->is_broken && p->lines.len > 0) {
                const char *start = p->lines.at + p->lines.first;
                const char *end = memchr(start, '\n', p->lines.len);

                if (!end)
                        break;
                hear_line(p, start, (size_t)(end - start));
                if (p->is_broken) /* or it was stopped, and the lines are gone */
                        return;
                bytes_drop(&p->lines, (size_t)(end - start) + 1);
        }
        if (!p->is_broken && p->lines.len > BRIDGE_LINE_MAX)
                say_broken(p, "too_long", "a line of more than 512 KiB");
}

static void
output_ready(struct loop_watch *w, uint32_t events)
{
        struct provider *p = provider_holder(w, output);
        char *room = bytes_room(&p->lines, CHUNK);
        ssize_t got = room ? read(p->process.from, room, CHUNK) : -1;

        (void)events;
        if (!room || (got < 0 && errno != EAGAIN && errno != EINTR)) {
                say_broken(p, "ended", "its output cannot be read");
                return;
        }
        if (got == 0) {
                say_broken(p, "ended", "it closed its output, or exited");
                return;
        }
        if (got > 0)
                p->lines.len += (size_t)got;
        hear_lines(p);
}

/* -- what it is told --------------------------------------------------------------------------- */

static void
flush(struct provider *p)
{
        while (p->queue.len > 0 && p->process.to >= 0) {
                ssize_t put = write(p->process.to, p->queue.at + p->queue.first, p->queue.len);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        break; /* full; or it reads nothing more, and its output says why */
                bytes_drop(&p->queue, (size_t)put);
        }
        (void)loop_watch_change(&p->input, p->queue.len > 0 ? (uint32_t)EPOLLOUT : 0u);
}

static void
input_ready(struct loop_watch *w, uint32_t events)
{
        struct provider *p = provider_holder(w, input);

        if ((events & EPOLLERR) != 0)
                loop_watch_remove(w); /* nobody reads: its output ends too */
        else
                flush(p);
}

void
provider_say(struct provider *p, const struct json_writer *message)
{
        if (p->is_broken || p->process.to < 0)
                return;
        if (message->is_broken || message->len + 1 > BRIDGE_LINE_MAX)
                say_broken(p, "too_long", "a message to it does not fit into a line");
        else if (p->queue.len + message->len > QUEUE_MAX)
                say_broken(p, "deaf", "it does not read its input");
        else if (bytes_put(&p->queue, message->text, message->len) < 0 ||
                 bytes_text(&p->queue, "\n") < 0)
                say_broken(p, "deaf", "no memory for a message to it");
        else
                flush(p);
}

/* -- its process ------------------------------------------------------------------------------- */

static _Noreturn void
be_program(const int *input, const int *output, char *const *argv, char *const *envp)
{
        struct sigaction standard = { .sa_handler = SIG_DFL };
        sigset_t none;

        (void)setpgid(0, 0);
        (void)sigaction(SIGPIPE, &standard, NULL);
        (void)sigaction(SIGCHLD, &standard, NULL);
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        if (dup2(input[0], STDIN_FILENO) >= 0 && dup2(output[1], STDOUT_FILENO) >= 0)
                (void)execve(argv[0], argv, envp);
        _exit(EXIT_NOT_STARTED);
}

static void
close_both(const int *pair)
{
        for (int i = 0; i < 2; i++)
                if (pair[i] >= 0)
                        (void)close(pair[i]);
}

int
provider_spawn(struct provider_process *ret, char *const *argv, char *const *envp, struct error *e)
{
        int input[2] = { -1, -1 }, output[2] = { -1, -1 };
        pid_t pid;

        if (pipe2(input, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0 ||
            fcntl(input[1], F_SETFL, O_WRONLY | O_NONBLOCK) < 0 ||
            fcntl(output[0], F_SETFL, O_RDONLY | O_NONBLOCK) < 0 || (pid = fork()) < 0) {
                (void)fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting %.200s", argv[0]);
                close_both(input);
                close_both(output);
                return -1;
        }
        if (pid == 0)
                be_program(input, output, argv, envp);
        (void)setpgid(pid, pid); /* the child does it too: it has it before either goes on */
        (void)close(input[0]);
        (void)close(output[1]);
        *ret = (struct provider_process){ pid, input[1], output[0] };
        return 0;
}

int
provider_open(struct provider *p, struct loop *loop, const struct provider_news *news,
              const struct provider_process *take, struct error *e)
{
        *p = (struct provider){ .loop = loop, .news = news, .process = *take };
        p->input.fd = p->output.fd = -1;
        bridge_session_init(&p->session);
        if (loop_watch_add(loop, &p->output, take->from, EPOLLIN, output_ready) == 0 &&
            loop_watch_add(loop, &p->input, take->to, 0, input_ready) == 0)
                return 0;
        provider_stop(p);
        return fail(e, ERROR_NO_MEMORY, "no memory for the provider's program");
}

int
provider_start(struct provider *p, struct loop *loop, const struct provider_news *news,
               char *const *argv, char *const *envp, struct error *e)
{
        struct provider_process process;

        if (provider_spawn(&process, argv, envp, e) < 0 ||
            provider_open(p, loop, news, &process, e) < 0)
                return -1;
        p->is_child = 1;
        return 0;
}

static void
close_one(struct loop_watch *w, int *fd)
{
        loop_watch_remove(w);
        if (*fd >= 0)
                (void)close(*fd);
        *fd = -1;
}

void
provider_hang_up(struct provider *p)
{
        close_one(&p->input, &p->process.to);
}

void
provider_stop(struct provider *p)
{
        if (p->process.pid <= 0)
                return;
        p->is_broken = 1;
        (void)kill(-p->process.pid, SIGKILL);
        while (p->is_child && waitpid(p->process.pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        p->process.pid = 0;
        close_one(&p->input, &p->process.to);
        close_one(&p->output, &p->process.from);
        bytes_fini(&p->lines);
        bytes_fini(&p->queue);
}
