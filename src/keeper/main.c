/*
 * keeper/main.c - carrel-keeper: the process that holds the state of every sandbox.
 *
 *     carrel-keeper --state DIR --spawner-fd N [--listen-fd N] [--door-fd N]... [--host-fd N]
 *                   [--ingress URL] [--gate-fd N] [--pool N [--pool-manifest-fd N]]
 *                   [--fetcher-fd N] [--recorder-fd N] [--files-fd N] [--judge-fd N]
 *                   [--validators-fd N] [--delete-after MS]
 *
 * Room: keeper (joining, program). Touches: fd, clock, random, the store, its own privileges.
 * Theory, the ladder: it collects descriptors and facts, drops privileges and closes its view of
 * the file system. Only then does it read anything that others wrote. Only `carrel serve` starts
 * it. Boxes survive its death.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/switches.h"
#include "keeper/audit.h"
#include "keeper/changed.h"
#include "keeper/judging.h"
#include "keeper/keeper.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "keeper/secret.h"
#include "keeper/turns.h"
#include "keeper/validating.h"
#include "loop/startup.h"
#include "seal/landlock.h"
#include "seal/seal.h"

extern char **environ;

enum {
        DOORS_MAX = 16,
        MANIFEST_MAX = 1 << 20,
        POOL_PATIENCE_MS = 2000,
        GREETING_PATIENCE_MS = 1000,
        LOOKS_PATIENCE_MS = 2000
};

struct options {
        const char *state, *ingress, *guest;
        int spawner, listener, host, pool_manifest, fetcher, recorder, files, gate, judge,
                validators, doors[DOORS_MAX];
        size_t door_count;
        uint64_t pool, delete_after_ms;
};

static struct keeper keeper;
static int signal_end = -1; /* for the signal handler: a byte written there wakes the loop */

/* -- options ----------------------------------------------------------------------------------- */

