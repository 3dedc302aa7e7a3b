/*
 * client/file.c - files inside a sandbox: read whole, list, create, move, remove.
 *
 * Room: client (joining). Touches: what exec and connection touch.
 * Theory: an operation runs inside the sandbox as its user, and its channel carries the format of
 * wire/file.h. The payload may control the process that sends those bytes. So every length is
 * checked against what has arrived, and nothing is assumed to be text.
 */
#include "client/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/file_error.h"
#include "base/buffer.h"
#include "client/answer.h"
#include "client/connection.h"
#include "client/exec.h"
#include "wire/file.h"

enum { LISTING_MAX = 64 << 20, READ_MAX = 64 << 20, OPERATION_FAILED = 255 };

/* -- the stream -------------------------------------------------------------------------------- */

int
file_stream_open(struct carrel *c, enum operation_code op, struct file_stream *ret, struct error *e)
{
        int fd;

        *ret = (struct file_stream){ .x = NULL };
        if (connection_call(c, op, NULL, &fd, e) < 0)
                return -1;
        return client_exec_take(fd, 0, "the file operation", &ret->x, e);
}

void
file_stream_fini(struct file_stream *s)
{
        carrel_exec_free(s->x);
        s->x = NULL;
}

static int
how_it_ended(const struct file_stream *s, struct error *e)
{
        const struct carrel_end *end = carrel_exec_end(s->x);

        if (!end)
                return fail(e, ERROR_CONNECTION_LOST,
                            "the sandbox was lost before the file operation ended");
        if (end->exit_code == 0)
                return 0;
        if (strcmp(end->outcome, "exited") != 0)
                return file_ended_read(e, end->outcome);
        return file_error_read(e, end->exit_code > 0 ? end->exit_code : OPERATION_FAILED, s->path,
                               s->path_len);
}

int
file_stream_next(struct file_stream *s, int timeout_ms, const void **ret_bytes, size_t *ret_len,
                 struct error *e)
{
        for (;;) {
                struct carrel_piece p;
                int got = carrel_exec_end(s->x) ? 0 : client_exec_read(s->x, timeout_ms, &p, e);

                if (got < 0)
                        return -1;
                if (got == 0 && !carrel_exec_end(s->x) && timeout_ms >= 0)
                        return 2;
                if (got == 0 || p.kind == CARREL_END)
                        return how_it_ended(s, e);
                if (p.kind == CARREL_STDERR) {
                        size_t n = p.len < sizeof s->path - s->path_len
                                           ? p.len
                                           : sizeof s->path - s->path_len;

                        memcpy(s->path + s->path_len, p.bytes, n);
                        s->path_len += n;
                }
                if (p.kind != CARREL_STDOUT || p.len == 0)
                        continue;
                if (p.offset != s->next)
                        return fail(e, ERROR_PROTOCOL,
                                    "bytes of a file operation were lost on their way");
                s->next += p.len;
                *ret_bytes = p.bytes;
                *ret_len = p.len;
                return 1;
        }
}

/* Reads all of its output, at most `max` bytes, and adds a NUL. The caller frees it. */
static int
collect(struct file_stream *s, size_t max, char **ret, size_t *ret_len, struct error *e)
{
        struct buffer all = { 0 };
        const void *bytes = NULL;
        size_t n = 0;
        int got = 0, result = buffer_add(&all, NULL, 0, max);

        while (result == 0 && (got = file_stream_next(s, -1, &bytes, &n, e)) != 0)
                if (got < 0 || (result = buffer_add(&all, bytes, n, max)) < 0)
                        break;
        if (result == 0 && got == 0) {
                *ret_len = all.len;
                *ret = buffer_take(&all);
                return 0;
        }
        buffer_fini(&all);
        if (result == -E2BIG)
                return fail_at(e, ERROR_FILE_TOO_LARGE, "path", "too_large",
                               "the answer is longer than %zu bytes", max);
        return result < 0 ? fail(e, ERROR_NO_MEMORY, "no memory for the answer") : -1;
}

/* -- calls that only end ----------------------------------------------------------------------- */

static struct record_writer *
begin_with_path(struct carrel *c, const char *id, const char *path)
{
        struct record_writer *w = connection_begin(c);

        record_text(w, FIELD_ID, id);
        record_text(w, FIELD_PATH, path);
        return w;
}

static int
call_and_wait(struct carrel *c, enum operation_code op, struct error *e)
{
        struct file_stream s;
        const void *bytes;
        size_t len;
        int got;

        if (file_stream_open(c, op, &s, e) < 0)
                return -1;
        while ((got = file_stream_next(&s, -1, &bytes, &len, e)) == 1)
                ;
        file_stream_fini(&s);
        return got;
}

