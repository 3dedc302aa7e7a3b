/*
 * cli/audit.c - `carrel audit verify|tail|show|export|checkpoint|rotate|prune`: the caller's audit
 * log.
 *
 * Room: cli (joining, program). Touches: fd (standard streams, inotify), the audit log, files that
 * are named.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "audit/content_check.h"
#include "audit/log.h"
#include "audit/prune.h"
#include "base/scoped.h"
#include "cli/ask.h"
#include "cli/audit_content.h"
#include "cli/audit_export.h"
#include "cli/audit_place.h"
#include "cli/audit_print.h"
#include "cli/audit_replay.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/value.h"
#include "clock/clock.h"
#include "prepare/host_file.h"
#include "ref/file.h"

enum { TAIL_COUNT = 10, ARENA_MAX = 16 << 20, DAY_MS = 24 * 3600 * 1000 };

struct asked {
        const char *log_at, *state, *workspace, *file, *host_file, *checkpoint, *secret, *form,
                *action, *from, *to;
        uint64_t count, older_than;
        bool is_json, has_no_keys, follows, shows_in, shows_out, shows_err, shows_egress;
        struct words words;
        struct arena arena;
        struct audit_log log;
};

/* The code's own hint is about a command that was to be started; here is none. */
static void
hint_reader(struct error *e)
{
        if (e->code == ERROR_AUDIT_UNAVAILABLE && e->hint[0] == '\0')
                error_hint(e, "Correct the cause and repeat the command. `carrel audit --help` "
                              "shows how to name another log.");
}

static int
failed(const struct asked *a, struct error *e)
{
        hint_reader(e);
        return print_failure(NULL, e, a->is_json);
}

/* -- retention --------------------------------------------------------------------------------- */

/* audit_retention of the host file; 0: forever. */
static int
read_retention(struct asked *a, uint64_t *ret_ms, struct error *e)
{
        static const struct host_ability none;
        struct host_file file;

        if (host_file_load(&a->arena, NULL, &none, 0, NULL, &file, e) < 0)
                return file.name ? error_wrap(e, "host file %.200s", file.name) : -1;
        *ret_ms = file.rules->audit_keep_ms;
        return 0;
}

/* -- verify ------------------------------------------------------------------------------------ */

static int
read_checkpoint(struct asked *a, struct audit_checkpoint *ret, struct error *e)
{
        const char *bytes;
        size_t len;

        if (ref_file_read(&a->arena, a->checkpoint, AUDIT_CHECKPOINT_MAX, NULL, &bytes, &len, e) <
            0)
                return -1;
        return audit_checkpoint_read(bytes, len, ret, e);
}

static void
print_verdict_json(struct asked *a, const struct audit_verdict *v,
                   const struct audit_content_verdict *c, const struct error *e)
{
        struct error ignored;
        uint64_t keep_ms = 0;
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, "intact", e->code == ERROR_NONE);
        json_member_text(&w, "log", a->log.path);
        if (v->head.chain[0] != '\0')
                json_member_text(&w, "chain", v->head.chain);
        json_key(&w, "entries");
        json_uint(&w, v->head.next - v->begin);
        json_key(&w, "first");
        json_uint(&w, v->begin);
        if (v->head.next > 0) {
                json_member_text(&w, "last_hash", v->head.hash);
                json_member_text(&w, "last_at", v->head.time);
        }
        json_key(&w, "unsigned");
        json_uint(&w, v->unsigned_count);
        json_key(&w, "torn_bytes");
        json_uint(&w, v->torn);
        json_member_bool(&w, "checkpoint", v->has_checkpoint);
        if (read_retention(a, &keep_ms, &ignored) == 0 && keep_ms > 0) {
                json_key(&w, "retention_days");
                json_uint(&w, keep_ms / DAY_MS);
        }
        json_key(&w, "contents");
        json_uint(&w, c->kept);
        json_key(&w, "contents_pruned");
        json_uint(&w, c->pruned);
        if (e->code != ERROR_NONE) {
                json_key(&w, "at");
                json_uint(&w, v->at);
                json_key(&w, "error");
                json_error(&w, e);
        }
        json_close_map(&w);
        (void)json_print(&w, stdout);
}

