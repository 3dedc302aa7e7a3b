/*
 * door/mcp_out.h - the queue of messages to standard output, one message a line.
 */
#ifndef CARREL_DOOR_MCP_OUT_H
#define CARREL_DOOR_MCP_OUT_H

#include <stdbool.h>

#include "loop/loop.h"
#include "mcp/bytes.h"

struct mcp_out {
        struct loop_watch watch; /* must be first */
        struct loop *loop;       /* stopped when the reader has closed */
        struct mcp_bytes queue;
        size_t queue_at; /* bytes of it that were written */
        bool can_wait;   /* false for a file, which is written at once */
};

void mcp_out_init(struct mcp_out *o, struct loop *l);

/* Queues a line and its line end. Returns -1 if out of memory. */
int mcp_out_line(struct mcp_out *o, const char *json, size_t len);

/* Is the queue so full that notifications should be skipped? */
bool mcp_out_is_full(const struct mcp_out *o);

/* Writes the queued bytes and blocks until they are written. For the end of the program. */
void mcp_out_flush(struct mcp_out *o);

#endif
