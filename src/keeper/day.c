/*
 * keeper/day.c - counts the bytes of a day, and gives parts of them to the gate.
 *
 * Room: keeper (joining). Touches: the store, mem, clock.
 * Theory: a part is stored before the gate gets it. So whatever is killed, at most the part of each
 * sandbox that was sending is counted and was not sent; nothing is sent and not counted.
 */
#include "keeper/day.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/day_count.h"

/* AGAIN_MS: when the gate may ask again after a failure, or when others have not sent their part.
 */
enum { AGAIN_MS = 1000, MESSAGE_ROOM = 300, MS_PER_S = 1000, S_PER_MINUTE = 60 };

struct part {
        struct part *next;
        uint32_t wall, number;
        char owner[KEEPER_OWNER_LEN];
        uint64_t day, bytes;
};

/* One for each keeper. */
static struct {
        struct part *first;
        uint32_t last_number;
} parts;

/* -- the count --------------------------------------------------------------------------------- */

/*
 * 1: read; 0: nothing was counted of this owner so far; -1. A damaged row counts as used up until
 * its day ends: then it is written anew.
 */
static int
read_count(const struct keeper *k, const char *owner, struct day_count *ret, struct error *e)
{
        const struct day_now now = { loop_wall_ms(), loop_now_ms(), k->boot_id };
        struct store_day row;
        int found = store_day_find(k->store, owner, &row, e);

        if (found < 0)
                return -1;
        *ret = day_count_first(&now);
        if (found > 0 && row.is_damaged)
                ret->bytes = UINT64_MAX;
        if (found == 0 || row.is_damaged)
                return found;
        *ret = (struct day_count){
                .day = row.day, .bytes = row.bytes, .time_ms = row.time_ms, .boot_ms = row.boot_ms
        };
        memcpy(ret->boot_id, row.boot_id, sizeof ret->boot_id);
        day_count_look(ret, &now);
        return 1;
}

static int
write_count(const struct keeper *k, const char *owner, const struct day_count *c, struct error *e)
{
        struct store_day row = {
                .day = c->day, .bytes = c->bytes, .time_ms = c->time_ms, .boot_ms = c->boot_ms
        };

        _Static_assert(sizeof row.boot_id == sizeof c->boot_id, "both are ids of one kernel");
        memcpy(row.boot_id, c->boot_id, sizeof row.boot_id);
        return store_day_put(k->store, owner, &row, e);
}

uint64_t
day_bytes(const struct keeper *k, const char *owner)
{
        struct day_count c;
        struct error ignored;

        return read_count(k, owner, &c, &ignored) > 0 ? c.bytes : STORE_UNKNOWN;
}

/* -- parts ------------------------------------------------------------------------------------- */

/* What was not sent may be sent later. If that cannot be stored, it stays counted. */
static void
settle(const struct keeper *k, const struct wire_gate_quota_ask *ask)
{
        struct part **at = &parts.first, *part;
        struct day_count c;
        struct error ignored;

        while (*at && ((*at)->wall != ask->wall || (*at)->number != ask->number))
                at = &(*at)->next;
        part = *at;
        if (!part)
                return;
        *at = part->next;
        if (ask->left > 0 && ask->left <= part->bytes &&
            read_count(k, part->owner, &c, &ignored) > 0) {
                day_count_give(&c, part->day, ask->left);
                (void)write_count(k, part->owner, &c, &ignored);
        }
        free(part);
}

static bool
others_have_parts(const char *owner, uint64_t day)
{
        for (const struct part *p = parts.first; p; p = p->next)
                if (p->day == day && strcmp(p->owner, owner) == 0)
                        return true;
        return false;
}

void
day_forget(void)
{
        while (parts.first) {
                struct part *part = parts.first;

                parts.first = part->next;
                free(part);
        }
}

/* -- answers ----------------------------------------------------------------------------------- */

/* Once a day for each sandbox. */
static void
publish_end(struct box *b, const struct day_count *c, uint64_t max)
{
        uint64_t left_s = (day_count_end_ms(c) - c->boot_ms) / MS_PER_S;
        char message[MESSAGE_ROOM];

        if (b->day_told == c->day)
                return;
        b->day_told = c->day;
        (void)snprintf(message, sizeof message,
                       "the policy permits %llu bytes out of the sandboxes of %.64s in a day, and "
                       "they are sent; the day ends at 00:00 UTC, in %llu min",
                       (unsigned long long)max, b->sandbox->row.owner,
                       (unsigned long long)(left_s / S_PER_MINUTE) + 1);
        sandbox_publish(b->sandbox, event_policy_denied((struct event_policy_denied){
                                            .command = "network",
                                            .path = "policy/limits",
                                            .reason = "limit-exceeded",
                                            .message = message,
                                    }));
}

/* Fills in the answer. -1: it cannot be counted, so nothing may be sent now. */
static int
take_part(struct keeper *k, struct box *b, struct wire_gate_quota *answer)
{
        const struct sandbox *s = b->sandbox;
        struct part *part = calloc(1, sizeof *part);
        struct day_count c;
        struct error e;
        uint64_t max = s->prepared ? s->prepared->spec->egress_day_bytes : 0;

        if (!part || !s->row.owner || strlen(s->row.owner) >= sizeof part->owner || !s->prepared ||
            read_count(k, s->row.owner, &c, &e) < 0) {
                free(part);
                return -1;
        }
        answer->bytes = day_count_take(&c, max);
        answer->until_ms = day_count_end_ms(&c);
        if (answer->bytes == 0) {
                free(part);
                if (others_have_parts(s->row.owner, c.day))
                        answer->until_ms = c.boot_ms + AGAIN_MS;
                else
                        publish_end(b, &c, max);
                return 0;
        }
        if (write_count(k, s->row.owner, &c, &e) < 0) {
                free(part);
                answer->bytes = 0;
                return -1;
        }
        if (++parts.last_number == 0)
                parts.last_number = 1;
        answer->number = parts.last_number;
        *part = (struct part){ parts.first, b->wall, answer->number, "", c.day, answer->bytes };
        (void)snprintf(part->owner, sizeof part->owner, "%s", s->row.owner);
        parts.first = part;
        return 0;
}

int
day_hear(struct keeper *k, struct box *b, const struct wire_gate_quota_ask *ask)
{
        struct wire_gate_quota answer = { .wall = ask->wall };

        settle(k, ask);
        if (ask->wants == 0 || !b || !b->sandbox)
                return 0;
        if (take_part(k, b, &answer) < 0) {
                answer.sys = EIO;
                answer.until_ms = loop_now_ms() + AGAIN_MS;
        }
        return peer_send(&k->gate, WIRE_GATE_QUOTA, &answer, sizeof answer, NULL, 0);
}
