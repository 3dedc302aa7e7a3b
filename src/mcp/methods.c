/*
 * mcp/methods.c - the methods of both eras, and their answers.
 *
 * Room: mcp (joining). Touches: mem.
 */
#include <string.h>

#include "mcp/fixture.h"
#include "mcp/server.h"
#include "mcp/tools.h"

static void
open_capabilities(struct json_writer *w, const struct mcp_request *r)
{
        json_key(w, "capabilities");
        json_open_map(w);
        json_key(w, "tools");
        json_open_map(w);
        json_close_map(w);
        fixture_capabilities(w, r->flags);
        json_close_map(w);
}

static void
answer_initialize(struct mcp_request *r, const char *instructions)
{
        const char *version = node_find(r->message.params, "protocolVersion")->text;
        struct json_writer w;

        request_result(r, &w);
        json_member_text(&w, "protocolVersion",
                         mcp_is_legacy_version(version) ? version : MCP_LEGACY_LATEST);
        open_capabilities(&w, r);
        json_key(&w, "serverInfo");
        json_open_map(&w);
        json_member_text(&w, "name", "carrel");
        json_member_text(&w, "title", "Carrel sandboxes");
        json_member_text(&w, "version", r->server->version);
        json_close_map(&w);
        json_member_text(&w, "instructions", instructions);
        mcp_result_close(&w);
        request_answer(r, &w);
}

static void
do_initialize(struct mcp_request *r)
{
        const struct node *version = node_find(r->message.params, "protocolVersion");
        struct mcp_refusal why;

        if (version && version->kind == NODE_STRING) {
                approval_note_client(r);
                request_instructions(r, answer_initialize);
                return;
        }
        (void)mcp_refuse(&why, 200, MCP_INVALID_PARAMS,
                         "Invalid params: protocolVersion must be a string");
        request_refuse(r, &why);
}

void
request_cache_hint(struct json_writer *w)
{
        json_member_int(w, "ttlMs", 60000);
        json_member_text(w, "cacheScope", "private");
}

static void
answer_discover(struct mcp_request *r, const char *instructions)
{
        struct json_writer w;

        request_result(r, &w);
        json_key(&w, "supportedVersions");
        json_open_list(&w);
        json_text(&w, MCP_MODERN);
        json_close_list(&w);
        open_capabilities(&w, r);
        json_member_text(&w, "instructions", instructions);
        request_cache_hint(&w);
        mcp_result_close(&w);
        request_answer(r, &w);
}

static void
do_discover(struct mcp_request *r)
{
        request_instructions(r, answer_discover);
}

static void
do_ping(struct mcp_request *r)
{
        struct json_writer w;

        request_result(r, &w);
        mcp_result_close(&w);
        request_answer(r, &w);
}

static void
do_list(struct mcp_request *r)
{
        const struct node *cursor = node_find(r->message.params, "cursor");
        struct mcp_refusal why;
        struct json_writer w;

        if (cursor && cursor->kind != NODE_NULL) {
                (void)mcp_refuse(&why, 200, MCP_INVALID_PARAMS,
                                 "Invalid params: no list was cut, so no cursor was given");
                request_refuse(r, &why);
                return;
        }
        request_result(r, &w);
        json_key(&w, "tools");
        tools_write(&w, r);
        if (r->message.is_modern)
                request_cache_hint(&w);
        mcp_result_close(&w);
        request_answer(r, &w);
}

static void
do_call(struct mcp_request *r)
{
        const struct node *name = node_find(r->message.params, "name");
        struct mcp_refusal why;

        r->arguments = node_find(r->message.params, "arguments");
        r->tool = name && name->kind == NODE_STRING ? tool_find(name->text, r->flags) : NULL;
        if (r->tool && (!r->arguments || r->arguments->kind == NODE_MAP)) {
                tool_run(r);
                return;
        }
        if (!name || name->kind != NODE_STRING)
                (void)mcp_refuse(&why, 200, MCP_INVALID_PARAMS,
                                 "Invalid params: name must be a string");
        else if (!r->tool)
                (void)mcp_refuse(&why, 200, MCP_INVALID_PARAMS, "Unknown tool: %.200s", name->text);
        else
                (void)mcp_refuse(&why, 200, MCP_INVALID_PARAMS,
                                 "Invalid params: arguments must be an object");
        request_refuse(r, &why);
}

static void
do_clear_cache(struct mcp_request *r)
{
        const struct node *key = node_find(r->message.params, "key");
        struct json_writer w;

        request_result(r, &w);
        json_member_int(&w, "cleared",
                        request_clear_cache(r, key && key->kind == NODE_STRING ? key->text : NULL));
        mcp_result_close(&w);
        request_answer(r, &w);
}

enum { LEGACY = 1, MODERN = 2 };

static const struct {
        const char *name;
        unsigned eras;
        void (*serve)(struct mcp_request *r);
} methods[] = {
        { "initialize", LEGACY, do_initialize },
        { "ping", LEGACY, do_ping },
        { "server/discover", MODERN, do_discover },
        { "tools/list", LEGACY | MODERN, do_list },
        { "tools/call", LEGACY | MODERN, do_call },
        { "carrel/clearSandboxCache", LEGACY | MODERN, do_clear_cache },
};

void
request_serve(struct mcp_request *r)
{
        struct mcp_refusal why;

        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
                if (strcmp(methods[i].name, r->message.method) != 0 ||
                    !(methods[i].eras & (r->message.is_modern ? MODERN : LEGACY)))
                        continue;
                methods[i].serve(r);
                return;
        }
        if (fixture_serve(r))
                return;
        (void)mcp_refuse(&why, 404, MCP_METHOD_NOT_FOUND, "Method not found: %.200s",
                         r->message.method);
        request_refuse(r, &why);
}
