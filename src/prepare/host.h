/*
 * prepare/host.h - the host's rules, facts and templates, against which every sandbox of one
 * process is judged and planned.
 *
 * `carrel run` fills it from a host file. For the daemon, the launcher reads the file once and
 * sends the keeper a packed tree, because the keeper links no text parser. Facts are read once,
 * before privileges are dropped: they say what the maker can do.
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

enum { PREPARE_HOST_MAX = 4 << 20 }; /* bytes of a packed host */

struct prepare_host {
        struct arena arena; /* rules and templates live here */
        struct host_facts facts;
        const struct node *tree; /* the host file, or NULL: defaults */
        struct host_rules *rules;
        struct runtimes runtimes;
        struct spec_names
                reads; /* absolute paths of what was read for the rules: read-only in every box */
        /* HOME and XDG_CONFIG_HOME of the user that runs this process, for that user's
         * sandboxes; borrowed, or NULL */
        const char *home, *xdg;
        /* absolute: the state directory with the volumes of all owners; borrowed; NULL: unknown */
        const char *volumes;
        /* program_init_id() of the program that a saved machine has in it; borrowed; NULL: unknown,
         * and no machine is saved */
        const char *guest;
        /* real path of a directory that is empty inside each mount which contains it; NULL: none */
        const char *hidden;
        const char *state; /* real path of a daemon's state directory, which no mount may show;
                              NULL: none */
};

/*
 * What the provider `local` can enforce, given these facts. `can_pause`: the caller can freeze and
 * thaw a box.
 */
struct host_ability prepare_local_ability(const struct host_facts *facts, bool can_pause);

/*
 * The same for a caller that plans afterwards: the planner warns of each limit with its reason, and
 * refuses a host that cannot isolate.
 */
struct host_ability prepare_planned_ability(const struct host_facts *facts, bool can_pause);

/*
 * Reads facts, before privileges are dropped. `host` is zeroed; call prepare_host_fini() on it,
 * also after a failure. Errors: as host_facts_read().
 */
int prepare_host_init(struct prepare_host *host, struct error *e);

/*
 * Fills rules and templates from the bytes of prepare_host_pack() (borrows nothing). NULL: the
 * defaults of a machine without a host file, and no template. `can_pause` as above. The file's
 * provider `local` is reduced to what this machine can do, except limits, of which the planner
 * warns. Errors: ERROR_PROTOCOL, those of host_rules_read().
 */
int prepare_host_read(struct prepare_host *host, const void *packed, size_t len, bool can_pause,
                      struct error *e);

struct prepare_host_source {
        const struct node *tree; /* the host file, or NULL */
        const char *allow;       /* as in struct host_rules, or NULL */
        /* files that were read for it, which no payload may write; or NULL */
        const struct ref_reads *reads;
        const struct runtimes *runtimes;
};

/*
 * Packs a host for another process. The bytes are in `arena`. Errors: ERROR_NO_MEMORY,
 * ERROR_QUOTA_EXCEEDED.
 */
int prepare_host_pack(struct arena *arena, const struct prepare_host_source *source,
                      const void **ret, size_t *ret_len, struct error *e);

/*
 * Keeps a state directory out of every box: its sockets, token and records belong to the daemon.
 * Errors: ERROR_STATE_UNUSABLE, ERROR_NO_MEMORY.
 */
int prepare_host_guard(struct prepare_host *host, const char *state, struct error *e);

void prepare_host_fini(struct prepare_host *host);

#endif
