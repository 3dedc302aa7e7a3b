/*
 * mcp/tools_fields.h - converts between a tool's JSON and an operation's record, by the operation
 * table.
 */
#ifndef CARREL_MCP_TOOLS_FIELDS_H
#define CARREL_MCP_TOOLS_FIELDS_H

#include <stdbool.h>

#include "base/arena.h"
#include "mcp/tool.h"
#include "text/json.h"
#include "text/tree.h"
#include "wire/record.h"

enum tools_id { TOOLS_ID_NONE, TOOLS_ID_OPTIONAL, TOOLS_ID_REQUIRED };

/* Does the tool hide this field of its operation? */
bool tools_leaves_out(const struct tool *t, uint16_t tag);

/* Write the JSON Schemas of the tool's input (with or without sandbox_id) and of its output. */
void tools_input_schema(struct json_writer *w, const struct tool *t, enum tools_id id);
void tools_output_schema(struct json_writer *w, const struct tool *t);

/*
 * Writes the tool's arguments (a map, or NULL) into the record. `sandbox` is the id if the
 * arguments name none. `arena` holds converted values. Errors: ERROR_INVALID_ARGUMENT with the
 * argument as the place; ERROR_NO_MEMORY.
 */
int tools_record(const struct tool *t, const struct node *arguments, const char *sandbox,
                 struct arena *arena, struct record_writer *w, struct error *e);

/* Writes bytes as text if they are UTF-8; else as base64, with an "encoding" member. */
void tools_bytes(struct json_writer *w, const char *key, const char *bytes, size_t len);

#endif
