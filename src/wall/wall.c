/*
 * wall/wall.c - makes every address local, and opens the sockets that receive connections to them.
 *
 * Room: wall (words). Touches: the network namespace it is called in.
 * Theory: one route of type `local` for every address is enough. The kernel then delivers packets
 * for any address to sockets of this namespace, and getsockname(2) returns the address.
 * SO_REUSEPORT is never set in the payload's namespace, so its sockets share no queue with the
 * gate's. Ports below 1024 are beyond its reach while the namespace's own limit says so; that limit
 * is checked. Routed: all this is in a second namespace. Its sockets are bound to the device, so
 * packets that claim another origin are never answered. A forged source leads nowhere, and no
 * process in that namespace has a route out.
 */
#include "wall/wall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wall/link.h"
#include "wall/tap.h"

#ifndef NETLINK_SOCK_DIAG
#define NETLINK_SOCK_DIAG 4
#endif
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

enum { PORT_DNS = 53, PORT_HTTP = 80, PORT_HTTPS = 443, PORT_FIRST_FREE = 1024 };

/* The two ends of a routed wall. */
static const char END_INSIDE[] = "eth0", END_WALL[] = "wall0";

static const char LOW_PORTS[] = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/* -- settings ---------------------------------------------------------------------------------- */

static int
write_setting(const char *path, const char *value)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        ssize_t len = (ssize_t)strlen(value);
        int result = fd < 0 || write(fd, value, (size_t)len) != len ? -errno : 0;

        if (fd >= 0)
                (void)close(fd);
        return result;
}

/* Checks that the payload cannot use the gate's ports. */
static int
check_low_ports(void)
{
        char text[16];
        int fd = open(LOW_PORTS, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        int result = got < 0 ? -errno : 0;

        if (fd >= 0)
                (void)close(fd);
        if (result < 0)
                return result;
        text[got] = '\0';
        return strtol(text, NULL, 10) >= PORT_FIRST_FREE ? 0 : -EPERM;
}

/*
 * A client that closes a connection first leaves its port in TIME_WAIT for a minute. The kernel
 * reuses such ports between loopback addresses only, so this setting extends that to all. Otherwise
 * about 28,000 connections a minute to one name would be the limit. If the setting fails, that
 * limit applies.
 */
static void
reuse_ports(void)
{
        (void)write_setting("/proc/sys/net/ipv4/tcp_tw_reuse", "1");
}

/*
 * A new namespace inherits some settings from the host's first one. This sets them: incoming
 * packets are delivered as they are, are not forwarded, and fill no log of the host; one that comes
 * over the wire with an address of this namespace as its source is dropped. No router is heard: the
 * kernel of a virtual machine could send what one sends. In the gate's
 * own namespace no port needs a privilege, so that a port can be added after all privileges are
 * dropped.
 */
static int
settle_second(void)
{
        static const struct {
                const char *path, *value;
        } settings[] = {
                { "/proc/sys/net/ipv4/ip_forward", "0" },
                { "/proc/sys/net/ipv6/conf/all/forwarding", "0" },
                { "/proc/sys/net/ipv4/conf/all/rp_filter", "0" },
                { "/proc/sys/net/ipv4/conf/default/rp_filter", "0" },
                { "/proc/sys/net/ipv4/conf/all/accept_local", "0" },
                { "/proc/sys/net/ipv4/conf/default/accept_local", "0" },
                { "/proc/sys/net/ipv4/conf/all/route_localnet", "0" },
                { "/proc/sys/net/ipv4/conf/default/route_localnet", "0" },
                { "/proc/sys/net/ipv4/conf/all/log_martians", "0" },
                { "/proc/sys/net/ipv4/conf/default/log_martians", "0" },
                { "/proc/sys/net/ipv6/conf/default/accept_ra", "0" },
                { LOW_PORTS, "0" },
        };
        int result = 0;

        for (size_t i = 0; i < sizeof settings / sizeof *settings && result == 0; i++)
                result = write_setting(settings[i].path, settings[i].value);
        return result;
}

/* -- sockets ----------------------------------------------------------------------------------- */

enum socket_flag {
        BOTH = 1u << 0,        /* of both families */
        FROM_INSIDE = 1u << 1, /* routed: accepts only packets from the device, and answers
                                * only there */
        /* routed: may have a port on every address that the proxy has on one; no other process
         * could share it */
        SHARED = 1u << 2,
};

static int
set(int fd, int level, int name, int value)
{
        return setsockopt(fd, level, name, &value, sizeof value);
}

static int
prepare(int fd, int family, int type, unsigned flags)
{
        if (family == AF_INET6 && (set(fd, IPPROTO_IPV6, IPV6_V6ONLY, (flags & BOTH) == 0) < 0 ||
                                   set(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1) < 0))
                return -errno;
        if (type == SOCK_DGRAM && (set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) < 0 ||
                                   set(fd, IPPROTO_IP, IP_PKTINFO, 1) < 0))
                return -errno;
        if ((flags & FROM_INSIDE) != 0 &&
            setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, END_WALL, sizeof END_WALL) < 0)
                return -errno;
        return (flags & SHARED) != 0 && set(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0 ? -errno : 0;
}

