/*
 * maker/booted.c - this program as pid 1 of a virtual machine.
 *
 * Room: maker (program). Touches: everything in its machine, which nothing else is in yet.
 *
 *     the kernel starts /init --modules, /proc, /sys, /dev--> the port opens
 *        --the plan comes--> the disk, BOX steps, GUEST steps --> serving, as in a container
 *
 * Theory: the same steps make the root here as on the host (maker/box.c), and the same restrictions
 * follow (guest/harden.c). So a command sees the same, and a fault of the machine's kernel is all
 * that it can win.
 */
#include "maker/booted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/harden.h"
#include "guest/transport.h"
#include "maker/asleep.h"
#include "maker/box.h"
#include "maker/group.h"
#include "maker/slots.h"
#include "plan/request.h"
#include "seal/landlock.h"
#include "wire/box.h"

enum { BROKEN = 125, ELF = 0x7f, COMPRESSED = 4 /* MODULE_INIT_COMPRESSED_FILE */ };
enum { PORT_TRIES = 10000 }; /* a millisecond each */

#define BASE "/base" /* becomes the root: what the kernel unpacked cannot be left */

static _Noreturn void
give_up(void)
{
        _exit(BROKEN); /* the kernel panics, and QEMU ends */
}

/* -- the machine ------------------------------------------------------------------------------- */

static int
load(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC), result = 0;
        unsigned char first = 0;

        if (fd < 0)
                return -errno;
        if (pread(fd, &first, 1, 0) != 1 ||
            syscall(SYS_finit_module, fd, "", first == ELF ? 0 : COMPRESSED) < 0)
                result = errno == EEXIST ? 0 : -EIO;
        (void)close(fd);
        return result;
}

/* One that does not load is missed by what needs it. */
static void
load_modules(void)
{
        char path[32];

        for (unsigned i = 0;; i++) {
                (void)snprintf(path, sizeof path, "/modules/%u", i);
                if (load(path) == -ENOENT)
                        return;
        }
}

static int
mount_new(const char *type, const char *at)
{
        if (mkdir(at, 0755) < 0 && errno != EEXIST)
                return -errno;
        return mount(type, at, type, MS_NOSUID | MS_NOEXEC, NULL) < 0 ? -errno : 0;
}

/* The steps turn to another root, which the one that the kernel unpacked does not permit. */
static int
change_root(void)
{
        if (mkdir(BASE, 0755) < 0 || mount("tmpfs", BASE, "tmpfs", 0, "size=64k") < 0 ||
            chdir(BASE) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
            chdir("/") < 0)
                return -errno;
        return mkdir(PLAN_STAND, 0755) < 0 || mkdir(PLAN_MACHINE_DISK, 0755) < 0 ? -errno : 0;
}

static int
mount_disk(void)
{
        return mount("/dev/vda", PLAN_MACHINE_DISK, "erofs", MS_RDONLY | MS_NOSUID | MS_NODEV,
                     NULL) < 0
                       ? -errno
                       : 0;
}

/* The kernel names it when the device is ready. */
static int
open_port(void)
{
        const struct timespec moment = { 0, 1000000 };

        for (int i = 0; i < PORT_TRIES; i++) {
                int fd = open("/dev/vport0p1", O_RDWR | O_CLOEXEC);

                if (fd >= 0 || (errno != ENOENT && errno != ENXIO))
                        return fd < 0 ? -errno : fd;
                (void)nanosleep(&moment, NULL);
        }
        return -ETIMEDOUT;
}

/* Returns the port, or -errno. */
static int
begin(void)
{
        int result = change_root();

        if (result == 0)
                result = mount_new("proc", "/proc");
        if (result == 0)
                result = mount_new("sysfs", "/sys");
        if (result == 0)
                result = mkdir("/dev", 0755) < 0 ||
                                         mount("dev", "/dev", "devtmpfs", MS_NOSUID, NULL) < 0
                                 ? -errno
                                 : 0;
        return result < 0 ? result : open_port();
}

