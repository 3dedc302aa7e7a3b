/*
 * plan/root.c - the root directory of a box: built from nothing, from three closed tables.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: the new root is one small tmpfs. System directories of the host are bound read-only, with
 * everything mounted beneath them: WSL, the NVIDIA runtime and Nix mount there, and a new user
 * namespace may not copy a tree without its submounts. /etc is created file by file. Private
 * writable places are directories of one tmpfs of fixed size (or /tmp and the home of an image,
 * disk.c), bound to their paths. /proc is new, and its files about the whole machine are hidden. At
 * the end the root itself becomes read-only (P3, P4). Over an image (rootfs.c), only what makes a
 * sandbox of it is created; nothing of the host's programs and files is bound.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"
#include "plan/disk.h"
#include "plan/wall.h"

/*
 * Terminals are few because all sandboxes share the 3072 that kernel.pty.max leaves them, and
 * because the kernel counts their buffers (at most 640 KiB each way) against no control group.
 */
enum { ROOT_BYTES = 4 << 20, PTS_MAX = 64 };

static struct step *
add_text(struct builder *b, enum step_op op, const char *path, const char *text, const char *why)
{
        struct step *s = builder_add(b, op, path, why);

        s->text = text;
        s->text_len = strlen(text);
        return s;
}

static void
add_dir(struct builder *b, const char *path, unsigned mode, const char *why)
{
        builder_add(b, STEP_DIR, path, why)->number = mode;
}

static unsigned
read_only(const struct builder *b)
{
        return builder_has(b, SWITCH_READ_ONLY) ? STEP_READ_ONLY : 0;
}

static unsigned
relaxed(const struct builder *b)
{
        return (builder_has(b, SWITCH_NOSUID) ? 0u : STEP_SUID) |
               (builder_has(b, SWITCH_NODEV) ? 0u : STEP_DEV);
}

static void
plan_system(struct builder *b)
{
        for (size_t i = 0; i < b->facts->dir_count; i++) {
                const struct host_dir *dir = &b->facts->dirs[i];

                if (dir->is_link)
                        (void)add_text(b, STEP_LINK, dir->path, dir->target, "as on the host");
                else
                        add_text(b, STEP_BIND, dir->path, dir->path,
                                 "programs and libraries of the host")
                                ->flags |=
                                read_only(b) | STEP_DIRECTORY | STEP_RECURSIVE | relaxed(b);
        }
}

struct etc_row {
        const char *path, *content,
                *walled; /* content if network.egress lists anything; NULL: the same */
        enum { OF_HOST, OF_AGENT, OF_IMAGE } in_image; /* of whom an image's own is replaced */
};

/* The user inside, and how names are resolved: nothing is taken from the host. */
static const struct etc_row etc_made[] = {
        { "/etc/passwd",
          "root:x:0:0:root:/:/usr/sbin/nologin\n" PLAN_USER ":x:1000:1000:" PLAN_USER ":" PLAN_HOME
          ":" PLAN_SHELL "\n"
          "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
          NULL, OF_AGENT },
        { "/etc/group", "root:x:0:\n" PLAN_USER ":x:1000:\nnogroup:x:65534:\n", NULL, OF_AGENT },
        { "/etc/nsswitch.conf",
          "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n" },
        { "/etc/hosts", "127.0.0.1 localhost carrel\n::1 localhost carrel\n", NULL, OF_IMAGE },
        { "/etc/resolv.conf",
          "# network.egress lists nothing: no name exists\nnameserver 127.0.0.1\n",
          "nameserver " PLAN_RESOLVER "\n", OF_IMAGE },
        { "/etc/hostname", "carrel\n", NULL, OF_IMAGE },
        { "/etc/machine-id", "00000000000000000000000000000000\n" },
        { "/etc/shells", "/bin/sh\n/bin/bash\n" },
        { "/etc/protocols",
          "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6 41 IPv6\nipv6-icmp 58 IPv6-ICMP\n" },
        { "/etc/services",
          "ftp 21/tcp\nssh 22/tcp\ntelnet 23/tcp\nsmtp 25/tcp\ndomain 53/tcp\ndomain 53/udp\nhttp "
          "80/tcp\npop3 110/tcp\n"
          "ntp 123/udp\nimap2 143/tcp imap\nldap 389/tcp\nhttps 443/tcp\nsubmission 587/tcp\nimaps "
          "993/tcp\npop3s 995/tcp\n"
          "mysql 3306/tcp\npostgresql 5432/tcp\nredis 6379/tcp\nhttp-alt 8080/tcp\n" },
};

