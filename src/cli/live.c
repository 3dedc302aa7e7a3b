/*
 * cli/live.c - follows an exec for a person or a script.
 *
 * Room: cli (joining, program). Touches: fd (standard streams, the caller's terminal), signals,
 * clock; libcarrel does the rest.
 * Theory: one poll(2) over everything, without any blocking call. A byte is read only after the
 * previous one was written: that slows the command down and loses nothing. The first signal goes to
 * the command; the second, or ten seconds, kills its whole tree.
 */
#include "cli/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/ending.h"
#include "cli/finding_print.h"
#include "cli/output_target.h"
#include "clock/clock.h"
#include "event/event.h"
#include "outcome/outcome.h"
#include "run/terminal.h"

enum { GRACE_MS = 10000, LAST_MS = 2000, CALL_MS = 2000, INPUT_ROOM = 64 * 1024 };

struct live {
        const struct live_options *o;
        struct output_target out, err;
        struct terminal_mode mode;
        bool input_is_open, is_over, is_stopped, is_left, was_killed, has_said_refusal;
        unsigned strikes;
        uint64_t grace_ms; /* time of the kill; UINT64_MAX: none */
        size_t in_start, in_end;
        char in[INPUT_ROOM];
};

static int signals = -1; /* one per process: a signal has one receiver */

static const int heard[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };

int
live_begin(struct carrel_error *e)
{
        const struct sigaction ignore = { .sa_handler = SIG_IGN };
        sigset_t set;

        (void)sigemptyset(&set);
        for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
                (void)sigaddset(&set, heard[i]);
        (void)sigaction(SIGPIPE, &ignore, NULL);
        if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
                signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (signals >= 0)
                return 0;
        *e = (struct carrel_error){ .code = "internal_error",
                                    .message = "signals cannot be heard here",
                                    .exit_status = 125 };
        return -1;
}

/* -- signals ----------------------------------------------------------------------------------- */

static void
end_it(struct live *l)
{
        carrel_set_timeout(l->o->c, CALL_MS);
        if (l->was_killed ||
            carrel_kill(l->o->c, l->o->id, carrel_exec_number(l->o->x), NULL, NULL) < 0)
                l->is_stopped = true; /* without its caller the tree is killed too */
        l->was_killed = true;
        l->grace_ms = clock_boot_ms() + LAST_MS; /* for a reader that does not read the rest */
}

static void
strike(struct live *l, int number)
{
        if (l->is_over) { /* only a blocked reader remains */
                l->out.is_gone = l->err.is_gone = true;
                return;
        }
        if (!l->o->is_owner) {
                l->is_stopped = true;
                return;
        }
        if (l->strikes++ > 0) {
                end_it(l);
                return;
        }
        l->grace_ms = clock_boot_ms() + GRACE_MS;
        carrel_set_timeout(l->o->c, CALL_MS);
        if (carrel_signal(l->o->c, l->o->id, carrel_exec_number(l->o->x), number, NULL) < 0)
                (void)carrel_exec_signal(l->o->x, number, NULL);
}

static void
hear_signals(struct live *l)
{
        struct signalfd_siginfo info;

        while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
                int number = (int)info.ssi_signo;
                uint16_t rows, columns;

                if (number == SIGWINCH) {
                        terminal_size(STDIN_FILENO, &rows, &columns);
                        if (l->o->has_terminal && rows > 0)
                                (void)carrel_exec_resize(l->o->x, rows, columns, NULL);
                } else if (number == SIGUSR1 || number == SIGUSR2) {
                        if (l->o->is_owner)
                                (void)carrel_exec_signal(l->o->x, number, NULL);
                } else {
                        strike(l, number);
                }
        }
}

/* -- input ------------------------------------------------------------------------------------- */

static void
give_input(struct live *l)
{
        while (l->in_start < l->in_end) {
                long taken = carrel_exec_write(l->o->x, l->in + l->in_start,
                                               l->in_end - l->in_start, NULL);

                if (taken <= 0)
                        return;
                l->in_start += (size_t)taken;
        }
}

static void
take_input(struct live *l)
{
        ssize_t got = read(STDIN_FILENO, l->in, sizeof l->in);

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (got <= 0) {
                l->input_is_open = false;
                if (!l->o->has_terminal)
                        (void)carrel_exec_write_end(l->o->x, NULL);
                return;
        }
        l->in_start = 0;
        l->in_end = (size_t)got;
        give_input(l);
}

/* -- output ------------------------------------------------------------------------------------ */

static bool
is_busy(const struct live *l)
{
        return output_target_is_busy(&l->out) || output_target_is_busy(&l->err);
}

static bool
has_reached(const struct live *l)
{
        return l->o->stdout_end != CARREL_NONE &&
               carrel_exec_offset(l->o->x, CARREL_STDOUT) >= l->o->stdout_end &&
               carrel_exec_offset(l->o->x, CARREL_STDERR) >= l->o->stderr_end;
}

static void
end_output(struct live *l)
{
        l->is_over = true;
        output_target_end(&l->out);
        output_target_end(&l->err);
}

/* Takes pieces until one must wait for its reader. Returns 0 or -1. */
static int
take_output(struct live *l, struct carrel_error *e)
{
        while (!is_busy(l) && !l->is_over) {
                struct carrel_piece p;
                int got;

                if (has_reached(l)) {
                        l->is_stopped = true;
                        end_output(l);
                        return 0;
                }
                got = carrel_exec_read(l->o->x, 0, &p, e);
                if (got <= 0)
                        return got;
                l->is_left = p.kind == CARREL_PORT;
                if (p.kind == CARREL_END || l->is_left)
                        end_output(l);
                if (p.kind == CARREL_STDOUT && l->o->has_terminal)
                        terminal_show(&l->mode, p.bytes, p.len);
                if (p.kind == CARREL_STDOUT || p.kind == CARREL_STDERR)
                        output_target_put(p.kind == CARREL_STDOUT ? &l->out : &l->err, p.bytes,
                                          p.len);
                /* if the reader of its errors is gone, the command continues */
                (void)output_target_write(&l->err);
                if (output_target_write(&l->out) < 0)
                        return 0;
        }
        return 0;
}

