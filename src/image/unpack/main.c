/*
 * image/unpack/main.c - carrel-unpack: unpacks one archive, or copies one directory, into another.
 *
 * Room: image/unpack (program). Touches: fd, this process.
 * Theory: it parses what anybody may have written, so it is sealed before the first byte: one
 * directory, no network, no process, no memory beyond a limit. It ends with its answer.
 */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "image/unpack/archive.h"
#include "image/unpack/tree.h"
#include "loop/startup.h"
#include "seal/landlock.h"
#include "seal/seal.h"
#include "wire/message.h"
#include "wire/unpack.h"

enum { MEMORY_MAX = 512 << 20, BROKEN = 125 };

struct unpacking {
        int socket;
        struct target target;
};

/* -- what it says ------------------------------------------------------------------------------ */

static void
say_step(void *ctx)
{
        struct unpacking *u = ctx;
        struct wire_unpack_step step = { u->target.entries, u->target.bytes };

        /* progress may be lost, and a full socket holds nothing up */
        (void)wire_send(u->socket, WIRE_UNPACK_STEP, &step, sizeof step, NULL, 0);
}

static int
say_refused(struct unpacking *u, const char *why)
{
        const struct target_refusal *r = &u->target.refusal;
        struct wire_unpack_failed failed = { .sys = r->sys };

        (void)snprintf(failed.reason, sizeof failed.reason, "%s", r->reason);
        (void)snprintf(failed.entry, sizeof failed.entry, "%s", r->entry);
        (void)snprintf(failed.why, sizeof failed.why, "%s", why);
        return wire_send_in_time(u->socket, WIRE_UNPACK_FAILED, &failed, sizeof failed, NULL, 0);
}

static int
say_unpacked(struct unpacking *u, uint32_t what, const struct archive_result *result)
{
        struct wire_unpacked done = { .entries = u->target.entries,
                                      .bytes = u->target.bytes,
                                      .left_out = u->target.left_out,
                                      .what = what };

        memcpy(done.digest, result->digest, sizeof done.digest);
        return wire_send_in_time(u->socket, WIRE_UNPACKED, &done, sizeof done, NULL, 0);
}

/* -- what it does ------------------------------------------------------------------------------ */

static int
limit(struct error *e)
{
        struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };

        if (!IS_SANITIZED && setrlimit(RLIMIT_AS, &memory) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "limiting its memory");
        return 0;
}

static bool
is_directory(int source)
{
        struct stat st;

        return fstat(source, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A directory to copy is read with the right of root's importer: to enter and read what is there.
 */
static int
confine(uint32_t what, int source, int tree, struct error *e)
{
        /* REFER: a hard link between two directories of the tree */
        struct seal_place target = { LANDLOCK_READ_DIR | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE |
                                             LANDLOCK_MAKE_REG | LANDLOCK_MAKE_DIR |
                                             LANDLOCK_MAKE_SYM | LANDLOCK_MAKE_FIFO |
                                             LANDLOCK_MAKE_CHAR | LANDLOCK_REMOVE_FILE |
                                             LANDLOCK_REMOVE_DIR | LANDLOCK_REFER,
                                     tree };
        struct seal_place places[2] = { target };
        size_t count = what == UNPACK_LAYER || what == UNPACK_FILES;

        if (limit(e) < 0)
                return -1;
        if (!is_directory(source))
                return seal_enter(SEAL_UNPACK, places, count, e);
        places[count++] = (struct seal_place){ LANDLOCK_READ_DIR | LANDLOCK_READ_FILE, source };
        return seal_enter(SEAL_COPY, places, count, e);
}

static int
answer(struct unpacking *u, uint32_t what, int source)
{
        struct archive_result result;
        bool is_image = false;
        int done;

        if (is_directory(source))
                done = tree_read(source, &u->target, what == UNPACK_LAYER, say_step, u, &result);
        else if (what == UNPACK_LOOK)
                done = archive_look(source, &u->target, &result, &is_image);
        else if (what == UNPACK_HASH)
                done = archive_hash(source, &u->target, say_step, u, &result);
        else
                done = archive_unpack(source, &u->target, say_step, u, &result);
        if (done < 0)
                return say_refused(u, result.why);
        return say_unpacked(u, is_image ? UNPACK_FILES : UNPACK_LAYER, &result);
}

static int
serve(int socket, struct error *e)
{
        struct unpacking u = { .socket = socket };
        struct wire_unpack asked;
        struct wire_message m;
        int said;

        if (wire_receive(socket, 1, &m, &asked, sizeof asked) != 1)
                return 0; /* the importer ended */
        if (m.kind != WIRE_UNPACK || m.len != sizeof asked || m.fd_count != 2)
                return fail(e, ERROR_PROTOCOL, "it received no archive");
        if (confine(asked.what, m.fds[0], m.fds[1], e) < 0)
                return -1;
        target_open(
                &u.target, m.fds[1], asked.what == UNPACK_LAYER,
                &(struct target_limits){ asked.entries_max, asked.bytes_max, asked.floor_bytes });
        said = answer(&u, asked.what, m.fds[0]);
        target_close(&u.target);
        wire_message_close(&m);
        return said < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, -said, "answering") : 0;
}

int
main(int argc, char **argv)
{
        static const struct startup_option options[] = {
                { .name = "--socket-fd", .kind = STARTUP_FD, .is_required = 1, .offset = 0 },
        };
        int socket = -1, result;
        struct error e;

        (void)prctl(PR_SET_NAME, "carrel-unpack", 0, 0, 0); /* instead of the memfd's name */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)umask(0);
        /* names that a tar file gives as UTF-8 stay so */
        (void)setlocale(LC_CTYPE, "C.UTF-8");
        result = startup_read(options, 1, argc, argv, &socket, &e) < 0 ? -1 : serve(socket, &e);
        if (result == 0)
                return 0;
        (void)fprintf(stderr, "carrel-unpack: %s\n", e.message);
        return BROKEN;
}
