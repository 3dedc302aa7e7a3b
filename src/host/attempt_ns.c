/*
 * host/attempt_ns.c - the doctor tries namespaces and mounts.
 *
 * Room: host (acting). Touches: namespaces and mounts of the calling child alone; /tmp is covered,
 * never written.
 * Knows how to see that each really works. Knows nothing of tiers.
 * Theory: every attempt uses its own user namespace, as an ordinary user must, because a box always
 * has one. Only the idmapped mount needs root, and is idle for other users.
 */
#include "host/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "wall/wall.h"

/*
 * The C library's <sys/mount.h> and the kernel's <linux/mount.h> cannot both be included; these few
 * declarations are enough.
 */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
          const void *data);
int umount2(const char *target, int flags);

enum {
        FLAG_NOSUID = 2,
        FLAG_NODEV = 4,
        FLAG_NOEXEC = 8,
        FLAG_REC = 16384,
        FLAG_PRIVATE = 1 << 18,
        FLAG_DETACH = 2
};

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef OPEN_TREE_CLOEXEC
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
enum { WALL_WAIT_MS = 1000 };
enum { TREE_RECURSIVE = 0x8000, TREE_EMPTY_PATH = 0x1000 };

static const char apparmor_knob[] = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/*
 * Ubuntu 23.10 and later: the namespace is created, but all capabilities in it are denied unless a
 * profile permits them.
 */
static bool
is_apparmor_in_the_way(void)
{
        char text[8];

        return attempt_read(apparmor_knob, text, sizeof text) > 0 && text[0] == '1';
}

void
attempt_apparmor_mend(struct attempt *a, const char *program)
{
        char quoted[600];
        size_t used = 0;

        for (const char *c = program; *c; c++) {
                if (used + 3 > sizeof quoted || *c < ' ' || *c == '\'')
                        return;
                if (strchr("*?[]{}^\\\"", *c))
                        quoted[used++] = '\\';
                quoted[used++] = *c;
        }
        quoted[used] = '\0';
        (void)snprintf(a->mend, sizeof a->mend,
                       "sudo tee /etc/apparmor.d/carrel <<'END' && sudo apparmor_parser -r "
                       "/etc/apparmor.d/carrel\n"
                       "abi <abi/4.0>,\n"
                       "profile carrel \"%s\" flags=(unconfined) {\n"
                       "  userns,\n"
                       "}\n"
                       "END",
                       quoted);
}

static enum attempt_result
capability_denied(struct attempt *a, int sys, const char *doing)
{
        char program[512];
        ssize_t len;

        if ((sys == EPERM || sys == EACCES) && is_apparmor_in_the_way()) {
                len = readlink("/proc/self/exe", program, sizeof program - 1);
                program[len > 0 ? len : 0] = '\0';
                attempt_apparmor_mend(a, program);
                return attempt_fails(
                        a, 0, "made, but AppArmor denies its capabilities (%s is refused)", doing);
        }
        return attempt_fails(a, sys, "made, but %s fails", doing);
}

/* Enters a user namespace as uid 0, with a mount namespace. Writes the detail on failure. */
static enum attempt_result
enter(struct attempt *a, int more_flags)
{
        unsigned uid = geteuid(), gid = getegid();
        char map[64];

        if (unshare(CLONE_NEWUSER) < 0)
                return attempt_fails(a, errno, "a user namespace is refused");
        (void)snprintf(map, sizeof map, "0 %u 1\n", uid);
        if (attempt_write("/proc/self/uid_map", map) < 0)
                return capability_denied(a, errno, "mapping the caller's user id");
        if (attempt_write("/proc/self/setgroups", "deny") < 0 && errno != ENOENT)
                return capability_denied(a, errno, "giving up setgroups");
        (void)snprintf(map, sizeof map, "0 %u 1\n", gid);
        if (attempt_write("/proc/self/gid_map", map) < 0)
                return capability_denied(a, errno, "mapping the caller's group id");
        if (unshare(CLONE_NEWNS | more_flags) < 0)
                return capability_denied(a, errno, "a namespace inside it");
        if (mount(NULL, "/", NULL, FLAG_REC | FLAG_PRIVATE, NULL) < 0)
                return capability_denied(a, errno, "a mount inside it");
        return ATTEMPT_WORKS;
}

/* As enter(), with an empty tmpfs over /tmp as the working directory. */
static enum attempt_result
enter_scratch(struct attempt *a, int more_flags)
{
        enum attempt_result r = enter(a, more_flags);

        if (r != ATTEMPT_WORKS)
                return r;
        if (mount("carrel-doctor", "/tmp", "tmpfs", FLAG_NOSUID | FLAG_NODEV, "size=1m,mode=0700") <
                    0 ||
            chdir("/tmp") < 0)
                return attempt_fails(a, errno, "a tmpfs is refused");
        return ATTEMPT_WORKS;
}

