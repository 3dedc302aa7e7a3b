/*
 * wall/link.h - devices, addresses and routes of a namespace, as far as a wall needs them.
 *
 * Nobody but wall/wall.c includes this. `route` is a socket of NETLINK_ROUTE, and what is changed is the namespace that it was made in. All answer 0 or -errno.
 */
#ifndef CARREL_WALL_LINK_H
#define CARREL_WALL_LINK_H

#include <netinet/in.h>

/* The addresses of an index. */
struct in_addr link_address4(uint32_t index);
struct in6_addr link_address6(uint32_t index);

/* Gives a descriptor (close-on-exec), or -errno. */
int link_open(void);

/*
 * Gives the device the two addresses of the index. The kernel makes an IPv6 address this namespace's own a moment later, and drops what comes for it until then;
 * with the route that this adds it is so at once.
 */
int link_add_addresses(int route, unsigned device, uint32_t index);

/* `local 0.0.0.0/0` and `local ::/0` on the device: every address is this namespace's own. What goes out over it comes from the index's address. */
int link_make_local(int route, unsigned device, uint32_t index);

/* Default routes of both families over the device. */
int link_add_defaults(int route, unsigned device);

/* The two addresses of the index lie behind the device, before any other rule or route says otherwise. */
int link_add_behind(int route, unsigned device, uint32_t index);

/* Brings a device up that asks nobody for addresses and gives itself none. Loopback devices have none to ask for. */
int link_up(int route, unsigned device);
int link_keep_quiet(int route, unsigned device);

/*
 * Waits until a device whose other end is up sends as well: the kernel sees to that a moment later, and until then drops what is sent, which a client
 * would notice by a second's wait. -ETIMEDOUT: it does not.
 */
int link_wait(int route, unsigned device);

/* Two ends of a wire with one hardware address: `name` here, `peer` in the namespace that `net` is a descriptor of. */
int link_add_pair(int route, const char *name, const char *peer, int net);

#endif
