/*
 * box/handover.c - which caller owns a foreground exec, while a keeper hands it over.
 *
 * Room: box (program). Touches: fd (peeks at input), clock.
 *
 *     ordered --HANDED--> the caller's --the caller closes--> killed
 *        | closed, no HANDED yet   ^
 *        '--> kept --a call with its key--'
 *               '--no call for BOX_REPEAT_MS--> killed
 *
 * Theory: the keeper first orders the exec, and then sends the caller its end of the channel. If
 * the keeper dies in between, the kernel closes that end, as if the caller had left. But the caller
 * lives, and repeats its call if the call has a key; without a key it may not. A kept channel is
 * the place of that repeat: a reader that must lose nothing starts at the first byte. Input that
 * the keeper sent for the caller is still read from it. What such a channel had taken is lost with
 * it, so until HANDED the log keeps it: a command that fills the log meanwhile waits.
 */
#include "box/handover.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "box/holder.h"
#include "box/state.h"

enum { SAID_FIRST = 64 * 1024, SAID_MAX = 16 << 20, HOLD_MS = 5000 };
/* bytes; no socket holds so many, so a caller has read some of them */
enum { TAKEN = 768 * 1024 };

static int
may_be_called_again(const struct channel *c)
{
        const struct exec *x = c->exec;

        return c->is_owner && !c->is_handed && x->key[0] != '\0' &&
               (x->flags & BOX_EXEC_BACKGROUND) == 0 && !x->is_over &&
               x->box->protocol >= BOX_PROTOCOL_HANDED && x->box->state < BOX_ENDING;
}

/* -- the log keeps all ------------------------------------------------------------------------- */

void
handover_hold(struct channel *c)
{
        c->holds = c->is_lossless && may_be_called_again(c);
        for (int i = 0; i < 2; i++)
                c->from[i] = c->exec->out[i].log.first;
}

static void
release(struct channel *c)
{
        if (!c->holds)
                return;
        c->holds = 0;
        loop_timer_remove(&c->patience);
        for (int i = 0; i < 2; i++)
                output_watch(&c->exec->out[i]);
}

/* The keeper is slow, not dead. */
static void
held_long(struct loop_timer *t)
{
        release(box_holder(t, struct channel, patience));
}

void
handover_grown(struct channel *c)
{
        int is_full = 0;
        uint64_t taken = 0;

        for (int i = 0; i < 2 && c->holds; i++) {
                is_full |= log_free_behind(&c->exec->out[i].log, c->from[i]) == 0;
                taken += c->at[i] - c->from[i];
        }
        if (is_full && (taken > c->rest_len + TAKEN ||
                        (c->patience.due_ms == LOOP_NEVER &&
                         loop_timer_set(c->exec->box->loop, &c->patience, loop_now_ms() + HOLD_MS,
                                        held_long) < 0)))
                release(c);
}

/* -- who owns it ------------------------------------------------------------------------------- */

static void
close_end(struct channel *c)
{
        loop_watch_remove(&c->watch);
        if (c->fd >= 0)
                (void)close(c->fd);
        c->fd = -1;
        c->is_hung = 0;
}

int
handover_has_owner(const struct exec *x)
{
        for (const struct channel *c = x->channels; c; c = c->next)
                if (c->is_owner)
                        return 1;
        return 0;
}

int
handover_keep(struct channel *c, void (*give_up)(struct loop_timer *t))
{
        struct exec *x = c->exec;
        char byte;

        if (c->is_kept) {
                close_end(c); /* now all its input is read */
                return 1;
        }
        if (!may_be_called_again(c))
                return 0;
        for (struct channel *other = x->channels; other; other = other->next)
                if (other != c && other->is_repeat) { /* the repeat came before this event */
                        other->is_owner = 1;
                        return 0;
                }
        if (loop_timer_set(x->box->loop, &c->patience, loop_now_ms() + BOX_REPEAT_MS, give_up) < 0)
                return 0;
        c->is_kept = 1;
        c->holds = 0;
        c->is_lossless = (x->flags & BOX_EXEC_LOSSLESS) != 0;
        c->at[0] = c->at[1] = 0;
        free(c->rest);
        c->rest = NULL;
        if (recv(c->fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) <= 0) {
                close_end(c);
        } else {
                loop_watch_remove(&c->watch);
                c->is_hung = 1; /* read when there is room */
        }
        return 1;
}

struct channel *
handover_adopt(struct channel *c)
{
        for (struct channel *k = c->exec->channels; k; k = k->next) {
                if (!k->is_kept)
                        continue;
                loop_timer_remove(&k->patience);
                k->is_kept = k->is_owner = 0;
                c->is_owner = 1;
                if (k->fd < 0)
                        return k;
        }
        return NULL;
}

void
handover_done(struct exec *x, uint64_t keeper)
{
        struct channel *last = NULL;

        for (struct channel *c = x->channels; c; c = c->next)
                if (c->by == keeper)
                        last = c;
        if (!last)
                return;
        last->is_handed = 1;
        release(last);
}

/* True: the frames contain a DETACH. They start inside the frame that is being received. */
static int
has_detach(const struct channel *c, const unsigned char *bytes, size_t len)
{
        struct channel_frame head = c->head;
        size_t got = c->head_got, left = got == sizeof head ? c->body_left : 0;

        while (len > 0) {
                size_t part = got < sizeof head ? sizeof head - got : left;

                part = part < len ? part : len;
                if (got < sizeof head) {
                        memcpy((unsigned char *)&head + got, bytes, part);
                        got += part;
                        left = got == sizeof head ? head.len : 0;
                } else {
                        left -= part;
                }
                bytes += part;
                len -= part;
                if (got == sizeof head && left == 0) {
                        if (head.kind == CHANNEL_DETACH)
                                return 1;
                        got = 0;
                }
        }
        return 0;
}

int
handover_says_detach(const struct channel *c)
{
        for (size_t room = SAID_FIRST; room <= SAID_MAX; room *= 2) {
                unsigned char *said = malloc(room);
                ssize_t got = said ? recv(c->fd, said, room, MSG_PEEK | MSG_DONTWAIT) : -1;
                int found = got > 0 && has_detach(c, said, (size_t)got);

                if (said)
                        /* input may contain a secret */
                        explicit_bzero(said, got > 0 ? (size_t)got : 0);
                free(said);
                if (found || got < 0 || (size_t)got < room)
                        return found;
        }
        return 0;
}
