/*
 * keeper/op_exec.c - commands: start, list, attach, signal, kill.
 *
 * Room: keeper (joining). Touches: fd.
 * Theory: the keeper connects caller and box with a socket pair and is not involved any further. It
 * replies at once with the caller's end. Start, output and end of the command come through that
 * channel. With wait_ports the keeper also checks whether a declared port answers (port_wait.c). It
 * reports that in an event with the call's serial: {event: "port-open", exec, port}, or
 * "port-timeout". The caller takes what comes first: that event, or the end of the channel.
 * read_only is refused before any other check (A36-169).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scoped.h"
#include "keeper/approval.h"
#include "keeper/audit.h"
#include "keeper/changed.h"
#include "keeper/content.h"
#include "keeper/digest.h"
#include "keeper/exec.h"
#include "keeper/judging.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "keeper/secret.h"
#include "outcome/outcome.h"
#include "prepare/permission.h"
#include "prepare/sanitize.h"
#include "prepare/time_allowed.h"
#include "text/tree.h"
#include "wire/channel.h"

enum { ARGV_MAX = 4096, SCRATCH_MAX = 4 << 20, SCRATCH_FIRST = 16 * 1024, SHOWN_ID = 8 };

/*
 * Scratch memory, as one call runs at a time, so that most calls need no allocation. Zeroed after
 * each call: it may have held secrets.
 */
static _Alignas(16) unsigned char scratch_bytes[SCRATCH_FIRST];
static const char *words[ARGV_MAX + ENVIRONMENT_MAX];

static uint64_t
least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* -- the message ------------------------------------------------------------------------------- */

static size_t
count_env(struct store_bytes env)
{
        const char *bytes = env.bytes;
        size_t count = 0;

        for (size_t i = 0; i < env.len; i++)
                count += bytes[i] == '\0';
        return count < ENVIRONMENT_MAX ? count : ENVIRONMENT_MAX;
}

static size_t
split_env(struct store_bytes env, const char **items, size_t most)
{
        const char *bytes = env.bytes;
        size_t count = 0;

        for (size_t at = 0; at < env.len && count < most; at += strlen(bytes + at) + 1)
                items[count++] = bytes + at;
        return count;
}

static int
make_environment(const struct sandbox *s, const struct exec_request *r, struct arena *scratch,
                 struct environment *ret, struct error *e)
{
        const char **items = arena_array(scratch, const char *, count_env(s->row.env) + 1);
        const char *id = arena_copy(scratch, s->id, SHOWN_ID);
        struct prepare_command command = { .command = &r->command,
                                           .host = s->keeper->environment,
                                           .secrets = r->secrets,
                                           .actor = sandbox_actor(s) };

        if (!items || !id)
                return fail(e, ERROR_NO_MEMORY, "no memory for the environment");
        command.name = s->row.name ? s->row.name : id;
        command.sandbox_env = items;
        command.sandbox_env_count = split_env(s->row.env, items, count_env(s->row.env));
        return prepare_environment(scratch, s->prepared, &command, ret, e);
}

/* Writes the message into the keeper's buffer. Returns its length, 0 on failure. */
static size_t
write_exec(struct sandbox *s, const struct exec_request *r, struct arena *scratch,
           const struct environment *env, struct error *e)
{
        const struct permission permission = prepared_permission(s->prepared);
        struct wire_command command = r->command;
        struct keeper *k = s->keeper;
        size_t len;

        if (permission_words(scratch, &permission, &command, e) < 0)
                return 0;
        command.env = env->items;
        command.head.envc = (uint32_t)env->count;
        len = wire_command_len(&command);
        if (len > 0)
                wire_command_write(&command, &r->box, k->plan);
        else
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, "argv", "too_long",
                              "the command and its environment are longer than %d bytes, or "
                              "more than %d words",
                              (int)WIRE_BODY_MAX, WIRE_COMMAND_STRINGS_MAX);
        return len;
}

