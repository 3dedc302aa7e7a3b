/*
 * mcp/approval.c - asks the person behind the client whether an operation may begin
 * (elicitation/create), in both eras.
 *
 * Room: mcp (joining). Touches: mem clock.
 *
 *     tool called -> keeper: approval_required -> approval.get -> the question
 *        legacy, over stdio:  a request on the same stream; its response comes as a message
 *        legacy, over HTTP:   a request on the stream of the POST; its response is another POST
 *        modern:              the result input_required; the client repeats the call with the
 * answer answer -> approval.answer -> the tool runs again: the keeper begins it, or says why not
 *
 * Theory: the keeper binds, keeps and compares; this file only carries question and answer.
 * Anything but a clear yes is a no. A client that declared no elicitation, and one with a token,
 * gets the error, which says where a person can answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mcp/server.h"
#include "mcp/tool.h"

enum { ID_LEN = 8 };
#define QUESTION "approval"
#define STATE "approval:"

/* -- may it be asked? -------------------------------------------------------------------------- */

/* `elicitation: {}` means forms, as `{form: {}}` does; `{url: {}}` alone does not. */
static bool
has_forms(const struct node *capabilities)
{
        const struct node *e = capabilities ? node_find(capabilities, "elicitation") : NULL;

        return e && e->kind == NODE_MAP && (e->len == 0 || node_find(e, "form"));
}

void
approval_note_client(struct mcp_request *r)
{
        bool elicits = has_forms(node_find(r->message.params, "capabilities"));

        if (!r->client->is_http)
                r->server->elicits = elicits;
        else if (elicits && !r->client->has_token && r->sink->opened)
                r->sink->opened(r->sink);
}

static bool
can_ask(const struct mcp_request *r)
{
        if (!r->tool || r->client->has_token)
                return false;
        if (r->message.is_modern)
                return has_forms(node_find(r->message.meta, MCP_META_CAPABILITIES));
        return r->sink->notify && (r->client->is_http ? r->session != NULL : r->server->elicits);
}

/* -- the answer -------------------------------------------------------------------------------- */

/* The tool begins anew: nothing of it has run. */
static void
again(struct mcp_request *r)
{
        loop_timer_remove(&r->timer);
        tools_stream_fini(&r->out);
        tools_stream_fini(&r->err);
        mcp_bytes_fini(&r->wire);
        r->out = r->err = (struct tools_stream){ .total = 0 };
        r->wire = (struct mcp_bytes){ 0 };
        memset(&r->exec, 0, sizeof r->exec);
        r->tool->run(r);
}

static void
on_answered(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)fields, (void)is_last;
        again(request_of(c));
}

/* If it is over, the tool asks again, or uses the answer of somebody else. */
static void
on_not_answered(struct link_call *c, const struct error *e)
{
        if (e->code == ERROR_APPROVAL_ANSWERED || e->code == ERROR_APPROVAL_NOT_FOUND)
                again(request_of(c));
        else
                request_fail(request_of(c), e);
}

static const struct link_call_ops answer_ops = { .reply = on_answered, .refused = on_not_answered };

/* `result`: of elicitation/create; NULL: the client failed. */
static void
answer(struct mcp_request *r, const char *id, const struct node *result)
{
        const struct node *content = result ? node_find(result, "content") : NULL,
                          *yes = content ? node_find(content, "approve") : NULL;
        bool is_approved = result && node_is_text(node_find(result, "action"), "accept") && yes &&
                           yes->kind == NODE_BOOL && yes->boolean;
        struct record_writer w;

        if (request_record(r, &w, 512) < 0)
                return;
        record_text(&w, FIELD_ID, id);
        record_text(&w, FIELD_VERDICT, is_approved ? "approve" : "deny");
        if (!is_approved)
                record_text(&w, FIELD_REASON, "declined in the MCP client");
        (void)request_call(r, OP_APPROVAL_ANSWER, &w, &answer_ops);
}

/* Over HTTP all agents of one user are one client: the session tells them apart. */
static bool
is_of_session(const struct mcp_request *r, const char *session)
{
        return !r->client->is_http || (r->session && session && strcmp(r->session, session) == 0);
}

void
approval_receive(struct mcp_server *s, const struct mcp_client *c, const char *session,
                 const struct mcp_message *m)
{
        for (struct mcp_request *r = s->requests; r; r = r->next) {
                char id[sizeof r->approval];

                if (r->client != c || r->approval[0] == '\0' || !node_is_text(m->id, r->question) ||
                    !is_of_session(r, session))
                        continue;
                (void)snprintf(id, sizeof id, "%s", r->approval);
                r->approval[0] = '\0';
                loop_timer_remove(&r->timer);
                answer(r, id, m->result);
                return;
        }
}

