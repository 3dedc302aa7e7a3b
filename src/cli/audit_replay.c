/*
 * cli/audit_replay.c - runs recorded commands again, and compares what they printed.
 *
 * Room: cli (joining, program). Touches: processes (a fork that becomes `carrel run`), fd (standard
 * streams), the audit log, the workspace, which it reads.
 * Theory: the fork drops its privileges as `carrel run` does, and its entries are found by the
 * references that it sends back. A later command of a sandbox is run behind all that ran before it
 * (run/series.h). All else is a comparison of entries and their contents.
 */
#include "cli/audit_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/content.h"
#include "audit/tree.h"
#include "base/scoped.h"
#include "base/write_all.h"
#include "cli/audit_call.h"
#include "cli/audit_compare.h"
#include "cli/audit_egress.h"
#include "cli/audit_recording.h"
#include "cli/audit_series.h"
#include "cli/finding_print.h"
#include "cli/run.h"
#include "recorder/message.h"

enum { MESSAGES_MAX = 64 * 1024, REFS_MAX = RECORDINGS_MAX * RECORDER_REF_MAX };

static const char *
or_none(const char *text)
{
        return text ? text : "none";
}

/* -- can it be replayed? ----------------------------------------------------------------------- */

static int
refuse(struct error *e, const char *reason, const char *sentence)
{
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL, reason, "%s", sentence);
        error_hint(e,
                   "Nothing was started. docs/AUDIT.md, \"Replay\", says what a recording needs.");
        return -1;
}

/* `base.error` of a start, and `disturbed` of an end: what else came into the sandbox. */
static const struct {
        const char *word, *reason, *sentence;
} unknowns[] = {
        { "used", "replay_used",
          "what ran in its sandbox before is not known: the daemon was restarted meanwhile, or an "
          "older version recorded it" },
        { "overlap", "replay_overlap",
          "commands, or calls that change files, ran in its sandbox at the same time" },
        { "files", "replay_files",
          "a call changed files in its sandbox, which an older version started, and what it "
          "changed "
          "was not recorded" },
        { "port", "replay_port",
          "a port inside of its sandbox was connected to, and what came in was not recorded" },
        { "signal", "replay_signal", "a call sent a signal, and its moment was not recorded" },
        { "environment", "replay_environment",
          "its sandbox was created with variables, and their values were not recorded" },
};

static int
refuse_unknown(const char *word, struct error *e)
{
        for (size_t i = 0; i < sizeof unknowns / sizeof *unknowns; i++)
                if (strcmp(unknowns[i].word, word) == 0)
                        return refuse(e, unknowns[i].reason, unknowns[i].sentence);
        return refuse(e, "replay_workspace", "the workspace was not recorded");
}

/* A word with bytes that are not UTF-8 is another one in the log. */
static bool
has_digest(const struct node *argv, const char *expected)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        char text[2 * sizeof sum + 1];
        crypto_hash_sha256_state state;

        (void)crypto_hash_sha256_init(&state);
        node_each(word, argv)
        {
                (void)crypto_hash_sha256_update(&state, (const unsigned char *)word->text,
                                                strlen(word->text) + 1);
        }
        (void)crypto_hash_sha256_final(&state, sum);
        return strcmp(sodium_bin2hex(text, sizeof text, sum, sizeof sum), expected) == 0;
}

static int
check_words(const struct recording *r, struct error *e)
{
        const struct node *argv = node_find(r->started, "argv");
        const struct node *argc = node_find(r->started, "argc");
        const char *sha256 = recording_text(r->started, "argv_sha256");

        /* the digest is missing if something was redacted */
        if (!argv || argv->kind != NODE_LIST || !argc || argc->integer != (int64_t)argv->len ||
            !sha256 || !has_digest(argv, sha256))
                return refuse(e, "replay_words",
                              "the words of the command are not completely recorded");
        return 0;
}

/* What the first command began with. */
static int
check_base(const struct recording *r, const struct replay_request *q, struct error *e)
{
        const struct node *base = node_find(r->started, "base");
        const char *sha256 = recording_text(base, "sha256");
        struct audit_tree tree;

        if (recording_says(base, "none"))
                return 0;
        if (!sha256)
                return refuse_unknown(or_none(recording_text(base, "error")), e);
        if (audit_tree_read(q->workspace ? q->workspace : ".", &tree, e) < 0)
                return -1;
        if (strcmp(tree.sha256, sha256) == 0)
                return 0;
        (void)refuse(e, "replay_workspace",
                     "the workspace is not as it was when the command was recorded");
        error_hint(e, "Nothing was started. Pass a copy of that time: --workspace DIR");
        return -1;
}

static int
check_content(const struct recording *r, struct error *e)
{
        const struct node *in = recording_stream(r, "stdin");

        if (!recording_text(in, "sha256") ||
            !recording_text(recording_stream(r, "stdout"), "sha256") ||
            !recording_text(recording_stream(r, "stderr"), "sha256"))
                return refuse(e, "replay_content",
                              "its input and output were not kept (--keep-output)");
        if (recording_says(in, "truncated") || node_find(in, "redacted"))
                return refuse(e, "replay_input",
                              recording_says(in, "truncated")
                                      ? "only the beginning of its standard input was kept"
                                      : "something was redacted in its standard input");
        return 0;
}

