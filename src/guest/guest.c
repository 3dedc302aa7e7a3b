/*
 * guest/guest.c - pid 1 inside a box.
 *
 * Room: guest (program). Touches: processes, fd.
 *
 *     idle --WIRE_EXEC--> running --its process ends--> idle, or the box ends (WIRE_EXEC_LAST)
 *       any state --control socket closes--> the box ends
 *
 * Theory: the end of pid 1 is the end of every process in its pid namespace, so "the whole tree dies" is one _exit() (P10).
 * Signals never reach pid 1 from inside (it has no handlers); SIGCHLD is blocked and read from a descriptor.
 */
#include "guest/guest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guest/command.h"
#include "guest/terminal.h"

struct guest {
        int control, signals;
        pid_t main_pid;            /* the command being watched, 0 when idle */
        unsigned is_last;
        int master;                /* of its terminal, -1 if none */
};

static _Alignas(8) char body[WIRE_BODY_MAX];
static char *pointers[2 * COMMAND_STRINGS_MAX];

static _Noreturn void
end(int status)
{
        _exit(status);
}

static void
say(const struct guest *g, uint16_t kind, const void *message, size_t len, const int *fds, size_t fd_count)
{
        if (wire_send(g->control, kind, message, len, fds, fd_count) < 0)
                end(0);
}

static void
refuse_command(struct guest *g, int sys, enum wire_exec_stage stage)
{
        struct wire_exec_failed failed = { sys, stage };

        say(g, WIRE_EXEC_FAILED, &failed, sizeof failed, NULL, 0);
        if (g->is_last)
                end(0);
}

static int
take_terminal(struct guest *g, struct command *c)
{
        int slave;
        int result = terminal_open(c->head.rows, c->head.columns, &c->master, &slave);

        if (result < 0)
                return result;
        c->stdio[0] = c->stdio[1] = c->stdio[2] = slave;
        g->master = c->master;
        return 0;
}

static int
take_stdio(struct guest *g, struct command *c, const struct wire_message *m)
{
        if ((c->head.flags & WIRE_EXEC_TTY) != 0)
                return take_terminal(g, c);
        if (m->fd_count != 3)
                return -EPROTO;
        memcpy(c->stdio, m->fds, sizeof c->stdio);
        return 0;
}

static void
start_command(struct guest *g, struct wire_message *m)
{
        struct command c = { .master = -1 };
        enum wire_exec_stage stage = WIRE_STAGE_SPAWN;
        int result = command_read(m, body, pointers, sizeof pointers / sizeof *pointers, &c);

        if (result < 0 || g->main_pid != 0) {
                refuse_command(g, result < 0 ? -result : EBUSY, stage);
                return;
        }
        g->is_last = c.head.flags & WIRE_EXEC_LAST;
        result = take_stdio(g, &c, m);
        if (result < 0) {
                refuse_command(g, -result, WIRE_STAGE_TERMINAL);
                return;
        }
        result = command_start(&c, &stage);
        if (c.master >= 0)
                (void)close(c.stdio[0]);
        if (result < 0) {
                refuse_command(g, -result, stage);
                return;
        }
        g->main_pid = result;
        say(g, WIRE_EXEC_STARTED, NULL, 0, &c.master, c.master >= 0);
}

static void
serve_message(struct guest *g)
{
        struct wire_message m;
        int got = wire_receive(g->control, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return;
        if (got <= 0)
                end(0);
        if (m.kind == WIRE_EXEC)
                start_command(g, &m);
        else if (m.kind == WIRE_SIGNAL && m.len == sizeof(struct wire_number) && g->main_pid > 0)
                (void)kill(-g->main_pid, ((const struct wire_number *)(const void *)body)->number);
        else if (m.kind == WIRE_RESIZE && m.len == sizeof(struct wire_size) && g->master >= 0) {
                const struct wire_size *size = (const void *)body;
                struct winsize window = { .ws_row = size->rows, .ws_col = size->columns };

                (void)ioctl(g->master, TIOCSWINSZ, &window);
        }
        wire_message_close(&m);
}

static uint64_t
microseconds(struct timeval time)
{
        return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void
report_end(struct guest *g, const siginfo_t *info)
{
        struct rusage usage;
        struct wire_exec_ended ended = { info->si_code, info->si_status, 0, 0, 0 };

        if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
                ended.user_us = microseconds(usage.ru_utime);
                ended.system_us = microseconds(usage.ru_stime);
                ended.max_rss_kb = (uint64_t)usage.ru_maxrss;
        }
        g->main_pid = 0;
        say(g, WIRE_EXEC_ENDED, &ended, sizeof ended, NULL, 0);
        if (g->is_last)
                end(0);
}

static void
reap(struct guest *g)
{
        siginfo_t info;

        for (;;) {
                info.si_pid = 0;
                if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
                        return;
                if (info.si_pid == g->main_pid)
                        report_end(g, &info);
        }
}

static int
open_signals(void)
{
        struct sigaction standard = { .sa_handler = SIG_DFL };
        sigset_t child;

        (void)sigemptyset(&child);
        (void)sigaddset(&child, SIGCHLD);
        (void)sigaction(SIGCHLD, &standard, NULL);     /* a caller may have left it ignored, and then nothing could be waited for */
        if (sigprocmask(SIG_SETMASK, &child, NULL) < 0)
                return -1;
        return signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
}

void
guest_serve(int control)
{
        struct guest g = { .control = control, .signals = open_signals(), .master = -1 };
        struct pollfd fds[2] = { { control, POLLIN, 0 }, { g.signals, POLLIN, 0 } };
        struct signalfd_siginfo drained;

        if (g.signals < 0)
                end(125);
        for (;;) {
                if (poll(fds, 2, -1) < 0 && errno != EINTR)
                        end(125);
                if ((fds[0].revents & (POLLHUP | POLLERR)) != 0)
                        end(0);
                if ((fds[1].revents & POLLIN) != 0) {
                        while (read(g.signals, &drained, sizeof drained) > 0)
                                continue;
                        reap(&g);
                }
                if ((fds[0].revents & POLLIN) != 0)
                        serve_message(&g);
        }
}
