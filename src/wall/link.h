/*
 * wall/link.h - devices, addresses and routes of a namespace, as far as a wall needs them.
 *
 * Only wall/wall.c includes this. `route` is a NETLINK_ROUTE socket; changes apply to the namespace
 * in which it was opened. All functions return 0 or -errno.
 */
#ifndef CARREL_WALL_LINK_H
#define CARREL_WALL_LINK_H

#include <netinet/in.h>

/* The addresses of an index. */
struct in_addr link_address4(uint32_t index);
struct in6_addr link_address6(uint32_t index);

/* Returns a descriptor (close-on-exec), or -errno. */
int link_open(void);

/*
 * Gives the device the two addresses of the index. The kernel adds the local route of an IPv6
 * address only a moment later, and drops its packets until then. This function adds that route
 * itself, so the address works at once.
 */
int link_add_addresses(int route, unsigned device, uint32_t index);

/*
 * Adds `local 0.0.0.0/0` and `local ::/0` to the device: every address becomes local to this
 * namespace. Outgoing packets use the index's address as source.
 */
int link_make_local(int route, unsigned device, uint32_t index);

/* Adds default routes of both families over the device. */
int link_add_defaults(int route, unsigned device);

/* Routes the two addresses of the index to the device, before any other rule or route. */
int link_add_behind(int route, unsigned device, uint32_t index);

/*
 * Brings a device up. Call link_keep_quiet() before, so that it neither requests nor generates
 * addresses; a loopback device never does.
 */
int link_up(int route, unsigned device);
int link_keep_quiet(int route, unsigned device);

/* Gives a device, which is not up, the hardware address of both ends of a pair: WALL_HARDWARE. */
int link_set_hardware(int route, unsigned device);

/*
 * Waits until a device whose peer is up can send. The kernel enables it a moment later, and drops
 * packets until then; a client would see that as a delay of 1 s. -ETIMEDOUT: the device does not
 * become ready.
 */
int link_wait(int route, unsigned device);

/*
 * Creates a veth pair with one hardware address: `name` in this namespace, `peer` in the namespace
 * of the descriptor `net`.
 */
int link_add_pair(int route, const char *name, const char *peer, int net);

#endif
