/*
 * http/crowd.c - owners, each with a queue of members; selects the member that is closed for a new
 * one.
 *
 * Room: http (joining). Touches: mem.
 * Theory: an owner that has its full share loses one of its own places. If all places are taken,
 * the owner with the most loses one (G02). No member loses a running request to another one, unless
 * its own owner is still unknown.
 */
#include "http/crowd.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 72 };

struct crowd_owner {
        struct crowd_owner *next;
        struct crowd_member *first, *last;
        unsigned count;
        size_t bytes[CROWD_USES];
        char name[NAME_MAX_LEN];
};

/* -- owners ------------------------------------------------------------------------------------ */

static unsigned
share_of(const struct crowd_owner *o)
{
        return o->name[0] == '\0' ? CROWD_NOBODY_MAX : CROWD_OWNER_MAX;
}

static struct crowd_owner *
owner_of(struct crowd *c, const char *name)
{
        struct crowd_owner *o;

        for (o = c->owners; o; o = o->next)
                if (strncmp(o->name, name, sizeof o->name - 1) == 0)
                        return o;
        o = calloc(1, sizeof *o);
        if (!o)
                return NULL;
        for (size_t i = 0; i < sizeof o->name - 1 && name[i] != '\0'; i++)
                o->name[i] = name[i];
        o->next = c->owners;
        c->owners = o;
        return o;
}

/* Frees an owner that has no members left. */
static void
owner_sweep(struct crowd *c, struct crowd_owner *o)
{
        struct crowd_owner **at = &c->owners;

        if (o->count > 0)
                return;
        while (*at != o)
                at = &(*at)->next;
        *at = o->next;
        free(o);
}

/* -- queues ------------------------------------------------------------------------------------ */

static void
take_out(struct crowd_member *m)
{
        *(m->before ? &m->before->behind : &m->owner->first) = m->behind;
        *(m->behind ? &m->behind->before : &m->owner->last) = m->before;
        m->before = m->behind = NULL;
}

static void
put_last(struct crowd_member *m)
{
        m->before = m->owner->last;
        *(m->before ? &m->before->behind : &m->owner->first) = m;
        m->owner->last = m;
}

/*
 * The member that has waited longest; among members of unknown owner also a busy one. Never `but`.
 */
static struct crowd_member *
weakest(const struct crowd_owner *o, const struct crowd_member *but)
{
        struct crowd_member *busy = NULL;

        for (struct crowd_member *m = o->first; m; m = m->behind) {
                if (m != but && m->is_waiting)
                        return m;
                if (m != but && !busy)
                        busy = m;
        }
        return o->name[0] == '\0' ? busy : NULL;
}

static struct crowd_member *
weakest_of_greediest(const struct crowd *c)
{
        struct crowd_member *found = NULL;
        unsigned most = 0;

        for (const struct crowd_owner *o = c->owners; o; o = o->next) {
                struct crowd_member *m = o->count > most ? weakest(o, NULL) : NULL;

                if (!m)
                        continue;
                most = o->count;
                found = m;
        }
        return found;
}

/* -- bytes ------------------------------------------------------------------------------------- */

int
crowd_too_much(enum crowd_use use, struct error *e)
{
        if (use == CROWD_BODIES) {
                (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "bodies",
                              "your requests that are coming in hold more than %d MiB together",
                              CROWD_BYTES_MAX >> 20);
                error_hint(e, "Send fewer large bodies at the same time, and try again in %d s.",
                           CROWD_RETRY_S);
        } else {
                (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "answers",
                              "your answers that are being collected, or were not read yet, hold "
                              "more than %d MiB together",
                              CROWD_ANSWERS_MAX >> 20);
                error_hint(e,
                           "Read the answers, or ask for less at the same time, and try again in "
                           "%d s.",
                           CROWD_RETRY_S);
        }
        return -1;
}

static void
count(struct crowd_member *m, enum crowd_use use, size_t len)
{
        m->bytes[use] += len;
        m->owner->bytes[use] += len;
        m->crowd->answers += use == CROWD_ANSWERS ? len : 0;
}

int
crowd_hold(struct crowd_member *m, enum crowd_use use, size_t len)
{
        size_t most = use == CROWD_BODIES ? CROWD_BYTES_MAX : CROWD_ANSWERS_MAX;

        if (!m->owner)
                /* its connection is dead, and its bytes are freed in a moment */
                return 0;
        if (m->owner->bytes[use] + len > most ||
            (use == CROWD_ANSWERS && m->crowd->answers + len > CROWD_ANSWERS_ALL_MAX))
                return -1;
        count(m, use, len);
        return 0;
}

