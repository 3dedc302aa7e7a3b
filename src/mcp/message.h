/*
 * mcp/message.h - one JSON-RPC message of the Model Context Protocol: read, checked, and its era known.
 *
 * Legacy revisions (2024-10-07 to 2025-11-25) begin with `initialize`; the modern one (2026-07-28) has no handshake: each request
 * says its revision in params._meta, and over HTTP again in headers, which must agree. The body decides the era; the
 * headers are checked against it. Transport-independent and pure.
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
        MCP_PARSE_ERROR = -32700, MCP_INVALID_REQUEST = -32600, MCP_METHOD_NOT_FOUND = -32601, MCP_INVALID_PARAMS = -32602,
        MCP_INTERNAL_ERROR = -32603, MCP_SERVER_ERROR = -32000, MCP_HEADER_MISMATCH = -32020, MCP_UNSUPPORTED_VERSION = -32022,
};

/* The headers of an HTTP request, NULL where one is absent. Over stdio `is_http` is false, and none is asked for. */
struct mcp_headers {
        bool is_http;
        const char *version, *method, *name;       /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
};

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
        enum mcp_kind kind;
        bool is_modern;
        const struct node *id;         /* of a request: a string or an integer; also of a refused one, where it was found */
        const char *method;            /* NULL for a response */
        const struct node *params;     /* a map, or NULL */
        const struct node *meta;       /* params._meta, a map, or NULL */
};

/* Why a message is not served: a JSON-RPC error and the HTTP status that goes with it. */
struct mcp_refusal {
        int status;
        enum mcp_code code;
        char message[320];
        char requested[64];            /* the revision asked for, with MCP_UNSUPPORTED_VERSION */
};

/*
 * Reads one message of `len` bytes; what it gives lives in `arena` and borrows nothing. 0, or -1 with *ret_why; then ret->id is set where the
 * message had one that can be echoed.
 */
int mcp_message_read(struct arena *arena, const char *bytes, size_t len, const struct mcp_headers *headers, struct mcp_message *ret,
                     struct mcp_refusal *ret_why);

/* Writes a refusal, and returns -1. The text is cut where it is too long. */
int mcp_refuse(struct mcp_refusal *why, int status, enum mcp_code code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Is it a revision of the legacy era? */
bool mcp_is_legacy_version(const char *version);

/* The whole message for an error; `id` NULL writes null. */
void mcp_error_write(struct json_writer *w, const struct node *id, const struct mcp_refusal *why);

/* {"jsonrpc":"2.0","id":...,"result":{ stays open, with what the era asks of every result; mcp_result_close() ends the text. */
void mcp_result_open(struct json_writer *w, const struct mcp_message *m, const char *server_version);
void mcp_result_close(struct json_writer *w);

#endif
