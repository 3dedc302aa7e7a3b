/*
 * run/start.c - starts a run: pipes, the box, and the command, which waits in it.
 *
 * Room: run (joining). Touches: fd, processes (the maker).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scoped.h"
#include "plan/pack.h"
#include "run/session.h"
#include "sources/begin.h"
#include "spec/spec.h"
#include "wire/command.h"
#include "wire/message.h"

enum { PIPE_LEN = 1 << 20, SERIES_KEPT = 1 << 20 };

static int
check_command(const struct wire_command *c, struct error *e)
{
        if (c->head.argc == 0)
                return fail(e, ERROR_INVALID_ARGUMENT, "there is no command");
        if (c->head.argc > WIRE_COMMAND_STRINGS_MAX || c->head.envc > WIRE_COMMAND_STRINGS_MAX)
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "the command has more than %d arguments, or variables of the "
                           "environment",
                           WIRE_COMMAND_STRINGS_MAX);
        else if (wire_command_len(c) == 0)
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "the command and its environment are longer than %d bytes",
                           (int)WIRE_BODY_MAX);
        else
                return 0;
        error_hint(e,
                   "Pass the words through standard input: PROGRAM | carrel run -- xargs COMMAND");
        return -1;
}

static int
send_exec(struct session *s, const int *stdio, struct error *e)
{
        const struct run_options *o = s->o;
        struct wire_command command = o->command;
        size_t len = wire_command_len(&command);
        struct wire_box_exec ask = { .exec = SESSION_EXEC,
                                     .deadline_ms = session_after(s->started, o->timeout_ms),
                                     .timeout_ms = UINT64_MAX,
                                     .cpu_ms = o->plan->cpu == PLAN_CPU_GROUP ? o->cpu_ms
                                                                              : SPEC_UNSET,
                                     .output_bytes = UINT64_MAX };
        void *body = malloc(len);
        int result;

        if ((o->switched_off & SWITCH_RESET) != 0)
                command.head.skip_resets |= WIRE_RESET_SIGNALS;
        if ((o->switched_off & SWITCH_CLOSE_FDS) != 0)
                command.head.skip_resets |= WIRE_RESET_FDS;
        if (o->plan->cpu == PLAN_CPU_RLIMIT && o->cpu_ms != SPEC_UNSET)
                command.head.cpu_seconds = (o->cpu_ms + 999) / 1000;
        terminal_size(o->in, &command.head.rows, &command.head.columns);
        if (!body)
                return fail(e, ERROR_NO_MEMORY, "no memory for the command");
        wire_command_write(&command, &ask, body);
        result = wire_send_in_time(s->box, WIRE_BOX_EXEC, body, len, stdio,
                                   session_has_terminal(s) ? 0 : 3);
        explicit_bzero(body, len); /* the environment may hold secrets */
        free(body);
        if (result == -EPIPE) /* the box has ended already: it has said why */
                return 0;
        return result < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, -result, "handing the command on")
                          : 0;
}

static int
open_pipes(int pipes[3][2], struct error *e)
{
        for (int i = 0; i < 3; i++) {
                if (pipe2(pipes[i], O_CLOEXEC) < 0)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making pipes");
                /* best effort: the system limit may be lower */
                (void)fcntl(pipes[i][0], F_SETPIPE_SZ, PIPE_LEN);
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

static void
open_streams(struct session *s, int pipes[3][2])
{
        const struct run_options *o = s->o;

        (void)stream_set_nonblocking(pipes[0][1]);
        (void)stream_set_nonblocking(pipes[1][0]);
        (void)stream_set_nonblocking(pipes[2][0]);
        stream_init(&s->in, o->in, fd_take(&pipes[0][1]));
        s->in.owns_to = true;
        s->in.sink = STREAM_FILE; /* this process's end: it does not block, and takes what it can */
        if (o->captures) {
                stream_init_capture(&s->out, fd_take(&pipes[1][0]), RUN_CAPTURE_MAX);
                stream_init_capture(&s->err, fd_take(&pipes[2][0]), RUN_CAPTURE_MAX);
        } else {
                stream_init(&s->out, fd_take(&pipes[1][0]), o->out);
                stream_init(&s->err, fd_take(&pipes[2][0]), o->err);
                s->out.escapes = o->escapes && isatty(o->out);
                s->err.escapes = o->escapes && isatty(o->err);
        }
        sanitize_init(&s->out.sanitize, o->sanitize);
        sanitize_init(&s->err.sanitize, o->sanitize);
        s->out.seen = s->err.seen = o->seen;
        s->in.seen = o->sees_input ? o->seen : NULL;
        s->in.which = STDIN_FILENO;
        s->out.which = STDOUT_FILENO;
        s->err.which = STDERR_FILENO;
        s->out.owns_from = s->err.owns_from = true;
        s->out.budget = s->err.budget = o->output_bytes == SPEC_UNSET ? NULL : &s->budget;
}

static int
send_begin(struct session *s, struct error *e)
{
        _Alignas(8) static unsigned char body[WIRE_BODY_MAX];
        const struct sources *sources = s->o->sources;
        struct wire_box_begin begin = { .deadline_ms = UINT64_MAX,
                                        .cpu_count = s->o->cpu_count,
                                        .keep_bytes = s->is_series ? SERIES_KEPT : 0,
                                        .flags = s->is_series ? BOX_BEGIN_TIED : BOX_BEGIN_ONE };
        size_t len;
        int result;

        if (session_is_net_only(s))
                begin.flags |= BOX_BEGIN_NET_ONLY;
        (void)memccpy(begin.id, s->o->plan->id, '\0', sizeof begin.id - 1);
        len = begin_write(begin, s->o->plan, sources, body, e);
        if (len == 0)
                return -1;
        result = wire_send_in_time(s->box, WIRE_BOX_BEGIN, body, len, sources ? sources->fds : NULL,
                                   sources ? sources_total(sources) : 0);
        return result < 0
                       ? fail_sys(e, ERROR_BACKEND_FAILED, -result, "sending the plan to the maker")
                       : 0;
}

int
session_begin(struct session *s, struct error *e)
{
        if (run_wall_new(&s->wall, s->o->wall, e) < 0 || s->o->start(&s->box, &s->maker, e) < 0)
                return -1;
        s->wall->box = s->box;
        return send_begin(s, e);
}

int
session_start(struct session *s, struct error *e)
{
        int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
        const int *own = (const int[]){ s->o->in, s->o->out, s->o->err };
        bool has_pipes = !session_has_terminal(s) && !session_is_net_only(s);
        int result;

        if (check_command(&s->o->command, e) < 0)
                return -1;
        result = has_pipes ? open_pipes(pipes, e) : 0;
        if (result == 0)
                result = session_begin(s, e);
        if (result == 0) /* it waits in the socket, so that the box never waits for it */
                result = send_exec(
                        s, has_pipes ? (const int[]){ pipes[0][0], pipes[1][1], pipes[2][1] } : own,
                        e);
        if (result == 0 && has_pipes)
                open_streams(s, pipes);
        close_pipes(pipes);
        return result;
}
