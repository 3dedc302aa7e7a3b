/*
 * judge/message.h - requests to carrel-judge and its answers (wire/judge.h), as structs.
 *
 * Both ends read what the other wrote as foreign bytes: the judge reads hostile text, and may be
 * taken over by it.
 */
#ifndef CARREL_JUDGE_MESSAGE_H
#define CARREL_JUDGE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "judge/commands.h"
#include "text/tree.h"
#include "wire/judge.h"

/* What is judged. All borrowed. */
struct judge_request {
        const struct node *rules[JUDGE_RULES_MAX];
        size_t rules_count;
        const char *text; /* for a shell; NULL: words */
        const char *const *words;
        size_t word_count;
        /* NAME=value, or NAME: what the caller sets for the command; values are not sent */
        const char *const *variables;
        size_t variable_count;
        const char *cwd; /* absolute; NULL: not known */
        /* a call of another tool than `shell`, without text and words: its name and arguments */
        const char *tool;
        const struct node *arguments; /* a list: of maps, each of which is judged */
};

/*
 * The text of a command: what a shell is given, or the words with blanks between them. NULL: no
 * memory.
 */
const char *judge_request_text(struct arena *arena, const struct judge_request *r);

struct judge_action {
        const char *program;                  /* NULL: not known */
        const char *written, *reason, *entry; /* entry: of the rules, or NULL */
        enum command_verdict verdict;
        size_t list; /* whose entry or default decided: number of the request's rules */
};

/* In an arena. */
struct judgement {
        enum command_verdict verdict;
        const struct judge_action *actions;
        size_t count;
        size_t deciding; /* the first action with the verdict; count: none */
};

/*
 * Writes the request, at most `room` bytes, aligned to 8; `arena` is for its own use. Returns its
 * length. 0: ERROR_POLICY_DENIED, reason "limit": the command or its rules are too long to be
 * judged.
 */
size_t judge_request_write(struct arena *arena, const struct judge_request *request, void *out,
                           size_t room, struct error *e);

/* Errors: ERROR_PROTOCOL, ERROR_NO_MEMORY. Borrows `body`; trees and lists are in `arena`. */
int judge_request_read(struct arena *arena, const void *body, size_t len, struct judge_request *ret,
                       struct error *e);

/* Writes an answer. Actions beyond the room are left out: the verdict is of all. */
size_t judgement_write(const struct judgement *j, void *out, size_t room);
size_t judgement_write_error(size_t list, const struct error *why, void *out, size_t room);

/*
 * Reads an answer to a request with `rules_count` lists; copies into `arena`. Errors: the one that
 * the judge reports about the rules, with *ret_list as the number of their list (rules_count
 * otherwise); ERROR_POLICY_DENIED, reason "judge_failed", for an answer that makes no sense.
 */
int judgement_read(struct arena *arena, const void *body, size_t len, size_t rules_count,
                   struct judgement *ret, size_t *ret_list, struct error *e);

/* ERROR_POLICY_DENIED, reason "judge_failed": there is no judgement, so nothing is started. -1. */
int judge_fail(struct error *e, const char *why);

/* Names of a lookup: at most JUDGE_NAMES_MAX, borrowed from `body`. -1: malformed. */
int judge_names_read(const void *body, size_t len, const char *names[JUDGE_NAMES_MAX]);

#endif
