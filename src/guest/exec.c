/*
 * guest/exec.c - the commands of a box.
 *
 * Room: guest (program). Touches: processes, fd.
 *
 *     free --start--> starting --pid known--> running --ended--> over --reported, no reaper--> free
 *                        \--it did not start--> over
 *
 * The child of pid 1 is the command itself, a reaper above it (WIRE_EXEC_TREE), or a function
 * (WIRE_EXEC_BUILTIN). For the command itself, a descriptor that closes on exec shows that it has
 * started; reapers and functions report it. The command may also be the spare (guest/preforked.h),
 * which reports over its socket. Reports of a child are always read before its end is handled.
 *
 * P9: pid 1 waits for no single process. All children have the payload's uid. So pid 1 continues
 * its own ones (a reaper, a function, a command that has not executed yet) whenever they are
 * stopped. A command that is killed before it has begun is killed by its pid, whatever its state.
 */
#include "guest/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guest/files.h"
#include "guest/reaper.h"
#include "guest/terminal.h"
#include "guest/tree.h"

enum {
        STDIO = 3,
        SIGNAL_LAST = 64,
        REAPS_AT_ONCE = 256,
        POINTERS = 2 * WIRE_COMMAND_STRINGS_MAX,
        TRIED_US = 3000,
        PARENTS_MAX = 64, /* that are looked at for one process */
        DISK_LEFT = 1 << 20 /* bytes */,
        DISK_PART = 32 /* of its size, whichever is less: ext4 accepts no part of a write that does
                          not fit as a whole */
};

/*
 * Buffers for messages. While a starting child reads its strings in the first, it must not change;
 * the second is used then.
 */
static struct desk {
        _Alignas(4096) char body[WIRE_BODY_MAX];
        char *pointers[POINTERS];
} desks[2];

void
execs_init(struct execs *x, int control, unsigned held_max)
{
        x->control = control;
        x->held_max = held_max;
        x->reports[0] = x->reports[1] = -1;
        preforked_init(&x->spare);
}

static struct exec *
find(struct execs *x, uint32_t number)
{
        for (size_t i = 0; i < x->used; i++)
                if (x->rows[i].state != EXEC_FREE && x->rows[i].number == number)
                        return &x->rows[i];
        return NULL;
}

static struct exec *
find_child(struct execs *x, pid_t child)
{
        for (size_t i = 0; i < x->used; i++)
                if (x->rows[i].state != EXEC_FREE && x->rows[i].child == child)
                        return &x->rows[i];
        return NULL;
}

static const struct exec *
find_living(const struct execs *x, pid_t pid)
{
        for (size_t i = 0; i < x->used; i++) {
                const struct exec *e = &x->rows[i];

                if ((e->state == EXEC_STARTING || e->state == EXEC_RUNNING) &&
                    (e->child == pid || e->pid == pid))
                        return e;
        }
        return NULL;
}

uint32_t
execs_of(const struct execs *x, pid_t pid)
{
        const struct exec *living = NULL;
        size_t count = 0;

        for (size_t i = 0; i < x->used; i++)
                if (x->rows[i].state == EXEC_STARTING || x->rows[i].state == EXEC_RUNNING) {
                        living = &x->rows[i];
                        count++;
                }
        if (count == 1)
                return living->number;
        for (int steps = 0; count > 1 && pid > 1 && steps < PARENTS_MAX; steps++) {
                const struct exec *e = find_living(x, pid);

                if (e)
                        return e->number;
                pid = tree_parent(pid);
        }
        return 0;
}

static struct exec *
take_row(struct execs *x)
{
        for (size_t i = 0; i < x->used; i++)
                if (x->rows[i].state == EXEC_FREE)
                        return &x->rows[i];
        return x->used < EXEC_MAX ? &x->rows[x->used++] : NULL;
}

/* -- reports ----------------------------------------------------------------------------------- */

/* The process group is the command's own, unless it keeps that of its caller. */
static void
pass_signal(const struct exec *e, int number)
{
        (void)kill(e->is_as_caller ? e->pid : -e->pid, number);
}

