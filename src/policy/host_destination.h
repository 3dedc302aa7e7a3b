/*
 * policy/host_destination.h - does this host permit a request for a destination?
 */
#ifndef CARREL_POLICY_HOST_DESTINATION_H
#define CARREL_POLICY_HOST_DESTINATION_H

#include "policy/host_rules.h"

enum host_destination {
        HOST_DESTINATION_PERMITTED,
        /* the host has a list (egress_allowed), and no entry covers this */
        HOST_DESTINATION_NOT_LISTED,
        /* a loopback port of the host that the host file does not list */
        HOST_DESTINATION_HOST_PORT,
        /* a name under localhost, local, internal, ... that the host file does not list */
        HOST_DESTINATION_PRIVATE,
};

/*
 * Judges one entry of a network.egress from any source: a manifest, a policy of `carrel gate`, a
 * change to a running sandbox's list. Source: A36-110 to 118.
 */
enum host_destination host_destination_judge(const struct host_rules *rules,
                                             const struct spec_egress *entry);

/*
 * For a refusal: the reason ("not_in_host_allowlist", ...) and the words that follow the entry in
 * the sentence.
 */
const char *host_destination_reason(enum host_destination d);
const char *host_destination_words(enum host_destination d);

#endif
