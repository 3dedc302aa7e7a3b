/*
 * box/channel.c - one caller of one exec: frames to it, frames from it.
 *
 * Room: box (program). Touches: fd, mem.
 * Theory: each caller has its own position in each log, and is sent what follows when its socket
 * has room. If the socket takes only a part, the rest is copied, so a log never waits for a socket.
 * For a slow caller, the log's oldest byte is past its position: only then it loses bytes. STARTED,
 * output and END that are ready together are sent in one call.
 *
 * Input has one order: what an older channel sent is read before what a newer one sends, because a
 * caller opens the next channel after the last one was sent. Input that a caller sent before it
 * left is read later, while the command runs.
 */
#include "box/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "box/handover.h"
#include "box/holder.h"
#include "box/state.h"
#include "box/streams.h"

enum { PIECES = 12, INPUT_CHUNK = 16 * 1024, INPUT_TURN = 16 };

/* Frames that are sent together. */
struct parcel {
        struct iovec pieces[PIECES];
        int count;
        size_t len;
        struct channel_frame heads[4];
        int head_count;
        struct channel_started started;
        struct wire_exec_failed failed;
        struct channel_end end;
};

static void
add_piece(struct parcel *p, void *bytes, size_t len)
{
        p->pieces[p->count++] = (struct iovec){ bytes, len };
        p->len += len;
}

static void
add_head(struct parcel *p, uint32_t kind, size_t len, uint64_t offset)
{
        struct channel_frame *head = &p->heads[p->head_count++];

        *head = (struct channel_frame){ kind, (uint32_t)len, offset };
        add_piece(p, head, sizeof *head);
}

static void
add_output(struct parcel *p, struct channel *c, int stream)
{
        const struct log *log = &c->exec->out[stream].log;
        struct iovec pieces[2];
        uint64_t offset;
        int count = log_peek(log, c->at[stream], OUTPUT_CHUNK, pieces, &offset);
        size_t len = 0;

        if (offset > c->at[stream]) {
                c->missed += offset - c->at[stream];
                c->at[stream] = offset;
        }
        for (int i = 0; i < count; i++)
                len += pieces[i].iov_len;
        if (len == 0)
                return;
        add_head(p, stream == 0 ? CHANNEL_STDOUT : CHANNEL_STDERR, len, offset);
        for (int i = 0; i < count; i++)
                add_piece(p, pieces[i].iov_base, pieces[i].iov_len);
        c->at[stream] += len;
}

static int
has_everything(const struct channel *c)
{
        for (int i = 0; i < 2; i++)
                if (c->exec->out[i].left > 0 || c->at[i] < c->exec->out[i].log.end)
                        return 0;
        return 1;
}

static void
assemble(struct parcel *p, struct channel *c)
{
        struct exec *x = c->exec;
        size_t len;

        p->count = p->head_count = 0;
        p->len = 0;
        if (x->state == BOX_EXEC_STARTING || c->said_end || c->is_deaf)
                return;
        if (x->state == BOX_EXEC_FAILED) {
                p->failed = x->failed;
                add_head(p, CHANNEL_FAILED, sizeof p->failed, 0);
                add_piece(p, &p->failed, sizeof p->failed);
                c->said_end = 1;
                return;
        }
        if (!c->said_started) {
                p->started = (struct channel_started){ x->number, x->pid };
                add_head(p, CHANNEL_STARTED, sizeof p->started, 0);
                add_piece(p, &p->started, sizeof p->started);
                c->said_started = 1;
        }
        add_output(p, c, 0);
        add_output(p, c, 1);
        if (!x->is_over || !has_everything(c))
                return;
        p->end = x->end;
        p->end.dropped_bytes += c->missed;
        /* a caller of an older version knows only the first part */
        len = p->end.sanitized.kinds != 0 ? sizeof p->end : sizeof(struct channel_end_listed);
        add_head(p, CHANNEL_END, len, 0);
        add_piece(p, &p->end, len);
        c->said_end = 1;
}

