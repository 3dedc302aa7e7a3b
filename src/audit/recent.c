/*
 * audit/recent.c - are the newest entries of a log's last file still all there?
 *
 * Room: audit (acting). Touches: fd.
 */
#include "audit/recent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/entry.h"

static int
read_all(int fd, char *out, size_t len, off_t at, struct error *e)
{
        while (len > 0) {
                ssize_t got = pread(fd, out, len, at);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, got < 0 ? errno : EIO,
                                        "reading the end of the audit log");
                out += got;
                at += got;
                len -= (size_t)got;
        }
        return 0;
}

static int
first_number(const char *line, size_t len, uint64_t *ret, struct error *e)
{
        struct audit_entry entry;
        struct arena arena;
        int result;

        arena_init(&arena, 64u << 20);
        result = audit_entry_read(&arena, line, len, &entry, e);
        *ret = entry.seq;
        arena_fini(&arena);
        return result;
}

/* `text`: whole lines. */
static int
count_lines(const char *text, size_t len, uint64_t next, struct error *e)
{
        const char *end = memchr(text, '\n', len);
        uint64_t first, count = 0;

        if (!end)
                return 0;
        if (first_number(text, (size_t)(end - text), &first, e) < 0)
                return -1;
        for (const char *at = end; at; count++)
                at = memchr(at + 1, '\n', len - (size_t)(at + 1 - text));
        if (first + count == next)
                return 0;
        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.seq_gap",
                       "entries were removed or added: there are %" PRIu64
                       " lines from entry %" PRIu64 " on, and the last one is entry %" PRIu64,
                       count, first, next - 1);
}

int
audit_recent_check(int fd, off_t whole, uint64_t next, struct error *e)
{
        off_t from = whole > AUDIT_RECENT_LEN ? whole - AUDIT_RECENT_LEN : 0;
        size_t len = (size_t)(whole - from);
        char *text = malloc(len + 1);
        const char *begin = text;
        int result;

        if (!text)
                return fail(e, ERROR_NO_MEMORY, "no memory for the end of the audit log");
        result = read_all(fd, text, len, from, e);
        if (result == 0 && from > 0) {
                begin = memchr(text, '\n', len);
                begin = begin ? begin + 1 : text + len;
        }
        if (result == 0)
                result = count_lines(begin, len - (size_t)(begin - text), next, e);
        free(text);
        return result;
}
