/*
 * cli/host_tool.h - finds where a host program really lies, for a sandbox that does not have it.
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
        char program[PATH_MAX]; /* absolute, as found through PATH */
        /* directories to mount for it, after following links and version-manager shims */
        char dirs[HOST_TOOL_DIRS_MAX][PATH_MAX];
        size_t dir_count;
};

/* Searches `name` in this process's PATH. False: the host has no such program. */
bool host_tool_find(const char *name, struct host_tool *ret);

/* Does every sandbox have this tool without a mount? */
bool host_tool_is_shown(const struct host_tool *tool);

/*
 * Sets the hint of an ERROR_COMMAND_NOT_FOUND. It says whether the host has `name` (in PATH, or at
 * a path) and which directories to add as tools. If `rules` (NULL: unknown) do not permit them, it
 * also names the command that does. Does not change other errors.
 */
void host_tool_hint(const char *name, const struct host_rules *rules, struct error *e);

#endif
