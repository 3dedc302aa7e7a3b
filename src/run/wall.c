/*
 * run/wall.c - the gate of one run.
 *
 * Room: run (joining). Touches: fd, processes (the gate), clock.
 * Theory: the box holds the wall. While no gate runs, requests wait in the queues of its sockets,
 * and nothing opens. A gate that ends is started again, each time after a longer pause, for as long
 * as the run lasts, and the box hands the wall out again.
 */
#include "run/wall.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boxstate/wall_state.h"
#include "clock/clock.h"
#include "wire/message.h"

/* END_MS: a gate that does not let its wall go by then hangs, and is killed. */
enum { WALL_NUMBER = 1, PAUSE_MS = 20, PAUSE_MAX_MS = 2000, END_MS = 10000, ROOM = 256 };

/* -- the gate ---------------------------------------------------------------------------------- */

static void
let_gate_go(struct run_wall *w)
{
        uint64_t pause = (uint64_t)PAUSE_MS << (w->starts < 8 ? w->starts : 8);

        if (w->gate >= 0)
                (void)close(w->gate);
        w->gate = -1;
        w->is_served = false;
        if (w->pid > 0) {
                (void)kill(w->pid, SIGKILL);
                while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        }
        w->pid = 0;
        w->due = w->is_over ? UINT64_MAX
                            : clock_boot_ms() + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
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

static void
ask_for_wall(const struct run_wall *w)
{
        if (w->is_there && w->gate >= 0)
                (void)wire_send(w->box, WIRE_BOX_WALL, NULL, 0, NULL, 0);
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
        if (result < 0)
                let_gate_go(w);
        else
                ask_for_wall(w);
        return result < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, -result,
                                     "telling the gate what network.egress lists")
                          : 0;
}

int
run_wall_new(struct run_wall **ret, const struct run_wall_options *options, struct error *e)
{
        struct run_wall *w;

        *ret = NULL;
        w = calloc(1, sizeof *w);
        if (!w)
                return fail(e, ERROR_NO_MEMORY, "no memory for the wall");
        w->o = options;
        w->box = w->gate = -1;
        w->before = options;
        w->generation = 1;
        /* the box decides how many it lists */
        refusals_init(&w->refusals, NUMBER_REFUSALS_HELD, NUMBER_REFUSALS_HELD);
        *ret = w;
        w->due = UINT64_MAX;
        return options ? start_gate(w, e) : 0;
}

/* -- messages ---------------------------------------------------------------------------------- */

/* Sends the list to the gate: a change, or with the sockets of the message. */
static int
send_list(struct run_wall *w, uint16_t kind, const struct wire_message *m,
          const struct wall_listener *listeners, size_t count)
{
        const struct run_wall_options *o = w->o;
        _Alignas(8) static char body[GATE_POLICY_MAX];
        struct wire_gate_policy head = { .wall = WALL_NUMBER,
                                         .generation = w->generation,
                                         .caps = o->caps };
        size_t len;

        memcpy(head.id, o->id, strnlen(o->id, sizeof head.id - 1));
        len = wire_gate_policy(body, sizeof body, &head, o->allow.items, o->allow.count,
                               o->private_names.items, o->private_names.count, listeners, count);
        return len == 0 ? -E2BIG
                        : wire_send_in_time(w->gate, kind, body, len, m ? m->fds : NULL,
                                            m ? m->fd_count : 0);
}

static int
send_transcript(struct run_wall *w)
{
        const struct run_wall_transcript *t = w->o->transcript;
        const struct wire_gate_transcript head = { WALL_NUMBER, w->has_written };

        if (!t)
                return 0;
        w->has_written = true;
        return wire_send_in_time(w->gate, WIRE_GATE_TRANSCRIPT, &head, sizeof head,
                                 (const int[]){ t->to, t->from }, t->from >= 0 ? 2 : 1);
}

static void
reject(struct run_wall *w, int sys)
{
        w->o = w->before;
        w->o->rejected(sys);
}

void
run_wall_change(struct run_wall *w, const struct run_wall_options *options)
{
        int result;

        w->o = options;
        w->generation++;
        if (w->gate < 0) /* the next one gets it */
                return;
        result = send_list(w, WIRE_GATE_SET, NULL, NULL, 0);
        if (result == -E2BIG)
                reject(w, E2BIG);
}

bool
run_wall_is_down(const struct run_wall *w)
{
        return w && w->o && w->is_there && w->is_down;
}

