/*
 * box/fake/fake.c - an engine that plays a script.
 *
 * Room: box/fake (program). Touches: fd, mem.
 * Theory: each command has a timer that is always due, so its next news comes in the next turn of
 * the loop, in a fixed order. While the engine is frozen the timers are not set.
 */
#include "box/fake/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/engine.h"
#include "box/holder.h"

enum { SCRIPT_ROOM = 128, PID_FIRST = 100, CPU_MS = 1, CHUNK = 4096 };

struct act { /* a running command */
        struct act *next;
        struct job *job;
        struct loop_timer timer;
        int out; /* a duplicate of its standard output, or -1 */
        char script[SCRIPT_ROOM];
        size_t printed;
        int killed; /* a signal, 0: none */
};

struct fake {
        struct engine engine; /* first: the box's view */
        struct loop *loop;
        const char *script;
        struct loop_timer making, freezing, ending;
        struct act *acts;
        unsigned turn, is_frozen;
        uint64_t cpu_ms, oom_kills;
};

static struct fake fake_only;

static struct fake *
fake_of(struct engine *e)
{
        return (struct fake *)(void *)e;
}

static int
errno_of(const char *name)
{
        static const struct {
                const char *name;
                int sys;
        } known[] = {
                { "ENOENT", ENOENT }, { "EACCES", EACCES }, { "EAGAIN", EAGAIN },
                { "EBUSY", EBUSY },   { "EIO", EIO },       { "ENOSPC", ENOSPC },
                { "EPERM", EPERM },   { "EPIPE", EPIPE },   { "ECONNREFUSED", ECONNREFUSED },
        };

        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (strncmp(name, known[i].name, strlen(known[i].name)) == 0)
                        return known[i].sys;
        return EIO;
}

/* What follows `word` in the script; NULL: the word is not there. */
static const char *
rule(const char *script, const char *word)
{
        size_t len = strlen(word);

        for (const char *at = script; at && *at != '\0'; at = strchr(at, ';')) {
                at += strspn(at, "; ");
                if (strncmp(at, word, len) == 0 && strchr(" ;", at[len]))
                        return at[len] == ' ' ? at + len + 1 : at + len;
        }
        return NULL;
}

static int
rule_errno(const struct fake *f, const char *word)
{
        const char *found = rule(f->script, word);

        return found ? errno_of(found) : 0;
}

static void
soon(struct fake *f, struct loop_timer *t, void (*fire)(struct loop_timer *t))
{
        (void)loop_timer_set(f->loop, t, loop_now_ms(), fire);
}

/* -- the making, and the end ------------------------------------------------------------------- */

static void
go(struct loop_timer *t)
{
        struct fake *f = box_holder(t, struct fake, ending);
        struct engine_gone gone = { .has_usage = rule(f->script, "no-usage") == NULL,
                                    .cpu_ns = f->cpu_ms * 1000000,
                                    .oom_kills = f->oom_kills };

        f->engine.news->gone(f->engine.box, &gone);
}

static void
fail_step(struct fake *f, const char *rest)
{
        struct wire_failed failed = { .step = (uint32_t)strtoul(rest, NULL, 10) };
        const char *blank = strchr(rest, ' ');

        failed.sys = blank ? errno_of(blank + 1) : EIO;
        f->engine.news->make_failed(f->engine.box, &failed);
}

static void
make_after_spawned(struct fake *f)
{
        const char *failing = rule(f->script, "ready");

        if (failing) {
                fail_step(f, failing);
                f->engine.news->lost(f->engine.box);
        } else if (rule(f->script, "lost")) {
                f->engine.news->lost(f->engine.box);
        } else if (rule(f->script, "gone")) {
                soon(f, &f->ending, go);
        } else {
                f->engine.news->ready(f->engine.box);
        }
}

