/*
 * prepare/host_file.h - the rules of the host: from the file named, or from what this machine is.
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
        const char *name;               /* the file that is used, or that an error is about; NULL: there is none */
        const struct node *tree;        /* NULL: there is none */
        struct host_rules *rules;
        struct ref_reads looked;        /* every default place, there or not, with links on the way: no payload may write one */
};

enum host_file_flag {
        HOST_FILE_BOUND = 1u << 0,      /* cut `local` down to `real`: what runs here must not believe more than the machine can do */
        HOST_FILE_SHARED = 1u << 1,     /* the rules will serve other users: root's own file is left out, because it permits what root may do */
};

/* Where host files are looked for when none is named. The user's: $XDG_CONFIG_HOME/carrel, else ~/.config/carrel; NULL where the environment names neither. */
#define HOST_FILE_MACHINE "/etc/carrel/host.yaml"
const char *host_file_users_place(struct arena *arena);

/*
 * Reads the rules. `name` NULL: the machine's file and the user's own, where they are, added to the built-in rules (untrusted manifests, the provider
 * `local` as `real` says). A name: that file alone; without HOST_FILE_BOUND it is taken at its word (checking a manifest for another machine).
 * CARREL_SECRETS_FILE stands in where no file names a secrets_file. The files, those they name and the sources of values are added to `reads`
 * (NULL: nothing is run). A user's place that is closed to this process counts as empty, since it could only permit.
 * Errors: those of ref_file_read_trusted(), yaml_read(), host_rules_read() and host_layers_join(); ret->name is then the file they are about.
 */
int host_file_load(struct arena *arena, const char *name, const struct host_ability *real, unsigned flags, struct ref_reads *reads,
                   struct host_file *ret, struct error *e);

/* Is there a file at one of the default places? */
bool host_file_has_default(void);

#endif
