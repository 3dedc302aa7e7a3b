/*
 * prepare/commands.c - rules for commands: whose, about which programs, and what a refusal says.
 *
 * Room: prepare (joining). Touches: mem, fd (the layers of an image).
 * Theory: names are looked up where commands cannot write: the system's directories and tools, or
 * the image. A file of the workspace, of /tmp or of the home is no program that a rule can name,
 * because it can change between the check and the start.
 */
#include "prepare/commands.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "plan/request.h"
#include "prepare/environment.h"
#include "prepare/image_programs.h"
#include "prepare/rootfs.h"
#include "shell/reading.h"

enum { SYSTEM_COUNT = 6 };

static const char *const system_roots[SYSTEM_COUNT] = { "/usr", "/bin",   "/sbin",
                                                        "/lib", "/lib64", "/lib32" };

struct list_of {
        const struct node *rules;
        const char *path; /* in its file */
        const char *name; /* in a sentence */
        bool is_manifests;
};

static struct list_of
list_at(const struct spec *spec, const struct host_rules *rules, size_t list)
{
        if (spec->carrel.commands && list == 0)
                return (struct list_of){ spec->carrel.commands, "metadata/carrel/commands",
                                         "metadata.carrel.commands", true };
        return (struct list_of){ rules->commands, "commands", "commands of the host file", false };
}

bool
prepare_has_rules(const struct spec *spec, const struct host_rules *rules)
{
        return spec->carrel.commands || rules->commands;
}

void
prepare_rules(const struct spec *spec, const struct host_rules *rules,
              struct judge_request *request)
{
        request->rules_count = 0;
        if (spec->carrel.commands)
                request->rules[request->rules_count++] = spec->carrel.commands;
        if (rules->commands)
                request->rules[request->rules_count++] = rules->commands;
}

/* -- programs ---------------------------------------------------------------------------------- */

static const struct spec_names *
find_roots(struct arena *arena, const struct prepared *p)
{
        struct spec_names *roots = arena_new(arena, struct spec_names);
        const struct spec_names *tools = &p->spec->carrel.tools;
        const char **items = arena_array(arena, const char *, SYSTEM_COUNT + tools->count + 1);

        if (!roots || !items)
                return NULL;
        memcpy(items, system_roots, sizeof system_roots);
        for (size_t i = 0; i < tools->count; i++)
                items[SYSTEM_COUNT + i] = tools->items[i];
        *roots = (struct spec_names){ items, SYSTEM_COUNT + tools->count };
        return roots;
}

/* /carrel/bin has links to the template's program under its own names. */
static const char *
first_directory(struct arena *arena, const struct prepared *p)
{
        const char *slash = p->runtime ? strrchr(p->runtime->path, '/') : NULL;

        return slash ? arena_copy(arena, p->runtime->path, (size_t)(slash - p->runtime->path))
                     : NULL;
}

static const char *
value_of(const char *item, const char *name)
{
        size_t len = strlen(name);

        return strncmp(item, name, len) == 0 && item[len] == '=' ? item + len + 1 : NULL;
}

/* As environment_make() sets it; a later value replaces an earlier one. */
static const char *
find_path(struct arena *arena, const struct prepared *p, const struct prepare_command *c)
{
        const struct spec_env *env = &p->spec->env;
        const char *path = environment_path(arena, p->spec, first_directory(arena, p), true);

        if (p->image && image_programs_path(&p->image->held.record))
                path = image_programs_path(&p->image->held.record);
        for (size_t i = 0; i < env->passthrough_count; i++)
                for (char *const *at = c->host; at && *at; at++)
                        if (strcmp(env->passthrough[i].name, "PATH") == 0 && value_of(*at, "PATH"))
                                path = value_of(*at, "PATH");
        for (size_t i = 0; i < env->auth_count; i++)
                if (strcmp(env->auth[i].name, "PATH") == 0)
                        path = ".";
        for (size_t i = 0; i < c->sandbox_env_count; i++)
                if (value_of(c->sandbox_env[i], "PATH"))
                        path = value_of(c->sandbox_env[i], "PATH");
        for (size_t i = 0; i < c->command->head.envc; i++)
                if (value_of(c->command->env[i], "PATH"))
                        path = value_of(c->command->env[i], "PATH");
        return path;
}

int
prepare_programs(struct arena *arena, const struct prepared *p, const struct prepare_command *c,
                 struct host_programs *programs, struct error *e)
{
        const char *path = find_path(arena, p, c);
        const struct spec_names *roots;

