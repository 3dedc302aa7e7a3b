/*
 * mcp/client.c - agents, as far as they can be identified, and the processes that end with them.
 *
 * Room: mcp (joining). Touches: mem clock.
 * Theory: over stdio there is one agent, which has the whole program. Over HTTP an agent is
 * identified by user, token and name. It is remembered while it has a request in flight, and for
 * MCP_HEARD_MS after the last report to the daemon. The daemon ends the processes of a silent agent
 * (keeper/client.c), also if this program was restarted meanwhile.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "loop/deferred.h"
#include "mcp/server.h"

static bool
is_client(const struct mcp_client *c, const struct api_peer *peer, const char *name)
{
        return c->uid == peer->uid && c->has_token == (peer->token != NULL) &&
               strcmp(c->token, peer->token ? peer->token : "") == 0 &&
               strcmp(c->name, name ? name : "") == 0;
}

struct mcp_client *
mcp_client_find(struct mcp_server *s, const struct api_peer *peer, const char *name)
{
        for (struct mcp_client *c = s->clients; c; c = c->next)
                if (is_client(c, peer, name))
                        return c;
        return NULL;
}

void
mcp_client_free(struct mcp_client *c)
{
        struct mcp_client **at = &c->server->clients;

        while (*at != c)
                at = &(*at)->next;
        *at = c->next;
        while (c->held)
                mcp_held_free(c->held);
        loop_timer_remove(&c->heard);
        c->server->client_count--;
        free(c->token);
        free(c->name);
        deferred_free(c);
}

/* -- reports to the daemon that a client is connected ------------------------------------------ */

struct telling {
        struct link_call call;
};

static void
told(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)fields;
        if (is_last)
                deferred_free((struct telling *)(void *)c);
}

static void
not_told(struct link_call *c, const struct error *e)
{
        /* a caller that may not make this call has no processes there */
        (void)e;
        deferred_free((struct telling *)(void *)c);
}

static const struct link_call_ops telling_ops = { .reply = told, .refused = not_told };

static void on_heard(struct loop_timer *t);

static void
tell_heard(struct mcp_client *c)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct api_peer who = { c->uid, c->has_token ? c->token : NULL };
        struct telling *t = deferred_make(c->server->loop, struct telling);
        struct record_writer w;
        struct error e;

        (void)loop_timer_set(c->server->loop, &c->heard, loop_now_ms() + MCP_HEARD_MS, on_heard);
        if (!t)
                return;
        t->call.ops = &telling_ops;
        record_init(&w, bytes, sizeof bytes);
        record_text(&w, FIELD_CLIENT, c->mark);
        if (link_call_begin(c->server->link, &t->call, &who, OP_CLIENT_HEARD, &w, &e) < 0)
                deferred_free(t);
}

static void
on_heard(struct loop_timer *t)
{
        struct mcp_client *c =
                (struct mcp_client *)((char *)t - offsetof(struct mcp_client, heard));

        if (c->requests > 0)
                tell_heard(c);
        else
                mcp_client_free(c);
}

/* -- agents ------------------------------------------------------------------------------------ */

static void
make_mark(struct mcp_client *c)
{
        crypto_hash_sha256_state state;
        unsigned char hash[crypto_hash_sha256_BYTES],
                uid[4] = { (unsigned char)c->uid, (unsigned char)(c->uid >> 8),
                           (unsigned char)(c->uid >> 16), (unsigned char)(c->uid >> 24) };

        _Static_assert(MCP_MARK_LEN / 2 <= sizeof hash, "a mark is the beginning of a hash");
        (void)crypto_hash_sha256_init(&state);
        (void)crypto_hash_sha256_update(&state, uid, sizeof uid);
        (void)crypto_hash_sha256_update(&state, (const unsigned char *)c->token,
                                        strlen(c->token) + 1);
        (void)crypto_hash_sha256_update(&state, (const unsigned char *)c->name, strlen(c->name));
        (void)crypto_hash_sha256_final(&state, hash);
        (void)sodium_bin2hex(c->mark, sizeof c->mark, hash, MCP_MARK_LEN / 2);
}

struct mcp_client *
mcp_client_get(struct mcp_server *s, const struct mcp_ask *ask)
{
        struct mcp_client *c = mcp_client_find(s, &ask->peer, ask->client);

        if (c || !(c = deferred_make(s->loop, struct mcp_client)))
                return c;
        *c = (struct mcp_client){ .server = s,
                                  .next = s->clients,
                                  .uid = ask->peer.uid,
                                  .has_token = ask->peer.token,
                                  .is_http = ask->headers.is_http };
        c->heard.due_ms = LOOP_NEVER;
        s->clients = c;
        s->client_count++;
        c->token = strdup(ask->peer.token ? ask->peer.token : "");
        c->name = strdup(ask->client ? ask->client : "");
        if (!c->token || !c->name) {
                mcp_client_free(c);
                return NULL;
        }
        make_mark(c);
        return c;
}

void
mcp_client_count(struct mcp_client *c, int change)
{
        c->requests += (unsigned)change;
        if (!c->is_http)
                return;
        if (c->requests > 0 && c->heard.due_ms == LOOP_NEVER)
                tell_heard(c);
        else if (c->requests == 0 &&
                 (c->heard.due_ms == LOOP_NEVER || c->server->client_count > MCP_CLIENTS_MAX))
                mcp_client_free(c);
}
