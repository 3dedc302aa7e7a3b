/*
 * client/exec.c - one command from its caller's side: output in, input and signals out, over its
 * channel.
 *
 * Room: client (joining). Touches: one socket of the exec, and what its connection touches.
 * Theory: only carrel_exec_read() blocks, and functions that say so. Outgoing frames are kept until
 * the socket takes them, because a box that does not read may itself be waiting for its caller to
 * read. When the peer has closed, outgoing frames are discarded; the frames that are left to read
 * say how the command ended.
 */
#include "client/exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/start_error.h"
#include "client/answer.h"
#include "client/connection.h"
#include "client/port.h"
#include "clock/clock.h"
#include "outcome/time_limit.h"
#include "wire/channel.h"
#include "wire/message.h"

enum {
        IN_ROOM = 512 * 1024,
        OUT_ROOM = 128 * 1024,
        CONTROL_ROOM = 4096,
        NAME_ROOM = 128,
        INPUT_AT_ONCE = 64 * 1024
};

struct carrel_exec {
        int socket;
        uint32_t number;
        int pid;
        /* a frame arrived; nothing more can be sent; `end` is valid; this call started the exec */
        int is_heard, is_gone, has_end, is_own;
        struct carrel_end end;
        struct time_limit time;
        char audit_ref[80]; /* "": not known */
        struct channel_reader reader;
        const unsigned char *at;
        size_t left; /* of `in`, not read yet */
        uint64_t next[2];
        struct client_ports ports;
        size_t out_start, out_end;
        /* cut to their first bytes, for messages; cwd "": the sandbox's own */
        char name[NAME_ROOM], cwd[NAME_ROOM];
        unsigned char in[IN_ROOM], out[OUT_ROOM];
};

/* -- beginning and end ------------------------------------------------------------------------- */

int
client_exec_take(int take_fd, uint32_t number, const char *name, struct carrel_exec **ret,
                 struct error *e)
{
        struct carrel_exec *x = malloc(sizeof *x);

        if (!x) {
                (void)close(take_fd);
                return fail(e, ERROR_NO_MEMORY, "no memory for a channel");
        }
        /* zeroing the buffers would only cause page faults */
        memset(x, 0, offsetof(struct carrel_exec, in));
        x->socket = take_fd;
        x->number = number;
        (void)strncat(x->name, name ? name : "the command", NAME_ROOM - 1);
        channel_reader_init(&x->reader, CHANNEL_FROM_BOX);
        client_ports_init(&x->ports);
        *ret = x;
        return 0;
}

void
carrel_exec_free(struct carrel_exec *take_x)
{
        if (!take_x)
                return;
        client_ports_fini(&take_x->ports);
        (void)close(take_x->socket);
        free(take_x);
}

static void
write_command(struct record_writer *w, const struct carrel_command *c)
{
        for (size_t i = 0; i < c->argc; i++)
                record_text(w, FIELD_ARGV, c->argv[i]);
        record_text(w, FIELD_COMMAND, c->line);
        record_text(w, FIELD_LANGUAGE, c->language);
        record_text(w, FIELD_SOURCE, c->code);
        record_text(w, FIELD_CWD, c->cwd);
        for (size_t i = 0; i < c->env_count; i++)
                record_text(w, FIELD_ENV, c->env[i]);
#define COMMAND_NUMBER(field, member) \
        if (c->member > 0)            \
                record_uint(w, field, c->member);
#define COMMAND_FLAG(field, member, flag) \
        if (c->member)                    \
                record_bool(w, field, 1);
#include "api/command.def"
#undef COMMAND_NUMBER
#undef COMMAND_FLAG
        if (c->has_terminal && c->rows > 0 && c->columns > 0) {
                record_uint(w, FIELD_ROWS, c->rows);
                record_uint(w, FIELD_COLUMNS, c->columns);
        }
        if (c->input_len > 0)
                record_bytes(w, FIELD_INPUT, RECORD_BYTES, c->input, c->input_len);
        record_text(w, FIELD_TASK, c->task);
        record_text(w, FIELD_KEY, c->key);
}

