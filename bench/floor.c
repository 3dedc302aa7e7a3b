/*
 * bench/floor.c - what the kernel alone asks for the isolation of one `carrel run`, with nothing of
 * Carrel in it.
 *
 * Room: none (a measuring tool). Touches: everything a box is made of.
 * Theory: one static program that gets everything in advance (bench/run turns `carrel plan --json`
 * into its arguments) and then makes the same groups, namespaces, mounts, limits, Landlock rules
 * and filter in the fewest and cheapest system calls we know: one clone that shares memory,
 * relative names, no checks of what is known, one process less. It parses nothing, judges nothing,
 * survives nothing: that is the difference that is measured against it.
 *
 *     floor [mDIR] [lFILE=VALUE] [jDIR] [JDIR] [wFILE] [uID] [bFILE] [BDIR] [kFILE] [KDIR] [WDIR]
 * -- /PROGRAM [ARGUMENT...] m make a group, l set a limit, j join (J: born in it), w read a counter
 * at the end, u the outside id, b B bind read-only, k K hide in /proc, W bind writable at
 * /workspace
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/filter.h"

/* <sys/mount.h> and <linux/mount.h> contradict each other in some C libraries; these are the
 * kernel's. */
enum {
        READ_ONLY = 1,
        NO_SUID = 2,
        NO_DEV = 4,
        NO_EXEC = 8,
        REMOUNT = 32,
        BIND = 4096,
        RECURSIVE = 16384,
        PRIVATE = 1 << 18,
        DETACH = 2
};

#define NEW_ALL \
        (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

struct clone_arguments {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
                set_tid_size, cgroup;
};

static char **items, **command;
static int item_count, out_of[2], err_of[2], in_of[2], joins[8], join_count;
static unsigned outside;
static _Alignas(16) char box_stack[65536], payload_stack[65536];

#define must(call)                     \
        do {                           \
                if ((long)(call) < 0)  \
                        broken(#call); \
        } while (0)

static _Noreturn void
broken(const char *what)
{
        (void)!write(2, "floor: ", 7);
        (void)!write(2, what, strlen(what));
        (void)!write(2, "\n", 1);
        _exit(125);
}

static long
mount_call(const char *from, const char *to, const char *type, unsigned long flags,
           const char *options)
{
        return syscall(SYS_mount, from, to, type, flags, options);
}

static int
put(const char *path, int flags, unsigned mode, const char *text, size_t len)
{
        int fd = open(path, O_WRONLY | flags, mode);

        if (fd < 0 || write(fd, text, len) != (ssize_t)len)
                return -1;
        return close(fd);
}

static size_t
number(char *out, unsigned value)
{
        char digits[12];
        size_t len = 0;

        do
                digits[len++] = (char)('0' + value % 10);
        while ((value /= 10) != 0);
        for (size_t i = 0; i < len; i++)
                out[i] = digits[len - 1 - i];
        return len;
}

static void
map_ids(void)
{
        char text[32] = "1000 ";
        size_t len = 5 + number(text + 5, outside);

        memcpy(text + len, " 1\n", 3);
        must(put("/proc/self/uid_map", 0, 0, text, len + 3));
        must(put("/proc/self/setgroups", 0, 0, "deny", 4));
        must(put("/proc/self/gid_map", 0, 0, text, len + 3));
}

static void
loopback_up(void)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = socket(AF_INET, SOCK_DGRAM, 0);

        must(ioctl(fd, SIOCSIFFLAGS, &request));
        (void)close(fd);
}

static void
bind_at(const char *from, const char *to, unsigned long flags)
{
        must(mount_call(from, to, NULL, BIND, NULL));
        if (flags != 0)
                must(mount_call(NULL, to, NULL, BIND | REMOUNT | flags, NULL));
}

static void
make_parents(char *path)
{
        for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                (void)mkdir(path, 0755);
                *slash = '/';
        }
}

