/*
 * secret/values.c - the development source of credentials: a private file of slug=value lines.
 *
 * Room: secret (acting). Touches: fd mem.
 * Knows one file's form. Knows nothing of manifests or of who may ask: authorise() has judged before.
 * Theory: the whole file is read into one anonymous mapping (not the heap: it is wiped, unlocked and unmapped as one
 * piece), and the pairs are cut in place.
 * S1: no value is ever copied, formatted or compared outside this file.
 */
#include "secret/values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/scoped.h"
#include "secret/inventory.h"

enum { MAP_LEN = SECRET_FILE_MAX + 4096 };

struct secret_values {
        char *text;                     /* MAP_LEN bytes, private */
        size_t count;
        struct { const char *slug, *value; } pairs[SECRET_VALUES_MAX];
};

static int
unreadable(struct error *e, const char *reason, const char *path, const char *message)
{
        (void)fail(e, ERROR_FILE_UNREADABLE, "the secrets file \"%.200s\" %s", path, message);
        (void)snprintf(e->reason, sizeof e->reason, "%s", reason);
        return -1;
}

static int
check_file(int fd, const char *path, struct error *e)
{
        struct stat st;

        if (fstat(fd, &st) < 0)
                return unreadable(e, "io", path, "cannot be looked at");
        if (!S_ISREG(st.st_mode))
                return unreadable(e, "not_regular", path, "is no regular file");
        if (st.st_uid != geteuid())
                return unreadable(e, "owner", path, "belongs to somebody else");
        if ((st.st_mode & 077) != 0) {
                (void)unreadable(e, "mode", path, "can be read or written by others");
                error_hint(e, "chmod 600 %.200s", path);
                return -1;
        }
        if (st.st_size > SECRET_FILE_MAX)
                return unreadable(e, "io", path, "is larger than 64 KiB");
        return 0;
}

static int
read_file(struct secret_values *values, int fd, const char *path, size_t *ret_len, struct error *e)
{
        size_t len = 0;
        ssize_t got;

        do {
                got = read(fd, values->text + len, SECRET_FILE_MAX + 1 - len);
                if (got > 0)
                        len += (size_t)got;
        } while ((got > 0 && len <= SECRET_FILE_MAX) || (got < 0 && errno == EINTR));
        if (got < 0)
                return unreadable(e, "io", path, "cannot be read");
        if (len > SECRET_FILE_MAX)
                return unreadable(e, "io", path, "is larger than 64 KiB");
        *ret_len = len;
        return 0;
}

static int
bad_line(struct error *e, const char *path, unsigned line, const char *message)
{
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, "", "not_found", "the secrets file \"%.200s\", line %u: %s", path, line, message);
        return -1;
}

/* Cuts one line in place; it ends in a NUL that stands where the line feed was. */
static int
read_line(struct secret_values *values, char *line, size_t len, const char *path, unsigned number, struct error *e)
{
        char *equals = memchr(line, '=', len);

        if (len == 0 || line[0] == '#')
                return 0;
        if (memchr(line, '\0', len) || memchr(line, '\r', len))
                return bad_line(e, path, number, "it holds a carriage return or a NUL");
        if (!equals)
                return bad_line(e, path, number, "it is no slug=value pair");
        *equals = '\0';
        if (!secret_slug_check(line))
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

                *stop = '\0';           /* the mapping is longer than any file */
                if (read_line(values, at, (size_t)(stop - at), path, ++number, e) < 0)
                        return -1;
                at = stop + 1;
        }
        return 0;
}

static struct secret_values *
values_new(void)
{
        struct secret_values *values = calloc(1, sizeof *values);

        if (!values)
                return NULL;
        values->text = mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (values->text == MAP_FAILED) {
                free(values);
                return NULL;
        }
        (void)madvise(values->text, MAP_LEN, MADV_DONTDUMP);
        (void)mlock(values->text, MAP_LEN);     /* a courtesy: RLIMIT_MEMLOCK may be small */
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
                return unreadable(e, errno == EACCES ? "permission" : "not_found", path, "cannot be opened");
        if (check_file(fd, path, e) < 0)
                return -1;
        values = values_new();
        if (!values)
                return fail(e, ERROR_NO_MEMORY, "no memory for the values of secrets");
        if (read_file(values, fd, path, &len, e) < 0 || read_lines(values, len, path, e) < 0) {
                secret_values_free(values);
                return -1;
        }
        *ret = values;
        return 0;
}

int
secret_value_find(const struct secret_values *values, const char *slug, const char *path, const char **ret,
                  struct error *e)
{
        for (size_t i = 0; values && i < values->count; i++)
                if (strcmp(values->pairs[i].slug, slug) == 0) {
                        *ret = values->pairs[i].value;
                        return 0;
                }
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, path, "not_found", "the secret \"%.80s\" has no value: %s", slug,
                      values ? "the secrets file does not hold it" : "no source of secrets is configured");
        error_hint(e, "Name a file of slug=value lines (mode 600) in secrets_file of the host file or in CARREL_SECRETS_FILE.");
        return -1;
}
