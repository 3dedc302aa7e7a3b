/*
 * wire/file.c - reads the entries of a listing.
 *
 * Room: wire (words). Touches: nothing.
 */
#include "wire/file.h"

#include <errno.h>
#include <string.h>

const char *
file_kind_name(uint32_t kind)
{
        static const char *const names[] = {
                [FILE_REGULAR] = "file",    [FILE_DIRECTORY] = "directory", [FILE_LINK] = "link",
                [FILE_FIFO] = "fifo",       [FILE_SOCKET] = "socket",       [FILE_BLOCK] = "device",
                [FILE_CHARACTER] = "device"
        };

        return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

int
file_entry_next(const void *bytes, size_t len, size_t *at, struct file_listed *ret)
{
        const char *from = (const char *)bytes + *at;
        struct file_entry *e = &ret->entry;
        size_t texts;

        if (len - *at < sizeof *e)
                return 0;
        memcpy(e, from, sizeof *e);
        if (e->target_len > FILE_PATH_MAX ||
            (e->kind == FILE_MORE
                     ? e->path_len > FILE_AFTER_MAX
                     : e->path_len > FILE_PATH_MAX || e->path_len == 0 || !file_kind_name(e->kind)))
                return -EPROTO;
        texts = (size_t)e->path_len + e->target_len;
        if (len - *at - sizeof *e < texts)
                return 0;
        ret->path = from + sizeof *e;
        ret->target = ret->path + e->path_len;
        if (memchr(ret->path, '\0', texts))
                return -EPROTO;
        *at += sizeof *e + texts;
        return 1;
}
