/*
 * maker/box.c - the BOX steps.
 *
 * Room: maker (program). Touches: mounts, files of the new root, the box's own namespaces.
 * Theory: every object is made or attached beneath one descriptor, the new root; nothing is addressed through the
 * host's tree except what a step names as its source, and that is checked to be what was judged.
 */
#include "maker/box.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maker/kernel.h"
#include "maker/place.h"
#include "plan/request.h"

enum { TMPFS_INODES = 65536 };

static int
write_file(int dir, const char *name, int flags, unsigned mode, const char *text, size_t len)
{
        int fd = openat(dir, name, flags | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode);
        int result = 0;

        if (fd < 0)
                return -errno;
        if (len > 0 && write(fd, text, len) != (ssize_t)len)
                result = errno != 0 ? -errno : -EIO;
        if (result == 0 && (flags & O_CREAT) != 0 && fchmod(fd, mode) < 0)
                result = -errno;
        (void)close(fd);
        return result;
}

/* -- ids and names -------------------------------------------------------------------------------------------- */

static int
map_ids(const struct step *s, const char *file)
{
        char text[64];
        int len = snprintf(text, sizeof text, "%u %u 1\n", (unsigned)s->number, (unsigned)s->number2);

        if (s->op == STEP_MAP_GID) {
                int result = write_file(AT_FDCWD, "/proc/self/setgroups", 0, 0, "deny", 4);

                if (result < 0 && result != -ENOENT)
                        return result;
        }
        return write_file(AT_FDCWD, file, 0, 0, text, (size_t)len);
}

static int
loopback_up(void)
{
        struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        int result;

        if (fd < 0)
                return -errno;
        result = ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
        (void)close(fd);
        return result;
}

/* -- attaching ------------------------------------------------------------------------------------------------ */

static int
attach(const struct box *box, int mount, const char *path)
{
        int target = place_open(box->root, path);
        int result;

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
        return kernel_open_tree(at, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH |
                                                  (recursive ? (unsigned)AT_RECURSIVE : 0u));
}

/* The judged source again, in this mount namespace: same device, same inode, or -ESTALE. */
static int
reopen(const struct step *s)
{
        int tree = clone_tree(AT_FDCWD, s->text, s->flags & STEP_RECURSIVE);
        struct stat st;

        if (tree < 0)
                return tree;
        if (fstat(tree, &st) < 0 || st.st_dev != s->number || st.st_ino != s->number2) {
                (void)close(tree);
                return -ESTALE;
        }
        return tree;
}

static int
open_inside(const struct box *box, const char *path, unsigned recursive)
{
        int object = place_open(box->root, path);
        int tree;

        if (object < 0)
                return object;
        tree = clone_tree(object, "", recursive);
        (void)close(object);
        return tree;
}

/* A step's source: a prepared tree, the judged path, a place inside the new root ("./..."), or a system path. */
static int
open_source(const struct box *box, const struct step *s)
{
        if (s->source != STEP_NO_SOURCE && box->is_tree[s->source])
                return fcntl(box->sources[s->source], F_DUPFD_CLOEXEC, 3);
        if (s->source != STEP_NO_SOURCE)
                return reopen(s);
        if (s->text[0] == '.')
                return open_inside(box, s->text + 1, 0);
        return clone_tree(AT_FDCWD, s->text, s->flags & STEP_RECURSIVE);
}

static int
make_target(const struct box *box, const char *path, unsigned is_directory)
{
        const char *name;
        int dir = place_open_parent(box->root, path, &name);
        int result = 0;

        if (dir < 0)
                return dir;
        if (is_directory ? mkdirat(dir, name, 0755) < 0 : mknodat(dir, name, S_IFREG | 0444, 0) < 0)
                result = errno == EEXIST ? 0 : -errno;
        (void)close(dir);
        return result;
}

