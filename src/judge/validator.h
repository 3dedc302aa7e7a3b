/*
 * judge/validator.h - checks on the arguments of a tool; the tool `shell` is a command.
 *
 *     validators:
 *       shell:
 *         cmd: {max_length: 255, pattern: '^[ -~]*$'}
 *         arguments: {properties: {argv: {maxItems: 8}}}     # JSON Schema
 *         paths: [/workspace, /tmp]
 *         hosts: [api.example.com]
 *       file.write:
 *         paths: {fields: [path], beneath: [/workspace]}
 *
 * All checks of a tool must pass. A program as a validator is read here and run elsewhere: only a
 * host file may name one.
 */
#ifndef CARREL_JUDGE_VALIDATOR_H
#define CARREL_JUDGE_VALIDATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "judge/reach.h"
#include "shell/reading.h"
#include "text/tree.h"

enum {
        VALIDATOR_TOOLS_MAX = 64,
        VALIDATOR_NAMES_MAX = 64,
        VALIDATOR_PROGRAM_MS = 5000, /* default */
        VALIDATOR_PROGRAM_MS_MAX = 60000,
        VALIDATOR_PROGRAM_MB = 256, /* default */
        VALIDATOR_PROGRAM_MB_MAX = 4096
};
#define VALIDATOR_CWD "/workspace" /* where the directory of a command is not known */

/* A program that judges: words, of which the first is an absolute path. */
struct validator_program {
        struct spec_names command; /* count 0: none */
        uint64_t timeout_ms, memory_mb;
};

/* Of one tool. Bounds are UINT64_MAX or 0 where none is written. */
struct validator {
        const char *tool;                /* its own name (judge/tool.h) */
        uint64_t min_length, max_length; /* characters (Unicode code points) */
        uint64_t min_bytes, max_bytes;
        const char *pattern;       /* that must match somewhere; or NULL */
        const struct node *schema; /* of the arguments; or NULL */
        bool has_paths, has_hosts;
        struct spec_names path_fields, beneath, host_fields;
        struct reach_hosts hosts;
        struct validator_program program;
};

struct validators {
        struct validator *items;
        size_t count;
};

/* What is judged. All borrowed; NULL where it is not there. */
struct validator_call {
        const char *tool;                    /* its own name */
        const char *text;                    /* of `shell`: the command as a text */
        const struct node *arguments;        /* a map */
        const struct shell_reading *reading; /* of `shell` */
        const char *cwd;                     /* absolute */
};

/*
 * Reads the map `validators`. Borrows the tree; lists live in `arena`. Errors: ERROR_SCHEMA_INVALID
 * with the place: an unknown check, a pattern that is none or has a back reference, a keyword of
 * JSON Schema that is not understood, a directory that is not absolute and normal, an entry that is
 * no host; ERROR_NO_MEMORY.
 */
int validator_read(struct arena *arena, const struct node *map, struct validators *ret,
                   struct error *e);

/* Reads `program` alone. Errors: ERROR_SCHEMA_INVALID, ERROR_NO_MEMORY. */
int validator_program_read(struct arena *arena, const struct node *n, struct validator_program *ret,
                           struct error *e);

/* The validator of a tool, or NULL. */
const struct validator *validator_find(const struct validators *all, const char *tool);

/*
 * The name of the check that the call fails ("shell.paths"), or NULL; *ret_word is the word that
 * fails, or NULL for the whole call. Text that is not UTF-8 fails each check of characters. Time
 * and memory are bounded by the process that judges. Results live in `arena`.
 */
const char *validator_find_fault(struct arena *arena, const struct validator *v,
                                 const struct validator_call *call, const char **ret_word);

#endif
