/*
 * cli/policy.c - `carrel policy test|explain|what-if`: what lists of programs say about a command,
 * or about those of an audit log.
 *
 * Room: cli (joining, program). Touches: fd (standard output), the policy file.
 * Knows how to ask and how to print. Knows nothing of shells and lists: shell/ and policy/ do.
 */
#include <fcntl.h>
#include <string.h>

#include "base/findings.h"
#include "base/scoped.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/judge.h"
#include "cli/options.h"
#include "cli/policy_action.h"
#include "cli/run.h"
#include "cli/validator_run.h"
#include "cli/what_if.h"
#include "daemon/state.h"
#include "judge/reach.h"
#include "prepare/commands.h"
#include "prepare/rootfs.h"
#include "prepare/verdict.h"
#include "ref/file.h"
#include "ref/places.h"
#include "ref/reads.h"
#include "ref/rules.h"
#include "text/json.h"
#include "text/yaml.h"

enum { POLICY_MEMORY = 64 << 20, POLICY_FILE_MAX = 256 << 10, STATUS_ASK = 1 };
enum { STATUS_FAILED = 125, STATUS_DENY = 126 };

struct asking {
        const char *text; /* a command for a shell, or NULL */
        const char *tool; /* a call of this tool, or NULL */
        const char *arguments, *cwd;
        const char *over; /* what-if: an audit log */
        bool is_json, is_explained, is_what_if, has_executed;
        struct words words;
        const struct node *rules;
        const struct spec *spec; /* of a manifest that names an image, or NULL */
        struct rootfs *image;
        struct judgement judgement;
};

/* -- reading ----------------------------------------------------------------------------------- */

static int
check_what_if(const struct asking *a, struct error *e)
{
        if (a->words.count == 2 && a->over && !a->text && a->words.rest_count == 0)
                return 0;
        (void)fail(e, ERROR_INVALID_ARGUMENT, "policy what-if needs the FILE and --over LOG");
        error_hint(e, "For example: carrel policy what-if policy.yaml --over entries.jsonl");
        return -1;
}

static int
check_cwd(const struct asking *a, struct error *e)
{
        return !a->cwd || reach_path_is_normal(a->cwd)
                       ? 0
                       : fail(e, ERROR_INVALID_ARGUMENT,
                              "--cwd needs an absolute path without //, . and ..");
}

static int
read_arguments(int argc, char **argv, struct asking *a, struct error *e)
{
        if (options_read(&command_policy, argc, argv, a, &a->words, e) < 0)
                return -1;
        a->is_what_if = a->words.count > 0 && strcmp(a->words.items[0], "what-if") == 0;
        if (a->is_what_if)
                return check_what_if(a, e);
        a->is_explained = a->words.count > 0 && strcmp(a->words.items[0], "explain") == 0;
        if (a->words.count == 2 && !a->over && !a->has_executed &&
            (a->is_explained || strcmp(a->words.items[0], "test") == 0) &&
            (a->text != NULL) + (a->words.rest_count > 0) + (a->tool != NULL) == 1 &&
            (!a->arguments || a->tool))
                return check_cwd(a, e);
        (void)fail(e, ERROR_INVALID_ARGUMENT,
                   a->text != NULL && a->words.rest_count > 0
                           ? "policy takes a command as -c TEXT or as words, not both"
                           : "policy needs test or explain, the FILE, and a command: -c TEXT, or "
                             "words, or --tool NAME; or what-if, the FILE, and --over LOG");
        error_hint(e, "For example: carrel policy test policy.yaml -- rm -rf build");
        return -1;
}

static bool
has_end(const char *name, const char *end)
{
        size_t len = strlen(name), end_len = strlen(end);

        return len > end_len && strcmp(name + len - end_len, end) == 0;
}

/* Names are those of the image, so what else the manifest says about them counts too. */
static int
read_image(struct arena *arena, struct asking *a, const struct manifest *m,
           struct findings *findings, struct error *e)
{
        struct verdict v = { .written = *m, .found = *m };
        struct prepare_host host = { .volumes = NULL };
        struct error nowhere;

        if (!node_find(node_find(m->block, "config"), "image"))
                return 0;
        if (verdict_check(arena, &v, findings, e) < 0)
                return -1;
        if (state_choose(arena, NULL, &host.volumes, &nowhere) < 0)
                host.volumes = NULL;
        a->spec = v.spec;
        return rootfs_take(arena, &host, false, &a->spec, &a->image, e);
}

