/*
 * keeper/wall.c - connects boxes and the gate.
 *
 * Room: keeper (joining). Touches: fd, mem.
 * Theory: the box keeps what must outlive the gate, the gate does what must be fast, and the keeper
 * only connects them. It passes the wall that a box hands out to the gate, with the checked list.
 * It repeats that for each new gate, and so does each new keeper. Without a gate no connection is
 * answered, and none leaves.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/day.h"
#include "keeper/sandbox.h"
#include "plan/wall.h"
#include "prepare/caps.h"

enum {
        PROTOCOL = 3,
        NEWS_ROOM = 256,
        CLOSED_ROOM = 600,
        WALLS_A_TURN = 8,
        LISTENERS_ROOM = WIRE_FDS_MAX,
        AGAIN_MS = 20,
        AGAIN_DOUBLED_MAX = 9,
        LOST_FOR_LONG_MS = 60000
};

static struct box *
find_wall(const struct keeper *k, uint32_t wall)
{
        for (struct box *b = k->boxes; b; b = b->next)
                if (b->wall == wall && wall != 0)
                        return b;
        return NULL;
}

/*
 * An empty list counts as well: everything is refused, and reported. Each gate requests the wall
 * again: a list that is not permitted is published once for it, and not while there is none.
 */
static bool
has_list(struct box *b)
{
        struct sandbox *s = b->sandbox;
        char message[CLOSED_ROOM];
        struct error e;

        if (sandbox_judge(s, &e) == 0)
                return true;
        if (b->keeper->gate.fd < 0)
                return false;
        (void)snprintf(message, sizeof message, "its list cannot be read: %s", e.message);
        sandbox_publish(s, event_network_closed((struct event_network_closed){ message }));
        return false;
}

/* -- the gate ---------------------------------------------------------------------------------- */

static void send_list(struct box *b);

static void
let_gate_go(struct keeper *k)
{
        peer_close(&k->gate);
        day_forget();
        for (struct box *b = k->boxes; b; b = b->next) {
                b->wall = 0;
                b->list_waits = b->wall_waits = false;
                calls_begin(&b->listing);
        }
}

/*
 * The gate ends its connections; its sockets wait until the gate gets the wall again. The list in
 * force is never another than the one reported.
 */
static void
drop_wall(struct box *b)
{
        const struct wire_number number = { (int32_t)b->wall };

        if (b->wall != 0 &&
            peer_send(&b->keeper->gate, WIRE_GATE_DROP, &number, sizeof number, NULL, 0) < 0)
                let_gate_go(b->keeper);
        b->wall = 0;
}

static void
on_again(struct loop_timer *t)
{
        struct box *b = (struct box *)(void *)((char *)t - offsetof(struct box, again));

        if (b->wall == 0 && b->is_ready)
                wall_box_ready(b);
}

/* Each retry comes after a longer pause, up to ten seconds, so that a broken wall costs little. */
static void
give_again(struct box *b)
{
        uint64_t now = loop_now_ms();

        if (now - b->lost_ms > LOST_FOR_LONG_MS)
                b->lost = 0;
        (void)loop_timer_set(b->keeper->loop, &b->again, now + ((uint64_t)AGAIN_MS << b->lost),
                             on_again);
        b->lost += b->lost < AGAIN_DOUBLED_MAX;
        b->lost_ms = now;
}

static void
on_added(struct box *b, const struct wire_gate_added *added)
{
        char message[CLOSED_ROOM];

        if (added->generation == b->generation) {
                b->taken = b->generation;
                calls_begin(&b->listing);
        }
        if (added->sys == 0)
                return;
        (void)snprintf(message, sizeof message, "the gate does not take its list: %s",
                       strerror(added->sys));
        if (b->sandbox)
                sandbox_publish(b->sandbox,
                                event_network_closed((struct event_network_closed){ message }));
        drop_wall(b);
        /*
         * EINVAL is about the list, which a retry does not change; memory and descriptors may
         * become free
         */
        if (added->sys != EINVAL)
                give_again(b);
}

/* The gate or the box dropped the wall: no connection is answered until the gate has it again. */
static void
on_dropped(struct box *b)
{
        b->wall = 0;
        give_again(b);
}

static void
on_gate(struct peer *p, uint32_t events)
{
        struct keeper *k = (struct keeper *)(void *)((char *)p - offsetof(struct keeper, gate));
        _Alignas(8) unsigned char body[NEWS_ROOM];
        struct wire_message m;
        int result;

        (void)events;
        while ((result = p->is_broken ? 0 : wire_receive(p->fd, 0, &m, body, sizeof body)) > 0) {
                const struct wire_gate_added *added = (const void *)body;
                const struct wire_number *dropped = (const void *)body;
                const struct wire_gate_quota_ask *ask = (const void *)body;
                struct box *b = NULL;

                wire_message_close(&m);
                if (m.kind == WIRE_GATE_ADDED && m.len == sizeof *added &&
                    (b = find_wall(k, added->wall)))
                        on_added(b, added);
                else if (m.kind == WIRE_GATE_DROPPED && m.len == sizeof *dropped &&
                         (b = find_wall(k, (uint32_t)dropped->number)))
                        on_dropped(b);
                else if (m.kind == WIRE_GATE_QUOTA_ASK && m.len == sizeof *ask &&
                         day_hear(k, find_wall(k, ask->wall), ask) < 0)
                        break;
        }
        if (result != -EAGAIN)
                let_gate_go(k);
}

