/*
 * judge/message.c - writes and reads requests to carrel-judge and its answers.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: a value that is out of range, a reason that is not a word and a verdict that is milder
 * than an action are nonsense, and nonsense denies.
 */
#include "judge/message.h"

#include <string.h>

#include "text/tree_pack.h"
#include "text/yaml.h"
#include "wire/record.h"

const char *
command_verdict_word(enum command_verdict verdict)
{
        static const char *const words[] = { "allow", "ask", "deny" };

        return words[verdict];
}

/* As of a manifest. */
static const struct text_limits tree_limits = { 256 << 10, 32, 16384 };

int
judge_fail(struct error *e, const char *why)
{
        (void)fail_at(e, ERROR_POLICY_DENIED, "commands", "judge_failed",
                      "the command could not be judged by the rules for commands: %s", why);
        error_hint(e, "Nothing was started. Try again; if it fails again, shorten the "
                      "command or the patterns of the rules.");
        return -1;
}

/* -- requests ---------------------------------------------------------------------------------- */

static void
write_tree(struct record_writer *w, struct arena *arena, uint16_t tag, const struct node *tree)
{
        size_t len = tree_pack_len(tree);
        void *packed = len <= w->room ? arena_alloc(arena, len) : NULL;

        if (packed)
                tree_pack(tree, packed);
        w->is_broken = w->is_broken || !packed;
        record_bytes(w, tag, RECORD_TREE, packed, packed ? len : 0);
}

size_t
judge_request_write(struct arena *arena, const struct judge_request *r, void *out, size_t room,
                    struct error *e)
{
        struct record_writer w;

        record_init(&w, out, room);
        for (size_t i = 0; i < r->rules_count; i++)
                write_tree(&w, arena, JUDGE_RULES, r->rules[i]);
        if (r->text)
                record_bytes(&w, JUDGE_TEXT, RECORD_BYTES, r->text, strlen(r->text));
        for (size_t i = 0; !r->text && i < r->word_count; i++)
                record_bytes(&w, JUDGE_WORD, RECORD_BYTES, r->words[i], strlen(r->words[i]) + 1);
        for (size_t i = 0; i < r->variable_count; i++)
                record_bytes(&w, JUDGE_VARIABLE, RECORD_BYTES, r->variables[i],
                             strcspn(r->variables[i], "="));
        if (r->cwd)
                record_bytes(&w, JUDGE_CWD, RECORD_BYTES, r->cwd, strlen(r->cwd));
        if (r->tool)
                record_bytes(&w, JUDGE_TOOL, RECORD_BYTES, r->tool, strlen(r->tool));
        if (r->arguments)
                write_tree(&w, arena, JUDGE_ARGUMENTS, r->arguments);
        if (!w.is_broken && r->word_count <= JUDGE_WORDS_MAX)
                return w.len;
        (void)fail_at(e, ERROR_POLICY_DENIED, "commands", "limit",
                      "the command is too long to be judged by the rules for commands");
        error_hint(e, "Put its data into a file or standard input.");
        return 0;
}

static const char *
join_words(struct arena *arena, const struct judge_request *r)
{
        size_t len = 0, at = 0;
        char *text;

        for (size_t i = 0; i < r->word_count; i++)
                len += strlen(r->words[i]) + 1;
        text = arena_alloc(arena, len + 1);
        for (size_t i = 0; text && i < r->word_count; i++) {
                if (i > 0)
                        text[at++] = ' ';
                memcpy(text + at, r->words[i], strlen(r->words[i]));
                at += strlen(r->words[i]);
        }
        return text;
}

const char *
judge_request_text(struct arena *arena, const struct judge_request *r)
{
        static const char *const shells[] = { "sh", "bash", "dash" };
        const char *name = r->word_count == 3 ? strrchr(r->words[0], '/') : NULL;

        if (r->text)
                return r->text;
        if (r->word_count == 3)
                name = name ? name + 1 : r->words[0];
        for (size_t i = 0; i < sizeof shells / sizeof *shells && r->word_count == 3; i++)
                if (strcmp(name, shells[i]) == 0 && strcmp(r->words[1], "-c") == 0)
                        return r->words[2];
        return join_words(arena, r);
}

/* A word with its NUL, and no other. */
static const char *
word_of(const struct record_entry *entry)
{
        const char *bytes = entry->value;

        return entry->type == RECORD_BYTES && entry->len > 0 &&
                               memchr(bytes, '\0', entry->len) == bytes + entry->len - 1
                       ? bytes
                       : NULL;
}

/* A text that is there once, without NUL. */
static bool
read_once(struct arena *arena, const struct record_entry *entry, const char **ret)
{
        if (entry->type != RECORD_BYTES || *ret)
                return false;
        *ret = arena_copy(arena, entry->value, entry->len);
        return *ret && strlen(*ret) == entry->len;
}