void
crowd_owe(struct crowd_member *m, size_t len)
{
        if (m->owner)
                count(m, CROWD_ANSWERS, len);
}

int
crowd_is_over(const struct crowd_member *m)
{
        return m->owner && (m->owner->bytes[CROWD_ANSWERS] >= CROWD_ANSWERS_MAX ||
                            m->crowd->answers >= CROWD_ANSWERS_ALL_MAX);
}

void
crowd_release(struct crowd_member *m, enum crowd_use use, size_t len)
{
        if (!m->owner)
                return;
        len = len < m->bytes[use] ? len : m->bytes[use];
        m->bytes[use] -= len;
        m->owner->bytes[use] -= len;
        m->crowd->answers -= use == CROWD_ANSWERS ? len : 0;
}

void
crowd_hold_nothing(struct crowd_member *m, enum crowd_use use)
{
        crowd_release(m, use, m->bytes[use]);
}

static void
hold_nothing(struct crowd_member *m)
{
        crowd_hold_nothing(m, CROWD_BODIES);
        crowd_hold_nothing(m, CROWD_ANSWERS);
}

/* -- places ------------------------------------------------------------------------------------ */

static int
find_share(struct crowd_owner *o, const struct crowd_member *but, struct error *e)
{
        struct crowd_member *m;

        if (o->count < share_of(o))
                return 0;
        m = weakest(o, but);
        if (m) {
                m->let_go(m);
                return 0;
        }
        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "connections",
                      "you have %u connections here, each with a request that is not over: that is "
                      "as many as one owner may have",
                      o->count);
        error_hint(e,
                   "Let some requests and streams end, or use their connections again, and try "
                   "again in %d s.",
                   CROWD_RETRY_S);
        return -1;
}

static int
find_place(struct crowd *c, struct error *e)
{
        struct crowd_member *m;

        if (c->count < CROWD_MAX)
                return 0;
        m = weakest_of_greediest(c);
        if (!m)
                return fail_at(e, ERROR_UNAVAILABLE, "", "connections",
                               "all %d connections are in use", CROWD_MAX);
        m->let_go(m);
        return 0;
}

/* Finds or creates an owner. A new owner is kept only if its first member gets a place. */
static struct crowd_owner *
find_owner(struct crowd *c, const char *name, const struct crowd_member *but, struct error *e)
{
        struct crowd_owner *o = owner_of(c, name);

        if (!o)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this connection"),
                       NULL;
        if (find_share(o, but, e) == 0)
                return o;
        owner_sweep(c, o);
        return NULL;
}

int
crowd_join(struct crowd *c, struct crowd_member *m, const char *owner,
           void (*let_go)(struct crowd_member *m), struct error *e)
{
        struct crowd_owner *o;

        if (find_place(c, e) < 0)
                return -1;
        o = find_owner(c, owner ? owner : "", NULL, e);
        if (!o)
                return -1;
        *m = (struct crowd_member){ .crowd = c, .owner = o, .is_waiting = 1, .let_go = let_go };
        put_last(m);
        o->count++;
        c->count++;
        return 0;
}

int
crowd_name(struct crowd_member *m, const char *owner, struct error *e)
{
        struct crowd_owner *old = m->owner, *o;

        if (strncmp(old->name, owner, sizeof old->name - 1) == 0)
                return 0;
        o = find_owner(m->crowd, owner, m, e);
        if (!o)
                return -1;
        hold_nothing(m);
        take_out(m);
        m->owner = o;
        put_last(m);
        o->count++;
        old->count--;
        owner_sweep(m->crowd, old);
        return 0;
}

void
crowd_busy(struct crowd_member *m)
{
        m->is_waiting = 0;
}

void
crowd_wait(struct crowd_member *m)
{
        m->is_waiting = 1;
        take_out(m);
        put_last(m);
}

void
crowd_leave(struct crowd_member *m)
{
        struct crowd *c = m->crowd;
        struct crowd_owner *o = m->owner;

        if (!c)
                return;
        hold_nothing(m);
        take_out(m);
        *m = (struct crowd_member){ 0 };
        c->count--;
        o->count--;
        owner_sweep(c, o);
}