static void
print_verdict(const struct audit_verdict *v, const struct audit_content_verdict *c,
              const struct audit_checkpoint *kept)
{
        (void)printf("intact: %" PRIu64 " entries, the last one of %s\nchain: %s\n",
                     v->head.next - v->begin, v->head.time, v->head.chain);
        if (v->begin > 0)
                (void)printf("The entries before %" PRIu64
                             " were removed by `carrel audit prune`\n",
                             v->begin);
        if (c->kept > 0)
                (void)printf("%" PRIu64 " contents of %" PRIu64 " bytes have their SHA-256\n",
                             c->kept, c->bytes);
        if (c->pruned > 0)
                (void)printf("%" PRIu64 " contents were removed by `carrel audit prune`\n",
                             c->pruned);
        if (v->unsigned_count > 0)
                (void)printf("%" PRIu64 " signatures were not checked: their key is not here\n",
                             v->unsigned_count);
        if (v->torn > 0)
                (void)printf("%zu bytes of an entry at the end were not completely written; the "
                             "next entry will say so\n",
                             v->torn);
        if (!v->has_checkpoint)
                (void)printf("checkpoint.json is missing; the next entry writes it\n");
        if (kept && kept->seq < v->begin)
                (void)printf("The entry that the checkpoint names was removed, so it was compared "
                             "with the chain's id and key only. Keep newer checkpoints.\n");
        if (!kept)
                (void)printf("Compared with the log's own checkpoint only. To detect a log that "
                             "was replaced as a whole, keep the output of `carrel audit "
                             "checkpoint` elsewhere, and pass it with --checkpoint.\n");
}

static void
print_retention(struct asked *a)
{
        struct error e;
        uint64_t keep_ms = 0;

        if (read_retention(a, &keep_ms, &e) < 0)
                (void)printf("The retention is unknown: %s\n", e.message);
        else if (keep_ms > 0)
                (void)printf("Entries are kept for %" PRIu64 " days (audit_retention)\n",
                             keep_ms / DAY_MS);
        else
                (void)puts("Entries are kept until `carrel audit prune` removes them");
}

/* Says where, and what to do now. */
static void
not_intact(const struct asked *a, const struct audit_verdict *v, struct error *e)
{
        (void)error_wrap(e, "entry %" PRIu64 "%s%s", v->at, v->file[0] != '\0' ? " in " : "",
                         v->file);
        error_hint(e,
                   "Keep the files: move the directory %s to another place. The next `carrel run "
                   "--audit` begins a new log.",
                   a->log.path);
}

static int
audit_verify(struct asked *a)
{
        struct audit_checkpoint kept = { .seq = 0 };
        struct audit_content_verdict c = { 0 };
        struct audit_verdict v;
        struct error e = { 0 };
        int result;

        if (a->checkpoint && read_checkpoint(a, &kept, &e) < 0)
                return failed(a, &e);
        result = audit_log_verify(&a->log, a->checkpoint ? &kept : NULL, !a->has_no_keys, &v, &e);
        if (result == 0 && (result = audit_content_verify(&a->log, &c, &e)) < 0) {
                v.at = c.at;
                v.file[0] = '\0';
        }
        if (result < 0 && e.code == ERROR_AUDIT_BROKEN)
                not_intact(a, &v, &e);
        hint_reader(&e);
        if (a->is_json) {
                print_verdict_json(a, &v, &c, &e);
        } else if (result < 0) {
                return failed(a, &e);
        } else {
                print_verdict(&v, &c, a->checkpoint ? &kept : NULL);
                print_retention(a);
        }
        return result < 0 ? error_exit_status(e.code) : 0;
}

/* -- tail -------------------------------------------------------------------------------------- */

struct tailing {
        const struct asked *a;
        struct audit_starts starts;
        uint64_t matching, left_out; /* entries that match; of them, those before the last N */
        uint64_t next;
};

/* "exec." matches every action that begins with it, "exec.ended" itself. */
static bool
is_asked_for(const struct asked *a, const struct audit_entry *entry)
{
        size_t len = a->action ? strlen(a->action) : 0;

        return len == 0 || strcmp(entry->action, a->action) == 0 ||
               (a->action[len - 1] == '.' && strncmp(entry->action, a->action, len) == 0);
}

