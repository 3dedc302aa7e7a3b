/*
 * door/mcp_stdio_options.h - the options that `carrel mcp` passes to the program that serves its
 * agent.
 */
#ifndef CARREL_DOOR_MCP_STDIO_OPTIONS_H
#define CARREL_DOOR_MCP_STDIO_OPTIONS_H

#include <stdbool.h>

#include "mcp/mcp.h"

enum { STDIO_READS_MAX = 64 };

/* Texts are borrowed from the command line. NULL: not given. */
struct stdio_options {
        int keeper, manifest; /* descriptors; -1: not given */
        const char *keeper_path, *manifest_name, *sandbox, *workspace, *runtime, *risk, *cache_key,
                *context, *names, *instructions;
        /* files that were read for the manifest */
        const char *reads[STDIO_READS_MAX];
        size_t read_count;
        bool is_dynamic, keeps_background, is_private, manages;
};

/* Errors: those of startup_read(). */
int stdio_options_read(int argc, char **argv, struct stdio_options *ret, struct error *e);

/*
 * Sets how each message of the agent is served, except for the manifest, which the caller must
 * read.
 */
void stdio_options_ask(const struct stdio_options *o, struct mcp_ask *ret);

#endif
