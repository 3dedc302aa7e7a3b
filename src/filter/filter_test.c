/*
 * filter/filter_test.c - installs the filters in this kernel, and tests them call by call.
 *
 * Every case runs in its own child. The arguments are chosen so that a call that passes the filter
 * gives another answer than the filter does, also as root, and changes nothing.
 */
#include "filter/asking.h"

#include <arpa/inet.h>
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define X32 0x40000000

static void
a07_the_mount_table_stays_as_it_is(void **state)
{
        static const struct ask asks[] = {
                ASK(mount, EPERM, BAD, BAD, BAD),
                ASK(umount2, EPERM, NOWHERE),
                ASK(pivot_root, EPERM, BAD, BAD),
                ASK(chroot, EPERM, NOWHERE),
                ASK(fsopen, EPERM, BAD, BAD),
                ASK(fsconfig, EPERM, BAD, BAD),
                ASK(fsmount, EPERM, BAD),
                ASK(fspick, EPERM, BAD),
                ASK(open_tree, EPERM, BAD, NOWHERE),
                ASK(move_mount, EPERM, BAD, NOWHERE, BAD, NOWHERE),
                ASK(mount_setattr, EPERM, BAD, NOWHERE, 0, BAD, 32),
                ASK_NUMBER(457, "statmount", ENOSYS, BAD),
                ASK_NUMBER(458, "listmount", ENOSYS, BAD),
                ASK_NUMBER(467, "open_tree_attr", ENOSYS, BAD),
        };

        (void)state;
        ASKS(&filter_default, asks);
        ASKS(&filter_nounix, asks);
}

static void
a07_numbers_without_a_row_get_enosys(void **state)
{
        (void)state;
        for (long number = 463; number <= 600; number++) {
                struct ask a = { "number", number, { BAD, BAD, BAD, BAD, BAD, BAD }, ENOSYS };

                assert_int_equal(under(&filter_default, ask, &a), ENOSYS);
        }
#ifdef __x86_64__
        for (long number = 337; number <= 423; number++) {
                struct ask a = { "number", number, { BAD, BAD, BAD, BAD, BAD, BAD }, ENOSYS };

                assert_int_equal(under(&filter_default, ask, &a), ENOSYS);
        }
#endif
}

static void
a08_no_namespace_is_made_or_entered(void **state)
{
        static const uint64_t flags[] = { CLONE_NEWNS,   CLONE_NEWCGROUP,
                                          CLONE_NEWUTS,  CLONE_NEWIPC,
                                          CLONE_NEWUSER, CLONE_NEWPID,
                                          CLONE_NEWNET,  CLONE_NEWUSER | CLONE_NEWNET };
        static const struct ask asks[] = {
                ASK(setns, EPERM, BAD, 0),    ASK(setns, EPERM, BAD, CLONE_NEWNET),
                ASK(clone3, ENOSYS, BAD, 64), ASK(unshare, EPERM, 0x80),
                ASK(unshare, 0, 0),           ASK(unshare, 0, CLONE_FILES | CLONE_FS),
        };

        (void)state;
        ASKS(&filter_default, asks);
        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
                struct ask more[] = {
                        ASK(unshare, EPERM, flags[i]),
                        ASK(unshare, EPERM, flags[i] | HIGH),
                        ASK(unshare, EPERM, flags[i] | CLONE_FILES),
                        ASK(clone, EPERM, flags[i] | SIGCHLD),
                        ASK(clone, EPERM, flags[i] | SIGCHLD | HIGHS),
                        ASK(clone, EPERM, flags[i] | CLONE_VFORK),
                };

                ASKS(&filter_default, more);
        }
}

static void
a11_a12_terminals_are_not_typed_into(void **state)
{
        static const uint64_t requests[] = { TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD };
        static const struct ask harmless[] = {
                ASK(ioctl, EBADF, BAD, TCGETS),
                ASK(ioctl, EBADF, BAD, TIOCGWINSZ),
                ASK(ioctl, EBADF, BAD, FIONREAD),
                ASK(ioctl, EBADF, BAD, TIOCSTI + 1),
                ASK(ioctl, EBADF, BAD, TIOCSTI | 0x10000),
                ASK(ioctl, EBADF, BAD, 0),
        };

        (void)state;
        for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
                struct ask asks[] = {
                        ASK(ioctl, EPERM, BAD, requests[i]),
                        ASK(ioctl, EPERM, BAD, requests[i] | HIGH),
                        ASK(ioctl, EPERM, BAD, requests[i] | HIGHS),
                        ASK(ioctl, EPERM, BAD, requests[i] | HIGH << 31),
                };

                ASKS(&filter_default, asks);
                ASKS(&filter_nounix, asks);
        }
        ASKS(&filter_default, harmless);
}