/* The daemon records the names of the call alone, `carrel run` all of them. */
static bool
has_own_variables(const struct recording *r)
{
        const struct node *env = node_find(r->started, "env");

        return node_find(r->started, "env_given") ||
               (recording_text(r->started, "norm_sha256") && env && env->kind == NODE_LIST &&
                env->len > 0);
}

static int
check_call(const struct recording *r, struct error *e)
{
        const char *why = audit_call_why_not(r), *disturbed = recording_text(r->ended, "disturbed");

        if (disturbed)
                return refuse_unknown(disturbed, e);
        if (why)
                return refuse(e, "replay_files", why);
        return node_find(r->ended, "files") ? 0 : check_words(r, e); /* a write has no other word */
}

static int
check_one(const struct recording *r, struct error *e)
{
        const char *disturbed = recording_text(r->ended, "disturbed");

        if (r->operation)
                return check_call(r, e);
        if (recording_says(r->started, "terminal"))
                return refuse(e, "replay_terminal", "the command ran at a terminal (-t)");
        if (strcmp(or_none(recording_text(r->ended, "outcome")), "killed") == 0)
                return refuse(e, "replay_killed",
                              "a caller killed the command, and its moment was not recorded");
        if (has_own_variables(r))
                return refuse(e, "replay_environment",
                              "the command was given variables, and their values were not "
                              "recorded");
        if (disturbed)
                return refuse_unknown(disturbed, e);
        if (check_content(r, e) < 0)
                return -1;
        if (!recording_text(r->started, "allowed_sha256") &&
            !recording_text(r->started, "norm_sha256"))
                return refuse(e, "replay_manifest", "what its sandbox was allowed is not recorded");
        return check_words(r, e);
}

/* The manifest of a sandbox does not change. */
static bool
is_allowed_the_same(const struct recording *a, const struct recording *b)
{
        return strcmp(or_none(recording_text(a->started, "norm_sha256")),
                      or_none(recording_text(b->started, "norm_sha256"))) == 0;
}

static int
check(struct audit_log *log, const struct recordings *all, const struct replay_request *q,
      struct error *e)
{
        bool is_changed;

        for (size_t i = 0; i < all->count; i++) {
                const struct node *base = node_find(all->of[i].started, "base");

                if (i > 0 && !node_find(base, "after"))
                        return refuse(e, "replay_content", "what ran before it was not kept");
                if (check_one(&all->of[i], e) < 0)
                        return -1;
                if (!is_allowed_the_same(&all->of[0], &all->of[i]))
                        return refuse(e, "replay_manifest",
                                      "its sandbox was allowed something else before");
        }
        if (recordings_look(log, all, &is_changed, e) < 0)
                return -1;
        if (is_changed)
                return refuse(e, "replay_workspace",
                              "files in the workspace changed while none of its commands ran, and "
                              "their content was not recorded");
        return check_base(&all->of[0], q, e);
}

/* -- running ----------------------------------------------------------------------------------- */

static char **
words_of(struct recording *r)
{
        const struct node *argv = node_find(r->started, "argv");
        char **words = arena_array(&r->arena, char *, argv->len + 1);
        size_t count = 0;

        node_each(word, argv)
        {
                if (words)
                        words[count++] = arena_copy(&r->arena, word->text, strlen(word->text));
        }
        return words;
}

/* The sizes and paths that a call announced are those of its input. */
static size_t
word_count_of(const struct recording *r)
{
        return r->operation && node_find(r->ended, "files") ? 1
                                                            : node_find(r->started, "argv")->len;
}

static int
open_input(const struct audit_log *log, const struct recording *r, struct error *e)
{
        scoped_fd int fd = memfd_create("stdin", MFD_CLOEXEC);
        struct buffer bytes = { 0 };
        int result = fd < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "creating a file in memory")
                            : audit_content_read(
                                      log, recording_text(recording_stream(r, "stdin"), "sha256"),
                                      &bytes, e);

        if (result == 0 && (write_all(fd, bytes.bytes, bytes.len) < 0 || lseek(fd, 0, SEEK_SET)))
                result = fail_sys(e, ERROR_BACKEND_FAILED, errno, "writing a file in memory");
        buffer_fini(&bytes);
        return result < 0 ? -1 : fd_take(&fd);
}

static uint64_t
timeout_of(const struct recording *r)
{
        const struct node *timeout = node_find(r->started, "timeout_ms");

        return timeout && timeout->kind == NODE_INT ? (uint64_t)timeout->integer : 0;
}

