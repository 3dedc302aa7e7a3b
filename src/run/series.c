/*
 * run/series.c - commands one after the other in one sandbox.
 *
 * Room: run (joining). Touches: fd, processes (the maker), clock.
 *
 *     begun --command--> running --its channel is over, and FINISHED--> begun
 *                           | GONE, or the box is lost: no other command
 *
 * Theory: the box is that of a living sandbox, tied to this process (BOX_BEGIN_TIED). A command
 * speaks through a channel, as one of the daemon does. Nothing is lost on it, so its bytes are all
 * that the command printed until its end.
 */
#include "run/series.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"
#include "plan/plan.h"
#include "run/session.h"
#include "spec/spec.h"
#include "wire/channel.h"
#include "wire/command.h"
#include "wire/message.h"

enum { INPUT_CHUNK = 64 * 1024, OUTPUT_CHUNK = 64 * 1024, LOOK_MS = 60000 };
enum { ON_BOX, ON_GATE, ON_CHANNEL, ON_MAX };

struct series {
        struct session s;
        uint32_t exec; /* the number of the command in its box */
        int channel;   /* -1: it is over */
        struct channel_reader reader;
        bool input_is_over;
        uint64_t printed[2];
        size_t out_at, out_len; /* of `out`: a frame that was not sent yet */
        unsigned char out[sizeof(struct channel_frame) + INPUT_CHUNK];
};

/* -- the box ----------------------------------------------------------------------------------- */

int
series_open(const struct run_options *options, struct series **ret, struct error *e)
{
        struct series *all = calloc(1, sizeof *all);

        if (!all)
                return fail(e, ERROR_NO_MEMORY, "no memory for a sandbox");
        all->s = (struct session){ .o = options,
                                   .box = -1,
                                   .signals = -1,
                                   .is_series = true,
                                   .grace = SESSION_NEVER,
                                   .late = SESSION_NEVER };
        all->channel = -1;
        if (session_begin(&all->s, e) < 0) {
                series_close(all);
                return -1;
        }
        *ret = all;
        return 0;
}

void
series_close(struct series *all)
{
        if (!all)
                return;
        scoped_fd_close(&all->channel);
        if (all->s.wall)
                run_wall_end(all->s.wall);
        scoped_fd_close(&all->s.box); /* the box ends, and its maker when everything is undone */
        while (all->s.maker > 0 && waitpid(all->s.maker, NULL, 0) < 0 && errno == EINTR)
                continue;
        run_wall_free(all->s.wall);
        free(all->s.kept);
        free(all);
}

/* -- standard input ---------------------------------------------------------------------------- */

/* Fills `out` with the next frame. */
static void
next_frame(struct series *all)
{
        const struct run_options *o = all->s.o;
        unsigned char *bytes = all->out + sizeof(struct channel_frame);
        ssize_t got = o->in >= 0 ? read(o->in, bytes, INPUT_CHUNK) : 0;
        struct channel_frame head = channel_head(got > 0 ? CHANNEL_STDIN : CHANNEL_STDIN_END,
                                                 got > 0 ? (size_t)got : 0, 0);

        if (got < 0 && errno == EINTR)
                return;
        if (got > 0 && o->seen && o->sees_input)
                o->seen(STDIN_FILENO, (const char *)bytes, (size_t)got);
        all->input_is_over = got <= 0;
        memcpy(all->out, &head, sizeof head);
        all->out_at = 0;
        all->out_len = sizeof head + head.len;
}

static bool
wants_to_send(const struct series *all)
{
        return all->channel >= 0 && (all->out_at < all->out_len || !all->input_is_over);
}

/* What a command that has ended does not read is dropped. */
static void
send_input(struct series *all)
{
        ssize_t sent;

        if (all->out_at == all->out_len)
                next_frame(all);
        sent = send(all->channel, all->out + all->out_at, all->out_len - all->out_at,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
                all->out_at += (size_t)sent;
        } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
                all->input_is_over = true;
                all->out_at = all->out_len = 0;
        }
}

/* -- output ------------------------------------------------------------------------------------ */

/* What the command printed is not known, so its result is none. */
static void
tear(struct series *all, const char *why)
{
        struct error e;

        (void)fail(&e, ERROR_BACKEND_FAILED, "%s", why);
        session_fail(&all->s, &e);
        all->s.is_broken = true;
}

static void
hear_output(struct series *all, int which, const struct channel_piece *piece)
{
        if (piece->offset != all->printed[which])
                tear(all, "a part of the output of a command was lost");
        all->printed[which] = piece->offset + piece->len;
        if (all->s.o->seen)
                all->s.o->seen(which == 0 ? STDOUT_FILENO : STDERR_FILENO, piece->bytes,
                               piece->len);
}

static void
hear_channel(struct series *all)
{
        static unsigned char bytes[OUTPUT_CHUNK];
        const unsigned char *at = bytes;
        struct channel_piece piece;
        ssize_t got = recv(all->channel, bytes, sizeof bytes, MSG_DONTWAIT);
        size_t left = got > 0 ? (size_t)got : 0;
        int result;

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        while ((result = channel_reader_next(&all->reader, &at, &left, &piece)) > 0)
                if (piece.kind == CHANNEL_STDOUT || piece.kind == CHANNEL_STDERR)
                        hear_output(all, piece.kind == CHANNEL_STDERR, &piece);
        if (result < 0)
                tear(all, "the box of the sandbox sent a malformed frame");
        else if (got <= 0 && !all->reader.is_over)
                tear(all, "the box of the sandbox closed the channel of its command");
        if (result < 0 || got <= 0 || all->reader.is_over)
                scoped_fd_close(&all->channel);
}

