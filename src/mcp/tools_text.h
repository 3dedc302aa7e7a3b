/*
 * mcp/tools_text.h - what Mastra's three tools say, to the letter. Source: @mastra/core 1.71.0, measured; the texts that were
 * measured are test/golden/mastra. Pure.
 */
#ifndef CARREL_MCP_TOOLS_TEXT_H
#define CARREL_MCP_TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "mcp/bytes.h"

enum { TOOLS_TAIL = 200, TOOLS_TAIL_KILLED = 50, TOOLS_TOKENS = 2000, TOOLS_KEPT = 1 << 20 };

/*
 * One stream of a command while it is heard: its newest TOOLS_KEPT bytes, and how many line ends were in what came before them.
 */
struct tools_stream {
        struct mcp_bytes bytes;
        uint64_t total, dropped_lines;
        uint64_t came;                 /* of `total`, which counts from the command's first byte: what was heard here */
};

void tools_stream_put(struct tools_stream *s, const char *bytes, size_t len);
void tools_stream_fini(struct tools_stream *s);

/*
 * Does the command line end in `| tail -N` or `| tail -n N`? Answers 1, with what stands before (trimmed; borrowed) and N; else 0, with all of it.
 */
int tools_tail_pipe(const char *command, const char **ret_text, size_t *ret_len, int64_t *ret_tail);

/* The last `tail` lines (0: all; the sign does not count), then at most `tokens` of them: the first tenth and the rest from the end. */
void tools_truncate(struct mcp_bytes *out, const struct tools_stream *s, int64_t tail, int64_t tokens);

struct tools_output {
        const struct tools_stream *out, *err;
        int64_t tail, tokens;
};

/* execute_command: a command that ended. `error` (NULL: it exited) is the sentence of one that could not be run to its end. */
void tools_text_command(struct mcp_bytes *text, const struct tools_output *o, int exit_code, const char *error);

/* get_process_output; `exit_code` NULL: it still runs. */
void tools_text_process(struct mcp_bytes *text, const struct tools_output *o, const int *exit_code);

/* kill_process: it did run. */
void tools_text_killed(struct mcp_bytes *text, const char *pid, const struct tools_output *o);

#endif
