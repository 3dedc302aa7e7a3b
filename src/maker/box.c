/*
 * maker/box.c - the BOX steps.
 *
 * Room: maker (program). Touches: mounts, files of the new root, the box's own namespaces. Theory:
 * every object is created or attached beneath one descriptor, the new root. The host's tree is used
 * only for the source that a step names, and that source is checked to be the one that was judged.
 */
#include "maker/box.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker/container.h"
#include "maker/filesystem.h"
#include "maker/group.h"
#include "maker/kernel.h"
#include "maker/machine.h"
#include "maker/memory.h"
#include "maker/place.h"
#include "maker/rootfs.h"
#include "maker/saved.h"
#include "plan/request.h"

enum { ROOT_PAGES = 16 * 4096, PROGRAM_PART = 1 << 20 };

/* Names in the workshop: the file that hides a file, the directory that hides a directory. */
#define NOTHING "nothing"
#define NOWHERE "nowhere"

static int
write_file(int dir, const char *name, int flags, unsigned mode, const char *text, size_t len)
{
        int fd = openat(dir, name, flags | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode);
        int result = 0;

        if (fd < 0)
                return -errno;
        if (len > 0 && write(fd, text, len) != (ssize_t)len)
                result = errno != 0 ? -errno : -EIO;
        (void)close(fd);
        return result;
}

/* -- names ------------------------------------------------------------------------------------- */

/*
 * The directory that holds `path`, and its last component. As long as everything in the new root is
 * ours, no link can mislead, and the root with the whole path is enough. After that, names are
 * walked component by component. Release the result with let_go().
 */
static int
parent_of(const struct box *box, const char *path, const char **ret_name)
{
        if (box->has_foreign)
                return place_open_parent(box->root, path, box->has_foreign, ret_name);
        *ret_name = path + 1;
        return box->root;
}

static void
let_go(const struct box *box, int dir)
{
        if (dir >= 0 && dir != box->root)
                (void)close(dir);
}

static int
make_directory(const struct box *box, const char *path, int dir, const char *name, mode_t mode)
{
        return place_make_directory(box->root, path, box->has_foreign, dir, name, mode);
}

/* -- attaching --------------------------------------------------------------------------------- */

static int
attach(const struct box *box, int mount, const char *path)
{
        int target, result;

        if (!box->has_foreign)
                return kernel_move_mount(mount, box->root, path + 1);
        target = place_open(box->root, path, box->has_foreign);
        if (target < 0)
                return target;
        result = kernel_move_mount(mount, target, "");
        (void)close(target);
        return result;
}

static uint64_t
attributes(const struct step *s)
{
        return ((s->flags & STEP_SUID) != 0 ? 0u : (uint64_t)MOUNT_ATTR_NOSUID) |
               ((s->flags & STEP_DEV) != 0 ? 0u : (uint64_t)MOUNT_ATTR_NODEV) |
               ((s->flags & STEP_NO_EXEC) != 0 ? (uint64_t)MOUNT_ATTR_NOEXEC : 0u) |
               ((s->flags & STEP_READ_ONLY) != 0 ? (uint64_t)MOUNT_ATTR_RDONLY : 0u);
}

static int
attach_tree(const struct box *box, const struct step *s, int tree)
{
        struct mount_attr attr = { .attr_set = attributes(s) };
        int result = kernel_mount_setattr(tree, AT_RECURSIVE, &attr);

        return result < 0 ? result : attach(box, tree, s->path);
}

static int
clone_tree(int at, const char *path, unsigned recursive)
{
        return kernel_open_tree(at, path,
                                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW |
                                        AT_EMPTY_PATH | (recursive ? (unsigned)AT_RECURSIVE : 0u));
}

/*
 * Opens the judged source again in this mount namespace: same device and inode, or -ESTALE. For a
 * volume, compares with the directory that is held.
 */
static int
reopen(const struct box *box, const struct step *s)
{
        int tree = clone_tree(AT_FDCWD, s->text, s->flags & STEP_RECURSIVE);
        struct stat st, held = { .st_dev = s->number, .st_ino = s->number2 };

        if (tree < 0)
                return tree;
        if (((s->flags & STEP_HELD) != 0 && fstat(box->sources[s->source], &held) < 0) ||
            fstat(tree, &st) < 0 || st.st_dev != held.st_dev || st.st_ino != held.st_ino) {
                (void)close(tree);
                return -ESTALE;
        }
        return tree;
}