static void
a16_other_processes_are_not_read(void **state)
{
        static const struct ask asks[] = {
                ASK(process_vm_readv, ENOSYS, BAD),
                ASK(process_vm_writev, ENOSYS, BAD),
                ASK(kcmp, ENOSYS, BAD, BAD, BAD),
                ASK(pidfd_getfd, ENOSYS, BAD),
                ASK(process_madvise, ENOSYS, BAD),
                ASK(process_mrelease, ENOSYS, BAD, BAD),
                ASK(move_pages, ENOSYS, BAD, BAD, BAD),
                ASK(migrate_pages, ENOSYS, BAD),
                ASK(ptrace, 0, PTRACE_TRACEME),
                ASK(ptrace, LET_THROUGH, PTRACE_CONT, 0x7ffffff0),
        };

        (void)state;
        ASKS(&filter_default, asks);
}

static void
a17_a18_keyrings_and_rings_are_closed(void **state)
{
        static const struct ask asks[] = {
                ASK(add_key, ENOSYS, BAD, BAD),
                ASK(request_key, ENOSYS, BAD),
                ASK(keyctl, ENOSYS, BAD),
                ASK(keyctl, ENOSYS, 0, BAD, 0),
                ASK(io_uring_setup, ENOSYS, 1, BAD),
                ASK(io_uring_enter, ENOSYS, BAD),
                ASK(io_uring_register, ENOSYS, BAD),
        };

        (void)state;
        ASKS(&filter_default, asks);
}

static bool
is_open(uint64_t family, uint64_t type, bool has_unix)
{
        if (family == AF_UNIX)
                return has_unix;
        if (family == AF_NETLINK)
                return true;
        return (family == AF_INET || family == AF_INET6) &&
               (type == SOCK_STREAM || type == SOCK_DGRAM);
}

/* Sockets are only created, never connected. */
static void
a20_socket_families_are_a_closed_list(void **state)
{
        static const uint64_t types[] = { SOCK_STREAM,    SOCK_DGRAM, SOCK_RAW,   SOCK_RDM,
                                          SOCK_SEQPACKET, 6,          SOCK_PACKET };

        (void)state;
        for (uint64_t i = 0; i < 2 * 46 * 7; i++) {
                bool has_unix = i % 2 == 0;
                uint64_t family = i / 2 % 46, type = types[i / 92];
                struct ask a = ASK(socket, 0, family | (i % 3 ? HIGH : 0), type | SOCK_CLOEXEC, 0);
                int got = under(has_unix ? &filter_default : &filter_nounix, ask, &a);
                bool is_refused = got == EPERM || got == EAFNOSUPPORT || got == EPROTONOSUPPORT ||
                                  got == ESOCKTNOSUPPORT;

                if (is_open(family, type, has_unix))
                        assert_true(got == 0 || (family == AF_UNIX && got == ESOCKTNOSUPPORT) ||
                                    (family == AF_NETLINK && got == ESOCKTNOSUPPORT));
                else if (!is_refused)
                        REFUSE("socket(%d, %d) answered %d", (int)family, (int)type, got);
        }
}

