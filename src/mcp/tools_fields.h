/*
 * mcp/tools_fields.h - between a tool's JSON and an operation's record, by the operation table.
 */
#ifndef CARREL_MCP_TOOLS_FIELDS_H
#define CARREL_MCP_TOOLS_FIELDS_H

#include <stdbool.h>

#include "base/arena.h"
#include "mcp/tools.h"
#include "text/tree.h"
#include "wire/record.h"

enum tools_id { TOOLS_ID_NONE, TOOLS_ID_OPTIONAL, TOOLS_ID_REQUIRED };

/* Does the tool not show this field of its operation? */
bool tools_leaves_out(const struct tool *t, uint16_t tag);

/* JSON Schemas of what the tool takes, with sandbox_id or without, and of what it gives. */
void tools_input_schema(struct json_writer *w, const struct tool *t, enum tools_id id);
void tools_output_schema(struct json_writer *w, const struct tool *t);

/*
 * Writes the tool's arguments (a map, or NULL) into the record: `sandbox` as the id where the arguments name none. `arena` holds what has to be
 * put together. Errors: ERROR_INVALID_ARGUMENT with the argument as the place; ERROR_NO_MEMORY.
 */
int tools_record(const struct tool *t, const struct node *arguments, const char *sandbox, struct arena *arena, struct record_writer *w, struct error *e);

/* Bytes as text where they are UTF-8, else base64 with "encoding" beside. */
void tools_bytes(struct json_writer *w, const char *key, const char *bytes, size_t len);

/* The bytes that a text or, with encoding "base64", a base64 text stands for. */
int tools_content(const struct node *map, const char *key, struct arena *arena, const char **ret, size_t *ret_len, struct error *e);

#endif
