/*
 * plan/machine.c - the sandbox as a virtual machine of QEMU.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 *
 *     HOST   with network.egress: the wall, in a namespace of its own, and the device that leads
 *            there
 *     BOX    QEMU's own box: namespaces of its own, a root with QEMU, its libraries, the kernel,
 *            the image's disk and the mounts, no network; then QEMU (MACHINE), and virtiofsd
 *     BOX    after MACHINE, by pid 1 of the machine: the sandbox's root over the disk, as over the
 *            layers of an image
 *     GUEST  as everywhere, by pid 1 of the machine
 *
 * Theory: what follows the MACHINE step is sent to the machine and says nothing of the host. QEMU
 * is restricted as a payload is (maker/machine.c), because a payload that breaks out of the machine
 * is QEMU.
 */
#include "plan/machine.h"

#include <stdio.h>
#include <string.h>

#include "plan/builder.h"
#include "plan/wall.h"

enum {
        ROOT_BYTES = 32 << 20, /* with the first file system, which the maker writes there */
        CODE_MB = 64,          /* translated code */
        OVERHEAD_MB = 192,     /* of QEMU itself, with that */
        SCRATCH_BYTES = 1 << 20,
        TASKS = 64, /* threads of QEMU */
        MEMORY_MB = 512,
        MEMORY_LEAST_MB = 128,
        KERNEL_MB = 64, /* of the machine's memory, for its kernel */
        MEMORY_MOST_MB = 1 << 20,
        CORES_MOST = 16,
        CORE = 1000, /* millicores */
};

#define KERNEL_AT "/kernel"
#define FIRST_AT "/initramfs"
#define DISK_AT "/disk"

uint64_t
plan_machine_memory_mb(const struct spec *spec)
{
        uint64_t mib = spec->limits.memory_mb;

        return mib == SPEC_UNSET ? MEMORY_MB : mib > MEMORY_MOST_MB ? MEMORY_MOST_MB : mib;
}

uint64_t
plan_machine_overhead_mb(void)
{
        return OVERHEAD_MB;
}

uint64_t
plan_machine_tasks(void)
{
        return TASKS;
}

/* What commands and their files can have of it. */
static uint64_t
free_mb(const struct spec *spec)
{
        return plan_machine_memory_mb(spec) - KERNEL_MB;
}

static unsigned
cores(const struct builder *b)
{
        uint64_t millicores = b->spec->limits.cpu_millicores;
        unsigned count = 1, most = CORES_MOST;

        if (b->facts->cpu_count > 0 && b->facts->cpu_count < most)
                most = b->facts->cpu_count;
        while (millicores != SPEC_UNSET && count < most && (uint64_t)count * CORE < millicores)
                count++;
        return count;
}

/* -- what a machine cannot do ------------------------------------------------------------------ */

static int
refuse(struct error *e, const char *place, const char *reason, const char *what, const char *hint)
{
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, place, reason, "a machine of QEMU %s", what);
        error_hint(e, "%s", hint);
        return -1;
}

static int
refuse_network(struct error *e, const char *reason, const char *what, const char *hint)
{
        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "network/egress", reason,
                      "a machine of QEMU has no way to the listed names: %s", what);
        error_hint(e, "%s", hint);
        return -1;
}

static int
check_network(const struct plan_machine *machine, struct error *e)
{
        if (!machine->network)
                return refuse_network(e, "kernel_modules", "its kernel has no module virtio_net",
                                      "Install a kernel that has it: apt-get install "
                                      "linux-image-cloud-amd64");
        if (!machine->has_tap)
                return refuse_network(e, "no_tun",
                                      "/dev/net/tun is missing, or this user may not open it",
                                      "Make it: modprobe tun; chmod 0666 /dev/net/tun. Or use "
                                      "`provider: container`.");
        return 0;
}