/* -- sending it to the box --------------------------------------------------------------------- */

/* Standard input that is part of the call is sent first, through the caller's end. */
static int
send_input(int fd, const struct exec_request *r, struct error *e)
{
        struct channel_frame frame = { .kind = CHANNEL_STDIN, .len = (uint32_t)r->input_len },
                             end = { .kind = CHANNEL_STDIN_END };

        if (r->input_len > 0 &&
            (send(fd, &frame, sizeof frame, MSG_NOSIGNAL) != (ssize_t)sizeof frame ||
             send(fd, r->input, r->input_len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
                     (ssize_t)r->input_len))
                return fail_sys(e, ERROR_INTERNAL, errno, "handing on standard input");
        if (r->ends_input && send(fd, &end, sizeof end, MSG_NOSIGNAL) != (ssize_t)sizeof end)
                return fail_sys(e, ERROR_INTERNAL, errno, "handing on standard input");
        return 0;
}

/* Describes the exec in the same form as the box. */
static void
describe(const struct exec_request *r, struct wire_box_listed *l)
{
        size_t len = 0;

        for (size_t i = 0; i < r->command.head.argc; i++)
                len = box_command_add(l->command, len, r->command.argv[i]);
}

static void
note(struct box *b, const struct exec_request *r)
{
        struct wire_box_listed l = { .exec = r->box.exec,
                                     .state = BOX_EXEC_STARTING,
                                     .flags = r->box.flags };

        memcpy(l.key, r->box.key, sizeof l.key);
        memcpy(l.task, r->box.task, sizeof l.task);
        if (r->box.timeout_ms != BOX_NO_LIMIT)
                wire_timeout_set(&l, r->box.timeout_ms);
        describe(r, &l);
        (void)box_add_exec(b, &l);
}

int
exec_send(struct sandbox *s, struct exec_request *r, int *ret_channel, struct error *e)
{
        struct keeper *k = s->keeper;
        struct environment env = { .count = 0 };
        struct arena scratch;
        scoped_fd int ours = -1;
        int pair[2], result = -1;
        size_t len = 0;

        arena_init_in(&scratch, SCRATCH_MAX, scratch_bytes, sizeof scratch_bytes);
        if (r->box.exec == 0)
                r->box.exec = (r->box.flags & BOX_EXEC_QUIET) != 0 ? ++s->box->last_quiet
                                                                   : ++s->box->last_exec;
        if (sandbox_judge(s, e) == 0 && make_environment(s, r, &scratch, &env, e) == 0)
                len = write_exec(s, r, &scratch, &env, e);
        if (len > 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
                ours = pair[0];
                result = send_input(ours, r, e);
                s->box->is_used = true; /* also if sending fails */
                if (result == 0 && box_send_fd(s->box, WIRE_BOX_EXEC, k->plan, len, pair[1]) < 0)
                        result = box_no_answer(s, e);
                else if (result < 0)
                        (void)close(pair[1]);
        } else if (len > 0) {
                (void)fail_sys(e, ERROR_INTERNAL, errno, "making a channel");
        }
        /* the environment may hold secrets */
        explicit_bzero(k->plan, len > 0 ? len : sizeof k->plan);
        prepare_environment_wipe(&env);
        arena_fini(&scratch);
        explicit_bzero(scratch_bytes, sizeof scratch_bytes);
        if (result < 0)
                return -1;
        if (((r->box.flags & BOX_EXEC_QUIET) == 0 || r->call) && content_is_busy(s->box))
                content_disturb(s->box, "overlap");
        if ((r->box.flags & BOX_EXEC_QUIET) == 0)
                note(s->box, r);
        *ret_channel = fd_take(&ours);
        return 0;
}

/* -- exec.start -------------------------------------------------------------------------------- */

/* Reads all arguments or none: a command without its last arguments is a different command. */
static int
read_words(const struct record *r, struct exec_request *ret, const char **argv, const char **env,
           struct error *e)
{
        struct record_entry entry;
        size_t at = 0;

        ret->command.argv = argv;
        ret->command.env = env;
        while (record_next(r, &at, &entry) > 0) {
                if (entry.tag == FIELD_ARGV && ret->command.head.argc == ARGV_MAX) {
                        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "argv", NULL,
                                      "a command has at most %d words", ARGV_MAX);
                        return error_hint(e, "Give a long list through standard input or a file: "
                                             "xargs, find -exec, @file."),
                               -1;
                }
                if (entry.tag == FIELD_ENV && ret->command.head.envc == ENVIRONMENT_MAX) {
                        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "env", NULL,
                                      "a command has at most %d names in its environment",
                                      ENVIRONMENT_MAX);
                        return error_hint(
                                       e,
                                       "Write what many programs need into a file that they read."),
                               -1;
                }
                if (entry.tag == FIELD_ARGV) {
                        argv[ret->command.head.argc++] = entry.value;
                } else if (entry.tag == FIELD_ENV) {
                        env[ret->command.head.envc++] = entry.value;
                } else if (entry.tag == FIELD_INPUT) {
                        ret->input = entry.value;
                        ret->input_len = entry.len;
                }
        }
        return 0;
}

