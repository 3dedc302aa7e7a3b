/*
 * keeper/box.c - the connections to boxes: open, lose and find them again. box_exec.c handles the
 * execs in a box, box_make.c creates boxes.
 *
 * Room: keeper (joining). Touches: fd, the directories below STATE/boxes.
 * Theory: a box is identified by the socket in its directory and by the id it sends, never by a
 * pid. The keeper mirrors what a box reports about its execs, so it answers questions about them
 * without the box. The journal says whether a box that closed its socket has ended. If the journal
 * says nothing, the keeper connects once more; if no process answers, the box is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/switches.h"
#include "keeper/audit.h"
#include "keeper/box_parts.h"
#include "keeper/changed.h"
#include "keeper/content.h"
#include "keeper/executed.h"
#include "keeper/journal.h"
#include "keeper/limiting.h"
#include "keeper/sandbox.h"
#include "keeper/usage.h"

enum {
        STOP_PATIENCE_MS = 15000,
        CONNECT_TRIES = 50,
        WALLED_MAX = 2304,
        CONNECT_PAUSE_MS = 10,
        CALLS_AGAIN = 20,
        CALL_PAUSE_MS = 1000
};

static void call_again(struct box *b, bool was_ready);

/* -- connect and disconnect -------------------------------------------------------------------- */

struct box *
box_new(struct keeper *k, const char *id, struct sandbox *s)
{
        struct box *b = calloc(1, sizeof *b);

        if (!b)
                return NULL;
        b->keeper = k;
        b->sandbox = s;
        b->peer.fd = b->upper = -1;
        b->peer.is_broken = true;
        b->patience.due_ms = b->again.due_ms = b->folding.due_ms = b->logging.due_ms = LOOP_NEVER;
        refusals_init(&b->refusals, NUMBER_REFUSALS_LISTED, NUMBER_REFUSALS_HELD);
        calls_init(&b->listening);
        calls_init(&b->listing);
        calls_init(&b->limiting);
        b->last_limit = loop_now_ms() << 20;
        (void)snprintf(b->id, sizeof b->id, "%s", id);
        /* differs from every number of an earlier keeper */
        b->last_quiet = (1u << 31) | ((uint32_t)loop_now_ms() & 0x7fffffffu);
        b->next = k->boxes;
        k->boxes = b;
        return b;
}

static void
refuse_requests(struct box *b)
{
        while (b->requests) {
                struct connect_request *r = b->requests;

                b->requests = r->next;
                r->done(r, ECONNRESET, -1);
        }
}

/*
 * Closes the connection but keeps what is known of its execs. The caller begins the calls that wait
 * for a listing once the next state is settled.
 */
static void
hang_up(struct box *b)
{
        b->is_ready = false;
        b->is_gone = true;
        b->wall = 0;
        scoped_fd_close(&b->upper);
        b->list_waits = b->wall_waits = false;
        denials_gone(b);
        loop_timer_remove(&b->patience);
        loop_timer_remove(&b->again);
        peer_close(&b->peer);
        refuse_requests(b);
        limiting_gone(b);
        calls_begin(&b->listing);
}

void
box_forget(struct box *b)
{
        if (b->sandbox)
                b->sandbox->box = NULL;
        b->sandbox = NULL;
        hang_up(b);
        calls_begin(&b->listening);
        b->is_condemned = true;
        /* lint: it stays in the keeper's list, and the sweep frees it */
        b->keeper->needs_sweep = true;
}

void
box_sweep(struct keeper *k)
{
        for (struct box **at = &k->boxes; *at;) {
                struct box *b = *at;

                if (!b->is_condemned) {
                        at = &b->next;
                        continue;
                }
                *at = b->next;
                free(b->execs);
                denials_free(b);
                content_free(b);
                free(b);
        }
}

/* Fails the calls that wait for the box, so that no call waits forever. */
void
box_on_impatience(struct loop_timer *t)
{
        struct box *b = (struct box *)(void *)((char *)t - offsetof(struct box, patience));
        struct sandbox *s = b->sandbox;

        if (!s) {
                box_forget(b); /* its directory stays; the next start connects again */
                return;
        }
        (void)box_send(b, WIRE_BOX_STOP, NULL, 0); /* the box reads this when it reads again */
        hang_up(b);
        box_lose_execs(b);
        s->leaves_directory = true;
        sandbox_box_lost(s, "it did not answer in time");
        calls_begin(&b->listening);
}

