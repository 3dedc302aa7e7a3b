/*
 * door/ladder.c - drops access to files, programs and outgoing connections.
 *
 * Room: door (joining). Touches: this process.
 * Theory: an attacker that takes over the parser finds accepted sockets and one link to the keeper,
 * and can open nothing. On a kernel without Landlock, which doctor reports, only the system call
 * filter remains.
 */
#include "door/ladder.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "filter/shut.h"

enum { FILES_MAX = 8192 };

int
ladder_close_world(struct error *e)
{
        struct rlimit files, none = { 0, 0 };
        int result;

        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
                files.rlim_max = files.rlim_cur;
                (void)setrlimit(RLIMIT_NOFILE, &files);
        }
        (void)setrlimit(RLIMIT_CORE, &none);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "giving up privileges");
        result = shut_capabilities();
        if (result < 0)
                return fail_sys(e, ERROR_INTERNAL, -result, "dropping capabilities");
        result = shut_files(SHUT_LISTEN | SHUT_CONNECT);
        if (result < 0)
                return fail_sys(e, ERROR_INTERNAL, -result,
                                "closing the file system with Landlock");
        return 0;
}
