/*
 * changes/table.c - the names of a sandbox's writable mounts as one look found them.
 *
 * Room: changes (joining). Touches: mem.
 */
#include "changes/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

enum { NANO = 1000 * 1000 * 1000 };

void
changes_table_init(struct changes_table *t)
{
        *t = (struct changes_table){ .whole = SIZE_MAX };
}

void
changes_table_fini(struct changes_table *t)
{
        free(t->entries);
        free(t->paths);
        changes_table_init(t);
}

uint32_t
changes_table_add(struct changes_table *t, unsigned root, const char *path, uint32_t parent,
                  const struct stat *st)
{
        size_t len = strlen(path) + 1;
        char *entries = (char *)t->entries;

        if (t->count >= CHANGES_NONE || t->paths_len + len >= CHANGES_NONE ||
            buffer_reserve(&t->paths, &t->paths_room, t->paths_len + len) < 0 ||
            buffer_reserve(&entries, &t->room, (t->count + 1) * sizeof *t->entries) < 0)
                return CHANGES_NONE;
        /* lint: buffer_reserve() aligns for any type */
        t->entries = (struct changes_entry *)(void *)entries;
        memcpy(t->paths + t->paths_len, path, len);
        t->entries[t->count] = (struct changes_entry){
                .device = st->st_dev,
                .inode = st->st_ino,
                .size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
                .changed_ns = (int64_t)st->st_ctim.tv_sec * NANO + st->st_ctim.tv_nsec,
                .mode = st->st_mode,
                .uid = st->st_uid,
                .gid = st->st_gid,
                .path = (uint32_t)t->paths_len,
                .parent = parent,
                .twin = CHANGES_NONE,
                .root = (uint8_t)root,
        };
        t->paths_len += len;
        return (uint32_t)t->count++;
}

const char *
changes_table_path(const struct changes_table *t, const struct changes_entry *entry)
{
        return t->paths + entry->path;
}

/* "/" comes before every other byte, and the end before it: a directory, then what is in it. */
static unsigned
rank(char c)
{
        return c == '\0' ? 0 : c == '/' ? 1 : (unsigned)(unsigned char)c + 1;
}

int
changes_table_compare(unsigned root_a, const char *a, unsigned root_b, const char *b)
{
        if (root_a != root_b)
                return root_a < root_b ? -1 : 1;
        while (*a != '\0' && *a == *b) {
                a++;
                b++;
        }
        return rank(*a) < rank(*b) ? -1 : rank(*a) > rank(*b);
}

void
changes_table_cut(struct changes_table *t)
{
        if (t->count < t->whole)
                t->whole = t->count;
}