/* Makes the way to a bound name under /etc, which the plan does not spell out directory by directory. */
static int
make_way(const struct box *box, const char *path, unsigned is_directory)
{
        int made = make_target(box, path, is_directory);
        char part[512];

        for (const char *slash = strchr(path + 1, '/'); slash && made == -ENOENT; slash = strchr(slash + 1, '/')) {
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
        return made == -ENOENT ? make_target(box, path, is_directory) : made;
}

static int
is_directory_fd(int fd)
{
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static int
bind_step(const struct box *box, const struct step *s)
{
        int tree = open_source(box, s);
        int result = 0;

        if (tree < 0)
                return tree == -ENOENT && (s->flags & STEP_OPTIONAL) != 0 ? 0 : tree;
        if (s->source == STEP_NO_SOURCE)
                result = make_way(box, s->path, (unsigned)is_directory_fd(tree));
        if (result == 0)
                result = attach_tree(box, s, tree);
        (void)close(tree);
        return result;
}

/* -- file systems of our own ---------------------------------------------------------------------------------- */

struct setting { const char *key, *value; };

static int
make_file_system(const char *type, const struct setting *settings, unsigned attributes_)
{
        int fs = kernel_fsopen(type);
        int result = 0;
        int mount;

        if (fs < 0)
                return fs;
        for (; settings->key && result == 0; settings++)
                result = kernel_fsconfig(fs, FSCONFIG_SET_STRING, settings->key, settings->value);
        if (result == 0)
                result = kernel_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
        mount = result == 0 ? kernel_fsmount(fs, attributes_) : result;
        (void)close(fs);
        return mount;
}

static int
make_tmpfs(uint64_t size, uint64_t mode)
{
        char size_text[32], mode_text[32], inodes[32];
        struct setting settings[4] = { { "size", size_text }, { "mode", mode_text }, { "nr_inodes", inodes } };

        (void)snprintf(size_text, sizeof size_text, "%llu", (unsigned long long)size);
        (void)snprintf(mode_text, sizeof mode_text, "%o", (unsigned)mode);
        (void)snprintf(inodes, sizeof inodes, "%d", TMPFS_INODES);
        return make_file_system("tmpfs", settings, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

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
        const struct setting settings[] = { { "mode", "0620" }, { "ptmxmode", "0666" }, { "max", max }, { NULL, NULL } };

        (void)snprintf(max, sizeof max, "%llu", (unsigned long long)s->number);
        return mount_at(box, make_file_system("devpts", settings, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), s->path);
}

static int
proc_step(const struct box *box, const struct step *s)
{
        const struct setting none[] = { { NULL, NULL } };

        return mount_at(box, make_file_system("proc", none, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC), s->path);
}

/* Read-only, in two layers because one alone is refused: the directory over an empty one of our own. */
static int
overlay_over(const struct box *box, const char *path)
{
        char lower[96];
        const struct setting settings[] = { { "lowerdir", lower }, { NULL, NULL } };
        int below = place_open(box->root, path);
        int empty = place_open(box->root, PLAN_EMPTY);
        int mount;

        (void)snprintf(lower, sizeof lower, "/proc/self/fd/%d:/proc/self/fd/%d", below, empty);
        mount = below < 0 ? below
                : empty < 0 ? empty
                : make_file_system("overlay", settings, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY);
        if (below >= 0)
                (void)close(below);
        if (empty >= 0)
                (void)close(empty);
        return mount;
}

static int
overlay_step(const struct box *box, const struct step *s)
{
        struct step read_only = *s;
        int tree, result;

        tree = open_source(box, s);
        if (tree < 0)
                return tree;
        read_only.flags |= STEP_READ_ONLY;
        result = attach_tree(box, &read_only, tree);
        (void)close(tree);
        return result < 0 ? result : mount_at(box, overlay_over(box, s->path), s->path);
}

/* -- covering ------------------------------------------------------------------------------------------------- */

/* The object over itself: read-only for FREEZE, as it is for PIN. */
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

static int
mask_step(const struct box *box, const struct step *s)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
        int target = place_open(box->root, s->path);
        int cover, result;

        if (target < 0)
                return target == -ENOENT && (s->flags & STEP_OPTIONAL) != 0 ? 0 : target;
        cover = open_inside(box, is_directory_fd(target) ? PLAN_NOWHERE : PLAN_NOTHING, 0);
        result = cover < 0 ? cover : kernel_mount_setattr(cover, 0, &attr);
        if (result >= 0)
                result = kernel_move_mount(cover, target, "");
        if (cover >= 0)
                (void)close(cover);
        (void)close(target);
        return result < 0 ? result : 0;
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

/* -- the root itself ------------------------------------------------------------------------------------------ */

static int
root_step(struct box *box, const struct step *s)
{
        /* Directories a box never takes from the host: the new root stands on one of them until it is entered. */
        static const char *const stands[] = { "/sys", "/boot", "/mnt", "/srv", "/media" };
        int result = -ENOENT;

        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;
        box->root = make_tmpfs(s->number, 0755);
        if (box->root < 0)
                return box->root;
        for (size_t i = 0; i < sizeof stands / sizeof *stands && result < 0; i++) {
                int target = open(stands[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (target < 0)
                        continue;
                result = kernel_move_mount(box->root, target, "");
                (void)close(target);
        }
        return result;
}

static int
dir_step(const struct box *box, const struct step *s)
{
        const char *name;
        int dir = place_open_parent(box->root, s->path, &name);
        int result = 0;

        if (dir < 0)
                return dir;
        if (mkdirat(dir, name, 0700) == 0)
                result = fchmodat(dir, name, (mode_t)s->number, 0) < 0 ? -errno : 0;
        else if (errno != EEXIST)
                result = -errno;
        else {
                int there = place_open(box->root, s->path);

                if (there >= 0 && !is_directory_fd(there))
                        result = -ENOTDIR;
                if (there >= 0)
                        (void)close(there);
                else
                        result = there;
        }
        (void)close(dir);
        return result;
}

static int
file_step(const struct box *box, const struct step *s)
{
        const char *name;
        int dir = place_open_parent(box->root, s->path, &name);
        int result;

        if (dir < 0)
                return dir;
        result = write_file(dir, name, O_CREAT | O_EXCL, (unsigned)s->number, s->text, s->text_len);
        (void)close(dir);
        return result == -EEXIST && (s->flags & STEP_OPTIONAL) != 0 ? 0 : result;
}

static int
link_step(const struct box *box, const struct step *s)
{
        const char *name;
        int dir = place_open_parent(box->root, s->path, &name);
        int result;

        if (dir < 0)
                return dir;
        result = symlinkat(s->text, dir, name) < 0 ? -errno : 0;
        (void)close(dir);
        return result;
}

/* The workshop goes: its tmpfs is let go (binds of its directories live on), then its few names. */
static int
clear_step(const struct box *box, const struct step *s)
{
        static const char *const names[] = { "/private", "/nowhere", "/nothing" };
        char path[256];

        if (fchdir(box->root) < 0)
                return -errno;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                (void)snprintf(path, sizeof path, ".%s%s", s->path, names[i]);
                (void)umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
                if (unlinkat(AT_FDCWD, path, i < 2 ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
                        return -errno;
        }
        (void)snprintf(path, sizeof path, ".%s", s->path);
        return rmdir(path) < 0 ? -errno : 0;
}

static int
enter_step(const struct box *box)
{
        if (fchdir(box->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
                return -errno;
        return 0;
}

static int
seal_step(const struct box *box)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

        return kernel_mount_setattr(box->root, 0, &attr);
}

int
box_step(struct box *box, const struct step *s)
{
        errno = 0;
        switch (s->op) {
        case STEP_MAP_UID:    return map_ids(s, "/proc/self/uid_map");
        case STEP_MAP_GID:    return map_ids(s, "/proc/self/gid_map");
        case STEP_HOSTNAME:   return sethostname(s->text, s->text_len) < 0 ? -errno : 0;
        case STEP_LOOPBACK:   return loopback_up();
        case STEP_NO_USER_NS: return write_file(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 0, 0, "0", 1);
        case STEP_ROOT:       return root_step(box, s);
        case STEP_DIR:        return dir_step(box, s);
        case STEP_FILE:       return file_step(box, s);
        case STEP_LINK:       return link_step(box, s);
        case STEP_TMPFS:      return mount_at(box, make_tmpfs(s->number, s->number2), s->path);
        case STEP_BIND:       return bind_step(box, s);
        case STEP_OVERLAY:    return overlay_step(box, s);
        case STEP_PROC:       return proc_step(box, s);
        case STEP_DEVPTS:     return devpts_step(box, s);
        case STEP_DEVICE:     return device_step(box, s);
        case STEP_MASK:       return mask_step(box, s);
        case STEP_FREEZE:     return over_itself(box, s, MOUNT_ATTR_RDONLY);
        case STEP_PIN:        return over_itself(box, s, 0);
        case STEP_CLEAR:      return clear_step(box, s);
        case STEP_ENTER:      return enter_step(box);
        case STEP_SEAL:       return seal_step(box);
        default:              return -ENOTSUP;
        }
}
