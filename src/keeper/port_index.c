/*
 * keeper/port_index.c - finds the sandbox and port of a token.
 *
 * Room: keeper (joining). Touches: mem, random.
 * Theory: the slot in the table comes from a keyed hash with a secret key. So the time for a wrong
 * token reveals nothing about right ones, and an attacker cannot choose tokens that share one slot.
 * The token found there is compared in constant time.
 */
#include "keeper/port_index.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/sandbox.h"

enum { PLACES = 1 << 14 };

struct port_token {
        struct port_token *next;
        struct sandbox *sandbox;
        size_t port;
};

static struct port_token *places[PLACES];

static struct port_token **
place_of(const char token[STORE_TOKEN_LEN])
{
        static unsigned char key[crypto_shorthash_KEYBYTES];
        static bool has_key;
        uint64_t hash;

        _Static_assert(crypto_shorthash_BYTES == sizeof hash, "a hash is 64 bits");
        if (!has_key)
                crypto_shorthash_keygen(key);
        has_key = true;
        (void)crypto_shorthash((unsigned char *)&hash, (const unsigned char *)token,
                               STORE_TOKEN_LEN - 1, key);
        return &places[hash % PLACES];
}

int
port_index_add(struct sandbox *s)
{
        const struct store_port *ports = s->row.ports.bytes;
        size_t count = s->row.ports.len / sizeof *ports;

        if (count == 0)
                return 0;
        s->port_tokens = calloc(count, sizeof *s->port_tokens);
        if (!s->port_tokens)
                return -1;
        for (size_t i = 0; i < count; i++) {
                struct port_token **place = place_of(ports[i].token);

                s->port_tokens[i] = (struct port_token){ *place, s, i };
                *place = &s->port_tokens[i];
        }
        return 0;
}

void
port_index_remove(struct sandbox *s)
{
        const struct store_port *ports = s->row.ports.bytes;

        for (size_t i = 0; s->port_tokens && i < s->row.ports.len / sizeof *ports; i++) {
                struct port_token **at = place_of(ports[i].token);

                while (*at && *at != &s->port_tokens[i])
                        at = &(*at)->next;
                if (*at)
                        *at = s->port_tokens[i].next;
        }
        free(s->port_tokens);
        s->port_tokens = NULL;
}

struct sandbox *
port_index_find(const char *token, uint16_t *ret_port)
{
        if (strlen(token) != STORE_TOKEN_LEN - 1)
                return NULL;
        for (const struct port_token *t = *place_of(token); t; t = t->next) {
                const struct store_port *port =
                        (const struct store_port *)t->sandbox->row.ports.bytes + t->port;

                if (t->sandbox->state == SANDBOX_STOPPING ||
                    sodium_memcmp(port->token, token, STORE_TOKEN_LEN - 1) != 0)
                        continue;
                *ret_port = port->port;
                return t->sandbox;
        }
        return NULL;
}
