/*
 * cli/tool_block.c - a tool server of a manifest: its command, and its block as a manifest.
 *
 * Room: cli (joining). Touches: files that the manifest refers to.
 * Theory: the manifest that declares it is checked first, so its entry has the right shape.
 */
#include "cli/tool_block.h"

#include <string.h>

#include "spec/provider.h"
#include "text/json.h"

int
tool_server_block(struct arena *arena, const struct node *server, struct ref_manifest_file *ret,
                  struct error *e)
{
        const char *text;
        struct json_writer w;

        json_init(&w, false);
        json_node(&w, node_find(server, "sandbox"));
        text = w.text && !w.is_broken ? arena_text(arena, w.text) : NULL;
        json_fini(&w);
        *ret = (struct ref_manifest_file){ .name = arena_format(arena, "the tool server %s",
                                                                server->key),
                                           .bytes = text,
                                           .len = text ? strlen(text) : 0,
                                           .kind = MANIFEST_BLOCK,
                                           .syntax = MANIFEST_JSON };
        return text && ret->name ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a tool server");
}

static int
not_declared(const char *file, const struct node *servers, const char *name, struct error *e)
{
        (void)fail_at(e, ERROR_NOT_CONFIGURED, "metadata/carrel/tool_servers", "tool_server",
                      "%.200s declares no tool server \"%.64s\"", file, name);
        if (servers && servers->first)
                error_hint(e, "It declares %.64s%s.", servers->first->key,
                           servers->first->next ? " and others" : "");
        else
                error_hint(e, "Add it: metadata: {carrel: {tool_servers: {NAME: {command: "
                              "[python3, /workspace/server.py], sandbox: "
                              "{provider: " PROVIDER_STANDARD ", config: {}}}}}}");
        return -1;
}

static int
take_words(struct arena *arena, const struct node *command, struct tool_server *ret,
           struct error *e)
{
        size_t count = 0;

        ret->words = arena_array(arena, char *, command->len + 1);
        if (!ret->words)
                return fail(e, ERROR_NO_MEMORY, "no memory for a tool server");
        node_each(word, command) ret->words[count++] = (char *)(uintptr_t)word->text;
        ret->words[count] = NULL;
        ret->word_count = count;
        return 0;
}

int
tool_server_find(struct arena *arena, const struct ref_manifest_file *file, const char *name,
                 const struct verdict_host *host, struct tool_server *ret, struct error *e)
{
        const struct node *servers, *server;
        struct findings findings;
        struct verdict outer;

        findings_init(&findings, arena);
        if (verdict_reach(arena, file, VERDICT_VALIDATE, host, &outer, &findings, e) < 0)
                return -1;
        servers = outer.spec ? outer.spec->carrel.tool_servers : NULL;
        server = node_find(servers, name);
        if (!server)
                return not_declared(file->name, servers, name, e);
        return take_words(arena, node_find(server, "command"), ret, e) < 0 ||
                               tool_server_block(arena, server, &ret->block, e) < 0
                       ? -1
                       : 0;
}
