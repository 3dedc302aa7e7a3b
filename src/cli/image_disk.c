/*
 * cli/image_disk.c - makes the disk of an image, with mkfs.erofs.
 *
 * Room: cli (joining). Touches: processes (one child), the images of a state directory.
 *
 *     child: namespaces of its own --> the layers, one above the other --> sealed --> mkfs.erofs
 *
 * Theory: the files are a stranger's, and mkfs.erofs reads their names and contents. So it has no
 * network and no capability, sees no process, reads the layers and the system's programs, and
 * writes below one directory. What it wrote is read by a kernel in a machine, never by this one.
 */
#include "cli/image_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "host/machine.h"
#include "image/record.h"
#include "seal/landlock.h"
#include "seal/seal.h"
#include "volume/erase.h"

enum { NOT_STARTED = 127, NO_NAMESPACE = 126, OPTIONS_ROOM = 4096, PLACES = 6 };

#define MERGED "image"
#define EMPTY "empty" /* the lowest layer: the kernel refuses a single one */

/* -- the child --------------------------------------------------------------------------------- */

static int
write_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC), result;

        if (fd < 0)
                return -errno;
        result = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -EIO;
        (void)close(fd);
        return result;
}

static int
leave(uid_t uid, gid_t gid)
{
        char map[2][32];

        (void)snprintf(map[0], sizeof map[0], "0 %u 1\n", (unsigned)uid);
        (void)snprintf(map[1], sizeof map[1], "0 %u 1\n", (unsigned)gid);
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
                return -errno;
        (void)write_file("/proc/self/setgroups", "deny");
        if (write_file("/proc/self/uid_map", map[0]) < 0 ||
            write_file("/proc/self/gid_map", map[1]) < 0)
                return -EPERM;
        return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

/* By descriptors of this namespace, so that the options of many layers fit. The working directory
 * is the store. */
static int
write_layers(const struct image_record *r, const char *making, char options[OPTIONS_ROOM])
{
        size_t used = (size_t)snprintf(options, OPTIONS_ROOM, "lowerdir=");

        for (size_t i = r->layer_count; i-- > 0 && used < OPTIONS_ROOM;) {
                char hex[DIGEST_HEX], path[DIGEST_HEX + 32];
                int fd;

                digest_hex(&r->layers[i], hex);
                (void)snprintf(path, sizeof path, "layers/%s/" IMAGE_LAYER_ROOT, hex);
                fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0)
                        return -errno;
                used += (size_t)snprintf(options + used, OPTIONS_ROOM - used,
                                         "/proc/self/fd/%d:", fd);
        }
        used += used < OPTIONS_ROOM ? (size_t)snprintf(options + used, OPTIONS_ROOM - used,
                                                       "making/%s/" EMPTY ",userxattr", making)
                                    : 0;
        return used < OPTIONS_ROOM ? 0 : -E2BIG;
}

static int
show_layers(const struct image_record *r, const char *making)
{
        char options[OPTIONS_ROOM], at[IMAGE_DISK_ROOM + 32];
        int result = write_layers(r, making, options);

        (void)snprintf(at, sizeof at, "making/%s/" MERGED, making);
        if (result == 0 &&
            mount("overlay", at, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options) < 0)
                result = -errno;
        (void)snprintf(at, sizeof at, "making/%s", making);
        return result == 0 && chdir(at) < 0 ? -errno : result;
}

static int
seal_mkfs(void)
{
        static const char *const read_only[] = { "/usr", "/lib", "/lib64", "/etc/ld.so.cache" };
        struct seal_place places[PLACES] = { { LANDLOCK_FS_ALL & ~(unsigned)LANDLOCK_EXECUTE,
                                               open(".", O_PATH | O_CLOEXEC) } };
        size_t count = 1;
        struct error e;

        for (size_t i = 0; i < sizeof read_only / sizeof *read_only; i++) {
                struct stat st;
                int fd = open(read_only[i], O_PATH | O_CLOEXEC);

                if (fd < 0)
                        continue;
                places[count] = (struct seal_place){ LANDLOCK_READ_FILE | LANDLOCK_EXECUTE, fd };
                if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
                        places[count].access |= LANDLOCK_READ_DIR;
                count++;
        }
        return seal_enter(SEAL_DISK, places, count, &e);
}

static _Noreturn void
be_mkfs(const struct image_store *s, const struct image_record *r, const char *making,
        const char *program)
{
        char *words[] = { (char *)(uintptr_t) "mkfs.erofs",
                          (char *)(uintptr_t) "-x-1",
                          (char *)(uintptr_t) "--all-root",
                          (char *)(uintptr_t) "--quiet",
                          (char *)(uintptr_t)IMAGE_DISK_FILE,
                          (char *)(uintptr_t)MERGED,
                          NULL };
        char *none[] = { NULL };
        uid_t uid = geteuid();
        gid_t gid = getegid();
        int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (nowhere < 0 || fchdir(s->dir) < 0 || dup2(nowhere, STDIN_FILENO) < 0 ||
            dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0 ||
            leave(uid, gid) < 0)
                _exit(NO_NAMESPACE);
        if (show_layers(r, making) < 0 || seal_mkfs() < 0)
                _exit(NOT_STARTED);
        (void)execve(program, words, none);
        _exit(NOT_STARTED);
}

/* -- the whole --------------------------------------------------------------------------------- */

static int
say_failed(int status, struct error *e)
{
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE) {
                (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, NULL, "user_namespaces",
                              "a disk is made in a user namespace, and none can be created here");
                error_hint(e, "Run `carrel doctor`: it names the setting that forbids it.");
                return -1;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
                return fail(e, ERROR_BACKEND_FAILED,
                            "mkfs.erofs could not be started over the layers of the image");
        return fail(e, ERROR_BACKEND_FAILED, "mkfs.erofs failed (%s %d)",
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int
run_mkfs(const struct image_store *s, const struct image_record *r, const char *making,
         const char *program, struct error *e)
{
        int status;
        pid_t pid;

        (void)fflush(NULL);
        pid = fork();
        if (pid == 0)
                be_mkfs(s, r, making, program);
        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting mkfs.erofs");
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "waiting for mkfs.erofs");
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : say_failed(status, e);
}

static int
make_places(const struct image_store *s, const char *making, struct error *e)
{
        scoped_fd int dir = -1;
        int result = erase_all(s->making, making);

        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "erasing what another left");
        if (mkdirat(s->making, making, 0700) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a directory");
        dir = openat(s->making, making, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0 || mkdirat(dir, MERGED, 0700) < 0 || mkdirat(dir, EMPTY, 0755) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a directory");
        return 0;
}

int
image_disk_make(const struct image_store *s, struct arena *arena, const struct digest *image,
                char out[IMAGE_DISK_ROOM], struct error *e)
{
        const char *program = host_machine_mkfs();
        struct image_record record;

        out[0] = '\0';
        if (!program) {
                (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, NULL, "mkfs",
                              "mkfs.erofs, which makes the disk, is not installed");
                error_hint(e, "On Debian and Ubuntu: sudo apt-get install erofs-utils");
                return -1;
        }
        if (record_read(s, arena, image, &record, e) < 0)
                return -1;
        (void)snprintf(out, IMAGE_DISK_ROOM, "disk.%ld", (long)getpid());
        return make_places(s, out, e) < 0 ? -1 : run_mkfs(s, &record, out, program, e);
}
