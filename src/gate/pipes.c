/*
 * gate/pipes.c - pipes for splice(2), each lent while it contains bytes.
 *
 * Room: gate (acting). Touches: fd, mem.
 */
#include "gate/pipes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void
destroy(struct pipes *p, struct pipe *take_pipe)
{
        p->count--;
        p->large_count -= take_pipe->size > PIPE_PLAIN;
        (void)close(take_pipe->in);
        (void)close(take_pipe->out);
        free(take_pipe);
}

struct pipe *
pipes_take(struct pipes *p)
{
        struct pipe *made = p->spare;
        int ends[2];

        if (made) {
                p->spare = made->next;
                p->spare_count--;
                return made;
        }
        made = p->count < p->max ? malloc(sizeof *made) : NULL;
        if (!made || pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) {
                free(made);
                return NULL;
        }
        *made = (struct pipe){ ends[1], ends[0], PIPE_PLAIN, NULL };
        if (p->large_count < PIPES_LARGE_MAX &&
            fcntl(made->in, F_SETPIPE_SZ, PIPE_LARGE) >= PIPE_LARGE) {
                made->size = PIPE_LARGE;
                p->large_count++;
        }
        p->count++;
        return made;
}

void
pipes_give(struct pipes *p, struct pipe *take_pipe, int is_empty)
{
        if (!take_pipe)
                return;
        if (!is_empty || p->spare_count >= PIPES_SPARE_MAX) {
                destroy(p, take_pipe);
                return;
        }
        take_pipe->next = p->spare;
        p->spare = take_pipe;
        p->spare_count++;
}

void
pipes_fini(struct pipes *p)
{
        while (p->spare) {
                struct pipe *first = p->spare;

                p->spare = first->next;
                p->spare_count--;
                destroy(p, first);
        }
}
