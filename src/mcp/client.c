/*
 * mcp/client.c - agents, as far as they can be known, and what of theirs dies with them.
 *
 * Room: mcp (acting). Touches: mem clock.
 * Theory: over stdio there is one, and the program is its own. Over HTTP one is known by user, token and name as long as something of it is in flight
 * or held, and MCP_BACKGROUND_MS longer. What it left is then killed by a call; that the channel closes kills over stdio alone.
 */
#include <stdlib.h>
#include <string.h>

#include "loop/later.h"
#include "mcp/server.h"

static bool
is_client(const struct mcp_client *c, const struct api_peer *peer, const char *name)
{
        return c->uid == peer->uid && c->has_token == (peer->token != NULL) && strcmp(c->token, peer->token ? peer->token : "") == 0 &&
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
        loop_timer_remove(&c->silence);
        free(c->token);
        free(c->name);
        later_free(c);
}

static void
client_gone(struct mcp_client *c)
{
        for (struct mcp_held *h = c->held; h; h = h->next)
                mcp_held_kill(h);
        mcp_client_free(c);
}

static void
client_silent(struct loop_timer *t)
{
        client_gone((struct mcp_client *)(void *)((char *)t - offsetof(struct mcp_client, silence)));
}

struct mcp_client *
mcp_client_get(struct mcp_server *s, const struct mcp_ask *ask)
{
        struct mcp_client *c = mcp_client_find(s, &ask->peer, ask->client);

        if (c || !(c = later_make(s->loop, struct mcp_client)))
                return c;
        *c = (struct mcp_client){ .server = s, .next = s->clients, .uid = ask->peer.uid, .has_token = ask->peer.token, .is_http = ask->headers.is_http };
        c->silence.due_ms = LOOP_NEVER;
        s->clients = c;
        c->token = strdup(ask->peer.token ? ask->peer.token : "");
        c->name = strdup(ask->client ? ask->client : "");
        if (c->token && c->name)
                return c;
        mcp_client_free(c);
        return NULL;
}

void
mcp_client_count(struct mcp_client *c, int change)
{
        c->requests += (unsigned)change;
        loop_timer_remove(&c->silence);
        if (c->requests > 0 || !c->is_http)
                return;
        /* Without a timer nothing would end what it left. */
        if (!c->held || loop_timer_set(c->server->loop, &c->silence, loop_now_ms() + MCP_BACKGROUND_MS, client_silent) < 0)
                client_gone(c);
}
