/* wall/wall_test.c - wall/wall.h, each case in its own namespace. */
#include "wall/wall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"

/*
 * Each case runs in a child with its own user and network namespace. The exit status is the number
 * of the check that failed.
 */
enum { FINE = 0, NO_NAMESPACE = 77, PATIENCE_MS = 60000 };

#define MUST(number, claim)            \
        do {                           \
                if (!(claim))          \
                        return number; \
        } while (0)

static int
loopback_up(void)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        int result = ioctl(fd, SIOCSIFFLAGS, &request);

        close(fd);
        return result;
}

static void
drop_capabilities(void)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

        (void)syscall(SYS_capset, &head, none);
}

/* Runs `inside` in new namespaces. NO_NAMESPACE: not permitted here. */
static int
in_namespace(int (*inside)(void))
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || loopback_up() < 0)
                        _exit(NO_NAMESPACE);
                _exit(inside());
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void
expect_fine(int (*inside)(void))
{
        int status = in_namespace(inside);

        if (status == NO_NAMESPACE) {
                print_message("no user namespace for this user here\n");
                skip();
        }
        assert_int_equal(status, FINE);
}

static int
open_wall(const uint16_t *ports, size_t port_count, int ret[WALL_FDS_MAX])
{
        return wall_open(&(struct wall_wanted){ .ports = ports, .port_count = port_count }, ret);
}

static socklen_t
read_address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
        struct sockaddr_in *four = (void *)ret;
        struct sockaddr_in6 *six = (void *)ret;

        memset(ret, 0, sizeof *ret);
        if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
                four->sin_family = AF_INET;
                four->sin_port = htons(port);
                return sizeof *four;
        }
        (void)inet_pton(AF_INET6, text, &six->sin6_addr);
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        return sizeof *six;
}

static int
connect_to(const char *text, uint16_t port)
{
        struct sockaddr_storage to;
        socklen_t len = read_address(text, port, &to);
        int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (connect(fd, (const struct sockaddr *)&to, len) == 0)
                return fd;
        close(fd);
        return -1;
}

/* Checks the destination of the next connection on `listener`, as text. */
static int
is_caught(int listener, const char *want)
{
        struct sockaddr_in6 at = { 0 };
        socklen_t len = sizeof at;
        char text[INET6_ADDRSTRLEN] = "";
        struct pollfd fd = { listener, POLLIN, 0 };
        int got = poll(&fd, 1, PATIENCE_MS) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;

        if (got < 0 || getsockname(got, (struct sockaddr *)&at, &len) < 0)
                return 0;
        (void)inet_ntop(AF_INET6, &at.sin6_addr, text, sizeof text);
        close(got);
        return strcmp(text, want) == 0;
}

static int
every_address(void)
{
        static const struct {
                const char *to, *seen;
        } cases[] = {
                { "203.0.113.1", "::ffff:203.0.113.1" },
                { "8.8.8.8", "::ffff:8.8.8.8" },
                { "198.18.1.0", "::ffff:198.18.1.0" },
                { "127.0.0.1", "::ffff:127.0.0.1" },
                { "169.254.169.254", "::ffff:169.254.169.254" },
                { "2001:db8::1", "2001:db8::1" },
                { "::1", "::1" },
                { "fd63:6172:7265:6c00::100", "fd63:6172:7265:6c00::100" },
        };
        int fds[WALL_FDS_MAX];

        MUST(1, open_wall(NULL, 0, fds) == 0);
        drop_capabilities();
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                MUST(10 + (int)i, connect_to(cases[i].to, 443) >= 0);
                MUST(30 + (int)i, is_caught(fds[WALL_HTTPS], cases[i].seen));
        }
        MUST(2,
             connect_to("203.0.113.1", 80) >= 0 && is_caught(fds[WALL_HTTP], "::ffff:203.0.113.1"));
        MUST(3, connect_to("198.18.0.1", WALL_PROXY_PORT) >= 0);
        MUST(4,
             connect_to("203.0.113.1", WALL_PROXY_PORT) < 0 && connect_to("203.0.113.1", 22) < 0);
        return FINE;
}

static int
privileged_ports(void)
{
        static const uint16_t ports[] = { 22, 990 };
        int fds[WALL_FDS_MAX];

        MUST(1, open_wall(ports, 2, fds) == 0);
        drop_capabilities();
        MUST(2, connect_to("203.0.113.9", 22) >= 0 &&
                        is_caught(fds[WALL_FIXED], "::ffff:203.0.113.9"));
        MUST(3,
             connect_to("2001:db8::9", 990) >= 0 && is_caught(fds[WALL_FIXED + 1], "2001:db8::9"));
        return FINE;
}

