/*
 * recorder/handed.c - the files with what a command of the daemon read and wrote.
 *
 * Room: recorder (joining). Touches: files in memory, the audit log.
 */
#include "recorder/handed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "audit/content.h"
#include "base/arena.h"
#include "base/scoped.h"
#include "recorder/contents.h"

enum { MEMORY_MAX = 4 << 20 };

static const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

static bool
is_sealed(int fd)
{
        int found = fcntl(fd, F_GET_SEALS);

        return found >= 0 && (found & seals) == seals;
}

void
handed_take(struct handed *h, const struct recorder_entry *head, int *fds, size_t count)
{
        size_t next = 0;

        *h = (struct handed){ .fds = { -1, -1, -1, -1 } };
        for (size_t i = 0; i < AUDIT_CONTENT_STREAMS; i++) {
                if ((head->files & 1u << i) == 0 || next >= count)
                        continue;
                h->fds[i] = fd_take(&fds[next++]);
                if (!is_sealed(h->fds[i]))
                        scoped_fd_close(&h->fds[i]);
        }
}

void
handed_fini(struct handed *h)
{
        for (size_t i = 0; i < AUDIT_CONTENT_STREAMS; i++)
                scoped_fd_close(&h->fds[i]);
        free(h->output);
        h->output = NULL;
}

int
handed_look(struct handed_room *room, struct audit_log *log, uint64_t now_ms, struct error *e)
{
        if (room->was_looked && now_ms - room->looked_ms < HANDED_LOOK_MS &&
            room->since < HANDED_LOOK_BYTES)
                return 0;
        room->was_looked = false;
        if (audit_content_begin(log, e) < 0)
                return -1;
        *room = (struct handed_room){ .looked_ms = now_ms, .was_looked = true };
        return 0;
}

/* The members of a JSON object. */
static void
write_members(struct json_writer *w, const char *json)
{
        const struct node *root = NULL;
        struct arena arena;
        struct error ignored;

        arena_init(&arena, MEMORY_MAX);
        if (json &&
            audit_json_read(&arena, json, strlen(json), &text_limits_manifest, &root, &ignored) ==
                    0 &&
            root->kind == NODE_MAP)
                node_each(member, root)
                {
                        json_key(w, member->key);
                        json_node(w, member);
                }
        else
                w->is_broken = true;
        arena_fini(&arena);
}

void
handed_keep(struct handed *h, struct handed_room *room, struct audit_log *log,
            const struct recorder_entry *head, struct audit_event *event)
{
        struct contents_streams s = { .which = head->keeps };
        struct json_writer w;

        if (head->keeps == 0 || h->output)
                return;
        memcpy(s.fds, h->fds, sizeof s.fds);
        memcpy(s.lengths, head->lengths, sizeof s.lengths);
        for (size_t i = 0; i < AUDIT_CONTENT_STREAMS; i++)
                room->since +=
                        head->lengths[i] < AUDIT_CONTENT_MAX ? head->lengths[i] : AUDIT_CONTENT_MAX;
        json_init(&w, false);
        json_open_map(&w);
        write_members(&w, event->output);
        json_key(&w, "content");
        recorder_contents_write(log, &s, &w);
        json_close_map(&w);
        if (w.is_broken) {
                json_fini(&w);
                return;
        }
        h->plain = event->output;
        event->output = h->output = w.text;
}

void
handed_again(struct handed *h, struct audit_event *event)
{
        if (!h->output)
                return;
        event->output = h->plain;
        free(h->output);
        h->output = NULL;
}
