/*
 * egress/admit.h - may this connection leave, and if not, why, in words that help.
 *
 * Deciding, pure. The destination of a connection is the name for which its address was given out, never the address. Four names must agree, and each is read by
 * egress_host_read() into one struct, which the matcher and the dialler share: there is no second parser that could read it otherwise.
 * Source: DESIGN "The gate"; AIP-36 network; groups H of the attacks.
 */
#ifndef CARREL_EGRESS_ADMIT_H
#define CARREL_EGRESS_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "egress/rules.h"
#include "spec/egress.h"

/* DENIAL(NAME, "wire name", "sentence with %s for host:port", "what to do") in egress/denials.def: one row each. */
enum denial {
        DENIAL_NONE,
#define DENIAL(name, wire, sentence, hint) DENIAL_##name,
#include "egress/denials.def"
#undef DENIAL
        DENIAL_MAX
};

struct egress_host { char text[EGRESS_HOST_MAX + 1]; };        /* canonical, or "" */

struct egress_policy {
        const struct spec_egress *allow;          size_t allow_count;
        const struct spec_egress *private_names;  size_t private_count;
        uint32_t generation;
        struct rules allow_rules, private_rules;        /* the same, to be found; without them nothing is permitted */
};

/* Makes the rules of its two lists, which are borrowed. 0, or -1 without memory. */
int admit_policy_make(struct arena *arena, struct egress_policy *p);

/* What the first bytes of a connection are. */
enum egress_protocol { PROTOCOL_UNKNOWN, PROTOCOL_TLS, PROTOCOL_HTTP1, PROTOCOL_HTTP2, PROTOCOL_TCP /* by a "host:port" entry, not looked into */ };

/* A name that is asked for (DNS, CONNECT): may it have an address? `entry` becomes the index of the rule that decides, or -1. */
enum denial admit_name(const struct egress_policy *p, const struct egress_host *host, int *ret_entry);

/* Must the bytes of a connection to host:port be looked at (80, 443: yes), or does an explicit "host:port" entry let any TCP pass? */
bool admit_needs_look(const struct egress_policy *p, const struct egress_host *host, uint16_t port);

/* A connection to the address of `host` (empty: no name was given for it), on `port`, before a byte came. */
enum denial admit_connection(const struct egress_policy *p, const struct egress_host *host, uint16_t port, int *ret_entry);

/* What its first bytes said: the protocol, and the name in them ("" where there was none). */
enum denial admit_evidence(const struct egress_policy *p, const struct egress_host *host, uint16_t port, enum egress_protocol protocol, const struct egress_host *said);

/* May this name lead to private addresses, on this port, by the operator's word? Metadata services and the like stay refused (egress/address.h). */
bool admit_may_be_private(const struct egress_policy *p, const struct egress_host *host, uint16_t port);

/*
 * Where may it lead by that word: nowhere in particular, into private networks, or, as `localhost` and the names below it, to this machine as well. And the name of the
 * host itself, on a port that is listed, to this machine's loopback alone: no resolver is asked for it.
 */
enum admit_reach { REACH_PUBLIC, REACH_PRIVATE, REACH_THIS_HOST, REACH_HOST_PORT };
enum admit_reach admit_reach(const struct egress_policy *p, const struct egress_host *host, uint16_t port);

/*
 * Does the list name something below `host`? Such a name is to be answered as one that is there and has no address, not as one that is not: a resolver that is told
 * "no such name" may conclude that nothing is below it (RFC 8020).
 */
bool admit_is_above(const struct egress_policy *p, const struct egress_host *host);

/* What would become of "host" or "host:port" (port 0: none was said; then it is admit_name() that answers). */
struct admit_decision {
        enum denial denial;
        int entry;                     /* that decides: index in `allow`, -1: none */
        bool needs_look, may_be_private;
        struct egress_host host;       /* "": BAD_NAME */
        uint16_t port;
};
void admit_explain(const struct egress_policy *p, const char *text, struct admit_decision *ret);

const char *denial_name(enum denial d);
/* A sentence and a hint for an agent, NUL-terminated, with host (a name, an address, or empty), port and what contradicted it; never more than `room` bytes. Gives its length. */
size_t denial_text(enum denial d, const char *host, uint16_t port, const char *other, char *ret, size_t room);

#endif
