/*
 * api/start_error.c - why a command did not start, as an error.
 *
 * Room: api (deciding, pure). Touches: nothing.
 * Theory: some values of errno mean the same at every stage (the kernel has no room for another
 * process). All others mean what the stage was doing.
 */
#include "api/start_error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "outcome/lookup.h"

/* Is it a limit of the sandbox or of the machine, and no mistake of the caller? */
static bool
is_shortage(int sys)
{
        return sys == EAGAIN || sys == ENOMEM || sys == EMFILE || sys == ENFILE || sys == ENOSPC;
}

static int
shortage(struct error *e, int sys, const char *name)
{
        (void)fail_sys(e, ERROR_QUOTA_EXCEEDED, sys, "starting %.200s", name);
        error_hint(e, "The sandbox or the machine has no room for another process. End other "
                      "commands, or raise metadata.carrel.limits.pids or limits.memory_mb in "
                      "SANDBOX.md.");
        return -1;
}

static int
directory(struct error *e, int sys, const char *cwd)
{
        (void)fail_sys(e, ERROR_INVALID_ARGUMENT, sys,
                       "the command's working directory (cwd)%s%.200s cannot be entered",
                       *cwd ? " " : "", cwd);
        (void)memcpy(e->path, "cwd", sizeof "cwd");
        error_hint(e,
                   "It must exist inside the sandbox, where a mount brings it in. The call names "
                   "it (--cwd, cwd), or config.cwd in SANDBOX.md. If the directory of a mount was "
                   "removed on "
                   "the host, or replaced by a new one, stop the sandbox and create it again.");
        return -1;
}

/* bridge/process/commands.c and main.c say which errno means what. */
static int
provider(struct error *e, int sys, const char *shown)
{
        if (sys == EACCES)
                return fail(e, ERROR_AUTH_UNRESOLVABLE,
                            "%.200s was not started: the provider refused the key, or got no key",
                            shown);
        if (sys == ENOPKG) {
                (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "provider", "missing",
                              "a package that the provider's program needs is not installed");
                error_hint(e, "docs/BRIDGE.md has the command for each provider, as `npm install "
                              "--prefix /srv/mastra @mastra/e2b@0.8.0`.");
                return -1;
        }
        if (sys == EPROTO)
                (void)fail(e, ERROR_BACKEND_FAILED,
                           "the provider's program broke the bridge protocol");
        else if (sys == ETIMEDOUT)
                (void)fail(e, ERROR_BACKEND_FAILED,
                           "the provider's program did not answer in time");
        else if (sys == EOPNOTSUPP)
                (void)fail(e, ERROR_BACKEND_FAILED,
                           "the provider's program does not have an ability that it needs, or that "
                           "the host file promises");
        else
                (void)fail_sys(e, ERROR_BACKEND_FAILED, sys, "the provider did not start %.200s",
                               shown);
        error_hint(e, "The operator can find out why: `carrel provider test -- PROGRAM`, with the "
                      "program of the host file.");
        return -1;
}

int
start_error_read(struct error *e, const struct wire_exec_failed *failed, const char *name,
                 const char *cwd)
{
        int sys = failed->sys < 0 ? -failed->sys : failed->sys;
        bool is_named = name && *name;
        const char *shown = is_named ? name : "the command";

        if (is_shortage(sys))
                return shortage(e, sys, shown);
        if (sys == ECANCELED)
                return fail(e, ERROR_CANCELED, "%.200s was killed before it started", shown);
        if (failed->stage == WIRE_STAGE_PROVIDER)
                return provider(e, sys, shown);
        if (failed->stage == WIRE_STAGE_DIRECTORY)
                return directory(e, sys, cwd ? cwd : "");
        if (failed->stage == WIRE_STAGE_PREPARE && sys == EOPNOTSUPP) {
                (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "tty", "elsewhere",
                              "starting %.200s: its provider has no terminals", shown);
                error_hint(e, "Run it without one (without -t, tty: false).");
                return -1;
        }
        if (failed->stage == WIRE_STAGE_TERMINAL)
                return fail_sys(e, ERROR_BACKEND_FAILED, sys, "opening a terminal inside");
        if (failed->stage != WIRE_STAGE_LOOKUP)
                return fail_sys(e, ERROR_BACKEND_FAILED, sys, "starting %.200s", shown);
        (void)lookup_refuse(is_named ? name : NULL, sys, e);
        (void)memcpy(e->path, "argv/0", sizeof "argv/0");
        return -1;
}
