/*
 * door/mcp_stdio_options.c - the command line of an agent's server. `carrel mcp` passes it, and has
 * checked it.
 *
 * Room: door (joining). Touches: nothing.
 */
#include "door/mcp_stdio_options.h"

#include <string.h>
#include <unistd.h>

int
stdio_options_read(int argc, char **argv, struct stdio_options *ret)
{
        const struct {
                const char *name;
                const char **value;
                bool *flag;
        } rows[] = {
                { "--keeper-fd", &ret->keeper, NULL },
                { "--keeper-path", &ret->keeper_path, NULL },
                { "--manifest-fd", &ret->manifest, NULL },
                { "--manifest-name", &ret->manifest_name, NULL },
                { "--sandbox", &ret->sandbox, NULL },
                { "--workspace", &ret->workspace, NULL },
                { "--runtime", &ret->runtime, NULL },
                { "--cache-key", &ret->cache_key, NULL },
                { "--context-key", &ret->context, NULL },
                { "--tool-names", &ret->names, NULL },
                { "--instructions", &ret->instructions, NULL },
                { "--context", NULL, &ret->is_dynamic },
                { "--keep-background", NULL, &ret->keeps_background },
                { "--private", NULL, &ret->is_private },
                { "--manage", NULL, &ret->manages },
        };

        for (int i = 1; i < argc; i++) {
                size_t row = 0;

                if (strcmp(argv[i], "--read") == 0 && i + 1 < argc &&
                    /* lint: `ret` is the caller's and never NULL */
                    ret->read_count < STDIO_READS_MAX) {
                        ret->reads[ret->read_count++] = argv[++i];
                        continue;
                }
                while (row < sizeof rows / sizeof *rows && strcmp(argv[i], rows[row].name) != 0)
                        row++;
                if (row == sizeof rows / sizeof *rows || (rows[row].value && i + 1 >= argc))
                        return -1;
                if (rows[row].value)
                        *rows[row].value = argv[++i];
                else if (rows[row].flag)
                        *rows[row].flag = true;
        }
        /* lint: no row leads to NULL but by its other half */
        ret->is_dynamic = ret->is_dynamic || ret->cache_key || ret->context;
        return ret->keeper ? 0 : -1;
}

void
stdio_options_ask(const struct stdio_options *o, struct mcp_ask *ret)
{
        ret->peer = (struct api_peer){ .uid = getuid() };
        ret->sandbox = o->sandbox;
        ret->context_key = o->context;
        ret->cache_key = o->cache_key;
        ret->runtime = o->runtime;
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