/* A datagram reports its destination address, for both families. */
static int
is_asked_at(int dns, const char *text)
{
        struct sockaddr_storage to, from;
        socklen_t len = read_address(text, 53, &to);
        int client = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        char byte, control[256], seen[INET6_ADDRSTRLEN] = "";
        struct iovec part = { &byte, 1 };
        struct msghdr m = { .msg_name = &from,
                            .msg_namelen = sizeof from,
                            .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof control };
        struct pollfd fd = { dns, POLLIN, 0 };

        if (connect(client, (const struct sockaddr *)&to, len) < 0 ||
            send(client, "?", 1, 0) != 1 || poll(&fd, 1, PATIENCE_MS) != 1 ||
            recvmsg(dns, &m, 0) != 1)
                return 0;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
                if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
                        (void)inet_ntop(AF_INET6, CMSG_DATA(c), seen, sizeof seen);
        /* the answer must leave from the address that was asked, or the client ignores it */
        part.iov_base = "!";
        if (sendmsg(dns, &m, 0) != 1)
                return 0;
        fd.fd = client;
        if (poll(&fd, 1, PATIENCE_MS) != 1 || recv(client, &byte, 1, 0) != 1 || byte != '!')
                return 0;
        close(client);
        return strcmp(seen + (strncmp(seen, "::ffff:", 7) == 0 ? 7 : 0), text) == 0;
}

static int
datagrams(void)
{
        int fds[WALL_FDS_MAX];

        MUST(1, open_wall(NULL, 0, fds) == 0);
        drop_capabilities();
        MUST(2, is_asked_at(fds[WALL_DNS_UDP], "198.18.0.1"));
        MUST(3, is_asked_at(fds[WALL_DNS_UDP], "9.9.9.9"));
        MUST(4, is_asked_at(fds[WALL_DNS_UDP], "2620:fe::fe"));
        return FINE;
}

static int
high_ports(void)
{
        struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(6000) };
        int fds[WALL_FDS_MAX], pair[2], server;

        MUST(1, open_wall(NULL, 0, fds) == 0);
        drop_capabilities();
        MUST(2, wall_listen(WALL_NAME_FIRST, 5432, pair) == 0);
        MUST(3, connect_to("198.18.1.0", 5432) >= 0 &&
                        connect_to("fd63:6172:7265:6c00::100", 5432) >= 0);
        MUST(4, connect_to("198.18.1.1", 5432) < 0 && connect_to("203.0.113.1", 5432) < 0);
        MUST(5, wall_listen(WALL_NAME_FIRST, 5432, pair) == -EADDRINUSE);
        server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        MUST(6, bind(server, (const struct sockaddr *)&any, sizeof any) == 0 &&
                        listen(server, 1) == 0);
        MUST(7, wall_listen(WALL_NAME_FIRST, 6000, pair) == -EADDRINUSE);
        MUST(8, wall_listen(WALL_GATE, 5432, pair) == -EINVAL &&
                        wall_listen(WALL_INDEX_MAX + 1, 5432, pair) == -EINVAL &&
                        wall_listen(WALL_NAME_FIRST, 443, pair) == -EINVAL);
        return FINE;
}

