/*
 * cli/code.c - `carrel code`: runs code in a new sandbox, as `carrel run` does, or in a sandbox of
 * the daemon.
 *
 * Room: cli (joining, program). Touches: fd (the file of the code, standard input), processes
 * (interpreters that are asked for their version); run and exec do the rest.
 * Theory: in a new sandbox the code is a command of its interpreter, so everything that holds for
 * `carrel run` holds here. In a sandbox of the daemon, the daemon chooses the interpreter.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/finding_print.h"
#include "cli/run.h"
#include "prepare/interpreters.h"
#include "prepare/language.h"
#include "spec/provider.h"

struct coding {
        struct prepare_options run; /* first: FIND_OPTIONS and others set its members */
        const char *language, *sandbox, *cwd, *state;
        const char *file; /* NULL: standard input */
        char code[LANGUAGE_CODE_MAX + 2];
        struct executing exec;
};

/* -- reading ----------------------------------------------------------------------------------- */

static int
wrong(struct error *e, const char *reason, const char *sentence, const char *hint)
{
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "code", reason, "%s", sentence);
        error_hint(e, "%s", hint);
        return -1;
}

static int
read_code(struct coding *c, struct error *e)
{
        scoped_fd int opened = c->file ? open(c->file, O_RDONLY | O_CLOEXEC) : -1;
        int fd = c->file ? opened : STDIN_FILENO;
        size_t len = 0;

        if (fd < 0)
                return fail_sys(e, ERROR_FILE_UNREADABLE, errno, "%.200s", c->file);
        while (len < sizeof c->code - 1) {
                ssize_t got = read(fd, c->code + len, sizeof c->code - 1 - len);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return fail_sys(e, ERROR_FILE_UNREADABLE, errno, "reading the code");
                if (got == 0)
                        break;
                len += (size_t)got;
        }
        if (len > LANGUAGE_CODE_MAX)
                return wrong(e, "too_long", "the code is longer than 131070 bytes",
                             "Run it as a file of the workspace: carrel run -- python3 FILE");
        if (memchr(c->code, 0, len))
                return wrong(e, "nul", "the code holds a NUL",
                             "Run it as a file of the workspace: carrel run -- python3 FILE");
        return 0;
}

static int
choose_language(struct coding *c, struct error *e)
{
        if (!c->language)
                c->language = language_of_file(c->file, c->code);
        if (c->language)
                return 0;
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "language", "missing",
                      "the language of the code is unknown");
        error_hint(e, "Name it: carrel code -l python %.200s", c->file ? c->file : "-");
        return -1;
}

/* -- in a new sandbox -------------------------------------------------------------------------- */

static const char *wanted_language;

static bool
is_wanted(const char *family)
{
        return language_uses(wanted_language, family);
}

/*
 * Looks for the interpreters of one language; for those of all if it has none, to list them. They
 * are asked before privileges are dropped, as the user nobody.
 */
static int
find_words(struct coding *c, const char *words[LANGUAGE_WORDS_MAX], size_t *ret_count,
           struct error *ret_missing, struct error *e)
{
        static const struct host_rules none;
        static char room[LANGUAGE_CODE_ROOM];
        struct runtimes found;
        struct language_place place = { .found = &found };
        struct arena arena;
        int result;

        arena_init(&arena, 1 << 20);
        wanted_language = c->language;
        result = interpreters_look(&arena, &none, is_wanted, &found, e);
        if (result == 0)
                result = language_words(c->language, c->code, &place, room, words, ret_count, e);
        wanted_language = NULL;
        if (result < 0 && (e->code == ERROR_RUNTIME_UNKNOWN || e->code == ERROR_INVALID_ARGUMENT) &&
            interpreters_look(&arena, &none, is_wanted, &found, ret_missing) == 0) {
                (void)language_words(c->language, c->code, &place, room, words, ret_count,
                                     ret_missing);
                /* the manifest's tools may have it */
                place.has_tools = true;
                c->run.not_found = ret_missing;
                result = language_words(c->language, c->code, &place, room, words, ret_count, e);
                if (result < 0)
                        *e = *ret_missing;
        }
        arena_fini(&arena);
        return result;
}

static int
in_a_new_sandbox(struct coding *c, int argc, char **argv)
{
        static const char *words[LANGUAGE_WORDS_MAX + 1];
        static struct error missing;
        struct error e;

        if (find_words(c, words, &c->run.command_count, &missing, &e) < 0)
                return print_failure(NULL, &e, c->run.is_json);
        c->run.command = (char **)(uintptr_t)words;
        c->run.otherwise = "provider: " PROVIDER_AUTO "\nconfig: {}\n";
        return run_command(&c->run, argc, argv);
}

