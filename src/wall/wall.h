/*
 * wall/wall.h - the inside of the wall: a network namespace in which every address is local, and the sockets that catch what is sent there.
 *
 * No route leads out. `local 0.0.0.0/0 dev lo` and `local ::/0 dev lo` (AnyIP) make each address of both families this namespace's own, so a
 * listener on a wildcard accepts a connection to any address, and getsockname(2) on it is the destination that was asked for. The sockets are made
 * inside, and held outside: by the gate that answers, and by the box, so that a connection waits in the queue while a gate is started anew, and
 * never finds an open door. Used by the maker and by `carrel gate`; needs nothing but libc, and answers negative errno values.
 * Source: ip(7), ipv6(7), rtnetlink(7), sock_diag(7).
 */
#ifndef CARREL_WALL_WALL_H
#define CARREL_WALL_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Addresses that stand for names: 198.18.0.0/15 (RFC 2544: for tests of networks, never on the internet), and the same index in the last 32 bits of
 * a ULA /64. Index 0 is no name's; 1 is the gate's own: resolv.conf names it, and its HTTP proxy listens there; 2 is the sandbox's own where the wall is
 * routed; names begin at WALL_NAME_FIRST.
 */
#define WALL_NET4 0xc6120000u                  /* 198.18.0.0, host order */
#define WALL_NET6 "\xfd\x63\x61\x72\x72\x65\x6c\x00"   /* fd63:6172:7265:6c00::/64, eight bytes */
enum { WALL_GATE = 1, WALL_INSIDE = 2, WALL_NAME_FIRST = 256, WALL_INDEX_MAX = 0x1ffff };

/* The sockets, in the order they are handed on. */
enum wall_slot {
        WALL_DIAG,             /* NETLINK_SOCK_DIAG, of the namespace with the other end of a connection: who has it (its cgroup) */
        WALL_DNS_UDP,          /* [::]:53, both families, says to which address a question was sent */
        WALL_DNS_TCP,
        WALL_HTTP,             /* [::]:80; always, so that a refusal can say why */
        WALL_HTTPS,            /* [::]:443 */
        WALL_PROXY,            /* gate's own address, port WALL_PROXY_PORT: CONNECT for programs that insist on a proxy */
        WALL_FIXED             /* then one listener [::]:port for each further port below 1024 that the list names */
};
enum { WALL_PROXY_PORT = 3128, WALL_SSH = 22 /* listened to as well, where there is room: what is asked for most without being listed, and then told */, WALL_PORTS_MAX = 58, WALL_SOCKETS_MAX = 64, WALL_STOCK_MAX = 64, WALL_FDS_MAX = WALL_SOCKETS_MAX + WALL_STOCK_MAX, WALL_BACKLOG = 1024 };

struct wall_listener { uint16_t port; uint16_t pad; uint32_t index; /* of the address it is bound to; 0: any */ };

/*
 * What a wall is to be. Not routed, the namespace that it is made in is the one whose addresses are all local, and its listeners and a server inside share ports. Routed, a
 * second namespace holds them: the first has one device (`eth0`) that leads there, default routes, an address of each family (WALL_INSIDE), and every port for itself.
 *
 *     sandbox: lo, eth0 198.18.0.2 --veth--> wall0, `local 0.0.0.0/0`, `local ::/0`, the gate's sockets: nobody else lives there, and no route leads on
 */
struct wall_wanted {
        const uint16_t *ports;         /* below 1024 */
        size_t port_count;             /* at most WALL_PORTS_MAX */
        bool is_routed;
        size_t stock;                  /* routed: sockets for ports that are asked for later, at most WALL_STOCK_MAX */
};

/* How many descriptors that is. */
size_t wall_count(const struct wall_wanted *wanted);

/*
 * Makes every address local, gives lo one address of each family that is not loopback (else AI_ADDRCONFIG hides names), and opens the sockets: WALL_FIXED, one for each
 * port, and then the stock. To be called in the sandbox's namespace, with its CAP_NET_ADMIN and CAP_NET_BIND_SERVICE, once lo is up; routed, with CAP_SYS_ADMIN and
 * CAP_NET_RAW as well: the caller is back in its namespace whenever this answers 0. The second namespace lives for as long as a socket of it is held, or eth0 is.
 * Descriptors are close-on-exec, do not block, and are the caller's. 0 or -errno, and nothing stays open.
 */
int wall_open(const struct wall_wanted *wanted, int ret[WALL_FDS_MAX]);

/*
 * A listener for a port from 1024 on, on the two addresses of one index, without any privilege: ret[0] IPv4, ret[1] IPv6. EADDRINUSE: a server inside
 * has the port on every address. 0 or -errno. Not for a routed wall.
 */
int wall_listen(uint32_t index, uint16_t port, int ret[2]);

/* Makes a socket of the stock a listener for this port at every address; from anywhere, and without any privilege. 0 or -errno. */
int wall_bind(int fd, uint16_t port);

#endif
