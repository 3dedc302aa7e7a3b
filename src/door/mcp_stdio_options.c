/*
 * door/mcp_stdio_options.c - the command line of an agent's server. `carrel mcp` passes it, and has
 * checked it.
 *
 * Room: door (joining). Touches: nothing.
 */
#include "door/mcp_stdio_options.h"

#include <string.h>
#include <unistd.h>

#include "loop/startup.h"

#define ROW(member, name, kind) STARTUP_ROW(struct stdio_options, member, name, kind, 0)

static const struct startup_option rows[] = {
        STARTUP_ROW(struct stdio_options, keeper, "--keeper-fd", STARTUP_FD, 1),
        ROW(keeper_path, "--keeper-path", STARTUP_TEXT),
        ROW(manifest, "--manifest-fd", STARTUP_FD),
        ROW(manifest_name, "--manifest-name", STARTUP_TEXT),
        ROW(sandbox, "--sandbox", STARTUP_TEXT),
        ROW(workspace, "--workspace", STARTUP_TEXT),
        ROW(runtime, "--runtime", STARTUP_TEXT),
        ROW(risk, "--risk", STARTUP_TEXT),
        ROW(cache_key, "--cache-key", STARTUP_TEXT),
        ROW(context, "--context-key", STARTUP_TEXT),
        ROW(names, "--tool-names", STARTUP_TEXT),
        ROW(instructions, "--instructions", STARTUP_TEXT),
        ROW(is_dynamic, "--context", STARTUP_FLAG),
        ROW(keeps_background, "--keep-background", STARTUP_FLAG),
        ROW(is_private, "--private", STARTUP_FLAG),
        ROW(manages, "--manage", STARTUP_FLAG),
        STARTUP_LIST(struct stdio_options, reads, read_count, "--read", STARTUP_TEXT,
                     STDIO_READS_MAX),
};

int
stdio_options_read(int argc, char **argv, struct stdio_options *ret, struct error *e)
{
        *ret = (struct stdio_options){ .keeper = -1, .manifest = -1 };
        if (startup_read(rows, sizeof rows / sizeof *rows, argc, argv, ret, e) < 0)
                return -1;
        ret->is_dynamic = ret->is_dynamic || ret->cache_key || ret->context;
        return 0;
}

void
stdio_options_ask(const struct stdio_options *o, struct mcp_ask *ret)
{
        ret->peer = (struct api_peer){ .uid = getuid() };
        ret->sandbox = o->sandbox;
        ret->context_key = o->context;
        ret->cache_key = o->cache_key;
        ret->runtime = o->runtime;
        ret->risk = o->risk;
        ret->workspace = o->workspace;
        ret->reads = o->reads;
        ret->read_count = o->read_count;
        ret->flags = (o->is_dynamic ? (unsigned)MCP_DYNAMIC : 0) |
                     (o->keeps_background ? (unsigned)MCP_KEEP_BACKGROUND : 0) |
                     (o->manages ? (unsigned)MCP_MANAGE : 0) |
                     (o->names && strcmp(o->names, "plain") == 0 ? (unsigned)MCP_PLAIN_NAMES : 0) |
                     (o->instructions && strcmp(o->instructions, "resolve") == 0
                              ? (unsigned)MCP_RESOLVE_INSTRUCTIONS
                              : 0);
}
