/*
 * sandbox/run.c - one command in a sandbox of its own.
 *
 * Room: sandbox (joining). Touches: fd, processes (through a backend), signals, clock, the caller's terminal.
 *
 *     making --guest: EXEC_STARTED--> running --guest: EXEC_ENDED--> ending --box gone, output drained--> over
 *       | any failure                    | deadline, CPU limit, floor, second signal: kill
 *       +-------------> ending <---------+
 *
 * Theory: one loop over poll(2). The word of the outcome is decided once: whoever ends the command first writes it (P10).
 */
#include "sandbox/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/scoped.h"
#include "sandbox/stream.h"
#include "sandbox/terminal.h"
#include "spec/spec.h"
#include "wire/message.h"

enum { PIPE_LEN = 1 << 20, GRACE_MS = 10000, FLOOR_LOOK_MS = 250, CPU_LOOK_MIN_MS = 2, BODY_ROOM = 256, LATE_MS = 2000 };

#define NEVER UINT64_MAX

struct session {
        const struct run_options *o;
        struct backend_box *box;
        int guest, signals;
        struct stream in, out, err;
        uint64_t budget;
        uint64_t started, deadline, cpu_look, floor_look, grace, late;
        struct terminal_mode mode;
        bool is_decided, was_started, guest_is_done, box_is_done, is_killed;
        struct outcome outcome;
        struct error error;            /* code ERROR_NONE while all is well */
};

static uint64_t
now_ms(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_BOOTTIME, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t
after(uint64_t start, uint64_t span)
{
        return span == SPEC_UNSET || span > NEVER - start ? NEVER : start + span;
}

/* -- deciding ------------------------------------------------------------------------------------------------- */

static void
decide(struct session *s, enum outcome_word word)
{
        if (s->is_decided)
                return;
        s->is_decided = true;
        s->outcome.word = word;
        s->outcome.exit_code = -1;
        s->outcome.duration_ms = now_ms() - s->started;
}

static void
kill_box(struct session *s)
{
        if (!s->is_killed)
                s->o->backend->kill(s->box);
        s->is_killed = true;
}

static void
end_box(struct session *s, enum outcome_word word)
{
        decide(s, word);
        kill_box(s);
}

static void
set_failed(struct session *s, const struct error *e)
{
        if (s->error.code == ERROR_NONE)
                s->error = *e;
}

/* -- starting ------------------------------------------------------------------------------------------------- */

static size_t
strings_len(const struct run_options *o)
{
        size_t len = strlen(o->cwd) + 1;

        for (size_t i = 0; i < o->argc; i++)
                len += strlen(o->argv[i]) + 1;
        for (size_t i = 0; i < o->envc; i++)
                len += strlen(o->envp[i]) + 1;
        return len;
}

static char *
put(char *at, const char *text)
{
        size_t len = strlen(text) + 1;

        memcpy(at, text, len);
        return at + len;
}

static int
send_exec(struct session *s, const int *stdio, struct error *e)
{
        const struct run_options *o = s->o;
        size_t len = strings_len(o);
        struct wire_exec head = { .flags = WIRE_EXEC_LAST | (o->wants_terminal ? WIRE_EXEC_TTY : 0u), .argc = (uint32_t)o->argc,
                                  .envc = (uint32_t)o->envc, .strings_len = (uint32_t)len };
        char *body, *at;
        int result;

        if (o->argc == 0 || len > WIRE_BODY_MAX - sizeof head)
                return fail(e, ERROR_INVALID_ARGUMENT, o->argc == 0 ? "there is no command" : "the command and its environment are too long: %zu bytes, at most %zu",
                            len, (size_t)WIRE_BODY_MAX - sizeof head);
        if ((o->layers_off & LAYER_RESET) != 0)
                head.skip_resets |= WIRE_RESET_SIGNALS;
        if ((o->layers_off & LAYER_CLOSE_FDS) != 0)
                head.skip_resets |= WIRE_RESET_FDS;
        if (o->plan->cpu == PLAN_CPU_RLIMIT && o->cpu_ms != SPEC_UNSET)
                head.cpu_seconds = (o->cpu_ms + 999) / 1000;
        terminal_size(o->in, &head.rows, &head.columns);
        body = malloc(sizeof head + len);
        if (!body)
                return fail(e, ERROR_NO_MEMORY, "no memory for the command");
        memcpy(body, &head, sizeof head);
        at = body + sizeof head;
        for (size_t i = 0; i < o->argc; i++)
                at = put(at, o->argv[i]);
        for (size_t i = 0; i < o->envc; i++)
                at = put(at, o->envp[i]);
        (void)put(at, o->cwd);
        result = wire_send(s->guest, WIRE_EXEC, body, sizeof head + len, stdio, o->wants_terminal ? 0 : 3);
        explicit_bzero(body, sizeof head + len);       /* the environment may hold secrets */
        free(body);
        return result < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, -result, "handing the command on") : 0;
}

