/*
 * policy/host_destination.h - may a destination be asked for on this host at all?
 */
#ifndef CARREL_POLICY_HOST_DESTINATION_H
#define CARREL_POLICY_HOST_DESTINATION_H

#include "policy/host_rules.h"

enum host_destination {
        HOST_DESTINATION_PERMITTED,
        HOST_DESTINATION_NOT_LISTED,   /* the host has a list (egress_allowed), and nothing on it covers this */
        HOST_DESTINATION_HOST_PORT,    /* a port of the host's loopback that the host did not list */
        HOST_DESTINATION_PRIVATE,      /* a name under localhost, local, internal, ... that the host did not name */
};

/* Judges one entry of a network.egress, whoever wrote it: a manifest, a policy of `carrel gate`, a change of a living list. Source: A36-110 to 118. */
enum host_destination host_destination_judge(const struct host_rules *rules, const struct spec_egress *entry);

/* For a refusal: "not_in_host_allowlist" and the like, and the end of a sentence that begins with the entry. */
const char *host_destination_reason(enum host_destination d);
const char *host_destination_words(enum host_destination d);

#endif
