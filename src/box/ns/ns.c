/*
 * box/ns/ns.c - the calls of the namespace engine.
 *
 * Room: box/ns (program). Touches: fd, its maker and pid 1 by messages, control groups.
 * Theory: with groups the kernel kills, freezes and counts each command's tree. Without them pid 1
 * tracks the tree, and kills it on request.
 */
#include "box/ns/ns.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "box/ns/state.h"

static struct ns ns_only;

void
ns_say(struct ns *ns, uint16_t kind, const void *body, size_t len, const int *fds, size_t fd_count)
{
        if (!ns->has_guest)
                return;
        if (wire_queue_lend(&ns->to_guest, kind, body, len, fds, fd_count) < 0)
                ns->engine.news->lost(ns->engine.box);
        (void)loop_watch_change(&ns->guest, EPOLLIN | (ns->to_guest.first ? EPOLLOUT : 0u));
}

static void
say_number(struct ns *ns, uint16_t kind, uint32_t exec, int32_t number)
{
        ns_say(ns, kind, &(struct wire_exec_number){ exec, number },
               sizeof(struct wire_exec_number), NULL, 0);
}

/* -- a command --------------------------------------------------------------------------------- */

/*
 * Uses a group if the box has groups; otherwise pid 1 tracks the tree. In a box with groups, no
 * command runs outside of them, because freezing would not cover it.
 */
static int
choose_group(struct ns *ns, struct job *t, struct command *c)
{
        struct group *group;

        if (ns->is_one) {
                c->wire->flags |= WIRE_EXEC_LAST;
                t->is_cpu_limited = c->wire->cpu_seconds > 0;
                return 0;
        }
        if (ns->groups.work < 0) {
                c->wire->flags |= WIRE_EXEC_TREE;
                t->is_cpu_limited = c->cpu_ms != UINT64_MAX;
                if (t->is_cpu_limited && c->wire->cpu_seconds == 0)
                        c->wire->cpu_seconds = (c->cpu_ms + 999) / 1000;
                return 0;
        }
        group = prefork_take(ns, &c->wire->spare);
        if (!group)
                group = groups_take(&ns->groups);
        c->wire->flags |= WIRE_EXEC_GROUP;
        t->place = group;
        return !group || group->members < 0 ? -EAGAIN : 0;
}

static void
begin_job(struct ns *ns, struct job *t)
{
        t->engine = &ns->engine;
        t->next = ns->jobs;
        if (t->next)
                t->next->previous = t;
        ns->jobs = t;
        ns->starting++;
}

static void
end_job(struct ns *ns, struct job *t)
{
        if (t->next)
                t->next->previous = t->previous;
        if (t->previous)
                t->previous->next = t->next;
        else
                ns->jobs = t->next;
        t->engine = NULL;
}

static int
ns_exec(struct engine *e, struct job *t, struct command *c)
{
        struct ns *ns = ns_of(e);
        int fds[4], result;
        size_t count = 0;

        /* the other half is for messages that are no commands */
        if (ns->to_guest.bytes + c->len > NS_QUEUE_MAX / 2)
                return -EAGAIN;
        *t = (struct job){ .number = t->number };
        result = choose_group(ns, t, c);
        if (result == 0 && !ns->is_one) /* its maker is always busy */
                result = quiet_end(ns);
        if (result < 0) {
                if (t->place)
                        groups_give(&ns->groups, t->place);
                return result;
        }
        for (; count < c->fd_count; count++)
                fds[count] = c->fds[count];
        if (t->place)
                fds[count++] = ((struct group *)t->place)->members;
        begin_job(ns, t);
        ns_say(ns, WIRE_EXEC, c->wire, c->len, fds, count);
        prefork_begun(ns);
        return 0;
}

static void
ns_signal(struct engine *e, struct job *t, int signal)
{
        say_number(ns_of(e), WIRE_SIGNAL, t->number, signal);
}