static void
make(struct loop_timer *t)
{
        struct fake *f = box_holder(t, struct fake, making);
        const char *failing = rule(f->script, "begin");

        if (f->turn++ > 0) {
                make_after_spawned(f);
                return;
        }
        if (failing) {
                fail_step(f, failing);
                soon(f, &f->ending, go);
                return;
        }
        f->engine.can = ENGINE_TELLS_APART |
                        (rule(f->script, "no-freeze") ? 0u : (unsigned)ENGINE_FREEZES) |
                        (rule(f->script, "freezes-all") ? (unsigned)ENGINE_FREEZES_ALL : 0u);
        if (rule(f->script, "upper"))
                f->engine.news->upper(f->engine.box, open("/", O_PATH | O_CLOEXEC));
        f->engine.news->spawned(f->engine.box, -1);
        soon(f, &f->making, make);
}

static int
fake_begin(struct engine *e, struct loop *loop)
{
        struct fake *f = fake_of(e);

        f->loop = loop;
        return loop_timer_set(loop, &f->making, loop_now_ms(), make);
}

static int
fake_end(struct engine *e)
{
        struct fake *f = fake_of(e);
        int sys = rule_errno(f, "end");

        if (sys != 0)
                return -sys;
        loop_timer_remove(&f->making);
        soon(f, &f->ending, go);
        return 0;
}

static void
fake_close(struct engine *e)
{
        struct fake *f = fake_of(e);

        loop_timer_remove(&f->making);
        loop_timer_remove(&f->freezing);
        loop_timer_remove(&f->ending);
        for (struct act *a = f->acts; a; a = a->next)
                loop_timer_remove(&a->timer);
}

static void
fake_hear(struct engine *e)
{
        (void)e; /* all news come from the loop */
}

/* -- a command --------------------------------------------------------------------------------- */

static void
end_act(struct fake *f, struct act *a)
{
        struct act **at = &f->acts;

        while (*at != a)
                at = &(*at)->next;
        *at = a->next;
        loop_timer_remove(&a->timer);
        if (a->out >= 0)
                (void)close(a->out);
        a->job->place = NULL;
        free(a);
}

static void
say_ended(struct fake *f, const struct act *a, int code, int status)
{
        const struct engine_ended ended = { .code = code,
                                            .status = status,
                                            .cpu_us = CPU_MS * 1000 };

        f->engine.news->ended(f->engine.box, a->job, &ended);
}

/* 1: all is printed; 0: the pipe is full. */
static int
print(struct act *a, const char *text, size_t len)
{
        while (a->printed < len && a->out >= 0) {
                char bytes[CHUNK];
                size_t part = len - a->printed < sizeof bytes ? len - a->printed : sizeof bytes;
                ssize_t written;

                memset(bytes, 'x', sizeof bytes);
                written = write(a->out, text ? text + a->printed : bytes, part);
                if (written < 0)
                        return errno != EAGAIN;
                a->printed += (size_t)written;
        }
        return 1;
}

/* How the command ends by itself: 1, or 0: not yet. */
static int
play(struct fake *f, struct act *a, int *ret_code, int *ret_status)
{
        const char *found;

        *ret_code = CLD_EXITED;
        *ret_status = 0;
        if ((found = rule(a->script, "exit")) != NULL)
                *ret_status = (int)strtol(found, NULL, 10);
        if ((found = rule(a->script, "signal")) != NULL) {
                *ret_code = CLD_KILLED;
                *ret_status = (int)strtol(found, NULL, 10);
        }
        if (rule(a->script, "oom")) {
                f->oom_kills++;
                *ret_code = CLD_KILLED;
                *ret_status = SIGKILL;
        }
        if ((found = rule(a->script, "print")) != NULL)
                return print(a, NULL, strtoul(found, NULL, 10));
        if ((found = rule(a->script, "say")) != NULL)
                return print(a, found, strlen(found));
        return !rule(a->script, "hang") && !rule(a->script, "early") && !rule(a->script, "deaf");
}

static void
start(struct fake *f, struct act *a)
{
        const char *failing = rule(a->script, "fail");
        struct wire_exec_failed failed = { a->job->number, failing ? errno_of(failing) : 0,
                                           WIRE_STAGE_LOOKUP };

        if (rule(a->script, "early"))
                say_ended(f, a, CLD_EXITED, 0);
        if (failing) {
                f->engine.news->exec_failed(f->engine.box, a->job, &failed);
                return;
        }
        a->job->is_started = 1;
        f->engine.news->started(f->engine.box, a->job, PID_FIRST + (int32_t)a->job->number, -1);
}

