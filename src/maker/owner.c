/*
 * maker/owner.c - the file-system identity of a directory's owner.
 *
 * Room: maker (program). Touches: its own file-system ids.
 */
#include "maker/owner.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_owner;

void
owner_enter(int dir)
{
        struct stat st;

        if (geteuid() != 0 || fstat(dir, &st) < 0)
                return;
        (void)syscall(SYS_setfsgid, st.st_gid);
        (void)syscall(SYS_setfsuid, st.st_uid);
        is_owner = true;
}

void
owner_leave(void)
{
        if (!is_owner)
                return;
        is_owner = false;
        (void)syscall(SYS_setfsuid, geteuid());
        (void)syscall(SYS_setfsgid, getegid());
}
