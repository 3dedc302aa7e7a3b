/*
 * maker/kernel.h - newer system calls that libc does not wrap. Each returns a negative errno value
 * on failure.
 */
#ifndef CARREL_MAKER_KERNEL_H
#define CARREL_MAKER_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc defines the newer constants in <sys/mount.h>; with musl they come from the kernel header */
#ifndef MOUNT_ATTR_IDMAP
#include <linux/mount.h>
#endif

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static inline long
answer(long result)
{
        return result < 0 ? -errno : result;
}

struct kernel_how {
        uint64_t flags, mode, resolve;
};
/* openat2: no symbolic link in the path; nothing above `dir` */
enum { KERNEL_NO_SYMLINKS = 4, KERNEL_BENEATH = 8 };

static inline int
kernel_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
        struct kernel_how how = { .flags = flags, .resolve = resolve };

        return (int)answer(syscall(SYS_openat2, dir, path, &how, sizeof how));
}

static inline int
kernel_open_tree(int dir, const char *path, unsigned flags)
{
        return (int)answer(syscall(SYS_open_tree, dir, path, flags));
}

static inline int
kernel_move_mount(int from, int to, const char *to_path)
{
        unsigned flags =
                MOVE_MOUNT_F_EMPTY_PATH | (to_path[0] == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0u);

        return (int)answer(syscall(SYS_move_mount, from, "", to, to_path, flags));
}

static inline int
kernel_mount_setattr(int fd, unsigned flags, const struct mount_attr *attr)
{
        return (int)answer(
                syscall(SYS_mount_setattr, fd, "", flags | AT_EMPTY_PATH, attr, sizeof *attr));
}

static inline int
kernel_fsopen(const char *type)
{
        return (int)answer(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}

static inline int
kernel_fsconfig(int fs, unsigned command, const char *key, const char *value)
{
        return (int)answer(syscall(SYS_fsconfig, fs, command, key, value, 0));
}

static inline int
kernel_fsmount(int fs, unsigned attributes)
{
        return (int)answer(syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes));
}

#endif