/* For messages. */
static const char *
name_of(const struct carrel_command *c)
{
        return c->argc > 0 ? c->argv[0] : c->language ? c->language : "sh";
}

static int
check_command(const struct carrel_command *c, struct error *e)
{
        if ((c->argc > 0) + (c->line != NULL) + (c->code != NULL) != 1)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "argv", NULL,
                               "a command is argv, a line for the shell or code, one of the three");
        for (size_t i = 0; i < c->argc; i++)
                if (!c->argv[i])
                        return fail_at(e, ERROR_INVALID_ARGUMENT, "argv", NULL,
                                       "argument %zu of the command is NULL", i);
        if (c->input_len > INPUT_AT_ONCE)
                return fail_at(
                        e, ERROR_INVALID_ARGUMENT, "input", NULL,
                        "input given at once has at most %d bytes; write the rest afterwards",
                        INPUT_AT_ONCE);
        return 0;
}

/* Gives an exec that the caller owns, or NULL with *e. */
static struct carrel_exec *
take_exec(struct carrel *c, enum operation_code op, const char *name, struct error *e)
{
        struct carrel_exec *x = NULL;
        struct record r;
        struct time_limit time;
        uint64_t number;
        int fd, has_ended;

        if (connection_call(c, op, &r, &fd, e) < 0)
                return NULL;
        number = record_get_uint(&r, FIELD_EXEC, 0);
        time = (struct time_limit){ record_get_uint(&r, FIELD_TIMEOUT, 0),
                                    time_limit_find(record_get_text(&r, FIELD_TIMEOUT_BY, NULL)) };
        has_ended = strcmp(record_get_text(&r, FIELD_STATE, ""), "ended") == 0;
        if (number == 0 || number > UINT32_MAX) {
                (void)close(fd);
                (void)fail(e, ERROR_PROTOCOL, "the daemon's answer lacks the exec's number");
                return NULL;
        }
        if (client_exec_take(fd, (uint32_t)number, name, &x, e) < 0 || !x)
                return NULL;
        x->is_own = op != OP_EXEC_ATTACH && !has_ended;
        x->time = time;
        (void)snprintf(x->audit_ref, sizeof x->audit_ref, "%s",
                       record_get_text(&r, FIELD_AUDIT_REF, ""));
        return x;
}

/* The exec has started; `take_ports` is the connection for the wait, or NULL. */
static int
wait_for_port(struct carrel_exec *x, struct carrel *take_ports, const char *id, uint64_t limit_ms,
              struct error *e)
{
        return take_ports ? client_ports_begin(&x->ports, take_ports, id, x->number, limit_ms,
                                               x->socket, e)
                          : 0;
}

int
carrel_exec(struct carrel *c, const char *id, const struct carrel_command *command,
            struct carrel_exec **ret, struct carrel_error *e)
{
        struct record_writer *w = connection_begin(c);
        struct carrel *ports = NULL;
        struct carrel_exec *x;
        struct error inner;

        if (check_command(command, &inner) < 0 ||
            (command->waits_ports && connection_again(c, &ports, &inner) < 0))
                return answer_fail(e, &inner);
        record_text(w, FIELD_ID, id);
        write_command(w, command);
        x = take_exec(c, command->code ? OP_CODE : OP_EXEC, name_of(command), &inner);
        if (!x) {
                carrel_close(ports);
                return answer_fail(e, &inner);
        }
        if (wait_for_port(x, ports, id, command->wait_ports_ms, &inner) < 0) {
                carrel_exec_free(x);
                return answer_fail(e, &inner);
        }
        (void)strncat(x->cwd, command->cwd ? command->cwd : "", NAME_ROOM - 1);
        *ret = x;
        return 0;
}

int
carrel_attach(struct carrel *c, const char *id, uint32_t exec, uint64_t stdout_offset,
              uint64_t stderr_offset, int is_lossless, struct carrel_exec **ret,
              struct carrel_error *e)
{
        struct record_writer *w = connection_begin(c);
        struct error inner;

