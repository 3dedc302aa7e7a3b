/*
 * box/engine.h - what a box asks of the engine that isolates its commands, and what it hears back.
 *
 * The box owns callers, logs, limits, the journal and the words for an end. The engine owns what
 * runs: processes, their tree, their counters. A second engine is a second table of these calls.
 *
 * The box calls begin() first, and nothing after close(). News come from the loop, and from within
 * a call only where its comment says so. An engine never blocks: what it cannot send it queues.
 *
 *     making --spawned--> spawned --ready--> ready --lost--> lost --+
 *        |                   |                 |                    | gone
 *        +------ failed -----+---- end() ------+--------------------+--> gone
 *
 *     spawned      commands may be sent; files of the engine are named, and the box confines itself
 *     ready        every step of the plan is done. At most once, after spawned
 *     make_failed  a step failed: its number and errno. lost or gone follows
 *     lost         nothing inside answers any more. The box calls end(), and waits for gone
 *     gone         the last news: everything is undone, or no part of the engine is left to undo it
 *
 * One command (struct job, embedded in what the box keeps of it):
 *
 *     idle --exec()--> sent --started--> running --ended--> over() --forget()--> idle
 *                        | exec_failed                        ^
 *                        '------------------------------------'  the box may call over() at any
 * time
 *
 *     started      its pid inside; with a terminal: its master side. Not before exec() has returned
 *     exec_failed  instead of started: the stage and errno (wire/message.h). ended does not follow
 *     ended        once, and only after started. Processes that it left may still run
 *
 * An engine must expect any order of calls on a job: a kill before started, over() before ended,
 * a second over(). It reports nothing about a job after over(), or about one that it was not given.
 * Source: the messages of wire/message.h, which the namespace engine (box/ns) passes on.
 */
#ifndef CARREL_BOX_ENGINE_H
#define CARREL_BOX_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/gate.h"
#include "wire/message.h"

struct engine;

/* One command, as the engine sees it. Zeroed by the box, then the engine's own. */
struct job {
        struct job *next, *previous;
        struct engine *engine; /* NULL: idle; every call on an idle job does nothing */
        uint32_t number;       /* in messages about it; not 0, unique among jobs */
        void *place;           /* the engine's */
        unsigned is_started : 1, is_over : 1, is_killed : 1;
        /* the engine's own limit of CPU time acts on it */
        unsigned is_cpu_limited : 1;
        /* after its end no process of it was found */
        unsigned is_settled : 1;
};

/* What exec() starts. Everything is borrowed. */
struct command {
        struct wire_exec
                *wire;   /* with its strings; the engine may change flags, spare, cpu_seconds */
        size_t len;      /* bytes, with the strings */
        int fds[3];      /* standard input, output and error; none with WIRE_EXEC_TTY */
        size_t fd_count; /* 0 or 3 */
        uint64_t cpu_ms; /* limit of CPU time; UINT64_MAX: none */
};

struct engine_ended {
        int32_t code;          /* CLD_EXITED, CLD_KILLED, CLD_DUMPED */
        int32_t status;        /* exit status or signal number */
        unsigned is_disk_full; /* the private disk was, when it ended */
        unsigned is_cpu_used;  /* the engine ended it for its CPU time */
        uint64_t cpu_us;       /* of the command and what it waited for */
        uint64_t max_rss_kb;
};

struct engine_gone {
        unsigned is_over_disk; /* it was killed for what its private directory held */
        unsigned has_usage;    /* the next fields are meant */
        uint64_t cpu_ns, oom_kills, pids_refused;
        uint64_t memory_peak; /* bytes, of the largest process, if everything was killed */
};

struct engine_news {
        /* directory: below which the engine still writes, borrowed; -1: none */
        void (*spawned)(void *box, int directory);
        void (*ready)(void *box);
        /* before ready: WIRE_BOX_UPPER (wire/box.h) */
        void (*upper)(void *box, int take_directory);
        void (*make_failed)(void *box, const struct wire_failed *failed);
        void (*started)(void *box, struct job *t, int32_t pid, int take_master /* or -1 */);
        void (*exec_failed)(void *box, struct job *t, const struct wire_exec_failed *failed);
        void (*ended)(void *box, struct job *t, const struct engine_ended *ended);
        /* answers connect(); take_socket: -1 with an errno, or if no descriptor was free */
        void (*connected)(void *box, const struct wire_connected *answer, int take_socket);
        /* after freeze(1) returned 0: 0 once every process is frozen, or an errno: it is thawed */
        void (*frozen)(void *box, int sys);
        /* the wall (wire/gate.h): its sockets; an answer to listen(); a refusal inside, without a
         * gate. The message's descriptors may be taken. 0, or -errno: the engine is lost */
        int (*walled)(void *box, struct wire_message *m, const void *body);
        void (*listened)(void *box, struct wire_message *m,
                         const struct wire_wall_listened *answer);
        int (*denied)(void *box, struct wire_wall_denied *d);
        /* A program is executed by a process of the exec with this number (0: not known): struct
         * wire_executed with its texts, borrowed. 0, or -errno: the engine is lost */
        int (*executed)(void *box, uint32_t exec, const void *executed, size_t len);
        /* what became of a name that programs of the host act on */
        void (*kept)(void *box, const struct wire_kept *kept);
        /* answers limit() */
        void (*limited)(void *box, const struct wire_limited *answer);
        void (*lost)(void *box);
        void (*gone)(void *box, const struct engine_gone *gone);
};

