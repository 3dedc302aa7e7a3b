/*
 * maker/prepared.c - roots that a spawner keeps.
 *
 * Room: maker (program). Touches: mounts, mount namespaces, processes, fd, stat of what steps bind.
 * Theory: mounts can be cloned only by a process in their mount namespace that has privileges over
 * it. So each kept root lies alone in a namespace of its own, and a descriptor of that keeps it; a
 * maker of root enters, clones, and returns before it starts its box. The builder has no file
 * system identity of root: a path that an ordinary user may not search is not bound for anybody,
 * as in a box.
 */
#include "maker/prepared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock/clock.h"
#include "maker/box.h"
#include "maker/kernel.h"
#include "wire/message.h"

enum {
        PAGE = 4096,
        KEY_MAX = 24 * 1024,
        BINDS_MAX = 96,
        NOBODY = 65534,
        BUILD_EVERY_MS = 200, /* at most one builder in this time */
        BUILD_LAST_S = 10,
        EXIT_BROKEN = 125,
        FIRST = 3
};

struct inode {
        uint64_t device, number; /* both 0: it did not exist */
};

/* The shared steps of a plan, and what they bind. */
struct key {
        uint32_t len, bind_count;
        uint64_t generation; /* of the host's mounts */
        struct inode binds[BINDS_MAX];
        char bytes[KEY_MAX];
};

struct kept {
        struct key key;
        int ns; /* the mount namespace, whose root it is */
};

/* Keys are parts of plans, also those of other owners: prepared_forget() drops these pages. */
static struct {
        _Alignas(PAGE) struct kept kept[PREPARED_KEPT_MAX];
        struct key wanted; /* of the maker's plan */
        _Alignas(8) struct key arrived;
} known;
static struct kept *const kept = known.kept;
static struct key *const wanted = &known.wanted;
static size_t kept_count, next_slot;
static uint64_t generation, build_after_ms;
static int channel[2] = { -1, -1 }; /* [0]: the spawner's; [1]: where builders send */
static int host_mounts = -1;
static bool may_build;

/* -- the key ----------------------------------------------------------------------------------- */

static bool
is_shared(const struct step *s)
{
        return (s->flags & STEP_SHARED) != 0;
}

static bool
add(struct key *key, const void *bytes, size_t len)
{
        if (len > sizeof key->bytes - key->len)
                return false;
        memcpy(key->bytes + key->len, bytes, len);
        key->len += (uint32_t)len;
        return true;
}

static bool
add_step(struct key *key, const struct step *s)
{
        const uint64_t numbers[] = { s->op,      s->flags,        s->number,
                                     s->number2, strlen(s->path), s->text_len };

        return add(key, numbers, sizeof numbers) && add(key, s->path, strlen(s->path)) &&
               add(key, s->text, s->text_len);
}

/* As STEP_BIND opens it: a link at the end is not followed. */
static struct inode
inode_of(const char *path)
{
        struct stat st;

        if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return (struct inode){ 0, 0 };
        return (struct inode){ st.st_dev, st.st_ino };
}

/* A plan without a shared ROOT, or with more than fits, has no key. */
static bool
key_of(struct key *key, const struct plan_view *view)
{
        bool has_root = false;

        key->len = key->bind_count = 0;
        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(view, i);

                if (!is_shared(&s))
                        continue;
                has_root |= s.op == STEP_ROOT;
                if (s.op == STEP_BIND && key->bind_count++ == BINDS_MAX)
                        return false;
                if (!add_step(key, &s))
                        return false;
        }
        return has_root;
}

static bool
is_same(const struct key *one, const struct key *other)
{
        return one->len == other->len && one->bind_count == other->bind_count &&
               memcmp(one->bytes, other->bytes, one->len) == 0;
}

/* Calls for each shared bind; false ends it. */
static bool
each_bind(const struct plan_view *view, struct key *key,
          bool (*look)(struct key *key, uint32_t index, struct inode now))
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(view, i);

                if (is_shared(&s) && s.op == STEP_BIND && !look(key, count++, inode_of(s.text)))
                        return false;
        }
        return true;
}

static bool
is_as_before(struct key *key, uint32_t index, struct inode now)
{
        return key->binds[index].device == now.device && key->binds[index].number == now.number;
}

static bool
note(struct key *key, uint32_t index, struct inode now)
{
        key->binds[index] = now;
        return true;
}

/* -- the spawner ------------------------------------------------------------------------------- */

void
prepared_begin(void)
{
        if (geteuid() != 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) < 0)
                return;
        host_mounts = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
}

static void
drop_all(void)
{
        for (size_t i = 0; i < kept_count; i++)
                (void)close(kept[i].ns);
        kept_count = 0;
        generation++;
}

