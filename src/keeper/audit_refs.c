/*
 * keeper/audit_refs.c - where the log has the start of each command of a sandbox.
 *
 * Room: keeper (joining). Touches: mem.
 */
#include "keeper/audit_refs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFS_STEP = 16, REFS_MAX = 2 * SANDBOX_EXECS_MAX };

/* The number of an exec's start in the log. */
struct audit_number {
        uint32_t exec;
        uint64_t seq;
};

struct audit_refs {
        char chain[AUDIT_ID_TEXT];
        size_t count, room;
        struct audit_number *of; /* ascending by exec */
};

void
audit_refs_note(struct sandbox *s, uint32_t exec, uint64_t seq, const char *chain)
{
        struct audit_refs *r = s->audit;
        struct audit_number *grown;
        size_t at;

        if (!r)
                r = s->audit = calloc(1, sizeof *r);
        /* lint: the sandbox has what this allocates; audit_refs_free() frees it */
        if (!r)
                return;
        (void)snprintf(r->chain, sizeof r->chain, "%s", chain);
        if (r->count == REFS_MAX) { /* the box has forgotten these execs */
                memmove(r->of, r->of + REFS_STEP, (r->count - REFS_STEP) * sizeof *r->of);
                /* lint: the sandbox has what this allocates; audit_refs_free() frees it */
                r->count -= REFS_STEP;
        }
        if (r->count == r->room) {
                grown = realloc(r->of, (r->room + REFS_STEP) * 2 * sizeof *grown);
                if (!grown)
                        return;
                r->of = grown;
                r->room = (r->room + REFS_STEP) * 2;
        }
        for (at = r->count; at > 0 && r->of[at - 1].exec >= exec; at--)
                continue;
        if (at < r->count && r->of[at].exec == exec)
                r->count--;
        else
                memmove(r->of + at + 1, r->of + at, (r->count - at) * sizeof *r->of);
        r->of[at] = (struct audit_number){ exec, seq };
        /* lint: the sandbox has what this allocates; audit_refs_free() frees it */
        r->count++;
}

const char *
audit_ref(const struct sandbox *s, uint32_t exec, char room[RECORDER_REF_MAX])
{
        size_t from = 0, to = s->audit ? s->audit->count : 0;

        while (from < to) {
                size_t middle = from + (to - from) / 2;

                if (s->audit->of[middle].exec < exec)
                        from = middle + 1;
                else
                        to = middle;
        }
        if (!s->audit || from == s->audit->count || s->audit->of[from].exec != exec)
                return NULL;
        (void)snprintf(room, RECORDER_REF_MAX, "audit://%s/%" PRIu64, s->audit->chain,
                       s->audit->of[from].seq);
        return room;
}

void
audit_refs_free(struct sandbox *s)
{
        if (s->audit)
                free(s->audit->of);
        free(s->audit);
        s->audit = NULL;
}
