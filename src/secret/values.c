/*
 * secret/values.c - credentials in memory, and the file of slug=value lines.
 *
 * Room: secret (acting). Touches: fd mem.
 * Knows one file's form. Knows nothing of manifests or of who may ask: authorise() has judged
 * before. Theory: values lie in one anonymous mapping (not the heap: it is wiped, unlocked and
 * unmapped as one piece). A file is read into it whole, and the pairs are cut in place. S1: no
 * value is ever formatted or compared outside this file.
 */
#include "secret/values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/scoped.h"
#include "policy/host_secret.h"

enum { MAP_LEN = SECRET_FILE_MAX + 4096 };

struct secret_values {
        char *text; /* MAP_LEN bytes, private */
        size_t used;
        size_t count;
        struct {
                const char *slug, *value;
        } pairs[SECRET_VALUES_MAX];
};

static int
unreadable(struct error *e, const char *reason, const char *path, const char *message)
{
        (void)fail(e, ERROR_FILE_UNREADABLE, "the secrets file \"%.200s\" %s", path, message);
        (void)snprintf(e->reason, sizeof e->reason, "%s", reason);
        return -1;
}

int
secret_file_check(int fd, const char *path, off_t most, struct error *e)
{
        struct stat st;
        bool is_roots;

        if (fstat(fd, &st) < 0)
                return unreadable(e, "io", path, "cannot be looked at");
        is_roots = st.st_uid == 0 && st.st_gid == 0; /* a service manager gives its services such
                                                        files, readable to them by name */
        if (!S_ISREG(st.st_mode))
                return unreadable(e, "not_regular", path, "is no regular file");
        if (st.st_uid != geteuid() && !is_roots)
                return unreadable(e, "owner", path, "belongs to somebody else");
        if ((st.st_mode & (is_roots && st.st_uid != geteuid() ? 037 : 077)) != 0) {
                (void)unreadable(e, "mode", path, "can be read or written by others");
                error_hint(e, "chmod 600 %.200s", path);
                return -1;
        }
        return st.st_size <= most ? 0 : unreadable(e, "io", path, "is larger than 64 KiB");
}

int
secret_file_read(int fd, const char *path, char *bytes, size_t room, size_t *ret_len,
                 struct error *e)
{
        size_t len = 0;
        ssize_t got;

        do {
                got = read(fd, bytes + len, room - len);
                if (got > 0)
                        len += (size_t)got;
        } while ((got > 0 && len < room) || (got < 0 && errno == EINTR));
        if (got < 0)
                return unreadable(e, "io", path, "cannot be read");
        *ret_len = len;
        return 0;
}

static int
bad_line(struct error *e, const char *path, unsigned line, const char *message)
{
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, "", "not_found",
                      "the secrets file \"%.200s\", line %u: %s", path, line, message);
        return -1;
}

/* Cuts one line in place; it ends in a NUL that stands where the line feed was. */
static int
read_line(struct secret_values *values, char *line, size_t len, const char *path, unsigned number,
          struct error *e)
{
        char *equals = memchr(line, '=', len);

        if (len == 0 || line[0] == '#')
                return 0;
        if (memchr(line, '\0', len) || memchr(line, '\r', len))
                return bad_line(e, path, number, "it holds a carriage return or a NUL");
        if (!equals)
                return bad_line(e, path, number, "it is no slug=value pair");
        *equals = '\0';
        if (!host_slug_check(line))
                return bad_line(e, path, number, "what stands before \"=\" is no slug");
        if (equals[1] == '\0')
                return bad_line(e, path, number, "the value is empty");
        for (size_t i = 0; i < values->count; i++)
                if (strcmp(values->pairs[i].slug, line) == 0)
                        return bad_line(e, path, number, "this slug has a value already");
        if (values->count == SECRET_VALUES_MAX)
                return bad_line(e, path, number, "there are too many values");
        values->pairs[values->count].slug = line;
        values->pairs[values->count++].value = equals + 1;
        return 0;
}

static int
read_lines(struct secret_values *values, size_t len, const char *path, struct error *e)
{
        char *at = values->text, *end = values->text + len;
        unsigned number = 0;

        while (at < end) {
                char *feed = memchr(at, '\n', (size_t)(end - at));
                char *stop = feed ? feed : end;

                *stop = '\0'; /* the mapping is longer than any file */
                if (read_line(values, at, (size_t)(stop - at), path, ++number, e) < 0)
                        return -1;
                at = stop + 1;
        }
        return 0;
}

