/*
 * spec/commands.c - the fields of rules for commands: metadata.carrel.commands of a manifest, and
 * commands of a host file.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Theory: this is their shape. What an entry means is read where commands are judged
 * (judge/commands.c), because entries of commands_disallowed are commands.
 */
#include <string.h>

#include "spec/section.h"

enum { ENTRIES_MAX = 1024, ENTRY_MAX = 4096 };

static const char *const doubt_choices[] = { "deny", "ask", NULL };
static const char *const write_choices[] = { "allow", "ask", "deny", NULL };
static const char *const all_choices[] = { "*", NULL };

static const struct field entry_row = { .kind = FIELD_TEXT,
                                        .min = 1,
                                        .max = ENTRY_MAX,
                                        .offset = FIELD_NOWHERE,
                                        .help = "A program's name, or its absolute path." };
static const struct field command_row = { .kind = FIELD_TEXT,
                                          .min = 1,
                                          .max = ENTRY_MAX,
                                          .offset = FIELD_NOWHERE,
                                          .help = "One command, or one pipeline." };
static const struct field tools_forms_rows[] = {
        { .kind = FIELD_LIST, .max = ENTRIES_MAX, .item = &entry_row, .help = "tools" },
        { .kind = FIELD_CHOICE, .choices = all_choices, .help = "all" },
};
static const struct field_set tools_forms = { FIELD_SET(tools_forms_rows),
                                              .code = ERROR_SCHEMA_INVALID };

static void
leave_to_judge(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        (void)j, (void)value, (void)at, (void)base;
}

static const struct field tool_lists_rows[] = {
        { .name = "allow",
          .kind = FIELD_LIST,
          .max = ENTRIES_MAX,
          .item = &entry_row,
          .offset = FIELD_NOWHERE,
          .help = "Tools that may be called. Default: all that are not denied." },
        { .name = "deny",
          .kind = FIELD_LIST,
          .max = ENTRIES_MAX,
          .item = &entry_row,
          .offset = FIELD_NOWHERE,
          .help = "Tools that may not be called." },
};
static const struct field_set tool_lists = { FIELD_SET(tool_lists_rows),
                                             .code = ERROR_SCHEMA_INVALID };

static const struct field rows[] = {
        { .name = "file",
          .kind = FIELD_TEXT,
          .min = 1,
          .max = ENTRY_MAX,
          .offset = FIELD_NOWHERE,
          .help = "Instead of all others: a file with the rules, ./ and a path in the workspace; "
                  "in a host file an absolute path." },
        { .name = "allow",
          .kind = FIELD_LIST,
          .max = ENTRIES_MAX,
          .item = &entry_row,
          .offset = FIELD_NOWHERE,
          .help = "Programs that may run. Default: all that are not denied." },
        { .name = "executables_allowlist",
          .kind = FIELD_LIST,
          .max = ENTRIES_MAX,
          .item = &entry_row,
          .offset = FIELD_NOWHERE,
          .help = "The same, by its name in the Geodocs document." },
        { .name = "deny",
          .kind = FIELD_LIST,
          .max = ENTRIES_MAX,
          .item = &entry_row,
          .offset = FIELD_NOWHERE,
          .help = "Programs that may not run; wins over every other rule." },
        { .name = "commands_disallowed",
          .kind = FIELD_LIST,
          .max = ENTRIES_MAX,
          .item = &command_row,
          .offset = FIELD_NOWHERE,
          .help = "Commands and pipelines that may not run, such as `git push --force`." },
        { .name = "unresolved",
          .kind = FIELD_CHOICE,
          .choices = doubt_choices,
          .offset = FIELD_NOWHERE,
          .help = "What is not known before the command runs: deny (default) or ask." },
        { .name = "writes",
          .kind = FIELD_CHOICE,
          .choices = write_choices,
          .offset = FIELD_NOWHERE,
          .help = "Output that the shell itself writes to a file. Default: as unresolved." },
        { .name = "scripts",
          .kind = FIELD_CHOICE,
          .choices = write_choices,
          .offset = FIELD_NOWHERE,
          .help = "Files that commands can write, run as programs: sh FILE, ./run.sh, "
                  ".venv/bin/python. Default: as unresolved." },
        { .name = "requireSandbox",
          .kind = FIELD_ONE_OF,
          .members = &tools_forms,
          .offset = FIELD_NOWHERE,
          .read = leave_to_judge,
          .help = "AgentsKit's list of tools, or \"*\". Every tool of Carrel runs in a sandbox." },
        { .name = "tools",
          .kind = FIELD_MAP,
          .members = &tool_lists,
          .offset = FIELD_NOWHERE,
          .help = "Which tools may be called: shell, code.run, file.write, ..." },
        { .name = "validators",
          .kind = FIELD_MAP,
          .offset = FIELD_NOWHERE,
          .read = leave_to_judge,
          .help = "Checks on the arguments of tools: docs/POLICY.md." },
};
const struct field_set commands_set = { FIELD_SET(rows), .code = ERROR_SCHEMA_INVALID };

const struct node *
commands_find_program(const struct node *map)
{
        const struct node *tools = map ? node_find(map, "validators") : NULL, *program = NULL;

        if (!tools || tools->kind != NODE_MAP)
                return NULL;
        for (const struct node *tool = tools->first; tool && !program; tool = tool->next)
                program = node_find(tool, "program");
        return program;
}

void
commands_read(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        const struct node *file = node_find(value, "file"), *program = commands_find_program(value);

        if (program)
                judge_error_key(j, program, at, ERROR_SCHEMA_INVALID, "host_only",
                                "Name the program in `commands` of the host file: docs/HOST.md.",
                                "only a host file may name a program as a validator");
        else if (file && value->len > 1)
                judge_error_key(j, file, at, ERROR_SCHEMA_INVALID, "exclusive",
                                "Move the other fields into the file.",
                                "commands: file excludes all other fields");
        else if (fields_read(j, &commands_set, value, at, base))
                ((struct spec *)base)->carrel.commands = value;
}

static bool
is_shaped(const struct field *row, const struct node *n)
{
        bool is_known = false;

        if (row->kind == FIELD_CHOICE) {
                for (size_t i = 0; row->choices[i]; i++)
                        is_known = is_known || node_is_text(n, row->choices[i]);
                return is_known;
        }
        if (row->kind == FIELD_TEXT)
                return false; /* a file was read before (ref/rules.h) */
        if (row->kind != FIELD_LIST)
                return row->kind != FIELD_MAP || n->kind == NODE_MAP;
        if (n->kind != NODE_LIST || n->len > ENTRIES_MAX)
                return false;
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || item->len == 0 || item->len > ENTRY_MAX)
                        return false;
        }
        return true;
}

const struct node *
commands_find_fault(const struct node *map, bool *ret_is_known)
{
        *ret_is_known = true;
        if (map->kind != NODE_MAP)
                return map;
        node_each(member, map)
        {
                const struct field *row = NULL;

                for (size_t i = 0; i < commands_set.count; i++)
                        if (strcmp(rows[i].name, member->key) == 0)
                                row = &rows[i];
                *ret_is_known = row != NULL;
                if (!row || !is_shaped(row, member))
                        return member;
        }
        return NULL;
}
