/*
 * mcp/resolve.c - finds the sandbox of a request, and the instructions for its agent.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: an id is used unchanged. A context becomes a name, ctx-HASH, and names are unique per
 * owner. So the same context finds its sandbox again after a restart of the daemon, and two
 * simultaneous requests create only one. Owners are separate: the keeper looks names up among the
 * caller's own, and the hash includes the caller. The caller owns the sandbox; this file never
 * stops one.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/server.h"
#include "text/tree_pack.h"

enum { NAME_DIGITS = 32 };

bool
request_is_configured(const struct mcp_request *r)
{
        return r->sandbox || r->context_key || (r->context && r->context->kind == NODE_MAP) ||
               r->flags & MCP_DYNAMIC;
}

/* -- the key of a context ---------------------------------------------------------------------- */

static int
compare_keys(const void *a, const void *b)
{
        const struct node *const *x = a, *const *y = b;

        return strcmp((*x)->key, (*y)->key);
}

/*
 * Writes a value so that equal values give equal bytes: members are sorted by key. At most
 * MCP_DEPTH_MAX levels deep.
 */
static void
put_canonical(struct json_writer *w, struct arena *arena, const struct node *n)
{
        const struct node **members;
        size_t count = 0;

        if (n->kind != NODE_MAP || n->len == 0 ||
            !(members = arena_array(arena, const struct node *, n->len))) {
                json_node(w, n);
                return;
        }
        node_each(member, n) members[count++] = member;
        qsort(members, count, sizeof *members, compare_keys);
        json_open_map(w);
        for (size_t i = 0; i < count; i++) {
                json_key(w, members[i]->key);
                put_canonical(w, arena, members[i]);
        }
        json_close_map(w);
}

static int
context_text(struct mcp_request *r, struct json_writer *w, struct error *e)
{
        const struct node *context = r->context;

        if (r->context_key) {
                json_text(w, r->context_key);
                return 0;
        }
        if (!context || context->kind != NODE_MAP)
                return fail(e, ERROR_NOT_CONFIGURED,
                            "a context chooses the sandbox here, and this request has none: send "
                            "params._meta[\"carrel/context\"]");
        if (r->cache_key)
                context = node_find(context, r->cache_key);
        if (!context || (r->cache_key && context->kind != NODE_STRING && context->kind != NODE_INT))
                return fail_at(
                        e, ERROR_INVALID_ARGUMENT, "_meta/carrel~1context", NULL,
                        "the context has no text or number `%.64s`, by which its sandbox is chosen",
                        r->cache_key);
        put_canonical(w, &r->arena, context);
        return 0;
}

/*
 * The bytes before the first NUL identify the owner; the bytes after it are one of the owner's
 * keys.
 */
static void
hash(const struct mcp_request *r, const char *text, size_t len, unsigned char *ret)
{
        crypto_hash_sha256_state state;
        unsigned char uid[4] = { (unsigned char)r->peer.uid, (unsigned char)(r->peer.uid >> 8),
                                 (unsigned char)(r->peer.uid >> 16),
                                 (unsigned char)(r->peer.uid >> 24) };
        const char *token = r->peer.token ? r->peer.token : "";

        crypto_hash_sha256_init(&state);
        crypto_hash_sha256_update(&state, uid, sizeof uid);
        crypto_hash_sha256_update(&state, (const unsigned char *)token, strlen(token) + 1);
        crypto_hash_sha256_update(&state, (const unsigned char *)text, len);
        crypto_hash_sha256_final(&state, ret);
}

static int
context_key(struct mcp_request *r, struct error *e)
{
        struct json_writer w;
        int result;

        json_init(&w, false);
        result = context_text(r, &w, e);
        if (result == 0 && w.is_broken)
                result = fail(e, ERROR_NO_MEMORY, "there is no memory left for this context");
        if (result == 0)
                hash(r, w.text, w.len, r->key);
        json_fini(&w);
        return result;
}

/* -- the cache --------------------------------------------------------------------------------- */

static struct mcp_cached *
cache_find(const struct mcp_request *r)
{
        for (struct mcp_cached *c = r->server->cached; c; c = c->next)
                if (memcmp(c->key, r->key, sizeof c->key) == 0)
                        return c;
        return NULL;
}

static void
cache_remove(struct mcp_server *s, struct mcp_cached **at)
{
        struct mcp_cached *c = *at;

        *at = c->next;
        free(c);
        s->cached_count--;
}