static void
ns_resize(struct engine *e, struct job *t, int master, const struct wire_size *size)
{
        struct winsize window = { .ws_row = size->rows, .ws_col = size->columns };

        /* the terminal behind a relay is the guest's */
        if (ioctl(master, TIOCSWINSZ, &window) < 0)
                ns_say(ns_of(e), WIRE_RESIZE,
                       &(struct wire_exec_size){ t->number, size->rows, size->columns },
                       sizeof(struct wire_exec_size), NULL, 0);
}

/* Also what the payload left of commands that the box has forgotten, and the spare. */
static void
kill_all(struct ns *ns)
{
        (void)groups_kill_all(&ns->groups);
        prefork_drop(ns);
        prefork_want(ns);
        if (ns->is_spawned && !ns->is_ending && ns->groups.work < 0)
                say_number(ns, WIRE_KILL_TREE, 0, SIGKILL);
}

static void
ns_kill(struct engine *e, struct job *t)
{
        struct ns *ns = ns_of(e);

        if (!t) {
                kill_all(ns);
                return;
        }
        t->is_killed = 1;
        /* sent first: a command killed before it has begun must not be started again, in a group
         * that may be frozen */
        if (t->place && !t->is_started && !t->is_over)
                say_number(ns, WIRE_SIGNAL, t->number, SIGKILL);
        if (t->place)
                (void)groups_kill(&ns->groups, t->place);
        else if (ns->is_spawned && !ns->is_ending)
                say_number(ns, WIRE_KILL_TREE, t->number, SIGKILL);
}

static uint64_t
ns_cpu_us(struct engine *e, struct job *t)
{
        struct ns *ns = ns_of(e);
        uint64_t used = ns->is_one ? counters_cpu_ns(&ns->counters) : UINT64_MAX;

        if (ns->is_one)
                return used == UINT64_MAX ? ENGINE_UNKNOWN : used / 1000;
        return t->place ? groups_cpu_us(&ns->groups, t->place) : ENGINE_UNKNOWN;
}

static int
ns_has_processes(struct engine *e, struct job *t)
{
        struct ns *ns = ns_of(e);
        int found;

        if (!t)
                return groups_has_left(&ns->groups);
        found = !t->place || !groups_is_empty(&ns->groups, t->place);
        t->is_settled = !found && !t->is_over;
        return found;
}

static int
ns_is_source(struct engine *e, const struct job *t, uint64_t source)
{
        return t->place && groups_is(&ns_of(e)->groups, t->place, source);
}

/* True: no process of it is left, and its group can be used again. */
static int
give_back(struct ns *ns, struct job *t)
{
        if (!t->place)
                return 0;
        if (!t->is_settled)
                return groups_give_empty(&ns->groups, t->place);
        groups_give_settled(&ns->groups, t->place);
        return 1;
}

static void
ns_over(struct engine *e, struct job *t)
{
        struct ns *ns = ns_of(e);

        if (!t->is_over) {
                *(t->is_started ? &ns->running : &ns->starting) -= 1;
                t->is_over = 1;
                prefork_want(ns);
        }
        if (give_back(ns, t))
                end_job(ns, t);
        quiet_look(ns);
}

static void
ns_forget(struct engine *e, struct job *t)
{
        struct ns *ns = ns_of(e);

        if (!t->is_over)
                *(t->is_started ? &ns->running : &ns->starting) -= 1;
        if (t->place)
                groups_give(&ns->groups, t->place);
        end_job(ns, t);
        quiet_look(ns);
}

/* -- all of them ------------------------------------------------------------------------------- */

static void
ns_connect(struct engine *e, uint32_t request, uint16_t port)
{
        ns_say(ns_of(e), WIRE_CONNECT, &(struct wire_connect){ .request = request, .port = port },
               sizeof(struct wire_connect), NULL, 0);
}

static int
ns_listen(struct engine *e, const struct wire_wall_listen *wanted)
{
        struct ns *ns = ns_of(e);

        if (!ns->has_guest)
                return -EPIPE;
        ns_say(ns, WIRE_WALL_LISTEN, wanted, sizeof *wanted, NULL, 0);
        return 0;
}

