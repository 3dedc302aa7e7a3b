/*
 * policy/host_network.c - the fields of a host file about networks.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows how destinations, ports, resolvers, networks and caps are written there. Knows nothing of
 * what a request for one of them is answered: that is host_destination.c.
 */
#include "policy/host_read.h"

#include <stdio.h>
#include <string.h>

#include "egress/address.h"
#include "spec/section.h"

static int
read_destinations(struct host_reading *r, const struct node *n, const char *path,
                  int (*read)(struct arena *arena, const char *text, struct spec_egress *ret,
                              struct error *e),
                  const struct spec_egress **ret, size_t *ret_count)
{
        struct spec_names words;
        struct spec_egress *entries;

        if (host_read_names(r, n, path, &words) < 0)
                return -1;
        entries = arena_array(r->arena, struct spec_egress, words.count + 1);
        if (!entries)
                return host_reading_no_memory(r->e);
        for (size_t i = 0; i < words.count; i++)
                if (read(r->arena, words.items[i], &entries[i], r->e) < 0)
                        return error_wrap(r->e, "%s/%zu", path, i);
        *ret = entries;
        *ret_count = words.count;
        return 0;
}

int
host_read_egress_allowed(struct host_reading *r, const struct node *n)
{
        r->rules->has_egress_list = true;
        return read_destinations(r, n, "egress_allowed", egress_permitted_read,
                                 &r->rules->egress_allowed, &r->rules->egress_allowed_count);
}

int
host_read_private_names(struct host_reading *r, const struct node *n)
{
        return read_destinations(r, n, "private_names", egress_private_read,
                                 &r->rules->private_names, &r->rules->private_name_count);
}

int
host_read_host_ports(struct host_reading *r, const struct node *n)
{
        struct spec_egress *ports;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > HOST_NAMES_MAX)
                return host_reading_wrong(r, n, "host_ports", "type", "this is a list of ports");
        ports = arena_array(r->arena, struct spec_egress, n->len + 1);
        if (!ports)
                return host_reading_no_memory(r->e);
        node_each(item, n)
        {
                if (item->kind != NODE_INT || item->integer < 1 || item->integer > UINT16_MAX)
                        return host_reading_wrong(r, item, "host_ports", "range",
                                                  "each entry is a port, 1 to 65535");
                ports[count++] = egress_host_port((uint16_t)item->integer);
        }
        r->rules->host_ports = ports;
        r->rules->host_port_count = count;
        return 0;
}

/*
 * "192.0.2.1:53" or "[2001:db8::1]:53": an address, because a name needs a resolver first.
 */
bool
host_resolver_check(const char *text)
{
        const char *colon = strrchr(text, ':');
        bool is_bracketed = text[0] == '[';
        struct egress_network one;
        char address[64];
        size_t len;
        uint32_t port = 0;

        if (!colon || colon[1] == '\0' || strlen(colon + 1) > 5 || colon[1] == '0')
                return false;
        for (const char *c = colon + 1; *c != '\0'; c++) {
                if (*c < '0' || *c > '9')
                        return false;
                port = port * 10 + (uint32_t)(*c - '0');
        }
        len = (size_t)(colon - text);
        if (is_bracketed && (len < 2 || text[len - 1] != ']'))
                return false;
        len -= is_bracketed ? 2 : 0;
        if (port > UINT16_MAX || len == 0 || len >= sizeof address)
                return false;
        memcpy(address, text + is_bracketed, len);
        address[len] = '\0';
        return !strchr(address, '/') && is_bracketed == (strchr(address, ':') != NULL) &&
               egress_network_read(address, &one);
}

int
host_read_resolvers(struct host_reading *r, const struct node *n)
{
        if (host_read_names(r, n, "resolvers", &r->rules->resolvers) < 0)
                return -1;
        for (size_t i = 0; i < r->rules->resolvers.count; i++)
                if (!host_resolver_check(r->rules->resolvers.items[i]))
                        return host_reading_wrong(
                                r, n, "resolvers", "pattern",
                                "each entry is an address and a port: 192.0.2.1:53 or "
                                "[2001:db8::1]:53");
        return 0;
}

/* Adds the entries of `path` to the networks, with `sign` before each. */
static int
read_networks(struct host_reading *r, const struct node *n, const char *path, const char *sign)
{
        struct spec_names names, *all = &r->rules->networks;
        const char **items;
        struct egress_network network;

        if (host_read_names(r, n, path, &names) < 0)
                return -1;
        items = arena_array(r->arena, const char *, all->count + names.count + 1);
        if (!items)
                return host_reading_no_memory(r->e);
        for (size_t i = 0; i < all->count; i++)
                items[i] = all->items[i];
        for (size_t i = 0; i < names.count; i++) {
                if (!egress_network_read(names.items[i], &network))
                        return host_reading_wrong(
                                r, n, path, "pattern",
                                "each entry is a network: 10.0.0.0/8 or fd00::/8");
                items[all->count + i] = arena_format(r->arena, "%s%s", sign, names.items[i]);
                if (!items[all->count + i])
                        return host_reading_no_memory(r->e);
        }
        *all = (struct spec_names){ items, all->count + names.count };
        return 0;
}

int
host_read_private_networks(struct host_reading *r, const struct node *n)
{
        return read_networks(r, n, "private_networks", "");
}

int
host_read_denied_networks(struct host_reading *r, const struct node *n)
{
        return read_networks(r, n, "denied_networks", "!");
}

static const struct field *
find_cap(const char *name)
{
        for (size_t i = 0; i < egress_caps_set.count; i++)
                if (strcmp(egress_caps_set.rows[i].name, name) == 0)
                        return &egress_caps_set.rows[i];
        return NULL;
}

int
host_read_egress_caps(struct host_reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return host_reading_wrong(r, n, "egress_caps", "type",
                                          "this is a map from caps to numbers");
        node_each(member, n)
        {
                const struct field *row = find_cap(member->key);
                const char *path = arena_format(r->arena, "egress_caps/%s", member->key);
                uint64_t value = (uint64_t)member->integer;
                char bounds[96];

                if (!path)
                        return host_reading_no_memory(r->e);
                if (!row)
                        return host_reading_wrong(
                                r, member, path, "unknown_field",
                                "the caps are connections, names, bytes_out, bytes_in and "
                                "bytes_per_second");
                (void)snprintf(bounds, sizeof bounds,
                               "this must be a whole number from %llu to %llu",
                               (unsigned long long)row->min, (unsigned long long)row->max);
                if (member->kind != NODE_INT || member->integer < (int64_t)row->min ||
                    member->integer > (int64_t)row->max)
                        return host_reading_wrong(r, member, path, "range", bounds);
                memcpy((char *)&r->rules->egress_caps + row->offset, &value, sizeof value);
        }
        return 0;
}
