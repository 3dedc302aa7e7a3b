/*
 * mcp/tools_text.h - the exact texts of Mastra's three tools. Pure.
 *
 * Source: @mastra/core 1.71.0, measured. The measured texts are in test/golden/mastra.
 */
#ifndef CARREL_MCP_TOOLS_TEXT_H
#define CARREL_MCP_TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "mcp/bytes.h"

enum { TOOLS_TAIL = 200, TOOLS_TAIL_KILLED = 50, TOOLS_TOKENS = 2000, TOOLS_KEPT = 1 << 20 };

/*
 * One stream of a running command: its newest TOOLS_KEPT bytes, and the number of line ends in the
 * bytes before them.
 */
struct tools_stream {
        struct mcp_bytes bytes;
        uint64_t total, dropped_lines;
        /* of `total`, which counts from the command's first byte: the bytes received here */
        uint64_t came;
};

void tools_stream_put(struct tools_stream *s, const char *bytes, size_t len);
void tools_stream_fini(struct tools_stream *s);

/*
 * Does the command line end in `| tail -N` or `| tail -n N`? Returns 1 with the text before it
 * (trimmed; borrowed) and N; else 0 with the whole text.
 */
int tools_tail_pipe(const char *command, const char **ret_text, size_t *ret_len, int64_t *ret_tail);

/*
 * Appends the last `tail` lines (0: all; the sign is ignored), then cuts them to `tokens`: the
 * first tenth of that number from the start, the rest from the end.
 */
void tools_truncate(struct mcp_bytes *out, const struct tools_stream *s, int64_t tail,
                    int64_t tokens);

struct tools_output {
        const struct tools_stream *out, *err;
        int64_t tail, tokens;
};

/*
 * execute_command: a command that ended. `error` (NULL: it exited) is the message for one that did
 * not run to its end.
 */
void tools_text_command(struct mcp_bytes *text, const struct tools_output *o, int exit_code,
                        const char *error);

/* get_process_output; `exit_code` NULL: it still runs. */
void tools_text_process(struct mcp_bytes *text, const struct tools_output *o, const int *exit_code);

/* kill_process: the process was running. */
void tools_text_killed(struct mcp_bytes *text, const char *pid, const struct tools_output *o);

#endif
