/*
 * egress/hosts.h - reads /etc/hosts of the machine: names and their addresses.
 *
 * Deciding, pure: the caller supplies the text. This module does not judge addresses. Each dial
 * does so, as with an answer of a name server.
 * Source: hosts(5).
 */
#ifndef CARREL_EGRESS_HOSTS_H
#define CARREL_EGRESS_HOSTS_H

#include <stddef.h>

#include "base/arena.h"
#include "egress/address.h"

#define HOSTS_PLACE "/etc/hosts"
enum { HOSTS_TEXT_MAX = 1024 * 1024 /* bytes that are read */, HOSTS_NAMES_MAX = 4096 };

struct hosts_name {
        const char *host;
        struct egress_address address;
        size_t order;
};

/* Zeroed: empty. Freed with its arena. */
struct hosts {
        struct hosts_name *names;
        size_t count;
};

/*
 * Reads the first HOSTS_NAMES_MAX names. Skips a line without an address, a line with 0.0.0.0 or ::
 * (used by block lists), and a word that is not a host name. 0, or -1: no memory.
 */
int hosts_read(struct arena *arena, const char *text, size_t len, struct hosts *ret);

/*
 * The addresses of a canonical name, in the order of the file, at most `room`. Returns their
 * number; 0: the file does not contain the name. `ret` may be NULL with `room` 0: returns 1 or 0.
 */
size_t hosts_find(const struct hosts *h, const char *host, struct egress_address *ret, size_t room);

#endif
