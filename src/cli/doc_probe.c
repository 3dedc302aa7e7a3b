/*
 * cli/doc_probe.c - runs one command in a new sandbox of a manifest.
 *
 * Room: cli (joining). Touches: processes, fd, clock.
 * Theory: a process of this program, so that a probe takes every step that a user's run takes. Its
 * own time limit ends it: the manifest's or the built-in one.
 */
#include "cli/doc_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "clock/clock.h"
#include "text/json.h"

enum { WORDS_MAX = 400, OUTPUT_MAX = 8 << 20, NOT_STARTED = 125, TIMEOUT_TEXT = 32 };

static const struct text_limits output_limits = { OUTPUT_MAX, 16, 100000 };

/* The command line, for WORDS_MAX words; `timeout` has room for a number. */
static void
write_words(const struct doc_probe *probe, const char *const *command, const char **argv,
            char timeout[TIMEOUT_TEXT])
{
        const char *const options[][2] = { { "--file", probe->file },
                                           { "--workspace", probe->workspace },
                                           { "--host", probe->host_file } };
        size_t count = 0;

        argv[count++] = "carrel";
        argv[count++] = probe->replay ? "audit" : probe->server ? "tool-server" : "run";
        if (probe->replay) {
                argv[count++] = "replay";
                argv[count++] = probe->replay;
        }
        argv[count++] = "--json";
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
                if (options[i][1]) {
                        argv[count++] = options[i][0];
                        argv[count++] = options[i][1];
                }
        if (probe->replay)
                return;
        if (probe->timeout_ms > 0) {
                (void)snprintf(timeout, TIMEOUT_TEXT, "%" PRIu64 "ms", probe->timeout_ms);
                argv[count++] = "--timeout";
                argv[count++] = timeout;
        }
        if (probe->state)
                argv[count++] = "--audit";
        if (probe->state && probe->keeps_output)
                argv[count++] = "--keep-output";
        if (probe->server)
                argv[count++] = probe->server;
        argv[count++] = "--";
        while (*command && count < WORDS_MAX)
                argv[count++] = *command++;
}

static _Noreturn void
become(const struct doc_probe *probe, const char *const *command, int out)
{
        const char *argv[WORDS_MAX + 1] = { NULL };
        char timeout[TIMEOUT_TEXT];
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        write_words(probe, command, argv, timeout);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0 ||
            setenv(DOC_PROBE_SECRET, "1", 1) < 0 ||
            (probe->state && setenv("CARREL_STATE", probe->state, 1) < 0))
                _exit(NOT_STARTED);
        (void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
        _exit(NOT_STARTED);
}

static int
read_all(int fd, struct buffer *ret)
{
        char bytes[16384];

        for (;;) {
                ssize_t got = read(fd, bytes, sizeof bytes);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return (int)got;
                if (buffer_add(ret, bytes, (size_t)got, OUTPUT_MAX) != 0)
                        return -1;
        }
}

int
doc_probe_run(struct arena *arena, const struct doc_probe *probe, const char *const *command,
              struct doc_probed *ret, struct error *e)
{
        struct buffer text = { 0 };
        uint64_t start = clock_work_us();
        int ends[2], status, result;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a pipe for a probe");
        (void)fflush(NULL);
        pid = fork();
        if (pid == 0)
                become(probe, command, ends[1]);
        (void)close(ends[1]);
        result = pid < 0 ? -1 : read_all(ends[0], &text);
        (void)close(ends[0]);
        while (pid > 0 && waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        break;
        ret->took_us = clock_work_us() - start;
        ret->status = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (result == 0 && text.len > 0)
                result = json_read(arena, text.bytes, text.len, &output_limits, &ret->json, e);
        else
                result = fail(e, ERROR_BACKEND_FAILED, "a probe sandbox could not be started");
        buffer_fini(&text);
        return result;
}
