/*
 * judge/commands.c - judges what a command would run by lists.
 *
 * Room: judge (deciding, pure). Touches: mem.
 * Theory: deny wins, then what is not known, then allow. An empty allow list allows nothing. A
 * denied program is denied under each name of its file; an allowed one is allowed under its own
 * name alone, because one file can be several programs (busybox). The exception to the first: a
 * name that is listed in allow itself.
 */
#include "judge/commands.h"

#include <string.h>

#include "judge/tool.h"

static const char *
base_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* -- the file ---------------------------------------------------------------------------------- */

struct reading {
        struct arena *arena;
        struct command_rules *rules;
        struct error *e;
};

static int
wrong(struct reading *r, const struct node *n, const char *path, const char *reason,
      const char *message)
{
        (void)fail_at(r->e, ERROR_SCHEMA_INVALID, path, reason, "%s: %s", path, message);
        r->e->line = n->line;
        r->e->column = n->column;
        error_hint(r->e, "docs/POLICY.md lists the fields.");
        return -1;
}

static int
read_names(struct reading *r, const struct node *n, const char *path, struct spec_names *ret)
{
        const char **items;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > COMMANDS_LIST_MAX)
                return wrong(r, n, path, "type", "expected a list of at most 1024 texts");
        items = arena_array(r->arena, const char *, n->len + 1);
        if (!items)
                return fail(r->e, ERROR_NO_MEMORY, "no memory for the policy");
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || item->len == 0)
                        return wrong(r, item, path, "type", "each entry must be a text");
                items[count++] = item->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

/* Says what is wrong with a name of a program, or NULL. Such a name would match no program. */
static const char *
name_fault(const char *name)
{
        if (strpbrk(name, " \t\r\n"))
                return "this is a command, not the name of a program; commands_disallowed lists "
                       "commands";
        if (strpbrk(name, "*?"))
                return "a name of a program has no wildcard; list each program";
        if (name[0] != '/' && strchr(name, '/'))
                return "a program is a name in PATH, or an absolute path inside the sandbox";
        return NULL;
}

static int
read_programs(struct reading *r, const struct node *n, struct spec_names *ret)
{
        if (read_names(r, n, n->key, ret) < 0)
                return -1;
        node_each(item, n)
        {
                const char *fault = name_fault(item->text);

                if (!fault)
                        continue;
                (void)wrong(r, item, n->key, "program", fault);
                if (strpbrk(item->text, " \t\r\n") && strcmp(n->key, "deny") == 0)
                        error_hint(r->e, "Write: commands_disallowed: ['%.100s']", item->text);
                return -1;
        }
        return 0;
}

static int
read_allow(struct reading *r, const struct node *n)
{
        if (r->rules->has_allow)
                return wrong(r, n, n->key, "twice",
                             "allow and executables_allowlist exclude each "
                             "other");
        r->rules->has_allow = true;
        return read_programs(r, n, &r->rules->allow);
}

static int
read_deny(struct reading *r, const struct node *n)
{
        return read_programs(r, n, &r->rules->deny);
}

static int
read_require(struct reading *r, const struct node *n)
{
        r->rules->requires_all = node_is_text(n, "*");
        return r->rules->requires_all ? 0 : read_names(r, n, n->key, &r->rules->require_sandbox);
}

/* In an entry of the file, a program is known by its name alone. */
static const char *
find_by_name(void *context, const char *word)
{
        (void)context;
        return base_name(word);
}

/* One command, or one pipeline; a shell at its end may run what it reads. */
static bool
is_pattern(const struct shell_reading *p)
{
        for (size_t i = 0; i < p->count; i++)
                if (p->actions[i].pipeline != p->actions[0].pipeline ||
                    (p->actions[i].doubt != SHELL_NO_DOUBT && p->actions[i].doubt != SHELL_SCRIPT))
                        return false;
        return p->count > 0;
}

static int
read_disallowed(struct reading *r, const struct node *n)
{
        struct shell_facts facts = { find_by_name, NULL };
        struct shell_reading *patterns;
        size_t count = 0;

        if (read_names(r, n, n->key, &r->rules->disallowed) < 0)
                return -1;
        patterns = arena_array(r->arena, struct shell_reading, n->len + 1);
        if (!patterns)
                return fail(r->e, ERROR_NO_MEMORY, "no memory for the policy");
        node_each(item, n)
        {
                shell_read_text(r->arena, item->text, item->len, &facts, &patterns[count]);
                if (!is_pattern(&patterns[count++]))
                        return wrong(r, item, n->key, "pattern",
                                     "each entry must be one command with known words, or one "
                                     "pipeline");
        }
        r->rules->patterns = patterns;
        return 0;
}

static int
read_verdict(struct reading *r, const struct node *n, bool may_allow, enum command_verdict *ret)
{
        for (int v = may_allow ? COMMAND_ALLOW : COMMAND_ASK; v <= COMMAND_DENY; v++) {
                if (!node_is_text(n, command_verdict_word((enum command_verdict)v)))
                        continue;
                *ret = (enum command_verdict)v;
                return 0;
        }
        return wrong(r, n, n->key, "enum",
                     may_allow ? "must be allow, ask or deny" : "must be ask or deny");
}

