/*
 * test/rig/shim.c - takes kernel mechanisms away from a command and its children.
 *
 *   shim NAME[=ENOSYS|EPERM]... -- COMMAND [ARGUMENT]...
 *
 * A seccomp filter refuses the calls of each NAME with the error. NAME is a row of the table below
 * or the number of a call. This imitates an older kernel (ENOSYS) or a container that filters
 * (EPERM). `cgroup` hides the control groups behind an empty directory instead, in a mount
 * namespace of the command's own.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 12, CODE_MAX = 2048 };

#ifndef SYS_clone3
#define SYS_clone3 435
#define SYS_close_range 436
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* One call. If `mask` is not 0, only calls whose argument `arg` has one of its bits. */
struct call {
        long number;
        unsigned arg;
        uint32_t mask;
};

struct row {
        const char *name;
        int sys;                      /* the error without "=ERROR" */
        struct call calls[CALLS_MAX]; /* the last one has the number NONE */
};

enum { NONE = -1, PRCTL_NO_NEW_PRIVS = -2 };
#define END                \
        {                  \
                NONE, 0, 0 \
        }

static const struct row rows[] = {
        { "landlock",
          ENOSYS,
          { { SYS_landlock_create_ruleset, 0, 0 },
            { SYS_landlock_add_rule, 0, 0 },
            { SYS_landlock_restrict_self, 0, 0 },
            END } },
        { "openat2", ENOSYS, { { SYS_openat2, 0, 0 }, END } },
        { "clone3", ENOSYS, { { SYS_clone3, 0, 0 }, END } },
        { "close_range", ENOSYS, { { SYS_close_range, 0, 0 }, END } },
        { "pidfd", ENOSYS, { { SYS_pidfd_open, 0, 0 }, { SYS_pidfd_send_signal, 0, 0 }, END } },
        { "mount_api",
          ENOSYS,
          { { SYS_open_tree, 0, 0 },
            { SYS_move_mount, 0, 0 },
            { SYS_fsopen, 0, 0 },
            { SYS_fsconfig, 0, 0 },
            { SYS_fsmount, 0, 0 },
            { SYS_fspick, 0, 0 },
            { SYS_mount_setattr, 0, 0 },
            END } },
        { "mount", EPERM, { { SYS_mount, 0, 0 }, END } },
        { "pivot_root", EPERM, { { SYS_pivot_root, 0, 0 }, END } },
        /* a filter installed before ours cannot be undone, so these only stop a second one */
        { "seccomp", ENOSYS, { { SYS_seccomp, 0, 0 }, END } },
        { "no_new_privs", EPERM, { { PRCTL_NO_NEW_PRIVS, 0, 0 }, END } },
        /* clone3 hides its flags from a filter, so it is refused too; callers use clone instead */
        { "userns",
          EPERM,
          { { SYS_unshare, 0, CLONE_NEWUSER },
            { SYS_clone, 0, CLONE_NEWUSER },
            { SYS_clone3, 0, 0 },
            END } },
        { "mountns",
          EPERM,
          { { SYS_unshare, 0, CLONE_NEWNS },
            { SYS_clone, 0, CLONE_NEWNS },
            { SYS_clone3, 0, 0 },
            END } },
        { "pidns",
          EPERM,
          { { SYS_unshare, 0, CLONE_NEWPID },
            { SYS_clone, 0, CLONE_NEWPID },
            { SYS_clone3, 0, 0 },
            END } },
        { "ipcns",
          EPERM,
          { { SYS_unshare, 0, CLONE_NEWIPC },
            { SYS_clone, 0, CLONE_NEWIPC },
            { SYS_clone3, 0, 0 },
            END } },
        { "utsns",
          EPERM,
          { { SYS_unshare, 0, CLONE_NEWUTS },
            { SYS_clone, 0, CLONE_NEWUTS },
            { SYS_clone3, 0, 0 },
            END } },
        { "netns",
          EPERM,
          { { SYS_unshare, 0, CLONE_NEWNET },
            { SYS_clone, 0, CLONE_NEWNET },
            { SYS_clone3, 0, 0 },
            END } },
        { "cgroupns",
          EPERM,
          { { SYS_unshare, 0, CLONE_NEWCGROUP },
            { SYS_clone, 0, CLONE_NEWCGROUP },
            { SYS_clone3, 0, 0 },
            END } },
        /* setting only: a query passes no new limit */
        { "rlimit", EPERM, { { SYS_prlimit64, 2, 0xffffffff }, { SYS_setrlimit, 0, 0 }, END } },
        /* no filter can do this: see cgroup_hide() */
        { "cgroup", EPERM, { END } },
};

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
/* lint: an analyzer that knows no processor comes here */
#error the shim knows x86-64 and 64-bit ARM
#endif

struct code {
        struct sock_filter at[CODE_MAX];
        unsigned short count;
};

