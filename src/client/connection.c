/*
 * client/connection.c - calls to the keeper, one at a time.
 *
 * Room: client (joining). Touches: one unix socket, the environment (path of the state directory),
 * clock. Theory: the keeper may restart at any moment, while its boxes keep running. A call that
 * was not sent is repeated. A call that was sent and not answered is repeated only if a second
 * execution does no harm: it only reads, is idempotent by nature, or has a key.
 */
#include "client/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client/answer.h"
#include "clock/clock.h"
#include "event/event.h"
#include "wire/call.h"
#include "wire/message.h"
#include "wire/trust.h"

enum { REPLY_MAX = 64 << 20, AGAIN_MS = 3000, PAUSE_MS = 20 };

/* -- where the daemon is ----------------------------------------------------------------------- */

static char *
join(const char *directory, const char *name)
{
        size_t len = strlen(directory) + strlen(name) + 1;
        char *path = malloc(len);

        if (path)
                (void)snprintf(path, len, "%s%s", directory, name);
        return path;
}

/* "" if no variable names one. */
static char *
default_state(void)
{
        const char *own = getenv("CARREL_STATE"), *xdg = getenv("XDG_STATE_HOME"),
                   *home = getenv("HOME");

        if (own && *own != '\0')
                return join(own, "");
        if (geteuid() == 0)
                return join("/var/lib/carrel", "");
        if (xdg && *xdg == '/')
                return join(xdg, "/carrel");
        return home && *home == '/' ? join(home, "/.local/state/carrel") : join("", "");
}

static int
unreachable(struct error *e, int sys, const char *state)
{
        if (sys == ENOENT || sys == ECONNREFUSED) {
                (void)fail_at(e, ERROR_DAEMON_UNREACHABLE, NULL, "not_running",
                              "no daemon answers in %.300s", state);
                error_hint(e, "Start one with `carrel serve --state %.150s`, and leave it running.",
                           state);
                e->sys = sys;
                return -1;
        }
        (void)fail_sys(e, ERROR_DAEMON_UNREACHABLE, sys, "reaching the daemon in %.300s", state);
        if (sys == EACCES || sys == EPERM)
                error_hint(e,
                           "That daemon is another user's. Use your own with --state DIR or "
                           "CARREL_STATE, or have its user start it with: carrel serve "
                           "--socket-mode 0660 (your group must be that of its state directory)");
        return -1;
}

/*
 * A unix address holds 107 bytes, so a longer path is reached through a descriptor of its
 * directory.
 */
static int
dial(const char *state, int *ret, struct error *e)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int len = snprintf(address.sun_path, sizeof address.sun_path, "%s/keeper.sock", state);
        int fd;

        if (len < 0 || (size_t)len >= sizeof address.sun_path) {
                (void)fail(e, ERROR_DAEMON_UNREACHABLE,
                           "the path of the state directory is longer than a socket's address may "
                           "be: %.300s",
                           state);
                error_hint(e, "Choose a shorter one with --state DIR or CARREL_STATE.");
                return -1;
        }
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return unreachable(e, errno, state);
        if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
                int sys = errno;

                (void)close(fd);
                return unreachable(e, sys, state);
        }
        if (trust_check(fd, state, e) < 0) {
                (void)close(fd);
                return -1;
        }
        *ret = fd;
        return 0;
}

static struct carrel *
new_connection(const char *state)
{
        struct carrel *c = calloc(1, sizeof *c);

        if (!c)
                return NULL;
        c->socket = -1;
        c->state = state ? join(state, "") : default_state();
        c->out = malloc(WIRE_BODY_MAX);
        c->in = malloc(WIRE_BODY_MAX);
        if (c->state && c->out && c->in)
                return c;
        carrel_close(c);
        return NULL;
}

