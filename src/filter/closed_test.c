/*
 * filter/closed_test.c - a call that the filters refuse gets the answer of a kernel without that
 * feature.
 *
 * Each refused feature has a stand-in: a number that no kernel ever used. The kernel's answer to
 * the stand-in without a filter must equal the filter's answer to the refused feature. The kernel
 * itself is never asked for a refused feature, because it might load a module for it.
 */
#include "filter/asking.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* The same without a filter, as a user without privileges. */
static int
ask_as_nobody(void *data)
{
        return geteuid() == 0 && setresuid(65534, 65534, 65534) < 0 ? FAILED_TO_INSTALL : ask(data);
}

static int
kernel_answers(struct ask a)
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(ask_as_nobody(&a));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : DIED;
}

/*
 * Compares the filter's answer to `closed` with the kernel's answer to `stand_in`, a number that no
 * kernel ever used.
 */
static void
answers_alike(const char *what, struct ask closed, struct ask stand_in)
{
        int expected = kernel_answers(stand_in);

        for (int i = 0; i < 2; i++) {
                int got = under(i == 0 ? &filter_default : &filter_nounix, ask, &closed);

                if (got != expected)
                        REFUSE("%s: %s(%lld, %#llx, %lld) answered %d (%s), a kernel without it %d "
                               "(%s)",
                               what, closed.name, (long long)closed.args[0],
                               (unsigned long long)closed.args[1], (long long)closed.args[2], got,
                               strerror(got), expected, strerror(expected));
        }
}

enum {
        NO_FAMILY = 14 /* AF_SECURITY */,
        NO_TYPE = 8,
        NO_PROTOCOL = 200,
        NO_NETLINK = 31,
        TYPES = 11
};

static void
a20_a_closed_family_answers_as_a_kernel_without_it(void **state)
{
        static int pair[2];

        (void)state;
        for (uint64_t i = 0; i < 46 * TYPES; i++) {
                uint64_t family = i / TYPES,
                         type = i % TYPES | (i % 2 ? SOCK_CLOEXEC | SOCK_NONBLOCK : 0);

                if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
                    family == AF_NETLINK)
                        continue;
                answers_alike("a family", (struct ask)ASK(socket, 0, family, type, 0),
                              (struct ask)ASK(socket, 0, NO_FAMILY, type, 0));
                answers_alike("a family",
                              (struct ask)ASK(socketpair, 0, family, type, 0, (uintptr_t)pair),
                              (struct ask)ASK(socketpair, 0, NO_FAMILY, type, 0, (uintptr_t)pair));
        }
}

/* All protocols that some kernel supports. */
static void
a20_a_closed_protocol_answers_as_a_kernel_without_it(void **state)
{
        static const uint64_t protocols[] = { IPPROTO_ICMP,       IPPROTO_IPIP,
                                              33 /* DCCP */,      IPPROTO_ICMPV6,
                                              115 /* L2TP */,     IPPROTO_SCTP,
                                              136 /* UDP-Lite */, 255,
                                              256 /* SMC */,      262 /* MPTCP */ };
        static const uint64_t types[] = { SOCK_STREAM,  SOCK_DGRAM, SOCK_RDM, SOCK_SEQPACKET,
                                          6 /* DCCP */, 0,          7 };

        (void)state;
        for (size_t i = 0; i < sizeof protocols / sizeof protocols[0] * 2; i++) {
                uint64_t family = i % 2 ? AF_INET6 : AF_INET, protocol = protocols[i / 2];

                for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
                        uint64_t type = types[t],
                                 no_type =
                                         type == SOCK_STREAM || type == SOCK_DGRAM ? type : NO_TYPE;

                        answers_alike(
                                "a protocol",
                                (struct ask)ASK(socket, 0, family, type | SOCK_CLOEXEC, protocol),
                                (struct ask)ASK(socket, 0, family, no_type, NO_PROTOCOL));
                }
                answers_alike("raw", (struct ask)ASK(socket, 0, family, SOCK_RAW, protocol),
                              (struct ask)ASK(socket, 0, family, SOCK_RAW, NO_PROTOCOL));
        }
        answers_alike("SOCK_PACKET", (struct ask)ASK(socket, 0, AF_INET, SOCK_PACKET, 0x300),
                      (struct ask)ASK(socket, 0, NO_FAMILY, SOCK_PACKET, 0x300));
        answers_alike("SOCK_PACKET", (struct ask)ASK(socket, 0, AF_INET6, SOCK_PACKET, 0),
                      (struct ask)ASK(socket, 0, AF_INET6, NO_TYPE, 0));
}

