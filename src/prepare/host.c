/*
 * prepare/host.c - this host: rules, facts, templates.
 *
 * Room: prepare (joining). Touches: what host_facts_read() touches; the environment (CARREL_SECRETS_FILE).
 * Knows how one process tells another what the host permits. Knows nothing of files: who reads them packs a tree.
 *
 *     packed map:  rules: the host file's map (absent: none)    runtimes: list (prepare/runtime.h)
 */
#include "prepare/host.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/facts.h"
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
                .tier = "T1",
                .egress = facts->has_wall ? HOST_EGRESS_LISTED : HOST_EGRESS_CLOSED,   /* without a wall the door stays shut */
                .is_isolated = has_namespaces && facts->has_seccomp,
                .can_mount = true,
                .can_pause = can_pause,         /* one command and its end have nothing to pause */
                .caps_time = true,
                .caps_memory = can_limit(facts, CGROUP_MEMORY),
                .caps_cpu = can_limit(facts, CGROUP_CPUACCT),   /* without a group only each process by itself (RLIMIT_CPU) */
                .caps_millicores = can_limit(facts, CGROUP_CPU),
                .caps_pids = true,              /* by group, else by RLIMIT_NPROC, which a box's own user namespace counts */
                .caps_files = true,
                .caps_io = can_limit(facts, CGROUP_IO),
                .caps_disk = true,              /* private file systems are sized; the workspace's own disk is not */
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
read_packed(struct prepare_host *host, const void *packed, size_t len, struct error *e)
{
        const struct node *root, *list;

        if (tree_unpack(&host->arena, packed, len, &packed_limits, &root, e) < 0)
                return -1;
        host->tree = node_find(root, "rules");
        list = node_find(root, "runtimes");
        return list ? runtimes_read(&host->arena, list, &host->runtimes, e) : 0;
}

int
prepare_host_read(struct prepare_host *host, const void *packed, size_t len, bool can_pause, struct error *e)
{
        struct host_ability real = prepare_planned_ability(&host->facts, can_pause);
        const char *principal = arena_format(&host->arena, "operator://uid-%lu", (unsigned long)getuid());

        if (!principal)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        if (packed && read_packed(host, packed, len, e) < 0)
                return -1;
        if ((host->tree ? host_rules_read(&host->arena, host->tree, principal, &host->rules, e)
                        : host_rules_default(&host->arena, &real, principal, &host->rules, e)) < 0)
                return -1;
        host_rules_bound(host->rules, "local", &real);
        if (!host->rules->secrets_file)
                host->rules->secrets_file = getenv("CARREL_SECRETS_FILE");
        return 0;
}

int
prepare_host_pack(struct arena *arena, const struct node *tree, const struct runtimes *runtimes, const void **ret, size_t *ret_len, struct error *e)
{
        struct node *root = arena_new(arena, struct node), *rules = arena_new(arena, struct node);
        const struct node *list = runtimes_write(arena, runtimes);
        struct node *last = arena_new(arena, struct node);
        size_t len;
        void *bytes;

        if (!root || !rules || !list || !last)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        *last = *list;
        last->key = "runtimes";
        *rules = tree ? *tree : (struct node){ .kind = NODE_MAP };
        rules->key = "rules";
        rules->next = last;
        *root = (struct node){ .kind = NODE_MAP, .first = tree ? rules : last, .len = tree ? 2 : 1 };
        len = tree_pack_len(root);
        if (len > PREPARE_HOST_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "the host file is too large for the daemon");
        bytes = arena_alloc(arena, len);
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        tree_pack(root, bytes);
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
                return fail_sys(e, ERROR_STATE_UNUSABLE, sys, "looking at the state directory %.200s", state);
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