static void
print_json_line(const char *line, size_t len)
{
        (void)fwrite(line, 1, len, stdout);
        (void)fputc('\n', stdout);
}

static bool
count_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct tailing *t = ctx;

        (void)line;
        (void)len;
        t->matching += is_asked_for(t->a, entry) ? 1 : 0;
        t->next = entry->seq + 1;
        return true;
}

static bool
print_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct tailing *t = ctx;

        t->next = entry->seq + 1;
        audit_starts_add(&t->starts, entry);
        if (!is_asked_for(t->a, entry))
                return true;
        if (t->left_out > 0)
                t->left_out--;
        else if (t->a->is_json)
                print_json_line(line, len);
        else
                audit_print_line(&t->starts, entry);
        return ferror(stdout) == 0;
}

/* A read waits for the lock of the writer, so an entry is whole when it is read. */
static int
watch_log(const struct asked *a, struct error *e)
{
        int fd = inotify_init1(IN_CLOEXEC);

        if (fd < 0 || inotify_add_watch(fd, a->log.path, IN_MODIFY | IN_ONLYDIR) < 0) {
                if (fd >= 0)
                        (void)close(fd);
                return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "watching the audit log %s",
                                a->log.path);
        }
        return fd;
}

/* Until SIGINT, or until standard output cannot be written. */
static int
follow(struct tailing *t, struct audit_log *log, int watch, struct error *e)
{
        char events[4096];

        while (fflush(stdout) == 0) {
                ssize_t got = read(watch, events, sizeof events);

                if (got < 0 && errno != EINTR)
                        return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno,
                                        "watching the audit log %s", log->path);
                if (audit_log_read(log, t->next, print_entry, t, e) < 0)
                        return -1;
        }
        return 0;
}

static int
audit_tail(struct asked *a)
{
        static struct tailing t;
        uint64_t count = a->count > 0 ? a->count : TAIL_COUNT;
        scoped_fd int watch = -1;
        struct error e;

        t.a = a;
        if (a->follows && (watch = watch_log(a, &e)) < 0)
                return failed(a, &e);
        if (audit_log_read(&a->log, 0, count_entry, &t, &e) < 0)
                return failed(a, &e);
        t.left_out = t.matching > count ? t.matching - count : 0;
        if (audit_log_read(&a->log, 0, print_entry, &t, &e) < 0)
                return failed(a, &e);
        if (a->follows)
                return follow(&t, &a->log, watch, &e) < 0 ? failed(a, &e) : 0;
        if (t.matching == 0 && !a->is_json)
                (void)fputs(t.next == 0 ? "carrel: no entry yet\n"
                                        : "carrel: no entry has this action\n",
                            stderr);
        return 0;
}

/* -- show -------------------------------------------------------------------------------------- */

struct showing {
        const struct asked *a;
        uint64_t seq;
        char chain[AUDIT_ID_TEXT]; /* "": any */
        bool is_found, is_other;
        const char *stream; /* NULL: the entry itself */
        struct error e;     /* of its content */
};

static bool
show_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct showing *s = ctx;

        s->is_found = entry->seq == s->seq;
        s->is_other = s->chain[0] != '\0' && strcmp(s->chain, entry->chain) != 0;
        if (!s->is_found || s->is_other)
                return false;
        if (s->stream)
                (void)audit_content_print(&s->a->log, entry, s->stream, &s->e);
        else if (s->a->is_json)
                print_json_line(line, len);
        else
                audit_print_whole(entry);
        return false;
}

/* audit://CHAIN/NUMBER, or the number alone. */
static int
read_ref(const char *word, struct showing *s, struct error *e)
{
        const char *number = word, *slash;
        char *end;

        if (strncmp(word, "audit://", 8) == 0) {
                slash = strchr(word + 8, '/');
                if (slash && slash - word - 8 == AUDIT_ID_TEXT - 1) {
                        (void)snprintf(s->chain, sizeof s->chain, "%s", word + 8);
                        number = slash + 1;
                }
        }
        errno = 0;
        s->seq = strtoull(number, &end, 10);
        if (number[strspn(number, "0123456789")] == '\0' && end != number && errno == 0)
                return 0;
        (void)fail(e, ERROR_INVALID_ARGUMENT, "\"%s\" names no entry of an audit log", word);
        error_hint(e, "Pass its number, or the audit_ref of a command: carrel audit show 12");
        return -1;
}