/* -- in a sandbox of the daemon ---------------------------------------------------------------- */

static int
in_a_sandbox(struct coding *c)
{
        static char *words[2];
        struct executing *x = &c->exec;

        words[0] = (char *)(uintptr_t)c->sandbox;
        x->ask = (struct ask){
                .state = c->state, .is_json = c->run.is_json, .words = words, .word_count = 1
        };
        x->is_raw = c->run.is_raw;
        x->command = (struct carrel_command){ .language = c->language,
                                              .code = c->code,
                                              .cwd = c->cwd,
                                              .env = c->run.env.items,
                                              .env_count = c->run.env.count,
                                              .timeout_ms = c->run.timeout_ms,
                                              .is_lossless = true,
                                              .has_stdin = c->file != NULL };
        return exec_command(x);
}

/* What only one of the two ways takes. */
static int
check(const struct coding *c, struct error *e)
{
        const char *alone = !c->sandbox && c->cwd     ? "--cwd"
                            : !c->sandbox && c->state ? "--state"
                                                      : NULL,
                   *also = !c->sandbox                  ? NULL
                           : c->run.file                ? "-f"
                           : c->run.workspace           ? "-w"
                           : c->run.host_file           ? "--host"
                           : c->run.audits              ? "--audit"
                           : c->run.overrides.count > 0 ? c->run.overrides.options[0]
                                                        : NULL;

        if (alone)
                return wrong(e, "option", "--cwd and --state are for a sandbox of the daemon",
                             "Name one with --in, or leave them out.");
        if (also)
                return wrong(e, "option", "the sandbox of --in exists, and keeps its manifest",
                             "Leave out --in to run the code in a new sandbox.");
        return 0;
}

static int
cmd_code(int argc, char **argv)
{
        static struct coding c;
        struct words words;
        struct error e;

        if (options_read(&command_code, argc, argv, &c, &words, &e) < 0)
                return print_failure(NULL, &e, c.run.is_json);
        if (words.count > 0 && strcmp(words.items[0], "-") != 0)
                c.file = words.items[0];
        if (check(&c, &e) < 0 || read_code(&c, &e) < 0 || choose_language(&c, &e) < 0)
                return print_failure(NULL, &e, c.run.is_json);
        return c.sandbox ? in_a_sandbox(&c) : in_a_new_sandbox(&c, argc, argv);
}

static const struct option options[] = {
        OPTION_TEXT(struct coding, language, VALUE_TEXT, "-l", "LANGUAGE",
                    "python, javascript, typescript, shell, bash, ruby, perl, ... (default: by the "
                    "file's name or its first line)"),
        OPTION_TEXT(struct coding, sandbox, VALUE_SANDBOX, "--in", "ID",
                    "run it in this sandbox of the daemon (default: in a new sandbox)"),
        FIND_OPTIONS,
        OPTION_FLAG(struct coding, run.audits, "--audit",
                    "record start and end in your audit log; without a record, nothing is started"),
        OPTION_LIST(struct coding, run.env, VALUE_VARIABLE, "-e", "NAME=VALUE",
                    "set an environment variable"),
        OPTION_NUMBER(struct coding, run.timeout_ms, VALUE_DURATION, "--timeout", "T",
                      "time limit: 1500ms, 30s, 5m, 2h (default: limits.timeout_ms of the "
                      "manifest, else 10m; with --in none)"),
        OPTION_TEXT(struct coding, cwd, VALUE_TEXT, "--cwd", "DIR",
                    "with --in: working directory inside"),
        OVERRIDE_OPTIONS(struct coding, run.overrides),
        OPTION_FLAG(struct coding, run.is_json, "--json",
                    "one JSON object with output, outcome and warnings"),
        OPTION_FLAG(struct coding, run.is_raw, "--raw", RAW_DOC),
        STATE_OPTION(struct coding, state),
        OPTION_END,
};

static const struct operand operands[] = {
        { "[FILE]", VALUE_FILE, "the code (default, and -: standard input)" },
        { NULL },
};

const struct command command_code = {
        .name = "code",
        .help = "Run code in a language, in a new sandbox or in one of the daemon.",
        .options = options,
        .operands = operands,
        .notes = "Without -l, the language is that of the file's name (.py) or of its first line "
                 "(#!/bin/sh). Without a SANDBOX.md in the workspace, the new sandbox has no "
                 "network, no mounts and a private home.",
        .example = "carrel code examples/hello.py",
        .run = cmd_code,
};