static void
note_started(struct execs *x, struct exec *e, pid_t pid)
{
        e->pid = pid;
        e->state = EXEC_RUNNING;
        e->tells_start = 1;
        x->has_news = 1;
        for (int number = 1; number <= SIGNAL_LAST; number++)
                if ((e->signals >> (number - 1) & 1) != 0)
                        pass_signal(e, number);
}

static void
note_failed(struct execs *x, struct exec *e, int sys, enum wire_exec_stage stage)
{
        e->failed = (struct wire_exec_failed){ e->number, sys, stage };
        e->state = EXEC_OVER;
        e->tells_failure = 1;
        x->has_news = 1;
}

/* Full, also if the failed program has removed some of its files. */
static unsigned
disk_is_full(int disk)
{
        struct statvfs fs;
        uint64_t left;

        if (disk < 0 || fstatvfs(disk, &fs) < 0 || fs.f_blocks == 0 || fs.f_frsize == 0)
                return 0;
        left = fs.f_blocks / DISK_PART < DISK_LEFT / fs.f_frsize ? fs.f_blocks / DISK_PART
                                                                 : DISK_LEFT / fs.f_frsize;
        return fs.f_bavail <= left || (fs.f_files > 0 && fs.f_ffree == 0);
}

static void
note_ended(struct execs *x, struct exec *e, const struct wire_exec_ended *ended)
{
        if (e->state != EXEC_RUNNING)
                return;
        e->ended = *ended;
        e->ended.is_disk_full = !e->is_function && disk_is_full(x->disk);
        e->state = EXEC_OVER;
        e->tells_end = 1;
        x->has_news = 1;
        x->has_ended |= !e->is_function;
        x->has_tried |= !e->is_function && (ended->code != CLD_EXITED || ended->status != 0 ||
                                            ended->user_us + ended->system_us >= TRIED_US);
}

static void
drop_start(struct execs *x, struct exec *e)
{
        if (e->start < 0)
                return;
        (void)close(e->start);
        e->start = -1;
        x->starts--;
}

static void
drop_terminal(struct execs *x, struct exec *e)
{
        if (e->master < 0)
                return;
        (void)close(e->master);
        e->master = -1;
        x->held--;
}

/* 1: sent; 0: the socket is full; -1: the other end is closed. */
static int
tell(const struct execs *x, uint16_t kind, const void *message, size_t len, int fd)
{
        int result = wire_send(x->control, kind, message, len, &fd, fd >= 0);

        return result == 0 ? 1 : wire_is_for_later(result) ? 0 : -1;
}

static int
tell_row(struct execs *x, struct exec *e)
{
        struct wire_exec_number started = { e->number, e->pid };
        int told = 1;

        if (e->tells_start &&
            (told = tell(x, WIRE_EXEC_STARTED, &started, sizeof started, e->master)) > 0)
                e->tells_start = 0;
        if (told > 0 && e->tells_failure &&
            (told = tell(x, WIRE_EXEC_FAILED, &e->failed, sizeof e->failed, -1)) > 0)
                e->tells_failure = 0;
        if (told > 0 && e->tells_end &&
            (told = tell(x, WIRE_EXEC_ENDED, &e->ended, sizeof e->ended, -1)) > 0)
                e->tells_end = 0;
        if (told <= 0 || e->state != EXEC_OVER)
                return told;
        drop_terminal(x, e);
        if (e->is_last)
                x->is_ending = 1;
        if (e->child == 0)
                *e = (struct exec){ .state = EXEC_FREE, .master = -1, .start = -1 };
        return told;
}

/*
 * Used without control groups: a reaper ends when nothing is left below it. If it is killed, its
 * descendants become children of pid 1.
 */
static int
tell_idle(struct execs *x)
{
        siginfo_t info;
        int told = 1;

        if (!x->owes_idle || waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ||
            errno != ECHILD)
                return 1;
        told = tell(x, WIRE_IDLE, NULL, 0, -1);
        if (told > 0)
                x->owes_idle = 0;
        return told;
}