static int
hear_walled(struct run_wall *w, const struct wire_message *m, const void *body, struct error *e)
{
        const struct wire_box_walled *walled = body;

        if (m->len < sizeof *walled || w->gate < 0)
                return 0;
        if (walled->sys == EAGAIN)
                ask_for_wall(w);
        if (walled->sys != 0)
                return 0;
        if (m->len != sizeof *walled + walled->listeners * sizeof(struct wall_listener) ||
            m->fd_count != (size_t)1 + WALL_FIXED + walled->listeners)
                return fail(e, ERROR_PROTOCOL, "the box of the sandbox sent a malformed wall");
        if (send_transcript(w) < 0 ||
            send_list(w, WIRE_GATE_ADD, m, (const void *)(walled + 1), walled->listeners) < 0)
                let_gate_go(w);
        return 0;
}

static void
hear_refused(struct run_wall *w, const struct wire_box_refused *r)
{
        w->refusals.total = r->total;
        refusals_set(&w->refusals, r->exec, r->kept, r->more, r->at, &r->d, r->count);
}

int
run_wall_hear_box(struct run_wall *w, struct wire_message *m, const void *body, struct error *e)
{
        if (m->kind == WIRE_BOX_WALLED)
                return hear_walled(w, m, body, e);
        if (m->kind == WIRE_BOX_READY) {
                w->is_there = true;
                ask_for_wall(w);
        } else if (m->kind == WIRE_BOX_REFUSED && m->len == sizeof(struct wire_box_refused)) {
                hear_refused(w, body);
        }
        return 0;
}

struct pollfd
run_wall_poll(const struct run_wall *w)
{
        return (struct pollfd){ w->gate, POLLIN, 0 };
}

/* 0; 1: the gate is gone, or has lost the wall; -1: it rejects the list. */
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
        if (m.kind == WIRE_GATE_DROPPED)
                return 1;
        if (m.kind != WIRE_GATE_ADDED || m.len != sizeof *added)
                return 0;
        if (added->sys == 0) {
                w->before = w->o;
                w->is_served = true;
                return 0;
        }
        if (w->before != w->o) {
                reject(w, added->sys);
                return w->is_served ? 0 : 1; /* another gate gets the list of before */
        }
        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "network/egress", "gate",
                      "the gate does not take network.egress: %s", strerror(added->sys));
        return -1;
}

int
run_wall_hear_gate(struct run_wall *w, const struct pollfd *fd, struct error *e)
{
        int result = w->gate >= 0 && fd->revents != 0 ? hear_control(w, e) : 0;

        if (result > 0)
                let_gate_go(w);
        return result < 0 ? -1 : 0;
}

uint64_t
run_wall_look(struct run_wall *w)
{
        uint64_t now;
        struct error e;

        if (w->due == UINT64_MAX)
                return UINT64_MAX;
        now = clock_boot_ms();
        if (w->due > now)
                return w->due - now;
        if (w->is_over) { /* the box waits until the link closes */
                let_gate_go(w);
                return UINT64_MAX;
        }
        if (start_gate(w, &e) < 0)
                return PAUSE_MS;
        return UINT64_MAX;
}

/* -- the end ----------------------------------------------------------------------------------- */

void
run_wall_end(struct run_wall *w)
{
        const struct wire_number number = { WALL_NUMBER };

        if (w->gate >= 0)
                (void)wire_send(w->gate, WIRE_GATE_DROP, &number, sizeof number, NULL, 0);
        w->is_down = w->gate < 0;
        w->is_over = true;
        w->due = w->gate < 0 ? UINT64_MAX : clock_boot_ms() + END_MS;
}

/* The account of the command; without one that of which it is not known whose they are. */
static const struct refused *
account(const struct run_wall *w)
{
        return w ? w->refusals.first : NULL;
}

const struct wire_wall_denied *
run_wall_first(const struct run_wall *w)
{
        const struct refused *of = account(w);

        return of && of->count > 0 ? &of->items[0].d : NULL;
}

static struct refusal *
copy_account(const struct refused *of, size_t *ret_count, uint64_t *ret_more)
{
        struct refusal *copy = of && of->count > 0 ? calloc(of->count, sizeof *copy) : NULL;

        *ret_count = copy ? of->count : 0;
        *ret_more = copy ? of->more : refusals_count(of);
        if (copy)
                memcpy(copy, of->items, of->count * sizeof *copy);
        return copy;
}

struct refusal *
run_wall_denials(const struct run_wall *w, size_t *ret_count, uint64_t *ret_more)
{
        return copy_account(account(w), ret_count, ret_more);
}

struct refusal *
run_wall_denials_of(const struct run_wall *w, uint32_t exec, size_t *ret_count, uint64_t *ret_more)
{
        const struct refused *of = account(w);

        while (of && of->exec != exec)
                of = of->next;
        return copy_account(of, ret_count, ret_more);
}

void
run_wall_free(struct run_wall *w)
{
        if (!w)
                return;
        let_gate_go(w);
        refusals_fini(&w->refusals);
        free(w);
}
