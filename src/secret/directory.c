/*
 * secret/directory.c - a directory with one file for each slug, as systemd gives its services
 * ($CREDENTIALS_DIRECTORY).
 *
 * Room: secret (acting). Touches: fd, the environment (CREDENTIALS_DIRECTORY).
 * Theory: opened by handle and beneath it: links that lead out are refused by the kernel. The
 * directory belongs to this user or root, and other users cannot write to it. A line feed at the
 * end of a file is the editor's, and is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"
#include "secret/sources.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

enum { NAME_ROOM = 96 };

static int
open_directory(const char *path, struct error *e)
{
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat st;

        if (fd < 0)
                return fail_sys(e, ERROR_FILE_UNREADABLE, errno,
                                "opening the directory of secrets %.200s", path);
        if (fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
            (st.st_mode & 022) == 0)
                return fd;
        (void)close(fd);
        return fail(e, ERROR_FILE_UNREADABLE,
                    "the directory of secrets %.200s is not ours, or others can write to it", path);
}

/* A name cannot contain "/", and a slug cannot contain ".". */
static int
open_slug(int directory, const char *slug)
{
        struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
        char name[NAME_ROOM];
        char *slash;

        (void)snprintf(name, sizeof name, "%s", slug);
        slash = strchr(name, '/');
        if (slash)
                *slash = '.';
        return (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
}

static int
read_value(int fd, const char *path, const char *slug, struct secret_values *values,
           struct error *e)
{
        size_t room, len;
        char *text = secret_values_room(values, &room);

        if (secret_file_read(fd, path, text, room, &len, e) < 0)
                return -1;
        if (len > 0 && text[len - 1] == '\n')
                len--;
        return secret_values_keep(values, slug, len, path, e) < 0 ? -1 : 1;
}

int
secret_directory_fetch(const struct host_source *source, const char *slug,
                       struct secret_values *values, struct error *e)
{
        const char *path = source->path[0] == '$' ? getenv("CREDENTIALS_DIRECTORY") : source->path;
        scoped_fd int directory = -1;
        scoped_fd int fd = -1;
        char shown[NAME_ROOM + 256];

        if (!path)
                return fail(
                        e, ERROR_FILE_UNREADABLE,
                        "there is no $CREDENTIALS_DIRECTORY: the service has no LoadCredential=");
        directory = open_directory(path, e);
        if (directory < 0)
                return -1;
        fd = open_slug(directory, slug);
        (void)snprintf(shown, sizeof shown, "%.200s/%.80s", path, slug);
        if (fd < 0 && errno == ENOENT)
                return 0;
        if (fd < 0)
                return fail_sys(e, ERROR_FILE_UNREADABLE, errno, "%s",
                                errno == EXDEV || errno == ELOOP
                                        ? "a link leads out of the directory of secrets"
                                        : shown);
        return secret_file_check(fd, shown, SECRET_FILE_MAX, e) < 0
                       ? -1
                       : read_value(fd, shown, slug, values, e);
}