static int
choose_command(const struct sandbox *s, const struct record *r, struct exec_request *q,
               const char **argv, struct error *e)
{
        const char *command = record_get_text(r, FIELD_COMMAND, NULL);

        if (command && q->command.head.argc > 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "command", "both",
                               "a call has either argv or command");
        if (command) {
                /* lint: the caller gives room for WORDS_MAX words */
                argv[0] = s->prepared->spec->shell;
                argv[1] = "-c";
                argv[2] = command;
                q->command.head.argc = 3;
        }
        if (q->command.head.argc == 0 || argv[0][0] == '\0')
                return fail_at(e, ERROR_INVALID_ARGUMENT, "argv", "missing",
                               q->command.head.argc == 0 ? "there is no command to run"
                                                         : "the command's name is empty");
        return 0;
}

static int
choose_task(struct sandbox *s, const struct record *r, struct exec_request *q, struct error *e)
{
        const char *name = record_get_text(r, FIELD_TASK, NULL);
        const struct task *task = name && !client_is_task(name) ? task_find(s, name) : NULL;

        if (name && !task)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "task", "unknown_task",
                               "no task %s has begun in this sandbox", name);
        if (task) {
                memcpy(q->box.task, task->name, sizeof q->box.task);
                q->box.deadline_ms = task->deadline_ms;
        }
        return task ? 0 : client_choose(s, r, q, e);
}

/*
 * A sandbox has its own deadline, and its callers can end a command. So a command has no time limit
 * unless the call or the manifest sets one.
 */
static int
choose_time(const struct sandbox *s, const struct record *r, struct time_limit *ret,
            struct error *e)
{
        return time_allowed_choose(&s->prepared->spec->limits,
                                   record_get_uint(r, FIELD_TIMEOUT, SPEC_UNSET), SPEC_UNSET, ret,
                                   e);
}

static void
choose_limits(const struct sandbox *s, const struct record *r, struct exec_request *q)
{
        const struct spec *spec = s->prepared->spec;

        q->box.timeout_ms = q->time.ms;
        q->box.cpu_ms = least(spec->limits.cpu_ms, record_get_uint(r, FIELD_CPU, BOX_NO_LIMIT));
        q->box.output_bytes = least(spec->limits.output_bytes,
                                    record_get_uint(r, FIELD_OUTPUT_BYTES, BOX_NO_LIMIT));
        q->box.keep_bytes = record_get_uint(r, FIELD_KEEP_BYTES, 0);
        if (s->prepared->cpu == PLAN_CPU_RLIMIT && q->box.cpu_ms != BOX_NO_LIMIT)
                q->command.head.cpu_seconds = (q->box.cpu_ms + 999) / 1000;
}