        host_programs_init(programs, arena, AT_FDCWD);
        if (p->image)
                return image_programs_open(arena, p->image->state, &p->image->held.record, p->spec,
                                           c, path, programs, e);
        roots = find_roots(arena, p);
        if (!roots)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a command");
        host_programs_confine(programs, roots, path);
        return 0;
}

int
prepare_judging(struct arena *arena, const struct prepared *p, const struct prepare_command *c,
                struct judge_request *request, struct host_programs *programs, struct error *e)
{
        const struct wire_command *command = c->command;
        const char **variables =
                arena_array(arena, const char *, c->sandbox_env_count + command->head.envc + 1);

        *request = (struct judge_request){ .words = command->argv,
                                           .word_count = command->head.argc,
                                           .cwd = command->cwd ? command->cwd
                                                  : p->cwd     ? p->cwd
                                                               : "/",
                                           .variables = variables };
        host_programs_init(programs, arena, AT_FDCWD);
        if (!variables)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a command");
        prepare_rules(p->spec, p->rules, request);
        if (c->sandbox_env_count > 0)
                memcpy(variables, c->sandbox_env, sizeof *variables * c->sandbox_env_count);
        if (command->head.envc > 0)
                memcpy(variables + c->sandbox_env_count, command->env,
                       sizeof *variables * command->head.envc);
        request->variable_count = c->sandbox_env_count + command->head.envc;
        return prepare_programs(arena, p, c, programs, e);
}

void
prepare_usual_programs(struct arena *arena, struct host_programs *programs)
{
        static const struct spec_names roots = { system_roots, SYSTEM_COUNT };
        static const struct spec bare;

        host_programs_init(programs, arena, AT_FDCWD);
        host_programs_confine(programs, &roots, environment_path(arena, &bare, NULL, true));
}

/* -- refusals ---------------------------------------------------------------------------------- */

static const struct reason_row {
        const char *reason, *field, *meaning;
} reasons[] = {
        { "allowed", "allow", "allowed" },
        { "carrier", "", "read for the programs that it runs" },
        { "named", "", "code names it, and it is not denied" },
        { "not_denied", "", "not denied, and there is no allow list" },
        { "denied", "deny", "denied" },
        { "not_allowed", "allow", "not in the allow list" },
        { "disallowed", "commands_disallowed", "a disallowed command" },
        { "invalid", "validators", "refused by a validator" },
        { "validator_failed", "validators", "the program that validates it gave no answer" },
        { "tool_denied", "tools", "a denied tool" },
        { "tool_not_allowed", "tools", "not in the list of allowed tools" },
        { "tool_in_sandbox", "requireSandbox", "allowed in a sandbox" },
        { "writes", "writes", "" },
};

static const struct reason_row *
reason_row(const char *reason)
{
        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
                if (strcmp(reasons[i].reason, reason) == 0)
                        return &reasons[i];
        return NULL;
}

const char *
prepare_reason_meaning(const char *reason)
{
        const struct reason_row *row = reason_row(reason);

        return row && row->meaning[0] != '\0' ? row->meaning
                                              : shell_doubt_meaning(shell_doubt_find(reason));
}

/* The field that decided, as it is written in these rules. */
static const char *
field_of(const struct list_of *list, const struct judge_action *a)
{
        const struct reason_row *row = reason_row(a->reason);
        const char *field = row && row->field[0] != '\0' ? row->field
                            : shell_doubt_is_file(shell_doubt_find(a->reason), a->written)
                                    ? "scripts"
                                    : "unresolved";

        return strcmp(field, "allow") == 0 && !node_find(list->rules, field)
                       ? "executables_allowlist"
                       : field;
}

/* The entry in the file, or the field, or the rules. */
static const struct node *
place_of(const struct list_of *list, const char *field, const char *entry)
{
        const struct node *n = node_find(list->rules, field);

        if (!n)
                return list->rules;
        if (n->kind == NODE_LIST && entry)
                node_each(item, n)
                {
                        if (node_is_text(item, entry))
                                return item;
                }
        return n;
}

#define AGENTSKIT "AgentsKit's code for this is AK_SANDBOX_DENIED."

