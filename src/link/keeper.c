/*
 * link/keeper.c - the link to the keeper.
 *
 * Room: link (acting). Touches: fd, mem.
 * Theory: one socket, one message a datagram, a serial a call. If the socket has no room for a
 * call, the call waits in a bounded queue. Answers are read into one buffer and are valid only
 * during the callback.
 */
#include "link/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "wire/queue.h"

enum { QUEUE_MAX = 16 << 20, TURN_MAX = 64 };

struct keeper {
        struct loop_watch watch; /* must be first */
        struct loop *loop;
        int fd;
        uint32_t serial;
        struct keeper_call *calls;
        struct wire_queue queue;
        void (*gone)(void *data);
        void *data;
        _Alignas(16) unsigned char body[WIRE_BODY_MAX];
        _Alignas(16) unsigned char out[WIRE_BODY_MAX];
};

static struct keeper_call *
find_call(const struct keeper *k, uint32_t serial)
{
        struct keeper_call *c = k->calls;

        while (c && c->serial != serial)
                c = c->next;
        return c;
}

static void
unlink_call(struct keeper_call *c)
{
        if (!c->keeper)
                return;
        for (struct keeper_call **at = &c->keeper->calls; *at; at = &(*at)->next) {
                if (*at == c) {
                        *at = c->next;
                        break;
                }
        }
        c->keeper = NULL;
        c->next = NULL;
}

/* -- out --------------------------------------------------------------------------------------- */

static void
watch_for(struct keeper *k)
{
        (void)loop_watch_change(&k->watch, EPOLLIN | (k->queue.first ? EPOLLOUT : 0));
}

static int
send_one(struct keeper *k, uint16_t kind, const void *bytes, size_t len, struct error *e)
{
        int result;

        /*
         * WIRE_CANCEL is always queued: without it the keeper would keep an unused watcher for
         * ever; each call sends at most one
         */
        if (k->queue.first && k->queue.bytes + len > QUEUE_MAX && kind != WIRE_CANCEL)
                return fail(e, ERROR_UNAVAILABLE, "the keeper takes no more calls at the moment");
        result = wire_queue_send(&k->queue, kind, bytes, len, NULL, 0);
        if (result == -ENOBUFS)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this call");
        if (result < 0)
                return fail_sys(e, ERROR_UNAVAILABLE, -result, "the keeper is not there");
        watch_for(k);
        return 0;
}

/* -- in ---------------------------------------------------------------------------------------- */

static void
give_reply(struct keeper_call *c, const struct keeper_reply *r)
{
        if (r->is_last && (r->error || !c->event))
                unlink_call(c);
        c->reply(c, r);
}

/* has_fds false: this process could not take the descriptors that came with it. */
static void
take_reply(struct keeper *k, struct wire_message *m, bool has_fds)
{
        const struct wire_reply *head = (const struct wire_reply *)(const void *)k->body;
        struct keeper_reply r = { .fds = m->fds, .fd_count = m->fd_count };
        struct keeper_call *c;
        struct error e;

        if (m->len < sizeof *head || !(c = find_call(k, head->serial)))
                return;
        r.fields = (struct record){ k->body + sizeof *head, m->len - sizeof *head };
        r.is_last = (head->flags & REPLY_MORE) == 0;
        if (record_check(&r.fields) < 0) {
                (void)fail(&e, ERROR_PROTOCOL, "the keeper's answer is malformed");
                r = (struct keeper_reply){ .error = &e, .is_last = 1 };
        } else if ((head->flags & REPLY_ERROR) != 0) {
                api_error_read(&r.fields, &e);
                r.error = &e;
                r.is_last = 1;
        } else if (!has_fds) {
                (void)fail(&e, ERROR_UNAVAILABLE,
                           "no descriptor is free for the answer to %s: whether it was done is not "
                           "known. Look before you repeat it",
                           operation((enum operation_code)c->op)->name);
                r = (struct keeper_reply){ .error = &e, .is_last = 1 };
        }
        give_reply(c, &r);
}

static void
take_event(struct keeper *k, const struct wire_message *m)
{
        const struct wire_call *head = (const struct wire_call *)(const void *)k->body;
        struct record fields;
        struct keeper_call *c;

        if (m->len < sizeof *head || !(c = find_call(k, head->serial)) || !c->event)
                return;
        fields = (struct record){ k->body + sizeof *head, m->len - sizeof *head };
        if (record_check(&fields) == 0)
                c->event(c, &fields);
}

