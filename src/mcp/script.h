/*
 * mcp/script.h - for tests: a server of mcp.h with a backend that records calls, and a client that
 * records answers.
 */
#ifndef CARREL_MCP_SCRIPT_H
#define CARREL_MCP_SCRIPT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "mcp/mcp.h"
#include "outcome/outcome.h"

/* -- a backend that records the calls; the test chooses their results -------------------------- */

enum { CALLS_MAX = MCP_PIPE_REQUESTS_MAX + 16 };

struct noted {
        struct mcp_call *call;
        enum operation_code op;
        unsigned char bytes[16 * 1024] __attribute__((aligned(8)));
        struct record fields;
        bool is_ended, is_left, is_answered;
};

struct script {
        struct mcp_backend backend;
        struct noted *calls[CALLS_MAX];
        /* over HTTP: the door may set more fields than a client may */
        bool is_door;
        size_t count;
        char sent[4096];
        size_t sent_len;
        bool is_down;
};

static __attribute__((unused)) int
begin(struct mcp_backend *b, struct mcp_call *c, const struct api_peer *who, enum operation_code op,
      struct record_writer *w, struct error *e)
{
        struct script *s = (struct script *)(void *)b;
        struct noted *n;

        (void)who;
        assert_false(w->is_broken);
        if (s->is_down)
                return fail(e, ERROR_UNAVAILABLE, "the daemon is not there");
        assert_true(s->count < CALLS_MAX);
        n = calloc(1, sizeof *n);
        assert_non_null(n);
        assert_true(w->len <= sizeof n->bytes);
        memcpy(n->bytes, w->bytes, w->len);
        n->fields = (struct record){ n->bytes, w->len };
        n->call = c;
        n->op = op;
        if (operation_check(operation(op), &n->fields, s->is_door, e) < 0)
                fail_msg("%s takes no such record: %s", operation(op)->name, e->message);
        s->calls[s->count++] = n;
        c->backend = b;
        c->link = n;
        return 0;
}

static __attribute__((unused)) void
send_frame(struct mcp_call *c, uint32_t kind, const void *bytes, size_t len)
{
        struct script *s = (struct script *)(void *)c->backend;

        if (kind == CHANNEL_STDIN_END)
                return;
        assert_true(s->sent_len + len <= sizeof s->sent);
        memcpy(s->sent + s->sent_len, bytes, len);
        s->sent_len += len;
}

static __attribute__((unused)) void
end(struct mcp_call *c, bool is_left)
{
        struct noted *n = c->link;

        if (!c->backend)
                return;
        n->is_ended = true;
        n->is_left = is_left;
        *c = (struct mcp_call){ .ops = c->ops };
}

/* -- a client that records the answer ---------------------------------------------------------- */

struct client {
        struct mcp_sink sink;
        char *answer, *notes;
        int status, answers;
        bool is_full;
};

static __attribute__((unused)) void
on_answer(struct mcp_sink *sink, int status, const char *json, size_t len)
{
        struct client *c = (struct client *)(void *)sink;

        c->answers++;
        c->status = status;
        free(c->answer);
        c->answer = len > 0 ? strndup(json, len) : NULL;
}

static __attribute__((unused)) void
on_notify(struct mcp_sink *sink, const char *json, size_t len)
{
        struct client *c = (struct client *)(void *)sink;
        size_t before = c->notes ? strlen(c->notes) : 0;
        char *all = realloc(c->notes, before + len + 2);

        assert_non_null(all);
        memcpy(all + before, json, len);
        memcpy(all + before + len, "\n", 2);
        c->notes = all;
}

static __attribute__((unused)) bool
is_full(struct mcp_sink *sink)
{
        return ((struct client *)(void *)sink)->is_full;
}

struct world {
        struct loop *loop;
        struct script script;
        struct mcp_server *server;
        struct client client;
        struct mcp_ask ask;
        struct mcp_request *request;
};

static __attribute__((unused)) void
build(struct world *w)
{
        *w = (struct world){ .script.backend = { begin, send_frame, end },
                             .client.sink = { on_answer, on_notify, is_full },
                             .ask = { .sandbox = "box", .peer.uid = 7 } };
        assert_int_equal(loop_new(&w->loop), 0);
        w->server = mcp_server_new(w->loop, &w->script.backend, "1.2.3");
        assert_non_null(w->server);
}