/* Everything of it lives as long as the recording, but its descriptor. */
static int
command_of(const struct audit_log *log, struct recording *r, struct replay_command *ret,
           struct error *e)
{
        *ret = (struct replay_command){
                .ref = arena_format(&r->arena, "audit://%s/%" PRIu64, r->chain, r->seq),
                .cwd = recording_text(r->started, "cwd"),
                .env = node_find(r->started, "env"),
                .words = words_of(r),
                .word_count = word_count_of(r),
                .operation = r->operation,
                .timeout_ms = timeout_of(r),
                .kills_rest = recording_says(r->started, "kill_rest"),
                .in = r->operation ? audit_call_open_input(log, r, e) : open_input(log, r, e)
        };
        if (ret->in < 0)
                return -1;
        return ret->ref && ret->words ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a command");
}

/* In the fork. Messages of `carrel run` itself go to `messages`. */
static _Noreturn void
become_run(const struct prepare_options *o, int messages)
{
        if (dup2(o->replay->commands[0].in, STDIN_FILENO) < 0 ||
            dup2(o->replay->sink, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0)
                _exit(125);
        (void)run_command(o, 0, NULL);
        (void)fflush(stderr);
        _exit(0);
}

static void
print_messages(int messages)
{
        static char text[MESSAGES_MAX];
        ssize_t len = pread(messages, text, sizeof text - 1, 0);

        text[len > 0 ? len : 0] = '\0';
        (void)fputs(text, stderr);
}

/* The references that the fork has sent, a line each. */
static void
read_back(int fd, char refs[REFS_MAX])
{
        size_t len = 0;
        ssize_t got = 1;

        while (len + 1 < REFS_MAX && got != 0) {
                got = read(fd, refs + len, REFS_MAX - 1 - len);
                if (got < 0 && errno != EINTR)
                        break;
                len += got > 0 ? (size_t)got : 0;
        }
        refs[len] = '\0';
}

/* `refs`: how many commands were recorded again, in their order. */
static int
start(const struct prepare_options *o, char refs[REFS_MAX], struct error *e)
{
        scoped_fd int messages = memfd_create("messages", MFD_CLOEXEC), from = -1, to = -1;
        struct replay_options replay = *o->replay;
        struct prepare_options options = *o;
        int pair[2];
        pid_t pid;

        if (messages < 0 || pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "creating a pipe");
        from = pair[0];
        to = pair[1];
        (void)fflush(NULL);
        replay.back = to;
        options.replay = &replay;
        pid = fork();
        if (pid == 0)
                become_run(&options, messages);
        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting the replay");
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        read_back(from, refs);
        if (refs[0] != '\0')
                return 0;
        print_messages(messages);
        return fail(e, ERROR_BACKEND_FAILED, "the replay was not started");
}

static int
run_again(struct audit_log *log, struct recordings *all, struct replay_command *commands,
          struct audit_egress *egress, const struct replay_request *q, struct error *e)
{
        static char refs[REFS_MAX];
        scoped_fd int answers = -1;
        const struct recording *first = &all->of[0];
        scoped_fd int sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
        struct replay_options replay = { .commands = commands,
                                         .count = all->count,
                                         .allowed_sha256 =
                                                 recording_text(first->started, "allowed_sha256"),
                                         .norm_sha256 =
                                                 recording_text(first->started, "norm_sha256"),
                                         .sink = sink };
        struct prepare_options o = { .file = q->file,
                                     .workspace = q->workspace,
                                     .host_file = q->host_file,
                                     .audits = true,
                                     .keeps_output = true,
                                     .replay = &replay };

        if (sink < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening /dev/null");
        if (audit_egress_open(egress, &answers, e) < 0)
                return -1;
        replay.egress = answers;
        for (size_t i = 0; i < all->count; i++)
                if (command_of(log, &all->of[i], &commands[i], e) < 0)
                        return -1;
        o.again = all->count == 1 ? &commands[0] : NULL;
        o.command = commands[0].words;
        o.command_count = commands[0].word_count;
        o.timeout_ms = commands[0].timeout_ms;
        return start(&o, refs, e) < 0 ? -1 : audit_compare(log, all, egress, refs, q->is_json, e);
}

static int
run_checked(struct audit_log *log, struct recordings *all, const struct replay_request *q,
            struct error *e)
{
        struct replay_command *commands = calloc(all->count, sizeof *commands);
        struct audit_egress egress;
        int result;

        if (!commands)
                return fail(e, ERROR_NO_MEMORY, "no memory for commands");
        for (size_t i = 0; i < all->count; i++)
                commands[i].in = -1;
        result = audit_egress_read(log, all, &egress, e) < 0
                         ? -1
                         : run_again(log, all, commands, &egress, q, e);
        audit_egress_fini(&egress);
        for (size_t i = 0; i < all->count; i++)
                scoped_fd_close(&commands[i].in);
        free(commands);
        return result;
}

int
audit_replay(struct audit_log *log, uint64_t seq, const struct replay_request *request,
             struct error *e)
{
        struct audit_verdict verdict;
        struct recordings all;
        int result;

        /* a recording says which commands are run */
        if (audit_log_verify(log, NULL, !request->has_no_keys, &verdict, e) < 0)
                return -1;
        result = recordings_read(log, seq, &all, e) < 0 || check(log, &all, request, e) < 0
                         ? -1
                         : run_checked(log, &all, request, e);
        recordings_fini(&all);
        return result;
}
