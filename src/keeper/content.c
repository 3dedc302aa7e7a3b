/*
 * keeper/content.c - what the execs of a box read and wrote, for the audit log.
 *
 * Room: keeper (joining). Touches: fd, mem.
 * Theory: one row for each exec, and each call that writes files, of which the box said something,
 * in the order in which it did. The rows of old execs make room for new ones: by then their ends
 * are in the log.
 */
#include "keeper/content.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "keeper/put_list.h"
#include "keeper/workspace.h"
#include "recorder/words.h"

enum { ROWS_MAX = SANDBOX_EXECS_MAX };

struct row {
        struct wire_box_streams said;
        int fds[BOX_STREAMS];  /* owned, or -1 */
        const char *disturbed; /* content_disturb(), before its end; NULL: no */
};

struct contents {
        size_t count, room;
        struct row *rows;
};

static void
close_files(struct row *row)
{
        for (size_t i = 0; i < BOX_STREAMS; i++)
                scoped_fd_close(&row->fds[i]);
}

static struct row *
find(const struct box *b, uint32_t exec)
{
        for (size_t i = b->contents ? b->contents->count : 0; i-- > 0;)
                if (b->contents->rows[i].said.exec == exec)
                        return &b->contents->rows[i];
        return NULL;
}

static struct row *
add(struct box *b)
{
        struct contents *c = b->contents;

        if (!c)
                c = b->contents = calloc(1, sizeof *c);
        if (!c)
                return NULL;
        if (c->count == ROWS_MAX) {
                close_files(&c->rows[0]);
                c->count--;
                memmove(c->rows, c->rows + 1, c->count * sizeof *c->rows);
        }
        if (c->count == c->room) {
                size_t room = c->room == 0 ? 4 : c->room * 2;
                struct row *grown = realloc(c->rows, room * sizeof *grown);

                if (!grown)
                        return NULL;
                c->rows = grown;
                c->room = room;
        }
        /* lint: the box has the rows; content_free() frees them */
        return &c->rows[c->count++];
}

void
content_hear(struct box *b, const struct wire_box_streams *said, struct wire_message *m)
{
        struct row *row = find(b, said->exec);
        size_t next = 0;

        if (row && !m) /* of the journal: the box itself has said it, with its files */
                return;
        if (row)
                close_files(row); /* said again: it ended before */
        else if ((row = add(b)))
                row->disturbed = b->begins.unknown;
        if (!row)
                return;
        row->said = *said;
        /* lint: the box has the rows; content_free() frees them */
        for (size_t i = 0; i < BOX_STREAMS; i++) {
                bool is_there = (said->files & 1u << i) != 0 && m && next < m->fd_count;

                row->fds[i] = is_there ? fd_take(&m->fds[next]) : -1;
                next += is_there;
        }
}

void
content_free(struct box *b)
{
        for (size_t i = b->contents ? b->contents->count : 0; i-- > 0;)
                close_files(&b->contents->rows[i]);
        if (b->contents)
                free(b->contents->rows);
        free(b->contents);
        b->contents = NULL;
}

/* -- an exec begins ---------------------------------------------------------------------------- */

int
content_choose(const struct sandbox *s, struct exec_request *r, struct error *e)
{
        if (!s->keeper->host.rules || !s->keeper->host.rules->keeps_content)
                return 0;
        r->box.flags |= BOX_EXEC_KEEP_STREAMS;
        if (!s->box || s->box->hello.protocol >= BOX_PROTOCOL_STREAMS)
                return 0;
        (void)fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "content_box",
                      "what commands read and write is to be kept (audit: [content]), and the "
                      "sandbox was started by a version of carrel that cannot");
        error_hint(e, "Nothing was started. Stop the sandbox and start it again.");
        return -1;
}

void
content_disturb(struct box *b, const char *why)
{
        if (!b->begins.unknown)
                b->begins.unknown = why;
}

void
content_sent(struct box *b, uint32_t order, uint64_t seq, bool is_call)
{
        b->begins.sent = order;
        b->begins.seq = seq;
        b->begins.calls += is_call;
}

/* Nobody asks for its row again, so that calls push out no row of a command. */
void
content_call_ended(struct box *b, uint32_t exec)
{
        struct contents *c = b->contents;
        struct row *row = find(b, exec);

        b->begins.calls -= b->begins.calls > 0;
        if (!row)
                return;
        close_files(row);
        c->count--;
        memmove(row, row + 1, (size_t)(c->rows + c->count - row) * sizeof *row);
}

bool
content_is_busy(const struct box *b)
{
        return box_running(b) > 0 || b->begins.calls > 0;
}

/* Why nobody can say what the command begins with; NULL: a new sandbox, or what the last one left.
 */
