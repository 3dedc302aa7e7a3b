/*
 * judge/tool.c - names of tools.
 *
 * Room: judge (deciding, pure). Touches: nothing.
 * Theory: AgentsKit's page, MCP and the daemon's API have different names for the same operation. A
 * rule with one of them is a rule for all, so that none is a way around it.
 */
#include "judge/tool.h"

#include <string.h>

enum { NAMES_MAX = 6 };

/* The first is the name. */
static const char *const tools[][NAMES_MAX] = {
        { TOOL_SHELL, "exec", "exec.start", "execute_command", "mastra_workspace_execute_command" },
        { "code.run", "run_code", "code" },
        { "file.read", "fs_read", "read_file" },
        { "file.write", "fs_write", "write_file" },
        { "file.list", "fs_list", "list_directory" },
        { "file.stat", "fs_stat" },
        { "file.mkdir", "fs_mkdir", "create_directory" },
        { "file.move", "fs_move", "move_file" },
        { "file.remove", "fs_delete", "delete_file" },
        { "url", "get_url" },
        { "extend", "extend_timeout" },
        { "network", "network.set" },
        { "limits.set", "set_limits" },
};

static const char *
find(const char *word)
{
        for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
                for (size_t k = 0; k < NAMES_MAX && tools[i][k]; k++)
                        if (strcmp(tools[i][k], word) == 0)
                                return tools[i][0];
        return NULL;
}

const char *
tool_name(const char *word)
{
        const char *name = find(word);

        return name ? name : word;
}

bool
tool_is_own(const char *word)
{
        return find(word) != NULL;
}

const char *
tool_find_entry(const struct spec_names *names, const char *tool)
{
        const char *name = tool_name(tool);

        for (size_t i = 0; i < names->count; i++)
                if (strcmp(tool_name(names->items[i]), name) == 0)
                        return names->items[i];
        return NULL;
}

bool
tool_is_validated(const struct node *rules, const char *tool)
{
        const struct node *map = rules ? node_find(rules, "validators") : NULL;

        if (!map || map->kind != NODE_MAP)
                return false;
        node_each(member, map)
        {
                if (strcmp(tool_name(member->key), tool_name(tool)) == 0)
                        return true;
        }
        return false;
}

/* The parser bounds the depth of a policy. */
static bool
names(const struct node *n, const char *word)
{
        if (!n || (n->kind != NODE_MAP && n->kind != NODE_LIST))
                return n && n->kind == NODE_STRING && strcmp(n->text, word) == 0;
        node_each(child, n)
        {
                if ((n->kind == NODE_MAP && child->key && strcmp(child->key, word) == 0) ||
                    names(child, word))
                        return true;
        }
        return false;
}

bool
tool_names_argument(const struct node *rules, const char *tool, const char *argument)
{
        const struct node *map = rules ? node_find(rules, "validators") : NULL;

        if (!map || map->kind != NODE_MAP)
                return false;
        node_each(member, map)
        {
                if (strcmp(tool_name(member->key), tool_name(tool)) == 0 &&
                    names(node_find(member, "arguments"), argument))
                        return true;
        }
        return false;
}

bool
tool_is_ruled(const struct node *rules, const char *tool)
{
        const struct node *deny = rules ? node_find(rules, "deny") : NULL;

        if (!rules)
                return false;
        if (node_find(rules, "tools") || tool_is_validated(rules, tool))
                return true;
        if (!deny || deny->kind != NODE_LIST)
                return false;
        node_each(item, deny)
        {
                if (item->kind == NODE_STRING &&
                    strcmp(tool_name(item->text), tool_name(tool)) == 0)
                        return true;
        }
        return false;
}
