/*
 * keeper/port_wait.c - waits until a declared port listens.
 *
 * Room: keeper (joining). Touches: fd, mem, clock.
 * Theory: an exec has one wait, which all its waiting callers share. While a caller waits, the
 * keeper tries the ports of the sandbox in turn. A port that listened before the exec started does
 * not count. The caller that started the exec gets an event. A later caller (exec.get with
 * wait_ports) is answered by a call that begins again. Each caller has its own time limit. The port
 * that was found is kept until the exec ends.
 */
#include <stdlib.h>
#include <unistd.h>

#include "api/event_record.h"
#include "keeper/content.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"

enum { LOOK_MS = 20 };

/* -- ports that listened before ---------------------------------------------------------------- */

struct port_look {
        struct connect_request request;
        struct call *call;
};

static void
on_looked_before(struct connect_request *r, int sys, int take_fd)
{
        struct port_look *p = (struct port_look *)r;
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
        struct port_look *p;

        _Static_assert(SANDBOX_PORTS_MAX <= 64, "a bit for each port");
        if (sandbox_check_here(s, "wait_ports", "wait for ports", e) < 0)
                return CALL_FAILED;
        if (s->row.ports.len == 0) {
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, "wait_ports", "no_ports",
                              "the sandbox %s declares no port, so none can be waited for", s->id);
                error_hint(e, "Declare ports when the sandbox is created, for example: carrel "
                              "create -p 8000");
                return CALL_FAILED;
        }
        if (c->ports_looked >= s->row.ports.len / sizeof *ports)
                return CALL_DONE;
        if (content_need_ends(c, s) == CALL_WAITS)
                return CALL_WAITS;
        p = calloc(1, sizeof *p);
        if (!p)
                return fail(e, ERROR_NO_MEMORY, "no memory for a connection"), CALL_FAILED;
        p->call = c;
        p->request.done = on_looked_before;
        box_connect(s->box, ports[c->ports_looked].port, &p->request);
        return CALL_WAITS;
}

/* -- until a port listens ---------------------------------------------------------------------- */

struct port_waiter {
        struct loop_timer limit; /* first */
        struct port_waiter *next;
        struct port_wait *of;          /* NULL: in no list any more; its call begins again */
        struct connection *connection; /* gets events of this serial; or */
        uint32_t serial;
        struct call *call; /* the call to answer */
};

struct port_wait {
        struct connect_request request; /* first; one at a time */
        struct loop_timer timer;
        struct port_wait *next;
        struct sandbox *sandbox;
        struct port_waiter *waiters;
        uint32_t exec;
        size_t at; /* index of the next port to try */
        /* ports that have listened since before the command: not opened by it */
        uint64_t open_before;
        uint16_t asked, found; /* the port being tried; the port found; 0: none */
        bool is_over;
};

static struct port_wait *waits; /* few: one for each exec with a wait */

static struct port_wait *
find_wait(const struct sandbox *s, uint32_t exec)
{
        struct port_wait *p = waits;

        while (p && (p->sandbox != s || p->exec != exec))
                p = p->next;
        return p;
}

static void
unlink_waiter(struct port_waiter *w)
{
        struct port_waiter **at = &w->of->waiters;

        while (*at != w)
                at = &(*at)->next;
        *at = w->next;
        w->of = NULL;
        loop_timer_remove(&w->limit);
}

static void
publish(const struct port_wait *p, const struct port_waiter *waiter, struct event e)
{
        struct keeper *k = p->sandbox->keeper;
        struct record_writer w;

        record_init(&w, k->out + sizeof(struct wire_call),
                    sizeof k->out - sizeof(struct wire_call));
        e.from = (struct event_source){ .at_ms = loop_wall_ms(), .id = p->sandbox->id };
        event_record(&w, &e);
        reply_event(waiter->connection, waiter->serial, &w);
}

/* The call starts from the beginning and checks the current state. */
static void
begin_anew(struct loop_timer *t)
{
        struct port_waiter *w = (struct port_waiter *)t;
        struct call *c = w->call;

        free(w);
        c->has_waited = true;
        c->has_listing = false;
        if (c->connection)
                call_begin(c);
        else
                call_end(c);
}

/*
 * Ends a wait that is in no list any more. The loop answers the call later, not the code that runs
 * now.
 */
static void
wake(struct port_waiter *take_w)
{
        if (!take_w->call)
                free(take_w);
        else if (loop_timer_set(take_w->call->keeper->loop, &take_w->limit, loop_now_ms(),
                                begin_anew) < 0)
                begin_anew(&take_w->limit);
}

/* Removes and returns the first waiter of the list, or NULL. */
static struct port_waiter *
next_waiter(struct port_wait *p)
{
        struct port_waiter *w = p->waiters;

        if (!w)
                return NULL;
        p->waiters = w->next;
        w->of = NULL;
        loop_timer_remove(&w->limit);
        return w;
}

static void
past_limit(struct loop_timer *t)
{
        struct port_waiter *w = (struct port_waiter *)t;

        if (!w->call)
                publish(w->of, w, event_port_timeout((struct event_port_timeout){ w->of->exec }));
        unlink_waiter(w);
        wake(w);
}

