/*
 * run/run.c - runs one command in its own sandbox.
 *
 * Room: run (joining). Touches: fd, processes (the maker), signals, clock, the caller's
 * terminal.
 *
 *     making --STARTED--> running --FINISHED--> ended --GONE, output drained--> over
 *        | any failure, FAILED in FINISHED          ^
 *        '------------------------------------------'
 *
 * Theory: the box (box/one.c) supervises: it decides the outcome and enforces limits, also while
 * this process is stopped. This process is its keeper and its caller: it moves bytes, forwards
 * signals, and keeps the caller's terminal. When it ends, the box ends.
 */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"
#include "run/session.h"
#include "spec/spec.h"

enum {
        BACKGROUND_LOOK_MS = 250, /* no event reports that a job came to the foreground */
        LATE_MS = 2000
};
enum {
        ON_BOX,
        ON_SIGNAL,
        ON_GATE,
        ON_IN,
        ON_OUT = ON_IN + 2,
        ON_ERR = ON_OUT + 2,
        ON_MAX = ON_ERR + 2
};

static bool
is_over(const struct session *s)
{
        return s->box_is_done && stream_is_over(&s->out) && stream_is_over(&s->err);
}

/* The person waiting for the command sees at once why it makes no progress. */
static void
say_refusal(struct session *s)
{
        const struct wire_wall_denied *first =
                s->o->refused && !s->has_said_refusal ? run_wall_first(s->wall) : NULL;

        if (!first)
                return;
        s->has_said_refusal = true;
        s->o->refused(first);
}

/*
 * After the runtime ended a command, a blocked reader may delay the return for a moment only. After
 * a command that ended by itself, all output is kept until it is read. Returns milliseconds.
 */
static uint64_t
look_at_drain(struct session *s)
{
        uint64_t now;

        if (!s->box_is_done || !s->is_cut)
                return SESSION_NEVER;
        now = clock_boot_ms();
        if (s->late == SESSION_NEVER)
                s->late = session_after(now, LATE_MS);
        if (now >= s->late)
                session_abandon_output(s);
        return s->late > now ? s->late - now : 0;
}

/* The time after a first signal. Returns milliseconds. */
static uint64_t
look_at_grace(struct session *s)
{
        uint64_t now;

        if (s->grace == SESSION_NEVER || s->has_ended || s->box_is_done)
                return SESSION_NEVER;
        now = clock_boot_ms();
        if (now < s->grace)
                return s->grace - now;
        session_kill(s);
        return SESSION_NEVER;
}

static int
timeout_of(struct session *s)
{
        uint64_t grace = look_at_grace(s), drain = look_at_drain(s), wall = run_wall_look(s->wall);
        uint64_t wait = grace < drain ? grace : drain;

        wait = wall < wait ? wall : wait;
        return wait == SESSION_NEVER ? -1 : wait > 60000 ? 60000 : (int)wait;
}

static void
move_streams(struct session *s, const struct pollfd *fds)
{
        (void)stream_move(&s->out, fds + ON_OUT, 2);
        (void)stream_move(&s->err, fds + ON_ERR, 2);
        (void)stream_move(&s->in, fds + ON_IN, 2);
        if (stream_is_over(&s->in) && s->in.to >= 0 && !session_has_terminal(s)) {
                (void)close(s->in.to); /* the command reads the end of its input */
                s->in.to = -1;
        }
}

static void
one_turn(struct session *s)
{
        struct pollfd fds[ON_MAX] = { { s->box_is_done ? -1 : s->box, POLLIN, 0 },
                                      { s->signals, POLLIN, 0 } };
        int timeout = timeout_of(s);

        (void)stream_poll(&s->in, fds + ON_IN);
        if (session_is_in_background(s)) {
                /* reading would stop this process, and the input is for another job */
                fds[ON_IN].fd = -1;
                timeout =
                        timeout < 0 || timeout > BACKGROUND_LOOK_MS ? BACKGROUND_LOOK_MS : timeout;
        }
        (void)stream_poll(&s->out, fds + ON_OUT);
        (void)stream_poll(&s->err, fds + ON_ERR);
        fds[ON_GATE] = run_wall_poll(s->wall);
        if (poll(fds, ON_MAX, clock_slice_ms(timeout)) < 0)
                return;
        if (fds[ON_SIGNAL].revents != 0)
                session_hear_signals(s);
        if (fds[ON_BOX].revents != 0)
                session_hear_box(s);
        session_hear_wall(s, &fds[ON_GATE]);
        say_refusal(s);
        move_streams(s, fds);
}

