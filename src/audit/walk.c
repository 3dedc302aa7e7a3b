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

#include "audit/log.h"

static int
walk_file(FILE *file, uint64_t first, off_t size, bool is_last, struct audit_walk *w,
          struct error *e)
{
        char *line = NULL;
        size_t room = 0;
        off_t at = 0;
        int result = 0;

        while (result == 0 && at < size) {
                ssize_t len = getline(&line, &room, file);

                if (len < 0) {
                        result = fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "reading %s", w->name);
                } else if (is_last && (line[len - 1] != '\n' || memchr(line, '\0', (size_t)len))) {
                        /* of a write that the machine did not complete: nothing follows it */
                        w->torn = (size_t)(size - at);
                        result = 1;
                } else if (line[len - 1] != '\n' || len > AUDIT_LINE_MAX) {
                        result = fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.tampered",
                                         line[len - 1] != '\n' ? "a line is cut off"
                                                               : "a line is too long");
                } else if (first++ >= w->from) {
                        result = w->each(w->ctx, line, (size_t)len - 1, e);
                }
                at += len > 0 ? len : 0;
        }
        free(line);
        return result;
}

int
audit_walk_log(struct audit_log *log, struct audit_walk *w, struct error *e)
{
        struct audit_file_list list;
        off_t last_size = 0;
        int result = 0;

        if (audit_file_lock(log->dir, LOCK_SH, e) < 0)
                return -1;
        /* later appends come behind this size, so the lock is not needed while reading */
        result = audit_file_list(log->dir, &list, e);
        if (result == 0 && list.count > 0)
                result = audit_file_size(log->dir, list.first[list.count - 1], &last_size, e);
        audit_file_unlock(log->dir);
        if (result < 0)
                return -1;
        for (size_t i = 0; i < list.count && result == 0; i++) {
                bool is_last = i + 1 == list.count;
                off_t size = last_size;
                FILE *file;
                int fd;

                if (!is_last && list.first[i + 1] <= w->from)
                        continue;
                audit_file_name(list.first[i], w->name);
                fd = audit_file_open_log(log->dir, list.first[i], O_RDONLY, e);
                file = fd >= 0 ? fdopen(fd, "r") : NULL;
                if (!file) {
                        result =
                                fd >= 0 ? fail_sys(e, ERROR_NO_MEMORY, errno, "reading %s", w->name)
                                        : -1;
                        break;
                }
                if (!is_last)
                        result = audit_file_size(log->dir, list.first[i], &size, e);
                if (result == 0)
                        result = walk_file(file, list.first[i], size, is_last, w, e);
                (void)fclose(file);
        }
        audit_file_list_fini(&list);
        return result < 0 ? -1 : 0;
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
read_line(void *ctx, const char *line, size_t len, struct error *e)
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
                struct audit_walk w = { .each = read_line, .ctx = &r, .from = r.from };

                result = audit_walk_log(log, &w, e);
                if (!audit_walk_was_removed(result, e))
                        break;
        }
        return result;
}