static void
choose_flags(const struct record *r, struct exec_request *q)
{
        bool keeps_open = record_get_bool(r, FIELD_STDIN_OPEN, 0),
             is_tty = record_get_bool(r, FIELD_TTY, 0);

#define COMMAND_NUMBER(field, member)
#define COMMAND_FLAG(field, member, flag) q->box.flags |= record_get_bool(r, field, 0) ? (flag) : 0;
#include "api/command.def"
#undef COMMAND_NUMBER
#undef COMMAND_FLAG
        if (is_tty)
                q->command.head.flags |= WIRE_EXEC_TTY;
        else if (!keeps_open && !q->input)
                q->box.flags |= BOX_EXEC_NO_STDIN;
        q->ends_input = q->input != NULL && !keeps_open && !is_tty;
        q->command.head.rows = (uint16_t)record_get_uint(r, FIELD_ROWS, 0);
        q->command.head.columns = (uint16_t)record_get_uint(r, FIELD_COLUMNS, 0);
        (void)memccpy(q->box.key, record_get_text(r, FIELD_KEY, ""), '\0', sizeof q->box.key - 1);
}

/* By the rules of now: the host file may have changed since the sandbox was created. */
static int
choose_sanitize(const struct sandbox *s, struct exec_request *q, struct error *e)
{
        bool has_terminal = (q->command.head.flags & WIRE_EXEC_TTY) != 0;
        unsigned kinds;

        if (prepare_sanitize(s->prepared->spec, s->keeper->host.rules, has_terminal, &kinds, e) < 0)
                return -1;
        q->box.flags |= kinds << BOX_EXEC_SANITIZE_SHIFT;
        if (kinds == 0 || s->box->hello.protocol >= BOX_PROTOCOL_SANITIZE)
                return 0;
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "", "sanitize_output",
                      "an older version of Carrel started this sandbox, and it cannot sanitise "
                      "output");
        error_hint(e, "Stop the sandbox, and create another.");
        return -1;
}

/* A relative directory starts at the working directory of the sandbox, like paths of files. */
static int
choose_directory(const struct sandbox *s, const struct record *r, struct exec_request *q,
                 struct error *e)
{
        /* valid until the command is sent, before the next call */
        static char joined[2 * PATH_MAX];
        const char *own = s->prepared->cwd ? s->prepared->cwd : "/",
                   *asked = record_get_text(r, FIELD_CWD, own);
        int len;

        while (asked[0] == '.' && asked[1] == '/')
                asked += 2 + strspn(asked + 2, "/");
        len = snprintf(joined, sizeof joined, "%s/%s", own[1] == '\0' ? "" : own, asked);
        q->command.cwd = asked[0] == '/'                               ? asked
                         : asked[0] == '\0' || strcmp(asked, ".") == 0 ? own
                                                                       : joined;
        return (size_t)len < sizeof joined
                       ? 0
                       : fail_at(e, ERROR_INVALID_ARGUMENT, "cwd", "too_long",
                                 "the working directory is longer than a path can be");
}

static int
request_of(struct sandbox *s, const struct record *r, struct exec_request *q, const char **argv,
           const char **env, struct error *e)
{
        *q = (struct exec_request){ .box.deadline_ms = BOX_NO_LIMIT };
        if (read_words(r, q, argv, env, e) < 0)
                return -1;
        choose_flags(r, q);
        if (choose_directory(s, r, q, e) < 0 || choose_command(s, r, q, argv, e) < 0 ||
            choose_task(s, r, q, e) < 0 || choose_time(s, r, &q->time, e) < 0)
                return -1;
        if (choose_sanitize(s, q, e) < 0)
                return -1;
        choose_limits(s, r, q);
        q->box.flags |= (uint32_t)q->time.by << BOX_EXEC_BY_SHIFT;
        return 0;
}

