/*
 * volume/words.c - the path of an owner's volumes, and error messages.
 *
 * Room: volume (words). Touches: nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "volume/volume.h"

int
volume_directory(const char *state, const char *owner, char ret[VOLUME_PATH_MAX], struct error *e)
{
        char name[3 * VOLUME_OWNER_MAX + 2] = "";
        size_t at = name_encode(owner, name, sizeof name);
        int len = snprintf(ret, VOLUME_PATH_MAX, "%s/volumes/%s", state, name);
        if (at == 0 || strlen(owner) > VOLUME_OWNER_MAX || len < 0 || len >= VOLUME_PATH_MAX)
                return fail_at(e, ERROR_STATE_UNUSABLE, "state", "too_long",
                               "the path of the volumes in %.200s is too long", state);
        return 0;
}

static const struct failure {
        int sys;
        enum error_code code;
        const char *reason, *sentence, *hint;
} failures[] = {
        { EUSERS, ERROR_QUOTA_EXCEEDED, "volumes_max",
          "there are as many volumes as the host permits",
          "Remove one with `carrel volume rm NAME`, or have the operator raise volumes_max in the "
          "host file." },
        { EPERM, ERROR_STATE_UNUSABLE, "owner",
          "a directory of the volumes belongs to somebody else or is open to others",
          "Make it yours alone: chmod 700. Or choose another state directory with --state DIR or "
          "CARREL_STATE." },
        { EROFS, ERROR_STATE_UNUSABLE, "read_only", "the state directory is read-only",
          "Choose another with --state DIR or CARREL_STATE." },
        { ELOOP, ERROR_STATE_UNUSABLE, "symlink", "a symbolic link has its place",
          "Remove the link; no volume is opened through one." },
        { ENOTDIR, ERROR_STATE_UNUSABLE, "not_directory",
          "something that is no directory has its place", "Remove it, or choose another name." },
        { EINVAL, ERROR_INVALID_ARGUMENT, "shape", "a name is " NAME_SHAPE,
          NAME_HINT " For example: npm-cache" },
        { ENOSPC, ERROR_STORAGE_FULL, "full", "the disk is full",
          "Free some disk space, `carrel volume prune`, and try again." },
        { EDQUOT, ERROR_STORAGE_FULL, "quota", "your disk quota is used up",
          "Free some disk space, `carrel volume prune`, and try again." },
};

int
volume_fail(const char *name, int result, const char *user, struct error *e)
{
        if (result == -EBUSY) {
                (void)fail_at(e, ERROR_VOLUME_IN_USE, "name", "in_use",
                              "the sandbox %.32s uses the volume %.64s", user, name);
                error_hint(e,
                           "Wait until its command has ended. A sandbox of the daemon ends with: "
                           "carrel stop %.32s",
                           user);
                return -1;
        }
        if (result == -ENOENT)
                return fail_at(e, ERROR_VOLUME_NOT_FOUND, "name", NULL,
                               "there is no volume named %.64s", name);
        for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
                const struct failure *f = &failures[i];

                if (f->sys != -result)
                        continue;
                (void)fail_at(e, f->code, "name", f->reason, "the volume %.64s: %s", name,
                              f->sentence);
                error_hint(e, "%s", f->hint);
                e->sys = -result;
                return -1;
        }
        return fail_sys(e, ERROR_STATE_UNUSABLE, -result, "the volume %.64s", name);
}