/* Sends a few at a time: boxes answer later, and the queue may then be full again. */
static void
on_drained(struct peer *p)
{
        struct keeper *k = (struct keeper *)(void *)((char *)p - offsetof(struct keeper, gate));
        int left = WALLS_A_TURN;

        for (struct box *b = k->boxes; b && left > 0 && peer_is_idle(p); b = b->next) {
                if (!b->list_waits && !b->wall_waits)
                        continue;
                left--;
                if (b->list_waits)
                        send_list(b);
                else
                        wall_box_ready(b);
                b->wall_waits = false;
        }
        for (struct box *b = k->boxes; b && p->fd >= 0; b = b->next)
                if (b->list_waits || b->wall_waits)
                        peer_want(p);
}

static int
send_config(struct keeper *k)
{
        const struct host_rules *r = k->host.rules;
        size_t len = wire_gate_config(k->out, sizeof k->out, r->resolvers.items, r->resolvers.count,
                                      r->networks.items, r->networks.count);

        return len == 0 ? -1 : peer_send(&k->gate, WIRE_GATE_CONFIG, k->out, len, NULL, 0);
}

static void
on_gates(struct peer *p, uint32_t events)
{
        struct keeper *k = (struct keeper *)(void *)((char *)p - offsetof(struct keeper, gates));
        _Alignas(8) unsigned char body[NEWS_ROOM];
        struct wire_message m;
        int result = wire_receive(p->fd, 0, &m, body, sizeof body);

        (void)events;
        /* a gate whose socket has no room here ends, and the launcher announces the next */
        if (result == -EAGAIN || result == -EMFILE)
                return;
        if (result <= 0) { /* the launcher is gone, and the keeper ends soon */
                peer_close(p);
                return;
        }
        if (m.kind == WIRE_GATE_STARTED && m.fd_count == 1) {
                let_gate_go(k);
                result = peer_open(&k->gate, k->loop, m.fds[0], on_gate);
                k->gate.drained = on_drained;
                m.fds[0] = -1;
                if (result < 0 || send_config(k) < 0)
                        let_gate_go(k);
                for (struct box *b = k->boxes; b; b = b->next)
                        if (b->is_ready && b->sandbox)
                                wall_box_ready(b);
        }
        wire_message_close(&m);
}

int
gate_open(struct keeper *k, int take_fd, struct error *e)
{
        int result = 0;

        k->gate.fd = -1;
        k->gate.is_broken = true;
        k->gates = k->gate;
        if (take_fd >= 0)
                result = peer_open(&k->gates, k->loop, take_fd, on_gates);
        return result < 0 ? fail_sys(e, ERROR_INTERNAL, -result, "hearing of gates") : 0;
}

/* -- boxes ------------------------------------------------------------------------------------- */

void
wall_box_ready(struct box *b)
{
        if (b->hello.protocol >= PROTOCOL && b->sandbox &&
            (b->keeper->gate.fd >= 0 || !b->has_wall))
                (void)box_send(b, WIRE_BOX_WALL, NULL, 0);
}

/*
 * Writes the list for the gate into the keeper's only buffer. Returns its length, 0: it is too
 * long, or no memory.
 */
static size_t
write_list(struct box *b, const struct wall_listener *listeners, size_t count)
{
        struct keeper *k = b->keeper;
        const struct spec *spec = b->sandbox->prepared->spec;
        const struct host_rules *rules = b->sandbox->prepared->rules;
        struct wire_gate_policy head = { .wall = b->wall,
                                         .generation = b->generation,
                                         .caps = wall_caps(&spec->egress_caps) };
        const char *const *allow, *const *private_names;
        struct arena memory;
        size_t len = 0;

        arena_init(&memory, 4 << 20);
        head.caps.needs_quota = spec->egress_day_bytes != SPEC_UNSET;
        memcpy(head.id, b->id, sizeof head.id);
        allow = egress_texts(&memory, spec->egress, spec->egress_count);
        private_names = egress_texts(&memory, rules->private_names, rules->private_name_count);
        if (allow && private_names)
                len = wire_gate_policy(k->out, sizeof k->out, &head, allow, spec->egress_count,
                                       private_names, rules->private_name_count, listeners, count);
        arena_fini(&memory);
        return len;
}

/* -- ports of a routed wall -------------------------------------------------------------------- */

