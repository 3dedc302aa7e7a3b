/*
 * mcp/mcp.h - a server of the Model Context Protocol, of both eras, without a transport: messages come in as bytes, answers go to a sink.
 *
 * mcp_stdio.c and mcp_http.c are its fronts. It keeps no sessions: what lasts from one request to another is which sandbox a context was
 * given (the cache), and the background processes that an agent started and did not ask to keep (their client).
 */
#ifndef CARREL_MCP_MCP_H
#define CARREL_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"
#include "mcp/backend.h"
#include "mcp/message.h"
#include "mcp/message_id.h"

enum { MCP_HEARD_MS = 30 * 1000 /* so often the daemon is told that a client over HTTP is there */, MCP_WAIT_MS = 5 * 60 * 1000,
       MCP_REQUESTS_MAX = 2 * 1024 /* as many as HTTP's two listeners have connections: no agent waits for another */, MCP_PIPE_REQUESTS_MAX = 256 /* of one over pipes */,
       MCP_CACHE_MAX = 4096, MCP_HELD_MAX = 256, MCP_CLIENTS_MAX = 256 /* over HTTP, without a request */ };

struct mcp_server;
struct mcp_request;

enum mcp_flag {
        MCP_PLAIN_NAMES = 1u << 0,             /* execute_command, not mastra_workspace_execute_command */
        MCP_KEEP_BACKGROUND = 1u << 1,         /* background processes survive who started them */
        MCP_RESOLVE_INSTRUCTIONS = 1u << 2,    /* instructions may make the sandbox they describe */
        MCP_DYNAMIC = 1u << 3,                 /* a context picks or makes the sandbox */
        MCP_MANAGE = 1u << 4,                  /* the model may make sandboxes, and reach others than the one that is configured */
        MCP_FIXTURE = 1u << 5,                 /* for tests: mcp/fixture.h; never set in the shipped program */
};

/* Where a message came from and how it is to be served. Everything is borrowed for the call, but `manifest` for the server's life. */
struct mcp_ask {
        struct mcp_headers headers;
        struct api_peer peer;
        const char *client;                    /* names the agent among those of this peer: its connection or session; NULL: none */
        const char *sandbox;                   /* the one that is meant, or NULL */
        const char *context_key;               /* picks or makes one, or NULL */
        const char *cache_key;                 /* the member of the request's context that is the key; NULL: all of it */
        const char *runtime, *workspace;       /* for one that is made, or NULL */
        const char *const *reads;  size_t read_count;  /* files that were read for the manifest; as long as the server */
        const struct node *manifest;           /* for one that is made, or NULL */
        unsigned flags;                        /* enum mcp_flag */
};

/* Where the answers to one message go. Embedded in the front's own state. */
struct mcp_sink {
        /* The last word: the front may forget the sink. `len` 0: accepted, and nothing to say. */
        void (*answer)(struct mcp_sink *s, int status, const char *json, size_t len);
        void (*notify)(struct mcp_sink *s, const char *json, size_t len);       /* before the answer; NULL: cannot */
        bool (*is_full)(struct mcp_sink *s);                                    /* too much waits for the client already */
};

/* Borrows loop, backend and version. Ended with mcp_server_free(): every request is dropped, every held process dies. */
struct mcp_server *mcp_server_new(struct loop *l, struct mcp_backend *b, const char *version);
void mcp_server_free(struct mcp_server *s);

/* Takes one message. Answers NULL where the sink has its answer already; else the request, until its answer or mcp_cancel(). */
struct mcp_request *mcp_receive(struct mcp_server *s, const struct mcp_ask *ask, const char *bytes, size_t len, struct mcp_sink *sink);

/* Refuses a message of more than MCP_MESSAGE_MAX bytes, under its id. */
void mcp_receive_too_long(const struct mcp_id_scan *scan, struct mcp_sink *sink);

/* The client has gone: no answer is sent, the command's tree is killed. Accepts NULL. */
void mcp_cancel(struct mcp_request *r);

/* This client will not come back: its requests are dropped, and the background processes that were to die with it die. */
void mcp_client_end(struct mcp_server *s, const struct api_peer *peer, const char *client);

#endif
