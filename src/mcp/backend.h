/*
 * mcp/backend.h - what the tools do with sandboxes, through a table of functions: the keeper (mcp_keeper.c), or a script in a test.
 */
#ifndef CARREL_MCP_BACKEND_H
#define CARREL_MCP_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/operation.h"
#include "api/peer.h"
#include "base/error.h"
#include "wire/channel.h"
#include "wire/message.h"
#include "wire/record.h"

struct mcp_call;

/*
 * What comes of a call. A call that is refused gets `refused`; any other `reply`, once or more often; where its operation has a channel, then
 * `started` or not, `output`, and one of `failed`, `ended` and `lost`. After refused, failed, ended and lost, and after the last reply of an
 * operation without channel, the call is over. None comes from within begin() or end().
 */
struct mcp_call_ops {
        void (*reply)(struct mcp_call *c, const struct record *fields, bool is_last);
        void (*refused)(struct mcp_call *c, const struct error *e);
        void (*started)(struct mcp_call *c, const struct channel_started *s);
        void (*failed)(struct mcp_call *c, const struct wire_exec_failed *f);
        void (*output)(struct mcp_call *c, int stream, const char *bytes, size_t len);       /* stream 1 or 2 */
        void (*ended)(struct mcp_call *c, const struct channel_end *end);
        void (*lost)(struct mcp_call *c);
        void (*quiet)(struct mcp_call *c);     /* all that had come through the channel was told; NULL: not of interest */
};

struct mcp_call {
        const struct mcp_call_ops *ops;        /* all set but quiet */
        struct mcp_backend *backend;           /* NULL while there is no call */
        void *link;                            /* the backend's own */
};

struct mcp_backend {
        /* Begins a call with the record written so far; `c` has its ops. 0, or -1 and no callback comes. */
        int (*begin)(struct mcp_backend *b, struct mcp_call *c, const struct api_peer *who, enum operation_code op, struct record_writer *w, struct error *e);
        /* One frame to the exec (CHANNEL_STDIN, CHANNEL_STDIN_END), once it was replied to. 0, or -1 without memory or channel. */
        int (*send)(struct mcp_call *c, uint32_t kind, const void *bytes, size_t len);
        /* No further callback. A foreground exec dies with its channel, unless it is left. Accepts a call that is over or never began. */
        void (*end)(struct mcp_call *c, bool is_left);
};

#endif
