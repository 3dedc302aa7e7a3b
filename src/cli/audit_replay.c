/*
 * cli/audit_replay.c - runs a recorded command again, and compares what it printed.
 *
 * Room: cli (joining, program). Touches: processes (a fork that becomes `carrel run`), fd (standard
 * streams), the audit log, the workspace, which it reads.
 * Theory: the fork drops its privileges as `carrel run` does, and its entry is found by the
 * reference that it sends back. All else is a comparison of two entries and their contents.
 */
#include "cli/audit_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "cli/audit_place.h"
#include "cli/finding_print.h"
#include "cli/run.h"
#include "cli/run_audit.h"
#include "recorder/message.h"

enum { MEMORY = 64 << 20, MESSAGES_MAX = 64 * 1024 };

/* The two entries of one command. */
struct recording {
        struct arena arena;
        const struct node *started, *ended; /* input of the one, output of the other */
        uint64_t seq, start, connections; /* start: its number, if the end has it: of the daemon */
        bool has_start;
        char subject[64], chain[AUDIT_ID_TEXT];
        bool is_broken;
};

/* -- entries ----------------------------------------------------------------------------------- */

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind != NODE_LIST && n->kind != NODE_MAP ? n->text : NULL;
}

static const char *
or_none(const char *text)
{
        return text ? text : "none";
}

static bool
is_true(const struct node *map, const char *key)
{
        const char *text = text_of(map, key);

        return text && strcmp(text, "true") == 0;
}

static const struct node *
stream_of(const struct recording *r, const char *name)
{
        return node_find(node_find(r->ended, "content"), name);
}

/* A copy that lives as long as the recording. */
static const struct node *
keep(struct recording *r, const char *line, size_t len, const char *member)
{
        const char *copy = arena_copy(&r->arena, line, len);
        struct audit_entry entry;
        struct error ignored;

        if (!copy || audit_entry_read(&r->arena, copy, len, &entry, &ignored) < 0) {
                r->is_broken = true;
                return NULL;
        }
        return node_find(entry.root, member);
}

static uint64_t
start_of(const struct audit_entry *entry)
{
        const struct node *start = node_find(node_find(entry->root, "input"), "start");

        return start && start->kind == NODE_INT ? (uint64_t)start->integer : UINT64_MAX;
}

/* The end of this start. Of `carrel run`, whose ends do not name it, a sandbox has one command. */
static bool
is_end_of(const struct recording *r, const struct audit_entry *entry)
{
        uint64_t start = start_of(entry);

        return strcmp(entry->action, "exec.ended") == 0 &&
               (r->subject[0] == '\0' ? entry->seq == r->seq
                                      : strcmp(entry->subject, r->subject) == 0 &&
                                                (start == r->seq || start == UINT64_MAX));
}

/* REF is the end of a command or, as the daemon's answers name it, its start. */
static bool
find_end(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct recording *r = ctx;

        if (entry->seq == r->seq && strcmp(entry->action, "exec.started") == 0) {
                (void)snprintf(r->subject, sizeof r->subject, "%s", entry->subject);
                return true;
        }
        if (!is_end_of(r, entry))
                return r->subject[0] != '\0';
        (void)snprintf(r->subject, sizeof r->subject, "%s", entry->subject);
        (void)snprintf(r->chain, sizeof r->chain, "%s", entry->chain);
        r->seq = entry->seq;
        r->start = start_of(entry);
        r->has_start = r->start != UINT64_MAX;
        r->ended = keep(r, line, len, "output");
        return false;
}

static bool
find_start(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct recording *r = ctx;

        if (strcmp(entry->subject, r->subject) == 0) {
                r->connections += strcmp(entry->action, "egress.allowed") == 0;
                if (strcmp(entry->action, "exec.started") == 0 &&
                    (!r->has_start || entry->seq == r->start))
                        r->started = keep(r, line, len, "input");
        }
        return entry->seq < r->seq && !r->is_broken;
}

