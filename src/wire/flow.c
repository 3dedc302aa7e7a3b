/*
 * wire/flow.c - many streams of bytes over one.
 *
 * Room: wire (words). Touches: fd.
 *
 *     one direction of a stream:  open --EOF read: EOF sent--> over
 *                                  | the reader is gone: STOP sent, or received --> over
 *
 * F1: a stream never has more than STREAM_WINDOW bytes waiting here; who sends more broke the
 *     protocol.
 * F2: a frame of data is added only while less than FLOWS_OUT_DATA waits, one for each stream in
 *     turn, so no stream and no message waits behind another's backlog.
 * F3: bytes for a stream that is over are dropped: they were on the way when its reader left.
 */
#include "wire/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRANT_LEAST = STREAM_WINDOW / 4, READS_AT_ONCE = 8, OUT_FIRST = 4096 };

static enum stream_side
other_side(const struct flows *f)
{
        return f->side == STREAM_RELAY ? STREAM_GUEST : STREAM_RELAY;
}

/* -- what waits for the stream ----------------------------------------------------------------- */

static uint8_t *
reserve(struct flows *f, size_t len)
{
        size_t room = f->out_room > 0 ? f->out_room : OUT_FIRST;
        uint8_t *grown;

        if (f->out_start > 0 && f->out_start + f->out_len + len > f->out_room) {
                memmove(f->out, f->out + f->out_start, f->out_len);
                f->out_start = 0;
        }
        while (room < f->out_len + len)
                room *= 2;
        if (room > FLOWS_OUT_MAX)
                return NULL;
        if (room > f->out_room) {
                grown = realloc(f->out, room);
                if (!grown)
                        return NULL;
                f->out = grown;
                f->out_room = room;
        }
        return f->out + f->out_start + f->out_len;
}

static int
put(struct flows *f, const struct stream_frame *frame, const void *body)
{
        uint8_t *out = reserve(f, STREAM_HEAD + frame->len);

        if (!out) {
                f->is_over = true;
                return -ENOBUFS;
        }
        stream_frame_write(frame, out);
        if (frame->len > 0)
                memcpy(out + STREAM_HEAD, body, frame->len);
        f->out_len += STREAM_HEAD + frame->len;
        return 0;
}

static int
put_empty(struct flows *f, const struct flow *w, enum stream_type type)
{
        return put(f, &(struct stream_frame){ type, w->channel, 0, w->number, 0 }, NULL);
}

static int
put_credit(struct flows *f, struct flow *w)
{
        uint8_t bytes[4];

        stream_credit_write(w->owed, bytes);
        w->granted += w->owed;
        w->owed = 0;
        return put(f, &(struct stream_frame){ STREAM_CREDIT, w->channel, 0, w->number, 4 }, bytes);
}

int
flows_say(struct flows *f, uint16_t kind, const void *body, size_t len)
{
        f->has_secret |= kind == WIRE_EXEC;
        return put(
                f,
                &(struct stream_frame){ STREAM_MESSAGE, STREAM_NO_CHANNEL, kind, 0, (uint32_t)len },
                body);
}

bool
flows_has_room(const struct flows *f)
{
        return f->out_len < FLOWS_OUT_DATA && f->count + 3 <= FLOWS_MAX;
}

bool
flows_is_flushed(const struct flows *f)
{
        return f->out_len == 0;
}

static int
flush(struct flows *f)
{
        while (f->out_len > 0) {
                ssize_t put_len = write(f->stream, f->out + f->out_start, f->out_len);

                if (put_len < 0 && errno == EINTR)
                        continue;
                if (put_len < 0)
                        return errno == EAGAIN ? 0 : -errno;
                f->out_start += (size_t)put_len;
                f->out_len -= (size_t)put_len;
        }
        f->out_start = 0;
        if (f->has_secret)
                explicit_bzero(f->out, f->out_room);
        f->has_secret = false;
        if (f->out_room > 2 * FLOWS_OUT_DATA) { /* after a burst of large messages */
                free(f->out);
                f->out = NULL;
                f->out_room = 0;
        }
        return 0;
}

/* -- streams ----------------------------------------------------------------------------------- */

static struct flow *
find(const struct flows *f, enum stream_channel channel, uint32_t number)
{
        for (struct flow *w = f->first; w; w = w->next)
                if (w->channel == channel && w->number == number)
                        return w;
        return NULL;
}