static void
a20_protocols_are_a_closed_list(void **state)
{
        static const struct ask asks[] = {
                ASK(socket, 0, AF_INET, SOCK_STREAM, IPPROTO_TCP),
                ASK(socket, 0, AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
                ASK(socket, 0, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                ASK(socket, EPROTONOSUPPORT, AF_INET, SOCK_STREAM, IPPROTO_SCTP),
                ASK(socket, EPROTONOSUPPORT, AF_INET, SOCK_STREAM, 262 /* MPTCP */),
                ASK(socket, EPROTONOSUPPORT, AF_INET, SOCK_STREAM, 256 /* SMC */),
                ASK(socket, EPROTONOSUPPORT, AF_INET6, SOCK_DGRAM, 115 /* L2TP */),
                ASK(socket, EPROTONOSUPPORT, AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
                ASK(socket, EPERM, AF_INET, SOCK_RAW, IPPROTO_ICMP),
                ASK(socket, EPERM, AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 255),
                ASK(socket, EAFNOSUPPORT, AF_INET, SOCK_PACKET, 0x300),
                ASK(socket, EAFNOSUPPORT, AF_PACKET, SOCK_RAW, 0),
                ASK(socket, EAFNOSUPPORT, AF_VSOCK, SOCK_STREAM, 0),
                ASK(socket, EAFNOSUPPORT, AF_VSOCK | HIGHS, SOCK_STREAM, 0),
                ASK(socket, EAFNOSUPPORT, AF_ALG, SOCK_SEQPACKET, 0),
                ASK(socket, EAFNOSUPPORT, 0, SOCK_STREAM, 0),
                ASK(socket, 0, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE),
                ASK(socket, EPROTONOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER),
                ASK(socket, EPROTONOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_XFRM),
                ASK(socket, EPROTONOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),
                ASK(socket, EPROTONOSUPPORT, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
        };

        (void)state;
        ASKS(&filter_default, asks);
        ASKS(&filter_nounix, asks);
}

static void
a21_pairs_are_of_unix_and_cannot_be_turned_when_it_is_off(void **state)
{
        static int pair[2];
        struct ask open[] = { ASK(socketpair, 0, AF_UNIX, SOCK_STREAM, 0, (uintptr_t)pair),
                              ASK(socketpair, 0, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                                  (uintptr_t)pair) };
        struct ask datagrams[] = { ASK(socketpair, 0, AF_UNIX, SOCK_DGRAM, 0, (uintptr_t)pair) };
        struct ask closed[] = {
                ASK(socketpair, EAFNOSUPPORT, AF_UNIX, SOCK_DGRAM, 0, (uintptr_t)pair),
                ASK(socketpair, EAFNOSUPPORT, AF_UNIX, SOCK_RAW, 0, (uintptr_t)pair),
                ASK(socket, EAFNOSUPPORT, AF_UNIX, SOCK_STREAM, 0),
                ASK(socket, EAFNOSUPPORT, AF_UNIX | HIGH, SOCK_DGRAM | SOCK_CLOEXEC, 0)
        };
        struct ask others[] = {
                ASK(socketpair, EOPNOTSUPP, AF_INET, SOCK_STREAM, 0, (uintptr_t)pair),
                ASK(socketpair, EAFNOSUPPORT, 30 /* TIPC */, SOCK_STREAM, 0, (uintptr_t)pair),
                ASK(socketpair, EAFNOSUPPORT, AF_VSOCK, SOCK_STREAM, 0, (uintptr_t)pair)
        };

        (void)state;
        ASKS(&filter_default, open);
        ASKS(&filter_nounix, open);
        ASKS(&filter_default, datagrams);
        ASKS(&filter_nounix, closed);
        ASKS(&filter_default, others);
        ASKS(&filter_nounix, others);
}

static void
d11_d12_pools_and_leases_are_left_alone(void **state)
{
        static const struct ask asks[] = {
                ASK(io_setup, ENOSYS, 128, BAD),
                ASK(io_setup, ENOSYS, 65536, 0),
                ASK(io_destroy, ENOSYS, BAD),
                ASK(io_submit, ENOSYS, BAD, 1, BAD),
                ASK(io_cancel, ENOSYS, BAD, BAD, BAD),
                ASK(io_getevents, ENOSYS, BAD, 0, 0, BAD, BAD),
                ASK(io_pgetevents, ENOSYS, BAD, 0, 0, BAD, BAD, BAD),
                ASK(mmap, ENOMEM, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
                    BAD, 0),
                ASK(mmap, EINVAL, 0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, BAD, 0),
                ASK(memfd_create, ENOMEM, 0, 4),
                ASK(memfd_create, ENOMEM, BAD, 0xfc00001f),
                ASK(memfd_create, EINVAL, BAD, 0xffffffff),
                ASK(memfd_create, EINVAL, BAD, 0x24),
                ASK(memfd_create, EFAULT, 0, 0),
                ASK(shmget, ENOMEM, 0, 4096, 04000 | 0600),
                ASK(shmget, ENOENT, 0x7ead0001, 4096, 0),
                ASK(fcntl, EINVAL, 1, F_SETLEASE, F_WRLCK),
                ASK(fcntl, EINVAL, 1, F_SETLEASE | HIGH, F_UNLCK),
                ASK(fcntl, EINVAL, 1, 1040, F_RDLCK),
                ASK(fcntl, EBADF, BAD, F_GETFL),
                ASK(fcntl, EBADF, BAD, F_SETLK, 0),
                ASK(fcntl, EBADF, BAD, F_GETLEASE),
                ASK(setsockopt, ENOENT, 0, IPPROTO_TCP, 31, (uintptr_t) "tls", 3),
                ASK(setsockopt, ENOENT, 0, IPPROTO_TCP | HIGHS, 31 | HIGH, BAD, 3),
                ASK(setsockopt, EBADF, BAD, IPPROTO_TCP, 1, BAD, 4),
                ASK(setsockopt, EBADF, BAD, SOL_SOCKET, 31, BAD, 4),
        };

        (void)state;
        ASKS(&filter_default, asks);
        ASKS(&filter_nounix, asks);
}

static void
a22_the_kernel_and_the_machine_are_left_alone(void **state)
{
        static const struct ask asks[] = {
                ASK(bpf, EPERM, BAD, BAD, 0),
                ASK(perf_event_open, EPERM, BAD, BAD, BAD),
                ASK(userfaultfd, EPERM, BAD),
                ASK(kexec_load, EPERM, BAD, BAD, BAD, BAD),
                ASK(kexec_file_load, EPERM, BAD, BAD, BAD, BAD, BAD),
                ASK(init_module, EPERM, BAD, 0, BAD),
                ASK(finit_module, EPERM, BAD, BAD, BAD),
                ASK(delete_module, EPERM, BAD, 0),
                ASK(syslog, EPERM, 99),
                ASK(reboot, EPERM, 0, 0, 0),
                ASK(settimeofday, EPERM, BAD, BAD),
                ASK(clock_settime, EPERM, BAD, BAD),
                ASK(clock_adjtime, EPERM, BAD, BAD),
                ASK(adjtimex, EPERM, BAD),
                ASK(swapon, EPERM, NOWHERE),
                ASK(swapoff, EPERM, NOWHERE),
                ASK(quotactl, EPERM, 0x80000100, 0, 0, 0),
                ASK(quotactl_fd, EPERM, BAD),
                ASK(acct, EPERM, NOWHERE),
                ASK(sethostname, EPERM, BAD, BAD),
                ASK(setdomainname, EPERM, BAD, BAD),
                ASK(name_to_handle_at, ENOSYS, BAD, BAD, BAD, BAD),
                ASK(open_by_handle_at, EPERM, BAD, BAD),
                ASK(fanotify_init, EPERM, BAD),
                ASK(fanotify_mark, EPERM, BAD),
                ASK(personality, 0, 0),
                ASK(personality, 0, 0xffffffff),
                ASK(personality, 0, BAD),
                ASK(personality, EPERM, 0x0400000),
                ASK(personality, EPERM, 0x0040000 | HIGH),
                ASK(personality, EPERM, 8),
                ASK(openat2, ENOSYS, BAD, BAD, BAD, 24),
                ASK(memfd_secret, ENOSYS, BAD),
                ASK(nfsservctl, ENOSYS, BAD),
                ASK(remap_file_pages, ENOSYS, BAD),
#ifdef __x86_64__
                ASK(iopl, EPERM, BAD),
                ASK(ioperm, EPERM, BAD, BAD, BAD),
                ASK(modify_ldt, ENOSYS, BAD),
                ASK(uselib, ENOSYS, BAD),
                ASK(ustat, ENOSYS, BAD),
                ASK(sysfs, ENOSYS, BAD),
#endif
        };

        (void)state;
        ASKS(&filter_default, asks);
        ASKS(&filter_nounix, asks);
}

static void
a24_no_device_is_made(void **state)
{
        static const uint64_t closed[] = { S_IFCHR, S_IFBLK, S_IFDIR, S_IFLNK, 0x3000, 0xf000 };
        static const uint64_t open[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK };
        struct ask renames[] = { ASK(renameat2, EPERM, BAD, NOWHERE, BAD, NOWHERE, 4),
                                 ASK(renameat2, EPERM, BAD, NOWHERE, BAD, NOWHERE, 5 | HIGH),
                                 ASK(renameat2, ENOENT, BAD, NOWHERE, BAD, NOWHERE, 1) };

        (void)state;
        ASKS(&filter_default, renames); /* a whiteout is a device node */
        for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
                struct ask asks[] = { ASK(mknod, EPERM, NOWHERE, closed[i] | 0600),
                                      ASK(mknod, EPERM, NOWHERE, closed[i] | HIGH),
                                      ASK(mknodat, EPERM, BAD, NOWHERE, closed[i] | 0600) };

                ASKS(&filter_default, asks);
        }
        for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
                struct ask asks[] = { ASK(mknod, ENOENT, NOWHERE, open[i] | 0600),
                                      ASK(mknodat, ENOENT, BAD, NOWHERE, open[i]),
                                      ASK(mknod, EPERM, NOWHERE, open[i] | 04600),
                                      ASK(mknodat, EPERM, BAD, NOWHERE, open[i] | 02600) };

                ASKS(&filter_default, asks);
        }
}

static void
a26_no_setuid_or_setgid_mode_is_made(void **state)
{
        static const uint64_t bits[] = { 04000, 02000,        06000,         04755,  02755,
                                         07777, 04000 | HIGH, 02000 | HIGHS, 0104755 };
        static const uint64_t modes[] = { 0, 0755, 01777, 0777 | HIGHS, 0100644 };
        enum { TMPFILE = O_TMPFILE & ~O_DIRECTORY };

        (void)state;
        for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
                struct ask asks[] = {
                        ASK(chmod, EPERM, NOWHERE, bits[i]),
                        ASK(fchmod, EPERM, BAD, bits[i]),
                        ASK(fchmodat, EPERM, BAD, NOWHERE, bits[i]),
                        ASK_NUMBER(452, "fchmodat2", EPERM, BAD, NOWHERE, bits[i]),
                        ASK(creat, EPERM, NOWHERE, bits[i]),
                        ASK(mkdir, EPERM, NOWHERE, bits[i]),
                        ASK(mkdirat, EPERM, BAD, NOWHERE, bits[i]),
                        ASK(open, EPERM, NOWHERE, O_CREAT | O_WRONLY, bits[i]),
                        ASK(open, EPERM, NOWHERE, O_TMPFILE | O_RDWR, bits[i]),
                        ASK(open, EPERM, NOWHERE, TMPFILE, bits[i]),
                        ASK(openat, EPERM, BAD, NOWHERE, O_CREAT | O_EXCL | HIGH, bits[i]),
                        ASK(openat, EPERM, BAD, NOWHERE, O_TMPFILE | O_RDWR, bits[i]),
                        ASK(openat, ENOENT, BAD, NOWHERE, O_RDONLY, bits[i]),
                        ASK(open, ENOENT, NOWHERE, O_DIRECTORY, bits[i]),
                };

                ASKS(&filter_default, asks);
        }
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
                struct ask asks[] = {
                        ASK(chmod, ENOENT, NOWHERE, modes[i]),
                        ASK(fchmod, EBADF, BAD, modes[i]),
                        ASK(fchmodat, ENOENT, BAD, NOWHERE, modes[i]),
                        ASK(creat, ENOENT, NOWHERE, modes[i]),
                        ASK(mkdir, ENOENT, NOWHERE, modes[i]),
                        ASK(mkdirat, ENOENT, BAD, NOWHERE, modes[i]),
                        ASK(open, ENOENT, NOWHERE, O_CREAT | O_WRONLY, modes[i]),
                        ASK(openat, ENOENT, BAD, NOWHERE, O_TMPFILE | O_RDWR, modes[i]),
                };

                ASKS(&filter_default, asks);
        }
}