/* -- the plan ---------------------------------------------------------------------------------- */

static _Noreturn void
fail(struct transport *t, uint32_t step, int result)
{
        const struct wire_failed failed = { step, -result };

        (void)transport_say(t, WIRE_BOX_FAILED, &failed, sizeof failed);
        give_up();
}

/* The machine's kernel may know fewer rules than the host's. */
static unsigned
landlock_abi(const struct plan_view *view)
{
        unsigned own = landlock_version();

        for (uint32_t i = 0; i < view->step_count; i++)
                if (view->steps[i].op == STEP_LANDLOCK)
                        return view->steps[i].number < own ? (unsigned)view->steps[i].number : own;
        return 0;
}

/* Pid 1 needs none of them any more. */
static void
forget(const struct box *box)
{
        const int fds[] = { box->root, box->workshop, box->scratch, box->disk };

        for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

/* A machine that woke has a device for it that its kernel has not looked for yet. */
static int
find_device(const struct step *s, bool is_woken)
{
        const char *slot = s->op == STEP_JOIN       ? SLOTS_NETWORK
                           : s->op == STEP_VIRTIOFS ? SLOTS_SHARE
                                                    : NULL;

        if (!is_woken || !slot)
                return 0;
        return group_write(SLOTS_DRIVER "/bind", slot, strlen(slot)) < 0 ? -EBADMSG : 0;
}

static void
apply(struct transport *t, const struct plan_view *view, struct harden *harden, bool is_woken)
{
        static const struct watched none = { .place.top = -1 };
        struct box box = { .root = -1,
                           .workshop = -1,
                           .scratch = -1,
                           .image = -1,
                           .watched = &none,
                           .prepared = -1,
                           .sockets = { .control = -1, .mapped = -1, .tap = -1 },
                           .stand = PLAN_STAND,
                           .alive = -1,
                           .memory = -1,
                           .stream = -1,
                           .disk = -1,
                           .upper = -1 };

        harden->landlock_abi = landlock_abi(view);
        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(view, i);
                int result = find_device(&s, is_woken);

                if (result == 0)
                        result = step_phase_of(s.op) == STEP_PHASE_BOX     ? box_step(&box, &s)
                                 : step_phase_of(s.op) == STEP_PHASE_GUEST ? harden_step(harden, &s)
                                                                           : -EPROTO;
                if (result < 0)
                        fail(t, i, result);
        }
        forget(&box);
}

/* The port of a machine that has booted; -errno, or returns never: this process woke. */
static int
boot(bool sleeps)
{
        int port;

        load_modules();
        port = begin();
        if (port < 0 || !sleeps)
                return port;
        return mount_disk() < 0 || access(SLOTS_DEVICES "/" SLOTS_SHARE, F_OK) < 0 ? -EIO
                                                                                   : asleep(port);
}

void
booted_inside(const char *word)
{
        bool is_woken = word && strcmp(word, PLAN_MACHINE_WOKEN) == 0;
        struct harden harden = { -1, 0, { -1, false } };
        struct transport *t;
        struct plan_view view;
        void *plan;
        size_t len;
        int control, port, result;

        (void)prctl(PR_SET_NAME, "carrel-init", 0, 0, 0);
        if (getpid() != 1)
                give_up();
        port = is_woken ? TRANSPORT_STREAM : boot(word && strcmp(word, PLAN_MACHINE_ASLEEP) == 0);
        if (port < 0 || transport_take(port) < 0 ||
            transport_open(TRANSPORT_STREAM, guest_transport_fds(), &t, &control) < 0 ||
            transport_receive_plan(t, &plan, &len) < 0)
                give_up();
        result = plan_unpack(plan, len, &view) < 0 ? -EPROTO : is_woken ? 0 : mount_disk();
        if (result < 0)
                fail(t, UINT32_MAX, result);
        apply(t, &view, &harden, is_woken);
        if (transport_say(t, WIRE_BOX_READY, NULL, 0) < 0)
                give_up();
        guest_serve_stream(t, control, &harden.asked);
}