/* A pipe or socket is ours alone; of another file the flags may be shared with its owner. */
static void
set_non_blocking(int fd)
{
        struct stat st;
        int flags = fcntl(fd, F_GETFL);

        if (fd >= 0 && flags >= 0 && fstat(fd, &st) == 0 &&
            (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode)))
                (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void
close_from(struct flows *f, struct flow *w)
{
        if (w->from < 0)
                return;
        if (w->from != w->to) {
                (void)close(w->from);
                f->fds--;
        } else {
                (void)shutdown(w->from, SHUT_RD);
        }
        w->from = -1;
        w->unsent = 0;
}

static void
close_to(struct flows *f, struct flow *w)
{
        free(w->held);
        w->held = NULL;
        w->start = w->len = 0;
        w->is_ending = 0;
        if (w->to < 0)
                return;
        if (w->to != w->from) {
                (void)close(w->to);
                f->fds--;
        } else {
                (void)shutdown(w->to, SHUT_WR);
        }
        w->to = -1;
}

int
flows_add(struct flows *f, enum stream_channel channel, uint32_t number, int take_from, int take_to)
{
        struct flow *w = f->count < FLOWS_MAX ? malloc(sizeof *w) : NULL;

        if (!w) {
                if (take_from >= 0)
                        (void)close(take_from);
                if (take_to >= 0 && take_to != take_from)
                        (void)close(take_to);
                return f->count < FLOWS_MAX ? -ENOMEM : -EMFILE;
        }
        *w = (struct flow){ .next = f->first,
                            .channel = channel,
                            .number = number,
                            .from = take_from,
                            .to = take_to,
                            .credit = STREAM_WINDOW,
                            .granted = STREAM_WINDOW,
                            .from_slot = -1,
                            .to_slot = -1 };
        set_non_blocking(take_from);
        set_non_blocking(take_to);
        f->fds += (size_t)(take_from >= 0) + (size_t)(take_to >= 0 && take_to != take_from);
        f->first = w;
        f->count++;
        return 0;
}

/* A stream ends once both directions are over and said so. */
static void
drop_finished(struct flows *f)
{
        struct flow **at = &f->first;

        while (*at) {
                struct flow *w = *at;

                if (w->from >= 0 || w->to >= 0 || w->says_eof || w->says_stop) {
                        at = &w->next;
                        continue;
                }
                *at = w->next;
                if (f->turn == w)
                        f->turn = w->next;
                free(w->held);
                free(w);
                f->count--;
        }
}

/* -- from a descriptor to the stream ----------------------------------------------------------- */

/* Adds one frame of what can be read. 0 or -errno: the connection is over. */
static int
fill(struct flows *f, struct flow *w)
{
        uint32_t most = w->credit < STREAM_CHUNK ? w->credit : STREAM_CHUNK;
        uint8_t *out = reserve(f, STREAM_HEAD + (size_t)most);
        struct stream_frame frame = { STREAM_DATA, w->channel, 0, w->number, 0 };
        ssize_t got;

        if (!out)
                return -ENOMEM;
        got = read(w->from, out + STREAM_HEAD, most);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
                w->unsent = 0;
                return 0;
        }
        if (got <= 0) { /* a terminal answers EIO when its last user is gone */
                close_from(f, w);
                w->says_eof = 1;
                return 0;
        }
        frame.len = (uint32_t)got;
        stream_frame_write(&frame, out);
        f->out_len += STREAM_HEAD + (size_t)got;
        w->credit -= (uint32_t)got;
        w->unsent -= w->unsent < (uint32_t)got ? w->unsent : (uint32_t)got;
        return 0;
}

static bool
can_fill(const struct flows *f, const struct flow *w)
{
        return w->from >= 0 && w->credit > 0 && f->out_len < FLOWS_OUT_DATA;
}

static const struct pollfd *
entry(const struct pollfd *fds, size_t count, int slot)
{
        return slot >= 0 && (size_t)slot < count ? &fds[slot] : NULL;
}

/* F2: from the one whose turn it is. */
static int
fill_all(struct flows *f, const struct pollfd *fds, size_t count)
{
        struct flow *w = f->turn ? f->turn : f->first;
        int result = 0;

        for (size_t i = 0; i < f->count && result == 0 && f->out_len < FLOWS_OUT_DATA; i++) {
                const struct pollfd *p = entry(fds, count, w->from_slot);

                if (p && (p->revents & (POLLIN | POLLHUP | POLLERR)) != 0 && can_fill(f, w))
                        result = fill(f, w);
                w = w->next ? w->next : f->first;
        }
        f->turn = w;
        return result;
}

/* -- from the stream to a descriptor ----------------------------------------------------------- */

/* Writes as much as `to` takes. The number of bytes; if the reader is gone, all of them. */
static uint32_t
write_out(struct flows *f, struct flow *w, const uint8_t *bytes, uint32_t len)
{
        uint32_t done = 0;

        while (done < len) {
                ssize_t put_len = write(w->to, bytes + done, len - done);

                if (put_len < 0 && errno == EINTR)
                        continue;
                if (put_len < 0 && errno == EAGAIN)
                        break;
                if (put_len < 0) {
                        close_to(f, w);
                        w->says_stop = 1;
                        return len;
                }
                done += (uint32_t)put_len;
        }
        w->owed += done;
        return done;
}

