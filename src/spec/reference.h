/*
 * spec/reference.h - the three forms in which one file points to another. It works on text only and
 * opens nothing.
 *
 *     ./sandbox/main.SANDBOX.md      a path in this workspace
 *     ../common/team.SANDBOX.md      a path in a sibling workspace that the host knows by name
 *     @owner/slug                    an entry of a registry
 *
 * "//" and "." collapse. ".." after the first component is resolved in the text, and never above
 * the workspace it started in. Source: AIP-36 "Reference resolution", cases A36-034 to 046.
 */
#ifndef CARREL_SPEC_REFERENCE_H
#define CARREL_SPEC_REFERENCE_H

#include "base/arena.h"
#include "base/error.h"

enum reference_kind { REFERENCE_PATH, REFERENCE_SIBLING, REFERENCE_SLUG };

struct reference {
        enum reference_kind kind;
        const char *path; /* PATH, SIBLING: relative to that workspace, normalised, never empty */
        const char *sibling;      /* SIBLING: its name, one component */
        const char *owner, *slug; /* SLUG */
};

/*
 * Reads `text`. `file_name` is the required name of the target, "SANDBOX.md" (then also
 * x.SANDBOX.md), or NULL for any name. Strings live in the arena. Errors: ERROR_REF_UNRESOLVABLE
 * with invalid_form, outside_workspace or wrong_kind (the caller sets the path in the error);
 * ERROR_NO_MEMORY.
 */
int reference_read(struct arena *arena, const char *text, const char *file_name,
                   struct reference *ret, struct error *e);

#endif
