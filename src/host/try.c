/*
 * host/try.c - finds out by trying what this machine can enforce.
 *
 * Room: host (acting). Touches: its own processes, pipes, clock; each attempt's file says what else
 * it touches.
 * Knows what each mechanism is for and how to fix it. Knows nothing of sandboxes.
 * Theory: version numbers mislead (containers filter calls, distributions disable features), so
 * each mechanism is used once, in a child that ends right after. A child that hangs or dies counts
 * as failed.
 */
#include "host/try.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"
#include "spec/provider.h"

enum { DEADLINE_MS = 5000 };

#define USERNS_MEND                                                                              \
        "sudo sysctl -w user.max_user_namespaces=15000 (and kernel.unprivileged_userns_clone=1 " \
        "where it exists)"
#define KERNEL_MEND(version) "use a kernel of version " version " or later"

#define TAP_MEND "sudo modprobe tun && sudo chmod 0666 /dev/net/tun"

static const struct host_try tries[] = {
        { "user_namespace", "the sandbox holds no right of the host", attempt_user_ns, USERNS_MEND,
          true },
        { "mount_namespace", "a file tree of its own", attempt_mount_ns,
          "sudo sysctl -w user.max_mnt_namespaces=15000", true },
        { "pid_namespace", "sees and signals only its own processes; all end together",
          attempt_pid_ns, "sudo sysctl -w user.max_pid_namespaces=15000", true },
        { "ipc_namespace", "shared memory and queues of its own", attempt_ipc_ns,
          "sudo sysctl -w user.max_ipc_namespaces=15000", true },
        { "uts_namespace", "does not learn the host's name", attempt_uts_ns,
          "sudo sysctl -w user.max_uts_namespaces=15000", true },
        { "cgroup_namespace", "does not learn the host's control groups", attempt_cgroup_ns,
          "sudo sysctl -w user.max_cgroup_namespaces=15000", true },
        { "net_namespace", "no way out to any network", attempt_net_ns,
          "sudo sysctl -w user.max_net_namespaces=15000", true },
        { "loopback", "its own 127.0.0.1 works", attempt_loopback,
          "let a user namespace configure its own network (CAP_NET_ADMIN inside it)", true },
        { "fresh_proc", "/proc shows only its own processes", attempt_proc,
          "unmount whatever covers parts of /proc, or start outside the container", true },
        { "pivot_root", "the host's file tree is out of reach", attempt_pivot_root,
          "start from a root that is a mount (not an initramfs)", true },
        { "tmpfs", "private /tmp and /dev/shm with a size", attempt_tmpfs,
          "use a kernel with CONFIG_TMPFS", true },
        { "mount_api", "directories are shown by descriptor, read-only", attempt_mount_api,
          KERNEL_MEND("5.12"), true },
        { "seccomp", "system calls outside the list are refused", attempt_seccomp,
          "use a kernel with CONFIG_SECCOMP_FILTER", true },
        { "no_new_privs", "setuid programs give nothing", attempt_no_new_privs, KERNEL_MEND("3.5"),
          true },
        { "landlock", "a second wall behind the mounts", attempt_landlock,
          "add landlock to the list in lsm= on the kernel's command line (kernel 5.13 or later), "
          "and restart",
          true },
        { "rlimit", "core files and open files are limited", attempt_rlimit,
          "let the process lower its own limits (setrlimit, prlimit64)", true },
        { "limit_memory", "limits.memory_mb", attempt_memory,
          "systemd-run --user --scope -p Delegate=yes carrel ..., or cgroup_enable=memory on the "
          "kernel's command line",
          false },
        { "limit_swap", "swap counts towards limits.memory_mb", attempt_swap,
          "swapaccount=1 on the kernel's command line, or run without swap: sudo swapoff -a",
          false },
        { "limit_pids", "number of processes by group; else by the box's own user namespace",
          attempt_pids, "systemd-run --user --scope -p Delegate=yes carrel ...", false },
        { "limit_cpu", "CPU share in millicores", attempt_cpu,
          "delegate cpu: Delegate=cpu memory pids in user@.service (systemctl edit user@.service), "
          "and a kernel with "
          "CONFIG_CFS_BANDWIDTH",
          false },
        { "limit_io", "disk bytes per second", attempt_io,
          "delegate io (Delegate=io in user@.service), keep the workspace on a local disk, and a "
          "kernel with "
          "CONFIG_BLK_DEV_THROTTLING",
          false },
        { "cpu_time", "limits.cpu_ms over the whole tree", attempt_cpu_time,
          "make a control group writable: systemd-run --user --scope -p Delegate=yes carrel ...",
          false },
        { "cgroup_kill", "a command's whole tree ends at once; else by its pid namespace",
          attempt_cgroup_kill, KERNEL_MEND("5.14") " with cgroup v2 mounted writable", false },
        { "pidfd", "processes are held by descriptor, never by number", attempt_pidfd,
          KERNEL_MEND("5.3"), true },
        { "clone3", "born into its control group; else joined after", attempt_clone3,
          KERNEL_MEND("5.7"), true },
        { "openat2", "paths are opened beneath a directory; else step by step", attempt_openat2,
          KERNEL_MEND("5.6"), true },
        { "close_range", "descriptors are closed in one call; else one by one", attempt_close_range,
          KERNEL_MEND("5.9"), true },
        { "devpts", "terminals (-t)", attempt_devpts, "use a kernel with CONFIG_UNIX98_PTYS",
          true },
        { "container_runtime", "containers: an OCI runtime, and for root cgroup v2",
          attempt_container, "apt-get install runc", false },
        { "qemu", "virtual machines: QEMU, and a kernel with its modules", attempt_qemu,
          "apt-get install qemu-system-x86 linux-image-cloud-amd64", false },
        { "overlay", "branches, and read-only mounts that host sockets cannot be reached through",
          attempt_overlay,
          KERNEL_MEND("5.11") " (overlayfs in user namespaces): sudo modprobe overlay", true },
        { "wall", "network.egress: listed names are let through, all else is caught", attempt_wall,
          "use a kernel with IPv6 (not started with ipv6.disable=1), and let a user namespace "
          "configure its own network",
          true },
        { "routed",
          "metadata.carrel.egress.routed: every port inside is the sandbox's own; else only that "
          "is refused",
          attempt_routed,
          "sudo modprobe veth; /proc/sys/net must be writable in a user namespace that owns its "
          "network",
          true },
        { "tap", "network.egress of a virtual machine; else only that is refused", attempt_tap,
          TAP_MEND, true },
        { "machine_disk", "carrel image disk: the disk that a virtual machine gets of an image",
          attempt_machine_disk, "apt-get install erofs-utils", false },
        { "machine_mounts", "mounts of a virtual machine; else only these are refused",
          attempt_machine_mounts, "apt-get install qemu-system-common linux-image-cloud-amd64",
          false },
        { "idmap", "as root: files in the workspace keep their owner", attempt_idmap,
          "keep the workspace on ext4, xfs, btrfs or (kernel 6.3) tmpfs, or run as the ordinary "
          "user who owns it",
          true },
        { "id_range", "user: root in an image: files of several owners; else those of one",
          attempt_id_range, "start Carrel as root: an ordinary user has one id inside", false },
};