static void
make_etc(void)
{
        static const struct {
                const char *path, *text;
        } files[] = {
                { "etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:1000:1000:agent:/"
                                "home/agent:/bin/sh\n" },
                { "etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n" },
                { "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: "
                                       "files\nprotocols: files\n" },
                { "etc/hosts", "127.0.0.1 localhost carrel\n::1 localhost carrel\n" },
                { "etc/resolv.conf", "# no way out\n" },
                { "etc/hostname", "carrel\n" },
                { "etc/machine-id", "00000000000000000000000000000000\n" },
                { "etc/shells", "/bin/sh\n/bin/bash\n" },
                { "etc/protocols", "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\n" },
                { "etc/services", "ftp 21/tcp\nssh 22/tcp\nsmtp 25/tcp\n" },
        };

        must(mkdir("etc", 0755));
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                must(put(files[i].path, O_CREAT | O_EXCL, 0444, files[i].text,
                         strlen(files[i].text)));
        must(symlink("/proc/self/mounts", "etc/mtab"));
}

static void
make_links(void)
{
        static const char *const links[][2] = {
                { "usr/bin", "bin" },
                { "usr/sbin", "sbin" },
                { "usr/lib", "lib" },
                { "usr/lib64", "lib64" },
                { "usr/lib32", "lib32" },
                { "/proc/self/fd", "dev/fd" },
                { "/proc/self/fd/0", "dev/stdin" },
                { "/proc/self/fd/1", "dev/stdout" },
                { "/proc/self/fd/2", "dev/stderr" },
                { "pts/ptmx", "dev/ptmx" },
                { "urandom", "dev/random" },
                { "../usr/lib/os-release", "etc/os-release" },
                { "/usr/share/zoneinfo/Etc/UTC", "etc/localtime" },
        };

        for (size_t i = 0; i < sizeof links / sizeof *links; i++)
                must(symlink(links[i][0], links[i][1]));
}

static void
make_dev(void)
{
        static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full",
                                               "/dev/urandom", "/dev/tty" };

        must(mkdir("dev", 0755));
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
                must(mknod(devices[i] + 1, S_IFREG | 0444, 0));
                bind_at(devices[i], devices[i] + 1, NO_SUID | NO_EXEC);
        }
        must(mkdir("dev/pts", 0755));
        must(mount_call("devpts", "dev/pts", "devpts", NO_SUID | NO_EXEC,
                        "newinstance,mode=0620,ptmxmode=0666,max=64"));
}

static void
make_private(void)
{
        static const struct {
                const char *from, *to;
                unsigned mode;
        } places[] = {
                { "home/tmp", "tmp", 01777 },
                { "home/run", "run", 0755 },
                { "home/shm", "dev/shm", 01777 },
                { "home/agent", "home/agent", 0755 },
        };

        (void)umask(0);
        must(mkdir("var", 0755));
        must(mkdir("home", 0755));
        must(mkdir("home/agent", 0755));
        must(mount_call("tmpfs", "/sys", "tmpfs", NO_SUID | NO_DEV,
                        "size=268435456,nr_inodes=65536,mode=0755"));
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                char from[32] = "/sys/";

                memcpy(from + 5, places[i].from + 5, strlen(places[i].from + 5) + 1);
                must(mkdir(from, places[i].mode));
                if (strcmp(places[i].to, "home/agent") != 0)
                        must(mkdir(places[i].to, 0755));
                bind_at(from, places[i].to, 0);
        }
}

static void
make_item(char *item)
{
        char kind = item[0], *path = item + 1;

        if (kind == 'b' || kind == 'B') {
                make_parents(path + 1);
                must(kind == 'B' ? mkdir(path + 1, 0755) : mknod(path + 1, S_IFREG | 0444, 0));
                bind_at(path, path + 1,
                        READ_ONLY | NO_SUID | NO_DEV |
                                (strncmp(path, "/etc", 4) == 0 ? (unsigned)NO_EXEC : 0u));
        } else if (kind == 'k' || kind == 'K') {
                bind_at(kind == 'k' ? "nothing" : "nowhere", path + 1,
                        READ_ONLY | NO_SUID | NO_DEV | NO_EXEC);
        } else if (kind == 'W') {
                must(mkdir("workspace", 0755));
                bind_at(path, "workspace", NO_SUID | NO_DEV);
        }
}

