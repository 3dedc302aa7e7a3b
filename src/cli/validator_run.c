/*
 * cli/validator_run.c - runs a program that judges calls, in a sandbox of its own.
 *
 *     carrel run --fork--> a process that waits ---> `carrel run` of the validator
 *         |                      ^      |
 *         +-- ladder, judgement--+      +--> what it prints, then its exit status
 *
 * Room: cli (joining, program). Touches: processes, one socket; what `carrel run` touches.
 * Theory: V1: whatever is not the status 0 of the program denies. The process that waits has the
 * rights of the caller. It takes one request, and can do nothing but run its words in a sandbox
 * without mounts.
 */
#include "cli/validator_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "text/utf8.h"

enum {
        REQUEST_MAX = 1 << 20,
        OUTPUT_MAX = 4096,
        START_MS = 20000, /* for making and removing the sandbox */
        OWN_STATUS = 124, /* from here on the status is of `carrel run`, or of a signal */
        BROKEN = 125
};

/* Followed by the words with their NULs, and the JSON. */
struct head {
        uint64_t timeout_ms, memory_mb;
        uint32_t words_len, word_count, json_len;
};

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

/* A file in memory, at its beginning. */
static int
file_of(const char *bytes, size_t len)
{
        int fd = memfd_create("carrel-validator", MFD_CLOEXEC);

        if (fd >= 0 && write_all(fd, bytes, len) == 0 && lseek(fd, 0, SEEK_SET) == 0)
                return fd;
        scoped_fd_close(&fd);
        return -1;
}

static int
manifest_of(const struct head *h)
{
        char text[512];
        int len = snprintf(text, sizeof text,
                           "---\nschema: sandbox/v1\nprovider: " PROVIDER_STANDARD "\nconfig: {}\n"
                           "limits: {timeout_ms: %llu, memory_mb: %llu}\n---\n",
                           (unsigned long long)h->timeout_ms, (unsigned long long)h->memory_mb);

        return file_of(text, (size_t)len);
}

/* Until the other end has no more. */
static size_t
receive(int fd, char *bytes, size_t room)
{
        size_t len = 0;
        ssize_t got;

        while (len < room &&
               ((got = read(fd, bytes + len, room - len)) > 0 || (got < 0 && errno == EINTR)))
                len += got > 0 ? (size_t)got : 0;
        return len;
}

static int
become_run(int socket, const struct head *h, char *words, const char *host_file,
           validator_command *run)
{
        char *command[VALIDATOR_NAMES_MAX + 1], path[32], name[] = "carrel";
        char *argv[] = { name, NULL };
        scoped_fd int manifest = manifest_of(h), input = file_of(words + h->words_len, h->json_len);
        scoped_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        struct prepare_options o = { .file = path,
                                     .workspace = "/",
                                     .host_file = host_file,
                                     .command = command,
                                     .command_count = h->word_count,
                                     .is_validator = true };

        for (uint32_t i = 0; i < h->word_count; i++) {
                command[i] = words;
                words += strlen(words) + 1;
        }
        command[h->word_count] = NULL;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", manifest);
        if (manifest < 0 || input < 0 || null < 0 || dup2(input, 0) < 0 || dup2(socket, 1) < 0 ||
            dup2(null, 2) < 0)
                return BROKEN;
        return run(&o, 1, argv);
}

/* Its own process writes the request, so only its lengths are checked. */
static _Noreturn void
serve(int socket, const char *host_file, validator_command *run)
{
        char *bytes = malloc(REQUEST_MAX);
        size_t len = bytes ? receive(socket, bytes, REQUEST_MAX) : 0;
        struct head h;

        if (len < sizeof h)
                _exit(BROKEN); /* it is not needed */
        memcpy(&h, bytes, sizeof h);
        if (h.word_count == 0 || h.word_count > VALIDATOR_NAMES_MAX ||
            len != sizeof h + h.words_len + h.json_len)
                _exit(BROKEN);
        _exit(become_run(socket, &h, bytes + sizeof h, host_file, run));
}

int
validator_run_start(const char *host_file, validator_command *run, struct error *e)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a pair of sockets");
        (void)fflush(NULL);
        runner.pid = fork();
        if (runner.pid == 0) {
                (void)setpgid(0, 0);
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                (void)close(pair[0]);
                serve(pair[1], host_file, run);
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
        (void)kill(runner.pid, SIGKILL);
        while (waitpid(runner.pid, NULL, 0) < 0 && errno == EINTR)
                continue;
}

/* -- a call ------------------------------------------------------------------------------------ */

int
validator_run_find(struct arena *arena, const struct node *rules,
                   const struct judge_request *request, struct validator_program *ret,
                   struct error *e)
{
        const struct node *map = rules ? node_find(rules, "validators") : NULL;
        const struct validator *v;
        struct validators all;

        *ret = (struct validator_program){ .command = { NULL, 0 } };
        if (!map)
                return 0;
        if (validator_read(arena, map, &all, e) < 0)
                return -1;
        v = validator_find(&all, request->tool ? tool_name(request->tool) : TOOL_SHELL);
        if (v)
                *ret = v->program;
        return 0;
}

static void
write_texts(struct json_writer *w, const char *key, const char *const *texts, size_t count,
            const char *until)
{
        json_key(w, key);
        json_open_list(w);
        for (size_t i = 0; i < count; i++)
                json_bytes(w, texts[i], strcspn(texts[i], until));
        json_close_list(w);
}

