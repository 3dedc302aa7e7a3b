/*
 * box/request.c - what keepers ask of a box, and how each connection begins.
 *
 * Room: box (program). Touches: fd.
 * Theory: one row per message: its lengths, and the function that serves it. A message that no row
 * accepts ends the link.
 */
#include "box/request.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "box/channel.h"
#include "box/exec.h"
#include "box/freeze.h"
#include "box/handover.h"
#include "box/keeper.h"
#include "box/limits.h"
#include "box/meter.h"
#include "box/one.h"
#include "box/state.h"
#include "box/streams.h"
#include "box/wall.h"
#include "outcome/outcome.h"

enum { BODY_KEPT = 8192 };

static _Alignas(4096) unsigned char body[WIRE_BODY_MAX];

/* -- the first messages ------------------------------------------------------------------------ */

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
        keeper_say(k, WIRE_BOX_HELLO, &hello, sizeof hello);
}

static void
say_list(struct keeper *k)
{
        struct wire_box_listed listed;

        for (const struct exec *x = k->box->oldest; x; x = x->previous)
                if ((x->flags & BOX_EXEC_QUIET) == 0) {
                        exec_list(x, &listed);
                        streams_say(k, x);
                        keeper_say(k, WIRE_BOX_LISTED, &listed, sizeof listed);
                }
}

/* Calls whose content no keeper has brought to the disk. */
static void
say_held(struct keeper *k)
{
        struct wire_box_listed listed;

        for (const struct exec *x = k->box->oldest; x; x = x->previous)
                if (x->is_over && streams_is_held(x)) {
                        exec_list(x, &listed);
                        streams_say(k, x);
                        keeper_say(k, WIRE_BOX_FINISHED, &listed, sizeof listed);
                }
}

static void
say_found(struct keeper *k)
{
        const struct found *f = &k->box->found;

        for (size_t i = 0; i < f->count && k->box->protocol >= BOX_PROTOCOL_FOUND; i++) {
                f->items[i]->shown = f->shown;
                keeper_say(k, WIRE_BOX_FOUND, f->items[i], sizeof *f->items[i]);
        }
}

void
request_say_upper(struct keeper *k)
{
        const struct box *b = k->box;
        int copy = b->protocol >= BOX_PROTOCOL_UPPER && b->upper >= 0
                           ? fcntl(b->upper, F_DUPFD_CLOEXEC, 0)
                           : -1;

        if (copy >= 0)
                keeper_pass(k, WIRE_BOX_UPPER, NULL, 0, &copy, 1);
}

void
request_greet(struct keeper *k)
{
        struct box *b = k->box;

        say_hello(k);
        say_list(k);
        say_held(k);
        wall_say_denials(k);
        say_found(k);
        request_say_upper(k);
        if (b->state == BOX_OVER)
                keeper_say(k, WIRE_BOX_GONE, &b->gone, sizeof b->gone);
        else if (b->is_ready)
                keeper_say(k, WIRE_BOX_READY, NULL, 0);
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
        if (k->box->one.is_on)
                one_take_streams(k->box, m);
        exec_start(k->box, &ask, body + sizeof ask, m->len - sizeof ask,
                   k->box->one.is_on ? -1 : take_fd(m));
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

/* The keeper has its terminal, and cannot set it: it is behind a relay. */
static void
serve_resize(struct keeper *k, struct wire_message *m)
{
        struct wire_exec_size ask;
        struct exec *x;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        x = exec_find(k->box, ask.exec);
        if (x && x->is_sent && !x->is_over)
                job_resize(&x->job, -1, &(struct wire_size){ ask.rows, ask.columns });
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
        wall_say_denials(k); /* a keeper that asks about an exec gets its
                              * refusals */
        say_list(k);
        keeper_say(k, WIRE_BOX_LISTED, &none, sizeof none);
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

                keeper_say(k, WIRE_BOX_CONNECTED, &no, sizeof no);
                return;
        }
        *c = (struct connect){ k, ++b->last_connect, ask.request };
        b->engine->calls->connect(b->engine, c->request, ask.port);
}

void
request_connected(struct box *b, const struct wire_connected *answer, int take_socket)
{
        struct connect *c = &b->connects[answer->request % CONNECTS_MAX];
        struct wire_connected said = { c->asked,
                                       answer->sys == 0 && take_socket < 0 ? EMFILE : answer->sys };

        if (!c->keeper || c->request != answer->request) {
                if (take_socket >= 0)
                        (void)close(take_socket);
                return;
        }
        keeper_pass(c->keeper, WIRE_BOX_CONNECTED, &said, sizeof said, &take_socket,
                    take_socket >= 0);
        c->keeper = NULL;
}

