/*
 * box/ns/hear.c - the messages of maker and pid 1, as news for the box.
 *
 * Room: box/ns (program). Touches: fd.
 * Theory: pid 1 and the maker use two sockets, so their messages can arrive in either order. What
 * pid 1 said before its maker reports the end is handled before that report. A message that breaks
 * the protocol ends the socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/ns/state.h"

enum { BODY_ROOM = 4096 };

static int
take_fd(struct wire_message *m)
{
        int fd = m->fd_count > 0 ? m->fds[0] : -1;

        if (m->fd_count > 0)
                m->fds[0] = -1;
        return fd;
}

static void
lose(struct ns *ns)
{
        ns->engine.news->lost(ns->engine.box);
}

/* -- pid 1 ------------------------------------------------------------------------------------- */

static void
be_ready(struct ns *ns)
{
        if (ns->is_ready || !ns->has_begun || !ns->is_spawned || ns->is_ending)
                return;
        ns->is_ready = 1;
        ns->engine.news->ready(ns->engine.box);
        prefork_want(ns);
}

static void
be_started(struct ns *ns, struct job *t, int32_t pid, int take_master)
{
        ns->starting--;
        ns->running++;
        t->is_started = 1;
        prefork_want(ns);
        ns->engine.news->started(ns->engine.box, t, pid, take_master);
}

static void
be_ended(struct ns *ns, struct job *t, const struct wire_exec_ended *said)
{
        const struct engine_ended ended = {
                .code = said->code,
                .status = said->status,
                .is_disk_full = said->is_disk_full != 0,
                .is_cpu_used =
                        t->is_cpu_limited && said->code != CLD_EXITED && said->status == SIGXCPU,
                .cpu_us = said->user_us + said->system_us,
                .max_rss_kb = said->max_rss_kb,
        };

        ns->engine.news->ended(ns->engine.box, t, &ended);
}

static void
hear_job(struct ns *ns, struct wire_message *m, const void *body)
{
        struct wire_exec_number number;
        struct job *t = ns->jobs;

        /* each message starts with the number of the command */
        memcpy(&number, body, sizeof number);
        while (t && t->number != number.exec)
                t = t->next;
        if (!t || t->is_over)
                return;
        if (m->kind == WIRE_EXEC_STARTED && m->len == sizeof number && !t->is_started) {
                be_started(ns, t, number.number, take_fd(m));
        } else if (m->kind == WIRE_EXEC_FAILED && m->len == sizeof(struct wire_exec_failed) &&
                   !t->is_started) {
                struct wire_exec_failed failed;

                memcpy(&failed, body, sizeof failed);
                ns->engine.news->exec_failed(ns->engine.box, t, &failed);
        } else if (m->kind == WIRE_EXEC_ENDED && m->len == sizeof(struct wire_exec_ended) &&
                   t->is_started) {
                struct wire_exec_ended ended;

                memcpy(&ended, body, sizeof ended);
                be_ended(ns, t, &ended);
        }
}

/* 0, or -errno: the message broke the protocol. */
static int
hear_wall(struct ns *ns, struct wire_message *m, const void *body)
{
        const struct engine_news *news = ns->engine.news;
        struct wire_wall_listened answer;
        struct wire_wall_denied denied;

        if (m->kind == WIRE_WALL)
                return news->walled(ns->engine.box, m, body);
        if (m->kind == WIRE_WALL_DENIED) {
                if (m->len != sizeof denied)
                        return -EPROTO;
                memcpy(&denied, body, sizeof denied);
                return news->denied(ns->engine.box, &denied);
        }
        if (m->len != sizeof answer)
                return -EPROTO;
        memcpy(&answer, body, sizeof answer);
        news->listened(ns->engine.box, m, &answer);
        return 0;
}

static void
say_make_failed(struct ns *ns, const void *body)
{
        struct wire_failed failed;

        memcpy(&failed, body, sizeof failed);
        ns->engine.news->make_failed(ns->engine.box, &failed);
}

static int
hear_executed(struct ns *ns, const void *body, size_t len)
{
        struct wire_exec_number whose;

        if (len < sizeof whose)
                return -EPROTO;
        memcpy(&whose, body, sizeof whose);
        return ns->engine.news->executed(ns->engine.box, whose.exec,
                                         (const unsigned char *)body + sizeof whose,
                                         len - sizeof whose);
}

