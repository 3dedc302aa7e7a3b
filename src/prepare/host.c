/*
 * prepare/host.c - this host: rules, facts, templates.
 *
 * Room: prepare (joining). Touches: what host_facts_read() touches; the environment
 * (CARREL_SECRETS_FILE).
 * Knows how one process tells another what the host permits. Knows nothing of files: the process
 * that reads them packs a tree.
 *
 *     packed map:  rules: the host file's map (absent: none)    runtimes: list (prepare/runtime.h)
 *                  reads: list of paths    allow: a command (absent: none)
 */
#include "prepare/host.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/facts.h"
#include "prepare/lacking.h"
#include "text/tree_pack.h"

enum { ARENA_MAX = 64 << 20 };

static const struct text_limits packed_limits = { PREPARE_HOST_MAX, 34, 1 << 17 };

static bool
can_limit(const struct host_facts *facts, enum cgroup_controller controller)
{
        const struct cgroup_place *place = &facts->cgroup.place[controller];

        return place->version != 0 && !place->is_limited;
}

struct host_ability
prepare_local_ability(const struct host_facts *facts, bool can_pause)
{
        bool has_namespaces = facts->has_user_ns || facts->is_privileged;

        return (struct host_ability){
                /* without a wall the network stays closed */
                .egress = facts->has_wall ? HOST_EGRESS_LISTED : HOST_EGRESS_CLOSED,
                .is_isolated = has_namespaces && facts->has_seccomp,
                .can_mount = true,
                .can_pause = can_pause, /* a run of one command has nothing to pause */
                .caps_time = true,
                .caps_memory = can_limit(facts, CGROUP_MEMORY),
                /* without a group only per process (RLIMIT_CPU) */
                .caps_cpu = can_limit(facts, CGROUP_CPUACCT),
                .caps_millicores = can_limit(facts, CGROUP_CPU),
                /* by group, else by RLIMIT_NPROC, which the box's own user namespace counts */
                .caps_pids = true,
                .caps_files = true,
                .caps_io = can_limit(facts, CGROUP_IO),
                /* private file systems have a size; the workspace's own disk does not */
                .caps_disk = true,
                .caps_output = true,
        };
}

struct host_ability
prepare_planned_ability(const struct host_facts *facts, bool can_pause)
{
        struct host_ability can = prepare_local_ability(facts, can_pause);

        can.is_isolated = can.caps_memory = can.caps_cpu = can.caps_millicores = can.caps_io = true;
        return can;
}

int
prepare_host_init(struct prepare_host *host, struct error *e)
{
        arena_init(&host->arena, ARENA_MAX);
        return host_facts_read(&host->facts, e);
}

