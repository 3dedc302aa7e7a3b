/*
 * mcp/tools_mastra_command.c - the first of Mastra's three tools: runs a command in the foreground
 * or background.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: a background process belongs to its agent unless it is to be kept. Over stdio this
 * program holds its channel open. The box kills it when the channel closes, whichever of the two
 * programs ends. Over HTTP the agent and the process survive a restart of the daemon. The daemon
 * knows the process's owner by the client's mark, and ends the process after ten minutes without a
 * report of the client (keeper/client.c).
 */
#include <stdio.h>
#include <string.h>

#include "api/ending.h"
#include "loop/deferred.h"
#include "mcp/server.h"
#include "mcp/tools.h"
#include "mcp/tools_mastra.h"
#include "mcp/tools_refused.h"
#include "outcome/outcome.h"

/* -- execute_command, in the foreground -------------------------------------------------------- */

static void
note_timeout(struct mcp_request *r, const struct channel_end *end)
{
        char text[512];
        struct outcome o = ending_of(end);
        struct error e;
        int len;

        if (o.word != OUTCOME_TIMED_OUT || !outcome_explain(&o, &r->exec.limit, &e))
                return;
        if (r->exec.timeout_ms > 0 &&
            (o.reached & OUTCOME_OUTER_TIME) == 0) /* the text of Mastra's own sandboxes */
                len = snprintf(text, sizeof text, "\nProcess timed out after %lldms",
                               (long long)r->exec.timeout_ms);
        else
                len = snprintf(text, sizeof text, "\nProcess %.200s. %.250s", e.message, e.hint);
        tools_stream_put(&r->err, text, (size_t)len);
}

static void
answer_ended(struct mcp_request *r, const struct channel_end *end, const struct record *refused)
{
        struct tools_output o = mastra_output(r);
        struct mcp_bytes text = { 0 };
        int code = mastra_exit_code(end);

        note_timeout(r, end);
        tools_text_command(&text, &o, code, NULL);
        tools_refused_text(&text, refused);
        tools_limits_text(&text, end->reached);
        mastra_answer(r, &text, code != 0);
}

static void
on_ended(struct link_call *c, const struct channel_end *end)
{
        tools_ended(request_of(c), end, answer_ended);
}

static void
on_started(struct link_call *c, const struct channel_started *s)
{
        request_of(c)->exec.exec = s->exec;
}

static void
answer_error(struct mcp_request *r, const char *error)
{
        struct tools_output o = mastra_output(r);
        struct mcp_bytes text = { 0 };

        tools_text_command(&text, &o, 0, error);
        mastra_answer(r, &text, true);
}

static void
on_failed(struct link_call *c, const struct wire_exec_failed *f)
{
        struct error e;

        request_exec_error(&e, f, request_of(c)->arguments);
        answer_error(request_of(c), e.message);
}

static void
on_lost(struct link_call *c)
{
        answer_error(request_of(c), "the sandbox ended before the command did");
}

static const struct link_call_ops foreground = { .reply = request_take_limit,
                                                 .refused = request_on_refused,
                                                 .started = on_started,
                                                 .failed = on_failed,
                                                 .output = request_on_output,
                                                 .ended = on_ended,
                                                 .lost = on_lost };

/* -- and in the background --------------------------------------------------------------------- */

static struct mcp_held *
held_of(struct link_call *c)
{
        return (struct mcp_held *)(void *)((char *)c - offsetof(struct mcp_held, call));
}

static struct mcp_held *
hold(struct mcp_request *r)
{
        struct mcp_held *h = r->client->held_count < MCP_HELD_MAX
                                     ? deferred_make(r->server->loop, struct mcp_held)
                                     : NULL;

        if (!h)
                return NULL;
        *h = (struct mcp_held){ .client = r->client, .next = r->client->held, .request = r };
        r->client->held = h;
        r->client->held_count++;
        return h;
}

void
mcp_held_free(struct mcp_held *h)
{
        struct mcp_held **at = &h->client->held;

        while (*at != h)
                at = &(*at)->next;
        *at = h->next;
        h->client->held_count--;
        link_call_end(&h->call);
        deferred_free(h);
}

static void
answer_started(struct mcp_request *r, const struct channel_started *s)
{
        char text[64];
        int len = snprintf(text, sizeof text, "Started background process (PID: %d)", s->pid);

        request_text(r, text, (size_t)len, false);
}

static void
held_started(struct link_call *c, const struct channel_started *s)
{
        struct mcp_held *h = held_of(c);
        struct mcp_request *r = h->request;

        h->request = NULL;
        if (r)
                answer_started(r, s);
}

