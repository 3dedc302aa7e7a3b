/*
 * cli/validator_run.c - runs a program that judges calls, in a sandbox of its own.
 *
 *     carrel run --fork--> a process that waits ---> `carrel run` of the validator
 *         |                      ^      |
 *         +-- ladder, judgement--+      +--> what it prints, then its exit status
 *
 * Room: cli (joining, program). Touches: processes, one socket; what `carrel run` touches.
 * Theory: V1: whatever is not the status 0 of the program denies. The process that waits
 * (daemon/validators.h) has the rights of the caller. It takes one request, and can do nothing but
 * run its words in a sandbox without mounts.
 */
#include "cli/validator_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/write_all.h"
#include "cli/host_word.h"
#include "clock/clock.h"
#include "judge/tool.h"
#include "wire/message.h"
#include "wire/validator.h"

enum { MEMORY = 1 << 20, BROKEN = 125 };

static struct {
        int fd;
        pid_t pid;
} runner = { -1, 0 };

bool
validator_run_may_be_needed(const char *named)
{
        return host_word_is_written(named, "commands");
}

/* -- the process that waits -------------------------------------------------------------------- */

static int
manifest_of(const struct validators_job *job)
{
        char text[512];
        int len = snprintf(text, sizeof text,
                           "---\nschema: sandbox/v1\nprovider: " PROVIDER_STANDARD "\nconfig: {}\n"
                           "limits: {timeout_ms: %llu, memory_mb: %llu}\n---\n",
                           (unsigned long long)job->timeout_ms, (unsigned long long)job->memory_mb);
        int fd = memfd_create("carrel-validator", MFD_CLOEXEC);

        if (fd >= 0 && write_all(fd, text, (size_t)len) == 0)
                return fd;
        scoped_fd_close(&fd);
        return -1;
}

int
validator_run_job(void *ctx, const struct validators_job *job)
{
        const struct validator_run *with = ctx;
        char path[32], name[] = "carrel";
        char *argv[] = { name, NULL };
        scoped_fd int manifest = manifest_of(job);
        struct prepare_options o = { .file = path,
                                     .workspace = "/",
                                     .host_file = with->host_file,
                                     .command = job->words,
                                     .command_count = job->word_count,
                                     .is_validator = true };

        if (manifest < 0)
                return BROKEN;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", manifest);
        return with->run(&o, 1, argv);
}

int
validator_run_start(const char *host_file, validator_command *run, struct error *e)
{
        struct validator_run with = { host_file, run };
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a pair of sockets");
        (void)fflush(NULL);
        runner.pid = fork();
        if (runner.pid == 0) {
                (void)setpgid(0, 0);
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                (void)close(pair[0]);
                validators_answer(pair[1], validator_run_job, &with);
        }
        (void)close(pair[1]);
        runner.fd = pair[0];
        if (runner.pid > 0)
                return 0;
        scoped_fd_close(&runner.fd);
        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting a process for validators");
}

void
validator_run_end(void)
{
        if (runner.fd < 0)
                return;
        (void)shutdown(runner.fd, SHUT_RDWR); /* others may have a copy of it */
        scoped_fd_close(&runner.fd);
        (void)kill(-runner.pid, SIGKILL);
        (void)kill(runner.pid, SIGKILL); /* and with it what it runs */
        while (waitpid(runner.pid, NULL, 0) < 0 && errno == EINTR)
                continue;
}

/* -- a call ------------------------------------------------------------------------------------ */

int
validator_run_find(struct arena *arena, const struct node *rules,
                   const struct judge_request *request, struct validator_program *ret,
                   struct error *e)
{
        return question_find(arena, rules, request->tool ? tool_name(request->tool) : TOOL_SHELL,
                             ret, e);
}

/* The length of its answer in `body`; 0: there is none. */
static size_t
hear(void *body, uint64_t until_ms)
{
        struct pollfd p = { .fd = runner.fd, .events = POLLIN };
        struct wire_message m;
        int ready;

        while ((ready = clock_poll(&p, 1, until_ms)) < 0 && errno == EINTR)
                continue;
        if (ready <= 0 || wire_receive(runner.fd, 1, &m, body, WIRE_BODY_MAX) <= 0)
                return 0;
        wire_message_close(&m);
        return m.kind == WIRE_VALIDATED ? m.len : 0;
}

int
validator_run_ask(const struct validator_program *program, const struct judge_request *request,
                  char sentence[QUESTION_SENTENCE_ROOM], struct error *e)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        uint64_t until_ms =
                clock_boot_ms() + program->timeout_ms + VALIDATE_MAKE_MS + VALIDATE_ANSWER_MS;
        const char *name = program->command.items[0];
        struct arena arena;
        size_t len;
        int result = -1;

        if (runner.fd < 0)
                return question_fail(name, "no process for validators was started", e);
        arena_init(&arena, MEMORY);
        len = question_write(&arena, program, request, body, sizeof body, e);
        if (len > 0 && wire_send_in_time(runner.fd, WIRE_VALIDATE_THIS, body, len, NULL, 0) < 0)
                result = question_fail(name, "the process that would run it has ended", e);
        else if (len > 0 && (len = hear(body, until_ms)) == 0)
                result = question_fail(name, "the process that ran it has ended", e);
        else if (len > 0)
                result = question_answer_read(name, body, len, sentence, e);
        arena_fini(&arena);
        validator_run_end();
        return result;
}
