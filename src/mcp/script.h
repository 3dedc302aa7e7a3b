/*
 * mcp/script.h - for tests: a server of mcp.h over a scripted link, and a client that records
 * answers.
 */
#ifndef CARREL_MCP_SCRIPT_H
#define CARREL_MCP_SCRIPT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/script.h"
#include "mcp/mcp.h"

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
        *w = (struct world){ .client.sink = { on_answer, on_notify, is_full },
                             .ask = { .sandbox = "box", .peer.uid = 7 } };
        assert_int_equal(loop_new(&w->loop), 0);
        script_open(&w->script, w->loop, 0);
        w->server = mcp_server_new(w->loop, &w->script.link, "1.2.3");
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

/* Released objects are freed in the next turn. */
static __attribute__((unused)) void
raze(struct world *w)
{
        /* each such call gets an answer in the end, even if nothing waits for it */
        for (size_t i = 0; i < w->script.count; i++)
                if (w->script.calls[i]->op == OP_CLIENT_HEARD && w->script.fd >= 0 &&
                    !w->script.calls[i]->is_answered)
                        reply(w->script.calls[i], NULL);
        mcp_server_free(w->server);
        script_close(&w->script);
        loop_free(w->loop);
        forget(w);
}

static __attribute__((unused)) void
say(struct world *w, const char *text)
{
        forget(w);
        w->request = mcp_receive(w->server, &w->ask, text, strlen(text), &w->client.sink);
        turn(&w->script);
}

/* The client goes away. */
static __attribute__((unused)) void
cancel(struct world *w)
{
        mcp_cancel(w->request);
        turn(&w->script);
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