/* `time`: the time limit of this exec if known, or NULL. */
static void
reply_exec(struct call *c, const struct sandbox *s, const struct wire_box_listed *l,
           const struct time_limit *time, int take_channel)
{
        struct record_writer w = reply_begin(c);

        if (l)
                answer_exec(&w, s, l);
        /* a box of an older version does not report it */
        if (time && time->by != TIME_LIMIT_NONE && (!l || wire_timeout_get(l) == 0))
                answer_time_limit(&w, time);
        reply_send(c, &w, 0, take_channel);
}

/*
 * Reports to the box that the caller has its end, or has gone. While the reply is queued here, a
 * death of the keeper loses it, and the caller repeats its call.
 */
static void
say_handed(const struct call *c, struct box *b, uint32_t exec)
{
        struct wire_exec_number handed = { exec, 0 };

        if (record_get_text(&c->record, FIELD_KEY, "")[0] != '\0' &&
            b->hello.protocol >= BOX_PROTOCOL_HANDED &&
            !(c->connection && c->connection->peer.queue.first))
                (void)box_send(b, WIRE_BOX_HANDED, &handed, sizeof handed);
}

/* Opens a channel to an existing exec. */
static int
attach(struct sandbox *s, const struct wire_box_attach *ask, int *ret_channel, struct error *e)
{
        int pair[2];

        if (!s->box || s->box->is_gone) {
                (void)fail(e, ERROR_BACKEND_FAILED,
                           "the box of the sandbox %s is gone, and its output with it", s->id);
                error_hint(e, "Stop the sandbox, and create another.");
                return -1;
        }
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "making a channel");
        if (box_send_fd(s->box, WIRE_BOX_ATTACH, ask, sizeof *ask, pair[1]) < 0) {
                (void)close(pair[0]);
                return box_no_answer(s, e);
        }
        *ret_channel = pair[0];
        return 0;
}

int
exec_find_key(const struct call *c, const struct sandbox *s, struct error *e)
{
        const char *key = record_get_text(&c->record, FIELD_KEY, "");
        unsigned char digest[DIGEST_LEN];

        if (key[0] == '\0')
                return 0;
        digest_exec(c->op->code, &c->record, digest);
        return store_key_find(s->keeper->store, s->id, "exec", key,
                              (struct store_bytes){ digest, sizeof digest }, e);
}

void
exec_note_key(const struct call *c, const struct sandbox *s)
{
        const char *key = record_get_text(&c->record, FIELD_KEY, "");
        unsigned char digest[DIGEST_LEN];
        struct error ignored;

        if (key[0] == '\0')
                return;
        digest_exec(c->op->code, &c->record, digest);
        (void)store_key_note(s->keeper->store, s->id, "exec", key,
                             (struct store_bytes){ digest, sizeof digest }, &ignored);
}

/*
 * Compares the start of the command, the only part the box still has, with the request. Otherwise a
 * caller could get the output of another command.
 */
static int
check_beginning(const struct sandbox *s, const struct record *r, const struct wire_box_listed *l,
                struct error *e)
{
        const char **argv = malloc((ARGV_MAX + ENVIRONMENT_MAX) * sizeof *argv);
        struct wire_box_listed asked = { 0 };
        struct exec_request q = { .input_len = 0 };
        int result = argv ? read_words(r, &q, argv, argv + ARGV_MAX, e)
                          : fail(e, ERROR_NO_MEMORY, "no memory for a command");

        if (result == 0 && choose_command(s, r, &q, argv, e) < 0)
                result = -1;
        if (result == 0) {
                describe(&q, &asked);
                if (strcmp(asked.command, l->command) != 0) {
                        result = fail_at(e, ERROR_EXISTS, "key", "key_reused",
                                         "this key was used for another command, exec %u", l->exec);
                        error_hint(e, "%s", STORE_KEY_HINT);
                }
        }
        free(argv);
        return result;
}

