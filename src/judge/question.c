/*
 * judge/question.c - what a program that judges calls is asked, and what its answer means.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: V1: whatever is not the status 0 of the program denies. Its output is foreign text.
 */
#include "judge/question.h"

#include <stdio.h>
#include <string.h>

#include "judge/tool.h"
#include "text/json.h"
#include "text/utf8.h"
#include "wire/validator.h"

enum { OWN_STATUS = 124 /* from here on the status is of `carrel run`, or of a signal */ };

int
question_find(struct arena *arena, const struct node *rules, const char *tool,
              struct validator_program *ret, struct error *e)
{
        const struct node *map = rules ? node_find(rules, "validators") : NULL;

        *ret = (struct validator_program){ .command = { NULL, 0 } };
        if (!map || map->kind != NODE_MAP)
                return 0;
        node_each(member, map)
        {
                const struct node *program = node_find(member, "program");

                if (program && strcmp(tool_name(member->key), tool) == 0)
                        return validator_program_read(arena, program, ret, e);
        }
        return 0;
}

/* -- asking ------------------------------------------------------------------------------------ */

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

/* 0: it does not fit. */
static size_t
write_body(const struct validator_program *p, const struct json_writer *json, char *out,
           size_t room)
{
        struct wire_validate head = { .timeout_ms = p->timeout_ms,
                                      .memory_mb = p->memory_mb,
                                      .word_count = (uint32_t)p->command.count,
                                      .json_len = (uint32_t)json->len };
        size_t at = sizeof head;

        for (size_t i = 0; i < p->command.count; i++) {
                size_t len = strlen(p->command.items[i]) + 1;

                if (at > room || len > room - at)
                        return 0;
                memcpy(out + at, p->command.items[i], len);
                at += len;
        }
        if (json->is_broken || json->len > room - at)
                return 0;
        head.words_len = (uint32_t)(at - sizeof head);
        memcpy(out, &head, sizeof head);
        memcpy(out + at, json->text, json->len);
        return at + json->len;
}

size_t
question_write(struct arena *arena, const struct validator_program *program,
               const struct judge_request *request, void *out, size_t room, struct error *e)
{
        struct json_writer json;
        size_t len;

        json_init(&json, false);
        write_call(&json, arena, request);
        len = write_body(program, &json, out, room);
        json_fini(&json);
        if (len == 0)
                (void)question_fail(program->command.items[0], "the call is too long for it", e);
        return len;
}

/* -- the answer -------------------------------------------------------------------------------- */

/* The first line, in whole characters, without control characters. */
static void
write_sentence(const char *out, size_t len, char *sentence)
{
        size_t room = QUESTION_SENTENCE_ROOM - 1, line = 0;

        while (line < len && line < room && out[line] != '\n' && out[line] != '\0')
                line++;
        line = utf8_valid_len(out, line);
        memcpy(sentence, out, line);
        sentence[line] = '\0';
        for (char *c = sentence; *c; c++)
                if ((unsigned char)*c < ' ' || *c == '\x7f')
                        *c = '?';
        if (line == 0)
                (void)snprintf(sentence, QUESTION_SENTENCE_ROOM, "it gave no reason");
}

/* NULL: the status is the program's own. */
static const char *
why_not(const struct wire_validated *v)
{
        if (v->how == VALIDATED_LATE || (v->how == VALIDATED_ENDED && v->status == OWN_STATUS))
                return "it did not end in time";
        if (v->how == VALIDATED_FLOOD)
                return "it printed more than 4096 bytes";
        if (v->how != VALIDATED_ENDED || v->status < 0)
                return "the process that ran it was killed";
        if (v->status < OWN_STATUS)
                return NULL;
        return v->status > 128 ? "it was killed" : "it could not be run in a sandbox";
}

int
question_answer_read(const char *program, const void *body, size_t len,
                     char sentence[QUESTION_SENTENCE_ROOM], struct error *e)
{
        struct wire_validated v;
        const char *why;

        if (len < sizeof v || len > sizeof v + VALIDATE_OUTPUT_MAX)
                return question_fail(program, "its answer is malformed", e);
        memcpy(&v, body, sizeof v);
        why = why_not(&v);
        if (why)
                return question_fail(program, why, e);
        if (v.status == 0)
                return 0;
        write_sentence((const char *)body + sizeof v, len - sizeof v, sentence);
        return 1;
}

int
question_fail(const char *program, const char *why, struct error *e)
{
        (void)fail_at(e, ERROR_POLICY_DENIED, "commands/validators", "validator_failed",
                      "the validator %.80s gave no answer: %s", program, why);
        error_hint(e, "Nothing was started. A validator that fails denies. Run it by hand, and see "
                      "docs/POLICY.md for what it gets and must answer. AgentsKit's code for this "
                      "is AK_SANDBOX_DENIED.");
        return -1;
}

int
question_deny(const char *tool, const char *sentence, struct error *e)
{
        if (strcmp(tool, TOOL_SHELL) == 0)
                (void)fail_at(e, ERROR_POLICY_DENIED, "commands/validators", "invalid",
                              "the command may not run: %s (validators of commands of the host "
                              "file)",
                              sentence);
        else
                (void)fail_at(e, ERROR_POLICY_DENIED, "commands/validators", "invalid",
                              "the call of %.64s is denied: %s (validators of commands of the host "
                              "file)",
                              tool, sentence);
        error_hint(e, "Nothing was started. Change the call: docs/POLICY.md. AgentsKit's code for "
                      "this is AK_SANDBOX_DENIED.");
        return -1;
}
