/*
 * host/machine.c - what this host has for a virtual machine.
 *
 * Room: host (acting). Touches: names in root's directories of programs, /boot, /lib/modules; the
 * processor's time stamp.
 */
#include "host/machine.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/attempt.h"
#include "wall/wall.h"

#define KERNEL_PREFIX "vmlinuz-"
#define NO_QEMU "this machine has no qemu-system-x86_64"
#define INSTALL_QEMU "apt-get install qemu-system-x86"
#define INSTALL_KERNEL "apt-get install linux-image-cloud-amd64"

enum { PATH_ROOM = 1024, VERSION_ROOM = 128, MEASURE_NS = 4000000, MEASURES = 3 };

/* In the order of loading; below a kernel's directory of modules. */
static const char *const modules[] = {
        "kernel/drivers/virtio/virtio_ring",
        "kernel/drivers/virtio/virtio",
        "kernel/drivers/virtio/virtio_mmio",
        "kernel/drivers/block/virtio_blk",
        "kernel/drivers/char/virtio_console",
        "kernel/lib/libcrc32c",
        "kernel/fs/erofs/erofs",
        "kernel/fs/overlayfs/overlay",
};

/* For mounts. */
static const char *const share_modules[] = { "kernel/fs/fuse/fuse", "kernel/fs/fuse/virtiofs" };

/* For network.egress. */
static const char *const network_modules[] = {
        "kernel/net/core/failover",
        "kernel/drivers/net/net_failover",
        "kernel/drivers/net/virtio_net",
};

/* The kernel reads them compressed, if it is told so. */
static const char *const endings[] = { ".ko", ".ko.xz", ".ko.zst", ".ko.gz" };

static bool lacks(struct host_machine_lack *lack, const char *reason, const char *mend,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static bool
lacks(struct host_machine_lack *lack, const char *reason, const char *mend, const char *fmt, ...)
{
        va_list ap;

        lack->reason = reason;
        lack->mend = mend;
        va_start(ap, fmt);
        (void)vsnprintf(lack->what, sizeof lack->what, fmt, ap);
        va_end(ap);
        return false;
}

/* -- QEMU -------------------------------------------------------------------------------------- */

static const char *
find_qemu(void)
{
        static const char *const paths[] = { "/usr/local/bin/qemu-system-x86_64",
                                             "/usr/bin/qemu-system-x86_64" };

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
                if (access(paths[i], X_OK) == 0)
                        return paths[i];
        return NULL;
}

const char *
host_machine_mkfs(void)
{
        static const char *const paths[] = { "/usr/local/bin/mkfs.erofs", "/usr/bin/mkfs.erofs",
                                             "/usr/sbin/mkfs.erofs" };

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
                if (access(paths[i], X_OK) == 0)
                        return paths[i];
        return NULL;
}

/* -- a kernel ---------------------------------------------------------------------------------- */

/* A module's file; or that it is a part of the kernel: 0. -1: it has neither. */
static int
find_module(const char *directory, const char *module, char path[PATH_ROOM])
{
        char built_in[PATH_ROOM + 32], line[PATH_ROOM];
        bool is_part = false;
        FILE *list;

        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
                int len = snprintf(path, PATH_ROOM, "%s/%s%s", directory, module, endings[i]);

                if (len > 0 && len < PATH_ROOM && access(path, R_OK) == 0)
                        return 1;
        }
        (void)snprintf(built_in, sizeof built_in, "%s/modules.builtin", directory);
        list = fopen(built_in, "re");
        while (list && !is_part && fgets(line, sizeof line, list))
                is_part = strncmp(line, module, strlen(module)) == 0 &&
                          strncmp(line + strlen(module), ".ko", 3) == 0;
        if (list)
                (void)fclose(list);
        return is_part ? 0 : -1;
}

/* Adds a line for each file to `list`. NULL: *ret_missing is not there, or is NULL: no memory. */
static const char *
list_modules(struct arena *arena, const char *directory, const char *list, const char *const *names,
             size_t count, const char **ret_missing)
{
        char path[PATH_ROOM];

        *ret_missing = NULL;
        for (size_t i = 0; list && i < count; i++) {
                int found = find_module(directory, names[i], path);

                if (found < 0) {
                        *ret_missing = names[i];
                        return NULL;
                }
                if (found > 0)
                        list = arena_format(arena, "%s%s%s", list, list[0] ? "\n" : "", path);
        }
        return list;
}

