/*
 * plan/builder.h - a plan under construction: the state that the parts of the room share while they
 * add steps.
 */
#ifndef CARREL_PLAN_BUILDER_H
#define CARREL_PLAN_BUILDER_H

#include "plan/plan.h"

struct builder {
        struct arena *arena;
        const struct spec *spec;
        const struct host_facts *facts;
        const struct plan_request *request;
        struct findings *findings;
        struct step *steps;
        size_t count, room;
        struct step scratch; /* receives steps after the builder is full; never part of the plan */
        struct plan *plan;
        bool is_full; /* more than PLAN_STEPS_MAX steps, or out of memory */
};

/*
 * Adds a step and gives it to be filled in. Once the builder is full it gives a scratch step. Never
 * NULL.
 */
struct step *builder_add(struct builder *b, enum step_op op, const char *path, const char *why);

/* Is this defence enabled? Always true in the shipped program. */
bool builder_has(const struct builder *b, enum plan_switch part);

/*
 * With a container runtime, for an ordinary user: the runtime is started in a user namespace and a
 * pid namespace of Carrel's, with the caller's id as its root.
 */
bool builder_is_nested(const struct builder *b);

/*
 * Formats a string in the builder's arena. Gives "" when out of memory (the builder is then full).
 */
const char *builder_text(struct builder *b, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* uid and gid of the payload, inside. */
uint32_t builder_uid(const struct builder *b);

/* The parts, in the order plan_build() calls them. */
void builder_limits(struct builder *b); /* limits.c: groups and what cannot be enforced; HOST */
/*
 * limits.c: has a v2 group of its own and one for each exec; pid 1 keeps a forked child ready
 * there, which counts as a task
 */
bool builder_is_kept_in_group(const struct builder *b);
/* limits.c: limits.pids plus Carrel's own processes */
uint64_t builder_tasks(const struct builder *b);
/* limits.c: the limit of tasks once the container runtime has ended; BOX */
void builder_tasks_again(struct builder *b);
/* limits.c: does the manifest write metadata.carrel.limits.NAME? */
bool builder_is_written(const struct spec *spec, const char *name);
void builder_sources(struct builder *b); /* mounts.c: guarded names, mapped trees; HOST */
void builder_layers(struct builder *b);  /* rootfs.c: holds the layers of an image; HOST */
void builder_image(struct builder *b);   /* root.c: the image of the private places; HOST */
void
builder_spawn(struct builder *b); /* spawn.c: namespaces, ids, names; end of HOST, start of BOX */
/* container.c: what a container runtime does instead; nothing without one */
void builder_runtime(struct builder *b);   /* HOST, before the SPAWN step */
void builder_container(struct builder *b); /* BOX, in place of the ENTER step */
/* container.c: its config.json, after all other steps */
void builder_container_config(struct builder *b);
/* machine.c: QEMU's own box, and the root inside its machine; BOX, in place of those above */
void builder_machine(struct builder *b);
void builder_names(struct builder *b);   /* spawn.c: the name of the host inside; BOX */
void builder_pools(struct builder *b);   /* spawn.c: no nested namespace, inotify; BOX */
void builder_wall(struct builder *b);    /* wall.c: every address local, listeners; BOX, by
                                            builder_spawn(); of a machine HOST */
void builder_root(struct builder *b);    /* root.c: the new root, /etc, /dev, /proc; BOX */
void builder_scratch(struct builder *b); /* root.c: the file systems of private places; BOX */
/* rootfs.c: index of the first source that belongs to an image; all sources come before it */
size_t builder_first_layer(const struct builder *b);
/* rootfs.c: an image as the root; BOX, by builder_root() */
void builder_rootfs(struct builder *b);
/* mounts.c: an outer mount before those beneath it; NULL: no memory, and the plan is full */
const struct plan_mount **builder_sorted_mounts(struct builder *b);
void builder_mounts(struct builder *b); /* mounts.c: the manifest's mounts and tools; BOX */
/* share.c: marks what such sandboxes have in common; BOX, after builder_mounts() */
void builder_share(struct builder *b);
void builder_enter(struct builder *b);  /* root.c: pivot, seal; BOX */
void builder_harden(struct builder *b); /* harden.c: GUEST */
/* harden.c: the names of a DROP_CAPS step's number, as items of an open list */
void builder_capabilities(struct json_writer *w, uint64_t mask);

#endif
