/*
 * door/mcp_keeper.h - the daemon as the backend of the MCP tools: calls to the keeper, and their
 * channels.
 */
#ifndef CARREL_DOOR_MCP_KEEPER_H
#define CARREL_DOOR_MCP_KEEPER_H

#include "link/keeper.h"
#include "loop/loop.h"
#include "mcp/backend.h"

struct mcp_keeper {
        struct mcp_backend backend; /* must be first */
        struct loop *loop;
        /*
         * NULL while disconnected: calls wait for 3 s, then they are refused with ERROR_UNAVAILABLE
         */
        struct keeper *keeper;
        /*
         * the link belongs to the door: each call carries the caller's identity and is never
         * queued; false: the keeper identifies the caller by the socket
         */
        bool says_who;
        struct link *parked; /* calls that wait for the keeper to reconnect, in order */
};

/* Borrows the loop and the link. There is nothing to end. */
void mcp_keeper_init(struct mcp_keeper *b, struct loop *l, struct keeper *k, bool says_who);

/* The link in b->keeper is open again: sends the waiting calls. */
void mcp_keeper_is_back(struct mcp_keeper *b);

#endif
