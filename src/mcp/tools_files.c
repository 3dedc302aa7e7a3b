/*
 * mcp/tools_files.c - reads, writes and lists files: the format of wire/file.h through a channel.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: a file operation is an exec in the guest, so it can reach what the sandbox's own user can
 * reach. Its exit status is an errno. The size of a message sets the limits: 512 KiB of a file,
 * 1,024 files in a batch, 1 MiB of a listing.
 */
#include <string.h>

#include "api/ending.h"
#include "api/file_error.h"
#include "codec/file_entry.h"
#include "codec/file_put.h"
#include "mcp/server.h"
#include "mcp/tools.h"
#include "mcp/tools_fields.h"
#include "wire/file.h"

enum { READ_MAX = 512 * 1024, ANSWER_MAX = 1 << 20, SMALL = 16 * 1024 /* bytes of a record */ };

/* -- shared by all three ----------------------------------------------------------------------- */

static void
on_output(struct link_call *c, int stream, const void *bytes, size_t len, uint64_t offset)
{
        struct mcp_request *r = request_of(c);
        struct error e;

        if (stream == 2) {
                tools_stream_put(&r->err, bytes, len);
                return;
        }
        mcp_bytes_put(&r->wire, bytes, len);
        if (r->wire.len <= ANSWER_MAX && !r->wire.is_broken)
                return;
        (void)fail(&e, ERROR_INVALID_ARGUMENT,
                   "this is more than an answer can carry: ask for less at once");
        if (r->tool->op == OP_FILE_LIST)
                error_hint(&e, "Give `limit` (1 to 1000), then next_cursor as `cursor`.");
        request_fail(r, &e);
}

/* Did the operation succeed? If not, this has answered the request. */
static bool
has_succeeded(struct mcp_request *r, const struct channel_end *end)
{
        struct error e;

        if (end->word == OUTCOME_EXITED && end->exit_code == 0)
                return true;
        if (end->word != OUTCOME_EXITED)
                (void)file_ended_read(&e, outcome_name(ending_of(end).word));
        else
                (void)file_error_read(&e, end->exit_code,
                                      r->err.bytes.text ? r->err.bytes.text : "", r->err.bytes.len);
        request_fail(r, &e);
        return false;
}

static void
answer_malformed(struct mcp_request *r)
{
        struct error e;

        (void)fail(&e, ERROR_PROTOCOL, "the sandbox's answer has another shape than it should");
        request_fail(r, &e);
}

/* -- read_file --------------------------------------------------------------------------------- */

static void
read_ended(struct link_call *c, const struct channel_end *end)
{
        struct mcp_request *r = request_of(c);
        struct file_info info;
        struct json_writer w;

        if (!has_succeeded(r, end))
                return;
        if (r->wire.len < sizeof info) {
                answer_malformed(r);
                return;
        }
        memcpy(&info, r->wire.text, sizeof info);
        json_init(&w, false);
        json_open_map(&w);
        json_member_text(&w, "path", node_find(r->arguments, "path")->text);
        json_member_int(&w, "size", (int64_t)info.size);
        json_member_int(&w, "mode", info.mode);
        json_member_int(&w, "modified_at_ms", info.mtime_ns / 1000000);
        tools_bytes(&w, "content", r->wire.text + sizeof info, r->wire.len - sizeof info);
        json_close_map(&w);
        request_structured(r, &w, false);
}

static const struct link_call_ops read_ops = { .refused = request_on_refused,
                                               .failed = request_on_failed,
                                               .output = on_output,
                                               .ended = read_ended,
                                               .lost = request_on_lost };

static void
begin_read(struct mcp_request *r)
{
        const struct node *length = node_find(r->arguments, "length");
        struct record_writer w;
        struct error e;

        if (length && length->kind == NODE_INT && length->integer > READ_MAX) {
                (void)fail_at(&e, ERROR_INVALID_ARGUMENT, "length", NULL,
                              "`length` must be 0 to %d: read a large file in parts", READ_MAX);
                request_fail(r, &e);
                return;
        }
        if (request_arguments(r, &w, SMALL) < 0)
                return;
        if (!length || length->kind == NODE_NULL)
                record_uint(&w, FIELD_LENGTH, READ_MAX);
        (void)request_call(r, OP_FILE_READ, &w, &read_ops);
}

void
tool_read_file(struct mcp_request *r)
{
        request_with_sandbox(r, begin_read);
}

/* -- list_files -------------------------------------------------------------------------------- */

static void
list_ended(struct link_call *c, const struct channel_end *end)
{
        struct mcp_request *r = request_of(c);
        struct file_listed listed, more = { .entry.path_len = 0 };
        struct json_writer w;
        size_t at = 0;

        if (!has_succeeded(r, end))
                return;
        json_init(&w, false);
        json_open_map(&w);
        json_key(&w, "items");
        json_open_list(&w);
        while (file_entry_next(r->wire.text, r->wire.len, &at, &listed) > 0) {
                if (listed.entry.kind == FILE_MORE)
                        more = listed;
                else
                        codec_write_file(&w, &listed, 0);
        }
        if (at < r->wire.len) {
                json_fini(&w);
                answer_malformed(r);
                return;
        }
        json_close_list(&w);
        if (more.entry.path_len > 0) {
                json_key(&w, "next_cursor");
                json_bytes(&w, more.path, more.entry.path_len);
        }
        json_close_map(&w);
        request_structured(r, &w, false);
}