static struct mcp_request *
held_over(struct link_call *c)
{
        struct mcp_held *h = held_of(c);
        struct mcp_request *r = h->request;

        mcp_held_free(h);
        return r;
}

static void
held_refused(struct link_call *c, const struct error *e)
{
        struct mcp_request *r = held_over(c);

        if (r && !request_begins_anew(r, e))
                request_fail(r, e);
}

static void
held_failed(struct link_call *c, const struct wire_exec_failed *f)
{
        struct mcp_request *r;
        struct error e;

        request_exec_error(&e, f, held_of(c)->request ? held_of(c)->request->arguments : NULL);
        r = held_over(c);
        if (r)
                request_fail(r, &e);
}

static void
held_lost(struct link_call *c)
{
        struct mcp_request *r;
        struct error e;

        (void)fail(&e, ERROR_BACKEND_FAILED, "the sandbox ended before the command was started");
        r = held_over(c);
        if (r)
                request_fail(r, &e);
}

static void
held_ended(struct link_call *c, const struct channel_end *end)
{
        (void)end;
        held_lost(c);
}

static const struct link_call_ops held_ops = { .refused = held_refused,
                                               .started = held_started,
                                               .failed = held_failed,
                                               .ended = held_ended,
                                               .lost = held_lost };

static void
kept_started(struct link_call *c, const struct channel_started *s)
{
        struct mcp_request *r = request_of(c);

        link_call_leave(c);
        answer_started(r, s);
}

static const struct link_call_ops kept_ops = { .refused = request_on_refused,
                                               .started = kept_started,
                                               .failed = request_on_failed,
                                               .lost = request_on_lost };

static void
begin_held(struct mcp_request *r, struct record_writer *w)
{
        struct mcp_held *h = hold(r);
        struct error e;

        if (!h) {
                (void)fail(&e, ERROR_QUOTA_EXCEEDED,
                           "this agent has %d background processes already", MCP_HELD_MAX);
                request_fail(r, &e);
                return;
        }
        h->call.ops = &held_ops;
        record_bool(w, FIELD_APPROVAL_NOW, 1);
        if (link_call_begin(r->server->link, &h->call, &r->peer, OP_EXEC, w, &e) == 0)
                return;
        mcp_held_free(h);
        request_fail(r, &e);
}

/* -- execute_command --------------------------------------------------------------------------- */

static void
start(struct mcp_request *r)
{
        const char *command = node_find(r->arguments, "command")->text, *cwd = NULL;
        size_t len = strlen(command);
        struct record_writer w;
        struct error e;
        bool is_bound = r->exec.is_background && !(r->flags & MCP_KEEP_BACKGROUND),
             is_held = is_bound && !r->client->is_http;

        (void)mastra_read_text(r, "cwd", MASTRA_MAY_BE_NULL, &cwd, &e);
        if (!r->exec.is_background)
                (void)tools_tail_pipe(command, &command, &len, &r->exec.tail);
        command = arena_copy(&r->arena, command, len);
        if (request_record(r, &w, REQUEST_RECORD) < 0)
                return;
        record_text(&w, FIELD_ID, r->sandbox);
        record_text(&w, FIELD_COMMAND, command ? command : "");
        record_text(&w, FIELD_CWD, cwd && *cwd ? cwd : NULL);
        if (r->exec.timeout_ms > 0)
                record_uint(&w, FIELD_TIMEOUT, (uint64_t)r->exec.timeout_ms);
        if (r->exec.is_background && !is_held)
                record_bool(&w, FIELD_BACKGROUND, 1);
        if (is_bound && !is_held)
                record_text(&w, FIELD_CLIENT, r->client->mark);
        if (!r->exec.is_background)
                record_bool(&w, FIELD_LOSSLESS, 1);
        record_text(&w, FIELD_KEY, r->idempotency_key);
        if (is_held)
                begin_held(r, &w);
        else
                (void)request_call(r, OP_EXEC, &w, r->exec.is_background ? &kept_ops : &foreground);
}

void
tool_execute_command(struct mcp_request *r)
{
        const char *command, *cwd;
        struct error e;

        if (mastra_read_text(r, "command", 0, &command, &e) < 0 ||
            mastra_read_text(r, "cwd", MASTRA_MAY_BE_NULL, &cwd, &e) < 0 ||
            mastra_read_tail(r, MASTRA_MAY_BE_NULL, &r->exec.tail, &e) < 0 ||
            mastra_read_timeout(r, &r->exec.timeout_ms, &e) < 0 ||
            mastra_read_flag(r, "background", &r->exec.is_background, &e) < 0)
                request_fail(r, &e);
        else if (!command) {
                (void)mastra_wrong(&e, "command", "a text");
                request_fail(r, &e);
        } else {
                request_resolve(r, start);
        }
}
