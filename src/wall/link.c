/*
 * wall/link.c - the few rtnetlink requests that a wall needs.
 *
 * Room: wall (words). Touches: the network namespace of the given socket.
 * Theory: both ends of the pair have the same hardware address and do not resolve any (IFF_NOARP).
 * The kernel then uses the device's own address as the destination, which is also that of the other
 * end. So no address is asked for, and no answer can be forged.
 */
#include "wall/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "wall/address.h"

enum {
        NET6_LEN = 8,
        ROOM = 512,
        PAIR_MTU = 65535,
        HARDWARE_LEN = 6,
        NO_ADDRESS = 1 /* IN6_ADDR_GEN_MODE_NONE */,
        WAIT_TRIES = 20000,
        WAIT_NS = 100000
};

static const unsigned char hardware[HARDWARE_LEN + 1] = WALL_HARDWARE;

struct request {
        struct nlmsghdr head;
        union {
                struct ifaddrmsg address;
                struct rtmsg route;
                struct ifinfomsg device;
        } is;
        unsigned char attributes[ROOM];
};

struct in_addr
link_address4(uint32_t index)
{
        return (struct in_addr){ htonl(WALL_NET4 + index) };
}

struct in6_addr
link_address6(uint32_t index)
{
        struct in6_addr a = IN6ADDR_ANY_INIT;
        uint32_t last = htonl(index);

        memcpy(a.s6_addr, WALL_NET6, NET6_LEN);
        memcpy(a.s6_addr + sizeof a.s6_addr - sizeof last, &last, sizeof last);
        return a;
}

/* -- messages ---------------------------------------------------------------------------------- */

static struct rtattr *
add(struct request *r, unsigned short type, const void *value, unsigned short len)
{
        struct rtattr attribute = { (unsigned short)RTA_LENGTH(len), type };
        unsigned char *to = (unsigned char *)r + NLMSG_ALIGN(r->head.nlmsg_len);

        memcpy(to, &attribute, sizeof attribute);
        if (len > 0)
                memcpy(to + RTA_LENGTH(0), value, len);
        r->head.nlmsg_len =
                (uint32_t)(NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(attribute.rta_len));
        return (struct rtattr *)(void *)to;
}

static void
add_number(struct request *r, unsigned short type, uint32_t value)
{
        (void)add(r, type, &value, sizeof value);
}

/* A nested attribute contains everything that is added until it is closed. */
static void
close_attribute(struct request *r, struct rtattr *open)
{
        open->rta_len =
                (unsigned short)((unsigned char *)r + r->head.nlmsg_len - (unsigned char *)open);
}

/* Sends a request and reads the answer: 0 or -errno. */
static int
ask(int route, struct request *r)
{
        struct {
                struct nlmsghdr head;
                struct nlmsgerr error;
                unsigned char rest[ROOM];
        } answer;
        ssize_t got;

        r->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        if (send(route, r, r->head.nlmsg_len, 0) != (ssize_t)r->head.nlmsg_len)
                return errno != 0 ? -errno : -EIO;
        do
                got = recv(route, &answer, sizeof answer, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0)
                return -errno;
        if ((size_t)got < sizeof answer.head + sizeof answer.error ||
            answer.head.nlmsg_type != NLMSG_ERROR)
                return -EPROTO;
        return answer.error.error;
}

/* Like ask(), but an object that exists already is no error. */
static int
ask_once(int route, struct request *r)
{
        int result = ask(route, r);

        return result == -EEXIST ? 0 : result;
}

int
link_open(void)
{
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        return fd < 0 ? -errno : fd;
}

/* -- addresses and routes ---------------------------------------------------------------------- */

static int
add_address(int route, unsigned device, unsigned char family, const void *address,
            unsigned short len)
{
        struct request r = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof r.is.address),
                                       .nlmsg_type = RTM_NEWADDR },
                             .is.address = { .ifa_family = family,
                                             .ifa_prefixlen = (unsigned char)(len * 8),
                                             .ifa_flags = IFA_F_NODAD,
                                             .ifa_index = device } };

        (void)add(&r, IFA_LOCAL, address, len);
        (void)add(&r, IFA_ADDRESS, address, len);
        return ask_once(route, &r);
}

struct path_walk {
        unsigned char table, type, scope;
        unsigned device;
        const void *to;
        const struct in_addr *source;
};

/* A route for all of a family, or for the one address `to`. */
static int
add_route(int route, unsigned char family, const struct path_walk *w)
{
        unsigned short len = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
        struct request r = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof r.is.route),
                                       .nlmsg_type = RTM_NEWROUTE },
                             .is.route = { .rtm_family = family,
                                           .rtm_dst_len = (unsigned char)(w->to ? len * 8 : 0),
                                           .rtm_table = w->table,
                                           .rtm_protocol = RTPROT_STATIC,
                                           .rtm_scope = w->scope,
                                           .rtm_type = w->type } };

        add_number(&r, RTA_OIF, w->device);
        if (w->to)
                (void)add(&r, RTA_DST, w->to, len);
        if (w->source)
                (void)add(&r, RTA_PREFSRC, w->source, sizeof *w->source);
        return ask_once(route, &r);
}

