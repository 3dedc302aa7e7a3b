/*
 * keeper/connection.c - the connections to the keeper: accepts, identifies, reads and closes them.
 *
 * Room: keeper (joining). Touches: fd, mem.
 * Theory: the kernel reports the user of a peer. Only the door, whose socket comes from the
 * launcher, may call for others. No call passes descriptors, so any that arrive are closed. A
 * connection is ended between two turns of the loop, never while one of its calls runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scoped.h"
#include "keeper/approval.h"
#include "keeper/changed.h"
#include "keeper/exec.h"
#include "keeper/keeper.h"
#include "keeper/sandbox.h"
#include "keeper/turns.h"
#include "keeper/validating.h"

enum { ACCEPT_BURST = 32, ACCEPT_PAUSE_MS = 100 };

static void
condemn(struct connection *c)
{
        c->is_condemned = true;
        c->keeper->needs_sweep = true;
}

/* -- reading calls ----------------------------------------------------------------------------- */

/* Sets the caller of an operation, and checks that it may call it. */
static int
identify(struct connection *c, const struct operation *o, const struct record *r,
         struct caller *ret, struct error *e)
{
        const char *token =
                o->code == OP_PORT_CONNECT ? NULL : record_get_text(r, FIELD_TOKEN, NULL);
        uint64_t uid = record_get_uint(r, FIELD_UID, UINT64_MAX);
        int found;

        *ret = c->caller;
        if (!c->is_door)
                return 0;
        if (token) {
                found = caller_of_token(c->keeper, token, ret, e);
                return found == 0  ? fail_at(e, ERROR_UNAUTHENTICATED, "token", "unknown_token",
                                             "no such token is known here")
                       : found < 0 ? -1
                                   : 0;
        }
        if (uid == UINT64_MAX && (o->flags & OPERATION_INTERNAL) != 0)
                return 0;
        if (uid > UINT32_MAX || !caller_of_uid(c->keeper, (uint32_t)uid, ret))
                return fail_at(e, ERROR_UNAUTHENTICATED, "uid", "unknown_user",
                               "this daemon does not serve that user");
        return 0;
}

static bool
is_admin(const struct connection *c, const struct operation *o, const struct caller *who)
{
        return who->is_admin || ((o->flags & OPERATION_OPERATOR) != 0 && who->is_token &&
                                 strcmp(who->owner, c->keeper->owner) == 0);
}

static int
not_admin(const struct operation *o, struct error *e)
{
        if ((o->flags & OPERATION_OPERATOR) != 0) {
                (void)fail_at(e, ERROR_POLICY_DENIED, "", "admin",
                              "%s is for the daemon's own user: on its unix socket, or with a "
                              "token of that user",
                              o->name);
                error_hint(e, "As that user, on this machine: `carrel key new --scope read` prints "
                              "a token.");
                return -1;
        }
        (void)fail_at(e, ERROR_POLICY_DENIED, "", "admin",
                      "%s is for the daemon's own user alone, on its unix socket", o->name);
        error_hint(e, "As that user, on this machine: `carrel key new` prints a token, `carrel key "
                      "ls` lists them, `carrel key rm ID` revokes one.");
        return -1;
}

static int
permitted(const struct connection *c, const struct operation *o, const struct caller *who,
          struct error *e)
{
        if ((o->flags & OPERATION_INTERNAL) != 0 && !c->is_door)
                return fail(e, ERROR_POLICY_DENIED, "%s is not for callers", o->name);
        if ((o->flags & OPERATION_ADMIN) != 0 && !is_admin(c, o, who))
                return not_admin(o, e);
        if (who->is_read_only && (o->flags & OPERATION_CONTEXT) == 0 &&
            !(who->is_approver && (o->flags & OPERATION_APPROVER) != 0)) {
                (void)fail_at(e, ERROR_POLICY_DENIED, "", "scope",
                              who->is_approver
                                      ? "a token of scope approve answers requests for approval, "
                                        "and sees get and list"
                                      : "a token of scope read sees get and list, and nothing "
                                        "else");
                error_hint(e, "Use a token of scope all: `carrel key new` prints one.");
                return -1;
        }
        return 0;
}