static int
read_doubt(struct reading *r, const struct node *n)
{
        return read_verdict(r, n, false, &r->rules->on_doubt);
}

static int
read_write(struct reading *r, const struct node *n)
{
        return read_verdict(r, n, true, &r->rules->on_write);
}

static int
read_scripts(struct reading *r, const struct node *n)
{
        return read_verdict(r, n, true, &r->rules->on_script);
}

static int
read_validators(struct reading *r, const struct node *n)
{
        return validator_read(r->arena, n, &r->rules->validators, r->e);
}

static int
read_tools(struct reading *r, const struct node *n)
{
        if (n->kind != NODE_MAP)
                return wrong(r, n, n->key, "type", "expected {allow: [...], deny: [...]}");
        node_each(member, n)
        {
                bool is_allow = strcmp(member->key, "allow") == 0;

                if (!is_allow && strcmp(member->key, "deny") != 0)
                        return wrong(r, member, n->key, "unknown_field",
                                     "tools has allow and deny");
                r->rules->has_tools_allow |= is_allow;
                if (read_names(r, member, n->key,
                               is_allow ? &r->rules->tools_allow : &r->rules->tools_deny) < 0)
                        return -1;
                node_each(item, member)
                {
                        if (strpbrk(item->text, " \t\r\n*?"))
                                return wrong(r, item, n->key, "tool",
                                             "a name of a tool has no blank and no wildcard; list "
                                             "each tool");
                }
        }
        return 0;
}

static const struct {
        const char *name;
        int (*read)(struct reading *r, const struct node *n);
} fields[] = {
        { "allow", read_allow },
        { "executables_allowlist", read_allow },
        { "deny", read_deny },
        { "commands_disallowed", read_disallowed },
        { "requireSandbox", read_require },
        { "tools", read_tools },
        { "unresolved", read_doubt },
        { "writes", read_write },
        { "scripts", read_scripts },
        { "validators", read_validators },
};

static int
read_member(struct reading *r, const struct node *member)
{
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                if (strcmp(fields[i].name, member->key) == 0)
                        return fields[i].read(r, member);
        return wrong(r, member, member->key, "unknown_field", "there is no such field");
}

int
command_rules_read(struct arena *arena, const struct node *root, struct command_rules *ret,
                   struct error *e)
{
        struct reading r = { arena, ret, e };
        const struct node *writes, *scripts;

        *ret = (struct command_rules){ .on_doubt = COMMAND_DENY };
        if (root->kind != NODE_MAP)
                return wrong(&r, root, "policy", "type", "expected a map");
        writes = node_find(root, "writes");
        scripts = node_find(root, "scripts");
        node_each(member, root)
        {
                if (read_member(&r, member) < 0)
                        return -1;
        }
        if (!writes)
                ret->on_write = ret->on_doubt;
        if (!scripts)
                ret->on_script = ret->on_doubt;
        return 0;
}

/* -- entries of commands_disallowed ------------------------------------------------------------ */

struct judging {
        const struct command_rules *rules;
        const struct shell_reading *reading;
        command_same *is_same;
        void *context;
};

static bool
is_same(const struct judging *j, const char *program, const char *entry)
{
        return strcmp(base_name(entry), program) == 0 || j->is_same(j->context, program, entry);
}

/* Has the action this option letter in a cluster: the r of "-rf" in "-fr"? */
static bool
has_letter(const struct shell_action *a, char letter)
{
        for (size_t i = 1; i < a->word_count; i++)
                if (a->words[i] && a->words[i][0] == '-' && a->words[i][1] != '-' &&
                    strchr(a->words[i] + 1, letter))
                        return true;
        return false;
}

/* A word that is not known could be this one. */
static bool
has_word(const struct shell_action *a, const char *word)
{
        bool is_cluster = word[0] == '-' && word[1] != '-' && word[1] != '\0';

        if (a->has_more)
                return true;
        for (size_t i = 1; i < a->word_count; i++)
                if (!a->words[i] || strcmp(a->words[i], word) == 0)
                        return true;
        for (const char *letter = word + 1; is_cluster && *letter; letter++)
                if (!has_letter(a, *letter))
                        return false;
        return is_cluster;
}

static bool
matches(const struct judging *j, const struct shell_action *a, const struct shell_action *pattern)
{
        if (!a->program || !is_same(j, a->program, pattern->program))
                return false;
        for (size_t i = 1; i < pattern->word_count; i++)
                if (pattern->words[i] && !has_word(a, pattern->words[i]))
                        return false;
        return true;
}