int
carrel_mkdir(struct carrel *c, const char *id, const char *path, unsigned mode, int with_parents,
             struct carrel_error *e)
{
        struct record_writer *w = begin_with_path(c, id, path);
        struct error inner;

        record_uint(w, FIELD_MODE, mode);
        if (with_parents)
                record_bool(w, FIELD_RECURSIVE, 1);
        return call_and_wait(c, OP_FILE_MKDIR, &inner) < 0 ? answer_fail(e, &inner) : 0;
}

int
carrel_move(struct carrel *c, const char *id, const char *from, const char *to,
            struct carrel_error *e)
{
        struct error inner;

        record_text(begin_with_path(c, id, from), FIELD_TARGET, to);
        return call_and_wait(c, OP_FILE_MOVE, &inner) < 0 ? answer_fail(e, &inner) : 0;
}

int
carrel_remove(struct carrel *c, const char *id, const char *path, int is_recursive,
              int *ret_existed, struct carrel_error *e)
{
        struct record_writer *w = begin_with_path(c, id, path);
        struct error inner;
        int result;

        if (is_recursive)
                record_bool(w, FIELD_RECURSIVE, 1);
        result = call_and_wait(c, OP_FILE_REMOVE, &inner);
        if (result < 0 && inner.code != ERROR_FILE_NOT_FOUND)
                return answer_fail(e, &inner);
        if (ret_existed)
                *ret_existed = result == 0;
        return 0;
}

/* -- entries ----------------------------------------------------------------------------------- */

static uint64_t
milliseconds(int64_t ns)
{
        return ns > 0 ? (uint64_t)ns / 1000000 : 0;
}

/*
 * Reads one entry at *at, and moves *at past it. Its texts are copied to the arena. `is_more`:
 * there is no entry, because the list was cut.
 */
static int
read_entry(struct arena *a, const char *bytes, size_t len, size_t *at, struct carrel_entry *ret,
           int *is_more, struct error *e)
{
        struct file_listed l;
        const struct file_entry *f = &l.entry;
        int result = file_entry_next(bytes, len, at, &l);

        if (result <= 0)
                return fail(e, ERROR_PROTOCOL,
                            result == 0 ? "the list of files is cut off"
                                        : "the list of files is malformed");
        *is_more = f->kind == FILE_MORE;
        *ret = (struct carrel_entry){ .path = arena_copy(a, l.path, f->path_len),
                                      .kind = file_kind_name(f->kind),
                                      .target = f->kind == FILE_LINK
                                                        ? arena_copy(a, l.target, f->target_len)
                                                        : NULL,
                                      .size = f->size,
                                      .modified_at_ms = milliseconds(f->mtime_ns),
                                      .mode = f->mode & 07777,
                                      .sys = f->sys };
        return answer_check(a, e);
}

/* The largest possible number of entries: each has a path of one byte. */
static int
read_entries(struct arena *a, const char *bytes, size_t len, struct carrel_entries *ret,
             struct error *e)
{
        struct carrel_entry *items =
                arena_array(a, struct carrel_entry, len / (sizeof(struct file_entry) + 1) + 1);
        size_t at = 0;

        ret->items = items;
        while (items && at < len && !ret->is_cut) {
                if (read_entry(a, bytes, len, &at, &items[ret->count], &ret->is_cut, e) < 0)
                        return -1;
                if (ret->is_cut && *items[ret->count].path != '\0')
                        ret->next_cursor = items[ret->count].path;
                ret->count += !ret->is_cut;
        }
        return answer_check(a, e);
}

static int
collect_call(struct carrel *c, enum operation_code op, char **ret, size_t *ret_len, struct error *e)
{
        struct file_stream s;
        int result;

        if (file_stream_open(c, op, &s, e) < 0)
                return -1;
        result = collect(&s, LISTING_MAX, ret, ret_len, e);
        file_stream_fini(&s);
        return result;
}

static int
list_files(struct carrel *c, struct carrel_entries **ret, struct error *e)
{
        struct carrel_entries *all;
        size_t len = 0;
        char *bytes = NULL;
        int result;

        if (collect_call(c, OP_FILE_LIST, &bytes, &len, e) < 0)
                return -1;
        all = answer_new(sizeof *all);
        result = all ? read_entries(answer_arena(all), bytes, len, all, e)
                     : fail(e, ERROR_NO_MEMORY, "no memory for the list");
        free(bytes);
        if (result < 0)
                carrel_free(all);
        else
                *ret = all;
        return result;
}

int
carrel_list_files(struct carrel *c, const char *id, const char *path, unsigned depth,
                  struct carrel_entries **ret, struct carrel_error *e)
{
        struct error inner;

        record_uint(begin_with_path(c, id, path), FIELD_DEPTH, depth);
        return list_files(c, ret, &inner) < 0 ? answer_fail(e, &inner) : 0;
}

