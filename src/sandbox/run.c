/*
 * sandbox/run.c - runs one command in its own sandbox.
 *
 * Room: sandbox (joining). Touches: fd, processes (through a backend), signals, clock, the caller's
 * terminal.
 *
 *     making --guest: EXEC_STARTED--> running --guest: EXEC_ENDED--> ending --box gone, output
 * drained--> over | any failure                    | deadline, CPU limit, floor, second signal:
 * kill
 *       +-------------> ending <---------+
 *
 * Theory: one loop over poll(2). The word of the outcome is decided once: the first cause that ends
 * the command sets it (P10).
 */
#include "sandbox/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"
#include "sandbox/session.h"
#include "spec/spec.h"

enum { BACKGROUND_LOOK_MS = 250 }; /* no event reports that a job came to the foreground */

static bool
is_over(const struct session *s)
{
        return s->box_is_done && stream_is_over(&s->out) && stream_is_over(&s->err);
}

/* The person waiting for the command sees at once why it makes no progress. */
static void
say_refusal(struct session *s)
{
        const struct hold_denial *first =
                s->o->refused && !s->has_said_refusal ? run_wall_first(s->wall) : NULL;

        if (!first)
                return;
        s->has_said_refusal = true;
        s->o->refused(first);
}

static void
one_turn(struct session *s)
{
        struct pollfd fds[11] = {
                { s->box_is_done ? -1 : s->o->backend->descriptor(s->box), POLLIN, 0 },
                { s->guest_is_done ? -1 : s->guest, POLLIN, 0 },
                { s->signals, POLLIN, 0 },
        };
        uint64_t limit = session_look_at_limits(s), drain = session_look_at_drain(s);
        uint64_t wall = run_wall_look(s->wall);
        uint64_t sooner = limit < drain ? limit : drain;
        uint64_t wait = sooner < wall ? sooner : wall;
        int timeout = wait == SESSION_NEVER ? -1 : wait > 60000 ? 60000 : (int)wait;

        (void)stream_poll(&s->in, fds + 3);
        if (session_is_in_background(s)) {
                /* reading would stop this process, and the input is for another job */
                fds[3].fd = -1;
                timeout =
                        timeout < 0 || timeout > BACKGROUND_LOOK_MS ? BACKGROUND_LOOK_MS : timeout;
        }
        (void)stream_poll(&s->out, fds + 5);
        (void)stream_poll(&s->err, fds + 7);
        run_wall_poll(s->wall, fds + 9);
        if (poll(fds, 11, clock_slice_ms(timeout)) < 0)
                return;
        if (fds[2].revents != 0)
                session_hear_signals(s);
        if (fds[1].revents != 0)
                session_hear_guest(s);
        if (fds[0].revents != 0)
                session_hear_backend(s);
        session_hear_wall(s, fds + 9);
        say_refusal(s);
        (void)stream_move(&s->out, fds + 5, 2);
        (void)stream_move(&s->err, fds + 7, 2);
        (void)stream_move(&s->in, fds + 3, 2);
        if (stream_is_over(&s->in) && s->in.to >= 0 && !s->o->wants_terminal) {
                (void)close(s->in.to); /* the command reads the end of its input */
                s->in.to = -1;
        }
        if (s->guest_is_done && !s->box_is_done)
                session_kill(s); /* pid 1 does not answer any more; the backend reports why */
}

static int
open_signals(sigset_t *ret_before)
{
        static const int forwarded[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                         SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP };
        sigset_t set;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
                (void)sigaddset(&set, forwarded[i]);
        (void)sigprocmask(SIG_BLOCK, &set, ret_before);
        return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void
collect(struct session *s, struct run_result *ret)
{
        *ret = (struct run_result){ .outcome = s->outcome };
        ret->outcome.stdout_bytes = s->out.bytes;
        ret->outcome.stderr_bytes = s->err.bytes;
        ret->outcome.dropped_bytes = s->out.dropped + s->err.dropped;
        ret->out = s->out.captured;
        ret->out_len = s->out.captured_len;
        ret->out_dropped = s->out.dropped;
        ret->out_error = s->out.error;
        ret->err = s->err.captured;
        ret->err_len = s->err.captured_len;
        ret->err_dropped = s->err.dropped;
        ret->kept = s->kept;
        ret->kept_count = s->kept_count;
        s->kept = NULL;
        ret->denials = run_wall_denials(s->wall, &ret->denial_count, &ret->denied_more);
        s->out.captured = s->err.captured = NULL;
}

static void
session_init(struct session *s, const struct run_options *options)
{
        *s = (struct session){ .o = options,
                               .guest = -1,
                               .budget = options->output_bytes,
                               .started = clock_boot_ms(),
                               .in = { .from = -1, .to = -1 },
                               .out = { .from = -1, .to = -1 },
                               .err = { .from = -1, .to = -1 } };
        s->deadline = session_after(s->started, options->timeout_ms);
        s->cpu_look = options->cpu_ms != SPEC_UNSET && options->plan->cpu == PLAN_CPU_GROUP
                              ? s->started
                              : SESSION_NEVER;
        s->floor_look =
                options->floor_count > 0 && options->floor_mb > 0 ? s->started : SESSION_NEVER;
        s->grace = s->late = SESSION_NEVER;
}

int
sandbox_run(const struct run_options *options, struct run_result *ret, struct error *e)
{
        struct session s;
        struct sigaction ignore = { .sa_handler = SIG_IGN }, pipe_before;
        sigset_t before;
        int result;

        (void)sigaction(SIGPIPE, &ignore, &pipe_before);
        session_init(&s, options);
        s.signals = open_signals(&before);
        result = s.signals < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "listening for signals")
                               : session_start(&s, e);
        if (result == 0) {
                while (!is_over(&s))
                        one_turn(&s);
                if (s.error.code != ERROR_NONE && !s.is_decided && !s.was_started) {
                        *e = s.error;
                        result = -1;
                } else {
                        session_decide(&s, OUTCOME_LOST);
                }
        }
        run_wall_end(s.wall);
        terminal_restore(&s.mode);
        if (result == 0)
                collect(&s, ret);
        options->backend->close(s.box);
        free(s.kept);
        run_wall_free(s.wall);
        stream_fini(&s.in);
        stream_fini(&s.out);
        stream_fini(&s.err);
        scoped_fd_close(&s.guest);
        scoped_fd_close(&s.signals);
        (void)sigaction(SIGPIPE, &pipe_before, NULL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return result;
}

void
run_result_fini(struct run_result *r)
{
        free(r->out);
        free(r->err);
        free(r->denials);
        free(r->kept);
        r->kept = NULL;
        r->denials = NULL;
        r->out = r->err = NULL;
}