/* Its keeper was lost, or another one asks: no manifest has these numbers. */
static void
undo_limit(struct box *b)
{
        const struct wire_limit undo = { .number = b->changed.number, .what = WIRE_LIMIT_UNDO };

        if (undo.number != 0 && b->state == BOX_RUNNING)
                (void)b->engine->calls->limit(b->engine, &undo, sizeof undo);
        b->changed.number = 0;
}

void
request_drop(struct keeper *k)
{
        if (k->box->changed.keeper == k->number)
                undo_limit(k->box);
        for (size_t i = 0; i < CONNECTS_MAX; i++)
                if (k->box->connects[i].keeper == k)
                        k->box->connects[i].keeper = NULL;
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
                keeper_say(k, WIRE_BOX_GONE, &k->box->gone, sizeof k->box->gone);
        else
                k->box->calls->end(k->box, BOX_GONE_STOPPED);
}

static void
serve_usage(struct keeper *k, struct wire_message *m)
{
        struct wire_box_used used = meter_read(k->box);

        (void)m;
        if (k->box->protocol >= 2)
                keeper_say(k, WIRE_BOX_USED, &used, meter_len(k->box));
}

static void
serve_wall(struct keeper *k, struct wire_message *m)
{
        (void)m;
        wall_hand_out(k);
}

static void
serve_shown(struct keeper *k, struct wire_message *m)
{
        struct wire_box_shown ask;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        found_show(&k->box->found, ask.number);
}

static void
serve_streams_kept(struct keeper *k, struct wire_message *m)
{
        struct wire_exec_number ask;
        struct exec *x;

        (void)m;
        memcpy(&ask, body, sizeof ask);
        x = exec_find(k->box, ask.exec);
        if (!x || !x->is_over)
                return;
        streams_kept(x);
        if (streams_is_told(x) && !x->channels)
                exec_free(x);
}

static void
serve_volumes(struct keeper *k, struct wire_message *m)
{
        struct wire_box_volumes volumes;

        (void)m;
        memcpy(&volumes, body, sizeof volumes);
        meter_volumes(k->box, volumes.kb);
}

static void
serve_limit(struct keeper *k, struct wire_message *m)
{
        struct box *b = k->box;
        struct wire_limit ask;
        struct wire_limited no = { .memory_bytes = UINT64_MAX,
                                   .tasks = UINT64_MAX,
                                   .cpu_ns = UINT64_MAX };
        int result;

        memcpy(&ask, body, sizeof ask);
        if (ask.what == WIRE_LIMIT_SET)
                undo_limit(b);
        if (ask.what != WIRE_LIMIT_ASK && b->changed.number == ask.number)
                b->changed.number = 0;
        if (ask.what == WIRE_LIMIT_KEEP)
                return;
        result =
                b->state == BOX_RUNNING ? b->engine->calls->limit(b->engine, body, m->len) : -ESRCH;
        if (result == 0 && ask.what == WIRE_LIMIT_SET) {
                b->changed.keeper = k->number;
                b->changed.number = ask.number;
        }
        no.number = ask.number;
        no.sys = -result;
        if (result < 0)
                keeper_say(k, WIRE_BOX_LIMITED, &no, sizeof no);
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
        { WIRE_RESIZE, sizeof(struct wire_exec_size), sizeof(struct wire_exec_size), serve_resize },
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
        { WIRE_BOX_SHOWN, sizeof(struct wire_box_shown), sizeof(struct wire_box_shown),
          serve_shown },
        { WIRE_BOX_STREAMS_KEPT, sizeof(struct wire_exec_number), sizeof(struct wire_exec_number),
          serve_streams_kept },
        { WIRE_BOX_VOLUMES, sizeof(struct wire_box_volumes), sizeof(struct wire_box_volumes),
          serve_volumes },
        { WIRE_BOX_LIMIT, sizeof(struct wire_limit), WIRE_LIMIT_MAX, serve_limit },
};

/* A long message is rare, so its pages are returned to the kernel. */
static void
give_back(size_t len)
{
        if (len > BODY_KEPT)
                (void)madvise(body + BODY_KEPT, sizeof body - BODY_KEPT, MADV_DONTNEED);
}

int
request_take(struct keeper *k)
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