struct secret_values *
secret_values_new(void)
{
        struct secret_values *values = calloc(1, sizeof *values);

        if (!values)
                return NULL;
        values->text =
                mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (values->text == MAP_FAILED) {
                free(values);
                return NULL;
        }
        (void)madvise(values->text, MAP_LEN, MADV_DONTDUMP);
        (void)mlock(values->text, MAP_LEN); /* a courtesy: RLIMIT_MEMLOCK may be small */
        return values;
}

void
secret_values_free(struct secret_values *values)
{
        if (!values)
                return;
        explicit_bzero(values->text, MAP_LEN);
        (void)munmap(values->text, MAP_LEN);
        free(values);
}

int
secret_values_open(const char *path, struct secret_values **ret, struct error *e)
{
        scoped_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct secret_values *values;
        size_t len = 0;

        if (fd < 0)
                return unreadable(e, errno == EACCES ? "permission" : "not_found", path,
                                  "cannot be opened");
        if (secret_file_check(fd, path, SECRET_FILE_MAX, e) < 0)
                return -1;
        values = secret_values_new();
        if (!values)
                return fail(e, ERROR_NO_MEMORY, "no memory for the values of secrets");
        if (secret_file_read(fd, path, values->text, SECRET_FILE_MAX + 1, &len, e) < 0 ||
            (len > SECRET_FILE_MAX && unreadable(e, "io", path, "is larger than 64 KiB") < 0) ||
            read_lines(values, len, path, e) < 0) {
                secret_values_free(values);
                return -1;
        }
        values->used = len + 1;
        *ret = values;
        return 0;
}

char *
secret_values_room(struct secret_values *values, size_t *ret_len)
{
        *ret_len =
                MAP_LEN - values->used; /* one more than may be kept: what fills it was too long */
        return values->text + values->used;
}

static int
unfit(const char *slug, const char *source, const char *what, struct error *e)
{
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, "", "not_found",
                      "the value that %.200s has for the secret \"%.80s\" %s", source, slug, what);
        error_hint(e, "A value is bound as an environment variable: one line of text, without its "
                      "line feed.");
        return -1;
}

int
secret_values_keep(struct secret_values *values, const char *slug, size_t len, const char *source,
                   struct error *e)
{
        char *text = values->text + values->used;
        const char *what =
                len == 0                        ? "is empty"
                : len >= MAP_LEN - values->used ? NULL
                : memchr(text, '\0', len) || memchr(text, '\r', len) || memchr(text, '\n', len)
                        ? "holds a line feed, a carriage return or a NUL"
                        : NULL;

        if (len > MAP_LEN - 1 - values->used || values->count == SECRET_VALUES_MAX)
                return unfit(slug, source,
                             "is too long: all of a sandbox's secrets together are at most 64 KiB",
                             e);
        if (what) {
                explicit_bzero(text, len);
                return unfit(slug, source, what, e);
        }
        text[len] = '\0';
        values->used += len + 1;
        values->pairs[values->count].slug = slug;
        values->pairs[values->count++].value = text;
        return 0;
}

int
secret_values_add(struct secret_values *values, const char *slug, const char *bytes, size_t len,
                  const char *source, struct error *e)
{
        size_t room;
        char *text = secret_values_room(values, &room);

        if (len <= room)
                memcpy(text, bytes, len);
        return secret_values_keep(values, slug, len, source, e);
}

const char *
secret_value_look(const struct secret_values *values, const char *slug)
{
        for (size_t i = 0; values && i < values->count; i++)
                if (strcmp(values->pairs[i].slug, slug) == 0)
                        return values->pairs[i].value;
        return NULL;
}

int
secret_value_find(const struct secret_values *values, const char *slug, const char *path,
                  const char **ret, struct error *e)
{
        const char *value = secret_value_look(values, slug);

        if (value) {
                *ret = value;
                return 0;
        }
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, path, "not_found",
                      "the secret \"%.80s\" has no value: %s", slug,
                      values ? "no source holds it" : "no source of secrets is configured");
        error_hint(e, "Name a source under secret_sources in the host file: docs/SECRETS.md.");
        return -1;
}
