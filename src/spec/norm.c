/*
 * spec/norm.c - the normal form of a block as JSON.
 *
 * Room: spec (deciding, pure). Touches: mem (the writer's).
 */
#include "spec/norm.h"

static void
limit_write(struct json_writer *w, const char *key, uint64_t value)
{
        json_key(w, key);
        if (value == SPEC_UNSET)
                json_none(w);
        else
                json_uint(w, value);
}

static void
limits_write(struct json_writer *w, const struct spec_limits *limits)
{
        json_key(w, "limits");
        json_open_map(w);
        limit_write(w, "timeout_ms", limits->timeout_ms);
        limit_write(w, "memory_mb", limits->memory_mb);
        limit_write(w, "cpu_ms", limits->cpu_ms);
        json_close_map(w);
}

static void
names_write(struct json_writer *w, const char *key, const struct spec_secret_name *names,
            size_t count)
{
        json_key(w, key);
        json_open_list(w);
        for (size_t i = 0; i < count; i++)
                json_text(w, names[i].name);
        json_close_list(w);
}

static void
env_write(struct json_writer *w, const struct spec_env *env)
{
        json_key(w, "env");
        json_open_map(w);
        json_key(w, "auth");
        json_open_map(w);
        json_member_text(w, "ref", env->auth_ref);
        names_write(w, "env", env->auth, env->auth_count);
        json_close_map(w);
        names_write(w, "passthrough", env->passthrough, env->passthrough_count);
        json_close_map(w);
}

static void
egress_write(struct json_writer *w, const struct spec_egress *entry)
{
        json_open_map(w);
        json_member_text(w, "host", entry->host);
        json_member_bool(w, "wildcard", entry->is_wildcard);
        json_key(w, "ports");
        json_open_list(w);
        for (size_t i = 0; i < entry->port_count; i++)
                json_uint(w, entry->ports[i]);
        json_close_list(w);
        json_close_map(w);
}

static void
network_write(struct json_writer *w, const struct spec *spec)
{
        json_key(w, "network");
        json_open_map(w);
        json_key(w, "egress");
        json_open_list(w);
        for (size_t i = 0; i < spec->egress_count; i++)
                if (!egress_is_host(spec->egress[i].host)) /* those belong to metadata */
                        egress_write(w, &spec->egress[i]);
        json_close_list(w);
        json_close_map(w);
}

static void
source_write(struct json_writer *w, const struct spec_mount *mount)
{
        static const char *const kinds[] = {
                [SPEC_SOURCE_WORKSPACE] = "workspace",
                [SPEC_SOURCE_REF] = "ref",
                [SPEC_SOURCE_FILE] = "file",
                [SPEC_SOURCE_INLINE] = "inline",
        };

        json_key(w, "source");
        json_open_map(w);
        json_member_text(w, "kind", kinds[mount->kind]);
        if (mount->kind == SPEC_SOURCE_REF || mount->kind == SPEC_SOURCE_FILE)
                json_member_text(w, kinds[mount->kind], mount->ref);
        if (mount->kind == SPEC_SOURCE_INLINE) {
                json_member_text(w, "provider", mount->storage_provider);
                json_key(w, "config");
                json_node(w, mount->storage_config);
        }
        json_close_map(w);
}

static void
mounts_write(struct json_writer *w, const struct spec *spec)
{
        json_key(w, "mounts");
        json_open_list(w);
        for (size_t i = 0; i < spec->mount_count; i++) {
                json_open_map(w);
                source_write(w, &spec->mounts[i]);
                json_member_text(w, "at", spec->mounts[i].at);
                json_member_text(w, "mode",
                                 spec->mounts[i].is_read_only ? "read-only" : "read-write");
                json_close_map(w);
        }
        json_close_list(w);
}

static void
lifecycle_write(struct json_writer *w, const struct spec_lifecycle *lifecycle)
{
        json_key(w, "lifecycle");
        json_open_map(w);
        json_key(w, "pause");
        if (lifecycle->pause_event) {
                json_open_map(w);
                json_member_text(w, "event", lifecycle->pause_event);
                limit_write(w, "idle_ms", lifecycle->pause_idle_ms);
                json_close_map(w);
        } else {
                json_none(w);
        }
        json_member_text(w, "destroy_on", lifecycle->destroy_on);
        json_close_map(w);
}

static void
map_write(struct json_writer *w, const char *key, const struct node *map)
{
        json_key(w, key);
        if (map) {
                json_node(w, map);
                return;
        }
        json_open_map(w);
        json_close_map(w);
}

void
spec_norm_write(struct json_writer *w, const struct spec *spec)
{
        json_open_map(w);
        if (spec->id)
                json_member_text(w, "id", spec->id);
        if (spec->version)
                json_member_text(w, "version", spec->version);
        json_member_text(w, "provider", spec->provider);
        map_write(w, "config", spec->config);
        limits_write(w, &spec->limits);
        env_write(w, &spec->env);
        network_write(w, spec);
        mounts_write(w, spec);
        lifecycle_write(w, &spec->lifecycle);
        json_member_bool(w, "read_only", spec->is_read_only);
        map_write(w, "metadata", spec->metadata);
        json_close_map(w);
}