/* Without one of its parts a machine has no mounts. */
static void
find_shares(struct arena *arena, const char *directory, struct plan_machine *ret)
{
        static const char program[] = "/usr/lib/qemu/virtiofsd";
        const char *missing,
                *all = list_modules(arena, directory, ret->modules, share_modules,
                                    sizeof share_modules / sizeof *share_modules, &missing);

        ret->shares = NULL;
        if (!all || access(program, X_OK) < 0)
                return;
        ret->modules = all;
        ret->shares = program;
}

/* Without one of them a machine has no way out. */
static void
find_network(struct arena *arena, const char *directory, struct plan_machine *ret)
{
        const char *missing;

        ret->network = list_modules(arena, directory, "", network_modules,
                                    sizeof network_modules / sizeof *network_modules, &missing);
        ret->has_tap = access("/dev/net/tun", R_OK | W_OK) == 0;
}

/* /X/boot/vmlinuz-V: /X/lib/modules/V */
static bool
modules_of(const char *kernel, char directory[PATH_ROOM])
{
        static const char part[] = "/boot/" KERNEL_PREFIX;
        const char *at = NULL;
        int len;

        for (const char *next = strstr(kernel, part); next; next = strstr(next + 1, part))
                at = next;
        if (!at)
                return false;
        len = snprintf(directory, PATH_ROOM, "%.*s/lib/modules/%s", (int)(at - kernel), kernel,
                       at + sizeof part - 1);
        return len > 0 && len < PATH_ROOM;
}

static bool
take_kernel(struct arena *arena, const char *kernel, struct plan_machine *ret,
            struct host_machine_lack *lack)
{
        char directory[PATH_ROOM];
        const char *missing;

        if (kernel[0] != '/' || strchr(kernel, '\n') || access(kernel, R_OK) < 0)
                return lacks(lack, "no_kernel",
                             "Set machine_kernel in the host file to a kernel that you may read, "
                             "or remove it and install one: " INSTALL_KERNEL,
                             "the kernel %.200s is not there, or you may not read it", kernel);
        if (!modules_of(kernel, directory))
                return lacks(lack, "kernel_modules",
                             "Name a file DIR/boot/vmlinuz-VERSION with DIR/lib/modules/VERSION "
                             "beside it.",
                             "no modules belong to the kernel %.200s", kernel);
        ret->modules = list_modules(arena, directory, "", modules, sizeof modules / sizeof *modules,
                                    &missing);
        if (!ret->modules && missing)
                return lacks(lack, "kernel_modules",
                             "Install a kernel that has it: " INSTALL_KERNEL,
                             "the kernel %.200s has no module %s", kernel, missing);
        if (ret->modules)
                find_shares(arena, directory, ret);
        if (ret->modules)
                find_network(arena, directory, ret);
        ret->kernel = ret->modules ? arena_text(arena, kernel) : NULL;
        return ret->kernel != NULL;
}

/* The last in the order of versions that has all modules. */
static bool
search_boot(struct arena *arena, struct plan_machine *ret, struct host_machine_lack *lack)
{
        char best[PATH_ROOM] = "";
        DIR *boot = opendir("/boot");
        const struct dirent *entry;

        while (boot && (entry = readdir(boot))) {
                char path[PATH_ROOM], directory[PATH_ROOM];
                struct host_machine_lack ignored;
                int len = snprintf(path, sizeof path, "/boot/%s", entry->d_name);

                if (strncmp(entry->d_name, KERNEL_PREFIX, sizeof KERNEL_PREFIX - 1) != 0 ||
                    len >= PATH_ROOM || !modules_of(path, directory) ||
                    !take_kernel(arena, path, ret, &ignored))
                        continue;
                if (strverscmp(path, best) > 0)
                        memcpy(best, path, (size_t)len + 1);
        }
        if (boot)
                (void)closedir(boot);
        if (best[0] != '\0')
                return take_kernel(arena, best, ret, lack);
        return lacks(lack, "no_kernel",
                     "Install one: " INSTALL_KERNEL ". Or name one in the host file: "
                     "machine_kernel: /DIR/boot/vmlinuz-VERSION",
                     "this machine has no kernel for a virtual machine: none below /boot is "
                     "readable and has the modules for virtio, erofs and overlay");
}

