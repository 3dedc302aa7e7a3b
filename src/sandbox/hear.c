/*
 * sandbox/hear.c - handles what a run receives: messages of pid 1 and the backend, and signals.
 *
 * Room: sandbox (joining). Touches: fd, the caller's terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/start_error.h"
#include "clock/clock.h"
#include "sandbox/session.h"
#include "wire/message.h"

enum { GRACE_MS = 10000, BODY_ROOM = 1024, LATE_MS = 2000 };

static void
command_ended(struct session *s, const struct wire_exec_ended *ended)
{
        uint64_t cpu_ms = (ended->user_us + ended->system_us) / 1000;

        if (!s->is_decided) {
                session_decide(s, ended->code == CLD_EXITED ? OUTCOME_EXITED : OUTCOME_SIGNALED);
                if (ended->code == CLD_EXITED)
                        s->outcome.exit_code = ended->status;
                else
                        s->outcome.signal = ended->status;
        }
        if (s->outcome.word == OUTCOME_SIGNALED && ended->status == SIGXCPU &&
            s->o->plan->cpu == PLAN_CPU_RLIMIT)
                s->outcome.word = OUTCOME_CPU_LIMIT;
        s->outcome.reached |= ended->is_disk_full != 0 ? OUTCOME_DISK : 0u;
        s->outcome.cpu_ms = cpu_ms;
        s->outcome.memory_peak_kb = ended->max_rss_kb;
}

static void
take_terminal(struct session *s, struct wire_message *m)
{
        int other;

        if (!s->o->wants_terminal || m->fd_count != 1)
                return;
        (void)stream_set_nonblocking(m->fds[0]);
        other = fcntl(m->fds[0], F_DUPFD_CLOEXEC, 3);
        stream_init(&s->in, s->o->in, m->fds[0]);
        s->in.owns_to = true;
        s->in.sink = STREAM_FILE;
        stream_init(&s->out, other, s->o->out);
        s->out.owns_from = true;
        s->out.shown_on = &s->mode;
        m->fds[0] = -1;
        terminal_raw(&s->mode, s->o->in);
}

/* A command never runs behind a wall that does not work. */
static void
session_break(struct session *s, const struct error *e)
{
        session_fail(s, e);
        s->is_cut = true;
        session_kill(s);
}

void
session_hear_wall(struct session *s, const struct pollfd fds[2])
{
        struct error e;

        if (run_wall_hear(s->wall, fds, &e) < 0)
                session_break(s, &e);
}

