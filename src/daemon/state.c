/*
 * daemon/state.c - the state directory: its owner and its lock.
 *
 * Room: daemon (joining). Touches: the state directory, the environment (CARREL_STATE,
 * XDG_STATE_HOME, HOME).
 * Theory: a flock(2) lock ends with its holder, so it is never stale. The parents of the directory
 * are checked by handle. The last name may not be a link: a user who may change the link would
 * choose the files that the daemon writes.
 */
#include "daemon/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"
#include "wire/message.h"

enum {
        PATH_ROOM = 4096,
        SOCKET_PATH_MAX = 107,
        NUMBER_ROOM = 16,
        CALLS_AT_ONCE = 256,
        COUNT_PATIENCE_MS = 500
};

/* -- choosing the directory -------------------------------------------------------------------- */

static const char *
from_environment(struct arena *arena)
{
        const char *named = getenv("CARREL_STATE"), *xdg = getenv("XDG_STATE_HOME"),
                   *home = getenv("HOME");

        if (named && *named != '\0')
                return arena_text(arena, named);
        if (geteuid() == 0)
                return arena_text(arena, "/var/lib/carrel");
        if (xdg && xdg[0] == '/')
                return arena_format(arena, "%s/carrel", xdg);
        return home && home[0] == '/' ? arena_format(arena, "%s/.local/state/carrel", home) : NULL;
}

int
state_choose(struct arena *arena, const char *named, const char **ret, struct error *e)
{
        const char *path = named && *named != '\0' ? named : from_environment(arena);
        char here[PATH_ROOM];
        char *copy;
        size_t len;

        if (!path) {
                (void)fail(e, ERROR_STATE_UNUSABLE,
                           "no state directory: none of --state, CARREL_STATE, XDG_STATE_HOME and "
                           "HOME is set");
                error_hint(e, "Name one, for example: export CARREL_STATE=/var/tmp/carrel-%u",
                           (unsigned)geteuid());
                return -1;
        }
        if (path[0] != '/' && !getcwd(here, sizeof here))
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "asking for the current directory");
        copy = path[0] == '/' ? arena_text(arena, path) : arena_format(arena, "%s/%s", here, path);
        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        for (len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
                copy[len - 1] = '\0';
        *ret = copy;
        return 0;
}

/* -- opening ----------------------------------------------------------------------------------- */

static int
refuse(struct error *e, const char *reason, const char *path, const char *what, const char *hint)
{
        (void)fail_at(e, ERROR_STATE_UNUSABLE, "state", reason, "the state directory %.200s %s",
                      path, what);
        error_hint(e, "%s", hint);
        return -1;
}

int
state_make(const char *path, struct error *e)
{
        char part[PATH_ROOM];

        if (strlen(path) >= sizeof part)
                return refuse(e, "too_long", "of that name", "has a path that is too long",
                              "Choose a shorter one with --state DIR.");
        for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
                size_t len = slash ? (size_t)(slash - path) : strlen(path);

                (void)snprintf(part, sizeof part, "%.*s", (int)len, path);
                if (mkdir(part, 0700) < 0 && errno != EEXIST &&
                    !(errno == EROFS && access(part, F_OK) == 0)) {
                        (void)fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                       "making the directory %.200s", part);
                        error_hint(e, "Choose a directory that you can write with --state DIR.");
                        return -1;
                }
                if (!slash)
                        return 0;
        }
}

/* Users of the sockets may pass through the directory. */
static mode_t
allowed_mode(mode_t socket_mode)
{
        return (mode_t)(0700 | ((socket_mode & 0060) != 0 ? 0010 : 0) |
                        ((socket_mode & 0006) != 0 ? 0001 : 0));
}

static int
look(int fd, const char *path, mode_t socket_mode, struct error *e)
{
        mode_t allowed = allowed_mode(socket_mode);
        struct stat st;

        if (fstat(fd, &st) < 0)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "looking at %.200s", path);
        if (st.st_uid != geteuid())
                return refuse(e, "owner", path, "belongs to somebody else",
                              "Choose a directory of your own with --state DIR.");
        /* a daemon with --socket-mode before this one let others pass through it, and no more */
        if ((st.st_mode & 07777 & ~(mode_t)(allowed | 02011)) != 0) {
                (void)refuse(e, "mode", path, "is open to others", "");
                error_hint(e, "Run: chmod 700 %.200s", path);
                return -1;
        }
        /* without a set-group-id bit, which images and volumes below would take over */
        return (st.st_mode & 07777) == allowed || fchmod(fd, allowed) == 0
                       ? 0
                       : fail_sys(e, ERROR_STATE_UNUSABLE, errno, "setting the mode of %.200s",
                                  path);
}

