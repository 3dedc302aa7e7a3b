/*
 * prepare/runtime.h - templates: the interpreters of this host, by name and version.
 *
 * "python3.13", "python3", "node24", "bash": letters, then a version whose parts are a beginning of the interpreter's own. The newest that
 * fits is meant. One whose files lie outside what every box shows brings its directory in as a read-only tool.
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
        unsigned parts;                /* of the version, in the name it is offered under */
        const char *version_argument;
        const char *commands[RUNTIME_COMMANDS_MAX];    /* what programs call it; inside each of them is the chosen one */
};

/* One after another, NULL at the end; the one of this name or command, or NULL. */
const struct runtime_family *runtime_family_at(size_t index);
const struct runtime_family *runtime_family_find(const char *name, size_t len);

struct runtime {
        const char *family;            /* "python", "node" */
        const char *version;           /* "3.13.1"; "" where it does not say */
        const char *path;              /* absolute, the program itself, no link */
        const char *prefix;            /* directory a box has to be given, or NULL */
};

struct runtimes {
        const struct runtime *items;   /* the newest of a family first */
        size_t count;
};

/* The template that `name` means. Errors: ERROR_RUNTIME_UNKNOWN, whose hint lists those that are. */
int runtime_find(const struct runtimes *all, const char *name, const struct runtime **ret, struct error *e);

/* The name it is offered under ("python3.13", "node24"), in `arena`; NULL without memory. */
const char *runtime_name(struct arena *arena, const struct runtime *runtime);

int runtime_name_write(const struct runtime *runtime, char *out, size_t room);

/* Part by part as numbers: below, at or above 0 as `left` is older, the same or newer. */
int runtime_version_compare(const char *left, const char *right);

/* A tree and back, for prepare_host_pack(). Errors: ERROR_PROTOCOL, ERROR_NO_MEMORY. */
const struct node *runtimes_write(struct arena *arena, const struct runtimes *all);
int runtimes_read(struct arena *arena, const struct node *list, struct runtimes *ret, struct error *e);

#endif