/* Runs `inside` in a new process and returns its exit status as errno: 0 is success. */
static int
child_run(int (*inside)(void))
{
        pid_t pid = fork();
        int status;

        if (pid < 0)
                return errno;
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                _exit(inside() & 0xff);
        }
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

enum attempt_result
attempt_user_ns(struct attempt *a)
{
        enum attempt_result r = enter(a, 0);

        return r == ATTEMPT_WORKS ? attempt_works(a, "made and mapped, with a mount inside") : r;
}

enum attempt_result
attempt_mount_ns(struct attempt *a)
{
        struct stat before, after;
        enum attempt_result r;

        if (stat("/tmp", &before) < 0)
                return attempt_fails(a, errno, "/tmp cannot be looked at");
        r = enter_scratch(a, 0);
        if (r != ATTEMPT_WORKS)
                return r;
        if (stat("/tmp", &after) < 0 || before.st_dev == after.st_dev)
                return attempt_fails(a, 0, "a mount was made but is not seen");
        return attempt_works(a, "a private mount is seen inside");
}

static int
inside_is_first(void)
{
        return getpid() == 1 ? 0 : ESRCH;
}

enum attempt_result
attempt_pid_ns(struct attempt *a)
{
        enum attempt_result r = enter(a, CLONE_NEWPID);
        int sys;

        if (r != ATTEMPT_WORKS)
                return r;
        sys = child_run(inside_is_first);
        return sys ? attempt_fails(a, sys, "its first process fails")
                   : attempt_works(a, "its first process is 1");
}

/* A changed inode number shows that the namespace is new. */
static enum attempt_result
namespace_try(struct attempt *a, int flag, const char *link)
{
        struct stat before, after;
        enum attempt_result r;

        if (stat(link, &before) < 0)
                return attempt_fails(a, errno, "the kernel has none");
        r = enter(a, flag);
        if (r != ATTEMPT_WORKS)
                return r;
        if (stat(link, &after) < 0 || before.st_ino == after.st_ino)
                return attempt_fails(a, 0, "the old one stayed in force");
        return attempt_works(a, "a new one is in force");
}

enum attempt_result
attempt_ipc_ns(struct attempt *a)
{
        return namespace_try(a, CLONE_NEWIPC, "/proc/self/ns/ipc");
}

enum attempt_result
attempt_uts_ns(struct attempt *a)
{
        enum attempt_result r = namespace_try(a, CLONE_NEWUTS, "/proc/self/ns/uts");

        if (r == ATTEMPT_WORKS && sethostname("carrel", 6) < 0)
                return attempt_fails(a, errno, "the host name cannot be set inside");
        return r;
}

enum attempt_result
attempt_cgroup_ns(struct attempt *a)
{
        return namespace_try(a, CLONE_NEWCGROUP, "/proc/self/ns/cgroup");
}

enum attempt_result
attempt_net_ns(struct attempt *a)
{
        return namespace_try(a, CLONE_NEWNET, "/proc/self/ns/net");
}

static int
inside_mounts_proc(void)
{
        char text[8];

        if (mount("proc", "/proc", "proc", FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC, NULL) < 0)
                return errno;
        return attempt_read("/proc/1/comm", text, sizeof text) > 0 && access("/proc/2", F_OK) < 0
                       ? 0
                       : ESRCH;
}

enum attempt_result
attempt_proc(struct attempt *a)
{
        enum attempt_result r = enter(a, CLONE_NEWPID | CLONE_NEWIPC);
        int sys;

        if (r != ATTEMPT_WORKS)
                return r;
        sys = child_run(inside_mounts_proc);
        return sys ? attempt_fails(a, sys, "a fresh /proc is refused")
                   : attempt_works(a, "mounted, and shows only us");
}

enum attempt_result
attempt_pivot_root(struct attempt *a)
{
        enum attempt_result r = enter_scratch(a, 0);

        if (r != ATTEMPT_WORKS)
                return r;
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return attempt_fails(a, errno, "changing the root is refused");
        if (umount2(".", FLAG_DETACH) < 0)
                return attempt_fails(a, errno, "cannot unmount the old root");
        if (chdir("/") < 0 || access("/usr", F_OK) == 0)
                return attempt_fails(a, 0, "the old root is still to be seen");
        return attempt_works(a, "the host's root is out of reach");
}

