/*
 * fuzz/mcp.c - any bytes as a message of the Model Context Protocol, and whatever order a backend
 * may answer its calls in.
 *
 * The first bytes choose transport, headers and what becomes of each call; the rest is the message.
 * Beyond not crashing: one message has one answer, an answer that has bytes is JSON with an id or
 * an error, and what ended has no call left open.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/mcp.h"
#include "outcome/outcome.h"

enum { HEAD = 16, STEPS = 24, OPEN_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct mcp_call *open_calls[OPEN_MAX];
static int answers;

static void
must(int holds)
{
        if (!holds)
                abort();
}

static int
begin(struct mcp_backend *b, struct mcp_call *c, const struct api_peer *who, enum operation_code op,
      struct record_writer *w, struct error *e)
{
        struct record r = { w->bytes, w->len };

        (void)who;
        must(!w->is_broken && record_check(&r) == 0);
        if (op == OP_CLIENT_HEARD) /* the server's own, which ends without it */
                return -1;
        for (size_t i = 0; i < OPEN_MAX; i++) {
                if (open_calls[i])
                        continue;
                open_calls[i] = c;
                c->backend = b;
                c->link = &open_calls[i];
                return 0;
        }
        return fail(e, ERROR_UNAVAILABLE, "no more of operation %d", (int)op);
}

static struct mcp_call *
let_go(struct mcp_call *c)
{
        *(struct mcp_call **)c->link = NULL;
        c->backend = NULL;
        c->link = NULL;
        return c;
}

static void
end(struct mcp_call *c, bool is_left)
{
        (void)is_left;
        if (c->backend)
                (void)let_go(c);
}

static void
send_frame(struct mcp_call *c, uint32_t kind, const void *bytes, size_t len)
{
        (void)kind;
        (void)bytes;
        must(len <= CHANNEL_FRAME_MAX && c->backend);
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
reply(struct mcp_call *c, uint8_t what)
{
        static unsigned char bytes[1024] __attribute__((aligned(8)));
        struct record_writer w;
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
        c->ops->reply(c, &(struct record){ bytes, what & 16 ? w.len : 0 }, true);
}

/* One thing that may happen to a call. Those that end it let it go first, as a backend does. */
static void
happen(struct mcp_call *c, uint8_t what)
{
        struct error e;

        switch (what % 8) {
        case 0:
                reply(c, what);
                break;
        case 1:
                (void)fail(&e,
                           what & 8    ? ERROR_NOT_FOUND
                           : what & 16 ? ERROR_EXISTS
                                       : ERROR_READ_ONLY,
                           "no");
                let_go(c)->ops->refused(c, &e);
                break;
        case 2:
                c->ops->started(c, &(struct channel_started){ 1, 7 });
                break;
        case 3:
                c->ops->output(c, 1 + (what >> 7), "\xc3\xa4\xf0\x9f\x98x\n\n", (what >> 3) % 9);
                break;
        case 4:
                let_go(c)->ops->ended(
                        c, &(struct channel_end){ .word = what >> 3, .exit_code = what });
                break;
        case 5:
                let_go(c)->ops->lost(c);
                break;
        case 6:
                let_go(c)->ops->failed(c, &(struct wire_exec_failed){ 1, -2, what >> 5 });
                break;
        default:
                if (c->ops->quiet)
                        c->ops->quiet(c);
        }
}

static void
come_round(struct loop_timer *t)
{
        (void)t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        static const char *const versions[] = { NULL, "2026-07-28", "2025-11-25", "x" },
                                 *const methods[] = { NULL, "tools/call", "tools/list", "x" };
        struct mcp_backend backend = { begin, send_frame, end };
        struct mcp_sink sink = { on_answer, on_notify, is_full };
        struct loop_timer now = { .due_ms = LOOP_NEVER };
        struct mcp_request *request;
        struct mcp_server *server;
        struct mcp_ask ask;
        struct loop *loop;

        if (len < HEAD)
                return 0;
        answers = 0;
        must(loop_new(&loop) == 0);
        server = mcp_server_new(loop, &backend, "0");
        must(server != NULL);
        ask = (struct mcp_ask){ .headers = { data[0] & 1, versions[data[0] >> 1 & 3],
                                             methods[data[0] >> 3 & 3],
                                             data[0] & 32 ? "exec" : NULL },
                                .sandbox = data[0] & 64 ? "box" : NULL,
                                .context_key = data[0] & 128 ? "key" : NULL,
                                .flags = data[1] & 31 };
        request = mcp_receive(server, &ask, (const char *)data + HEAD, len - HEAD, &sink);
        must((request == NULL) == (answers == 1));
        for (size_t step = 0; step < STEPS && answers == 0; step++)
                if (open_calls[step % 2])
                        happen(open_calls[step % 2], data[2 + step % (HEAD - 2)]);
        must(answers <= 1);
        if (answers == 0)
                mcp_cancel(request);
        mcp_server_free(server);
        for (size_t i = 0; i < OPEN_MAX; i++)
                must(!open_calls[i]);
        must(loop_timer_set(loop, &now, loop_now_ms(), come_round) == 0);
        loop_turn(loop);
        loop_free(loop);
        return 0;
}
