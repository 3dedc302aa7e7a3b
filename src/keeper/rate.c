/*
 * keeper/rate.c - limits on the rate of an owner's calls.
 *
 * Room: keeper (joining). Touches: mem, clock.
 * Theory: a counter for each owner and period. A call that is denied by a limit counts for none of
 * them. A counter whose period is over is free, so that names of owners do not fill the memory.
 */
#include "keeper/rate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/tool.h"
#include "keeper/sandbox.h"

enum { COUNTERS_MAX = 4096, OWNER_ROOM = 80, MS_PER_S = 1000 };

struct counter {
        struct counter *next;
        char owner[OWNER_ROOM];
        uint64_t period_ms, until_ms, count;
};

/* One for each keeper. */
static struct {
        struct counter *first;
        size_t count;
} counters;

static void
forget_old(uint64_t now_ms)
{
        for (struct counter **at = &counters.first; *at;) {
                struct counter *old = *at;

                if (old->until_ms > now_ms) {
                        at = &old->next;
                        continue;
                }
                *at = old->next;
                free(old);
                counters.count--;
        }
}

/* NULL: `e` says why. */
static struct counter *
find(const char *owner, uint64_t period_ms, uint64_t now_ms, struct error *e)
{
        struct counter *c;

        for (c = counters.first; c; c = c->next)
                if (c->period_ms == period_ms && strcmp(c->owner, owner) == 0)
                        return c;
        if (counters.count == COUNTERS_MAX || strlen(owner) >= OWNER_ROOM) {
                (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "policy/limits", "counters",
                              "the calls of too many owners are counted already");
                return NULL;
        }
        c = calloc(1, sizeof *c);
        if (!c) {
                (void)fail(e, ERROR_NO_MEMORY, "no memory to count calls");
                return NULL;
        }
        (void)snprintf(c->owner, sizeof c->owner, "%s", owner);
        c->period_ms = period_ms;
        c->until_ms = now_ms + period_ms;
        c->next = counters.first;
        counters.first = c;
        counters.count++;
        return c;
}

static int
fail_limit(struct sandbox *s, const struct call *c, const struct spec_rate *rate, uint64_t until_ms,
           struct error *e)
{
        uint64_t left_s = (until_ms - loop_now_ms() + MS_PER_S - 1) / MS_PER_S;

        (void)fail_at(e, ERROR_POLICY_DENIED, "policy/limits", "limit-exceeded",
                      "the policy permits %llu calls of tools in %llu s, and %.64s has made them",
                      (unsigned long long)rate->max,
                      (unsigned long long)(rate->period_ms / MS_PER_S), c->caller.owner);
        error_hint(e, "Nothing was started. Repeat the call in %llu s.",
                   (unsigned long long)left_s);
        sandbox_publish(s, event_policy_denied((struct event_policy_denied){
                                   .command = tool_name(c->op->name),
                                   .path = e->path,
                                   .reason = e->reason,
                                   .message = e->message,
                           }));
        return -1;
}

/* Counts it only if no limit is reached. */
static int
take(struct sandbox *s, struct call *c, struct error *e)
{
        const struct spec *spec = s->prepared->spec;
        struct counter *found[SPEC_RATES_MAX];
        uint64_t now_ms = loop_now_ms();

        forget_old(now_ms);
        for (size_t i = 0; i < spec->rate_count; i++) {
                found[i] = find(c->caller.owner, spec->rates[i].period_ms, now_ms, e);
                if (!found[i])
                        return -1;
                if (found[i]->count >= spec->rates[i].max)
                        return fail_limit(s, c, &spec->rates[i], found[i]->until_ms, e);
        }
        for (size_t i = 0; i < spec->rate_count; i++) {
                bool is_again = false; /* two limits with one period */

                for (size_t k = 0; k < i; k++)
                        is_again = is_again || found[k] == found[i];
                found[i]->count += !is_again;
        }
        return 0;
}

static bool
is_counted(const struct operation *op)
{
        return op->code == OP_EXEC || op->code == OP_CODE || strncmp(op->name, "file.", 5) == 0;
}

int
rate_take(struct call *c, struct error *e)
{
        struct sandbox *s;
        struct error ignored;

        if (c->is_counted || !is_counted(c->op))
                return 0;
        s = registry_of_call(c, &ignored);
        if (!s || sandbox_judge(s, &ignored) < 0 || s->prepared->spec->rate_count == 0)
                return 0; /* the operation reports what is wrong */
        if (take(s, c, e) < 0)
                return -1;
        c->is_counted = true;
        return 0;
}