/* What to do: of the command, else of the rules. */
static void
hint_refusal(struct error *e, const struct list_of *list, const struct judge_action *a,
             const char *field, bool is_asked)
{
        const char *help = shell_doubt_help(shell_doubt_find(a->reason));

        if (is_asked)
                error_hint(e,
                           "Nothing was started. Run it at a terminal, and answer there. Or start"
                           " `carrel serve`, use `carrel exec`, and answer with `carrel "
                           "approve`. %s%s" AGENTSKIT,
                           help, help[0] != '\0' ? " " : "");
        else if (strcmp(field, "writes") == 0)
                error_hint(e,
                           "Nothing was started. To let the shell write files, add `writes: "
                           "allow` to %s: mounts decide which can be written. docs/POLICY.md."
                           " " AGENTSKIT,
                           list->name);
        else if (strcmp(field, "scripts") == 0)
                error_hint(e,
                           "Nothing was started. %s To let commands run files that they can write "
                           "(sh FILE, ./run.sh, .venv/bin/python), add `scripts: allow` to %s: "
                           "rules do not see what such a file starts. docs/POLICY.md. " AGENTSKIT,
                           help, list->name);
        else if (strcmp(field, "unresolved") == 0)
                error_hint(e,
                           "Nothing was started. %s%s a person decide what is not known: "
                           "`unresolved: ask` in %s. docs/POLICY.md. " AGENTSKIT,
                           help, help[0] != '\0' ? " Or let" : "Let", list->name);
        else if (strcmp(a->reason, "not_allowed") == 0)
                error_hint(e,
                           "Nothing was started. If it may run, add \"%.80s\" to %s of %s. "
                           "docs/POLICY.md. " AGENTSKIT,
                           a->program ? a->program : a->written, field, list->name);
        else
                error_hint(e, "Nothing was started. Change the command, or the rule: "
                              "docs/POLICY.md. " AGENTSKIT);
}

int
prepare_refuse(const struct spec *spec, const struct host_rules *rules, const struct judgement *j,
               struct error *e)
{
        bool is_asked = j->verdict == COMMAND_ASK;
        const struct judge_action *a = j->deciding < j->count ? &j->actions[j->deciding] : NULL;
        struct list_of list;
        const struct node *place;
        const char *field;
        char path[96];

        if (!a)
                return judge_fail(e, "carrel-judge gives no reason");
        list = list_at(spec, rules, a->list);
        field = field_of(&list, a);
        place = place_of(&list, field, a->entry);
        (void)snprintf(path, sizeof path, "%s/%s", list.path, field);
        (void)fail_at(e, ERROR_POLICY_DENIED, path, is_asked ? "approval_required" : a->reason,
                      "%.80s may not run%s: %s%s%.80s%s (%s of %s)",
                      a->program ? a->program : a->written,
                      is_asked ? " without a person's approval" : "",
                      prepare_reason_meaning(a->reason), a->entry ? ", by the entry \"" : "",
                      a->entry ? a->entry : "", a->entry ? "\"" : "", field, list.name);
        if (list.is_manifests) {
                e->line = place->line;
                e->column = place->column;
        }
        hint_refusal(e, &list, a, field, is_asked);
        return -1;
}

bool
prepare_refuse_missing(struct host_programs *programs, const struct judgement *j, struct error *e)
{
        const char *unknown = shell_doubt_word(SHELL_UNKNOWN), *near = NULL, *missing = NULL;

        for (size_t i = 0; i < j->count; i++) {
                const struct judge_action *a = &j->actions[i];

                if (a->verdict == COMMAND_ALLOW)
                        continue;
                if (strcmp(a->reason, unknown) != 0)
                        return false; /* a function, an alias: the name could be one */
                if (!missing && host_programs_lack(programs, a->written, &near))
                        missing = a->written;
        }
        if (!missing)
                return false;
        (void)fail_at(e, ERROR_POLICY_DENIED, "argv", "not_found",
                      "%.80s is not found in the PATH of the sandbox", missing);
        if (near)
                error_hint(e, "Nothing was started. Did you mean %.80s?", near);
        else
                error_hint(e,
                           "Nothing was started. Correct the name, or install the program in %s.",
                           programs->tree ? "the image"
                                          : "a directory of the system, or of "
                                            "metadata.carrel.tools");
        return true;
}

int
prepare_refuse_rules(const struct spec *spec, const struct host_rules *rules, size_t list_number,
                     struct error *e)
{
        struct judge_request all;
        struct list_of list;
        char inner[sizeof e->path];

        prepare_rules(spec, rules, &all);
        if (list_number >= all.rules_count)
                return -1;
        list = list_at(spec, rules, list_number);
        (void)snprintf(inner, sizeof inner, "%s", e->path);
        (void)snprintf(e->path, sizeof e->path, "%s/%.128s", list.path, inner);
        if (list.is_manifests)
                return -1;
        e->line = e->column = 0;
        return error_wrap(e, "commands of the host file");
}
