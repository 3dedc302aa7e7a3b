/*
 * door/exec_view.c - an exec as JSON.
 *
 * Room: door (joining). Touches: mem.
 */
#include "door/exec_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/operation.h"
#include "codec/codec.h"
#include "codec/encode.h"
#include "event/outcome.h"

/* -- output ------------------------------------------------------------------------------------------------------------- */

void
capture_add(struct capture *c, const void *bytes, size_t len, uint64_t offset)
{
        if (c->is_broken || len == 0)
                return;
        if (offset != c->first + c->len) {
                c->let_go += c->len;
                c->missed += offset - (c->first + c->len);
                c->len = 0;
                c->first = offset;
        }
        if (c->len + len > c->room) {
                size_t room = c->room * 2 > c->len + len ? c->room * 2 : c->len + len;
                char *more = realloc(c->bytes, room);

                if (!more) {
                        c->is_broken = 1;
                        return;
                }
                c->bytes = more;
                c->room = room;
        }
        memcpy(c->bytes + c->len, bytes, len);
        c->len += len;
        if (c->len > 2 * c->cap) {                     /* moved seldom: once a cap's worth */
                memmove(c->bytes, c->bytes + (c->len - c->cap), c->cap);
                c->first += c->len - c->cap;
                c->let_go += c->len - c->cap;
                c->len = c->cap;
        }
}

void
capture_fini(struct capture *c)
{
        free(c->bytes);
        *c = (struct capture){ 0 };
}

/* Down to the cap; where it begins within a character, and is shown as text, it begins with the next one. */
static void
trim(struct capture *c, int is_base64)
{
        size_t skip = c->len > c->cap ? c->len - c->cap : 0;

        if (!is_base64 && c->first + skip > 0)
                for (int i = 0; i < 3 && skip < c->len && ((unsigned char)c->bytes[skip] & 0xc0) == 0x80; i++)
                        skip++;
        if (skip == 0)
                return;
        memmove(c->bytes, c->bytes + skip, c->len - skip);
        c->first += skip;
        c->let_go += skip;
        c->len -= skip;
}

/* -- members ------------------------------------------------------------------------------------------------------------- */

int
exec_view_keep(struct exec_view *v, const struct record *reply)
{
        free(v->reply);
        v->reply_len = reply->len;
        v->reply = aligned_alloc(16, (reply->len + 31) / 16 * 16);
        if (!v->reply)
                return -1;
        if (reply->len > 0)
                memcpy(v->reply, reply->bytes, reply->len);
        return 0;
}

void
exec_view_fini(struct exec_view *v)
{
        free(v->reply);
        v->reply = NULL;
        capture_fini(&v->streams[0]);
        capture_fini(&v->streams[1]);
}

static struct outcome
outcome_of(const struct channel_end *end)
{
        return (struct outcome){ .word = end->word < OUTCOME_MAX ? (enum outcome_word)end->word : OUTCOME_LOST, .exit_code = end->exit_code, .signal = end->signal,
                                 .duration_ms = end->duration_ms, .cpu_ms = end->cpu_ms, .memory_peak_kb = end->memory_peak_kb,
                                 .stdout_bytes = end->stdout_bytes, .stderr_bytes = end->stderr_bytes, .dropped_bytes = end->dropped_bytes };
}

static void
write_uint(struct json_writer *w, const char *name, uint64_t value)
{
        json_key(w, name);
        json_uint(w, value);
}

/* What the end of the exec says. 1: written. */
static int
write_ending(struct json_writer *w, uint16_t tag, const char *name, const struct exec_view *v)
{
        struct outcome o = outcome_of(&v->end);
        const struct { uint16_t tag; uint64_t value; } numbers[] = {
                { FIELD_DURATION, o.duration_ms }, { FIELD_CPU, o.cpu_ms }, { FIELD_MEMORY_PEAK, o.memory_peak_kb }, { FIELD_STDOUT_BYTES, o.stdout_bytes },
                { FIELD_STDERR_BYTES, o.stderr_bytes }, { FIELD_DROPPED, o.dropped_bytes + v->streams[0].let_go + v->streams[1].let_go },
        };

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                if (numbers[i].tag == tag) {
                        write_uint(w, name, numbers[i].value);
                        return 1;
                }
        }
        if (tag == FIELD_OUTCOME)
                json_member_text(w, name, outcome_name(o.word));
        else if (tag == FIELD_EXIT_CODE)
                json_member_int(w, name, outcome_status(&o));
        else if (tag == FIELD_SIGNAL && o.signal > 0)
                json_member_int(w, name, o.signal);
        return tag == FIELD_OUTCOME || tag == FIELD_EXIT_CODE || tag == FIELD_SIGNAL;
}