static void
drain(struct flows *f, struct flow *w)
{
        uint32_t done = w->len > 0 ? write_out(f, w, w->held + w->start, w->len) : 0;

        if (w->to < 0)
                return;
        w->start += done;
        w->len -= done;
        if (w->len > 0)
                return;
        w->start = 0;
        free(w->held);
        w->held = NULL;
        if (w->is_ending)
                close_to(f, w);
}

static int
hear_data(struct flows *f, struct flow *w, const uint8_t *bytes, uint32_t len)
{
        uint32_t done;

        if (!w || w->to < 0)
                return 0; /* F3 */
        if (w->is_ending || len > w->granted)
                return -EPROTO; /* F1 */
        w->granted -= len;
        done = w->len == 0 ? write_out(f, w, bytes, len) : 0;
        if (done == len)
                return 0;
        if (!w->held && !(w->held = malloc(STREAM_WINDOW)))
                return -ENOMEM;
        /* lint: the flow holds it, and flow_close() frees it */
        if (w->start + w->len + (len - done) > STREAM_WINDOW) {
                memmove(w->held, w->held + w->start, w->len);
                w->start = 0;
        }
        memcpy(w->held + w->start + w->len, bytes + done, len - done);
        w->len += len - done;
        return 0;
}

static int
hear_bytes(struct flows *f, const struct stream_frame *frame, const uint8_t *body)
{
        struct flow *w = find(f, frame->channel, frame->number);
        uint32_t credit;

        switch (frame->type) {
        case STREAM_DATA:
                return hear_data(f, w, body, frame->len);
        case STREAM_EOF:
                if (w && w->to >= 0) {
                        w->is_ending = 1;
                        drain(f, w);
                }
                return 0;
        case STREAM_STOP:
                if (w)
                        close_from(f, w);
                return 0;
        default:
                credit = stream_credit_read(body);
                if (w && (credit > STREAM_WINDOW || w->credit + credit > STREAM_WINDOW))
                        return -EPROTO;
                if (w)
                        w->credit += credit;
                return 0;
        }
}

/* -- reading the stream ------------------------------------------------------------------------ */

/* Drops `at` bytes that were read. */
static void
advance(struct flows *f, size_t at)
{
        uint8_t *in = f->in + FLOWS_PAD;

        if (at > 0)
                memmove(in, in + at, f->in_len - at);
        f->in_len -= at;
}

/* Handles the frames that are complete. 1: the owner wants the next message later. */
static int
hear_frames(struct flows *f)
{
        uint8_t *in = f->in + FLOWS_PAD;
        struct stream_frame frame;
        size_t at = 0;
        int result = 0;

        if (!f->is_greeted && f->in_len >= STREAM_GREETING) {
                result = stream_greeting_read(in);
                if (result < 0)
                        return result;
                f->is_greeted = true;
                at = STREAM_GREETING;
        }
        f->is_held = false;
        while (f->is_greeted && result == 0 && f->in_len - at >= STREAM_HEAD) {
                result = stream_frame_read(in + at, other_side(f), &frame);
                if (result < 0 || f->in_len - at < STREAM_HEAD + (size_t)frame.len)
                        break;
                if (frame.type == STREAM_MESSAGE) {
                        advance(f, at); /* to the front, where it is aligned */
                        at = 0;
                        result = f->hear(f->owner, frame.kind, in + STREAM_HEAD, frame.len);
                        if (result == 0 && frame.len > 0) /* it may hold secrets */
                                explicit_bzero(in + STREAM_HEAD, frame.len);
                } else {
                        result = hear_bytes(f, &frame, in + at + STREAM_HEAD);
                }
                if (result == 0)
                        at += STREAM_HEAD + frame.len;
        }
        f->is_held = result > 0;
        advance(f, at);
        return result;
}

