/*
 * recorder/server.c - the daemon's recorder.
 *
 * Room: recorder (joining, program: a fork of the launcher). Touches: processes, fd, clock, its own
 * privileges, the audit logs.
 * Theory: group commit. While one sync runs, further entries arrive in the socket; the next batch
 * contains all of them, with one sync for each log. The only text that it reads is JSON that the
 * keeper wrote. A lock on audit/.lock keeps the next recorder waiting until this one has ended.
 */
#include "recorder/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/redact.h"
#include "base/scoped.h"
#include "base/switches.h"
#include "clock/clock.h"
#include "recorder/owner.h"
#include "recorder/process.h"
#include "wire/message.h"

enum { BURST = 256, WAIT_MAX_MS = 60 * 1000 };

static void
send_answer(const struct recorder_done *done, const struct error *e)
{
        _Alignas(8) unsigned char body[sizeof *done + sizeof *e];
        size_t len = sizeof done->number +
                     recorder_answer_write(&done->answer, e, body + sizeof done->number);

        memcpy(body, &done->number, sizeof done->number);
        (void)wire_send_in_time(RECORDER_SOCKET, WIRE_AUDIT_DONE, body, len, NULL, 0);
}

static void
send_open(const struct recorder_open *open)
{
        (void)wire_send_in_time(RECORDER_SOCKET, WIRE_AUDIT_OPEN, open, sizeof *open, NULL, 0);
}

static void
send_kept(const struct recorder_exec *of)
{
        (void)wire_send_in_time(RECORDER_SOCKET, WIRE_AUDIT_KEPT, of, sizeof *of, NULL, 0);
}

static void
settle(struct owners *all, const unsigned char *body, size_t len)
{
        struct recorder_exec of;

        if (len < sizeof of)
                return;
        memcpy(&of, body, sizeof of);
        of.owner[sizeof of.owner - 1] = of.sandbox[sizeof of.sandbox - 1] = '\0';
        if (of.exec <= (len - sizeof of) / sizeof(uint32_t))
                /* lint: wire_receive() fills an aligned buffer, and the struct is a multiple of 4
                 */
                owners_settle(all, &of, (const uint32_t *)(const void *)(body + sizeof of),
                              of.exec);
}

/* Receives what is there. false: the keeper has ended. */
static bool
receive(struct owners *all)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];

        for (int i = 0; i < BURST; i++) {
                struct wire_message m;
                int result = wire_receive(RECORDER_SOCKET, 0, &m, body, sizeof body);

                if (result == -EAGAIN || result == -EINTR)
                        break;
                /* no room for its descriptors: the entry is written without them */
                if (result <= 0 && result != -EMFILE)
                        return false;
                if (m.kind == WIRE_AUDIT_ENTRY && !owners_add(all, body, m.len, m.fds, m.fd_count))
                        _exit(RECORDER_BROKEN);
                if (m.kind == WIRE_AUDIT_SETTLE)
                        settle(all, body, m.len);
                wire_message_close(&m);
        }
        return true;
}

static void
wait_until(uint64_t moment_ms)
{
        struct pollfd p = { .fd = RECORDER_SOCKET, .events = POLLIN };
        uint64_t now = clock_boot_ms();
        uint64_t wait = moment_ms > now ? moment_ms - now : 0;

        (void)poll(&p, 1,
                   moment_ms == UINT64_MAX ? -1 : (int)(wait < WAIT_MAX_MS ? wait : WAIT_MAX_MS));
}

static int
take_lock(void)
{
        int fd = openat(RECORDER_LOG, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        while (fd >= 0 && flock(fd, LOCK_EX) < 0)
                if (errno != EINTR)
                        return -1;
        return fd; /* held until this process ends */
}

static _Noreturn void
serve(const char *path, uint64_t keep_ms)
{
        static const struct owner_reports reports = { send_answer, send_open, send_kept };
        struct owners *all = owners_new(path, keep_ms, &reports);
        uint64_t next_ms = UINT64_MAX;

        if (!all || fchdir(RECORDER_LOG) < 0)
                _exit(RECORDER_BROKEN);
        /* without the lock nothing can be written here either, which every start reports */
        (void)take_lock();
        owners_load(all);
        if (keep_ms > 0)
                next_ms = 0; /* the retention is applied at the start */
        do {
                wait_until(next_ms);
                if (!receive(all))
                        break;
                next_ms = owners_flush(all, clock_boot_ms());
        } while (true);
        owners_free(all);
        _exit(0);
}

static int
open_directory(const char *path, struct error *e)
{
        int fd;

        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return fail_sys(e, errno == ENOSPC ? ERROR_STORAGE_FULL : ERROR_STATE_UNUSABLE,
                                errno, "making %.200s", path);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? fail_sys(e, ERROR_STATE_UNUSABLE, errno, "opening %.200s", path) : fd;
}

/* Before the environment is erased. */
static void
read_switches(void)
{
#ifdef CARREL_TEST_SWITCHES
        const char *text = getenv("CARREL_TEST_AUDIT");

        audit_log_is_unsynced = text && strcmp(text, "unsynced") == 0;
#endif
}

int
recorder_serve(const char *state, int fd, const struct recorder_rules *rules,
               void (*forget)(void *ctx), void *ctx, pid_t *ret, struct error *e)
{
        static char path[PATH_MAX];
        scoped_fd int directory = -1;
        pid_t parent = getpid(), pid;

        (void)snprintf(path, sizeof path, "%s/audit", state);
        directory = open_directory(path, e);
        if (directory < 0)
                return -1;
        pid = fork();
        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting the recorder");
        if (pid > 0) {
                *ret = pid;
                return 0;
        }
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
                _exit(RECORDER_BROKEN);
        read_switches();
        forget(ctx);
        if (recorder_become(fd, directory, true, true, e) < 0) {
                (void)fprintf(stderr, "carrel-recorder: %s\n", e->message);
                _exit(RECORDER_BROKEN);
        }
        redact_leave(rules->redact_off);
        serve(path, rules->keep_ms);
}