static void
make_root(void)
{
        must(mount_call(NULL, "/", NULL, RECURSIVE | PRIVATE, NULL));
        must(mount_call("tmpfs", "/mnt", "tmpfs", NO_SUID | NO_DEV,
                        "size=4194304,nr_inodes=65536,mode=0755"));
        must(chdir("/mnt"));
        must(mknod("nothing", S_IFREG, 0));
        must(mkdir("nowhere", 0));
        make_etc();
        make_dev();
        make_links();
        make_private();
        must(mkdir("proc", 0555));
        must(mount_call("proc", "proc", "proc", NO_SUID | NO_DEV | NO_EXEC, NULL));
        bind_at("proc/sys", "proc/sys", READ_ONLY | NO_SUID | NO_DEV | NO_EXEC);
        for (int i = 0; i < item_count; i++)
                make_item(items[i]);
        must(unlink("nothing"));
        must(rmdir("nowhere"));
        must(syscall(SYS_pivot_root, ".", "."));
        must(syscall(SYS_umount2, ".", DETACH));
        must(chdir("/"));
        must(mount_call(NULL, "/", NULL, BIND | REMOUNT | READ_ONLY | NO_SUID | NO_DEV, NULL));
}

static void
close_landlock(void)
{
        static const struct {
                const char *path;
                uint64_t access;
        } rules[] = {
                { "/", 0xd },
                { "/proc", 0x400e },
                { "/tmp", 0x77bf },
                { "/run", 0x77bf },
                { "/dev/shm", 0x77bf },
                { "/home/agent", 0x77bf },
                { "/dev/null", 0xc006 },
                { "/dev/zero", 0xc006 },
                { "/dev/full", 0xc006 },
                { "/dev/urandom", 0xc006 },
                { "/dev/tty", 0xc006 },
                { "/dev/pts", 0xc00e },
        };
        const uint64_t handled[3] = { 0xffff, 0, 3 };
        int set = (int)syscall(SYS_landlock_create_ruleset, handled, sizeof handled, 0);

        must(set);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
                struct landlock_path_beneath_attr rule = { rules[i].access,
                                                           open(rules[i].path, O_PATH) };

                must(syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
                (void)close(rule.parent_fd);
        }
        must(syscall(SYS_landlock_restrict_self, set, 0));
        (void)close(set);
}

static void
harden(void)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
        struct sock_fprog filter = { filter_default.count,
                                     (struct sock_filter *)(uintptr_t)filter_default.steps };

        must(setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }));
        must(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 1024, 1024 }));
        must(setrlimit(RLIMIT_NPROC, &(struct rlimit){ 64, 64 }));
        must(syscall(SYS_setresgid, 1000, 1000, 1000));
        must(syscall(SYS_setresuid, 1000, 1000, 1000));
        must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
        close_landlock();
        for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
                continue;
        must(syscall(SYS_capset, &head, none));
        must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0));
}

static int
payload(void *unused)
{
        static char path[] = "PATH=/usr/bin:/bin", home[] = "HOME=/home/agent",
                    lang[] = "LANG=C.UTF-8";
        static char *environment[] = { path, home, lang, NULL };

        (void)unused;
        must(setsid());
        must(dup2(in_of[0], 0));
        must(dup2(out_of[1], 1));
        must(dup2(err_of[1], 2));
        must(syscall(SYS_close_range, 3, ~0u, 0));
        (void)umask(022);
        (void)execve(command[0], command, environment);
        _exit(127);
}