/* The same key again: returns the same exec, from its first byte. */
static enum call_state
join(struct call *c, struct sandbox *s, const struct wire_box_listed *l, bool is_known,
     struct error *e)
{
        struct wire_box_attach ask = {
                .exec = l->exec,
                .flags = BOX_EXEC_REPEAT |
                         (record_get_bool(&c->record, FIELD_LOSSLESS, 0) ? BOX_EXEC_LOSSLESS : 0u)
        };
        struct record_entry input;
        struct time_limit time;
        struct error ignored;
        int channel = -1;

        /* Input in the call itself was already sent by the first call. */
        if (!record_find(&c->record, FIELD_INPUT, &input))
                ask.flags |= BOX_EXEC_AGAIN;
        if (!is_known && check_beginning(s, &c->record, l, e) < 0)
                return CALL_FAILED;
        if (attach(s, &ask, &channel, e) < 0)
                return sandbox_is_settling(s) ? sandbox_need_box(s, c, e) : CALL_FAILED;
        reply_exec(c, s, l, choose_time(s, &c->record, &time, &ignored) == 0 ? &time : NULL,
                   channel);
        say_handed(c, s->box, l->exec);
        if (record_get_bool(&c->record, FIELD_WAIT_PORTS, 0) &&
            (l->state == BOX_EXEC_STARTING || l->state == BOX_EXEC_RUNNING))
                port_wait_begin(c, s, l->exec);
        return CALL_DONE;
}

/* The command already ran. A key is not for running it again. */
static enum call_state
was_forgotten(struct error *e)
{
        (void)fail_at(e, ERROR_EXEC_NOT_FOUND, "key", "forgotten",
                      "the command of this key was run, and what it printed is no longer kept");
        error_hint(e, "The command already ran. Use a new key to run it again.");
        return CALL_FAILED;
}

/* Counts the execs of one owner, in all sandboxes. */
static int
check_execs(const struct call *c, struct error *e)
{
        uint64_t most = prepare_limits(&c->keeper->host, c->caller.uid).execs;
        size_t count = 0;

        for (const struct sandbox *s = c->keeper->first; s && most != SPEC_UNSET; s = s->next)
                count += s->box && sandbox_belongs(s, &c->caller) ? box_running(s->box) : 0;
        if (count < most)
                return 0;
        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "execs_max",
                      "%.64s runs %zu commands, and this host permits at most %" PRIu64 " at once",
                      c->caller.owner, count, most);
        error_hint(
                e,
                "Wait until one has ended, or have the operator raise execs_max in the host file.");
        return -1;
}

static enum call_state
start(struct call *c, struct sandbox *s, struct error *e)
{
        struct exec_request q;
        enum call_state state;
        int channel = -1;

        if (check_execs(c, e) < 0 ||
            request_of(s, &c->record, &q, words, words + ARGV_MAX, e) < 0 ||
            content_choose(s, &q, e) < 0)
                return CALL_FAILED;
        state = changed_need(c, s);
        if (state == CALL_DONE)
                state = content_need_ends(c, s);
        if (state == CALL_DONE)
                state = content_need(c, s, &q);
        if (state == CALL_DONE)
                state = audit_need(c, s, &q, &q.box.exec, e);
        if (state != CALL_DONE)
                return state;
        if (approval_check(c, s, e) < 0) {
                audit_again(c, e);
                return CALL_FAILED;
        }
        q.secrets = secret_of_call(c);
        if (exec_send(s, &q, &channel, e) < 0) {
                if (!sandbox_is_settling(s))
                        return CALL_FAILED;
                audit_again(c, e);
                return sandbox_need_box(s, c, e);
        }
        audit_sent(c, s);
        changed_exec_begins(s, q.box.exec);
        secret_tell(c, s, q.box.exec);
        exec_note_key(c, s);
        reply_exec(c, s, box_find_exec(s->box, q.box.exec), &q.time, channel);
        say_handed(c, s->box, q.box.exec);
        if (record_get_bool(&c->record, FIELD_WAIT_PORTS, 0))
                port_wait_begin(c, s, q.box.exec);
        return CALL_DONE;
}

