/*
 * audit/content.c - what commands read and wrote, kept beside an audit log.
 *
 * Room: audit (acting). Touches: fd, the files of one directory.
 */
#include "audit/content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/files.h"
#include "audit/redact.h"
#include "base/scoped.h"
#include "base/write_all.h"
#include "text/utf8.h"

/* Room for "[redacted:RULE]" in place of shorter texts. */
enum { CLEAN_MAX = 4 * AUDIT_CONTENT_MAX, NAME_LEN = AUDIT_HASH_TEXT - 1 };

static const char directory[] = "content", unfinished[] = ".new";

static int
unavailable(struct error *e, const char *what)
{
        return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "%s", what);
}

static int
open_directory(const struct audit_log *log, bool makes, struct error *e)
{
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(log->dir, directory, flags);

        if (fd < 0 && errno == ENOENT && makes) {
                if (mkdirat(log->dir, directory, 0700) == 0 && fsync(log->dir) < 0)
                        return unavailable(e, "syncing the audit log");
                fd = openat(log->dir, directory, flags);
        }
        return fd >= 0 ? fd : unavailable(e, "opening the directory `content` of the audit log");
}

static bool
is_digest(const char *name)
{
        return strlen(name) == NAME_LEN && strspn(name, "0123456789abcdef") == NAME_LEN;
}

/* -- redaction --------------------------------------------------------------------------------- */

static bool
is_text_line(const char *line, size_t len)
{
        if (utf8_valid_len(line, len) != len)
                return false;
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)line[i] < 0x20 && !strchr("\t\r\n\033", line[i]))
                        return false;
        return memchr(line, '\0', len) == NULL;
}

/* The length of the first lines that are all text, or all not. */
static size_t
part_len(const char *bytes, size_t len, bool *ret_is_text)
{
        size_t at = 0;

        while (at < len) {
                const char *end = memchr(bytes + at, '\n', len - at);
                size_t line = end ? (size_t)(end - bytes) + 1 - at : len - at;
                bool is_text = is_text_line(bytes + at, line);

                if (at > 0 && is_text != *ret_is_text)
                        break;
                *ret_is_text = is_text;
                at += line;
        }
        return at;
}

static int
clean_text(const char *bytes, size_t len, size_t *counts, struct buffer *out, struct error *e)
{
        /* lint: `len` is a part of a content, below AUDIT_CONTENT_MAX */
        char *text = malloc(len + 1);
        int result;

        if (!text)
                return fail(e, ERROR_NO_MEMORY, "no memory for the output of a command");
        memcpy(text, bytes, len);
        text[len] = '\0';
        result = redact_text(text, counts, out, e);
        sodium_memzero(text, len);
        free(text);
        return result;
}

int
audit_content_clean(const char *bytes, size_t len, size_t *counts, struct buffer *out,
                    struct error *e)
{
        while (len > 0) {
                bool is_text = false;
                size_t part = part_len(bytes, len, &is_text);

                if (is_text ? clean_text(bytes, part, counts, out, e) < 0
                            : buffer_add(out, bytes, part, CLEAN_MAX) < 0)
                        return is_text ? -1
                                       : fail(e, ERROR_NO_MEMORY,
                                              "no memory for the output of a command");
                bytes += part;
                len -= part;
        }
        return 0;
}

/* -- writing ----------------------------------------------------------------------------------- */

static void
hash_of(const char *bytes, size_t len, char ret[AUDIT_HASH_TEXT])
{
        unsigned char sum[crypto_hash_sha256_BYTES];

        (void)crypto_hash_sha256(sum, (const unsigned char *)bytes, len);
        (void)sodium_bin2hex(ret, AUDIT_HASH_TEXT, sum, sizeof sum);
}

/* The same content again: it is as new as this use of it, so that it is not removed too early. An
 * altered one is replaced. */
