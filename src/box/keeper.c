/*
 * box/keeper.c - requests of keepers, and reports to them.
 *
 * Room: box (program). Touches: fd, credentials of the peer.
 * Theory: a keeper may come and go. Messages for it wait in its queue. No action of a payload or of
 * a single caller ends its link (Q1 of keeper/peer.h):
 *
 *     answers, and commands    while the queue of a keeper is full, its requests are not read. It
 *                              can cause only one more list, and the ends of running commands:
 *                              less than half of QUEUE_MAX
 *     refusals of the network  sent when the queue is empty, and then only what the wall still
 *                              remembers (box/wall.c)
 *     names that were moved    at most 64, then the box ends (maker/guard.c)
 *
 * Only a keeper that does not read while another keeper stays active is cut off, at QUEUE_MAX. Its
 * next connection starts with everything.
 */
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

enum { BODY_KEPT = 8192 };

static _Alignas(4096) unsigned char body[WIRE_BODY_MAX];

void
keeper_close(struct keeper *k)
{
        struct keeper **at = &k->box->keepers;

        while (*at != k)
                at = &(*at)->next;
        *at = k->next;
        for (size_t i = 0; i < CONNECTS_MAX; i++)
                if (k->box->connects[i].keeper == k)
                        k->box->connects[i].keeper = NULL;
        loop_watch_remove(&k->watch);
        queue_fini(&k->queue);
        (void)close(k->queue.fd);
        free(k);
}

void
keeper_watch(struct keeper *k)
{
        (void)loop_watch_change(&k->watch, (queue_is_full(&k->queue) ? 0u : (uint32_t)EPOLLIN) |
                                                   (k->queue.first ? (uint32_t)EPOLLOUT : 0u));
}

/*
 * A keeper whose queue is full is closed in its own turn: its socket is shut down, which wakes the
 * loop.
 */
static void
say(struct keeper *k, uint16_t kind, const void *bytes, size_t len, const int *take_fds,
    size_t fd_count)
{
        if (queue_send(&k->queue, kind, bytes, len, take_fds, fd_count) < 0)
                (void)shutdown(k->queue.fd, SHUT_RDWR);
        keeper_watch(k);
}

void
keeper_say_all(struct box *b, uint16_t kind, const void *bytes, size_t len)
{
        for (struct keeper *k = b->keepers; k; k = k->next)
                say(k, kind, bytes, len, NULL, 0);
}

void
keeper_say(struct keeper *k, uint16_t kind, const void *bytes, size_t len)
{
        say(k, kind, bytes, len, NULL, 0);
}

static void
say_hello(struct keeper *k)
{
        struct box *b = k->box;
        struct wire_box_hello hello = { .protocol = b->protocol,
                                        .pid = getpid(),
                                        .started_ms = b->started_ms,
                                        .deadline_ms = b->begin.deadline_ms,
                                        .is_ready = b->is_ready && b->state == BOX_RUNNING,
                                        .is_frozen = b->is_frozen,
                                        .can_freeze = engine_can(b->engine, ENGINE_FREEZES),
                                        .has_groups = engine_can(b->engine, ENGINE_TELLS_APART) };

        memcpy(hello.id, b->begin.id, sizeof hello.id);
        say(k, WIRE_BOX_HELLO, &hello, sizeof hello, NULL, 0);
}

static void
say_list(struct keeper *k)
{
        struct wire_box_listed listed;

        for (const struct exec *x = k->box->oldest; x; x = x->previous)
                if ((x->flags & BOX_EXEC_QUIET) == 0) {
                        exec_list(x, &listed);
                        say(k, WIRE_BOX_LISTED, &listed, sizeof listed, NULL, 0);
                }
}

/* -- requests ---------------------------------------------------------------------------------- */

/*
 * One row per kind: minimum and maximum length of its body in bytes, and its handler. The body is
 * `body`.
 */
struct row {
        uint16_t kind;
        uint32_t least, most;
        void (*serve)(struct keeper *k, struct wire_message *m);
};

static int
take_fd(struct wire_message *m)
{
        int fd = m->fd_count > 0 ? m->fds[0] : -1;

        if (m->fd_count > 0)
                m->fds[0] = -1;
        if (fd >= 0)
                (void)fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
        return fd;
}

