/*
 * maker/namespace.c - the BOX steps that configure the box's own namespaces: ids, name, limits and
 * network.
 *
 * Room: maker (program). Touches: the box's own namespaces, sockets in them.
 */
#include "maker/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "maker/group.h"
#include "wire/message.h"

#ifndef NETLINK_SOCK_DIAG
#define NETLINK_SOCK_DIAG 4
#endif

enum { STOCK_FIRST = 128, STOCK_EARLY = 24, STOCK_LOWEST = 4, STOCK_FEW = 8 };

/* -- ids and names ----------------------------------------------------------------------------- */

/* A range is mapped by the maker, which may use ids that are not its own. */
static int
wait_for_maps(const struct namespace_sockets *sockets)
{
        char byte;
        ssize_t got;

        do
                got = read(sockets->mapped, &byte, 1);
        while (got < 0 && errno == EINTR);
        return got == 1 ? 0 : got < 0 ? -errno : -EPERM;
}

static int
map_ids(const struct namespace_sockets *sockets, const struct step *s, const char *file)
{
        char text[64];
        int len =
                snprintf(text, sizeof text, "%u %u 1\n", (unsigned)s->number, (unsigned)s->number2);

        if ((s->flags & STEP_RANGE) != 0)
                return s->op == STEP_MAP_UID ? wait_for_maps(sockets) : 0;
        if (s->op == STEP_MAP_GID) {
                int result = group_write("/proc/self/setgroups", "deny", 4);

                if (result < 0 && result != -ENOENT)
                        return result;
        }
        return group_write(file, text, (size_t)len);
}

static int
loopback_up(void)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        int result;

        if (fd < 0)
                return -errno;
        result = ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
        (void)close(fd);
        return result;
}

static int
limit_user_namespaces(const struct step *s)
{
        char text[21];

        return group_write("/proc/sys/user/max_user_namespaces", text,
                           group_number(text, s->number));
}

/*
 * A kernel that does not count watches per namespace has no such file; only the host's limit
 * applies.
 */
static int
user_pools(const struct step *s)
{
        static const char *const names[] = { "/proc/sys/user/max_inotify_instances",
                                             "/proc/sys/user/max_inotify_watches" };
        const uint64_t values[] = { s->number, s->number2 };
        int result = 0;

        for (size_t i = 0; i < sizeof names / sizeof *names && (result == 0 || result == -ENOENT);
             i++) {
                char text[24];
                int len = snprintf(text, sizeof text, "%llu", (unsigned long long)values[i]);

                result = group_write(names[i], text, (size_t)len);
        }
        return result == -ENOENT ? 0 : result;
}

/* -- the wall ---------------------------------------------------------------------------------- */

/* Parses "22 25" in a step's text. Returns the count, or -EINVAL. */
static int
read_ports(const struct step *s, uint16_t ret[WALL_PORTS_MAX])
{
        const char *at = s->text;
        int count = 0;

        while (*at != '\0') {
                unsigned port = 0;

                while (*at >= '0' && *at <= '9' && port < UINT16_MAX)
                        port = port * 10 + (unsigned)(*at++ - '0');
                if (port == 0 || port > UINT16_MAX || (*at != ' ' && *at != '\0') ||
                    count == WALL_PORTS_MAX)
                        return -EINVAL;
                ret[count++] = (uint16_t)port;
                at += *at == ' ';
        }
        return (uint64_t)count == s->number ? count : -EINVAL;
}

int
namespace_first_kept(const struct namespace_sockets *sockets)
{
        struct rlimit files = { 0, 0 };

        if (sockets->stock_count > 0)
                return sockets->stock[sockets->stock_count - 1] + 1;
        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur <= STOCK_EARLY + STOCK_FEW)
                return STOCK_LOWEST;
        return files.rlim_cur > STOCK_FIRST + WALL_STOCK_MAX + 1 ? STOCK_FIRST : STOCK_EARLY;
}