static int
read_recording(struct audit_log *log, struct recording *r, struct error *e)
{
        if (audit_log_read(log, r->seq, find_end, r, e) < 0 ||
            (r->ended && audit_log_read(log, r->has_start ? r->start : 0, find_start, r, e) < 0))
                return -1;
        if (r->is_broken)
                return fail(e, ERROR_NO_MEMORY, "no memory for a recording");
        if (r->ended && r->started)
                return 0;
        (void)fail(e, ERROR_INVALID_ARGUMENT, "entry %" PRIu64 " is not the end of a command",
                   r->seq);
        error_hint(e, "`carrel audit tail --action exec.ended` prints the numbers.");
        return -1;
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

static int
check_words(const struct recording *r, struct error *e)
{
        const struct node *argv = node_find(r->started, "argv");
        const struct node *argc = node_find(r->started, "argc");

        /* the digest is missing if something was redacted */
        if (!argv || argv->kind != NODE_LIST || !argc || argc->integer != (int64_t)argv->len ||
            !text_of(r->started, "argv_sha256"))
                return refuse(e, "replay_words",
                              "the words of the command are not completely recorded");
        return 0;
}

static int
check_workspace(const struct recording *r, const struct replay_request *q, struct error *e)
{
        const struct node *base = node_find(r->started, "base");
        const char *sha256 = text_of(base, "sha256");
        struct audit_tree tree;

        if (is_true(base, "none"))
                return 0;
        if (!sha256 && strcmp(or_none(text_of(base, "error")), "used") == 0)
                return refuse(e, "replay_used",
                              "something had run in its sandbox before, and what that left there "
                              "was not recorded");
        if (!sha256 && strcmp(or_none(text_of(base, "error")), "environment") == 0)
                return refuse(e, "replay_environment",
                              "its sandbox was created with variables, and their values were not "
                              "recorded");
        if (!sha256)
                return refuse(e, "replay_workspace", "the workspace was not recorded");
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
check(const struct recording *r, const struct replay_request *q, struct error *e)
{
        const struct node *in = stream_of(r, "stdin");

        if (is_true(r->started, "terminal"))
                return refuse(e, "replay_terminal", "the command ran at a terminal (-t)");
        if (!text_of(in, "sha256") || !text_of(stream_of(r, "stdout"), "sha256") ||
            !text_of(stream_of(r, "stderr"), "sha256"))
                return refuse(e, "replay_content",
                              "its input and output were not kept (--keep-output)");
        if (is_true(in, "truncated") || node_find(in, "redacted"))
                return refuse(e, "replay_input",
                              is_true(in, "truncated")
                                      ? "only the beginning of its standard input was kept"
                                      : "something was redacted in its standard input");
        if (!text_of(r->started, "allowed_sha256") && !text_of(r->started, "norm_sha256"))
                return refuse(e, "replay_manifest", "what its sandbox was allowed is not recorded");
        return check_words(r, e) < 0 || check_workspace(r, q, e) < 0 ? -1 : 0;
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

static int
open_input(const struct audit_log *log, const struct recording *r, struct error *e)
{
        scoped_fd int fd = memfd_create("stdin", MFD_CLOEXEC);
        struct buffer bytes = { 0 };
        int result = fd < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "creating a file in memory")
                            : audit_content_read(log, text_of(stream_of(r, "stdin"), "sha256"),
                                                 &bytes, e);

        if (result == 0 && (write_all(fd, bytes.bytes, bytes.len) < 0 || lseek(fd, 0, SEEK_SET)))
                result = fail_sys(e, ERROR_BACKEND_FAILED, errno, "writing a file in memory");
        buffer_fini(&bytes);
        return result < 0 ? -1 : fd_take(&fd);
}

/* In the fork. Messages of `carrel run` itself go to `messages`. */
static _Noreturn void
become_run(const struct prepare_options *o, int in, int messages, int back)
{
        const char *ref;

        if (dup2(in, STDIN_FILENO) < 0 || dup2(o->replay->sink, STDOUT_FILENO) < 0 ||
            dup2(messages, STDERR_FILENO) < 0)
                _exit(125);
        (void)run_command(o, 0, NULL);
        (void)fflush(stderr);
        ref = run_audit_ref();
        if (ref)
                (void)write_all(back, ref, strlen(ref));
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

static int
read_back(int fd, char ref[RECORDER_REF_MAX])
{
        ssize_t got;

        do
                got = read(fd, ref, RECORDER_REF_MAX - 1);
        while (got < 0 && errno == EINTR);
        ref[got > 0 ? got : 0] = '\0';
        return got > 0 ? 0 : -1;
}

static int
start(const struct prepare_options *o, int in, char ref[RECORDER_REF_MAX], struct error *e)
{
        scoped_fd int messages = memfd_create("messages", MFD_CLOEXEC), from = -1, to = -1;
        int pair[2];
        pid_t pid;

        if (messages < 0 || pipe2(pair, O_CLOEXEC) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "creating a pipe");
        from = pair[0];
        to = pair[1];
        (void)fflush(NULL);
        pid = fork();
        if (pid == 0)
                become_run(o, in, messages, to);
        scoped_fd_close(&to);
        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting the replay");
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        if (read_back(from, ref) == 0)
                return 0;
        print_messages(messages);
        return fail(e, ERROR_BACKEND_FAILED, "the replay was not started");
}

/* -- comparing --------------------------------------------------------------------------------- */

struct comparison {
        bool is_equal;
        bool is_known; /* the place */
        uint64_t byte, line;
};

static void
find_difference(const struct buffer *a, const struct buffer *b, struct comparison *c)
{
        size_t len = a->len < b->len ? a->len : b->len, i = 0;

        for (c->line = 1; i < len && a->bytes[i] == b->bytes[i]; i++)
                c->line += a->bytes[i] == '\n';
        c->byte = i;
        c->is_known = i < a->len || i < b->len;
}

/* The digests of the original bytes decide; the contents show where. */
static int
compare_stream(const struct audit_log *log, const struct audit_log *mine, const struct recording *a,
               const struct recording *b, const char *name, struct comparison *ret, struct error *e)
{
        const char *x = text_of(node_find(a->ended, name), "sha256");
        const char *y = text_of(node_find(b->ended, name), "sha256");
        const char *y_kept = text_of(stream_of(b, name), "sha256");
        struct buffer first = { 0 }, second = { 0 };
        int result = 0;

        *ret = (struct comparison){ .is_equal = x && y && strcmp(x, y) == 0 };
        if (!ret->is_equal && y_kept) {
                result = audit_content_read(log, text_of(stream_of(a, name), "sha256"), &first, e);
                if (result == 0)
                        result = audit_content_read(mine, y_kept, &second, e);
                if (result == 0)
                        find_difference(&first, &second, ret);
        }
        buffer_fini(&first);
        buffer_fini(&second);
        return result;
}

static bool
is_same(const struct recording *a, const struct recording *b, const char *member)
{
        const char *x = text_of(a->ended, member), *y = text_of(b->ended, member);

        return (!x && !y) || (x && y && strcmp(x, y) == 0);
}

static void
print_stream(const char *name, const struct comparison *c)
{
        if (c->is_equal)
                (void)printf("%s: equal\n", name);
        else if (c->is_known)
                (void)printf("%s: differs at byte %" PRIu64 " (line %" PRIu64 ")\n", name, c->byte,
                             c->line);
        else
                (void)printf("%s: differs in a part that was not kept\n", name);
}

static void
write_stream(struct json_writer *w, const char *name, const struct comparison *c)
{
        json_key(w, name);
        json_open_map(w);
        json_member_bool(w, "equal", c->is_equal);
        if (!c->is_equal && c->is_known) {
                json_member_int(w, "byte", (int64_t)c->byte);
                json_member_int(w, "line", (int64_t)c->line);
        }
        json_close_map(w);
}

static void
print_ending(const struct recording *a, const struct recording *b, bool is_equal)
{
        (void)printf("outcome: %s %s", or_none(text_of(a->ended, "outcome")),
                     or_none(text_of(a->ended, "exit_code")));
        if (!is_equal)
                (void)printf(", now %s %s", or_none(text_of(b->ended, "outcome")),
                             or_none(text_of(b->ended, "exit_code")));
        (void)putchar('\n');
        if (a->connections > 0)
                (void)puts("The recorded command had network connections. A replay has none.");
}

static int
write_report(const struct recording *a, const char *ref, const struct comparison *c, bool is_ended,
             bool is_equal)
{
        char recorded[RECORDER_REF_MAX];
        struct json_writer w;

        (void)snprintf(recorded, sizeof recorded, "audit://%s/%" PRIu64, a->chain, a->seq);
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "recording", recorded);
        json_member_text(&w, "replay", ref);
        json_member_bool(&w, "equal", is_equal);
        json_member_bool(&w, "replay_supported", a->connections == 0);
        write_stream(&w, "stdout", &c[0]);
        write_stream(&w, "stderr", &c[1]);
        json_member_bool(&w, "same_ending", is_ended);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static int
compare_all(struct audit_log *log, struct audit_log *mine, const struct recording *a,
            const struct recording *b, const char *ref, bool is_json, struct error *e)
{
        bool is_ended =
                is_same(a, b, "outcome") && is_same(a, b, "exit_code") && is_same(a, b, "signal");
        struct comparison c[2];
        bool is_equal;

        if (compare_stream(log, mine, a, b, "stdout", &c[0], e) < 0 ||
            compare_stream(log, mine, a, b, "stderr", &c[1], e) < 0)
                return -1;
        is_equal = is_ended && c[0].is_equal && c[1].is_equal;
        if (is_json)
                return write_report(a, ref, c, is_ended, is_equal) < 0 ? -1 : !is_equal;
        print_stream("stdout", &c[0]);
        print_stream("stderr", &c[1]);
        print_ending(a, b, is_ended);
        (void)printf("replay: %s\n", ref);
        return !is_equal;
}

/* The error because of which the replay never ran, as its entry has it. */
static int
not_run(const struct recording *b, struct error *e)
{
        const struct node *error = node_find(b->ended, "error");
        const char *reason = text_of(error, "reason");

        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL,
                      reason && reason[0] != '\0' ? reason : "replay_failed",
                      "the replay could not run: %s", or_none(text_of(error, "message")));
        error_hint(e,
                   "Nothing was started. docs/AUDIT.md, \"Replay\", says what a recording needs.");
        return -1;
}

static bool
find_refusal(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct recording *r = ctx;

        if (entry->seq == r->seq)
                r->ended = keep(r, line, len, "output");
        return false;
}

static int
compare_with(struct audit_log *log, const struct recording *a, const char *ref, bool is_json,
             struct error *e)
{
        struct recording b = { .seq = strtoull(strrchr(ref, '/') + 1, NULL, 10) };
        struct audit_log mine = { .dir = -1 };
        const char *path;
        int result;

        arena_init(&b.arena, MEMORY);
        result = audit_place(&b.arena, NULL, NULL, &path, e) < 0 ||
                                 audit_log_open(&mine, path, false, e) < 0 ||
                                 audit_log_read(&mine, b.seq, find_refusal, &b, e) < 0
                         ? -1
                         : 0;
        if (result == 0 && node_find(b.ended, "error"))
                result = not_run(&b, e);
        else if (result == 0)
                result = read_recording(&mine, &b, e);
        if (result == 0)
                result = compare_all(log, &mine, a, &b, ref, is_json, e);
        audit_log_close(&mine);
        arena_fini(&b.arena);
        return result;
}

static int
run_again(struct audit_log *log, struct recording *a, const struct replay_request *q,
          struct error *e)
{
        char recorded[RECORDER_REF_MAX], ref[RECORDER_REF_MAX];
        scoped_fd int sink = open("/dev/null", O_WRONLY | O_CLOEXEC), in = open_input(log, a, e);
        struct replay_options replay = { .ref = recorded,
                                         .allowed_sha256 = text_of(a->started, "allowed_sha256"),
                                         .norm_sha256 = text_of(a->started, "norm_sha256"),
                                         .cwd = text_of(a->started, "cwd"),
                                         .env = node_find(a->started, "env"),
                                         .sink = sink };
        struct prepare_options o = { .file = q->file,
                                     .workspace = q->workspace,
                                     .host_file = q->host_file,
                                     .audits = true,
                                     .keeps_output = true,
                                     .replay = &replay,
                                     .command = words_of(a),
                                     .command_count = node_find(a->started, "argv")->len };

        if (in < 0)
                return -1;
        if (sink < 0 || !o.command)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening /dev/null");
        (void)snprintf(recorded, sizeof recorded, "audit://%s/%" PRIu64, a->chain, a->seq);
        return start(&o, in, ref, e) < 0 ? -1 : compare_with(log, a, ref, q->is_json, e);
}

int
audit_replay(struct audit_log *log, uint64_t seq, const struct replay_request *request,
             struct error *e)
{
        struct recording a = { .seq = seq };
        int result;

        arena_init(&a.arena, MEMORY);
        result = read_recording(log, &a, e) < 0 || check(&a, request, e) < 0
                         ? -1
                         : run_again(log, &a, request, e);
        arena_fini(&a.arena);
        return result;
}