void
session_hear_guest(struct session *s)
{
        _Alignas(8) char body[BODY_ROOM];
        struct wire_message m;
        struct error e = { .code = ERROR_NONE };
        int got = wire_receive(s->guest, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return;
        if (got == -EMFILE && m.kind == WIRE_WALL_LISTENED)
                got = 1; /* no room for its sockets: hold tells the gate */
        if (got <= 0) {
                s->guest_is_done = true;
                return;
        }
        if (m.kind == WIRE_EXEC_STARTED) {
                s->was_started = true;
                take_terminal(s, &m);
        } else if (m.kind == WIRE_EXEC_ENDED && m.len == sizeof(struct wire_exec_ended)) {
                command_ended(s, (const struct wire_exec_ended *)(const void *)body);
        } else if (m.kind == WIRE_EXEC_FAILED && m.len == sizeof(struct wire_exec_failed)) {
                (void)start_error_read(&e, (const struct wire_exec_failed *)(const void *)body,
                                       s->o->argv[0], s->o->cwd);
                session_fail(s, &e);
        } else if (m.kind == WIRE_BOX_FAILED && m.len == sizeof(struct wire_failed)) {
                const struct wire_failed *failed = (const void *)body;

                (void)backend_step_failed(&e, s->o->plan, failed->step, failed->sys);
                session_fail(s, &e);
        } else if (run_wall_hear_guest(s->wall, &m, body, &e) < 0) {
                session_break(s, &e);
        }
        wire_message_close(&m);
}

/*
 * When a box ends, its last messages are still in the socket. A box whose maker is gone lives on:
 * it ends when this process closes the socket.
 */
static void
hear_last_words(struct session *s)
{
        struct pollfd fd = { s->guest, POLLIN, 0 };

        (void)shutdown(s->guest, SHUT_WR);
        while (!s->guest_is_done) {
                if (poll(&fd, 1, LATE_MS) == 0)
                        s->guest_is_done = true;
                else
                        session_hear_guest(s);
        }
}

/* A limit that ends the sandbox decides the outcome, even if the command reported first. */
static void
hear_kept(struct session *s, const struct backend_news *news)
{
        struct run_kept *all = s->kept_count < RUN_KEPT_MAX
                                       ? realloc(s->kept, (s->kept_count + 1) * sizeof *all)
                                       : NULL;

        if (news->kept == KEPT_STRICT || news->kept == KEPT_STUCK) {
                session_decide(s, OUTCOME_POLICY_KILLED);
                s->outcome.word = OUTCOME_POLICY_KILLED;
                s->is_cut = true;
        }
        if (!all)
                return;
        s->kept = all;
        all[s->kept_count] = (struct run_kept){ .what = news->kept, .sys = news->kept_sys };
        memcpy(all[s->kept_count].key, news->key, sizeof news->key);
        memcpy(all[s->kept_count].name, news->name, sizeof news->name);
        memcpy(all[s->kept_count++].place, news->place, sizeof news->place);
}

void
session_hear_backend(struct session *s)
{
        struct backend_news news;
        struct error e;

        if (s->o->backend->read(s->box, &news, &e) < 0) {
                s->box_is_done = true;
                session_fail(s, &e);
        } else if (news.kind == BACKEND_SPAWNED) {
                s->cpu_look = s->o->cpu_ms != SPEC_UNSET && s->o->plan->cpu == PLAN_CPU_GROUP
                                      ? clock_boot_ms()
                                      : SESSION_NEVER;
        } else if (news.kind == BACKEND_KEPT) {
                hear_kept(s, &news);
        } else if (news.kind == BACKEND_FAILED) {
                s->box_is_done = true;
                session_fail(s, &news.error);
        } else if (news.kind == BACKEND_ENDED) {
                s->box_is_done = true;
                if (news.cpu_ns > 0)
                        s->outcome.cpu_ms = news.cpu_ns / 1000000;
                if (s->outcome.memory_peak_kb == 0)
                        s->outcome.memory_peak_kb = news.peak_bytes >> 10;
                s->outcome.reached |= news.pids_refused > 0 ? OUTCOME_PIDS : 0u;
                if (news.oom_kills > 0 && s->is_decided &&
                    (s->outcome.word == OUTCOME_SIGNALED ||
                     (s->outcome.word == OUTCOME_EXITED && s->outcome.exit_code != 0)))
                        s->outcome.word = OUTCOME_OOM_KILLED;
                else if (news.oom_kills > 0 && !s->is_decided)
                        session_decide(s, OUTCOME_OOM_KILLED);
        }
        if (s->box_is_done)
                hear_last_words(s);
        if (s->box_is_done && s->was_started && clock_boot_ms() >= s->deadline) {
                s->is_cut = s->is_cut || !s->is_decided;
                /* by the maker, while this process was stopped */
                session_decide(s, OUTCOME_TIMED_OUT);
        }
}

/*
 * The command stops with this process, as it would without a sandbox. Its time limit continues
 * (sandbox/limits.c; the maker's limit while this process is stopped).
 */
static void
stand_still(struct session *s)
{
        struct wire_exec_number number = { SESSION_EXEC, SIGSTOP };
        bool was_raw = s->mode.is_raw;
        sigset_t stop;

        (void)wire_send(s->guest, WIRE_SIGNAL, &number, sizeof number, NULL, 0);
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
        (void)wire_send(s->guest, WIRE_SIGNAL, &number, sizeof number, NULL, 0);
}

void
session_hear_signals(struct session *s)
{
        struct signalfd_siginfo info;

        while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
                struct wire_exec_number number = { SESSION_EXEC, (int32_t)info.ssi_signo };
                struct wire_exec_size size = { .exec = SESSION_EXEC };

                if (info.ssi_signo == SIGTSTP) {
                        stand_still(s);
                        continue;
                }
                if (info.ssi_signo == SIGWINCH) {
                        terminal_size(s->o->in, &size.rows, &size.columns);
                        (void)wire_send(s->guest, WIRE_RESIZE, &size, sizeof size, NULL, 0);
                        continue;
                }
                (void)wire_send(s->guest, WIRE_SIGNAL, &number, sizeof number, NULL, 0);
                if (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM &&
                    info.ssi_signo != SIGHUP && info.ssi_signo != SIGQUIT)
                        continue;
                if (s->box_is_done) /* only the output of a blocked reader remains */
                        session_abandon_output(s);
                /* the first signal waits in the socket even while the box is being created */
                else if (s->grace != SESSION_NEVER)
                        session_end(s, OUTCOME_KILLED);
                else
                        s->grace = session_after(clock_boot_ms(), GRACE_MS);
        }
}