struct request_reading {
        struct arena *arena;
        struct judge_request *r;
        const char **words, **variables;
};

static int
read_entry(struct request_reading *q, const struct record_entry *entry, struct error *e)
{
        struct judge_request *r = q->r;
        const char *word = NULL;

        switch (entry->tag) {
        case JUDGE_RULES:
                if (r->rules_count == JUDGE_RULES_MAX)
                        break;
                return tree_unpack(q->arena, entry->value, entry->len, &tree_limits,
                                   &r->rules[r->rules_count++], e);
        case JUDGE_ARGUMENTS:
                if (r->arguments)
                        break;
                return tree_unpack(q->arena, entry->value, entry->len, &tree_limits, &r->arguments,
                                   e);
        case JUDGE_TEXT:
                if (read_once(q->arena, entry, &r->text))
                        return 0;
                break;
        case JUDGE_CWD:
                if (read_once(q->arena, entry, &r->cwd))
                        return 0;
                break;
        case JUDGE_TOOL:
                if (read_once(q->arena, entry, &r->tool))
                        return 0;
                break;
        case JUDGE_WORD:
                word = word_of(entry);
                if (word && r->word_count < JUDGE_WORDS_MAX)
                        return q->words[r->word_count++] = word, 0;
                break;
        case JUDGE_VARIABLE:
                if (entry->type == RECORD_BYTES && r->variable_count < JUDGE_WORDS_MAX)
                        word = arena_copy(q->arena, entry->value, entry->len);
                if (word)
                        return q->variables[r->variable_count++] = word, 0;
                break;
        default:
                break;
        }
        return fail(e, ERROR_PROTOCOL, "a request to carrel-judge is malformed");
}

int
judge_request_read(struct arena *arena, const void *body, size_t len, struct judge_request *ret,
                   struct error *e)
{
        struct record record = { body, len };
        struct request_reading q = { arena, ret, NULL, NULL };
        struct record_entry entry;
        size_t at = 0;

        *ret = (struct judge_request){ .rules_count = 0 };
        q.words = arena_array(arena, const char *, JUDGE_WORDS_MAX + 1);
        q.variables = arena_array(arena, const char *, JUDGE_WORDS_MAX + 1);
        if (!q.words || !q.variables)
                return fail(e, ERROR_NO_MEMORY, "no memory for a request");
        if (record_check(&record) < 0)
                return fail(e, ERROR_PROTOCOL, "a request to carrel-judge is malformed");
        while (record_next(&record, &at, &entry) > 0)
                if (read_entry(&q, &entry, e) < 0)
                        return -1;
        ret->words = q.words;
        ret->variables = q.variables;
        return 0;
}

int
judge_names_read(const void *body, size_t len, const char *names[JUDGE_NAMES_MAX])
{
        struct record record = { body, len };
        struct record_entry entry;
        size_t at = 0;
        int count = 0;

        if (record_check(&record) < 0)
                return -1;
        while (record_next(&record, &at, &entry) > 0) {
                if (entry.tag != JUDGE_NAME || !word_of(&entry) || count == JUDGE_NAMES_MAX)
                        return -1;
                names[count++] = entry.value;
        }
        return count;
}

/* -- answers ----------------------------------------------------------------------------------- */

/* The beginning of a long text, without a part of a character at its end. */
static void
write_shown(struct record_writer *w, uint16_t tag, const char *text)
{
        size_t len = strnlen(text, JUDGE_SHOWN_MAX);

        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
                len--;
        record_bytes(w, tag, RECORD_BYTES, text, len);
}

size_t
judgement_write(const struct judgement *j, void *out, size_t room)
{
        struct record_writer w;

        record_init(&w, out, room);
        record_uint(&w, JUDGE_VERDICT, (uint64_t)j->verdict);
        for (size_t i = 0; i < j->count; i++) {
                const struct judge_action *a = &j->actions[i];
                size_t before = w.len, mark = record_open(&w, JUDGE_ACTION);

                if (a->program)
                        write_shown(&w, JUDGE_PROGRAM, a->program);
                write_shown(&w, JUDGE_WRITTEN, a->written);
                record_uint(&w, JUDGE_VERDICT, (uint64_t)a->verdict);
                record_text(&w, JUDGE_REASON, a->reason);
                if (a->entry)
                        write_shown(&w, JUDGE_ENTRY, a->entry);
                record_uint(&w, JUDGE_LIST, a->list);
                record_close(&w, mark);
                if (w.is_broken) {
                        w.is_broken = 0;
                        w.len = before;
                        break;
                }
        }
        return w.len;
}

