/*
 * wire/gate.c - messages to a gate, packed.
 *
 * Room: wire (words). Touches: nothing.
 */
#include "wire/gate.h"

#include <string.h>

enum { ALIGN = 8 };

/* Gives where the next one goes, or NULL: there is no room. */
static char *
put(char *at, const char *end, const char *const *texts, size_t count)
{
        for (size_t i = 0; i < count && at; i++) {
                size_t len = strlen(texts[i]) + 1;

                if (len > (size_t)(end - at))
                        return NULL;
                memcpy(at, texts[i], len);
                at += len;
        }
        return at;
}

size_t
wire_gate_config(void *ret, size_t room, const char *const *resolvers, size_t resolver_count,
                 const char *const *networks, size_t network_count)
{
        struct wire_gate_config head = { .resolvers = (uint32_t)resolver_count,
                                         .networks = (uint32_t)network_count };
        char *start = (char *)ret + sizeof head, *at;

        if (room < sizeof head)
                return 0;
        at = put(start, (char *)ret + room, resolvers, resolver_count);
        at = at ? put(at, (char *)ret + room, networks, network_count) : NULL;
        if (!at)
                return 0;
        head.texts_len = (uint32_t)(at - start);
        memcpy(ret, &head, sizeof head);
        return (size_t)(at - (char *)ret);
}

size_t
wire_gate_policy(void *ret, size_t room, const struct wire_gate_policy *head,
                 const char *const *allow, size_t allow_count, const char *const *private_names,
                 size_t private_count, const struct wall_listener *listeners, size_t listener_count)
{
        struct wire_gate_policy p = *head;
        char *start = (char *)ret + sizeof p,
             *end = (char *)ret + (room < GATE_POLICY_MAX ? room : GATE_POLICY_MAX), *at;

        if (room < sizeof p || allow_count > GATE_ENTRIES_MAX || private_count > GATE_ENTRIES_MAX)
                return 0;
        at = put(start, end, allow, allow_count);
        at = at ? put(at, end, private_names, private_count) : NULL;
        if (!at)
                return 0;
        p.allow = (uint32_t)allow_count;
        p.private_names = (uint32_t)private_count;
        p.listeners = (uint32_t)listener_count;
        p.texts_len = (uint32_t)(at - start);
        memcpy(ret, &p, sizeof p);
        while ((at - (char *)ret) % ALIGN != 0 && at < end)
                *at++ = '\0';
        if ((at - (char *)ret) % ALIGN != 0 ||
            listener_count * sizeof *listeners > (size_t)(end - at))
                return 0;
        if (listener_count > 0)
                memcpy(at, listeners, listener_count * sizeof *listeners);
        return (size_t)(at - (char *)ret) + listener_count * sizeof *listeners;
}
