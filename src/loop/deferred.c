/*
 * loop/deferred.c - memory that is given back in the next turn of the loop.
 *
 * Room: loop (words). Touches: mem.
 */
#include "loop/deferred.h"

#include <stdlib.h>

struct head {
        struct loop_timer timer;
        struct loop *loop;
        _Alignas(16) unsigned char memory[];
};

void *
deferred_new(struct loop *l, size_t len)
{
        struct head *h = calloc(1, sizeof *h + len);

        if (!h)
                return NULL;
        h->loop = l;
        /* lint: deferred_free() finds the head before the memory */
        return h->memory;
}

static void
free_now(struct loop_timer *t)
{
        free(t); /* the timer stands first */
}

void
deferred_free(void *memory)
{
        struct head *h;

        if (!memory)
                return;
        h = (struct head *)(void *)((unsigned char *)memory - offsetof(struct head, memory));
        if (h->timer.index == 0)
                (void)loop_timer_set(
                        h->loop, &h->timer, 0,
                        free_now); /* without memory for a timer it stays: never freed too early */
}