static void
hear_from_guest(struct ns *ns, struct wire_message *m, const void *body)
{
        if (m->kind == WIRE_BOX_READY && m->len == 0) {
                ns->has_begun = 1;
                be_ready(ns);
        } else if (m->kind == WIRE_UPPER && m->len == 0 && m->fd_count == 1) {
                ns->engine.news->upper(ns->engine.box, take_fd(m));
        } else if (m->kind == WIRE_BOX_FAILED && m->len == sizeof(struct wire_failed)) {
                say_make_failed(ns, body);
        } else if (m->kind == WIRE_CONNECTED && m->len == sizeof(struct wire_connected)) {
                struct wire_connected answer;

                memcpy(&answer, body, sizeof answer);
                ns->engine.news->connected(ns->engine.box, &answer, take_fd(m));
        } else if (m->kind == WIRE_IDLE && m->len == 0) {
                quiet_heard(ns);
        } else if (m->kind == WIRE_WALL || m->kind == WIRE_WALL_LISTENED ||
                   m->kind == WIRE_WALL_DENIED) {
                if (hear_wall(ns, m, body) < 0)
                        lose(ns);
        } else if (m->kind == WIRE_EXECUTED) {
                if (hear_executed(ns, body, m->len) < 0)
                        lose(ns);
        } else if (m->len >= sizeof(struct wire_exec_number)) {
                hear_job(ns, m, body);
        }
}

/* 1: handled a message; 0: none waits; -1: pid 1 is gone. */
static int
hear_guest(struct ns *ns)
{
        _Alignas(8) unsigned char body[BODY_ROOM];
        struct wire_message m;
        int got = ns->has_guest ? wire_receive(ns->to_guest.fd, 0, &m, body, sizeof body) : 0;

        if (got == -EAGAIN)
                return 0;
        if (got == -EMFILE &&
            (m.kind == WIRE_CONNECTED || m.kind == WIRE_WALL_LISTENED || m.kind == WIRE_UPPER))
                got = 1; /* no free descriptor for its sockets: the requester
                          * gets an error; without the directory no name is known */
        if (got <= 0)
                return -1;
        hear_from_guest(ns, &m, body);
        wire_message_close(&m);
        return 1;
}

void
ns_hear_guest(struct ns *ns)
{
        while (hear_guest(ns) > 0)
                continue;
}

static void
say_gone(struct ns *ns, const struct wire_box_ended *ended)
{
        struct engine_gone gone = { .has_usage = ended && ended->has_usage,
                                    .is_over_disk = ended && ended->is_over_disk };

        ns_hear_guest(ns); /* its last messages came before its end */
        if (gone.has_usage) {
                gone.cpu_ns = ended->cpu_ns;
                gone.oom_kills = ended->oom_kills;
                gone.pids_refused = ended->pids_refused;
                gone.memory_peak = ended->memory_peak;
        }
        ns->engine.news->gone(ns->engine.box, &gone);
}

static void
lose_guest(struct ns *ns)
{
        if (!ns->has_guest)
                return;
        ns->has_guest = 0;
        loop_watch_remove(&ns->guest);
        wire_queue_fini(&ns->to_guest);
        (void)close(ns->to_guest.fd);
        lose(ns);
        if (ns->is_one && !ns->has_maker)
                say_gone(ns, NULL);
}