/* The arguments as other validators see them (judge/process/judging.c). */
static void
write_call(struct json_writer *w, struct arena *arena, const struct judge_request *r)
{
        const char *text = r->tool ? NULL : judge_request_text(arena, r);

        json_open_map(w);
        json_member_text(w, "tool", r->tool ? tool_name(r->tool) : TOOL_SHELL);
        json_key(w, "arguments");
        if (r->arguments) {
                json_node(w, r->arguments);
        } else {
                json_open_map(w);
                json_member_text(w, "cmd", text);
                if (r->word_count > 0)
                        write_texts(w, "argv", r->words, r->word_count, "");
                if (r->cwd)
                        json_member_text(w, "cwd", r->cwd);
                write_texts(w, "env", r->variables, r->variable_count, "="); /* names alone */
                json_close_map(w);
        }
        json_close_map(w);
        w->is_broken |= !r->tool && !text;
}

static bool
send_all(int fd, const void *bytes, size_t len)
{
        const char *at = bytes;

        while (len > 0) {
                ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent <= 0)
                        return false;
                at += sent;
                len -= (size_t)sent;
        }
        return true;
}

static bool
send_request(const struct validator_program *p, const struct json_writer *json)
{
        struct head h = { .timeout_ms = p->timeout_ms,
                          .memory_mb = p->memory_mb,
                          .word_count = (uint32_t)p->command.count,
                          .json_len = (uint32_t)json->len };

        for (size_t i = 0; i < p->command.count; i++)
                h.words_len += (uint32_t)strlen(p->command.items[i]) + 1;
        if (json->is_broken || json->len >= REQUEST_MAX - sizeof h - h.words_len ||
            !send_all(runner.fd, &h, sizeof h))
                return false;
        for (size_t i = 0; i < p->command.count; i++)
                if (!send_all(runner.fd, p->command.items[i], strlen(p->command.items[i]) + 1))
                        return false;
        return send_all(runner.fd, json->text, json->len) && shutdown(runner.fd, SHUT_WR) == 0;
}

/* What it prints. NULL: it has ended; else why there is no answer. */
static const char *
hear(char *out, size_t *ret_len, uint64_t until_ms)
{
        size_t len = 0;

        for (;;) {
                struct pollfd p = { .fd = runner.fd, .events = POLLIN };
                int ready = clock_poll(&p, 1, until_ms);
                ssize_t got;

                if (ready == 0)
                        return "it did not end in time";
                if (ready < 0 && errno == EINTR)
                        continue;
                got = ready < 0 ? -1 : read(runner.fd, out + len, OUTPUT_MAX + 1 - len);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return "its output cannot be read";
                *ret_len = len += (size_t)got;
                if (len > OUTPUT_MAX)
                        return "it printed more than 4096 bytes";
                if (got == 0)
                        return NULL;
        }
}

/* NULL: the status is the program's own. */
static const char *
take_status(int *ret_status)
{
        int status = 0;

        while (waitpid(runner.pid, &status, 0) < 0)
                if (errno != EINTR)
                        return "its status is not known";
        scoped_fd_close(&runner.fd);
        if (!WIFEXITED(status))
                return "the process that ran it was killed";
        *ret_status = WEXITSTATUS(status);
        if (*ret_status < OWN_STATUS)
                return NULL;
        return *ret_status == OWN_STATUS ? "it did not end in time"
               : *ret_status > 128       ? "it was killed"
                                         : "it could not be run in a sandbox";
}

/* The first line, in whole characters, without control characters. */
static void
write_sentence(const char *out, size_t len, char *sentence)
{
        size_t room = VALIDATOR_SENTENCE_ROOM - 1, line = 0;

        while (line < len && line < room && out[line] != '\n' && out[line] != '\0')
                line++;
        line = utf8_valid_len(out, line);
        memcpy(sentence, out, line);
        sentence[line] = '\0';
        for (char *c = sentence; *c; c++)
                if ((unsigned char)*c < ' ' || *c == '\x7f')
                        *c = '?';
        if (line == 0)
                (void)snprintf(sentence, VALIDATOR_SENTENCE_ROOM, "it gave no reason");
}

static int
fail_program(const struct validator_program *p, const char *why, struct error *e)
{
        (void)fail_at(e, ERROR_POLICY_DENIED, "commands/validators", "validator_failed",
                      "the validator %.80s gave no answer: %s", p->command.items[0], why);
        error_hint(e, "Nothing was started. A validator that fails denies. Run it by hand, and see "
                      "docs/POLICY.md for what it gets and must answer.");
        return -1;
}

int
validator_run_ask(const struct validator_program *program, const struct judge_request *request,
                  char sentence[VALIDATOR_SENTENCE_ROOM], struct error *e)
{
        uint64_t until_ms = clock_boot_ms() + program->timeout_ms + START_MS;
        char out[OUTPUT_MAX + 1];
        struct json_writer json;
        struct arena arena;
        const char *why = "no process for validators was started";
        int status = BROKEN;
        size_t len = 0;

        if (runner.fd < 0)
                return fail_program(program, why, e);
        arena_init(&arena, REQUEST_MAX);
        json_init(&json, false);
        write_call(&json, &arena, request);
        why = send_request(program, &json) ? hear(out, &len, until_ms)
                                           : "the call is too long for it";
        json_fini(&json);
        arena_fini(&arena);
        if (!why)
                why = take_status(&status);
        validator_run_end();
        if (why)
                return fail_program(program, why, e);
        if (status != 0)
                write_sentence(out, len, sentence);
        return status != 0;
}
