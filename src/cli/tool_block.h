/*
 * cli/tool_block.h - a tool server that a manifest declares: its command, and its block as a
 * manifest.
 */
#ifndef CARREL_CLI_TOOL_BLOCK_H
#define CARREL_CLI_TOOL_BLOCK_H

#include "prepare/verdict.h"
#include "ref/file.h"

struct tool_server {
        struct ref_manifest_file block; /* its permissions, as the file of a manifest */
        char **words;                   /* its command, ended by NULL */
        size_t word_count;
};

/*
 * Checks the manifest `file`, and finds its tool server `name`. All in `arena`. Errors:
 * ERROR_NOT_CONFIGURED (no such server), those of verdict_reach(), ERROR_NO_MEMORY.
 */
int tool_server_find(struct arena *arena, const struct ref_manifest_file *file, const char *name,
                     const struct verdict_host *host, struct tool_server *ret, struct error *e);

/* The block of the entry `server` (its key is its name). Errors: ERROR_NO_MEMORY. */
int tool_server_block(struct arena *arena, const struct node *server, struct ref_manifest_file *ret,
                      struct error *e);

#endif
