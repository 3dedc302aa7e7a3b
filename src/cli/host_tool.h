/*
 * cli/host_tool.h - where a program of the host really lies, for a sandbox that does not have it.
 */
#ifndef CARREL_CLI_HOST_TOOL_H
#define CARREL_CLI_HOST_TOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/host_rules.h"

enum { HOST_TOOL_DIRS_MAX = 2 };

struct host_tool {
        char program[PATH_MAX];                         /* absolute, as PATH leads to it */
        char dirs[HOST_TOOL_DIRS_MAX][PATH_MAX];        /* that bring it in, after links and the shims of version managers */
        size_t dir_count;
};

/* Looks for `name` in this process's PATH. false: the host has no such program. */
bool host_tool_find(const char *name, struct host_tool *ret);

/* Is this tool in every sandbox without being brought in? */
bool host_tool_is_shown(const struct host_tool *tool);

/*
 * Makes the hint of an ERROR_COMMAND_NOT_FOUND: whether the host has `name` (in PATH, or at a path), and what brings it in: the directories, with the
 * command that permits them where `rules` (NULL: unknown) do not. Leaves other errors alone.
 */
void host_tool_hint(const char *name, const struct host_rules *rules, struct error *e);

#endif
