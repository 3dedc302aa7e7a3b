/*
 * maker/beneath.c - opens directories beneath a source, through the source's descriptor.
 *
 * Room: maker (program). Touches: fd, names beneath a source (reading only).
 */
#include "maker/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "maker/kernel.h"

enum { PIECE_ROOM = 256 };

bool
beneath_join(char ret[BENEATH_PATH_ROOM], const char *directory, const char *name)
{
        return snprintf(ret, BENEATH_PATH_ROOM, "%s%s%s", directory,
                        directory[0] != '\0' ? "/" : "", name) < BENEATH_PATH_ROOM;
}

/* Before Linux 5.6, or if a seccomp profile does not know openat2. */
static int
open_by_pieces(int source, const char *path, int flags)
{
        int dir = openat(source, ".", (*path == '\0' ? flags : O_PATH) | O_DIRECTORY | O_CLOEXEC);

        while (dir >= 0 && *path != '\0') {
                size_t len = strcspn(path, "/");
                char name[PIECE_ROOM];
                int next;

                if (len >= sizeof name || len == 0 || (len == 2 && memcmp(path, "..", 2) == 0)) {
                        (void)close(dir);
                        return -EINVAL;
                }
                memcpy(name, path, len);
                name[len] = '\0';
                path += len + (path[len] == '/');
                next = openat(dir, name,
                              (*path == '\0' ? flags : O_PATH) | O_DIRECTORY | O_NOFOLLOW |
                                      O_CLOEXEC);
                (void)close(dir);
                dir = next;
        }
        return dir < 0 ? -errno : dir;
}

int
beneath_open(int source, const char *path, int flags)
{
        int dir = kernel_openat2(source, path[0] != '\0' ? path : ".",
                                 (unsigned)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                                 KERNEL_NO_SYMLINKS | KERNEL_BENEATH);

        return dir == -ENOSYS || dir == -EPERM ? open_by_pieces(source, path, flags) : dir;
}
