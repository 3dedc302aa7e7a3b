/*
 * changes/table.h - the names of a sandbox's writable mounts as one look found them, in the order
 * of audit/names.h.
 */
#ifndef CARREL_CHANGES_TABLE_H
#define CARREL_CHANGES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define CHANGES_NONE UINT32_MAX

enum changes_flag {
        CHANGES_FRESH = 1u << 0,  /* changed in the clock tick of the look, or shortly before */
        CHANGES_DIGEST = 1u << 1, /* `digest` is known */
        CHANGES_CLOSED = 1u << 2, /* a directory that could not be read */
        CHANGES_NEW = 1u << 3,    /* not in the table before */
        CHANGES_GONE = 1u << 4,   /* not in the table after */
        CHANGES_BY = 1u << 5      /* since the commands began */
};

struct changes_entry {
        uint64_t device, inode, size;
        int64_t changed_ns; /* ctime, which a program cannot set */
        uint64_t digest;    /* beginning of the SHA-256 of the content or link target */
        uint32_t mode, uid, gid;
        uint32_t path;   /* offset of its path in the mount, in `paths` */
        uint32_t parent; /* index of its directory; CHANGES_NONE: the mount */
        uint32_t twin;   /* index in the other table; CHANGES_NONE */
        uint8_t root, flags;
};

struct changes_table {
        struct changes_entry *entries;
        char *paths;
        size_t count, room, paths_len, paths_room;
        /* entries from this index on are not all that there are; SIZE_MAX: they are */
        size_t whole;
};

/* An empty table. Clears what `t` may hold. */
void changes_table_init(struct changes_table *t);
void changes_table_fini(struct changes_table *t);

/* Adds an entry. `path`: in the mount. Returns its index, or CHANGES_NONE without memory. */
uint32_t changes_table_add(struct changes_table *t, unsigned root, const char *path,
                           uint32_t parent, const struct stat *st);

const char *changes_table_path(const struct changes_table *t, const struct changes_entry *entry);

/* Orders names as audit/names.h visits them: below 0, 0, above 0. */
int changes_table_compare(unsigned root_a, const char *a, unsigned root_b, const char *b);

/* The entries are not all from here on. */
void changes_table_cut(struct changes_table *t);

#endif
