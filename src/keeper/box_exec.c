/*
 * keeper/box_exec.c - the execs of a box, as far as the box reported them.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: a copy of what the box listed and reported since, ascending by number. A new exec
 * replaces the oldest one that has ended.
 */
#include <stdlib.h>
#include <string.h>

#include "keeper/box_parts.h"
#include "outcome/outcome.h"

struct wire_box_listed *
box_find_exec(const struct box *b, uint32_t exec)
{
        /* ascending, and most often asked for the newest, or for one that is not there yet */
        for (size_t i = b->exec_count; i > 0 && b->execs[i - 1].exec >= exec; i--)
                if (b->execs[i - 1].exec == exec)
                        return &b->execs[i - 1];
        return NULL;
}

struct wire_box_listed *
box_find_key(const struct box *b, const char *key)
{
        for (size_t i = b->exec_count; i > 0 && key[0] != '\0'; i--)
                if (strcmp(b->execs[i - 1].key, key) == 0)
                        return &b->execs[i - 1];
        return NULL;
}

static bool
is_live(const struct wire_box_listed *l)
{
        return l->state == BOX_EXEC_STARTING || l->state == BOX_EXEC_RUNNING;
}

size_t
box_running(const struct box *b)
{
        return b->live_count;
}

/* Drops the oldest exec that has ended. */
static void
make_room(struct box *b)
{
        for (size_t i = 0; i < b->exec_count; i++) {
                if (b->execs[i].state != BOX_EXEC_ENDED && b->execs[i].state != BOX_EXEC_FAILED)
                        continue;
                refusals_forget(&b->refusals, b->execs[i].exec);
                memmove(&b->execs[i], &b->execs[i + 1], (b->exec_count - i - 1) * sizeof *b->execs);
                b->exec_count--;
                return;
        }
}

struct wire_box_listed *
box_add_exec(struct box *b, const struct wire_box_listed *l)
{
        struct wire_box_listed *known = box_find_exec(b, l->exec);

        if (!known) {
                if (b->exec_count >= SANDBOX_EXECS_MAX)
                        make_room(b);
                if (b->exec_count == b->exec_room) {
                        size_t room = b->exec_room == 0 ? 4 : b->exec_room * 2;
                        struct wire_box_listed *execs =
                                room <= 2 * SANDBOX_EXECS_MAX
                                        ? realloc(b->execs, room * sizeof *execs)
                                        : NULL;

                        if (!execs)
                                return NULL;
                        b->execs = execs;
                        b->exec_room = room;
                }
                /* ascending: an exec whose call waited comes after later ones */
                known = &b->execs[b->exec_count++];
                for (; known > b->execs && known[-1].exec > l->exec; known--)
                        known[0] = known[-1];
        } else {
                b->live_count -= is_live(known);
        }
        *known = *l;
        b->live_count += is_live(known);
        if (!is_live(known))
                refusals_end(&b->refusals, known->exec);
        known->key[sizeof known->key - 1] = known->task[sizeof known->task - 1] =
                known->command[sizeof known->command - 1] = '\0';
        if (l->exec > b->last_exec && l->exec < 1u << 31)
                b->last_exec = l->exec;
        return known;
}

/* An exec that still ran when the box ended is lost, unless the journal says how it ended. */
void
box_lose_execs(struct box *b)
{
        for (size_t i = 0; i < b->exec_count; i++) {
                struct wire_box_listed *l = &b->execs[i];

                if (!is_live(l))
                        continue;
                b->live_count--;
                l->state = BOX_EXEC_ENDED;
                l->end.word = OUTCOME_LOST;
                l->end.exit_code = -1;
                if (b->sandbox)
                        publish_exec(b->sandbox, l, true);
        }
}