static bool
is_made(const struct builder *b, const struct etc_row *row)
{
        return !b->request->rootfs || row->in_image == OF_IMAGE ||
               (row->in_image == OF_AGENT && builder_uid(b) != 0);
}

/* Without other ids apt cannot become _apt for its downloads. */
#define APT_FILE "/etc/apt/apt.conf.d/90carrel"
#define APT_TEXT "APT::Sandbox::User \"root\";\n"

static struct step *
plan_file(struct builder *b, const char *path, const char *content, const char *why)
{
        struct step *s = add_text(b, STEP_FILE, path, content, why);

        s->number = 0444;
        s->flags |= b->request->rootfs ? STEP_REPLACE : 0u;
        return s;
}

/* Of the host: the loader, certificates, fonts. */
static void
plan_etc_shown(struct builder *b)
{
        (void)add_text(b, STEP_LINK, "/etc/mtab", "/proc/self/mounts", "what programs expect");
        for (size_t i = 0; i < b->facts->etc_count; i++) {
                const struct host_dir *shown = &b->facts->etc[i];

                if (shown->is_link)
                        (void)add_text(b, STEP_LINK, shown->path, shown->target, "as on the host");
                else
                        add_text(b, STEP_BIND, shown->path, shown->path,
                                 "loader, certificates, fonts, settings of programs")
                                ->flags |= read_only(b) | STEP_OPTIONAL | STEP_NO_EXEC |
                                           STEP_RECURSIVE | relaxed(b);
        }
}

static void
plan_etc(struct builder *b)
{
        add_dir(b, "/etc", 0755, "a closed table, nothing bound whole");
        for (size_t i = 0; i < sizeof etc_made / sizeof *etc_made; i++)
                if (is_made(b, &etc_made[i]))
                        (void)plan_file(b, etc_made[i].path,
                                        plan_has_wall(b->spec, b->facts) && etc_made[i].walled
                                                ? etc_made[i].walled
                                                : etc_made[i].content,
                                        "made, not the host's");
        if (b->request->gitconfig)
                (void)plan_file(b, "/etc/gitconfig", b->request->gitconfig,
                                "who commits: the caller, as the caller's git knows it");
        if (b->request->bridge)
                (void)plan_file(b, PLAN_BRIDGE_FILE, b->request->bridge,
                                "the provider's program, and what it is asked for");
        if (!b->request->rootfs) {
                plan_etc_shown(b);
        } else if (builder_uid(b) == 0 && !b->request->has_range) {
                plan_file(b, APT_FILE, APT_TEXT, "one id: apt downloads as root")->flags |=
                        STEP_OPTIONAL;
        }
}

/* Whatever version the host's own name means, inside it is the chosen one. */
static void
plan_links(struct builder *b)
{
        if (b->request->link_count == 0)
                return;
        add_dir(b, "/carrel", 0755, "leads to the chosen interpreter");
        add_dir(b, PLAN_RUNTIME_DIR, 0755, "leads to the chosen interpreter");
        for (size_t i = 0; i < b->request->link_count; i++)
                (void)add_text(
                        b, STEP_LINK,
                        builder_text(b, "%s/%s", PLAN_RUNTIME_DIR, b->request->links[i].name),
                        b->request->links[i].target, "the chosen interpreter");
}

/* A directory of the root; over an image, one of the scratch. */
static void
plan_made_place(struct builder *b, const char *path, unsigned mode, const char *why)
{
        if (b->request->rootfs)
                add_text(b, STEP_PRIVATE, path, path + 1, why)->number = mode;
        else
                add_dir(b, path, mode, why);
}

static void
plan_dev(struct builder *b)
{
        static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full",
                                               "/dev/urandom", "/dev/tty" };
        static const struct etc_row links[] = {
                { "/dev/fd", "/proc/self/fd" },       { "/dev/stdin", "/proc/self/fd/0" },
                { "/dev/stdout", "/proc/self/fd/1" }, { "/dev/stderr", "/proc/self/fd/2" },
                { "/dev/ptmx", "pts/ptmx" },          { "/dev/random", "urandom" },
        };

        plan_made_place(b, "/dev", 0755, "a few harmless devices");
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
                (void)builder_add(b, STEP_DEVICE, devices[i], "harmless, and programs need it");
        for (size_t i = 0; i < sizeof links / sizeof *links; i++)
                (void)add_text(b, STEP_LINK, links[i].path, links[i].content,
                               "what programs expect");
        add_dir(b, "/dev/pts", 0755, "terminals of its own");
        builder_add(b, STEP_DEVPTS, "/dev/pts", "terminals of its own")->number = PTS_MAX;
        if (!builder_has(b, SWITCH_IPC))
                return;
        add_dir(b, PLAN_MQUEUE, 0755, "message queues of its own");
        builder_add(b, STEP_MQUEUE, PLAN_MQUEUE, "message queues of its own")->flags |=
                STEP_OPTIONAL;
}

