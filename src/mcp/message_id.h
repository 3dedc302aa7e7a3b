/*
 * mcp/message_id.h - finds the id of a message that cannot be read: too long, too deep, or with a
 * refused character.
 *
 * A client waits for an answer with the id that it sent; it cannot match an error without that id.
 * The scan follows only strings and brackets, keeps 256 bytes, and takes the message in pieces. So
 * it finds the id in a line of any length, at any position.
 */
#ifndef CARREL_MCP_MESSAGE_ID_H
#define CARREL_MCP_MESSAGE_ID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "text/tree.h"

enum { MCP_ID_MAX = 256 };

struct mcp_id_scan {          /* all zero: the initial state */
        unsigned depth, seen; /* open brackets; members of the message with the name id */
        /* the message's object has ended; the message is not an object */
        bool is_over, is_broken;
        bool is_in_string, is_escaped, is_value, is_id;
        char token[MCP_ID_MAX]; /* the string that is being read */
        size_t token_len;
        char id[MCP_ID_MAX];
        size_t id_len;
};

void mcp_id_scan_put(struct mcp_id_scan *s, const char *bytes, size_t len);

/*
 * Returns the id, in `arena`. NULL if the message is not a complete object, or has no id or two
 * ids. Also NULL if the id is neither a string nor an integer.
 */
const struct node *mcp_id_scan_end(const struct mcp_id_scan *s, struct arena *arena);

#endif
