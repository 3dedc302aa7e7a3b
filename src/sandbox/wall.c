/*
 * sandbox/wall.c - the wall of one run.
 *
 * Room: sandbox (joining). Touches: fd, processes (the gate), clock.
 * Theory: for its gate, a run is both keeper and box. While no gate runs, requests wait in the
 * queues of sockets held here, and nothing opens. A gate that ends is started again, each time
 * after a longer pause, for as long as the run lasts.
 */
#include "sandbox/wall.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock/clock.h"
#include "sandbox/session.h"

enum { WALL_NUMBER = 1, PAUSE_MS = 20, PAUSE_MAX_MS = 2000, LAST_WORDS_MS = 1000, ROOM = 256 };

/* -- the gate
 * ---------------------------------------------------------------------------------------------------
 */

static int
ask_guest(void *data, const struct wire_wall_listen *wanted)
{
        const struct run_wall *w = data;

        return wire_send(w->guest, WIRE_WALL_LISTEN, wanted, sizeof *wanted, NULL, 0);
}

static void
let_gate_go(struct run_wall *w)
{
        uint64_t pause = (uint64_t)PAUSE_MS << (w->starts < 8 ? w->starts : 8);

        hold_unlink(&w->hold);
        if (w->gate >= 0)
                (void)close(w->gate);
        w->gate = -1;
        if (w->pid > 0) {
                (void)kill(w->pid, SIGKILL);
                while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        }
        w->pid = 0;
        w->due = clock_boot_ms() + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
}

static int
send_config(struct run_wall *w)
{
        const struct run_wall_options *o = w->o;
        _Alignas(8) static char body[GATE_POLICY_MAX];
        size_t len = wire_gate_config(body, sizeof body, o->resolvers.items, o->resolvers.count,
                                      o->networks.items, o->networks.count);

        return len == 0 ? -E2BIG : wire_send(w->gate, WIRE_GATE_CONFIG, body, len, NULL, 0);
}

/* Sends the wall to the gate once it exists: sockets, list, and its own link. */
static int
send_wall(struct run_wall *w)
{
        const struct run_wall_options *o = w->o;
        _Alignas(8) static char body[GATE_POLICY_MAX];
        struct wire_gate_policy head = { .wall = WALL_NUMBER, .generation = 1, .caps = o->caps };
        struct wall_listener listeners[HOLD_LISTENERS_MAX];
        int fds[HOLD_FDS_MAX + 1];
        size_t fd_count, count, len;
        int result = hold_link(&w->hold, fds, &fd_count, listeners, &count);

        if (result < 0)
                return result == -ENOENT ? 0 : result; /* the box is still being created */
        memcpy(head.id, o->id, strnlen(o->id, sizeof head.id - 1));
        len = wire_gate_policy(body, sizeof body, &head, o->allow.items, o->allow.count,
                               o->private_names.items, o->private_names.count, listeners, count);
        result = len == 0 ? -E2BIG : wire_send(w->gate, WIRE_GATE_ADD, body, len, fds, fd_count);
        (void)close(fds[0]);
        return result;
}

static int
start_gate(struct run_wall *w, struct error *e)
{
        int result;

        w->due = UINT64_MAX;
        w->starts++;
        if (w->o->start(&w->gate, &w->pid, e) < 0) {
                w->gate = -1;
                w->pid = 0;
                let_gate_go(w);
                return -1;
        }
        result = send_config(w);
        if (result == 0)
                result = send_wall(w);
        if (result < 0)
                let_gate_go(w);
        return result < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, -result,
                                     "telling the gate what network.egress lists")
                          : 0;
}

int
run_wall_new(struct run_wall **ret, const struct run_wall_options *options, int guest,
             struct error *e)
{
        struct run_wall *w;

        *ret = NULL;
        w = calloc(1, sizeof *w);
        if (!w)
                return fail(e, ERROR_NO_MEMORY, "no memory for the wall");
        w->o = options;
        w->guest = guest;
        w->gate = -1;
        hold_init(&w->hold, ask_guest, NULL, w);
        *ret = w;
        w->due = UINT64_MAX;
        return options ? start_gate(w, e) : 0;
}

/* -- messages --------------------------------------------------------------------------------- */

