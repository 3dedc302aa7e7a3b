/*
 * daemon/validators.c - runs programs that judge calls.
 *
 * Room: daemon (joining, program: a fork of the launcher, or of `carrel run`). Touches: processes,
 * fd.
 * Theory: carrel-validate has the rights that `carrel run` needs, so it reads nothing: it forks
 * for each socket that it receives. That fork (`one question`) reads lengths and words, runs the
 * program as `carrel run` runs a command without mounts, and bounds its time and output. V1:
 * whatever happens to the program or to this process, the asker gets an answer or a closed socket,
 * and both but status 0 deny.
 *
 *     waiting --question--> running --output ends, `carrel run` ends--> answered
 *                              |------ too late, too much output -----> killed, answered
 *                              \------ the asker has left ------------> killed
 */
#include "daemon/validators.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/write_all.h"
#include "clock/clock.h"
#include "daemon/child.h"
#include "wire/message.h"
#include "wire/validator.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { SOCKET = 3, FD_LAST = 1024, BROKEN = 125 };

/* One question. */
struct asked {
        int socket, output; /* output: of the program; -1: it has ended */
        pid_t pid;
        uint64_t until_ms;
        size_t len; /* of `out` */
        struct wire_validated told;
        char out[VALIDATE_OUTPUT_MAX + 1];
};

static _Alignas(8) unsigned char body[WIRE_BODY_MAX];

/* -- the question ------------------------------------------------------------------------------ */

/* Its words, in place. False: malformed. */
static bool
read_words(const struct wire_validate *head, size_t len, char *words[VALIDATE_WORDS_MAX + 1])
{
        char *at = (char *)body + sizeof *head;
        size_t left = head->words_len;

        if (head->word_count == 0 || head->word_count > VALIDATE_WORDS_MAX ||
            head->words_len > len || head->json_len > len ||
            sizeof *head + head->words_len + head->json_len != len)
                return false;
        for (uint32_t i = 0; i < head->word_count; i++) {
                size_t word = strnlen(at, left);

                if (word == left)
                        return false;
                words[i] = at;
                at += word + 1;
                left -= word + 1;
        }
        words[head->word_count] = NULL;
        return left == 0;
}

/* A file in memory, at its beginning. */
static int
file_of(const void *bytes, size_t len)
{
        int fd = memfd_create("carrel-validator", MFD_CLOEXEC);

        if (fd >= 0 && write_all(fd, bytes, len) == 0 && lseek(fd, 0, SEEK_SET) == 0)
                return fd;
        scoped_fd_close(&fd);
        return -1;
}

static _Noreturn void
become_run(const struct wire_validate *head, char **words, int output, pid_t parent,
           validators_run *run, void *ctx)
{
        const struct validators_job job = { words, head->word_count, head->timeout_ms,
                                            head->memory_mb };
        int input = file_of(body + sizeof *head + head->words_len, head->json_len);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void)setpgid(0, 0);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || input < 0 ||
            null < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(null, 2) < 0 ||
            close(output) < 0)
                _exit(BROKEN);
        _exit(run(ctx, &job));
}

/* False: the question is malformed, or there is none. */
static bool
begin(struct asked *a, validators_run *run, void *ctx)
{
        char *words[VALIDATE_WORDS_MAX + 1];
        struct wire_validate head;
        struct wire_message m;
        pid_t parent = getpid();
        int ends[2];

        if (wire_receive(a->socket, 1, &m, body, sizeof body) <= 0)
                return false;
        wire_message_close(&m);
        if (m.kind != WIRE_VALIDATE_THIS || m.len < sizeof head)
                return false;
        memcpy(&head, body, sizeof head);
        if (!read_words(&head, m.len, words) || pipe2(ends, O_CLOEXEC) < 0)
                return false;
        a->until_ms = clock_boot_ms() + head.timeout_ms + VALIDATE_MAKE_MS;
        a->output = ends[0];
        a->pid = fork();
        if (a->pid == 0)
                become_run(&head, words, ends[1], parent, run, ctx);
        (void)close(ends[1]);
        return a->pid > 0;
}

/* -- the answer -------------------------------------------------------------------------------- */

/* `carrel run` ends its sandbox when it is killed. */
static void
kill_run(const struct asked *a)
{
        (void)kill(-a->pid, SIGKILL);
        (void)kill(a->pid, SIGKILL);
}

/* False: there is no more, or too much. */
static bool
read_output(struct asked *a)
{
        ssize_t got = read(a->output, a->out + a->len, sizeof a->out - a->len);

        if (got < 0 && errno == EINTR)
                return true;
        if (got > 0)
                a->len += (size_t)got;
        if (a->len > VALIDATE_OUTPUT_MAX)
                a->told.how = VALIDATED_FLOOD;
        return got > 0 && a->told.how == VALIDATED_ENDED;
}