int
plan_refuse_machine(const struct spec *spec, const struct host_facts *facts,
                    const struct plan_request *request, struct error *e)
{
        if (!request->machine)
                return 0;
        if (request->mount_count > 0 && !request->machine->shares)
                return refuse(e, "mounts", "no_virtiofsd",
                              "needs QEMU's virtiofsd and a kernel with virtiofs for mounts",
                              "On Debian 12: apt-get install qemu-system-common. Or remove mounts "
                              "and pass files with `carrel cp`, or use `provider: container`.");
        if (plan_has_wall(spec, facts) && check_network(request->machine, e) < 0)
                return -1;
        if (plan_machine_memory_mb(spec) < MEMORY_LEAST_MB)
                return refuse(e, "limits/memory_mb", "machine_small",
                              "needs at least 128 MiB of memory",
                              "Raise limits.memory_mb, or leave it out (512).");
        if (spec->carrel.disk != SPEC_DISK_AUTO && spec->carrel.disk != SPEC_DISK_MEMORY)
                return refuse(e, "metadata/carrel/disk", "machine_disk",
                              "has its private places in its own memory",
                              "Write `disk: memory`, or leave it out.");
        if (builder_is_written(spec, "disk_mb") && spec->limits.disk_mb > free_mb(spec) / 2)
                return refuse(e, "metadata/carrel/limits/disk_mb", "machine_disk",
                              "can use half of its memory, less 64 MiB, for private places",
                              "Lower metadata.carrel.limits.disk_mb, or raise limits.memory_mb to "
                              "64 more than twice of it.");
        return 0;
}

/* -- QEMU's own box ---------------------------------------------------------------------------- */

static struct step *
with_text(struct step *s, const char *text)
{
        s->text = text;
        s->text_len = strlen(text);
        return s;
}

static void
show(struct builder *b, const char *at, const char *from, const char *why)
{
        with_text(builder_add(b, STEP_BIND, at, why), from)->flags |=
                STEP_READ_ONLY | STEP_OPTIONAL | STEP_RECURSIVE;
}

static void
make_directory(struct builder *b, const char *path)
{
        builder_add(b, STEP_DIR, path, "QEMU's own root")->number = 0755;
}

/* Of the host: QEMU, its firmware, and libraries. */
static void
plan_programs(struct builder *b)
{
        static const char *const shown[] = { "/usr/lib", "/usr/lib64", "/usr/share/qemu",
                                             "/usr/share/seabios" };

        make_directory(b, "/usr");
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
                show(b, shown[i], shown[i], "QEMU's libraries and firmware");
        for (size_t i = 0; i < b->facts->dir_count; i++) {
                const struct host_dir *dir = &b->facts->dirs[i];

                if (strncmp(dir->path, "/lib", 4) != 0)
                        continue;
                if (dir->is_link)
                        (void)with_text(builder_add(b, STEP_LINK, dir->path, "as on the host"),
                                        dir->target);
                else
                        show(b, dir->path, dir->path, "QEMU's libraries");
        }
        show(b, b->request->machine->qemu, b->request->machine->qemu, "the machine");
        show(b, KERNEL_AT, b->request->machine->kernel, "the machine's kernel");
}

/* The store of images is closed, so the maker opens the disk if the box has another id. */
static void
plan_disk(struct builder *b)
{
        size_t source = b->request->source_count - 1;
        const struct plan_source *disk = &b->request->sources[source];
        struct step *s = builder_add(b, STEP_FILE, DISK_AT, "where the disk is shown");

        s->number = 0444;
        s = with_text(builder_add(b, STEP_BIND, DISK_AT, "the image, as a read-only disk"),
                      disk->host_path);
        s->source = (int)source;
        s->number = disk->device;
        s->number2 = disk->inode;
        s->flags |= STEP_READ_ONLY | STEP_NO_EXEC;
}

/* virtiofsd reads and writes the machine's memory. That of one that wakes is a file already. */
static const char *
shares(struct builder *b, unsigned long long mib)
{
        if (b->request->mount_count == 0)
                return "";
        if (b->request->machine->start == PLAN_MACHINE_WAKES)
                return "\n-chardev\nsocket,id=share,fd=4\n-device\n"
                       "vhost-user-fs-device,id=share,chardev=share,tag=" PLAN_MACHINE_TAG
                       ",bus=" PLAN_MACHINE_SHARE_AT;
        return builder_text(b,
                            "\n-object\nmemory-backend-memfd,id=memory,size=%lluM,share=on\n"
                            "-machine\nmemory-backend=memory\n-chardev\nsocket,id=share,fd=4\n"
                            "-device\nvhost-user-fs-device,chardev=share,tag=" PLAN_MACHINE_TAG,
                            mib);
}

/* With a monitor, until it is awake; its memory is in a file, which is saved apart. */
static const char *
saved(struct builder *b, unsigned long long mib)
{
        enum plan_machine_start start = b->request->machine->start;

        if (start == PLAN_MACHINE_BOOTS)
                return "";
        return builder_text(b,
                            "\n-object\nmemory-backend-file,id=memory,size=%lluM,share=on,"
                            "mem-path=" PLAN_MACHINE_MEMORY "\n-machine\nmemory-backend=memory\n"
                            "-chardev\nsocket,id=monitor,fd=6\n-mon\n"
                            "chardev=monitor,mode=control%s",
                            mib, start == PLAN_MACHINE_WAKES ? "\n-incoming\ndefer\n-S" : "");
}

