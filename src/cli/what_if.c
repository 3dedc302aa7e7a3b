/*
 * cli/what_if.c - judges the commands of an audit log by rules that are not in use yet.
 *
 * Room: cli (joining, program). Touches: fd (standard output), the log, carrel-judge.
 * Theory: exec.started was allowed, whatever the rules were then; exec.refused with a place below
 * the rules was denied, or a person was needed. Other refusals say nothing about rules. The same
 * denial is also policy.denied, just before; one without exec.refused has no words to judge. A log
 * holds the command's words if their SHA-256 is right, or if nothing of them was removed.
 */
#include "cli/what_if.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/log.h"
#include "cli/audit_place.h"
#include "cli/finding_print.h"
#include "cli/judge.h"
#include "cli/policy_action.h"
#include "prepare/commands.h"
#include "ref/file.h"

enum { WORDS_MEMORY = 64 << 20, LOG_MEMORY = 576 << 20, EXPORT_MAX = 512 << 20 };
enum { DENIALS_MAX = 256, DENIAL_ROOM = 320 };

/* Why a command of the log is not judged. */
enum unjudged { REDACTED, TRUNCATED, NOT_WORDS, OTHER_REFUSAL, ENVIRONMENT, UNJUDGED_COUNT };

static const struct {
        const char *name, *meaning;
} unjudged_rows[UNJUDGED_COUNT] = {
        [REDACTED] = { "redacted", "something was removed from the words" },
        [TRUNCATED] = { "truncated", "only the first words were recorded" },
        [NOT_WORDS] = { "not_words", "the entry does not have the words as they were" },
        [OTHER_REFUSAL] = { "other_refusal", "refused for a reason that is not a rule" },
        [ENVIRONMENT] = { "environment", "refused for a variable, whose value was not recorded" },
};

struct past {
        const struct audit_entry *entry;
        const struct node *argv, *executed; /* executed: the event of process.executed, or NULL */
        enum command_verdict was;
};

/* policy.denied: of which sandbox, by which rule. */
struct denial {
        char text[DENIAL_ROOM];
};

static struct {
        const struct node *rules;
        struct arena names, memory; /* memory: of one command */
        struct host_programs programs;
        struct json_writer json;
        bool has_executed, is_json;
        uint64_t judged, changed, unjudged[UNJUDGED_COUNT];
        struct denial denials[DENIALS_MAX]; /* whose exec.refused is still to come */
        size_t denial_count;
        struct error error;
} now;

/* -- judging ----------------------------------------------------------------------------------- */

/* -1: the rules cannot be read. What cannot be judged would not be started. */
static int
judge(const char *const *words, size_t count, struct judgement *ret, struct judge_action *failed,
      struct error *e)
{
        const struct judge_request request = {
                .rules = { now.rules }, .rules_count = 1, .words = words, .word_count = count
        };
        size_t list;

        if (judge_command(&now.memory, &request, &now.programs, ret, &list, e) == 0)
                return 0;
        if (e->code != ERROR_POLICY_DENIED)
                return -1;
        *failed = (struct judge_action){ .written = count > 0 ? words[0] : "",
                                         .reason = "limit",
                                         .verdict = COMMAND_DENY };
        *ret = (struct judgement){ .verdict = COMMAND_DENY, .actions = failed, .count = 1 };
        return 0;
}

/* -- words ------------------------------------------------------------------------------------- */

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_STRING ? n->text : NULL;
}

static bool
has_digest(const char *const *words, size_t count, const char *hex)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        char text[2 * sizeof sum + 1];
        crypto_hash_sha256_state state;

        (void)crypto_hash_sha256_init(&state);
        for (size_t i = 0; i < count; i++)
                (void)crypto_hash_sha256_update(&state, (const unsigned char *)words[i],
                                                strlen(words[i]) + 1);
        (void)crypto_hash_sha256_final(&state, sum);
        (void)sodium_bin2hex(text, sizeof text, sum, sizeof sum);
        return strcmp(text, hex) == 0;
}

/* UNJUDGED_COUNT: `words` has them all. */
static enum unjudged
read_words(const struct past *p, const char **words)
{
        const struct node *of = p->executed ? p->executed : node_find(p->entry->root, "input"),
                          *argc = node_find(of, "argc");
        const char *digest = text_of(of, "argv_sha256"), *path = text_of(of, "path");
        size_t count = 0;

        node_each(word, p->argv)
        {
                if (word->kind != NODE_STRING)
                        return NOT_WORDS;
                if (strstr(word->text, "[redacted:"))
                        return REDACTED;
                /* how event/fact.h writes a word with other bytes */
                if (p->executed && strncmp(word->text, "$'", 2) == 0)
                        return NOT_WORDS;
                words[count++] = word->text;
        }
        if (argc && argc->kind == NODE_INT && argc->integer != (int64_t)count)
                return TRUNCATED;
        if (count == 0 || (p->executed && !path))
                return NOT_WORDS;
        if (p->executed)
                words[0] = path;
        return digest && !has_digest(words, count, digest) ? NOT_WORDS : UNJUDGED_COUNT;
}

