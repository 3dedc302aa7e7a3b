/*
 * guest/read.c - reads a part of a regular file.
 *
 * Room: guest (program). Touches: names of the box, fd.
 * Theory: the kind of a name is checked before it is opened, so that no FIFO gets a reader and no
 * device is opened. It is checked again afterwards, because the name may have changed. The size at
 * that moment limits the answer. Nothing is mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/write_all.h"
#include "guest/files_parts.h"
#include "guest/path_walk.h"

enum { PIECE = 64 * 1024 };

static int
refusal(mode_t mode)
{
        return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? EISDIR : S_ISLNK(mode) ? ELOOP : ENXIO;
}

static int
open_regular(const struct path_walk *w, struct stat *ret, int *ret_fd)
{
        int fd, sys;

        if (fstatat(w->dir, w->name, ret, AT_SYMLINK_NOFOLLOW) < 0)
                return errno;
        sys = refusal(ret->st_mode);
        if (sys != 0)
                return sys;
        if (w->wants_directory)
                return ENOTDIR;
        fd = openat(w->dir, w->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return errno;
        sys = fstat(fd, ret) < 0 ? errno : path_walk_is_proc(fd) ? EACCES : refusal(ret->st_mode);
        if (sys != 0)
                (void)close(fd);
        else
                *ret_fd = fd;
        return sys;
}

static int
copy(int from, int to, uint64_t offset, uint64_t len)
{
        static char piece[PIECE];

        while (len > 0) {
                ssize_t got =
                        pread(from, piece, len < sizeof piece ? len : sizeof piece, (off_t)offset);
                int sys;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return got < 0 ? errno : 0; /* 0: the file has become shorter */
                sys = -write_all(to, piece, (size_t)got);
                if (sys != 0)
                        return sys;
                offset += (uint64_t)got;
                len -= (uint64_t)got;
        }
        return 0;
}

int
files_read(char *const *argv, struct files_io *io)
{
        uint64_t offset, len, left;
        struct file_info info;
        struct path_walk w;
        struct stat st;
        int fd = -1, sys;

        if (files_number(argv[2], INT64_MAX, &offset) != 0 ||
            files_number(argv[3], UINT64_MAX, &len) != 0)
                return EINVAL;
        sys = path_walk_open(argv[1], PATH_WALK_FOLLOW, &w);
        if (sys != 0)
                return sys;
        sys = open_regular(&w, &st, &fd);
        path_walk_fini(&w);
        if (sys != 0)
                return sys;
        info = (struct file_info){ (uint64_t)st.st_size, files_mtime_ns(&st), st.st_mode & 07777,
                                   FILE_REGULAR };
        left = info.size > offset ? info.size - offset : 0;
        sys = -write_all(io->out, &info, sizeof info);
        if (sys == 0)
                sys = copy(fd, io->out, offset, len < left ? len : left);
        (void)close(fd);
        return sys;
}