static void
guest_ready(struct loop_watch *w, uint32_t events)
{
        struct ns *ns = ns_holder(w, guest);
        int result = (events & EPOLLOUT) != 0 ? wire_queue_flush(&ns->to_guest) : 0;

        if (result == 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                result = hear_guest(ns);
        if (result < 0)
                lose_guest(ns);
        else
                (void)loop_watch_change(&ns->guest, EPOLLIN | (ns->to_guest.first ? EPOLLOUT : 0u));
}

/* -- the maker --------------------------------------------------------------------------------- */

static void
be_spawned(struct ns *ns, struct wire_message *m, const void *body)
{
        struct wire_spawned spawned;
        int group = -1;

        memcpy(&spawned, body, sizeof spawned);
        if (spawned.group != WIRE_GROUP_NONE && m->fd_count > 0) {
                group = m->fds[--m->fd_count];
                if (ns->has_no_groups) {
                        (void)close(group);
                        group = -1;
                }
        }
        for (size_t i = 0; i < m->fd_count; i++) {
                counters_take(&ns->counters, m->fds[i]);
                m->fds[i] = -1;
        }
        if (spawned.group == WIRE_GROUP_WHOLE || spawned.group == WIRE_GROUP_MACHINE)
                groups_open_whole(&ns->groups, group,
                                  spawned.group == WIRE_GROUP_WHOLE ? WIRE_GROUP_NAME "/" : "");
        else
                (void)groups_open(&ns->groups, group);
        ns->engine.can = (ns->groups.can_freeze ? (unsigned)ENGINE_FREEZES : 0u) |
                         (ns->groups.whole ? (unsigned)ENGINE_FREEZES_ALL : 0u) |
                         (ns->groups.work >= 0 ? (unsigned)ENGINE_TELLS_APART : 0u);
        ns->is_spawned = 1;
        ns->engine.news->spawned(ns->engine.box, ns->groups.root);
        be_ready(ns);
}

/* 0: continue; -1: the maker is gone. */
static int
hear_maker(struct ns *ns)
{
        _Alignas(8) unsigned char body[BODY_ROOM];
        struct wire_message m;
        int got = wire_receive(ns->maker.fd, 0, &m, body, sizeof body);

        if (got == -EAGAIN)
                return 0;
        if (got <= 0)
                return -1;
        if (m.kind == WIRE_SPAWNED && m.len == sizeof(struct wire_spawned) && !ns->is_spawned) {
                be_spawned(ns, &m, body);
        } else if (m.kind == WIRE_MAKE_FAILED && m.len == sizeof(struct wire_failed)) {
                say_make_failed(ns, body);
                say_gone(ns, NULL);
        } else if (m.kind == WIRE_KEPT && m.len == sizeof(struct wire_kept)) {
                ns->engine.news->kept(ns->engine.box, (const void *)body);
        } else if (m.kind == WIRE_STORED && m.len == sizeof(struct wire_stored)) {
                struct wire_stored stored;

                memcpy(&stored, body, sizeof stored);
                ns->asks_stored = 0;
                ns->stored_kb = stored.bytes == UINT64_MAX ? ENGINE_UNKNOWN : stored.bytes >> 10;
        } else if (m.kind == WIRE_LIMITED && m.len == sizeof(struct wire_limited)) {
                ns->engine.news->limited(ns->engine.box, (const void *)body);
        } else if (m.kind == WIRE_BOX_ENDED && m.len == sizeof(struct wire_box_ended)) {
                struct wire_box_ended ended;

                memcpy(&ended, body, sizeof ended);
                say_gone(ns, &ended);
        }
        wire_message_close(&m);
        return 0;
}

static void
maker_ready(struct loop_watch *w, uint32_t events)
{
        struct ns *ns = ns_holder(w, maker);

        (void)events;
        if (hear_maker(ns) == 0)
                return;
        ns->has_maker = 0;
        loop_watch_remove(w);
        ns_hear_guest(ns);
        if (ns->is_one && ns->has_guest) { /* nothing lives on when `carrel run` returns */
                (void)shutdown(ns->to_guest.fd, SHUT_WR);
                lose(ns);
                return;
        }
        lose_guest(ns); /* this makes pid 1 end */
        say_gone(ns, NULL);
}

/* -- begin and end ----------------------------------------------------------------------------- */

static int
watch(struct ns *ns, struct loop_watch *w, int fd,
      void (*ready)(struct loop_watch *w, uint32_t events))
{
        if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
                return -errno;
        return loop_watch_add(ns->loop, w, fd, EPOLLIN, ready);
}

int
ns_hear_begin(struct ns *ns, int maker, int guest)
{
        int result = watch(ns, &ns->maker, maker, maker_ready);

        return result < 0 ? result : watch(ns, &ns->guest, guest, guest_ready);
}

void
ns_hear_end(struct ns *ns)
{
        loop_watch_remove(&ns->maker);
        loop_watch_remove(&ns->guest);
}
