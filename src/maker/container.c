/*
 * maker/container.c - starts a container with an OCI runtime.
 *
 * Room: maker (program). Touches: the runtime directory, processes, mounts of its own namespace.
 * Theory: the runtime runs as root, so it is the operator's program, and its arguments are paths of
 * ours. Everything of it is in the box's control groups: killing the groups ends it, and then only
 * files are left, which are removed here. An ordinary user's is in a pid namespace that ends with
 * the maker's child. No command of the runtime is needed for that, so a
 * runtime that fails leaves nothing behind.
 */
#include "maker/container.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/command.h"
#include "maker/child.h"
#include "maker/group.h"
#include "volume/erase.h"

enum { PATH_ROOM = 4096, STDERR = 2, BROKEN = 127 };

#define NAME "box"

static int
path_of(char out[PATH_ROOM], const char *directory, const char *name)
{
        int len = snprintf(out, PATH_ROOM, "%s/%s", directory, name);

        return len > 0 && len < PATH_ROOM ? 0 : -ENAMETOOLONG;
}

static int
write_config(const char *directory, const char *config, size_t len)
{
        char path[PATH_ROOM];
        int fd, result = path_of(path, directory, "config.json");

        if (result < 0)
                return result;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        if (write(fd, config, len) != (ssize_t)len)
                result = -EIO;
        (void)close(fd);
        return result;
}

/* Root's alone, as is every directory that leads to it: the caller found it in root's places. */
static int
check_program(const char *path)
{
        struct stat st;

        if (stat(path, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) && st.st_uid == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0
                       ? 0
                       : -EPERM;
}

int
container_prepare(const struct step *s, const char *program)
{
        int result = check_program(program);

        if (result < 0)
                return result;
        if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || mkdir(s->path, 0700) < 0)
                return -errno;
        return write_config(s->path, s->text, s->text_len);
}

/* -- the runtime ------------------------------------------------------------------------------- */

/*
 * In a mount namespace that ends with the container. On a host with both versions of control groups
 * the runtime is shown the v2 hierarchy alone: the others hold limits that are ours.
 */
static int
show_unified(void)
{
        return mount("/sys/fs/cgroup/unified", "/sys/fs/cgroup", NULL, MS_BIND, NULL) < 0 ? -errno
                                                                                          : 0;
}

/*
 * The numbers that the runtime uses are those of its pid namespace. What is mounted until here is
 * then locked: in a user namespace of its own the runtime cannot make it writable again.
 */
static int
nest(void)
{
        static const char map[] = "0 0 1\n";
        int result;

        if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ||
            unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return -errno;
        result = group_write("/proc/self/setgroups", "deny", 4);
        if (result == 0)
                result = group_write("/proc/self/uid_map", map, sizeof map - 1);
        return result == 0 ? group_write("/proc/self/gid_map", map, sizeof map - 1) : result;
}

/* An ordinary user can drop no groups: the plan contains a warning about them. */
static int
become_root(uint64_t what)
{
        bool is_nested = (what & STEP_NESTED) != 0;
        int result;

        if (setresuid(0, 0, 0) < 0 || setresgid(0, 0, 0) < 0 ||
            (!is_nested && setgroups(0, NULL) < 0) || (what != 0 && unshare(CLONE_NEWNS) < 0))
                return -errno;
        result = what != 0 ? show_unified() : 0;
        if (result == -ENOENT && (what & STEP_UNIFIED_ALONE) == 0)
                result = 0;
        return result == 0 && is_nested ? nest() : result;
}

static _Noreturn void
become_runtime(const struct step *s, int stream)
{
        char state[PATH_ROOM], log[PATH_ROOM];
        const char *arguments[] = { s->path,    "--root", state, "run", "--detach",
                                    "--bundle", s->text,  NAME,  NULL };
        char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        char *environment[] = { path, NULL };
        sigset_t none;
        int nothing, out;

        (void)sigemptyset(&none);
        if (become_root(s->number) < 0 || path_of(state, s->text, "state") < 0 ||
            path_of(log, s->text, "log") < 0)
                _exit(BROKEN);
        nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        out = open(log, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (nothing < 0 || out < 0 || dup2(stream, STDIN_FILENO) < 0 ||
            dup2(nothing, STDOUT_FILENO) < 0 || dup2(out, STDERR) < 0)
                _exit(BROKEN);
        command_close_from(STDERR + 1);
        (void)umask(022);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execve(s->path, (char *const *)(void *)arguments, environment);
        _exit(BROKEN);
}

int
container_start(const struct step *s)
{
        int ends[2], result;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        pid = fork();
        if (pid == 0)
                become_runtime(s, ends[1]);
        result = pid < 0 ? -errno : child_wait(pid);
        if (result > 0)
                result = -ECHILD;
        (void)close(ends[1]);
        if (result == 0)
                return ends[0];
        (void)close(ends[0]);
        return result;
}

/* -- the end ----------------------------------------------------------------------------------- */

void
container_remove(const char *directory)
{
        const char *slash = strrchr(directory, '/');
        char parent[PATH_ROOM];
        int fd;

        if (!slash || slash == directory || (size_t)(slash - directory) >= sizeof parent)
                return;
        memcpy(parent, directory, (size_t)(slash - directory));
        parent[slash - directory] = '\0';
        fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return;
        (void)erase_all(fd, slash + 1);
        (void)close(fd);
}

void
container_reap(void)
{
        while (waitpid(-1, NULL, WNOHANG) > 0)
                continue;
}