static void
serve_exec(struct keeper *k, struct wire_message *m)
{
        struct wire_box_exec ask;

        memcpy(&ask, body, sizeof ask);
        ask.key[sizeof ask.key - 1] = ask.task[sizeof ask.task - 1] = '\0';
        exec_start(k->box, &ask, body + sizeof ask, m->len - sizeof ask, take_fd(m));
        explicit_bzero(body, m->len); /* the environment may contain secrets */
}

static enum channel_of
channel_of(uint32_t flags)
{
        if ((flags & BOX_EXEC_AGAIN) != 0)
                return CHANNEL_OF_SAME_CALL;
        return (flags & BOX_EXEC_REPEAT) != 0 ? CHANNEL_OF_REPEAT : CHANNEL_OF_OTHERS;
}

static void
serve_attach(struct keeper *k, struct wire_message *m)
{
        struct wire_box_attach ask;
        struct exec *x;
        int fd = take_fd(m);

        memcpy(&ask, body, sizeof ask);
        x = exec_find(k->box, ask.exec);
        if (fd < 0)
                return;
        if (x)
                channel_open(x, fd, channel_of(ask.flags), ask.flags & BOX_EXEC_LOSSLESS,
                             ask.stdout_offset, ask.stderr_offset);
        else
                (void)close(fd);
}

static void
serve_handed(struct keeper *k, struct wire_message *m)
{
        struct wire_exec_number ask;
        struct exec *x;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        x = exec_find(k->box, ask.exec);
        if (x)
                handover_done(x, k->number);
}

static void
serve_signal(struct keeper *k, struct wire_message *m)
{
        struct wire_exec_number ask;
        struct exec *x;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        x = exec_find(k->box, ask.exec);
        if (x && x->is_sent && !x->is_over)
                job_signal(&x->job, ask.number);
}

static void
serve_kill(struct keeper *k, struct wire_message *m)
{
        struct box *b = k->box;
        struct wire_box_kill ask;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        ask.task[sizeof ask.task - 1] = '\0';
        if (ask.word >= OUTCOME_MAX)
                ask.word = OUTCOME_KILLED;
        b->busy++;
        for (struct exec *x = b->execs, *next; x; x = next) {
                next = x->next;
                if (ask.exec != 0 ? x->number == ask.exec
                                  : ask.task[0] == '\0' || strcmp(x->task, ask.task) == 0)
                        exec_kill(x, ask.word);
        }
        b->busy--;
        if (ask.exec == 0 && ask.task[0] == '\0')
                /* also what execs that are no longer in the table left behind */
                b->engine->calls->kill(b->engine, NULL);
        exec_prune(b);
}

static void
serve_list(struct keeper *k, struct wire_message *m)
{
        static const struct wire_box_listed none;

        (void)m;
        wall_say_denials(k, 1); /* a keeper that asks about an exec gets its
                                 * refusals */
        say_list(k);
        say(k, WIRE_BOX_LISTED, &none, sizeof none, NULL, 0);
}

static void
serve_connect(struct keeper *k, struct wire_message *m)
{
        struct box *b = k->box;
        struct wire_connect ask;
        struct connect *c = &b->connects[(b->last_connect + 1) % CONNECTS_MAX];

        (void)m;
        memcpy(&ask, body, sizeof ask);
        if (b->state != BOX_RUNNING || c->keeper) {
                struct wire_connected no = { ask.request,
                                             b->state != BOX_RUNNING ? ESRCH : EAGAIN };

                say(k, WIRE_BOX_CONNECTED, &no, sizeof no, NULL, 0);
                return;
        }
        *c = (struct connect){ k, ++b->last_connect, ask.request };
        b->engine->calls->connect(b->engine, c->request, ask.port);
}

void
keeper_connected(struct box *b, const struct wire_connected *answer, int take_socket)
{
        struct connect *c = &b->connects[answer->request % CONNECTS_MAX];
        struct wire_connected said = { c->asked,
                                       answer->sys == 0 && take_socket < 0 ? EMFILE : answer->sys };

        if (!c->keeper || c->request != answer->request) {
                if (take_socket >= 0)
                        (void)close(take_socket);
                return;
        }
        say(c->keeper, WIRE_BOX_CONNECTED, &said, sizeof said, &take_socket, take_socket >= 0);
        c->keeper = NULL;
}

static void
serve_freeze(struct keeper *k, struct wire_message *m)
{
        struct wire_number ask;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        freeze_ask(k, ask.number != 0);
}

static void
serve_deadline(struct keeper *k, struct wire_message *m)
{
        struct wire_box_deadline ask;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        limits_deadline(k->box, ask.deadline_ms);
}

