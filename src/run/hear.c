/*
 * run/hear.c - handles what a run receives: messages of the box and of its gate, and signals.
 *
 * Room: run (joining). Touches: fd, the caller's terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/start_error.h"
#include "clock/clock.h"
#include "plan/failure.h"
#include "run/session.h"
#include "wire/message.h"

enum { GRACE_MS = 10000, BODY_ROOM = 4096 };

/* Processes that the kernel or the command itself ended leave output that is read to its end. */
static bool
is_cut(uint32_t word)
{
        return word == OUTCOME_TIMED_OUT || word == OUTCOME_CPU_LIMIT || word == OUTCOME_KILLED ||
               word == OUTCOME_POLICY_KILLED;
}

static void
command_ended(struct session *s, const struct channel_end_listed *end)
{
        /* set already if a name of the host was made: that decides the outcome in any case */
        bool is_strict = s->outcome.word == OUTCOME_POLICY_KILLED;

        s->has_ended = true;
        s->outcome =
                (struct outcome){ .word = is_strict                 ? OUTCOME_POLICY_KILLED
                                          : end->word < OUTCOME_MAX ? (enum outcome_word)end->word
                                                                    : OUTCOME_LOST,
                                  .exit_code = end->exit_code,
                                  .signal = end->signal,
                                  .duration_ms = end->duration_ms,
                                  .cpu_ms = end->cpu_ms,
                                  .memory_peak_kb = end->memory_peak_kb,
                                  .reached = end->reached };
        s->is_cut = s->is_cut || is_cut(s->outcome.word);
}

static void
take_terminal(struct session *s, struct wire_message *m)
{
        int other;

        if (!session_has_terminal(s) || m->fd_count != 1)
                return;
        (void)stream_set_nonblocking(m->fds[0]);
        other = fcntl(m->fds[0], F_DUPFD_CLOEXEC, 3);
        stream_init(&s->in, s->o->in, m->fds[0]);
        s->in.owns_to = true;
        s->in.sink = STREAM_FILE;
        stream_init(&s->out, other, s->o->out);
        s->out.owns_from = true;
        s->out.shown_on = &s->mode;
        s->out.seen = s->o->seen;
        s->out.which = STDOUT_FILENO;
        m->fds[0] = -1;
        terminal_raw(&s->mode, s->o->in);
}

void
session_hear_wall(struct session *s, const struct pollfd *gate)
{
        struct error e;

        if (run_wall_hear_gate(s->wall, gate, &e) < 0)
                session_break(s, &e);
}

static void
hear_finished(struct session *s, const struct wire_box_listed *listed)
{
        struct error e;

        if (s->has_ended)
                return;
        if (!s->is_series)
                run_wall_end(s->wall);
        if (listed->state == BOX_EXEC_FAILED) {
                (void)start_error_read(&e, &listed->failed, s->o->command.argv[0],
                                       s->o->command.cwd);
                session_fail(s, &e);
        } else {
                command_ended(s, &listed->end);
        }
}

static void
hear_gone(struct session *s, const struct wire_box_gone *gone)
{
        struct error e;

        s->box_is_done = true;
        if (gone->cause == BOX_GONE_MAKE_FAILED)
                (void)plan_step_failed(&e, s->o->plan, gone->failed.step, gone->failed.sys);
        else
                (void)fail(&e, ERROR_BACKEND_FAILED, "the sandbox ended while it was being made");
        session_fail(s, &e);
}

/* A name that ends the sandbox decides the outcome, even if the command ended first. */
static void
hear_kept(struct session *s, const struct wire_kept *kept)
{
        bool is_known = kept->what > 0 && kept->what < KEPT_WHAT_MAX;
        struct run_kept *all = is_known && s->kept_count < RUN_KEPT_MAX
                                       ? realloc(s->kept, (s->kept_count + 1) * sizeof *all)
                                       : NULL;
        struct run_kept *one;

        if (kept->what == KEPT_STRICT || kept->what == KEPT_STUCK) {
                s->outcome.word = OUTCOME_POLICY_KILLED;
                s->outcome.exit_code = -1;
                s->is_cut = true;
        }
        if (!all)
                return;
        s->kept = all;
        one = &all[s->kept_count++];
        *one = (struct run_kept){ .what = kept->what, .sys = kept->sys };
        (void)memccpy(one->name, kept->name, '\0', sizeof one->name - 1);
        (void)memccpy(one->place, kept->kept, '\0', sizeof one->place - 1);
        (void)memccpy(one->key, kept->key, '\0', sizeof one->key - 1);
}