size_t
judgement_write_error(size_t list, const struct error *why, void *out, size_t room)
{
        struct record_writer w;

        record_init(&w, out, room);
        record_uint(&w, JUDGE_ERROR, (uint64_t)why->code);
        record_uint(&w, JUDGE_LIST, list);
        record_uint(&w, JUDGE_LINE, why->line);
        record_uint(&w, JUDGE_COLUMN, why->column);
        record_text(&w, JUDGE_PATH, why->path);
        record_text(&w, JUDGE_REASON, why->reason);
        record_text(&w, JUDGE_MESSAGE, why->message);
        record_text(&w, JUDGE_HINT, why->hint);
        return w.is_broken ? 0 : w.len;
}

static const char *
copy_shown(struct arena *arena, const struct record *r, uint16_t tag)
{
        struct record_entry entry;

        return record_find(r, tag, &entry) && entry.type == RECORD_BYTES &&
                               entry.len <= JUDGE_SHOWN_MAX
                       ? arena_copy(arena, entry.value, entry.len)
                       : NULL;
}

/* A reason is a word of small letters: it is printed and compared. */
static bool
is_word(const char *text)
{
        return text[0] != '\0' && strlen(text) < 32 &&
               text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static bool
read_action(struct arena *arena, const struct record *r, size_t rules_count,
            struct judge_action *ret)
{
        uint64_t verdict = record_get_uint(r, JUDGE_VERDICT, COMMAND_DENY + 1);
        const char *reason = record_get_text(r, JUDGE_REASON, "");

        *ret = (struct judge_action){ .program = copy_shown(arena, r, JUDGE_PROGRAM),
                                      .written = copy_shown(arena, r, JUDGE_WRITTEN),
                                      .reason = arena_text(arena, reason),
                                      .entry = copy_shown(arena, r, JUDGE_ENTRY),
                                      .list = record_get_uint(r, JUDGE_LIST, rules_count) };
        if (verdict > COMMAND_DENY || !is_word(reason) || !ret->written || !ret->reason ||
            ret->list >= rules_count)
                return false;
        ret->verdict = (enum command_verdict)verdict;
        return true;
}

static int
read_error(const struct record *r, uint64_t code, size_t rules_count, size_t *ret_list,
           struct error *e)
{
        size_t list = record_get_uint(r, JUDGE_LIST, rules_count);
        const char *reason = record_get_text(r, JUDGE_REASON, "");

        if (code != ERROR_SCHEMA_INVALID || list >= rules_count || !is_word(reason))
                return judge_fail(e, "carrel-judge has no memory, or its answer makes no sense");
        *ret_list = list;
        (void)fail_at(e, ERROR_SCHEMA_INVALID, record_get_text(r, JUDGE_PATH, ""), reason, "%s",
                      record_get_text(r, JUDGE_MESSAGE, ""));
        e->line = (unsigned)record_get_uint(r, JUDGE_LINE, 0);
        e->column = (unsigned)record_get_uint(r, JUDGE_COLUMN, 0);
        error_hint(e, "%s", record_get_text(r, JUDGE_HINT, ""));
        return -1;
}

int
judgement_read(struct arena *arena, const void *body, size_t len, size_t rules_count,
               struct judgement *ret, size_t *ret_list, struct error *e)
{
        static const char nonsense[] = "the answer of carrel-judge makes no sense";
        struct record record = { body, len };
        struct judge_action *actions = arena_array(arena, struct judge_action, SHELL_ACTIONS_MAX);
        struct record_entry entry;
        uint64_t verdict, code;
        size_t at = 0, count = 0;

        *ret_list = rules_count;
        if (record_check(&record) < 0)
                return judge_fail(e, nonsense);
        code = record_get_uint(&record, JUDGE_ERROR, ERROR_NONE);
        if (code != ERROR_NONE)
                return read_error(&record, code, rules_count, ret_list, e);
        verdict = record_get_uint(&record, JUDGE_VERDICT, COMMAND_DENY + 1);
        if (verdict > COMMAND_DENY || !actions)
                return judge_fail(e, nonsense);
        *ret = (struct judgement){ (enum command_verdict)verdict, actions, 0, 0 };
        while (record_next(&record, &at, &entry) > 0) {
                struct record nested = { entry.value, entry.len };

                if (entry.tag != JUDGE_ACTION)
                        continue;
                if (entry.type != RECORD_NESTED || count == SHELL_ACTIONS_MAX ||
                    !read_action(arena, &nested, rules_count, &actions[count]) ||
                    actions[count].verdict > ret->verdict)
                        return judge_fail(e, nonsense);
                count++;
        }
        ret->count = count;
        while (ret->deciding < count && actions[ret->deciding].verdict != ret->verdict)
                ret->deciding++;
        return 0;
}
