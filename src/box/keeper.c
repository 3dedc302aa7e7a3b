/*
 * box/keeper.c - the links to keepers: reports to them, and when their requests are read.
 *
 * Room: box (program). Touches: fd, credentials of the peer.
 * Theory: a keeper may come and go. Messages for it wait in its queue. No action of a payload or of
 * a single caller ends its link (Q1 of keeper/peer.h):
 *
 *     answers, and commands    while the queue of a keeper is full, its requests are not read. It
 *                              can cause only one more list, and the ends of running commands:
 *                              less than half of KEEPER_QUEUE_MAX
 *     refusals of the network  sent when the queue is empty, and then only what the wall still
 *                              remembers (box/wall.c)
 *     names that were moved    at most 64, then the box ends (maker/guard.c)
 *     what a command left      at most 96 for each search (maker/survey.c)
 *
 * Only a keeper that does not read while another keeper stays active is cut off, at
 * KEEPER_QUEUE_MAX. Its next connection starts with everything.
 */
#include "box/keeper.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "box/holder.h"
#include "box/state.h"

void
keeper_drop(struct keeper *k)
{
        struct keeper **at = &k->box->keepers;

        while (*at != k)
                at = &(*at)->next;
        *at = k->next;
        k->box->calls->forget(k);
        loop_watch_remove(&k->watch);
        wire_queue_fini(&k->queue);
        (void)close(k->queue.fd);
        if (k->box->one.is_on || (k->box->begin.flags & BOX_BEGIN_TIED) != 0)
                /* no other can come */
                k->box->calls->end(k->box, BOX_GONE_STOPPED);
        free(k);
}

void
keeper_watch(struct keeper *k)
{
        (void)loop_watch_change(&k->watch,
                                (k->queue.bytes >= KEEPER_QUEUE_FULL ? 0u : (uint32_t)EPOLLIN) |
                                        (k->queue.first ? (uint32_t)EPOLLOUT : 0u));
}

/*
 * A keeper whose queue is full is closed in its own turn: its socket is shut down, which wakes the
 * loop.
 */
void
keeper_pass(struct keeper *k, uint16_t kind, const void *bytes, size_t len, const int *take_fds,
            size_t fd_count)
{
        if (wire_queue_send(&k->queue, kind, bytes, len, take_fds, fd_count) < 0)
                (void)shutdown(k->queue.fd, SHUT_RDWR);
        keeper_watch(k);
}

void
keeper_say_all(struct box *b, uint16_t kind, const void *bytes, size_t len)
{
        for (struct keeper *k = b->keepers; k; k = k->next)
                keeper_pass(k, kind, bytes, len, NULL, 0);
}

void
keeper_say(struct keeper *k, uint16_t kind, const void *bytes, size_t len)
{
        keeper_pass(k, kind, bytes, len, NULL, 0);
}

void
keeper_say_found(struct box *b, const struct wire_kept *kept)
{
        struct wire_box_found one = { .number = b->found.total + 1,
                                      .at_ms = loop_wall_ms(),
                                      .shown = b->found.shown,
                                      .kept = *kept };

        (void)found_put(&b->found, &one);
        if (b->protocol >= BOX_PROTOCOL_FOUND)
                keeper_say_all(b, WIRE_BOX_FOUND, &one, sizeof one);
        else
                keeper_say_all(b, WIRE_BOX_KEPT, kept, sizeof *kept);
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct keeper *k = box_holder(w, struct keeper, watch);
        struct box *b = k->box;
        int result = 0;

        /*
         * A keeper that has ended may have replied to the callers of its last messages, so they are
         * read first.
         */
        if ((events & EPOLLOUT) != 0 && wire_queue_flush(&k->queue) < 0)
                wire_queue_fini(&k->queue);
        else if ((events & EPOLLOUT) != 0)
                b->calls->drained(k);
        if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                result = b->calls->serve(k);
        if (result < 0)
                keeper_drop(k);
        else
                keeper_watch(k);
        b->calls->check_over(b);
}

int
keeper_accept(struct box *b, int take_fd_of)
{
        struct keeper *k = calloc(1, sizeof *k);
        size_t count = 0;

        for (const struct keeper *other = b->keepers; other; other = other->next)
                count++;
        if (!k || count >= KEEPERS_MAX || fcntl(take_fd_of, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
            loop_watch_add(b->loop, &k->watch, take_fd_of, EPOLLIN, ready) < 0) {
                free(k);
                (void)close(take_fd_of);
                return -1;
        }
        k->box = b;
        k->number = ++b->last_keeper;
        wire_queue_init(&k->queue, take_fd_of, KEEPER_QUEUE_MAX, 0);
        k->next = b->keepers;
        b->keepers = k;
        b->calls->greet(k);
        return 0;
}