static _Noreturn void
box(void)
{
        int status = 0;
        pid_t pid;

        must(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
        for (int i = 0; i < join_count; i++)
                must(write(joins[i], "0", 1));
        must(unshare(CLONE_NEWCGROUP));
        map_ids();
        must(sethostname("carrel", 6));
        loopback_up();
        must(put("/proc/sys/user/max_user_namespaces", 0, 0, "0", 1));
        make_root();
        harden();
        pid = clone(payload, payload_stack + sizeof payload_stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
                    NULL);
        must(pid);
        must(waitpid(pid, &status, 0));
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* clone3 with a stack of its own and shared memory: libc has no wrapper, and the child may not
 * return. */
static long
clone_box(int group)
{
        struct clone_arguments arguments = { .flags = NEW_ALL | CLONE_VM |
                                                      (group >= 0 ? 0x200000000ULL : 0),
                                             .exit_signal = SIGCHLD,
                                             .stack = (uintptr_t)box_stack,
                                             .stack_size = sizeof box_stack,
                                             .cgroup = group >= 0 ? (uint64_t)group : 0 };
        long result;

        __asm__ volatile(
                "syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tcall *%%rdx\n1:"
                : "=a"(result)
                : "0"(SYS_clone3), "D"(&arguments), "S"(sizeof arguments), "d"(box)
                : "rcx", "r11", "memory");
        return result;
}

static int
make_groups(void)
{
        int born = -1;

        for (int i = 0; i < item_count; i++) {
                char *item = items[i], *equals = strchr(item, '='), path[512];

                if (item[0] == 'm') {
                        must(mkdir(item + 1, 0755));
                } else if (item[0] == 'l') {
                        *equals = '\0';
                        must(put(item + 1, 0, 0, equals + 1, strlen(equals + 1)));
                } else if (item[0] == 'J') {
                        must(born = open(item + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
                } else if (item[0] == 'j') {
                        memcpy(path, item + 1, strlen(item + 1));
                        memcpy(path + strlen(item + 1), "/tasks", 7);
                        must(joins[join_count++] = open(path, O_WRONLY | O_CLOEXEC));
                } else if (item[0] == 'u') {
                        outside = (unsigned)strtoul(item + 1, NULL, 10);
                }
        }
        return born;
}

static void
finish_groups(void)
{
        char text[512];

        for (int i = 0; i < item_count; i++)
                if (items[i][0] == 'w') {
                        int fd = open(items[i] + 1, O_RDONLY);

                        must(read(fd, text, sizeof text));
                        (void)close(fd);
                }
        for (int i = item_count; i-- > 0;)
                while (items[i][0] == 'm' &&
                       rmdir(items[i] + 1) < 0) /* the kernel counts a process a moment longer */
                        must(errno == EBUSY ? sched_yield() : -1);
}

static void
relay(int from, int to)
{
        static char buffer[65536];
        ssize_t len;

        while ((len = read(from, buffer, sizeof buffer)) > 0)
                must(write(to, buffer, (size_t)len));
        (void)close(from);
}

int
main(int argc, char **argv)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct data[2];
        int born, status = 0;
        long pid;

        items = argv + 1;
        while (item_count < argc - 2 && strcmp(items[item_count], "--") != 0)
                item_count++;
        command = items + item_count + 1;
        if (item_count >= argc - 2)
                broken("no -- and program");
        born = make_groups();
        must(pipe2(in_of, O_CLOEXEC));
        must(pipe2(out_of, O_CLOEXEC));
        must(pipe2(err_of, O_CLOEXEC));
        if (geteuid() == 0 && outside != 0) {
                must(syscall(SYS_setgroups, 0, NULL));
                must(syscall(SYS_setresgid, -1, outside, -1));
                must(syscall(SYS_setresuid, -1, outside, -1));
                must(syscall(SYS_capget, &head,
                             data)); /* the right to be born in root's group, with borrowed ids */
                data[0].effective |= 1u << CAP_DAC_OVERRIDE;
                must(syscall(SYS_capset, &head, data));
        }
        pid = clone_box(born);
        must(pid < 0 ? -1 : 0);
        (void)close(in_of[0]);
        (void)close(in_of[1]);
        (void)close(out_of[1]);
        (void)close(err_of[1]);
        relay(out_of[0], 1);
        relay(err_of[0], 2);
        must(waitpid((pid_t)pid, &status, 0));
        if (getuid() == 0) { /* only now: a change of ids makes the memory that is shared with the
                                box undumpable */
                must(syscall(SYS_setresuid, -1, 0, -1));
                must(syscall(SYS_setresgid, -1, 0, -1));
        }
        finish_groups();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