static int
ns_limit(struct engine *e, const void *wanted, size_t len)
{
        struct ns *ns = ns_of(e);

        if (!ns->has_maker || !ns->is_spawned || ns->is_ending)
                return -ESRCH;
        return wire_send(ns->maker.fd, WIRE_LIMIT, wanted, len, NULL, 0);
}

/* The last answer of the maker. Asks it again, for the next call. */
static uint64_t
stored_kb(struct ns *ns)
{
        if (ns->has_maker && ns->is_spawned && !ns->asks_stored)
                ns->asks_stored = wire_send(ns->maker.fd, WIRE_STORED, NULL, 0, NULL, 0) == 0;
        return ns->stored_kb;
}

static uint64_t
ns_usage(struct engine *e, enum engine_usage of)
{
        struct ns *ns = ns_of(e);
        uint64_t used;

        if (of == ENGINE_STORED_KB)
                return stored_kb(ns);

        if (of == ENGINE_OOM_KILLS)
                return counters_oom_kills(&ns->counters);
        if (of == ENGINE_MEMORY_KB)
                return counters_memory_kb(&ns->counters);
        if (of == ENGINE_PIDS_REFUSED)
                return counters_pids_refused(&ns->counters);
        used = groups_box_cpu_us(&ns->groups);
        return used != UINT64_MAX ? used * 1000 : counters_cpu_ns(&ns->counters);
}

/* -- begin and end ----------------------------------------------------------------------------- */

static int
ns_begin(struct engine *e, struct loop *loop)
{
        struct ns *ns = ns_of(e);

        ns->loop = loop;
        return ns_hear_begin(ns, ns->maker.fd, ns->guest.fd);
}

static void
ns_hear(struct engine *e)
{
        ns_hear_guest(ns_of(e));
}

static int
ns_end(struct engine *e)
{
        struct ns *ns = ns_of(e);

        ns->is_ending = 1;
        if (ns->is_one && !ns->has_maker && ns->has_guest)
                return 0; /* pid 1 ends, and is waited for */
        return ns->has_maker ? wire_send(ns->maker.fd, WIRE_KILL, NULL, 0, NULL, 0) : -EPIPE;
}

static void
ns_close(struct engine *e)
{
        struct ns *ns = ns_of(e);

        ns->is_ending = 1;
        ns_hear_end(ns);
        freezer_close(ns);
        loop_timer_remove(&ns->prefork.timer);
        loop_timer_remove(&ns->quiet.timer);
}

static const struct engine_calls ns_calls = {
        .begin = ns_begin,
        .exec = ns_exec,
        .signal = ns_signal,
        .resize = ns_resize,
        .kill = ns_kill,
        .connect = ns_connect,
        .listen = ns_listen,
        .freeze = ns_freeze,
        .limit = ns_limit,
        .usage = ns_usage,
        .cpu_us = ns_cpu_us,
        .has_processes = ns_has_processes,
        .is_source = ns_is_source,
        .over = ns_over,
        .forget = ns_forget,
        .hear = ns_hear,
        .end = ns_end,
        .close = ns_close,
};

struct engine *
ns_open(const struct ns_start *start)
{
        struct ns *ns = &ns_only;

        *ns = (struct ns){ .engine = { .calls = &ns_calls },
                           .maker = { .fd = start->maker },
                           .guest = { .fd = start->guest },
                           .freezer = { .events = { .fd = -1 }, .late = { .due_ms = LOOP_NEVER } },
                           .has_guest = 1,
                           .has_maker = 1,
                           .has_no_groups = start->has_no_groups,
                           .is_one = start->is_one,
                           .groups = { .root = -1, .work = -1, .events = -1 },
                           .prefork = { .idle_ms = start->spare_idle_ms,
                                        .timer = { .due_ms = LOOP_NEVER } },
                           .quiet = { .timer = { .due_ms = LOOP_NEVER } } };
        counters_init(&ns->counters);
        ns->stored_kb = ENGINE_UNKNOWN;
        wire_queue_init(&ns->to_guest, start->guest, NS_QUEUE_MAX, 0);
        return &ns->engine;
}
