/*
 * mcp/serve.c - takes messages and sends answers: assigns each request to its client, and ends it.
 *
 * Room: mcp (joining). Touches: mem clock.
 * Theory: every request ends in finish(), which also ends its call: a foreground command is killed
 * when its channel closes. The request is freed in the next turn, because its own callback may end
 * it.
 */
#include "mcp/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "loop/deferred.h"
#include "mcp/server.h"
#include "mcp/tools.h"

enum { SCAN_ARENA = 16 * 1024 };

/* -- the server -------------------------------------------------------------------------------- */

struct mcp_server *
mcp_server_new(struct loop *l, struct link *link, const char *version)
{
        struct mcp_server *s = calloc(1, sizeof *s);

        if (s)
                *s = (struct mcp_server){ .loop = l, .link = link, .version = version };
        return s;
}

/* -- the end of a request ---------------------------------------------------------------------- */

static void
finish(struct mcp_request *r)
{
        struct mcp_request **at = &r->server->requests;

        while (*at != r)
                at = &(*at)->next;
        *at = r->next;
        r->server->request_count--;
        link_call_end(&r->call);
        loop_timer_remove(&r->timer);
        for (struct mcp_held *h = r->client->held; h; h = h->next)
                if (h->request == r)
                        h->request = NULL;
        mcp_client_count(r->client, -1);
        tools_stream_fini(&r->out);
        tools_stream_fini(&r->err);
        mcp_bytes_fini(&r->wire);
        arena_fini(&r->arena);
        deferred_free(r);
}

void
request_answer(struct mcp_request *r, struct json_writer *take_w)
{
        struct json_writer w = *take_w;
        struct mcp_sink *sink = r->sink;
        struct mcp_refusal why;
        int status = 200;

        *take_w = (struct json_writer){ .is_broken = true };
        if (w.is_broken) { /* the short error message with its id still fits */
                status = 500;
                json_fini(&w);
                json_init(&w, false);
                (void)mcp_refuse(&why, status, MCP_INTERNAL_ERROR,
                                 "There is no memory left for this answer");
                mcp_error_write(&w, r->message.id, &why);
        }
        finish(r);
        sink->answer(sink, status, w.is_broken ? "{}" : w.text, w.is_broken ? 2 : w.len);
        json_fini(&w);
}

static void
answer_refusal(struct mcp_sink *sink, const struct node *id, const struct mcp_refusal *why)
{
        struct json_writer w;

        json_init(&w, false);
        mcp_error_write(&w, id, why);
        sink->answer(sink, w.is_broken ? 500 : why->status, w.is_broken ? "{}" : w.text,
                     w.is_broken ? 2 : w.len);
        json_fini(&w);
}

void
request_refuse(struct mcp_request *r, const struct mcp_refusal *why)
{
        struct json_writer w;
        struct mcp_sink *sink = r->sink;
        int status = r->message.is_modern ? why->status : 200;

        json_init(&w, false);
        mcp_error_write(&w, r->message.id, why);
        finish(r);
        sink->answer(sink, w.is_broken ? 500 : status, w.is_broken ? "{}" : w.text,
                     w.is_broken ? 2 : w.len);
        json_fini(&w);
}

void
mcp_cancel(struct mcp_request *r)
{
        if (r)
                finish(r);
}

void
request_result(struct mcp_request *r, struct json_writer *w)
{
        json_init(w, false);
        mcp_result_open(w, &r->message, r->server->version);
}

/* -- notifications ----------------------------------------------------------------------------- */

static bool
is_same_id(const struct node *a, const struct node *b)
{
        return a && b && a->kind == b->kind && a->len == b->len &&
               memcmp(a->text, b->text, a->len) == 0;
}

/*
 * Over HTTP without a session, two agents of one user may use the same request ids. If more than
 * one request matches, none is cancelled. Over HTTP the cancelled request's exchange still needs an
 * answer; over stdio it does not.
 */