/* Without privileges no process can take or share a port of the gate, or change a route. */
static int
out_of_reach(void)
{
        static const uint16_t ports[] = { 53, 80, 443 };
        int fds[WALL_FDS_MAX], again[WALL_FDS_MAX], one = 1;

        MUST(1, open_wall(NULL, 0, fds) == 0);
        MUST(2, open_wall(NULL, 0, again) == -EADDRINUSE);
        drop_capabilities();
        for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
                struct sockaddr_in at = { .sin_family = AF_INET,
                                          .sin_port = htons(ports[i]),
                                          .sin_addr = { htonl(0xcb007101u) } };
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

                (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
                (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
                MUST(10 + (int)i,
                     bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 && errno == EACCES);
        }
        return FINE;
}

static int
too_much(void)
{
        uint16_t ports[WALL_PORTS_MAX + 1];
        int fds[WALL_FDS_MAX];

        for (uint16_t i = 0; i <= WALL_PORTS_MAX; i++)
                ports[i] = (uint16_t)(500 + i);
        MUST(1, open_wall(ports, WALL_PORTS_MAX + 1, fds) == -EINVAL);
        ports[0] = 1024;
        MUST(2, open_wall(ports, 1, fds) == -EINVAL);
        ports[0] = 0;
        MUST(3, open_wall(ports, 1, fds) == -EINVAL);
        ports[0] = 499;
        MUST(4, open_wall(ports, WALL_PORTS_MAX, fds) == 0);
        return FINE;
}

/* -- routed ------------------------------------------------------------------------------------ */

static int
open_routed(const uint16_t *ports, size_t port_count, size_t stock, int ret[WALL_FDS_MAX])
{
        return wall_open(&(struct wall_wanted){ .ports = ports,
                                                .port_count = port_count,
                                                .is_routed = true,
                                                .stock = stock },
                         ret);
}

/* A server on every address of a family, without privileges. */
static int
serve_at(const char *text, uint16_t port)
{
        struct sockaddr_storage at;
        socklen_t len = read_address(text, port, &at);
        int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        return bind(fd, (const struct sockaddr *)&at, len) == 0 && listen(fd, 4) == 0 ? fd : -1;
}

static int
routed_addresses(void)
{
        static const struct {
                const char *to, *seen;
        } cases[] = {
                { "203.0.113.1", "::ffff:203.0.113.1" },
                { "8.8.8.8", "::ffff:8.8.8.8" },
                { "198.18.1.0", "::ffff:198.18.1.0" },
                { "169.254.169.254", "::ffff:169.254.169.254" },
                { "10.0.0.1", "::ffff:10.0.0.1" },
                { "198.18.0.1", "::ffff:198.18.0.1" },
                { "2001:db8::1", "2001:db8::1" },
                { "fd63:6172:7265:6c00::100", "fd63:6172:7265:6c00::100" },
                { "fd63:6172:7265:6c00::1", "fd63:6172:7265:6c00::1" },
        };
        static const uint16_t ports[] = { 22 };
        int fds[WALL_FDS_MAX];

        MUST(1, open_routed(ports, 1, 0, fds) == 0);
        drop_capabilities();
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                MUST(10 + (int)i, connect_to(cases[i].to, 443) >= 0);
                MUST(30 + (int)i, is_caught(fds[WALL_HTTPS], cases[i].seen));
        }
        MUST(2,
             connect_to("203.0.113.1", 80) >= 0 && is_caught(fds[WALL_HTTP], "::ffff:203.0.113.1"));
        MUST(3, connect_to("198.18.0.1", WALL_PROXY_PORT) >= 0 &&
                        connect_to("203.0.113.1", WALL_PROXY_PORT) < 0 && errno == ECONNREFUSED);
        MUST(4, connect_to("2001:db8::9", 22) >= 0 && is_caught(fds[WALL_FIXED], "2001:db8::9"));
        MUST(5, connect_to("203.0.113.1", 23) < 0 && errno == ECONNREFUSED);
        MUST(6, connect_to("127.0.0.1", 443) < 0 && connect_to("::1", 443) < 0 &&
                        connect_to("198.18.0.2", 443) < 0);
        MUST(7, is_asked_at(fds[WALL_DNS_UDP], "198.18.0.1") &&
                        is_asked_at(fds[WALL_DNS_UDP], "9.9.9.9") &&
                        is_asked_at(fds[WALL_DNS_UDP], "2620:fe::fe"));
        return FINE;
}

/* A server on every address inside receives packets to the inside, and no others. */
static int
routed_servers(void)
{
        static const struct {
                const char *at, *outside, *inside, *own;
        } cases[] = {
                { "0.0.0.0", "203.0.113.1", "127.0.0.1", "198.18.0.2" },
                { "::", "2001:db8::1", "::1", "fd63:6172:7265:6c00::2" },
        };
        int fds[WALL_FDS_MAX];

        MUST(1, open_routed(NULL, 0, 0, fds) == 0);
        drop_capabilities();
        for (int i = 0; i < 2; i++) {
                int server = serve_at(cases[i].at, (uint16_t)(80 + 363 * i)),
                    slot = i == 0 ? WALL_HTTP : WALL_HTTPS;
                struct pollfd quiet = { server, POLLIN, 0 };

                MUST(10 + i, server >= 0);
                MUST(20 + i,
                     connect_to(cases[i].outside, (uint16_t)(80 + 363 * i)) >= 0 &&
                             is_caught(fds[slot], i == 0 ? "::ffff:203.0.113.1" : "2001:db8::1"));
                MUST(30 + i, poll(&quiet, 1, 0) == 0);
                MUST(40 + i, connect_to(cases[i].inside, (uint16_t)(80 + 363 * i)) >= 0 &&
                                     connect_to(cases[i].own, (uint16_t)(80 + 363 * i)) >= 0);
                MUST(50 + i, poll(&quiet, 1, 1000) == 1);
                quiet.fd = fds[slot];
                MUST(60 + i, poll(&quiet, 1, 0) == 0);
                close(server);
        }
        return FINE;
}