/* Without a listener what is asked is answered ENOSYS, so a filter that has none allows nothing. */
static void
p37_root_of_an_image_asks_pid_1(void **state)
{
        static const struct ask asked[] = {
                ASK(chmod, ENOSYS, NOWHERE, 04755),
                ASK(fchmod, ENOSYS, BAD, 02755),
                ASK(fchmodat, ENOSYS, BAD, NOWHERE, 06755),
                ASK_NUMBER(452, "fchmodat2", ENOSYS, BAD, NOWHERE, 04000),
                ASK(mkdir, ENOSYS, NOWHERE, 02775),
                ASK(mkdirat, ENOSYS, BAD, NOWHERE, 02775),
                ASK(open, ENOSYS, NOWHERE, O_CREAT | O_EXCL | O_WRONLY, 04755),
                ASK(openat, ENOSYS, BAD, NOWHERE, O_CREAT | O_EXCL, 04755),
                ASK(execve, ENOSYS, NOWHERE, 0, 0),
                ASK(execveat, ENOSYS, BAD, NOWHERE, 0, 0, 0),
        };
        static const struct ask refused[] = {
                ASK(creat, EPERM, NOWHERE, 04755),
                ASK(open, EPERM, NOWHERE, O_CREAT | O_WRONLY, 04755),
                ASK(open, EPERM, NOWHERE, O_TMPFILE | O_RDWR, 04755),
                ASK(openat, EPERM, BAD, NOWHERE, O_TMPFILE | O_EXCL | O_CREAT | O_RDWR, 04755),
                ASK(mknod, EPERM, NOWHERE, S_IFREG | 04755),
                ASK(mknodat, EPERM, BAD, NOWHERE, S_IFCHR | 0600),
                ASK(chmod, ENOENT, NOWHERE, 01777),
                ASK(open, ENOENT, NOWHERE, O_RDONLY, 04755),
        };
        static const struct filter_program *const filters[] = { &filter_root, &filter_root_nounix,
                                                                &filter_one_id,
                                                                &filter_one_id_nounix };

        (void)state;
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
                ASKS(filters[i], asked);
                ASKS(filters[i], refused);
        }
}

