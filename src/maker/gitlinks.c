/*
 * maker/gitlinks.c - finds the gitlinks of a repository's index that are not in a list.
 *
 * Room: maker (program). Touches: fd, an index; memory of its own.
 * Theory: the payload may have written the index. The maker reads the whole file; a child that can
 * only answer parses it (confined.h).
 */
#include "maker/gitlinks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/index.h"
#include "maker/confined.h"

bool
gitlinks_has(const char *list, size_t list_len, char letter, const char *path)
{
        for (const char *at = list, *end = at + list_len; at < end; at += strlen(at) + 1)
                if (at[0] == letter && strcmp(at + 1, path) == 0)
                        return true;
        return false;
}

struct index {
        const void *bytes;
        size_t len;
        const char *list;
        size_t list_len;
};
struct collecting {
        const struct index *index;
        struct gitlinks *links;
};

static void
collect(void *arg, const char *name)
{
        struct collecting *c = arg;
        size_t len = strlen(name) + 1;

        if (gitlinks_has(c->index->list, c->index->list_len, 'l', name))
                return;
        if (c->links->len + len > sizeof c->links->names) {
                c->links->is_whole = 0;
                return;
        }
        memcpy(c->links->names + c->links->len, name, len);
        c->links->len += (unsigned)len;
}

static size_t
list_links(const void *about, void *ret)
{
        struct collecting c = { about, ret };

        c.links->is_whole = 1;
        if (git_index_links(c.index->bytes, c.index->len, collect, &c) < 0)
                c.links->is_whole = 0;
        return offsetof(struct gitlinks, names) + c.links->len;
}

/* Reads the whole file into allocated memory; NULL if that fails. */
static char *
read_index(int git, size_t *ret_len)
{
        int fd = openat(git, "index", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat st;
        char *bytes = MAP_FAILED;
        ssize_t got = 1;
        size_t len = 0;

        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
            st.st_size <= GIT_INDEX_MAX)
                bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        while (bytes != MAP_FAILED && len < (size_t)st.st_size &&
               (got = read(fd, bytes + len, (size_t)st.st_size - len)) > 0)
                len += (size_t)got;
        if (bytes != MAP_FAILED && len != (size_t)st.st_size) {
                (void)munmap(bytes, (size_t)st.st_size);
                bytes = MAP_FAILED;
        }
        if (fd >= 0)
                (void)close(fd);
        *ret_len = len;
        return bytes == MAP_FAILED ? NULL : bytes;
}

void
gitlinks_read(int git, const char *list, size_t list_len, struct gitlinks *ret)
{
        struct index index = { .list = list, .list_len = list_len };
        char *bytes = read_index(git, &index.len);

        ret->len = ret->is_whole = 0;
        if (!bytes)
                return;
        index.bytes = bytes;
        if (confined_ask(list_links, &index, ret, sizeof *ret) <
                    (ssize_t)offsetof(struct gitlinks, names) ||
            ret->len > sizeof ret->names)
                ret->len = ret->is_whole = 0;
        (void)munmap(bytes, index.len);
        if (ret->len > 0)
                ret->names[ret->len - 1] = '\0';
}