static int
open_pipes(int pipes[3][2], struct error *e)
{
        for (int i = 0; i < 3; i++) {
                if (pipe2(pipes[i], O_CLOEXEC) < 0)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making pipes");
                (void)fcntl(pipes[i][0], F_SETPIPE_SZ, PIPE_LEN);      /* a wish: the limit may be lower */
        }
        return 0;
}

static void
close_pipes(int pipes[3][2])
{
        for (int i = 0; i < 3; i++)
                for (int end = 0; end < 2; end++)
                        scoped_fd_close(&pipes[i][end]);
}

static int
set_nonblocking(int fd)
{
        int flags = fcntl(fd, F_GETFL);

        return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void
open_streams(struct session *s, int pipes[3][2])
{
        const struct run_options *o = s->o;

        (void)set_nonblocking(pipes[0][1]);
        (void)set_nonblocking(pipes[1][0]);
        (void)set_nonblocking(pipes[2][0]);
        stream_init(&s->in, o->in, fd_take(&pipes[0][1]));
        s->in.owns_to = true;
        s->in.sink = STREAM_FILE;              /* our own end: it does not block, and takes what it can */
        if (o->captures) {
                stream_init_capture(&s->out, fd_take(&pipes[1][0]), RUN_CAPTURE_MAX);
                stream_init_capture(&s->err, fd_take(&pipes[2][0]), RUN_CAPTURE_MAX);
        } else {
                stream_init(&s->out, fd_take(&pipes[1][0]), o->out);
                stream_init(&s->err, fd_take(&pipes[2][0]), o->err);
                s->out.escapes = o->escapes && isatty(o->out);
                s->err.escapes = o->escapes && isatty(o->err);
        }
        s->out.owns_from = s->err.owns_from = true;
        s->out.budget = s->err.budget = o->output_bytes == SPEC_UNSET ? NULL : &s->budget;
}

static int
start_box(struct session *s, struct error *e)
{
        scoped_fd int theirs = -1;
        int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
        int pair[2], result;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a control socket");
        s->guest = pair[0];
        theirs = pair[1];
        result = s->o->wants_terminal ? 0 : open_pipes(pipes, e);
        if (result == 0)       /* the command waits in the socket, so that pid 1 never waits for it */
                result = send_exec(s, (const int[]){ pipes[0][0], pipes[1][1], pipes[2][1] }, e);
        if (result == 0)
                result = s->o->backend->start(&s->box, s->o->plan, s->o->sources, theirs, e);
        if (result == 0 && !s->o->wants_terminal)
                open_streams(s, pipes);
        close_pipes(pipes);
        return result;
}

/* -- what is heard -------------------------------------------------------------------------------------------- */

static int
exec_failed(struct session *s, const struct wire_exec_failed *failed, struct error *e)
{
        const char *name = s->o->argv[0];

        switch (failed->stage) {
        case WIRE_STAGE_LOOKUP:
                if (failed->sys == ENOENT || failed->sys == ENOTDIR)
                        return fail_at(e, ERROR_COMMAND_NOT_FOUND, "", "not_found", "%.200s: there is no such command inside the sandbox", name);
                (void)fail_at(e, ERROR_COMMAND_NOT_EXECUTABLE, "", "not_executable", "%.200s: %s", name, strerror(failed->sys));
                e->sys = failed->sys;
                return -1;
        case WIRE_STAGE_DIRECTORY:
                (void)fail_sys(e, ERROR_INVALID_ARGUMENT, failed->sys, "entering the directory %.200s", s->o->cwd);
                error_hint(e, "It must exist inside: config.cwd names it, and a mount brings it in.");
                return -1;
        case WIRE_STAGE_TERMINAL:
                return fail_sys(e, ERROR_BACKEND_FAILED, failed->sys, "opening a terminal inside");
        default:
                return fail_sys(e, ERROR_BACKEND_FAILED, failed->sys, "starting %.200s", name);
        }
}

static void
command_ended(struct session *s, const struct wire_exec_ended *ended)
{
        uint64_t cpu_ms = (ended->user_us + ended->system_us) / 1000;

        if (!s->is_decided) {
                decide(s, ended->code == CLD_EXITED ? OUTCOME_EXITED : OUTCOME_SIGNALED);
                if (ended->code == CLD_EXITED)
                        s->outcome.exit_code = ended->status;
                else
                        s->outcome.signal = ended->status;
        }
        if (s->outcome.word == OUTCOME_SIGNALED && ended->status == SIGXCPU && s->o->plan->cpu == PLAN_CPU_RLIMIT)
                s->outcome.word = OUTCOME_CPU_LIMIT;
        s->outcome.cpu_ms = cpu_ms;
        s->outcome.memory_peak_kb = ended->max_rss_kb;
}

static void
take_terminal(struct session *s, struct wire_message *m)
{
        int other;

        if (!s->o->wants_terminal || m->fd_count != 1)
                return;
        (void)set_nonblocking(m->fds[0]);
        other = fcntl(m->fds[0], F_DUPFD_CLOEXEC, 3);
        stream_init(&s->in, s->o->in, m->fds[0]);
        s->in.owns_to = true;
        s->in.sink = STREAM_FILE;
        stream_init(&s->out, other, s->o->out);
        s->out.owns_from = true;
        m->fds[0] = -1;
        terminal_raw(&s->mode, s->o->in);
}

static void
hear_guest(struct session *s)
{
        _Alignas(8) char body[BODY_ROOM];
        struct wire_message m;
        struct error e = { .code = ERROR_NONE };
        int got = wire_receive(s->guest, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return;
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
                (void)exec_failed(s, (const struct wire_exec_failed *)(const void *)body, &e);
                set_failed(s, &e);
        } else if (m.kind == WIRE_BOX_FAILED && m.len == sizeof(struct wire_failed)) {
                const struct wire_failed *failed = (const void *)body;

                (void)backend_step_failed(&e, s->o->plan, failed->step, failed->sys);
                set_failed(s, &e);
        }
        wire_message_close(&m);
}

/* Of a box that ended, the last words are in the socket. One whose maker is gone lives on: it ends when we hang up. */
static void
hear_last_words(struct session *s)
{
        struct pollfd fd = { s->guest, POLLIN, 0 };

        (void)shutdown(s->guest, SHUT_WR);
        while (!s->guest_is_done) {
                if (poll(&fd, 1, LATE_MS) == 0)
                        s->guest_is_done = true;
                else
                        hear_guest(s);
        }
}

static void
hear_backend(struct session *s)
{
        struct backend_news news;
        struct error e;

        if (s->o->backend->read(s->box, &news, &e) < 0) {
                s->box_is_done = true;
                set_failed(s, &e);
        } else if (news.kind == BACKEND_SPAWNED) {
                s->cpu_look = s->o->cpu_ms != SPEC_UNSET && s->o->plan->cpu == PLAN_CPU_GROUP ? now_ms() : NEVER;
        } else if (news.kind == BACKEND_FAILED) {
                s->box_is_done = true;
                set_failed(s, &news.error);
        } else if (news.kind == BACKEND_ENDED) {
                s->box_is_done = true;
                if (news.cpu_ns > 0)
                        s->outcome.cpu_ms = news.cpu_ns / 1000000;
                if (news.oom_kills > 0 && s->is_decided && (s->outcome.word == OUTCOME_SIGNALED ||
                    (s->outcome.word == OUTCOME_EXITED && s->outcome.exit_code != 0)))
                        s->outcome.word = OUTCOME_OOM_KILLED;
                else if (news.oom_kills > 0 && !s->is_decided)
                        decide(s, OUTCOME_OOM_KILLED);
        }
        if (s->box_is_done)
                hear_last_words(s);
}

static void
abandon_output(struct session *s)
{
        stream_abandon(&s->out);
        stream_abandon(&s->err);
}

static void
hear_signals(struct session *s)
{
        struct signalfd_siginfo info;

        while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
                struct wire_number number = { (int32_t)info.ssi_signo };
                struct wire_size size;

                if (info.ssi_signo == SIGWINCH) {
                        terminal_size(s->o->in, &size.rows, &size.columns);
                        (void)wire_send(s->guest, WIRE_RESIZE, &size, sizeof size, NULL, 0);
                        continue;
                }
                (void)wire_send(s->guest, WIRE_SIGNAL, &number, sizeof number, NULL, 0);
                if (info.ssi_signo != SIGINT && info.ssi_signo != SIGTERM && info.ssi_signo != SIGHUP && info.ssi_signo != SIGQUIT)
                        continue;
                if (s->box_is_done)            /* only a reader is left that does not read */
                        abandon_output(s);
                else if (s->grace != NEVER)    /* the first waits in the socket even while the box is being made */
                        end_box(s, OUTCOME_KILLED);
                else
                        s->grace = after(now_ms(), GRACE_MS);
        }
}

