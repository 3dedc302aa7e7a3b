/*
 * egress/address.h - which addresses may be dialled, for any name that leads to them.
 *
 * Deciding, pure. Every candidate address is checked after resolution and before connect, because a
 * permitted name does not restrict where it leads.
 * Source: IANA's special-purpose address registries (RFC 6890 and its updates); attacks H04, H05,
 * H07, H18.
 */
#ifndef CARREL_EGRESS_ADDRESS_H
#define CARREL_EGRESS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct egress_address {
        uint8_t bytes[16];
}; /* IPv4 as ::ffff:a.b.c.d */

struct egress_network {
        struct egress_address base;
        uint8_t bits;   /* of 128 */
        bool is_denied; /* by the operator; otherwise permitted */
};

/*
 * Reads "10.0.0.0/8", "fd00::/8", or one address. False for anything else, and if bits beyond the
 * prefix are set.
 */
bool egress_network_read(const char *text, struct egress_network *ret);

/* The same; a leading "!" marks a network that the operator denies. */
bool egress_network_rule_read(const char *text, struct egress_network *ret);

/*
 * Why an address is refused. NULL: it may be dialled. Otherwise the name of its kind: "loopback",
 * "private", "link-local", "metadata", "multicast", ...
 *
 * IPv6 forms that contain an IPv4 address (mapped, compatible, translated, 6to4, Teredo, NAT64) are
 * judged as that IPv4 address. `rules` are networks of the operator. A permitted network permits a
 * metadata service only if it is exactly that one address. It permits NAT64 of a local network
 * (64:ff9b:1::/48) only if it names it as such. A denied network overrides all permitted ones.
 */
const char *egress_address_refused(const struct egress_address *a,
                                   const struct egress_network *rules, size_t count);

/* True: the address is in a network that the operator permits. */
bool egress_address_is_permitted(const struct egress_address *a, const struct egress_network *rules,
                                 size_t count);

/*
 * True: a refusal of this kind is lifted for names that may be private (admit_reach). This holds
 * for private and shared networks, never for metadata services. `kind` is a pointer returned by
 * egress_address_refused().
 */
bool egress_address_is_private(const char *kind);

/* True: it is lifted for names that mean this machine. */
bool egress_address_is_loopback(const char *kind);

#endif