/* What the child sends through its pipe; small enough for one atomic write. */
struct answer {
        enum attempt_result result;
        char detail[256];
        char mend[1024];
};

const char *
host_need_name(const struct provider *p, enum provider_need need)
{
        static const char *const names[] = {
                [PROVIDER_NEED_LIMIT] = "limit", [PROVIDER_NEED_EXTRA] = "extra"
        };

        return need == PROVIDER_NEED_TIER ? p->tier : names[need];
}

/* -- one child --------------------------------------------------------------------------------- */

static _Noreturn void
child_attempt(const struct host_facts *facts, const struct host_try *row, int out)
{
        struct attempt a = { .facts = facts };
        struct answer answer = { .result = ATTEMPT_FAILS };

        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        answer.result = row->attempt(&a);
        memcpy(answer.detail, a.detail, sizeof answer.detail);
        memcpy(answer.mend, a.mend, sizeof answer.mend);
        _exit(write(out, &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
}

/* 1: answered, 0: the deadline passed, -1: the child ended without an answer */
static int
answer_read(int in, int deadline_ms, struct answer *ret)
{
        uint64_t end = clock_boot_ms() + (uint64_t)deadline_ms;
        struct pollfd p = { .fd = in, .events = POLLIN };
        int ready;

        do
                ready = clock_poll(&p, 1, end);
        while (ready < 0 && errno == EINTR);
        if (ready <= 0)
                return 0;
        return read(in, ret, sizeof *ret) == (ssize_t)sizeof *ret ? 1 : -1;
}

static void
child_end(pid_t pid, int *ret_status)
{
        (void)kill(-pid, SIGKILL);
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                ;
}

static void
result_fill(struct host_try_result *ret, const struct host_try *row, int answered,
            struct answer *answer, int status)
{
        *ret = (struct host_try_result){ .row = row, .result = ATTEMPT_FAILS };
        if (answered == 0)
                (void)snprintf(ret->detail, sizeof ret->detail, "no answer before the deadline");
        else if (answered < 0 && WIFSIGNALED(status))
                (void)snprintf(ret->detail, sizeof ret->detail,
                               "the attempt was killed by signal %d", WTERMSIG(status));
        else if (answered < 0)
                (void)snprintf(ret->detail, sizeof ret->detail,
                               "the attempt ended without an answer");
        if (answered == 1) {
                ret->result = answer->result;
                memcpy(ret->detail, answer->detail, sizeof ret->detail);
        }
        if (ret->result == ATTEMPT_FAILS)
                (void)snprintf(ret->mend, sizeof ret->mend, "%s",
                               answered == 1 && answer->mend[0] ? answer->mend : row->mend);
}

int
host_try_one(const struct host_facts *facts, const struct host_try *row, int deadline_ms,
             struct host_try_result *ret, struct error *e)
{
        struct answer answer = { .result = ATTEMPT_FAILS };
        int ends[2], answered, status = 0;
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, errno, "no pipe for an attempt");
        pid = fork();
        if (pid < 0) {
                int sys = errno;

                (void)close(ends[0]);
                (void)close(ends[1]);
                return fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, sys, "no process for an attempt");
        }
        if (pid == 0) {
                (void)close(ends[0]);
                child_attempt(facts, row, ends[1]);
        }
        (void)close(ends[1]);
        answered = answer_read(ends[0], deadline_ms, &answer);
        (void)close(ends[0]);
        if (answered < 0)
                while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                        ;
        else
                child_end(pid, &status);
        if (answered <= 0)
                attempt_cgroup_collect(&facts->cgroup, (long)pid);
        result_fill(ret, row, answered, &answer, status);
        return 0;
}

