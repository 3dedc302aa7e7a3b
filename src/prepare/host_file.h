/*
 * prepare/host_file.h - the rules of the host: from a named file, or the defaults for this machine.
 */
#ifndef CARREL_PREPARE_HOST_FILE_H
#define CARREL_PREPARE_HOST_FILE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/host_facts.h"
#include "policy/host_rules.h"
#include "ref/reads.h"
#include "text/tree.h"

struct host_file {
        const char *name;        /* the file that is used, or that an error is about; NULL: none */
        const struct node *tree; /* NULL: no file */
        struct host_rules *rules;
        /* every default place, present or not, with links in its path: no payload may write one */
        struct ref_reads looked;
};

enum host_file_flag {
        /* reduce `local` to `real`: the rules must not promise more than this machine can do */
        HOST_FILE_BOUND = 1u << 0,
        /* the rules serve other users: root's own file is left out, because it permits what root
         * may do */
        HOST_FILE_SHARED = 1u << 1,
};

/*
 * Default places of host files. The user's place is $XDG_CONFIG_HOME/carrel, else ~/.config/carrel;
 * NULL if the environment has neither.
 */
#define HOST_FILE_MACHINE "/etc/carrel/host.yaml"
const char *host_file_users_place(struct arena *arena);

/*
 * Reads the rules. `name` NULL: the machine's file and the user's own file, if they exist, are
 * added to the built-in rules (untrusted manifests, the provider `local` as `real` says). A name:
 * that file alone; if it does not name providers, it has those of this machine. Without
 * HOST_FILE_BOUND its claims are not checked against this machine (to check a manifest for another
 * machine). CARREL_SECRETS_FILE is used if no file names a secrets_file. The files, those they name
 * and the sources of values are added to `reads` (NULL: nothing runs). A user's place that this
 * process may not read counts as empty, since it could only permit more. Errors: those of
 * ref_file_read_trusted(), yaml_read(), host_rules_read() and host_layers_join(); ret->name is then
 * the file they are about.
 */
int host_file_load(struct arena *arena, const char *name, const struct host_ability *real,
                   unsigned flags, struct ref_reads *reads, struct host_file *ret, struct error *e);

/* Is there a file in one of the default places? */
bool host_file_has_default(void);

#endif
