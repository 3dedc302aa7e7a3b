/*
 * spec/egress.h - the grammar of network.egress, and which hosts an entry permits.
 *
 *     entry = ["*."] hostname [":" port] | preset (spec/preset.h)
 *
 * A name is lower-cased and one trailing dot is dropped. Labels are [a-z0-9_-]{1,63} that neither
 * start nor end with "-"; at most 253 characters, ASCII only. Without a port an entry means 80 and
 * 443. "*.x" means one or more labels below x, never x itself.
 *
 * Refused: "*", "*.tld", an inner "*", URLs, paths, CIDR, IP literals in any spelling, and
 * carrel.internal with every name below it. host.carrel.internal is the machine itself;
 * metadata.carrel.egress.host_ports names its ports, and a list cannot. Source: AIP-36 "network",
 * design principle 6; cases A36-098 to 118.
 */
#ifndef CARREL_SPEC_EGRESS_H
#define CARREL_SPEC_EGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct spec_egress {
        const char *host; /* canonical; without the "*." */
        bool is_wildcard;
        uint16_t ports[2];
        size_t port_count; /* 1 or 2; 0: any port (only from egress_private_read()) */
        unsigned line, column;
        size_t item; /* index of the entry that gave it: a preset gives several */
};

/*
 * Reads one entry. Errors: ERROR_EGRESS_INVALID with reason wildcard, url_or_cidr, ip_literal,
 * hostname, port, charset, whitespace or reserved. The caller sets the path in the error.
 */
int egress_read(struct arena *arena, const char *text, struct spec_egress *ret, struct error *e);

/*
 * The same for a name that may be private because the operator says so. Without a port it means any
 * port.
 */
int egress_private_read(struct arena *arena, const char *text, struct spec_egress *ret,
                        struct error *e);

/*
 * The same as egress_read(), and "host.carrel.internal:PORT", which a gate or an operator may
 * permit.
 */
int egress_permitted_read(struct arena *arena, const char *text, struct spec_egress *ret,
                          struct error *e);

/* The entry for a port of the host's own loopback, 1 to 65535. Its host is static. */
#define EGRESS_HOST "host.carrel.internal"
struct spec_egress egress_host_port(uint16_t port);

/* Is it the canonical name of the host itself? */
bool egress_is_host(const char *host);

/*
 * Writes where the manifest has the entry: "network/egress/3",
 * "metadata/carrel/egress/host_ports/0". `ret` has EGRESS_PATH_ROOM bytes; returns it.
 */
enum { EGRESS_PATH_ROOM = 64 };
const char *egress_path(const struct spec_egress *entry, char *ret);

/*
 * Writes it in the form of network.egress: ["*."] host [":" port]. `ret` has EGRESS_TEXT_ROOM
 * bytes; returns it.
 */
enum { EGRESS_TEXT_ROOM = 264 };
const char *egress_text(const struct spec_egress *entry, char *ret);

/* The texts of all entries, in `arena`; NULL if out of memory. */
const char *const *egress_texts(struct arena *arena, const struct spec_egress *entries,
                                size_t count);

/* Does this entry list the port? 0 means any port of the entry. */
bool egress_has_port(const struct spec_egress *entry, uint16_t port);

/* May `host` (any case, trailing dot allowed) be reached on `port` (0: any port of the entry)? */
bool egress_allows(const struct spec_egress *entries, size_t count, const char *host,
                   uint16_t port);

/*
 * Is `host` (canonical, or any case and a trailing dot) a name for this machine or this network:
 * localhost, local, internal, localdomain, home.arpa, or a name below one of them? Such names need
 * the host's consent.
 */
bool egress_is_private_name(const char *host);

/*
 * Writes `text` as a canonical host name (lower case, no trailing dot) into `ret`, EGRESS_HOST_MAX
 * + 1 bytes. False if it is not a host name by the grammar above: an address in any spelling, a bad
 * label, a wildcard.
 */
enum { EGRESS_HOST_MAX = 253 };
bool egress_host_read(const char *text, char ret[EGRESS_HOST_MAX + 1]);

/* Does `outer` permit everything that `inner` permits? */
bool egress_covers(const struct spec_egress *outer, const struct spec_egress *inner);

#endif
