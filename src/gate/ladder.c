/*
 * gate/ladder.c - drops access to files, programs and listening; only outgoing connections remain.
 *
 * Room: gate (acting). Touches: this process.
 * Theory: an attacker that exploits a parser here gets the sockets of walls, other sandboxes'
 * connections, and the network itself. The operator's firewall still sees that traffic as this
 * user's. On a kernel without Landlock, `carrel doctor` reports it; the system call filter opens no
 * file either.
 */
#include "gate/ladder.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "filter/own.h"
#include "filter/shut.h"

enum { FILES_MAX = 1 << 20 };

int
gate_close_world(size_t *ret_files, struct error *e)
{
        struct rlimit files, none = { 0, 0 };
        int result;

        *ret_files = 1024;
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
                (void)setrlimit(RLIMIT_NOFILE, &files);
                *ret_files = (size_t)files.rlim_cur;
        }
        (void)setrlimit(RLIMIT_CORE, &none);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "giving up privileges");
        result = shut_capabilities();
        if (result < 0)
                return fail_sys(e, ERROR_INTERNAL, -result, "dropping capabilities");
        result = shut_files(SHUT_LISTEN /* a gate must connect */);
        if (result < 0)
                return fail_sys(e, ERROR_INTERNAL, -result,
                                "closing the file system with Landlock");
        result = filter_enter(FILTER_GATE);
        if (result < 0)
                return fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, -result,
                                "closing the gate to calls it never makes");
        return 0;
}