static void
cancel_by_id(struct mcp_client *c, const struct node *id)
{
        struct mcp_request *found = NULL;
        struct mcp_sink *sink;
        struct mcp_refusal why;
        unsigned count = 0;

        for (struct mcp_request *r = c->server->requests; r; r = r->next) {
                if (r->client != c || !is_same_id(r->message.id, id) ||
                    strcmp(r->message.method, "initialize") == 0)
                        continue;
                found = r;
                count++;
        }
        if (count != 1)
                return;
        (void)mcp_refuse(&why, 200, MCP_SERVER_ERROR, "The request was cancelled");
        sink = found->sink;
        if (c->is_http) {
                request_refuse(found, &why);
        } else {
                finish(found);
                sink->answer(sink, 0, NULL, 0);
        }
}

static void
notified(struct mcp_server *s, const struct mcp_ask *ask, const struct mcp_message *m)
{
        struct mcp_client *c = mcp_client_find(s, &ask->peer, ask->client);

        if (c && strcmp(m->method, "notifications/cancelled") == 0)
                cancel_by_id(c, node_find(m->params, "requestId"));
}

/* -- messages ---------------------------------------------------------------------------------- */

static const char *
copy(struct mcp_request *r, const char *text)
{
        return text ? arena_text(&r->arena, text) : NULL;
}

static const char *
meta_text(const struct mcp_message *m, const char *key)
{
        const struct node *n = node_find(m->meta, key);

        return n && n->kind == NODE_STRING ? n->text : NULL;
}

static void
read_ask(struct mcp_request *r, const struct mcp_ask *ask)
{
        const struct node *keep = node_find(r->message.meta, "carrel/keepBackground"),
                          *token = node_find(r->message.meta, "progressToken");
        const char *sandbox = meta_text(&r->message, "carrel/sandbox");

        r->peer =
                (struct api_peer){ r->client->uid, r->client->has_token ? r->client->token : NULL };
        r->flags = ask->flags;
        r->sandbox = copy(r, ask->sandbox ? ask->sandbox : sandbox);
        r->session = copy(r, ask->session);
        r->context_key = copy(r, ask->context_key);
        r->cache_key = copy(r, ask->cache_key);
        r->runtime = copy(r, ask->runtime);
        r->risk = copy(r, ask->risk);
        r->workspace = copy(r, ask->workspace);
        r->manifest = ask->manifest;
        r->reads = ask->reads;
        r->read_count = ask->read_count;
        r->context = node_find(r->message.meta, "carrel/context");
        r->idempotency_key = meta_text(&r->message, "carrel/idempotencyKey");
        if (keep && keep->kind == NODE_BOOL)
                r->flags = keep->boolean ? r->flags | MCP_KEEP_BACKGROUND
                                         : r->flags & ~(unsigned)MCP_KEEP_BACKGROUND;
        if (r->sink->notify && token && (token->kind == NODE_STRING || token->kind == NODE_INT))
                r->progress.token = token;
}

static struct mcp_request *
request_new(struct mcp_server *s, struct mcp_sink *sink)
{
        struct mcp_request *r = s->request_count < MCP_REQUESTS_MAX
                                        ? deferred_make(s->loop, struct mcp_request)
                                        : NULL;

        if (!r)
                return NULL;
        *r = (struct mcp_request){ .server = s, .sink = sink };
        r->timer.due_ms = LOOP_NEVER;
        arena_init(&r->arena, REQUEST_ARENA);
        return r;
}

static void
request_drop(struct mcp_request *r)
{
        arena_fini(&r->arena);
        deferred_free(r);
}

static bool
is_in_flight(const struct mcp_server *s, const struct mcp_request *r)
{
        for (const struct mcp_request *other = s->requests; other; other = other->next)
                if (other == r)
                        return true;
        return false;
}