/* -- printing ---------------------------------------------------------------------------------- */

static const char *
past_word(enum command_verdict was)
{
        return was == COMMAND_ALLOW ? "allowed" : was == COMMAND_ASK ? "asked" : "denied";
}

static void
print_change(const struct past *p, const struct judgement *j)
{
        (void)printf("%6" PRIu64 "  %s  %s -> %s ", p->entry->seq, p->entry->time,
                     past_word(p->was), command_verdict_word(j->verdict));
        if (p->executed)
                (void)fputs(" (executed)", stdout);
        node_each(word, p->argv)
        {
                (void)fputc(' ', stdout);
                print_escaped(stdout, word->text, false);
        }
        (void)fputc('\n', stdout);
        if (j->deciding < j->count && j->verdict != COMMAND_ALLOW) {
                (void)fputs("        ", stdout);
                policy_action_print(&j->actions[j->deciding]);
        }
}

static void
write_change(const struct past *p, const struct judgement *j)
{
        struct json_writer *w = &now.json;

        json_open_map(w);
        json_key(w, "entry");
        json_uint(w, p->entry->seq);
        json_member_text(w, "at", p->entry->time);
        json_member_text(w, "action", p->entry->action);
        json_key(w, "argv");
        json_node(w, p->argv);
        json_member_text(w, "was", past_word(p->was));
        json_member_text(w, "would_be", command_verdict_word(j->verdict));
        if (j->deciding < j->count) {
                json_key(w, "decided_by");
                json_open_map(w);
                policy_action_members(w, &j->actions[j->deciding]);
                json_close_map(w);
        }
        json_close_map(w);
}

static void
print_counts(void)
{
        (void)printf("%" PRIu64 " of %" PRIu64 " decisions would change\n", now.changed,
                     now.judged);
        for (size_t i = 0; i < UNJUDGED_COUNT; i++)
                if (now.unjudged[i] > 0)
                        (void)printf("not judged: %" PRIu64 " (%s)\n", now.unjudged[i],
                                     unjudged_rows[i].meaning);
}

static int
write_counts(void)
{
        struct json_writer *w = &now.json;

        json_close_list(w);
        json_key(w, "judged");
        json_uint(w, now.judged);
        json_key(w, "changed");
        json_uint(w, now.changed);
        json_key(w, "not_judged");
        json_open_map(w);
        for (size_t i = 0; i < UNJUDGED_COUNT; i++) {
                json_key(w, unjudged_rows[i].name);
                json_uint(w, now.unjudged[i]);
        }
        json_close_map(w);
        json_close_map(w);
        return json_print(w, stdout);
}

/* -- entries ----------------------------------------------------------------------------------- */

static void
judge_past(const struct past *p)
{
        const char **words;
        struct judge_action failed;
        struct judgement j = { .verdict = COMMAND_DENY };
        enum unjudged why;

        arena_init(&now.memory, WORDS_MEMORY);
        words = arena_array(&now.memory, const char *, p->argv->len + 1);
        why = words ? read_words(p, words) : NOT_WORDS;
        if (!words) {
                (void)fail(&now.error, ERROR_NO_MEMORY, "no memory for the words of a command");
        } else if (why != UNJUDGED_COUNT) {
                now.unjudged[why]++;
        } else if (judge(words, p->argv->len, &j, &failed, &now.error) == 0) {
                now.error.code = ERROR_NONE;
                now.judged++;
                now.changed += j.verdict != p->was;
                if (j.verdict != p->was && now.is_json)
                        write_change(p, &j);
                else if (j.verdict != p->was)
                        print_change(p, &j);
        }
        arena_fini(&now.memory);
}

/* Errors of the rules have a place in them: those of the manifest, or of the host file. */
static void
judge_refused(struct past *p)
{
        const struct node *error = node_find(node_find(p->entry->root, "output"), "error");
        const char *code = text_of(error, "code"), *path = text_of(error, "path"),
                   *reason = text_of(error, "reason");
        bool is_rule = code && path && reason && strcmp(code, "sandbox_policy_denied") == 0 &&
                       (strncmp(path, "metadata/carrel/commands/", 25) == 0 ||
                        strncmp(path, "commands/", 9) == 0);

        if (!is_rule) {
                now.unjudged[OTHER_REFUSAL]++;
        } else if (strcmp(reason, "environment") == 0) {
                now.unjudged[ENVIRONMENT]++;
        } else {
                p->was = strcmp(reason, "approval_required") == 0 ? COMMAND_ASK : COMMAND_DENY;
                judge_past(p);
        }
}

static void
write_denial(const struct past *p, const struct node *of, struct denial *ret)
{
        const char *path = text_of(of, "path"), *reason = text_of(of, "reason");

        /* lint: it is written here */
        (void)snprintf(ret->text, sizeof ret->text, "%.64s %.160s %.64s", p->entry->subject,
                       path ? path : "", reason ? reason : "");
}

