/*
 * host/facts.c - a quick look at this machine, for the planner.
 *
 * Room: host (acting). Touches: system calls and a few files of /proc, reading only; the
 * environment for XDG_RUNTIME_DIR.
 * Knows the source of each fact. Knows nothing of its consequences.
 * Theory: facts choose wording and methods, never safety. If a mechanism is present but fails, its
 * step fails, and a failed step refuses.
 */
#include "host/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/scoped.h"
#include "host/calls.h"
#include "host/cgroups.h"
#include "host/places.h"

enum { GROUPS_LOOK_MAX = 1024, CPUS_LOOK_MAX = 8192 };

/* "6.1.0-28-amd64" is 6001 */
static unsigned
release_read(const char *text)
{
        unsigned major = 0, minor = 0;

        if (sscanf(text, "%3u.%3u", &major, &minor) != 2)
                return 0;
        return major * 1000 + minor;
}

static unsigned
cpu_count_read(void)
{
        unsigned long mask[CPUS_LOOK_MAX / (8 * sizeof(unsigned long))] = { 0 };
        long len = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
        unsigned count = 0;

        for (size_t i = 0; len > 0 && i < (size_t)len / sizeof *mask; i++)
                count += (unsigned)__builtin_popcountl(mask[i]);
        return count > 0 ? count : 1;
}

/* A text that is not a list of numbers and ranges, or is too long, counts as empty. */
static void
cpu_list_read(const char *path, char ret[HOST_CPUS_MAX])
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? -1 : read(fd, ret, HOST_CPUS_MAX - 1);
        size_t used;

        ret[len > 0 ? len : 0] = '\0';
        used = strspn(ret, "0123456789,-");
        if (ret[used] == '\n' && ret[used + 1] == '\0' && used > 0)
                ret[used] = '\0';
        else
                ret[0] = '\0';
}

static void
cpus_read(struct host_cpus *ret)
{
        cpu_list_read("/sys/devices/system/cpu/possible", ret->possible);
        cpu_list_read("/sys/devices/system/cpu/present", ret->present);
        cpu_list_read("/sys/devices/system/cpu/online", ret->online);
}

/* Supplementary groups other than the primary group; an unprivileged process in a user namespace
 * cannot drop them. */
static unsigned
extra_groups_count(gid_t own)
{
        gid_t groups[GROUPS_LOOK_MAX];
        int count = getgroups(GROUPS_LOOK_MAX, groups);
        unsigned extra = 0;

        if (count < 0)
                return (unsigned)getgroups(0, NULL);
        for (int i = 0; i < count; i++)
                extra += groups[i] != own;
        return extra;
}

/* The first bytes of a file of /proc, NUL-terminated. */
static bool
text_peek(const char *path, char *buf, size_t room)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : read(fd, buf, room - 1);

        buf[got > 0 ? got : 0] = '\0';
        return got >= 0;
}

/* Reads a setting of /proc/sys; `otherwise` if it does not exist. */
static long
knob_read(const char *path, long otherwise)
{
        char text[32];

        return text_peek(path, text, sizeof text) ? strtol(text, NULL, 10) : otherwise;
}

static bool
has_capabilities(void)
{
        static const unsigned needed[] = { CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_CHOWN,
                                           CAP_DAC_OVERRIDE };
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

        if (syscall(SYS_capget, &header, data) < 0)
                return false;
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
                if (!(data[needed[i] / 32].effective & 1u << needed[i] % 32))
                        return false;
        return true;
}

/* Root of a user namespace owns only the ids mapped for it, so it counts as an ordinary user. */
static bool
is_privileged_read(void)
{
        char map[64];
        unsigned long inside, outside, count;

        if (geteuid() != 0 || !has_capabilities() ||
            !text_peek("/proc/self/uid_map", map, sizeof map))
                return false;
        return sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && inside == 0 &&
               outside == 0 && count == 0xffffffffUL;
}

static bool
has_user_ns_read(bool is_answered, uid_t uid)
{
        if (!is_answered || faccessat(AT_FDCWD, "/proc/self/ns/user", F_OK, 0) < 0)
                return false;
        if (knob_read("/proc/sys/user/max_user_namespaces", 1) == 0)
                return false;
        return uid == 0 || knob_read("/proc/sys/kernel/unprivileged_userns_clone", 1) != 0;
}