/* Opens a socket of `type`. Returns it, or -errno. Without an address it is bound later. */
static int
open_at(int type, const struct sockaddr *address, socklen_t len, unsigned flags)
{
        int family = address ? address->sa_family : AF_INET6;
        int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int result = fd < 0 ? -errno : prepare(fd, family, type, flags);

        if (result == 0 && address &&
            (bind(fd, address, len) < 0 || (type == SOCK_STREAM && listen(fd, WALL_BACKLOG) < 0)))
                result = -errno;
        if (result < 0 && fd >= 0)
                (void)close(fd);
        return result < 0 ? result : fd;
}

static struct sockaddr_in6
any_at(uint16_t port)
{
        return (struct sockaddr_in6){ .sin6_family = AF_INET6,
                                      .sin6_port = htons(port),
                                      .sin6_addr = IN6ADDR_ANY_INIT };
}

static int
open_any(int type, uint16_t port, unsigned flags)
{
        const struct sockaddr_in6 any = any_at(port);

        return open_at(type, (const struct sockaddr *)&any, sizeof any, BOTH | flags);
}

static int
open_four(uint32_t index, uint16_t port, unsigned flags)
{
        struct sockaddr_in four = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr = link_address4(index) };

        return open_at(SOCK_STREAM, (const struct sockaddr *)&four, sizeof four, flags);
}

static int
open_six(uint32_t index, uint16_t port)
{
        struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                    .sin6_port = htons(port),
                                    .sin6_addr = link_address6(index) };

        return open_at(SOCK_STREAM, (const struct sockaddr *)&six, sizeof six, 0);
}

static int
open_diag(void)
{
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

        return fd < 0 ? -errno : fd;
}

static int
open_slot(size_t slot, const struct wall_wanted *wanted)
{
        unsigned flags = wanted->is_routed ? FROM_INSIDE : 0u,
                 shared = wanted->is_routed ? FROM_INSIDE | SHARED : 0u;

        switch (slot) {
        case WALL_DIAG:
                return open_diag();
        case WALL_DNS_UDP:
                return open_any(SOCK_DGRAM, PORT_DNS, flags);
        case WALL_DNS_TCP:
                return open_any(SOCK_STREAM, PORT_DNS, flags);
        case WALL_HTTP:
                return open_any(SOCK_STREAM, PORT_HTTP, flags);
        case WALL_HTTPS:
                return open_any(SOCK_STREAM, PORT_HTTPS, flags);
        case WALL_PROXY:
                return open_four(WALL_GATE, WALL_PROXY_PORT, shared);
        default:
                break;
        }
        if (slot < WALL_FIXED + wanted->port_count)
                return open_any(SOCK_STREAM, wanted->ports[slot - WALL_FIXED], flags);
        return open_at(SOCK_STREAM, NULL, 0, BOTH | shared);
}

static void
close_all(const int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                (void)close(fds[i]);
}