/*
 * Refuses a message that could not be read or is not served. The error has the message's id, so the
 * client can match it.
 */
static void
refuse_scanned(struct mcp_sink *sink, const struct mcp_id_scan *scan, const struct mcp_refusal *why)
{
        struct arena arena;

        arena_init(&arena, SCAN_ARENA);
        answer_refusal(sink, mcp_id_scan_end(scan, &arena), why);
        arena_fini(&arena);
}

void
mcp_receive_too_long(const struct mcp_id_scan *scan, struct mcp_sink *sink)
{
        struct mcp_refusal why;

        (void)mcp_refuse(&why, 413, MCP_INVALID_REQUEST,
                         "The message is longer than %d bytes and was not read. Nothing was done. "
                         "Send less in one message",
                         (int)MCP_MESSAGE_MAX);
        refuse_scanned(sink, scan, &why);
}

static void
answer_full(struct mcp_sink *sink, const char *bytes, size_t len)
{
        struct mcp_id_scan scan = { 0 };
        struct mcp_refusal why;

        mcp_id_scan_put(&scan, bytes, len);
        (void)mcp_refuse(&why, 503, MCP_SERVER_ERROR, "Too many requests at once");
        refuse_scanned(sink, &scan, &why);
}

static struct mcp_request *
begin(struct mcp_request *r, const struct mcp_ask *ask)
{
        struct mcp_server *s = r->server;
        struct mcp_refusal why;

        r->client = mcp_client_get(s, ask);
        if (!r->client) {
                (void)mcp_refuse(&why, 503, MCP_INTERNAL_ERROR, "There is no memory left");
                answer_refusal(r->sink, r->message.id, &why);
                request_drop(r);
                return NULL;
        }
        if (!r->client->is_http && r->client->requests >= MCP_PIPE_REQUESTS_MAX) {
                (void)mcp_refuse(&why, 503, MCP_SERVER_ERROR, "Too many requests at once");
                answer_refusal(r->sink, r->message.id, &why);
                request_drop(r);
                return NULL;
        }
        mcp_client_count(r->client, 1);
        r->next = s->requests;
        s->requests = r;
        s->request_count++;
        read_ask(r, ask);
        request_serve(r);
        return is_in_flight(s, r) ? r : NULL;
}

struct mcp_request *
mcp_receive(struct mcp_server *s, const struct mcp_ask *ask, const char *bytes, size_t len,
            struct mcp_sink *sink)
{
        struct mcp_request *r = request_new(s, sink);
        struct mcp_refusal why;

        if (!r) {
                answer_full(sink, bytes, len);
                return NULL;
        }
        if (mcp_message_read(&r->arena, bytes, len, &ask->headers, &r->message, &why) < 0) {
                answer_refusal(sink, r->message.id, &why);
        } else if (r->message.kind != MCP_REQUEST) {
                if (r->message.kind == MCP_NOTIFICATION)
                        notified(s, ask, &r->message);
                else if (r->message.id)
                        approval_receive(s, mcp_client_find(s, &ask->peer, ask->client),
                                         ask->session, &r->message);
                sink->answer(sink, 202, NULL, 0);
        } else {
                return begin(r, ask);
        }
        request_drop(r);
        return NULL;
}

void
mcp_client_end(struct mcp_server *s, const struct api_peer *peer, const char *name)
{
        struct mcp_client *c = mcp_client_find(s, peer, name);

        if (!c)
                return;
        c->is_http = false; /* the client then ends with its last request, below */
        for (struct mcp_request *r = s->requests, *next; r; r = next) {
                next = r->next;
                if (r->client == c)
                        mcp_cancel(r);
        }
        mcp_client_free(c);
}

void
mcp_server_free(struct mcp_server *s)
{
        if (!s)
                return;
        while (s->requests)
                mcp_cancel(s->requests);
        while (s->clients)
                mcp_client_free(s->clients);
        mcp_cache_free(s);
        free(s);
}