/* -- limits --------------------------------------------------------------------------------------------------- */

static void
look_at_cpu(struct session *s, uint64_t now)
{
        uint64_t limit_ns = s->o->cpu_ms * 1000000;
        uint64_t used_ns = s->o->backend->cpu_ns(s->box);
        uint64_t left_ms;

        if (used_ns == UINT64_MAX) {           /* no counters yet: the backend says when there are */
                s->cpu_look = NEVER;
                return;
        }
        if (used_ns >= limit_ns) {
                end_box(s, OUTCOME_CPU_LIMIT);
                s->cpu_look = NEVER;
                return;
        }
        left_ms = (limit_ns - used_ns) / 1000000 / (s->o->cpu_count > 0 ? s->o->cpu_count : 1);
        s->cpu_look = now + (left_ms < CPU_LOOK_MIN_MS ? CPU_LOOK_MIN_MS : left_ms);
}

/* Bytes that stay free: the floor, or a fiftieth of a small file system. */
static uint64_t
floor_of(const struct session *s, const struct statvfs *fs)
{
        uint64_t part = (uint64_t)fs->f_blocks * fs->f_frsize / 50;

        return part < s->o->floor_mb << 20 ? part : s->o->floor_mb << 20;
}

static void
look_at_floor(struct session *s, uint64_t now)
{
        s->floor_look = now + FLOOR_LOOK_MS;
        for (size_t i = 0; i < s->o->floor_count; i++) {
                struct statvfs fs;

                if (fstatvfs(s->o->floors[i], &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < floor_of(s, &fs))
                        end_box(s, OUTCOME_POLICY_KILLED);
        }
}

static uint64_t
look_at_limits(struct session *s)
{
        const uint64_t times[] = { s->deadline, s->cpu_look, s->floor_look, s->grace };
        uint64_t now = now_ms(), next = NEVER;

        if (s->is_killed || s->is_decided)
                return NEVER;
        if (now >= s->deadline)
                end_box(s, OUTCOME_TIMED_OUT);
        else if (now >= s->grace)
                end_box(s, OUTCOME_KILLED);
        if (now >= s->cpu_look)
                look_at_cpu(s, now);
        if (now >= s->floor_look)
                look_at_floor(s, now);
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
                if (times[i] < next)
                        next = times[i];
        next = s->cpu_look < next ? s->cpu_look : next;
        return next > now ? next - now : 0;
}

/* -- the loop ------------------------------------------------------------------------------------------------- */

/* A box that was ended on our side has had its say: a reader that does not read may hold us up for a moment, not for ever. */
static uint64_t
look_at_drain(struct session *s)
{
        uint64_t now;

        if (!s->box_is_done || !s->is_killed)
                return NEVER;
        now = now_ms();
        if (s->late == NEVER)
                s->late = after(now, LATE_MS);
        if (now >= s->late)
                abandon_output(s);
        return s->late > now ? s->late - now : 0;
}

static bool
is_over(const struct session *s)
{
        return s->box_is_done && stream_is_over(&s->out) && stream_is_over(&s->err);
}

static void
one_turn(struct session *s)
{
        struct pollfd fds[9] = {
                { s->box_is_done ? -1 : s->o->backend->descriptor(s->box), POLLIN, 0 },
                { s->guest_is_done ? -1 : s->guest, POLLIN, 0 },
                { s->signals, POLLIN, 0 },
        };
        uint64_t limit = look_at_limits(s), drain = look_at_drain(s);
        uint64_t wait = limit < drain ? limit : drain;
        int timeout = wait == NEVER ? -1 : wait > 60000 ? 60000 : (int)wait;

        (void)stream_poll(&s->in, fds + 3);
        (void)stream_poll(&s->out, fds + 5);
        (void)stream_poll(&s->err, fds + 7);
        if (poll(fds, 9, timeout) < 0)
                return;
        if (fds[2].revents != 0)
                hear_signals(s);
        if (fds[1].revents != 0)
                hear_guest(s);
        if (fds[0].revents != 0)
                hear_backend(s);
        (void)stream_move(&s->out, fds + 5, 2);
        (void)stream_move(&s->err, fds + 7, 2);
        (void)stream_move(&s->in, fds + 3, 2);
        if (stream_is_over(&s->in) && s->in.to >= 0 && !s->o->wants_terminal) {
                (void)close(s->in.to);         /* the command sees the end of its input */
                s->in.to = -1;
        }
        if (s->guest_is_done && !s->box_is_done)
                kill_box(s);                   /* nobody inside answers any more; why is for the backend to say */
}

static int
open_signals(sigset_t *ret_before)
{
        static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT };
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
        ret->err = s->err.captured;
        ret->err_len = s->err.captured_len;
        ret->err_dropped = s->err.dropped;
        s->out.captured = s->err.captured = NULL;
}

static void
session_init(struct session *s, const struct run_options *options)
{
        *s = (struct session){ .o = options, .guest = -1, .budget = options->output_bytes, .started = now_ms(),
                               .in = { .from = -1, .to = -1 }, .out = { .from = -1, .to = -1 }, .err = { .from = -1, .to = -1 } };
        s->deadline = after(s->started, options->timeout_ms);
        s->cpu_look = options->cpu_ms != SPEC_UNSET && options->plan->cpu == PLAN_CPU_GROUP ? s->started : NEVER;
        s->floor_look = options->floor_count > 0 && options->floor_mb > 0 ? s->started : NEVER;
        s->grace = s->late = NEVER;
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
        result = start_box(&s, e);
        if (result == 0) {
                while (!is_over(&s))
                        one_turn(&s);
                if (s.error.code != ERROR_NONE && !s.is_decided && !s.was_started) {
                        *e = s.error;
                        result = -1;
                } else {
                        decide(&s, OUTCOME_LOST);
                }
        }
        terminal_restore(&s.mode);
        if (result == 0)
                collect(&s, ret);
        options->backend->close(s.box);
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
        r->out = r->err = NULL;
}