static void
p37_another_owner_is_asked_for_where_there_is_one_id(void **state)
{
        static const struct ask ranged[] = {
                ASK(chown, ENOENT, NOWHERE, 33, 33),
                ASK(fchownat, ENOENT, BAD, NOWHERE, 33, 33, 0),
        };
        static const struct ask single[] = {
                ASK(chown, ENOENT, NOWHERE, 0, 0),
                ASK(chown, ENOENT, NOWHERE, BAD, BAD),
                ASK(lchown, ENOENT, NOWHERE, 0, BAD),
                ASK(fchown, EBADF, BAD, 0, 0),
                ASK(chown, ENOSYS, NOWHERE, 33, 0),
                ASK(chown, ENOSYS, NOWHERE, 0, 33),
                ASK(lchown, ENOSYS, NOWHERE, BAD, 1000),
                ASK(fchown, ENOSYS, BAD, 33, 33),
                ASK(fchownat, ENOSYS, BAD, NOWHERE, 0, 42, 0),
        };

        (void)state;
        ASKS(&filter_root, ranged);
        ASKS(&filter_one_id, single);
        ASKS(&filter_one_id_nounix, single);
}

#ifdef __x86_64__
static int
ask_i386(void *data)
{
        long result;

        (void)data;
        __asm__ volatile("int $0x80"
                         : "=a"(result)
                         : "a"(20L /* getpid */), "b"(0L)
                         : "memory", "r8", "r9", "r10", "r11");
        return result > 0 ? 0 : (int)-result;
}