/* Does a later stage of the action's pipeline match the rest of the pattern, in order? */
static bool
rest_matches(const struct judging *j, const struct shell_action *a,
             const struct shell_reading *pattern, size_t from)
{
        const struct shell_action *at = a;

        for (; from < pattern->count; from++) {
                const struct shell_action *next = NULL;

                if (!pattern->actions[from].program ||
                    pattern->actions[from].place == pattern->actions[from - 1].place)
                        continue; /* the doubt of a shell, or the shell around a command */
                for (size_t i = 0; i < j->reading->count && !next; i++) {
                        const struct shell_action *b = &j->reading->actions[i];

                        if (b->pipeline == a->pipeline && b->place > at->place &&
                            matches(j, b, &pattern->actions[from]))
                                next = b;
                }
                if (!next)
                        return false;
                at = next;
        }
        return true;
}

static const char *
find_disallowed(const struct judging *j, const struct shell_action *a)
{
        for (size_t i = 0; i < j->rules->disallowed.count; i++)
                if (matches(j, a, &j->rules->patterns[i].actions[0]) &&
                    rest_matches(j, a, &j->rules->patterns[i], 1))
                        return j->rules->disallowed.items[i];
        return NULL;
}

/* -- one action -------------------------------------------------------------------------------- */

static const char *
find_named(const struct spec_names *names, const char *program)
{
        for (size_t i = 0; i < names->count; i++)
                if (strcmp(base_name(names->items[i]), program) == 0)
                        return names->items[i];
        return NULL;
}

/* An entry with a slash is that file, not its name. */
static const char *
find_allowed(const struct judging *j, const char *program)
{
        for (size_t i = 0; i < j->rules->allow.count; i++) {
                const char *entry = j->rules->allow.items[i];

                if (strcmp(base_name(entry), program) == 0 &&
                    (!strchr(entry, '/') || j->is_same(j->context, program, entry)))
                        return entry;
        }
        return NULL;
}

static const char *
find_denied(const struct judging *j, const struct shell_action *a)
{
        const char *name = a->program ? a->program : base_name(a->written);
        const char *entry = find_named(&j->rules->deny, name);

        if (entry || !a->program || find_allowed(j, name))
                return entry;
        for (size_t i = 0; i < j->rules->deny.count; i++)
                if (j->is_same(j->context, name, j->rules->deny.items[i]))
                        return j->rules->deny.items[i];
        return NULL;
}

static enum command_verdict
doubt_verdict(const struct command_rules *rules, const struct shell_action *a)
{
        if (a->doubt == SHELL_WRITES)
                return rules->on_write;
        return shell_doubt_is_file(a->doubt, a->written) ? rules->on_script : rules->on_doubt;
}

static struct command_finding
judge_one(const struct judging *j, const struct shell_action *a)
{
        const char *entry = find_denied(j, a);

        if (entry)
                return (struct command_finding){ COMMAND_DENY, "denied", entry };
        entry = find_disallowed(j, a);
        if (entry)
                return (struct command_finding){ COMMAND_DENY, "disallowed", entry };
        if (a->doubt != SHELL_NO_DOUBT)
                return (struct command_finding){ doubt_verdict(j->rules, a),
                                                 shell_doubt_word(a->doubt), NULL };
        if (a->is_named)
                return (struct command_finding){ COMMAND_ALLOW, "named", NULL };
        if (a->is_carrier)
                return (struct command_finding){ COMMAND_ALLOW, "carrier", NULL };
        if (!j->rules->has_allow)
                return (struct command_finding){ COMMAND_ALLOW, "not_denied", NULL };
        entry = find_allowed(j, a->program);
        return entry ? (struct command_finding){ COMMAND_ALLOW, "allowed", entry }
                     : (struct command_finding){ COMMAND_DENY, "not_allowed", NULL };
}

struct command_finding
command_judge_tool(const struct command_rules *rules, const char *tool)
{
        const char *entry = tool_find_entry(&rules->tools_deny, tool);

        /* an entry of `deny` can be a tool too: on AgentsKit's page it is a program, in its code a
         * tool */
        if (!entry)
                entry = tool_find_entry(&rules->deny, tool);
        if (entry)
                return (struct command_finding){ COMMAND_DENY, "tool_denied", entry };
        entry = tool_find_entry(&rules->tools_allow, tool);
        if (!entry && rules->has_tools_allow)
                return (struct command_finding){ COMMAND_DENY, "tool_not_allowed", NULL };
        if (rules->requires_all || tool_find_entry(&rules->require_sandbox, tool))
                return (struct command_finding){ COMMAND_ALLOW, "tool_in_sandbox", NULL };
        return (struct command_finding){ COMMAND_ALLOW, NULL, entry };
}

enum command_verdict
command_judge(const struct command_rules *rules, const struct shell_reading *reading,
              command_same *same, void *context, struct command_finding *ret)
{
        struct judging j = { rules, reading, same, context };
        enum command_verdict worst = COMMAND_ALLOW;

        for (size_t i = 0; i < reading->count; i++) {
                ret[i] = judge_one(&j, &reading->actions[i]);
                if (ret[i].verdict > worst)
                        worst = ret[i].verdict;
        }
        return worst;
}