/* -- all of it --------------------------------------------------------------------------------- */

enum { ON_SIGNAL, ON_CHANNEL, ON_INPUT, ON_OUT, ON_ERR, ON_EVENTS, ON_MAX };

static int
wait_for(struct live *l, struct pollfd *fds)
{
        short wanted = carrel_exec_events(l->o->x);
        bool reads = l->input_is_open && l->in_start == l->in_end && !l->is_over;

        if (l->in_start < l->in_end)
                wanted |= POLLOUT;
        fds[ON_SIGNAL] = (struct pollfd){ signals, POLLIN, 0 };
        fds[ON_CHANNEL] = (struct pollfd){ is_busy(l) || l->is_over ? -1 : carrel_exec_fd(l->o->x),
                                           wanted, 0 };
        fds[ON_INPUT] = (struct pollfd){ reads ? STDIN_FILENO : -1, POLLIN, 0 };
        fds[ON_OUT] = output_target_poll(&l->out);
        fds[ON_ERR] = output_target_poll(&l->err);
        fds[ON_EVENTS] = (struct pollfd){ l->o->events && !l->has_said_refusal
                                                  ? carrel_events_fd(l->o->events)
                                                  : -1,
                                          POLLIN, 0 };
        return clock_poll(fds, ON_MAX, l->grace_ms);
}

/* Events are optional: if they cannot be read, refusals are printed at the end. */
static void
hear_events(struct live *l)
{
        struct carrel_event event;
        int got;

        while (!l->has_said_refusal &&
               (got = carrel_events_next(l->o->events, 0, &event, NULL)) != 0) {
                bool is_ours = got > 0 && event.exec == carrel_exec_number(l->o->x) &&
                               event_find(event.event) == EVENT_EGRESS_DENIED;

                l->has_said_refusal = got < 0 || is_ours;
                if (is_ours)
                        l->o->refused(l->o);
        }
}

static void
wait_and_act(struct live *l)
{
        struct pollfd fds[ON_MAX];

        if (wait_for(l, fds) == 0 && l->grace_ms != UINT64_MAX) {
                l->grace_ms = UINT64_MAX;
                end_it(l);
        }
        if (fds[ON_SIGNAL].revents != 0)
                hear_signals(l);
        if (fds[ON_INPUT].revents != 0)
                take_input(l);
        else if (fds[ON_CHANNEL].revents != 0)
                give_input(l);
        (void)output_target_write(&l->err);
        (void)output_target_write(&l->out);
        if (fds[ON_EVENTS].revents != 0)
                hear_events(l);
}

static enum live_result
follow(struct live *l, struct carrel_error *e)
{
        for (;;) {
                if (take_output(l, e) < 0)
                        return LIVE_FAILED;
                if (l->out.error != 0)
                        return LIVE_UNWRITTEN;
                if (l->is_over && !is_busy(l))
                        return carrel_exec_end(l->o->x) ? LIVE_ENDED
                               : l->is_left             ? LIVE_PORT
                                                        : LIVE_STOPPED;
                if (l->is_stopped && !l->is_over)
                        return LIVE_STOPPED;
                if (l->out.is_gone)
                        return LIVE_READER_GONE;
                wait_and_act(l);
        }
}

enum live_result
live_follow(const struct live_options *o, struct carrel_error *e)
{
        static struct live l; /* large; one per process, as its standard streams are */
        enum live_result result;

        l.o = o;
        l.grace_ms = UINT64_MAX;
        l.input_is_open = o->has_input;
        output_target_init(&l.out, STDOUT_FILENO, o->is_raw || o->has_terminal);
        output_target_init(&l.err, STDERR_FILENO, o->is_raw);
        if (o->has_terminal)
                terminal_raw(&l.mode, STDIN_FILENO);
        result = follow(&l, e);
        terminal_restore(&l.mode);
        if (result == LIVE_UNWRITTEN)
                print_unwritten(l.out.error);
        output_target_fini(&l.out);
        output_target_fini(&l.err);
        return result;
}

struct time_limit
live_time_limit(uint64_t ms, const char *by)
{
        return (struct time_limit){ ms, time_limit_find(by) };
}

void
live_print_end(const struct carrel_exec *x)
{
        const struct carrel_end *end = carrel_exec_end(x);
        struct outcome outcome = ending_of_carrel(end);
        const char *by;
        uint64_t ms = carrel_exec_timeout(x, &by);
        struct time_limit limit = live_time_limit(ms, by);
        struct error e;

        if (end->dropped_bytes > 0)
                (void)fprintf(
                        stderr,
                        "carrel: %llu bytes of output were discarded: limits.output_bytes was "
                        "reached, the output was not read, or the daemon's disk is full\n",
                        (unsigned long long)end->dropped_bytes);
        if (!outcome_is_over_disk(&outcome))
                print_limits_reached(end->limits_reached);
        if (outcome_explain(&outcome, &limit, &e))
                print_error(stderr, "carrel", &e);
        else if (outcome.word == OUTCOME_KILLED)
                (void)fprintf(stderr, "carrel: the command was ended: %s\n",
                              outcome_help(outcome.word));
}
