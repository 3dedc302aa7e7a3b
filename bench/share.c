/*
 * bench/share.c - what a further wall takes of memory: in the gate, and of the kernel.
 *
 * Room: none (a measuring tool). Touches: namespaces, processes, sockets.
 * Theory: COUNT network namespaces are made first, since every sandbox has one with or without a
 * wall; then each is given its wall, and one gate is handed all of them, as the daemon does it.
 * What the kernel holds for itself is read from /proc/meminfo, so other work on the machine is seen
 * in it: measure more than once.
 *
 *     share GATE COUNT          prints `namespace`, `kernel` and `gate` in MiB a wall
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wall/wall.h"
#include "wire/gate.h"
#include "wire/message.h"

enum { WALLS_MAX = 1000, GATE_FD = 3 };

static int namespaces[WALLS_MAX], links[WALLS_MAX], sockets[WALLS_MAX][WALL_FDS_MAX];
static _Alignas(8) char body[8192];

static _Noreturn void
broken(const char *what)
{
        (void)fprintf(stderr, "share: %s: %s\n", what, strerror(errno));
        exit(1);
}

/* The sum of lines "name: N kB" of a file in /proc. */
static double
sum_kib(const char *path, const char *const *names)
{
        FILE *f = fopen(path, "re");
        char line[256];
        double sum = 0;

        if (!f)
                broken(path);
        while (fgets(line, sizeof line, f))
                for (const char *const *n = names; *n; n++)
                        if (strncmp(line, *n, strlen(*n)) == 0 && line[strlen(*n)] == ':')
                                sum += strtod(line + strlen(*n) + 1, NULL);
        (void)fclose(f);
        return sum;
}

static double
kernel_kib(void)
{
        static const char *const names[] = { "Slab", "KernelStack", "PageTables", "Percpu", NULL };

        (void)nanosleep(&(struct timespec){ 0, 300000000 }, NULL); /* what is freed late is freed */
        return sum_kib("/proc/meminfo", names);
}

static double
gate_kib(pid_t gate)
{
        static const char *const names[] = { "VmRSS", NULL };
        char path[64];

        (void)snprintf(path, sizeof path, "/proc/%d/status", (int)gate);
        return sum_kib(path, names);
}

static void
make_namespace(int *ret)
{
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
        int fd;

        if (unshare(CLONE_NEWNET) < 0)
                broken("a network namespace");
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        *ret = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || *ret < 0 || ioctl(fd, (int)SIOCSIFFLAGS, &lo) < 0)
                broken("lo");
        (void)close(fd);
}

static pid_t
start_gate(char *program, int *ret_control)
{
        char option[] = "--keeper-fd", number[] = "3";
        char *const argv[] = { program, option, number, NULL };
        int ends[2];
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                broken("a socket");
        pid = fork();
        if (pid == 0) {
                int away = fcntl(ends[1], F_DUPFD, 10);

                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                if (away < 0 || dup2(away, GATE_FD) < 0 || close(away) < 0)
                        _exit(125);
                (void)execv(program, argv);
                _exit(125);
        }
        (void)close(ends[1]);
        *ret_control = ends[0];
        return pid;
}

static void
configure(int control)
{
        const char *const resolvers[] = { "127.0.0.1:53" };
        size_t len = wire_gate_config(body, sizeof body, resolvers, 1, NULL, 0);

        if (wire_send(control, WIRE_GATE_CONFIG, body, len, NULL, 0) < 0)
                broken("the gate");
}

/* A wall with a list as agents have them. */
static void
make_wall(int control, int i)
{
        static const char *const allow[] = { "api.example.com", "*.example.org", "github.com",
                                             "pypi.org", "db.example.com:5432" };
        struct wire_gate_policy head = { .wall = (uint32_t)i + 1, .generation = 1, .id = "share" };
        struct wire_gate_added added;
        struct wire_message m;
        int pair[2], fds[1 + WALL_FIXED];
        size_t len;

        if (setns(namespaces[i], CLONE_NEWNET) < 0 ||
            wall_open(&(struct wall_wanted){ .ports = NULL }, sockets[i]) < 0)
                broken("a wall");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                broken("a link");
        fds[0] = pair[1];
        memcpy(fds + 1, sockets[i], WALL_FIXED * sizeof(int));
        len = wire_gate_policy(body, sizeof body, &head, allow, sizeof allow / sizeof *allow, NULL,
                               0, NULL, 0);
        if (wire_send(control, WIRE_GATE_ADD, body, len, fds, 1 + WALL_FIXED) < 0 ||
            wire_receive(control, 1, &m, &added, sizeof added) != 1 || added.sys != 0)
                broken("adding a wall");
        links[i] = pair[0];
        (void)close(pair[1]);
        if (wire_send(links[i], WIRE_WALL_BEGIN, NULL, 0, NULL, 0) < 0)
                broken("a link");
}

int
main(int argc, char **argv)
{
        int count = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0, control;
        double at[3], own[2];
        pid_t gate;

        if (count < 2 || count >= WALLS_MAX) {
                (void)fputs("usage: share GATE COUNT\n", stderr);
                return 2;
        }
        gate = start_gate(argv[1], &control);
        configure(control);
        at[0] = kernel_kib();
        for (int i = 0; i < count; i++)
                make_namespace(&namespaces[i]);
        make_wall(control, count - 1); /* what the first wall alone brings is none of the others' */
        own[0] = gate_kib(gate);
        at[1] = kernel_kib();
        for (int i = 0; i < count - 1; i++)
                make_wall(control, i);
        at[2] = kernel_kib();
        own[1] = gate_kib(gate);
        (void)printf("namespace %.4f\nkernel %.4f\ngate %.4f\n", (at[1] - at[0]) / count / 1024,
                     (at[2] - at[1]) / (count - 1) / 1024, (own[1] - own[0]) / (count - 1) / 1024);
        (void)kill(gate, SIGKILL);
        (void)waitpid(gate, NULL, 0);
        return 0;
}