/* Is it a whole key, for a root that was built after the last change of the host's mounts? */
static bool
is_useful(const struct wire_message *m, const struct key *key)
{
        return m->kind == WIRE_ROOT && m->len == sizeof *key && m->fd_count == 1 &&
               key->len <= KEY_MAX && key->bind_count <= BINDS_MAX && key->generation == generation;
}

/* The place of a root with the same steps; else a free one, else that of the oldest. */
static struct kept *
slot_for(const struct key *key)
{
        for (size_t i = 0; i < kept_count; i++)
                if (is_same(&kept[i].key, key))
                        return &kept[i];
        if (kept_count < PREPARED_KEPT_MAX) {
                kept[kept_count].ns = -1;
                return &kept[kept_count++];
        }
        next_slot = (next_slot + 1) % PREPARED_KEPT_MAX;
        return &kept[next_slot];
}

static void
take_in(struct wire_message *m, const struct key *key)
{
        struct kept *slot;

        if (!is_useful(m, key)) {
                wire_message_close(m);
                return;
        }
        slot = slot_for(key);
        if (slot->ns >= 0)
                (void)close(slot->ns);
        slot->key = *key;
        slot->ns = m->fds[0];
}

static void
take_all(void)
{
        struct wire_message m;

        while (wire_receive(channel[0], 0, &m, &known.arrived, sizeof known.arrived) > 0)
                take_in(&m, &known.arrived);
}

void
prepared_wait(int socket)
{
        struct pollfd fds[] = { { socket, POLLIN, 0 },
                                { host_mounts, POLLPRI, 0 },
                                { host_mounts < 0 ? -1 : channel[0], POLLIN, 0 } };

        while (fds[0].revents == 0) {
                if (poll(fds, sizeof fds / sizeof *fds, -1) < 0)
                        continue;
                if (fds[1].revents != 0)
                        drop_all();
                if (fds[2].revents != 0)
                        take_all();
        }
}

void
prepared_refresh(void)
{
        struct pollfd mounts = { .fd = host_mounts, .events = POLLPRI };
        uint64_t now = clock_boot_ms();

        if (host_mounts < 0)
                return;
        if (poll(&mounts, 1, 0) != 0)
                drop_all();
        take_all();
        may_build = now >= build_after_ms;
        if (may_build)
                build_after_ms = now + BUILD_EVERY_MS;
}

/* -- a maker ----------------------------------------------------------------------------------- */

size_t
prepared_fds(int ret[PREPARED_FDS_MAX])
{
        size_t count = 0;

        for (size_t i = 0; i < kept_count; i++)
                ret[count++] = kept[i].ns;
        if (may_build)
                ret[count++] = channel[1];
        return count;
}

void
prepared_moved(int first)
{
        for (size_t i = 0; i < kept_count; i++)
                kept[i].ns = first++;
        channel[1] = may_build ? first : -1;
        channel[0] = host_mounts = -1;
}

void
prepared_forget(void)
{
        if (madvise(&known, sizeof known, MADV_DONTNEED) < 0)
                memset(&known, 0, sizeof known);
        kept_count = 0;
        may_build = false;
}

void
prepared_close(void)
{
        for (size_t i = 0; i < kept_count; i++)
                (void)close(kept[i].ns);
        if (channel[1] >= 0)
                (void)close(channel[1]);
        channel[1] = -1;
        prepared_forget();
}

/* Where this process is: to be there again after a visit to another mount namespace. */
struct here {
        int ns, root, cwd;
};

static void
leave_here(const struct here *here)
{
        const int fds[] = { here->ns, here->root, here->cwd };

        for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

static int
note_here(struct here *ret)
{
        *ret = (struct here){ open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
                              open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
                              open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) };
        return ret->ns >= 0 && ret->root >= 0 && ret->cwd >= 0 ? 0 : -errno;
}

static int
go_back(const struct here *here)
{
        return setns(here->ns, CLONE_NEWNS) < 0 || fchdir(here->root) < 0 || chroot(".") < 0 ||
                               fchdir(here->cwd) < 0
                       ? -errno
                       : 0;
}

/* A clone of the mounts of a kept root. A failure before setns() succeeds only gives none. */
static int
clone_root(int ns, int *ret)
{
        struct here here;
        int result = note_here(&here);

        if (result == 0 && setns(ns, CLONE_NEWNS) == 0) {
                *ret = kernel_open_tree(AT_FDCWD, "/",
                                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
                                                (unsigned)AT_RECURSIVE);
                result = go_back(&here);
                if (result < 0 && *ret >= 0)
                        (void)close(*ret);
        } else {
                result = 0;
        }
        leave_here(&here);
        return result;
}

