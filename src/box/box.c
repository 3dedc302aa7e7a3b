/*
 * box/box.c - the process of one sandbox.
 *
 * Room: box (program). Touches: fd, the engine.
 *
 *     MAKING --spawned--> RUNNING --a cause--> ENDING --gone--> OVER --reported--> exit
 *        | make_failed       | lost, gone          ^ end ordered, and waited for
 *        '-------------------'---------------------'
 *
 * P1: if this process ends, the box ends: the engine's processes see its sockets close. N8: an end
 * is in the journal before it is reported.
 */
#include "box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scoped.h"
#include "box/channel.h"
#include "box/engine.h"
#include "box/exec.h"
#include "box/freeze.h"
#include "box/holder.h"
#include "box/keeper.h"
#include "box/limits.h"
#include "box/meter.h"
#include "box/one.h"
#include "box/report.h"
#include "box/request.h"
#include "box/state.h"
#include "box/wall.h"
#include "seal/landlock.h"
#include "seal/seal.h"

enum { EXIT_BROKEN = 125, UNDONE_MS = 10000, TOLD_MS = 60000, DEAF_MS = 100 };

static struct box box;

/* -- the end ----------------------------------------------------------------------------------- */

static void
journal_gone(struct box *b)
{
        struct wire_box_listed listed = {
                .state = b->gone.cause, .failed = { b->gone.failed.step, b->gone.failed.sys, 0 }
        };

        listed.end.cpu_ms = b->gone.cpu_ns / 1000000;
        (void)journal_append(&b->journal, WIRE_BOX_GONE, 0, &listed);
}

/* The last totals, before the end: a keeper that was away reads them in the journal. */
static void
report_usage(struct box *b)
{
        struct wire_box_used used = meter_read(b);
        struct wire_box_listed room = { .exec = 0 };

        _Static_assert(sizeof used <= sizeof room, "the totals fit into an entry");
        memcpy(&room, &used, sizeof used);
        (void)journal_append(&b->journal, WIRE_BOX_USED, 0, &room);
        if (b->protocol >= BOX_PROTOCOL_METERED)
                keeper_say_all(b, WIRE_BOX_USED, &used, meter_len(b));
}

static void
give_up(struct loop_timer *t)
{
        (void)t;
        _exit(0);
}

static void
box_check_over(struct box *b)
{
        if (b->state != BOX_OVER || b->busy > 0 || (b->one.is_on && !b->one.is_reported))
                return;
        for (const struct keeper *k = b->keepers; k; k = k->next)
                if (k->queue.first)
                        return;
        for (const struct exec *x = b->execs; x; x = x->next)
                for (const struct channel *c = x->channels; c; c = c->next)
                        if (!c->is_kept)
                                return;
        _exit(0);
}

static void
report(struct box *b)
{
        b->one.is_reported = 1;
        for (struct keeper *k = b->keepers; k && b->one.is_on; k = k->next) {
                wall_say_missed(k);
                wall_say_denials(k);
        }
        if (!b->one.is_on)
                report_usage(b);
        journal_gone(b);
        keeper_say_all(b, WIRE_BOX_GONE, &b->gone, sizeof b->gone);
        (void)loop_timer_set(b->loop, &b->late, loop_now_ms() + TOLD_MS, give_up);
        box_check_over(b);
}

/* A keeper that still exists drops its gate; without one, no report can arrive any more. */
static void
still_linked(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, late);

        if (b->keepers)
                (void)loop_timer_set(b->loop, t, loop_now_ms() + TOLD_MS, still_linked);
        else
                report(b);
}

static void
box_unlinked(struct box *b)
{
        if (b->one.is_on && b->state == BOX_OVER && b->busy == 0 && !b->one.is_reported)
                report(b);
}

static void
be_over(struct box *b)
{
        if (b->state == BOX_OVER)
                return;
        b->state = BOX_OVER;
        b->engine->calls->close(b->engine);
        loop_timer_remove(&b->deadline);
        loop_timer_remove(&b->floor);
        b->busy++;
        exec_lose_all(b);
        b->busy--;
        if (b->one.is_on && b->wall.link >= 0 && b->keepers)
                /*
                 * The gate reports its last connections and refusals, and closes the link. The
                 * keeper may be stopped, or busy with earlier reports: no time limit here.
                 */
                (void)loop_timer_set(b->loop, &b->late, loop_now_ms() + TOLD_MS, still_linked);
        else
                report(b);
}

static void
not_undone(struct loop_timer *t)
{
        be_over(box_holder(t, struct box, late));
}