static int
open_inside(const struct box *box, const char *path, unsigned recursive)
{
        int object, tree;

        if (!box->has_foreign)
                return clone_tree(box->root, path + 1, recursive);
        object = place_open(box->root, path, box->has_foreign);
        if (object < 0)
                return object;
        tree = clone_tree(object, "", recursive);
        (void)close(object);
        return tree;
}

/* A step's source: a prepared tree, the judged path, or a system path. */
static int
open_source(const struct box *box, const struct step *s)
{
        if (s->source != STEP_NO_SOURCE && box->is_tree[s->source])
                return fcntl(box->sources[s->source], F_DUPFD_CLOEXEC, 3);
        if (s->source != STEP_NO_SOURCE)
                return reopen(box, s);
        return clone_tree(AT_FDCWD, s->text, s->flags & STEP_RECURSIVE);
}

static int
make_target(const struct box *box, const char *path, unsigned is_directory)
{
        const char *name;
        int dir = parent_of(box, path, &name);
        int result;

        if (dir < 0)
                return dir;
        result = is_directory ? make_directory(box, path, dir, name, 0755)
                 : mknodat(dir, name, S_IFREG | 0444, 0) < 0 ? -errno
                                                             : 0;
        let_go(box, dir);
        return result == -EEXIST ? 0 : result;
}

/* Creates the parents of a bound name under /etc, which the plan does not list one by one. */
static int
make_way(const struct box *box, const char *path, unsigned is_directory)
{
        char part[512];
        int there = make_target(box, path, is_directory);

        if (there != -ENOENT)
                return there;
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                size_t len = (size_t)(slash - path);
                int result;

                if (len >= sizeof part)
                        return -ENAMETOOLONG;
                memcpy(part, path, len);
                part[len] = '\0';
                result = make_target(box, part, 1);
                if (result < 0 && result != -EROFS)
                        return result;
        }
        return make_target(box, path, is_directory);
}

