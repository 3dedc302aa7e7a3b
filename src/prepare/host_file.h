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
        const char *name;               /* NULL: there is none */
        const struct node *tree;        /* NULL: there is none */
        struct host_rules *rules;
};

/*
 * Reads the rules. `name` NULL: untrusted manifests, the provider `local` as `real` says. With a name and `is_bound`,
 * the file's `local` is cut down to `real`: what runs here must not believe more than the machine can do; without,
 * the file is taken at its word (checking a manifest for another machine). CARREL_SECRETS_FILE stands in where the file names no
 * secrets_file. The file, those it names and the sources of values are added to `reads` (NULL: nothing is run). Errors: those of ref_file_read(), yaml_read() and host_rules_read().
 */
int host_file_load(struct arena *arena, const char *name, const struct host_ability *real, bool is_bound, struct ref_reads *reads,
                   struct host_file *ret, struct error *e);

/* The file alone, as a tree in `arena`. Errors: those of ref_file_read(), yaml_read() and json_read(). */
int host_file_tree(struct arena *arena, const char *name, struct ref_reads *reads, const struct node **ret, struct error *e);

#endif
