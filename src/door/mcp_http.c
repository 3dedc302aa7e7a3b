/*
 * door/mcp_http.c - one POST is one message. Its answer is JSON, or a stream of events if
 * notifications come before it.
 *
 * Room: door (joining). Touches: mem clock.
 * Theory: a client that closes its connection cancels its request: the exchange calls its hook, and
 * the command's tree is killed. An idle stream sends a comment at intervals, so that no proxy
 * between closes it.
 */
#include "door/mcp_http.h"

#include <sodium.h>
#include <string.h>

#include "codec/encode.h"
#include "http/pour.h"
#include "loop/deferred.h"
#include "mcp/fixture.h"
#include "mcp/mcp.h"

enum { QUIET_MS = 15000, VALUE_MAX = 512, SESSION_BYTES = 16 };

/* The session of a client that can be asked: this, and a number that cannot be guessed. */
#define SESSION "asked-"

struct post {
        struct mcp_sink sink; /* must be first */
        struct exchange *x;
        struct mcp_request *request;
        struct loop_timer quiet;
        size_t waiting; /* bytes the client has not read */
        bool may_stream, is_over;
};

/* One for the program, which has one link to the keeper. */
static struct mcp_server *server;

/* -- the answer -------------------------------------------------------------------------------- */

static void
stream(struct post *p)
{
        if (p->x->has_begun)
                return;
        exchange_add(p->x, "X-Accel-Buffering", "no");
        exchange_begin(p->x, 200, "text/event-stream", -1);
}

static void
stay_awake(struct loop_timer *t)
{
        struct post *p = (struct post *)(void *)((char *)t - offsetof(struct post, quiet));

        stream(p);
        p->waiting = exchange_comment(p->x);
        (void)loop_timer_set(p->x->loop, &p->quiet, loop_now_ms() + QUIET_MS, stay_awake);
}

static void
finish(struct post *p)
{
        loop_timer_remove(&p->quiet);
        p->is_over = true;
        deferred_free(p);
}

static void
on_answer(struct mcp_sink *s, int status, const char *json, size_t len)
{
        struct post *p = (struct post *)(void *)s;
        struct exchange *x = p->x;
        struct error e;

        finish(p);
        if (x->has_begun) {
                if (len > 0)
                        (void)exchange_event(x, "message", NULL, json, len);
                exchange_end(x);
        } else if (len >= POUR_LEAST && exchange_keep(x, len, &e) < 0) {
                exchange_fail(x, &e);
        } else {
                /* from here on the queued bytes are counted instead */
                (void)exchange_keep(x, 0, &e);
                exchange_answer(x, status, len > 0 ? "application/json" : NULL, json, len);
        }
}

static void
on_notify(struct mcp_sink *s, const char *json, size_t len)
{
        struct post *p = (struct post *)(void *)s;

        stream(p);
        p->waiting = exchange_event(p->x, "message", NULL, json, len);
        (void)loop_timer_set(p->x->loop, &p->quiet, loop_now_ms() + QUIET_MS, stay_awake);
}

static void
on_opened(struct mcp_sink *s)
{
        struct exchange *x = ((struct post *)(void *)s)->x;
        unsigned char bytes[SESSION_BYTES];
        char session[sizeof SESSION + (size_t)2 * SESSION_BYTES] = SESSION;

        if (x->has_begun)
                return; /* the client gets no session, and is not asked */
        randombytes_buf(bytes, sizeof bytes);
        (void)sodium_bin2hex(session + sizeof SESSION - 1, sizeof session - sizeof SESSION + 1,
                             bytes, sizeof bytes);
        exchange_add(x, "Mcp-Session-Id", session);
}

static bool
is_full(struct mcp_sink *s)
{
        return ((struct post *)(void *)s)->waiting > EXCHANGE_HIGH;
}

static void
gone(struct exchange *x)
{
        struct post *p = x->state;

        mcp_cancel(p->request);
        finish(p);
}

static void
drained(struct exchange *x)
{
        ((struct post *)x->state)->waiting = 0;
}

static const struct exchange_hooks hooks = { gone, drained, NULL };

/* -- how it is served -------------------------------------------------------------------------- */

struct wishes {
        char sandbox[VALUE_MAX], context[VALUE_MAX], cache_key[VALUE_MAX], runtime[VALUE_MAX],
                risk[VALUE_MAX], names[VALUE_MAX], keep[VALUE_MAX], words[VALUE_MAX],
                manage[VALUE_MAX];
        bool wants_fixture;
};

static int
read_wish(const char *pair, size_t len, struct wishes *w, struct error *e)
{
        const struct {
                const char *name;
                char *value;
        } rows[] = {
                { "sandbox", w->sandbox },     { "context", w->context },
                { "cache_key", w->cache_key }, { "runtime", w->runtime },
                { "tool_names", w->names },    { "keep_background", w->keep },
                { "instructions", w->words },  { "manage", w->manage },
                { "risk", w->risk },
        };
        size_t name = 0, value_len;

        if (fixture_is_asked(pair, len)) {
                w->wants_fixture = true;
                return 0;
        }
        while (name < len && pair[name] != '=')
                name++;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                if (strlen(rows[i].name) != name || memcmp(rows[i].name, pair, name) != 0)
                        continue;
                if (*rows[i].value)
                        return fail_at(e, ERROR_INVALID_ARGUMENT, rows[i].name, "repeated",
                                       "`%s` stands more than once in the URL", rows[i].name);
                if (name == len || len - name >= VALUE_MAX ||
                    percent_read(pair + name + 1, len - name - 1, 1, rows[i].value, &value_len) < 0)
                        return fail_at(e, ERROR_INVALID_ARGUMENT, rows[i].name, NULL,
                                       "`%s` in the URL has no value that can be read",
                                       rows[i].name);
                return 0;
        }
        (void)fail(e, ERROR_INVALID_ARGUMENT,
                   "`%.*s` is no word of this URL: it may have sandbox, context, cache_key, "
                   "runtime, risk, tool_names, keep_background, instructions and manage",
                   (int)(name < 64 ? name : 64), pair);
        error_hint(
                e,
                "For example: /mcp?sandbox=ID&tool_names=plain. docs/MCP.md says what each means.");
        return -1;
}

