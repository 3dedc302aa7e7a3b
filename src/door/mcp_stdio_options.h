/*
 * door/mcp_stdio_options.h - what `carrel mcp` says to the program that serves its agent.
 */
#ifndef CARREL_DOOR_MCP_STDIO_OPTIONS_H
#define CARREL_DOOR_MCP_STDIO_OPTIONS_H

#include <stdbool.h>

#include "mcp/mcp.h"

enum { STDIO_READS_MAX = 64 };

/* Texts are borrowed from the command line; NULL: not said. */
struct stdio_options {
        const char *keeper, *keeper_path, *manifest, *manifest_name, *sandbox, *workspace, *runtime, *cache_key, *context, *names, *instructions;
        const char *reads[STDIO_READS_MAX];  size_t read_count;    /* files that were read for the manifest */
        bool is_dynamic, keeps_background, is_private, manages;
};

/* -1: these words are none of `carrel mcp`'s. */
int stdio_options_read(int argc, char **argv, struct stdio_options *ret);

/* How each message of the agent is served: all but the manifest, which has to be read. */
void stdio_options_ask(const struct stdio_options *o, struct mcp_ask *ret);

#endif
