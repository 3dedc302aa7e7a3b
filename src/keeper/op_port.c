/*
 * keeper/op_port.c - connections to ports inside, and waiting for one to listen.
 *
 * Room: keeper (joining). Touches: fd, clock.
 * Theory: only a port that its sandbox declared is reached, by who shows its token, or by its owner. What travels is a connected socket; its bytes pass nobody here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keeper/op.h"
#include "keeper/port_index.h"
#include "keeper/sandbox.h"

enum { LOOK_MS = 20, LOW_PORT = 1024 /* net.ipv4.ip_unprivileged_port_start of every box that is not routed */ };

/* -- port.connect --------------------------------------------------------------------------------------------------------- */

struct port_call { struct connect_request request; struct call *call; uint16_t port; char owner[KEEPER_OWNER_LEN]; };

static void
on_connected(struct connect_request *r, int sys, int take_fd)
{
        struct port_call *p = (struct port_call *)r;
        struct record_writer w = reply_begin(p->call);
        struct error e;

        if (sys == 0) {
                record_text(&w, FIELD_OWNER, p->owner);
                record_uint(&w, FIELD_PORT, p->port);
                reply_send(p->call, &w, 0, take_fd);
                call_end(p->call);
        } else {
                port_use_end(p->call->connection, &p->call->serial);
                (void)fail_at(&e, ERROR_PORT_UNREACHABLE, "port", NULL, "nothing answers on port %u: %s", p->port, strerror(sys));
                if (p->port < LOW_PORT)
                        error_hint(&e, "Inside, a server may listen on it only with metadata.carrel.egress.routed; on ports from %u on it always may.", LOW_PORT);
                call_fail(p->call, &e);
        }
        free(p);
}

static struct sandbox *
find_target(struct call *c, uint16_t *ret_port, struct error *e)
{
        const char *token = record_get_text(&c->record, FIELD_TOKEN, NULL);
        uint64_t port = record_get_uint(&c->record, FIELD_PORT, 0);
        const struct store_port *ports;
        struct sandbox *s;

        if (token) {
                s = port_index_find(token, ret_port);
                if (!s)
                        (void)fail_at(e, ERROR_POLICY_DENIED, "token", "unknown_token", "no port has this token");
                return s;
        }
        s = c->caller.owner[0] != '\0' ? registry_of_call(c, e) : ((void)fail_at(e, ERROR_POLICY_DENIED, "token", "missing", "a port is reached with its token"), NULL);
        if (!s)
                return NULL;
        ports = s->row.ports.bytes;
        for (size_t i = 0; i < s->row.ports.len / sizeof *ports; i++)
                if (ports[i].port == port) {
                        *ret_port = ports[i].port;
                        return s;
                }
        (void)fail_at(e, ERROR_POLICY_DENIED, "port", "undeclared", "the sandbox %s declares no port %" PRIu64, s->id, port);
        return NULL;
}

enum call_state
op_port_connect(struct call *c, struct error *e)
{
        uint16_t port = 0;
        struct sandbox *s = find_target(c, &port, e);
        struct port_call *p;
        enum call_state state;

        if (!s)
                return CALL_FAILED;
        state = sandbox_need_box(s, c, e);
        if (state != CALL_DONE)
                return state;
        p = calloc(1, sizeof *p);
        if (!p)
                return fail(e, ERROR_NO_MEMORY, "no memory for a connection"), CALL_FAILED;
        p->call = c;
        p->port = port;
        (void)snprintf(p->owner, sizeof p->owner, "%s", s->row.owner ? s->row.owner : "");
        p->request.done = on_connected;
        port_use_begin(c, s);
        box_connect(s->box, port, &p->request);
        return CALL_WAITS;
}

/* -- what listened before ------------------------------------------------------------------------------------------------------- */

static void
on_looked_before(struct connect_request *r, int sys, int take_fd)
{
        struct port_call *p = (struct port_call *)r;
        struct call *c = p->call;

        free(p);
        if (sys == 0) {
                (void)close(take_fd);
                c->ports_open |= UINT64_C(1) << c->ports_looked;
        }
        c->ports_looked++;
        call_begin(c);
}

enum call_state
port_look_before(struct call *c, struct sandbox *s, struct error *e)
{
        const struct store_port *ports = s->row.ports.bytes;
        struct port_call *p;

        _Static_assert(SANDBOX_PORTS_MAX <= 64, "a bit for each port");
        if (c->ports_looked >= s->row.ports.len / sizeof *ports)
                return CALL_DONE;
        p = calloc(1, sizeof *p);
        if (!p)
                return fail(e, ERROR_NO_MEMORY, "no memory for a connection"), CALL_FAILED;
        p->call = c;
        p->port = ports[c->ports_looked].port;
        p->request.done = on_looked_before;
        box_connect(s->box, p->port, &p->request);
        return CALL_WAITS;
}

