/*
 * cli/audit.c - `carrel audit verify|tail|export|checkpoint|rotate`: the caller's audit log.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), the audit log, files that are
 * named.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/export.h"
#include "audit/log.h"
#include "cli/ask.h"
#include "cli/audit_place.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/options.h"
#include "cli/value.h"
#include "ref/file.h"

enum { TAIL_COUNT = 10, ARENA_MAX = 16 << 20 };

struct asked {
        const char *log_at, *state, *checkpoint, *secret, *form;
        uint64_t count, from;
        bool is_json, has_no_keys;
        struct words words;
        struct arena arena;
        struct audit_log log;
};

static int
failed(const struct asked *a, const struct error *e)
{
        return print_failure(NULL, e, a->is_json);
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
print_verdict_json(const struct asked *a, const struct audit_verdict *v, const struct error *e)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_bool(&w, "intact", e->code == ERROR_NONE);
        json_member_text(&w, "log", a->log.path);
        if (v->head.chain[0] != '\0')
                json_member_text(&w, "chain", v->head.chain);
        json_key(&w, "entries");
        json_uint(&w, v->head.next);
        if (v->head.next > 0) {
                json_member_text(&w, "last_hash", v->head.hash);
                json_member_text(&w, "last_at", v->head.time);
        }
        json_key(&w, "unsigned");
        json_uint(&w, v->unsigned_count);
        json_key(&w, "torn_bytes");
        json_uint(&w, v->torn);
        json_member_bool(&w, "checkpoint", v->has_checkpoint);
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
print_verdict(const struct asked *a, const struct audit_verdict *v)
{
        (void)printf("intact: %" PRIu64 " entries, the last one of %s\nchain: %s\n", v->head.next,
                     v->head.time, v->head.chain);
        if (v->unsigned_count > 0)
                (void)printf("%" PRIu64 " signatures were not checked: their key is not here\n",
                             v->unsigned_count);
        if (v->torn > 0)
                (void)printf("%zu bytes of an entry at the end were not completely written; the "
                             "next entry will say so\n",
                             v->torn);
        if (!v->has_checkpoint)
                (void)printf("checkpoint.json is missing; the next entry writes it\n");
        if (!a->checkpoint)
                (void)printf("Compared with the log's own checkpoint only. To detect a log that "
                             "was replaced as a whole, keep the output of `carrel audit "
                             "checkpoint` elsewhere, and pass it with --checkpoint.\n");
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
        struct audit_checkpoint kept;
        struct audit_verdict v;
        struct error e = { 0 };
        int result;

        if (a->checkpoint && read_checkpoint(a, &kept, &e) < 0)
                return failed(a, &e);
        result = audit_log_verify(&a->log, a->checkpoint ? &kept : NULL, !a->has_no_keys, &v, &e);
        if (result < 0 && e.code == ERROR_AUDIT_BROKEN)
                not_intact(a, &v, &e);
        if (a->is_json)
                print_verdict_json(a, &v, &e);
        else if (result < 0)
                return failed(a, &e);
        else
                print_verdict(a, &v);
        return result < 0 ? error_exit_status(e.code) : 0;
}

/* -- tail and export --------------------------------------------------------------------------- */

static bool
find_end(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        uint64_t *next = ctx;

        (void)line;
        (void)len;
        *next = entry->seq + 1;
        return true;
}

/* The words of a command, or what an entry says of itself, as one line. */
static void
print_detail(const struct audit_entry *entry)
{
        const struct node *input = node_find(entry->root, "input");
        const struct node *output = node_find(entry->root, "output");
        const struct node *argv = node_find(input, "argv");
        const struct node *outcome = node_find(output, "outcome");
        const struct node *status = node_find(output, "exit_code");
        const struct node *code = node_find(node_find(output, "error"), "code");

        if (argv && argv->kind == NODE_LIST)
                node_each(word, argv)
                {
                        (void)fputc(' ', stdout);
                        print_escaped(stdout, word->text, false);
                }
        if (outcome && outcome->kind == NODE_STRING) {
                (void)fputc(' ', stdout);
                print_escaped(stdout, outcome->text, false);
        }
        if (status && status->kind == NODE_INT)
                (void)printf(" %" PRId64, status->integer);
        if (code && code->kind == NODE_STRING) {
                (void)fputs(argv ? ": " : " ", stdout);
                print_escaped(stdout, code->text, false);
        }
}

static bool
print_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        const struct asked *a = ctx;

        if (a->is_json) {
                (void)fwrite(line, 1, len, stdout);
        } else {
                (void)printf("%6" PRIu64 "  %s  ", entry->seq, entry->time);
                print_escaped(stdout, entry->actor, false);
                (void)fputs("  ", stdout);
                print_escaped(stdout, entry->action, false);
                (void)fputs("  ", stdout);
                print_escaped(stdout, entry->subject, false);
                print_detail(entry);
        }
        (void)fputc('\n', stdout);
        return ferror(stdout) == 0;
}

