/*
 * image/unpacker.c - starts carrel-unpack for one archive, and hears what became of it.
 *
 * Room: image (joining). Touches: processes (one child), fd.
 * Theory: the child parses; this process compares, names and commits. A child that dies, or answers
 * something else, has unpacked nothing that counts.
 */
#include "image/unpacker.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/scoped.h"
#include "programs/programs.h"
#include "wire/message.h"

const struct image_limits image_limits_standard = { .bytes = (uint64_t)32 << 30,
                                                    .entries = 1000000,
                                                    .floor = (uint64_t)256 << 20 };

union answer {
        struct wire_unpack_step step;
        struct wire_unpacked unpacked;
        struct wire_unpack_failed failed;
};

/* -- refusals ---------------------------------------------------------------------------------- */

static const struct sentence {
        const char *reason, *text, *hint;
} sentences[] = {
        { "absolute", "its name begins with a slash",
          "An image made with `docker save`, buildah or tar has relative names." },
        { "dot_dot", "its name leads out of the image", NULL },
        { "name_empty", "it has no name, or none that is text", NULL },
        { "name_long", "its name is too long: at most 4095 bytes, 255 in one part, 128 parts",
          NULL },
        { "beneath_link", "a part of its name is a symbolic link or a file", NULL },
        { "link_out", "it is a hard link to a file that this layer does not have", NULL },
        { "directory", "it is a file where a directory with files is", NULL },
        { "entries", "the archive has more entries than an import may have", NULL },
        { "size", "the files are larger than an import may be",
          "To import it nevertheless: --limit SIZE" },
        { "unreadable", "this user may not read it", "As root: sudo carrel image import DIR NAME" },
        { "changed", "it changed while it was read",
          "Try again when no program writes to the directory." },
        { "unsupported", "it is of a kind that cannot be unpacked", NULL },
};

static int
say_refused(struct wire_unpack_failed *f, const char *label, struct error *e)
{
        f->reason[sizeof f->reason - 1] = '\0';
        f->entry[sizeof f->entry - 1] = '\0';
        f->why[sizeof f->why - 1] = '\0';
        if (strcmp(f->reason, "room") == 0)
                return fail(e, ERROR_STORAGE_FULL,
                            "the disk of the images has too little room for %s", label);
        if (strcmp(f->reason, "archive") == 0)
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "archive",
                               "%s is no tar file, or is damaged%s%s", label, f->why[0] ? ": " : "",
                               f->why);
        for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
                if (strcmp(f->reason, sentences[i].reason) != 0)
                        continue;
                (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, f->reason, "%s: entry %s: %s", label,
                              f->entry, sentences[i].text);
                if (sentences[i].hint)
                        error_hint(e, "%s", sentences[i].hint);
                return -1;
        }
        return fail_sys(e, ERROR_BACKEND_FAILED, f->sys, "unpacking %s: entry %s", label, f->entry);
}

/* -- the child --------------------------------------------------------------------------------- */

/* 1: it is done; 0: a step; -1: refused, or the child is gone */
static int
hear(int socket, const struct image_progress *progress, const char *label, struct unpacked *ret,
     struct error *e)
{
        struct wire_message m;
        union answer a;
        int got = wire_receive(socket, 1, &m, &a, sizeof a);

        if (got != 1)
                return fail(e, ERROR_BACKEND_FAILED, "carrel-unpack ended before %s was unpacked",
                            label);
        wire_message_close(&m);
        if (m.kind == WIRE_UNPACK_STEP && m.len == sizeof a.step) {
                if (progress && progress->step)
                        progress->step(progress->ctx, label, a.step.entries, a.step.bytes);
                return 0;
        }
        if (m.kind == WIRE_UNPACK_FAILED && m.len == sizeof a.failed)
                return say_refused(&a.failed, label, e);
        if (m.kind != WIRE_UNPACKED || m.len != sizeof a.unpacked)
                return fail(e, ERROR_PROTOCOL, "carrel-unpack answered something else");
        *ret = (struct unpacked){ .entries = a.unpacked.entries,
                                  .bytes = a.unpacked.bytes,
                                  .left_out = a.unpacked.left_out,
                                  .what = (enum unpack_what)a.unpacked.what };
        memcpy(ret->digest.bytes, a.unpacked.digest, sizeof ret->digest.bytes);
        return 1;
}

static int
talk(int socket, const struct wire_unpack *asked, const int fds[2],
     const struct image_progress *progress, const char *label, struct unpacked *ret,
     struct error *e)
{
        int result = wire_send_in_time(socket, WIRE_UNPACK, asked, sizeof *asked, fds, 2);

        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "asking carrel-unpack");
        do
                result = hear(socket, progress, label, ret, e);
        while (result == 0);
        return result < 0 ? -1 : 0;
}

int
unpacker_run(enum unpack_what what, int archive, int tree, const struct image_limits *limits,
             const struct image_progress *progress, const char *label, struct unpacked *ret,
             struct error *e)
{
        char *argv[] = { "carrel-unpack", "--socket-fd", "3", NULL }, *envp[] = { NULL };
        struct wire_unpack asked = { .entries_max = limits->entries,
                                     .bytes_max = limits->bytes,
                                     .floor_bytes = limits->floor,
                                     .what = what };
        int fds[2] = { archive, tree }, status, result;
        scoped_fd int socket = -1;
        pid_t pid;

        if (program_start_linked(PROGRAM_UNPACK, argv, envp, &socket, &pid, e) < 0)
                return -1;
        result = talk(socket, &asked, fds, progress, label, ret, e);
        scoped_fd_close(&socket);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return result;
}
