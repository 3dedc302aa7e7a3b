/*
 * cli/run_audit.c - what `carrel run --audit` records of one command.
 *
 * Room: cli (joining, program). Touches: the recorder's socket.
 */
#include "cli/run_audit.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/ending.h"
#include "api/event_record.h"
#include "audit/tree.h"
#include "base/scoped.h"
#include "base/write_all.h"
#include "cli/audit_place.h"
#include "cli/ending.h"
#include "cli/host_word.h"
#include "cli/left.h"
#include "cli/run_changes.h"
#include "cli/run_facts.h"
#include "cli/wall.h"
#include "event/event.h"
#include "prepare/digest.h"
#include "prepare/host_file.h"
#include "prepare/policy_digest.h"
#include "recorder/recorder.h"
#include "recorder/words.h"
#include "wire/judge.h"

enum { PLACE_MEMORY = 64 * 1024 };

/* One run has one command at a time. */
static struct {
        char ref[RECORDER_REF_MAX], actor[32];
        crypto_hash_sha256_state streams[AUDIT_CONTENT_STREAMS];
        uint64_t bytes[AUDIT_CONTENT_STREAMS];
        int kept[AUDIT_CONTENT_STREAMS]; /* files in memory, with `keeps`; -1: none */
        struct run_wall_options wall;    /* those of the run, with the transcript */
        struct run_wall_transcript transcript;
        const struct run_way *way;        /* since its start was recorded */
        char denied[JUDGE_SHOWN_MAX + 1]; /* the program that rules denied; "": not known */
        bool has_begun, has_started, is_denied, keeps, is_cut[AUDIT_CONTENT_STREAMS];
} now;

int
run_audit_begin(struct error *e)
{
        const char *directory;
        struct arena arena;

        (void)snprintf(now.actor, sizeof now.actor, "uid:%u", (unsigned)getuid());
        arena_init(&arena, PLACE_MEMORY);
        now.has_begun = audit_place(&arena, NULL, NULL, &directory, e) == 0 &&
                        recorder_start(directory, e) == 0;
        arena_fini(&arena);
        return now.has_begun ? 0 : -1;
}

bool
run_audit_has_begun(void)
{
        return now.has_begun;
}

bool
run_audit_may_be_asked(const char *named)
{
        return host_word_is_written(named, "audit");
}

const char *
run_audit_ref(void)
{
        return now.ref[0] != '\0' ? now.ref : NULL;
}

void
run_audit_end(void)
{
        recorder_end();
}

/* -- members ----------------------------------------------------------------------------------- */

static void
write_allowed(struct json_writer *w, const struct spec *spec)
{
        char digest[PREPARE_DIGEST_TEXT];
        struct error ignored;

        if (prepare_allowed_digest(spec, digest, &ignored) < 0)
                w->is_broken = true;
        else
                json_member_text(w, "allowed_sha256", digest);
}

/* The version of the rules that the command was judged by; nothing without rules. */
static void
write_policy(struct json_writer *w, const struct run_way *way)
{
        char digest[65];
        struct error ignored;

        if (way->p.spec && way->p.rules &&
            prepare_policy_digest(way->p.spec, way->p.rules, digest, &ignored) == 0 &&
            digest[0] != '\0')
                json_member_text(w, "policy_sha256", digest);
}

static void
write_manifest(struct json_writer *w, const struct run_way *way)
{
        if (!way->file_name || !way->manifest.bytes)
                return;
        json_key(w, "manifest");
        json_open_map(w);
        json_member_text(w, "file", way->file_name);
        recorder_write_sum_of(w, "sha256", way->manifest.bytes, way->manifest.len);
        json_close_map(w);
}

/* -- records ----------------------------------------------------------------------------------- */

static int
append(const struct run_way *way, const char *action, struct json_writer *input,
       struct json_writer *output, struct error *e)
{
        struct audit_event event = { .action = action,
                                     .actor_id = now.actor,
                                     .actor_role = "operator",
                                     .subject_kind = "sandbox",
                                     .subject_ref = way->id[0] != '\0' ? way->id : "none",
                                     .input = input ? input->text : NULL,
                                     .output = output ? output->text : NULL };
        bool is_broken = (input && input->is_broken) || (output && output->is_broken);
        int result = is_broken ? fail(e, ERROR_NO_MEMORY, "no memory for an audit record")
                               : recorder_append(&event, now.ref, e);

        if (input)
                json_fini(input);
        if (output)
                json_fini(output);
        return result;
}