/* The rules of a SANDBOX.md or WORKSPACE.md, also those of a file beside it. */
static int
read_manifest(struct arena *arena, struct asking *a, struct error *e)
{
        const char *name = a->words.items[1], *slash = strrchr(name, '/');
        const char *folder = slash ? arena_copy(arena, name, (size_t)(slash - name) + 1) : ".";
        scoped_fd int directory = open(folder ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct ref_places places = { .workspace = directory };
        struct ref_reader reader = ref_places_reader(&places);
        struct ref_manifest_file file;
        struct manifest m;
        struct findings findings;

        findings_init(&findings, arena);
        if (ref_manifest_open(arena, name, NULL, &file, e) < 0 ||
            manifest_read(arena, file.bytes, file.len, file.kind, file.syntax, &m, &findings, e) <
                    0 ||
            ref_rules_resolve(arena, &m, &reader, e) < 0)
                return -1;
        a->rules = node_find(node_find(node_find(m.block, "metadata"), "carrel"), "commands");
        if (commands_find_program(a->rules))
                return fail_at(e, ERROR_SCHEMA_INVALID, "metadata/carrel/commands/validators",
                               "host_only", "only a host file may name a program as a validator");
        if (a->rules)
                return a->is_what_if ? 0 : read_image(arena, a, &m, &findings, e);
        (void)fail_at(e, ERROR_SCHEMA_INVALID, "metadata/carrel/commands", "required",
                      "this manifest has no rules for commands");
        error_hint(e, "Name a file of rules, or add metadata.carrel.commands: docs/POLICY.md.");
        return -1;
}

static int
read_rules(struct arena *arena, struct asking *a, struct error *e)
{
        const char *name = a->words.items[1], *bytes;
        size_t len;

        if (has_end(name, ".md"))
                return read_manifest(arena, a, e);
        if (ref_file_read(arena, name, POLICY_FILE_MAX, NULL, &bytes, &len, e) < 0)
                return -1;
        if ((has_end(name, ".json")
                     ? json_read(arena, bytes, len, &text_limits_manifest, &a->rules, e)
                     : yaml_read(arena, bytes, len, 1, &text_limits_manifest, &a->rules, e)) < 0)
                return -1;
        /* rules have no such field: it is a host file */
        if (a->rules->kind != NODE_MAP || !node_find(a->rules, "commands"))
                return 0;
        if (ref_rules_of_host(arena, &a->rules, NULL, e) < 0)
                return -1;
        a->rules = node_find(a->rules, "commands");
        return 0;
}

/* JSON; without --arguments the call has none. */
static int
read_call(struct arena *arena, const struct asking *a, struct judge_request *request,
          struct error *e)
{
        const char *text = a->arguments ? a->arguments : "{}";

        request->tool = a->tool;
        request->cwd = a->cwd;
        if (!a->tool)
                return 0;
        if (json_read(arena, text, strlen(text), &text_limits_manifest, &request->arguments, e) < 0)
                return error_wrap(e, "--arguments");
        return request->arguments->kind == NODE_MAP
                       ? 0
                       : fail(e, ERROR_INVALID_ARGUMENT, "--arguments must be a JSON object");
}

/* Adds an action for a program that denies. */
static int
validate(struct arena *arena, struct asking *a, const struct judge_request *request,
         struct error *e)
{
        struct judge_action *actions =
                arena_array(arena, struct judge_action, a->judgement.count + 1);
        char sentence[QUESTION_SENTENCE_ROOM];
        struct validator_program program;
        const char *said;
        int result;

        if (!actions)
                return fail(e, ERROR_NO_MEMORY, "no memory for the verdict");
        if (validator_run_find(arena, a->rules, request, &program, e) < 0)
                return -1;
        if (program.command.count == 0)
                return 0;
        if (validator_run_start(NULL, run_command, e) < 0)
                return -1;
        result = validator_run_ask(&program, request, sentence, e);
        if (result == 0)
                return 0;
        said = arena_format(arena, "program: %s", result > 0 ? sentence : e->message);
        if (a->judgement.count > 0)
                memcpy(actions, a->judgement.actions, sizeof *actions * a->judgement.count);
        actions[a->judgement.count] =
                (struct judge_action){ .written = program.command.items[0],
                                       .reason = result > 0 ? "invalid" : "validator_failed",
                                       .entry = said ? said : "program",
                                       .verdict = COMMAND_DENY };
        a->judgement = (struct judgement){ COMMAND_DENY, actions, a->judgement.count + 1,
                                           a->judgement.count };
        return 0;
}

/* As in a sandbox that nothing has run in; of a file of rules, those of this machine. */
static int
find_programs(struct arena *arena, const struct asking *a, struct host_programs *programs,
              struct error *e)
{
        const struct wire_command command = { .argv = NULL };
        const struct prepare_command asked = { .command = &command,
                                               .host = environ,
                                               .is_first = true };
        const struct prepared p = { .spec = a->spec, .image = a->image };

        host_programs_init(programs, arena, AT_FDCWD);
        return a->image ? prepare_programs(arena, &p, &asked, programs, e) : 0;
}

static int
judge(struct arena *arena, struct asking *a, struct error *e)
{
        struct judge_request request = { .rules_count = 1,
                                         .text = a->text,
                                         .words = (const char *const *)a->words.rest,
                                         .word_count = a->words.rest_count };
        struct host_programs programs;
        size_t list;
        int result;

        if (read_rules(arena, a, e) < 0 || read_call(arena, a, &request, e) < 0)
                return -1;
        request.rules[0] = a->rules;
        result = find_programs(arena, a, &programs, e);
        if (result == 0)
                result = judge_command(arena, &request, &programs, &a->judgement, &list, e);
        host_programs_fini(&programs);
        rootfs_let_go(a->image);
        if (result < 0)
                return -1;
        return a->judgement.verdict == COMMAND_DENY ? 0 : validate(arena, a, &request, e);
}

/* -- printing ---------------------------------------------------------------------------------- */

static int
print_json(const struct asking *a)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "verdict", command_verdict_word(a->judgement.verdict));
        json_key(&w, "actions");
        json_open_list(&w);
        for (size_t i = 0; i < a->judgement.count; i++) {
                json_open_map(&w);
                policy_action_members(&w, &a->judgement.actions[i]);
                json_close_map(&w);
        }
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
}

