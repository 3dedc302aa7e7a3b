/*
 * prepare/runtime.h - templates: the interpreters of this host, by name and version.
 *
 * A name is letters followed by a version prefix: "python3.13", "python3", "node24", "bash". It
 * selects the newest interpreter whose version begins with those parts. If its files lie outside
 * the directories that every box shows, its directory is mounted as a read-only tool.
 */
#ifndef CARREL_PREPARE_RUNTIME_H
#define CARREL_PREPARE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

enum { RUNTIMES_MAX = 128, RUNTIME_COMMANDS_MAX = 3 };

struct runtime_family {
        const char *name;
        unsigned parts; /* number of version parts in the name it is offered as */
        const char *version_argument;
        /* the command names of programs; inside, each one is the chosen interpreter */
        const char *commands[RUNTIME_COMMANDS_MAX];
};

/* The index-th family, NULL after the last; the family with this name or command, or NULL. */
const struct runtime_family *runtime_family_at(size_t index);
const struct runtime_family *runtime_family_find(const char *name, size_t len);

struct runtime {
        const char *family;  /* "python", "node" */
        const char *version; /* "3.13.1"; "" if unknown */
        const char *path;    /* absolute, the program itself, not a link */
        const char *prefix;  /* directory that must be mounted in the box, or NULL */
};

struct runtimes {
        const struct runtime *items; /* the newest of a family first */
        size_t count;
};

/*
 * Finds the template for `name`. Errors: ERROR_RUNTIME_UNKNOWN, whose hint lists the available
 * ones.
 */
int runtime_find(const struct runtimes *all, const char *name, const struct runtime **ret,
                 struct error *e);

/* The name it is offered as ("python3.13", "node24"), in `arena`; NULL if out of memory. */
const char *runtime_name(struct arena *arena, const struct runtime *runtime);

int runtime_name_write(const struct runtime *runtime, char *out, size_t room);

/* Compares part by part as numbers: below, at or above 0 if `left` is older, the same or newer. */
int runtime_version_compare(const char *left, const char *right);

/* Converts to a tree and back, for prepare_host_pack(). Errors: ERROR_PROTOCOL, ERROR_NO_MEMORY. */
const struct node *runtimes_write(struct arena *arena, const struct runtimes *all);
int runtimes_read(struct arena *arena, const struct node *list, struct runtimes *ret,
                  struct error *e);

#endif