static int
is_directory_fd(int fd)
{
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static int
bind_step(struct box *box, const struct step *s)
{
        int tree = open_source(box, s);
        int result = 0;

        if (s->source != STEP_NO_SOURCE)
                box->has_foreign = PLACE_NO_LINKS;

        if (tree < 0)
                return tree == -ENOENT && (s->flags & STEP_OPTIONAL) != 0 ? 0 : tree;
        if (s->source == STEP_NO_SOURCE)
                result = make_way(box, s->path, (unsigned)is_directory_fd(tree));
        if (result == 0)
                result = attach_tree(box, s, tree);
        (void)close(tree);
        return result;
}

/* -- private file systems ---------------------------------------------------------------------- */

static int
mount_at(const struct box *box, int mount, const char *path)
{
        int result;

        if (mount < 0)
                return mount;
        result = attach(box, mount, path);
        (void)close(mount);
        return result;
}

static int
devpts_step(const struct box *box, const struct step *s)
{
        char max[32];
        const struct filesystem_setting settings[] = {
                { "mode", "0620" }, { "ptmxmode", "0666" }, { "max", max }, { NULL, NULL }
        };

        (void)snprintf(max, sizeof max, "%llu", (unsigned long long)s->number);
        return mount_at(box,
                        filesystem_make("devpts", settings, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC),
                        s->path);
}

static int
mqueue_step(const struct box *box, const struct step *s)
{
        const struct filesystem_setting none[] = { { NULL, NULL } };
        int mount = filesystem_make("mqueue", none,
                                    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);

        if (mount == -ENODEV && (s->flags & STEP_OPTIONAL) != 0)
                return 0; /* the kernel has no message queues, so mq_open() answers ENOSYS */
        return mount_at(box, mount, s->path);
}

static int
proc_step(struct box *box, const struct step *s)
{
        const struct filesystem_setting none[] = { { NULL, NULL } };
        int result =
                mount_at(box,
                         filesystem_make("proc", none,
                                         MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC),
                         s->path);

        box->has_proc = result == 0 && box->has_foreign != PLACE_LINKS;
        return result;
}

/*
 * Read-only overlay. The kernel refuses a single layer, so the directory is stacked on an empty one
 * of ours.
 */
static int
overlay_over(const struct box *box, const char *path)
{
        char lower[96];
        const struct filesystem_setting settings[] = { { "lowerdir", lower }, { NULL, NULL } };
        int below = place_open(box->root, path, box->has_foreign);
        int empty = openat(box->scratch, "empty", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int mount;

        (void)snprintf(lower, sizeof lower, "/proc/self/fd/%d:/proc/self/fd/%d", below, empty);
        mount = below < 0 ? below
                : empty < 0
                        ? -errno
                        : filesystem_make("overlay", settings,
                                          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY);
        if (below >= 0)
                (void)close(below);
        if (empty >= 0)
                (void)close(empty);
        return mount;
}

static int
overlay_step(struct box *box, const struct step *s)
{
        struct step read_only = *s;
        int tree, result;

        tree = open_source(box, s);
        if (tree < 0)
                return tree;
        box->has_foreign = PLACE_NO_LINKS;
        read_only.flags |= STEP_READ_ONLY;
        result = attach_tree(box, &read_only, tree);
        (void)close(tree);
        return result < 0 ? result : mount_at(box, overlay_over(box, s->path), s->path);
}

/* -- covering ---------------------------------------------------------------------------------- */

/* Binds the object over itself: read-only for FREEZE, with unchanged mode for PIN. */
static int
over_itself(const struct box *box, const struct step *s, uint64_t set)
{
        struct mount_attr attr = { .attr_set = set };
        int tree = open_inside(box, s->path, STEP_RECURSIVE);
        int result = 0;

        if (tree < 0)
                return tree == -ENOENT && (s->flags & STEP_OPTIONAL) != 0 ? 0 : tree;
        if (set != 0)
                result = kernel_mount_setattr(tree, AT_RECURSIVE, &attr);
        if (result == 0)
                result = attach(box, tree, s->path);
        (void)close(tree);
        return result;
}

/* PROC has walked to its place without a link. */
static int
is_below_proc(const struct box *box, const char *path)
{
        return box->has_proc && strncmp(path, "/proc/", strlen("/proc/")) == 0;
}

/*
 * The cover is read-only, as the workshop is. Check first that the object exists: dropping a clone
 * that was never attached makes the kernel wait for every processor.
 */
static int
mask_step(const struct box *box, const struct step *s)
{
        unsigned is_directory = s->flags & STEP_DIRECTORY;
        int cover, result;

        if ((!box->has_foreign || is_below_proc(box, s->path)) &&
            faccessat(box->root, s->path + 1, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT && (s->flags & STEP_OPTIONAL) != 0 ? 0 : -errno;
        cover = clone_tree(box->workshop, is_directory ? NOWHERE : NOTHING, 0);
        result = cover < 0 ? cover : attach(box, cover, s->path);
        if (cover >= 0)
                (void)close(cover);
        return result == -ENOENT && (s->flags & STEP_OPTIONAL) != 0 ? 0 : result;
}

static int
device_step(const struct box *box, const struct step *s)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC };
        int tree = clone_tree(AT_FDCWD, s->path, 0);
        struct stat st;
        int result;

        if (tree < 0)
                return tree;
        result = fstat(tree, &st) < 0 ? -errno : S_ISCHR(st.st_mode) ? 0 : -ENODEV;
        if (result == 0)
                result = make_target(box, s->path, 0);
        if (result == 0)
                result = kernel_mount_setattr(tree, 0, &attr);
        if (result == 0)
                result = attach(box, tree, s->path);
        (void)close(tree);
        return result;
}

/* -- the root itself --------------------------------------------------------------------------- */

/*
 * Attaches at a place where a box never uses the host's tree: the first existing one of a few
 * directories.
 */
static int
stand_on_host(int mount, const char *stand)
{
        static const char *const stands[] = { "/sys", "/boot", "/mnt", "/srv", "/media" };
        int result = -ENOENT;

        if (stand)
                return (int)answer(syscall(SYS_move_mount, mount, "", AT_FDCWD, stand,
                                           MOVE_MOUNT_F_EMPTY_PATH));
        for (size_t i = 0; i < sizeof stands / sizeof *stands && result == -ENOENT; i++)
                result = (int)answer(syscall(SYS_move_mount, mount, "", AT_FDCWD, stands[i],
                                             MOVE_MOUNT_F_EMPTY_PATH));
        return result;
}

/*
 * The workshop: a small tmpfs on the host's side of the pivot, so that unmounting the host's tree
 * removes it too.
 */
static int
make_workshop(struct box *box)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC };
        int result;

        box->workshop = filesystem_make_tmpfs(ROOT_PAGES, 0755);
        if (box->workshop < 0)
                return box->workshop;
        if (mkdirat(box->workshop, "root", 0755) < 0 ||
            mkdirat(box->workshop, "scratch", 0755) < 0 ||
            mkdirat(box->workshop, "disk", 0755) < 0 || mkdirat(box->workshop, NOWHERE, 0) < 0 ||
            mknodat(box->workshop, NOTHING, S_IFREG, 0) < 0)
                return -errno;
        result = stand_on_host(box->workshop, box->stand);
        return result < 0 ? result : kernel_mount_setattr(box->workshop, 0, &attr);
}

