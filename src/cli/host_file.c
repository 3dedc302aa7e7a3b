/*
 * cli/host_file.c - the rules of the host: from the file named, or from what this machine is.
 *
 * Room: cli (joining, program). Touches: fd, the environment (CARREL_SECRETS_FILE).
 * Knows where rules come from. Knows nothing of what they decide.
 */
#include "cli/host_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ref/file.h"
#include "text/json.h"
#include "text/yaml.h"

enum { HOST_FILE_MAX = 1024 * 1024 };

static const struct text_limits host_limits = { HOST_FILE_MAX, 32, 65536 };

static bool
can_limit(const struct host_facts *facts, enum cgroup_controller controller)
{
        const struct cgroup_place *place = &facts->cgroup.place[controller];

        return place->version != 0 && !place->is_limited;
}

struct host_ability
host_file_local_ability(const struct host_facts *facts)
{
        bool has_namespaces = facts->has_user_ns || facts->is_privileged;

        return (struct host_ability){
                .tier = "T1",
                .egress = HOST_EGRESS_CLOSED,   /* no gate: the door stays shut */
                .is_isolated = has_namespaces && facts->has_seccomp,
                .can_mount = true,
                .can_pause = false,             /* one command and its end: there is nothing to pause */
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

static int
read_tree(struct arena *arena, const char *name, const struct node **ret, struct error *e)
{
        size_t name_len = strlen(name);
        const char *bytes;
        size_t len;

        if (ref_file_read(arena, name, HOST_FILE_MAX, &bytes, &len, e) < 0)
                return -1;
        if (name_len > 5 && strcmp(name + name_len - 5, ".json") == 0)
                return json_read(arena, bytes, len, &host_limits, ret, e);
        return yaml_read(arena, bytes, len, 1, &host_limits, ret, e);
}

int
host_file_load(struct arena *arena, const char *name, const struct host_ability *real, bool is_bound,
               struct host_file *ret, struct error *e)
{
        const char *principal = arena_format(arena, "operator://uid-%lu", (unsigned long)getuid());

        if (!principal)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        *ret = (struct host_file){ .name = name };
        if (!name) {
                if (host_rules_default(arena, real, principal, &ret->rules, e) < 0)
                        return -1;
        } else {
                if (read_tree(arena, name, &ret->tree, e) < 0
                    || host_rules_read(arena, ret->tree, principal, &ret->rules, e) < 0)
                        return -1;
                if (is_bound)
                        host_rules_bound(ret->rules, "local", real);
        }
        if (!ret->rules->secrets_file)
                ret->rules->secrets_file = getenv("CARREL_SECRETS_FILE");
        return 0;
}