static int
read_wishes(const char *query, struct wishes *w, struct error *e)
{
        while (*query) {
                size_t len = strcspn(query, "&");

                if (len > 0 && read_wish(query, len, w, e) < 0)
                        return -1;
                query += len + (query[len] == '&');
        }
        return 0;
}

static const char *
either(const struct exchange *x, const char *header, const char *wish)
{
        const char *value = exchange_header(x, header);

        return *wish ? wish : value && *value ? value : NULL;
}

static int
check_wishes(const struct wishes *w, struct error *e)
{
        if (*w->names && strcmp(w->names, "plain") != 0 && strcmp(w->names, "mastra") != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "tool_names", NULL,
                               "`tool_names` is mastra or plain");
        if (*w->keep && strcmp(w->keep, "true") != 0 && strcmp(w->keep, "false") != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "keep_background", NULL,
                               "`keep_background` is true or false");
        if (*w->manage && strcmp(w->manage, "true") != 0 && strcmp(w->manage, "false") != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "manage", NULL,
                               "`manage` is true or false");
        if (*w->words && strcmp(w->words, "resolve") != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "instructions", NULL,
                               "`instructions` is resolve, or left out");
        return 0;
}

/* NULL: none, or not one of ours. Nothing is remembered: it holds over restarts of the daemon. */
static const char *
session_of(const struct exchange *x)
{
        const char *text = exchange_header(x, "mcp-session-id"), *number;

        if (!text || strncmp(text, SESSION, sizeof SESSION - 1) != 0)
                return NULL;
        number = text + sizeof SESSION - 1;
        return strlen(number) == (size_t)2 * SESSION_BYTES &&
                               number[strspn(number, "0123456789abcdef")] == '\0'
                       ? text
                       : NULL;
}

static struct mcp_ask
ask_of(const struct exchange *x, const struct wishes *w)
{
        struct mcp_ask ask = {
                .headers = { true, exchange_header(x, "mcp-protocol-version"),
                             exchange_header(x, "mcp-method"), exchange_header(x, "mcp-name") },
                .peer = x->peer,
                .session = session_of(x),
                .sandbox = either(x, "carrel-sandbox", w->sandbox),
                .context_key = either(x, "carrel-context-key", w->context),
                .cache_key = *w->cache_key ? w->cache_key : NULL,
                .runtime = *w->runtime ? w->runtime : NULL,
                .risk = *w->risk ? w->risk : NULL,
        };

        ask.client = ask.context_key;
        ask.flags = (strcmp(w->names, "plain") == 0 ? (unsigned)MCP_PLAIN_NAMES : 0) |
                    (strcmp(w->keep, "true") == 0 ? (unsigned)MCP_KEEP_BACKGROUND : 0) |
                    (strcmp(w->manage, "true") == 0 ? (unsigned)MCP_MANAGE : 0) |
                    (*w->words ? (unsigned)MCP_RESOLVE_INSTRUCTIONS : 0) |
                    (ask.cache_key ? (unsigned)MCP_DYNAMIC : 0) |
                    (w->wants_fixture ? (unsigned)MCP_FIXTURE : 0);
        return ask;
}

/* -- the handler ------------------------------------------------------------------------------- */

static int
server_ready(struct exchange *x)
{
        if (!server)
                server = mcp_server_new(x->loop, x->link, CARREL_VERSION);
        return server ? 0 : -1;
}

void
mcp_http(struct exchange *x, const struct route *r)
{
        struct wishes wishes = { "" };
        struct post *p = deferred_make(x->loop, struct post);
        struct mcp_request *request;
        struct mcp_ask ask;
        struct error e;

        (void)r;
        if (!p || server_ready(x) < 0) {
                deferred_free(p);
                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for this request");
                exchange_fail(x, &e);
                return;
        }
        if (read_wishes(x->query, &wishes, &e) < 0 || check_wishes(&wishes, &e) < 0) {
                deferred_free(p);
                exchange_fail(x, &e);
                return;
        }
        *p = (struct post){
                .sink = { .answer = on_answer, .opened = on_opened, .is_full = is_full },
                .x = x,
                .may_stream = exchange_accepts(x, "text/event-stream")
        };
        p->quiet.due_ms = LOOP_NEVER;
        if (p->may_stream)
                p->sink.notify = on_notify;
        ask = ask_of(x, &wishes);
        request = mcp_receive(server, &ask, x->body, x->body_len, &p->sink);
        if (p->is_over)
                return;
        p->request = request;
        exchange_hold(x, &hooks, p);
        if (p->may_stream)
                (void)loop_timer_set(x->loop, &p->quiet, loop_now_ms() + QUIET_MS, stay_awake);
}

static const struct facade_route routes[] = {
        { "POST", "/mcp", mcp_http, ROUTE_OWN_QUERY },
};

const struct facade mcp_facade = { routes, sizeof routes / sizeof *routes, NULL };
