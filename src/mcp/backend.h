/*
 * mcp/backend.h - the operations on sandboxes that the tools use, as a table of functions.
 *
 * The functions call the keeper (mcp_keeper.c), or a script in a test.
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
 * The callbacks of a call. A call that is refused gets `refused`; any other gets `reply`, once or
 * more. If its operation has a channel, these follow: `started` (if the command started), `output`,
 * and one of `failed`, `ended` and `lost`. The call is over after refused, failed, ended and lost,
 * and after the last reply of an operation without a channel. begin() and end() call no callback.
 */
struct mcp_call_ops {
        void (*reply)(struct mcp_call *c, const struct record *fields, bool is_last);
        void (*refused)(struct mcp_call *c, const struct error *e);
        void (*started)(struct mcp_call *c, const struct channel_started *s);
        void (*failed)(struct mcp_call *c, const struct wire_exec_failed *f);
        /* stream is 1 or 2 */
        void (*output)(struct mcp_call *c, int stream, const char *bytes, size_t len);
        void (*ended)(struct mcp_call *c, const struct channel_end *end);
        void (*lost)(struct mcp_call *c);
        /* all that the channel received was passed on; NULL: not used */
        void (*quiet)(struct mcp_call *c);
};

struct mcp_call {
        const struct mcp_call_ops *ops; /* all set except quiet */
        struct mcp_backend *backend;    /* NULL if no call is running */
        void *link;                     /* private to the backend */
};

struct mcp_backend {
        /*
         * Starts a call with the record written so far; `c` has its ops. Returns 0, or -1 and no
         * callback is called.
         */
        int (*begin)(struct mcp_backend *b, struct mcp_call *c, const struct api_peer *who,
                     enum operation_code op, struct record_writer *w, struct error *e);
        /*
         * Sends one frame (CHANNEL_STDIN, CHANNEL_STDIN_END) to the exec after its reply. An exec
         * that has ended takes none; failed, ended or lost still follows.
         */
        void (*send)(struct mcp_call *c, uint32_t kind, const void *bytes, size_t len);
        /*
         * Ends the call: no further callback. Closing the channel kills a foreground exec, unless
         * `is_left`. Accepts a call that is over or was never started.
         */
        void (*end)(struct mcp_call *c, bool is_left);
};

#endif