static void
a20_netlink_and_pairs_answer_as_a_kernel_without_the_rest(void **state)
{
        static const uint64_t with_pairs[] = { AF_INET, AF_INET6 };
        static int pair[2];

        (void)state;
        for (uint64_t i = 0; i < TYPES; i++) {
                answers_alike("netlink", (struct ask)ASK(socket, 0, AF_NETLINK, i, NETLINK_ROUTE),
                              (struct ask)ASK(socket, 0, AF_NETLINK, i, NETLINK_ROUTE));
                answers_alike("netlink",
                              (struct ask)ASK(socket, 0, AF_NETLINK, i, NETLINK_NETFILTER),
                              (struct ask)ASK(socket, 0, AF_NETLINK, i, NO_NETLINK));
        }
        for (size_t i = 0; i < 4; i++) {
                struct ask a = ASK(socketpair, 0, with_pairs[i / 2],
                                   i % 2 ? SOCK_DGRAM : SOCK_STREAM, 0, (uintptr_t)pair);

                answers_alike("a pair", a, a);
        }
        answers_alike("a pair",
                      (struct ask)ASK(socketpair, 0, AF_NETLINK, SOCK_RAW, 0, (uintptr_t)pair),
                      (struct ask)ASK(socketpair, 0, AF_NETLINK, SOCK_RAW, 0, (uintptr_t)pair));
}

/* EPERM is the kernel's answer to a user without the privilege; each call here needs one. */
static void
a22_what_asks_for_a_privilege_answers_as_a_kernel_does_to_a_user(void **state)
{
        static const struct ask asks[] = {
                ASK(mount, EPERM, (uintptr_t) "x", (uintptr_t) "/", (uintptr_t) "tmpfs", 0, 0),
                ASK(umount2, EPERM, (uintptr_t) "/", 0),
                ASK(pivot_root, EPERM, (uintptr_t) "/", (uintptr_t) "/"),
                ASK(chroot, EPERM, (uintptr_t) "/"),
                ASK(fsopen, EPERM, (uintptr_t) "tmpfs", 0),
                ASK(open_tree, EPERM, (uint64_t)AT_FDCWD, (uintptr_t) "/", 1 /* OPEN_TREE_CLONE */),
                ASK(acct, EPERM, 0),
                ASK(swapon, EPERM, (uintptr_t) "/", 0),
                ASK(swapoff, EPERM, (uintptr_t) "/"),
                ASK(reboot, EPERM, 0, 0, 0),
                ASK(sethostname, EPERM, (uintptr_t) "x", 1),
                ASK(setdomainname, EPERM, (uintptr_t) "x", 1),
                ASK(init_module, EPERM, 0, 0, (uintptr_t) ""),
                ASK(delete_module, EPERM, (uintptr_t) "carrel-no-such-module", 0x800),
                ASK(vhangup, EPERM, 0),
                ASK(mknod, EPERM, (uintptr_t) "/tmp/carrel-no-such-device", S_IFCHR | 0600, 0x103),
        };

        (void)state;
        for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
                /* not built in: modules, swap, accounting */
                if (kernel_answers(asks[i]) != ENOSYS)
                        answers_alike("a privilege", asks[i], asks[i]);
        ASKS(&filter_default, asks);
}

/* These need no privilege, so no program expects EPERM. */
static void
what_needs_no_privilege_answers_as_a_kernel_without_it(void **state)
{
        static const struct ask asks[] = {
                ASK(process_vm_readv, ENOSYS, BAD),
                ASK(process_vm_writev, ENOSYS, BAD),
                ASK(process_madvise, ENOSYS, BAD),
                ASK(process_mrelease, ENOSYS, BAD),
                ASK(kcmp, ENOSYS, BAD),
                ASK(pidfd_getfd, ENOSYS, BAD),
                ASK(move_pages, ENOSYS, BAD),
                ASK(migrate_pages, ENOSYS, BAD),
                ASK(name_to_handle_at, ENOSYS, BAD),
                ASK(keyctl, ENOSYS, BAD),
                ASK(clone3, ENOSYS, BAD),
                ASK(io_setup, ENOSYS, BAD),
                ASK(prlimit64, ESRCH, BAD),
                ASK(prlimit64, ESRCH, 0xffffffff),
                ASK(prlimit64, EPERM, 1),
                ASK_NUMBER(1023, "a number without a call", ENOSYS, BAD),
        };

        (void)state;
        ASKS(&filter_default, asks);
        ASKS(&filter_nounix, asks);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a20_a_closed_family_answers_as_a_kernel_without_it),
                cmocka_unit_test(a20_a_closed_protocol_answers_as_a_kernel_without_it),
                cmocka_unit_test(a20_netlink_and_pairs_answer_as_a_kernel_without_the_rest),
                cmocka_unit_test(a22_what_asks_for_a_privilege_answers_as_a_kernel_does_to_a_user),
                cmocka_unit_test(what_needs_no_privilege_answers_as_a_kernel_without_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
