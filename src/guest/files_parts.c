/*
 * guest/files_parts.c - what the parts of guest/files.h share.
 *
 * Room: guest (program). Touches: fd.
 */
#include "guest/files_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

int
files_number(const char *text, uint64_t max, uint64_t *ret)
{
        char *end;

        errno = 0;
        *ret = strtoull(text, &end, 10);
        return text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || *ret > max ? EINVAL
                                                                                          : 0;
}

uint32_t
files_kind(mode_t mode)
{
        static const struct {
                mode_t type;
                uint32_t kind;
        } kinds[] = {
                { S_IFREG, FILE_REGULAR },   { S_IFDIR, FILE_DIRECTORY }, { S_IFLNK, FILE_LINK },
                { S_IFIFO, FILE_FIFO },      { S_IFSOCK, FILE_SOCKET },   { S_IFBLK, FILE_BLOCK },
                { S_IFCHR, FILE_CHARACTER },
        };

        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if ((mode & S_IFMT) == kinds[i].type)
                        return kinds[i].kind;
        return FILE_CHARACTER;
}

int64_t
files_mtime_ns(const struct stat *st)
{
        return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

struct file_entry
files_entry(const struct stat *st)
{
        return (struct file_entry){ .size = (uint64_t)st->st_size,
                                    .mtime_ns = files_mtime_ns(st),
                                    .kind = files_kind(st->st_mode),
                                    .mode = st->st_mode & FILES_MODE_ALL };
}

int
files_temp_name(char name[FILES_TEMP_LEN])
{
        uint64_t chance;

        if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
                return EIO;
        (void)snprintf(name, FILES_TEMP_LEN, ".carrel-%016" PRIx64, chance);
        return 0;
}

long
files_dirents(int dir, void *list, size_t room)
{
        long len = syscall(SYS_getdents64, dir, list, room);

        return len < 0 ? -errno : len;
}

int
files_is_dots(const char *name)
{
        return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}
