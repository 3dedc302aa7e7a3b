/*
 * cli/host_tool.h - where a program of the host really lies, for a sandbox that does not have it.
 */
#ifndef CARREL_CLI_HOST_TOOL_H
#define CARREL_CLI_HOST_TOOL_H

#include "base/error.h"
#include "policy/host_rules.h"

/*
 * Makes the hint of an ERROR_COMMAND_NOT_FOUND: whether the host has `name` (in PATH, or at a path), and what brings it in: the directories, after links and
 * after the shims of version managers, with the command that permits them where `rules` (NULL: unknown) do not. Leaves other errors alone.
 */
void host_tool_hint(const char *name, const struct host_rules *rules, struct error *e);

#endif