static int
root_step(struct box *box, const struct step *s)
{
        int result;

        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;
        (void)umask(0); /* so that modes are those of the steps */
        result = make_workshop(box);
        if (result < 0 || s->number == 0)
                return result; /* ROOTFS makes the root */
        box->root = box->prepared >= 0 ? box->prepared : filesystem_make_tmpfs(s->number, 0755);
        return box->root < 0 ? box->root : kernel_move_mount(box->root, box->workshop, "root");
}

/* Kept for pid 1, after the stock of a wall. */
static void
keep_disk(struct box *box, int mount)
{
        if (box->disk >= 0)
                (void)close(box->disk);
        box->disk = fcntl(mount, F_DUPFD_CLOEXEC, namespace_first_kept(&box->sockets));
}

static int
scratch_step(struct box *box, const struct step *s)
{
        box->scratch = filesystem_make_tmpfs(s->number, 0755);
        if (box->scratch < 0)
                return box->scratch;
        keep_disk(box, box->scratch);
        if (mkdirat(box->scratch, "empty", 0555) < 0) /* lower layer of read-only overlays */
                return -errno;
        return kernel_move_mount(box->scratch, box->workshop, "scratch");
}

/*
 * Clones the private directory, found again in this mount namespace. -ESTALE if that is not the
 * locked one.
 */
static int
open_watched(const struct watched *w)
{
        char path[PATH_MAX];
        struct stat st, held;
        int len = snprintf(path, sizeof path, "%s/%s", w->directory, w->place.name), tree;

        if (len < 0 || (size_t)len >= sizeof path)
                return -ENAMETOOLONG;
        tree = clone_tree(AT_FDCWD, path, 0);
        if (tree < 0)
                return tree;
        if (fstat(w->place.top, &held) == 0 && fstat(tree, &st) == 0 && st.st_dev == held.st_dev &&
            st.st_ino == held.st_ino)
                return tree;
        (void)close(tree);
        return -ESTALE;
}

/*
 * The image, the private directory, or a tmpfs instead. Pid 1 reports whether a tmpfs or an image
 * is full; of a directory that would be the host's disk.
 */
static int
disk_step(struct box *box, const struct step *s)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
        bool is_watched = box->watched->place.top >= 0;
        int result = 0;

        if (box->image < 0)
                box->image = is_watched ? open_watched(box->watched)
                                        : filesystem_make_tmpfs(s->number, 0755);
        if (box->image < 0)
                return box->image;
        if (is_watched)
                result = kernel_mount_setattr(box->image, 0, &attr);
        else
                keep_disk(box, box->image);
        return result < 0 ? result : kernel_move_mount(box->image, box->workshop, "disk");
}

static int
private_step(const struct box *box, const struct step *s)
{
        int from = (s->flags & STEP_ON_IMAGE) != 0 ? box->image : box->scratch, tree, result;

        if (mkdirat(from, s->text, (mode_t)s->number) < 0 ||
            ((s->flags & STEP_OWNED) != 0 && fchownat(from, s->text, (uid_t)s->number2,
                                                      (gid_t)s->number2, AT_SYMLINK_NOFOLLOW) < 0))
                return -errno;
        result = make_target(box, s->path, 1);
        if (result < 0)
                return result;
        tree = clone_tree(from, s->text, 0);
        return mount_at(box, tree, s->path);
}

static int
dir_is_there(const struct box *box, const char *path)
{
        int there = place_open(box->root, path, box->has_foreign);
        int result = there < 0 ? there : is_directory_fd(there) ? 0 : -ENOTDIR;

        if (there >= 0)
                (void)close(there);
        return result;
}

/*
 * Optional: creates a mount point for a user's mount. Its path may pass through what is already
 * there.
 */
