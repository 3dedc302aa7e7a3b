/*
 * egress/admit.h - decides whether a connection may leave. If not, gives the reason and a hint.
 *
 * Deciding, pure. The destination of a connection is the name for which its address was issued,
 * never the address. Four names must agree. egress_host_read() reads each of them into one struct,
 * which the matcher and the dialler share. So no second parser can read a name differently.
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

/* DENIAL(NAME, "wire name", "sentence with %s for host:port", "what to do") in egress/denials.def:
 * one row each. */
enum denial {
        DENIAL_NONE,
#define DENIAL(name, wire, sentence, hint) DENIAL_##name,
#include "egress/denials.def"
#undef DENIAL
        DENIAL_MAX
};

struct egress_host {
        char text[EGRESS_HOST_MAX + 1];
}; /* canonical, or "" */

struct egress_policy {
        const struct spec_egress *allow;
        size_t allow_count;
        const struct spec_egress *private_names;
        size_t private_count;
        uint32_t generation;
        /* the same, prepared for search; without them nothing is permitted */
        struct rules allow_rules, private_rules;
};

/* Builds the rules of its two lists, which it borrows. 0, or -1: no memory. */
int admit_policy_make(struct arena *arena, struct egress_policy *p);

/* The protocol of the first bytes of a connection. */
enum egress_protocol {
        PROTOCOL_UNKNOWN,
        PROTOCOL_TLS,
        PROTOCOL_HTTP1,
        PROTOCOL_HTTP2,
        PROTOCOL_TCP /* by a "host:port" entry, not inspected */
};

/*
 * May a requested name (DNS, CONNECT) have an address? `ret_entry`: the index of the deciding rule,
 * or -1.
 */
enum denial admit_name(const struct egress_policy *p, const struct egress_host *host,
                       int *ret_entry);

/*
 * True: the bytes of a connection to host:port must be judged (80, 443). False: an explicit
 * "host:port" entry permits any TCP.
 */
bool admit_needs_look(const struct egress_policy *p, const struct egress_host *host, uint16_t port);

/*
 * Judges a connection to the address of `host` (empty: no name belongs to it) on `port`, before its
 * first byte.
 */
enum denial admit_connection(const struct egress_policy *p, const struct egress_host *host,
                             uint16_t port, int *ret_entry);

/* Judges the first bytes: their protocol, and the name in them ("" if they have none). */
enum denial admit_evidence(const struct egress_policy *p, const struct egress_host *host,
                           uint16_t port, enum egress_protocol protocol,
                           const struct egress_host *said);

/*
 * True: the host file permits private addresses for this name and port. Metadata services and
 * similar stay refused (egress/address.h).
 */
bool admit_may_be_private(const struct egress_policy *p, const struct egress_host *host,
                          uint16_t port);

/*
 * Where the host file lets a name lead. REACH_PUBLIC: public addresses. REACH_PRIVATE: also private
 * networks. REACH_THIS_HOST: also this machine, for `localhost` and names below it.
 * REACH_HOST_PORT: only this machine's loopback, for the name of the host itself on a listed port;
 * no resolver is asked.
 */
enum admit_reach { REACH_PUBLIC, REACH_PRIVATE, REACH_THIS_HOST, REACH_HOST_PORT };
enum admit_reach admit_reach(const struct egress_policy *p, const struct egress_host *host,
                             uint16_t port);

/*
 * True: the list contains a name below `host`. The DNS answer for such a name must be "exists, no
 * address", not "no such name": a resolver may conclude from the latter that no name below it
 * exists (RFC 8020).
 */
bool admit_is_above(const struct egress_policy *p, const struct egress_host *host);

/* The decision about "host" or "host:port". Port 0: no port given; then admit_name() decides. */
struct admit_decision {
        enum denial denial;
        int entry; /* index in `allow` that decides; -1: none */
        bool needs_look, may_be_private;
        struct egress_host host; /* "": BAD_NAME */
        uint16_t port;
};
void admit_explain(const struct egress_policy *p, const char *text, struct admit_decision *ret);

const char *denial_name(enum denial d);
/*
 * Writes a sentence and a hint for an agent, NUL-terminated, at most `room` bytes. `host` is a
 * name, an address, or empty; `other` is what contradicted it. Returns the length in bytes.
 */
size_t denial_text(enum denial d, const char *host, uint16_t port, const char *other, char *ret,
                   size_t room);

#endif
