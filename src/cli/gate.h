/*
 * cli/gate.h - `carrel gate`: the wall without a sandbox.
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

/* -- the list (gate_list.c) -------------------------------------------------------------------- */

struct gate_texts {
        const char **items;
        size_t count;
};

struct gate_list {
        const char *file;
        struct gate_texts allow, private_names; /* as in network.egress */
        struct spec_egress *entries;            /* the same, parsed */
        const struct spec_egress *private_entries;
        struct gate_texts resolvers, networks; /* the host's */
        struct wire_gate_caps caps;
        struct spec_egress_caps caps_max; /* the host's */
        bool is_routed;                   /* the command may use every port (wall/wall.h) */
};

/*
 * Reads the list in `file`: network.egress of a SANDBOX.md or a WORKSPACE.md, or of a block in YAML
 * or JSON; or a map with `egress`, or a list alone. Then checks each entry against the host's rules
 * (`host_file`; NULL: those of a machine without a host file). Everything lives in `arena`. Errors:
 * those of reading, ERROR_EGRESS_INVALID, ERROR_EGRESS_NOT_PERMITTED, ERROR_SCHEMA_INVALID,
 * ERROR_QUOTA_EXCEEDED.
 */
int gate_list_read(struct arena *arena, const char *file, const char *host_file,
                   struct gate_list *ret, const char **ret_about, struct error *e);

/* -- the run (gate_run.c) ---------------------------------------------------------------------- */

enum { GATE_DENIALS_MAX = 256 };

struct gate_denial {
        uint32_t reason;
        uint64_t count, cgroup;
        uint16_t port;
        char host[256], other[256], address[64];
};

struct gate_report {
        struct gate_denial denials[GATE_DENIALS_MAX];
        size_t count;
        uint64_t left_out;
        int status;
        bool is_broken; /* the gate could not be kept running */
};

/* Reads the list again after SIGUSR1; `data` is passed to read(). -1: the old list stays. */
struct gate_again {
        int (*read)(void *data, struct gate_list *ret, struct error *e);
        void *data;
};

/*
 * Runs `argv` behind the wall. Returns 0 with its exit status in *ret; -1 if it did not start.
 * Errors: ERROR_CAPABILITY_UNAVAILABLE, ERROR_BACKEND_FAILED, ERROR_COMMAND_NOT_FOUND, ...
 */
int gate_run(const struct gate_list *list, const struct gate_again *again, char **argv,
             struct gate_report *ret, struct error *e);

/* -- its parts (gate_inside.c) ----------------------------------------------------------------- */

/* The process in the new namespaces that creates the wall, and listeners on request. */
struct gate_inside {
        int pid, link /* WIRE_WALL_LISTEN */, user,
                net /* its namespaces; user -1 if none was created */;
        int sockets[WALL_SOCKETS_MAX];
        size_t socket_count; /* without the stock, which that process keeps */
};

/* Errors: ERROR_CAPABILITY_UNAVAILABLE, ERROR_BACKEND_FAILED. */
int gate_inside_start(const struct wall_wanted *wanted, struct gate_inside *ret, struct error *e);

/* In a child: enters the namespaces. Returns 0 or -errno. */
int gate_inside_enter(const struct gate_inside *inside);

#endif