static struct call *
call_new(struct connection *connection, const struct wire_call *head, const void *bytes, size_t len)
{
        /* the record is stored behind it, aligned as malloc() aligns */
        struct call *c = malloc(sizeof *c + len + (head->op == OP_CODE ? CODE_SPARE : 0));

        _Static_assert(sizeof(struct call) % RECORD_ALIGN == 0, "a record is aligned");
        if (!c)
                return NULL;
        *c = (struct call){ .keeper = connection->keeper,
                            .connection = connection,
                            .serial = head->serial,
                            .op = operation(head->op) };
        if (len > 0)
                memcpy(c + 1, bytes, len);
        c->record = (struct record){ (const unsigned char *)(c + 1), len };
        c->next_of_connection = connection->calls;
        connection->calls = c;
        connection->call_count++;
        return c;
}

static int
judge_call(struct connection *connection, const struct wire_call *head, struct call *c,
           struct error *e)
{
        unsigned most = connection->is_door ? KEEPER_DOOR_CALLS_MAX : KEEPER_CALLS_MAX;

        if (head->protocol != CALL_PROTOCOL)
                return fail(e, ERROR_PROTOCOL, "the call speaks protocol %u, this daemon %d",
                            head->protocol, CALL_PROTOCOL);
        if (!c->op)
                return fail(e, ERROR_PROTOCOL, "operation %u is not known here", head->op);
        if (connection->call_count > most)
                return fail(e, ERROR_QUOTA_EXCEEDED, "more than %u calls wait on one connection",
                            most);
        if (operation_check(c->op, &c->record, connection->is_door, e) < 0 ||
            identify(connection, c->op, &c->record, &c->caller, e) < 0)
                return -1;
        return permitted(connection, c->op, &c->caller, e);
}

static void
refuse_call(struct call *c)
{
        struct error e;

        (void)fail(&e, ERROR_NO_MEMORY, "no memory for a call");
        reply_error(c, &e);
}

static void
take_call(struct connection *connection, const struct wire_message *m, const unsigned char *body)
{
        const struct wire_call *head = (const struct wire_call *)body;
        struct call *c = m->len >= sizeof *head ? call_new(connection, head, body + sizeof *head,
                                                           m->len - sizeof *head)
                                                : NULL;
        struct call none = { .keeper = connection->keeper,
                             .connection = connection,
                             .serial = head->serial };
        struct error e;

        if (m->len < sizeof *head)
                condemn(connection);
        else if (!c)
                refuse_call(&none);
        else if (judge_call(connection, head, c, &e) < 0 || turns_add(c, &e) < 0)
                call_fail(c, &e);
}

static void
take_cancel(struct connection *connection, const struct wire_message *m, const unsigned char *body)
{
        const struct wire_call *head = (const struct wire_call *)body;

        if (m->len < sizeof *head) {
                condemn(connection);
                return;
        }
        watch_forget(connection->keeper, connection, &head->serial);
        port_wait_forget(connection, &head->serial);
        approval_withdraw(connection, &head->serial);
        validating_withdraw(connection, &head->serial);
        port_use_end(connection, &head->serial);
        for (struct call *c = connection->calls; c; c = c->next_of_connection)
                if (c->serial == head->serial)
                        c->is_cancelled = true;
}

static void
on_words(struct peer *p, uint32_t events)
{
        struct connection *c = (struct connection *)p;
        struct wire_message m;

        for (int i = 0; i < PEER_BURST && !c->is_condemned && !peer_is_full(p); i++) {
                int result = wire_receive(p->fd, 0, &m, c->keeper->in, sizeof c->keeper->in);

                if (result == -EAGAIN)
                        break;
                if (result <= 0) {
                        condemn(c);
                        return;
                }
                wire_message_close(&m); /* no call passes descriptors */
                if (m.kind == WIRE_CALL)
                        take_call(c, &m, c->keeper->in);
                else if (m.kind == WIRE_CANCEL)
                        take_cancel(c, &m, c->keeper->in);
                else
                        condemn(c);
        }
        if (p->is_broken)
                condemn(c);
        else if (peer_is_full(p))
                peer_hear(p, false); /* answers are queued: the caller must read them first */
}

static void
on_drained(struct peer *p)
{
        peer_hear(p, true);
        watch_turn((struct connection *)p);
        parts_turn((struct connection *)p);
}

/* -- accepting and closing --------------------------------------------------------------------- */

