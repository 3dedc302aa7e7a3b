/*
 * audit/files.c - the files of an audit log.
 *
 * Room: audit (acting). Touches: fd, the files of one directory.
 */
#include "audit/files.h"

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

#include "base/scoped.h"
#include "base/write_all.h"

enum { FIRST_WINDOW = 16 * 1024, LIST_STEP = 64, HASH_STEP = 64 * 1024 };

static int
unavailable(struct error *e, const char *what)
{
        return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "%s", what);
}

static int
no_log_file(struct error *e, const char *name)
{
        if (errno == ENOENT)
                return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "missing",
                               "%s of the audit log is missing", name);
        return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "opening %s of the audit log", name);
}

/* -- the directory ----------------------------------------------------------------------------- */

/* Creates each missing directory of the path, closed to others. */
static int
make_directories(const char *path)
{
        char part[4096];
        size_t len = strlen(path);

        if (len >= sizeof part)
                return -1;
        for (size_t i = 1; i <= len; i++) {
                if (path[i] != '/' && path[i] != '\0')
                        continue;
                memcpy(part, path, i);
                part[i] = '\0';
                if (mkdir(part, 0700) < 0 && errno != EEXIST && errno != EROFS)
                        return -1;
        }
        return 0;
}

/*
 * Syncs every directory on the way to `path`: after a power failure a new log is there, with its
 * name in each of them. Those that this user may not read it did not create.
 */
static int
sync_directories(const char *path)
{
        char part[4096];
        size_t len = strlen(path);

        for (size_t i = len; i > 0; i--) {
                scoped_fd int fd = -1;

                if (path[i - 1] != '/')
                        continue;
                memcpy(part, path, i);
                part[i] = '\0';
                fd = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0 && errno == EACCES)
                        continue;
                /* EINVAL: a file system that cannot sync a directory */
                if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
                        return -1;
        }
        return 0;
}

/* A log without a checkpoint is new: its first entry may be the next one. */
static int
sync_new(int dir, const char *path)
{
        return faccessat(dir, "checkpoint.json", F_OK, 0) == 0 ? 0 : sync_directories(path);
}

int
audit_file_open_directory(const char *path, bool makes, struct error *e)
{
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        scoped_fd int fd = open(path, flags);
        struct stat st;

        if (fd < 0 && errno == ENOENT && makes && make_directories(path) == 0)
                fd = open(path, flags);
        if (fd >= 0 && makes && sync_new(fd, path) < 0)
                return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno,
                                "syncing the directories of the audit log %s", path);
        if (fd < 0 && errno == ENOENT) {
                (void)fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "missing",
                              "there is no audit log in %s", path);
                error_hint(e, "`carrel run --audit -- COMMAND` begins one.");
                return -1;
        }
        if (fd < 0 || fstat(fd, &st) < 0) {
                (void)fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "opening the audit log %s", path);
                if (makes)
                        error_hint(e, "Nothing was started. Name a state directory that you can "
                                      "write: CARREL_STATE=DIR");
                else
                        error_hint(e, "Name the log's directory: --log DIR");
                return -1;
        }
        if (st.st_uid != geteuid()) {
                (void)fail(e, ERROR_AUDIT_UNAVAILABLE, "the audit log %s belongs to another user",
                           path);
                error_hint(e, "Run it as that user: sudo -u '#%u' carrel ...", (unsigned)st.st_uid);
                return -1;
        }
        if ((st.st_mode & 077) != 0) {
                (void)fail(e, ERROR_AUDIT_UNAVAILABLE, "other users can reach the audit log %s",
                           path);
                error_hint(e, "Run: chmod 700 %s", path);
                return -1;
        }
        return fd_take(&fd);
}

int
audit_file_lock(int dir, int how, struct error *e)
{
        while (flock(dir, how) < 0)
                if (errno != EINTR)
                        return unavailable(e, "locking the audit log");
        return 0;
}

void
audit_file_unlock(int dir)
{
        (void)flock(dir, LOCK_UN);
}

/* -- the list of files ------------------------------------------------------------------------- */