static int
routed_stock(void)
{
        static const uint16_t ports[] = { 22, 5432, WALL_PROXY_PORT };
        int fds[WALL_FDS_MAX];

        MUST(1, open_routed(NULL, 0, 4, fds) == 0);
        drop_capabilities();
        for (int i = 0; i < 3; i++) {
                MUST(10 + i, connect_to("203.0.113.1", ports[i]) < 0);
                MUST(20 + i, wall_bind(fds[WALL_FIXED + i], ports[i]) == 0);
                MUST(30 + i, connect_to("203.0.113.1", ports[i]) >= 0 &&
                                     is_caught(fds[WALL_FIXED + i], "::ffff:203.0.113.1"));
                MUST(40 + i, connect_to("2001:db8::1", ports[i]) >= 0 &&
                                     is_caught(fds[WALL_FIXED + i], "2001:db8::1"));
        }
        MUST(2, wall_bind(fds[WALL_FIXED], 23) == -EINVAL &&
                        wall_bind(fds[WALL_FIXED + 3], 443) == -EADDRINUSE &&
                        wall_bind(fds[WALL_FIXED + 3], 0) == -EINVAL);
        MUST(3,
             connect_to("198.18.0.1", WALL_PROXY_PORT) >= 0 && is_caught(fds[WALL_PROXY], "") == 0);
        return FINE;
}

/* A packet with another source address gets no answer, and the claimed source receives nothing. */
static int
routed_forgery(void)
{
        struct sockaddr_storage to, from;
        socklen_t len = read_address("2001:db8::1", 53, &to),
                  from_len = read_address("fd63:6172:7265:6c00::1", 53, &from);
        int fds[WALL_FDS_MAX], one = 1, client, four, wire;
        char byte, control[256];
        struct iovec part = { &byte, 1 };
        struct msghdr m = { .msg_name = &from,
                            .msg_namelen = sizeof from,
                            .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof control };
        struct pollfd fd;

        MUST(1, open_routed(NULL, 0, 0, fds) == 0);
        drop_capabilities();
        client = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        MUST(2, setsockopt(client, IPPROTO_IPV6, 78 /* IPV6_FREEBIND */, &one, sizeof one) == 0 &&
                        bind(client, (const struct sockaddr *)&from, from_len) == 0);
        MUST(3, sendto(client, "?", 1, 0, (const struct sockaddr *)&to, len) == 1);
        fd = (struct pollfd){ fds[WALL_DNS_UDP], POLLIN, 0 };
        if (poll(&fd, 1, 200) == 1 && recvmsg(fds[WALL_DNS_UDP], &m, 0) == 1) {
                part.iov_base = "!";
                (void)sendmsg(fds[WALL_DNS_UDP], &m, 0);
                MUST(4, poll(&fd, 1, 200) == 0); /* the name server does not answer itself */
        }
        four = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        len = read_address("203.0.113.1", 53, &to);
        from_len = read_address("198.18.0.1", 4000, &from);
        MUST(5, setsockopt(four, IPPROTO_IP, IP_FREEBIND, &one, sizeof one) == 0 &&
                        bind(four, (const struct sockaddr *)&from, from_len) == 0);
        MUST(6, sendto(four, "?", 1, 0, (const struct sockaddr *)&to, len) < 0);
        wire = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        len = read_address("127.0.0.1", 443, &to);
        MUST(7, setsockopt(wire, SOL_SOCKET, SO_BINDTODEVICE, "eth0", 5) == 0);
        (void)connect(wire, (const struct sockaddr *)&to, len);
        fd = (struct pollfd){ fds[WALL_HTTPS], POLLIN, 0 };
        MUST(8, poll(&fd, 1, 200) == 0);
        return FINE;
}