static int
hear_stream(struct flows *f)
{
        int result = f->is_held ? hear_frames(f) : 0;

        for (int i = 0; i < READS_AT_ONCE && result == 0; i++) {
                ssize_t got = read(f->stream, f->in + FLOWS_PAD + f->in_len, FLOWS_IN - f->in_len);

                if (got < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (got <= 0)
                        return got == 0 ? -EPIPE : -errno;
                f->in_len += (size_t)got;
                result = hear_frames(f);
        }
        return result < 0 ? result : 0;
}

/* -- polling ----------------------------------------------------------------------------------- */

size_t
flows_poll(struct flows *f, struct pollfd *fds)
{
        size_t count = 1;

        fds[0] = (struct pollfd){
                f->stream, (short)((f->is_held ? 0 : POLLIN) | (f->out_len > 0 ? POLLOUT : 0)), 0
        };
        for (struct flow *w = f->first; w; w = w->next) {
                w->from_slot = w->to_slot = -1;
                if (can_fill(f, w)) {
                        w->from_slot = (int)count;
                        fds[count++] = (struct pollfd){ w->from, POLLIN, 0 };
                }
                /* without data: to learn that the reader is gone */
                if (w->to >= 0 && (w->len > 0 || w->to != w->from)) {
                        w->to_slot = (int)count;
                        fds[count++] = (struct pollfd){ w->to, w->len > 0 ? POLLOUT : 0, 0 };
                }
        }
        return count;
}

static void
drain_all(struct flows *f, const struct pollfd *fds, size_t count)
{
        for (struct flow *w = f->first; w; w = w->next) {
                const struct pollfd *p = entry(fds, count, w->to_slot);

                if (!p || p->revents == 0 || w->to < 0)
                        continue;
                if (w->len > 0) {
                        drain(f, w);
                } else if ((p->revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
                        close_to(f, w);
                        w->says_stop = 1;
                }
        }
}

/* What is to be said about the streams: credit, ends, readers that left. */
static int
say_all(struct flows *f)
{
        int result = 0;

        for (struct flow *w = f->first; w && result == 0; w = w->next) {
                if (w->owed >= GRANT_LEAST || (w->owed > 0 && w->granted < STREAM_CHUNK))
                        result = w->to >= 0 ? put_credit(f, w) : 0;
                if (result == 0 && w->says_eof)
                        result = put_empty(f, w, STREAM_EOF);
                if (result == 0 && w->says_stop)
                        result = put_empty(f, w, STREAM_STOP);
                w->says_eof = w->says_stop = 0;
        }
        drop_finished(f);
        return result;
}

int
flows_serve(struct flows *f, const struct pollfd *fds, size_t count)
{
        int result = f->is_over ? -ENOBUFS : 0;

        drain_all(f, fds, count);
        if (result == 0)
                result = fill_all(f, fds, count);
        for (struct flow *w = f->first; w; w = w->next)
                w->from_slot = w->to_slot = -1; /* the next ones have none yet */
        if (result == 0)
                result = hear_stream(f);
        if (result == 0)
                result = say_all(f);
        if (result == 0)
                result = flush(f);
        return result;
}

void
flows_drop(struct flows *f, uint32_t number)
{
        for (struct flow *w = f->first; w; w = w->next)
                if (w->number == number && w->channel != STREAM_PORT) {
                        close_from(f, w);
                        close_to(f, w);
                }
}

bool
flows_finish(struct flows *f)
{
        bool has_more = false;

        for (struct flow *w = f->first; w; w = w->next) {
                close_from(f, w);
                if (w->to >= 0)
                        drain(f, w);
                has_more |= w->len > 0;
        }
        return has_more;
}

/* -- the end of a command ---------------------------------------------------------------------- */

static bool
is_output(const struct flow *w, uint32_t number)
{
        return w->number == number && (w->channel == STREAM_STDOUT || w->channel == STREAM_STDERR ||
                                       w->channel == STREAM_TERMINAL);
}

void
flows_settle(struct flows *f, uint32_t number)
{
        int waiting;

        for (struct flow *w = f->first; w; w = w->next)
                if (is_output(w, number) && w->from >= 0)
                        w->unsent = ioctl(w->from, FIONREAD, &waiting) == 0 && waiting > 0
                                            ? (uint32_t)waiting
                                            : 0;
}

bool
flows_is_settled(const struct flows *f, uint32_t number)
{
        for (const struct flow *w = f->first; w; w = w->next)
                if (is_output(w, number) && w->from >= 0 && w->unsent > 0)
                        return false;
        return true;
}

bool
flows_is_written(const struct flows *f, uint32_t number)
{
        for (const struct flow *w = f->first; w; w = w->next)
                if (is_output(w, number) && w->len > 0)
                        return false;
        return true;
}

/* -- begin and end ----------------------------------------------------------------------------- */

int
flows_init(struct flows *f, enum stream_side side, int stream,
           int (*hear)(void *owner, uint16_t kind, void *body, size_t len), void *owner)
{
        uint8_t *out;

        f->side = side;
        f->stream = stream;
        f->hear = hear;
        f->owner = owner;
        out = reserve(f, STREAM_GREETING);
        if (!out)
                return -ENOMEM;
        stream_greeting_write(out);
        f->out_len = STREAM_GREETING;
        return 0;
}

void
flows_fini(struct flows *f)
{
        while (f->first) {
                struct flow *w = f->first;

                f->first = w->next;
                close_from(f, w);
                close_to(f, w);
                free(w);
        }
        free(f->out);
        f->out = NULL;
        f->out_len = f->out_room = f->count = f->fds = 0;
}
