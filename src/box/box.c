/*
 * box/box.c - the process of one sandbox.
 *
 * Room: box (program). Touches: fd, its maker and pid 1 by messages.
 *
 *     MAKING --SPAWNED--> RUNNING --a cause--> ENDING --BOX_ENDED--> OVER --reported--> exit
 *        | MAKE_FAILED       | maker or pid 1 gone       ^ kill ordered, and waited for
 *        '-------------------'---------------------------'
 *
 * P1: if this process ends, the box ends: its maker and pid 1 each see their socket close. N8: an
 * end is in the journal before it is reported.
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

#include "box/state.h"
#include "event/outcome.h"
#include "seal/landlock.h"
#include "seal/seal.h"

enum { EXIT_BROKEN = 125, UNDONE_MS = 10000, TOLD_MS = 60000, DEAF_MS = 100, WORD_ROOM = 2304 };

static struct box box;

/* -- the end ----------------------------------------------------------------------------------- */

static const uint32_t words[] = {
        [BOX_GONE_STOPPED] = OUTCOME_KILLED, [BOX_GONE_DEADLINE] = OUTCOME_TIMED_OUT,
        [BOX_GONE_OOM] = OUTCOME_OOM_KILLED, [BOX_GONE_POLICY] = OUTCOME_POLICY_KILLED,
        [BOX_GONE_DIED] = OUTCOME_LOST,      [BOX_GONE_MAKE_FAILED] = OUTCOME_LOST,
        [BOX_GONE_STUCK] = OUTCOME_LOST,
};

uint32_t
box_word(const struct box *b)
{
        return words[b->gone.cause];
}

static void
journal_gone(struct box *b)
{
        struct wire_box_listed listed = {
                .state = b->gone.cause, .failed = { b->gone.failed.step, b->gone.failed.sys, 0 }
        };

        listed.end.cpu_ms = b->gone.cpu_ns / 1000000;
        (void)journal_append(&b->journal, WIRE_BOX_GONE, 0, &listed);
}

static void
give_up(struct loop_timer *t)
{
        (void)t;
        _exit(0);
}