enum engine_ability {
        ENGINE_FREEZES = 1u << 0,     /* freeze() works */
        ENGINE_TELLS_APART = 1u << 1, /* each command is counted and killed by the kernel; source()
                                       * knows whose process something was */
        ENGINE_FREEZES_ALL = 1u << 2, /* freeze() stops also what kills and reports commands */
};

enum engine_usage {
        ENGINE_CPU_NS,       /* of everything so far */
        ENGINE_OOM_KILLS,    /* processes that the kernel killed for memory */
        ENGINE_MEMORY_KB,    /* in use now, of all processes and their files in memory */
        ENGINE_PIDS_REFUSED, /* tasks that limits.pids refused */
        ENGINE_STORED_KB,    /* of its private places, on a disk: as of the last request */
};
#define ENGINE_UNKNOWN UINT64_MAX

struct engine_calls {
        /* starts to listen. 0 or -errno */
        int (*begin)(struct engine *e, struct loop *loop);
        /*
         * Starts a command; `t` is idle, and has its number. 0: started or exec_failed follows.
         * -EAGAIN: too many, or too much is queued; another -errno: it cannot be started. May
         * report lost.
         */
        int (*exec)(struct engine *e, struct job *t, struct command *c);
        /* to the command's process group. May report lost, as may the next three */
        void (*signal)(struct engine *e, struct job *t, int signal);
        /* of its terminal; `master` as in started, borrowed */
        void (*resize)(struct engine *e, struct job *t, int master, const struct wire_size *size);
        /* every process of the command, also those it left. Without a job: of all, and those of
         * forgotten ones */
        void (*kill)(struct engine *e, struct job *t);
        /* A connection to a port inside: `connected` comes with the request's number, perhaps from
         * within. */
        void (*connect)(struct engine *e, uint32_t request, uint16_t port);
        /* Sockets for another port of the wall: `listened` follows. 0 or -errno */
        int (*listen)(struct engine *e, const struct wire_wall_listen *wanted);
        /*
         * Stops every process of every command, or continues them (0 always, no news). 1: all are
         * frozen; 0: `frozen` follows; -errno: they run on. May be asked again meanwhile. In a
         * frozen sandbox, exec() is not called; connect() and kill() work.
         */
        int (*freeze)(struct engine *e, int is_wanted);
        /* Other limits, or what is used of them: struct wire_limit, then its steps (`len` bytes,
         * borrowed). 0: `limited` follows; -errno: nothing changes */
        int (*limit)(struct engine *e, const void *wanted, size_t len);
        /* a counter, or ENGINE_UNKNOWN */
        uint64_t (*usage)(struct engine *e, enum engine_usage of);
        /* CPU time of the command's whole tree in us, or ENGINE_UNKNOWN */
        uint64_t (*cpu_us)(struct engine *e, struct job *t);
        /* Runs a process of this command; without a job: of a forgotten one? 1 if that is not
         * known, unless there was no command. */
        int (*has_processes)(struct engine *e, struct job *t);
        /* is `source`, which the kernel reports for a socket, the command's? */
        int (*is_source)(struct engine *e, const struct job *t, uint64_t source);
        /* the box counts the command as ended; what is left of it can still be killed */
        void (*over)(struct engine *e, struct job *t);
        /* the box forgets the job; what is left of it can only be killed with all */
        void (*forget)(struct engine *e, struct job *t);
        /* handles the news that have arrived: they come from within this call */
        void (*hear)(struct engine *e);
        /* kills everything and undoes it. 0: gone follows; -errno: nothing is left that could */
        int (*end)(struct engine *e);
        /* stops to listen */
        void (*close)(struct engine *e);
};

struct engine {
        const struct engine_calls *calls;
        const struct engine_news *news; /* the box's, set before begin() */
        void *box;                      /* first argument of its news */
        unsigned can;                   /* enum engine_ability; changes only before spawned */
};

static inline unsigned
engine_can(const struct engine *e, enum engine_ability ability)
{
        return (e->can & ability) != 0;
}

/* -- a command --------------------------------------------------------------------------------- */

static inline void
job_signal(struct job *t, int signal)
{
        if (t->engine)
                t->engine->calls->signal(t->engine, t, signal);
}

static inline void
job_resize(struct job *t, int master, const struct wire_size *size)
{
        if (t->engine)
                t->engine->calls->resize(t->engine, t, master, size);
}

static inline void
job_kill(struct job *t)
{
        if (t->engine)
                t->engine->calls->kill(t->engine, t);
}

static inline uint64_t
job_cpu_us(struct job *t)
{
        return t->engine ? t->engine->calls->cpu_us(t->engine, t) : ENGINE_UNKNOWN;
}

static inline int
job_has_processes(struct job *t)
{
        return t->engine && t->engine->calls->has_processes(t->engine, t);
}

static inline int
job_is_source(const struct job *t, uint64_t source)
{
        return t->engine && t->engine->calls->is_source(t->engine, t, source);
}

static inline void
job_over(struct job *t)
{
        if (t->engine)
                t->engine->calls->over(t->engine, t);
}

static inline void
job_forget(struct job *t)
{
        if (t->engine)
                t->engine->calls->forget(t->engine, t);
}

#endif
