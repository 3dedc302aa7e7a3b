/*
 * maker/group.h - control groups through their files: create, limit, read, kill, remove. The plan
 * gives the paths.
 */
#ifndef CARREL_MAKER_GROUP_H
#define CARREL_MAKER_GROUP_H

#include <stddef.h>
#include <stdint.h>

/* Writes `len` bytes to a control file in one write. Returns 0 or -errno. */
int group_write(const char *path, const char *value, size_t len);

/*
 * Writes each blank-separated word with its own write and skips words that the kernel does not
 * know. Returns 0 or -errno.
 */
int group_write_words(const char *path, const char *words);

/* Writes "<dir>/<file>" to `out`. Returns 0 or -ENAMETOOLONG. */
int group_path(char *out, size_t room, const char *dir, const char *file);

/* Writes `number` in decimal to `out` (at least 21 bytes). Returns the number of digits. */
size_t group_number(char *out, uint64_t number);

/*
 * Kills every member (with cgroup.kill if the kernel has it, else one by one). Then removes the
 * group and two levels of groups inside it. Waits at most two seconds until the kernel allows the
 * removal. Returns 0, also if the group does not exist, or -errno.
 */
int group_remove(const char *dir);

#endif