static int
open_connection(const char *state, struct carrel **ret, struct error *e)
{
        struct carrel *c = new_connection(state);

        if (!c)
                return fail(e, ERROR_NO_MEMORY, "no memory for a connection");
        if (c->state[0] == '\0') {
                (void)fail(e, ERROR_DAEMON_UNREACHABLE,
                           "nothing says where the daemon's state is: neither --state, "
                           "CARREL_STATE, XDG_STATE_HOME nor HOME");
                error_hint(e, "Name it with --state DIR or CARREL_STATE.");
                carrel_close(c);
                return -1;
        }
        if (dial(c->state, &c->socket, e) < 0) {
                carrel_close(c);
                return -1;
        }
        *ret = c;
        return 0;
}

int
carrel_open(const char *state, struct carrel **ret, struct carrel_error *e)
{
        struct error inner;

        return open_connection(state, ret, &inner) < 0 ? answer_fail(e, &inner) : 0;
}

int
connection_again(const struct carrel *c, struct carrel **ret, struct error *e)
{
        return open_connection(c->state, ret, e);
}

static void
hang_up(struct carrel *c)
{
        if (c->socket >= 0)
                (void)close(c->socket);
        c->socket = -1;
}

void
carrel_close(struct carrel *c)
{
        if (!c)
                return;
        hang_up(c);
        free(c->state);
        free(c->out);
        free(c->in);
        buffer_fini(&c->reply);
        free(c);
}

const char *
carrel_state(const struct carrel *c)
{
        return c->state;
}

void
carrel_on_approval(struct carrel *c, void (*waits)(void *data, const char *approval), void *data)
{
        c->waits = waits;
        c->waits_data = data;
}

void
carrel_set_timeout(struct carrel *c, unsigned timeout_ms)
{
        c->timeout_ms = timeout_ms;
}

/* -- a call ------------------------------------------------------------------------------------ */

struct record_writer *
connection_begin(struct carrel *c)
{
        record_init(&c->w, c->out + sizeof(struct wire_call), CALL_RECORD_MAX);
        return &c->w;
}

/* Returns 0 if there is something to read; -1 with an error. */
static int
wait_for_reply(struct carrel *c, uint64_t until_ms, struct error *e)
{
        for (;;) {
                struct pollfd p = { c->socket, POLLIN, 0 };
                int got = clock_poll(&p, 1, until_ms == CARREL_NONE ? CLOCK_NEVER : until_ms);

                if (got > 0)
                        return 0;
                if (got == 0)
                        return fail_at(e, ERROR_DAEMON_UNREACHABLE, NULL, "timeout",
                                       "the daemon did not answer within %u ms", c->timeout_ms);
                if (errno != EINTR)
                        return fail_sys(e, ERROR_INTERNAL, errno, "waiting for the daemon");
        }
}

static int
keep_part(struct carrel *c, const unsigned char *bytes, size_t len, struct error *e)
{
        int result = buffer_add(&c->reply, bytes, len, REPLY_MAX);

        if (result < 0)
                return result == -E2BIG
                               ? fail(e, ERROR_PROTOCOL, "the daemon's answer has no end")
                               : fail(e, ERROR_NO_MEMORY, "no memory for the daemon's answer");
        return 0;
}

/* An event before the answer: the call waits for a person. Others are not for this call. */
static void
take_event(const struct carrel *c, const struct wire_message *m)
{
        struct wire_call head;
        struct record fields;
        const char *approval;

        if (!c->waits || m->len < sizeof head)
                return;
        memcpy(&head, c->in, sizeof head);
        fields = (struct record){ c->in + sizeof head, m->len - sizeof head };
        if (head.serial != c->serial || record_check(&fields) < 0 ||
            event_find(record_get_text(&fields, FIELD_EVENT, "")) != EVENT_APPROVAL_REQUESTED)
                return;
        approval = record_get_text(&fields, FIELD_APPROVAL, NULL);
        if (approval)
                c->waits(c->waits_data, approval);
}

