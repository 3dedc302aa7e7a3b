/*
 * guest/files_parts.h - what the parts of guest/files.h share. Private to them.
 */
#ifndef CARREL_GUEST_FILES_PARTS_H
#define CARREL_GUEST_FILES_PARTS_H

#include <stdint.h>
#include <sys/stat.h>

#include "guest/files_io.h"
#include "wire/file.h"

/* The operations: 0 or an errno value. argv[1] is the first argument; their number was checked. */
int files_read(char *const *argv, struct files_io *io);
int files_write(char *const *argv, struct files_io *io);
int files_list(char *const *argv, struct files_io *io);
int files_page(char *const *argv, struct files_io *io);
int files_remove(char *const *argv, struct files_io *io);

/* Reads a decimal number; the whole text must match. 0 or EINVAL. */
int files_number(const char *text, uint64_t max, uint64_t *ret);

/* Permissions, with the set-id and sticky bits. */
enum { FILES_MODE_ALL = 07777 };

uint32_t files_kind(mode_t mode);
int64_t files_mtime_ns(const struct stat *st);
struct file_entry files_entry(const struct stat *st);

/* A unique name for a temporary file: 16 random hexadecimal digits. 0 or an errno value. */
enum { FILES_TEMP_LEN = 32 };
int files_temp_name(char name[FILES_TEMP_LEN]);

/* Linux's own directory entries: reading them needs no memory of the C library. */
struct files_dirent {
        uint64_t inode;
        int64_t next;
        unsigned short len;
        unsigned char type;
        char name[];
};

/* Reads a part of a directory. Returns bytes, 0 at its end, or -errno. */
long files_dirents(int dir, void *list, size_t room);
int files_is_dots(const char *name);

#endif
