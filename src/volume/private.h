/*
 * volume/private.h - a directory for one sandbox, removed with it.
 *
 *     STATE/private/.new-ID    while it is created
 *                  /.gone-ID   locked by its maker as long as its sandbox lives; without a lock,
 *                              volume_sweep(STATE/private) erases it
 *
 * From the start it has the name of a removed directory, so a sweep finds it if the maker is
 * killed.
 */
#ifndef CARREL_VOLUME_PRIVATE_H
#define CARREL_VOLUME_PRIVATE_H

#include <stdint.h>

enum { PRIVATE_NAME_ROOM = 32 };

struct private_directory {
        int dir; /* the directory of all of them; -1: none */
        int top; /* this one, locked; -1: none */
        char name[PRIVATE_NAME_ROOM];
};

/*
 * Creates the directory of the sandbox `id` below `directory` (absolute; created with mode 0700 if
 * it is missing), owned by `uid` and `gid`, mode 0700. Returns 0 or -errno: -EPERM if `directory`
 * belongs to another user or is open to others, -EEXIST. End it with private_close().
 */
int private_open(const char *directory, uint64_t id, uint32_t uid, uint32_t gid,
                 struct private_directory *ret);

/*
 * Erases it with its content and releases the lock; a later sweep erases what is left. Accepts one
 * that holds nothing (-1).
 */
void private_close(struct private_directory *p);

#endif
