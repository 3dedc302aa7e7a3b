/*
 * prepare/host.h - this host, as every sandbox of one process is judged and planned against: rules, facts, templates.
 *
 * `carrel run` fills it from a host file; the launcher of the daemon reads the file once and hands the keeper a packed tree,
 * because the keeper links no reader of text. Facts are read once, before privileges are let go: they say what the maker will have.
 */
#ifndef CARREL_PREPARE_HOST_H
#define CARREL_PREPARE_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/host_facts.h"
#include "policy/host_rules.h"
#include "prepare/runtime.h"
#include "ref/reads.h"
#include "text/tree.h"

enum { PREPARE_HOST_MAX = 4 << 20 };            /* bytes of a packed host */

struct prepare_host {
        struct arena arena;                     /* rules and templates live here */
        struct host_facts facts;
        const struct node *tree;                /* the host file, or NULL: defaults */
        struct host_rules *rules;
        struct runtimes runtimes;
        struct spec_names reads;                /* absolute paths of what was read for the rules: read-only in every box */
        const char *home, *xdg;                 /* HOME and XDG_CONFIG_HOME of who runs this, for sandboxes of that user; borrowed, or NULL */
        const char *volumes;                    /* absolute: the state directory with the volumes of every owner; borrowed; NULL: nothing says where */
        const char *state;                      /* real path of a daemon's state directory, which no mount may show; NULL: none */
};

/* What the provider `local` can enforce, given these facts. `can_pause`: whoever asks can freeze a box and thaw it again. */
struct host_ability prepare_local_ability(const struct host_facts *facts, bool can_pause);

/* The same for who plans afterwards: the planner warns of each limit with the reason at hand, and refuses a host that cannot isolate. */
struct host_ability prepare_planned_ability(const struct host_facts *facts, bool can_pause);

/*
 * Reads facts, before privileges are let go. `host` is zeroed, and ended with prepare_host_fini() also after a failure.
 * Errors: as host_facts_read().
 */
int prepare_host_init(struct prepare_host *host, struct error *e);

/*
 * Fills rules and templates from what prepare_host_pack() gave (borrows nothing), NULL: the defaults of a machine without a host
 * file, and no template. `can_pause` as above. The file's provider `local` is cut down to what this machine can do, except limits,
 * which the planner warns of. Errors: ERROR_PROTOCOL, those of host_rules_read().
 */
int prepare_host_read(struct prepare_host *host, const void *packed, size_t len, bool can_pause, struct error *e);

struct prepare_host_source {
        const struct node *tree;                /* the host file, or NULL */
        const char *allow;                      /* as in struct host_rules, or NULL */
        const struct ref_reads *reads;          /* what was read for it: no payload may write one; or NULL */
        const struct runtimes *runtimes;
};

/* Packs a host for another process. Gives bytes in `arena`. Errors: ERROR_NO_MEMORY, ERROR_QUOTA_EXCEEDED. */
int prepare_host_pack(struct arena *arena, const struct prepare_host_source *source, const void **ret, size_t *ret_len, struct error *e);

/* Keeps a state directory out of every box: its sockets, its token and its records are the daemon's. Errors: ERROR_STATE_UNUSABLE, ERROR_NO_MEMORY. */
int prepare_host_guard(struct prepare_host *host, const char *state, struct error *e);

void prepare_host_fini(struct prepare_host *host);

#endif