/* A wall must catch both address families. */
static bool
has_wall_read(void)
{
        int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd >= 0)
                (void)close(fd);
        return fd >= 0;
}

static bool
is_own_dir(const char *path, uid_t uid)
{
        struct stat st;

        return path && path[0] == '/' && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
               st.st_uid == uid && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/*
 * Another user may create the directory below /tmp first: then a directory in the home, which only
 * we own, is used.
 */
static void
runtime_dir_below(struct host_facts *ret)
{
        const char *home = getenv("HOME");
        char cache[sizeof ret->runtime_dir];
        bool has_cache;
        struct stat st;

        (void)snprintf(ret->runtime_dir, sizeof ret->runtime_dir, "/tmp/carrel-%u", ret->uid);
        if ((lstat(ret->runtime_dir, &st) < 0 && errno == ENOENT) ||
            is_own_dir(ret->runtime_dir, ret->uid) || !is_own_dir(home, ret->uid) ||
            strlen(home) + sizeof "/.cache/carrel" > sizeof ret->runtime_dir)
                return;
        (void)snprintf(cache, sizeof cache, "%s/.cache", home);
        has_cache = is_own_dir(cache, ret->uid);
        (void)snprintf(ret->runtime_dir, sizeof ret->runtime_dir, "%s/%s", home,
                       has_cache ? ".cache/carrel" : ".carrel");
}

/*
 * Where leases are stored. Code that creates a directory below /tmp must check its owner
 * afterwards.
 */
static void
runtime_dir_choose(struct host_facts *ret)
{
        const char *xdg = getenv("XDG_RUNTIME_DIR");
        int len = -1;

        if (ret->uid == 0 && faccessat(AT_FDCWD, "/run", W_OK, AT_EACCESS) == 0)
                len = snprintf(ret->runtime_dir, sizeof ret->runtime_dir, "/run/carrel");
        else if (is_own_dir(xdg, ret->uid))
                len = snprintf(ret->runtime_dir, sizeof ret->runtime_dir, "%s/carrel", xdg);
        if (len < 0 || (size_t)len >= sizeof ret->runtime_dir)
                runtime_dir_below(ret);
}

static void
calls_take(struct host_facts *ret, const struct host_calls *calls, unsigned release)
{
        ret->landlock_abi = calls->landlock_abi;
        ret->has_seccomp = calls->seccomp;
        ret->has_openat2 = calls->openat2;
        ret->has_clone3 = calls->clone3;
        ret->has_pidfd = calls->pidfd_open;
        ret->has_close_range = calls->close_range;
        ret->has_mount_api =
                calls->open_tree && calls->move_mount && calls->mount_setattr && calls->fsopen;
        ret->has_idmap = ret->has_mount_api && ret->is_privileged && release >= 5012;
        ret->has_user_ns = has_user_ns_read(calls->user_ns, ret->uid);
        ret->has_wall = has_wall_read();
}

int
host_facts_read(struct host_facts *ret, struct error *e)
{
        struct utsname names;
        struct sysinfo info;
        struct host_calls calls;

        memset(ret, 0, sizeof *ret);
        if (uname(&names) < 0 || sysinfo(&info) < 0)
                return fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, errno,
                                "the kernel does not say what it is");
        (void)snprintf(ret->kernel, sizeof ret->kernel, "%s", names.release);
        (void)snprintf(ret->machine, sizeof ret->machine, "%s", names.machine);
        ret->cpu_count = cpu_count_read();
        cpus_read(&ret->cpus);
        ret->memory_mb = (uint64_t)info.totalram * info.mem_unit >> 20;
        ret->uid = geteuid();
        ret->gid = getegid();
        ret->is_privileged = is_privileged_read();
        ret->extra_group_count = extra_groups_count(getegid());
        host_calls_read(&calls);
        calls_take(ret, &calls, release_read(names.release));
        host_places_read(ret);
        cgroup_facts_read(&ret->cgroup, release_read(names.release));
        runtime_dir_choose(ret);
        return 0;
}