/* Writing more bytes than its size must fail. */
enum attempt_result
attempt_tmpfs(struct attempt *a)
{
        static const char block[65536];
        enum attempt_result r = enter_scratch(a, 0);
        int fd, blocks = 0;

        if (r != ATTEMPT_WORKS)
                return r;
        fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        while (fd >= 0 && blocks < 64 && write(fd, block, sizeof block) == (ssize_t)sizeof block)
                blocks++;
        if (fd < 0 || blocks == 0 || blocks >= 64)
                return attempt_fails(a, 0, "its size of 1 MiB does not hold");
        return attempt_works(a, "mounted, and full at its size");
}

enum attempt_result
attempt_mount_api(struct attempt *a)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
        enum attempt_result r = enter_scratch(a, 0);
        scoped_fd int tree = -1;
        scoped_fd int fs = -1;

        if (r != ATTEMPT_WORKS)
                return r;
        if (mkdir("source", 0700) < 0 || mkdir("usr", 0700) < 0)
                return attempt_fails(a, errno, "a directory cannot be made");
        tree = (int)syscall(SYS_open_tree, AT_FDCWD, "source",
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | TREE_RECURSIVE);
        if (tree < 0)
                return attempt_fails(a, errno, "open_tree");
        if (syscall(SYS_mount_setattr, tree, "", TREE_EMPTY_PATH | TREE_RECURSIVE, &attr,
                    sizeof attr) < 0)
                return attempt_fails(a, errno, "mount_setattr");
        if (syscall(SYS_move_mount, tree, "", AT_FDCWD, "usr", MOVE_MOUNT_F_EMPTY_PATH) < 0)
                return attempt_fails(a, errno, "move_mount");
        if (open("usr/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 || errno != EROFS)
                return attempt_fails(a, 0, "a read-only mount can be written");
        fs = (int)syscall(SYS_fsopen, "tmpfs", 1);
        return fs < 0 ? attempt_fails(a, errno, "fsopen")
                      : attempt_works(a, "a read-only copy of a directory holds");
}

enum attempt_result
attempt_devpts(struct attempt *a)
{
        enum attempt_result r = enter_scratch(a, 0);
        scoped_fd int fd = -1;

        if (r != ATTEMPT_WORKS)
                return r;
        if (mkdir("pts", 0700) < 0 || mount("devpts", "pts", "devpts", FLAG_NOSUID | FLAG_NOEXEC,
                                            "newinstance,ptmxmode=0666,mode=0620") < 0)
                return attempt_fails(a, errno, "the kernel refuses to mount devpts");
        fd = open("pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        return fd < 0 ? attempt_fails(a, errno, "no terminal can be opened")
                      : attempt_works(a, "a terminal opens");
}

enum attempt_result
attempt_loopback(struct attempt *a)
{
        struct ifreq request = { .ifr_name = "lo" };
        enum attempt_result r = enter(a, CLONE_NEWNET);
        scoped_fd int fd = -1;

        if (r != ATTEMPT_WORKS)
                return r;
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return attempt_fails(a, errno, "no socket");
        request.ifr_flags = IFF_UP;
        if (ioctl(fd, SIOCSIFFLAGS, &request) < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
                return attempt_fails(a, errno, "lo cannot be brought up");
        if (!(request.ifr_flags & IFF_UP))
                return attempt_fails(a, 0, "lo stays down");
        return attempt_works(a, "lo is up in a network namespace");
}

/*
 * Connects to an address of the documentation networks, which does not exist. Returns 0 or an
 * errno.
 */
static int
is_caught(int listener, const struct sockaddr *to, socklen_t len)
{
        scoped_fd int client = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        scoped_fd int got = -1;
        struct pollfd fd = { .fd = listener, .events = POLLIN };

        if (client < 0 || (connect(client, to, len) < 0 && errno != EINPROGRESS))
                return errno;
        if (poll(&fd, 1, WALL_WAIT_MS) != 1)
                return ETIMEDOUT;
        got = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        return got < 0 ? errno : 0;
}

/* Creates a wall in its own namespace and checks that it catches both families. */
static enum attempt_result
wall_try(struct attempt *a, const struct wall_wanted *wanted, int sockets[WALL_FDS_MAX],
         const char *wrong)
{
        const struct sockaddr_in four = { .sin_family = AF_INET,
                                          .sin_port = htons(443),
                                          .sin_addr = { htonl(0xcb007101u) } }; /* 203.0.113.1 */
        const struct sockaddr_in6 six = {
                .sin6_family = AF_INET6,
                .sin6_port = htons(443),
                .sin6_addr = { { { 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } } }
        };
        enum attempt_result r = attempt_loopback(a);
        int sys;

        if (r != ATTEMPT_WORKS)
                return r;
        sys = -wall_open(wanted, sockets);
        if (sys != 0)
                return attempt_fails(a, sys, "%s", wrong);
        sys = is_caught(sockets[WALL_HTTPS], (const struct sockaddr *)&four, sizeof four);
        if (sys != 0)
                return attempt_fails(a, sys, "a connection to 203.0.113.1 is not caught");
        sys = is_caught(sockets[WALL_HTTPS], (const struct sockaddr *)&six, sizeof six);
        if (sys != 0)
                return attempt_fails(a, sys, "a connection to 2001:db8::1 is not caught");
        return attempt_works(a, "connections to any address are caught, of both families");
}

enum attempt_result
attempt_wall(struct attempt *a)
{
        int sockets[WALL_FDS_MAX];

        return wall_try(a, &(struct wall_wanted){ .ports = NULL }, sockets,
                        "addresses cannot be made local, or no listener opens on them");
}

enum attempt_result
attempt_routed(struct attempt *a)
{
        const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(443) };
        int sockets[WALL_FDS_MAX];
        enum attempt_result r = wall_try(a, &(struct wall_wanted){ .is_routed = true }, sockets,
                                         "no second namespace can be joined by a veth pair");
        scoped_fd int server = -1;

        if (r != ATTEMPT_WORKS)
                return r;
        server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (server < 0 || bind(server, (const struct sockaddr *)&any, sizeof any) < 0)
                return attempt_fails(a, errno, "port 443 is not free inside");
        return attempt_works(
                a,
                "connections are caught in a namespace of their own, and port 443 is free inside");
}

enum attempt_result
attempt_overlay(struct attempt *a)
{
        static const char *const dirs[] = { "lower", "upper", "work", "merged" };
        enum attempt_result r = enter_scratch(a, 0);

        if (r != ATTEMPT_WORKS)
                return r;
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
                if (mkdir(dirs[i], 0700) < 0)
                        return attempt_fails(a, errno, "a directory cannot be made");
        if (mount("overlay", "merged", "overlay", 0,
                  "lowerdir=lower,upperdir=upper,workdir=work,userxattr") < 0)
                return attempt_fails(a, errno, "an overlay in a user namespace is refused");
        if (mkdir("merged/made", 0700) < 0 || access("upper/made", F_OK) < 0 ||
            access("lower/made", F_OK) == 0)
                return attempt_fails(a, 0, "what is written does not land in the upper layer");
        return attempt_works(a, "mounted, writes land in the upper layer");
}

/*
 * A user namespace that maps 0..999 to 1000..1999, held open by descriptor. -1 with errno on
 * failure.
 */
static int
mapping_open(void)
{
        char path[64];
        int gate[2], fd = -1, status;
        pid_t pid;

        if (pipe2(gate, O_CLOEXEC) < 0)
                return -1;
        pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0) {
                char byte;

                (void)close(gate[1]);
                (void)!read(gate[0], &byte, 1);
                _exit(0);
        }
        if (pid > 0) {
                (void)snprintf(path, sizeof path, "/proc/%d/uid_map", (int)pid);
                status = attempt_write(path, "0 1000 1000\n");
                (void)snprintf(path, sizeof path, "/proc/%d/gid_map", (int)pid);
                status |= attempt_write(path, "0 1000 1000\n");
                (void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
                if (status == 0)
                        fd = open(path, O_RDONLY | O_CLOEXEC);
        }
        (void)close(gate[1]);
        (void)close(gate[0]);
        if (pid > 0)
                (void)waitpid(pid, &status, 0);
        return fd;
}

enum attempt_result
attempt_idmap(struct attempt *a)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
        scoped_fd int tree = -1;
        scoped_fd int ns = -1;

        if (!a->facts->is_privileged)
                return attempt_idle(a, "only root needs it: your files stay yours");
        ns = mapping_open();
        if (ns < 0)
                return attempt_fails(a, errno, "no id mapping can be made");
        tree = (int)syscall(SYS_open_tree, AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (tree < 0)
                return attempt_fails(a, errno, "open_tree on the working directory");
        attr.userns_fd = (__u64)ns;
        if (syscall(SYS_mount_setattr, tree, "", TREE_EMPTY_PATH, &attr, sizeof attr) < 0)
                return attempt_fails(a, errno,
                                     "the working directory's filesystem cannot be idmapped");
        return attempt_works(a, "the working directory can be idmapped");
}

enum attempt_result
attempt_id_range(struct attempt *a)
{
        scoped_fd int fd = -1;

        if (!a->facts->is_privileged)
                return attempt_idle(a, "one id, that of the caller: package managers cannot give "
                                       "files to other users");
        fd = mapping_open();
        return fd < 0 ? attempt_fails(a, errno, "a range of ids cannot be mapped")
                      : attempt_works(a, "a sandbox in an image has 65536 ids of its own");
}
