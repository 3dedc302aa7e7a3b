/*
 * keeper/op_file.c - file operations: commands of the guest, run inside with the payload's rights.
 *
 * Room: keeper (joining). Touches: fd.
 * Theory: no path is looked up on the host. The keeper sends the command; the bytes travel between
 * caller and box. These commands are not listed, and do not count as activity for idleness. A
 * read_only caller may read but not write (A36-170). A call that changes files is recorded before
 * the box gets it, and once more when it has ended; the box says what it wrote.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "keeper/audit.h"
#include "keeper/changed.h"
#include "keeper/content.h"
#include "keeper/exec.h"
#include "keeper/op.h"
#include "wire/file.h"

enum { LIST_MAX = 100000, WORDS_MAX = 6, NUMBER_LEN = 24, TIMEOUT_MS = 600000 };

struct words {
        const char **more, *argv[WORDS_MAX]; /* more: instead of `argv`; or NULL */
        size_t argc;
        const void *input; /* of a write that has its content; or NULL */
        size_t input_len;
        char numbers[2][NUMBER_LEN];
};

static const char *
number(struct words *w, int which, uint64_t value)
{
        (void)snprintf(w->numbers[which], NUMBER_LEN, "%" PRIu64, value);
        return w->numbers[which];
}

/*
 * Before a call that changes files is sent: records its start. A box of an older version does not
 * report its end, so that its start is not recorded either.
 */
static enum call_state
need_record(struct call *c, struct sandbox *s, struct exec_request *q, struct error *e)
{
        enum call_state state = content_need_ends(c, s);

        if (state != CALL_DONE || !audit_is_there() || !s->row.owner ||
            s->box->hello.protocol < BOX_PROTOCOL_TOLD)
                return state;
        q->call = c->op->name;
        q->box.flags |= BOX_EXEC_TOLD;
        if (content_choose(s, q, e) < 0)
                return CALL_FAILED;
        if ((q->box.flags & BOX_EXEC_KEEP_STREAMS) != 0)
                state = changed_need(c, s);
        if (state == CALL_DONE)
                state = content_need(c, s, q);
        return state == CALL_DONE ? audit_need(c, s, q, &q->box.exec, e) : state;
}

static enum call_state
run(struct call *c, bool changes, const struct words *w, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        const char *const *argv = w->more ? w->more : w->argv;
        bool takes_input = strcmp(argv[0], "write") == 0;
        struct exec_request q = { .command = { .head = { .flags = WIRE_EXEC_BUILTIN,
                                                         .argc = (uint32_t)w->argc },
                                               .argv = argv,
                                               .cwd = "/" } };
        struct record_writer reply;
        enum call_state state;
        int channel = -1;

        if (!s)
                return CALL_FAILED;
        if (changes && s->row.is_read_only)
                return fail_at(e, ERROR_READ_ONLY, "read_only", NULL,
                               "the sandbox %s is read_only, so nothing in it is written", s->id),
                       CALL_FAILED;
        state = sandbox_judge(s, e) < 0 ? CALL_FAILED : sandbox_need_box(s, c, e);
        if (state != CALL_DONE)
                return state;
        if (s->prepared->cwd)
                q.command.cwd = s->prepared->cwd;
        q.input = w->input;
        q.input_len = w->input_len;
        q.ends_input = w->input != NULL;
        q.box = (struct wire_box_exec){ .flags = BOX_EXEC_QUIET | BOX_EXEC_LOSSLESS |
                                                 (takes_input ? 0u : BOX_EXEC_NO_STDIN),
                                        .deadline_ms = BOX_NO_LIMIT,
                                        .timeout_ms = TIMEOUT_MS,
                                        .cpu_ms = BOX_NO_LIMIT,
                                        .output_bytes = BOX_NO_LIMIT };
        /*
         * The box gets no key: it would join two writes of one key, and mix their bytes. Each write
         * is complete, and both are the same.
         */
        if (exec_find_key(c, s, e) < 0)
                return CALL_FAILED;
        state = changes ? need_record(c, s, &q, e) : CALL_DONE;
        if (state != CALL_DONE)
                return state;
        if (exec_send(s, &q, &channel, e) < 0) {
                if (!sandbox_is_settling(s))
                        return CALL_FAILED;
                audit_again(c, e);
                return sandbox_need_box(s, c, e);
        }
        if (q.call)
                audit_sent(c, s);
        else if (changes)
                content_disturb(s->box, "files");
        exec_note_key(c, s);
        reply = reply_begin(c);
        reply_send(c, &reply, 0, channel);
        return CALL_DONE;
}

