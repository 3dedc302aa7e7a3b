/*
 * daemon/fetcher.c - gets the values of secrets from their sources, each time in a new process.
 *
 * Room: daemon (joining, program: a fork of the launcher, or of `carrel run` as root before it
 * gives up executing). Touches: processes, fd, its own privileges; through the room secret what the
 * host file names as sources.
 * Theory, the ladder: it leaves the launcher's session, keeps only its socket open, drops
 * privileges and cannot be dumped. The only text it reads is names of secrets. A worker answers the
 * request itself and ends. So the permanent process never holds a value, except those of the
 * operator's environment.
 * S2: a source that hangs delays only commands that use it: the keeper limits the open requests of
 * one owner. S3: every request is answered, even if its worker died.
 *
 *    keeper --names--> fetcher --fork--> worker --values--> keeper
 *                         \---- the worker died ----------> keeper
 */
#include "daemon/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seal/seal.h"
#include "wire/message.h"
#include "wire/secret.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { SOCKET = 3, WORKERS_MAX = 64, BODY_ROOM = 64 * 1024, FD_LAST = 1024, BROKEN = 125 };

struct origin {
        fetcher_load *load;
        void *ctx;
};
struct worker {
        pid_t pid;
        uint32_t serial;
};

/* -- answers ----------------------------------------------------------------------------------- */

static size_t
put(unsigned char *body, size_t at, const char *text)
{
        size_t len = strlen(text) + 1;

        memcpy(body + at, text, len);
        return at + len;
}

static void
tell_failure(uint32_t serial, size_t index, const struct error *e)
{
        struct wire_secret_told head = { .serial = serial,
                                         .code = (uint32_t)e->code,
                                         .index = (uint32_t)index };
        _Alignas(8) unsigned char body[sizeof head + sizeof *e];
        size_t at = sizeof head;

        memcpy(body, &head, sizeof head);
        at = put(body, at, e->reason);
        at = put(body, at, e->message);
        at = put(body, at, e->hint);
        (void)wire_send(SOCKET, WIRE_SECRET_TOLD, body, at, NULL, 0);
}

static void
tell_died(uint32_t serial)
{
        struct error e;

        (void)fail_at(&e, ERROR_AUTH_UNRESOLVABLE, "", "not_found",
                      "the process that asks the sources of secrets ended without an answer");
        tell_failure(serial, 0, &e);
}

static int
tell_values(uint32_t serial, const char *const *slugs, size_t count,
            const struct secret_values *values)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        struct wire_secret_told head = { .serial = serial, .count = (uint32_t)count };
        size_t at = sizeof head;
        int result = 0;

        memcpy(body, &head, sizeof head);
        for (size_t i = 0; i < count && result == 0; i++) {
                const char *value = secret_value_look(values, slugs[i]);

                if (!value || strlen(value) >= sizeof body - at)
                        result = -1;
                else
                        at = put(body, at, value);
        }
        if (result == 0)
                result = wire_send(SOCKET, WIRE_SECRET_TOLD, body, at, NULL, 0);
        explicit_bzero(body, sizeof body);
        return result;
}

/* -- one request ------------------------------------------------------------------------------- */

static int
read_slugs(const unsigned char *body, size_t len, const char **slugs, size_t count)
{
        size_t at = sizeof(struct wire_secret_ask);

        for (size_t i = 0; i < count; i++) {
                const unsigned char *end = memchr(body + at, '\0', len - at);

                if (!end)
                        return -1;
                slugs[i] = (const char *)body + at;
                at = (size_t)(end - body) + 1;
        }
        return at == len ? 0 : -1;
}

static _Noreturn void
work(const struct origin *from, const unsigned char *body, size_t len, pid_t parent)
{
        struct wire_secret_ask ask;
        struct secret_sources sources;
        const char *slugs[SECRET_ASKED_MAX];
        struct secret_values *values = secret_values_new();
        size_t failed = 0;
        struct error e;
        int status = 1;

        memcpy(&ask, body, sizeof ask);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || !values ||
            ask.count > SECRET_ASKED_MAX || read_slugs(body, len, slugs, ask.count) < 0)
                _exit(BROKEN);
        if (from->load(from->ctx, &sources, &e) < 0 ||
            secret_sources_fetch(&sources, slugs, ask.count, values, &failed, &e) < 0) {
                tell_failure(ask.serial, failed, &e);
                status = 0;
        } else if (tell_values(ask.serial, slugs, ask.count, values) == 0) {
                status = 0;
        }
        secret_values_free(values);
        _exit(status);
}