static __attribute__((unused)) void
forget(struct world *w)
{
        free(w->client.answer);
        free(w->client.notes);
        w->client.answer = w->client.notes = NULL;
        w->client.answers = 0;
}

static __attribute__((unused)) void
come_round(struct loop_timer *t)
{
        (void)t;
}

static __attribute__((unused)) void
reply(struct noted *n, const struct record_writer *fields)
{
        struct record r = { fields ? fields->bytes : NULL, fields ? fields->len : 0 };

        n->is_answered = true;
        n->call->ops->reply(n->call, &r, true);
}

/* Released objects are freed in the next turn. */
static __attribute__((unused)) void
raze(struct world *w)
{
        struct loop_timer now = { .due_ms = LOOP_NEVER };

        /* each such call gets an answer in the end, even if nothing waits for it */
        for (size_t i = 0; i < w->script.count; i++)
                if (w->script.calls[i]->op == OP_CLIENT_HEARD && !w->script.calls[i]->is_answered)
                        reply(w->script.calls[i], NULL);
        mcp_server_free(w->server);
        assert_int_equal(loop_timer_set(w->loop, &now, loop_now_ms(), come_round), 0);
        loop_turn(w->loop);
        loop_free(w->loop);
        for (size_t i = 0; i < w->script.count; i++)
                free(w->script.calls[i]);
        forget(w);
}

static __attribute__((unused)) void
say(struct world *w, const char *text)
{
        forget(w);
        w->request = mcp_receive(w->server, &w->ask, text, strlen(text), &w->client.sink);
}

static __attribute__((unused)) struct noted *
last(struct world *w, enum operation_code op)
{
        struct noted *n;

        assert_true(w->script.count > 0);
        n = w->script.calls[w->script.count - 1];
        if (n->op != op)
                fail_msg("the last call is %s, not %s", operation(n->op)->name,
                         operation(op)->name);
        assert_false(n->is_ended);
        return n;
}

static __attribute__((unused)) void
start_exec(struct noted *n, uint32_t exec, int32_t pid)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer w;

        record_init(&w, bytes, sizeof bytes);
        record_uint(&w, FIELD_EXEC, exec);
        reply(n, &w);
        n->call->ops->started(n->call, &(struct channel_started){ exec, pid });
}

static __attribute__((unused)) void
print(struct noted *n, int stream, const char *text)
{
        n->call->ops->output(n->call, stream, text, strlen(text));
}

static __attribute__((unused)) void
exit_with(struct noted *n, enum outcome_word word, int code)
{
        n->call->ops->ended(n->call, &(struct channel_end){
                                             .word = word, .exit_code = code, .duration_ms = 5 });
}

#define CALL(id, name, arguments)                                                               \
        "{\"jsonrpc\":\"2.0\",\"id\":" #id                                                      \
        ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\",\"arguments\":" arguments \
        "}}"
#define EXECUTE "mastra_workspace_execute_command"
#define OUTPUT "mastra_workspace_get_process_output"
#define KILL "mastra_workspace_kill_process"

static __attribute__((unused)) void
expect(const struct world *w, const char *answer)
{
        assert_int_equal(w->client.answers, 1);
        if (!w->client.answer || strcmp(w->client.answer, answer) != 0)
                fail_msg("answered\n%s\nnot\n%s", w->client.answer, answer);
}

static __attribute__((unused)) void
expect_part(const struct world *w, const char *part)
{
        assert_int_equal(w->client.answers, 1);
        if (!w->client.answer || !strstr(w->client.answer, part))
                fail_msg("answered\n%s\nwithout\n%s", w->client.answer, part);
}

static __attribute__((unused)) void
expect_text(const struct world *w, const char *text, bool is_error)
{
        char answer[1024];

        (void)snprintf(answer, sizeof answer,
                       "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]%s}}", text,
                       is_error ? ",\"isError\":true" : "");
        expect_part(w, answer);
}

#define META                                    \
        "\"_meta\":{\"io.modelcontextprotocol/" \
        "protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

#endif
