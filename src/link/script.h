/*
 * link/script.h - for tests: a link whose other end is the test. It records the calls; the test
 * chooses the replies, the frames of their channels, and when the link or a channel is lost.
 */
#ifndef CARREL_LINK_SCRIPT_H
#define CARREL_LINK_SCRIPT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"
#include "link/call.h"
#include "outcome/outcome.h"

enum { NOTED_MAX = 512 };

/* A call as the keeper gets it. */
struct noted {
        struct script *script;
        uint32_t serial;
        enum operation_code op;
        unsigned char bytes[16 * 1024] __attribute__((aligned(8)));
        struct record fields;
        int channel; /* the box's end, or -1 */
        struct channel_reader reader;
        uint64_t offsets[2];
        /* is_ended: the caller cancelled it or closed its channel; is_left: with DETACH */
        bool is_answered, is_ended, is_left;
};

struct script {
        struct link link;
        struct loop *loop;
        int fd; /* the keeper's end; -1: closed */
        struct noted *calls[NOTED_MAX];
        size_t count;
        bool is_door;    /* the caller may set more fields than a client may */
        char sent[4096]; /* standard input, of all execs */
        size_t sent_len;
        unsigned gone; /* how often the link was lost */
};

/* -- what the caller does ---------------------------------------------------------------------- */

static __attribute__((unused)) void
note(struct script *s, const struct wire_call *head, size_t len)
{
        struct noted *n = calloc(1, sizeof *n);
        struct error e;

        assert_non_null(n);
        assert_true(s->count < NOTED_MAX && len <= sizeof n->bytes);
        memcpy(n->bytes, head + 1, len);
        *n = (struct noted){ .script = s, .serial = head->serial, .op = head->op, .channel = -1 };
        memcpy(n->bytes, head + 1, len);
        n->fields = (struct record){ n->bytes, len };
        channel_reader_init(&n->reader, CHANNEL_TO_BOX);
        if (operation_check(operation(n->op), &n->fields, s->is_door, &e) < 0)
                fail_msg("%s takes no such record: %s", operation(n->op)->name, e.message);
        s->calls[s->count++] = n;
}