static void
note_denial(const struct past *p)
{
        if (now.denial_count == DENIALS_MAX)
                now.unjudged[NOT_WORDS]++;
        else
                write_denial(p, node_find(p->entry->root, "output"),
                             &now.denials[now.denial_count++]);
}

/* Its exec.refused has come. */
static void
forget_denial(const struct past *p)
{
        struct denial this;

        write_denial(p, node_find(node_find(p->entry->root, "output"), "error"), &this);
        for (size_t i = 0; i < now.denial_count; i++) {
                if (strcmp(now.denials[i].text, this.text) != 0)
                        continue;
                now.denials[i] = now.denials[--now.denial_count];
                return;
        }
}

static void
judge_executed(struct past *p)
{
        const struct node *output = node_find(p->entry->root, "output"),
                          *events = node_find(output, "events");

        if (!events || events->kind != NODE_LIST) {
                now.unjudged[NOT_WORDS]++;
                return;
        }
        node_each(event, events)
        {
                p->executed = event;
                p->argv = node_find(event, "argv");
                if (!p->argv || p->argv->kind != NODE_LIST)
                        now.unjudged[NOT_WORDS]++;
                else
                        judge_past(p);
        }
}

static bool
judge_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct past p = { .entry = entry,
                          .argv = node_find(node_find(entry->root, "input"), "argv"),
                          .was = COMMAND_ALLOW };
        bool has_words = p.argv && p.argv->kind == NODE_LIST;

        (void)ctx, (void)line, (void)len;
        if (strcmp(entry->action, "policy.denied") == 0)
                note_denial(&p);
        else if (strcmp(entry->action, "exec.refused") == 0)
                forget_denial(&p);
        if (strcmp(entry->action, "exec.started") == 0 && has_words)
                judge_past(&p);
        else if (strcmp(entry->action, "exec.refused") == 0 && has_words)
                judge_refused(&p);
        else if (strcmp(entry->action, "process.executed") == 0 && now.has_executed)
                judge_executed(&p);
        return now.error.code == ERROR_NONE && ferror(stdout) == 0;
}

/* -- the log ----------------------------------------------------------------------------------- */

static int
read_export(struct arena *arena, const char *path, struct error *e)
{
        const char *bytes;
        size_t len, line = 0;
        int result = ref_file_read(arena, path, EXPORT_MAX, NULL, &bytes, &len, e);

        while (result == 0 && len > 0) {
                const char *end = memchr(bytes, '\n', len);
                size_t line_len = end ? (size_t)(end - bytes) : len;
                struct audit_entry entry;
                struct arena one;

                line++;
                arena_init(&one, WORDS_MEMORY);
                result = audit_entry_read(&one, bytes, line_len, &entry, e);
                if (result < 0)
                        (void)error_wrap(e, "%s, line %zu", path, line);
                else if (!judge_entry(NULL, bytes, line_len, &entry))
                        len = line_len;
                arena_fini(&one);
                bytes += line_len + (end != NULL);
                len -= line_len + (len > line_len);
        }
        return result;
}

static int
read_log(const char *over, struct error *e)
{
        struct audit_log log = { .dir = -1 };
        struct arena arena;
        const char *path;
        struct stat st;
        int result;

        arena_init(&arena, LOG_MEMORY);
        result = audit_place(&arena, over, NULL, &path, e);
        if (result == 0 && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
                result = read_export(&arena, path, e);
        } else if (result == 0) {
                result = audit_log_open(&log, path, false, e);
                if (result == 0)
                        result = audit_log_read(&log, 0, judge_entry, NULL, e);
                audit_log_close(&log);
        }
        arena_fini(&arena);
        return result;
}

/* Also of a log without commands, the rules are read. */
static int
check_rules(struct error *e)
{
        static const char *const words[] = { "true" };
        struct judge_action failed;
        struct judgement j;
        int result;

        arena_init(&now.memory, WORDS_MEMORY);
        result = judge(words, 1, &j, &failed, e);
        arena_fini(&now.memory);
        return result;
}

int
what_if(const struct node *rules, const char *over, bool has_executed, bool is_json,
        struct error *e)
{
        int result;

        now.rules = rules;
        now.has_executed = has_executed;
        now.is_json = is_json;
        arena_init(&now.names, WORDS_MEMORY);
        prepare_usual_programs(&now.names, &now.programs);
        json_init(&now.json, true);
        json_open_map(&now.json);
        json_key(&now.json, "changes");
        json_open_list(&now.json);
        result = check_rules(e) < 0 ? -1 : read_log(over, e);
        if (result == 0 && now.error.code != ERROR_NONE) {
                *e = now.error;
                result = -1;
        }
        now.unjudged[NOT_WORDS] += now.denial_count;
        if (result == 0 && is_json)
                (void)write_counts();
        else if (result == 0)
                print_counts();
        json_fini(&now.json);
        arena_fini(&now.names);
        return result < 0 ? -1 : now.changed > 0;
}
