/*
 * boxstate/refusals.c - what was refused, command by command.
 *
 * Room: boxstate (words). Touches: mem.
 * Theory: the reader of a command's result is a model with little context: a repeated refusal is
 * one line with a count, and of many refusals the first few are listed, because what comes later is
 * mostly what the first ones led to. What is not listed is counted all the same, so that nothing
 * can be hidden behind a crowd.
 */
#include "boxstate/refusals.h"

#include <stdlib.h>
#include <string.h>

uint64_t
refusals_sum(uint64_t a, uint64_t b)
{
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

bool
refusal_is_same(const struct wire_wall_denied *a, const struct wire_wall_denied *b)
{
        return a->reason == b->reason && a->port == b->port && strcmp(a->host, b->host) == 0 &&
               strcmp(a->other, b->other) == 0 &&
               (a->host[0] != '\0' || memcmp(a->address, b->address, sizeof a->address) == 0);
}

void
refusals_init(struct refusals *r, size_t each_max, size_t held_max)
{
        *r = (struct refusals){ .each_max = each_max, .held_max = held_max };
}

static void
free_one(struct refusals *r, struct refused *take)
{
        r->held -= take->count;
        free(take->items);
        free(take);
}

void
refusals_fini(struct refusals *r)
{
        while (r->first) {
                struct refused *one = r->first;

                r->first = one->next;
                free_one(r, one);
        }
}

struct refused *
refusals_find(const struct refusals *r, uint32_t exec)
{
        struct refused *one = r->first;

        while (one && one->exec != exec)
                one = one->next;
        return one;
}

uint64_t
refusals_count(const struct refused *of)
{
        uint64_t sum = of ? of->more : 0;

        for (size_t i = 0; of && i < of->count; i++)
                sum = refusals_sum(sum, of->items[i].count);
        return sum;
}

void
refusals_end(struct refusals *r, uint32_t exec)
{
        struct refused *one = refusals_find(r, exec);

        if (one)
                one->is_over = true;
}

void
refusals_forget(struct refusals *r, uint32_t exec)
{
        for (struct refused **at = &r->first; *at; at = &(*at)->next)
                if ((*at)->exec == exec) {
                        struct refused *one = *at;

                        *at = one->next;
                        free_one(r, one);
                        return;
                }
}

/* Its list is no list any more, but a number. */
static void
fold(struct refusals *r, struct refused *one)
{
        one->more = refusals_count(one);
        one->version = r->version;
        r->held -= one->count;
        free(one->items);
        one->items = NULL;
        one->count = one->room = 0;
}

/* Of the execs that have ended the one that began first gives its place. */
static bool
make_place(struct refusals *r)
{
        struct refused *found = NULL;

        if (r->held < r->held_max)
                return true;
        for (struct refused *one = r->first; one; one = one->next)
                if (one->is_over && one->count > 0 && (!found || one->exec < found->exec))
                        found = one;
        if (found)
                fold(r, found);
        return found != NULL;
}

/* One more of this; NULL: there is no place for it. */
static struct refusal *
add_item(struct refusals *r, struct refused *one, const struct wire_wall_denied *d)
{
        if (one->count >= r->each_max || !make_place(r))
                return NULL;
        if (one->count == one->room) {
                size_t room = one->room > 0 ? 2 * one->room : 1;
                struct refusal *items = realloc(one->items, room * sizeof *items);

                if (!items)
                        return NULL;
                one->items = items;
                one->room = room;
        }
        r->held++;
        one->version = r->version;
        one->items[one->count] = (struct refusal){ .d = *d };
        /* lint: what was overwritten held no pointer */
        return &one->items[one->count++];
}

static struct refused *
account(struct refusals *r, uint32_t exec)
{
        struct refused *one = refusals_find(r, exec);

        if (one)
                return one;
        one = calloc(1, sizeof *one);
        if (!one)
                return NULL;
        one->exec = exec;
        one->next = r->first;
        r->first = one;
        return one;
}

void
refusals_add(struct refusals *r, uint32_t exec, const struct wire_wall_denied *d)
{
        struct refused *one = account(r, exec);
        struct refusal *item = NULL;

        r->total = refusals_sum(r->total, d->count);
        r->version++;
        if (!one)
                return;
        for (size_t i = 0; i < one->count && !item; i++)
                item = refusal_is_same(&one->items[i].d, d) ? &one->items[i] : NULL;
        if (!item && one->more == 0) /* in the order in which they came: once one was left out, none
                                        is listed after it */
                item = add_item(r, one, d);
        if (!item) {
                one->more = refusals_sum(one->more, d->count);
                one->version = r->version;
                return;
        }
        item->count = refusals_sum(item->count, d->count);
        item->version = r->version;
}

void
refusals_miss(struct refusals *r, uint64_t count)
{
        struct refused *one = count > 0 ? account(r, 0) : NULL;

        if (count == 0)
                return;
        r->total = refusals_sum(r->total, count);
        r->version++;
        if (!one)
                return;
        one->more = refusals_sum(one->more, count);
        one->version = r->version;
}

void
refusals_set(struct refusals *r, uint32_t exec, size_t kept, uint64_t more, size_t at,
             const struct wire_wall_denied *d, uint64_t count)
{
        struct refused *one = account(r, exec);
        struct refusal *item = NULL;

        if (!one)
                return;
        one->more = more;
        while (one->count > kept) {
                one->count--;
                r->held--;
        }
        if (at < kept && at <= one->count)
                item = at < one->count ? &one->items[at] : add_item(r, one, d);
        if (item)
                *item = (struct refusal){ .d = *d, .count = count };
}