static __attribute__((unused)) void
hear_channel(struct noted *n)
{
        unsigned char bytes[4096];
        struct channel_piece p;
        ssize_t got;

        while (n->channel >= 0 && (got = recv(n->channel, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
                const unsigned char *at = bytes;
                size_t len = (size_t)got;

                while (channel_reader_next(&n->reader, &at, &len, &p) > 0) {
                        n->is_left |= p.kind == CHANNEL_DETACH;
                        if (p.kind != CHANNEL_STDIN)
                                continue;
                        assert_true(n->script->sent_len + p.len <= sizeof n->script->sent);
                        memcpy(n->script->sent + n->script->sent_len, p.bytes, p.len);
                        n->script->sent_len += p.len;
                }
        }
        /* ECONNRESET: it closed its channel before it had read everything */
        if (n->channel < 0 || (got < 0 && errno == EAGAIN))
                return;
        n->is_ended = true;
        (void)close(n->channel);
        n->channel = -1;
}

/* Takes what the caller has sent. */
static __attribute__((unused)) void
hear(struct script *s)
{
        static unsigned char body[WIRE_BODY_MAX] __attribute__((aligned(16)));
        const struct wire_call *head = (const void *)body;
        struct wire_message m;

        while (s->fd >= 0 && wire_receive(s->fd, 0, &m, body, sizeof body) == 1) {
                if (m.kind == WIRE_CALL)
                        note(s, head, m.len - sizeof *head);
                for (size_t i = 0; m.kind == WIRE_CANCEL && i < s->count; i++)
                        s->calls[i]->is_ended |= s->calls[i]->serial == head->serial;
        }
        for (size_t i = 0; i < s->count; i++)
                hear_channel(s->calls[i]);
}

/* Lets the caller act on what it was sent, then hears it. */
static __attribute__((unused)) void
turn(struct script *s)
{
        while (loop_poll(s->loop) > 0)
                ;
        hear(s);
}

/* -- the link ---------------------------------------------------------------------------------- */

static __attribute__((unused)) void
script_gone(void *data)
{
        ((struct script *)data)->gone++;
}

static __attribute__((unused)) void
script_connect(struct script *s)
{
        struct error e;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        s->fd = fds[0];
        assert_int_equal(link_connect(&s->link, fds[1], &e), 0);
        turn(s);
}

static __attribute__((unused)) void
script_open(struct script *s, struct loop *l, unsigned flags)
{
        *s = (struct script){ .loop = l };
        link_init(&s->link, l, flags, script_gone, s);
        script_connect(s);
}

/* The keeper ends. */
static __attribute__((unused)) void
hang_up(struct script *s)
{
        (void)close(s->fd);
        s->fd = -1;
        turn(s);
}

static __attribute__((unused)) void
script_close(struct script *s)
{
        link_close(&s->link);
        turn(s);
        if (s->fd >= 0)
                (void)close(s->fd);
        for (size_t i = 0; i < s->count; i++) {
                if (s->calls[i]->channel >= 0)
                        (void)close(s->calls[i]->channel);
                free(s->calls[i]);
        }
        s->count = 0;
}

/* -- what the keeper does ---------------------------------------------------------------------- */

static __attribute__((unused)) void
send_reply(struct noted *n, uint32_t flags, const struct record_writer *fields, int fd)
{
        static unsigned char bytes[sizeof(struct wire_reply) + 64 * 1024]
                __attribute__((aligned(16)));
        struct wire_reply head = { n->serial, flags };
        size_t len = fields ? fields->len : 0;

        assert_true(len <= sizeof bytes - sizeof head);
        memcpy(bytes, &head, sizeof head);
        if (len > 0)
                memcpy(bytes + sizeof head, fields->bytes, len);
        assert_int_equal(
                wire_send(n->script->fd, WIRE_REPLY, bytes, sizeof head + len, &fd, fd >= 0), 0);
        n->is_answered |= (flags & REPLY_MORE) == 0;
}

/* The last reply; with a channel if its operation has one. */
static __attribute__((unused)) void
reply(struct noted *n, const struct record_writer *fields)
{
        int fds[2] = { -1, -1 };

        if ((operation(n->op)->flags & OPERATION_CHANNEL) != 0)
                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        send_reply(n, 0, fields, fds[1]);
        if (fds[1] >= 0)
                (void)close(fds[1]);
        n->channel = fds[0];
        turn(n->script);
}

static __attribute__((unused)) void
refuse(struct noted *n, const struct error *e)
{
        unsigned char bytes[1024] __attribute__((aligned(8)));
        struct record_writer w;

        record_init(&w, bytes, sizeof bytes);
        api_error_write(&w, e);
        send_reply(n, REPLY_ERROR, &w, -1);
        turn(n->script);
}

/* -- what the box does ------------------------------------------------------------------------- */

/* Sends a frame, which is not read before turn(). A call that was not answered is answered. */
static __attribute__((unused)) void
put_frame(struct noted *n, uint32_t kind, const void *bytes, size_t len)
{
        int stream = kind == CHANNEL_STDERR;

        if (!n->is_answered)
                reply(n, NULL);
        assert_int_equal(channel_send(n->channel, kind, bytes, len,
                                      kind == CHANNEL_STDOUT || stream ? n->offsets[stream] : 0),
                         0);
        if (kind == CHANNEL_STDOUT || stream)
                n->offsets[stream] += len;
}

static __attribute__((unused)) void
put_text(struct noted *n, int stream, const char *text)
{
        put_frame(n, stream == 1 ? CHANNEL_STDOUT : CHANNEL_STDERR, text, strlen(text));
}

static __attribute__((unused)) void
print(struct noted *n, int stream, const char *text)
{
        put_text(n, stream, text);
        turn(n->script);
}

static __attribute__((unused)) void
started(struct noted *n, uint32_t exec, int32_t pid)
{
        const struct channel_started s = { exec, pid };

        put_frame(n, CHANNEL_STARTED, &s, sizeof s);
        turn(n->script);
}

static __attribute__((unused)) void
start_exec(struct noted *n, uint32_t exec, int32_t pid)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer w;

        record_init(&w, bytes, sizeof bytes);
        record_uint(&w, FIELD_EXEC, exec);
        reply(n, &w);
        started(n, exec, pid);
}

/* The box closes the channel. */
static __attribute__((unused)) void
lose(struct noted *n)
{
        (void)close(n->channel);
        n->channel = -1;
        turn(n->script);
}

static __attribute__((unused)) void
end_with(struct noted *n, const struct channel_end *end)
{
        put_frame(n, CHANNEL_END, end, sizeof *end);
        lose(n);
}

static __attribute__((unused)) void
exit_with(struct noted *n, enum outcome_word word, int code)
{
        end_with(n, &(struct channel_end){ .word = word, .exit_code = code, .duration_ms = 5 });
}

#endif