static const struct startup_option rows[] = {
        STARTUP_ROW(struct options, state, "--state", STARTUP_TEXT, 1),
        STARTUP_ROW(struct options, guest, "--guest", STARTUP_TEXT, 0),
        STARTUP_ROW(struct options, ingress, "--ingress", STARTUP_TEXT, 0),
        STARTUP_ROW(struct options, spawner, "--spawner-fd", STARTUP_FD, 1),
        STARTUP_ROW(struct options, listener, "--listen-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, host, "--host-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, pool_manifest, "--pool-manifest-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, fetcher, "--fetcher-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, recorder, "--recorder-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, files, "--files-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, judge, "--judge-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, validators, "--validators-fd", STARTUP_FD, 0),
        STARTUP_ROW(struct options, gate, "--gate-fd", STARTUP_FD, 0),
        STARTUP_LIST(struct options, doors, door_count, "--door-fd", STARTUP_FD, DOORS_MAX),
        { "--pool", STARTUP_NUMBER, 0, offsetof(struct options, pool), 4096, 0, 0 },
        { "--delete-after", STARTUP_NUMBER, 0, offsetof(struct options, delete_after_ms), INT64_MAX,
          0, 0 },
};

static int
read_options(int argc, char **argv, struct options *o, struct error *e)
{
        *o = (struct options){ .spawner = -1,
                               .listener = -1,
                               .host = -1,
                               .pool_manifest = -1,
                               .fetcher = -1,
                               .recorder = -1,
                               .files = -1,
                               .judge = -1,
                               .validators = -1,
                               .gate = -1,
                               .delete_after_ms = STORE_NEVER };
        if (startup_read(rows, sizeof rows / sizeof *rows, argc, argv, o, e) < 0)
                return -1;
        return o->state[0] == '/'
                       ? 0
                       : fail(e, ERROR_INVALID_ARGUMENT, "--state is no absolute directory");
}

/* -- preparation ------------------------------------------------------------------------------- */

static int
read_boot_id(char ret[STORE_BOOT_ID_LEN], struct error *e)
{
        scoped_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? -1 : read(fd, ret, STORE_BOOT_ID_LEN - 1);

        if (len != STORE_BOOT_ID_LEN - 1)
                return fail_sys(e, ERROR_INTERNAL, errno,
                                "reading the id of this start of the machine");
        ret[len] = '\0';
#ifdef CARREL_TEST_SWITCHES
        if (getenv("CARREL_TEST_BOOT_ID")) /* lets a test simulate a reboot */
                (void)snprintf(ret, STORE_BOOT_ID_LEN, "%s", getenv("CARREL_TEST_BOOT_ID"));
#endif
        return 0;
}

/* Reads a whole descriptor, at most `most` bytes, into new memory. */
static int
read_whole(int fd, size_t most, void **ret, size_t *ret_len, struct error *e)
{
        struct stat found;
        size_t got = 0;
        char *bytes;

        if (fstat(fd, &found) < 0 || found.st_size < 0 || (size_t)found.st_size > most)
                return fail(e, ERROR_INVALID_ARGUMENT,
                            "what descriptor %d holds is no file of at most %zu bytes", fd, most);
        bytes = malloc((size_t)found.st_size + 1);
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for what the launcher hands over");
        while (got < (size_t)found.st_size) {
                ssize_t len = pread(fd, bytes + got, (size_t)found.st_size - got, (off_t)got);

                if (len <= 0) {
                        free(bytes);
                        return fail_sys(e, ERROR_INVALID_ARGUMENT, errno, "reading descriptor %d",
                                        fd);
                }
                got += (size_t)len;
        }
        *ret = bytes;
        *ret_len = got;
        return 0;
}

static int
read_host(struct keeper *k, int fd, struct error *e)
{
        void *bytes = NULL;
        size_t len = 0;
        int result;

        if (fd >= 0 && read_whole(fd, PREPARE_HOST_MAX, &bytes, &len, e) < 0)
                return -1;
        (void)crypto_hash_sha256(k->host_version, bytes, len);
        result = prepare_host_read(&k->host, bytes, len, true, e);
        free(bytes);
        return result;
}

static int
open_boxes(struct keeper *k, struct error *e)
{
        char path[4096];

        (void)snprintf(path, sizeof path, "%s/boxes", k->state);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return fail_sys(e, errno == ENOSPC ? ERROR_STORAGE_FULL : ERROR_STATE_UNUSABLE,
                                errno, "making %.200s", path);
        k->boxes_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return k->boxes_fd < 0 ? fail_sys(e, ERROR_STATE_UNUSABLE, errno, "opening %.200s", path)
                               : 0;
}

static void
on_spawner(struct peer *p, uint32_t events)
{
        struct keeper *k = (struct keeper *)(void *)((char *)p - offsetof(struct keeper, spawner));
        _Alignas(8) unsigned char body[256];
        struct wire_message m;
        int result = wire_receive(p->fd, 0, &m, body, sizeof body);

        (void)events;
        if (result > 0)
                wire_message_close(&m);
        if (result == 0 || (result < 0 && result != -EAGAIN) || p->is_broken) {
                (void)fprintf(stderr, "carrel-keeper: the process that makes boxes has ended; so "
                                      "does this one, to be started again\n");
                k->is_stopping = true;
                loop_stop(k->loop);
        }
}

static void
on_signal(int signal)
{
        int saved = errno;

        (void)signal;
        (void)!write(signal_end, "", 1);
        errno = saved;
}

static void
on_asked_to_end(struct loop_watch *w, uint32_t events)
{
        (void)events;
        loop_watch_remove(w);
        keeper.is_stopping = true;
}

static int
watch_signals(struct keeper *k, struct error *e)
{
        static struct loop_watch watch;
        struct sigaction end = { .sa_handler = on_signal }, ignore = { .sa_handler = SIG_IGN };
        int pair[2], result;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "making a socket for signals");
        signal_end = pair[1];
        result = loop_watch_add(k->loop, &watch, pair[0], EPOLLIN, on_asked_to_end);
        if (result < 0)
                return fail_sys(e, ERROR_INTERNAL, -result, "waiting for signals");
        (void)sigaction(SIGTERM, &end, NULL);
        (void)sigaction(SIGINT, &end, NULL);
        (void)sigaction(SIGPIPE, &ignore, NULL);
        return 0;
}