static void
lose(struct keeper *k)
{
        struct error e;
        struct keeper_reply r = { .error = &e, .is_last = 1 };

        loop_watch_remove(&k->watch);
        (void)fail_at(&e, ERROR_UNAVAILABLE, NULL, KEEPER_GONE,
                      "the daemon ended before it answered, and is being started again");
        while (k->calls) {
                struct keeper_call *c = k->calls;

                unlink_call(c);
                c->reply(c, &r);
        }
        k->gone(k->data);
}

static void
ready(struct loop_watch *watch, uint32_t events)
{
        struct keeper *k = (struct keeper *)(void *)watch;

        if ((events & EPOLLOUT) != 0) {
                /* that the keeper is gone is noticed when the next answer is read */
                (void)wire_queue_flush(&k->queue);
                watch_for(k);
        }
        for (int i = 0; i < TURN_MAX && (events & ~(uint32_t)EPOLLOUT) != 0; i++) {
                struct wire_message m = { 0 };
                int got = wire_receive(k->fd, 0, &m, k->body, sizeof k->body);

                if (got == -EAGAIN)
                        return;
                /* one call fails for want of a descriptor, and not all calls of the link */
                if (got <= 0 && got != -EMFILE) {
                        lose(k);
                        return;
                }
                if (m.kind == WIRE_REPLY)
                        take_reply(k, &m, got != -EMFILE);
                else if (m.kind == WIRE_EVENT)
                        take_event(k, &m);
                wire_message_close(&m);
        }
}

/* -- for callers ------------------------------------------------------------------------------- */

int
keeper_open(struct loop *l, int take_fd, void (*gone)(void *data), void *data, struct keeper **ret,
            struct error *e)
{
        struct keeper *k = calloc(1, sizeof *k);
        int flags = fcntl(take_fd, F_GETFL);

        if (!k)
                return fail(e, ERROR_NO_MEMORY,
                            "there is no memory left for the link to the keeper");
        k->loop = l;
        k->fd = take_fd;
        k->gone = gone;
        k->data = data;
        wire_queue_init(&k->queue, take_fd, 0, 0);
        if (flags < 0 || fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
            loop_watch_add(l, &k->watch, take_fd, EPOLLIN, ready) < 0) {
                free(k);
                return fail(e, ERROR_INTERNAL, "the keeper's descriptor cannot be waited for");
        }
        *ret = k;
        return 0;
}

void
keeper_close(struct keeper *k)
{
        if (!k)
                return;
        loop_watch_remove(&k->watch);
        while (k->calls)
                unlink_call(k->calls);
        wire_queue_fini(&k->queue);
        (void)close(k->fd);
        free(k);
}

int
keeper_call(struct keeper *k, struct keeper_call *c, enum operation_code op,
            const struct record_writer *w, struct error *e)
{
        struct wire_call head;

        if (w->is_broken || w->len > CALL_RECORD_MAX)
                return fail(e, ERROR_REQUEST_TOO_LARGE, "the call holds more than %zu bytes",
                            (size_t)CALL_RECORD_MAX);
        do
                k->serial++;
        while (k->serial == 0 || find_call(k, k->serial));
        head = (struct wire_call){ .serial = k->serial,
                                   .op = (uint16_t)op,
                                   .protocol = CALL_PROTOCOL };
        memcpy(k->out, &head, sizeof head);
        if (w->len > 0)
                memcpy(k->out + sizeof head, w->bytes, w->len);
        if (send_one(k, WIRE_CALL, k->out, sizeof head + w->len, e) < 0)
                return -1;
        c->keeper = k;
        c->serial = k->serial;
        c->op = (uint16_t)op;
        c->next = k->calls;
        k->calls = c;
        return 0;
}

void
keeper_cancel(struct keeper_call *c)
{
        struct wire_call head = { .serial = c->serial, .op = c->op, .protocol = CALL_PROTOCOL };
        struct keeper *k = c->keeper;
        struct error e;

        if (!k)
                return;
        unlink_call(c);
        /* if the keeper has gone, its wait has ended too */
        (void)send_one(k, WIRE_CANCEL, &head, sizeof head, &e);
}
