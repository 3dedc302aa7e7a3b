/*
 * door/mcp_keeper.h - the backend of the tools that is the daemon: calls to the keeper, and the channels it gives.
 */
#ifndef CARREL_DOOR_MCP_KEEPER_H
#define CARREL_DOOR_MCP_KEEPER_H

#include "loop/loop.h"
#include "door/keeper.h"
#include "mcp/backend.h"

struct mcp_keeper {
        struct mcp_backend backend;    /* first */
        struct loop *loop;
        struct keeper *keeper;         /* NULL while there is none: calls wait for 3 s, then they are refused with ERROR_UNAVAILABLE */
        bool says_who;                 /* the link is the door's: each call says who asks, and none waits; else the keeper sees it in the socket */
        struct link *parked;           /* calls that wait for the keeper's return, in their order */
};

/* Borrows loop and link. Nothing to end. */
void mcp_keeper_init(struct mcp_keeper *b, struct loop *l, struct keeper *k, bool says_who);

/* There is a link again, in b->keeper: what waited is sent. */
void mcp_keeper_is_back(struct mcp_keeper *b);

#endif
