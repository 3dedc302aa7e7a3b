/*
 * maker/group.h - control groups by their files: make, limit, read, kill, remove. Paths come from a plan.
 */
#ifndef CARREL_MAKER_GROUP_H
#define CARREL_MAKER_GROUP_H

#include <stddef.h>
#include <stdint.h>

/* Writes `len` bytes to a control file in one write. 0 or -errno. */
int group_write(const char *path, const char *value, size_t len);

/* Writes each blank-separated word by itself and passes over those the kernel does not know. 0 or -errno. */
int group_write_words(const char *path, const char *words);

/* "<dir>/<file>" into `out`. 0 or -ENAMETOOLONG. */
int group_path(char *out, size_t room, const char *dir, const char *file);

/* Decimal digits of `number` into `out` (at least 21 bytes); gives their count. */
size_t group_number(char *out, uint64_t number);

/* Kills every member (cgroup.kill where there is one, else one by one) and removes the group, with two levels of groups inside it; waits for the kernel
 * to let go, at most two seconds. 0 (also when it is gone already) or -errno. */
int group_remove(const char *dir);

/* The number after `key ` in a control file, or the whole file's number when key is "". UINT64_MAX if unreadable. */
uint64_t group_read(int fd, const char *key);

#endif
