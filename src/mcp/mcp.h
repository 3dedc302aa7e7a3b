/*
 * mcp/mcp.h - a server of the Model Context Protocol for both eras, independent of the transport.
 *
 * Messages come in as bytes, and answers go to a sink. The fronts are mcp_stdio.c and mcp_http.c.
 * The server keeps no sessions: that of an HTTP client only says that the client can be asked, and
 * joins its answers to its requests. It remembers two things between requests: the sandbox of each
 * context (the cache), and the background processes that an agent started without asking to keep
 * them (its client).
 */
#ifndef CARREL_MCP_MCP_H
#define CARREL_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "link/call.h"
#include "loop/loop.h"
#include "mcp/message.h"
#include "mcp/message_id.h"

enum {
        MCP_HEARD_MS =
                30 * 1000 /* how often the daemon is informed that an HTTP client is connected */,
        MCP_WAIT_MS = 5 * 60 * 1000,
        MCP_REQUESTS_MAX = 2 * 1024 /* the number of connections of HTTP's two listeners: no agent
                                       waits for another */
        ,
        MCP_PIPE_REQUESTS_MAX = 256 /* of one agent over pipes */,
        MCP_CACHE_MAX = 4096,
        MCP_HELD_MAX = 256,
        MCP_CLIENTS_MAX = 256 /* HTTP clients without a request */
};

struct mcp_server;
struct mcp_request;

enum mcp_flag {
        /* execute_command, not mastra_workspace_execute_command */
        MCP_PLAIN_NAMES = 1u << 0,
        /* background processes keep running after their client has gone */
        MCP_KEEP_BACKGROUND = 1u << 1,
        /* instructions may create the sandbox that they describe */
        MCP_RESOLVE_INSTRUCTIONS = 1u << 2,
        MCP_DYNAMIC = 1u << 3, /* a context selects or creates the sandbox */
        /* the model may create sandboxes, and use others than the configured one */
        MCP_MANAGE = 1u << 4,
        /* for tests: mcp/fixture.h; never set in the shipped program */
        MCP_FIXTURE = 1u << 5,
};

/*
 * The source of a message and how to serve it. All of it is borrowed for the call; `manifest` for
 * the server's life.
 */
struct mcp_ask {
        struct mcp_headers headers;
        struct api_peer peer;
        /* identifies the agent among those of this peer: its connection or session; NULL: none */
        const char *client;
        /* HTTP before 2026-07-28: the session that `opened` made for a client that can be asked;
         * NULL: it cannot be asked */
        const char *session;
        const char *sandbox;     /* the sandbox to use, or NULL */
        const char *context_key; /* selects or creates a sandbox, or NULL */
        /* the member of the request's context that is the key; NULL: the whole context */
        const char *cache_key;
        const char *runtime, *risk, *workspace; /* for a sandbox that is created, or NULL */
        /* files that were read for the manifest; must live as long as the server */
        const char *const *reads;
        size_t read_count;
        const struct node *manifest; /* for a sandbox that is created, or NULL */
        unsigned flags;              /* enum mcp_flag */
};

/* The destination of the answers to one message. Embedded in the front's own state. */
struct mcp_sink {
        /*
         * The final answer: the front may then free the sink. `len` 0: accepted, with nothing to
         * send.
         */
        void (*answer)(struct mcp_sink *s, int status, const char *json, size_t len);
        /* before the answer; NULL: not possible */
        void (*notify)(struct mcp_sink *s, const char *json, size_t len);
        /* too many bytes already wait for the client */
        bool (*is_full)(struct mcp_sink *s);
        /* at initialize, before the answer: the client can be asked, so it needs a session. NULL:
         * not possible */
        void (*opened)(struct mcp_sink *s);
};

/*
 * Borrows loop, link and version. mcp_server_free() drops every request and kills every held
 * process.
 */
struct mcp_server *mcp_server_new(struct loop *l, struct link *link, const char *version);
void mcp_server_free(struct mcp_server *s);

/*
 * Takes one message. Returns NULL if the sink already has its answer; else the request, valid until
 * its answer or mcp_cancel().
 */
struct mcp_request *mcp_receive(struct mcp_server *s, const struct mcp_ask *ask, const char *bytes,
                                size_t len, struct mcp_sink *sink);

/* Refuses a message of more than MCP_MESSAGE_MAX bytes. The answer has the message's id. */
void mcp_receive_too_long(const struct mcp_id_scan *scan, struct mcp_sink *sink);

/*
 * Cancels a request whose client has gone: sends no answer and kills the command's tree. Accepts
 * NULL.
 */
void mcp_cancel(struct mcp_request *r);

/*
 * Ends a client that will not return: drops its requests and kills those background processes that
 * end with it.
 */
void mcp_client_end(struct mcp_server *s, const struct api_peer *peer, const char *client);

#endif