int
execs_tell(struct execs *x)
{
        int told = 1;

        if (x->has_refusal &&
            (told = tell(x, WIRE_EXEC_FAILED, &x->refusal, sizeof x->refusal, -1)) > 0)
                x->has_refusal = 0;
        if (!x->has_news)
                return told < 0 ? -1 : 0;
        for (size_t i = 0; i < x->used && told > 0; i++)
                if (x->rows[i].state != EXEC_FREE)
                        told = tell_row(x, &x->rows[i]);
        if (told > 0)
                x->has_news = x->has_ended = x->has_tried = 0;
        if (told > 0 && !x->has_news && (told = tell_idle(x)) == 0)
                x->has_news = 1;
        return told < 0 ? -1 : 0;
}

/* -- start ------------------------------------------------------------------------------------- */

static int
open_reports(struct execs *x)
{
        if (x->reports[0] >= 0)
                return 0;
        if (pipe2(x->reports, O_CLOEXEC) < 0)
                return -errno;
        return fcntl(x->reports[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* Descriptors in the order of struct wire_exec; this opens the terminal. */
static int
take_fds(struct execs *x, struct exec *e, struct command *c, const struct wire_message *m)
{
        size_t stdio = (c->head.flags & WIRE_EXEC_TTY) != 0 ? 0 : STDIO;
        int result;

        if (m->fd_count != stdio + ((c->head.flags & WIRE_EXEC_GROUP) != 0))
                return -EPROTO;
        if ((c->head.flags & WIRE_EXEC_GROUP) != 0)
                c->group = m->fds[stdio];
        if (stdio > 0) {
                memcpy(c->stdio, m->fds, sizeof c->stdio);
                return 0;
        }
        if ((c->head.flags & WIRE_EXEC_BUILTIN) != 0)
                return -EPROTO;
        if (x->held + x->starts >= x->held_max)
                return -EMFILE;
        result = terminal_open(c->head.rows, c->head.columns, &e->master, &c->stdio[0]);
        if (result < 0)
                return result;
        c->stdio[1] = c->stdio[2] = c->stdio[0];
        x->held++;
        return 0;
}

/* Sets up the process as for a command, then runs the function instead of a program. */
static _Noreturn void
run_function(const struct command *c, int pipe)
{
        struct report r = { .kind = WIRE_EXEC_FAILED, .exec = c->head.exec, .pid = getpid() };
        enum wire_exec_stage stage = WIRE_STAGE_PREPARE;
        int result = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : command_prepare(c, pipe);

        if (result == 0) {
                stage = WIRE_STAGE_DIRECTORY;
                result = command_enter(c->cwd);
        }
        if (result == 0 && !files_has(c->argv[0])) {
                stage = WIRE_STAGE_LOOKUP;
                result = -ENOENT;
        }
        if (result == 0)
                r.kind = WIRE_EXEC_STARTED;
        r.failed = (struct wire_exec_failed){ c->head.exec, -result, stage };
        if (report_write(stage == WIRE_STAGE_PREPARE ? pipe : COMMAND_KEPT, &r) < 0 || result < 0)
                _exit(255);
        (void)close(COMMAND_KEPT);
        _exit(files_main(c->argv));
}

static pid_t
start_function(const struct command *c, int pipe)
{
        pid_t pid = fork();

        if (pid == 0)
                run_function(c, pipe);
        return pid < 0 ? -errno : pid;
}

/* Descriptors are reserved for one start (guest/guest.c); further ones share with terminals. */
static pid_t
start_command(struct execs *x, struct exec *e, const struct command *c)
{
        pid_t pid = -ENOTSUP;

        if (x->starts > 0 && x->held + x->starts >= x->held_max)
                return -EAGAIN;
        if (!x->sharing && c->argv == desks[0].pointers) {
                x->shared = *c;
                pid = command_share(&x->shared, &x->attempt, &e->start);
                x->sharing = pid > 0 ? e : NULL;
        }
        if (pid == -ENOTSUP)
                pid = command_fork(c, &e->start);
        x->starts += pid > 0;
        return pid;
}

static int
start(struct execs *x, struct exec *e, const struct command *c)
{
        int is_apart = (c->head.flags & (WIRE_EXEC_BUILTIN | WIRE_EXEC_TREE)) != 0;
        int result = is_apart ? open_reports(x) : 0;
        pid_t pid;

        if (command_is_fresh(c))
                command_freshen();
        if (result < 0)
                return result;
        if ((c->head.flags & WIRE_EXEC_BUILTIN) != 0)
                pid = start_function(c, x->reports[1]);
        else
                pid = is_apart ? reaper_start(c, x->reports[1]) : start_command(x, e, c);
        if (pid < 0)
                return pid;
        e->child = pid;
        x->owes_idle |= (c->head.flags & WIRE_EXEC_TREE) != 0;
        e->has_reaper = is_apart && (c->head.flags & WIRE_EXEC_BUILTIN) == 0;
        return 0;
}

/* Uses the spare if there is one; the spare then owns what it takes. 0 or -errno. */
static int
start_spare(struct execs *x, struct exec *e, const struct command *c, struct wire_message *m,
            const char *body)
{
        int result = preforked_pass(&x->spare, c, body, m->len);

        if (result < 0)
                return result;
        for (size_t i = 0; i < m->fd_count; i++)
                m->fds[i] = -1;
        e->child = x->spare.pid;
        return 0;
}

static void
start_again(struct execs *x, struct exec *e)
{
        struct command c = { .group = -1 };
        int result = preforked_again(&x->spare, desks[1].pointers, POINTERS, &c);

        if (result == 0)
                result = start(x, e, &c);
        if (result < 0)
                note_failed(x, e, -result, WIRE_STAGE_SPAWN);
}

static void
hear_spare(struct execs *x)
{
        enum wire_exec_stage stage = WIRE_STAGE_SPAWN;
        int sys = 0;
        enum preforked_word word = preforked_hear(&x->spare, &sys, &stage);
        struct exec *e = word != PREFORKED_QUIET ? find(x, x->spare.exec) : NULL;

        if (e && word == PREFORKED_STARTED)
                note_started(x, e, x->spare.pid);
        else if (e && word == PREFORKED_FAILED)
                note_failed(x, e, sys, stage);
        else if (e) {
                e->child = 0;
                x->has_lost = 1;
                return;
        }
        if (word != PREFORKED_QUIET)
                preforked_settle(&x->spare);
}

void
execs_resume(struct execs *x)
{
        struct exec *e = x->has_lost ? find(x, x->spare.exec) : NULL;

        if (!x->has_lost)
                return;
        x->has_lost = 0;
        if (e && (e->signals >> (SIGKILL - 1) & 1) != 0)
                note_failed(x, e, ECANCELED, WIRE_STAGE_SPAWN); /* the reason why it ended */
        else if (e)
                start_again(x, e);
        preforked_settle(&x->spare);
}

void
execs_spare(struct execs *x, const struct wire_message *m, const struct wire_spare *wanted)
{
        /* a new spare would have a copy of what is being started */
        if (wanted->number == 0 || m->fd_count != 1 || x->has_no_spare || x->sharing) {
                preforked_drop(&x->spare);
                return;
        }
        command_freshen();
        preforked_make(&x->spare, wanted->number, m->fds[0]);
}

static void
refuse(struct execs *x, uint32_t number, int sys)
{
        x->refusal = (struct wire_exec_failed){ number, sys, WIRE_STAGE_SPAWN };
        x->has_refusal = 1;
}

char *
execs_body(const struct execs *x)
{
        return desks[x->sharing != NULL].body;
}

void
execs_start(struct execs *x, struct wire_message *m, char *body)
{
        char **pointers = desks[body != desks[0].body].pointers;
        struct command c = { .group = -1 };
        enum wire_exec_stage stage = WIRE_STAGE_SPAWN;
        int result = command_read(m, body, pointers, POINTERS, &c);
        int is_new = c.head.exec != 0 && !find(x, c.head.exec), is_passed;
        struct exec *e = is_new ? take_row(x) : NULL;

        if (!e) {
                refuse(x, c.head.exec,
                       result < 0         ? -result
                       : c.head.exec == 0 ? EPROTO
                       : is_new           ? EAGAIN
                                          : EEXIST);
                explicit_bzero(body, m->len);
                return;
        }
        *e = (struct exec){ .number = c.head.exec,
                            .state = EXEC_STARTING,
                            .master = -1,
                            .start = -1,
                            .is_last = (c.head.flags & WIRE_EXEC_LAST) != 0,
                            .is_function = (c.head.flags & WIRE_EXEC_BUILTIN) != 0,
                            .is_as_caller = (c.head.flags & WIRE_EXEC_AS_CALLER) != 0 };
        c.stdio[0] = -1;
        if (result == 0) {
                stage = WIRE_STAGE_TERMINAL;
                result = take_fds(x, e, &c, m);
        }
        is_passed = result == 0 && preforked_serves(&x->spare, &c) &&
                    start_spare(x, e, &c, m, body) == 0;
        if (result == 0 && !is_passed) {
                stage = WIRE_STAGE_SPAWN;
                result = start(x, e, &c);
        }
        if (e->master >= 0 && !is_passed)
                (void)close(c.stdio[0]);
        if (result < 0)
                note_failed(x, e, -result, stage);
        if (x->sharing == e)
                x->shared_len = m->len; /* wiped when it has started */
        else
                /* an environment may contain secrets, and the next fork would copy them */
                explicit_bzero(body, m->len);
}

/*
 * A command that was killed before it had begun is reported as killed, like one that is killed at
 * its first instruction. Any process inside can do both.
 */
static void
hear_start(struct execs *x, struct exec *e)
{
        struct command_attempt a = { .sys = 0 };

        if (e->start < 0 ||
            (read(e->start, &a, sizeof a) < 0 && (errno == EAGAIN || errno == EINTR)))
                return;
        drop_start(x, e);
        if (x->sharing == e) {
                a = x->attempt;
                explicit_bzero(desks[0].body, x->shared_len);
                x->sharing = NULL;
        }
        if (e->state != EXEC_STARTING)
                return;
        if (a.sys != 0)
                note_failed(x, e, a.sys, (enum wire_exec_stage)a.stage);
        else
                note_started(x, e, e->child);
}

/* -- while it runs ----------------------------------------------------------------------------- */

void
execs_signal(struct execs *x, uint32_t exec, int number)
{
        struct exec *e = find(x, exec);

        if (e)
                hear_start(x, e);
        if (!e || number < 1 || number > SIGNAL_LAST)
                return;
        if (e->state == EXEC_RUNNING)
                pass_signal(e, number);
        else if (e->state == EXEC_STARTING)
                e->signals |= UINT64_C(1) << (number - 1);
        if (e->state == EXEC_STARTING && number == SIGKILL && e->child > 0 && !e->has_reaper)
                /* it may be joining its group, or blocked for long while it executes */
                (void)kill(e->child, SIGKILL);
}

void
execs_resize(struct execs *x, const struct wire_exec_size *size)
{
        struct exec *e = find(x, size->exec);
        struct winsize window = { .ws_row = size->rows, .ws_col = size->columns };

        if (e && e->master >= 0)
                (void)ioctl(e->master, TIOCSWINSZ, &window);
}

/* -- ends -------------------------------------------------------------------------------------- */

size_t
execs_poll(const struct execs *x, struct pollfd *fds)
{
        size_t count = 0;

        for (size_t i = 0; i < x->used && count < x->starts; i++)
                if (x->rows[i].state != EXEC_FREE && x->rows[i].start >= 0)
                        fds[count++] = (struct pollfd){ x->rows[i].start, POLLIN, 0 };
        return count;
}

void
execs_hear_starts(struct execs *x, const struct pollfd *fds, size_t count)
{
        for (size_t i = 0; i < x->used && count > 0; i++) {
                if (x->rows[i].state == EXEC_FREE || x->rows[i].start != fds->fd)
                        continue;
                if (fds->revents != 0)
                        hear_start(x, &x->rows[i]);
                fds++;
                count--;
        }
}

void
execs_hear(struct execs *x)
{
        struct report r;

        hear_spare(x);
        while (x->reports[0] >= 0 && read(x->reports[0], &r, sizeof r) == (ssize_t)sizeof r) {
                struct exec *e = find(x, r.exec);

                if (!e || e->child == 0)
                        continue;
                if (r.kind == WIRE_EXEC_STARTED && e->state == EXEC_STARTING)
                        note_started(x, e, r.pid);
                else if (r.kind == WIRE_EXEC_FAILED && e->state == EXEC_STARTING)
                        note_failed(x, e, r.failed.sys, (enum wire_exec_stage)r.failed.stage);
                else if (r.kind == WIRE_EXEC_ENDED)
                        note_ended(x, e, &r.ended);
        }
}

/* Handles the end of a child that is the command, its reaper, or a former reaper. */
static void
note_child(struct execs *x, struct exec *e, int status, const struct rusage *usage)
{
        struct wire_exec_ended ended = report_ended(e->number, status, usage);
        pid_t child = e->child;

        e->child = 0;
        e->is_dying = 0;
        if (e->has_reaper && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
                /* whatever happened to the reaper, its command is killed now */
                ended.code = CLD_KILLED;
                ended.status = SIGKILL;
                x->has_strays = 1; /* the reaper was killed: its tree belongs to pid 1
                                    * now */
                x->stray_passes = x->stray_finds = 0;
                x->due_ms = 0;
        }
        if (e->state == EXEC_STARTING && ended.code != CLD_EXITED) {
                e->signals = 0; /* another process may have that pid now */
                /* `kill -9 -1` may be faster than the report of the start: a command that may have
                 * begun did not fail to start */
                note_started(x, e, child);
        } else if (e->state == EXEC_STARTING)
                note_failed(x, e, ECANCELED, WIRE_STAGE_SPAWN);
        note_ended(x, e, &ended);
        x->has_news = 1; /* the row can be freed */
}

static int
is_stopped(idtype_t which, pid_t child, int options)
{
        siginfo_t info = { .si_pid = 0 };

        return waitid(which, (id_t)child, &info, WSTOPPED | WNOHANG | options) == 0 &&
               info.si_pid > 0;
}

/*
 * Continues each stopped child once per stop. Commands stay stopped if another process stopped
 * them. The loop is bounded, because a payload may stop children faster than pid 1 looks. Pid 1's
 * own children are checked one by one, so that none of them is delayed.
 */
static void
wake(const struct execs *x)
{
        if (!is_stopped(P_ALL, 0, WNOWAIT))
                return;
        for (size_t i = 0; i < x->used; i++) {
                const struct exec *e = &x->rows[i];

                if (e->state != EXEC_FREE && e->child > 0 &&
                    (e->has_reaper || e->is_function || e->state == EXEC_STARTING) &&
                    is_stopped(P_PID, e->child, 0))
                        (void)kill(e->child, SIGCONT);
        }
        for (size_t i = 0; i < x->used && is_stopped(P_ALL, 0, 0); i++)
                continue;
}

int
execs_reap(struct execs *x)
{
        struct rusage usage;
        siginfo_t info = { .si_pid = 0 };
        int status, left = REAPS_AT_ONCE;

        /* WNOWAIT first: until the child is reaped, no other process gets its pid. */
        while (left > 0 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid > 0) {
                struct exec *e = find_child(x, info.si_pid);

                if (e) {
                        /* reads what it reported before its end; a lost spare may need a second
                         * start */
                        execs_hear(x);
                        hear_start(x, e);
                }
                if (wait4(info.si_pid, &status, WNOHANG, &usage) != info.si_pid)
                        break;
                e = e ? find_child(x, info.si_pid) : NULL;
                if (e)
                        note_child(x, e, status, &usage);
                x->has_news |= x->owes_idle;
                info.si_pid = 0;
                left--;
        }
        wake(x);
        return left == 0;
}
