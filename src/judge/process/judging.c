/*
 * judge/process/judging.c - judges one command in a process of its own.
 *
 * Room: judge/process (program). Touches: mem, one socket.
 * Theory: this process may be taken over by the text it reads. It has the socket and nothing else,
 * and it ends after one judgement, so what it read can only change that one. It asks for the files
 * of names, each once.
 */
#include "judge/process/judging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/switches.h"
#include "judge/message.h"
#include "judge/tool.h"
#include "wire/message.h"
#include "wire/record.h"

enum {
        MEMORY = 32 << 20,
        READING_MEMORY = 16 << 20,
        KNOWN_MAX = 8192,
        KNOWN_SLOTS = 16384,
        NAME_HASH = 31
};

struct known {
        const char *word;
        const char *name; /* in PATH; NULL: none */
        uint64_t device, inode;
};

struct judging {
        struct arena arena, reading_memory;
        int socket, lookups;
        struct known *known[KNOWN_SLOTS];
        size_t known_count;
        struct command_rules rules[JUDGE_RULES_MAX];
        struct judge_request request;
        struct shell_reading reading;
        struct judge_action actions[SHELL_ACTIONS_MAX];
        bool has_failed; /* the asker does not answer, or too many names */
};

static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
static struct judging j;

/* -- files ------------------------------------------------------------------------------------- */

static struct known **
slot_of(const char *word)
{
        size_t hash = 0;

        for (const char *at = word; *at; at++)
                hash = hash * NAME_HASH + (unsigned char)*at;
        hash %= KNOWN_SLOTS;
        while (j.known[hash] && strcmp(j.known[hash]->word, word) != 0)
                hash = (hash + 1) % KNOWN_SLOTS;
        return &j.known[hash];
}

static void
note(const char *word, const struct wire_judge_file *file)
{
        struct known **slot = slot_of(word), *k;

        if (*slot || j.known_count == KNOWN_MAX)
                return;
        k = arena_new(&j.arena, struct known);
        if (!k)
                return;
        *k = (struct known){ .word = arena_text(&j.arena, word),
                             .device = file->device,
                             .inode = file->inode };
        if (!k->word)
                return;
        if (file->inode != 0 && memchr(file->name, '\0', sizeof file->name) &&
            file->name[0] != '\0')
                k->name = arena_text(&j.arena, file->name);
        *slot = k;
        j.known_count++;
}

/* Asks for the files of at most JUDGE_NAMES_MAX names. */
static void
look_up(const char *const *words, size_t count)
{
        static struct wire_judge_file files[JUDGE_NAMES_MAX];
        static _Alignas(8) unsigned char out[WIRE_BODY_MAX];
        struct wire_message m;
        struct record_writer w;

        if (count == 0 || j.has_failed)
                return;
        record_init(&w, out, sizeof out);
        for (size_t i = 0; i < count; i++)
                record_bytes(&w, JUDGE_NAME, RECORD_BYTES, words[i], strlen(words[i]) + 1);
        if (w.is_broken || ++j.lookups > JUDGE_LOOKUPS_MAX ||
            wire_send_in_time(j.socket, WIRE_JUDGE_LOOKUP, out, w.len, NULL, 0) < 0 ||
            wire_receive(j.socket, 1, &m, files, sizeof files) <= 0) {
                j.has_failed = true;
                return;
        }
        wire_message_close(&m);
        if (m.kind != WIRE_JUDGE_FILES || m.len != count * sizeof files[0]) {
                j.has_failed = true;
                return;
        }
        for (size_t i = 0; i < count; i++)
                note(words[i], &files[i]);
}

static const struct known *
file_of(const char *word)
{
        const struct known *known = *slot_of(word);

        if (!known)
                look_up(&word, 1);
        return known ? known : *slot_of(word);
}

static const char *
find(void *context, const char *word)
{
        const struct known *k = strlen(word) < WIRE_BODY_MAX / 2 ? file_of(word) : NULL;

        (void)context;
        return k ? k->name : NULL;
}

static bool
is_same(void *context, const char *one, const char *other)
{
        const struct known *a = file_of(one), *b = file_of(other);

        (void)context;
        return a && b && a->inode != 0 && a->inode == b->inode && a->device == b->device;
}