/* Only the gate's ports answer, and the route cannot be changed. */
static int
routed_reach(void)
{
        struct ifreq device = { .ifr_name = "eth0" };
        struct sockaddr_storage to;
        socklen_t len = read_address("203.0.113.1", 123, &to);
        int fds[WALL_FDS_MAX], client, raw;
        char byte;

        MUST(1, open_routed(NULL, 0, 0, fds) == 0);
        drop_capabilities();
        client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        MUST(2, connect(client, (const struct sockaddr *)&to, len) == 0 &&
                        send(client, "?", 1, 0) == 1);
        MUST(3, recv(client, &byte, 1, 0) < 0 && errno == ECONNREFUSED);
        raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
        MUST(4, raw < 0 && socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) < 0);
        MUST(5, ioctl(client, SIOCSIFFLAGS, &device) < 0 && errno == EPERM);
        device.ifr_mtu = 1500;
        MUST(6, ioctl(client, SIOCSIFMTU, &device) < 0 && errno == EPERM);
        for (int port = 1; port < 1024; port++)
                MUST(7, (connect_to("203.0.113.1", (uint16_t)port) >= 0) ==
                                (port == 53 || port == 80 || port == 443));
        return FINE;
}

static int
routed_too_much(void)
{
        int fds[WALL_FDS_MAX];

        MUST(1, open_routed(NULL, 0, WALL_STOCK_MAX + 1, fds) == -EINVAL);
        MUST(2, wall_open(&(struct wall_wanted){ .stock = 1 }, fds) == -EINVAL);
        MUST(3, open_routed(NULL, 0, WALL_STOCK_MAX, fds) == 0);
        MUST(4, if_nametoindex("eth0") != 0 && if_nametoindex("wall0") == 0);
        MUST(5, open_routed(NULL, 0, 0, fds) < 0); /* an eth0 exists already */
        MUST(6, if_nametoindex("eth0") != 0);      /* and the caller is back inside */
        return FINE;
}

/* A failure half-way leaves the caller in its namespace, and nothing open. */
static int
routed_failure(void)
{
        int fds[WALL_FDS_MAX], before = dup(0), after;

        close(before);
        MUST(1, open_routed(NULL, 0, 3, fds) == 0);
        for (size_t i = 0; i < WALL_FIXED + 3; i++)
                close(fds[i]);
        MUST(2, open_routed(NULL, 0, 3, fds) < 0);
        after = dup(0);
        MUST(3, before == after);
        return FINE;
}

static void
a_routed_wall_catches_every_address_but_the_insides_own(void **state)
{
        (void)state;
        expect_fine(routed_addresses);
}

static void
every_port_is_the_insides_own(void **state)
{
        (void)state;
        expect_fine(routed_servers);
}

static void
a_stock_becomes_listeners_at_any_port(void **state)
{
        (void)state;
        expect_fine(routed_stock);
}

static void
a_forged_source_leads_nowhere(void **state)
{
        (void)state;
        expect_fine(routed_forgery);
}

static void
nothing_but_the_gate_is_reached_over_the_wire(void **state)
{
        (void)state;
        expect_fine(routed_reach);
}

static void
a_routed_wall_is_made_once(void **state)
{
        (void)state;
        expect_fine(routed_too_much);
        expect_fine(routed_failure);
}

static void
a_connection_to_any_address_is_caught(void **state)
{
        (void)state;
        expect_fine(every_address);
}

static void
ports_that_a_list_names_are_caught(void **state)
{
        (void)state;
        expect_fine(privileged_ports);
}

static void
a_question_shows_the_address_of_its_server(void **state)
{
        (void)state;
        expect_fine(datagrams);
}

static void
high_ports_are_listened_to_on_one_address(void **state)
{
        (void)state;
        expect_fine(high_ports);
}

static void
the_payload_takes_no_port_of_the_gates(void **state)
{
        (void)state;
        expect_fine(out_of_reach);
}

static void
there_is_an_end_to_ports(void **state)
{
        (void)state;
        expect_fine(too_much);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_connection_to_any_address_is_caught),
                cmocka_unit_test(ports_that_a_list_names_are_caught),
                cmocka_unit_test(a_question_shows_the_address_of_its_server),
                cmocka_unit_test(high_ports_are_listened_to_on_one_address),
                cmocka_unit_test(the_payload_takes_no_port_of_the_gates),
                cmocka_unit_test(there_is_an_end_to_ports),
                cmocka_unit_test(a_routed_wall_catches_every_address_but_the_insides_own),
                cmocka_unit_test(every_port_is_the_insides_own),
                cmocka_unit_test(a_stock_becomes_listeners_at_any_port),
                cmocka_unit_test(a_forged_source_leads_nowhere),
                cmocka_unit_test(nothing_but_the_gate_is_reached_over_the_wire),
                cmocka_unit_test(a_routed_wall_is_made_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