static int
take_lock(const struct state *s, int *ret, struct error *e)
{
        scoped_fd int fd = openat(s->fd, "serve.lock",
                                  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
        char text[NUMBER_ROOM] = "";
        int len;

        if (fd < 0)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "opening the lock of %.200s",
                                s->path);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "locking %.200s", s->path);
                if (pread(fd, text, sizeof text - 1, 0) <= 0)
                        text[0] = '\0';
                text[strspn(text, "0123456789")] = '\0';
                (void)fail_at(e, ERROR_STATE_IN_USE, "state", "locked",
                              "another daemon serves %.200s%s%s", s->path,
                              *text != '\0' ? ": process " : "", text);
                return -1;
        }
        len = snprintf(text, sizeof text, "%d\n", (int)getpid());
        if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)len, 0) != len)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "writing the lock of %.200s",
                                s->path);
        *ret = fd_take(&fd);
        return 0;
}

int
state_open(const char *path, mode_t socket_mode, struct state *ret, struct error *e)
{
        struct state s = { .path = path, .fd = -1, .lock = -1 };
        scoped_fd int fd = -1;

        if (strlen(path) + sizeof "/keeper.sock" - 1 > SOCKET_PATH_MAX)
                return refuse(e, "too_long", path, "has a path too long for a socket in it",
                              "Choose a shorter one with --state DIR.");
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) {
                if (state_make(path, e) < 0)
                        return -1;
                fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (fd < 0) {
                struct stat st;
                int sys = errno;

                if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
                        return refuse(e, "symlink", path, "is a symbolic link",
                                      "Name the directory it leads to, with --state DIR.");
                if (sys == ENOTDIR)
                        return refuse(e, "not_directory", path, "is no directory",
                                      "Choose another with --state DIR.");
                return fail_sys(e, ERROR_STATE_UNUSABLE, sys, "opening the state directory %.200s",
                                path);
        }
        s.fd = fd;
        if (look(fd, path, socket_mode, e) < 0 || take_lock(&s, &s.lock, e) < 0)
                return -1;
        s.fd = fd_take(&fd);
        *ret = s;
        return 0;
}

void
state_close(struct state *s)
{
        if (s->fd >= 0)
                (void)close(s->fd);
        if (s->lock >= 0)
                (void)close(s->lock);
        s->fd = s->lock = -1;
}

/* -- boxes ------------------------------------------------------------------------------------- */

/* Connects to a box; -1 on failure. Never blocks: a box whose accept queue is full is skipped. */
static int
call_box(int boxes, const char *id)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        scoped_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int len = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.64s/sock",
                           boxes, id);

        if (fd < 0 || len <= 0 || (size_t)len >= sizeof address.sun_path ||
            connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
                return -1;
        return fd_take(&fd);
}

/*
 * Counts the boxes that send the first message of a box before `until_ms`. Closes all connections.
 */
static unsigned
hear(struct pollfd *take_calls, size_t count, uint64_t until_ms)
{
        unsigned heard = 0;

        for (size_t open = count; open > 0;) {
                if (clock_poll(take_calls, count, until_ms) <= 0)
                        break;
                for (size_t i = 0; i < count; i++) {
                        struct wire_head head;

                        if (take_calls[i].fd < 0 || take_calls[i].revents == 0)
                                continue;
                        heard += recv(take_calls[i].fd, &head, sizeof head,
                                      MSG_DONTWAIT | MSG_TRUNC) >= (ssize_t)sizeof head &&
                                 head.kind == WIRE_BOX_HELLO;
                        (void)close(take_calls[i].fd);
                        take_calls[i].fd = -1;
                        open--;
                }
        }
        for (size_t i = 0; i < count; i++)
                if (take_calls[i].fd >= 0)
                        (void)close(take_calls[i].fd);
        return heard;
}

unsigned
state_count_boxes(const struct state *s)
{
        int fd = openat(s->fd, "boxes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
        uint64_t until_ms = clock_boot_ms() + COUNT_PATIENCE_MS;
        struct pollfd calls[CALLS_AT_ONCE];
        struct dirent *entry;
        unsigned count = 0;
        size_t open = 0;

        while (list && (entry = readdir(list)) != NULL) {
                int call = entry->d_name[0] != '.' ? call_box(dirfd(list), entry->d_name) : -1;

                if (call >= 0)
                        calls[open++] = (struct pollfd){ .fd = call, .events = POLLIN };
                if (open == CALLS_AT_ONCE) {
                        count += hear(calls, open, until_ms);
                        open = 0;
                }
        }
        count += hear(calls, open, until_ms);
        if (list)
                (void)closedir(list);
        else if (fd >= 0)
                (void)close(fd);
        return count;
}

/* -- numbers ----------------------------------------------------------------------------------- */

unsigned
state_number_read(const struct state *s, const char *name)
{
        scoped_fd int fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        char text[NUMBER_ROOM] = "";

        if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
                return 0;
        return (unsigned)strtoul(text, NULL, 10);
}

void
state_number_write(const struct state *s, const char *name, unsigned number)
{
        scoped_fd int fd =
                openat(s->fd, name,
                       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

        if (fd >= 0)
                (void)dprintf(fd, "%u\n", number);
}