static int
compare_numbers(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

void
audit_file_name(uint64_t first, char ret[AUDIT_FILE_NAME_MAX])
{
        (void)snprintf(ret, AUDIT_FILE_NAME_MAX, "log-%012" PRIu64 ".jsonl", first);
}

static bool
read_name(const char *name, uint64_t *ret)
{
        char again[AUDIT_FILE_NAME_MAX];

        if (strncmp(name, "log-", 4) != 0)
                return false;
        *ret = strtoull(name + 4, NULL, 10);
        audit_file_name(*ret, again);
        return strcmp(name, again) == 0;
}

int
audit_file_list(int dir, struct audit_file_list *ret, struct error *e)
{
        struct audit_file_list list = { 0 };
        const struct dirent *entry;
        uint64_t *grown;
        DIR *open_dir;
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        open_dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (!open_dir) {
                if (fd >= 0)
                        (void)close(fd);
                return unavailable(e, "listing the audit log");
        }
        while ((entry = readdir(open_dir))) {
                uint64_t first;

                if (!read_name(entry->d_name, &first))
                        continue;
                if (list.count % LIST_STEP == 0) {
                        grown = realloc(list.first, (list.count + LIST_STEP) * sizeof *grown);
                        if (!grown) {
                                (void)closedir(open_dir);
                                audit_file_list_fini(&list);
                                return fail(e, ERROR_NO_MEMORY, "no memory for the audit log");
                        }
                        list.first = grown;
                }
                list.first[list.count++] = first;
        }
        (void)closedir(open_dir);
        if (list.count > 0)
                qsort(list.first, list.count, sizeof *list.first, compare_numbers);
        *ret = list;
        return 0;
}

void
audit_file_list_fini(struct audit_file_list *list)
{
        free(list->first);
        *list = (struct audit_file_list){ 0 };
}

/* -- one log file ------------------------------------------------------------------------------ */

int
audit_file_open_log(int dir, uint64_t first, int flags, struct error *e)
{
        char name[AUDIT_FILE_NAME_MAX];
        struct stat st;
        int fd;

        audit_file_name(first, name);
        fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (fd < 0)
                return no_log_file(e, name);
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
                (void)close(fd);
                return fail(e, ERROR_AUDIT_UNAVAILABLE, "%s of the audit log is not a regular file",
                            name);
        }
        return fd;
}

int
audit_file_size(int dir, uint64_t first, off_t *ret, struct error *e)
{
        char name[AUDIT_FILE_NAME_MAX];
        struct stat st;

        audit_file_name(first, name);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return no_log_file(e, name);
        *ret = st.st_size;
        return 0;
}

static int
read_at(int fd, char *out, size_t len, off_t at)
{
        size_t done = 0;

        while (done < len) {
                ssize_t got = pread(fd, out + done, len - done, at + (off_t)done);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0) {
                        errno = got == 0 ? EIO : errno;
                        return -1;
                }
                done += (size_t)got;
        }
        return 0;
}

/* Finds the last whole line in the last `len` bytes of a file of `size` bytes. Returns false if a
 * larger part is needed. */
static bool
find_line(struct audit_file_tail *t, size_t len, off_t size)
{
        const char *end = memrchr(t->memory, '\n', len), *start;

        if (!end && (off_t)len < size)
                return false;
        t->whole = end ? size - (off_t)len + (end - t->memory) + 1 : 0;
        t->torn = (size_t)(size - t->whole);
        if (!end)
                return true;
        start = memrchr(t->memory, '\n', (size_t)(end - t->memory));
        if (!start && (off_t)len < size)
                return false;
        t->line = start ? start + 1 : t->memory;
        t->len = (size_t)(end - t->line);
        return true;
}

static int
read_tail_of(int fd, off_t size, struct audit_file_tail *ret, struct error *e)
{
        struct audit_file_tail t = { 0 };
        size_t len = FIRST_WINDOW;

        for (;; len *= 4) {
                if ((off_t)len > size)
                        len = (size_t)size;
                free(t.memory);
                t.memory = malloc(len + 1);
                if (!t.memory)
                        return fail(e, ERROR_NO_MEMORY, "no memory for the audit log");
                if (read_at(fd, t.memory, len, size - (off_t)len) < 0) {
                        free(t.memory);
                        return unavailable(e, "reading the audit log");
                }
                if (find_line(&t, len, size))
                        break;
        }
        *ret = t;
        return 0;
}