static const char *
unknown_base(const struct sandbox *s, uint32_t order)
{
        if (!s->prepared || !s->prepared->spec ||
            (s->prepared->spec->mount_count > 0 && !workspace_is_there(s)))
                return "workspace";
        if (s->row.env.len > 0)
                return "environment";
        if (!s->box || s->box->begins.unknown)
                return s->box ? s->box->begins.unknown : "used";
        /* one before it still runs, or has not been sent yet */
        return content_is_busy(s->box) || s->box->begins.sent != order - 1 ? "overlap" : NULL;
}

enum call_state
content_need_ends(struct call *c, const struct sandbox *s)
{
        return s->box && s->keeper->host.rules && s->keeper->host.rules->keeps_content
                       ? box_need_listing(s->box, c)
                       : CALL_DONE;
}

enum call_state
content_need(struct call *c, struct sandbox *s, const struct exec_request *r)
{
        if ((r->box.flags & BOX_EXEC_KEEP_STREAMS) == 0 || !s->box || s->box->begins.asked > 0 ||
            unknown_base(s, 1))
                return CALL_DONE;
        return workspace_need(c, s);
}

void
content_write_base(const struct sandbox *s, uint32_t order, struct json_writer *w)
{
        const char *why = unknown_base(s, order);

        json_key(w, "base");
        json_open_map(w);
        if (why)
                json_member_text(w, "error", why);
        else if (order > 1)
                json_member_int(w, "after", (int64_t)s->box->begins.seq);
        else if (workspace_is_there(s))
                workspace_write(s, w);
        else
                json_member_bool(w, "none", true);
        json_close_map(w);
}

/* -- an exec has ended ------------------------------------------------------------------------- */

static void
write_stream(struct json_writer *w, const char *name, uint64_t bytes,
             const struct wire_box_stream *seen)
{
        json_key(w, name);
        json_open_map(w);
        json_key(w, "bytes");
        json_uint(w, bytes);
        if (seen) {
                recorder_write_sum(w, "sha256", seen->sha256);
                if (seen->bytes != bytes) {
                        json_key(w, "sha256_bytes");
                        json_uint(w, seen->bytes);
                }
        }
        json_close_map(w);
}

static const struct wire_box_stream *
seen_of(const struct row *row, size_t i)
{
        return row && (row->said.known & 1u << i) != 0 ? &row->said.of[i] : NULL;
}

void
content_write(const struct box *b, uint32_t exec, const struct outcome *end, struct json_writer *w)
{
        const struct row *row = b ? find(b, exec) : NULL;

        if (seen_of(row, 0))
                write_stream(w, "stdin", row->said.of[0].bytes, seen_of(row, 0));
        write_stream(w, "stdout", end->stdout_bytes, seen_of(row, 1));
        write_stream(w, "stderr", end->stderr_bytes, seen_of(row, 2));
        if (row && row->disturbed)
                json_member_text(w, "disturbed", row->disturbed);
}

void
content_write_call(const struct box *b, uint32_t exec, struct json_writer *w)
{
        const struct row *row = b ? find(b, exec) : NULL;

        const struct wire_box_stream *list = seen_of(row, 1);

        if (list)
                put_list_write(row->fds[1], row->fds[1] >= 0 && list->kept == list->bytes, w);
        if (seen_of(row, 0))
                write_stream(w, "stdin", row->said.of[0].bytes, seen_of(row, 0));
        if (row && row->disturbed)
                json_member_text(w, "disturbed", row->disturbed);
}

struct channel_sanitized
content_sanitized(const struct box *b, uint32_t exec)
{
        const struct row *row = b ? find(b, exec) : NULL;

        return row ? row->said.sanitized : (struct channel_sanitized){ .kinds = 0 };
}

size_t
content_give(struct box *b, const struct wire_box_listed *l, struct recorder_entry *head,
             int ret_fds[BOX_STREAMS])
{
        struct row *row = b ? find(b, l->exec) : NULL;
        size_t count = 0;

        if (!row || (l->flags & BOX_EXEC_KEEP_STREAMS) == 0)
                return 0;
        for (size_t i = 0; i < BOX_STREAMS; i++) {
                const uint64_t printed[] = { row->said.of[0].bytes, l->end.stdout_bytes,
                                             l->end.stderr_bytes };

                if (!seen_of(row, i) || (i > 0 && (l->flags & BOX_EXEC_TOLD) != 0))
                        continue;
                head->keeps |= 1u << i;
                head->lengths[i] = printed[i];
                if (row->fds[i] < 0)
                        continue;
                head->files |= 1u << i;
                ret_fds[count++] = fd_take(&row->fds[i]);
        }
        return count;
}

void
content_kept(struct keeper *k, const struct recorder_exec *of)
{
        const struct wire_exec_number kept = { of->exec, 0 };

        for (const struct sandbox *s = k->first; s; s = s->next)
                if (strcmp(s->id, of->sandbox) == 0 && s->box && !s->box->is_gone &&
                    s->box->hello.protocol >= BOX_PROTOCOL_STREAMS)
                        (void)box_send(s->box, WIRE_BOX_STREAMS_KEPT, &kept, sizeof kept);
}
