/*
 * image/store.c - the images of one state directory.
 *
 * Room: image (joining). Touches: fd (everything below STATE/images).
 */
#include "image/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/name.h"
#include "base/scoped.h"
#include "base/write_all.h"
#include "text/nearest.h"

enum { DIGITS_LEAST = 8 };

#define PREFIX "sha256:"
#define PINNED "@" PREFIX

/* -- directories ------------------------------------------------------------------------------- */

static int
unusable(struct error *e, int sys, const char *what)
{
        return fail_sys(e, ERROR_STATE_UNUSABLE, sys, "%s of the images", what);
}

/*
 * Opens a directory that only its owner can enter; creates it if it is missing and `makes`.
 * `flags`: O_NOFOLLOW or 0.
 */
static int
open_closed(int parent, const char *name, bool makes, int flags, int *ret, struct error *e)
{
        struct stat st;

        if (makes && mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
                return unusable(e, errno, "creating the directory");
        *ret = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
        if (*ret < 0 && errno == ENOENT)
                return fail(e, ERROR_IMAGE_NOT_FOUND, "no image was imported");
        if (*ret < 0 || fstat(*ret, &st) < 0)
                return unusable(e, errno, "opening the directory");
        if (st.st_uid == geteuid() && (st.st_mode & 077) == 0)
                return 0;
        return fail_at(e, ERROR_STATE_UNUSABLE, NULL, "owner",
                       "the directory of the images belongs to another user, or is open to others");
}

static int
open_store(const char *state, bool makes, struct image_store *ret, struct error *e)
{
        scoped_fd int top = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *ret = (struct image_store){ -1, -1, -1, -1, -1, -1 };
        if (top < 0 && errno == ENOENT && !makes)
                return fail(e, ERROR_IMAGE_NOT_FOUND, "no image was imported");
        if (top < 0)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "opening %.200s", state);
        /* who only looks may use the images of another state directory of the same user */
        if (open_closed(top, "images", makes, makes ? O_NOFOLLOW : 0, &ret->dir, e) == 0 &&
            open_closed(ret->dir, "names", makes, O_NOFOLLOW, &ret->names, e) == 0 &&
            open_closed(ret->dir, "records", makes, O_NOFOLLOW, &ret->records, e) == 0 &&
            open_closed(ret->dir, "layers", makes, O_NOFOLLOW, &ret->layers, e) == 0 &&
            open_closed(ret->dir, "making", makes, O_NOFOLLOW, &ret->making, e) == 0)
                return 0;
        image_store_close(ret);
        return -1;
}

int
image_store_open(const char *state, struct image_store *ret, struct error *e)
{
        return open_store(state, true, ret, e);
}

int
image_store_look(const char *state, struct image_store *ret, struct error *e)
{
        return open_store(state, false, ret, e);
}

void
image_store_close(struct image_store *s)
{
        image_store_unlock(s);
        scoped_fd_close(&s->making);
        scoped_fd_close(&s->layers);
        scoped_fd_close(&s->records);
        scoped_fd_close(&s->names);
        scoped_fd_close(&s->dir);
}