struct private_row {
        const char *path, *name;
        unsigned mode;
        const char *why;
        bool is_on_image, is_owned, is_of_rootfs; /* the payload's; only over an image */
};

static const struct private_row privates[] = {
        { "/tmp", "tmp", 01777, "private, gone with the box", true },
        { "/var/tmp", "vartmp", 01777, "private, gone with the box", true, .is_of_rootfs = true },
        { "/run", "run", 0755, "private, none of the host's sockets", .is_owned = true },
        { "/dev/shm", "shm", 01777, "private shared memory" },
        { PLAN_HOME, "home", 0755, "a home of its own", true, .is_owned = true },
};

/* If no form was requested by name, memory replaces an image or directory that cannot be created.
 */
void
builder_image(struct builder *b)
{
        const char *place = b->request->private_place;
        struct step *s;

        b->plan->is_on_image = b->request->has_image && builder_has(b, SWITCH_SIZE);
        if (!b->plan->is_on_image)
                return;
        b->plan->is_watched = place != NULL;
        s = builder_add(b, place ? STEP_WATCHED : STEP_IMAGE, place ? place : "",
                        place ? "/tmp and the home may hold more than fits in memory; "
                                "limits.disk_mb is watched"
                              : "limits.disk_mb caps /tmp and the home: they may hold more than "
                                "fits in memory");
        s->number2 = place ? strtoull(b->request->id, NULL, 16) : 0;
        s->source = (int)builder_first_layer(b) - 1;
        s->number = plan_disk_mb(b->spec);
        s->flags |= b->spec->carrel.disk == SPEC_DISK_AUTO ? STEP_OPTIONAL : 0;
}

void
builder_scratch(struct builder *b)
{
        uint64_t mib = plan_memory_disk_mb(b->spec, b->facts);

        b->plan->disk_mb = b->plan->is_on_image ? plan_disk_mb(b->spec) : mib;
        if (!b->plan->is_on_image) {
                builder_add(b, STEP_SCRATCH, "", "limits.disk_mb caps every private place together")
                        ->number = builder_has(b, SWITCH_SIZE) ? mib << 20 : 0;
                return;
        }
        builder_add(b, STEP_SCRATCH, "", "/run and /dev/shm are memory")->number =
                plan_shared_memory_mb(b->spec, b->facts) << 20;
        builder_add(b, STEP_DISK, "", "/tmp and the home are not")->number = mib << 20;
}

static void
plan_private_place(struct builder *b, const struct private_row *row)
{
        struct step *s = add_text(b, STEP_PRIVATE, row->path, row->name, row->why);

        s->number = row->mode;
        s->flags |= b->plan->is_on_image && row->is_on_image ? STEP_ON_IMAGE : 0;
        if (!row->is_owned || builder_uid(b) == 0 ||
            (!b->request->has_range && !b->request->machine))
                return;
        s->flags |= STEP_OWNED;
        /* with a container runtime, this is done outside of its user namespace */
        s->number2 = builder_uid(b) + (b->request->container ? b->request->outside_uid : 0);
}

static void
plan_private(struct builder *b)
{
        add_dir(b, "/var", 0755, "holds /var/tmp");
        if (!b->request->rootfs)
                (void)add_text(b, STEP_LINK, "/var/tmp", "/tmp", "private, gone with the box");
        add_dir(b, "/home", 0755, "holds the home");
        if (builder_uid(b) == 0)
                add_dir(b, PLAN_ROOT_HOME, 0700, "the home of root");
        if (!b->request->rootfs)
                builder_scratch(b);
        for (size_t i = 0; i < sizeof privates / sizeof *privates; i++) {
                if (!builder_has(b, SWITCH_PRIVATE_TMP) && strcmp(privates[i].path, "/tmp") == 0)
                        add_text(b, STEP_BIND, "/tmp", "/tmp", "tests only")->flags |=
                                STEP_DIRECTORY;
                else if (b->request->rootfs || !privates[i].is_of_rootfs)
                        plan_private_place(b, &privates[i]);
        }
}

