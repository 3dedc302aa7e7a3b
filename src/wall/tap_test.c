/* wall/tap_test.c - wall_open_machine() of wall/wall.h: what a kernel of a virtual machine reaches
 * with frames that it makes itself, as one does that a payload has taken over. */
#include "wall/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"
#include "wall/wall.h"

/* Each case runs in a child, which enters the namespace. NOT_HERE: this user has no tap. */
enum {
        FINE = 0,
        NOT_HERE = 77,
        PORT = 40000,
        HIDDEN = 8080,
        ROOM = 2048,
        SYN = 2,
        ANSWER_TRIES = 8,
        SUM_AT = 16
};

#define MUST(number, claim)            \
        do {                           \
                if (!(claim))          \
                        return number; \
        } while (0)

static int sockets[WALL_FDS_MAX], tap;

static void
expect_fine(int (*inside)(void))
{
        static const struct wall_wanted wanted = { .is_routed = true, .stock = 1 };
        pid_t pid = fork();
        int status;

        if (pid == 0)
                _exit(wall_open_machine(&wanted, sockets, &tap) < 0 ? NOT_HERE : inside());
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == NOT_HERE) {
                print_message("no user namespace or no /dev/net/tun for this user here\n");
                skip();
        }
        assert_int_equal(WEXITSTATUS(status), FINE);
}

/* -- frames ------------------------------------------------------------------------------------ */

struct frame {
        struct virtio_net_hdr head;
        struct ether_header ether;
        unsigned char bytes[256];
} __attribute__((packed));

/* What a TCP packet says: who sends it to whom, of one family. */
struct packet {
        const char *from, *to;
        uint16_t port;
        unsigned char flags;
};

static void
put16(unsigned char *at, unsigned value)
{
        at[0] = (unsigned char)(value >> 8);
        at[1] = (unsigned char)value;
}

static unsigned
sum(const unsigned char *bytes, size_t len)
{
        unsigned total = 0;

        for (size_t i = 0; i < len; i += 2)
                total += (unsigned)bytes[i] << 8 | bytes[i + 1];
        while (total >> 16 != 0)
                total = (total & 0xffff) + (total >> 16);
        return total;
}

static size_t
write_head4(unsigned char *at, const struct packet *p)
{
        memset(at, 0, 20);
        at[0] = 0x45;
        put16(at + 2, 40);
        at[8] = 64;
        at[9] = IPPROTO_TCP;
        (void)inet_pton(AF_INET, p->from, at + 12);
        (void)inet_pton(AF_INET, p->to, at + 16);
        put16(at + 10, ~sum(at, 20) & 0xffff);
        return 20;
}

static size_t
write_head6(unsigned char *at, const struct packet *p)
{
        memset(at, 0, 40);
        at[0] = 0x60;
        put16(at + 4, 20);
        at[6] = IPPROTO_TCP;
        at[7] = 64;
        (void)inet_pton(AF_INET6, p->from, at + 8);
        (void)inet_pton(AF_INET6, p->to, at + 24);
        return 40;
}