/* The names of the lists, in few messages. */
static void
look_up_list(const struct spec_names *names)
{
        const char *words[JUDGE_NAMES_MAX];
        size_t count = 0;

        for (size_t i = 0; i < names->count; i++) {
                if (strlen(names->items[i]) >= JUDGE_NAME_ROOM || *slot_of(names->items[i]))
                        continue;
                words[count++] = names->items[i];
                if (count == JUDGE_NAMES_MAX || i + 1 == names->count) {
                        look_up(words, count);
                        count = 0;
                }
        }
        look_up(words, count);
}

/* -- one command ------------------------------------------------------------------------------- */

/* Of all lists: the strictest verdict of each action. */
static void
judge_all(struct judgement *ret)
{
        static struct command_finding findings[SHELL_ACTIONS_MAX];

        *ret = (struct judgement){ COMMAND_ALLOW, j.actions, j.reading.count, 0 };
        for (size_t list = 0; list < j.request.rules_count; list++) {
                enum command_verdict verdict =
                        command_judge(&j.rules[list], &j.reading, is_same, NULL, findings);

                if (verdict > ret->verdict)
                        ret->verdict = verdict;
                for (size_t i = 0; i < j.reading.count; i++) {
                        const struct shell_action *a = &j.reading.actions[i];

                        if (list > 0 && findings[i].verdict <= j.actions[i].verdict)
                                continue;
                        j.actions[i] =
                                (struct judge_action){ a->program,          a->written,
                                                       findings[i].reason,  findings[i].entry,
                                                       findings[i].verdict, list };
                }
        }
}

static void
add_action(struct judgement *ret, struct judge_action action)
{
        size_t at = ret->count < SHELL_ACTIONS_MAX ? ret->count++ : SHELL_ACTIONS_MAX - 1;

        j.actions[at] = action;
        if (action.verdict > ret->verdict)
                ret->verdict = action.verdict;
}

/* -- the call of a tool ------------------------------------------------------------------------ */

static struct node *
add_member(struct node *map, const char *key, enum node_kind kind)
{
        struct node *n = arena_new(&j.arena, struct node);

        if (!n)
                return NULL; /* the arena is full, and no answer is given */
        n->kind = kind;
        n->key = key;
        n->next = map->first;
        map->first = n;
        map->len++;
        return n;
}

static void
add_text(struct node *map, const char *key, const char *text)
{
        struct node *n = text ? add_member(map, key, NODE_STRING) : NULL;

        if (!n)
                return;
        n->text = text;
        n->len = strlen(text);
}

static void
add_texts(struct node *map, const char *key, const char *const *texts, size_t count)
{
        struct node *list = add_member(map, key, NODE_LIST);

        for (size_t i = count; list && i > 0; i--)
                add_text(list, NULL, texts[i - 1]);
}

/* Of `shell`, as validators see them: cmd, argv, cwd, names of variables. NULL: no memory. */
static const struct node *
arguments_of(const struct judge_request *r, const char *text)
{
        struct node *map = arena_new(&j.arena, struct node);

        if (!map || r->arguments)
                return r->arguments;
        map->kind = NODE_MAP;
        if (r->tool)
                return map;
        add_text(map, "cmd", text);
        if (r->word_count > 0)
                add_texts(map, "argv", r->words, r->word_count);
        add_text(map, "cwd", r->cwd);
        add_texts(map, "env", r->variables, r->variable_count);
        return map;
}

/* A validator sees each call of a list (the files of one write). */
static void
judge_arguments(struct judgement *ret, const struct validator *v, const struct validator_call *call,
                size_t list)
{
        const char *word = NULL, *fault = validator_find_fault(&j.arena, v, call, &word);

        if (fault)
                add_action(ret, (struct judge_action){ NULL,
                                                       word         ? word
                                                       : call->text ? call->text
                                                                    : call->tool,
                                                       "invalid", fault, COMMAND_DENY, list });
}