int
namespace_keep(struct namespace_sockets *sockets, const int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, namespace_first_kept(sockets));

                if (fd < 0)
                        return -errno;
                (void)close(fds[i]);
                sockets->stock[sockets->stock_count++] = fd;
        }
        return 0;
}

/*
 * The address where programs expect a name server. Pid 1 answers on it (guest/names.h); it is not
 * connected to any network. Through the second socket pid 1 asks the kernel which process sent a
 * question; without kernel support the process stays unknown.
 */
static int
names_step(struct namespace_sockets *sockets)
{
        const struct sockaddr_in here = { .sin_family = AF_INET,
                                          .sin_port = htons(53),
                                          .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), fds[2], result;

        if (fd < 0)
                return -errno;
        if (bind(fd, (const struct sockaddr *)&here, sizeof here) < 0) {
                result = -errno;
                (void)close(fd);
                return result;
        }
        sockets->has_names = 1;
        fds[0] = fd;
        fds[1] = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        return namespace_keep(sockets, fds, fds[1] < 0 ? 1 : 2);
}

/* If the kernel does not permit it, the ports stay closed, which is no weaker. */
static int
open_low_ports(void)
{
        int result = group_write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", 1);

        return result == -ENOENT || result == -EACCES || result == -EPERM || result == -EROFS
                       ? 0
                       : result;
}

/*
 * The sockets are created here and kept outside. Only the stock stays inside, and it does not
 * listen yet.
 */
static int
wall_step(struct namespace_sockets *sockets, const struct step *s)
{
        struct wall_listener listeners[WALL_PORTS_MAX + 1];
        uint16_t ports[WALL_PORTS_MAX];
        int fds[WALL_FDS_MAX];
        int count = read_ports(s, ports);
        bool is_routed = s->op != STEP_WALL;
        const struct wall_wanted wanted = { ports, count < 0 ? 0 : (size_t)count, is_routed,
                                            is_routed ? (size_t)s->number2 : 0 };
        int result = count < 0           ? count
                     : s->op == STEP_TAP ? wall_open_machine(&wanted, fds, &sockets->tap)
                                         : wall_open(&wanted, fds);
        size_t told = wanted.port_count;

        if (result < 0)
                return result;
        for (size_t i = 0; i < wanted.port_count; i++)
                listeners[i] = (struct wall_listener){ .port = ports[i] };
        if (wanted.is_routed)
                listeners[told++] = (struct wall_listener){ .index = (uint32_t)wanted.stock };
        result = wire_send(sockets->control, WIRE_WALL, listeners, told * sizeof *listeners, fds,
                           WALL_FIXED + wanted.port_count);
        for (size_t i = 0; i < WALL_FIXED + wanted.port_count; i++)
                (void)close(fds[i]);
        return result < 0 ? result
                          : namespace_keep(sockets, fds + WALL_FIXED + wanted.port_count,
                                           wanted.stock);
}

int
namespace_step(struct namespace_sockets *sockets, const struct step *s)
{
        switch (s->op) {
        case STEP_MAP_UID:
                return map_ids(sockets, s, "/proc/self/uid_map");
        case STEP_MAP_GID:
                return map_ids(sockets, s, "/proc/self/gid_map");
        case STEP_HOSTNAME:
                return sethostname(s->text, s->text_len) < 0 ? -errno : 0;
        case STEP_LOOPBACK:
                return loopback_up();
        case STEP_WALL:
        case STEP_ROUTED:
        case STEP_TAP:
                return wall_step(sockets, s);
        case STEP_JOIN:
                return wall_join();
        case STEP_NO_NAMES:
                return names_step(sockets);
        case STEP_LOW_PORTS:
                return open_low_ports();
        case STEP_NO_USER_NS:
                return limit_user_namespaces(s);
        case STEP_USER_POOLS:
                return user_pools(s);
        default:
                return -ENOTSUP;
        }
}