bool
approval_resume(struct mcp_request *r)
{
        const struct node *state = node_find(r->message.params, "requestState"),
                          *responses = node_find(r->message.params, "inputResponses");
        const struct node *one =
                responses && responses->kind == NODE_MAP ? node_find(responses, QUESTION) : NULL;
        const char *id =
                state && state->kind == NODE_STRING ? state->text + sizeof STATE - 1 : NULL;

        if (!r->message.is_modern || !one || one->kind != NODE_MAP || !id ||
            strncmp(state->text, STATE, sizeof STATE - 1) != 0 || strlen(id) != ID_LEN ||
            id[strspn(id, "0123456789abcdef")] != '\0')
                return false;
        answer(r, id, one);
        return true;
}

/* -- the question ------------------------------------------------------------------------------ */

static void
write_message(struct json_writer *w, const struct record *a)
{
        struct mcp_bytes text = { 0 };
        struct record_entry entry;
        size_t at = 0;

        mcp_bytes_format(&text,
                         "%.64s in the sandbox %.64s waits for your approval. It binds, once:",
                         record_get_text(a, FIELD_OPERATION, ""),
                         record_get_text(a, FIELD_NAME, record_get_text(a, FIELD_SANDBOX, "")));
        while (record_next(a, &at, &entry) > 0) {
                if (entry.tag != FIELD_BOUND)
                        continue;
                mcp_bytes_text(&text, "\n");
                mcp_bytes_text(&text, entry.value);
        }
        json_key(w, "message");
        json_bytes(w, text.text ? text.text : "", text.len);
        mcp_bytes_fini(&text);
}

static void
write_params(struct json_writer *w, const struct mcp_request *r, const struct record *a)
{
        json_key(w, "params");
        json_open_map(w);
        if (r->message.is_modern)
                json_member_text(w, "mode", "form");
        write_message(w, a);
        json_key(w, "requestedSchema");
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "approve");
        json_open_map(w);
        json_member_text(w, "type", "boolean");
        json_member_text(w, "title", "Approve");
        json_member_text(w, "description", "Whether exactly this may be done, once.");
        json_close_map(w);
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "approve");
        json_close_list(w);
        json_close_map(w);
        json_close_map(w);
}

static void
ask_modern(struct mcp_request *r, const struct record *a, const char *id)
{
        struct json_writer w;
        char state[sizeof STATE + ID_LEN];

        (void)snprintf(state, sizeof state, STATE "%s", id);
        json_init(&w, false);
        mcp_result_open_as(&w, &r->message, r->server->version, "input_required");
        json_key(&w, "inputRequests");
        json_open_map(&w);
        json_key(&w, QUESTION);
        json_open_map(&w);
        json_member_text(&w, "method", "elicitation/create");
        write_params(&w, r, a);
        json_close_map(&w);
        json_close_map(&w);
        json_member_text(&w, "requestState", state);
        mcp_result_close(&w);
        request_answer(r, &w);
}

static void
on_time(struct loop_timer *t)
{
        struct mcp_request *r =
                (struct mcp_request *)(void *)((char *)t - offsetof(struct mcp_request, timer));
        struct error e;

        (void)fail_at(&e, ERROR_APPROVAL_EXPIRED, "", "expired",
                      "no person answered the request %s in time, so it was denied", r->approval);
        request_fail(r, &e);
}

static void
ask_legacy(struct mcp_request *r, const struct record *a, const char *id)
{
        uint64_t until = record_get_uint(a, FIELD_EXPIRES_AT, 0), now = loop_wall_ms();
        struct json_writer w;

        (void)snprintf(r->approval, sizeof r->approval, "%s", id);
        (void)snprintf(r->question, sizeof r->question, "carrel-%" PRIu64, ++r->server->questions);
        json_init(&w, false);
        json_open_map(&w);
        json_member_text(&w, "jsonrpc", "2.0");
        json_member_text(&w, "id", r->question);
        json_member_text(&w, "method", "elicitation/create");
        write_params(&w, r, a);
        json_close_map(&w);
        if (w.is_broken ||
            loop_timer_set(r->server->loop, &r->timer,
                           loop_now_ms() + (until > now ? until - now : 0), on_time) < 0) {
                struct error e;

                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for a question");
                request_fail(r, &e);
        } else {
                r->sink->notify(r->sink, w.text, w.len);
        }
        json_fini(&w);
}

static void
on_shown(struct link_call *c, const struct record *a, bool is_last)
{
        struct mcp_request *r = request_of(c);
        char id[ID_LEN + 1];

        (void)is_last;
        (void)snprintf(id, sizeof id, "%s", record_get_text(a, FIELD_ID, ""));
        if (r->message.is_modern)
                ask_modern(r, a, id);
        else
                ask_legacy(r, a, id);
}

static const struct link_call_ops show_ops = { .reply = on_shown, .refused = request_on_refused };

bool
approval_elicit(struct mcp_request *r, const struct error *e)
{
        struct record_writer w;

        if (e->code != ERROR_APPROVAL_REQUIRED || !can_ask(r))
                return false;
        if (request_record(r, &w, 512) < 0)
                return true;
        record_text(&w, FIELD_ID, e->reason);
        (void)request_call(r, OP_APPROVAL_GET, &w, &show_ops);
        return true;
}
