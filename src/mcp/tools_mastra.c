/*
 * mcp/tools_mastra.c - two of Mastra's three tools: read the output of a background process, and
 * kill it.
 *
 * Room: mcp (joining). Touches: mem clock.
 * Theory: every call looks the pid up among the sandbox's execs, so it means the same over any
 * connection. A deliberate difference from Mastra: the output of an ended process can be read more
 * than once.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/server.h"
#include "mcp/tools.h"
#include "mcp/tools_mastra.h"
#include "mcp/tools_refused.h"

/* -- finding a pid ----------------------------------------------------------------------------- */

/* Finds the newest exec with this pid, because the kernel may reuse a pid. */
static void
look_at_item(struct mcp_request *r, const struct record *item)
{
        const char *state = record_get_text(item, FIELD_STATE, ""),
                   *outcome = record_get_text(item, FIELD_OUTCOME, "");
        uint64_t exec = record_get_uint(item, FIELD_EXEC, 0);

        if (record_get_uint(item, FIELD_PID, 0) != r->exec.pid || exec <= r->exec.exec)
                return;
        r->exec.exec = exec;
        r->exec.is_running = strcmp(state, "running") == 0 || strcmp(state, "starting") == 0;
        r->exec.was_killed = strcmp(outcome, "killed") == 0;
        r->exec.exit_code = (int)record_get_int(item, FIELD_EXIT_CODE, 0);
}

static void
on_items(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);
        struct record_entry entry;
        size_t at = 0;

        while (record_next(fields, &at, &entry) == 1) {
                struct record item = { entry.value, entry.len };

                if (entry.tag == FIELD_ITEMS && entry.type == RECORD_NESTED)
                        look_at_item(r, &item);
        }
        if (is_last)
                r->resolved(r);
}

static const struct link_call_ops items_ops = { .reply = on_items, .refused = request_on_refused };

static void
list_execs(struct mcp_request *r, void (*then)(struct mcp_request *r))
{
        struct record_writer w;

        if (request_record(r, &w, 512) < 0)
                return;
        r->resolved = then;
        record_text(&w, FIELD_ID, r->sandbox);
        (void)request_call(r, OP_EXEC_LIST, &w, &items_ops);
}

static const char *
hint(const struct mcp_request *r)
{
        bool is_dynamic = !node_find(r->arguments, "sandbox_id") && !r->context_key && r->context &&
                          !r->cache_key;

        return is_dynamic ? " If this process was started from a dynamic sandbox resolver, "
                            "configure sandboxCacheKey or have the resolver return the same "
                            "sandbox for follow-up calls."
                          : "";
}

/* A pid consists of digits; no process matches any other text. */
static int
read_pid(struct mcp_request *r)
{
        const char *pid;
        struct error e;

        if (mastra_read_text(r, "pid", 0, &pid, &e) < 0) {
                request_fail(r, &e);
                return -1;
        }
        if (!pid) {
                (void)mastra_wrong(&e, "pid", "a text");
                request_fail(r, &e);
                return -1;
        }
        (void)stpncpy(r->exec.pid_text, pid, sizeof r->exec.pid_text - 1);
        r->exec.has_pid = *pid && strlen(pid) <= 10 && pid[strspn(pid, "0123456789")] == '\0';
        r->exec.pid = r->exec.has_pid ? strtoull(pid, NULL, 10) : 0;
        return 0;
}

static const char *
pid_argument(const struct mcp_request *r)
{
        return node_find(r->arguments, "pid")->text;
}

/* -- get_process_output ------------------------------------------------------------------------ */

static void
not_found(struct mcp_request *r)
{
        struct mcp_bytes text = { 0 };

        mcp_bytes_format(&text, "No background process found with PID %.200s.", pid_argument(r));
        mcp_bytes_text(&text, hint(r));
        mastra_answer(r, &text, false);
}

static void
answer_output(struct mcp_request *r, const struct record *refused)
{
        struct tools_output o = mastra_output(r);
        struct mcp_bytes text = { 0 };

        tools_text_process(&text, &o, r->exec.is_running ? NULL : &r->exec.exit_code);
        tools_refused_text(&text, refused);
        mastra_answer(r, &text, false);
}

static void
on_attached(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)is_last;
        request_take_counts(request_of(c), fields);
}

static void
on_attached_start(struct link_call *c, const struct channel_started *s)
{
        (void)s;
        request_of(c)->exec.has_started = true;
}

static void
answer_attached_end(struct mcp_request *r, const struct channel_end *end,
                    const struct record *refused)
{
        r->exec.is_running = false;
        r->exec.exit_code = mastra_exit_code(end);
        answer_output(r, refused);
}

