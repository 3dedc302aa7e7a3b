/*
 * keeper/workspace.c - the digest of a sandbox's workspace before its first command.
 *
 * Room: keeper (joining). Touches: fd, mem, clock.
 * Theory: the keeper reads no file: a fork of carrel-files reads the workspace, once. What it found
 * counts for the calls that waited for it and begin at once; a digest that is kept for later could
 * be of another workspace.
 */
#include "keeper/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scoped.h"
#include "changes/message.h"
#include "keeper/looker.h"

struct workspace {
        struct peer peer; /* first */
        struct keeper *keeper;
        struct sandbox *sandbox;
        struct loop_timer patience;
        struct calls waiting;
        int fd; /* owned */
        bool is_asked;
};

/* The answer while the calls that waited for it begin. */
static struct {
        const struct sandbox *sandbox; /* NULL: none */
        struct wire_files_tree found;
} now;

/* The only mount that is not a tool; NULL: several, or something else than a workspace. */
static const struct plan_mount *
only_mount(const struct sandbox *s)
{
        const struct sources *sources = s->prepared ? s->prepared->sources : NULL;
        const struct spec *spec = sources ? s->prepared->spec : NULL;
        const struct plan_mount *found = NULL;
        size_t count = 0;

        if (!spec || spec->mount_count != 1 || spec->mounts[0].kind != SPEC_SOURCE_WORKSPACE ||
            sources->common >= 0)
                return NULL;
        for (size_t i = 0; i < sources->count; i++)
                if (!sources->mounts[i].is_tool) {
                        found = &sources->mounts[i];
                        count++;
                }
        return count == 1 && sources->items[found->source].is_directory ? found : NULL;
}

void
workspace_open(struct sandbox *s)
{
        const struct plan_mount *mount = only_mount(s);
        struct workspace *ws;

        workspace_close(s);
        if (!mount || !s->keeper->host.rules || !s->keeper->host.rules->keeps_content)
                return;
        ws = calloc(1, sizeof *ws);
        if (!ws)
                return;
        ws->keeper = s->keeper;
        ws->sandbox = s;
        ws->peer.fd = -1;
        ws->patience.due_ms = LOOP_NEVER;
        ws->fd = fcntl(s->prepared->sources->fds[mount->source], F_DUPFD_CLOEXEC, 3);
        calls_init(&ws->waiting);
        /* lint: the sandbox has it; workspace_close() frees it */
        s->workspace = ws;
}

bool
workspace_is_there(const struct sandbox *s)
{
        return s->workspace != NULL;
}

/* Calls begin again with what is in `now`. They may close the sandbox: `ws` is not used after. */
static void
answer(struct workspace *ws)
{
        loop_timer_remove(&ws->patience);
        peer_close(&ws->peer);
        ws->is_asked = false;
        now.sandbox = ws->sandbox;
        calls_begin(&ws->waiting);
        now.sandbox = NULL;
}

static void
answer_error(struct workspace *ws, const char *why)
{
        now.found = (struct wire_files_tree){ .error = "" };
        (void)snprintf(now.found.error, sizeof now.found.error, "%s", why);
        answer(ws);
}

static void
on_impatience(struct loop_timer *t)
{
        answer_error((struct workspace *)(void *)((char *)t - offsetof(struct workspace, patience)),
                     "slow");
}

static void
on_words(struct peer *p, uint32_t events)
{
        struct workspace *ws = (struct workspace *)p;
        struct wire_message m;
        int result = wire_receive(p->fd, 0, &m, &now.found, sizeof now.found);

        (void)events;
        if (result == -EAGAIN && !p->is_broken)
                return;
        if (result > 0)
                wire_message_close(&m);
        if (result <= 0 || m.kind != WIRE_FILES_TREE || m.len != sizeof now.found)
                answer_error(ws, "ended");
        else
                answer(ws);
}

static int
ask(struct workspace *ws)
{
        int pair[2], fds[2] = { -1, fcntl(ws->fd, F_DUPFD_CLOEXEC, 3) };

        if (fds[1] < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
                (void)close(fds[1]);
                return -1;
        }
        fds[0] = pair[1];
        if (looker_order(WIRE_FILES_TREE, NULL, 0, fds, 2) < 0) {
                (void)close(pair[0]);
                return -1;
        }
        return peer_open(&ws->peer, ws->keeper->loop, pair[0], on_words) < 0 ||
                               loop_timer_set(ws->keeper->loop, &ws->patience,
                                              loop_now_ms() + WORKSPACE_PATIENCE_MS,
                                              on_impatience) < 0
                       ? -1
                       : 0;
}

enum call_state
workspace_need(struct call *c, struct sandbox *s)
{
        struct workspace *ws = s->workspace;

        if (!ws || now.sandbox == s)
                return CALL_DONE;
        if (!ws->is_asked && ask(ws) < 0) {
                peer_close(&ws->peer);
                return CALL_DONE;
        }
        ws->is_asked = true;
        calls_add(&ws->waiting, c);
        return CALL_WAITS;
}

void
workspace_write(const struct sandbox *s, struct json_writer *w)
{
        const struct wire_files_tree *found = &now.found;

        if (now.sandbox != s || found->error[0] != '\0') {
                json_member_text(w, "error", now.sandbox == s ? found->error : "workspace");
                return;
        }
        json_member_text(w, "sha256", found->tree.sha256);
        json_member_int(w, "names", (int64_t)found->tree.names);
        json_member_int(w, "bytes", (int64_t)found->tree.bytes);
}

void
workspace_close(struct sandbox *s)
{
        struct workspace *ws = s->workspace;

        if (!ws)
                return;
        s->workspace = NULL;
        loop_timer_remove(&ws->patience);
        peer_close(&ws->peer);
        scoped_fd_close(&ws->fd);
        calls_begin(&ws->waiting);
        free(ws);
}
