/*
 * keeper/op_port.c - connections to ports inside.
 *
 * Room: keeper (joining). Touches: fd, clock.
 * Theory: only declared ports can be reached, by the holder of the port's token or by the owner.
 * The keeper passes a connected socket on; it does not see the bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/switches.h"
#include "keeper/content.h"
#include "keeper/op.h"
#include "keeper/port_index.h"
#include "keeper/sandbox.h"
#include "plan/wall.h"

/* -- the address of a port elsewhere ----------------------------------------------------------- */

struct url_call {
        struct connect_request request;
        struct call *call;
        uint16_t port;
};

static const struct url_failure {
        int sys;
        enum error_code code;
        const char *why, *hint;
} url_failures[] = {
        { EOPNOTSUPP, ERROR_CAPABILITY_UNAVAILABLE, "its provider gives no addresses of ports",
          "Use a provider whose greeting has the ability `url`." },
        { ENOTCONN, ERROR_PORT_UNREACHABLE, "the sandbox elsewhere is made by its first command",
          "Run a command in the sandbox first." },
        { ENOENT, ERROR_PORT_UNREACHABLE, "its provider has no address for this port", NULL },
        { EPROTO, ERROR_PORT_UNREACHABLE, "its provider's answer is no address", NULL },
};

static void
fail_url(struct call *c, uint16_t port, int sys)
{
        const struct url_failure *known = NULL;
        struct error e;

        for (size_t i = 0; i < sizeof url_failures / sizeof *url_failures; i++)
                if (url_failures[i].sys == sys)
                        known = &url_failures[i];
        (void)fail_at(&e, known ? known->code : ERROR_PORT_UNREACHABLE, "port", "elsewhere",
                      "port %u: %s", port, known ? known->why : strerror(sys));
        if (known && known->hint)
                error_hint(&e, "%s", known->hint);
        call_fail(c, &e);
}

/* An address for browsers and programs: printable, so that no reader of it is deceived. */
static bool
is_url(const char *text)
{
#ifdef CARREL_TEST_SWITCHES
        const char *off = getenv("CARREL_TEST_BRIDGE_OFF");

        if (off && strstr(off, "url"))
                return true;
#endif
        if (strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0)
                return false;
        for (; *text != '\0'; text++)
                if (*text <= ' ' || *text > '~')
                        return false;
        return true;
}

static void
on_url(struct connect_request *r, int sys, int take_fd)
{
        struct url_call *u = (struct url_call *)r;
        struct sandbox *s;
        struct record_writer w;
        char text[WIRE_URL_MAX + 1];
        struct error e;
        ssize_t len = sys == 0 ? read(take_fd, text, WIRE_URL_MAX) : 0;

        if (take_fd >= 0)
                (void)close(take_fd);
        text[len > 0 ? len : 0] = '\0';
        if (sys == 0 && (len <= 0 || strlen(text) != (size_t)len || !is_url(text)))
                sys = EPROTO;
        s = registry_of_call(u->call, &e);
        if (!s) {
                call_fail(u->call, &e);
        } else if (sys != 0) {
                fail_url(u->call, u->port, sys);
        } else {
                sandbox_publish(s, event_port_url((struct event_port_url){ u->port }));
                w = reply_begin(u->call);
                record_text(&w, FIELD_URL, text);
                record_text(&w, FIELD_BROWSER_URL, text);
                record_uint(&w, FIELD_PORT, u->port);
                reply_send(u->call, &w, 0, -1);
                call_end(u->call);
        }
        free(u);
}

enum call_state
port_ask_url(struct call *c, struct sandbox *s, uint16_t port, struct error *e)
{
        struct url_call *u = calloc(1, sizeof *u);

        if (!u)
                return fail(e, ERROR_NO_MEMORY, "no memory for the address of a port"), CALL_FAILED;
        u->call = c;
        u->port = port;
        u->request.done = on_url;
        box_connect(s->box, port, &u->request);
        return CALL_WAITS;
}

/* -- port.connect ------------------------------------------------------------------------------ */

/* is_walls: reserved for the wall, so no server inside can listen on it. */
struct port_call {
        struct connect_request request;
        struct call *call;
        uint16_t port;
        bool is_walls;
        char owner[KEEPER_OWNER_LEN];
};

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
                (void)fail_at(&e, ERROR_PORT_UNREACHABLE, "port", NULL,
                              "nothing answers on port %u: %s", p->port, strerror(sys));
                if (p->is_walls)
                        error_hint(
                                &e,
                                "With network.egress, ports below %u belong to the gate: listen on "
                                "another, or write metadata: {carrel: {egress: {routed: true}}}.",
                                PLAN_LOW_PORT);
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
                        (void)fail_at(e, ERROR_POLICY_DENIED, "token", "unknown_token",
                                      "no port has this token");
                return s;
        }
        s = c->caller.owner[0] != '\0' ? registry_of_call(c, e)
                                       : ((void)fail_at(e, ERROR_POLICY_DENIED, "token", "missing",
                                                        "a port is reached with its token"),
                                          NULL);
        if (!s)
                return NULL;
        ports = s->row.ports.bytes;
        for (size_t i = 0; i < s->row.ports.len / sizeof *ports; i++)
                if (ports[i].port == port) {
                        *ret_port = ports[i].port;
                        return s;
                }
        (void)fail_at(e, ERROR_POLICY_DENIED, "port", "undeclared",
                      "the sandbox %s declares no port %" PRIu64, s->id, port);
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
        if (state == CALL_DONE &&
            sandbox_check_here(s, "port", "connections to ports through the daemon", e) < 0)
                state = CALL_FAILED;
        if (state == CALL_DONE)
                state = content_need_ends(c, s);
        if (state != CALL_DONE)
                return state;
        p = calloc(1, sizeof *p);
        if (!p)
                return fail(e, ERROR_NO_MEMORY, "no memory for a connection"), CALL_FAILED;
        p->call = c;
        p->port = port;
        p->is_walls = port < PLAN_LOW_PORT && s->box && s->box->has_wall && !s->box->is_routed;
        (void)snprintf(p->owner, sizeof p->owner, "%s", s->row.owner ? s->row.owner : "");
        p->request.done = on_connected;
        port_use_begin(c, s);
        box_connect(s->box, port, &p->request);
        return CALL_WAITS;
}