static void
emit(struct code *c, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
        if (c->count == CODE_MAX) {
                (void)fprintf(stderr, "shim: too many names\n");
                exit(125);
        }
        c->at[c->count++] = (struct sock_filter){ op, jt, jf, k };
}

static void
emit_load(struct code *c, size_t offset)
{
        emit(c, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* prctl(PR_SET_NO_NEW_PRIVS), recognised by the value of its first argument */
static void
emit_no_new_privs(struct code *c, int sys)
{
        emit(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_prctl);
        emit_load(c, offsetof(struct seccomp_data, args));
        emit(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PR_SET_NO_NEW_PRIVS);
        emit(c, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)sys);
        emit_load(c, offsetof(struct seccomp_data, nr));
}

/* The accumulator holds the number before and after. */
static void
emit_call(struct code *c, const struct call *call, int sys)
{
        if (call->number == PRCTL_NO_NEW_PRIVS) {
                emit_no_new_privs(c, sys);
                return;
        }
        if (call->mask == 0) {
                emit(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)call->number);
                emit(c, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)sys);
                return;
        }
        emit(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)call->number);
        emit_load(c, offsetof(struct seccomp_data, args) +
                             8 * call->arg); /* little-endian: the low half */
        emit(c, BPF_JMP | BPF_JSET | BPF_K, 0, 1, call->mask);
        emit(c, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)sys);
        emit_load(c, offsetof(struct seccomp_data, nr));
}

static int
file_write(const char *path, const char *text)
{
        FILE *f = fopen(path, "w");

        if (!f)
                return -1;
        (void)fputs(text, f);
        return fclose(f);
}

static int
id_map_write(const char *path, unsigned id)
{
        char text[64];

        (void)snprintf(text, sizeof text, "%u %u 1\n", id, id);
        return file_write(path, text);
}

/*
 * An empty read-only directory over /sys/fs/cgroup. An ordinary user needs a user namespace for it,
 * and keeps the user id.
 */
static void
cgroup_hide(void)
{
        unsigned uid = geteuid(), gid = getegid();

        if (unshare(CLONE_NEWNS) < 0 && (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
                                         file_write("/proc/self/setgroups", "deny") < 0 ||
                                         id_map_write("/proc/self/uid_map", uid) < 0 ||
                                         id_map_write("/proc/self/gid_map", gid) < 0)) {
                perror("shim: a mount namespace");
                exit(125);
        }
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/sys/fs/cgroup", "tmpfs", MS_RDONLY, NULL) < 0) {
                perror("shim: covering /sys/fs/cgroup");
                exit(125);
        }
}

static int
error_read(const char *text)
{
        if (strcmp(text, "ENOSYS") == 0)
                return ENOSYS;
        return strcmp(text, "EPERM") == 0 ? EPERM : -1;
}

static int
emit_name(struct code *c, char *name)
{
        char *told = strchr(name, '='), *end;
        int sys = told ? error_read(told + 1) : 0;
        struct call one = { 0 };

        if (told)
                *told = '\0';
        if (sys < 0)
                return -1;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                if (strcmp(rows[i].name, name) != 0)
                        continue;
                if (rows[i].calls[0].number == NONE)
                        cgroup_hide();
                for (const struct call *call = rows[i].calls; call->number != NONE; call++)
                        emit_call(c, call,
                                  call->number == SYS_clone3 ? ENOSYS
                                  : sys                      ? sys
                                                             : rows[i].sys);
                return 0;
        }
        one.number = strtol(name, &end, 10);
        if (end == name || *end != '\0')
                return -1;
        emit_call(c, &one, sys ? sys : ENOSYS);
        return 0;
}

static int
usage(void)
{
        (void)fprintf(stderr, "usage: shim NAME[=ENOSYS|EPERM]... -- COMMAND [ARGUMENT]...\nnames: "
                              "a call's number, or");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                (void)fprintf(stderr, " %s", rows[i].name);
        (void)fputc('\n', stderr);
        return 125;
}

int
main(int argc, char **argv)
{
        static struct code code;
        struct sock_fprog program;
        int at = 1;

        emit_load(&code, offsetof(struct seccomp_data, arch));
        emit(&code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
        emit(&code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        emit_load(&code, offsetof(struct seccomp_data, nr));
        for (; at < argc && strcmp(argv[at], "--") != 0; at++)
                if (emit_name(&code, argv[at]) < 0)
                        return usage();
        if (at + 1 >= argc)
                return usage();
        emit(&code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        program = (struct sock_fprog){ .len = code.count, .filter = code.at };
        /* Root does not need no_new_privs, and setting it would change what is tested. */
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 &&
            (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
             syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)) {
                perror("shim: seccomp");
                return 125;
        }
        (void)execvp(argv[at + 1], argv + at + 1);
        perror("shim: exec");
        return 127;
}