static int
dir_step(struct box *box, const struct step *s)
{
        const char *name;
        int dir, result;

        if ((s->flags & STEP_OPTIONAL) != 0)
                box->has_foreign = PLACE_NO_LINKS;
        dir = parent_of(box, s->path, &name);
        if (dir < 0)
                return dir;
        result = make_directory(box, s->path, dir, name, (mode_t)s->number);
        let_go(box, dir);
        return result == -EEXIST ? dir_is_there(box, s->path) : result;
}

static int
file_step(const struct box *box, const struct step *s)
{
        const char *name;
        int dir = parent_of(box, s->path, &name);
        int result;

        if (dir < 0)
                return dir == -ENOENT && (s->flags & STEP_OPTIONAL) != 0 ? 0 : dir;
        if ((s->flags & STEP_REPLACE) != 0)
                (void)unlinkat(dir, name, 0);
        result = write_file(dir, name, O_CREAT | O_EXCL, (unsigned)s->number, s->text, s->text_len);
        let_go(box, dir);
        return result == -EEXIST && (s->flags & STEP_OPTIONAL) != 0 ? 0 : result;
}

/* From the memory file that this process was executed from. */
static int
program_step(const struct box *box, const struct step *s)
{
        int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to, result = 0;
        ssize_t copied;

        if (from < 0)
                return -errno;
        to = openat(box->root, s->path + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    (mode_t)s->number);
        if (to < 0)
                result = -errno;
        while (result == 0 && (copied = sendfile(to, from, NULL, PROGRAM_PART)) != 0)
                if (copied < 0)
                        result = -errno;
        if (to >= 0)
                (void)close(to);
        (void)close(from);
        return result;
}

static int
link_step(const struct box *box, const struct step *s)
{
        const char *name;
        int dir = parent_of(box, s->path, &name);
        int result;

        if (dir < 0)
                return dir;
        result = symlinkat(s->text, dir, name) < 0 ? -errno : 0;
        let_go(box, dir);
        return result;
}

/* -- an image as the root ---------------------------------------------------------------------- */

static int
lower_step(struct box *box, const struct step *s)
{
        int tree = open_source(box, s), result;

        if (tree < 0)
                return tree;
        result = rootfs_attach(box->scratch, box->lower_count, tree);
        if (result < 0)
                (void)close(tree);
        else
                box->lower[box->lower_count++] = tree;
        return result;
}

static int
rootfs_step(struct box *box, const struct step *s)
{
        int from = (s->flags & STEP_ON_IMAGE) != 0 ? box->image : box->scratch, upper = -1;
        int root = rootfs_mount(box->workshop, from, box->lower, box->lower_count, &upper);

        if (root < 0)
                return root;
        if ((s->flags & STEP_OWNED) != 0)
                box->upper = upper;
        else
                (void)close(upper);
        while (box->lower_count > 0)
                (void)close(box->lower[--box->lower_count]);
        box->has_foreign = PLACE_LINKS;
        box->root = root;
        return 0;
}

/* In a machine: what virtiofsd shows. */
static int
virtiofs_step(const struct step *s)
{
        if (mkdir(s->path, 0755) < 0 ||
            mount(PLAN_MACHINE_TAG, s->path, "virtiofs", MS_NOSUID | MS_NODEV, NULL) < 0)
                return -errno;
        return 0;
}

static int
enter_step(const struct box *box)
{
        if (fchdir(box->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
            umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
                return -errno;
        return 0;
}

/*
 * The mounts below stay as they are. In an image the way to /dev may be a link, as it was for what
 * is attached there.
 */
static int
seal_step(const struct box *box, const struct step *s)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
                                               MOUNT_ATTR_NODEV };
        int place, result;

        if (strcmp(s->path, "/") == 0)
                return kernel_mount_setattr(box->root, 0, &attr);
        place = place_open(box->root, s->path, PLACE_LINKS);
        if (place < 0)
                return place;
        result = kernel_mount_setattr(place, 0, &attr);
        (void)close(place);
        return result;
}

int
box_make_directory(const struct box *box, const char *path)
{
        return make_target(box, path, 1);
}

/*
 * What a prepared root has already. Of the root and the private places, something remains to be
 * done. After the place of a user's mount, names are walked with care in any case.
 */