        record_text(w, FIELD_ID, id);
        record_uint(w, FIELD_EXEC, exec);
        record_uint(w, FIELD_STDOUT_OFFSET, stdout_offset);
        record_uint(w, FIELD_STDERR_OFFSET, stderr_offset);
        if (is_lossless)
                record_bool(w, FIELD_LOSSLESS, 1);
        *ret = take_exec(c, OP_EXEC_ATTACH, NULL, &inner);
        if (!*ret)
                return answer_fail(e, &inner);
        (*ret)->next[0] = stdout_offset;
        (*ret)->next[1] = stderr_offset;
        return 0;
}

/* -- sending ----------------------------------------------------------------------------------- */

static void
other_side_is_gone(struct carrel_exec *x)
{
        x->is_gone = 1;
        x->out_start = x->out_end = 0;
}

/* Sends as much as the socket takes now. */
static void
flush(struct carrel_exec *x)
{
        while (x->out_start < x->out_end) {
                ssize_t sent = send(x->socket, x->out + x->out_start, x->out_end - x->out_start,
                                    MSG_DONTWAIT | MSG_NOSIGNAL);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0) {
                        if (errno != EAGAIN && errno != ENOBUFS)
                                other_side_is_gone(x);
                        client_ports_want(&x->ports, x->socket, x->out_end > 0);
                        return;
                }
                x->out_start += (size_t)sent;
        }
        if (x->out_end > 0)
                client_ports_want(&x->ports, x->socket, false);
        x->out_start = x->out_end = 0;
}

static size_t
out_room(struct carrel_exec *x)
{
        flush(x);
        if (x->out_start > 0) {
                memmove(x->out, x->out + x->out_start, x->out_end - x->out_start);
                x->out_end -= x->out_start;
                x->out_start = 0;
        }
        return OUT_ROOM - x->out_end;
}

static void
put(struct carrel_exec *x, uint32_t kind, const void *bytes, size_t len)
{
        struct channel_frame head = channel_head(kind, len, 0);

        memcpy(x->out + x->out_end, &head, sizeof head);
        if (len > 0)
                memcpy(x->out + x->out_end + sizeof head, bytes, len);
        x->out_end += sizeof head + len;
        flush(x);
}

long
client_exec_write(struct carrel_exec *x, const void *bytes, size_t len)
{
        size_t room;

        /* like a pipe whose reader has closed: the bytes are dropped */
        if (x->is_gone || len == 0)
                return (long)len;
        room = out_room(x);
        if (room <= CONTROL_ROOM + sizeof(struct channel_frame))
                return 0;
        room -= CONTROL_ROOM + sizeof(struct channel_frame);
        if (len > room)
                len = room;
        put(x, CHANNEL_STDIN, bytes, len);
        return (long)len;
}

/*
 * Frames without data have their own space. Only a caller that resizes without end can fill it, and
 * it gets an error.
 */
static int
put_control(struct carrel_exec *x, uint32_t kind, const void *bytes, size_t len, struct error *e)
{
        if (x->is_gone)
                return 0;
        if (out_room(x) < sizeof(struct channel_frame) + len)
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "the sandbox does not take what is sent to the command");
        put(x, kind, bytes, len);
        return 0;
}

int
client_exec_write_end(struct carrel_exec *x, struct error *e)
{
        return put_control(x, CHANNEL_STDIN_END, NULL, 0, e);
}

int
client_exec_flush(struct carrel_exec *x, struct error *e)
{
        for (flush(x); x->out_end > 0; flush(x)) {
                struct pollfd p = { x->socket, POLLOUT, 0 };

                if (poll(&p, 1, -1) < 0 && errno != EINTR)
                        return fail_sys(e, ERROR_INTERNAL, errno, "waiting for the sandbox");
        }
        return 0;
}

long
carrel_exec_write(struct carrel_exec *x, const void *bytes, size_t len, struct carrel_error *e)
{
        (void)e;
        return client_exec_write(x, bytes, len);
}

