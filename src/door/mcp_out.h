/*
 * door/mcp_out.h - messages on their way to standard output, a line each.
 */
#ifndef CARREL_DOOR_MCP_OUT_H
#define CARREL_DOOR_MCP_OUT_H

#include <stdbool.h>

#include "loop/loop.h"
#include "mcp/bytes.h"

struct mcp_out {
        struct loop_watch watch;       /* first */
        struct loop *loop;             /* stopped where nobody reads any more */
        struct mcp_bytes queue;
        size_t queue_at;               /* what went out of it */
        bool can_wait;                 /* a file is written at once */
};

void mcp_out_init(struct mcp_out *o, struct loop *l);

/* Queues a line, and its end. -1: no memory. */
int mcp_out_line(struct mcp_out *o, const char *json, size_t len);

/* Does so much wait that news had better be left out? */
bool mcp_out_is_full(const struct mcp_out *o);

/* Writes what waits, and waits for it: at the end. */
void mcp_out_flush(struct mcp_out *o);

#endif