/* Takes one message. Returns 1 if the answer is complete, 0 if more will come, or -1. */
static int
take_message(struct carrel *c, struct wire_message *m, int *fd, struct error *e)
{
        struct wire_reply reply;
        struct record part;

        if (m->kind == WIRE_EVENT) {
                take_event(c, m);
                return 0;
        }
        if (m->kind != WIRE_REPLY || m->len < sizeof reply)
                return fail(e, ERROR_PROTOCOL, "the daemon said something else than an answer");
        memcpy(&reply, c->in, sizeof reply);
        if (reply.serial != c->serial) /* of a call that was abandoned */
                return 0;
        part = (struct record){ c->in + sizeof reply, m->len - sizeof reply };
        if (record_check(&part) < 0)
                return fail(e, ERROR_PROTOCOL, "the daemon's answer is malformed");
        if ((reply.flags & REPLY_ERROR) != 0) {
                api_error_read(&part, e);
                return -1;
        }
        if (m->fd_count > 0 && *fd < 0) {
                *fd = m->fds[0];
                m->fds[0] = -1;
        }
        if (keep_part(c, part.bytes, part.len, e) < 0)
                return -1;
        return (reply.flags & REPLY_MORE) == 0;
}

/* The result of one exchange: answered (with success or an error), not sent, or unknown. */
enum exchange { ANSWERED, REFUSED, NOT_SENT, LOST };

static enum exchange
exchange(struct carrel *c, int *fd, struct error *e)
{
        uint64_t until = c->timeout_ms == 0 ? CARREL_NONE : clock_boot_ms() + c->timeout_ms;
        int result = wire_send(c->socket, WIRE_CALL, c->out, sizeof(struct wire_call) + c->w.len,
                               NULL, 0);

        if (result == -EPIPE || result == -ECONNRESET || result == -ENOTCONN)
                return NOT_SENT;
        if (result < 0)
                return (void)fail_sys(e, ERROR_INTERNAL, -result, "asking the daemon"), REFUSED;
        c->reply.len = 0;
        for (result = 0; result == 0;) {
                struct wire_message m;
                int got;

                if (wait_for_reply(c, until, e) < 0)
                        return REFUSED;
                got = wire_receive(c->socket, 0, &m, c->in, WIRE_BODY_MAX);
                if (got == -EAGAIN)
                        continue;
                if (got == -EPROTO)
                        return (void)fail(e, ERROR_PROTOCOL,
                                          "the daemon does not speak this program's language"),
                               REFUSED;
                if (got <= 0)
                        return LOST;
                result = take_message(c, &m, fd, e);
                wire_message_close(&m);
        }
        return result > 0 ? ANSWERED : REFUSED;
}

/* The daemon may be restarting, so this retries for a while. */
static int
dial_again(struct carrel *c, struct error *e)
{
        const struct timespec pause = { 0, PAUSE_MS * 1000000L };
        uint64_t until = clock_boot_ms() + AGAIN_MS;

        hang_up(c);
        while (dial(c->state, &c->socket, e) < 0) {
                if (strcmp(e->reason, "not_running") != 0 || clock_boot_ms() >= until)
                        return -1;
                (void)nanosleep(&pause, NULL);
        }
        return 0;
}

static int
may_repeat(const struct operation *o, const struct record *r)
{
        struct record_entry entry;

        return (o->flags & (OPERATION_READ | OPERATION_IDEMPOTENT)) != 0 ||
               record_find(r, FIELD_KEY, &entry);
}

static int
lost(const struct operation *o, struct error *e)
{
        (void)fail(e, ERROR_CONNECTION_LOST,
                   "the daemon went away before it answered; whether %s was done is not known",
                   o->name);
        error_hint(e, "`carrel ls` and `carrel ps` show what there is. With an idempotency key the "
                      "same call can be made again safely.");
        return -1;
}

