/*
 * api/file_error.c - turns the exit status of a file operation into a Carrel error.
 *
 * Room: api (deciding, pure). Touches: mem.
 */
#include "api/file_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
        int sys;
        enum error_code code;
        const char *reason, *message;
} rows[] = {
        { ENOENT, ERROR_FILE_NOT_FOUND, "missing", "there is no such file or directory" },
        { EEXIST, ERROR_FILE_EXISTS, "exists", "something is there already" },
        { ENOTEMPTY, ERROR_DIRECTORY_NOT_EMPTY, "not_empty", "the directory is not empty" },
        { EISDIR, ERROR_NOT_A_FILE, "directory", "this is a directory" },
        { ENXIO, ERROR_NOT_A_FILE, "special", "this is no regular file" },
        { ENODEV, ERROR_NOT_A_FILE, "special", "this is no regular file" },
        { ENOTDIR, ERROR_NOT_A_DIRECTORY, "not_a_directory", "this is no directory" },
        { ENAMETOOLONG, ERROR_PATH_TOO_LONG, "too_long", "the path is too long" },
        { ELOOP, ERROR_PATH_LOOP, "loop", "too many symbolic links" },
        { EROFS, ERROR_MOUNT_READ_ONLY, "read_only", "this lies on something mounted read-only" },
        { ENOSPC, ERROR_STORAGE_FULL, "full", "there is no space left" },
        { EDQUOT, ERROR_STORAGE_FULL, "quota", "the sandbox's quota is used up" },
        { EACCES, ERROR_PERMISSION_DENIED, "access", "permission denied" },
        { EPERM, ERROR_PERMISSION_DENIED, "permission", "permission denied" },
        { EFBIG, ERROR_FILE_TOO_LARGE, "too_large", "the file would be too large" },
        { EOVERFLOW, ERROR_FILE_TOO_LARGE, "too_large", "the file is too large" },
        { EBUSY, ERROR_FILE_BUSY, "busy", "it is in use" },
        { ETXTBSY, ERROR_FILE_BUSY, "busy", "it is in use" },
        { EXDEV, ERROR_INVALID_ARGUMENT, "crosses",
          "it cannot be moved from one mount to another" },
        { EINVAL, ERROR_INVALID_ARGUMENT, "invalid", "this cannot be done with this path" },
        { EILSEQ, ERROR_INVALID_ARGUMENT, "invalid", "this is no valid path" },
        { E2BIG, ERROR_INVALID_ARGUMENT, "too_many", "too many files in one call" },
        { ENOMEM, ERROR_NO_MEMORY, "", "there is no memory left in the sandbox" },
        { EMFILE, ERROR_QUOTA_EXCEEDED, "files", "too many files are open" },
        { ENFILE, ERROR_QUOTA_EXCEEDED, "files", "too many files are open" },
        { EAGAIN, ERROR_QUOTA_EXCEEDED, "processes", "the sandbox may start no more processes" },
        { ENOSYS, ERROR_BACKEND_FAILED, "older",
          "the sandbox was made by an older version of Carrel, which cannot do this" },
        { EKEYREJECTED, ERROR_POLICY_DENIED, "not_announced",
          "this is not the file that was announced and that the rules allowed; nothing was "
          "changed" },
        { EOPNOTSUPP, ERROR_CAPABILITY_UNAVAILABLE, "elsewhere",
          "the provider of this sandbox cannot do this; use a command" },
        { ECANCELED, ERROR_REQUEST_MALFORMED, "incomplete",
          "the files did not arrive whole; nothing was changed" },
};

static int
row_of(int sys)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].sys == sys)
                        return (int)i;
        return -1;
}

enum error_code
file_error_code(int sys)
{
        int row = row_of(sys);

        return row < 0 ? ERROR_BACKEND_FAILED : rows[row].code;
}

/* The payload chooses the path, so control bytes are removed before it reaches a message. */
static void
take_path(char *out, size_t room, const char *path, size_t len)
{
        size_t n = len < room - 1 ? len : room - 1;

        for (size_t i = 0; i < n; i++)
                out[i] = (unsigned char)path[i] < 0x20 || path[i] == 0x7f ? '?' : path[i];
        out[n] = '\0';
}

int
file_error_read(struct error *e, int status, const char *path, size_t len)
{
        char shown[256];
        int row = row_of(status);

        take_path(shown, sizeof shown, path, path ? len : 0);
        if (row < 0)
                return fail(e, ERROR_BACKEND_FAILED,
                            "the file operation inside failed with status %d%s%s", status,
                            shown[0] ? ": " : "", shown);
        (void)fail_at(e, rows[row].code, "path", rows[row].reason, "%s%s%s", shown,
                      shown[0] ? ": " : "", rows[row].message);
        if (status == EOPNOTSUPP)
                error_hint(e, "docs/BRIDGE.md lists what sandboxes elsewhere cannot do. Commands "
                              "can read and write files: carrel exec ID -- cat FILE");
        if (status == ENOSPC)
                error_hint(e, "Remove files, or raise metadata.carrel.limits.disk_mb: it caps the "
                              "bytes and the number of files in /tmp, /run, /dev/shm and the home. "
                              "A mount has its disk's space.");
        return -1;
}

int
file_ended_read(struct error *e, const char *outcome)
{
        static const struct {
                const char *outcome;
                enum error_code code;
                const char *message;
        } endings[] = {
                { "killed", ERROR_CANCELED,
                  "the sandbox was stopped, or everything in it was killed, before the file "
                  "operation ended" },
                { "timed_out", ERROR_TIMEOUT,
                  "the time of the sandbox, or of the file operation, was over before it ended" },
                { "oom_killed", ERROR_OOM,
                  "the sandbox had no memory left for the file operation" },
        };

        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
                if (strcmp(endings[i].outcome, outcome) == 0)
                        return fail_at(e, endings[i].code, NULL, endings[i].outcome, "%s",
                                       endings[i].message);
        return fail_at(e, ERROR_BACKEND_FAILED, NULL, outcome,
                       "the file operation inside was ended: %s", outcome);
}
