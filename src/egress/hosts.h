/*
 * egress/hosts.h - what /etc/hosts of the machine says: names and their addresses.
 *
 * Deciding, pure: the caller brings the text. What an address is worth is not judged here; whoever dials does so, as with an answer of a name server.
 * Source: hosts(5).
 */
#ifndef CARREL_EGRESS_HOSTS_H
#define CARREL_EGRESS_HOSTS_H

#include <stddef.h>

#include "base/arena.h"
#include "egress/address.h"

#define HOSTS_PLACE "/etc/hosts"
enum { HOSTS_TEXT_MAX = 1024 * 1024 /* bytes that are read */, HOSTS_NAMES_MAX = 4096 };

struct hosts_name { const char *host; struct egress_address address; size_t order; };

/* Zeroed: it has no name. Ended with its arena. */
struct hosts { struct hosts_name *names; size_t count; };

/*
 * Reads the first HOSTS_NAMES_MAX names. Left out are a line that has no address, one whose address is 0.0.0.0 or :: (lists that block names have those), and a word
 * that is no host name. 0, or -1 without memory.
 */
int hosts_read(struct arena *arena, const char *text, size_t len, struct hosts *ret);

/* The addresses of a canonical name, as the file has them, at most `room`. Gives how many; 0: it does not have the name. `ret` may be NULL with `room` 0: gives 1 or 0. */
size_t hosts_find(const struct hosts *h, const char *host, struct egress_address *ret, size_t room);

#endif