int
audit_file_read_tail(int fd, struct audit_file_tail *ret, struct error *e)
{
        struct stat st;

        return fstat(fd, &st) < 0 ? unavailable(e, "reading the audit log")
                                  : read_tail_of(fd, st.st_size, ret, e);
}

/* Where the first zero byte of a file is; its size if there is none; -1 with errno. */
static off_t
find_zero(int fd, off_t size)
{
        char bytes[HASH_STEP];

        for (off_t at = 0; at < size;) {
                size_t part = size - at < (off_t)sizeof bytes ? (size_t)(size - at) : sizeof bytes;
                const char *zero;

                if (read_at(fd, bytes, part, at) < 0)
                        return -1;
                zero = memchr(bytes, '\0', part);
                if (zero)
                        return at + (zero - bytes);
                at += (off_t)part;
        }
        return size;
}

int
audit_file_read_written(int fd, struct audit_file_tail *ret, struct error *e)
{
        struct stat st;
        off_t zero;

        if (fstat(fd, &st) < 0)
                return unavailable(e, "reading the audit log");
        zero = find_zero(fd, st.st_size);
        if (zero < 0)
                return unavailable(e, "reading the audit log");
        if (read_tail_of(fd, zero, ret, e) < 0)
                return -1;
        ret->torn = (size_t)(st.st_size - ret->whole);
        return 0;
}

int
audit_file_hash(int fd, off_t at, size_t len, char ret[AUDIT_HASH_TEXT], struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        crypto_hash_sha256_state state;
        char bytes[HASH_STEP];

        (void)crypto_hash_sha256_init(&state);
        for (size_t done = 0; done < len;) {
                size_t part = len - done < sizeof bytes ? len - done : sizeof bytes;

                if (read_at(fd, bytes, part, at + (off_t)done) < 0)
                        return unavailable(e, "reading the audit log");
                (void)crypto_hash_sha256_update(&state, (const unsigned char *)bytes, part);
                done += part;
        }
        (void)crypto_hash_sha256_final(&state, sum);
        (void)sodium_bin2hex(ret, AUDIT_HASH_TEXT, sum, sizeof sum);
        return 0;
}

/* -- small files ------------------------------------------------------------------------------- */

int
audit_file_read(int dir, const char *name, char *out, size_t room, size_t *ret_len, struct error *e)
{
        scoped_fd int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;

        if (fd < 0 && errno == ENOENT)
                return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "missing",
                               "the audit log has no file %s", name);
        if (fd < 0 || fstat(fd, &st) < 0)
                return unavailable(e, name);
        if (!S_ISREG(st.st_mode) || st.st_size > (off_t)room)
                return fail(e, ERROR_AUDIT_UNAVAILABLE,
                            "%s of the audit log is not a file of at most %zu bytes", name, room);
        if (read_at(fd, out, (size_t)st.st_size, 0) < 0)
                return unavailable(e, name);
        *ret_len = (size_t)st.st_size;
        return 0;
}

/* A new file. What an earlier process left under this name, or somebody put there, is removed. */
static int
open_new(int dir, const char *name)
{
        int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(dir, name, flags, 0600);

        if (fd < 0 && errno == EEXIST && unlinkat(dir, name, 0) == 0)
                fd = openat(dir, name, flags, 0600);
        return fd;
}

int
audit_file_replace(int dir, const char *name, const char *bytes, size_t len, bool syncs,
                   struct error *e)
{
        char other[AUDIT_FILE_NAME_MAX];
        scoped_fd int fd = -1;

        (void)snprintf(other, sizeof other, ".%s.new", name);
        fd = open_new(dir, other);
        if (fd < 0 || write_all(fd, bytes, len) < 0 || (syncs && fsync(fd) < 0) ||
            renameat(dir, other, dir, name) < 0 || (syncs && fsync(dir) < 0)) {
                (void)fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "writing %s of the audit log",
                               name);
                (void)unlinkat(dir, other, 0);
                return -1;
        }
        return 0;
}