/* -- until a port listens ------------------------------------------------------------------------------------------------------ */

struct port_wait {
        struct connect_request request;        /* first; one at a time */
        struct loop_timer timer;
        struct port_wait *next;
        struct keeper *keeper;
        struct sandbox *sandbox;
        struct connection *connection;
        uint32_t serial, exec;
        size_t at;                             /* which of the ports is asked next */
        uint64_t open_before;                  /* those that listened before the command began, and have since: not its doing */
        uint16_t port;                         /* the one that is being asked, or 0 */
        bool is_over;
};

static struct port_wait *waits;                /* few: one for each caller that waits */

static void
unlink_wait(struct port_wait *p)
{
        for (struct port_wait **at = &waits; *at; at = &(*at)->next) {
                if (*at == p) {
                        *at = p->next;
                        break;
                }
        }
        loop_timer_remove(&p->timer);
        p->is_over = true;
        if (p->port == 0)
                free(p);                       /* else when its answer comes */
}

static void
tell_open(struct port_wait *p, uint16_t port)
{
        struct keeper *k = p->keeper;
        struct record_writer w;

        record_init(&w, k->out + sizeof(struct wire_call), sizeof k->out - sizeof(struct wire_call));
        record_text(&w, FIELD_EVENT, "port-open");
        record_uint(&w, FIELD_AT, loop_wall_ms());
        record_text(&w, FIELD_ID, p->sandbox->id);
        record_uint(&w, FIELD_EXEC, p->exec);
        record_uint(&w, FIELD_PORT, port);
        reply_event(p->connection, p->serial, &w);
}

static void look(struct loop_timer *t);

static void
on_looked(struct connect_request *r, int sys, int take_fd)
{
        struct port_wait *p = (struct port_wait *)r;
        size_t count = p->is_over ? 1 : p->sandbox->row.ports.len / sizeof(struct store_port);
        uint64_t bit = UINT64_C(1) << (p->at - 1) % count;
        uint16_t port = p->port;

        if (sys == 0)
                (void)close(take_fd);          /* whoever listens sees one connection come and go */
        else
                p->open_before &= ~bit;
        p->port = 0;
        if (p->is_over) {
                free(p);
        } else if (sys == 0 && (p->open_before & bit) == 0) {
                tell_open(p, port);
                unlink_wait(p);
        } else {
                (void)loop_timer_set(p->keeper->loop, &p->timer, loop_now_ms() + LOOK_MS, look);
        }
}

static void
look(struct loop_timer *t)
{
        struct port_wait *p = (struct port_wait *)(void *)((char *)t - offsetof(struct port_wait, timer));
        const struct store_port *ports = p->sandbox->row.ports.bytes;
        size_t count = p->sandbox->row.ports.len / sizeof *ports;

        if (!p->sandbox->box || p->sandbox->box->is_gone)
                return;
        if (p->sandbox->state != SANDBOX_RUNNING) {
                (void)loop_timer_set(p->keeper->loop, &p->timer, loop_now_ms() + LOOK_MS, look);
                return;
        }
        p->port = ports[p->at++ % count].port;
        p->request.done = on_looked;
        box_connect(p->sandbox->box, p->port, &p->request);
}

void
port_wait_begin(struct call *c, struct sandbox *s, uint32_t exec)
{
        struct port_wait *p = s->row.ports.len > 0 && c->connection ? calloc(1, sizeof *p) : NULL;

        if (!p)
                return;                        /* the end of the command is all there is to wait for */
        p->keeper = s->keeper;
        p->sandbox = s;
        p->connection = c->connection;
        p->serial = c->serial;
        p->exec = exec;
        p->open_before = c->ports_open;
        p->timer.due_ms = LOOP_NEVER;
        p->next = waits;
        waits = p;
        (void)loop_timer_set(s->keeper->loop, &p->timer, loop_now_ms() + LOOK_MS, look);
}

void
port_wait_forget(struct keeper *k, const struct connection *connection, const uint32_t *serial)
{
        (void)k;
        for (struct port_wait *p = waits, *next; p; p = next) {
                next = p->next;
                if (p->connection == connection && (!serial || p->serial == *serial))
                        unlink_wait(p);
        }
}

void
port_wait_exec_ended(struct sandbox *s, uint32_t exec)
{
        for (struct port_wait *p = waits, *next; p; p = next) {
                next = p->next;
                if (p->sandbox == s && p->exec == exec)
                        unlink_wait(p);
        }
}

void
port_wait_sandbox_gone(struct sandbox *s)
{
        for (struct port_wait *p = waits, *next; p; p = next) {
                next = p->next;
                if (p->sandbox == s)
                        unlink_wait(p);
        }
}
