/*
 * keeper/port_use.c - connections to ports that are open at the door: while there is one, its sandbox is not idle.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: the bytes pass nobody here, so the door says when a connection is over: it cancels the call that asked for it, or goes. Others, who hold the socket
 * themselves, say nothing, and what they do with it counts when they ask.
 */
#include <stdlib.h>

#include "keeper/sandbox.h"

struct port_use {
        struct port_use *next;
        struct sandbox *sandbox;
        const struct connection *connection;
        uint32_t serial;
};

static struct port_use *uses;                  /* as many as the door has connections */

void
port_use_begin(const struct call *c, struct sandbox *s)
{
        struct port_use *u = c->connection && c->connection->is_door && !c->is_cancelled ? malloc(sizeof *u) : NULL;

        if (!u)
                return;                        /* then it is idle from the moment it was asked on */
        *u = (struct port_use){ uses, s, c->connection, c->serial };
        uses = u;
        s->ports_in_use++;
}

static void
end_matching(const struct sandbox *s, const struct connection *connection, const uint32_t *serial)
{
        struct port_use **at = &uses;

        while (*at) {
                struct port_use *u = *at;

                if (s ? u->sandbox != s : u->connection != connection || (serial && u->serial != *serial)) {
                        at = &u->next;
                        continue;
                }
                *at = u->next;
                u->sandbox->ports_in_use--;
                if (!s)
                        sandbox_touch(u->sandbox);
                free(u);
        }
}

void
port_use_end(const struct connection *connection, const uint32_t *serial)
{
        end_matching(NULL, connection, serial);
}

void
port_use_sandbox_gone(const struct sandbox *s)
{
        end_matching(s, NULL, NULL);
}