static int
audit_show(struct asked *a)
{
        struct showing s = { .a = a,
                             .stream = a->shows_in       ? "stdin"
                                       : a->shows_out    ? "stdout"
                                       : a->shows_err    ? "stderr"
                                       : a->shows_egress ? "egress"
                                                         : NULL };
        struct error e;

        if (a->words.count < 2) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "audit show needs the number of an entry");
                error_hint(&e, "`carrel audit tail` prints the numbers: carrel audit show 12");
                return failed(a, &e);
        }
        if (a->shows_in + a->shows_out + a->shows_err + a->shows_egress > 1) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "audit show prints one content at a time");
                error_hint(&e, "Pass one of --stdin, --stdout, --stderr and --egress.");
                return failed(a, &e);
        }
        if (read_ref(a->words.items[1], &s, &e) < 0 ||
            audit_log_read(&a->log, s.seq, show_entry, &s, &e) < 0)
                return failed(a, &e);
        if (s.is_found && !s.is_other)
                return s.e.code != ERROR_NONE ? failed(a, &s.e) : 0;
        (void)fail(&e, ERROR_INVALID_ARGUMENT,
                   s.is_other ? "this log has another chain than %s"
                              : "the audit log has no entry %s",
                   a->words.items[1]);
        error_hint(&e, "Entries of another owner or copy: --log DIR. `carrel audit tail` prints "
                       "the numbers of the last entries.");
        return failed(a, &e);
}

/* -- replay ------------------------------------------------------------------------------------ */

static bool
check_chain(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct showing *s = ctx;

        (void)line, (void)len;
        s->is_other = s->chain[0] != '\0' && strcmp(s->chain, entry->chain) != 0;
        return false;
}

static int
audit_replay_entry(struct asked *a)
{
        const struct replay_request request = { a->workspace, a->file, a->host_file, a->is_json,
                                                a->has_no_keys };
        struct showing s = { .a = a };
        struct error e;
        int result;

        if (a->words.count < 2) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "audit replay needs the number of an entry");
                error_hint(&e, "For example: carrel audit replay 12 --workspace DIR");
                return failed(a, &e);
        }
        if (read_ref(a->words.items[1], &s, &e) < 0 ||
            audit_log_read(&a->log, s.seq, check_chain, &s, &e) < 0)
                return failed(a, &e);
        if (s.is_other) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "this log has another chain than %s",
                           a->words.items[1]);
                return failed(a, &e);
        }
        result = audit_replay(&a->log, s.seq, &request, &e);
        return result < 0 ? failed(a, &e) : result;
}

/* -- export ------------------------------------------------------------------------------------ */

static int
audit_export(struct asked *a)
{
        const struct audit_export_request request = { a->from, a->to, a->form, a->secret };
        struct error e;

        return audit_export_print(&a->log, &a->arena, &request, &e) < 0 ? failed(a, &e) : 0;
}

/* -- checkpoint and rotate --------------------------------------------------------------------- */

static int
audit_checkpoint(struct asked *a)
{
        struct audit_checkpoint c;
        struct buffer text = { 0 };
        struct error e;

        if (audit_log_checkpoint(&a->log, &c, &e) < 0 || audit_checkpoint_write(&c, &text, &e) < 0)
                return failed(a, &e);
        (void)fwrite(text.bytes, 1, text.len, stdout);
        buffer_fini(&text);
        return 0;
}

static int
audit_rotate(struct asked *a)
{
        char actor[24];
        struct error e;

        (void)snprintf(actor, sizeof actor, "uid:%u", (unsigned)getuid());
        if (audit_log_rotate_key(&a->log, actor, &e) < 0)
                return failed(a, &e);
        if (!a->is_json)
                (void)puts("New entries are signed with a new key. The old one stays, to verify "
                           "older entries.");
        return 0;
}

/* -- prune ------------------------------------------------------------------------------------- */