/* All actions, or the first that has the verdict. */
static void
print_text(const struct asking *a)
{
        const struct judgement *j = &a->judgement;

        if (a->is_explained || j->verdict == COMMAND_ALLOW)
                (void)printf("%s\n", command_verdict_word(j->verdict));
        for (size_t i = 0; a->is_explained && i < j->count; i++)
                policy_action_print(&j->actions[i]);
        if (!a->is_explained && j->verdict != COMMAND_ALLOW && j->deciding < j->count)
                policy_action_print(&j->actions[j->deciding]);
}

static int
cmd_policy(int argc, char **argv)
{
        static struct asking a;
        static const int statuses[] = { 0, STATUS_ASK, STATUS_DENY };
        struct arena arena;
        struct error e;
        int status;

        if (read_arguments(argc, argv, &a, &e) < 0)
                return print_failure(NULL, &e, a.is_json);
        arena_init(&arena, POLICY_MEMORY);
        if (a.is_what_if) {
                status = read_rules(&arena, &a, &e) < 0
                                 ? -1
                                 : what_if(a.rules, a.over, a.has_executed, a.is_json, &e);
                if (status < 0) {
                        (void)print_failure(e.line > 0 ? a.words.items[1] : NULL, &e, a.is_json);
                        status = STATUS_FAILED;
                }
        } else if (judge(&arena, &a, &e) < 0) {
                (void)print_failure(a.words.items[1], &e, a.is_json);
                status = STATUS_FAILED; /* 126 is the verdict deny */
        } else {
                status = statuses[a.judgement.verdict];
                if (!a.is_json)
                        print_text(&a);
                else if (print_json(&a) != 0)
                        status = STATUS_FAILED;
        }
        arena_fini(&arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct asking, text, VALUE_TEXT, "-c", "TEXT",
                    "the command is a text for a shell"),
        OPTION_TEXT(struct asking, tool, VALUE_TEXT, "--tool", "NAME",
                    "a call of this tool instead of a command: file.write, code.run, ..."),
        OPTION_TEXT(struct asking, arguments, VALUE_TEXT, "--arguments", "JSON",
                    "with --tool: its arguments, a JSON object (default: {})"),
        OPTION_TEXT(struct asking, cwd, VALUE_TEXT, "--cwd", "DIR",
                    "directory inside the sandbox, of relative paths (default: /workspace)"),
        OPTION_TEXT(struct asking, over, VALUE_FILE, "--over", "LOG",
                    "what-if: the directory of an audit log, or entries of `carrel audit export`"),
        OPTION_FLAG(struct asking, has_executed, "--executed",
                    "what-if: also each program that commands executed"),
        OPTION_FLAG(struct asking, is_json, "--json", JSON_DOC),
        OPTION_END,
};

static const struct operand operands[] = {
        { "test FILE -- COMMAND", VALUE_FILE,
          "print the verdict; exit with 0 for allow, 1 for ask, 126 for deny", true },
        { "explain FILE -- COMMAND", VALUE_FILE,
          "also print each program that the command would run", true },
        { "what-if FILE --over LOG", VALUE_FILE,
          "print which decisions of an audit log would change; exit with 0 for none, 1 for some",
          true },
        { NULL },
};

const struct command command_policy = {
        .name = "policy",
        .help = "Check a command against lists of allowed and denied programs.",
        .options = options,
        .operands = operands,
        .words_max = 2,
        .rest = "",
        .notes = "The lists are a guard rail, not a wall: a program that is allowed can start any "
                 "other.\nThe sandbox is the wall. docs/POLICY.md describes the file.\n",
        .example = "carrel policy test examples/policy.yaml -- ls -l",
        .run = cmd_policy,
};