static void
box_end(struct box *b, enum box_gone cause)
{
        if (b->state >= BOX_ENDING)
                return;
        b->gone.cause = cause;
        b->state = BOX_ENDING;
        scoped_fd_close(&b->upper); /* its disk goes when nobody has it open */
        if (b->engine->calls->end(b->engine) == 0)
                (void)loop_timer_set(b->loop, &b->late, loop_now_ms() + UNDONE_MS, not_undone);
        else
                (void)loop_timer_set(b->loop, &b->late, loop_now_ms(), not_undone);
}

/* -- news of the engine ------------------------------------------------------------------------ */

static struct exec *
exec_of(struct job *t)
{
        return box_holder(t, struct exec, job);
}

/* What it writes from now on: files of its own directory, and groups below its own. */
static int
close_world(const struct box *b, int below)
{
        enum { LOOK = LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR };
        const struct seal_place places[] = {
                { LOOK | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_REG | LANDLOCK_TRUNCATE,
                  b->directory },
                { LOOK | LANDLOCK_MAKE_DIR | LANDLOCK_REMOVE_DIR, below },
        };
        const char *step;

        return seal_world(b->one.is_on ? SEAL_ONE : SEAL_BOX, places,
                          sizeof places / sizeof *places, &step);
}

static void
hear_spawned(void *of, int below)
{
        struct box *b = of;

        if (b->state != BOX_MAKING)
                return;
        b->state = BOX_RUNNING;
        if (b->one.is_on)
                one_spawned(b);
        else if (close_world(b, below) < 0)
                /* fail closed: the box does not run without its restrictions */
                box_end(b, BOX_GONE_DIED);
        else
                exec_send_waiting(b);
}

static void
hear_ready(void *of)
{
        struct box *b = of;

        if (b->is_ready || b->state != BOX_RUNNING)
                return;
        b->is_ready = 1;
        keeper_say_all(b, WIRE_BOX_READY, NULL, 0);
}

/*
 * Once, before any keeper that could have seen it is told that the box is ready. The first process
 * can be heard before the maker says that it was spawned.
 */
static void
hear_upper(void *of, int take_directory)
{
        struct box *b = of;

        if (b->upper >= 0 || b->is_ready || b->state > BOX_RUNNING) {
                (void)close(take_directory);
                return;
        }
        b->upper = take_directory;
        for (struct keeper *k = b->keepers; k; k = k->next)
                request_say_upper(k);
}

static void
hear_make_failed(void *of, const struct wire_failed *failed)
{
        struct box *b = of;

        b->gone.failed = *failed;
        b->has_failed = 1;
}

static void
hear_started(void *of, struct job *t, int32_t pid, int take_master)
{
        (void)of;
        exec_started(exec_of(t), pid, take_master);
}

static void
hear_exec_failed(void *of, struct job *t, const struct wire_exec_failed *failed)
{
        (void)of;
        exec_failed(exec_of(t), failed);
}

static void
hear_ended(void *of, struct job *t, const struct engine_ended *ended)
{
        (void)of;
        exec_ended(exec_of(t), ended);
}

static void
hear_connected(void *of, const struct wire_connected *answer, int take_socket)
{
        request_connected(of, answer, take_socket);
}

static void
hear_frozen(void *of, int sys)
{
        freeze_heard(of, -sys);
}

static int
hear_walled(void *of, struct wire_message *m, const void *body)
{
        struct box *b = of;
        int result = wall_state_take(&b->wall, m, body);

        if (result == 0 && b->one.is_on)
                keeper_say_all(b, WIRE_BOX_READY, NULL, 0);
        return result;
}

static void
hear_listened(void *of, struct wire_message *m, const struct wire_wall_listened *answer)
{
        struct box *b = of;

        wall_state_listened(&b->wall, m, answer);
}

static int
hear_denied(void *of, struct wire_wall_denied *d)
{
        return wall_hear_denied(of, d);
}

static int
hear_executed(void *of, uint32_t exec, const void *executed, size_t len)
{
        return report_executed(of, exec, executed, len);
}

static void
hear_kept(void *of, const struct wire_kept *kept)
{
        struct box *b = of;

        b->is_stuck = b->is_stuck || kept->what == KEPT_STUCK;
        if (kept->what == KEPT_STRICT) {
                box_end(b, BOX_GONE_POLICY); /* the maker kills it as well */
                b->gone.cause = BOX_GONE_POLICY;
        }
        keeper_say_found(b, kept);
}

static void
hear_limited(void *of, const struct wire_limited *answer)
{
        struct box *b = of;
        struct wire_limited told = *answer;

        if (told.sys != 0 && told.number == b->changed.number)
                b->changed.number = 0;
        told.cpu_ns = b->engine->calls->usage(b->engine, ENGINE_CPU_NS);
        keeper_say_all(b, WIRE_BOX_LIMITED, &told, sizeof told);
}

static void
hear_lost(void *of)
{
        struct box *b = of;

        box_end(b, b->has_failed ? BOX_GONE_MAKE_FAILED : BOX_GONE_DIED);
}

