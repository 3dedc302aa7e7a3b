/*
 * spec/network.c - the section `network`: the list of hosts that may be reached, and
 * metadata.carrel.egress, its caps. A missing or empty list means none.
 *
 * Room: spec (deciding, pure). Touches: mem. The grammar of an entry is in egress.c.
 */
#include <string.h>

#include "spec/preset.h"
#include "spec/section.h"

enum {
        EGRESS_MAX = 1024,
        HOST_PORTS_MAX = 64,
        PORT_MAX = 65535,
        CONNECTIONS_MAX = 10240,
        NAMES_MAX = 4096 /* the gate's maximum */
};

static const struct field entry_row = {
        .kind = FIELD_TEXT,
        .offset = FIELD_NOWHERE,
        .pattern = "^@[a-z]+$|^(\\*\\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\\.[A-Za-z0-9_](["
                   "A-Za-z0-9_-]*[A-Za-z0-9_])?)*\\.?"
                   "(:[1-9][0-9]{0,4})?$",
        .help = "api.example.com, *.example.com (names below it, not itself), host:port; without a "
                "port 80 and 443. Or a preset: @npm."
};
static const struct field_set entry_set = { &entry_row, 1, .code = ERROR_SCHEMA_INVALID };

struct entries {
        struct spec_egress *items;
        size_t count, room;
};

static void
entry_read(struct judge *j, const struct node *item, const struct trail *at, const char *text,
           struct entries *to)
{
        struct spec_egress entry;
        struct error e;

        if (egress_read(j->arena, text, &entry, &e) < 0) {
                judge_error(j, item, at, e.code, e.reason, e.hint[0] ? e.hint : NULL, "`%s`: %s",
                            judge_quote(j, text), e.message);
                return;
        }
        entry.line = item->line;
        entry.column = item->column;
        entry.item = at->index;
        if (to->count < to->room)
                to->items[to->count++] = entry;
        else
                judge_error(j, item, at, ERROR_SCHEMA_INVALID, "range", NULL,
                            "with the hosts of its presets this list has more than %d hosts",
                            EGRESS_MAX);
}

static void
preset_read(struct judge *j, const struct node *item, const struct trail *at, struct entries *to)
{
        const struct egress_preset *preset;
        struct error e;

        if (egress_preset_find(item->text, &preset, &e) < 0) {
                judge_error(j, item, at, e.code, e.reason, e.hint, "`%s`: %s",
                            judge_quote(j, item->text), e.message);
                return;
        }
        for (const char *const *host = preset->hosts; *host; host++)
                entry_read(j, item, at, *host, to);
}

void
egress_list_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        struct spec *spec = base;
        size_t most = list->len * EGRESS_PRESET_HOSTS_MAX, index = 0;
        struct entries to = { NULL, 0, most < EGRESS_MAX ? most : EGRESS_MAX };

        to.items = arena_array(j->arena, struct spec_egress, to.room + 1);
        if (!to.items)
                return;
        node_each(item, list)
        {
                struct trail here = { at, NULL, index++ };

                if (!field_item_read(j, &entry_set, item, &here, NULL))
                        continue;
                if (egress_preset_is(item->text))
                        preset_read(j, item, &here, &to);
                else
                        entry_read(j, item, &here, item->text, &to);
        }
        spec->egress = to.items;
        spec->egress_count = to.count;
}

static const struct field network_rows[] = {
        { .name = "egress",
          .kind = FIELD_LIST,
          .max = EGRESS_MAX,
          .item = &entry_row,
          .read = egress_list_read,
          .help = "Hosts that commands may reach (default: none). A preset such as @npm is a list "
                  "of hosts: docs/EGRESS.md." },
};

const struct field_set network_set = { FIELD_SET(network_rows), .code = ERROR_SCHEMA_INVALID };

/* -- metadata.carrel.egress -------------------------------------------------------------------- */

/* the caps first: the host file uses only their rows */
struct way_out {
        struct spec_egress_caps caps;
        bool is_routed;
        const struct node *host_ports;
};