static int
ask(struct carrel *c, const struct operation *o, const struct record *r, int *fd, struct error *e)
{
        enum { TRIES = 4 };

        if (c->socket < 0 && dial(c->state, &c->socket, e) < 0)
                return -1;
        for (int i = 0; i < TRIES; i++) {
                enum exchange result = exchange(c, fd, e);

                if (result == ANSWERED)
                        return 0;
                if (result == REFUSED) {
                        if (e->code == ERROR_PROTOCOL || e->code == ERROR_DAEMON_UNREACHABLE)
                                /* further messages on it could not be assigned to a call */
                                hang_up(c);
                        return -1;
                }
                if (result == LOST && !may_repeat(o, r)) {
                        hang_up(c);
                        return lost(o, e);
                }
                if (dial_again(c, e) < 0)
                        return -1;
        }
        return lost(o, e);
}

/* A descriptor must come with the answer exactly if the operation promises one. */
static int
check_descriptor(const struct operation *o, int *fd, int *ret_fd, struct error *e)
{
        if (!ret_fd) {
                if (*fd >= 0)
                        (void)close(*fd);
                return 0;
        }
        if (*fd < 0)
                return fail(e, ERROR_PROTOCOL, "the daemon's answer to %s lacks its descriptor",
                            o->name);
        *ret_fd = *fd;
        return 0;
}

/* Completes the call in c->out, and checks it as the daemon does. */
static int
seal(struct carrel *c, const struct operation *o, struct error *e)
{
        struct wire_call head = { ++c->serial, (uint16_t)o->code, CALL_PROTOCOL };
        struct record r = { c->out + sizeof head, c->w.len };

        if (c->w.is_broken) {
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "too_large",
                              "the call is longer than %d bytes", WIRE_BODY_MAX);
                error_hint(e, "Give large input through standard input or files, and keep "
                              "manifests and environments short.");
                return -1;
        }
        memcpy(c->out, &head, sizeof head);
        return operation_check(o, &r, 0, e);
}

int
connection_call(struct carrel *c, enum operation_code op, struct record *ret, int *ret_fd,
                struct error *e)
{
        const struct operation *o = operation(op);
        struct record r = { c->out + sizeof(struct wire_call), c->w.len };
        int fd = -1;

        if (seal(c, o, e) < 0)
                return -1;
        if (ask(c, o, &r, &fd, e) < 0) {
                if (fd >= 0)
                        (void)close(fd);
                return -1;
        }
        if (ret)
                *ret = (struct record){ (const unsigned char *)c->reply.bytes, c->reply.len };
        return check_descriptor(o, &fd, ret_fd, e);
}

/* -- a call with a long wait ------------------------------------------------------------------- */

static int
send_call(struct carrel *c, struct error *e)
{
        size_t len = sizeof(struct wire_call) + c->w.len;
        int result = wire_send(c->socket, WIRE_CALL, c->out, len, NULL, 0);

        c->reply.len = 0;
        if (result == -EPIPE || result == -ECONNRESET || result == -ENOTCONN) {
                if (dial_again(c, e) < 0)
                        return -1;
                result = wire_send(c->socket, WIRE_CALL, c->out, len, NULL, 0);
        }
        return result < 0 ? fail_sys(e, ERROR_CONNECTION_LOST, -result, "asking the daemon") : 0;
}

int
connection_ask(struct carrel *c, enum operation_code op, struct error *e)
{
        return seal(c, operation(op), e) < 0 ? -1 : send_call(c, e);
}

int
connection_answer(struct carrel *c, struct record *ret, struct error *e)
{
        for (;;) {
                struct wire_message m;
                int got = wire_receive(c->socket, 0, &m, c->in, WIRE_BODY_MAX), fd = -1;

                if (got == -EAGAIN)
                        return 0;
                if (got == -EPROTO)
                        return fail(e, ERROR_PROTOCOL,
                                    "the daemon does not speak this program's language");
                if (got <= 0) {
                        if (dial_again(c, e) < 0 || send_call(c, e) < 0)
                                return -1;
                        continue;
                }
                got = take_message(c, &m, &fd, e);
                wire_message_close(&m);
                if (fd >= 0)
                        (void)close(fd);
                if (got > 0)
                        *ret = (struct record){ (const unsigned char *)c->reply.bytes,
                                                c->reply.len };
                if (got != 0)
                        return got;
        }
}
