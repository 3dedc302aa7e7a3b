/*
 * cli/gate_inside.c - the namespaces behind `carrel gate`, and the process that stays in them.
 *
 * Room: cli (joining, program). Touches: processes, namespaces, fd, net.
 * Theory: this process creates the wall while it has the new namespace's privileges, sends the
 * sockets out, and drops the privileges. Later it only opens listeners from port 1024 up, which
 * needs none. The command behind the wall runs as the same user and must not trace this process, so
 * it is not dumpable.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/gate.h"
#include "seal/seal.h"
#include "wall/beside.h"
#include "wall/wall.h"
#include "wire/gate.h"
#include "wire/message.h"

enum stage {
        STAGE_USER,
        STAGE_NET,
        STAGE_LOOPBACK,
        STAGE_WALL,
        STAGE_ROUTED,
        STAGE_PRIVILEGES,
        STAGE_DONE
};

struct told {
        int32_t stage, sys;
};

static int
write_file(const char *path, const char *text)
{
        scoped_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
        ssize_t len = (ssize_t)strlen(text);

        if (fd < 0)
                return -errno;
        return write(fd, text, (size_t)len) == len ? 0 : -errno;
}

/*
 * A user namespace in which this user keeps its uid and has the namespace's privileges until an
 * exec.
 */
static int
make_user(uid_t uid, gid_t gid)
{
        char map[64];
        int result;

        if (unshare(CLONE_NEWUSER) < 0)
                return -errno;
        result = write_file("/proc/self/setgroups", "deny");
        (void)snprintf(map, sizeof map, "%u %u 1", (unsigned)uid, (unsigned)uid);
        if (result == 0)
                result = write_file("/proc/self/uid_map", map);
        (void)snprintf(map, sizeof map, "%u %u 1", (unsigned)gid, (unsigned)gid);
        if (result == 0)
                result = write_file("/proc/self/gid_map", map);
        return result;
}

static int
bring_up_loopback(void)
{
        struct ifreq lo = { .ifr_name = "lo" };
        scoped_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || ioctl(fd, (int)SIOCGIFFLAGS, &lo) < 0)
                return -errno;
        lo.ifr_flags |= IFF_UP;
        return ioctl(fd, (int)SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

static _Noreturn void
give_up(int link, enum stage stage, int sys)
{
        struct told told = { (int32_t)stage, -sys };

        (void)wire_send(link, WIRE_WALL, &told, sizeof told, NULL, 0);
        _exit(1);
}

/* From the stock of a routed wall, or as any process inside could. */
static int
open_listeners(const struct wire_wall_listen *ask, int *stock, size_t *stock_count, int fds[2])
{
        int result;

        if (ask->index != 0)
                return wall_listen(ask->index, ask->port, fds);
        if (*stock_count == 0)
                return -ENFILE;
        result = wall_bind(stock[*stock_count - 1], ask->port);
        if (result == 0)
                fds[0] = stock[--*stock_count];
        return result;
}

/* Opens listeners until the other side closes. */
static _Noreturn void
serve(int link, int *stock, size_t stock_count)
{
        struct wire_wall_listen ask;
        struct wire_message m;

        while (wire_receive(link, 1, &m, &ask, sizeof ask) == 1) {
                struct wire_wall_listened answer = { .request = ask.request };
                size_t count = ask.index == 0 ? 1 : 2;
                int fds[2] = { -1, -1 }, result;

                wire_message_close(&m);
                if (m.kind != WIRE_WALL_LISTEN || m.len != sizeof ask)
                        break;
                answer.sys = -open_listeners(&ask, stock, &stock_count, fds);
                if (answer.sys != 0)
                        count = 0;
                result = wire_send_in_time(link, WIRE_WALL_LISTENED, &answer, sizeof answer, fds,
                                           count);
                if (result == -ETOOMANYREFS) { /* it will be requested again */
                        answer.sys = ETOOMANYREFS;
                        result = wire_send(link, WIRE_WALL_LISTENED, &answer, sizeof answer, NULL,
                                           0);
                }
                if (result < 0)
                        break;
                for (size_t i = 0; i < count; i++)
                        (void)close(fds[i]);
        }
        _exit(0);
}

static _Noreturn void
be_inside(int link, const struct wall_wanted *wanted, bool needs_user)
{
        struct told told = { STAGE_DONE, 0 };
        const char *step;
        int fds[WALL_SOCKETS_MAX + 2], sockets[WALL_FDS_MAX], result;
        size_t count = 0, open_count = wall_count(wanted) - wanted->stock;

        (void)setsid(); /* keys typed at the terminal are for the command */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        result = needs_user ? make_user(getuid(), getgid()) : 0;
        if (result < 0)
                give_up(link, STAGE_USER, result);
        if (unshare(CLONE_NEWNET) < 0)
                give_up(link, STAGE_NET, -errno);
        result = bring_up_loopback();
        if (result < 0)
                give_up(link, STAGE_LOOPBACK, result);
        result = wall_open(wanted, sockets);
        if (result < 0)
                give_up(link, wanted->is_routed ? STAGE_ROUTED : STAGE_WALL, result);
        fds[count++] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (needs_user)
                fds[count++] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
        for (size_t i = 0; i < open_count; i++)
                fds[count++] = sockets[i];
        result = seal_privileges(SEAL_HOLDER, &step);
        if (result < 0)
                give_up(link, STAGE_PRIVILEGES, result);
        if (wire_send_in_time(link, WIRE_WALL, &told, sizeof told, fds, count) < 0)
                _exit(1);
        for (size_t i = 0; i < count; i++)
                (void)close(fds[i]);
        serve(link, sockets + open_count, wanted->stock);
}

static int
explain(const struct told *told, struct error *e)
{
        static const char *const what[] = { [STAGE_USER] = "making a user namespace",
                                            [STAGE_NET] = "making a network namespace",
                                            [STAGE_LOOPBACK] = "bringing up the loopback device",
                                            [STAGE_WALL] = "making the wall",
                                            [STAGE_ROUTED] =
                                                    ("making the wall in a namespace of its own "
                                                     "(--routed), which needs veth devices"),
                                            [STAGE_PRIVILEGES] =
                                                    "giving up the namespace's privileges" };
        enum stage stage = told->stage >= STAGE_USER && told->stage < STAGE_DONE
                                   ? (enum stage)told->stage
                                   : STAGE_WALL;

        return fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, told->sys, "%s", what[stage]);
}

