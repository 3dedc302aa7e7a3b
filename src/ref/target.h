/*
 * ref/target.h - what a reference points at, by its words alone.
 *
 *     ./sandbox/main.SANDBOX.md       a path below the workspace
 *     ../shared/team.SANDBOX.md       a path below a sibling workspace that the host knows by that name
 *     @owner/slug                     an entry of the host's registry
 *
 * Source: AIP-36 "Reference resolution"; cases A36-034 to 046.
 */
#ifndef CARREL_REF_TARGET_H
#define CARREL_REF_TARGET_H

#include "base/arena.h"
#include "base/error.h"

enum ref_kind { REF_PATH, REF_SIBLING, REF_SLUG };

struct ref_target {
        enum ref_kind kind;
        const char *sibling;            /* REF_SIBLING: its name */
        const char *path;               /* REF_PATH, REF_SIBLING: without the leading "./"; never climbs out by its words */
        const char *slug;               /* REF_SLUG */
};

/*
 * Reads a reference to a file called `name` or ending in ".<name>" ("SANDBOX.md"). Texts live in `arena`.
 * Errors: ERROR_REF_UNRESOLVABLE invalid_form or outside_workspace, ERROR_NO_MEMORY.
 */
int ref_target_read(struct arena *arena, const char *text, const char *name, struct ref_target *ret, struct error *e);

#endif