/* One step of a command. Its news may free it, so nothing follows them. */
static void
step(struct loop_timer *t)
{
        struct act *a = box_holder(t, struct act, timer);
        struct fake *f = fake_of(a->job->engine);
        int code, status;

        if (f->is_frozen || a->job->is_over)
                return;
        if (!a->job->is_started && a->killed == 0) {
                if (!rule(a->script, "fail"))
                        (void)loop_timer_set(f->loop, &a->timer, loop_now_ms(), step);
                start(f, a);
        } else if (!a->job->is_started) {
                const struct wire_exec_failed failed = { a->job->number, ECANCELED,
                                                         WIRE_STAGE_SPAWN };

                f->engine.news->exec_failed(f->engine.box, a->job, &failed);
        } else if (a->killed != 0) {
                say_ended(f, a, CLD_KILLED, a->killed);
        } else if (rule(a->script, "lose")) {
                f->engine.news->lost(f->engine.box);
        } else if (rule(a->script, "vanish")) {
                go(&f->ending);
        } else if (play(f, a, &code, &status)) {
                f->cpu_ms += CPU_MS;
                say_ended(f, a, code, status);
        } else if (a->printed > 0) {
                (void)loop_timer_set(f->loop, &a->timer, loop_now_ms() + 1, step);
        }
}

/* A line for a shell is the script; otherwise the arguments with blanks between. */
static void
read_script(const struct command *c, char ret[SCRIPT_ROOM])
{
        const char *at = (const char *)(c->wire + 1);
        size_t len = 0;

        ret[0] = '\0';
        for (uint32_t i = 0; i < c->wire->argc && len < SCRIPT_ROOM; i++, at += strlen(at) + 1) {
                if (i == 1 && strcmp(at, "-c") == 0)
                        len = 0;
                else
                        len += (size_t)snprintf(ret + len, SCRIPT_ROOM - len, "%s%s",
                                                len > 0 ? " " : "", at);
        }
        if (rule(ret, "say") && len + 1 < SCRIPT_ROOM)
                memcpy(ret + len, "\n", 2);
}

static int
fake_exec(struct engine *e, struct job *j, struct command *c)
{
        struct fake *f = fake_of(e);
        struct act *a = calloc(1, sizeof *a);
        const char *found;

        if (!a)
                return -ENOMEM;
        read_script(c, a->script);
        found = (c->wire->flags & (WIRE_EXEC_BUILTIN | WIRE_EXEC_TTY)) != 0
                        ? "EPERM"
                        : rule(a->script, "refuse");
        if (found) {
                int result = -errno_of(found); /* it points into the act */

                free(a);
                return result;
        }
        *j = (struct job){ .number = j->number, .engine = e, .place = a };
        a->job = j;
        a->timer.due_ms = LOOP_NEVER;
        a->out = c->fd_count > 1 ? fcntl(c->fds[1], F_DUPFD_CLOEXEC, 3) : -1;
        if (a->out >= 0)
                (void)fcntl(a->out, F_SETFL, O_WRONLY | O_NONBLOCK);
        a->next = f->acts;
        f->acts = a;
        soon(f, &a->timer, step);
        return 0;
}

static void
fake_signal(struct engine *e, struct job *j, int signal)
{
        struct act *a = j->place;

        if (!a || j->is_over || rule(a->script, "deaf"))
                return;
        a->killed = signal;
        soon(fake_of(e), &a->timer, step);
}

static void
fake_resize(struct engine *e, struct job *j, int master, const struct wire_size *size)
{
        (void)e, (void)j, (void)master, (void)size;
}

static void
fake_kill(struct engine *e, struct job *j)
{
        for (struct act *a = fake_of(e)->acts; a; a = a->next)
                if (!j || a->job == j) {
                        fake_signal(e, a->job, SIGKILL);
                        a->job->is_killed = 1;
                }
}

static uint64_t
fake_cpu_us(struct engine *e, struct job *j)
{
        (void)j;
        return rule(fake_of(e)->script, "no-usage") ? ENGINE_UNKNOWN : CPU_MS * 1000;
}

