/*
 * mcp/call.c - the steps that all tools share: call the daemon, report progress, answer.
 *
 * Room: mcp (joining). Touches: mem clock.
 * Theory: a failure of a command or a tool is a result with isError, which the model sees and can
 * react to. Only a message that could not be served is a JSON-RPC error. Progress may be dropped,
 * results may not: a client that reads slowly gets less progress.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/start_error.h"
#include "mcp/server.h"
#include "mcp/tools_fields.h"
#include "text/utf8.h"

enum { PROGRESS_MAX = 16 * 1024 /* bytes of output in one notification */ };

struct mcp_request *
request_of(struct link_call *c)
{
        return (struct mcp_request *)(void *)((char *)c - offsetof(struct mcp_request, call));
}

/* -- answers ----------------------------------------------------------------------------------- */

static void
open_content(struct json_writer *w, const char *text, size_t len)
{
        json_key(w, "content");
        json_open_list(w);
        json_open_map(w);
        json_member_text(w, "type", "text");
        json_key(w, "text");
        json_bytes(w, text, len);
        json_close_map(w);
        json_close_list(w);
}

void
request_text(struct mcp_request *r, const char *text, size_t len, bool is_error)
{
        struct json_writer w;

        request_result(r, &w);
        open_content(&w, text ? text : "", len);
        if (is_error)
                json_member_bool(&w, "isError", true);
        mcp_result_close(&w);
        request_answer(r, &w);
}

/*
 * Writes the same text twice, once as a string. It is not parsed again, because a parser may refuse
 * bytes that a command may print (U+0000).
 */
void
request_structured(struct mcp_request *r, struct json_writer *take_w, bool is_error)
{
        struct json_writer w;

        request_result(r, &w);
        if (take_w->is_broken)
                w.is_broken = true;
        else
                open_content(&w, take_w->text, take_w->len);
        json_key(&w, "structuredContent");
        json_raw(&w, take_w->text, take_w->len);
        if (is_error)
                json_member_bool(&w, "isError", true);
        mcp_result_close(&w);
        json_fini(take_w);
        request_answer(r, &w);
}

static void
write_error(struct json_writer *w, const struct error *e)
{
        json_open_map(w);
        json_member_text(w, "code", error_wire_name(e->code));
        if (*e->path)
                json_member_text(w, "path", e->path);
        if (*e->reason)
                json_member_text(w, "reason", e->reason);
        json_member_text(w, "message", e->message);
        json_member_text(w, "hint", error_hint_text(e));
        json_close_map(w);
}

static void
fail_message(struct mcp_request *r, const struct error *e)
{
        struct mcp_refusal why;

        (void)mcp_refuse(&why, 200,
                         e->code == ERROR_INVALID_ARGUMENT ? MCP_INVALID_PARAMS : MCP_SERVER_ERROR,
                         "%s (%s)", e->message, error_wire_name(e->code));
        request_refuse(r, &why);
}

/*
 * In the modern era the result already has its _meta, so in both eras the error's members are in
 * the _meta of the content.
 */
void
request_fail(struct mcp_request *r, const struct error *e)
{
        struct mcp_bytes text = { 0 };
        struct json_writer w;

        if (approval_elicit(r, e))
                return;
        if (!r->tool) {
                fail_message(r, e);
                return;
        }
        if (e->code == ERROR_READ_ONLY && r->tool->flags & TOOL_MASTRA)
                mcp_bytes_text(&text, "Sandbox does not support executeCommand");
        else
                mcp_bytes_format(&text, "Error: %.400s", e->message);
        if (!(r->tool->flags & TOOL_MASTRA) || e->code == ERROR_NOT_CONFIGURED ||
            e->code == ERROR_APPROVAL_REQUIRED)
                mcp_bytes_format(&text, " (%s). %.256s", error_wire_name(e->code),
                                 error_hint_text(e));
        request_result(r, &w);
        json_key(&w, "content");
        json_open_list(&w);
        json_open_map(&w);
        json_member_text(&w, "type", "text");
        json_key(&w, "text");
        json_bytes(&w, text.text, text.len);
        json_key(&w, "_meta");
        json_open_map(&w);
        json_key(&w, "carrel/error");
        write_error(&w, e);
        json_close_map(&w);
        json_close_map(&w);
        json_close_list(&w);
        json_member_bool(&w, "isError", true);
        mcp_result_close(&w);
        mcp_bytes_fini(&text);
        request_answer(r, &w);
}

