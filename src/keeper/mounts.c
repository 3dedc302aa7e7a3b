/*
 * keeper/mounts.c - the writable mounts of a sandbox, for the process that looks for changed files.
 *
 * Room: keeper (joining). Touches: fd, the directories below STATE/boxes, the sources of mounts.
 */
#include "keeper/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/write_all.h"
#include "keeper/box_parts.h"

enum { FILE_MAX = WIRE_BODY_MAX, OPEN_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC };

/* Before the three texts of a mount in the file. */
struct identity {
        uint64_t device, inode;
};

void
mounts_fini(struct mounts *m)
{
        for (size_t i = 0; i < m->count; i++)
                if (m->items[i].fd >= 0)
                        (void)close(m->items[i].fd);
        free(m->memory);
        m->count = 0;
        m->memory = NULL;
}

enum mounts_state
mounts_of(const struct sources *sources, struct mounts *ret)
{
        ret->count = 0;
        ret->memory = NULL;
        for (size_t i = 0; i < sources->count; i++) {
                const struct plan_mount *mount = &sources->mounts[i];
                const struct plan_source *source = &sources->items[mount->source];
                int fd;

                if (mount->is_read_only)
                        continue;
                fd = source->volume ? open(source->host_path, OPEN_FLAGS | O_DIRECTORY)
                                    : fcntl(sources->fds[mount->source], F_DUPFD_CLOEXEC, 3);
                if (fd < 0)
                        return source->volume && errno == ENOENT ? MOUNTS_LATER : MOUNTS_FAILED;
                ret->items[ret->count++] =
                        (struct mount){ fd, mount->at, source->hidden ? source->hidden : "",
                                        source->host_path };
        }
        return MOUNTS_READY;
}

int
mounts_save(struct keeper *k, const char *id, const struct mounts *m)
{
        scoped_fd int directory = box_open_directory(k, id), fd = -1;

        if (directory < 0)
                return -1;
        fd = openat(directory, "mounts", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
        for (size_t i = 0; fd >= 0 && i < m->count; i++) {
                const char *const texts[] = { m->items[i].at, m->items[i].hidden,
                                              m->items[i].path };
                struct identity identity;
                struct stat st;

                if (fstat(m->items[i].fd, &st) < 0)
                        return -1;
                identity = (struct identity){ st.st_dev, st.st_ino };
                if (write_all(fd, &identity, sizeof identity) < 0)
                        return -1;
                for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
                        if (write_all(fd, texts[t], strlen(texts[t]) + 1) < 0)
                                return -1;
        }
        return fd < 0 ? -1 : 0;
}

bool
mounts_is_volume(const struct keeper *k, const struct mount *m)
{
        size_t len = strlen(k->host.volumes);

        return strncmp(m->path, k->host.volumes, len) == 0 &&
               strncmp(m->path + len, "/volumes/", sizeof "/volumes/" - 1) == 0;
}

/* The next text; NULL: there is none. */
static const char *
next_text(const char **at, const char *end)
{
        const char *text = *at, *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;

        if (nul)
                *at = nul + 1;
        return nul ? text : NULL;
}

static enum mounts_state
open_all(struct mounts *m, const char *at, const char *end)
{
        while (at < end && m->count < SOURCES_MAX) {
                struct mount *one = &m->items[m->count];
                struct identity identity;
                struct stat st;

                if ((size_t)(end - at) < sizeof identity)
                        return MOUNTS_FAILED;
                memcpy(&identity, at, sizeof identity);
                at += sizeof identity;
                one->at = next_text(&at, end);
                one->hidden = next_text(&at, end);
                one->path = next_text(&at, end);
                if (!one->path)
                        return MOUNTS_FAILED;
                one->fd = open(one->path, OPEN_FLAGS);
                if (one->fd < 0)
                        return MOUNTS_FAILED;
                m->count++;
                if (fstat(one->fd, &st) < 0 || st.st_dev != identity.device ||
                    st.st_ino != identity.inode)
                        return MOUNTS_FAILED;
        }
        return MOUNTS_READY;
}

enum mounts_state
mounts_load(struct keeper *k, const char *id, struct mounts *ret)
{
        scoped_fd int directory = box_open_directory(k, id), fd = -1;
        size_t len = 0;
        ssize_t got;

        ret->count = 0;
        ret->memory = NULL;
        if (directory >= 0)
                fd = openat(directory, "mounts", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return MOUNTS_FAILED;
        ret->memory = malloc(FILE_MAX);
        if (!ret->memory)
                return MOUNTS_FAILED;
        while (len < FILE_MAX && (got = read(fd, ret->memory + len, FILE_MAX - len)) > 0)
                len += (size_t)got;
        return open_all(ret, ret->memory, ret->memory + len);
}