int
run_wall_hear_guest(struct run_wall *w, struct wire_message *m, void *body, struct error *e)
{
        int result;

        if (!w)
                return 0;
        if (m->kind == WIRE_WALL_LISTENED && m->len == sizeof(struct wire_wall_listened)) {
                hold_listened(&w->hold, m, body);
                return 0;
        }
        if (m->kind == WIRE_WALL_DENIED && w->hold.socket_count == 0) {
                if (m->len != sizeof(struct wire_wall_denied) || !hold_denied(&w->hold, body))
                        return fail(
                                e, ERROR_PROTOCOL,
                                "pid 1 of the sandbox told something malformed of what it refused");
                return 0;
        }
        if (m->kind != WIRE_WALL)
                return 0;
        result = hold_take(&w->hold, m, body);
        if (result < 0)
                return fail_sys(e, ERROR_PROTOCOL, -result, "taking the wall of the sandbox");
        if (w->gate >= 0 && send_wall(w) < 0)
                let_gate_go(w);
        return 0;
}

void
run_wall_poll(const struct run_wall *w, struct pollfd fds[2])
{
        fds[0] = (struct pollfd){ w ? w->gate : -1, POLLIN, 0 };
        fds[1] = (struct pollfd){ w ? w->hold.link : -1, w ? hold_events(&w->hold) : (short)0, 0 };
}

/* 0; 1: the gate is gone; -1: it rejects the list. */
static int
hear_control(struct run_wall *w, struct error *e)
{
        _Alignas(8) char body[ROOM];
        const struct wire_gate_added *added = (const void *)body;
        struct wire_message m;
        int got = wire_receive(w->gate, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return 0;
        if (got <= 0)
                return 1;
        wire_message_close(&m);
        if (m.kind != WIRE_GATE_ADDED || m.len != sizeof *added || added->sys == 0)
                return 0;
        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "network/egress", "gate",
                      "the gate does not take network.egress: %s", strerror(added->sys));
        return -1;
}

int
run_wall_hear(struct run_wall *w, const struct pollfd fds[2], struct error *e)
{
        int result = 0;

        if (!w)
                return 0;
        if (w->hold.link >= 0 && fds[1].revents != 0 && hold_hear(&w->hold) < 0)
                result = 1;
        if (result == 0 && w->gate >= 0 && fds[0].revents != 0)
                result = hear_control(w, e);
        if (result > 0)
                let_gate_go(w);
        return result < 0 ? -1 : 0;
}

uint64_t
run_wall_look(struct run_wall *w)
{
        uint64_t now;
        struct error e;

        if (!w || w->due == UINT64_MAX)
                return UINT64_MAX;
        now = clock_boot_ms();
        if (w->due > now)
                return w->due - now;
        if (start_gate(w, &e) < 0)
                return PAUSE_MS;
        return UINT64_MAX;
}

/* -- the end
 * ----------------------------------------------------------------------------------------------------
 */

void
run_wall_end(struct run_wall *w)
{
        const struct wire_number number = { WALL_NUMBER };
        uint64_t until = clock_boot_ms() + LAST_WORDS_MS;

        if (!w)
                return;
        if (w->gate >= 0 && w->hold.link >= 0 &&
            wire_send(w->gate, WIRE_GATE_DROP, &number, sizeof number, NULL, 0) == 0)
                while (w->hold.link >= 0 && clock_boot_ms() < until) {
                        struct pollfd fd = { w->hold.link, hold_events(&w->hold), 0 };

                        if (clock_poll(&fd, 1, until) <= 0)
                                break;
                        (void)hold_hear(&w->hold);
                }
        let_gate_go(w);
        w->due = UINT64_MAX;
}

const struct hold_denial *
run_wall_first(const struct run_wall *w)
{
        return w && w->hold.denied > 0 ? &w->hold.denials[0] : NULL;
}

struct refusal *
run_wall_denials(const struct run_wall *w, size_t *ret_count, uint64_t *ret_more)
{
        const struct refused *of = w ? refusals_find(&w->hold.refusals, 0) : NULL;
        struct refusal *copy = of && of->count > 0 ? calloc(of->count, sizeof *copy) : NULL;

        *ret_count = copy ? of->count : 0;
        *ret_more = copy ? of->more : refusals_count(of);
        if (copy)
                memcpy(copy, of->items, of->count * sizeof *copy);
        return copy;
}

void
run_wall_free(struct run_wall *w)
{
        if (!w)
                return;
        let_gate_go(w);
        hold_fini(&w->hold);
        free(w);
}