/* The ports of the list that the wall does not listen to and was not ordered to. */
static size_t
new_ports(const struct box *b, const struct spec *spec, uint16_t *ret, size_t room)
{
        static const uint16_t held[] = { 53, 80, 443 };
        size_t count = 0;

        for (size_t i = 0; i < spec->egress_count; i++)
                for (size_t p = 0; p < spec->egress[i].port_count && count < room; p++) {
                        uint16_t port = spec->egress[i].ports[p];

                        if (!plan_wall_has(held, sizeof held / sizeof *held, port) &&
                            !plan_wall_has(b->ports, b->port_count, port) &&
                            !plan_wall_has(ret, count, port))
                                ret[count++] = port;
                }
        return count;
}

bool
wall_box_can(const struct box *b, const struct spec *spec)
{
        uint16_t ports[BOX_PORTS_MAX + 1];

        return new_ports(b, spec, ports, BOX_PORTS_MAX + 1) <= b->stock;
}

/* A port of the list may be requested at any time, so it counts from now on. */
static void
promise_ports(struct box *b)
{
        uint16_t ports[BOX_PORTS_MAX];
        size_t count = b->is_routed && b->sandbox->prepared
                               ? new_ports(b, b->sandbox->prepared->spec, ports,
                                           BOX_PORTS_MAX - b->port_count)
                               : 0;

        if (count > b->stock)
                count = b->stock;
        memcpy(b->ports + b->port_count, ports, count * sizeof *ports);
        b->port_count += count;
        b->stock -= count;
}

static void
hear_ports(struct box *b, const struct wire_box_walled *head, const struct wall_listener *listeners)
{
        b->is_routed = head->stock > 0;
        b->stock = b->is_routed ? head->stock - 1u : 0;
        b->port_count = 0;
        for (size_t i = 0; i < head->listeners && b->is_routed && b->port_count < BOX_PORTS_MAX;
             i++)
                if (listeners[i].index == 0)
                        b->ports[b->port_count++] = listeners[i].port;
        promise_ports(b);
}

void
wall_box_told(struct box *b, struct wire_message *m, const void *body)
{
        struct keeper *k = b->keeper;
        struct wire_box_walled head;
        struct wall_listener listeners[LISTENERS_ROOM];
        size_t len;

        memcpy(&head, body, sizeof head);
        if (head.sys == 0 && m->fd_count == 0)
                head.sys = EMFILE; /* no room here for the descriptors */
        if (head.sys == EAGAIN)
                wall_box_ready(b);
        else if (head.sys != 0 && head.sys != ENOENT)
                give_again(b); /* the box or the keeper has no free descriptor now */
        b->has_wall = b->has_wall || head.sys == 0;
        if (head.sys != 0 || !b->sandbox || !has_list(b))
                return;
        if (head.listeners > LISTENERS_ROOM ||
            m->len != sizeof head + head.listeners * sizeof *listeners ||
            m->fd_count != (size_t)1 + WALL_FIXED + head.listeners)
                return;
        memcpy(listeners, (const char *)body + sizeof head, head.listeners * sizeof *listeners);
        hear_ports(b, &head, listeners);
        if (k->gate.fd < 0)
                return;
        /* a box has one wall: sent twice, the gate would keep the first one with its old list */
        drop_wall(b);
        if (k->gate.fd < 0)
                return;
        if (peer_is_full(&k->gate)) { /* the box keeps its sockets; they are requested again */
                b->wall_waits = true;
                peer_want(&k->gate);
                return;
        }
        if (++k->last_wall == 0)
                k->last_wall = 1;
        b->wall = k->last_wall;
        b->generation = b->generation == 0 ? 1 : b->generation;
        b->list_waits = false;
        len = write_list(b, listeners, head.listeners);
        if (len == 0) {
                b->wall = 0;
                return;
        }
        (void)peer_send(&k->gate, WIRE_GATE_ADD, k->out, len, m->fds, m->fd_count);
        m->fd_count = 0; /* the gate has taken them */
}

/*
 * Sends the whole current list; it replaces one that waits. If it cannot be written, the wall is
 * dropped, never kept with the old list. Other boxes are not affected.
 */
static void
send_list(struct box *b)
{
        struct peer *gate = &b->keeper->gate;
        size_t len;

        b->list_waits = b->wall != 0 && !peer_is_idle(gate) && !gate->is_broken;
        if (b->list_waits) {
                peer_want(gate);
                return;
        }
        if (b->wall == 0)
                return;
        len = write_list(b, NULL, 0);
        if (len == 0) {
                drop_wall(b);
                give_again(b);
                calls_begin(&b->listing);
        } else if (peer_send(gate, WIRE_GATE_SET, b->keeper->out, len, NULL, 0) < 0) {
                let_gate_go(b->keeper); /* the gate has ended */
        }
}

void
wall_box_changed(struct box *b)
{
        b->generation++;
        promise_ports(b);
        if (b->wall == 0) {
                wall_box_ready(b);
                return;
        }
        send_list(b);
}
