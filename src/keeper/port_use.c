/*
 * keeper/port_use.c - open connections of the door to ports inside: while one is open, its sandbox
 * is not idle.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: the keeper does not see the bytes, so the door reports the end of a connection. To do so
 * it cancels the call that asked for it, or disconnects. Other callers hold the socket themselves
 * and report nothing. For them only the request counts as use.
 */
#include <stdlib.h>

#include "keeper/sandbox.h"

struct port_use {
        struct port_use *next;
        struct sandbox *sandbox;
        const struct connection *connection;
        uint32_t serial;
};

static struct port_use *uses; /* as many as the door has connections */

void
port_use_begin(const struct call *c, struct sandbox *s)
{
        struct port_use *u = c->connection && c->connection->is_door && !c->is_cancelled
                                     ? malloc(sizeof *u)
                                     : NULL;

        if (!u)
                return; /* then its idle time starts at the request */
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

                if (s ? u->sandbox != s
                      : u->connection != connection || (serial && u->serial != *serial)) {
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
