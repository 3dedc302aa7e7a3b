/*
 * mcp/tools_exec.c - runs a command, or reads the state of one, with all details of how it ended.
 *
 * Room: mcp (joining). Touches: mem clock.
 * Theory: the context of a model is small. By default it gets the newest 64 KiB of each stream, and
 * counters of the total amount.
 */
#include <string.h>

#include "api/ending.h"
#include "mcp/tools.h"
#include "mcp/tools_refused.h"
#include "text/utf8.h"

enum { SHOWN = 64 * 1024 };

/* -- the answer -------------------------------------------------------------------------------- */

/* How many of the kept bytes to show: the newest, starting at the beginning of a character. */
static size_t
shown_len(const struct tools_stream *s, size_t most)
{
        size_t at = s->bytes.len > most ? s->bytes.len - most : 0;

        for (size_t i = 0; at > 0 && i < 3 && at < s->bytes.len &&
                           ((unsigned char)s->bytes.text[at] & 0xc0) == 0x80;
             i++)
                at++;
        return s->bytes.len - at;
}

static void
write_stream(struct json_writer *w, const char *name, const struct tools_stream *s, size_t len)
{
        json_key(w, name);
        json_bytes(w, s->bytes.text ? s->bytes.text + (s->bytes.len - len) : "", len);
}

static size_t
shown_of(const struct mcp_request *r)
{
        const struct node *keep = node_find(r->arguments, "keep_bytes");

        return keep && keep->kind == NODE_INT && keep->integer > 0 && keep->integer < TOOLS_KEPT
                       ? (size_t)keep->integer
               : keep ? (size_t)TOOLS_KEPT
                      : (size_t)SHOWN;
}

/* Names the limit, so that the reader knows what to raise. */
static void
write_explained(struct json_writer *w, const struct mcp_request *r, const struct outcome *o)
{
        struct error e;

        if (!outcome_explain(o, &r->exec.limit, &e))
                return;
        json_member_text(w, "message", e.message);
        if (e.hint[0] != '\0')
                json_member_text(w, "hint", e.hint);
}

/* How it ended, or what it printed so far, as this answer shows it. */
static struct outcome
outcome_shown(const struct mcp_request *r, const struct channel_end *end, size_t out_len,
              size_t err_len)
{
        struct outcome o =
                end ? ending_of(end)
                    : (struct outcome){ .word = OUTCOME_LOST, .dropped_bytes = r->exec.gone_bytes };

        if (o.stdout_bytes < r->out.total)
                o.stdout_bytes = r->out.total;
        if (o.stderr_bytes < r->err.total)
                o.stderr_bytes = r->err.total;
        o.dropped_bytes += (r->out.came - out_len) + (r->err.came - err_len);
        return o;
}

/* `end` NULL: the command still runs. */
static void
answer(struct mcp_request *r, const struct channel_end *end, const struct record *refused)
{
        struct json_writer w;
        size_t out_len = shown_len(&r->out, shown_of(r)), err_len = shown_len(&r->err, shown_of(r));
        struct outcome o = outcome_shown(r, end, out_len, err_len);
        bool is_fine = !end || (end->word == OUTCOME_EXITED && end->exit_code == 0);

        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "exec", (int64_t)r->exec.exec);
        json_member_text(&w, "state", end ? "ended" : "running");
        if (r->exec.pid > 0)
                json_member_int(&w, "pid", (int64_t)r->exec.pid);
        if (r->exec.audit_ref[0] != '\0')
                json_member_text(&w, "audit_ref", r->exec.audit_ref);
        ending_write_limit(&w, &r->exec.limit);
        if (end)
                ending_write(&w, &o);
        else
                ending_write_bytes(&w, &o);
        write_stream(&w, "stdout", &r->out, out_len);
        write_stream(&w, "stderr", &r->err, err_len);
        json_member_int(&w, "stdout_offset", (int64_t)(r->out.total - out_len));
        json_member_int(&w, "stderr_offset", (int64_t)(r->err.total - err_len));
        if (end)
                write_explained(&w, r, &o);
        tools_refused_members(&w, refused);
        json_close_map(&w);
        request_structured(r, &w, !is_fine);
}

/* -- callbacks --------------------------------------------------------------------------------- */

static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);

        request_take_limit(c, fields, is_last);
        r->exec.exec = record_get_uint(fields, FIELD_EXEC, r->exec.exec);
        r->exec.pid = record_get_uint(fields, FIELD_PID, 0);
        r->exec.has_ended = strcmp(record_get_text(fields, FIELD_STATE, ""), "ended") == 0;
        request_take_counts(r, fields);
}

static void
on_started(struct link_call *c, const struct channel_started *s)
{
        struct mcp_request *r = request_of(c);

        r->exec.exec = s->exec;
        r->exec.pid = (uint64_t)s->pid;
        /* a repeated call for a command that has ended: its end comes next */
        if (!r->exec.is_background || r->exec.has_ended)
                return;
        link_call_leave(c);
        answer(r, NULL, NULL);
}

static void
on_ended(struct link_call *c, const struct channel_end *end)
{
        tools_ended(request_of(c), end, answer);
}

static const struct link_call_ops exec_ops = { .reply = on_reply,
                                               .refused = request_on_refused,
                                               .started = on_started,
                                               .failed = request_on_failed,
                                               .output = request_on_output,
                                               .ended = on_ended,
                                               .lost = request_on_lost };

/* -- exec -------------------------------------------------------------------------------------- */

static void
start(struct mcp_request *r)
{
        const struct node *background = node_find(r->arguments, "background");
        struct record_writer w;

        if (request_arguments(r, &w, REQUEST_RECORD) < 0)
                return;
        r->exec.is_background = background && background->boolean;
        if (!r->exec.is_background)
                record_bool(&w, FIELD_LOSSLESS, 1);
        record_text(&w, FIELD_KEY, r->idempotency_key);
        (void)request_call(r, r->tool->op, &w, &exec_ops);
}

void
tool_exec(struct mcp_request *r)
{
        request_with_sandbox(r, start);
}

/* -- exec_output ------------------------------------------------------------------------------- */

static void
on_attached_start(struct link_call *c, const struct channel_started *s)
{
        struct mcp_request *r = request_of(c);

        r->exec.pid = (uint64_t)s->pid;
        r->exec.has_started = true;
}

static void
answer_running(struct mcp_request *r)
{
        answer(r, NULL, NULL);
}

static const struct link_call_ops attached_ops = { .reply = on_reply,
                                                   .refused = request_on_refused,
                                                   .started = on_attached_start,
                                                   .failed = request_on_failed,
                                                   .output = request_on_output,
                                                   .ended = on_ended,
                                                   .lost = request_on_lost,
                                                   .quiet = request_on_quiet };

static void
attach(struct mcp_request *r)
{
        const struct node *wait = node_find(r->arguments, "wait"),
                          *wait_ms = node_find(r->arguments, "wait_ms");
        uint64_t longest = wait_ms && wait_ms->kind == NODE_INT && wait_ms->integer >= 0
                                   ? (uint64_t)wait_ms->integer
                                   : MCP_WAIT_MS;
        struct record_writer w;

        if (request_arguments(r, &w, 1024) < 0)
                return;
        r->exec.wants_wait = wait && wait->boolean;
        request_attach(r, &w, longest, &attached_ops, answer_running);
}

void
tool_exec_output(struct mcp_request *r)
{
        request_with_sandbox(r, attach);
}
