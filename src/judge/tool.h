/*
 * judge/tool.h - names of tools: each has one name, and others by which rules know it too.
 */
#ifndef CARREL_JUDGE_TOOL_H
#define CARREL_JUDGE_TOOL_H

#include <stdbool.h>

#include "spec/spec.h"
#include "text/tree.h"

#define TOOL_SHELL "shell"

/*
 * The name of a tool that is known by several: "shell" for exec, exec.start and execute_command. A
 * name that is not in the table is its own. Never NULL.
 */
const char *tool_name(const char *word);

/* Is it one that Carrel runs itself, and so in a sandbox? */
bool tool_is_own(const char *word);

/* The entry of the list that means this tool, or NULL. */
const char *tool_find_entry(const struct spec_names *names, const char *tool);

/* Do these rules (`commands`, as written; NULL: none) name the tool, or have lists of tools? */
bool tool_is_ruled(const struct node *rules, const char *tool);

/* Have these rules a validator of the tool? */
bool tool_is_validated(const struct node *rules, const char *tool);

/* Does the JSON Schema of such a validator name this argument, as a key or in a list? */
bool tool_names_argument(const struct node *rules, const char *tool, const char *argument);

#endif
