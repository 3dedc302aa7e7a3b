/*
 * spec/approve.h - the operations that a manifest or a host file can make wait for a person
 * (metadata.carrel.approve, `approve`).
 *
 * The names are those of api/operation.def, which this room does not include:
 * keeper/approval_test.c compares them. Two have a second name: exec is exec.start, network.set is
 * network. What ends or stops something is left out on purpose, so that it never waits.
 */
#ifndef CARREL_SPEC_APPROVE_H
#define CARREL_SPEC_APPROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SPEC_APPROVE_MAX = 32,
        SPEC_APPROVE_MS = 10 * 60 * 1000, /* default time to answer */
        SPEC_APPROVAL_FROM_MAX = 8        /* requirements of all policies of a sandbox */
};
#define SPEC_APPROVE_RANGE 1000, UINT64_C(86400000)

/* Every name, and NULL at the end. */
extern const char *const spec_approve_words[];

/* The operation that a name of the list means: "exec" is "exec.start". NULL: unknown. */
const char *spec_approve_operation(const char *word);

/* Is this a second name of an operation: exec is exec.start? */
bool spec_approve_is_other_name(const char *word);

/*
 * The action of AIP-39 that an operation is, by its own name ("exec.start"). NULL: none. Source:
 * AIP-39; files are storage of the sandbox.
 */
#define SPEC_ACTION_EXECUTE "sandbox:execute"
#define SPEC_ACTION_EGRESS "sandbox:network-egress"
const char *spec_approve_action(const char *operation);

#endif
