/*
 * plan/spawn.c - the namespaces of a box, and the ids and names inside.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 */
#include <sched.h>
#include <string.h>

#include "plan/builder.h"
#include "plan/wall.h"

/* Half of the kernel's usual number of instances per user, and watches for a large project. */
enum { INOTIFY_INSTANCES = 64, INOTIFY_WATCHES = 65536 };
/* the process that started it ends it long before this, unless it is stopped itself */
enum { LAST_RESORT_MS = 1000, BOOT_MS = 120000 };

struct namespace_row {
        uint64_t flag;
        enum plan_switch part;
};

/* With a container runtime: the others are the runtime's. */
enum {
        CONTAINER_NAMESPACES = CLONE_NEWNS | CLONE_NEWNET,
        NESTED_NAMESPACES = CONTAINER_NAMESPACES | CLONE_NEWUSER | CLONE_NEWPID
};

static const struct namespace_row namespaces[] = {
        { CLONE_NEWUSER, SWITCH_USER_NS },     { CLONE_NEWNS, 0 },
        { CLONE_NEWPID, SWITCH_PID },          { CLONE_NEWIPC, SWITCH_IPC },
        { CLONE_NEWUTS, SWITCH_UTS },          { CLONE_NEWNET, SWITCH_NET },
        { CLONE_NEWCGROUP, SWITCH_CGROUP_NS },
};

static void
map(struct builder *b, enum step_op op, uint32_t inside, uint32_t outside, const char *why)
{
        struct step *s = builder_add(b, op, "", why);

        s->number = b->request->has_range ? 0 : inside;
        s->number2 = outside;
        s->flags |= b->request->has_range ? STEP_RANGE : 0u;
}

/* Of the namespaces that are made outside of the container. */
static void
map_container(struct builder *b)
{
        const char *why = builder_is_nested(b)
                                  ? "for the relay and the runtime, as root of this namespace alone"
                                  : "for the set-up by the runtime; no command has it";
        uint32_t uid = b->request->setup_id, gid = uid;

        if (builder_is_nested(b)) {
                uid = b->request->outside_uid;
                gid = b->request->outside_gid;
        }
        map(b, STEP_MAP_UID, 0, uid, why);
        map(b, STEP_MAP_GID, 0, gid, why);
}

void
builder_names(struct builder *b)
{
        struct step *s;

        if (!builder_has(b, SWITCH_UTS))
                return;
        s = builder_add(b, STEP_HOSTNAME, "", "the host's name stays outside");
        s->text = "carrel";
        s->text_len = strlen(s->text);
}

void
builder_pools(struct builder *b)
{
        struct step *s;

        if (builder_has(b, SWITCH_FILTER))
                /* the runtime is in one, and pid 1 of its container, before there is a command */
                builder_add(b, STEP_NO_USER_NS, "",
                            "second to the filter: no nested user namespace")
                        ->number = builder_is_nested(b) ? 2 : 0;
        if (builder_has(b, SWITCH_RLIMITS)) {
                s = builder_add(
                        b, STEP_USER_POOLS, "",
                        "not the caller's whole pool, nor that of the caller's other sandboxes");
                s->number = INOTIFY_INSTANCES;
                s->number2 = INOTIFY_WATCHES;
        }
}

void
builder_spawn(struct builder *b)
{
        const char *why = b->request->has_range
                                  ? "the files of an image belong to its users; outside, their ids "
                                    "are reserved for this sandbox"
                                  : "the sandbox has one id, which is the caller's outside";
        struct step *spawn;

        if (builder_has(b, SWITCH_RESET))
                (void)builder_add(b, STEP_PRIORITY, "",
                                  "what the caller has of priority is not handed on");
        spawn = builder_add(b, STEP_SPAWN, "", "a box of its own for every sandbox");
        if (b->request->timeout_ms > 0 &&
            b->request->timeout_ms <= UINT64_MAX - LAST_RESORT_MS - BOOT_MS)
                spawn->number2 = b->request->timeout_ms + LAST_RESORT_MS +
                                 (b->request->machine ? BOOT_MS : 0);
        for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
                if (builder_has(b, namespaces[i].part))
                        spawn->number |= namespaces[i].flag;
        if (b->request->container)
                spawn->number &= builder_is_nested(b) ? NESTED_NAMESPACES : CONTAINER_NAMESPACES;
        if (b->request->container && !b->request->has_range)
                map_container(b);
        if (!builder_is_nested(b)) {
                map(b, STEP_MAP_UID, builder_uid(b), b->request->outside_uid, why);
                map(b, STEP_MAP_GID, builder_uid(b), b->request->outside_gid, why);
        }
        if (b->request->machine)
                return; /* no process of QEMU's box needs more */
        builder_names(b);
        if (builder_has(b, SWITCH_NET))
                (void)builder_add(b, STEP_LOOPBACK, "",
                                  "programs may talk to themselves on localhost");
        if (builder_has(b, SWITCH_NET) && plan_has_wall(b->spec, b->facts)) {
                builder_wall(b);
        } else if (builder_has(b, SWITCH_NET)) {
                (void)builder_add(b, STEP_NO_NAMES, "",
                                  "nothing is listed: each name is refused at once, and reported");
                (void)builder_add(b, STEP_LOW_PORTS, "",
                                  "a server inside may listen on every port, as in a container");
        }
        /* the user namespace that a runtime makes has no process that may limit it */
        if (!b->request->container || builder_is_nested(b))
                builder_pools(b);
}
