/*
 * keeper/box_make.c - creates a box: its directory and socket, and the message that makes the
 * spawner start it.
 *
 * Room: keeper (joining). Touches: fd, the directories below STATE/boxes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "keeper/box_parts.h"
#include "keeper/changed.h"
#include "keeper/workspace.h"
#include "sources/begin.h"

/* OUTPUT_KEPT: default bytes kept of each stream. */
enum { BACKLOG = 16, BOX_SOURCES_AT = 3, OUTPUT_KEPT = 1 << 20 };

static int
make_directory(struct keeper *k, const char *id, int *ret_directory, int *ret_socket,
               struct error *e)
{
        scoped_fd int directory = -1, listener = -1;
        struct sockaddr_un address;

        box_remove_directory(k, id);
        if (mkdirat(k->boxes_fd, id, 0700) < 0)
                return fail_sys(
                        e, errno == ENOSPC || errno == EDQUOT ? ERROR_STORAGE_FULL : ERROR_INTERNAL,
                        errno, "making a directory for the sandbox %s", id);
        directory = box_open_directory(k, id);
        listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (directory < 0 || listener < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "opening the directory of the sandbox %s",
                                id);
        box_socket_address(&address, directory);
        if (bind(listener, (const struct sockaddr *)&address, sizeof address) < 0 ||
            listen(listener, BACKLOG) < 0)
                return fail_sys(
                        e, errno == ENOSPC || errno == EDQUOT ? ERROR_STORAGE_FULL : ERROR_INTERNAL,
                        errno, "making the socket of the sandbox %s", id);
        *ret_directory = fd_take(&directory);
        *ret_socket = fd_take(&listener);
        return 0;
}

static void
close_all(const int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

/* The sources keep their descriptors: copies are sent. */
static int
copy_sources(const struct sources *sources, int *fds, struct error *e)
{
        for (size_t i = 0; i < sources_total(sources); i++) {
                fds[i] = fcntl(sources->fds[i], F_DUPFD_CLOEXEC, 3);
                if (fds[i] < 0) {
                        close_all(fds, i);
                        return fail_sys(e, ERROR_INTERNAL, errno,
                                        "handing on the sources of mounts");
                }
        }
        return 0;
}

static int
send_begin(struct sandbox *s, int take_end, int take_listener, int take_directory, struct error *e)
{
        struct keeper *k = s->keeper;
        int fds[BOX_SOURCES_AT + SOURCES_ALL_MAX] = { take_end, take_listener, take_directory };
        struct wire_box_begin begin = { .deadline_ms = s->row.deadline_ms,
                                        .keep_bytes = OUTPUT_KEPT,
                                        .cpu_count = k->host.facts.cpu_count,
                                        .engine = (uint16_t)s->prepared->engine };
        size_t len;

        (void)memccpy(begin.id, s->id, '\0', sizeof begin.id - 1);
        len = begin_write(begin, s->prepared->plan, s->prepared->sources, k->plan, e);
        if (len == 0 || copy_sources(s->prepared->sources, fds + BOX_SOURCES_AT, e) < 0) {
                close_all(fds, BOX_SOURCES_AT);
                return -1;
        }
        if (peer_send(&k->spawner, WIRE_BOX_BEGIN, k->plan, len, fds,
                      BOX_SOURCES_AT + sources_total(s->prepared->sources)) < 0)
                return fail(e, ERROR_BACKEND_FAILED,
                            "the process that makes boxes does not answer");
        return 0;
}

int
box_make(struct sandbox *s, struct error *e)
{
        struct keeper *k = s->keeper;
        int directory = -1, listener = -1, pair[2];
        struct box *b;

        if (make_directory(k, s->id, &directory, &listener, e) < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
                close_all((const int[]){ directory, listener }, 2);
                return fail_sys(e, ERROR_INTERNAL, errno, "making a socket");
        }
        b = box_new(k, s->id, s);
        if (!b || peer_open(&b->peer, k->loop, pair[0], box_on_words) < 0) {
                if (b)
                        box_forget(b);
                else
                        (void)close(pair[0]);
                close_all((const int[]){ directory, listener, pair[1] }, 3);
                return fail(e, ERROR_NO_MEMORY, "no memory for a box");
        }
        if (s->box)
                box_forget(s->box);
        s->box = b;
        if (send_begin(s, pair[1], listener, directory, e) < 0) {
                box_forget(b);
                box_remove_directory(k, s->id);
                return -1;
        }
        s->leaves_directory = false;
        changed_make(s);
        workspace_open(s);
        (void)loop_timer_set(k->loop, &b->patience, loop_now_ms() + MAKE_PATIENCE_MS,
                             box_on_impatience);
        return 0;
}