int
box_send(struct box *b, uint16_t kind, const void *body, size_t len)
{
        bool is_asked =
                kind == WIRE_BOX_LIST || kind == WIRE_BOX_SIGNAL || kind == WIRE_BOX_CONNECT;

        return is_asked && peer_is_full(&b->peer) ? -1
                                                  : peer_send(&b->peer, kind, body, len, NULL, 0);
}

int
box_send_fd(struct box *b, uint16_t kind, const void *body, size_t len, int take_fd)
{
        if (!peer_is_full(&b->peer))
                return peer_send(&b->peer, kind, body, len, &take_fd, 1);
        (void)close(take_fd);
        return -1;
}

int
box_no_answer(const struct sandbox *s, struct error *e)
{
        if (s->box && !s->box->peer.is_broken)
                return fail(e, ERROR_UNAVAILABLE,
                            "more is asked of the sandbox %s than it takes in at the moment",
                            s->id);
        return fail(e, ERROR_BACKEND_FAILED, "the sandbox %s does not answer", s->id);
}

void
box_stop(struct box *b)
{
        b->was_told_to_stop = true;
        (void)box_send(b, WIRE_BOX_STOP, NULL, 0);
        (void)loop_timer_set(b->keeper->loop, &b->patience, loop_now_ms() + STOP_PATIENCE_MS,
                             box_on_impatience);
}

/* -- the directory of a box -------------------------------------------------------------------- */