/*
 * Without a state of its link, which is up: a kernel that just got the device looks at the state of
 * links once a second.
 */
static const char *
network(struct builder *b)
{
        static const char net[] =
                "\n-netdev\ntap,id=network,fd=5\n-device\n"
                "virtio-net-device,netdev=network,status=off,mac=" WALL_HARDWARE_TEXT,
                          at[] = ",bus=" PLAN_MACHINE_NETWORK_AT;

        if (!plan_has_wall(b->spec, b->facts))
                return "";
        return b->request->machine->start == PLAN_MACHINE_WAKES ? builder_text(b, "%s%s", net, at)
                                                                : net;
}

static const char *
arguments(struct builder *b)
{
        const struct plan_machine *m = b->request->machine;
        static const char format[] =
                "%s\n-M\nmicrovm,acpi=on,x-option-roms=off,isa-serial=off\n-accel\ntcg,tb-size=%d\n"
                "-cpu\nmax\n-smp\n%u\n-m\n%lluM\n-nodefaults\n-no-user-config\n-display\nnone\n"
                "-no-reboot\n-sandbox\non,obsolete=deny,elevateprivileges=deny,spawn=deny,"
                "resourcecontrol=deny\n-global\nvirtio-mmio.force-legacy=false\n-kernel\n" KERNEL_AT
                "\n-initrd\n" FIRST_AT "\n-append\n"
                "quiet loglevel=0 panic=-1 reboot=t mitigations=off clocksource=tsc tsc=reliable "
                "tsc_early_khz=%u no_timer_check -- " PLAN_MACHINE_WORD "%s\n-chardev\n"
                "socket,id=carrel,fd=3\n-device\nvirtio-serial-device\n-device\n"
                "virtserialport,chardev=carrel,name=carrel\n-drive\n"
                "if=none,id=root,file=" DISK_AT ",format=raw,readonly=on\n-device\n"
                "virtio-blk-device,drive=root%s%s%s";
        unsigned long long mib = plan_machine_memory_mb(b->spec);

        return builder_text(b, format, m->qemu, CODE_MB, cores(b), mib, m->tsc_khz,
                            m->start == PLAN_MACHINE_SAVES ? " " PLAN_MACHINE_ASLEEP : "",
                            saved(b, mib), shares(b, mib), network(b));
}

const char *
plan_machine_identity(struct arena *arena, const struct spec *spec, const struct host_facts *facts,
                      const struct plan_machine *machine)
{
        struct plan_machine booting = *machine;
        struct spec alone = *spec;
        const struct plan_request request = { .machine = &booting };
        struct builder b = { .arena = arena, .spec = &alone, .facts = facts, .request = &request };
        const char *text;

        alone.egress_count = 0; /* devices for it and for mounts come when the machine wakes */
        alone.wall.is_given = alone.wall.is_routed = false;
        booting.start = PLAN_MACHINE_BOOTS;
        booting.tsc_khz = 0; /* measured anew at each start */
        text = arguments(&b);
        return b.is_full ? NULL : text;
}

static void
plan_saved(struct builder *b)
{
        const struct plan_machine *m = b->request->machine;
        struct step *s;

        if (m->start == PLAN_MACHINE_BOOTS)
                return;
        builder_add(b, STEP_FILE, PLAN_MACHINE_MEMORY, "where the machine's memory is shown")
                ->number = 0444;
        s = with_text(
                builder_add(b, STEP_SAVED, PLAN_MACHINE_MEMORY, "its kernel has started already"),
                b->request->sources[m->saved].host_path);
        s->source = m->saved;
        s->number = m->start;
        s->number2 = plan_machine_memory_mb(b->spec);
}

/* The same mounts below another directory. */
static bool
move_mounts(struct builder *b, struct plan_request *ret)
{
        struct plan_mount *moved =
                arena_array(b->arena, struct plan_mount, b->request->mount_count);

        if (!moved) {
                b->is_full = true;
                return false;
        }
        *ret = *b->request;
        ret->mounts = moved;
        for (size_t i = 0; i < ret->mount_count; i++) {
                moved[i] = b->request->mounts[i];
                moved[i].at = builder_text(b, PLAN_MACHINE_SHARES "%s", moved[i].at);
        }
        return true;
}

