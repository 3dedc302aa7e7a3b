/*
 * cli/gate.h - the wall without a sandbox: what `carrel gate` is made of.
 */
#ifndef CARREL_CLI_GATE_H
#define CARREL_CLI_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "spec/egress.h"
#include "spec/spec.h"
#include "wire/gate.h"

/* -- the list (gate_list.c) ------------------------------------------------------------------------------------------ */

struct gate_texts { const char **items; size_t count; };

struct gate_list {
        const char *file;
        struct gate_texts allow, private_names;        /* as network.egress writes them */
        struct spec_egress *entries;                   /* the same, read */
        const struct spec_egress *private_entries;
        struct gate_texts resolvers, networks;         /* of the host */
        struct wire_gate_caps caps;
        struct spec_egress_caps caps_max;              /* of the host */
        bool is_routed;                                /* the command has every port for itself (wall/wall.h) */
};

/*
 * Reads the list in `file`: network.egress of a SANDBOX.md or a WORKSPACE.md, or of a block in YAML or JSON; or a map with `egress`, or a list alone. Then asks the rules of the
 * host (`host_file`, NULL: those of a machine without one) whether each may be asked for. Everything lives in `arena`.
 * Errors: those of reading, ERROR_EGRESS_INVALID, ERROR_EGRESS_NOT_PERMITTED, ERROR_SCHEMA_INVALID, ERROR_QUOTA_EXCEEDED.
 */
int gate_list_read(struct arena *arena, const char *file, const char *host_file, struct gate_list *ret, const char **ret_about, struct error *e);

/* -- the run (gate_run.c) -------------------------------------------------------------------------------------------- */

enum { GATE_DENIALS_MAX = 256 };

struct gate_denial { uint32_t reason; uint64_t count, cgroup; uint16_t port; char host[256], other[256], address[64]; };

struct gate_report { struct gate_denial denials[GATE_DENIALS_MAX]; size_t count; uint64_t left_out; int status; bool is_broken; /* the gate could not be kept running */ };

/* Reads the list anew, for SIGUSR1; `data` as it was given. -1: what there was stays. */
struct gate_again { int (*read)(void *data, struct gate_list *ret, struct error *e); void *data; };

/* Runs `argv` behind the wall. 0 with its exit status in *ret; -1 where it did not start. Errors: ERROR_CAPABILITY_UNAVAILABLE, ERROR_BACKEND_FAILED, ERROR_COMMAND_NOT_FOUND, ... */
int gate_run(const struct gate_list *list, const struct gate_again *again, char **argv, struct gate_report *ret, struct error *e);

/* -- its parts (gate_inside.c) --------------------------------------------------------------------------------------- */

/* The process inside the new namespaces that makes the wall, and listeners when they are asked for. */
struct gate_inside { int pid, link /* WIRE_WALL_LISTEN */, user, net /* its namespaces; user -1 where none was made */; int sockets[WALL_SOCKETS_MAX]; size_t socket_count; /* without the stock, which that process keeps */ };

/* Errors: ERROR_CAPABILITY_UNAVAILABLE, ERROR_BACKEND_FAILED. */
int gate_inside_start(const struct wall_wanted *wanted, struct gate_inside *ret, struct error *e);

/* In a child: goes inside. 0 or -errno. */
int gate_inside_enter(const struct gate_inside *inside);

#endif
