/*
 * cli/doc.c - `carrel doc`: the document by which an agent decides whether to use a sandbox.
 *
 * Room: cli (joining, program). Touches: fd (standard streams), files that are named.
 */
#include "cli/doc.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/value.h"
#include "document/read.h"
#include "ref/file.h"

enum { DOC_ARENA_MAX = 64 << 20 };

int
doc_read(struct doc_asked *a, size_t index, const struct node **ret, struct error *e)
{
        const char *name = a->words.items[index], *bytes;
        size_t len;

        if (ref_file_read(&a->arena, name, REF_FILE_MAX, NULL, &bytes, &len, e) < 0)
                return -1;
        return document_read(&a->arena, name, bytes, len, ret, e);
}

static const struct action {
        const char *name, *example;
        size_t files; /* that it needs */
        int (*run)(struct doc_asked *a);
} actions[] = {
        { "generate", "carrel doc generate --config doc.yaml", 0, doc_generate },
        { "verify", "carrel doc verify sandbox-doc.yaml --audit", 1, doc_verify },
        { "check", "carrel doc check sandbox-doc.yaml", 1, doc_check },
        { "review", "carrel doc review published.yaml new.yaml", 2, doc_review },
        { "admit", "carrel doc admit sandbox-doc.yaml --risk medium", 1, doc_admit },
};

static const struct action *
find_action(const struct doc_asked *a, struct error *e)
{
        const char *word = a->words.count > 0 ? a->words.items[0] : NULL;

        for (size_t i = 0; word && i < sizeof actions / sizeof *actions; i++) {
                if (strcmp(word, actions[i].name) != 0)
                        continue;
                if (a->words.count == actions[i].files + 1)
                        return &actions[i];
                (void)fail(e, ERROR_INVALID_ARGUMENT, "doc %s: name %s", word,
                           actions[i].files == 0   ? "no document"
                           : actions[i].files == 1 ? "one document"
                                                   : "two documents");
                error_hint(e, "For example: %s", actions[i].example);
                return NULL;
        }
        if (word) {
                (void)value_word_check(VALUE_DOC_ACTION, (struct value_place){ "doc", NULL }, word,
                                       e);
                return NULL;
        }
        (void)fail(e, ERROR_INVALID_ARGUMENT,
                   "doc needs to know what to do: generate, verify, check, review or admit");
        error_hint(e, "For example: %s. `carrel doc --help` shows the rest.", actions[2].example);
        return NULL;
}

static int
cmd_doc(int argc, char **argv)
{
        static struct doc_asked a;
        const struct action *action;
        struct error e;
        int status;

        if (options_read(&command_doc, argc, argv, &a, &a.words, &e) < 0)
                return print_failure(NULL, &e, a.is_json);
        action = find_action(&a, &e);
        if (!action)
                return print_failure(NULL, &e, a.is_json);
        arena_init(&a.arena, DOC_ARENA_MAX);
        status = action->run(&a);
        arena_fini(&a.arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct doc_asked, file, VALUE_FILE, "-f", "FILE", MANIFEST_DOC),
        OPTION_TEXT(struct doc_asked, file, VALUE_FILE, "--file", "FILE", NULL),
        OPTION_TEXT(struct doc_asked, workspace, VALUE_DIRECTORY, "-w", "DIR", WORKSPACE_DOC),
        OPTION_TEXT(struct doc_asked, workspace, VALUE_DIRECTORY, "--workspace", "DIR", NULL),
        OPTION_TEXT(struct doc_asked, host_file, VALUE_FILE, "--host", "FILE", HOST_FILE_DOC),
        OPTION_TEXT(struct doc_asked, config, VALUE_FILE, "--config", "FILE",
                    "generate: what only you know, in the form of a document"),
        OPTION_TEXT(struct doc_asked, format, VALUE_DOC_FORMAT, "--format", "yaml|json|jsonld",
                    "generate: form of the output (default: yaml)"),
        OPTION_FLAG(struct doc_asked, is_audited, "--audit",
                    "generate, verify: commands are recorded, as `carrel run --audit` does"),
        OPTION_FLAG(struct doc_asked, keeps_output, "--keep-output",
                    "with --audit: what commands read and print is kept, as with `carrel run "
                    "--keep-output`"),
        OPTION_FLAG(struct doc_asked, is_scaled, "--scaled",
                    "verify: try a time limit of more than a minute with one second"),
        OPTION_TEXT(struct doc_asked, only, VALUE_TEXT, "--only", "CLAIM",
                    "verify: this claim alone, or those of a section: tools.tool_servers, network"),
        OPTION_NUMBER(struct doc_asked, starts, VALUE_DOC_STARTS, "--starts", "N",
                      "generate: how many cold starts to measure (default: 100)"),
        OPTION_TEXT(struct doc_asked, profile, VALUE_DOC_PROFILE, "--profile", "production|draft",
                    "check: draft accepts a log that can be changed, with a warning (default: "
                    "production)"),
        OPTION_FLAG(struct doc_asked, is_literal, "--literal",
                    "check: T3 and T4 need encrypted snapshots even where there are no snapshots"),
        OPTION_TEXT(struct doc_asked, risk, VALUE_RISK, "--risk", "low|medium|high",
                    "admit: the risk of what you are going to do (required)"),
        OPTION_LIST(struct doc_asked, destinations, VALUE_TEXT, "--destination", "HOST[:PORT]",
                    "admit: a destination (port: 443)"),
        OPTION_LIST(struct doc_asked, operations, VALUE_TEXT, "--operation", "NAME",
                    "admit: an operation, such as data_deletion"),
        OPTION_LIST(struct doc_asked, elapsed, VALUE_TEXT, "--elapsed", "LAYER=T",
                    "admit: time that has passed: per_tool_call=40s, per_task_loop=5m, "
                    "per_sandbox_lifetime=2h"),
        OPTION_FLAG(struct doc_asked, is_json, "--json", JSON_DOC),
        OPTION_END,
};

static const struct operand operands[] = {
        { "generate", VALUE_TEXT, "print the document of a sandbox, from what is enforced here",
          true },
        { "verify FILE", VALUE_FILE,
          "prove each claim against a live sandbox; exit with 126 if one is refuted", true },
        { "check FILE", VALUE_FILE,
          "report everything that is wrong with a document; exit with 126 for an error", true },
        { "review OLD NEW", VALUE_FILE,
          "name changes that need a review at once; exit with 1 if there is one", true },
        { "admit FILE", VALUE_FILE,
          "decide; exit with 0 for allow, 1 for ask_user, 126 for refuse and abort", true },
        { NULL },
};

const struct command command_doc = {
        .name = "doc",
        .help = "Write, prove or check the document of a sandbox, or decide by it whether to use "
                "the "
                "sandbox.",
        .options = options,
        .operands = operands,
        .words_max = 3,
        .notes = "A document is YAML (.yaml), JSON (.json), JSON-LD (.jsonld) or the front matter "
                 "of a page (.md).\ndocs/DOCUMENT.md describes its fields and rules.\n",
        .example = "carrel doc check examples/sandbox-doc.yaml",
        .run = cmd_doc,
};