int
link_add_addresses(int route, unsigned device, uint32_t index)
{
        struct in_addr four = link_address4(index);
        struct in6_addr six = link_address6(index);
        const struct path_walk own = { .table = RT_TABLE_LOCAL,
                                       .type = RTN_LOCAL,
                                       .scope = RT_SCOPE_HOST,
                                       .device = device,
                                       .to = &six };
        int result = add_address(route, device, AF_INET, &four, sizeof four);

        if (result == 0)
                result = add_address(route, device, AF_INET6, &six, sizeof six);
        return result < 0 ? result : add_route(route, AF_INET6, &own);
}

int
link_make_local(int route, unsigned device, uint32_t index)
{
        struct in_addr four = link_address4(index);
        struct path_walk w = { .table = RT_TABLE_LOCAL,
                               .type = RTN_LOCAL,
                               .scope = RT_SCOPE_HOST,
                               .device = device,
                               .source = &four };
        int result = add_route(route, AF_INET, &w);

        w.source = NULL;
        return result < 0 ? result : add_route(route, AF_INET6, &w);
}

int
link_add_defaults(int route, unsigned device)
{
        const struct path_walk w = { .table = RT_TABLE_MAIN,
                                     .type = RTN_UNICAST,
                                     .scope = RT_SCOPE_LINK,
                                     .device = device };
        int result = add_route(route, AF_INET, &w);

        return result < 0 ? result : add_route(route, AF_INET6, &w);
}

int
link_add_behind(int route, unsigned device, uint32_t index)
{
        struct in_addr four = link_address4(index);
        struct in6_addr six = link_address6(index);
        struct path_walk w = { .table = RT_TABLE_LOCAL,
                               .type = RTN_UNICAST,
                               .scope = RT_SCOPE_LINK,
                               .device = device,
                               .to = &four };
        int result = add_route(route, AF_INET, &w);

        w.to = &six;
        return result < 0 ? result : add_route(route, AF_INET6, &w);
}

/* -- devices ----------------------------------------------------------------------------------- */

static struct request
about(unsigned device)
{
        return (struct request){ .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
                                           .nlmsg_type = RTM_SETLINK },
                                 .is.device = { .ifi_index = (int)device } };
}

int
link_up(int route, unsigned device)
{
        struct request r = about(device);

        r.is.device.ifi_flags = r.is.device.ifi_change = IFF_UP | IFF_NOARP;
        return ask(route, &r);
}

int
link_keep_quiet(int route, unsigned device)
{
        struct request r = about(device);
        struct rtattr *families = add(&r, IFLA_AF_SPEC | NLA_F_NESTED, NULL, 0),
                      *six = add(&r, AF_INET6 | NLA_F_NESTED, NULL, 0);
        const unsigned char mode = NO_ADDRESS;

        (void)add(&r, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof mode);
        close_attribute(&r, six);
        close_attribute(&r, families);
        return ask(route, &r);
}

int
link_set_hardware(int route, unsigned device)
{
        struct request r = about(device);

        (void)add(&r, IFLA_ADDRESS, hardware, HARDWARE_LEN);
        return ask(route, &r);
}

int
link_wait(int route, unsigned device)
{
        for (int i = 0; i < WAIT_TRIES; i++) {
                struct {
                        struct nlmsghdr head;
                        struct ifinfomsg device;
                } answer = { .head = { .nlmsg_type = 0 } };
                const struct timespec pause = { .tv_nsec = WAIT_NS };
                struct request r = about(device);
                ssize_t got;

                r.head.nlmsg_type = RTM_GETLINK;
                r.head.nlmsg_flags = NLM_F_REQUEST;
                if (send(route, &r, r.head.nlmsg_len, 0) != (ssize_t)r.head.nlmsg_len)
                        return errno != 0 ? -errno : -EIO;
                do
                        /* the rest of it is discarded */
                        got = recv(route, &answer, sizeof answer, 0);
                while (got < 0 && errno == EINTR);
                if (got < 0)
                        return -errno;
                if ((size_t)got < sizeof answer || answer.head.nlmsg_type != RTM_NEWLINK)
                        return -EPROTO;
                if ((answer.device.ifi_flags & IFF_RUNNING) != 0)
                        return 0;
                (void)nanosleep(&pause, NULL);
        }
        return -ETIMEDOUT;
}

static void
describe_end(struct request *r, const char *name)
{
        (void)add(r, IFLA_IFNAME, name, (unsigned short)(strlen(name) + 1));
        (void)add(r, IFLA_ADDRESS, hardware, HARDWARE_LEN);
        add_number(r, IFLA_MTU, PAIR_MTU);
}

int
link_add_pair(int route, const char *name, const char *peer, int net)
{
        struct request r = about(0);
        const struct ifinfomsg plain = { .ifi_family = AF_UNSPEC };
        struct rtattr *info, *data, *other;

        r.head.nlmsg_type = RTM_NEWLINK;
        describe_end(&r, name);
        info = add(&r, IFLA_LINKINFO | NLA_F_NESTED, NULL, 0);
        (void)add(&r, IFLA_INFO_KIND, "veth", sizeof "veth");
        data = add(&r, IFLA_INFO_DATA | NLA_F_NESTED, NULL, 0);
        other = add(&r, VETH_INFO_PEER | NLA_F_NESTED, &plain, sizeof plain);
        describe_end(&r, peer);
        add_number(&r, IFLA_NET_NS_FD, (uint32_t)net);
        close_attribute(&r, other);
        close_attribute(&r, data);
        close_attribute(&r, info);
        return ask(route, &r);
}