/* The sum of the TCP part is left to a device, so the kernel takes it as right. */
static size_t
make_frame(struct frame *f, const struct packet *p)
{
        bool is_six = strchr(p->from, ':') != NULL;
        unsigned char *tcp;

        memset(f, 0, sizeof *f);
        f->head.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
        memcpy(f->ether.ether_dhost, WALL_HARDWARE, ETH_ALEN);
        memcpy(f->ether.ether_shost, WALL_HARDWARE, ETH_ALEN);
        f->ether.ether_type = htons(is_six ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
        tcp = f->bytes + (is_six ? write_head6(f->bytes, p) : write_head4(f->bytes, p));
        f->head.csum_start = (uint16_t)(tcp - (unsigned char *)&f->ether);
        f->head.csum_offset = SUM_AT;
        put16(tcp, PORT);
        put16(tcp + 2, p->port);
        tcp[12] = 5 << 4;
        tcp[13] = p->flags;
        put16(tcp + 14, 1024);
        return (size_t)(tcp + 20 - (unsigned char *)f);
}

static int
put_frame(const struct packet *p)
{
        struct frame f;
        size_t len = make_frame(&f, p);

        return write(tap, &f, len) == (ssize_t)len;
}

/* The flags of the next answer to this port's packets; -1: none came. `from`: who says it. */
static int
take_answer(int wait_ms, char from[INET6_ADDRSTRLEN])
{
        unsigned char got[ROOM];
        struct frame f;

        for (int i = 0; i < ANSWER_TRIES; i++) {
                struct pollfd fd = { tap, POLLIN, 0 };
                bool is_six;
                const unsigned char *tcp;
                ssize_t len = poll(&fd, 1, wait_ms) == 1 ? read(tap, got, sizeof got) : -1;

                if (len < (ssize_t)(sizeof f.head + sizeof f.ether) + 40)
                        return -1;
                memcpy(&f, got, (size_t)len < sizeof f ? (size_t)len : sizeof f);
                is_six = f.ether.ether_type == htons(ETHERTYPE_IPV6);
                tcp = f.bytes + (is_six ? 40 : 20);
                if (f.bytes[is_six ? 6 : 9] != IPPROTO_TCP || tcp[2] != PORT >> 8)
                        continue; /* the kernel's own, such as its groups of IPv6 */
                (void)inet_ntop(is_six ? AF_INET6 : AF_INET, f.bytes + (is_six ? 8 : 12), from,
                                INET6_ADDRSTRLEN);
                return tcp[13];
        }
        return -1;
}

enum { ACK = 0x10, RESET = 4, PATIENCE_MS = 60000 };

/* Is the answer to `p` one with these flags, from the address that was asked? */
static bool
is_answered(const struct packet *p, int flags)
{
        char from[INET6_ADDRSTRLEN] = "";

        return put_frame(p) && (take_answer(PATIENCE_MS, from) & (SYN | ACK | RESET)) == flags &&
               strcmp(from, p->to) == 0;
}

/* -- cases ------------------------------------------------------------------------------------- */

#define OWN4 "198.18.0.2"
#define OWN6 "fd63:6172:7265:6c00::2"

static const struct packet plain4 = { OWN4, "203.0.113.1", 443, SYN },
                           plain6 = { OWN6, "2001:db8::1", 80, SYN };

static int
the_gate(void)
{
        const struct packet later = { OWN4, "203.0.113.1", HIDDEN, SYN };

        MUST(1, is_answered(&plain4, SYN | ACK) && is_answered(&plain6, SYN | ACK));
        MUST(2,
             is_answered(&(struct packet){ OWN4, "198.18.0.1", WALL_PROXY_PORT, SYN }, SYN | ACK));
        MUST(3, is_answered(&later, RESET | ACK));
        MUST(4, wall_bind(sockets[WALL_FIXED], HIDDEN) == 0 && is_answered(&later, SYN | ACK));
        return FINE;
}

/* Everything but the gate's own ports is refused by this namespace itself. */
static int
nothing_else(void)
{
        static const struct packet cases[] = {
                { OWN4, "203.0.113.1", HIDDEN, SYN },
                { OWN6, "2001:db8::1", HIDDEN, SYN },
                { OWN4, "198.18.0.1", HIDDEN, SYN },
                { OWN4, "169.254.169.254", HIDDEN, SYN },
                { OWN4, "10.0.0.1", WALL_PROXY_PORT, SYN },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                MUST(10 + (int)i, is_answered(&cases[i], RESET | ACK));
        return FINE;
}

/* No answer, and the next good packet has its own. */
static int
forged(void)
{
        static const struct packet cases[] = {
                { "198.18.0.1", "203.0.113.1", 443, SYN },
                { "10.1.2.3", "203.0.113.1", 443, SYN },
                { "127.0.0.1", "203.0.113.1", 443, SYN },
                { OWN4, "127.0.0.1", 443, SYN },
                { OWN4, "127.0.0.1", HIDDEN, SYN },
                { "198.18.0.3", "198.18.0.1", 80, SYN },
                { "2001:db8::9", "2001:db8::1", 443, SYN },
                { "::1", "2001:db8::1", 443, SYN },
                { OWN6, "::1", 443, SYN },
                { "fd63:6172:7265:6c00::1", "2001:db8::1", 443, SYN },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char from[INET6_ADDRSTRLEN] = "";

                MUST(10 + (int)i, put_frame(&cases[i]));
                MUST(30 + (int)i, is_answered(&plain4, SYN | ACK));
                MUST(50 + (int)i, put_frame(&(struct packet){ OWN4, plain4.to, 443, RESET }));
                MUST(70 + (int)i, take_answer(0, from) < 0);
        }
        return FINE;
}

/* A router's word is not taken over, and no address is asked for or told. */
static int
quiet(void)
{
        struct frame ask = { .ether.ether_type = htons(ETHERTYPE_ARP) };
        char text[8] = "", from[INET6_ADDRSTRLEN];
        FILE *f = fopen("/proc/sys/net/ipv6/conf/wall0/accept_ra", "re");
        struct if_nameindex *all = if_nameindex();
        size_t count = 0;

        MUST(1, f && fgets(text, sizeof text, f) && strcmp(text, "0\n") == 0);
        (void)fclose(f);
        while (all[count].if_index != 0)
                count++;
        MUST(2, count == 2);
        if_freenameindex(all);
        memset(ask.ether.ether_dhost, 0xff, ETH_ALEN);
        memcpy(ask.bytes, "\0\1\x08\0\6\4\0\1" WALL_HARDWARE "\xc6\x12\0\2\0\0\0\0\0\0\xc6\x12\0\1",
               28);
        MUST(3, write(tap, &ask, sizeof ask) == sizeof ask && take_answer(0, from) < 0);
        return FINE;
}

static void
a_machine_reaches_the_gate(void **state)
{
        (void)state;
        expect_fine(the_gate);
}

static void
a_machine_reaches_nothing_else(void **state)
{
        (void)state;
        expect_fine(nothing_else);
}

static void
a_forged_source_gets_no_answer(void **state)
{
        (void)state;
        expect_fine(forged);
}

static void
what_a_machine_says_of_its_network_is_not_heard(void **state)
{
        (void)state;
        expect_fine(quiet);
}

static void
the_wall_of_a_machine_is_routed(void **state)
{
        const struct wall_wanted wanted = { .is_routed = false };

        (void)state;
        assert_int_equal(wall_open_machine(&wanted, sockets, &tap), -EINVAL);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_machine_reaches_the_gate),
                cmocka_unit_test(a_machine_reaches_nothing_else),
                cmocka_unit_test(a_forged_source_gets_no_answer),
                cmocka_unit_test(what_a_machine_says_of_its_network_is_not_heard),
                cmocka_unit_test(the_wall_of_a_machine_is_routed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