static void
serve_stop(struct keeper *k, struct wire_message *m)
{
        (void)m;
        if (k->box->state == BOX_OVER)
                say(k, WIRE_BOX_GONE, &k->box->gone, sizeof k->box->gone, NULL, 0);
        else
                box_end(k->box, BOX_GONE_STOPPED);
}

static void
serve_usage(struct keeper *k, struct wire_message *m)
{
        struct wire_box_used used = { limits_cpu_ns(k->box), k->box->running, 0 };

        (void)m;
        if (k->box->protocol >= 2)
                say(k, WIRE_BOX_USED, &used, sizeof used, NULL, 0);
}

static void
serve_wall(struct keeper *k, struct wire_message *m)
{
        (void)m;
        wall_hand_out(k);
}

static const struct row rows[] = {
        { WIRE_BOX_EXEC, sizeof(struct wire_box_exec) + sizeof(struct wire_exec), WIRE_BODY_MAX,
          serve_exec },
        { WIRE_BOX_ATTACH, sizeof(struct wire_box_attach), sizeof(struct wire_box_attach),
          serve_attach },
        { WIRE_BOX_HANDED, sizeof(struct wire_exec_number), sizeof(struct wire_exec_number),
          serve_handed },
        { WIRE_BOX_SIGNAL, sizeof(struct wire_exec_number), sizeof(struct wire_exec_number),
          serve_signal },
        { WIRE_BOX_KILL, sizeof(struct wire_box_kill), sizeof(struct wire_box_kill), serve_kill },
        { WIRE_BOX_LIST, 0, 0, serve_list },
        { WIRE_BOX_CONNECT, sizeof(struct wire_connect), sizeof(struct wire_connect),
          serve_connect },
        { WIRE_BOX_FREEZE, sizeof(struct wire_number), sizeof(struct wire_number), serve_freeze },
        { WIRE_BOX_DEADLINE, sizeof(struct wire_box_deadline), sizeof(struct wire_box_deadline),
          serve_deadline },
        { WIRE_BOX_STOP, 0, 0, serve_stop },
        { WIRE_BOX_USAGE, 0, 0, serve_usage },
        { WIRE_BOX_WALL, 0, 0, serve_wall },
};

/* A long message is rare, so its pages are returned to the kernel. */
static void
give_back(size_t len)
{
        if (len > BODY_KEPT)
                (void)madvise(body + BODY_KEPT, sizeof body - BODY_KEPT, MADV_DONTNEED);
}

/* 1: served; 0: no message; -1: the keeper is gone, or broke the protocol. */
static int
serve_one(struct keeper *k)
{
        struct wire_message m;
        int got = wire_receive(k->queue.fd, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return 0;
        if (got <= 0)
                return -1;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].kind == m.kind && m.len >= rows[i].least && m.len <= rows[i].most) {
                        k->box->speaker = k->number;
                        rows[i].serve(k, &m);
                        wire_message_close(&m);
                        give_back(m.len);
                        return 1;
                }
        wire_message_close(&m);
        return -1;
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct keeper *k = box_holder(w, struct keeper, watch);
        struct box *b = k->box;
        int result = (events & EPOLLOUT) != 0 ? queue_flush(&k->queue) : 0;

        if (result == 0 && (events & EPOLLOUT) != 0)
                wall_say_denials(k, 0);
        if (result == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                result = serve_one(k);
        if (result < 0)
                keeper_close(k);
        else
                keeper_watch(k);
        box_check_over(b);
}

int
keeper_open(struct box *b, int take_fd_of)
{
        struct keeper *k = calloc(1, sizeof *k);
        size_t count = 0;

        for (const struct keeper *other = b->keepers; other; other = other->next)
                count++;
        if (!k || count >= KEEPERS_MAX || fcntl(take_fd_of, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
            loop_watch_add(b->loop, &k->watch, take_fd_of, EPOLLIN, ready) < 0) {
                free(k);
                (void)close(take_fd_of);
                return -1;
        }
        k->box = b;
        k->number = ++b->last_keeper;
        queue_init(&k->queue, take_fd_of);
        k->next = b->keepers;
        b->keepers = k;
        say_hello(k);
        say_list(k);
        wall_say_denials(k, 1);
        if (b->state == BOX_OVER)
                say(k, WIRE_BOX_GONE, &b->gone, sizeof b->gone, NULL, 0);
        else if (b->is_ready)
                say(k, WIRE_BOX_READY, NULL, 0, NULL, 0);
        return 0;
}
