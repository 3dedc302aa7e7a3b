/*
 * cli/doc_servers.c - tool servers of a manifest, as a part of its document.
 *
 * Room: cli (joining). Touches: files that a block refers to.
 * Theory: permissions are read from the judged block, as `carrel tool-server` enforces it.
 */
#include "cli/doc_servers.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/tool_block.h"
#include "clock/clock.h"
#include "ref/places.h"

static void
write_hosts(struct arena *arena, const struct spec *spec, struct json_writer *w)
{
        for (size_t i = 0; i < spec->egress_count; i++)
                for (size_t p = 0; p < spec->egress[i].port_count; p++)
                        json_text(w, arena_format(arena, "connect %s%s:%u",
                                                  spec->egress[i].is_wildcard ? "*." : "",
                                                  spec->egress[i].host, spec->egress[i].ports[p]));
}

static void
write_names(struct arena *arena, const struct spec_secret_name *names, size_t count,
            const char *what, struct json_writer *w)
{
        for (size_t i = 0; i < count; i++)
                json_text(w, arena_format(arena, "%s %s", what, names[i].name));
}

static void
write_permissions(struct arena *arena, const struct spec *spec, struct json_writer *w)
{
        json_open_list(w);
        for (size_t i = 0; i < spec->mount_count; i++)
                json_text(w, arena_format(arena, "%s %s",
                                          spec->mounts[i].is_read_only ? "read" : "write",
                                          spec->mounts[i].at));
        for (size_t i = 0; i < spec->carrel.tools.count; i++)
                json_text(w, arena_format(arena, "read %s", spec->carrel.tools.items[i]));
        write_hosts(arena, spec, w);
        write_names(arena, spec->env.passthrough, spec->env.passthrough_count, "env", w);
        write_names(arena, spec->env.auth, spec->env.auth_count, "secret", w);
        json_close_list(w);
}

static int
write_server(struct arena *arena, const struct run_way *way, int workspace,
             const struct node *server, struct json_writer *w, struct error *e)
{
        const struct node *scopes = node_find(server, "auth_scopes");
        struct ref_places places = { .workspace = workspace, .host = way->host_tree };
        struct verdict_host host = { .rules = way->host.rules,
                                     .now_s = (int64_t)(clock_wall_ms() / 1000) };
        struct ref_manifest_file block;
        struct findings findings;
        struct verdict verdict;
        struct ref_reads reads = { 0 };

        places.reads = &reads;
        host.reader = ref_places_reader(&places);
        findings_init(&findings, arena);
        if (tool_server_block(arena, server, &block, e) < 0 ||
            verdict_reach(arena, &block, VERDICT_AUTHORISE, &host, &verdict, &findings, e) < 0)
                return error_wrap(e, "the tool server %s", server->key);
        json_open_map(w);
        json_member_text(w, "name", server->key);
        json_key(w, "permissions");
        write_permissions(arena, verdict.allowed, w);
        json_key(w, "auth_scopes");
        if (scopes) {
                json_node(w, scopes);
        } else {
                json_open_list(w);
                json_close_list(w);
        }
        json_close_map(w);
        return 0;
}

int
doc_servers_write(struct arena *arena, const struct run_way *way, struct json_writer *w,
                  struct error *e)
{
        const struct node *servers = way->p.spec->carrel.tool_servers;
        scoped_fd int workspace = open(way->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (workspace < 0)
                return fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno, "opening the workspace %.200s",
                                way->workspace);
        json_open_list(w);
        for (const struct node *n = servers ? servers->first : NULL; n; n = n->next)
                if (write_server(arena, way, workspace, n, w, e) < 0)
                        return -1;
        json_close_list(w);
        return 0;
}