static void
begin_work(const struct origin *from, struct worker *w, const unsigned char *body, size_t len)
{
        pid_t parent = getpid();

        /* lint: body is the receiver's own room, never NULL; the head begins with the serial */
        memcpy(&w->serial, body, sizeof w->serial);
        /* lint: a request is only read when a worker's place is free */
        w->pid = fork();
        if (w->pid == 0)
                work(from, body, len, parent);
        if (w->pid < 0) {
                w->pid = 0;
                tell_died(w->serial);
        }
}

static void
reap(struct worker workers[WORKERS_MAX])
{
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
                for (int i = 0; i < WORKERS_MAX; i++) {
                        if (workers[i].pid != pid)
                                continue;
                        workers[i].pid = 0;
                        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                                tell_died(workers[i].serial);
                }
}

static struct worker *
find_place(struct worker workers[WORKERS_MAX])
{
        for (int i = 0; i < WORKERS_MAX; i++)
                if (workers[i].pid == 0)
                        return &workers[i];
        return NULL;
}

/* -- the permanent process --------------------------------------------------------------------- */

static void
on_child(int number)
{
        (void)number; /* it only has to interrupt the wait */
}

static void
hear_signals(sigset_t *ret_open)
{
        struct sigaction standard = { .sa_handler = SIG_DFL }, ignored = { .sa_handler = SIG_IGN },
                         child = { .sa_handler = on_child };
        sigset_t blocked;

        for (int number = 1; number < 32; number++)
                (void)sigaction(number, &standard, NULL);
        (void)sigaction(SIGPIPE, &ignored, NULL);
        (void)sigaction(SIGCHLD, &child, NULL);
        (void)sigemptyset(ret_open);
        (void)sigemptyset(&blocked);
        (void)sigaddset(&blocked, SIGCHLD);
        (void)sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static int
take_descriptors(int fd)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
            (fd != SOCKET && dup2(fd, SOCKET) < 0) || fcntl(SOCKET, F_SETFD, FD_CLOEXEC) < 0)
                return -1;
        if (syscall(SYS_close_range, SOCKET + 1, ~0u, 0) < 0)
                for (int other = SOCKET + 1; other < FD_LAST; other++)
                        (void)close(other);
        return 0;
}

static _Noreturn void
serve(const struct origin *from, const sigset_t *open_signals)
{
        static _Alignas(8) unsigned char body[BODY_ROOM];
        static struct worker workers[WORKERS_MAX];

        for (;;) {
                struct worker *place;
                struct pollfd p = { .fd = SOCKET, .events = POLLIN };
                struct wire_message m;
                int result;

                reap(workers);
                place = find_place(workers);
                if (ppoll(&p, place ? 1 : 0, NULL, open_signals) <= 0)
                        continue;
                result = wire_receive(SOCKET, 0, &m, body, sizeof body);
                if (result == -EAGAIN)
                        continue;
                if (result <= 0)
                        _exit(0);
                wire_message_close(&m);
                if (m.kind != WIRE_SECRET_ASK || m.len < sizeof(struct wire_secret_ask))
                        _exit(BROKEN);
                begin_work(from, place, body, m.len);
        }
}

int
fetcher_start(fetcher_load *load, void *ctx, int fd, pid_t *ret, struct error *e)
{
        pid_t parent = getpid(), pid = fork();
        const struct origin from = { load, ctx };
        const char *step = "taking its descriptors";
        sigset_t open_signals;
        int result;

        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting the fetcher");
        if (pid > 0) {
                *ret = pid;
                return 0;
        }
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
                _exit(BROKEN);
        (void)prctl(PR_SET_NAME, "carrel-fetcher", 0, 0, 0);
        (void)setsid();
        hear_signals(&open_signals);
        result = chdir("/") < 0 || take_descriptors(fd) < 0 ? -errno : 0;
        if (result == 0)
                result = seal_privileges(SEAL_FETCHER, &step);
        if (result < 0) {
                (void)fprintf(stderr, "carrel-fetcher: %s: %s\n", step, strerror(-result));
                _exit(BROKEN);
        }
        serve(&from, &open_signals);
}