static int
record_fact(const char *action, struct json_writer *output, struct error *e)
{
        return append(now.way, action, NULL, output, e);
}

static void
write_refusal(struct json_writer *w, const struct error *why)
{
        json_init(w, false);
        json_open_map(w);
        recorder_write_error(w, why);
        json_close_map(w);
}

void
run_audit_denied(const char *program)
{
        now.is_denied = true;
        if (program)
                (void)snprintf(now.denied, sizeof now.denied, "%s", program);
}

/* As the daemon's event has it. */
static int
record_denial(const struct run_way *way, const struct error *why, struct error *e)
{
        struct event event = event_policy_denied((struct event_policy_denied){
                .command = now.denied[0] != '\0' ? now.denied : NULL,
                .path = why->path,
                .reason = why->reason,
                .message = why->message,
        });
        struct json_writer input, output;

        json_init(&input, false);
        json_open_map(&input);
        write_policy(&input, way);
        json_close_map(&input);
        json_init(&output, false);
        json_open_map(&output);
        event_json(&output, &event);
        json_close_map(&output);
        return append(way, "policy.denied", &input, &output, e);
}

int
run_audit_failed(const struct run_way *way, const struct prepare_options *o,
                 const struct error *why, struct error *e)
{
        struct json_writer input, output;

        if (!now.has_begun || why->code == ERROR_AUDIT_UNAVAILABLE ||
            why->code == ERROR_AUDIT_BROKEN)
                return 0;
        if (now.has_started) {
                write_refusal(&output, why);
                return append(way, "exec.ended", NULL, &output, e);
        }
        if (now.is_denied && record_denial(way, why, e) < 0)
                return -1;
        json_init(&input, false);
        json_open_map(&input);
        recorder_write_command(&input, (const char *const *)o->command, o->command_count);
        write_manifest(&input, way);
        write_policy(&input, way);
        json_close_map(&input);
        write_refusal(&output, why);
        return append(way, "exec.refused", &input, &output, e);
}

static void
seen(int which, const char *bytes, size_t len)
{
        uint64_t room = RECORDER_KEEP_MAX - now.bytes[which];

        (void)crypto_hash_sha256_update(&now.streams[which], (const unsigned char *)bytes, len);
        /* after a failed write nothing more, so that no part is missing in the middle: the file is
         * shorter than the stream, and the recorder says that it is truncated */
        if (now.keeps && !now.is_cut[which] && now.bytes[which] < RECORDER_KEEP_MAX)
                now.is_cut[which] =
                        write_all(now.kept[which], bytes, len < room ? len : (size_t)room) < 0;
        now.bytes[which] += len;
}

/*
 * What servers answer is recorded, unless the sandbox gets secrets: then it cannot be replayed. A
 * replay whose network is closed has no answers.
 */
static bool
keeps_egress(const struct run_way *way, const struct prepare_options *o,
             const struct run_options *options)
{
        return options->wall && (!o->replay || o->replay->egress >= 0) &&
               way->p.spec->env.auth_count == 0;
}

int
run_audit_keep(const struct run_way *way, const struct prepare_options *o,
               struct run_options *options, struct error *e)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        bool has_egress = keeps_egress(way, o, options);

        for (size_t i = 0; i < AUDIT_CONTENT_STREAMS; i++) { /* of the command before */
                if (now.keeps)
                        scoped_fd_close(&now.kept[i]);
                now.kept[i] = -1;
        }
        /* where files may have no more than `ulimit -f` bytes, a write fails */
        (void)sigaction(SIGXFSZ, &ignore, NULL);
        options->sees_input = true;
        now.keeps = recorder_content_begin(has_egress, now.kept, e) == 0;
        if (now.keeps && has_egress) {
                now.transcript = (struct run_wall_transcript){ now.kept[AUDIT_CONTENT_EGRESS],
                                                               o->replay ? o->replay->egress : -1 };
                now.wall = *options->wall;
                now.wall.transcript = &now.transcript;
                options->wall = &now.wall;
        }
        return now.keeps ? 0 : -1;
}

/* What the command begins with: `carrel audit replay` compares it. */
static void
write_base(struct json_writer *w, const struct run_way *way)
{
        struct audit_tree tree;
        struct error e;

        json_key(w, "base");
        json_open_map(w);
        if (audit_tree_read(way->workspace, &tree, &e) < 0) {
                json_member_text(w, "error", e.reason);
        } else {
                json_member_text(w, "sha256", tree.sha256);
                json_member_int(w, "names", (int64_t)tree.names);
                json_member_int(w, "bytes", (int64_t)tree.bytes);
        }
        json_close_map(w);
}