/* By the rules of manifest and host file, before a secret is fetched for it. */
static enum call_state
judge(struct call *c, struct sandbox *s, struct error *e)
{
        struct exec_request q = { .input_len = 0 };

        if (!judging_is_needed(s))
                return CALL_DONE;
        if (judging_is_done(c))
                return judging_verdict(c, s, e);
        if (read_words(&c->record, &q, words, words + ARGV_MAX, e) < 0 ||
            choose_directory(s, &c->record, &q, e) < 0 ||
            choose_command(s, &c->record, &q, words, e) < 0)
                return CALL_FAILED;
        return judging_begin(c, s, &(struct judging_subject){ .command = &q.command }, e);
}

enum call_state
op_exec(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        const struct wire_box_listed *same;
        enum call_state state;
        int known;

        if (!s)
                return CALL_FAILED;
        if (s->row.is_read_only)
                return fail_at(e, ERROR_READ_ONLY, "read_only", NULL,
                               "the sandbox %s is read_only, so no command may run", s->id),
                       CALL_FAILED;
        state = sandbox_judge(s, e) < 0 ? CALL_FAILED : sandbox_need_box(s, c, e);
        if (state != CALL_DONE)
                return state;
        known = exec_find_key(c, s, e);
        if (known < 0)
                return CALL_FAILED;
        same = box_find_key(s->box, record_get_text(&c->record, FIELD_KEY, ""));
        if (same)
                return join(c, s, same, known > 0, e);
        if (known > 0)
                return was_forgotten(e);
        state = judge(c, s, e);
        if (state == CALL_DONE)
                state = approval_need(c, s, e);
        if (state == CALL_DONE && record_get_bool(&c->record, FIELD_WAIT_PORTS, 0))
                state = port_look_before(c, s, e);
        if (state == CALL_DONE)
                state = secret_need(c, s, e);
        return state == CALL_DONE ? start(c, s, e) : state;
}

/* -- list, get, attach, signal, kill ----------------------------------------------------------- */

static void
write_listed(struct record_writer *w, const void *of, const void *item)
{
        answer_exec(w, of, item);
}

