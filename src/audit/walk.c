/*
 * audit/walk.c - the lines of an audit log, in order.
 *
 * Room: audit (acting). Touches: fd, the files of one directory.
 */
#include "audit/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "audit/log.h"

int
audit_walk_begin(const struct audit_log *log, struct audit_walk *w, struct error *e)
{
        int result;

        if (audit_file_lock(log->dir, LOCK_SH, e) < 0)
                return -1;
        /* later appends come behind this size, so the lock is not needed while reading */
        result = audit_file_list(log->dir, &w->list, e);
        if (result == 0 && w->list.count > 0)
                result = audit_file_size(log->dir, w->list.first[w->list.count - 1], &w->last_size,
                                         e);
        audit_file_unlock(log->dir);
        return result;
}

void
audit_walk_end(struct audit_walk *w)
{
        if (w->file)
                (void)fclose(w->file);
        w->file = NULL;
        audit_file_list_fini(&w->list);
        free(w->line);
        w->line = NULL;
        w->room = 0;
}

static bool
is_last_file(const struct audit_walk *w)
{
        return w->index + 1 == w->list.count;
}

/* The next file with lines that are not left out. 1: there is one, 0: there is none. */
static int
open_file(const struct audit_log *log, struct audit_walk *w, struct error *e)
{
        int fd;

        while (w->index + 1 < w->list.count && w->list.first[w->index + 1] <= w->from)
                w->index++;
        if (w->index >= w->list.count)
                return 0;
        w->number = w->list.first[w->index];
        w->size = w->last_size;
        w->at = 0;
        audit_file_name(w->number, w->name);
        fd = audit_file_open_log(log->dir, w->number, O_RDONLY, e);
        if (fd < 0 || (!is_last_file(w) && audit_file_size(log->dir, w->number, &w->size, e) < 0)) {
                if (fd >= 0)
                        (void)close(fd);
                return -1;
        }
        w->file = fdopen(fd, "r");
        if (w->file)
                return 1;
        (void)close(fd);
        return fail_sys(e, ERROR_NO_MEMORY, errno, "reading %s", w->name);
}

/* One line. 0 to go on, 1 to end, -1 with an error. */
static int
read_line(struct audit_walk *w, struct error *e)
{
        ssize_t len = getline(&w->line, &w->room, w->file);

        if (len < 0)
                return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "reading %s", w->name);
        w->at += len;
        if (is_last_file(w) && (w->line[len - 1] != '\n' || memchr(w->line, '\0', (size_t)len))) {
                /* of a write that the machine did not complete: nothing follows it */
                w->torn = (size_t)(w->size - w->at + len);
                return 1;
        }
        if (w->line[len - 1] != '\n')
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.tampered", "a line is cut off");
        if (len > AUDIT_LINE_MAX)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.tampered", "a line is too long");
        return w->number++ >= w->from ? w->each(w->ctx, w->line, (size_t)len - 1, e) : 0;
}

int
audit_walk_step(const struct audit_log *log, struct audit_walk *w, size_t bytes, struct error *e)
{
        size_t read = 0;

        while (read < bytes) {
                off_t before = w->at;
                int result;

                if (!w->file) {
                        result = open_file(log, w, e);
                        if (result <= 0)
                                return result;
                        before = 0;
                }
                result = w->at < w->size ? read_line(w, e) : 0;
                if (result != 0)
                        return result < 0 ? -1 : 0;
                read += (size_t)(w->at - before);
                if (w->at < w->size)
                        continue;
                (void)fclose(w->file);
                w->file = NULL;
                w->index++;
        }
        return 1;
}

int
audit_walk_log(const struct audit_log *log, struct audit_walk *w, struct error *e)
{
        int result = audit_walk_begin(log, w, e);

        if (result == 0)
                do
                        result = audit_walk_step(log, w, SIZE_MAX, e);
                while (result > 0);
        audit_walk_end(w);
        return result;
}

bool
audit_walk_was_removed(int result, const struct error *e)
{
        return result < 0 && strcmp(e->reason, "missing") == 0;
}

struct reader {
        uint64_t from; /* the next entry */
        bool (*each)(void *ctx, const char *line, size_t len, const struct audit_entry *entry);
        void *ctx;
};

static int
read_one(void *ctx, const char *line, size_t len, struct error *e)
{
        struct reader *r = ctx;
        struct audit_entry entry;
        struct arena arena;
        int result;

        arena_init(&arena, 64u << 20);
        result = audit_entry_read(&arena, line, len, &entry, e);
        if (result == 0 && entry.seq >= r->from) {
                r->from = entry.seq + 1;
                result = r->each(r->ctx, line, len, &entry) ? 0 : 1;
        }
        arena_fini(&arena);
        return result;
}

int
audit_log_read(struct audit_log *log, uint64_t from,
               bool (*each)(void *ctx, const char *line, size_t len,
                            const struct audit_entry *entry),
               void *ctx, struct error *e)
{
        struct reader r = { from, each, ctx };
        int result = -1;

        for (int i = 0; i < AUDIT_READS_MAX; i++) {
                struct audit_walk w = { .each = read_one, .ctx = &r, .from = r.from };

                result = audit_walk_log(log, &w, e);
                if (!audit_walk_was_removed(result, e))
                        break;
        }
        return result;
}