static const struct link_call_ops list_ops = { .refused = request_on_refused,
                                               .failed = request_on_failed,
                                               .output = on_output,
                                               .ended = list_ended,
                                               .lost = request_on_lost };

static void
begin_list(struct mcp_request *r)
{
        struct record_writer w;

        if (request_arguments(r, &w, SMALL) == 0)
                (void)request_call(r, OP_FILE_LIST, &w, &list_ops);
}

void
tool_list_files(struct mcp_request *r)
{
        request_with_sandbox(r, begin_list);
}

/* -- write_files ------------------------------------------------------------------------------- */

static int
put_files(struct mcp_request *r, struct error *e)
{
        static const struct file_put last = { 0 };
        const struct node *files = node_find(r->arguments, "files");
        struct codec_file file;
        int index = 0;

        if (!files || files->kind != NODE_LIST || files->len == 0 || files->len > FILE_BATCH_MAX)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "files", NULL,
                               "`files` must be a list of 1 to %d files", FILE_BATCH_MAX);
        node_each(node, files)
        {
                if (codec_read_file(&r->arena, node, index++, &file, e) < 0)
                        return -1;
                mcp_bytes_put(&r->wire, (const char *)&file.put, sizeof file.put);
                mcp_bytes_put(&r->wire, file.path, file.put.path_len);
                mcp_bytes_put(&r->wire, file.bytes, file.put.len);
        }
        mcp_bytes_put(&r->wire, (const char *)&last, sizeof last);
        return r->wire.is_broken
                       ? fail(e, ERROR_NO_MEMORY, "there is no memory left for these files")
                       : 0;
}

/* The last file completes the write: it may have ended before the end of input is sent. */
static void
on_write_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);

        (void)fields;
        (void)is_last;
        link_call_send(c, CHANNEL_STDIN, r->wire.text, r->wire.len);
        link_call_send(c, CHANNEL_STDIN_END, NULL, 0);
}

static void
on_write_output(struct link_call *c, int stream, const void *bytes, size_t len, uint64_t offset)
{
        if (stream == 2)
                tools_stream_put(&request_of(c)->err, bytes, len);
}

static void
write_ended(struct link_call *c, const struct channel_end *end)
{
        struct mcp_request *r = request_of(c);
        struct json_writer w;

        if (!has_succeeded(r, end))
                return;
        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "written", (int64_t)node_find(r->arguments, "files")->len);
        json_close_map(&w);
        request_structured(r, &w, false);
}

static void on_write_refused(struct link_call *c, const struct error *e);

static const struct link_call_ops write_ops = { .reply = on_write_reply,
                                                .refused = on_write_refused,
                                                .failed = request_on_failed,
                                                .output = on_write_output,
                                                .ended = write_ended,
                                                .lost = request_on_lost };

/* What rules may have to see: size and path of each file that put_files() has written. */
static void
announce_files(const struct mcp_request *r, struct record_writer *w)
{
        const struct record_writer before = *w;
        struct file_put put;

        for (size_t at = 0; at + sizeof put <= r->wire.len; at += put.path_len + put.len) {
                memcpy(&put, r->wire.text + at, sizeof put);
                at += sizeof put;
                if (put.path_len > 0)
                        api_announce_file(w, put.len, r->wire.text + at, put.path_len);
        }
        api_announce_end(w, &before);
}

/* The call has its input already. */
static void
on_given_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)c, (void)fields, (void)is_last;
}

static const struct link_call_ops given_ops = { .reply = on_given_reply,
                                                .refused = request_on_refused,
                                                .failed = request_on_failed,
                                                .output = on_write_output,
                                                .ended = write_ended,
                                                .lost = request_on_lost };

static void
ask_write(struct mcp_request *r, bool gives_content)
{
        struct record_writer w;

        if (request_arguments(r, &w, CALL_RECORD_MAX) < 0)
                return;
        record_text(&w, FIELD_KEY, r->idempotency_key);
        if (gives_content)
                record_bytes(&w, FIELD_INPUT, RECORD_BYTES, r->wire.text, r->wire.len);
        else
                announce_files(r, &w);
        (void)request_call(r, OP_FILE_WRITE, &w, gives_content ? &given_ops : &write_ops);
}

/* A rule must see the content. */
static void
on_write_refused(struct link_call *c, const struct error *e)
{
        if (api_content_is_asked(e))
                ask_write(request_of(c), true);
        else
                request_on_refused(c, e);
}

static void
begin_write(struct mcp_request *r)
{
        struct error e;

        if (put_files(r, &e) < 0)
                request_fail(r, &e);
        else
                ask_write(r, false);
}

void
tool_write_files(struct mcp_request *r)
{
        request_with_sandbox(r, begin_write);
}