static int
audit_tail(struct asked *a)
{
        uint64_t next = 0, count = a->count > 0 ? a->count : TAIL_COUNT;
        struct error e;

        if (audit_log_read(&a->log, 0, find_end, &next, &e) < 0 ||
            audit_log_read(&a->log, next > count ? next - count : 0, print_entry, a, &e) < 0)
                return failed(a, &e);
        if (next == 0 && !a->is_json)
                (void)fputs("carrel: no entry yet\n", stderr);
        return 0;
}

struct exporting {
        struct audit_export x;
        struct error e;
};

static bool
export_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct exporting *x = ctx;
        struct buffer row = { 0 };

        (void)line;
        (void)len;
        if (audit_export_row(&x->x, entry, &row, &x->e) == 0)
                (void)fwrite(row.bytes, 1, row.len, stdout);
        buffer_fini(&row);
        return x->e.code == ERROR_NONE && ferror(stdout) == 0;
}

static int
export_agentskit(struct asked *a, struct error *e)
{
        struct exporting x = { 0 };
        const char *secret;
        size_t len;

        if (!a->secret) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "--form agentskit signs each row, and needs --secret FILE");
                error_hint(e, "The file holds the secret that the other program verifies with.");
                return -1;
        }
        if (ref_file_read(&a->arena, a->secret, 4096, NULL, &secret, &len, e) < 0)
                return -1;
        while (len > 0 && (secret[len - 1] == '\n' || secret[len - 1] == '\r'))
                len--;
        if (len == 0)
                return fail(e, ERROR_INVALID_ARGUMENT, "the file %s is empty", a->secret);
        audit_export_init(&x.x, (const unsigned char *)secret, len);
        if (audit_log_read(&a->log, 0, export_entry, &x, e) < 0)
                return -1;
        *e = x.e;
        return x.e.code == ERROR_NONE ? 0 : -1;
}

static int
audit_export(struct asked *a)
{
        struct error e;
        int result;

        if (a->form && strcmp(a->form, "agentskit") == 0) {
                result = export_agentskit(a, &e);
        } else {
                a->is_json = true;
                result = audit_log_read(&a->log, a->from, print_entry, a, &e);
        }
        return result < 0 ? failed(a, &e) : 0;
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

/* -- the command ------------------------------------------------------------------------------- */

static const struct action {
        const char *name;
        int (*run)(struct asked *a);
} actions[] = {
        { "verify", audit_verify },         { "tail", audit_tail },     { "export", audit_export },
        { "checkpoint", audit_checkpoint }, { "rotate", audit_rotate },
};

static const struct action *
find_action(const struct asked *a, struct error *e)
{
        const char *word = a->words.count > 0 ? a->words.items[0] : NULL;

        if (!word) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "audit needs to know what to do: verify, tail, export, checkpoint or "
                           "rotate");
                error_hint(e, "For example: carrel audit verify. `carrel audit --help` shows the "
                              "rest.");
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
                    "verify: check hashes and chain where the keys are not available"),
        OPTION_NUMBER(struct asked, count, VALUE_OFFSET, "-n", "N",
                      "tail: how many entries (default: 10)"),
        OPTION_NUMBER(struct asked, from, VALUE_OFFSET, "--from", "N",
                      "export: from this entry on"),
        OPTION_TEXT(struct asked, form, VALUE_AUDIT_FORM, "--form", "FORM",
                    "export: jsonl (default), the entries as they are; agentskit, rows of "
                    "AgentsKit's signed log"),
        OPTION_TEXT(struct asked, secret, VALUE_FILE, "--secret", "FILE",
                    "export: the file with the secret that signs AgentsKit's rows"),
        OPTION_FLAG(struct asked, is_json, "--json", "verify: one JSON object; tail: JSON lines"),
        OPTION_END,
};

static const struct operand operands[] = {
        { "verify", VALUE_TEXT,
          "check every entry, the chain and the checkpoint; name the first entry that is wrong",
          true },
        { "tail", VALUE_TEXT, "print the last entries", true },
        { "export", VALUE_TEXT, "print all entries for another program", true },
        { "checkpoint", VALUE_TEXT,
          "print a signed statement of the log's length and last hash, to keep elsewhere", true },
        { "rotate", VALUE_TEXT, "sign new entries with a new key", true },
        { NULL },
};

const struct command command_audit = {
        .name = "audit",
        .help = "Verify, read and export your audit log, which `carrel run --audit` writes.",
        .options = options,
        .operands = operands,
        .words_max = 1,
        .example = "carrel audit verify",
        .run = cmd_audit,
};
