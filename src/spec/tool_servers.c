/*
 * spec/tool_servers.c - metadata.carrel.tool_servers: MCP servers, each with a sandbox of its own.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 * Theory: this is their shape. The block of a server's sandbox is a manifest, and is checked as one
 * when the server is started (cli/tool_server.c).
 */
#include "base/name.h"
#include "spec/provider.h"
#include "spec/section.h"

enum { SERVERS_MAX = 64, WORDS_MAX = 256, WORD_MAX = 4096 };

static const struct field word_row = {
        .kind = FIELD_TEXT, .min = 1, .max = WORD_MAX, .offset = FIELD_NOWHERE, .help = "A word."
};

static void
leave_to_start(struct judge *j, const struct node *value, const struct trail *at, void *base)
{
        (void)j, (void)value, (void)at, (void)base;
}

static const struct field rows[] = {
        { .name = "command",
          .kind = FIELD_LIST,
          .flags = FIELD_REQUIRED,
          .min = 1,
          .max = WORDS_MAX,
          .item = &word_row,
          .offset = FIELD_NOWHERE,
          .help = "The server's program and its arguments." },
        { .name = "auth_scopes",
          .kind = FIELD_LIST,
          .max = WORDS_MAX,
          .item = &word_row,
          .offset = FIELD_NOWHERE,
          .help = "Scopes of the server's own credentials, for the document." },
        { .name = "sandbox",
          .kind = FIELD_MAP,
          .flags = FIELD_REQUIRED,
          .offset = FIELD_NOWHERE,
          .read = leave_to_start,
          .help = "The server's permissions: a sandbox block, inline." },
};
static const struct field_set server_set = { FIELD_SET(rows), .code = ERROR_SCHEMA_INVALID };

void
tool_servers_read(struct judge *j, const struct node *map, const struct trail *at, void *base)
{
        if (map->len > SERVERS_MAX)
                judge_error_key(j, map, at, ERROR_SCHEMA_INVALID, "maximum", "Remove some of them.",
                                "tool_servers: at most %d servers", SERVERS_MAX);
        node_each(server, map)
        {
                struct trail here = { at, server->key, 0 };

                if (!name_is_valid(server->key))
                        judge_error_key(j, server, &here, ERROR_SCHEMA_INVALID, "pattern",
                                        NAME_HINT, "the name of a tool server is " NAME_SHAPE);
                else if (server->kind != NODE_MAP)
                        judge_error_key(j, server, &here, ERROR_SCHEMA_INVALID, "type",
                                        "For example: {command: [python3, server.py], sandbox: "
                                        "{provider: " PROVIDER_STANDARD ", config: {}}}",
                                        "a tool server is a map");
                else
                        (void)fields_read(j, &server_set, server, &here, base);
        }
        ((struct spec *)base)->carrel.tool_servers = map;
}