static bool
is_there(int dir, const char *name, size_t len)
{
        scoped_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char hash[AUDIT_HASH_TEXT];
        struct error ignored;
        struct stat st;

        return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == (off_t)len &&
               audit_file_hash(fd, 0, len, hash, &ignored) == 0 && strcmp(hash, name) == 0 &&
               futimens(fd, NULL) == 0;
}

static int
write_file(int dir, const char *name, const char *bytes, size_t len, struct error *e)
{
        scoped_fd int fd = openat(dir, unfinished,
                                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd >= 0 && write_all(fd, bytes, len) == 0 && fsync(fd) == 0 &&
            renameat(dir, unfinished, dir, name) == 0 && fsync(dir) == 0)
                return 0;
        (void)unavailable(e, "keeping the output of a command");
        (void)unlinkat(dir, unfinished, 0);
        return -1;
}

/* A beginning ends with its last whole line, so that the rules see no half of a secret. */
static size_t
kept_len(const char *bytes, size_t len, bool is_beginning)
{
        size_t most = len < AUDIT_CONTENT_MAX ? len : AUDIT_CONTENT_MAX;
        const char *end = is_beginning && most > 0 ? memrchr(bytes, '\n', most) : NULL;

        return end ? (size_t)(end - bytes) + 1 : most;
}

int
audit_content_put(struct audit_log *log, const char *bytes, size_t len, struct audit_content *ret,
                  struct error *e)
{
        scoped_fd int dir = open_directory(log, true, e);
        struct buffer clean = { 0 };
        size_t kept;
        int result;

        if (dir < 0)
                return -1;
        ret->is_truncated |= len > AUDIT_CONTENT_MAX;
        kept = kept_len(bytes, len, ret->is_truncated);
        result = audit_content_clean(bytes, kept, ret->redacted, &clean, e);
        ret->bytes = clean.len;
        hash_of(clean.len > 0 ? clean.bytes : "", clean.len, ret->sha256);
        if (result == 0 && (result = audit_file_lock(log->dir, LOCK_EX, e)) == 0) {
                if (!is_there(dir, ret->sha256, clean.len))
                        result = write_file(dir, ret->sha256, clean.bytes, clean.len, e);
                audit_file_unlock(log->dir);
        }
        if (clean.len > 0)
                sodium_memzero(clean.bytes, clean.len);
        buffer_fini(&clean);
        return result;
}

void
audit_content_write(struct json_writer *w, const struct audit_content *c)
{
        size_t count, removed = 0;
        const struct redact_rule *rules = redact_rules(&count);

        json_open_map(w);
        json_member_text(w, "sha256", c->sha256);
        json_key(w, "bytes");
        json_uint(w, c->bytes);
        if (c->is_truncated)
                json_member_bool(w, "truncated", true);
        for (size_t i = 0; i < count; i++)
                removed += c->redacted[i];
        if (removed > 0) {
                json_key(w, "redacted");
                json_open_map(w);
                for (size_t i = 0; i < count; i++)
                        if (c->redacted[i] > 0)
                                json_member_int(w, rules[i].name, (int64_t)c->redacted[i]);
                json_close_map(w);
        }
        json_close_map(w);
}

/* -- reading ----------------------------------------------------------------------------------- */

static int
open_content(const struct audit_log *log, const char *sha256, struct error *e)
{
        char path[sizeof directory + AUDIT_HASH_TEXT];
        int fd;

        if (!is_digest(sha256))
                return fail(e, ERROR_INVALID_ARGUMENT, "\"%.80s\" is no SHA-256", sha256);
        (void)snprintf(path, sizeof path, "%s/%s", directory, sha256);
        fd = openat(log->dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) {
                (void)fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "content_missing",
                              "the content %s is not in the audit log's directory", sha256);
                error_hint(e, "`carrel audit verify` says whether it was removed by `carrel audit "
                              "prune`.");
                return -1;
        }
        return fd >= 0 ? fd : unavailable(e, "opening a content of the audit log");
}