static const char *
path_of(const struct call *c)
{
        return record_get_text(&c->record, FIELD_PATH, "");
}

enum call_state
op_file_read(struct call *c, struct error *e)
{
        struct words w = { .argv = { "read", path_of(c) }, .argc = 4 };

        w.argv[2] = number(&w, 0, record_get_uint(&c->record, FIELD_OFFSET, 0));
        w.argv[3] = number(&w, 1, record_get_uint(&c->record, FIELD_LENGTH, UINT64_MAX));
        return run(c, false, &w, e);
}

/*
 * Where a validator has judged the files, the sandbox writes these alone. Otherwise nothing is
 * announced to it: one that an older version made would refuse the words. A content that was judged
 * is sent to it here, so that its caller cannot send another.
 */
enum call_state
op_file_write(struct call *c, struct error *e)
{
        static const char *argv[FILE_BATCH_MAX + 1];
        struct words w = { .more = argv, .argc = 1 };
        struct record_entry entry;
        size_t at = 0;

        argv[0] = "write";
        if (record_find(&c->record, FIELD_INPUT, &entry) > 0) {
                w.input = entry.value;
                w.input_len = entry.len;
                return run(c, true, &w, e);
        }
        while (c->is_tool_judged && record_next(&c->record, &at, &entry) > 0)
                if (entry.tag == FIELD_WRITES) {
                        if (w.argc > FILE_BATCH_MAX)
                                return fail_at(e, ERROR_INVALID_ARGUMENT, "files", "range",
                                               "one call writes at most %d files", FILE_BATCH_MAX),
                                       CALL_FAILED;
                        argv[w.argc++] = entry.value;
                }
        return run(c, true, &w, e);
}

/*
 * A listing in parts is sorted by name: a directory's own order gives no position to resume from.
 */
enum call_state
op_file_list(struct call *c, struct error *e)
{
        const char *cursor = record_get_text(&c->record, FIELD_CURSOR, "");
        uint64_t limit = record_get_uint(&c->record, FIELD_LIMIT, LIST_MAX);
        bool is_page = *cursor != '\0' || limit != LIST_MAX;
        struct words w = { .argv = { is_page ? "page" : "list", path_of(c) },
                           .argc = is_page ? 5 : 4 };

        if (cursor[strspn(cursor, "0123456789abcdef")] != '\0' || strlen(cursor) % 2 != 0)
                return page_wrong_cursor(e), CALL_FAILED;
        w.argv[2] = number(&w, 0, record_get_uint(&c->record, FIELD_DEPTH, 1));
        w.argv[3] = number(&w, 1, limit);
        w.argv[4] = is_page ? cursor : NULL;
        return run(c, false, &w, e);
}

enum call_state
op_file_stat(struct call *c, struct error *e)
{
        return run(c, false, &(struct words){ .argv = { "stat", path_of(c) }, .argc = 2 }, e);
}

enum call_state
op_file_mkdir(struct call *c, struct error *e)
{
        struct words w = { .argv = { "mkdir", path_of(c) }, .argc = 4 };

        w.argv[2] = number(&w, 0, record_get_uint(&c->record, FIELD_MODE, 0755));
        w.argv[3] = number(&w, 1, (uint64_t)record_get_bool(&c->record, FIELD_RECURSIVE, 0));
        return run(c, true, &w, e);
}

enum call_state
op_file_move(struct call *c, struct error *e)
{
        return run(c, true,
                   &(struct words){ .argv = { "move", path_of(c),
                                              record_get_text(&c->record, FIELD_TARGET, "") },
                                    .argc = 3 },
                   e);
}

enum call_state
op_file_remove(struct call *c, struct error *e)
{
        struct words w = { .argv = { "remove", path_of(c) }, .argc = 3 };

        w.argv[2] = number(&w, 0, (uint64_t)record_get_bool(&c->record, FIELD_RECURSIVE, 0));
        return run(c, true, &w, e);
}