/* -- calls ------------------------------------------------------------------------------------- */

int
request_record(struct mcp_request *r, struct record_writer *ret_w, size_t room)
{
        void *bytes = arena_alloc(&r->arena, room);
        struct error e;

        if (bytes) {
                record_init(ret_w, bytes, room);
                return 0;
        }
        (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for this request");
        request_fail(r, &e);
        return -1;
}

int
request_call(struct mcp_request *r, enum operation_code op, struct record_writer *w,
             const struct link_call_ops *ops)
{
        struct error e;

        link_call_end(&r->call);
        r->call = (struct link_call){ .ops = ops };
        record_bool(w, FIELD_APPROVAL_NOW, 1); /* a model learns at once what it waits for */
        if (link_call_begin(r->server->link, &r->call, &r->peer, op, w, &e) == 0)
                return 0;
        request_fail(r, &e);
        return -1;
}

void
request_on_refused(struct link_call *c, const struct error *e)
{
        if (!request_begins_anew(request_of(c), e))
                request_fail(request_of(c), e);
}

void
request_exec_error(struct error *e, const struct wire_exec_failed *f, const struct node *arguments)
{
        const struct node *cwd = node_find(arguments, "cwd"),
                          *name = node_at(node_find(arguments, "argv"), 0);

        if (!name)
                name = node_find(arguments, "language");
        (void)start_error_read(e, f, name && name->kind == NODE_STRING ? name->text : NULL,
                               cwd && cwd->kind == NODE_STRING ? cwd->text : NULL);
}

void
request_on_failed(struct link_call *c, const struct wire_exec_failed *f)
{
        struct error e;

        request_exec_error(&e, f, request_of(c)->arguments);
        request_fail(request_of(c), &e);
}

void
request_on_lost(struct link_call *c)
{
        struct error e;

        (void)fail(&e, ERROR_BACKEND_FAILED,
                   "the sandbox broke off: how the command ended is not known");
        request_fail(request_of(c), &e);
}

void
request_take_limit(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)is_last;
        request_of(c)->exec.limit = (struct time_limit){
                record_get_uint(fields, FIELD_TIMEOUT, TIME_LIMIT_NEVER),
                time_limit_find(record_get_text(fields, FIELD_TIMEOUT_BY, NULL))
        };
        (void)snprintf(request_of(c)->exec.audit_ref, sizeof request_of(c)->exec.audit_ref, "%s",
                       record_get_text(fields, FIELD_AUDIT_REF, ""));
}

void
request_on_output(struct link_call *c, int stream, const void *bytes, size_t len, uint64_t offset)
{
        struct mcp_request *r = request_of(c);

        tools_stream_put(stream == 1 ? &r->out : &r->err, bytes, len);
        request_progress(r, stream, bytes, len);
}

int
request_arguments(struct mcp_request *r, struct record_writer *ret_w, size_t room)
{
        struct error e;

        if (request_record(r, ret_w, room) < 0)
                return -1;
        if (tools_record(r->tool, r->arguments, r->sandbox, &r->arena, ret_w, &e) == 0)
                return 0;
        request_fail(r, &e);
        return -1;
}

void
request_take_counts(struct mcp_request *r, const struct record *fields)
{
        r->exec.out_bytes = record_get_uint(fields, FIELD_STDOUT_BYTES, 0);
        r->exec.err_bytes = record_get_uint(fields, FIELD_STDERR_BYTES, 0);
        r->out.total = record_get_uint(fields, FIELD_STDOUT_OFFSET, 0);
        r->err.total = record_get_uint(fields, FIELD_STDERR_OFFSET, 0);
        r->exec.gone_bytes = record_get_uint(fields, FIELD_DROPPED, 0);
}

