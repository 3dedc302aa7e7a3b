/*
 * prepare/private.c - finds where private directories for /tmp and the home can be
 * created.
 *
 * Room: prepare (joining). Touches: fd; looks at the state directory.
 * Theory: a sandbox can change what its mounts show, so no private directory is below a mount.
 */
#include "prepare/private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "base/scoped.h"
#include "prepare/image.h"

enum { PATH_ROOM = 4096 };

/* Cuts `path` to the nearest directory that exists, and opens it. */
static int
open_nearest(char *path)
{
        int fd;

        while ((fd = open(*path != '\0' ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 &&
               *path != '\0')
                *strrchr(path, '/') = '\0';
        return fd;
}

/* The host path of the mount that shows the directory `fd`, or NULL. */
static const char *
find_mount(int fd, const struct sources *sources)
{
        char link[40], real[PATH_ROOM];
        ssize_t len;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        len = readlink(link, real, sizeof real - 1);
        if (len <= 0)
                return "an unknown path";
        real[len] = '\0';
        for (size_t i = 0; i < sources->count; i++)
                if (!sources->items[i].volume && path_below(real, sources->items[i].host_path))
                        return sources->items[i].host_path;
        return NULL;
}

const char *
private_find(struct arena *arena, const struct prepare_host *host, struct sources *sources,
             const char **ret_place)
{
        char *place = host->volumes ? arena_format(arena, "%s/private", host->volumes) : NULL,
             *path = place ? arena_text(arena, place) : NULL;
        const char *why, *shown;
        scoped_fd int fd = -1;
        struct stat st;

        if (!path || strlen(place) >= PATH_ROOM / 2)
                return "the state directory is unknown: none of CARREL_STATE, "
                       "XDG_STATE_HOME and HOME is set";
        if (sources->count == SOURCES_MAX)
                return "there are too many mounts";
        fd = open_nearest(path);
        if (fd < 0 || fstat(fd, &st) < 0)
                return arena_format(arena, "%s cannot be opened", place);
        shown = find_mount(fd, sources);
        if (shown)
                return arena_format(arena,
                                    "%s would be below the mount of %s, which shows it as well",
                                    place, shown);
        why = image_judge_disk(arena, fd, place, 0);
        if (why)
                return why;
        *ret_place = place;
        sources_add_image(sources, fd_take(&fd),
                          &(struct plan_source){ .host_path = place,
                                                 .device = st.st_dev,
                                                 .inode = st.st_ino,
                                                 .is_directory = true });
        return NULL;
}
