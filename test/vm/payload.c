/*
 * payload.c - what runs inside the virtual machine's sandboxes: one static program, one word says
 * what it does.
 *
 * A test program of test/vm. Prints one line, so that a shell can judge it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, BLOCK = 65536, TASKS_MAX = 256 };

static long
clock_ms(clockid_t clock)
{
        struct timespec t;

        (void)clock_gettime(clock, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Asks for a core of any size, and dies of SIGSEGV; "dumped" where the kernel says that it made
 * one. */
static int
crash(char **args)
{
        struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
        pid_t pid = fork();
        int status = 0;

        (void)args;
        if (pid == 0) {
                (void)setrlimit(RLIMIT_CORE, &most);
                (void)raise(SIGSEGV);
                _exit(1);
        }
        (void)waitpid(pid, &status, 0);
        (void)printf("crashed by %d%s\n", WTERMSIG(status), WCOREDUMP(status) ? ", dumped" : "");
        return 0;
}

/* Touches MIB mebibytes. */
static int
eat(char **args)
{
        long count = strtol(args[0], NULL, 10);

        for (long i = 0; i < count; i++) {
                char *block = malloc(MIB);

                if (!block)
                        return 9;
                memset(block, (int)i + 1, MIB);
                __asm__ volatile("" : : "r"(block) : "memory");
        }
        printf("ate %ld\n", count);
        return 0;
}

/* Works without rest for MS of the wall's clock; says how many per cent of a processor it got. */
static int
share(char **args)
{
        long wall = clock_ms(CLOCK_MONOTONIC), end = wall + strtol(args[0], NULL, 10),
             cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);

        while (clock_ms(CLOCK_MONOTONIC) < end)
                ;
        cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("share %ld\n", cpu * 100 / (clock_ms(CLOCK_MONOTONIC) - wall));
        return 0;
}

/* Starts up to COUNT children that wait; says how many there were. */
static int
tasks(char **args)
{
        long wanted = strtol(args[0], NULL, 10), made = 0;
        pid_t pids[TASKS_MAX];

        while (made < wanted && made < TASKS_MAX && (pids[made] = fork()) >= 0) {
                if (pids[made] == 0) {
                        (void)pause();
                        _exit(0);
                }
                made++;
        }
        printf("tasks %ld\n", made);
        for (long i = 0; i < made; i++)
                (void)kill(pids[i], SIGKILL);
        return 0;
}

/* Writes COUNT blocks to PATH past the page cache; says how long it took. */
static int
sink(char **args)
{
        long count = strtol(args[1], NULL, 10), start = clock_ms(CLOCK_MONOTONIC);
        int fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0644);
        void *block = aligned_alloc(4096, BLOCK);

        if (fd < 0 || !block)
                return 9;
        memset(block, 1, BLOCK);
        for (long i = 0; i < count; i++)
                if (write(fd, block, BLOCK) != BLOCK)
                        return 8;
        printf("sink %ld\n", clock_ms(CLOCK_MONOTONIC) - start);
        return 0;
}

/* Becomes user UID without any group or capability, then the command. Not for use inside. */
static int
as(char **args)
{
        unsigned id = (unsigned)strtoul(args[0], NULL, 10);

        if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
                return 9;
        (void)execvp(args[1], args + 1);
        return 9;
}

/* ---- a posture in small: each probe tries what must be refused
 * -------------------------------------------- */

static long
new_user_ns(void)
{
        return unshare(CLONE_NEWUSER);
}

static long
mounts(void)
{
        return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long
opens_tree(void)
{
        return syscall(SYS_open_tree, AT_FDCWD, "/", 1);
}

static long
uring(void)
{
        char params[120] = { 0 };

        return syscall(SYS_io_uring_setup, 4, params);
}

static long
keyring(void)
{
        return syscall(SYS_keyctl, 0, -3, 1);
}

static long
vsock(void)
{
        return socket(AF_VSOCK, SOCK_STREAM, 0);
}

static long
packet(void)
{
        return socket(AF_PACKET, SOCK_RAW, 0);
}

static long
bpf(void)
{
        char attributes[64] = { 0 };

        return syscall(SYS_bpf, 0, attributes, sizeof attributes);
}

static long
setuid_bit(void)
{
        int fd = open("/tmp/mode", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        return fd < 0 ? -1 : fchmod(fd, 04755);
}

static long
system_written(void)
{
        return open("/usr/bin/planted", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
}

static long
root_written(void)
{
        return mkdir("/planted", 0700);
}

static long
knob_written(void)
{
        return open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC);
}

static long
first_traced(void)
{
        return ptrace(PTRACE_ATTACH, 1, NULL, NULL);
}

static long
groups_seen(void)
{
        return access("/sys/fs/cgroup/cgroup.procs", F_OK);
}

static long
disk_seen(void)
{
        return mknod("/tmp/disk", S_IFBLK | 0600, (dev_t)(259 << 8));
}

static const struct probe {
        const char *name;
        long (*try)(void);
} probes[] = {
        { "new_user_ns", new_user_ns },
        { "mount", mounts },
        { "open_tree", opens_tree },
        { "io_uring", uring },
        { "keyring", keyring },
        { "vsock", vsock },
        { "packet", packet },
        { "bpf", bpf },
        { "setuid_bit", setuid_bit },
        { "usr_written", system_written },
        { "root_written", root_written },
        { "knob_written", knob_written },
        { "pid1_traced", first_traced },
        { "groups_seen", groups_seen },
        { "disk_made", disk_seen },
};

static int
posture(char **args)
{
        int open_count = 0;

        (void)args;
        for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
                if (probes[i].try() >= 0) {
                        printf("open %s\n", probes[i].name);
                        open_count++;
                }
        printf("posture %d of %zu open\n", open_count, sizeof probes / sizeof *probes);
        return 0;
}

static const struct word {
        const char *name;
        int arg_count;
        int (*run)(char **args);
} words[] = {
        { "eat", 1, eat },         { "share", 1, share }, { "tasks", 1, tasks },
        { "crash", 0, crash },     { "sink", 2, sink },   { "as", 2, as },
        { "posture", 0, posture },
};

int
main(int argc, char **argv)
{
        for (size_t i = 0; argc > 1 && i < sizeof words / sizeof *words; i++)
                if (strcmp(argv[1], words[i].name) == 0 && argc - 2 >= words[i].arg_count)
                        return words[i].run(argv + 2);
        return 2;
}
