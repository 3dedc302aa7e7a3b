/*
 * maker/tree.c - prepares a source whose ids are mapped to those of the sandbox.
 *
 * Room: maker (program). Touches: fd, mounts (detached only), one short-lived child.
 * Theory: an id-mapped mount takes its mapping from a user namespace. A child creates one and
 * waits. The maker writes the two maps from outside, opens the namespace, and ends the child.
 */
#include "maker/tree.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "maker/kernel.h"

int
tree_write_map(pid_t pid, const char *name, uint32_t inside, uint32_t outside, uint32_t count)
{
        char path[64], text[64];
        int fd, len;
        int result = 0;

        (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
        len = snprintf(text, sizeof text, "%u %u %u\n", inside, outside, count);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (write(fd, text, (size_t)len) != len)
                result = -errno;
        (void)close(fd);
        return result;
}

static int
open_namespace(pid_t pid)
{
        char path[64];
        int fd;

        (void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/*
 * The child must not hold the pipe end whose closing ends it: it would outlive a killed maker, with
 * the lease and the sockets.
 */
static pid_t
fork_into_namespace(const int hold[2])
{
        pid_t pid = (pid_t)answer(
                syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), NULL, NULL, NULL, NULL));
        char byte;

        if (pid == 0) {
                (void)close(hold[1]);
                (void)!read(hold[0], &byte, 1);
                _exit(0);
        }
        return pid;
}

static int
mapping_open(uint32_t owner_uid, uint32_t owner_gid, uint32_t box_uid, uint32_t box_gid)
{
        int hold[2];
        pid_t pid;
        int result;

        if (pipe2(hold, O_CLOEXEC) < 0)
                return -errno;
        pid = fork_into_namespace(hold);
        if (pid < 0) {
                result = (int)pid;
        } else {
                result = tree_write_map(pid, "uid_map", owner_uid, box_uid, 1);
                if (result == 0)
                        result = tree_write_map(pid, "gid_map", owner_gid, box_gid, 1);
                if (result == 0)
                        result = open_namespace(pid);
                (void)kill(pid, SIGKILL);
                (void)waitpid(pid, NULL, 0);
        }
        (void)close(hold[0]);
        (void)close(hold[1]);
        return result;
}

/*
 * Private, because a copy of a shared mount is its peer: covers in the box would appear on the host
 * (A06).
 */
int
tree_open_plain(int source)
{
        struct mount_attr attr = { .propagation = MS_PRIVATE };
        int tree = kernel_open_tree(
                source, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        int result = tree < 0 ? tree : kernel_mount_setattr(tree, AT_RECURSIVE, &attr);

        if (result < 0 && tree >= 0)
                (void)close(tree);
        return result < 0 ? result : tree;
}

int
tree_open(int source, uint32_t owner_uid, uint32_t owner_gid, uint32_t box_uid, uint32_t box_gid)
{
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID |
                                               MOUNT_ATTR_NODEV };
        int tree, mapping, result;

        mapping = mapping_open(owner_uid, owner_gid, box_uid, box_gid);
        if (mapping < 0)
                return mapping;
        tree = tree_open_plain(source);
        if (tree < 0) {
                (void)close(mapping);
                return tree;
        }
        attr.userns_fd = (unsigned)mapping;
        result = kernel_mount_setattr(tree, AT_RECURSIVE, &attr);
        (void)close(mapping);
        if (result < 0) {
                (void)close(tree);
                return result;
        }
        return tree;
}