static void
foreign_calls_end_the_process_or_are_not_there(void **state)
{
        (void)state;
        assert_int_equal(under(&filter_default, ask_i386, NULL), DIED + SIGSYS);
        assert_int_equal(under(&filter_nounix, ask_i386, NULL), DIED + SIGSYS);
        for (long number = 0; number < 600; number++) {
                struct ask a = { "x32", X32 | number, { BAD, BAD, BAD, BAD, BAD, BAD }, ENOSYS };

                assert_int_equal(under(&filter_default, ask, &a), ENOSYS);
        }
}
#endif

static int
stacked(void *data)
{
        struct sock_filter allow_all[] = { { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
        struct filter_program f = { allow_all, 1 };

        (void)data;
        if (install(&f) < 0)
                return FAILED_TO_INSTALL;
        return syscall(SYS_mount, -1L, -1L, -1L, 0L, 0L) < 0 ? errno : 0;
}

static void
a_later_filter_opens_nothing(void **state)
{
        (void)state;
        assert_int_equal(under(&filter_default, stacked, NULL), EPERM);
}

#ifdef __x86_64__
/* Lets `pid` run to its next stop, before or after a system call. */
static void
run_to_call(pid_t pid, struct user_regs_struct *ret_registers)
{
        int status;

        assert_int_equal(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSTOPPED(status));
        assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, ret_registers), 0);
}

