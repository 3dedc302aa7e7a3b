/*
 * cli/prepare.h - the path that `carrel run` and `carrel plan` share: from the command line to a
 * plan.
 *
 *     options -> facts of the host -> manifest -> verdict (parse, validate, resolve, authorise) ->
 * sources -> plan
 */
#ifndef CARREL_CLI_PREPARE_H
#define CARREL_CLI_PREPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "cli/options.h"
#include "cli/tool_block.h"
#include "prepare/prepare.h"
#include "prepare/time_allowed.h"
#include "prepare/verdict.h"

/* A recorded command, or a recorded call that changes files. */
struct replay_command {
        const char *ref;        /* of its recording */
        const char *operation;  /* of a call that changes files; NULL: a command */
        const char *cwd;        /* its directory, or NULL */
        const struct node *env; /* the names of its environment, or NULL */
        char **words;
        size_t word_count;
        uint64_t timeout_ms; /* its time limit; 0: none */
        bool kills_rest;     /* processes that it leaves are killed when it ends */
        int in;              /* its standard input */
};

/*
 * Recorded commands run again: without a network, and their output goes nowhere. Several run
 * one after the other in one sandbox; one alone is the command of prepare_options.
 */
struct replay_options {
        const struct replay_command *commands;
        size_t count;
        const char *allowed_sha256; /* what their sandbox was allowed, of `carrel run` */
        const char *norm_sha256;    /* the same, of the daemon */
        int sink;                   /* for standard output and error */
        int egress;                 /* a transcript of what servers answered, -1: none */
        int back;                   /* receives the reference of each entry that ends one, a line
                                       each, in their order */
};

struct prepare_options {
        const char *file, *workspace, *host_file;
        struct option_list env;        /* -e NAME=value */
        struct override_set overrides; /* --memory and similar options */
        uint64_t timeout_ms;           /* 0: not given */
        bool wants_terminal, is_json, is_raw, has_steps, wants_bundle, audits;
        bool keeps_output;   /* with `audits`: also what the command reads and writes */
        bool is_validator;   /* it judges another command: no rules, approvals and audit for it */
        bool may_be_audited; /* a host file may say so: run_audit_may_be_asked() */
        const struct replay_options *replay; /* `carrel audit replay`; NULL: no replay */
        const struct replay_command *again;  /* of these, the one that is `command`; or NULL */
        char **command;
        size_t command_count;              /* the words after the options */
        const struct prepare_saved *saved; /* of a virtual machine; NULL: what the store has */
        const char *tool_server; /* run this server of the manifest; NULL: the manifest's sandbox */
        const char *otherwise;   /* the block if the workspace declares none; NULL: it must */
        /* what to say instead if command[0] does not exist inside; NULL: nothing else */
        const struct error *not_found;
};

struct run_way {
        struct prepare_host host;
        struct prepared p;
        struct ref_manifest_file manifest;
        struct ref_reads reads; /* every file that was read to judge */
        struct verdict verdict;
        const struct node *host_tree;   /* of the host file; NULL: none */
        bool is_audited, keeps_content; /* the host file says so */
        uint32_t redact_off;            /* its redact: bits of redact_group */
        uint64_t audit_keep_ms;         /* its audit_retention; 0: forever */
        struct tool_server server;      /* of options->tool_server */
        const char *workspace;          /* absolute; set by prepare() */
        const char *file_name;          /* for messages */
        struct time_limit limit;        /* the command's time limit; set by prepare() */
        uint32_t switched_off;          /* 0 in the shipped program */
        bool is_approved;               /* by a person at the terminal */
        char id[17], owner[16];         /* "uid:1000": the owner of its volumes */
};

/* The options of `run` and `plan` that find the manifest. */
#define FIND_OPTIONS                                                                           \
        OPTION_TEXT(struct prepare_options, file, VALUE_FILE, "-f", "FILE", MANIFEST_DOC),     \
                OPTION_TEXT(struct prepare_options, file, VALUE_FILE, "--file", "FILE", NULL), \
                OPTION_TEXT(struct prepare_options, workspace, VALUE_DIRECTORY, "-w", "DIR",   \
                            WORKSPACE_DOC),                                                    \
                OPTION_TEXT(struct prepare_options, workspace, VALUE_DIRECTORY, "--workspace", \
                            "DIR", NULL),                                                      \
                OPTION_TEXT(struct prepare_options, host_file, VALUE_FILE, "--host", "FILE",   \
                            HOST_FILE_DOC)

/*
 * Reads the command line of `run` or `plan`; the first word that is not an option begins the
 * command. Errors: ERROR_INVALID_ARGUMENT.
 */
int prepare_options_read(const struct command *c, int argc, char **argv,
                         struct prepare_options *ret, struct error *e);

/*
 * Reads facts of the host, before privileges are dropped, because the facts say what the maker can
 * do. `w` is zeroed; once per process. Errors: as host_facts_read().
 */
int run_way_init(struct run_way *w, struct error *e);

/*
 * Creates the state directory if the workspace would contain it: a command that created it first
 * could begin the user's audit log with keys that it knows. Before the ladder, after
 * run_way_init(). Errors: ERROR_STATE_UNUSABLE.
 */
int run_way_make_hidden(const struct prepare_options *options, struct run_way *w, struct error *e);

/*
 * Runs all stages after run_way_init(). Call run_way_fini() on `ret`, also after a failure. All
 * messages about the manifest are in ret->p.findings. Errors: any of reading, judging and planning;
 * ERROR_NOT_CONFIGURED, ERROR_READ_ONLY.
 */
int prepare(const struct prepare_options *options, struct run_way *ret, struct error *e);

void run_way_fini(struct run_way *w);

#endif