int
box_open_directory(struct keeper *k, const char *id)
{
        return openat(k->boxes_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void
learn(void *context, const struct wire_box_listed *l)
{
        (void)box_add_exec(context, l);
}

static void
learn_streams(void *context, const struct wire_box_streams *said)
{
        content_hear(context, said, NULL);
}

static const struct journal_reader reader = { learn, learn_streams };

void
box_socket_address(struct sockaddr_un *ret, int directory)
{
        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        /* the path has a fixed length, whatever the length of STATE */
        (void)snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/sock", directory);
}

void
box_remove_directory(struct keeper *k, const char *id)
{
        /* the only files there: of the box, and mounts.h */
        static const char *const names[] = { "sock", "journal", "journal.new", "mounts" };
        scoped_fd int directory = box_open_directory(k, id);

        for (size_t i = 0; directory >= 0 && i < sizeof names / sizeof *names; i++)
                (void)unlinkat(directory, names[i], 0);
        if (directory >= 0)
                (void)unlinkat(k->boxes_fd, id, AT_REMOVEDIR);
}

/* -- messages from the box --------------------------------------------------------------------- */

/* The latest box protocol that this keeper speaks. */
static uint32_t
latest_protocol(void)
{
#ifdef CARREL_TEST_SWITCHES
        const char *text = getenv("CARREL_TEST_BOX_PROTOCOL"); /* the later version of a test */
        unsigned long latest = text ? strtoul(text, NULL, 10) : 0;

        if (latest > BOX_PROTOCOL)
                return (uint32_t)latest;
#endif
        return BOX_PROTOCOL;
}

/*
 * A box of a later version, whose messages this one cannot read. If its sandbox has an owner, it
 * runs on until the owner stops it. Every version understands WIRE_BOX_STOP (wire/box.h).
 */
static void
on_later(struct box *b)
{
        struct sandbox *s = b->sandbox;
        struct error ignored;

        if (s && s->row.owner && s->state != SANDBOX_STOPPING) {
                (void)fprintf(stderr,
                              "carrel: sandbox %s was started by a later version of carrel, and "
                              "its commands keep running. To use it, start that version with this "
                              "state directory. To end it: carrel stop %s\n",
                              b->id, b->id);
                sandbox_box_later(s);
                return;
        }
        b->is_later = true;
        if (b->was_told_to_stop)
                return;
        if (s)
                (void)sandbox_stop(s, "lost", &ignored);
        else
                box_stop(b);
}

static void
on_hello(struct box *b, const void *body)
{
        memcpy(&b->hello, body, sizeof b->hello);
        b->hello.id[sizeof b->hello.id - 1] = '\0';
        b->was_greeted = true;
        if (strcmp(b->hello.id, b->id) == 0 && b->hello.protocol >= BOX_PROTOCOL_OLDEST &&
            b->hello.protocol <= latest_protocol())
                return;
        if (strcmp(b->hello.id, b->id) == 0 && b->hello.protocol > latest_protocol()) {
                on_later(b);
                return;
        }
        hang_up(b); /* not a box of Carrel: do not touch it */
        if (b->sandbox)
                b->sandbox->leaves_directory = true;
        if (b->sandbox)
                sandbox_box_lost(b->sandbox, "what answers there is not its box");
        else
                box_forget(b);
        calls_begin(&b->listening);
}

enum call_state
box_need_greeting(const struct sandbox *s, struct call *c)
{
        if (!s->box || s->state != SANDBOX_STARTING || !s->is_attached)
                return CALL_DONE;
        calls_add(&s->box->listening, c);
        return CALL_WAITS;
}

/* Waits for the answer to WIRE_BOX_LIST, which comes after what was asked before it. */
static enum call_state
await_listing(struct box *b, struct call *c)
{
        if (!b->is_listing && box_send(b, WIRE_BOX_LIST, NULL, 0) < 0)
                return CALL_DONE;
        /* one listing at a time, however many calls wait */
        c->has_listing = !b->is_listing || b->begins_listings;
        b->is_listing = true;
        calls_add(&b->listening, c);
        return CALL_WAITS;
}

enum call_state
box_need_listing(struct box *b, struct call *c)
{
        return c->has_listing || b->is_gone || !b->is_ready || box_running(b) == 0
                       ? CALL_DONE
                       : await_listing(b, c);
}

enum call_state
box_need_usage(struct box *b, struct call *c)
{
        if (c->has_listing || b->is_gone || !b->is_ready ||
            box_send(b, WIRE_BOX_USAGE, NULL, 0) < 0)
                return CALL_DONE;
        return await_listing(b, c);
}

static void
on_listed(struct box *b, const void *body, uint16_t kind)
{
        const struct wire_box_listed *told = body;
        struct wire_box_listed *l;

        if (told->exec != 0 && (told->flags & BOX_EXEC_QUIET) != 0) {
                if (b->sandbox && kind == WIRE_BOX_FINISHED)
                        audit_call_ended(b->sandbox, told);
                return;
        }
        if (told->exec == 0) {
                b->is_listing = false;
                b->begins_listings = true;
                calls_begin(&b->listening);
                b->begins_listings = false;
                return;
        }
        l = box_add_exec(b, body);
        if (l && b->sandbox && kind != WIRE_BOX_LISTED) {
                struct wire_box_listed copy = *l; /* the code below may move the table */

                sandbox_exec_news(b->sandbox, &copy, kind == WIRE_BOX_FINISHED);
        }
}

static void
on_connected(struct box *b, const struct wire_connected *answer, struct wire_message *m)
{
        int fd = m->fd_count > 0 ? m->fds[0] : -1;

        if (m->fd_count > 0)
                m->fds[0] = -1;
        for (struct connect_request **at = &b->requests; *at; at = &(*at)->next) {
                struct connect_request *r = *at;

                if (r->number != answer->request)
                        continue;
                *at = r->next;
                r->done(r, answer->sys == 0 && fd < 0 ? EPROTO : answer->sys, fd);
                return;
        }
        if (fd >= 0)
                (void)close(fd);
}

static void
on_ready(struct box *b)
{
        b->is_ready = true;
        loop_timer_remove(&b->patience);
        if (!b->sandbox || b->was_told_to_stop) {
                box_stop(b);
                return;
        }
        wall_box_ready(b);
        (void)box_send(b, WIRE_BOX_USAGE, NULL, 0);
        changed_ready(b->sandbox);
        if (b->sandbox->is_attached)
                audit_settle(b->sandbox);
        sandbox_box_ready(b->sandbox);
        calls_begin(&b->listening);
}

/* What a box repeats to a later keeper is no event. */
static void
on_found(struct box *b, const struct wire_box_found *one)
{
        if (b->sandbox && found_put(&b->sandbox->found, one) && b->is_ready)
                publish_found(b->sandbox, one);
}

/* Of a box from before WIRE_BOX_FOUND, which does not repeat it. */
static void
on_kept(struct box *b, const struct wire_kept *kept)
{
        struct wire_box_found one = { .at_ms = loop_wall_ms(), .kept = *kept };

        if (!b->sandbox)
                return;
        one.number = b->sandbox->found.total + 1;
        on_found(b, &one);
}

static void
on_gone(struct box *b, const struct wire_box_gone *gone)
{
        struct wire_box_gone copy = *gone;

        hang_up(b);
        box_lose_execs(b);
        if (b->sandbox) {
                if (b->sandbox->is_attached)
                        audit_settle(b->sandbox);
                sandbox_box_gone(b->sandbox, &copy);
        } else {
                box_remove_directory(b->keeper, b->id);
                box_forget(b);
        }
        calls_begin(&b->listening);
}

static void
on_upper(struct box *b, struct wire_message *m)
{
        if (m->fd_count != 1 || b->upper >= 0)
                return;
        b->upper = m->fds[0];
        m->fds[0] = -1;
}

/* What an older box does not send is 0. */
static void
on_streams(struct box *b, const void *body, struct wire_message *m)
{
        struct wire_box_streams said = { .exec = 0 };

        memcpy(&said, body, m->len);
        content_hear(b, &said, m);
}

static const struct {
        uint16_t kind;
        uint32_t len;
} shapes[] = {
        { WIRE_BOX_HELLO, sizeof(struct wire_box_hello) },
        { WIRE_BOX_LISTED, sizeof(struct wire_box_listed) },
        { WIRE_BOX_STARTED, sizeof(struct wire_box_listed) },
        { WIRE_BOX_FINISHED, sizeof(struct wire_box_listed) },
        { WIRE_BOX_CONNECTED, sizeof(struct wire_connected) },
        { WIRE_BOX_FROZEN, sizeof(struct wire_exec_number) },
        { WIRE_BOX_UPPER, 0 },
        { WIRE_BOX_READY, 0 },
        { WIRE_BOX_GONE, sizeof(struct wire_box_gone) },
        { WIRE_BOX_DENIED, sizeof(struct wire_box_denied) },
        { WIRE_BOX_REFUSED, sizeof(struct wire_box_refused) },
        { WIRE_BOX_ALLOWED, sizeof(struct wire_box_allowed) },
        { WIRE_BOX_KEPT, sizeof(struct wire_kept) },
        { WIRE_BOX_FOUND, sizeof(struct wire_box_found) },
        { WIRE_BOX_LIMITED, sizeof(struct wire_limited) },
};

static bool
has_shape(const struct wire_message *m)
{
        if (m->kind == WIRE_BOX_WALLED)
                return m->len >= sizeof(struct wire_box_walled) && m->len <= WALLED_MAX;
        if (m->kind == WIRE_BOX_USED)
                return m->len == BOX_USED_FIRST || m->len == BOX_USED_METERED ||
                       m->len == BOX_USED_MEMORY || m->len == sizeof(struct wire_box_used);
        if (m->kind == WIRE_BOX_STREAMS)
                return m->len == BOX_STREAMS_FIRST || m->len == sizeof(struct wire_box_streams);
        if (m->kind == WIRE_BOX_EXECUTED)
                return m->len >= sizeof(struct wire_box_executed);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                if (shapes[i].kind == m->kind)
                        return shapes[i].len == m->len;
        return false;
}

static void
hear(struct box *b, struct wire_message *m, const void *body)
{
        const struct wire_exec_number *frozen = body;

        switch (m->kind) {
        case WIRE_BOX_HELLO:
                on_hello(b, body);
                break;
        case WIRE_BOX_LISTED:
        case WIRE_BOX_STARTED:
        case WIRE_BOX_FINISHED:
                on_listed(b, body, m->kind);
                break;
        case WIRE_BOX_CONNECTED:
                on_connected(b, body, m);
                break;
        case WIRE_BOX_FROZEN:
                if (b->sandbox)
                        sandbox_box_frozen(b->sandbox, frozen->exec != 0, frozen->number);
                break;
        case WIRE_BOX_UPPER:
                on_upper(b, m);
                break;
        case WIRE_BOX_READY:
                on_ready(b);
                break;
        case WIRE_BOX_WALLED:
                wall_box_told(b, m, body);
                break;
        case WIRE_BOX_DENIED:
                denials_hear(b, body);
                break;
        case WIRE_BOX_REFUSED:
                denials_hear_refused(b, body);
                break;
        case WIRE_BOX_ALLOWED:
                denials_hear_allowed(b, body);
                break;
        case WIRE_BOX_EXECUTED:
                if (b->sandbox)
                        executed_hear(b->sandbox, body, m->len);
                break;
        case WIRE_BOX_USED:
                usage_hear(b, body, m->len);
                break;
        case WIRE_BOX_KEPT:
                on_kept(b, body);
                break;
        case WIRE_BOX_LIMITED:
                limiting_hear(b, body);
                break;
        case WIRE_BOX_FOUND:
                on_found(b, body);
                break;
        case WIRE_BOX_STREAMS:
                on_streams(b, body, m);
                break;
        case WIRE_BOX_GONE:
                on_gone(b, body);
                break;
        default:
                break;
        }
}

static void
on_pause(struct loop_timer *t)
{
        call_again((struct box *)(void *)((char *)t - offsetof(struct box, patience)), false);
}

/*
 * A box that still listens is not lost. It may have cut the keeper off for reading slowly, before
 * all its reports were sent. If it cannot be reached now (its accept queue is full, or the keeper
 * has no descriptor), the keeper retries after a pause.
 */
static void
call_again(struct box *b, bool was_ready)
{
        struct sandbox *s = b->sandbox;
        bool may_live = s->state != SANDBOX_STOPPING && (was_ready || s->is_attached) &&
                        b->tries < CALLS_AGAIN;
        struct error e;
        int result = may_live ? box_attach(b->keeper, b->id, s, &e) : 1;

        if (result == 0) {
                s->box->tries = was_ready ? 0 : b->tries + 1;
                /* lint: the new box is in the keeper's list, and the sweep frees it */
                s->leaves_directory = false;
                b->sandbox = NULL;
                box_forget(b);
                return;
        }
        /* it may be alive, and its socket is the only way to it */
        s->leaves_directory = result < 0;
        if (result < 0) {
                b->tries++;
                s->state = SANDBOX_STARTING;
                s->is_attached = true;
                if (loop_timer_set(b->keeper->loop, &b->patience, loop_now_ms() + CALL_PAUSE_MS,
                                   on_pause) == 0)
                        return;
        }
        box_lose_execs(b);
        if (s->is_attached)
                audit_settle(s);
        sandbox_box_lost(s, "its process ended");
        calls_begin(&b->listening);
}

/*
 * The box closed its socket without reporting its end. Its journal may say more, or it may still
 * run.
 */
static void
on_silence(struct box *b)
{
        struct wire_box_gone gone;
        bool was_ready = b->is_ready;

        hang_up(b);
        if (!b->is_later)
                usage_bury(b);
        if (!b->is_later && journal_read(b->keeper->boxes_fd, b->id, &reader, b, &gone)) {
                on_gone(b, &gone);
                return;
        }
        if (b->sandbox) {
                call_again(b, was_ready);
                return;
        }
        box_remove_directory(b->keeper, b->id);
        box_forget(b);
}

void
box_on_words(struct peer *p, uint32_t events)
{
        struct box *b = (struct box *)p;
        _Alignas(8) unsigned char body[WALLED_MAX];
        struct wire_message m;

        _Static_assert(sizeof(struct wire_box_listed) <= WALLED_MAX &&
                               sizeof(struct wire_box_refused) <= WALLED_MAX &&
                               sizeof(struct wire_box_found) <= WALLED_MAX,
                       "room for all that a box says");
        for (int i = 0; i < PEER_BURST && p->fd >= 0 && !b->is_condemned; i++) {
                int result = wire_receive(p->fd, 0, &m, body, sizeof body);

                if (result == -EAGAIN)
                        break;
                if (result == -EMFILE)
                        /* no room for its descriptors; the code that needs them reports that */
                        result = 1;
                if (b->is_later && result != 0) {
                        if (result > 0)
                                wire_message_close(&m);
                        continue;
                }
                if (result <= 0 || !has_shape(&m) ||
                    (!b->was_greeted && m.kind != WIRE_BOX_HELLO && m.kind != WIRE_BOX_GONE)) {
                        if (result > 0)
                                wire_message_close(&m);
                        on_silence(b);
                        return;
                }
                hear(b, &m, body);
                wire_message_close(&m);
        }
        if (p->is_broken && p->fd >= 0 && !b->is_condemned)
                on_silence(b);
}

/* -- connections to ports inside --------------------------------------------------------------- */

void
box_connect(struct box *b, uint16_t port, struct connect_request *r)
{
        struct wire_connect ask = { .request = ++b->last_request, .port = port };

        content_disturb(b, "port");
        r->number = ask.request;
        r->next = b->requests;
        b->requests = r;
        if (box_send(b, WIRE_BOX_CONNECT, &ask, sizeof ask) == 0)
                return;
        box_cancel(b, r);
        r->done(r, ECONNRESET, -1);
}

void
box_cancel(struct box *b, struct connect_request *r)
{
        for (struct connect_request **at = &b->requests; *at; at = &(*at)->next) {
                if (*at == r) {
                        *at = r->next;
                        return;
                }
        }
}

/* -- finding boxes again ----------------------------------------------------------------------- */

/* A box whose accept queue is full is alive, so this retries for a moment. */
static int
connect_to(int fd, int directory)
{
        struct sockaddr_un address;
        int result = -1;

        box_socket_address(&address, directory);
        for (int tries = 0; tries < CONNECT_TRIES; tries++) {
                result = connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno
                                                                                            : 0;
                if (result != -EAGAIN && result != -EINTR)
                        break;
                (void)poll(NULL, 0, CONNECT_PAUSE_MS);
        }
        return result;
}

int
box_attach(struct keeper *k, const char *id, struct sandbox *s, struct error *e)
{
        scoped_fd int directory = box_open_directory(k, id), fd = -1;
        struct box *b;
        int result;

        if (directory < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
                               ? 1
                               : fail_sys(e, ERROR_INTERNAL, errno,
                                          "opening the directory of the sandbox %s", id);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "making a socket");
        result = connect_to(fd, directory);
        if (result < 0)
                return result == -ECONNREFUSED || result == -ENOENT
                               ? 1
                               : fail_sys(e, ERROR_INTERNAL, -result, "connecting to the box %s",
                                          id);
        b = box_new(k, id, s);
        if (!b)
                return fail(e, ERROR_NO_MEMORY, "no memory for a box");
        result = peer_open(&b->peer, k->loop, fd_take(&fd), box_on_words);
        if (result < 0) {
                box_forget(b);
                return fail_sys(e, ERROR_INTERNAL, -result, "listening to the box %s", id);
        }
        content_disturb(b, "used");
        b->is_used = true;
        if (s) {
                s->box = b;
                s->state = SANDBOX_STARTING;
                s->is_attached = true;
        }
        (void)loop_timer_set(k->loop, &b->patience, loop_now_ms() + PATIENCE_MS, box_on_impatience);
        return 0;
}

/* No process answers there. Only its journal says what happened. */
int
box_bury(struct sandbox *s, struct error *e)
{
        struct box *b = box_new(s->keeper, s->id, s);
        struct wire_box_gone gone = { .cause = BOX_GONE_DIED };

        if (!b)
                return fail(e, ERROR_NO_MEMORY, "no memory for a box");
        b->is_gone = true;
        s->box = b;
        s->state = SANDBOX_STARTING;
        s->is_attached = true;
        usage_bury(b);
        (void)journal_read(b->keeper->boxes_fd, b->id, &reader, b, &gone);
        box_lose_execs(b);
        audit_settle(s);
        sandbox_box_gone(s, &gone);
        return 0;
}