void
box_check_over(struct box *b)
{
        if (b->state != BOX_OVER || b->busy > 0)
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
be_over(struct box *b)
{
        if (b->state == BOX_OVER)
                return;
        b->state = BOX_OVER;
        loop_watch_remove(&b->maker);
        loop_watch_remove(&b->guest);
        loop_timer_remove(&b->deadline);
        loop_timer_remove(&b->floor);
        loop_timer_remove(&b->quiet);
        b->busy++;
        for (struct exec *x = b->execs, *next; x; x = next) {
                next = x->next;
                if (!x->is_over)
                        exec_lost(x, box_word(b));
        }
        journal_gone(b);
        keeper_say_all(b, WIRE_BOX_GONE, &b->gone, sizeof b->gone);
        b->busy--;
        (void)loop_timer_set(b->loop, &b->late, loop_now_ms() + TOLD_MS, give_up);
        box_check_over(b);
}

static void
not_undone(struct loop_timer *t)
{
        be_over(box_holder(t, struct box, late));
}

void
box_end(struct box *b, enum box_gone cause)
{
        if (b->state >= BOX_ENDING)
                return;
        b->gone.cause = cause;
        b->state = BOX_ENDING;
        if (b->has_maker && wire_send(b->maker.fd, WIRE_KILL, NULL, 0, NULL, 0) == 0)
                (void)loop_timer_set(b->loop, &b->late, loop_now_ms() + UNDONE_MS, not_undone);
        else
                (void)loop_timer_set(b->loop, &b->late, loop_now_ms(), not_undone);
}

/* -- pid 1 ------------------------------------------------------------------------------------- */

void
box_say_guest(struct box *b, uint16_t kind, const void *body, size_t len, const int *fds,
              size_t fd_count)
{
        if (!b->has_guest)
                return;
        if (queue_lend(&b->to_guest, kind, body, len, fds, fd_count) < 0 && b->state < BOX_ENDING)
                box_end(b, BOX_GONE_DIED);
        (void)loop_watch_change(&b->guest, EPOLLIN | (b->to_guest.first ? EPOLLOUT : 0u));
}

static int
take_fd(struct wire_message *m)
{
        int fd = m->fd_count > 0 ? m->fds[0] : -1;

        if (m->fd_count > 0)
                m->fds[0] = -1;
        return fd;
}

/* Pid 1 and the maker use two sockets, so their messages can arrive in either order. */
static void
be_ready(struct box *b)
{
        if (b->is_ready || !b->has_begun || b->state != BOX_RUNNING)
                return;
        b->is_ready = 1;
        keeper_say_all(b, WIRE_BOX_READY, NULL, 0);
        ahead_want(b);
}

static void
make_failed(struct box *b, const void *body)
{
        memcpy(&b->gone.failed, body, sizeof b->gone.failed);
        b->has_failed = 1;
}

static void
hear_exec(struct box *b, struct wire_message *m, const void *body)
{
        struct wire_exec_number number;
        struct exec *x;

        /* each message starts with the number of the exec */
        memcpy(&number, body, sizeof number);
        x = exec_find(b, number.exec);
        if (!x)
                return;
        if (m->kind == WIRE_EXEC_STARTED && m->len == sizeof number) {
                exec_started(x, number.number, take_fd(m));
        } else if (m->kind == WIRE_EXEC_FAILED && m->len == sizeof(struct wire_exec_failed)) {
                struct wire_exec_failed failed;

                memcpy(&failed, body, sizeof failed);
                exec_failed(x, &failed);
        } else if (m->kind == WIRE_EXEC_ENDED && m->len == sizeof(struct wire_exec_ended)) {
                struct wire_exec_ended ended;

                memcpy(&ended, body, sizeof ended);
                exec_ended(x, &ended);
        }
}

static void
obey_guest(struct box *b, struct wire_message *m, const void *body)
{
        if (m->kind == WIRE_BOX_READY && m->len == 0) {
                b->has_begun = 1;
                be_ready(b);
        } else if (m->kind == WIRE_BOX_FAILED && m->len == sizeof(struct wire_failed)) {
                make_failed(b, body);
        } else if (m->kind == WIRE_CONNECTED && m->len == sizeof(struct wire_connected)) {
                struct wire_connected answer;

                memcpy(&answer, body, sizeof answer);
                keeper_connected(b, &answer, take_fd(m));
        } else if (m->kind == WIRE_IDLE && m->len == 0) {
                quiet_heard(b);
        } else if (m->kind == WIRE_WALL || m->kind == WIRE_WALL_LISTENED ||
                   m->kind == WIRE_WALL_DENIED) {
                if (wall_hear(b, m, body) < 0)
                        box_end(b, BOX_GONE_DIED);
        } else if (m->len >= sizeof(struct wire_exec_number)) {
                hear_exec(b, m, body);
        }
}

/* 1: handled a message; 0: none waits; -1: pid 1 is gone. */
static int
hear_guest(struct box *b)
{
        _Alignas(8) unsigned char body[WORD_ROOM];
        struct wire_message m;
        int got = b->has_guest ? wire_receive(b->to_guest.fd, 0, &m, body, sizeof body) : 0;

        if (got == -EAGAIN)
                return 0;
        if (got == -EMFILE && (m.kind == WIRE_CONNECTED || m.kind == WIRE_WALL_LISTENED))
                got = 1; /* no free descriptor for its sockets: the requester
                          * gets an error */
        if (got <= 0)
                return -1;
        obey_guest(b, &m, body);
        wire_message_close(&m);
        return 1;
}

void
box_hear_guest(struct box *b)
{
        while (hear_guest(b) > 0)
                continue;
}

static void
lose_guest(struct box *b)
{
        if (!b->has_guest)
                return;
        b->has_guest = 0;
        loop_watch_remove(&b->guest);
        queue_fini(&b->to_guest);
        (void)close(b->to_guest.fd);
        box_end(b, b->has_failed ? BOX_GONE_MAKE_FAILED : BOX_GONE_DIED);
}

static void
guest_ready(struct loop_watch *w, uint32_t events)
{
        struct box *b = box_holder(w, struct box, guest);
        int result = (events & EPOLLOUT) != 0 ? queue_flush(&b->to_guest) : 0;

        if (result == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                result = hear_guest(b);
        if (result < 0)
                lose_guest(b);
        else
                (void)loop_watch_change(&b->guest, EPOLLIN | (b->to_guest.first ? EPOLLOUT : 0u));
}

/* -- the maker --------------------------------------------------------------------------------- */

/* What it writes from now on: files of its own directory, and groups below its own. */
static int
close_world(const struct box *b)
{
        enum { LOOK = LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR };
        const struct seal_place places[] = {
                { LOOK | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_REG | LANDLOCK_TRUNCATE,
                  b->directory },
                { LOOK | LANDLOCK_MAKE_DIR | LANDLOCK_REMOVE_DIR, b->groups.root },
        };
        const char *step;

        return seal_world(SEAL_BOX, places, sizeof places / sizeof *places, &step);
}

static void
be_spawned(struct box *b, struct wire_message *m, const void *body, unsigned has_no_groups)
{
        struct wire_spawned spawned;
        int group = -1;

        memcpy(&spawned, body, sizeof spawned);
        if (spawned.has_group && m->fd_count > 0) {
                group = m->fds[--m->fd_count];
                if (has_no_groups) {
                        (void)close(group);
                        group = -1;
                }
        }
        for (size_t i = 0; i < m->fd_count; i++) {
                limits_take_counter(b, m->fds[i]);
                m->fds[i] = -1;
        }
        (void)groups_open(&b->groups, group);
        if (b->state != BOX_MAKING)
                return;
        b->state = BOX_RUNNING;
        if (close_world(b) < 0)
                /* fail closed: the box does not run without its restrictions */
                box_end(b, BOX_GONE_DIED);
        else
                exec_send_waiting(b);
        be_ready(b);
}

static void
be_ended(struct box *b, const void *body)
{
        struct wire_box_ended ended;

        memcpy(&ended, body, sizeof ended);
        /* its last messages came before its end */
        box_hear_guest(b);
        if (ended.has_usage) {
                b->gone.cpu_ns = ended.cpu_ns;
                b->gone.oom_kills = ended.oom_kills;
        }
        if (b->state < BOX_ENDING || b->gone.cause == BOX_GONE_DIED)
                b->gone.cause = b->has_failed                     ? BOX_GONE_MAKE_FAILED
                                : b->gone.oom_kills > b->oom_seen ? BOX_GONE_OOM
                                : b->is_stuck                     ? BOX_GONE_POLICY
                                                                  : BOX_GONE_DIED;
        be_over(b);
}

static unsigned is_without_groups;

/* 0: continue; -1: the maker is gone. */
static int
hear_maker(struct box *b)
{
        _Alignas(8) unsigned char body[WORD_ROOM];
        struct wire_message m;
        int got = wire_receive(b->maker.fd, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return 0;
        if (got <= 0)
                return -1;
        if (m.kind == WIRE_SPAWNED && m.len == sizeof(struct wire_spawned)) {
                be_spawned(b, &m, body, is_without_groups);
        } else if (m.kind == WIRE_MAKE_FAILED && m.len == sizeof(struct wire_failed)) {
                make_failed(b, body);
                b->gone.cause = b->state < BOX_ENDING ? BOX_GONE_MAKE_FAILED : b->gone.cause;
                be_over(b);
        } else if (m.kind == WIRE_KEPT && m.len == sizeof(struct wire_kept)) {
                const struct wire_kept *kept = (const void *)body;

                b->is_stuck = b->is_stuck || kept->what == KEPT_STUCK;
                if (kept->what == KEPT_STRICT) {
                        box_end(b, BOX_GONE_POLICY); /* the maker kills it as well */
                        b->gone.cause = BOX_GONE_POLICY;
                }
                keeper_say_all(b, WIRE_BOX_KEPT, kept, sizeof *kept);
        } else if (m.kind == WIRE_BOX_ENDED && m.len == sizeof(struct wire_box_ended)) {
                be_ended(b, body);
        }
        wire_message_close(&m);
        return 0;
}

static void
maker_ready(struct loop_watch *w, uint32_t events)
{
        struct box *b = box_holder(w, struct box, maker);

        (void)events;
        if (hear_maker(b) == 0 || b->state == BOX_OVER)
                return;
        b->has_maker = 0;
        loop_watch_remove(w);
        box_hear_guest(b);
        if (b->state < BOX_ENDING)
                b->gone.cause = BOX_GONE_DIED;
        lose_guest(b); /* this makes pid 1 end */
        be_over(b);
}

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
                (void)keeper_open(b, fd);
}

static int
watch(struct box *b, struct loop_watch *w, int fd,
      void (*ready)(struct loop_watch *w, uint32_t events))
{
        if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
                return -errno;
        return loop_watch_add(b->loop, w, fd, EPOLLIN, ready);
}

static int
begin(struct box *b, const struct box_start *start)
{
        int result;

        b->begin = start->begin;
        b->begin.id[BOX_ID_LEN - 1] = '\0';
        b->protocol = start->protocol;
        b->directory = start->directory;
        b->started_ms = loop_now_ms();
        b->has_guest = b->has_maker = 1;
        b->oom_counter = b->cpu_counter = b->pids_counter = -1;
        b->groups = (struct groups){ .root = -1, .work = -1, .events = -1 };
        b->deadline.due_ms = b->floor.due_ms = b->late.due_ms = b->hush.due_ms = b->deaf.due_ms =
                b->ahead.timer.due_ms = b->quiet.due_ms = LOOP_NEVER;
        b->listening = start->listener;
        b->spare_idle_ms = start->spare_idle_ms;
        b->overdue_ms = start->overdue_ms;
        b->freezer.fd = -1;
        for (; b->floor_count < start->floor_count && b->floor_count < FLOORS_MAX; b->floor_count++)
                b->floors[b->floor_count] = start->floors[b->floor_count];
        is_without_groups = start->has_no_groups;
        queue_init(&b->to_guest, start->guest);
        wall_init(b);
        (void)journal_open(&b->journal, b->directory, b->protocol);
        result = loop_new(&b->loop);
        if (result == 0)
                result = watch(b, &b->maker, start->maker, maker_ready);
        if (result == 0)
                result = watch(b, &b->guest, start->guest, guest_ready);
        if (result == 0)
                result = watch(b, &b->listener, start->listener, listener_ready);
        return result;
}

_Noreturn void
box_serve(const struct box_start *start)
{
        struct box *b = &box;

        if (begin(b, start) < 0)
                _exit(EXIT_BROKEN);
        (void)keeper_open(b, start->keeper);
        limits_deadline(b, b->begin.deadline_ms);
        loop_run(b->loop);
        _exit(0);
}