static int
is_prepared(struct box *box, const struct step *s)
{
        if (box->prepared < 0 || (s->flags & STEP_SHARED) == 0 || s->op == STEP_ROOT ||
            s->op == STEP_PRIVATE)
                return 0;
        if (s->op == STEP_DIR && (s->flags & STEP_OPTIONAL) != 0)
                box->has_foreign = PLACE_NO_LINKS;
        return 1;
}

static int
machine_step(struct box *box, const struct step *s)
{
        const struct machine_given given = { .tap = box->sockets.tap, .monitor = -1, .saved = -1 };
        const struct step *serve = box->serve.path ? &box->serve : NULL;

        if (box->saved.op == STEP_SAVED)
                box->stream = saved_start(
                        &(const struct saved_start){ .machine = s,
                                                     .serve = serve,
                                                     .file = box->sources[box->saved.source],
                                                     .memory = box->memory,
                                                     .tap = box->sockets.tap },
                        &box->alive);
        else
                box->stream = machine_start(s, serve, &given, &box->alive);
        return box->stream < 0 ? box->stream : 0;
}

/* A file in a file system of its own, because QEMU's root is full and read-only. */
static int
saved_step(struct box *box, const struct step *s)
{
        const struct step shown = { .op = STEP_BIND, .path = s->path, .flags = STEP_NO_EXEC };
        bool wakes = s->number == PLAN_MACHINE_WAKES;
        int mount, tree, result;

        if (s->source == STEP_NO_SOURCE)
                return -EINVAL;
        box->saved = *s;
        mount = filesystem_make_tmpfs(s->number2 << 20, 0755);
        result = mount < 0 ? mount : kernel_move_mount(mount, box->workshop, "disk");
        if (result == 0)
                result = box->memory = memory_open(mount, s->number2 << 20);
        if (result >= 0)
                result = wakes ? memory_restore(box->sources[s->source], box->memory) : 0;
        if (box->memory >= 0 && wakes) {
                (void)close(box->memory);
                box->memory = -1;
        }
        tree = result < 0 ? result : clone_tree(mount, MEMORY_NAME, 0);
        result = tree < 0 ? tree : attach_tree(box, &shown, tree);
        if (tree >= 0)
                (void)close(tree);
        if (mount >= 0)
                (void)close(mount);
        return result;
}

int
box_step(struct box *box, const struct step *s)
{
        errno = 0;
        if (is_prepared(box, s) || (s->flags & STEP_BY_RUNTIME) != 0)
                return 0;
        switch (s->op) {
        case STEP_ROOT:
                return root_step(box, s);
        case STEP_LOWER:
                return lower_step(box, s);
        case STEP_ROOTFS:
                return rootfs_step(box, s);
        case STEP_DIR:
                return dir_step(box, s);
        case STEP_FILE:
                return file_step(box, s);
        case STEP_LINK:
                return link_step(box, s);
        case STEP_SCRATCH:
                return scratch_step(box, s);
        case STEP_DISK:
                return disk_step(box, s);
        case STEP_PRIVATE:
                return private_step(box, s);
        case STEP_BIND:
                return bind_step(box, s);
        case STEP_OVERLAY:
                return overlay_step(box, s);
        case STEP_PROC:
                return proc_step(box, s);
        case STEP_DEVPTS:
                return devpts_step(box, s);
        case STEP_MQUEUE:
                return mqueue_step(box, s);
        case STEP_DEVICE:
                return device_step(box, s);
        case STEP_MASK:
                return mask_step(box, s);
        case STEP_FREEZE:
                return over_itself(box, s, MOUNT_ATTR_RDONLY);
        case STEP_PIN:
                return over_itself(box, s, 0);
        case STEP_ENTER:
                return enter_step(box);
        case STEP_SEAL:
                return seal_step(box, s);
        case STEP_PROGRAM:
                return program_step(box, s);
        case STEP_CONTAINER:
                box->setup_id = (uint32_t)s->number2;
                box->stream = container_start(s);
                return box->stream < 0 ? box->stream : 0;
        case STEP_TASKS:
                return group_write(s->path, s->text, s->text_len);
        case STEP_FIRST:
                return machine_write_first(box->root, s);
        case STEP_SERVE:
                box->serve = *s;
                return 0;
        case STEP_VIRTIOFS:
                return virtiofs_step(s);
        case STEP_SAVED:
                return saved_step(box, s);
        case STEP_MACHINE:
                return machine_step(box, s);
        default:
                return namespace_step(&box->sockets, s);
        }
}
