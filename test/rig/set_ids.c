/*
 * A tool of tests: every way to make a file or directory with set-id bits, by root of a sandbox in
 * an image. set-ids DIRECTORY: works there, and prints each way with its result (0 or errno) and
 * the bits that it got; ends with "race N", N times that a mode went to the wrong file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SET = 06755, ROUNDS = 300 };

static void
tell(const char *way, long result, const char *path)
{
        int number = result < 0 ? errno : 0;
        struct stat st;

        printf("%s %d %o\n", way, number, stat(path, &st) < 0 ? 0 : (unsigned)st.st_mode & 07777);
        (void)fflush(stdout);
}

static void
modes(int dir)
{
        int fd = open("f", O_CREAT | O_RDWR, 0600), path = open("f", O_PATH);
        char own[64];

        if (symlink("f", "link") < 0)
                perror("link");
        (void)snprintf(own, sizeof own, "/proc/self/fd/%d", path);
        tell("chmod", chmod("f", SET), "f");
        tell("link", chmod("link", SET & ~0111), "f");
        tell("fchmod", fchmod(fd, SET), "f");
        tell("fchmodat", syscall(SYS_fchmodat, dir, "f", SET), "f");
        tell("own", chmod(own, SET & ~0011), "f");
        tell("slash", chmod("f/", SET), "f");
        tell("nothing", chmod("nothing", SET), "nothing");
        tell("fchmod of nothing", fchmod(1000, SET), "f");
        tell("pid 1", chmod("/proc/1/fd/0", SET), "f");
        tell("its root", chmod("/proc/1/root/etc", SET), "/etc");
        tell("proc", chmod("/proc/self/status", SET), "f");
        tell("unreadable", syscall(SYS_chmod, 16L, SET), "f");
}

static void
makes(int dir)
{
        int fd;

        (void)umask(027);
        fd = open("new", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, SET);
        tell("open", fd < 0 || write(fd, "x", 1) != 1 || fcntl(fd, F_GETFD) != FD_CLOEXEC ? -1 : 0,
             "new");
        tell("again", open("new", O_CREAT | O_EXCL | O_RDWR, SET), "new");
        tell("openat", openat(dir, "new2", O_CREAT | O_EXCL | O_RDWR, SET), "new2");
        if (symlink("nowhere", "dangling") < 0)
                perror("dangling");
        tell("dangling", open("dangling", O_CREAT | O_EXCL, SET), "nowhere");
        tell("not new", open("new3", O_CREAT | O_RDWR, SET), "new3");
        tell("creat", creat("new4", SET), "new4");
        tell("unnamed", open(".", O_TMPFILE | O_RDWR, SET), "new5");
        tell("mknod", mknod("new6", S_IFREG | SET, 0), "new6");
        tell("mkdir", mkdir("dir", SET), "dir");
        tell("mkdirat", mkdirat(dir, "dir2", SET), "dir2");
}

/* -- callers that nobody stands in for --------------------------------------------------------- */

static int
without_capability(void)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

        return (int)syscall(SYS_capset, &head, none);
}

static int
as_other(void)
{
        return setuid(33);
}

static void
as(const char *way, int (*become)(void))
{
        if (fork() == 0) {
                int result = become() < 0 ? -1 : chmod("f", 06700);

                errno = result < 0 && errno == EINVAL ? EPERM
                                                      : errno; /* that user does not exist */
                tell(way, result, "f");
                _exit(0);
        }
        (void)wait(NULL);
}

/* -- a path that changes while it is read ------------------------------------------------------ */

static char path[] = "race-a";
static atomic_int is_over;

static void *
flip(void *data)
{
        while (!is_over)
                path[5] ^= 'a' ^ 'b';
        return data;
}

static void
race(void)
{
        int wrong = 0;
        struct stat a, b;
        pthread_t thread;

        (void)close(open("race-a", O_CREAT | O_RDWR, 0600));
        (void)close(open("race-b", O_CREAT | O_RDWR, 0600));
        if (pthread_create(&thread, NULL, flip, NULL) != 0)
                return;
        for (int i = 0; i < ROUNDS; i++) {
                (void)chmod(path, 06711);
                wrong += stat("race-a", &a) < 0 || stat("race-b", &b) < 0 ||
                         ((a.st_mode | b.st_mode) & 06000) != 0;
        }
        is_over = 1;
        (void)pthread_join(thread, NULL);
        printf("race %d\n", wrong);
}

int
main(int argc, char **argv)
{
        int dir = argc == 2 && chdir(argv[1]) == 0 ? open(".", O_PATH | O_DIRECTORY) : -1;

        if (dir < 0)
                return 2;
        modes(dir);
        makes(dir);
        as("without capability", without_capability);
        as("another user", as_other);
        race();
        return 0;
}