/* -- output up to now -------------------------------------------------------------------------- */

static void
show(struct mcp_request *r)
{
        link_call_leave(&r->call);
        r->exec.shown(r);
}

void
request_on_quiet(struct link_call *c)
{
        struct mcp_request *r = request_of(c);

        if (!r->exec.wants_wait && r->exec.has_started && r->out.total >= r->exec.out_bytes &&
            r->err.total >= r->exec.err_bytes)
                show(r);
}

static void
waited(struct loop_timer *t)
{
        show((struct mcp_request *)(void *)((char *)t - offsetof(struct mcp_request, timer)));
}

void
request_attach(struct mcp_request *r, struct record_writer *w, uint64_t wait_ms,
               const struct link_call_ops *ops, void (*shown)(struct mcp_request *r))
{
        struct error e;

        r->exec.shown = shown;
        if (r->exec.wants_wait &&
            loop_timer_set(r->server->loop, &r->timer, loop_now_ms() + wait_ms, waited) < 0) {
                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for a timer");
                request_fail(r, &e);
        } else {
                (void)request_call(r, OP_EXEC_ATTACH, w, ops);
        }
}

/* -- progress ---------------------------------------------------------------------------------- */

static void
notify(struct mcp_request *r, const char *text, size_t len)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_text(&w, "jsonrpc", "2.0");
        json_member_text(&w, "method", "notifications/progress");
        json_key(&w, "params");
        json_open_map(&w);
        json_key(&w, "progressToken");
        json_node(&w, r->progress.token);
        json_key(&w, "progress");
        json_uint(&w, r->progress.bytes);
        json_key(&w, "message");
        json_bytes(&w, text, len);
        json_close_map(&w);
        json_close_map(&w);
        if (!w.is_broken)
                r->sink->notify(r->sink, w.text, w.len);
        json_fini(&w);
}

/* How many bytes at the end of a text are the start of an incomplete character: 0 to 3. */
static size_t
open_tail(const char *text, size_t len)
{
        for (size_t back = 1; back <= 3 && back <= len; back++) {
                unsigned char byte = (unsigned char)text[len - back];

                if ((byte & 0xc0) == 0x80)
                        continue;
                return (byte >= 0xf0 && byte < 0xf5 && back < 4) ||
                                       (byte >= 0xe0 && byte < 0xf0 && back < 3) ||
                                       (byte >= 0xc2 && byte < 0xe0 && back < 2)
                               ? back
                               : 0;
        }
        return 0;
}

void
request_progress(struct mcp_request *r, int stream, const char *bytes, size_t len)
{
        struct mcp_progress *p = &r->progress;
        struct mcp_bytes text = { 0 };
        size_t *held = &p->tail_len[stream - 1], from = 0, open;

        if (!p->token)
                return;
        p->bytes += len;
        if (r->sink->is_full(r->sink)) {
                *held = 0; /* the held bytes are dropped with the output after them */
                return;
        }
        mcp_bytes_put(&text, p->tail[stream - 1], *held);
        mcp_bytes_put(&text, bytes, len);
        open = text.is_broken ? 0 : open_tail(text.text, text.len);
        if (!text.is_broken && text.len - open > PROGRESS_MAX)
                from = text.len - open - PROGRESS_MAX;
        while (from > 0 && from < text.len && ((unsigned char)text.text[from] & 0xc0) == 0x80)
                from++;
        if (!text.is_broken && text.len - open > from)
                notify(r, text.text + from, text.len - open - from);
        *held = text.is_broken ? 0 : open;
        if (*held > 0)
                memcpy(p->tail[stream - 1], text.text + text.len - open, open);
        mcp_bytes_fini(&text);
}
