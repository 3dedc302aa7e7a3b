/*
 * box/report.c - what the engine reports of programs goes to a keeper, if one reads.
 *
 * Room: box (program). Touches: fd.
 * Theory: a payload executes as fast as it can. Above WAITING_MAX bytes in the queue of the keeper
 * the number alone goes on.
 */
#include "box/report.h"

#include <errno.h>
#include <string.h>

#include "box/exec.h"
#include "box/keeper.h"
#include "box/state.h"

enum { WAITING_MAX = 4 << 20 };

/* The only exec that has not ended; 0: there are several. */
static uint32_t
find_alone(const struct box *b)
{
        uint32_t alone = 0, count = 0;

        for (const struct exec *x = b->execs; x && count < 2; x = x->next)
                if ((x->flags & BOX_EXEC_QUIET) == 0 && x->is_sent && !x->is_over) {
                        alone = x->number;
                        count++;
                }
        return count == 1 ? alone : 0;
}

static uint32_t
find_whose(struct box *b, uint32_t exec)
{
        const struct exec *x = exec != 0 ? exec_find(b, exec) : NULL;

        /* a function of the keeper is no exec of a caller */
        if (x)
                return (x->flags & BOX_EXEC_QUIET) != 0 ? 0 : exec;
        return find_alone(b);
}

int
report_executed(struct box *b, uint32_t exec, const void *executed, size_t len)
{
        struct {
                struct wire_box_executed head;
                unsigned char body[WIRE_EXECUTED_MAX];
        } said = { .head = { b->one.is_on && b->execs ? b->execs->number : find_whose(b, exec),
                             b->executed_missed } };

        if (len < sizeof(struct wire_executed) || len > sizeof said.body)
                return -EPROTO;
        memcpy(said.body, executed, len);
        for (struct keeper *k = b->keepers; k && b->protocol >= BOX_PROTOCOL_ALLOWED; k = k->next)
                if (k->queue.bytes < WAITING_MAX) {
                        keeper_say(k, WIRE_BOX_EXECUTED, &said, sizeof said.head + len);
                        b->executed_missed = 0;
                        return 0;
                }
        if (b->executed_missed < UINT32_MAX)
                b->executed_missed++;
        return 0;
}