int
carrel_list_files_part(struct carrel *c, const char *id, const char *path, unsigned depth,
                       unsigned limit, const char *cursor, struct carrel_entries **ret,
                       struct carrel_error *e)
{
        struct record_writer *w = begin_with_path(c, id, path);
        struct error inner;

        record_uint(w, FIELD_DEPTH, depth);
        record_uint(w, FIELD_LIMIT, limit);
        record_text(w, FIELD_CURSOR, cursor);
        return list_files(c, ret, &inner) < 0 ? answer_fail(e, &inner) : 0;
}

static int
stat_file(struct carrel *c, struct carrel_entry **ret, struct error *e)
{
        struct carrel_entry *entry;
        size_t len = 0, at = 0;
        char *bytes = NULL;
        int result, is_more = 0;

        if (collect_call(c, OP_FILE_STAT, &bytes, &len, e) < 0)
                return -1;
        entry = answer_new(sizeof *entry);
        result = entry ? read_entry(answer_arena(entry), bytes, len, &at, entry, &is_more, e)
                       : fail(e, ERROR_NO_MEMORY, "no memory for the answer");
        if (result == 0 && (is_more || at != len))
                result = fail(e, ERROR_PROTOCOL, "the answer about a path is malformed");
        free(bytes);
        if (result < 0)
                carrel_free(entry);
        else
                *ret = entry;
        return result;
}

int
carrel_stat(struct carrel *c, const char *id, const char *path, struct carrel_entry **ret,
            struct carrel_error *e)
{
        struct error inner;

        (void)begin_with_path(c, id, path);
        if (stat_file(c, ret, &inner) == 0)
                return 0;
        if (inner.code != ERROR_FILE_NOT_FOUND)
                return answer_fail(e, &inner);
        *ret = NULL;
        return 0;
}

/* -- whole files ------------------------------------------------------------------------------- */

static int
read_whole(struct carrel_reader *r, struct carrel_bytes **ret, uint64_t offset, uint64_t length,
           struct carrel_error *e)
{
        struct carrel_bytes *all = answer_new(sizeof *all);
        struct error inner;
        uint64_t left;
        size_t n = 0;
        char *to;
        const void *bytes;
        int got;

        if (!all)
                return (void)fail(&inner, ERROR_NO_MEMORY, "no memory for the file"),
                       answer_fail(e, &inner);
        carrel_reader_about(r, all);
        left = all->size > offset ? all->size - offset : 0;
        if (length > 0 && length < left)
                left = length;
        to = left <= READ_MAX ? arena_alloc(answer_arena(all), left + 1) : NULL;
        if (!to)
                (void)fail_at(&inner, left > READ_MAX ? ERROR_FILE_TOO_LARGE : ERROR_NO_MEMORY,
                              "path", "too_large", "the file is too long to be read at once");
        while ((got = to ? carrel_reader_next(r, &bytes, &n, e) : -1) == 1) {
                /* impossible: a reader gives at most what it announced */
                if (n > left)
                        n = (size_t)left;
                memcpy(to + all->len, bytes, n);
                all->len += n;
                left -= n;
        }
        if (got < 0) {
                carrel_free(all);
                return to ? -1 : answer_fail(e, &inner);
        }
        all->bytes = to;
        *ret = all;
        return 0;
}

int
carrel_read_file(struct carrel *c, const char *id, const char *path, uint64_t offset,
                 uint64_t length, struct carrel_bytes **ret, struct carrel_error *e)
{
        struct carrel_error inner;
        struct carrel_reader *r;
        int result;

        if (carrel_reader_open(c, id, path, offset, length, &r, &inner) < 0) {
                if (strcmp(inner.code, error_wire_name(ERROR_FILE_NOT_FOUND)) == 0) {
                        *ret = NULL;
                        return 0;
                }
                if (e)
                        *e = inner;
                return -1;
        }
        result = read_whole(r, ret, offset, length, e);
        carrel_reader_free(r);
        return result;
}

int
carrel_write_files(struct carrel *c, const char *id, const struct carrel_file *files, size_t count,
                   const char *key, struct carrel_error *e)
{
        struct carrel_writer *w;
        int result = 0;

        if (carrel_writer_open_for(c, id, key, files, count, &w, e) < 0)
                return -1;
        for (size_t i = 0; i < count && result == 0; i++) {
                result = carrel_writer_file(w, files[i].path, files[i].mode, files[i].len, e);
                if (result == 0)
                        result = carrel_writer_bytes(w, files[i].bytes, files[i].len, e);
        }
        if (result == 0)
                result = carrel_writer_commit(w, e);
        carrel_writer_free(w);
        return result;
}