/* Reads the namespaces and sockets from the first message. */
static int
hear_first(struct gate_inside *ret, size_t expected, bool needs_user, struct error *e)
{
        struct told told;
        struct wire_message m;
        size_t at = 0;
        int result = wire_receive(ret->link, 1, &m, &told, sizeof told);

        if (result != 1)
                return fail(e, ERROR_BACKEND_FAILED,
                            "the process inside the wall ended before it was there");
        if (m.kind == WIRE_WALL && m.len == sizeof told && told.stage != STAGE_DONE) {
                wire_message_close(&m);
                return explain(&told, e);
        }
        if (m.kind != WIRE_WALL || m.len != sizeof told ||
            m.fd_count != expected + (needs_user ? 2 : 1)) {
                wire_message_close(&m);
                return fail(e, ERROR_BACKEND_FAILED,
                            "the process inside the wall spoke out of turn");
        }
        ret->net = m.fds[at++];
        if (needs_user)
                ret->user = m.fds[at++];
        for (ret->socket_count = 0; at < m.fd_count; at++)
                ret->sockets[ret->socket_count++] = m.fds[at];
        return 0;
}

int
gate_inside_start(const struct wall_wanted *wanted, struct gate_inside *ret, struct error *e)
{
        bool needs_user = geteuid() != 0;
        int ends[2];

        *ret = (struct gate_inside){ .pid = -1, .link = -1, .user = -1, .net = -1 };
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a link into the wall");
        ret->pid = fork();
        if (ret->pid == 0) {
                (void)close(ends[0]);
                be_inside(ends[1], wanted, needs_user);
        }
        (void)close(ends[1]);
        ret->link = ends[0];
        if (ret->pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno,
                                "starting the process inside the wall");
        return hear_first(ret, wall_count(wanted) - wanted->stock, needs_user, e);
}

/* With these capabilities root could leave the network namespace. */
static int
let_go_of_ways_out(void)
{
        static const int ways[] = { CAP_SYS_ADMIN,  CAP_NET_ADMIN, CAP_SYS_PTRACE,
                                    CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_BPF };
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                /* an older kernel may not know the newest */
                (void)prctl(PR_CAPBSET_DROP, ways[i], 0, 0, 0);
                if (prctl(PR_CAPBSET_READ, ways[i], 0, 0, 0) > 0)
                        return -EPERM; /* root's programs would gain it again */
        }
        if (syscall(SYS_capget, &head, caps) < 0)
                return -errno;
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                uint32_t keep = ~(1u << (ways[i] % 32));

                caps[ways[i] / 32].effective &= keep;
                caps[ways[i] / 32].permitted &= keep;
                caps[ways[i] / 32].inheritable &= keep;
        }
        return syscall(SYS_capset, &head, caps) < 0 ? -errno : 0;
}

int
gate_inside_enter(const struct gate_inside *inside)
{
        int result;

        if (inside->user >= 0 && setns(inside->user, CLONE_NEWUSER) < 0)
                return -errno;
        if (setns(inside->net, CLONE_NEWNET) < 0)
                return -errno;
        /* while there is still the privilege that makes no_new_privs unnecessary */
        result = wall_shut_beside();
        if (result < 0)
                return result;
        if (inside->user >= 0) {
                struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
                struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

                return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
        }
        return let_go_of_ways_out();
}
