/*
 * ref/rules.h - rules for commands that are in a file of their own: commands: {file: PATH}.
 *
 *     metadata: {carrel: {commands: {file: ./policy.yaml}}}     in a manifest
 *     commands: {file: /etc/carrel/policy.yaml}                 in a host file
 *
 * The reference is replaced by what the file contains, so everything behind it (the judgement, the
 * plan, policy_sha256) sees rules and no file. The file is YAML, or JSON if its name ends with
 * ".json".
 */
#ifndef CARREL_REF_RULES_H
#define CARREL_REF_RULES_H

#include "ref/reads.h"
#include "ref/resolve.h"

/* Does the block name a file of rules, and nothing else? */
bool ref_rules_are_file(const struct manifest *m);

/*
 * Replaces metadata.carrel.commands of m->block by the content of the file that it names; without
 * such a file `m` stays as it is. Each node of the rules has the place of the reference. Errors:
 * those of reference_read(), of the reader and of yaml_read() and json_read(), with the path
 * metadata/carrel/commands/file and the place of the reference; ERROR_REF_UNRESOLVABLE
 * "wrong_kind": the file is no map, or names a file itself; ERROR_NO_MEMORY.
 */
int ref_rules_resolve(struct arena *arena, struct manifest *m, const struct ref_reader *reader,
                      struct error *e);

/*
 * The same for `commands` of the host file *tree, whose path is absolute. The file is added to
 * `reads` (NULL: nothing runs). Errors: as above with the path commands/file, and those of
 * ref_file_read(); ERROR_SCHEMA_INVALID "type": a relative path, or other fields beside `file`.
 */
int ref_rules_of_host(struct arena *arena, const struct node **tree, struct ref_reads *reads,
                      struct error *e);

#endif