int
prepared_take(const struct plan_view *view, int *ret)
{
        *ret = -1;
        if ((kept_count == 0 && !may_build) || !key_of(wanted, view)) {
                prepared_close();
                return 0;
        }
        for (size_t i = 0; i < kept_count; i++)
                if (is_same(&kept[i].key, wanted) && each_bind(view, &kept[i].key, is_as_before))
                        return clone_root(kept[i].ns, ret);
        return 0;
}

/* -- the builder ------------------------------------------------------------------------------- */

/* Its files belong to a user that is in no sandbox. */
static int
become_nobody(void)
{
        (void)setfsgid(NOBODY);
        (void)setfsuid(NOBODY);
        return setfsuid((uid_t)-1) == NOBODY && setfsgid((gid_t)-1) == NOBODY ? 0 : -EPERM;
}

/* Paths of the host are searched as any user; in the new root, directories that are read-only get
 * their contents. */
static int
override_modes(bool may)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct data[2];
        unsigned bit = 1u << CAP_DAC_OVERRIDE;

        if (syscall(SYS_capget, &head, data) < 0)
                return -errno;
        data[0].effective = may ? data[0].effective | bit : data[0].effective & ~bit;
        return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* Of a private place, only the directory; nothing but these steps writes to the root alone. */
static int
shared_step(struct box *box, const struct step *s)
{
        switch (s->op) {
        case STEP_PRIVATE:
                return box_make_directory(box, s->path);
        case STEP_BIND:
                return s->source == STEP_NO_SOURCE ? box_step(box, s) : -ENOTSUP;
        case STEP_ROOT:
        case STEP_DIR:
        case STEP_FILE:
        case STEP_LINK:
        case STEP_DEVICE:
                return box_step(box, s);
        default:
                return -ENOTSUP;
        }
}

static int
finish(struct box *box)
{
        const struct step enter = { .op = STEP_ENTER }, seal = { .op = STEP_SEAL, .path = "/" };
        int result = box_step(box, &enter);

        if (result == 0)
                result = box_step(box, &seal);
        if (result == 0 &&
            mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
                result = -errno;
        return result;
}

/* Runs in a process of its own, which ends with it. */
static int
build(const struct plan_view *view, int *ret_ns)
{
        static const struct watched none = { .place = { .dir = -1, .top = -1 } };
        struct box box = { .root = -1,
                           .workshop = -1,
                           .scratch = -1,
                           .image = -1,
                           .prepared = -1,
                           .watched = &none,
                           .sockets.control = -1,
                           .sockets.mapped = -1,
                           .disk = -1,
                           .upper = -1 };
        int result = unshare(CLONE_NEWNS) < 0 ? -errno : 0;

        *ret_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
        if (result == 0)
                result = *ret_ns < 0 ? -errno : become_nobody();
        for (uint32_t i = 0; i < view->step_count && result == 0; i++) {
                struct step s = plan_view_step(view, i);

                if (!is_shared(&s))
                        continue;
                result = override_modes(s.op != STEP_BIND && s.op != STEP_DEVICE);
                if (result == 0)
                        result = shared_step(&box, &s);
        }
        return result == 0 ? finish(&box) : result;
}

/* The inodes are noted first: what is exchanged meanwhile does not fit afterwards. */
static _Noreturn void
be_builder(const struct plan_view *view, int to)
{
        int ns = -1;

        (void)prctl(PR_SET_NAME, "carrel-builder", 0, 0, 0);
        wanted->generation = generation;
        (void)each_bind(view, wanted, note);
        if (build(view, &ns) == 0)
                (void)wire_send(to, WIRE_ROOT, wanted, sizeof *wanted, &ns, 1);
        _exit(0);
}

/*
 * The maker's other descriptors, its lease among them, are not for the builder. It is a child of
 * the spawner, which waits for none, and does not wait long for a file system that hangs.
 */
static int
begin_builder(void)
{
        sigset_t alarm_only;

        if (dup3(channel[1], FIRST, O_CLOEXEC) < 0 ||
            syscall(SYS_close_range, (unsigned)FIRST + 1, ~0u, 0) < 0)
                _exit(EXIT_BROKEN);
        (void)sigemptyset(&alarm_only);
        (void)sigaddset(&alarm_only, SIGALRM);
        (void)sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
        (void)alarm(BUILD_LAST_S);
        return FIRST;
}

void
prepared_build(const struct plan_view *view)
{
        if (!may_build || wanted->len == 0 || channel[1] < 0)
                return;
        if (syscall(SYS_clone, (long)CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
                be_builder(view, begin_builder());
}