/* The oldest entry is dropped when there are too many: its sandbox is found again by its name. */
static void
cache_put(struct mcp_request *r, const char *id)
{
        struct mcp_server *s = r->server;
        struct mcp_cached *c = cache_find(r), **at = &s->cached;

        if (!c && s->cached_count >= MCP_CACHE_MAX) {
                while ((*at)->next)
                        at = &(*at)->next;
                cache_remove(s, at);
        }
        if (!c && (c = calloc(1, sizeof *c))) {
                memcpy(c->key, r->key, sizeof c->key);
                hash(r, "", 0, c->owner);
                c->next = s->cached;
                s->cached = c;
                s->cached_count++;
        }
        if (c)
                (void)stpncpy(c->id, id, sizeof c->id - 1);
}

unsigned
request_clear_cache(struct mcp_request *r, const char *key)
{
        struct mcp_server *s = r->server;
        unsigned before = s->cached_count;
        unsigned char owner[sizeof r->key];
        struct error e;

        r->context_key = key;
        if (key && context_key(r, &e) < 0)
                return 0;
        hash(r, "", 0, owner);
        for (struct mcp_cached **at = &s->cached; *at;) {
                if (memcmp((*at)->owner, owner, sizeof owner) == 0 &&
                    (!key || memcmp((*at)->key, r->key, sizeof r->key) == 0))
                        cache_remove(s, at);
                else
                        at = &(*at)->next;
        }
        return before - s->cached_count;
}

void
mcp_cache_free(struct mcp_server *s)
{
        while (s->cached)
                cache_remove(s, &s->cached);
}

/* -- finding and creating ---------------------------------------------------------------------- */

static void look(struct mcp_request *r);

static void
name_of(const struct mcp_request *r, char *out)
{
        char digits[2 * sizeof r->key + 1];

        (void)sodium_bin2hex(digits, sizeof digits, r->key, sizeof r->key);
        memcpy(out, "ctx-", 4);
        memcpy(out + 4, digits, NAME_DIGITS);
        out[4 + NAME_DIGITS] = '\0';
}

static void
found(struct mcp_request *r, const struct record *fields)
{
        const char *id = record_get_text(fields, FIELD_ID, NULL);
        struct error e;

        r->sandbox = id ? arena_text(&r->arena, id) : NULL;
        if (!r->sandbox) {
                (void)fail(&e, ERROR_PROTOCOL, "the answer names no sandbox");
                request_fail(r, &e);
                return;
        }
        cache_put(r, r->sandbox);
        r->resolved(r);
}

static void
on_made(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)is_last;
        found(request_of(c), fields);
}

/* Another request may have created it meanwhile: then it is found now. */
static void
on_not_made(struct link_call *c, const struct error *e)
{
        struct mcp_request *r = request_of(c);

        if (r->is_second_look || e->code != ERROR_EXISTS) {
                request_fail(r, e);
                return;
        }
        r->is_second_look = true;
        look(r);
}

static const struct link_call_ops make_ops = { .reply = on_made, .refused = on_not_made };

static int
check_manifest(struct mcp_request *r)
{
        const struct node *mounts = node_find(r->manifest, "mounts");
        struct error e;

        if (!mounts || mounts->len == 0 || (mounts->kind != NODE_LIST && mounts->kind != NODE_MAP))
                return 0;
        (void)fail_at(&e, ERROR_CONFIG_INVALID, "mounts", "INVALID_CONFIG",
                      "mounts belong to one sandbox, and here a context chooses it: name a sandbox "
                      "that has them, or leave them out");
        request_fail(r, &e);
        return -1;
}

static void
make(struct mcp_request *r)
{
        struct record_writer w;
        char name[4 + NAME_DIGITS + 1];
        void *packed;

        if (check_manifest(r) < 0 || request_record(r, &w, REQUEST_RECORD) < 0)
                return;
        name_of(r, name);
        record_text(&w, FIELD_NAME, name);
        record_text(&w, FIELD_RUNTIME, r->runtime);
        record_text(&w, FIELD_RISK, r->risk);
        record_text(&w, FIELD_WORKSPACE, r->workspace);
        for (size_t i = 0; i < r->read_count; i++)
                record_text(&w, FIELD_READS, r->reads[i]);
        if (r->manifest && (packed = arena_alloc(&r->arena, tree_pack_len(r->manifest)))) {
                tree_pack(r->manifest, packed);
                record_bytes(&w, FIELD_MANIFEST, RECORD_TREE, packed, tree_pack_len(r->manifest));
        }
        (void)request_call(r, OP_CREATE, &w, &make_ops);
}