/* -- the processor ----------------------------------------------------------------------------- */

#ifdef __x86_64__
static uint64_t
now_ns(void)
{
        struct timespec t = { 0, 0 };

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The two clocks at the same moment: of a few attempts, the one that took the shortest. */
static void
read_both(uint64_t *ret_ns, uint64_t *ret_ticks)
{
        uint64_t least = UINT64_MAX;

        for (int i = 0; i < MEASURES; i++) {
                uint64_t before = now_ns(), ticks = __builtin_ia32_rdtsc(), after = now_ns();

                if (after - before >= least)
                        continue;
                least = after - before;
                *ret_ns = before + (after - before) / 2;
                *ret_ticks = ticks;
        }
}

/* An emulated machine cannot measure it against another clock while the host is busy. */
static uint32_t
measure(void)
{
        uint64_t from_ns = 0, from = 0, to_ns = 0, to = 0;
        const struct timespec pause = { 0, MEASURE_NS };

        read_both(&from_ns, &from);
        (void)nanosleep(&pause, NULL);
        read_both(&to_ns, &to);
        return to_ns > from_ns ? (uint32_t)((to - from) * 1000000 / (to_ns - from_ns)) : 0;
}
#else
static uint32_t
measure(void)
{
        return 0;
}
#endif

bool
host_machine_find(struct arena *arena, const char *kernel, struct plan_machine *ret,
                  struct host_machine_lack *lack)
{
        *lack = (struct host_machine_lack){ .reason = NULL };
        *ret = (struct plan_machine){ .qemu = find_qemu(), .tsc_khz = measure() };
        if (ret->tsc_khz == 0)
                return lacks(lack, "machine_kind", "Use another provider: carrel providers.",
                             "virtual machines need a processor of the kind x86-64");
        if (!ret->qemu)
                return lacks(lack, "no_qemu", "Install it: " INSTALL_QEMU, "%s", NO_QEMU);
        return kernel ? take_kernel(arena, kernel, ret, lack) : search_boot(arena, ret, lack);
}

const char *
host_machine_lacks(const struct host_facts *facts)
{
        (void)facts;
        return find_qemu() ? NULL : NO_QEMU;
}

/* -- carrel doctor ----------------------------------------------------------------------------- */

enum attempt_result
attempt_qemu(struct attempt *a)
{
        struct host_machine_lack lack;
        struct plan_machine found;
        enum attempt_result result;
        struct arena arena;

        arena_init(&arena, 1 << 20);
        if (host_machine_find(&arena, a->facts->machine_kernel, &found, &lack))
                result = attempt_works(a, "%s with %s", found.qemu, found.kernel);
        else
                result = attempt_fails(a, 0, "%s", lack.reason ? lack.what : "no memory");
        if (lack.reason)
                (void)snprintf(a->mend, sizeof a->mend, "%s", lack.mend);
        arena_fini(&arena);
        return result;
}

enum attempt_result
attempt_machine_disk(struct attempt *a)
{
        const char *path = host_machine_mkfs();

        return path ? attempt_works(a, "%s", path)
                    : attempt_fails(a, 0, "mkfs.erofs is not installed");
}

enum attempt_result
attempt_machine_mounts(struct attempt *a)
{
        struct host_machine_lack lack;
        struct plan_machine found;
        enum attempt_result result;
        struct arena arena;

        arena_init(&arena, 1 << 20);
        if (!host_machine_find(&arena, a->facts->machine_kernel, &found, &lack))
                result = attempt_idle(a, "it needs QEMU and a kernel first");
        else if (!found.shares)
                result = attempt_fails(a, 0,
                                       "QEMU's virtiofsd, or the kernel's module virtiofs, "
                                       "is missing");
        else
                result = attempt_works(a, "%s", found.shares);
        arena_fini(&arena);
        return result;
}

/* As the step `tap` does it. */
enum attempt_result
attempt_tap(struct attempt *a)
{
        int sockets[WALL_FDS_MAX], tap;
        const struct wall_wanted wanted = { .is_routed = true };
        int sys = -wall_open_machine(&wanted, sockets, &tap);

        if (sys != 0)
                return attempt_fails(a, sys, "no tap device leads into a namespace of its own");
        return attempt_works(a, "a tap device leads into a namespace where every address is local");
}