/* What this answer lacks, of a command that still runs: past its limit, gone before it was asked for, and let go here. At its end the box counts the first two. */
static uint64_t
missing(const struct exec_view *v)
{
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        uint64_t gone = record_get_uint(&reply, FIELD_STDOUT_OFFSET, 0) + record_get_uint(&reply, FIELD_STDERR_OFFSET, 0);
        uint64_t dropped = record_get_uint(&reply, FIELD_DROPPED, 0), here = 0;

        for (int i = 0; i < 2; i++)
                here += v->streams[i].missed + v->streams[i].let_go;
        return (dropped > gone ? dropped - gone : 0) + here;
}

/* What its output says. 1: written. */
static int
write_output(struct json_writer *w, uint16_t tag, const char *name, struct exec_view *v, int is_base64)
{
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        const struct capture *out = &v->streams[tag == FIELD_STDERR || tag == FIELD_STDERR_OFFSET || tag == FIELD_STDERR_BYTES];

        if (tag == FIELD_STDOUT || tag == FIELD_STDERR)
                encode_member(w, name, out->bytes, out->len, is_base64);
        else if (tag == FIELD_STDOUT_OFFSET || tag == FIELD_STDERR_OFFSET)
                write_uint(w, name, out->first);
        else if (tag == FIELD_STDOUT_BYTES || tag == FIELD_STDERR_BYTES)
                write_uint(w, name, out->len > 0 ? out->first + out->len : record_get_uint(&reply, tag, 0));
        else if (tag == FIELD_DROPPED)
                write_uint(w, name, missing(v));
        else
                return 0;
        return 1;
}

static int
write_known(struct json_writer *w, uint16_t tag, const char *name, struct exec_view *v, int is_base64)
{
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        const char *known = record_get_text(&reply, FIELD_STATE, "");

        if (tag == FIELD_EXEC && v->is_started)
                write_uint(w, name, v->started.exec);
        else if (tag == FIELD_PID && v->is_started)
                json_member_int(w, name, v->started.pid);
        else if (tag == FIELD_STATE && (v->is_started || v->is_ended))
                json_member_text(w, name, v->is_ended || strcmp(known, "ended") == 0 ? "ended" : "running");   /* the same call again, after its end */
        else
                return (v->is_ended && write_ending(w, tag, name, v)) || (v->has_output && write_output(w, tag, name, v, is_base64));
        return 1;
}

void
exec_view_write(struct json_writer *w, struct exec_view *v, int is_base64)
{
        const struct operation *o = operation(OP_EXEC);
        struct record reply = { v->reply, v->reply ? v->reply_len : 0 };
        struct record_entry entry;

        trim(&v->streams[0], is_base64);
        trim(&v->streams[1], is_base64);
        if (v->streams[0].is_broken || v->streams[1].is_broken)
                w->is_broken = true;
        json_open_map(w);
        for (size_t i = 0; i < o->result_count; i++) {
                const struct api_field *f = api_field(o->results[i].tag);
                int is_output = f->tag == FIELD_STDOUT || f->tag == FIELD_STDERR || f->tag == FIELD_STDOUT_OFFSET || f->tag == FIELD_STDERR_OFFSET;

                if (write_known(w, f->tag, f->name, v, is_base64) || (is_output && !v->has_output) || !record_find(&reply, f->tag, &entry))
                        continue;
                if ((o->results[i].flags & PARAM_REPEATED) != 0)
                        codec_write_list(w, f->name, f->tag, &reply, is_base64);
                else
                        codec_write_member(w, f->name, &entry, is_base64);
        }
        if (v->has_output && is_base64)
                json_member_text(w, "encoding", "base64");
        json_close_map(w);
}

int
exec_failed_read(struct error *e, const struct wire_exec_failed *failed)
{
        switch (failed->stage) {
        case WIRE_STAGE_LOOKUP:
                if (failed->sys == ENOENT || failed->sys == ENOTDIR)
                        return fail_at(e, ERROR_COMMAND_NOT_FOUND, "argv/0", "lookup", "there is no such command inside the sandbox");
                return fail_sys(e, ERROR_COMMAND_NOT_EXECUTABLE, failed->sys, "the command cannot be executed");
        case WIRE_STAGE_DIRECTORY:
                (void)fail_sys(e, ERROR_INVALID_ARGUMENT, failed->sys, "the command's working directory (cwd) cannot be entered");
                (void)memcpy(e->path, "cwd", sizeof "cwd");
                return -1;
        case WIRE_STAGE_TERMINAL:
                return fail_sys(e, ERROR_BACKEND_FAILED, failed->sys, "making a terminal for the command");
        default:
                return fail_sys(e, failed->sys == EAGAIN || failed->sys == ENOMEM ? ERROR_QUOTA_EXCEEDED : ERROR_BACKEND_FAILED, failed->sys, "starting the command");
        }
}