/* -- containers -------------------------------------------------------------------------------- */

struct container_row {
        const char *name;
        const char *variable; /* environment variable; NULL: only the file shows it */
        const char *file;
        const char *help;
};

#define DOCKER_HELP                                                                            \
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt " \
        "systempaths=unconfined"

static const struct container_row containers[] = {
        { "kubernetes", "KUBERNETES_SERVICE_HOST", "/var/run/secrets/kubernetes.io",
          "spec.hostUsers: false; securityContext.procMount: Unmasked; "
          "securityContext.seccompProfile: {type: Localhost, localhostProfile: carrel.json} or "
          "{type: Unconfined}; "
          "securityContext.appArmorProfile: {type: Unconfined}" },
        { "podman", NULL, "/run/.containerenv",
          "--security-opt seccomp=unconfined --security-opt unmask=ALL --security-opt "
          "label=disable" },
        { "docker", NULL, "/.dockerenv", DOCKER_HELP },
        { "container", "container", "/run/systemd/container",
          DOCKER_HELP " (or what this runtime calls them)" },
};

static const struct container_row *
container_find(void)
{
        for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
                if (access(containers[i].file, F_OK) == 0 ||
                    (containers[i].variable && getenv(containers[i].variable)))
                        return &containers[i];
        return NULL;
}