static bool
is_over(const struct record *fields)
{
        const char *status = record_get_text(fields, FIELD_STATUS, "");

        return strcmp(status, "stopped") == 0 || strcmp(status, "stopping") == 0 ||
               strcmp(status, "failed") == 0;
}

static void
on_looked(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);

        (void)is_last;
        if (is_over(fields))
                make(r);
        else
                found(r, fields);
}

static void
on_not_there(struct link_call *c, const struct error *e)
{
        struct mcp_request *r = request_of(c);

        if (e->code == ERROR_NOT_FOUND && !r->is_second_look)
                make(r);
        else
                request_fail(r, e);
}

static const struct link_call_ops look_ops = { .reply = on_looked, .refused = on_not_there };

static void
look(struct mcp_request *r)
{
        struct record_writer w;
        char name[4 + NAME_DIGITS + 1];

        if (request_record(r, &w, 512) < 0)
                return;
        name_of(r, name);
        record_text(&w, FIELD_ID, name);
        (void)request_call(r, OP_GET, &w, &look_ops);
}

bool
request_begins_anew(struct mcp_request *r, const struct error *e)
{
        struct mcp_server *s = r->server;

        if (!r->is_from_cache ||
            (e->code != ERROR_NOT_FOUND && e->code != ERROR_BACKEND_FAILED && e->code != ERROR_OOM))
                return false;
        for (struct mcp_cached **at = &s->cached; *at; at = &(*at)->next) {
                if (memcmp((*at)->key, r->key, sizeof r->key) != 0)
                        continue;
                cache_remove(s, at);
                break;
        }
        r->is_from_cache = false;
        r->sandbox = NULL;
        r->resolved = r->begins;
        look(r);
        return true;
}

void
request_resolve(struct mcp_request *r, void (*then)(struct mcp_request *r))
{
        const struct mcp_cached *c;
        struct error e;

        r->resolved = r->begins = then;
        if (r->sandbox) {
                then(r);
        } else if (!request_is_configured(r)) {
                (void)fail(&e, ERROR_NOT_CONFIGURED,
                           "no sandbox is configured for this connection");
                request_fail(r, &e);
        } else if (context_key(r, &e) < 0) {
                request_fail(r, &e);
        } else if ((c = cache_find(r))) {
                r->sandbox = arena_text(&r->arena, c->id);
                r->is_from_cache = true;
                then(r);
        } else {
                look(r);
        }
}

void
request_with_sandbox(struct mcp_request *r, void (*then)(struct mcp_request *r))
{
        if (node_find(r->arguments, "sandbox_id"))
                then(r);
        else
                request_resolve(r, then);
}

/* -- instructions ------------------------------------------------------------------------------ */

static const char none_text[] = "No sandbox is configured for this connection: pass the id of one "
                                "as sandbox_id to the tools. sandbox_list shows those there are; "
                                "where sandbox_create is offered, it makes one, and sandbox_stop "
                                "ends it when it is no longer needed.";
static const char named_text[] = "Commands run in an isolated sandbox. What it allows is decided "
                                 "by its owner: a call that is not permitted says so.";
static const char dynamic_text[] =
        "Commands run in an isolated sandbox that belongs to the context of each request; it is "
        "found or made when the first tool is called. "
        "What it allows is decided by its owner: a call that is not permitted says so.";

static void
on_words(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);
        const char *text = record_get_text(fields, FIELD_TEXT, NULL);

        (void)is_last;
        text = text ? arena_text(&r->arena, text) : NULL;
        r->told(r, text ? text : named_text);
}

/* Instructions are optional: if they cannot be read, the client is served without them. */
static void
on_no_words(struct link_call *c, const struct error *e)
{
        struct mcp_request *r = request_of(c);

        (void)e;
        r->told(r, named_text);
}

static const struct link_call_ops words_ops = { .reply = on_words, .refused = on_no_words };

static void
ask_words(struct mcp_request *r)
{
        struct record_writer w;

        if (request_record(r, &w, 512) < 0)
                return;
        record_text(&w, FIELD_ID, r->sandbox);
        (void)request_call(r, OP_INSTRUCTIONS, &w, &words_ops);
}

void
request_instructions(struct mcp_request *r, void (*then)(struct mcp_request *r, const char *text))
{
        r->told = then;
        if (!request_is_configured(r))
                then(r, none_text);
        else if (!r->sandbox && !(r->flags & MCP_RESOLVE_INSTRUCTIONS))
                then(r, dynamic_text);
        else
                request_resolve(r, ask_words);
}
