/*
 * cli/audit_place.c - where the caller's own audit log is.
 *
 * Room: cli (joining, program). Touches: the environment, names of directories.
 */
#include "cli/audit_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/state.h"

int
audit_place(struct arena *arena, const char *named, const char *state, const char **ret,
            struct error *e)
{
        char path[PATH_MAX];

        if (named && !realpath(named, path)) {
                (void)fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "opening the audit log %s",
                               named);
                error_hint(e, "Check the path of --log. Without it, your own log is read.");
                return -1;
        }
        if (!named && state_choose(arena, state, &state, e) < 0)
                return -1;
        if (!named && (size_t)snprintf(path, sizeof path, "%s/audit/uid:%u", state,
                                       (unsigned)geteuid()) >= sizeof path)
                return fail(e, ERROR_AUDIT_UNAVAILABLE, "the path of the audit log is too long");
        *ret = arena_text(arena, path);
        return *ret ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}
