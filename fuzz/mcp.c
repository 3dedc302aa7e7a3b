/*
 * fuzz/mcp.c - any bytes as a message of the Model Context Protocol, and whatever keeper and
 * boxes may answer to its calls.
 *
 * The first bytes choose transport, headers and what becomes of each call; the rest is the message.
 * Beyond not crashing: one message has one answer, an answer that has bytes is JSON with an id or
 * an error, and what ended has no call left open.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/mcp.h"
#include "outcome/outcome.h"
#include "wire/call.h"

enum { HEAD = 16, STEPS = 24, OPEN_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A call as the keeper sees it. */
struct open_call {
        uint32_t serial;
        uint16_t op;
        int channel; /* the box's end, or -1 */
        int is_open;
};

static struct open_call open_calls[OPEN_MAX];
static size_t open_count;
static int keeper, answers;

static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
on_answer(struct mcp_sink *s, int status, const char *json, size_t len)
{
        static const struct text_limits limits = { 64u << 20, 64, 1u << 20 };
        const struct node *root;
        struct arena arena;
        struct error e;

        (void)s;
        (void)status;
        answers++;
        if (len == 0)
                return;
        arena_init(&arena, 256u << 20);
        must(json_read(&arena, json, len, &limits, &root, &e) == 0 &&
             memchr(json, '\n', len) == NULL);
        must(node_find(root, "id") &&
             (node_find(root, "result") != NULL) != (node_find(root, "error") != NULL));
        arena_fini(&arena);
}

static void
on_notify(struct mcp_sink *s, const char *json, size_t len)
{
        (void)s;
        must(answers == 0 && len > 0 && json[0] == '{');
}

static bool
is_full(struct mcp_sink *s)
{
        (void)s;
        return false;
}

static void
send_reply(struct open_call *c, uint32_t flags, const struct record_writer *w, int fd)
{
        static unsigned char bytes[4096] __attribute__((aligned(8)));
        struct wire_reply head = { c->serial, flags };

        must(w->len <= sizeof bytes - sizeof head);
        memcpy(bytes, &head, sizeof head);
        memcpy(bytes + sizeof head, w->bytes, w->len);
        must(wire_send(keeper, WIRE_REPLY, bytes, sizeof head + w->len, &fd, fd >= 0) == 0);
}

static void
reply(struct open_call *c, uint8_t what)
{
        static unsigned char bytes[1024] __attribute__((aligned(8)));
        struct record_writer w;
        int fds[2] = { -1, -1 };
        size_t mark;

        record_init(&w, bytes, sizeof bytes);
        record_text(&w, FIELD_ID, "b0");
        record_text(&w, FIELD_STATUS, what & 1 ? "stopped" : "running");
        record_text(&w, FIELD_TEXT, "words");
        record_bool(&w, FIELD_EXISTED, what & 2);
        record_uint(&w, FIELD_STDOUT_BYTES, what & 4);
        mark = record_open(&w, FIELD_ITEMS);
        record_uint(&w, FIELD_EXEC, 1);
        record_uint(&w, FIELD_PID, 7);
        record_text(&w, FIELD_STATE, what & 8 ? "ended" : "running");
        record_close(&w, mark);
        if (!(what & 16))
                w.len = 0;
        if ((operation(c->op)->flags & OPERATION_CHANNEL) != 0)
                must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        send_reply(c, 0, &w, fds[1]);
        if (fds[1] >= 0)
                (void)close(fds[1]);
        c->channel = fds[0];
        c->is_open = fds[0] >= 0;
}

static void
refuse(struct open_call *c, uint8_t what)
{
        static unsigned char bytes[2048] __attribute__((aligned(8)));
        struct record_writer w;
        struct error e;

        (void)fail(&e,
                   what & 8    ? ERROR_NOT_FOUND
                   : what & 16 ? ERROR_EXISTS
                               : ERROR_READ_ONLY,
                   "no");
        record_init(&w, bytes, sizeof bytes);
        api_error_write(&w, &e);
        send_reply(c, REPLY_ERROR, &w, -1);
        c->is_open = 0;
}