static const struct field port_row = {
        .kind = FIELD_UINT, .offset = 0, .min = 1, .max = PORT_MAX, .help = "1 to 65535."
};
static const struct field_set port_set = { &port_row, 1, .code = ERROR_SCHEMA_INVALID };

enum { CAPS = 5 };

static const struct field way_rows[] = {
        { .name = "connections",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_egress_caps, connections),
          .min = 1,
          .max = CONNECTIONS_MAX,
          .fallback = SPEC_UNSET,
          .help = "Connections at once; one more is closed as soon as it is made." },
        { .name = "names",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_egress_caps, names),
          .min = 1,
          .max = NAMES_MAX,
          .fallback = SPEC_UNSET,
          .help = "Names in use at once." },
        { .name = "bytes_out",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_egress_caps, bytes_out),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "Bytes sent, all connections together; then they are closed." },
        { .name = "bytes_in",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_egress_caps, bytes_in),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "Bytes received, all connections together; then they are closed." },
        { .name = "bytes_per_second",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_egress_caps, bytes_per_second),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "Bytes per second, each way, all connections together." },
        { .name = "routed",
          .kind = FIELD_BOOL,
          .offset = offsetof(struct way_out, is_routed),
          .help = "true: every port inside is the sandbox's own, from 1 on and whatever is listed; "
                  "needs veth devices." },
        { .name = "host_ports",
          .kind = FIELD_LIST,
          .max = HOST_PORTS_MAX,
          .item = &port_row,
          .offset = offsetof(struct way_out, host_ports),
          .help = "Ports of this machine's loopback, reached as " EGRESS_HOST
                  ":PORT; host_ports of the host file must list them." },
};

const struct field_set egress_caps_set = { .rows = way_rows,
                                           .count = CAPS,
                                           .code = ERROR_SCHEMA_INVALID };
const struct field_set carrel_egress_set = { FIELD_SET(way_rows), .code = ERROR_SCHEMA_INVALID };

_Static_assert(sizeof way_rows / sizeof *way_rows == CAPS + 2, "the caps come first");

/*
 * Adds them to the list: from now on they are ordinary destinations, with a name that no list can
 * contain.
 */
static void
host_ports_read(struct judge *j, const struct node *list, const struct trail *at, struct spec *spec)
{
        struct spec_egress *all =
                arena_array(j->arena, struct spec_egress, spec->egress_count + list->len + 1);
        size_t count = 0, index = 0;

        if (!all)
                return;
        for (; count < spec->egress_count; count++)
                all[count] = spec->egress[count];
        node_each(item, list)
        {
                struct trail here = { at, NULL, index++ };
                uint64_t port = 0;

                if (!field_item_read(j, &port_set, item, &here, &port))
                        continue;
                all[count] = egress_host_port((uint16_t)port);
                all[count].line = item->line;
                all[count].column = item->column;
                all[count++].item = here.index;
        }
        if (count > EGRESS_MAX)
                judge_error(
                        j, list, at, ERROR_SCHEMA_INVALID, "range", NULL,
                        "with the entries of network.egress these are more than %d destinations",
                        EGRESS_MAX);
        spec->egress = all;
        spec->egress_count = count;
}

void
carrel_egress_read(struct judge *j, const struct node *map, const struct trail *at, void *base)
{
        struct spec *spec = base;
        struct way_out way = { .caps = spec->egress_caps };

        (void)fields_read(j, &carrel_egress_set, map, at, &way);
        if (way.host_ports)
                host_ports_read(j, way.host_ports, &(struct trail){ at, "host_ports", 0 }, spec);
        spec->egress_caps = way.caps;
        spec->wall = (struct spec_wall){ .is_given = true, .is_routed = way.is_routed };
}

void
egress_caps_narrow(struct spec_egress_caps *caps, const struct spec_egress_caps *other)
{
        for (size_t i = 0; i < egress_caps_set.count; i++) {
                uint64_t *mine = (uint64_t *)(void *)((char *)caps + way_rows[i].offset);
                const uint64_t *theirs =
                        (const uint64_t *)(const void *)((const char *)other + way_rows[i].offset);

                if (*theirs < *mine) /* SPEC_UNSET is the largest number */
                        *mine = *theirs;
        }
}