/* Keeps what the socket did not take. 0; -1: the caller is gone, or no memory. */
static int
keep_rest(struct channel *c, const struct parcel *p, size_t sent)
{
        size_t at = 0;

        c->rest_len = p->len - sent;
        c->rest_at = 0;
        c->rest = malloc(c->rest_len);
        if (!c->rest)
                return -1;
        for (int i = 0; i < p->count; i++) {
                size_t skip = sent < p->pieces[i].iov_len ? sent : p->pieces[i].iov_len;

                sent -= skip;
                memcpy(c->rest + at, (const unsigned char *)p->pieces[i].iov_base + skip,
                       p->pieces[i].iov_len - skip);
                at += p->pieces[i].iov_len - skip;
        }
        return 0;
}

/* 1: all sent; 0: the caller must read first; -1: the caller is gone. */
static int
send_rest(struct channel *c)
{
        while (c->rest) {
                ssize_t sent = send(c->fd, c->rest + c->rest_at, c->rest_len - c->rest_at,
                                    MSG_DONTWAIT | MSG_NOSIGNAL);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0)
                        return errno == EAGAIN ? 0 : -1;
                c->rest_at += (size_t)sent;
                if (c->rest_at < c->rest_len)
                        continue;
                free(c->rest);
                c->rest = NULL;
        }
        return 1;
}

static int
send_parcel(struct channel *c, struct parcel *p)
{
        struct msghdr message = { .msg_iov = p->pieces };
        ssize_t sent;

        /* its type differs by C library */
        message.msg_iovlen = (__typeof__(message.msg_iovlen))p->count;
        do
                sent = sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent < 0 && errno != EAGAIN)
                return -1;
        if (sent == (ssize_t)p->len)
                return 1;
        return keep_rest(c, p, sent < 0 ? 0 : (size_t)sent);
}

static int
say(struct channel *c)
{
        struct parcel p;
        int result = send_rest(c);

        for (int turns = 8; result > 0 && turns > 0; turns--) {
                assemble(&p, c);
                if (p.len == 0)
                        return 1;
                result = send_parcel(c, &p);
        }
        return result > 0 ? 0 : result; /* others get a turn before the rest */
}

/* -- the end ----------------------------------------------------------------------------------- */

void
channel_free(struct channel *c)
{
        struct channel **at = &c->exec->channels;

        while (*at != c)
                at = &(*at)->next;
        *at = c->next;
        loop_watch_remove(&c->watch);
        loop_timer_remove(&c->patience);
        if (c->fd >= 0)
                (void)close(c->fd);
        free(c->rest);
        free(c);
}

/* No repeat came. */
static void
give_up(struct loop_timer *t)
{
        struct channel *c = box_holder(t, struct channel, patience);
        struct exec *x = c->exec;

        channel_free(c);
        x->calls->left(x, 1);
}

/* The caller has left, or has received everything. */
static void
done(struct channel *c)
{
        struct exec *x = c->exec;
        unsigned leaves_alone = c->is_owner && !c->is_detached && !c->said_end;

        if (leaves_alone && handover_keep(c, give_up))
                return;
        channel_free(c);
        x->calls->left(x, leaves_alone); /* may free the exec */
}

/* -- from the caller --------------------------------------------------------------------------- */

static void
obey(struct channel *c)
{
        struct exec *x = c->exec;

        if (c->head.kind == CHANNEL_STDIN_END) {
                input_end(&x->in);
        } else if (c->head.kind == CHANNEL_SIGNAL && c->head.len == sizeof(struct wire_number)) {
                struct wire_number number;

                memcpy(&number, c->body, sizeof number);
                if (!x->is_over && x->is_sent)
                        job_signal(&x->job, number.number);
        } else if (c->head.kind == CHANNEL_RESIZE && c->head.len == sizeof(struct wire_size)) {
                struct wire_size size;

                memcpy(&size, c->body, sizeof size);
                if (x->out[0].fd >= 0 && (x->wire_flags & WIRE_EXEC_TTY) != 0)
                        job_resize(&x->job, x->out[0].fd, &size);
        } else if (c->head.kind == CHANNEL_DETACH) {
                c->is_detached = 1;
        }
}