static void
on_attached_end(struct link_call *c, const struct channel_end *end)
{
        tools_ended(request_of(c), end, answer_attached_end);
}

static void
on_attached_lost(struct link_call *c)
{
        answer_output(request_of(c), NULL);
}

static const struct link_call_ops attached_ops = { .reply = on_attached,
                                                   .refused = request_on_refused,
                                                   .started = on_attached_start,
                                                   .failed = request_on_failed,
                                                   .output = request_on_output,
                                                   .ended = on_attached_end,
                                                   .lost = on_attached_lost,
                                                   .quiet = request_on_quiet };

static void
answer_running(struct mcp_request *r)
{
        answer_output(r, NULL);
}

/* How long `wait` waits; always limited (E10). */
static uint64_t
wait_ms(const struct mcp_request *r)
{
        const struct node *n = node_find(r->message.meta, "carrel/waitMs");

        return n && n->kind == NODE_INT && n->integer >= 0 && n->integer <= MCP_WAIT_MS
                       ? (uint64_t)n->integer
                       : MCP_WAIT_MS;
}

static void
attach(struct mcp_request *r, const struct link_call_ops *ops)
{
        struct record_writer w;

        if (request_record(r, &w, 512) < 0)
                return;
        record_text(&w, FIELD_ID, r->sandbox);
        record_uint(&w, FIELD_EXEC, r->exec.exec);
        request_attach(r, &w, wait_ms(r), ops, answer_running);
}

static void
found_for_output(struct mcp_request *r)
{
        if (r->exec.exec == 0 || (!r->exec.is_running && r->exec.was_killed))
                not_found(r);
        else
                attach(r, &attached_ops);
}

static void
look_for_output(struct mcp_request *r)
{
        if (r->exec.has_pid)
                list_execs(r, found_for_output);
        else
                not_found(r);
}

void
tool_get_process_output(struct mcp_request *r)
{
        struct error e;

        if (read_pid(r) < 0)
                return;
        if (mastra_read_tail(r, 0, &r->exec.tail, &e) < 0 ||
            mastra_read_flag(r, "wait", &r->exec.wants_wait, &e) < 0)
                request_fail(r, &e);
        else
                request_resolve(r, look_for_output);
}

/* -- kill_process ------------------------------------------------------------------------------ */

static void
was_not_running(struct mcp_request *r)
{
        struct mcp_bytes text = { 0 };

        mcp_bytes_format(&text, "Process %.200s was not found or had already exited.",
                         pid_argument(r));
        mcp_bytes_text(&text, hint(r));
        mastra_answer(r, &text, false);
}

static void
answer_killed(struct mcp_request *r)
{
        struct tools_output o = mastra_output(r);
        struct mcp_bytes text = { 0 };

        tools_text_killed(&text, pid_argument(r), &o);
        mastra_answer(r, &text, false);
}

static void
on_rest_end(struct link_call *c, const struct channel_end *end)
{
        (void)end;
        answer_killed(request_of(c));
}

static void
on_rest_lost(struct link_call *c)
{
        answer_killed(request_of(c));
}

static void
on_rest_refused(struct link_call *c, const struct error *e)
{
        (void)e;
        answer_killed(request_of(c));
}

static const struct link_call_ops rest_ops = { .refused = on_rest_refused,
                                               .failed = request_on_failed,
                                               .output = request_on_output,
                                               .ended = on_rest_end,
                                               .lost = on_rest_lost };

static void
on_killed(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);

        (void)is_last;
        if (record_get_bool(fields, FIELD_EXISTED, 0))
                attach(r, &rest_ops);
        else
                was_not_running(r);
}

static const struct link_call_ops kill_ops = { .reply = on_killed, .refused = request_on_refused };

static void
found_for_kill(struct mcp_request *r)
{
        struct record_writer w;

        if (r->exec.exec == 0 || !r->exec.is_running) {
                was_not_running(r);
                return;
        }
        if (request_record(r, &w, 512) < 0)
                return;
        record_text(&w, FIELD_ID, r->sandbox);
        record_uint(&w, FIELD_EXEC, r->exec.exec);
        (void)request_call(r, OP_EXEC_KILL, &w, &kill_ops);
}

static void
look_for_kill(struct mcp_request *r)
{
        if (r->exec.has_pid)
                list_execs(r, found_for_kill);
        else
                was_not_running(r);
}

void
tool_kill_process(struct mcp_request *r)
{
        r->exec.tail = TOOLS_TAIL_KILLED;
        if (read_pid(r) == 0)
                request_resolve(r, look_for_kill);
}
