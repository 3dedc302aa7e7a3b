/*
 * audit/files.h - the files of an audit log: opened beneath its directory, never by path.
 *
 * Functions return 0 or a descriptor, or -1 with ERROR_AUDIT_UNAVAILABLE (reason "missing" if there
 * is no such file) or ERROR_NO_MEMORY, unless they say otherwise.
 */
#ifndef CARREL_AUDIT_FILES_H
#define CARREL_AUDIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/entry.h"
#include "base/error.h"

enum { AUDIT_FILE_NAME_MAX = 40 };

/* The log files' first entries, ascending. */
struct audit_file_list {
        uint64_t *first;
        size_t count;
};

/* The last whole line of a file, and what is behind it. */
struct audit_file_tail {
        char *memory;     /* the caller frees it */
        const char *line; /* in `memory`, without its line end; NULL: no whole line */
        size_t len;
        off_t whole; /* bytes up to the end of the last whole line */
        size_t torn; /* bytes behind it */
};

/* The directory at an absolute path, of this user and closed to others. */
int audit_file_open_directory(const char *path, bool makes, struct error *e);

int audit_file_lock(int dir, int how, struct error *e);
void audit_file_unlock(int dir);

int audit_file_list(int dir, struct audit_file_list *ret, struct error *e);
void audit_file_list_fini(struct audit_file_list *list);

void audit_file_name(uint64_t first, char ret[AUDIT_FILE_NAME_MAX]);
int audit_file_open_log(int dir, uint64_t first, int flags, struct error *e);
int audit_file_size(int dir, uint64_t first, off_t *ret, struct error *e);
int audit_file_read_tail(int fd, struct audit_file_tail *ret, struct error *e);
/* The same up to the first line with a zero byte. Reads the whole file. */
int audit_file_read_written(int fd, struct audit_file_tail *ret, struct error *e);

/* SHA-256 of `len` bytes at `at`, in hex. */
int audit_file_hash(int fd, off_t at, size_t len, char ret[AUDIT_HASH_TEXT], struct error *e);

/* A small file, at most `room` bytes. */
int audit_file_read(int dir, const char *name, char *out, size_t room, size_t *ret_len,
                    struct error *e);

/* Replaces a small file at once (rename); `syncs`: it is on the disk afterwards. */
int audit_file_replace(int dir, const char *name, const char *bytes, size_t len, bool syncs,
                       struct error *e);

#endif