/* As in a box of its own, with each protected name. virtiofsd sees nothing else of them. */
static void
plan_shares(struct builder *b)
{
        const struct plan_request *request = b->request;
        struct plan_request moved;

        if (request->mount_count == 0 || !move_mounts(b, &moved))
                return;
        make_directory(b, PLAN_MACHINE_SHARES);
        builder_add(b, STEP_SCRATCH, "", "an empty layer for read-only mounts")->number =
                SCRATCH_BYTES;
        b->request = &moved;
        builder_mounts(b);
        b->request = request;
        make_directory(b, "/proc");
        (void)builder_add(b, STEP_PROC, "/proc", "virtiofsd opens its files through it");
        (void)with_text(builder_add(b, STEP_SERVE, request->machine->shares,
                                    "mounts: the machine sees them as they are"),
                        "virtiofsd\n-f\n--fd=3\n--rlimit-nofile=0\n-o\nsource=" PLAN_MACHINE_SHARES
                        ",sandbox=chroot,cache=auto,no_xattr\n-o\nmodcaps=-chown:-dac_override:"
                        "-fowner:-fsetid:-mknod:-setfcap");
}

static const char *
modules(struct builder *b)
{
        const struct plan_machine *m = b->request->machine;

        if (m->start == PLAN_MACHINE_BOOTS && !plan_has_wall(b->spec, b->facts))
                return m->modules;
        if (!m->network || m->network[0] == '\0')
                return m->modules;
        return builder_text(b, "%s\n%s", m->modules, m->network);
}

static void
plan_outside(struct builder *b)
{
        builder_add(b, STEP_ROOT, "", "QEMU sees nothing of the host's tree but what it needs")
                ->number = ROOT_BYTES;
        plan_programs(b);
        make_directory(b, "/dev");
        (void)builder_add(b, STEP_DEVICE, "/dev/null", "harmless, and programs need it");
        (void)builder_add(b, STEP_DEVICE, "/dev/urandom", "harmless, and programs need it");
        with_text(builder_add(b, STEP_FIRST, FIRST_AT, "what the machine begins with"), modules(b))
                ->number = b->request->machine->start;
        plan_disk(b);
        plan_saved(b);
        plan_shares(b);
        (void)builder_add(b, STEP_ENTER, "", "no path of QEMU's leads outside after this");
        (void)builder_add(b, STEP_SEAL, "/", "QEMU writes no file but its machine's memory");
        (void)with_text(builder_add(b, STEP_MACHINE, b->request->machine->qemu,
                                    "a kernel of its own: what follows is done inside"),
                        arguments(b));
}

/* -- inside ------------------------------------------------------------------------------------ */

/* What the machine has, in place of what the host has. */
static void
look_inside(struct builder *b)
{
        struct host_facts *inside = arena_new(b->arena, struct host_facts);
        unsigned count = cores(b);

        if (!inside)
                return;
        *inside = *b->facts;
        inside->memory_mb = free_mb(b->spec);
        inside->cpu_count = count;
        (void)snprintf(inside->cpus.possible, sizeof inside->cpus.possible,
                       count > 1 ? "0-%u" : "%u", count - 1);
        memcpy(inside->cpus.present, inside->cpus.possible, sizeof inside->cpus.present);
        memcpy(inside->cpus.online, inside->cpus.possible, sizeof inside->cpus.online);
        b->facts = inside;
}

/* What may be written is decided outside; here it is said as well. */
static void
plan_shared(struct builder *b)
{
        const struct plan_mount **sorted = builder_sorted_mounts(b);

        if (b->request->mount_count > 0)
                (void)builder_add(b, STEP_VIRTIOFS, PLAN_MACHINE_SHARES, "mounts");
        for (size_t i = 0; sorted && i < b->request->mount_count; i++)
                with_text(builder_add(b, STEP_BIND, sorted[i]->at, "mounts"),
                          builder_text(b, PLAN_MACHINE_SHARES "%s", sorted[i]->at))
                        ->flags |= STEP_RECURSIVE | (sorted[i]->is_read_only ? STEP_READ_ONLY : 0u);
}

void
builder_machine(struct builder *b)
{
        plan_outside(b);
        look_inside(b);
        builder_names(b);
        (void)builder_add(b, STEP_LOOPBACK, "", "programs may talk to themselves on localhost");
        if (plan_has_wall(b->spec, b->facts))
                (void)builder_add(b, STEP_JOIN, "", "the wall is what it leads to");
        else
                (void)builder_add(b, STEP_LOW_PORTS, "",
                                  "a server inside may listen on every port, as in a container");
        builder_pools(b);
        builder_root(b);
        plan_shared(b);
        builder_enter(b);
}
