/*
 * cli/prepare.h - the way that `carrel run` and `carrel plan` share: from words on the command line to a plan.
 *
 *     options -> facts of the host -> manifest -> verdict (parse, validate, resolve, authorise) -> sources -> plan
 */
#ifndef CARREL_CLI_PREPARE_H
#define CARREL_CLI_PREPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "cli/override.h"
#include "prepare/prepare.h"
#include "prepare/verdict.h"
#include "sandbox/time_allowed.h"

enum { PREPARE_EXTRA_MAX = 256 };

struct prepare_options {
        const char *file, *workspace, *host_file, *timeout;
        const char *extra[PREPARE_EXTRA_MAX];  size_t extra_count;     /* -e NAME=value */
        struct override_set overrides;                                 /* --memory and its like */
        uint64_t timeout_ms;                                           /* 0: none was given */
        bool wants_terminal, is_json, is_raw;
        char **command;  int command_count;                            /* what follows the options */
};

struct run_way {
        struct prepare_host host;
        struct prepared p;
        struct ref_manifest_file manifest;
        struct ref_reads reads;                /* every file that was read to judge */
        struct verdict verdict;
        const char *file_name;                 /* for messages */
        struct time_limit limit;               /* on the command's time; after prepare() */
        uint32_t layers_off;                   /* 0 in the shipped program */
        char id[17], owner[16];                /* "uid:1000": whose volumes */
};

/* Reads the options of `run` and `plan`; the first word that is no option begins the command. Errors: ERROR_INVALID_ARGUMENT. */
int prepare_options_read(int argc, char **argv, struct prepare_options *ret, struct error *e);

/*
 * Looks at the host; before privileges are let go, because the facts say what the maker will have.
 * `w` is zeroed; once in a process. Errors: as host_facts_read().
 */
int run_way_init(struct run_way *w, struct error *e);

/*
 * Walks the whole way from there. `ret` is ended with run_way_fini(), also after a failure. Everything that was said about the manifest is in
 * ret->p.findings. Errors: any of reading, judging and planning; ERROR_NOT_CONFIGURED, ERROR_READ_ONLY.
 */
int prepare(const struct prepare_options *options, struct run_way *ret, struct error *e);

void run_way_fini(struct run_way *w);

#endif
