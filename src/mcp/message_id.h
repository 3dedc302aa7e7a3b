/*
 * mcp/message_id.h - the id of a message that cannot be read: too long, too deep, or with a character that Carrel does not take.
 *
 * A client waits for an answer under the id it gave; an error without it is an answer to nothing. The scan follows strings and brackets
 * alone, keeps 256 bytes, and can be fed in pieces, so that a line of any length has its id, first or last.
 */
#ifndef CARREL_MCP_MESSAGE_ID_H
#define CARREL_MCP_MESSAGE_ID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "text/tree.h"

enum { MCP_ID_MAX = 256 };

struct mcp_id_scan {                   /* all zero: the beginning */
        unsigned depth, seen;          /* brackets open; members of the message that are called id */
        bool is_over, is_broken;       /* its object is closed; this is no object */
        bool is_in_string, is_escaped, is_value, is_id;
        char token[MCP_ID_MAX];        /* the string that is being read */
        size_t token_len;
        char id[MCP_ID_MAX];
        size_t id_len;
};

void mcp_id_scan_put(struct mcp_id_scan *s, const char *bytes, size_t len);

/* The id, in `arena`; NULL when the message is no whole object, has none, has two, or has one that is no string or integer. */
const struct node *mcp_id_scan_end(const struct mcp_id_scan *s, struct arena *arena);

#endif
