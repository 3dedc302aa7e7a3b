/*
 * mcp/message.h - reads and checks one JSON-RPC message of the Model Context Protocol, and finds
 * its era.
 *
 * Legacy revisions (2024-10-07 to 2025-11-25) begin with `initialize`. The modern one (2026-07-28)
 * has no handshake: each request names its revision in params._meta. Over HTTP it is also in
 * headers, which must agree. The body decides the era; the headers are checked against it.
 * Transport-independent and pure.
 */
#ifndef CARREL_MCP_MESSAGE_H
#define CARREL_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "text/json.h"
#include "text/tree.h"

enum { MCP_MESSAGE_MAX = 1 << 20, MCP_DEPTH_MAX = 32, MCP_NODES_MAX = 65536 };

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY_LATEST "2025-11-25"
#define MCP_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_CLIENT "io.modelcontextprotocol/clientInfo"
#define MCP_META_SERVER "io.modelcontextprotocol/serverInfo"

enum mcp_code {
        MCP_PARSE_ERROR = -32700,
        MCP_INVALID_REQUEST = -32600,
        MCP_METHOD_NOT_FOUND = -32601,
        MCP_INVALID_PARAMS = -32602,
        MCP_INTERNAL_ERROR = -32603,
        MCP_SERVER_ERROR = -32000,
        MCP_HEADER_MISMATCH = -32020,
        MCP_UNSUPPORTED_VERSION = -32022,
};

/*
 * The headers of an HTTP request, NULL if absent. Over stdio `is_http` is false, and no headers are
 * required.
 */
struct mcp_headers {
        bool is_http;
        const char *version, *method, *name; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
};

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
        enum mcp_kind kind;
        bool is_modern;
        /* of a request: a string or an integer; also set for a refused one, if an id was found */
        const struct node *id;
        const char *method;        /* NULL for a response */
        const struct node *params; /* a map, or NULL */
        const struct node *meta;   /* params._meta, a map, or NULL */
        const struct node *result; /* of a response: a map, or NULL (an error) */
};

/* Why a message is refused: a JSON-RPC error and its HTTP status. */
struct mcp_refusal {
        int status;
        enum mcp_code code;
        char message[320];
        char requested[64]; /* the requested revision, with MCP_UNSUPPORTED_VERSION */
};

/*
 * Reads one message of `len` bytes. The result is in `arena` and borrows nothing. Returns 0, or -1
 * with *ret_why; then ret->id is set if the message had an id that can be sent back.
 */
int mcp_message_read(struct arena *arena, const char *bytes, size_t len,
                     const struct mcp_headers *headers, struct mcp_message *ret,
                     struct mcp_refusal *ret_why);

/* Writes a refusal, and returns -1. A text that is too long is cut. */
int mcp_refuse(struct mcp_refusal *why, int status, enum mcp_code code, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/* Is it a revision of the legacy era? */
bool mcp_is_legacy_version(const char *version);

/* Writes the whole message for an error; `id` NULL writes null. */
void mcp_error_write(struct json_writer *w, const struct node *id, const struct mcp_refusal *why);

/*
 * Writes {"jsonrpc":"2.0","id":...,"result":{ and leaves it open. It has the members that the era
 * requires in every result. mcp_result_close() ends the text.
 */
void mcp_result_open(struct json_writer *w, const struct mcp_message *m,
                     const char *server_version);
void mcp_result_close(struct json_writer *w);

/* The same with another resultType of the modern era: "input_required". */
void mcp_result_open_as(struct json_writer *w, const struct mcp_message *m,
                        const char *server_version, const char *type);

#endif