static void
unlink_wait(struct port_wait *p)
{
        struct port_wait **at = &waits;

        while (*at != p)
                at = &(*at)->next;
        *at = p->next;
        for (struct port_waiter *w = next_waiter(p); w; w = next_waiter(p))
                wake(w);
        loop_timer_remove(&p->timer);
        p->is_over = true;
        if (p->asked == 0)
                free(p); /* otherwise freed when the attempt is answered */
}

static void
found(struct port_wait *p, uint16_t port)
{
        p->found = port;
        /* lint: a waiter stays in its list until it is removed below */
        for (struct port_waiter *w = next_waiter(p); w; w = next_waiter(p)) {
                if (!w->call)
                        publish(p, w,
                                event_port_open((struct event_port_open){ p->exec, p->found }));
                wake(w);
        }
}

static void look(struct loop_timer *t);

static void
look_later(struct port_wait *p)
{
        (void)loop_timer_set(p->sandbox->keeper->loop, &p->timer, loop_now_ms() + LOOK_MS, look);
}

static void
on_looked(struct connect_request *r, int sys, int take_fd)
{
        struct port_wait *p = (struct port_wait *)r;
        size_t count = p->is_over ? 1 : p->sandbox->row.ports.len / sizeof(struct store_port);
        uint64_t bit = UINT64_C(1) << (p->at - 1) % count;
        uint16_t port = p->asked;

        if (sys == 0)
                (void)close(take_fd); /* the server sees one connection open and close */
        else
                p->open_before &= ~bit;
        p->asked = 0;
        if (p->is_over)
                free(p);
        else if (sys == 0 && (p->open_before & bit) == 0)
                found(p, port);
        else if (p->waiters)
                look_later(p);
}

static void
look(struct loop_timer *t)
{
        struct port_wait *p =
                (struct port_wait *)(void *)((char *)t - offsetof(struct port_wait, timer));
        const struct store_port *ports = p->sandbox->row.ports.bytes;
        size_t count = p->sandbox->row.ports.len / sizeof *ports;

        if (!p->waiters || !p->sandbox->box || p->sandbox->box->is_gone)
                return;
        if (p->sandbox->state != SANDBOX_RUNNING) {
                look_later(p);
                return;
        }
        p->asked = ports[p->at++ % count].port;
        p->request.done = on_looked;
        box_connect(p->sandbox->box, p->asked, &p->request);
}

/*
 * The wait of an exec. `open_before`: the ports that listened before it started. NULL: no memory.
 */
static struct port_wait *
get_wait(struct sandbox *s, uint32_t exec, uint64_t open_before)
{
        struct port_wait *p = find_wait(s, exec);

        if (p || !(p = calloc(1, sizeof *p)))
                return p;
        p->sandbox = s;
        p->exec = exec;
        p->open_before = open_before;
        p->timer.due_ms = LOOP_NEVER;
        p->next = waits;
        waits = p;
        return p;
}

static struct port_waiter *
add_waiter(struct port_wait *p, const struct call *c)
{
        uint64_t limit = record_get_uint(&c->record, FIELD_WAIT_PORTS_MS, 0);
        struct port_waiter *w = calloc(1, sizeof *w);

        if (!w)
                return NULL;
        w->limit.due_ms = LOOP_NEVER;
        if (limit > 0 &&
            loop_timer_set(c->keeper->loop, &w->limit, loop_now_ms() + limit, past_limit) < 0) {
                free(w);
                return NULL;
        }
        w->of = p;
        w->next = p->waiters;
        p->waiters = w;
        if (p->asked == 0 && p->timer.due_ms == LOOP_NEVER)
                look_later(p);
        return w;
}

void
port_wait_begin(struct call *c, struct sandbox *s, uint32_t exec)
{
        struct port_wait *p = c->connection ? get_wait(s, exec, c->ports_open) : NULL;
        struct port_waiter *w = p ? add_waiter(p, c) : NULL;

        if (!w)
                return; /* only the end of the command can be awaited */
        w->connection = c->connection;
        w->serial = c->serial;
        if (p->found != 0)
                found(p, p->found);
}

enum call_state
port_wait_call(struct call *c, struct sandbox *s, uint32_t exec, struct error *e)
{
        struct port_wait *p = get_wait(s, exec, 0);
        struct port_waiter *w;

        if (p && p->found != 0)
                return CALL_DONE;
        w = p ? add_waiter(p, c) : NULL;
        if (!w)
                return fail(e, ERROR_NO_MEMORY, "no memory to wait for a port"), CALL_FAILED;
        w->call = c;
        return CALL_WAITS;
}

uint16_t
port_wait_found(const struct sandbox *s, uint32_t exec)
{
        const struct port_wait *p = find_wait(s, exec);

        return p ? p->found : 0;
}

static void
forget_waiter(struct port_waiter *w)
{
        struct call *c = w->call;

        unlink_waiter(w);
        free(w);
        if (c)
                call_end(c);
}

void
port_wait_forget(const struct connection *connection, const uint32_t *serial)
{
        for (struct port_wait *p = waits; p; p = p->next)
                for (struct port_waiter *w = p->waiters, *next; w; w = next) {
                        next = w->next;
                        if ((w->call ? w->call->connection : w->connection) == connection &&
                            (!serial || (w->call ? w->call->serial : w->serial) == *serial))
                                forget_waiter(w);
                }
}

void
port_wait_exec_ended(struct sandbox *s, uint32_t exec)
{
        struct port_wait *p = find_wait(s, exec);

        if (p)
                unlink_wait(p);
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