/* -- one command ------------------------------------------------------------------------------- */

static int
order(struct series *all, bool kills_rest, struct error *e)
{
        const struct run_options *o = all->s.o;
        struct wire_command command = o->command;
        size_t len = wire_command_len(&command);
        struct wire_box_exec ask = { .flags = BOX_EXEC_LOSSLESS |
                                              (kills_rest ? BOX_EXEC_KILL_REST : 0u),
                                     .exec = ++all->exec,
                                     .deadline_ms = UINT64_MAX,
                                     .timeout_ms = o->timeout_ms,
                                     .cpu_ms = o->cpu_ms,
                                     .output_bytes = UINT64_MAX };
        scoped_fd int theirs = -1;
        void *body = len > 0 ? malloc(len) : NULL;
        int pair[2], result;

        if (len == 0)
                return fail(e, ERROR_INVALID_ARGUMENT,
                            "the command and its environment are longer than %d bytes, or have "
                            "more than %d words",
                            (int)WIRE_BODY_MAX, WIRE_COMMAND_STRINGS_MAX);
        if (!body)
                return fail(e, ERROR_NO_MEMORY, "no memory for the command");
        if (o->plan->cpu == PLAN_CPU_RLIMIT && o->cpu_ms != SPEC_UNSET)
                command.head.cpu_seconds = (o->cpu_ms + 999) / 1000;
        wire_command_write(&command, &ask, body);
        result = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
        if (result == 0) {
                all->channel = pair[0];
                theirs = pair[1];
                result = wire_send_in_time(all->s.box, WIRE_BOX_EXEC, body, len, &theirs, 1);
        }
        explicit_bzero(body, len); /* as in run/start.c */
        free(body);
        /* a box that has ended has said why */
        return result < 0 && result != -EPIPE
                       ? fail_sys(e, ERROR_BACKEND_FAILED, -result, "handing the command on")
                       : 0;
}

static void
one_turn(struct series *all)
{
        struct session *s = &all->s;
        struct pollfd fds[ON_MAX] = {
                [ON_BOX] = { s->box, POLLIN, 0 },
                [ON_GATE] = run_wall_poll(s->wall),
                [ON_CHANNEL] = { all->channel, (short)(POLLIN | (wants_to_send(all) ? POLLOUT : 0)),
                                 0 },
        };
        uint64_t wait = run_wall_look(s->wall);

        if (poll(fds, ON_MAX, clock_slice_ms(wait > LOOK_MS ? LOOK_MS : (int)wait)) < 0)
                return;
        if (fds[ON_BOX].revents != 0)
                session_hear_box(s);
        session_hear_wall(s, &fds[ON_GATE]);
        if ((fds[ON_CHANNEL].revents & POLLOUT) != 0)
                send_input(all);
        if ((fds[ON_CHANNEL].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
                hear_channel(all);
}

/* Is there nothing more to hear of this command? */
static bool
is_over(const struct series *all)
{
        const struct session *s = &all->s;

        return s->box_is_done || s->is_broken ||
               (all->channel < 0 && (s->has_ended || s->error.code != ERROR_NONE));
}

static void
reset(struct series *all, const struct run_options *options)
{
        struct session *s = &all->s;

        s->o = options;
        s->was_started = s->has_ended = s->is_cut = s->has_said_refusal = false;
        s->kept_count = 0;
        s->outcome = (struct outcome){ .exit_code = -1 };
        s->error.code = ERROR_NONE;
        channel_reader_init(&all->reader, CHANNEL_FROM_BOX);
        all->printed[0] = all->printed[1] = 0;
        all->input_is_over = false;
        all->out_at = all->out_len = 0;
}

static void
collect(struct series *all, struct run_result *ret)
{
        struct session *s = &all->s;

        *ret = (struct run_result){ .outcome = s->outcome,
                                    .kept = s->kept,
                                    .kept_count = s->kept_count };
        s->kept = NULL;
        ret->outcome.stdout_bytes = all->printed[0];
        ret->outcome.stderr_bytes = all->printed[1];
        ret->denials =
                run_wall_denials_of(s->wall, all->exec, &ret->denial_count, &ret->denied_more);
}

int
series_run(struct series *all, const struct run_options *options, bool kills_rest,
           struct run_result *ret, struct error *e)
{
        struct session *s = &all->s;

        if (s->box_is_done || s->is_broken)
                return fail(e, ERROR_BACKEND_FAILED, "the sandbox has ended");
        reset(all, options);
        if (order(all, kills_rest, e) < 0)
                return -1;
        while (!is_over(all))
                one_turn(all);
        scoped_fd_close(&all->channel);
        if (!s->has_ended || s->is_broken) {
                *e = s->error;
                return -1;
        }
        collect(all, ret);
        return 0;
}