/* The host file's retention is a minimum. */
static int
check_age(struct asked *a, struct error *e)
{
        uint64_t keep_ms = 0;

        if (read_retention(a, &keep_ms, e) < 0)
                return -1;
        if (a->older_than >= keep_ms)
                return 0;
        (void)fail_at(e, ERROR_FORBIDDEN, "audit_retention", "minimum",
                      "the host file keeps audit logs for %" PRIu64 " days (audit_retention)",
                      keep_ms / DAY_MS);
        error_hint(e, "carrel audit prune --older-than %" PRIu64 "d", keep_ms / DAY_MS);
        return -1;
}

static int
audit_prune(struct asked *a)
{
        uint64_t now = clock_wall_ms();
        struct audit_pruned p;
        char actor[24];
        struct error e;

        if (a->older_than == 0) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "audit prune needs --older-than T");
                error_hint(&e, "For example: carrel audit prune --older-than 30d");
                return failed(a, &e);
        }
        if (check_age(a, &e) < 0)
                return failed(a, &e);
        (void)snprintf(actor, sizeof actor, "uid:%u", (unsigned)getuid());
        if (audit_log_prune(&a->log, now > a->older_than ? now - a->older_than : 0, actor, &p, &e) <
            0)
                return failed(a, &e);
        if (a->is_json)
                (void)printf("{\"files\":%" PRIu64 ",\"contents\":%" PRIu64 "}\n", p.files,
                             p.content.files);
        else if (p.files == 0 && p.content.files == 0)
                (void)puts("No log file is old enough: nothing was removed.");
        else if (p.files > 0)
                (void)printf("Removed %" PRIu64 " files with the entries %" PRIu64 " to %" PRIu64
                             ". Entry %" PRIu64 " records that.\n",
                             p.files, p.first, p.last, p.seq);
        if (!a->is_json && p.content.files > 0)
                (void)printf("Removed %" PRIu64 " contents of commands, %" PRIu64 " bytes.\n",
                             p.content.files, p.content.bytes);
        return 0;
}

/* -- the command ------------------------------------------------------------------------------- */

static const struct action {
        const char *name;
        int (*run)(struct asked *a);
} actions[] = {
        { "verify", audit_verify }, { "tail", audit_tail },
        { "show", audit_show },     { "replay", audit_replay_entry },
        { "export", audit_export }, { "checkpoint", audit_checkpoint },
        { "rotate", audit_rotate }, { "prune", audit_prune },
};

static const struct action *
find_action(const struct asked *a, struct error *e)
{
        const char *word = a->words.count > 0 ? a->words.items[0] : NULL;

        if (!word) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "audit needs to know what to do: verify, tail, show, replay, export, "
                           "checkpoint, rotate or prune");
                error_hint(e, "For example: carrel audit verify. `carrel audit --help` shows the "
                              "rest.");
                return NULL;
        }
        if (a->words.count > 1 && strcmp(word, "show") != 0 && strcmp(word, "replay") != 0) {
                (void)fail(e, ERROR_INVALID_ARGUMENT, "unexpected argument \"%s\"",
                           a->words.items[1]);
                error_hint(e, "`carrel audit --help` shows what `carrel audit %s` takes.", word);
                return NULL;
        }
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
                if (strcmp(word, actions[i].name) == 0)
                        return &actions[i];
        (void)value_word_check(VALUE_AUDIT_ACTION, (struct value_place){ "audit", NULL }, word, e);
        return NULL;
}

