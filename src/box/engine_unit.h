/*
 * box/engine_unit.h - an engine that only notes what it is asked: for tests that report the news
 * themselves.
 */
#ifndef CARREL_BOX_ENGINE_UNIT_H
#define CARREL_BOX_ENGINE_UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "box/engine.h"

struct noted {
        struct engine engine;
        uint32_t number;       /* of the last command */
        int fds[3];            /* duplicates of its descriptors, until they are taken; or -1 */
        unsigned execs, kills; /* counts of calls */
        int refuses;           /* an errno that exec() answers */
};

static inline void
noted_drop(struct noted *n)
{
        for (int i = 0; i < 3; i++) {
                if (n->fds[i] >= 0)
                        (void)close(n->fds[i]);
                n->fds[i] = -1;
        }
}

static inline int
noted_exec(struct engine *e, struct job *j, struct command *c)
{
        struct noted *n = (struct noted *)(void *)e;

        n->execs++;
        if (n->refuses != 0)
                return -n->refuses;
        noted_drop(n);
        n->number = j->number;
        for (size_t i = 0; i < c->fd_count; i++)
                n->fds[i] = fcntl(c->fds[i], F_DUPFD_CLOEXEC, 3);
        j->engine = e;
        return 0;
}

static inline void
noted_signal(struct engine *e, struct job *j, int signal)
{
        (void)e, (void)j, (void)signal;
}

static inline void
noted_resize(struct engine *e, struct job *j, int master, const struct wire_size *size)
{
        (void)e, (void)j, (void)master, (void)size;
}

static inline void
noted_kill(struct engine *e, struct job *j)
{
        (void)j;
        ((struct noted *)(void *)e)->kills++;
}

static inline void
noted_connect(struct engine *e, uint32_t request, uint16_t port)
{
        (void)e, (void)request, (void)port;
}

static inline int
noted_listen(struct engine *e, const struct wire_wall_listen *wanted)
{
        (void)e, (void)wanted;
        return -EPIPE;
}

static inline int
noted_freeze(struct engine *e, int is_wanted)
{
        (void)e;
        return is_wanted ? -ENOTSUP : 0;
}

static inline int
noted_limit(struct engine *e, const void *wanted, size_t len)
{
        (void)e, (void)wanted, (void)len;
        return -ENOTSUP;
}

static inline uint64_t
noted_usage(struct engine *e, enum engine_usage of)
{
        (void)e, (void)of;
        return ENGINE_UNKNOWN;
}

static inline uint64_t
noted_cpu_us(struct engine *e, struct job *j)
{
        (void)e, (void)j;
        return ENGINE_UNKNOWN;
}

static inline int
noted_has_processes(struct engine *e, struct job *j)
{
        (void)e;
        return j != NULL;
}

static inline int
noted_is_source(struct engine *e, const struct job *j, uint64_t source)
{
        (void)e, (void)j, (void)source;
        return 0;
}

static inline void
noted_over(struct engine *e, struct job *j)
{
        (void)e, (void)j;
}

static inline int
noted_end(struct engine *e)
{
        (void)e;
        return 0;
}

static inline void
noted_close(struct engine *e)
{
        (void)e;
}

/* `n` may hold anything; ended with noted_drop(). */
static inline void
noted_init(struct noted *n)
{
        static const struct engine_calls calls = {
                .exec = noted_exec,
                .signal = noted_signal,
                .resize = noted_resize,
                .kill = noted_kill,
                .connect = noted_connect,
                .listen = noted_listen,
                .freeze = noted_freeze,
                .limit = noted_limit,
                .usage = noted_usage,
                .cpu_us = noted_cpu_us,
                .has_processes = noted_has_processes,
                .is_source = noted_is_source,
                .over = noted_over,
                .forget = noted_over,
                .hear = noted_close,
                .end = noted_end,
                .close = noted_close,
        };

        *n = (struct noted){ .engine = { .calls = &calls }, .fds = { -1, -1, -1 } };
}

#endif