static int
fake_has_processes(struct engine *e, struct job *j)
{
        (void)e;
        return j && j->place && !j->is_over && rule(((struct act *)j->place)->script, "deaf");
}

static int
fake_is_source(struct engine *e, const struct job *j, uint64_t source)
{
        (void)e;
        return j->number == source;
}

static void
fake_over(struct engine *e, struct job *j)
{
        struct act *a = j->place;

        if (j->is_over || !a)
                return;
        j->is_over = 1;
        if (rule(a->script, "twice"))
                say_ended(fake_of(e), a, CLD_EXITED, 7);
}

static void
fake_forget(struct engine *e, struct job *j)
{
        if (j->place)
                end_act(fake_of(e), j->place);
        j->engine = NULL;
}

/* -- all of them ------------------------------------------------------------------------------- */

static void
fake_connect(struct engine *e, uint32_t request, uint16_t port)
{
        struct fake *f = fake_of(e);
        struct wire_connected answer = { request, rule_errno(f, "connect") };
        int pair[2] = { -1, -1 };

        (void)port;
        if (answer.sys == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                answer.sys = errno;
        if (pair[1] >= 0) {
                (void)!send(pair[1], "fake\n", 5, MSG_NOSIGNAL);
                (void)close(pair[1]);
        }
        f->engine.news->connected(f->engine.box, &answer, pair[0]);
}

static int
fake_listen(struct engine *e, const struct wire_wall_listen *wanted)
{
        (void)e, (void)wanted;
        return -EPIPE;
}

static void
thaw(struct fake *f)
{
        f->is_frozen = 0;
        loop_timer_remove(&f->freezing);
        for (struct act *a = f->acts; a; a = a->next)
                if (!a->job->is_over)
                        soon(f, &a->timer, step);
}

static void
say_frozen(struct loop_timer *t)
{
        struct fake *f = box_holder(t, struct fake, freezing);
        int sys = rule_errno(f, "frozen");

        if (sys != 0)
                thaw(f);
        f->engine.news->frozen(f->engine.box, sys);
}

static int
fake_freeze(struct engine *e, int is_wanted)
{
        struct fake *f = fake_of(e);
        int sys = rule_errno(f, "freeze");

        if (!is_wanted) {
                thaw(f);
                return 0;
        }
        if (sys != 0 || !engine_can(e, ENGINE_FREEZES))
                return sys != 0 ? -sys : -ENOTSUP;
        if (f->is_frozen)
                return f->freezing.index == 0;
        f->is_frozen = 1;
        soon(f, &f->freezing, say_frozen);
        return 0;
}

static int
fake_limit(struct engine *e, const void *wanted, size_t len)
{
        int sys = rule_errno(fake_of(e), "limit");

        (void)wanted, (void)len;
        return sys != 0 ? -sys : -ENOTSUP;
}

static uint64_t
fake_usage(struct engine *e, enum engine_usage of)
{
        const struct fake *f = fake_of(e);

        if (of == ENGINE_MEMORY_KB || of == ENGINE_STORED_KB || rule(f->script, "no-usage"))
                return ENGINE_UNKNOWN;
        return of == ENGINE_CPU_NS      ? f->cpu_ms * 1000000
               : of == ENGINE_OOM_KILLS ? f->oom_kills
                                        : 0;
}

static const struct engine_calls fake_calls = {
        .begin = fake_begin,
        .exec = fake_exec,
        .signal = fake_signal,
        .resize = fake_resize,
        .kill = fake_kill,
        .connect = fake_connect,
        .listen = fake_listen,
        .freeze = fake_freeze,
        .limit = fake_limit,
        .usage = fake_usage,
        .cpu_us = fake_cpu_us,
        .has_processes = fake_has_processes,
        .is_source = fake_is_source,
        .over = fake_over,
        .forget = fake_forget,
        .hear = fake_hear,
        .end = fake_end,
        .close = fake_close,
};

struct engine *
fake_open(const char *script)
{
        struct fake *f = &fake_only;
        const struct loop_timer unset = { .due_ms = LOOP_NEVER };

        *f = (struct fake){ .engine = { .calls = &fake_calls },
                            .script = script,
                            .making = unset,
                            .freezing = unset,
                            .ending = unset };
        return &f->engine;
}