/*
 * Each byte of the call's input is used once, from the first channel that sends it. A caller that
 * joined in another way (exec.stdin) adds to the input.
 */
static void
take_input(struct channel *c, const unsigned char *bytes, size_t len)
{
        struct exec *x = c->exec;
        size_t known = 0;

        if (c->says_whole) {
                if (c->said < x->heard)
                        known = x->heard - c->said < len ? (size_t)(x->heard - c->said) : len;
                c->said += len;
                x->heard = c->said > x->heard ? c->said : x->heard;
        }
        if (len > known && x->in.fd >= 0) {
                streams_input(x, bytes + known, len - known);
                input_put(&x->in, bytes + known, len - known);
        }
}

/* Handles a run of bytes as received. -1: an unknown frame. */
static int
take(struct channel *c, const unsigned char *bytes, size_t len)
{
        while (len > 0) {
                size_t part;

                if (c->head_got < sizeof c->head) {
                        part = len < sizeof c->head - c->head_got ? len
                                                                  : sizeof c->head - c->head_got;
                        memcpy((unsigned char *)&c->head + c->head_got, bytes, part);
                        c->head_got += part;
                        if (c->head_got == sizeof c->head) {
                                c->body_left = c->head.len;
                                c->body_got = 0;
                                if (c->head.kind < CHANNEL_STDIN ||
                                    c->head.kind >= CHANNEL_KIND_MAX ||
                                    c->head.len > CHANNEL_FRAME_MAX ||
                                    (c->head.kind != CHANNEL_STDIN && c->head.len > sizeof c->body))
                                        return -1;
                        }
                } else {
                        part = len < c->body_left ? len : c->body_left;
                        if (c->head.kind == CHANNEL_STDIN)
                                take_input(c, bytes, part);
                        else
                                memcpy(c->body + c->body_got, bytes, part);
                        c->body_got += part;
                        c->body_left -= part;
                }
                bytes += part;
                len -= part;
                if (c->head_got == sizeof c->head && c->body_left == 0) {
                        if (c->head.kind != CHANNEL_STDIN)
                                obey(c);
                        c->head_got = 0;
                }
        }
        return 0;
}

/*
 * True: read this caller now. Not before the command can take input, and not while its last input
 * still waits.
 */
static int
may_speak(const struct channel *c)
{
        const struct exec *x = c->exec;

        return x->is_over || (x->in.len == 0 && !x->in.wants_end && x->state != BOX_EXEC_STARTING);
}

static void
set_events(struct channel *c)
{
        uint32_t events = (may_speak(c) ? EPOLLIN : 0u) | (c->rest ? EPOLLOUT : 0u);

        (void)loop_watch_change(&c->watch, events);
}

/* the caller is gone; there may be more; there is no more now */
enum heard { HEARD_LAST, HEARD_SOME, HEARD_ALL };

static enum heard
hear(struct channel *c)
{
        /* static, so that it is not cleared on each call */
        static unsigned char bytes[INPUT_CHUNK];

        for (int turns = INPUT_TURN; turns > 0 && may_speak(c) && !c->is_broken; turns--) {
                ssize_t got = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return errno == EAGAIN ? HEARD_ALL : HEARD_LAST;
                if (got == 0)
                        return HEARD_LAST;
                if (take(c, bytes, (size_t)got) < 0)
                        c->is_broken = 1;
        }
        return c->is_broken ? HEARD_LAST : HEARD_SOME;
}

/*
 * Reads older channels first. A channel found closed is ended by its own event. 1: continue; 0:
 * this caller is gone.
 */
static int
hear_in_order(struct channel *c)
{
        for (struct channel *older = c->exec->channels; older != c; older = older->next)
                if (hear(older) == HEARD_SOME)
                        return 1;
        return hear(c) != HEARD_LAST;
}