/* What a list of rules says about the tool, and its arguments. */
static void
judge_call(struct judgement *ret, const struct validator_call *call, size_t list)
{
        const struct command_rules *rules = &j.rules[list];
        struct command_finding found = command_judge_tool(rules, call->tool);
        const struct validator *v = validator_find(&rules->validators, call->tool);
        struct validator_call one = *call;

        if (found.verdict == COMMAND_DENY || j.request.tool)
                add_action(ret, (struct judge_action){ NULL, call->tool,
                                                       found.reason  ? found.reason
                                                       : found.entry ? "allowed"
                                                                     : "not_denied",
                                                       found.entry, found.verdict, list });
        if (!v || !call->arguments) /* without arguments the arena is full */
                return;
        if (call->arguments->kind != NODE_LIST) {
                judge_arguments(ret, v, call, list);
                return;
        }
        node_each(file, call->arguments)
        {
                one.arguments = file;
                judge_arguments(ret, v, &one, list);
        }
}

/* What is not a program of the command: its text, and the variables that the caller sets for it. */
static void
judge_rest(struct judgement *ret)
{
        const struct judge_request *r = &j.request;
        const char *text = r->tool ? NULL : judge_request_text(&j.arena, r);
        const struct validator_call call = {
                .tool = r->tool ? tool_name(r->tool) : TOOL_SHELL,
                .text = text,
                .arguments = arguments_of(r, text),
                .reading = r->tool ? NULL : &j.reading,
                .cwd = r->cwd,
        };

        for (size_t list = 0; list < r->rules_count; list++) {
                judge_call(ret, &call, list);
                for (size_t i = 0; i < r->variable_count; i++)
                        if (shell_variable_runs(r->variables[i]))
                                add_action(ret, (struct judge_action){
                                                        NULL, r->variables[i],
                                                        shell_doubt_word(SHELL_ENVIRONMENT), NULL,
                                                        j.rules[list].on_doubt, list });
        }
}

static void
read_command(void)
{
        const struct judge_request *r = &j.request;
        struct shell_facts facts = { find, NULL };

        if (r->tool)
                return;
        if (r->text)
                shell_read_text(&j.reading_memory, r->text, strlen(r->text), &facts, &j.reading);
        else if (r->word_count > 0) /* else the rules alone are checked */
                shell_read_words(&j.reading_memory, r->words, r->word_count, &facts, &j.reading);
}

/* 0: no answer can be given. */
static size_t
judge(size_t len)
{
        struct judgement judgement;
        struct error e;

        if (judge_request_read(&j.arena, body, len, &j.request, &e) < 0)
                return 0;
        for (size_t i = 0; i < j.request.rules_count; i++) {
                if (command_rules_read(&j.arena, j.request.rules[i], &j.rules[i], &e) < 0)
                        return judgement_write_error(i, &e, body, sizeof body);
                look_up_list(&j.rules[i].deny);
                look_up_list(&j.rules[i].allow);
        }
        read_command();
        judge_all(&judgement);
        if (j.request.text || j.request.word_count > 0 || j.request.tool)
                judge_rest(&judgement);
        return j.has_failed || arena_is_full(&j.arena)
                       ? 0
                       : judgement_write(&judgement, body, sizeof body);
}

#ifdef CARREL_TEST_SWITCHES
/* What a judge that was taken over, or is broken, could do. */
static void
misbehave(int socket)
{
        const char *how = getenv("CARREL_TEST_JUDGE");

        if (how && strcmp(how, "dies") == 0)
                abort();
        while (how && strcmp(how, "hangs") == 0)
                continue;
        if (how && strcmp(how, "nonsense") == 0)
                (void)wire_send(socket, WIRE_JUDGED, "nonsense", 8, NULL, 0);
        if (how && strcmp(how, "other") == 0)
                (void)wire_send(socket, WIRE_WALL, NULL, 0, NULL, 0);
}
#else
static void
misbehave(int socket)
{
        (void)socket;
}
#endif

void
judging_serve(int socket)
{
        struct wire_message m;
        size_t len;

        j.socket = socket;
        arena_init(&j.arena, MEMORY);
        /* a reading that needs more than this ends with the doubt `limit` */
        arena_init(&j.reading_memory, READING_MEMORY);
        if (wire_receive(socket, 1, &m, body, sizeof body) <= 0)
                return;
        wire_message_close(&m);
        misbehave(socket);
        len = m.kind == WIRE_JUDGE_THIS ? judge(m.len) : 0;
        if (len > 0)
                (void)wire_send_in_time(socket, WIRE_JUDGED, body, len, NULL, 0);
        arena_fini(&j.reading_memory);
        arena_fini(&j.arena);
}