static int
cmd_audit(int argc, char **argv)
{
        static struct asked a = { .log = { .dir = -1 } };
        const struct action *action;
        const char *directory;
        struct error e;
        int status;

        if (options_read(&command_audit, argc, argv, &a, &a.words, &e) < 0)
                return failed(&a, &e);
        action = find_action(&a, &e);
        if (action && a.log_at && a.state) {
                (void)fail(&e, ERROR_INVALID_ARGUMENT, "--log and --state both name a log");
                error_hint(&e, "Use --log DIR for any log, --state DIR for your own of a daemon.");
                action = NULL;
        }
        if (!action)
                return failed(&a, &e);
        arena_init(&a.arena, ARENA_MAX);
        if (audit_place(&a.arena, a.log_at, a.state, &directory, &e) < 0 ||
            audit_log_open(&a.log, directory, false, &e) < 0)
                status = failed(&a, &e);
        else
                status = action->run(&a);
        audit_log_close(&a.log);
        arena_fini(&a.arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct asked, log_at, VALUE_DIRECTORY, "--log", "DIR",
                    "the log's directory (default: your own, audit/uid:N in the state directory)"),
        OPTION_TEXT(struct asked, state, VALUE_DIRECTORY, "--state", "DIR",
                    "your own log in this state directory, for example of `carrel serve`"),
        OPTION_TEXT(struct asked, checkpoint, VALUE_FILE, "--checkpoint", "FILE",
                    "verify: a checkpoint that was kept elsewhere"),
        OPTION_FLAG(struct asked, has_no_keys, "--no-keys",
                    "verify, replay: check hashes and chain where the keys are not available"),
        OPTION_NUMBER(struct asked, count, VALUE_ENTRIES, "-n", "N",
                      "tail: how many entries (default: 10)"),
        OPTION_FLAG(struct asked, follows, "-f", "tail: print new entries until Ctrl-C"),
        OPTION_FLAG(struct asked, follows, "--follow", NULL),
        OPTION_TEXT(struct asked, action, VALUE_TEXT, "--action", "ACTION",
                    "tail: entries with this action alone; \"exec.\": those that begin with it"),
        OPTION_TEXT(struct asked, from, VALUE_TEXT, "--from", "N|TIME",
                    "export: from this entry or time on: 12 or 2026-01-31T08:00:00Z"),
        OPTION_TEXT(struct asked, to, VALUE_TEXT, "--to", "N|TIME",
                    "export: up to this entry or time, which is included"),
        OPTION_TEXT(struct asked, form, VALUE_AUDIT_FORM, "--form", "FORM",
                    "export: jsonl (default), the entries as they are; agentskit, rows of "
                    "AgentsKit's signed log; agentgovernance, rows of AIP-7's reference code"),
        OPTION_NUMBER(struct asked, older_than, VALUE_AGE, "--older-than", "T",
                      "prune: remove log files whose entries are all older: 30d"),
        OPTION_TEXT(struct asked, secret, VALUE_FILE, "--secret", "FILE",
                    "export: the file with the secret that signs rows"),
        OPTION_TEXT(struct asked, workspace, VALUE_DIRECTORY, "--workspace", "DIR",
                    "replay: the workspace as it was; the command may change it (default: .)"),
        OPTION_TEXT(struct asked, file, VALUE_FILE, "--file", "FILE",
                    "replay: the manifest of that time"),
        OPTION_TEXT(struct asked, host_file, VALUE_FILE, "--host", "FILE", HOST_FILE_DOC),
        OPTION_FLAG(struct asked, shows_in, "--stdin",
                    "show: what the command read from standard input, if it was kept"),
        OPTION_FLAG(struct asked, shows_out, "--stdout", "show: its output, if it was kept"),
        OPTION_FLAG(struct asked, shows_err, "--stderr", "show: its errors, if they were kept"),
        OPTION_FLAG(struct asked, shows_egress, "--egress",
                    "show: what servers answered it, if that was kept"),
        OPTION_FLAG(struct asked, is_json, "--json",
                    "verify: one JSON object; tail, show: the entries as they are"),
        OPTION_END,
};

static const struct operand operands[] = {
        { "verify", VALUE_TEXT,
          "check every entry, the chain and the checkpoint; name the first entry that is wrong",
          true },
        { "tail", VALUE_TEXT, "print the last entries, a line for each", true },
        { "show REF", VALUE_TEXT,
          "print one entry whole; REF is its number, or the audit_ref of a command", true },
        { "replay REF", VALUE_TEXT,
          "run a recorded command again without a network, with the recorded answers of servers, "
          "behind those that ran before it in its "
          "sandbox, and compare what they print",
          true },
        { "export", VALUE_TEXT, "print all entries for another program", true },
        { "checkpoint", VALUE_TEXT,
          "print a signed statement of the log's length and last hash, to keep elsewhere", true },
        { "rotate", VALUE_TEXT, "sign new entries with a new key", true },
        { "prune", VALUE_TEXT, "remove old log files; the rest still verifies", true },
        { NULL },
};

const struct command command_audit = {
        .name = "audit",
        .help = "Verify, read and export your audit log, which `carrel run --audit` writes.",
        .options = options,
        .operands = operands,
        .words_max = 2,
        .example = "carrel audit verify",
        .run = cmd_audit,
};
