/*
 * prepare/language.h - code in a language: which interpreter runs it, and with which words.
 *
 * The code is one word of the command, so policy, approvals and the audit log see all of it.
 */
#ifndef CARREL_PREPARE_LANGUAGE_H
#define CARREL_PREPARE_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "prepare/runtime.h"

/* Bytes of code: a word of a command has at most 128 KiB with its end (execve(2)). */
enum {
        LANGUAGE_CODE_MAX = 128 * 1024 - 2,
        LANGUAGE_CODE_ROOM = LANGUAGE_CODE_MAX + 2,
        LANGUAGE_WORDS_MAX = 6
};

/* What is known of the interpreters in a sandbox. */
struct language_place {
        const struct runtimes *found; /* of the host; those that need a mount are not inside */
        const struct runtime *chosen; /* the template of the sandbox, or NULL */
        /* directories of tools are mounted: an interpreter that was not found may be inside */
        bool has_tools;
        bool is_image; /* nothing of the host is inside: the first interpreter is tried */
};

/*
 * Gives the words of the command that runs `code`: at most LANGUAGE_WORDS_MAX, the last is the
 * code. They are constant, borrowed, or in `room`. `language` is a name or an alias. Errors:
 * ERROR_INVALID_ARGUMENT (unknown name), ERROR_RUNTIME_UNKNOWN (no interpreter inside; both list
 * the languages that the sandbox has), ERROR_REQUEST_TOO_LARGE. Pure.
 */
int language_words(const char *language, const char *code, const struct language_place *place,
                   char room[LANGUAGE_CODE_ROOM], const char *words[LANGUAGE_WORDS_MAX],
                   size_t *ret_count, struct error *e);

/*
 * The language of a file by the end of its name (".py") or, if that says nothing, by the program
 * in its first line (#!/usr/bin/env python3). NULL: unknown. `name` may be NULL.
 */
const char *language_of_file(const char *name, const char *code);

/* Does an interpreter of this family run the language? `language` NULL: any language. */
bool language_uses(const char *language, const char *family);

#endif
