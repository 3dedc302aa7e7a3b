/*
 * guest/guest.c - pid 1 inside a box.
 *
 * Room: guest (program). Touches: processes, fd.
 *
 *     serving --the last command (WIRE_EXEC_LAST) ended and was reported,
 *               or the control socket closed--> the box ends
 *
 * Theory: when pid 1 ends, the kernel kills every process in its pid namespace. So one _exit()
 * kills the whole tree (P10). Signals from inside never reach pid 1, because it has no handlers;
 * SIGCHLD is blocked and read from a descriptor. Pid 1 waits in one place, for all events. The
 * control socket is non-blocking: unsent messages stay in the tables (guest/exec.h,
 * guest/connect.h). While a refusal is unsent, nothing more is read from it.
 */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock/clock.h"
#include "guest/connect.h"
#include "guest/exec.h"
#include "guest/executions.h"
#include "guest/listen.h"
#include "guest/names.h"
#include "guest/transport.h"

enum { CONTROL, SIGNALS, REPORTS, SPARE, NAMES, EXECUTIONS, FIRST_CONNECT };
/*
 * FDS_OURS: pid 1's own descriptors, with those of one message and one start. NAMES_FDS: with those
 * that are open for a moment.
 */
enum {
        BROKEN = 125,
        MESSAGES_AT_ONCE = 64,
        FDS_OURS = 16,
        SHARE = 4,
        TRANSPORT_SHARE = 2, /* the other half is for the pipes of commands */
        FDS_PLENTY = 64,
        NAMES_FDS = 3
};

struct guest {
        int control, signals;
        /* unreaped children may have ended, and no signal will report them */
        int has_more;
        size_t connecting, starting; /* numbers of descriptors polled */
        struct execs execs;
        struct connects connects;
        struct listens listens;
        struct names names;
        struct executions executions;
        struct transport *transport; /* NULL: the control socket leads to a box */
        size_t carrying;             /* number of its descriptors polled */
        int is_last;                 /* the last command has ended: what it wrote is still sent */
};

static struct guest guest; /* only the used part is touched */

static _Noreturn void
end(int status)
{
        _exit(status);
}

static void
serve_message(struct guest *g, struct wire_message *m, char *body)
{
        const struct wire_exec_number *number = (const void *)body;

        switch (m->kind) {
        case WIRE_EXEC:
                execs_start(&g->execs, m, body);
                break;
        case WIRE_SIGNAL:
                if (m->len == sizeof *number)
                        execs_signal(&g->execs, number->exec, number->number);
                break;
        case WIRE_RESIZE:
                if (m->len == sizeof(struct wire_exec_size))
                        execs_resize(&g->execs, (const void *)body);
                break;
        case WIRE_KILL_TREE:
                if (m->len == sizeof *number)
                        execs_kill_tree(&g->execs, number->exec);
                break;
        case WIRE_PREFORK:
                if (m->len == sizeof(struct wire_spare))
                        execs_spare(&g->execs, m, (const void *)body);
                break;
        case WIRE_CONNECT:
                if (m->len == sizeof(struct wire_connect))
                        connects_start(&g->connects, (const void *)body);
                break;
        case WIRE_WALL_LISTEN:
                if (m->len == sizeof(struct wire_wall_listen))
                        listens_start(&g->listens, (const void *)body);
                break;
        default:
                break;
        }
}

static int
is_refusing(const struct guest *g)
{
        return g->execs.has_refusal || g->connects.has_refusal || g->listens.is_due;
}

static void
tell(struct guest *g)
{
        /* a command's refusals are counted before its end is reported */
        if (g->execs.has_ended)
                names_collect(&g->names, g->execs.has_tried != 0);
        if (executions_tell(&g->executions) < 0 || names_tell(&g->names, g->execs.has_ended) < 0 ||
            execs_tell(&g->execs) < 0 || connects_serve(&g->connects) < 0 ||
            listens_tell(&g->listens) < 0)
                end(0);
        if (!g->execs.is_ending)
                return;
        if (!g->transport)
                end(0);
        g->is_last = 1;
}

