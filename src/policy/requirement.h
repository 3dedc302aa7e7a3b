/*
 * policy/requirement.h - requirements of AIP-38 policies: `approval-from`, the only kind that is
 * known.
 *
 *     requirements:
 *       - kind: approval-from
 *         principal: user://ann          # or a list: one of them answers
 *         actions: ["sandbox:execute"]   # default: every action
 *
 * Requirements of all policies must hold: with two, somebody of each must approve. AIP-38 names the
 * kind and not its members; `principal` and `actions` are used as in a grant, `from` is another
 * name of `principal`. A requirement with any other member, or of another kind, never holds.
 */
#ifndef CARREL_POLICY_REQUIREMENT_H
#define CARREL_POLICY_REQUIREMENT_H

#include "base/arena.h"
#include "spec/spec.h"
#include "text/tree.h"

/*
 * Reads one requirement; its lists live in `arena`, its texts in the tree. 0, or -1: it is not
 * understood (also: no memory, more than 16 parties or actions, `user://current`).
 */
int requirement_read(struct arena *arena, const struct node *n, struct spec_approval_from *ret);

/*
 * Adds the approvals that this policy body requires to `items`, which has room for
 * SPEC_APPROVAL_FROM_MAX, and counts them. -1: more. What is not understood is left out:
 * grant_decide() refuses it.
 */
int requirement_collect(struct arena *arena, const struct node *body,
                        struct spec_approval_from *items, size_t *count);

/* Could an entry of `policy` (NULL: none) that was not judged require an approval? */
bool requirement_may_be_in(const struct node *policy);

#endif