int
image_store_lock(struct image_store *s, bool is_exclusive, bool waits, struct error *e)
{
        int how = (is_exclusive ? LOCK_EX : LOCK_SH) | (waits ? 0 : LOCK_NB);

        if (s->lock < 0)
                s->lock = openat(s->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (s->lock < 0)
                return unusable(e, errno, "opening the lock");
        while (flock(s->lock, how) < 0) {
                if (errno == EWOULDBLOCK)
                        return 1;
                if (errno != EINTR)
                        return unusable(e, errno, "taking the lock");
        }
        return 0;
}

void
image_store_unlock(struct image_store *s)
{
        scoped_fd_close(&s->lock);
}

/* -- files ------------------------------------------------------------------------------------- */

static int
write_failed(struct error *e, int sys)
{
        if (sys == ENOSPC || sys == EDQUOT)
                return fail(e, ERROR_STORAGE_FULL, "the disk of the images is full");
        return fail_sys(e, ERROR_BACKEND_FAILED, sys, "writing to the images");
}

int
image_store_write(const struct image_store *s, int dir, const char *name, const char *bytes,
                  size_t len, struct error *e)
{
        char making[64];
        scoped_fd int fd = -1;
        int sys = 0;

        (void)snprintf(making, sizeof making, "file.%ld", (long)getpid());
        fd = openat(s->making, making, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return write_failed(e, errno);
        if (write_all(fd, bytes, len) < 0 || fsync(fd) < 0 ||
            renameat(s->making, making, dir, name) < 0 || fsync(dir) < 0)
                sys = errno;
        if (sys == 0)
                return 0;
        (void)unlinkat(s->making, making, 0);
        return write_failed(e, sys);
}

/* -- names ------------------------------------------------------------------------------------- */

bool
image_name_is_valid(const char *name)
{
        size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "._-/:@");

        return len > 0 && len <= IMAGE_NAME_MAX && name[len] == '\0' && !strchr("._-/:@", name[0]);
}

bool
image_name_is_free(const char *name)
{
        size_t digits = strspn(name, "0123456789abcdef");

        return image_name_is_valid(name) && !strchr(name, '@') &&
               strncmp(name, PREFIX, strlen(PREFIX)) != 0 &&
               !(digits >= DIGITS_LEAST && name[digits] == '\0');
}

static int
not_found(struct error *e, const char *name)
{
        return fail(e, ERROR_IMAGE_NOT_FOUND, "there is no image %.200s", name);
}

/* 0; 1: no such name; -1 with errno */
static int
read_name(const struct image_store *s, const char *encoded, struct digest *ret)
{
        scoped_fd int fd = openat(s->names, encoded, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        char hex[DIGEST_HEX + 1];
        ssize_t len;

        if (fd < 0)
                return errno == ENOENT ? 1 : -1;
        len = read(fd, hex, sizeof hex - 1);
        if (len < 0)
                return -1;
        hex[len] = '\0';
        hex[strcspn(hex, "\n")] = '\0';
        errno = EUCLEAN;
        return digest_read_hex(hex, ret) ? 0 : -1;
}

struct search {
        const char *digits;
        size_t len, found;
        struct digest image;
};

static int
match_digits(void *ctx, const char *name, const struct digest *image)
{
        struct search *s = ctx;
        char hex[DIGEST_HEX];

        (void)name;
        digest_hex(image, hex);
        if (strncmp(hex, s->digits, s->len) != 0)
                return 0;
        s->found += s->found == 0 || !digest_equals(&s->image, image);
        s->image = *image;
        return 0;
}

static int
find_by_digits(const struct image_store *s, const char *name, struct digest *ret, struct error *e)
{
        struct search search = { .digits = name };

        if (strncmp(name, PREFIX, strlen(PREFIX)) == 0)
                search.digits += strlen(PREFIX);
        search.len = strlen(search.digits);
        if (search.len < DIGITS_LEAST || search.len >= DIGEST_HEX ||
            strspn(search.digits, "0123456789abcdef") != search.len)
                return not_found(e, name);
        if (image_store_names(s, match_digits, &search, e) < 0)
                return -1;
        *ret = search.image;
        if (search.found > 1)
                return fail_at(e, ERROR_IMAGE_NOT_FOUND, NULL, "ambiguous",
                               "%zu images begin with %.64s", search.found, search.digits);
        return search.found == 1 ? 0 : not_found(e, name);
}

/* -- a name that was probably meant ------------------------------------------------------------ */

struct guess {
        const char *wanted;
        struct nearest nearest;
        char found[IMAGE_NAME_MAX + 1];
        bool is_same; /* it differs in registry or tag alone */
};

/* "python" of "docker.io/library/python:3.12" */
static const char *
short_name(const char *name, size_t *ret_len)
{
        const char *slash = strrchr(name, '/');

        name = slash ? slash + 1 : name;
        *ret_len = strcspn(name, ":@");
        return name;
}

static int
try_guess(void *ctx, const char *name, const struct digest *image)
{
        struct guess *g = ctx;
        size_t len, wanted_len;
        const char *mine = short_name(name, &len), *wanted = short_name(g->wanted, &wanted_len);
        bool is_same = len == wanted_len && strncmp(mine, wanted, len) == 0;

        (void)image;
        if (g->is_same || (!is_same && !nearest_try(&g->nearest, name, name)))
                return 0;
        g->is_same = is_same;
        (void)snprintf(g->found, sizeof g->found, "%s", name);
        return 0;
}

static int
not_found_near(const struct image_store *s, struct error *e, const char *name)
{
        struct guess guess = { .wanted = name, .nearest = nearest_begin(name) };

        if (image_store_names(s, try_guess, &guess, e) < 0)
                return -1;
        (void)not_found(e, name);
        if (guess.found[0] != '\0')
                error_hint(e, "Did you mean %.200s? `carrel image ls` lists the images.",
                           guess.found);
        return -1;
}

/* 1: NAME@sha256:HEX, and there is such an image; 0: no digest; -1: no such image. */
static int
find_pinned(const struct image_store *s, const char *name, struct digest *ret, struct error *e)
{
        const char *digest = strstr(name, PINNED);
        char hex[DIGEST_HEX];

        if (!digest || !digest_read(digest + 1, ret))
                return 0;
        digest_hex(ret, hex);
        return faccessat(s->records, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? 1 : not_found(e, name);
}

int
image_store_find(const struct image_store *s, const char *name, struct digest *ret, struct error *e)
{
        char encoded[IMAGE_NAME_ROOM];
        int pinned = find_pinned(s, name, ret, e);

        if (pinned != 0)
                return pinned < 0 ? -1 : 0;
        if (!image_name_is_valid(name) || name_encode(name, encoded, sizeof encoded) == 0)
                return not_found(e, name);
        switch (read_name(s, encoded, ret)) {
        case 0:
                return 0;
        case 1:
                return find_by_digits(s, name, ret, e) == 0 ? 0
                       : e->code == ERROR_IMAGE_NOT_FOUND && !e->reason[0]
                               ? not_found_near(s, e, name)
                               : -1;
        default:
                return unusable(e, errno, "reading a name");
        }
}

int
image_store_name(struct image_store *s, const char *name, const struct digest *image,
                 struct error *e)
{
        char encoded[IMAGE_NAME_ROOM], text[DIGEST_HEX + 1];

        if (!image_name_is_free(name) || name_encode(name, encoded, sizeof encoded) == 0) {
                (void)fail(e, ERROR_INVALID_ARGUMENT, "%.200s is no name of an image", name);
                error_hint(e, "A name has %s.", IMAGE_NAME_SHAPE);
                return -1;
        }
        digest_hex(image, text);
        text[DIGEST_HEX - 1] = '\n';
        return image_store_write(s, s->names, encoded, text, DIGEST_HEX, e);
}

int
image_store_unname(struct image_store *s, const char *name, struct error *e)
{
        char encoded[IMAGE_NAME_ROOM];

        if (!image_name_is_valid(name) || name_encode(name, encoded, sizeof encoded) == 0)
                return not_found(e, name);
        if (unlinkat(s->names, encoded, 0) == 0)
                return fsync(s->names) < 0 ? write_failed(e, errno) : 0;
        return errno == ENOENT ? not_found_near(s, e, name) : write_failed(e, errno);
}

static int
list_names(const struct image_store *s, DIR *dir,
           int (*each)(void *ctx, const char *name, const struct digest *image), void *ctx,
           struct error *e)
{
        struct dirent *entry;
        int result = 0;

        while (result == 0 && (entry = readdir(dir))) {
                char name[IMAGE_NAME_ROOM];
                struct digest image;

                if (entry->d_name[0] == '.' || !name_decode(entry->d_name, name, sizeof name))
                        continue;
                switch (read_name(s, entry->d_name, &image)) {
                case 0:
                        result = each(ctx, name, &image);
                        break;
                case 1: /* removed meanwhile */
                        break;
                default:
                        return unusable(e, errno, "reading a name");
                }
        }
        return result;
}

int
image_store_names(const struct image_store *s,
                  int (*each)(void *ctx, const char *name, const struct digest *image), void *ctx,
                  struct error *e)
{
        int copy = openat(s->names, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy < 0 ? NULL : fdopendir(copy);
        int result;

        if (!dir) {
                scoped_fd_close(&copy);
                return unusable(e, errno, "listing the names");
        }
        result = list_names(s, dir, each, ctx, e);
        (void)closedir(dir);
        return result;
}