/* ptrace is allowed, because the kernel runs the filter after the tracer has changed the call. */
static void
a_tracer_cannot_turn_an_allowed_call_into_another(void **state)
{
        struct user_regs_struct registers;
        int status;
        pid_t pid = fork();

        (void)state;
        assert_true(pid >= 0);
        if (pid == 0) {
                if (install(&filter_default) < 0 || ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 ||
                    raise(SIGSTOP) != 0)
                        _exit(FAILED_TO_INSTALL);
                _exit((int)syscall(SYS_getppid) & 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSTOPPED(status));
        do
                run_to_call(pid, &registers);
        while (registers.orig_rax != SYS_getppid);
        registers.orig_rax = SYS_mount;
        registers.rdi = registers.rsi = registers.rdx = BAD;
        assert_int_equal(ptrace(PTRACE_SETREGS, pid, 0, &registers), 0);
        run_to_call(pid, &registers);
        assert_int_equal((long)registers.rax, -EPERM);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
}
#endif

static void *
thread_body(void *data)
{
        *(int *)data = 7;
        return NULL;
}

static int
processes_and_threads(void *data)
{
        pthread_t thread;
        int value = 0, status, pair[2], memory;
        char *argv[] = { (char *)(uintptr_t) "true", NULL };
        pid_t pid = fork();

        (void)data;
        if (pid == 0)
                _exit(3);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
                return 1;
        if (pthread_create(&thread, NULL, thread_body, &value) != 0 ||
            pthread_join(thread, NULL) != 0 || value != 7)
                return 2;
        if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0)
                return 3;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || write(pair[0], "x", 1) != 1)
                return 4;
        memory = memfd_create("x", MFD_CLOEXEC);
        if (memory < 0 || fchmod(memory, 0600) < 0 || ftruncate(memory, 4096) < 0)
                return 5;
        return install(&filter_default) < 0 ? 6 : 0; /* a filter on top of a filter */
}

static void
processes_and_threads_start(void **state)
{
        (void)state;
        assert_int_equal(under(&filter_default, processes_and_threads, NULL), 0);
        assert_int_equal(under(&filter_nounix, processes_and_threads, NULL), 0);
}

static int
program(void *data)
{
        int null = open("/dev/null", O_RDWR);

        if (null < 0 || dup2(null, 1) < 0)
                return 90;
        execvp(((char **)data)[0], data);
        return errno == ENOENT ? 91 : 92;
}

static void
programs_run(void **state)
{
        static const char asyncio[] =
                "import asyncio, multiprocessing, subprocess, threading\n"
                "async def go():\n"
                "    p = await asyncio.create_subprocess_exec('true')\n"
                "    assert await p.wait() == 0\n"
                "asyncio.run(go())\n"
                "q = multiprocessing.get_context('fork').Queue()\n"
                "p = multiprocessing.get_context('fork').Process(target=q.put, args=(5,)); "
                "p.start()\n"
                "assert q.get() == 5; p.join()\n"
                "assert subprocess.check_output(['echo', 'x']) == b'x\\n'\n"
                "t = threading.Thread(target=print); t.start(); t.join()\n";
        static const char node[] =
                "const c = require('child_process').execFileSync('echo', ['x']).toString();"
                "if (c !== 'x\\n') process.exit(1); require('fs').readdirSync('/');";
        static const char git[] =
                "command -v git >/dev/null || exit 91; d=$(mktemp -d) && cd $d && git init -q . &&"
                "echo a >a && git add a && git status --short | grep -q '^A  a' && rm -rf $d";
        static const char *const lines[][4] = {
                { "sh", "-c", "ls / | sort | head -1 && (echo a; echo b) | wc -l" },
                { "python3", "-c", asyncio },
                { "node", "-e", node },
                { "sh", "-c", git },
        };

        (void)state;
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
                int a = under(&filter_default, program, (void *)(uintptr_t)lines[i]);
                int b = under(&filter_nounix, program, (void *)(uintptr_t)lines[i]);

                if ((a != 0 && a != 91) || (b != 0 && b != 91))
                        REFUSE("%s ended with %d, without unix sockets with %d", lines[i][0], a, b);
        }
}