/* Inside a container the runtime's options come first; the row's own command comes after them. */
static void
container_mend(struct host_try_result *r, const struct container_row *container)
{
        char own[sizeof r->mend];
        int len;

        if (r->result != ATTEMPT_FAILS || !r->row->mends_in_container || !container)
                return;
        memcpy(own, r->mend, sizeof own);
        len = snprintf(r->mend, sizeof r->mend,
                       "start the container with: %s; then, on the host: ", container->help);
        if (len > 0 && (size_t)len < sizeof r->mend)
                (void)snprintf(r->mend + len, sizeof r->mend - (size_t)len, "%.*s",
                               (int)(sizeof r->mend - (size_t)len - 1), own);
}

/* -- together ---------------------------------------------------------------------------------- */

void
host_report_judge(struct host_report *report)
{
        char missing[384] = "", warning[384] = "";

        report->has_tier = true;
        for (size_t i = 0; i < report->count; i++) {
                const struct host_try_result *r = &report->results[i];
                char *list = r->need == PROVIDER_NEED_TIER ? missing : warning;
                size_t used = strlen(list);

                if (r->result != ATTEMPT_FAILS || r->need == PROVIDER_NEED_EXTRA)
                        continue;
                report->has_tier = report->has_tier && r->need != PROVIDER_NEED_TIER;
                (void)snprintf(list + used, sizeof missing - used, "%s%s", used ? ", " : "",
                               r->row->name);
        }
        if (!report->has_tier)
                (void)snprintf(report->why, sizeof report->why, "refused, because this fails: %s",
                               missing);
        else if (warning[0])
                (void)snprintf(report->why, sizeof report->why, "enforceable; will only warn: %s",
                               warning);
        else
                (void)snprintf(report->why, sizeof report->why, "enforceable, with every limit");
}

void
host_report_add(struct host_report *report, const struct host_try *row, enum provider_need need,
                enum attempt_result result, const char *detail)
{
        struct host_try_result *r = &report->results[report->count];

        if (report->count == HOST_TRIES_MAX)
                return;
        *r = (struct host_try_result){ .row = row, .need = need, .result = result };
        (void)snprintf(r->detail, sizeof r->detail, "%s", detail);
        if (result == ATTEMPT_FAILS)
                (void)snprintf(r->mend, sizeof r->mend, "%s", row->mend);
        report->count++;
        host_report_judge(report);
}

static const struct host_try *
find(const char *name)
{
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
                if (strcmp(tries[i].name, name) == 0)
                        return &tries[i];
        return NULL;
}

static bool
find_known(const struct host_report *earlier, const struct host_try *row,
           struct host_try_result *ret)
{
        for (size_t i = 0; earlier && i < earlier->count; i++)
                if (earlier->results[i].row == row) {
                        *ret = earlier->results[i];
                        ret->is_known = true;
                        return true;
                }
        return false;
}

static int
try_each(const struct host_facts *facts, enum provider_need need, const struct host_report *earlier,
         struct host_report *report, struct error *e)
{
        const char *const *names = report->provider->tries[need];

        for (; names && *names; names++) {
                struct host_try_result *r = &report->results[report->count];
                const struct host_try *row = find(*names);

                if (!row || report->count == HOST_TRIES_MAX)
                        return fail(e, ERROR_INTERNAL, "the mechanism %s of the provider %s %s",
                                    *names, report->provider->id,
                                    row ? "is one too many" : "is unknown");
                if (!find_known(earlier, row, r)) {
                        if (host_try_one(facts, row, DEADLINE_MS, r, e) < 0)
                                return -1;
                        container_mend(r, container_find());
                }
                r->need = need;
                report->count++;
        }
        return 0;
}

int
host_try_all(const struct host_facts *facts, const struct provider *provider,
             const struct host_report *earlier, struct host_report *ret, struct error *e)
{
        const struct container_row *container = container_find();

        memset(ret, 0, sizeof *ret);
        ret->provider = provider;
        for (unsigned need = 0; need < PROVIDER_NEED_MAX; need++)
                if (try_each(facts, (enum provider_need)need, earlier, ret, e) < 0)
                        return -1;
        if (container) {
                ret->container = container->name;
                ret->container_help = container->help;
        }
        host_report_judge(ret);
        return 0;
}
