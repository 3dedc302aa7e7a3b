/*
 * wall/wall.h - the inside of the wall: a network namespace in which every address is local, and
 * the sockets that receive connections to them.
 *
 * No route leads out. `local 0.0.0.0/0 dev lo` and `local ::/0 dev lo` (AnyIP) make each address of
 * both families local to this namespace. So a listener on a wildcard address accepts a connection
 * to any address, and getsockname(2) returns the requested destination. The sockets are created
 * inside and held outside: by the gate, which answers, and by the box. A connection therefore waits
 * in the queue while a gate restarts, and never finds an open path. Used by the maker. Needs only
 * libc; returns negative errno values. Source: ip(7), ipv6(7), rtnetlink(7), sock_diag(7).
 */
#ifndef CARREL_WALL_WALL_H
#define CARREL_WALL_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wall/address.h"

/* The sockets, in the order in which they are passed. */
enum wall_slot {
        /* NETLINK_SOCK_DIAG, in the namespace of the client: finds the cgroup of a connection */
        WALL_DIAG,
        /* [::]:53, both families; reports the address to which a question was sent */
        WALL_DNS_UDP,
        WALL_DNS_TCP,
        WALL_HTTP,  /* [::]:80; always open, so that a refusal can give a reason */
        WALL_HTTPS, /* [::]:443 */
        /* the gate's own address, port WALL_PROXY_PORT: CONNECT, for programs that need a proxy */
        WALL_PROXY,
        /* then one listener [::]:port for each further listed port below 1024 */
        WALL_FIXED
};
/*
 * WALL_SSH: also listened to if there is room, because it is the port most often requested without
 * being listed; the refusal is then reported
 */
enum {
        WALL_PROXY_PORT = 3128,
        WALL_SSH = 22,
        WALL_PORTS_MAX = 58,
        WALL_SOCKETS_MAX = 64,
        WALL_STOCK_MAX = 64,
        WALL_FDS_MAX = WALL_SOCKETS_MAX + WALL_STOCK_MAX,
        WALL_BACKLOG = 1024
};

struct wall_listener {
        uint16_t port;
        uint16_t pad;
        uint32_t index; /* of the address it is bound to; 0: any */
};

/*
 * What a wall consists of. Not routed: all addresses are local in the namespace in which the wall
 * is opened, and its listeners share ports with servers inside. Routed: a second namespace holds
 * the listeners. The first has one device (`eth0`) that leads there, default routes, an address of
 * each family (WALL_INSIDE), and every port for itself.
 *
 *     sandbox: lo, eth0 198.18.0.2 --veth--> wall0, `local 0.0.0.0/0`, `local ::/0`, gate's sockets
 *
 * The second namespace contains nothing else, and no route leads out of it.
 *
 * Of a virtual machine: routed as well. The machine is what the first namespace is otherwise, and a
 * tap device is the other end of its wire:
 *
 *     machine: lo, eth0 198.18.0.2 --virtio-net--> QEMU --tap--> wall0, and the rest as above
 */
struct wall_wanted {
        const uint16_t *ports; /* below 1024 */
        size_t port_count;     /* at most WALL_PORTS_MAX */
        bool is_routed;
        /* routed: sockets for ports that are requested later, at most WALL_STOCK_MAX */
        size_t stock;
};

/* The number of descriptors that wall_open() returns. */
size_t wall_count(const struct wall_wanted *wanted);

/*
 * Makes every address local, gives lo one non-loopback address of each family (otherwise
 * AI_ADDRCONFIG hides names), and opens the sockets: WALL_FIXED, one for each port, then the stock.
 *
 * Call it in the sandbox's namespace with its CAP_NET_ADMIN and CAP_NET_BIND_SERVICE, once lo is
 * up. Routed: also with CAP_SYS_ADMIN and CAP_NET_RAW; on success the caller is back in its own
 * namespace. The second namespace exists while one of its sockets or eth0 does. Descriptors are
 * close-on-exec and non-blocking, and the caller owns them. 0 or -errno; after an error nothing
 * stays open.
 */
int wall_open(const struct wall_wanted *wanted, int ret[WALL_FDS_MAX]);

/*
 * Makes the second namespace of a virtual machine, and what wall_open() gives. *ret_tap is the
 * descriptor for QEMU (wall/tap.h). The process is in that namespace afterwards, and in a user
 * namespace of its own: call it in one that ends. WALL_DIAG finds no client. 0 or -errno.
 */
int wall_open_machine(const struct wall_wanted *wanted, int ret[WALL_FDS_MAX], int *ret_tap);

/*
 * In the machine, with CAP_NET_ADMIN: its eth0 has its addresses and leads to all others, and every
 * port is free. 0 or -errno; ENODEV: there is no such device.
 */
int wall_join(void);

/*
 * Opens a listener for a port from 1024 on, on the two addresses of one index, without any
 * privilege: ret[0] IPv4, ret[1] IPv6. 0 or -errno; EADDRINUSE: a server inside uses the port on
 * every address. Not for a routed wall.
 */
int wall_listen(uint32_t index, uint16_t port, int ret[2]);

/*
 * Makes a socket of the stock a listener for this port on every address. Works from any namespace,
 * without privilege. 0 or -errno.
 */
int wall_bind(int fd, uint16_t port);

#endif