static void
lose_box(struct session *s, int sys)
{
        struct error e;

        s->box_is_done = true;
        (void)fail_sys(&e, ERROR_BACKEND_FAILED, sys, "the maker is gone");
        session_fail(s, &e);
}

void
session_hear_box(struct session *s)
{
        _Alignas(8) unsigned char body[BODY_ROOM];
        struct wire_message m;
        struct error e;
        int got = wire_receive(s->box, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return;
        if (got <= 0) {
                lose_box(s, got < 0 ? -got : ECONNRESET);
                return;
        }
        if (m.kind == WIRE_BOX_STARTED) {
                s->was_started = true;
                take_terminal(s, &m);
        } else if (m.kind == WIRE_BOX_FINISHED && m.len == sizeof(struct wire_box_listed)) {
                hear_finished(s, (const struct wire_box_listed *)(const void *)body);
        } else if (m.kind == WIRE_BOX_FOUND && m.len == sizeof(struct wire_box_found)) {
                hear_kept(s, &((const struct wire_box_found *)(const void *)body)->kept);
        } else if (m.kind == WIRE_BOX_GONE && m.len == sizeof(struct wire_box_gone)) {
                hear_gone(s, (const struct wire_box_gone *)(const void *)body);
        } else if (session_hear_fact(s, &m, body)) {
                /* lint: reported */
        } else if (run_wall_hear_box(s->wall, &m, body, &e) < 0) {
                session_break(s, &e);
        }
        wire_message_close(&m);
}

/*
 * The command stops with this process, as it would without a sandbox. Its time limit continues
 * in the box.
 */
static void
stand_still(struct session *s)
{
        struct wire_exec_number number = { SESSION_EXEC, SIGSTOP };
        bool was_raw = s->mode.is_raw;
        sigset_t stop;

        session_say(s, WIRE_BOX_SIGNAL, &number, sizeof number);
        terminal_restore(&s->mode);
        (void)sigemptyset(&stop);
        (void)sigaddset(&stop, SIGTSTP);
        (void)raise(SIGTSTP);
        /* The stop happens here, or not at all if no shell could continue us. */
        (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
        (void)sigprocmask(SIG_BLOCK, &stop, NULL);
        if (was_raw && !session_is_in_background(s))
                terminal_raw(&s->mode, s->o->in);
        number.number = SIGCONT;
        session_say(s, WIRE_BOX_SIGNAL, &number, sizeof number);
}

static void
resize(const struct session *s)
{
        struct winsize size = { 0 };

        terminal_size(s->o->in, &size.ws_row, &size.ws_col);
        if (!session_has_terminal(s) || s->in.to < 0)
                return;
        if (ioctl(s->in.to, TIOCSWINSZ, &size) < 0) { /* it is behind a relay */
                const struct wire_exec_size order = { SESSION_EXEC, size.ws_row, size.ws_col };

                session_say(s, WIRE_RESIZE, &order, sizeof order);
        }
}

/* The command has the caller's terminal itself. */
static void
hear_signal(struct session *s, const struct signalfd_siginfo *info)
{
        struct wire_exec_number number = { SESSION_EXEC, (int32_t)info->ssi_signo };
        const struct run_wall_options *changed =
                info->ssi_signo == SIGUSR1 ? s->o->changed(s->o->data, info) : NULL;

        if (changed)
                run_wall_change(s->wall, changed);
        if (info->ssi_signo == SIGTERM || info->ssi_signo == SIGHUP)
                session_say(s, WIRE_BOX_SIGNAL, &number, sizeof number);
}

void
session_hear_signals(struct session *s)
{
        struct signalfd_siginfo info;

        while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
                struct wire_exec_number number = { SESSION_EXEC, (int32_t)info.ssi_signo };

                if (session_is_net_only(s)) {
                        hear_signal(s, &info);
                        continue;
                }
                if (info.ssi_signo == SIGTSTP) {
                        stand_still(s);
                        continue;
                }
                if (info.ssi_signo == SIGWINCH) {
                        resize(s);
                        continue;
                }
                session_say(s, WIRE_BOX_SIGNAL, &number, sizeof number);
                if (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM &&
                    info.ssi_signo != SIGHUP && info.ssi_signo != SIGQUIT)
                        continue;
                if (s->box_is_done) /* only the output of a blocked reader remains */
                        session_abandon_output(s);
                /* the first signal waits in the socket even while the box is being created */
                else if (s->grace != SESSION_NEVER)
                        session_kill(s);
                else
                        s->grace = session_after(clock_boot_ms(), GRACE_MS);
        }
}