int
carrel_exec_write_end(struct carrel_exec *x, struct carrel_error *e)
{
        struct error inner;

        return client_exec_write_end(x, &inner) < 0 ? answer_fail(e, &inner) : 0;
}

int
carrel_exec_signal(struct carrel_exec *x, int signal, struct carrel_error *e)
{
        struct wire_number number = { signal };
        struct error inner;

        if (signal < 1 || signal > SIGRTMAX) {
                (void)fail_at(&inner, ERROR_INVALID_ARGUMENT, "signal", "range", "%d is no signal",
                              signal);
                return answer_fail(e, &inner);
        }
        return put_control(x, CHANNEL_SIGNAL, &number, sizeof number, &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_exec_resize(struct carrel_exec *x, uint16_t rows, uint16_t columns, struct carrel_error *e)
{
        struct wire_size size = { rows, columns };
        struct error inner;

        return put_control(x, CHANNEL_RESIZE, &size, sizeof size, &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_exec_detach(struct carrel_exec *take_x, struct carrel_error *e)
{
        struct error inner;
        int result;

        if (!take_x)
                return 0;
        result = put_control(take_x, CHANNEL_DETACH, NULL, 0, &inner);
        if (result == 0)
                result = client_exec_flush(take_x, &inner);
        carrel_exec_free(take_x);
        return result < 0 ? answer_fail(e, &inner) : 0;
}

/* -- receiving --------------------------------------------------------------------------------- */

static int
take_end(struct carrel_exec *x, const struct channel_end *end, struct error *e)
{
        struct outcome o = ending_of(end);

        if (end->word >= OUTCOME_MAX ||
            (end->word == OUTCOME_EXITED && (end->exit_code < 0 || end->exit_code > 255)))
                return fail(e, ERROR_PROTOCOL, "the sandbox reported an unknown outcome");
        answer_end(&o, &x->end);
        x->end.left_count = end->found;
        x->has_end = 1;
        return 1;
}

static int
take_piece(struct carrel_exec *x, const struct channel_piece *p, struct carrel_piece *ret,
           struct error *e)
{
        *ret = (struct carrel_piece){ .bytes = p->bytes, .len = p->len, .offset = p->offset };
        x->is_heard = 1;
        switch (p->kind) {
        case CHANNEL_STARTED:
                x->pid = ((const struct channel_started *)p->bytes)->pid;
                *ret = (struct carrel_piece){ .kind = CARREL_STARTED };
                return 1;
        case CHANNEL_FAILED:
                return start_error_read(e, p->bytes, x->name, x->cwd);
        case CHANNEL_END:
                *ret = (struct carrel_piece){ .kind = CARREL_END };
                return take_end(x, p->bytes, e);
        default:
                ret->kind = p->kind == CHANNEL_STDERR ? CARREL_STDERR : CARREL_STDOUT;
                x->next[p->kind == CHANNEL_STDERR] = p->offset + p->len;
                return 1;
        }
}

/*
 * The stream has ended. Without an END frame, the sandbox was killed or its channel broke. An exec
 * that started still reports exactly one end, although its exact end is unknown.
 */
static int
stream_is_over(struct carrel_exec *x, struct carrel_piece *ret, struct error *e)
{
        const struct channel_end lost = { .word = OUTCOME_LOST,
                                          .exit_code = -1,
                                          .stdout_bytes = x->next[0],
                                          .stderr_bytes = x->next[1] };

        if (x->reader.is_over || x->has_end)
                return 0;
        if (!x->is_heard && !x->is_own)
                return fail(e, ERROR_EXEC_NOT_FOUND, "the sandbox knows no exec %u, or has ended",
                            x->number);
        *ret = (struct carrel_piece){ .kind = CARREL_END };
        return take_end(x, &lost, e);
}

enum received { NOTHING_CAME, BYTES_CAME, STREAM_IS_OVER, PORT_WAIT_IS_OVER };

/* Returns what arrived within the time; -1 on an error. */
static int
receive(struct carrel_exec *x, uint64_t until, struct error *e)
{
        for (;;) {
                struct pollfd p = { carrel_exec_fd(x), carrel_exec_events(x), 0 };
                int ready = client_ports_next(&x->ports, e);
                ssize_t got;

                if (ready != 0)
                        return ready < 0 ? -1 : PORT_WAIT_IS_OVER;
                got = recv(x->socket, x->in, IN_ROOM, MSG_DONTWAIT);
                if (got > 0) {
                        x->at = x->in;
                        x->left = (size_t)got;
                        return BYTES_CAME;
                }
                if (got == 0 || errno == ECONNRESET)
                        return STREAM_IS_OVER;
                if (errno != EAGAIN && errno != EINTR)
                        return fail_sys(e, ERROR_INTERNAL, errno, "reading the command's output");
                ready = clock_poll(&p, 1, until);
                if (ready == 0)
                        return NOTHING_CAME;
                if (x->out_end > x->out_start)
                        flush(x);
        }
}

int
client_exec_read(struct carrel_exec *x, int timeout_ms, struct carrel_piece *ret, struct error *e)
{
        uint64_t until = timeout_ms < 0    ? CLOCK_NEVER
                         : timeout_ms == 0 ? 0
                                           : clock_boot_ms() + (uint64_t)timeout_ms;

        flush(x);
        for (;;) {
                struct channel_piece piece;
                int got =
                        x->left > 0 ? channel_reader_next(&x->reader, &x->at, &x->left, &piece) : 0;

                if (got > 0)
                        return take_piece(x, &piece, ret, e);
                if (got < 0)
                        return fail(e, ERROR_PROTOCOL,
                                    "the sandbox sent a malformed message about the command");
                if (x->reader.is_over || x->has_end)
                        return 0;
                got = receive(x, until, e);
                if (got == STREAM_IS_OVER)
                        return stream_is_over(x, ret, e);
                if (got == PORT_WAIT_IS_OVER)
                        *ret = (struct carrel_piece){ .kind = CARREL_PORT };
                if (got != BYTES_CAME)
                        return got == PORT_WAIT_IS_OVER ? 1 : got;
        }
}

int
carrel_exec_read(struct carrel_exec *x, int timeout_ms, struct carrel_piece *ret,
                 struct carrel_error *e)
{
        struct error inner;
        int got = client_exec_read(x, timeout_ms, ret, &inner);

        return got < 0 ? answer_fail(e, &inner) : got;
}

/* -- facts ------------------------------------------------------------------------------------- */

uint32_t
carrel_exec_number(const struct carrel_exec *x)
{
        return x->number;
}

uint64_t
carrel_exec_timeout(const struct carrel_exec *x, const char **ret_by)
{
        if (ret_by)
                *ret_by = time_limit_name(x->time.by);
        return x->time.by == TIME_LIMIT_NONE ? 0 : x->time.ms;
}

const char *
carrel_exec_audit_ref(const struct carrel_exec *x)
{
        return x->audit_ref[0] != '\0' ? x->audit_ref : NULL;
}

int
carrel_exec_pid(const struct carrel_exec *x)
{
        return x->pid;
}

int
carrel_exec_fd(const struct carrel_exec *x)
{
        return x->ports.poll_fd >= 0 ? x->ports.poll_fd : x->socket;
}

short
carrel_exec_events(const struct carrel_exec *x)
{
        return x->ports.poll_fd < 0 && x->out_end > x->out_start ? POLLIN | POLLOUT : POLLIN;
}

unsigned
carrel_exec_port(const struct carrel_exec *x)
{
        return x->ports.port;
}

const struct carrel_end *
carrel_exec_end(const struct carrel_exec *x)
{
        return x->has_end ? &x->end : NULL;
}

uint64_t
carrel_exec_offset(const struct carrel_exec *x, enum carrel_piece_kind stream)
{
        return x->next[stream == CARREL_STDERR];
}