/*
 * World-readable files in /proc about the machine or other tenants (A04, A17, A32). Files that only
 * root may read (kcore, kmsg, sysrq-trigger, timer_list, ...) need no mask: the payload is never
 * root, inside or outside.
 */
static const char *const masked[] = {
        "/proc/keys",
        "/proc/key-users",
        "/proc/kallsyms",
        "/proc/config.gz",
        "/proc/cmdline",
        "/proc/modules",
        "/proc/interrupts",
        "/proc/sched_debug",
        "/proc/latency_stats",
        "/proc/locks",
        "/proc/sys/kernel/random/boot_id",
};
static const char *const masked_dirs[] = { "/proc/acpi",    "/proc/scsi", "/proc/asound",
                                           "/proc/bus",     "/proc/fs",   "/proc/driver",
                                           "/proc/pressure" };

static void
plan_proc(struct builder *b)
{
        add_dir(b, "/proc", 0555, "this box's processes");
        (void)builder_add(b, STEP_PROC, "/proc", "this box's processes");
        if (!builder_has(b, SWITCH_MASK))
                return;
        builder_add(b, STEP_FREEZE, "/proc/sys", "kernel settings are not for the payload")
                ->flags |= STEP_OPTIONAL;
        for (size_t i = 0; i < sizeof masked / sizeof *masked; i++)
                builder_add(b, STEP_MASK, masked[i], "speaks of the whole machine")->flags |=
                        STEP_OPTIONAL;
        for (size_t i = 0; i < sizeof masked_dirs / sizeof *masked_dirs; i++)
                builder_add(b, STEP_MASK, masked_dirs[i], "speaks of the whole machine")->flags |=
                        STEP_OPTIONAL | STEP_DIRECTORY;
}

/*
 * The list of processors, and nothing else of /sys: lscpu, allocators and runtimes size tables by
 * it. The numbers are the host's, as in /proc/cpuinfo, because such a table is indexed by the
 * number of a real processor.
 */
static void
plan_sys(struct builder *b)
{
        const struct host_cpus *cpus = &b->facts->cpus;
        const struct etc_row lists[] = {
                { "/sys/devices/system/cpu/possible", cpus->possible },
                { "/sys/devices/system/cpu/present", cpus->present },
                { "/sys/devices/system/cpu/online", cpus->online },
        };
        static const char *const dirs[] = { "/sys/devices", "/sys/devices/system",
                                            "/sys/devices/system/cpu" };

        if (cpus->possible[0] == '\0' || cpus->present[0] == '\0' || cpus->online[0] == '\0')
                return;
        plan_made_place(b, "/sys", 0555, "made, not the host's");
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
                add_dir(b, dirs[i], 0555, "made, not the host's");
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
                add_text(b, STEP_FILE, lists[i].path, builder_text(b, "%s\n", lists[i].content),
                         "which processors there are, for lscpu and runtimes")
                        ->number = 0444;
}

void
builder_root(struct builder *b)
{
        builder_add(b, STEP_ROOT, "", "never the host's tree bound whole")->number =
                b->request->rootfs ? 0 : ROOT_BYTES;
        if (b->request->rootfs)
                builder_rootfs(b);
        else
                plan_system(b);
        plan_etc(b);
        plan_links(b);
        plan_dev(b);
        plan_private(b);
        plan_proc(b);
        plan_sys(b);
}

/* In an image /dev and /sys are mounts of their own: the sandbox's, but no place to write to. */
static void
seal(struct builder *b)
{
        size_t made = b->count;

        for (size_t i = 0; i < made; i++)
                if (b->steps[i].op == STEP_PRIVATE && (strcmp(b->steps[i].path, "/dev") == 0 ||
                                                       strcmp(b->steps[i].path, "/sys") == 0))
                        (void)builder_add(b, STEP_SEAL, b->steps[i].path,
                                          "made by Carrel, and no private place");
        (void)builder_add(b, STEP_SEAL, "/",
                          "nothing but the private places and writable mounts can be written");
}

void
builder_enter(struct builder *b)
{
        if (b->request->container)
                builder_add(b, STEP_PROGRAM, PLAN_PROGRAM, "pid 1 of the container")->number = 0555;
        else
                (void)builder_add(b, STEP_ENTER, "", "no path leads outside after this");
        if (builder_has(b, SWITCH_SEAL) && builder_uid(b) != 0)
                seal(b);
}