/* Opens the slots from `first` on. */
static int
open_slots(const struct wall_wanted *wanted, size_t first, int *fds)
{
        for (size_t i = first; i < wall_count(wanted); i++) {
                fds[i] = open_slot(i, wanted);
                if (fds[i] < 0) {
                        int result = fds[i];

                        close_all(fds + first, i - first);
                        return result;
                }
        }
        return 0;
}

/* -- one namespace ----------------------------------------------------------------------------- */

static int
make_local(int route)
{
        unsigned lo = if_nametoindex("lo");
        int result = lo == 0 ? -errno : link_add_addresses(route, lo, WALL_GATE);

        return result < 0 ? result : link_make_local(route, lo, WALL_GATE);
}

static int
open_plain(const struct wall_wanted *wanted, int *fds)
{
        int route, result = check_low_ports();

        if (result < 0)
                return result;
        route = link_open();
        result = route < 0 ? route : make_local(route);
        if (route >= 0)
                (void)close(route);
        if (result < 0)
                return result;
        reuse_ports();
        return open_slots(wanted, 0, fds);
}

/* -- a second one ------------------------------------------------------------------------------ */

/* The device end there, and the socket to change it. */
struct second {
        int route;
        unsigned end;
};

/* In the second namespace, before it has its device. */
static int
make_ground(int route)
{
        unsigned lo = if_nametoindex("lo");
        int result = settle_second();

        if (result == 0)
                result = lo == 0 ? -ENODEV : link_up(route, lo);
        return result < 0 ? result : make_local(route);
}

/* The device is there: what comes from it belongs to WALL_INSIDE. */
static int
make_end(struct second *second)
{
        int result;

        second->end = if_nametoindex(END_WALL);
        result = second->end == 0 ? -errno : link_keep_quiet(second->route, second->end);
        if (result == 0)
                result = link_up(second->route, second->end);
        return result < 0 ? result : link_add_behind(second->route, second->end, WALL_INSIDE);
}

/* In the second namespace: its settings, and the device pair to `inside`. */
static int
make_second(struct second *second, int inside)
{
        int result = make_ground(second->route);

        if (result == 0)
                result = link_add_pair(second->route, END_WALL, END_INSIDE, inside);
        return result < 0 ? result : make_end(second);
}

/*
 * In the first namespace: packets to other addresses leave over the device, and all ports are its
 * own.
 */
static int
make_way(int route)
{
        unsigned end = if_nametoindex(END_INSIDE);
        int result = end == 0 ? -errno : link_keep_quiet(route, end);

        if (result == 0)
                result = link_up(route, end);
        if (result == 0)
                result = link_add_addresses(route, end, WALL_INSIDE);
        if (result == 0)
                result = link_add_defaults(route, end);
        reuse_ports();
        return result < 0 ? result : write_setting(LOW_PORTS, "0");
}

/* Enters the second namespace, and returns, also on failure. */
static int
open_second(const struct wall_wanted *wanted, int inside, struct second *second, int *fds)
{
        int result;

        if (unshare(CLONE_NEWNET) < 0)
                return -errno;
        second->route = link_open();
        result = second->route < 0 ? second->route : make_second(second, inside);
        if (result == 0)
                result = open_slots(wanted, WALL_DIAG + 1, fds);
        if (setns(inside, CLONE_NEWNET) == 0 || result < 0)
                return result;
        result = -errno;
        close_all(fds + WALL_DIAG + 1, wall_count(wanted) - WALL_DIAG - 1);
        return result;
}

static int
open_routed_from(const struct wall_wanted *wanted, int inside, int route, int *fds)
{
        struct second second = { -1, 0 };
        int result = open_second(wanted, inside, &second, fds);

        if (result == 0) {
                result = make_way(route);
                if (result == 0)
                        result = link_wait(second.route, second.end);
                if (result < 0)
                        close_all(fds + WALL_DIAG + 1, wall_count(wanted) - WALL_DIAG - 1);
        }
        if (second.route >= 0)
                (void)close(second.route);
        return result;
}