static void
hear_control(struct guest *g)
{
        for (int i = 0; i < MESSAGES_AT_ONCE && !is_refusing(g); i++) {
                struct wire_message m;
                char *body = execs_body(&g->execs);
                int got = wire_receive(g->control, 0, &m, body, WIRE_BODY_MAX);

                if (got == -EAGAIN)
                        return;
                if (got <= 0)
                        end(0);
                execs_hear(&g->execs); /* a signal goes to the pid that was reported before
                                        * it */
                serve_message(g, &m, body);
                wire_message_close(&m);
                tell(g);
        }
}

static void
hear_signals(struct guest *g)
{
        struct signalfd_siginfo drained;

        /* once: a payload may send it faster than pid 1 reads */
        (void)!read(g->signals, &drained, sizeof drained);
        g->has_more = execs_reap(&g->execs);
}

static int
open_signals(void)
{
        struct sigaction standard = { .sa_handler = SIG_DFL };
        sigset_t child, blocked;

        (void)sigemptyset(&child);
        (void)sigaddset(&child, SIGCHLD);
        blocked = child;
        if (getpid() != 1) /* no pid namespace: a terminal's Ctrl-C is for the command */
                (void)sigfillset(&blocked);
        /* a caller may have left it ignored; then no child could be waited for */
        (void)sigaction(SIGCHLD, &standard, NULL);
        if (sigprocmask(SIG_SETMASK, &blocked, NULL) < 0)
                return -1;
        return signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Waits until there is work. */
static void
wait_for(struct guest *g, struct pollfd *fds, int timeout_ms)
{
        short in = is_refusing(g) ? 0 : POLLIN;
        int names_ms = names_wait_ms(&g->names);
        short out = g->names.is_due || g->executions.is_due || g->execs.has_news ||
                                    connects_has_news(&g->connects) || is_refusing(g)
                            ? POLLOUT
                            : 0;

        fds[CONTROL] = (struct pollfd){ g->control, (short)(in | out), 0 };
        fds[SIGNALS] = (struct pollfd){ g->signals, POLLIN, 0 };
        fds[REPORTS] = (struct pollfd){ g->execs.reports[0], POLLIN, 0 };
        fds[SPARE] = (struct pollfd){ g->execs.spare.socket, POLLIN, 0 };
        fds[NAMES] = (struct pollfd){ g->names.is_due ? -1 : g->names.socket, POLLIN, 0 };
        fds[EXECUTIONS] =
                (struct pollfd){ g->executions.is_due ? -1 : g->executions.listener, POLLIN, 0 };
        if (names_ms >= 0 && (timeout_ms < 0 || names_ms < timeout_ms) && !g->names.is_due)
                timeout_ms = names_ms;
        g->connecting = connects_poll(&g->connects, fds + FIRST_CONNECT, &timeout_ms);
        g->starting = execs_poll(&g->execs, fds + FIRST_CONNECT + g->connecting);
        if (g->transport)
                g->carrying = transport_poll(g->transport,
                                             fds + FIRST_CONNECT + g->connecting + g->starting,
                                             &timeout_ms);
        if (poll(fds, FIRST_CONNECT + g->connecting + g->starting + g->carrying,
                 g->has_more ? 0 : clock_slice_ms(timeout_ms)) < 0 &&
            errno != EINTR)
                end(BROKEN);
}

static uint32_t
exec_of(pid_t pid)
{
        return execs_of(&guest.execs, pid);
}

static struct executions_child
sharing_child(const struct execs *x)
{
        return x->sharing ? (struct executions_child){ x->sharing->child, x->sharing->start }
                          : (struct executions_child){ 0, -1 };
}

/*
 * The payload's limit on descriptors also applies to pid 1. So pid 1 keeps a bounded number for
 * other uses. A message whose descriptors find no room is invalid, and would end pid 1.
 */
static void
share_descriptors(struct guest *g)
{
        struct rlimit files = { FDS_OURS, FDS_OURS };
        unsigned room = 1, sockets, ours;

        (void)getrlimit(RLIMIT_NOFILE, &files);
        if (g->transport)
                files.rlim_cur /= TRANSPORT_SHARE;
        g->execs.has_no_spare = files.rlim_cur < FDS_PLENTY;
        ours = FDS_OURS + (g->execs.has_no_spare ? 0u : PREFORKED_FDS) +
               (unsigned)g->listens.stock_count + (g->names.socket < 0 ? 0u : NAMES_FDS);
        if (files.rlim_cur > ours + 1)
                room = files.rlim_cur - ours < EXEC_MAX ? (unsigned)(files.rlim_cur - ours)
                                                        : EXEC_MAX;
        sockets = room / SHARE < CONNECTS_MAX ? room / SHARE : CONNECTS_MAX;
        execs_init(&g->execs, g->control, room - sockets);
        connects_init(&g->connects, g->control, sockets);
}

/* Moves what the stream carries. Ends when it is lost, or after the last command. */
static void
carry(struct guest *g, const struct pollfd *fds)
{
        if (transport_serve(g->transport, fds, g->carrying) < 0)
                end(0);
        if (g->is_last && transport_is_flushed(g->transport))
                end(0);
}

void
guest_serve(int control, const struct guest_names *names, int disk,
            const struct executions_asked *asks, const int *stock, size_t stock_count)
{
        static struct pollfd fds[FIRST_CONNECT + CONNECTS_MAX + EXEC_MAX + TRANSPORT_POLL_MAX];
        struct guest *g = &guest;

        g->control = g->listens.control = control;
        g->listens.stock = stock;
        g->listens.stock_count = stock_count;
        g->signals = open_signals();
        if (g->signals < 0 || fcntl(control, F_SETFL, O_NONBLOCK) < 0)
                end(BROKEN);
        names_init(&g->names, control, names ? names->socket : -1, names ? names->diag : -1);
        share_descriptors(g);
        g->execs.disk = disk;
        executions_init(&g->executions, control, asks, exec_of);
        for (;;) {
                wait_for(g, fds, execs_kill(&g->execs));
                if ((fds[CONTROL].revents & (POLLHUP | POLLERR)) != 0)
                        end(0);
                execs_hear_starts(&g->execs, fds + FIRST_CONNECT + g->connecting, g->starting);
                if ((fds[REPORTS].revents & POLLIN) != 0 || fds[SPARE].revents != 0)
                        execs_hear(&g->execs);
                if ((fds[SIGNALS].revents & POLLIN) != 0 || g->has_more)
                        hear_signals(g);
                if (fds[EXECUTIONS].revents != 0 &&
                    executions_serve(&g->executions, sharing_child(&g->execs)) < 0)
                        end(0);
                if (fds[NAMES].revents != 0)
                        (void)names_serve(&g->names);
                if ((fds[CONTROL].revents & POLLIN) != 0)
                        hear_control(g);
                execs_resume(&g->execs);
                tell(g);
                if (g->transport)
                        carry(g, fds + FIRST_CONNECT + g->connecting + g->starting);
        }
}

unsigned
guest_transport_fds(void)
{
        struct rlimit files = { FDS_OURS, FDS_OURS };

        (void)getrlimit(RLIMIT_NOFILE, &files);
        return files.rlim_cur / TRANSPORT_SHARE < FLOWS_MAX
                       ? (unsigned)(files.rlim_cur / TRANSPORT_SHARE)
                       : FLOWS_MAX;
}

void
guest_serve_stream(struct transport *t, int control, const struct executions_asked *asks)
{
        guest.transport = t;
        guest_serve(control, NULL, -1, asks, NULL, 0);
}