#define GROUP(name, verdict, why)
#define CALL(name, group) #name,
#define NUMBER(number, name, group) #name,
#define JUDGED(name, otherwise) #name,
#define JUDGED_NUMBER(number, name, otherwise) #name,
#define RULE(name, world, tests, verdict, why)
static const char *const decided[] = {
#include "filter/calls.def"
};

static bool
is_decided(const char *name)
{
        for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++)
                if (strcmp(decided[i], name) == 0)
                        return true;
        return false;
}

/* Compares with the system's own list, which is independent of libseccomp. */
static void
every_call_of_the_kernels_list_is_decided(void **state)
{
        static const char *const lists[] = { "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
                                             "/usr/include/asm/unistd_64.h" };
        char line[256], name[128];
        long number;
        FILE *list = NULL;
        size_t seen = 0;

        (void)state;
        for (size_t i = 0; i < sizeof lists / sizeof lists[0] && !list; i++)
                list = fopen(lists[i], "r");
        if (!list)
                skip();
        while (fgets(line, sizeof line, list)) {
                if (sscanf(line, "#define __NR_%127s %ld", name, &number) != 2 || number > 469)
                        continue;
                seen++;
                if (!is_decided(name))
                        REFUSE("calls.def has no row for %s (%ld)", name, number);
        }
        (void)fclose(list);
        assert_true(seen > 300);
}

static int
install_once(void *data)
{
        struct timespec before, after;

        (void)data;
        (void)clock_gettime(CLOCK_MONOTONIC, &before);
        if (install(&filter_default) < 0)
                return FAILED_TO_INSTALL;
        (void)clock_gettime(CLOCK_MONOTONIC, &after);
        long us =
                (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;

        return us > 199 ? 199 : (int)us;
}

/*
 * A filter nested in `install_once` costs the same again, so each is timed in a child without a
 * filter.
 */
static int
without(int (*body)(void *))
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(body(NULL));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED_TO_INSTALL;
}

static void
filters_are_small_and_quickly_installed(void **state)
{
        int best = FAILED_TO_INSTALL;

        (void)state;
        for (int i = 0; i < 50; i++) {
                int us = without(install_once);

                assert_int_not_equal(us, FAILED_TO_INSTALL);
                best = us < best ? us : best;
        }
        print_message("# filter_default: %d steps, filter_nounix: %d steps, installed in %d us\n",
                      (int)filter_default.count, (int)filter_nounix.count, best);
        assert_true(filter_default.count <= 288);
        assert_true(filter_nounix.count <= 288);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a07_the_mount_table_stays_as_it_is),
                cmocka_unit_test(a07_numbers_without_a_row_get_enosys),
                cmocka_unit_test(a08_no_namespace_is_made_or_entered),
                cmocka_unit_test(a11_a12_terminals_are_not_typed_into),
                cmocka_unit_test(a16_other_processes_are_not_read),
                cmocka_unit_test(a17_a18_keyrings_and_rings_are_closed),
                cmocka_unit_test(a20_socket_families_are_a_closed_list),
                cmocka_unit_test(a20_protocols_are_a_closed_list),
                cmocka_unit_test(a21_pairs_are_of_unix_and_cannot_be_turned_when_it_is_off),
                cmocka_unit_test(a22_the_kernel_and_the_machine_are_left_alone),
                cmocka_unit_test(d11_d12_pools_and_leases_are_left_alone),
                cmocka_unit_test(a24_no_device_is_made),
                cmocka_unit_test(a26_no_setuid_or_setgid_mode_is_made),
                cmocka_unit_test(p37_root_of_an_image_asks_pid_1),
                cmocka_unit_test(p37_another_owner_is_asked_for_where_there_is_one_id),
#ifdef __x86_64__
                cmocka_unit_test(foreign_calls_end_the_process_or_are_not_there),
                cmocka_unit_test(a_tracer_cannot_turn_an_allowed_call_into_another),
#endif
                cmocka_unit_test(a_later_filter_opens_nothing),
                cmocka_unit_test(processes_and_threads_start),
                cmocka_unit_test(programs_run),
                cmocka_unit_test(every_call_of_the_kernels_list_is_decided),
                cmocka_unit_test(filters_are_small_and_quickly_installed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