static void
begin_stream(size_t i)
{
        (void)crypto_hash_sha256_init(&now.streams[i]);
        now.bytes[i] = 0;
        now.is_cut[i] = false;
}

int
run_audit_started(const struct run_way *way, const struct prepare_options *o,
                  struct run_options *options, struct error *e)
{
        const struct wire_command *c = &options->command;
        struct json_writer input;

        options->seen = seen;
        for (size_t i = 0; i < AUDIT_CONTENT_STREAMS; i++)
                begin_stream(i);
        json_init(&input, false);
        json_open_map(&input);
        recorder_write_command(&input, c->argv, c->head.argc);
        json_member_text(&input, "cwd", c->cwd);
        recorder_write_environment(&input, c->env, c->head.envc);
        if (o->env.count > 0)
                json_member_int(&input, "env_given", (int64_t)o->env.count);
        if (way->limit.by != TIME_LIMIT_NONE) {
                json_member_int(&input, "timeout_ms", (int64_t)way->limit.ms);
                json_member_text(&input, "timeout_by", time_limit_name(way->limit.by));
        }
        json_member_bool(&input, "terminal", (c->head.flags & WIRE_EXEC_TTY) != 0);
        write_manifest(&input, way);
        write_allowed(&input, way->p.spec);
        write_policy(&input, way);
        if (now.keeps)
                write_base(&input, way);
        if (o->again && o->again->operation)
                json_member_text(&input, "operation", o->again->operation);
        if (o->again)
                json_member_text(&input, "replay_of", o->again->ref);
        if (way->is_approved) {
                json_key(&input, "approval");
                json_open_map(&input);
                json_member_text(&input, "by", way->owner);
                json_close_map(&input);
        }
        json_close_map(&input);
        run_changes_begin(way);
        now.has_started = append(way, "exec.started", &input, NULL, e) == 0;
        now.way = way;
        run_facts_begin(options, record_fact);
        return now.has_started ? 0 : -1;
}

static void
write_stream(struct json_writer *w, const char *name, size_t i)
{
        unsigned char sum[crypto_hash_sha256_BYTES];

        (void)crypto_hash_sha256_final(&now.streams[i], sum);
        json_key(w, name);
        json_open_map(w);
        json_key(w, "bytes");
        json_uint(w, now.bytes[i]);
        recorder_write_sum(w, "sha256", sum);
        json_close_map(w);
}

static int
write_content(struct json_writer *w, struct error *e)
{
        struct stat file;

        if (!now.keeps)
                return 0;
        if (now.kept[AUDIT_CONTENT_EGRESS] >= 0 &&
            fstat(now.kept[AUDIT_CONTENT_EGRESS], &file) == 0)
                now.bytes[AUDIT_CONTENT_EGRESS] = (uint64_t)file.st_size;
        json_key(w, "content");
        return recorder_content_end(now.bytes, w, e);
}

int
run_audit_ended(const struct run_way *way, const struct run_result *r, struct error *e)
{
        struct json_writer output, lists;

        if (run_facts_end(e) < 0 || run_changes_end(record_fact, e) < 0)
                return -1;
        json_init(&output, false);
        json_open_map(&output);
        ending_write(&output, &r->outcome);
        if (now.keeps)
                write_stream(&output, "stdin", STDIN_FILENO);
        write_stream(&output, "stdout", STDOUT_FILENO);
        write_stream(&output, "stderr", STDERR_FILENO);
        if (write_content(&output, e) < 0) {
                json_fini(&output);
                return -1;
        }
        /* what the command did to the network and the workspace, as in `run --json` */
        json_init(&lists, false);
        json_open_map(&lists);
        wall_write_json(&lists, r);
        left_write_json(&lists, r);
        json_close_map(&lists);
        json_key(&output, "found");
        if (lists.is_broken || lists.len > RECORDER_JSON_MAX) {
                json_open_map(&output);
                json_member_int(&output, "denied_count", (int64_t)r->denial_count);
                json_member_int(&output, "left_behind_count", (int64_t)r->kept_count);
                json_close_map(&output);
        } else {
                json_raw(&output, lists.text, lists.len);
        }
        json_fini(&lists);
        json_close_map(&output);
        now.has_started = false;
        return append(way, "exec.ended", NULL, &output, e);
}