static int
tampered(const char *sha256, struct error *e)
{
        (void)fail_at(e, ERROR_AUDIT_BROKEN, NULL, "content.tampered",
                      "the kept content %s was changed", sha256);
        error_hint(e, "Keep the file: it does not have the SHA-256 that is its name.");
        return -1;
}

int
audit_content_read(const struct audit_log *log, const char *sha256, struct buffer *out,
                   struct error *e)
{
        scoped_fd int fd = open_content(log, sha256, e);
        char hash[AUDIT_HASH_TEXT], step[64 * 1024];
        size_t before = out->len;
        ssize_t got = 0;
        struct stat st;

        if (fd < 0)
                return -1;
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > CLEAN_MAX)
                return tampered(sha256, e);
        while ((got = read(fd, step, sizeof step)) > 0)
                if (buffer_add(out, step, (size_t)got, before + CLEAN_MAX) < 0)
                        return fail(e, ERROR_NO_MEMORY, "no memory for a content");
        if (got < 0)
                return unavailable(e, "reading a content of the audit log");
        hash_of(out->len > before ? out->bytes + before : "", out->len - before, hash);
        return strcmp(hash, sha256) == 0 ? 0 : tampered(sha256, e);
}

/* -- the directory ----------------------------------------------------------------------------- */

static DIR *
list_directory(int dir)
{
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

        if (!list && fd >= 0)
                (void)close(fd);
        return list;
}

int
audit_content_list(const struct audit_log *log,
                   bool (*each)(void *ctx, int dir, const char *sha256, uint64_t mtime_ms,
                                uint64_t bytes),
                   void *ctx, struct error *e)
{
        scoped_fd int dir = -1;
        const struct dirent *entry;
        bool goes_on = true;
        DIR *list;

        if (faccessat(log->dir, directory, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
                return 0;
        dir = open_directory(log, false, e);
        if (dir < 0)
                return -1;
        list = list_directory(dir);
        if (!list)
                return unavailable(e, "listing the contents of the audit log");
        while (goes_on && (entry = readdir(list))) {
                struct stat st;

                if (is_digest(entry->d_name) &&
                    fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        goes_on = each(ctx, dir, entry->d_name,
                                       (uint64_t)st.st_mtim.tv_sec * 1000 +
                                               (uint64_t)st.st_mtim.tv_nsec / 1000000,
                                       (uint64_t)st.st_size);
        }
        (void)closedir(list);
        return 0;
}

struct total {
        uint64_t bytes, count;
};

static bool
add_size(void *ctx, int dir, const char *sha256, uint64_t mtime_ms, uint64_t bytes)
{
        struct total *t = ctx;

        (void)dir, (void)sha256, (void)mtime_ms;
        t->bytes += bytes;
        t->count++;
        return true;
}

static int
check_room(const struct audit_log *log, struct error *e)
{
        struct total t = { 0 };

        if (audit_content_list(log, add_size, &t, e) < 0)
                return -1;
        if (t.bytes + (uint64_t)AUDIT_CONTENT_STREAMS * AUDIT_CONTENT_MAX <=
                    AUDIT_CONTENT_TOTAL_MAX &&
            t.count + AUDIT_CONTENT_STREAMS <= AUDIT_CONTENT_COUNT_MAX)
                return 0;
        (void)fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "content_full",
                      "%" PRIu64 " bytes of content in %" PRIu64
                      " files are kept; at most %d bytes in %d files are",
                      t.bytes, t.count, AUDIT_CONTENT_TOTAL_MAX, AUDIT_CONTENT_COUNT_MAX);
        error_hint(e, "Nothing was started. Remove old content: carrel audit prune --older-than "
                      "30d. Or leave out --keep-output.");
        return -1;
}

int
audit_content_begin(struct audit_log *log, struct error *e)
{
        scoped_fd int dir = open_directory(log, true, e);

        if (dir < 0 || audit_file_lock(log->dir, LOCK_EX, e) < 0)
                return -1;
        (void)unlinkat(dir, unfinished, 0);
        audit_file_unlock(log->dir);
        return check_room(log, e);
}