enum call_state
op_exec_list(struct call *c, struct error *e)
{
        const struct sandbox *s = registry_of_call(c, e);
        struct record_writer w;

        if (!s || page_begin(c, e) < 0)
                return CALL_FAILED;
        if (box_need_greeting(s, c) == CALL_WAITS ||
            (s->box && box_need_listing(s->box, c) == CALL_WAITS))
                return CALL_WAITS;
        if (!parts_begin(c, &w))
                return CALL_WAITS;
        for (size_t i = 0; s->box && i < s->box->exec_count; i++) {
                const struct wire_box_listed *l = &s->box->execs[i];

                if (l->exec <= c->cursor || !page_has(c, l->exec, ""))
                        continue;
                if (page_is_full(c, &w))
                        break;
                if (!parts_add(c, &w, write_listed, s, l, l->exec))
                        return CALL_WAITS;
                page_add(c, l->exec, "");
        }
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

/* CALL_DONE: found. */
static enum call_state
find_exec(struct call *c, struct sandbox **ret, struct wire_box_listed **ret_exec, struct error *e)
{
        uint32_t exec = (uint32_t)record_get_uint(&c->record, FIELD_EXEC, 0);

        *ret = registry_of_call(c, e);
        if (!*ret)
                return CALL_FAILED;
        if (box_need_greeting(*ret, c) == CALL_WAITS)
                return CALL_WAITS;
        *ret_exec = (*ret)->box ? box_find_exec((*ret)->box, exec) : NULL;
        if (!*ret_exec)
                return fail_at(e, ERROR_EXEC_NOT_FOUND, "exec", NULL,
                               "there is no exec %u in the sandbox %.64s", exec,
                               record_get_text(&c->record, FIELD_ID, (*ret)->id)),
                       CALL_FAILED;
        return CALL_DONE;
}

static bool
still_runs(const struct sandbox *s, const struct wire_box_listed *l)
{
        return s->box && !s->box->is_gone &&
               (l->state == BOX_EXEC_STARTING || l->state == BOX_EXEC_RUNNING);
}

enum call_state
op_exec_get(struct call *c, struct error *e)
{
        struct sandbox *s;
        struct wire_box_listed *l;
        enum call_state state = find_exec(c, &s, &l, e);

        if (state != CALL_DONE)
                return state;
        if (still_runs(s, l) && box_need_listing(s->box, c) == CALL_WAITS)
                return CALL_WAITS;
        if (record_get_bool(&c->record, FIELD_WAIT_PORTS, 0) && still_runs(s, l) &&
            !c->has_waited) {
                state = sandbox_check_here(s, "wait_ports", "wait for ports", e) < 0 ? CALL_FAILED
                        : s->row.ports.len > 0 ? port_wait_call(c, s, l->exec, e)
                                               : port_look_before(c, s, e);
                if (state != CALL_DONE)
                        return state;
        }
        reply_exec(c, s, l, NULL, -1);
        return CALL_DONE;
}

enum call_state
op_exec_attach(struct call *c, struct error *e)
{
        struct sandbox *s;
        struct wire_box_listed *l;
        enum call_state state = find_exec(c, &s, &l, e);
        struct wire_box_attach ask = {
                .stdout_offset = record_get_uint(&c->record, FIELD_STDOUT_OFFSET, 0),
                .stderr_offset = record_get_uint(&c->record, FIELD_STDERR_OFFSET, 0),
                .flags = record_get_bool(&c->record, FIELD_LOSSLESS, 0) ? BOX_EXEC_LOSSLESS : 0
        };
        int channel = -1;

        if (state != CALL_DONE)
                return state;
        if (still_runs(s, l) && box_need_listing(s->box, c) == CALL_WAITS)
                return CALL_WAITS;
        ask.exec = l->exec;
        if (attach(s, &ask, &channel, e) < 0)
                return CALL_FAILED;
        reply_exec(c, s, l, NULL, channel);
        return CALL_DONE;
}

enum call_state
op_exec_signal(struct call *c, struct error *e)
{
        struct sandbox *s;
        struct wire_box_listed *l;
        enum call_state state = find_exec(c, &s, &l, e);
        struct wire_exec_number ask;

        if (state == CALL_DONE)
                state = content_need_ends(c, s);
        if (state != CALL_DONE)
                return state;
        if (!still_runs(s, l))
                return fail_at(e, ERROR_EXEC_NOT_FOUND, "exec", "ended", "the exec %u has ended",
                               l->exec),
                       CALL_FAILED;
        ask = (struct wire_exec_number){ l->exec,
                                         (int32_t)record_get_int(&c->record, FIELD_SIGNAL, 0) };
        if (box_send(s->box, WIRE_BOX_SIGNAL, &ask, sizeof ask) < 0)
                return box_no_answer(s, e), CALL_FAILED;
        content_disturb(s->box, "signal");
        sandbox_touch(s);
        reply_exec(c, s, NULL, NULL, -1);
        return CALL_DONE;
}

enum call_state
op_exec_kill(struct call *c, struct error *e)
{
        struct sandbox *s;
        struct wire_box_listed *l;
        enum call_state state = find_exec(c, &s, &l, e);
        struct wire_box_kill ask = { .word = OUTCOME_KILLED };
        struct record_writer w;
        bool ran;

        if (state != CALL_DONE)
                return state;
        ran = still_runs(s, l);
        ask.exec = l->exec;
        if (s->box && !s->box->is_gone)
                (void)box_send(s->box, WIRE_BOX_KILL, &ask, sizeof ask);
        sandbox_touch(s);
        w = reply_begin(c);
        record_bool(&w, FIELD_EXISTED, ran);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}