/* Only makers write leases; the keeper writes its state. */
static int
close_world(const char *state, struct error *e)
{
        /* lint: main() requires --state */
        scoped_fd int fd = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct seal_place place = { LANDLOCK_FS_ALL & ~LANDLOCK_EXECUTE, fd };

        if (fd < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening %s", state);
        return seal_enter(SEAL_KEEPER, &place, 1, e);
}

static int
set_up(struct keeper *k, const struct options *o, struct error *e)
{
        int result;

        k->state = o->state;
        k->ingress = o->ingress;
        k->environment = environ;
        k->uid = geteuid();
        k->host.home = getenv("HOME");
        k->host.xdg = getenv("XDG_CONFIG_HOME");
        k->delete_after_ms = o->delete_after_ms;
        k->checkpoint.due_ms = k->accept_again.due_ms = k->collect.due_ms = k->turns_again.due_ms =
                LOOP_NEVER;
        (void)snprintf(k->owner, sizeof k->owner, "uid:%" PRIu32, k->uid);
        k->reserve = malloc(KEEPER_RESERVE); /* never touched: uses address space, but no pages */
        if (sodium_init() < 0)
                return fail(e, ERROR_INTERNAL, "cannot initialise libsodium");
        if (read_boot_id(k->boot_id, e) < 0 || prepare_host_init(&k->host, e) < 0)
                return -1;
        if (store_open(o->state, &k->store, e) < 0 || open_boxes(k, e) < 0 ||
            prepare_host_guard(&k->host, o->state, e) < 0 || close_world(o->state, e) < 0)
                return -1;
        k->host.volumes = k->host.state;
        k->host.guest = o->guest;
        result = loop_new(&k->loop);
        if (result == 0)
                result = peer_open(&k->spawner, k->loop, o->spawner, on_spawner);
        return result < 0 ? fail_sys(e, ERROR_INTERNAL, -result, "beginning to wait") : 0;
}

static void
on_patience(struct loop_timer *t)
{
        loop_timer_remove(t);
}

/* Runs the loop while `goes_on` returns true, for at most `patience_ms`. */
static void
turn_while(struct keeper *k, bool (*goes_on)(const struct keeper *k), uint64_t patience_ms)
{
        struct loop_timer patience = { .due_ms = LOOP_NEVER };
        uint64_t until = loop_now_ms() + patience_ms;

        (void)loop_timer_set(k->loop, &patience, until, on_patience);
        while (goes_on(k) && !k->spawner.is_broken && loop_now_ms() < until) {
                loop_turn(k->loop);
                turns_serve(k);
                keeper_sweep(k);
        }
        loop_timer_remove(&patience);
}

/* Boxes that were found report their state first, so that no caller gets a wrong answer. */
static bool
is_greeting(const struct keeper *k)
{
        const struct sandbox *s = k->first;

        while (s && !(s->state == SANDBOX_STARTING && s->is_attached))
                s = s->next;
        return s != NULL;
}

static int
begin(struct keeper *k, const struct options *o, struct error *e)
{
        void *manifest = NULL;
        size_t len = 0;
        int result;

        if (watch_signals(k, e) < 0 || read_host(k, o->host, e) < 0 || token_file(k, e) < 0 ||
            secret_open(k, o->fetcher, e) < 0 || judging_open(k, o->judge, e) < 0 ||
            validating_open(k, o->validators, e) < 0 || audit_open(k, o->recorder, e) < 0 ||
            changed_open(k, o->files, e) < 0 || gate_open(k, o->gate, e) < 0 ||
            registry_load(k, e) < 0 || box_collect(k, e) < 0)
                return -1;
        if (k->damaged_count > 0)
                (void)fprintf(stderr,
                              "carrel-keeper: what was kept of %u sandbox%s was damaged on disk: "
                              "failed, and no other is touched\n",
                              k->damaged_count, k->damaged_count == 1 ? "" : "es");
        volumes_erase_left(k);
        turn_while(k, is_greeting, GREETING_PATIENCE_MS);
        if (o->pool_manifest >= 0 &&
            read_whole(o->pool_manifest, MANIFEST_MAX, &manifest, &len, e) < 0)
                return -1;
        result = pool_open(k, (size_t)o->pool, manifest, len, e);
        free(manifest);
        for (size_t i = 0; result == 0 && i < o->door_count; i++)
                result = connection_door(k, o->doors[i], e);
        if (result == 0 && o->listener >= 0)
                result = connection_listen(k, o->listener, e);
        return result;
}

static bool
has_ownerless(const struct keeper *k)
{
        const struct sandbox *s = k->first;

        while (s && s->row.owner)
                s = s->next;
        return s != NULL;
}

/*
 * An orderly end also ends the ready boxes without an owner. After a kill the next keeper finds
 * them again.
 */
static void
end_pool(struct keeper *k)
{
        struct error e;

        k->is_stopping = true;
        for (struct sandbox *s = k->first, *next; s; s = next) {
                next = s->next;
                if (!s->row.owner)
                        (void)sandbox_stop(s, "stopped", &e);
        }
        turn_while(k, has_ownerless, POOL_PATIENCE_MS);
}

static void
run(struct keeper *k)
{
        while (!k->is_stopping) {
                loop_turn(k->loop);
                turns_serve(k);
                keeper_sweep(k);
        }
        end_pool(k);
        turn_while(k, changed_is_busy, LOOKS_PATIENCE_MS);
        deadline_checkpoint(k);
        store_close(k->store);
}

int
main(int argc, char **argv)
{
        struct options o;
        struct error e = { .code = ERROR_NONE };

        /* instead of the name of the memory file */
        (void)prctl(PR_SET_NAME, "carrel-keeper", 0, 0, 0);
        (void)umask(077);
        if (read_options(argc, argv, &o, &e) < 0 || set_up(&keeper, &o, &e) < 0 ||
            begin(&keeper, &o, &e) < 0) {
                (void)fprintf(stderr, "carrel-keeper: %s (%s)\n  %s\n", e.message,
                              error_wire_name(e.code), error_hint_text(&e));
                return error_exit_status(e.code);
        }
        run(&keeper);
        return 0;
}