static void
hear_gone(void *of, const struct engine_gone *gone)
{
        struct box *b = of;

        b->one.usage = *gone;
        if (gone->has_usage) {
                b->gone.cpu_ns = gone->cpu_ns;
                b->gone.oom_kills = gone->oom_kills;
        }
        b->is_over_disk = gone->is_over_disk;
        if (b->state < BOX_ENDING || b->gone.cause == BOX_GONE_DIED)
                b->gone.cause = b->has_failed                     ? BOX_GONE_MAKE_FAILED
                                : b->gone.oom_kills > b->oom_seen ? BOX_GONE_OOM
                                : b->is_over_disk                 ? BOX_GONE_DISK
                                : b->is_stuck                     ? BOX_GONE_POLICY
                                                                  : BOX_GONE_DIED;
        be_over(b);
}

const struct engine_news box_news = {
        .spawned = hear_spawned,
        .ready = hear_ready,
        .upper = hear_upper,
        .make_failed = hear_make_failed,
        .started = hear_started,
        .exec_failed = hear_exec_failed,
        .ended = hear_ended,
        .connected = hear_connected,
        .frozen = hear_frozen,
        .walled = hear_walled,
        .listened = hear_listened,
        .denied = hear_denied,
        .executed = hear_executed,
        .kept = hear_kept,
        .limited = hear_limited,
        .lost = hear_lost,
        .gone = hear_gone,
};

const struct box_calls box_calls = {
        .end = box_end,
        .check_over = box_check_over,
        .unlinked = box_unlinked,
        .greet = request_greet,
        .serve = request_take,
        .forget = request_drop,
        .drained = wall_say_held,
};

/* -- the begin --------------------------------------------------------------------------------- */

static void listener_ready(struct loop_watch *w, uint32_t events);

static void
listen_again(struct loop_timer *t)
{
        struct box *b = box_holder(t, struct box, deaf);

        (void)loop_watch_add(b->loop, &b->listener, b->listening, EPOLLIN, listener_ready);
}

/*
 * Only a process of the same user may be a keeper; the directory's permissions enforce that too.
 * Without a free descriptor it waits a moment.
 */
static void
listener_ready(struct loop_watch *w, uint32_t events)
{
        struct box *b = box_holder(w, struct box, listener);
        int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred peer = { .uid = (uid_t)-1 };
        socklen_t len = sizeof peer;

        (void)events;
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
                loop_watch_remove(w);
                (void)loop_timer_set(b->loop, &b->deaf, loop_now_ms() + DEAF_MS, listen_again);
        }
        if (fd < 0)
                return;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
                (void)close(fd);
        else
                (void)keeper_accept(b, fd);
}

static int
begin(struct box *b, const struct box_start *start)
{
        int result;

        b->begin = start->begin;
        b->begin.id[BOX_ID_LEN - 1] = '\0';
        b->protocol = start->protocol;
        b->upper = -1;
        b->directory = start->directory;
        b->started_ms = loop_now_ms();
        b->deadline.due_ms = b->floor.due_ms = b->late.due_ms = b->hush.due_ms = b->deaf.due_ms =
                LOOP_NEVER;
        b->listening = start->listener;
        b->overdue_ms = start->overdue_ms;
        b->calls = &box_calls;
        b->one = (struct one){ .streams = { -1, -1, -1 },
                               .is_on = (b->begin.flags & BOX_BEGIN_ONE) != 0 };
        b->engine = start->engine;
        b->engine->news = &box_news;
        b->engine->box = b;
        for (; b->floor_count < start->floor_count && b->floor_count < FLOORS_MAX; b->floor_count++)
                b->floors[b->floor_count] = start->floors[b->floor_count];
        wall_init(b);
        (void)journal_open(&b->journal, b->directory, b->protocol);
        result = loop_new(&b->loop);
        if (result == 0)
                result = b->engine->calls->begin(b->engine, b->loop);
        if (b->one.is_on) /* it opens nothing, so it confines itself at once */
                return result < 0 ? result : close_world(b, -1);
        if (result < 0 || (b->begin.flags & BOX_BEGIN_TIED) != 0) /* no other keeper can come */
                return result;
        if (fcntl(start->listener, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
                result = -errno;
        if (result == 0)
                result = loop_watch_add(b->loop, &b->listener, start->listener, EPOLLIN,
                                        listener_ready);
        return result;
}

_Noreturn void
box_serve(const struct box_start *start)
{
        struct box *b = &box;

        if (begin(b, start) < 0)
                _exit(EXIT_BROKEN);
        (void)keeper_accept(b, start->keeper);
        limits_deadline(b, b->begin.deadline_ms);
        loop_run(b->loop);
        _exit(0);
}
