/*
 * gate/denials.c - telling the box what was refused, and who asked.
 *
 * Room: gate (acting). Touches: net (sock_diag of the wall's own namespace), clock.
 * Theory: a denial is told before it is answered, so that the end of the exec that made it can speak of it: what the command could know, its box has been told.
 * Two commands may be refused the same one after the other, so this holds of the first DENIALS_AT_ONCE of a kind in a second; more are a flood, are counted, and told
 * once as a number. The socket of the one who asked is still there when we look: it waits for our answer.
 */
#include "gate/denials.h"

#include <stdio.h>
#include <string.h>

#include "gate/wall.h"
#include "wall/whose.h"

static bool
is_mapped(const struct in6_addr *a)
{
        return IN6_IS_ADDR_V4MAPPED(a) != 0;
}

static void
send_one(struct wall *w, const struct wire_wall_denied *d)
{
        if (w->link.fd >= 0)
                (void)wire_send(w->link.fd, WIRE_WALL_DENIED, d, sizeof *d, NULL, 0);   /* a box that does not read misses it; counters stay */
}

static bool
is_same(const struct wire_wall_denied *a, const struct wire_wall_denied *b)
{
        return a->reason == b->reason && a->port == b->port && a->cgroup == b->cgroup && strcmp(a->host, b->host) == 0 && strcmp(a->other, b->other) == 0 &&
               memcmp(a->address, b->address, sizeof a->address) == 0;
}

static void flush_due(struct loop_timer *t);

static void
set_timer(struct wall *w)
{
        uint64_t due = LOOP_NEVER;

        for (size_t i = 0; i < DENIALS_RECENT; i++)
                if (w->denials.recent[i].d.count > 0 && w->denials.recent[i].until_ms < due)
                        due = w->denials.recent[i].until_ms;
        (void)loop_timer_set(w->gate->loop, &w->denials.timer, due, flush_due);
}

/* Those whose second is over (all, with `now` LOOP_NEVER). */
static void
flush(struct wall *w, uint64_t now)
{
        for (size_t i = 0; i < DENIALS_RECENT; i++) {
                struct denial_recent *r = &w->denials.recent[i];

                if (r->until_ms == 0 || r->until_ms > now)
                        continue;
                if (r->d.count > 0)
                        send_one(w, &r->d);
                memset(r, 0, sizeof *r);
        }
}

static void
flush_due(struct loop_timer *t)
{
        struct wall *w = (struct wall *)((char *)t - offsetof(struct wall, denials.timer));

        flush(w, loop_now_ms());
        set_timer(w);
}

void
denials_flush(struct wall *w)
{
        flush(w, UINT64_MAX);
        loop_timer_remove(&w->denials.timer);
}

void
denials_tell(struct wall *w, const struct denial_note *note)
{
        struct wire_wall_denied d = { .at_ms = loop_now_ms(), .reason = (uint32_t)note->reason, .count = 1, .port = note->port };
        struct denial_recent *r;

        w->denied++;
        (void)snprintf(d.host, sizeof d.host, "%s", note->host);
        (void)snprintf(d.other, sizeof d.other, "%s", note->other);
        if (note->to) {
                memcpy(d.address, &note->to->sin6_addr, sizeof d.address);
                d.family = is_mapped(&note->to->sin6_addr) ? 4 : 6;
        }
        if (w->diag >= 0 && note->client && note->to)
                d.cgroup = wall_whose(w->diag, note->is_udp != 0, note->client, note->to);
        flush(w, d.at_ms);
        for (size_t i = 0; i < DENIALS_RECENT; i++) {
                r = &w->denials.recent[i];
                if (r->until_ms == 0 || !is_same(&r->d, &d))
                        continue;
                if (r->told < DENIALS_AT_ONCE) {
                        r->told++;
                        send_one(w, &d);
                        return;
                }
                r->d.count++;
                set_timer(w);
                return;
        }
        r = &w->denials.recent[w->denials.next++ % DENIALS_RECENT];
        if (r->until_ms != 0 && r->d.count > 0)
                send_one(w, &r->d);
        send_one(w, &d);
        *r = (struct denial_recent){ d, d.at_ms + DENIALS_SECOND_MS, 1 };
        r->d.count = 0;                        /* more of it, since it was told */
}