/* Until the output ends. False: the asker has left. */
static bool
follow(struct asked *a)
{
        for (;;) {
                struct pollfd p[] = { { .fd = a->socket, .events = POLLIN },
                                      { .fd = a->output, .events = POLLIN } };
                int ready = clock_poll(p, 2, a->until_ms);

                if (ready < 0 && errno == EINTR)
                        continue;
                if (ready == 0)
                        a->told.how = VALIDATED_LATE;
                if (ready <= 0)
                        return ready == 0;
                if (p[0].revents != 0)
                        return false; /* it says nothing after its question */
                if (p[1].revents != 0 && !read_output(a))
                        return true;
        }
}

/* It ends at once: its output has ended, or it was killed. The alarm is for what cannot be. */
static void
take_status(struct asked *a)
{
        int status = 0;

        if (a->told.how != VALIDATED_ENDED)
                kill_run(a);
        (void)alarm(VALIDATE_MAKE_MS / 1000);
        while (waitpid(a->pid, &status, 0) < 0)
                if (errno != EINTR)
                        _exit(BROKEN);
        if (a->told.how == VALIDATED_ENDED && !WIFEXITED(status))
                a->told.how = VALIDATED_KILLED;
        a->told.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

_Noreturn void
validators_answer(int socket, validators_run *run, void *ctx)
{
        static struct asked a;

        a = (struct asked){ .socket = socket, .output = -1 };
        if (!begin(&a, run, ctx))
                _exit(BROKEN);
        if (!follow(&a)) {
                kill_run(&a);
                _exit(0);
        }
        take_status(&a);
        if (a.len > VALIDATE_OUTPUT_MAX)
                a.len = VALIDATE_OUTPUT_MAX;
        memcpy(body, &a.told, sizeof a.told);
        memcpy(body + sizeof a.told, a.out, a.len);
        (void)wire_send_in_time(socket, WIRE_VALIDATED, body, sizeof a.told + a.len, NULL, 0);
        _exit(0);
}

/* -- the permanent process --------------------------------------------------------------------- */

static _Noreturn void
become_answer(int socket, pid_t parent, validators_run *run, void *ctx)
{
        child_signals();
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
                _exit(BROKEN);
        (void)close(SOCKET);
        validators_answer(socket, run, ctx);
}

static _Noreturn void
serve(validators_run *run, void *ctx)
{
        pid_t self = getpid();
        struct wire_message m;

        for (;;) {
                int result = wire_receive(SOCKET, 1, &m, NULL, 0);

                if (result == -EINTR)
                        continue;
                if (result <= 0)
                        _exit(0);
                /* a child that cannot be made closes the socket, and the keeper denies */
                if (m.kind == WIRE_VALIDATE && m.fd_count == 1 && fork() == 0)
                        become_answer(m.fds[0], self, run, ctx);
                wire_message_close(&m);
        }
}

/* It keeps its working directory: the host file's name may be relative. */
static int
become(int fd)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)prctl(PR_SET_NAME, "carrel-validate", 0, 0, 0);
        (void)setsid();
        child_signals();
        (void)sigaction(SIGCHLD, &ignored, NULL); /* its children are not awaited */
        /* it ends with its keeper, which would take an earlier end for a failure */
        (void)sigaction(SIGTERM, &ignored, NULL);
        (void)sigaction(SIGINT, &ignored, NULL);
        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
            (fd != SOCKET && dup2(fd, SOCKET) < 0) || fcntl(SOCKET, F_SETFD, FD_CLOEXEC) < 0)
                return -1;
        if (syscall(SYS_close_range, SOCKET + 1, ~0u, 0) < 0)
                for (int other = SOCKET + 1; other < FD_LAST; other++)
                        (void)close(other);
        /* it holds no secret any more, and a process without a dump cannot make a sandbox */
        return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

int
validators_start(validators_run *run, void *ctx, void (*forget)(void *ctx), void *forget_ctx,
                 int fd, pid_t *ret, struct error *e)
{
        pid_t parent = getpid(), pid = fork();

        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting carrel-validate");
        if (pid > 0) {
                *ret = pid;
                return 0;
        }
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
                _exit(BROKEN);
        forget(forget_ctx);
        if (become(fd) < 0) {
                (void)fprintf(stderr, "carrel-validate: taking its descriptors: %s\n",
                              strerror(errno));
                _exit(BROKEN);
        }
        serve(run, ctx);
}