static int
open_signals(bool is_net_only, sigset_t *ret_before)
{
        /* a command without a sandbox needs only the first ones: it has the same terminal */
        static const int forwarded[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                         SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP };
        const size_t count = is_net_only ? 5 : sizeof forwarded / sizeof *forwarded;
        sigset_t set;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < count; i++)
                (void)sigaddset(&set, forwarded[i]);
        (void)sigprocmask(SIG_BLOCK, &set, ret_before);
        return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void
collect(struct session *s, struct run_result *ret)
{
        *ret = (struct run_result){ .outcome = s->outcome };
        if (!s->has_ended) {
                ret->outcome.word = OUTCOME_LOST;
                ret->outcome.exit_code = -1;
                ret->outcome.duration_ms = clock_boot_ms() - s->started;
        }
        ret->outcome.stdout_bytes = s->out.bytes;
        ret->outcome.stderr_bytes = s->err.bytes;
        ret->outcome.dropped_bytes = s->out.dropped + s->err.dropped;
        ret->outcome.sanitizes = s->out.sanitize.kinds;
        for (size_t i = 0; i < SANITIZE_BITS; i++)
                ret->outcome.sanitized[i] =
                        sanitize_count(&s->out.sanitize, i) + sanitize_count(&s->err.sanitize, i);
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
        ret->has_no_gate = run_wall_is_down(s->wall);
        ret->denials = run_wall_denials(s->wall, &ret->denial_count, &ret->denied_more);
        s->out.captured = s->err.captured = NULL;
}

static void
session_init(struct session *s, const struct run_options *options)
{
        *s = (struct session){ .o = options,
                               .box = -1,
                               .budget = options->output_bytes,
                               .started = clock_boot_ms(),
                               .grace = SESSION_NEVER,
                               .late = SESSION_NEVER,
                               .in = { .from = -1, .to = -1 },
                               .out = { .from = -1, .to = -1 },
                               .err = { .from = -1, .to = -1 } };
}

/* Did the command run, or was it ended before it could? */
static bool
has_outcome(const struct session *s)
{
        if (s->was_started || s->error.code == ERROR_NONE)
                return true;
        return s->has_ended && s->outcome.word != OUTCOME_LOST && !s->is_broken;
}

/* The box ends when its socket closes; the maker ends when everything is undone. */
static void
end_box(struct session *s)
{
        scoped_fd_close(&s->box);
        while (s->maker > 0 && waitpid(s->maker, NULL, 0) < 0 && errno == EINTR)
                continue;
}

int
sandbox_run(const struct run_options *options, struct run_result *ret, struct error *e)
{
        struct session s;
        struct sigaction ignore = { .sa_handler = SIG_IGN }, pipe_before;
        sigset_t before;
        int result;

        session_init(&s, options);
        /* a command of the same session inherits it, and no stream passes through this process */
        (void)sigaction(SIGPIPE, session_is_net_only(&s) ? NULL : &ignore, &pipe_before);
        s.signals = open_signals(session_is_net_only(&s), &before);
        result = s.signals < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "listening for signals")
                               : session_start(&s, e);
        if (result == 0) {
                while (!is_over(&s))
                        one_turn(&s);
                if (!has_outcome(&s)) {
                        *e = s.error;
                        result = -1;
                }
        }
        terminal_restore(&s.mode);
        if (result == 0)
                collect(&s, ret);
        end_box(&s);
        free(s.kept);
        run_wall_free(s.wall);
        stream_fini(&s.in);
        stream_fini(&s.out);
        stream_fini(&s.err);
        scoped_fd_close(&s.signals);
        (void)sigaction(SIGPIPE, &pipe_before, NULL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return result;
}