static void channel_push(struct channel *c);

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct channel *c = box_holder(w, struct channel, watch);

        if ((events & (EPOLLHUP | EPOLLERR)) != 0 && !may_speak(c)) {
                if (c->is_owner && !c->is_detached && (c->exec->flags & BOX_EXEC_BACKGROUND) == 0 &&
                    !handover_says_detach(c)) {
                        /* no caller waits for the exec any more, even if it could read more
                         * input */
                        done(c);
                        return;
                }
                c->is_hung = 1; /* input sent before it left is read later */
                loop_watch_remove(&c->watch);
                return;
        }
        if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !hear_in_order(c)) {
                done(c);
                return;
        }
        channel_push(c);
}

static void
listen_again(struct channel *c)
{
        if (c->is_hung && may_speak(c)) {
                c->is_hung = 0;
                (void)loop_watch_add(c->exec->box->loop, &c->watch, c->fd, EPOLLIN, ready);
        }
        set_events(c);
}

void
channel_feed_all(struct exec *x)
{
        for (struct channel *c = x->channels; c; c = c->next)
                listen_again(c);
}

/* -- to the caller ----------------------------------------------------------------------------- */

/* The caller reads no more. True: its input is not needed either. */
static int
is_spent(struct channel *c)
{
        const struct exec *x = c->exec;

        free(c->rest);
        c->rest = NULL;
        c->is_deaf = 1;
        c->is_lossless = 0;
        if (!hear_in_order(c) || x->is_over)
                return 1;
        /* its disconnect ends the command */
        return c->is_owner && !c->is_detached && (x->flags & BOX_EXEC_BACKGROUND) == 0;
}

static void
channel_push(struct channel *c)
{
        struct exec *x = c->exec;
        int result;

        /* no process reads it, and its input may be read now */
        if (c->is_kept) {
                listen_again(c);
                return;
        }
        result = say(c);
        if ((c->said_end && !c->rest) || ((result < 0 || c->is_deaf) && is_spent(c))) {
                done(c);
                return;
        }
        handover_grown(c);
        if (c->is_lossless || result < 0)
                for (int i = 0; i < 2; i++)
                        output_watch(&x->out[i]);
        if (result == 0 && !c->rest && c->watch.loop)
                (void)loop_watch_change(&c->watch, c->watch.events | EPOLLOUT);
        else
                listen_again(c);
}

/* Each channel may be the last of a quiet exec and free it, so the exec is not used afterwards. */
void
channel_push_all(struct exec *x)
{
        for (struct channel *c = x->channels, *next; c; c = next) {
                next = c->next;
                channel_push(c);
        }
}

void
channel_open(struct exec *x, int take_fd, enum channel_of of, unsigned is_lossless,
             uint64_t out_offset, uint64_t err_offset)
{
        struct channel *c = calloc(1, sizeof *c), *spent, **at = &x->channels;

        if (!c) {
                (void)close(take_fd);
                return;
        }
        *c = (struct channel){ .exec = x,
                               .fd = take_fd,
                               .at = { out_offset, err_offset },
                               .is_owner = of == CHANNEL_OF_OWNER,
                               .is_repeat = of != CHANNEL_OF_OTHERS,
                               .by = x->box->speaker,
                               .patience = { .due_ms = LOOP_NEVER },
                               .says_whole =
                                       (of == CHANNEL_OF_SAME_CALL || of == CHANNEL_OF_OWNER) &&
                                       (x->wire_flags & WIRE_EXEC_TTY) == 0,
                               .is_lossless = is_lossless != 0 };
        while (*at)
                at = &(*at)->next;
        *at = c;
        while (c->is_repeat && (spent = handover_adopt(c)))
                channel_free(spent);
        handover_hold(c);
        if (loop_watch_add(x->box->loop, &c->watch, take_fd, 0, ready) < 0) {
                done(c);
                return;
        }
        channel_push(c);
}

void
channel_refuse(int take_fd, const struct wire_exec_failed *failed)
{
        struct channel_frame head = { CHANNEL_FAILED, sizeof *failed, 0 };
        unsigned char bytes[sizeof head + sizeof *failed];

        if (take_fd < 0)
                return;
        memcpy(bytes, &head, sizeof head);
        memcpy(bytes + sizeof head, failed, sizeof *failed);
        (void)!send(take_fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)close(take_fd);
}
