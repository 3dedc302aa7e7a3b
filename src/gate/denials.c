/*
 * gate/denials.c - reports to the box what was refused, and to which exec.
 *
 * Room: gate (acting). Touches: net (sock_diag of the wall's own namespace), clock.
 * Theory: the gate reports a denial before it answers the client. So the end of the exec can
 * mention it: the box knows everything that the command can know. Every denial is reported, so a
 * wall waits while its box is behind. A flood is slowed down, not only counted, because work that
 * is not done costs no other wall time. The client's socket usually still exists during the
 * look-up, because the client waits for the answer.
 */
#include "gate/denials.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "gate/test_switches.h"
#include "wall/whose.h"

static bool
is_mapped(const struct in6_addr *a)
{
        return IN6_IS_ADDR_V4MAPPED(a) != 0;
}

/* -- resting ----------------------------------------------------------------------------------- */

static void
go_on(struct wall *w)
{
        if (!w->denials.is_resting && !w->denials.is_link_full)
                turn_resume(&w->turn);
}

static void
rest_over(struct loop_timer *t)
{
        struct wall *w = (struct wall *)((char *)t - offsetof(struct wall, denials.rest));

        w->denials.is_resting = false;
        go_on(w);
}

/* In proportion to the elapsed time, at most a burst. */
static void
refill(struct denials *d)
{
        uint64_t now = loop_now_ms(), more = (now - d->at_ms) * DENIALS_PER_SECOND / 1000;

        d->left = more < DENIALS_BURST - d->left ? d->left + more : DENIALS_BURST;
        d->at_ms = now;
}

/*
 * A wall that is refused at full speed rests while other walls are served. Without memory for a
 * timer it does not rest.
 */
static void
rest_if_due(struct wall *w)
{
        struct denials *d = &w->denials;

        refill(d);
        if (d->left > 0)
                d->left--;
        if (d->left > 0 || d->is_resting || switch_is_off(SWITCH_CAPS))
                return;
        d->is_resting = loop_timer_set(w->gate->loop, &d->rest, loop_now_ms() + DENIALS_REST_MS,
                                       rest_over) == 0;
        if (d->is_resting)
                turn_pause(&w->turn);
}

static void
wait_for_link(struct wall *w)
{
        w->denials.is_link_full = loop_watch_change(&w->link, EPOLLIN | EPOLLOUT) == 0;
        if (w->denials.is_link_full)
                turn_pause(&w->turn);
}

bool
denials_wait_for_box(struct wall *w)
{
        if (w->link.fd < 0 || wall_can_tell(w))
                return false;
        if (!w->denials.is_link_full)
                wait_for_link(w);
        return w->denials.is_link_full;
}

void
denials_link_ready(struct wall *w)
{
        if (!w->denials.is_link_full || !wall_can_tell(w))
                return;
        w->denials.is_link_full = false;
        (void)loop_watch_change(&w->link, EPOLLIN);
        go_on(w);
}

void
denials_begin(struct wall *w)
{
        w->denials = (struct denials){ .left = DENIALS_BURST, .at_ms = loop_now_ms() };
}

void
denials_end(struct wall *w)
{
        loop_timer_remove(&w->denials.rest);
}

/* -- reporting --------------------------------------------------------------------------------- */

/*
 * While at most a quarter of the link is in use, there is room for all refusals of one turn. A
 * report without room is rare, and is counted.
 */
static void
send_one(struct wall *w, struct wire_wall_denied *d)
{
        if (w->link.fd < 0)
                return;
        d->untold = w->denials.untold;
        if (wire_send(w->link.fd, WIRE_WALL_DENIED, d, sizeof *d, NULL, 0) == 0)
                w->denials.untold = 0;
        else if (w->denials.untold < UINT32_MAX)
                w->denials.untold++;
        if (!w->denials.is_link_full && !wall_can_tell(w))
                wait_for_link(w);
}

void
denials_tell(struct wall *w, const struct denial_note *note)
{
        struct wire_wall_denied d = { .at_ms = loop_now_ms(),
                                      .reason = (uint32_t)note->reason,
                                      .count = 1,
                                      .port = note->port };

        w->denied++;
        turn_use(&w->turn, TURN_DENIAL);
        (void)snprintf(d.host, sizeof d.host, "%s", note->host);
        (void)snprintf(d.other, sizeof d.other, "%s", note->other);
        if (note->to) {
                memcpy(d.address, &note->to->sin6_addr, sizeof d.address);
                d.family = is_mapped(&note->to->sin6_addr) ? 4 : 6;
        }
        if (w->diag >= 0 && note->client && note->to)
                d.cgroup = wall_whose(w->diag, note->is_udp != 0, note->client, note->to);
        send_one(w, &d);
        rest_if_due(w);
}
