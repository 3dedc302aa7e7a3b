/*
 * gate/policy.c - the list of one wall.
 *
 * Room: gate (acting). Touches: mem.
 */
#include "gate/policy.h"

#include <stdlib.h>
#include <string.h>

#include "wire/gate.h"

enum { POLICY_ARENA_MAX = 4 << 20 };

typedef int entry_reader(struct arena *arena, const char *text, struct spec_egress *ret,
                         struct error *e);

/* Reads `count` entries from the texts at *at. */
static struct spec_egress *
read_entries(struct policy *p, entry_reader *read, const char **at, const char *end, uint32_t count)
{
        struct spec_egress *entries = arena_array(&p->arena, struct spec_egress, count + 1);
        struct error e;

        for (uint32_t i = 0; entries && i < count; i++) {
                size_t len = strnlen(*at, (size_t)(end - *at));

                if (*at + len >= end || read(&p->arena, *at, &entries[i], &e) < 0)
                        return NULL;
                *at += len + 1;
        }
        return entries;
}

struct policy *
policy_new(const char *texts, size_t len, uint32_t allow, uint32_t private_names,
           uint32_t generation)
{
        struct policy *p = allow <= GATE_ENTRIES_MAX && private_names <= GATE_ENTRIES_MAX &&
                                           len <= GATE_POLICY_MAX
                                   ? calloc(1, sizeof *p)
                                   : NULL;
        const char *at = texts, *end = texts + len;

        if (!p)
                return NULL;
        p->refs = 1;
        arena_init(&p->arena, POLICY_ARENA_MAX);
        p->p.generation = generation;
        p->p.allow_count = allow;
        p->p.private_count = private_names;
        p->p.allow = read_entries(p, egress_permitted_read, &at, end, allow);
        if (p->p.allow)
                p->p.private_names = read_entries(p, egress_private_read, &at, end, private_names);
        if (p->p.allow && p->p.private_names && at == end &&
            admit_policy_make(&p->arena, &p->p) == 0)
                return p;
        policy_unref(p);
        return NULL;
}

struct policy *
policy_ref(struct policy *p)
{
        p->refs++;
        return p;
}

void
policy_unref(struct policy *p)
{
        if (!p || --p->refs > 0)
                return;
        arena_fini(&p->arena);
        free(p);
}
