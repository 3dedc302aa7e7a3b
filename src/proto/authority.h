/*
 * proto/authority.h - "host" or "host:port", as Host, :authority, and the target of CONNECT write
 * it.
 *
 * Deciding, pure. Splits and bounds; what it gives is still to be read by egress_host_read(), the
 * only reader of names. Source: RFC 3986 3.2, RFC 9110 7.2.
 */
#ifndef CARREL_PROTO_AUTHORITY_H
#define CARREL_PROTO_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AUTHORITY_HOST_MAX = 254 /* with a final dot */ };

struct authority {
        char host[AUTHORITY_HOST_MAX +
                  1];  /* letters, digits, "-", "_", "."; as written; never "" */
        uint16_t port; /* 1 to 65535, or 0: none was written */
};

/* False: user information, brackets, an empty host or port, another byte, a port that is no number
 * of 1 to 65535 or has a leading zero. */
bool authority_read(const char *text, size_t len, struct authority *ret);

#endif