static struct connection *
connection_new(struct keeper *k, int take_fd)
{
        struct connection *c = calloc(1, sizeof *c);

        if (!c) {
                (void)close(take_fd);
                errno = ENOMEM;
                return NULL;
        }
        c->keeper = k;
        if (peer_open(&c->peer, k->loop, take_fd, on_words) < 0) {
                free(c);
                return NULL;
        }
        c->peer.drained = on_drained;
        calls_init(&c->listing);
        c->next = k->connections;
        k->connections = c;
        k->connection_count++;
        return c;
}

static void
accept_again(struct loop_timer *t)
{
        struct keeper *k =
                (struct keeper *)(void *)((char *)t - offsetof(struct keeper, accept_again));

        (void)loop_watch_change(&k->listener, EPOLLIN);
}

/* No descriptor is free: retries later instead of in a busy loop. */
static void
pause_accepting(struct keeper *k)
{
        if (loop_timer_set(k->loop, &k->accept_again, loop_now_ms() + ACCEPT_PAUSE_MS,
                           accept_again) == 0)
                (void)loop_watch_change(&k->listener, 0);
}

/* Other users cannot take every connection: the daemon's own user always gets one. */
static bool
has_room(const struct keeper *k, const struct caller *who)
{
        unsigned count = 0;

        if (k->connection_count >= KEEPER_CONNECTIONS_MAX)
                return false;
        for (const struct connection *c = k->connections; c && !who->is_admin; c = c->next)
                count += !c->is_door && strcmp(c->caller.owner, who->owner) == 0;
        return count < KEEPER_OTHERS_MAX;
}

static void
accept_one(struct keeper *k, int take_fd)
{
        scoped_fd int fd = take_fd;
        struct ucred peer;
        socklen_t len = sizeof peer;
        struct caller caller;
        struct connection *c;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
            !caller_of_uid(k, peer.uid, &caller) || !has_room(k, &caller))
                return;
        c = connection_new(k, fd_take(&fd));
        if (!c)
                return;
        c->caller = caller;
        peer_set_private(&c->peer);
}

static void
on_knock(struct loop_watch *w, uint32_t events)
{
        struct keeper *k = (struct keeper *)(void *)((char *)w - offsetof(struct keeper, listener));

        for (int i = 0; i < ACCEPT_BURST; i++) {
                int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd >= 0)
                        accept_one(k, fd);
                else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                        pause_accepting(k);
                if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
                        return;
        }
}

int
connection_listen(struct keeper *k, int take_fd, struct error *e)
{
        int flags = fcntl(take_fd, F_GETFL), result;

        if (flags < 0 || fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return fail_sys(e, ERROR_INVALID_ARGUMENT, errno, "--listen-fd %d", take_fd);
        result = loop_watch_add(k->loop, &k->listener, take_fd, EPOLLIN, on_knock);
        return result < 0 ? fail_sys(e, ERROR_INTERNAL, -result, "listening") : 0;
}

int
connection_door(struct keeper *k, int take_fd, struct error *e)
{
        struct connection *c = connection_new(k, take_fd);

        if (!c && errno == ENOMEM)
                return fail(e, ERROR_NO_MEMORY, "no memory for a connection");
        if (!c)
                return fail(e, ERROR_INVALID_ARGUMENT, "--door-fd %d is no socket", take_fd);
        c->is_door = true;
        return 0;
}

static void
connection_free(struct connection *c)
{
        struct keeper *k = c->keeper;

        watch_forget(k, c, NULL);
        port_wait_forget(c, NULL);
        approval_withdraw(c, NULL);
        validating_withdraw(c, NULL);
        port_use_end(c, NULL);
        parts_forget(c);
        for (struct call *call = c->calls; call; call = call->next_of_connection) {
                call->connection = NULL;
                call->is_cancelled = true;
        }
        k->connection_count--;
        peer_close(&c->peer);
        free(c);
}

void
keeper_sweep(struct keeper *k)
{
        if (!k->needs_sweep)
                return;
        k->needs_sweep = false;
        for (struct connection **at = &k->connections; *at;) {
                struct connection *c = *at;

                if (!c->is_condemned && !c->peer.is_broken) {
                        at = &c->next;
                        continue;
                }
                *at = c->next;
                connection_free(c);
        }
        box_sweep(k);
        changed_sweep();
}