static void
lose(struct open_call *c)
{
        if (c->channel >= 0)
                (void)close(c->channel);
        c->channel = -1;
        c->is_open = 0;
}

/* Takes the calls that were made. The server's own reports are answered at once. */
static void
hear(struct loop *loop)
{
        static unsigned char body[WIRE_BODY_MAX] __attribute__((aligned(16)));
        const struct wire_call *head = (const void *)body;
        struct wire_message m;

        while (wire_receive(keeper, 0, &m, body, sizeof body) == 1) {
                struct record r = { body + sizeof *head, m.len - sizeof *head };

                if (m.kind != WIRE_CALL)
                        continue;
                must(open_count < OPEN_MAX && record_check(&r) == 0);
                open_calls[open_count] = (struct open_call){ head->serial, head->op, -1, 1 };
                if (head->op == OP_CLIENT_HEARD)
                        reply(&open_calls[open_count], 0);
                else
                        open_count++;
        }
        while (loop_poll(loop) > 0)
                ;
}

/* One thing that may happen to a call. */
static void
happen(struct open_call *c, uint8_t what)
{
        const struct wire_exec_failed failed = { 1, -2, what >> 5 };
        const struct channel_started started = { 1, 7 };
        const struct channel_end ended = { .word = what >> 3, .exit_code = what };

        if (c->channel < 0) {
                if (what % 8 == 1)
                        refuse(c, what);
                else
                        reply(c, what);
                return;
        }
        switch (what % 8) {
        case 2:
                (void)channel_send(c->channel, CHANNEL_STARTED, &started, sizeof started, 0);
                break;
        case 3:
                (void)channel_send(c->channel, what & 128 ? CHANNEL_STDERR : CHANNEL_STDOUT,
                                   "\xc3\xa4\xf0\x9f\x98x\n\n", (what >> 3) % 9, what & 64);
                break;
        case 4:
                (void)channel_send(c->channel, CHANNEL_END, &ended, sizeof ended, 0);
                lose(c);
                break;
        case 5:
                lose(c);
                break;
        case 6:
                (void)channel_send(c->channel, CHANNEL_FAILED, &failed, sizeof failed, 0);
                lose(c);
                break;
        default:
                break;
        }
}

static void
no_link(void *data)
{
        (void)data;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        static const char *const versions[] = { NULL, "2026-07-28", "2025-11-25", "x" },
                                 *const methods[] = { NULL, "tools/call", "tools/list", "x" };
        struct mcp_sink sink = { on_answer, on_notify, is_full };
        struct mcp_request *request;
        struct mcp_server *server;
        struct mcp_ask ask;
        struct link link;
        struct loop *loop;
        struct error e;
        int fds[2];

        if (len < HEAD)
                return 0;
        answers = 0;
        open_count = 0;
        must(loop_new(&loop) == 0 &&
             socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        keeper = fds[0];
        link_init(&link, loop, 0, no_link, NULL);
        must(link_connect(&link, fds[1], &e) == 0);
        server = mcp_server_new(loop, &link, "0");
        must(server != NULL);
        ask = (struct mcp_ask){ .headers = { data[0] & 1, versions[data[0] >> 1 & 3],
                                             methods[data[0] >> 3 & 3],
                                             data[0] & 32 ? "exec" : NULL },
                                .sandbox = data[0] & 64 ? "box" : NULL,
                                .context_key = data[0] & 128 ? "key" : NULL,
                                .flags = data[1] & 31 };
        request = mcp_receive(server, &ask, (const char *)data + HEAD, len - HEAD, &sink);
        must((request == NULL) == (answers == 1));
        hear(loop);
        for (size_t step = 0; step < STEPS && answers == 0 && open_count > 0; step++) {
                struct open_call *c = &open_calls[open_count - 1];

                if (c->is_open)
                        happen(c, data[2 + step % (HEAD - 2)]);
                hear(loop);
        }
        must(answers <= 1);
        if (answers == 0)
                mcp_cancel(request);
        mcp_server_free(server);
        hear(loop);
        must(link.count == 0);
        link_close(&link);
        for (size_t i = 0; i < open_count; i++)
                lose(&open_calls[i]);
        (void)close(keeper);
        loop_free(loop);
        return 0;
}