static int
read_paths(struct arena *arena, const struct node *list, struct spec_names *ret, struct error *e)
{
        const char **items = list->kind == NODE_LIST && list->len <= REF_READS_MAX
                                     ? arena_array(arena, const char *, list->len + 1)
                                     : NULL;
        size_t count = 0;

        if (list->kind != NODE_LIST || list->len > REF_READS_MAX)
                return fail(e, ERROR_PROTOCOL, "a list of files read is malformed");
        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for paths");
        node_each(path, list)
        {
                if (path->kind != NODE_STRING || path->text[0] != '/')
                        return fail(e, ERROR_PROTOCOL, "a list of files read is malformed");
                items[count++] = path->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

static int
read_packed(struct prepare_host *host, const void *packed, size_t len,
            const struct node **ret_allow, struct error *e)
{
        const struct node *root, *list, *reads;

        if (tree_unpack(&host->arena, packed, len, &packed_limits, &root, e) < 0)
                return -1;
        *ret_allow = node_find(root, "allow");
        reads = node_find(root, "reads");
        if (reads && read_paths(&host->arena, reads, &host->reads, e) < 0)
                return -1;
        host->tree = node_find(root, "rules");
        list = node_find(root, "runtimes");
        return list ? runtimes_read(&host->arena, list, &host->runtimes, e) : 0;
}

int
prepare_host_read(struct prepare_host *host, const void *packed, size_t len, bool can_pause,
                  struct error *e)
{
        struct host_ability real = prepare_planned_ability(&host->facts, can_pause);
        const char *principal =
                arena_format(&host->arena, "operator://uid-%lu", (unsigned long)getuid());
        const struct node *allow = NULL;

        if (!principal)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        if (packed && read_packed(host, packed, len, &allow, e) < 0)
                return -1;
        if ((host->tree ? host_rules_read(&host->arena, host->tree, principal, &host->rules, e)
                        : host_rules_default(&host->arena, &real, principal, &host->rules, e)) < 0)
                return -1;
        host_rules_bound(host->rules, &real);
        lacking_note(&host->facts, host->rules);
        host->rules->allow = allow && allow->kind == NODE_STRING ? allow->text : NULL;
        if (!host->rules->secrets_file)
                host->rules->secrets_file = getenv("CARREL_SECRETS_FILE");
        return 0;
}

/* A copy of `n` as the last member of a map. */
static int
pack_member(struct arena *arena, struct node *root, const char *key, const struct node *n,
            struct error *e)
{
        struct node *copy = n ? arena_new(arena, struct node) : NULL;
        const struct node **end = &root->first;

        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        *copy = *n;
        copy->key = key;
        copy->next = NULL;
        while (*end)
                end = &((struct node *)(uintptr_t)*end)->next;
        *end = copy;
        root->len++;
        return 0;
}

static const struct node *
pack_paths(struct arena *arena, const struct ref_reads *reads)
{
        struct node *list = arena_new(arena, struct node),
                    *items = arena_array(arena, struct node, reads->count + 1);

        if (!list || !items)
                return NULL;
        for (size_t i = 0; i < reads->count; i++)
                items[i] = (struct node){ .kind = NODE_STRING,
                                          .text = reads->paths[i],
                                          .len = strlen(reads->paths[i]),
                                          .next = i + 1 < reads->count ? &items[i + 1] : NULL };
        *list = (struct node){ .kind = NODE_LIST,
                               .first = reads->count > 0 ? items : NULL,
                               .len = reads->count };
        return list;
}

static int
pack_members(struct arena *arena, const struct prepare_host_source *source, struct node *root,
             struct error *e)
{
        const struct node allow = { .kind = NODE_STRING,
                                    .text = source->allow,
                                    .len = source->allow ? strlen(source->allow) : 0 };

        if (source->tree && pack_member(arena, root, "rules", source->tree, e) < 0)
                return -1;
        if (source->allow && pack_member(arena, root, "allow", &allow, e) < 0)
                return -1;
        if (source->reads &&
            pack_member(arena, root, "reads", pack_paths(arena, source->reads), e) < 0)
                return -1;
        return pack_member(arena, root, "runtimes", runtimes_write(arena, source->runtimes), e);
}

int
prepare_host_pack(struct arena *arena, const struct prepare_host_source *source, const void **ret,
                  size_t *ret_len, struct error *e)
{
        struct node root = { .kind = NODE_MAP };
        size_t len;
        void *bytes;

        if (pack_members(arena, source, &root, e) < 0)
                return -1;
        len = tree_pack_len(&root);
        if (len > PREPARE_HOST_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "the host file is too large for the daemon");
        bytes = arena_alloc(arena, len);
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        tree_pack(&root, bytes);
        *ret = bytes;
        *ret_len = len;
        return 0;
}

int
prepare_host_guard(struct prepare_host *host, const char *state, struct error *e)
{
        char *real = realpath(state, NULL);
        const char *copy = real ? arena_text(&host->arena, real) : NULL;
        int sys = errno;

        if (!real)
                return fail_sys(e, ERROR_STATE_UNUSABLE, sys,
                                "looking at the state directory %.200s", state);
        free(real);
        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        host->state = copy;
        return 0;
}

void
prepare_host_fini(struct prepare_host *host)
{
        arena_fini(&host->arena);
}
