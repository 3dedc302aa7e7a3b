/*
 * egress/address.h - which addresses may be dialled, whatever name led to them.
 *
 * Deciding, pure. Every candidate is asked about after resolution and before connect: a name that is permitted says nothing about where it leads.
 * Source: IANA's special-purpose address registries (RFC 6890 and its updates); attacks H04, H05, H07, H18.
 */
#ifndef CARREL_EGRESS_ADDRESS_H
#define CARREL_EGRESS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct egress_address { uint8_t bytes[16]; };  /* IPv4 as ::ffff:a.b.c.d */

struct egress_network { struct egress_address base; uint8_t bits; /* of 128 */ bool is_denied; /* by the operator: else it is permitted */ };

/* Reads "10.0.0.0/8", "fd00::/8", or one address. False for anything else, and for bits beyond the prefix. */
bool egress_network_read(const char *text, struct egress_network *ret);

/* The same, and with "!" before it a network that the operator denies. */
bool egress_network_rule_read(const char *text, struct egress_network *ret);

/*
 * NULL: may be dialled. Else the name of what it is: "loopback", "private", "link-local", "metadata", "multicast", ... IPv6 forms that carry an IPv4
 * address (mapped, compatible, translated, 6to4, Teredo, NAT64) are refused as what they carry. `rules` are networks of the operator. One that
 * is permitted permits a metadata service only if it is that one address, and NAT64 of a local network (64:ff9b:1::/48) only as itself; one that is denied
 * wins over all that permit.
 */
const char *egress_address_refused(const struct egress_address *a, const struct egress_network *rules, size_t count);

/* Is it in one of the networks that the operator permits? */
bool egress_address_is_permitted(const struct egress_address *a, const struct egress_network *rules, size_t count);

/* Is a refusal of this kind (a pointer given by the function above) lifted for names that may be private (admit_reach)? Private and shared networks are; metadata never. */
bool egress_address_is_private(const char *kind);

/* Is it lifted for names that mean this machine? */
bool egress_address_is_loopback(const char *kind);

#endif