static int
open_routed(const struct wall_wanted *wanted, int *fds)
{
        int inside = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), wrong = errno,
            route = link_open(), result;

        fds[WALL_DIAG] = open_diag(); /* it belongs to the namespace of the clients */
        result = inside < 0 ? -wrong : route < 0 ? route : fds[WALL_DIAG];
        if (result >= 0)
                result = open_routed_from(wanted, inside, route, fds);
        if (result < 0 && fds[WALL_DIAG] >= 0)
                (void)close(fds[WALL_DIAG]);
        if (inside >= 0)
                (void)close(inside);
        if (route >= 0)
                (void)close(route);
        return result;
}

/* -- of a machine ------------------------------------------------------------------------------ */

/* The device end, of which QEMU has the other one. */
static int
make_tap(struct second *second, int *ret_tap)
{
        int tap, result = make_ground(second->route);

        tap = result < 0 ? result : tap_open(END_WALL);
        if (tap < 0)
                return tap;
        result = link_set_hardware(second->route, if_nametoindex(END_WALL));
        if (result == 0)
                result = make_end(second);
        if (result < 0)
                (void)close(tap);
        else
                *ret_tap = tap;
        return result;
}

static int
open_machine(const struct wall_wanted *wanted, int *fds, int *ret_tap)
{
        struct second second = { -1, 0 };
        int result = unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ? -errno : link_open();

        if (result < 0)
                return result;
        second.route = result;
        result = make_tap(&second, ret_tap);
        if (result == 0) {
                result = open_slots(wanted, 0, fds);
                if (result < 0)
                        (void)close(*ret_tap);
        }
        (void)close(second.route);
        return result;
}

int
wall_join(void)
{
        int route = link_open(), result = route < 0 ? route : make_way(route);

        if (result == 0)
                result = link_wait(route, if_nametoindex(END_INSIDE));
        if (route >= 0)
                (void)close(route);
        return result;
}

/* -- public functions -------------------------------------------------------------------------- */

size_t
wall_count(const struct wall_wanted *wanted)
{
        return WALL_FIXED + wanted->port_count + wanted->stock;
}

static int
check(const struct wall_wanted *wanted)
{
        if (wanted->port_count > WALL_PORTS_MAX ||
            wanted->stock > (wanted->is_routed ? WALL_STOCK_MAX : 0))
                return -EINVAL;
        for (size_t i = 0; i < wanted->port_count; i++)
                if (wanted->ports[i] == 0 || wanted->ports[i] >= PORT_FIRST_FREE)
                        return -EINVAL;
        return 0;
}

int
wall_open(const struct wall_wanted *wanted, int ret[WALL_FDS_MAX])
{
        int fds[WALL_FDS_MAX] = { -1 };
        int result = check(wanted);

        if (result < 0)
                return result;
        result = wanted->is_routed ? open_routed(wanted, fds) : open_plain(wanted, fds);
        if (result == 0)
                memcpy(ret, fds, wall_count(wanted) * sizeof *fds);
        return result;
}

int
wall_open_machine(const struct wall_wanted *wanted, int ret[WALL_FDS_MAX], int *ret_tap)
{
        int fds[WALL_FDS_MAX] = { -1 };
        int result = wanted->is_routed ? check(wanted) : -EINVAL;

        if (result == 0)
                result = open_machine(wanted, fds, ret_tap);
        if (result == 0)
                memcpy(ret, fds, wall_count(wanted) * sizeof *fds);
        return result;
}

int
wall_listen(uint32_t index, uint16_t port, int ret[2])
{
        int four, six;

        if (index < WALL_NAME_FIRST || index > WALL_INDEX_MAX || port < PORT_FIRST_FREE)
                return -EINVAL;
        four = open_four(index, port, 0);
        if (four < 0)
                return four;
        six = open_six(index, port);
        if (six < 0) {
                (void)close(four);
                return six;
        }
        ret[0] = four;
        ret[1] = six;
        return 0;
}

int
wall_bind(int fd, uint16_t port)
{
        const struct sockaddr_in6 any = any_at(port);

        if (port == 0)
                return -EINVAL;
        return bind(fd, (const struct sockaddr *)&any, sizeof any) < 0 ||
                               listen(fd, WALL_BACKLOG) < 0
                       ? -errno
                       : 0;
}
