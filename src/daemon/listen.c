/*
 * daemon/listen.c - the listening sockets of the daemon.
 *
 * Room: daemon (joining). Touches: sockets, names in the state directory, the environment
 * (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES).
 * Theory: bind(2) creates a name and never follows an existing one. The path starts at the
 * descriptor of the state directory, so no link on the way is followed either. The umask sets the
 * mode, so there is no moment at which other users could connect.
 */
#include "daemon/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/scoped.h"

enum { GIVEN_FIRST = 3, BACKLOG = 1024, NAME_ROOM = 64 };

static const struct {
        const char *name;
        int type;
} names[SLOT_MAX] = {
        [SLOT_KEEPER_SOCKET] = { "keeper.sock", SOCK_SEQPACKET },
        [SLOT_HTTP_SOCKET] = { "carrel.sock", SOCK_STREAM },
};

union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
};

void
listeners_init(struct listeners *l)
{
        for (int i = 0; i < SLOT_MAX; i++) {
                l->fds[i] = -1;
                l->is_given[i] = false;
        }
}

static bool
is_loopback(const union address *a)
{
        if (a->any.sa_family == AF_INET)
                return (ntohl(a->v4.sin_addr.s_addr) >> 24) == 127;
        return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static int
option_read(int fd, int name)
{
        int value = -1;
        socklen_t len = sizeof value;

        return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? -1 : value;
}

/* -- passed by a service manager --------------------------------------------------------------- */

static enum graph_slot
slot_of(int fd, const char *name, size_t name_len)
{
        int domain = option_read(fd, SO_DOMAIN), type = option_read(fd, SO_TYPE);
        union address a = { .any = { .sa_family = AF_UNSPEC } };
        socklen_t len = sizeof a;

        if (option_read(fd, SO_ACCEPTCONN) != 1)
                return SLOT_MAX;
        if (domain == AF_UNIX)
                return type == SOCK_STREAM      ? SLOT_HTTP_SOCKET
                       : type == SOCK_SEQPACKET ? SLOT_KEEPER_SOCKET
                                                : SLOT_MAX;
        if (type != SOCK_STREAM || getsockname(fd, &a.any, &len) < 0 || !is_loopback(&a))
                return SLOT_MAX;
        return name_len == 7 && strncmp(name, "ingress", 7) == 0 ? SLOT_INGRESS_SOCKET
                                                                 : SLOT_TCP_SOCKET;
}

static int
take_one(struct listeners *l, int fd, const char *name, size_t name_len, struct error *e)
{
        enum graph_slot slot = slot_of(fd, name, name_len);

        if (slot == SLOT_MAX || l->fds[slot] >= 0) {
                (void)fail(e, ERROR_INVALID_ARGUMENT,
                           "descriptor %d (%.*s) of the service manager is %s", fd, (int)name_len,
                           name,
                           slot == SLOT_MAX ? "no listening unix or loopback TCP socket"
                                            : "a second socket for the same purpose");
                error_hint(e, "Look at the ListenStream= and ListenSequentialPacket= lines of "
                              "carrel.socket.");
                return -1;
        }
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        l->fds[slot] = fd;
        l->is_given[slot] = true;
        return 0;
}

int
listeners_take(struct listeners *l, struct error *e)
{
        const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS"),
                   *name = getenv("LISTEN_FDNAMES");
        int number = pid && count && strtol(pid, NULL, 10) == (long)getpid()
                             ? (int)strtol(count, NULL, 10)
                             : 0;
        int result = 0;

        for (int i = 0; i < number && result == 0; i++) {
                size_t len = name ? strcspn(name, ":") : 0;

                result = take_one(l, GIVEN_FIRST + i, name ? name : "", len, e);
                if (name)
                        name += len + (name[len] == ':');
        }
        (void)unsetenv("LISTEN_PID");
        (void)unsetenv("LISTEN_FDS");
        (void)unsetenv("LISTEN_FDNAMES");
        return result;
}

/* -- created here ------------------------------------------------------------------------------ */

/* This process holds the lock, so no other daemon listens on an existing socket. */
static int
clear_name(const struct state *state, const char *name, struct error *e)
{
        struct stat st;

        if (fstatat(state->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT
                               ? 0
                               : fail_sys(e, ERROR_STATE_UNUSABLE, errno, "looking at %s", name);
        if (!S_ISSOCK(st.st_mode)) {
                (void)fail_at(e, ERROR_STATE_UNUSABLE, "state", "not_socket",
                              "%.200s/%s is there and is no socket", state->path, name);
                error_hint(e, "Look at it and move it away; Carrel does not delete what it did not "
                              "make.");
                return -1;
        }
        return unlinkat(state->fd, name, 0) == 0
                       ? 0
                       : fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                  "replacing the socket %s of a daemon that is gone", name);
}

/* The users of a socket are those who may pass through its directory. */
static int
give_group(const struct state *state, const char *name)
{
        struct stat st;

        if (fstat(state->fd, &st) < 0)
                return -1;
        return st.st_gid == getegid()
                       ? 0
                       : fchownat(state->fd, name, (uid_t)-1, st.st_gid, AT_SYMLINK_NOFOLLOW);
}

int
listeners_unix(struct listeners *l, enum graph_slot slot, const struct state *state, mode_t mode,
               struct error *e)
{
        const char *name = names[slot].name;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        scoped_fd int fd = -1;
        mode_t before;
        int result;

        if (l->fds[slot] >= 0)
                return 0;
        if (clear_name(state, name, e) < 0)
                return -1;
        fd = socket(AF_UNIX, names[slot].type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a socket");
        (void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.32s",
                       state->fd, name);
        before = umask((mode_t)(0777 & ~mode));
        result = bind(fd, (const struct sockaddr *)&address, sizeof address);
        (void)umask(before);
        if (result == 0 && (mode & 0070) != 0)
                result = give_group(state, name);
        if (result < 0 || listen(fd, BACKLOG) < 0)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno, "listening on %.200s/%s",
                                state->path, name);
        l->fds[slot] = fd_take(&fd);
        return 0;
}

static int
address_read(const char *text, union address *ret, socklen_t *ret_len)
{
        const char *colon = strrchr(text, ':');
        bool is_v6 = text[0] == '[';
        char host[NAME_ROOM], *end;
        unsigned long port;
        size_t len = colon ? (size_t)(colon - text) : 0;

        if (len == 0 || len >= sizeof host || (is_v6 && (len < 3 || text[len - 1] != ']')))
                return -1;
        (void)snprintf(host, sizeof host, "%.*s", (int)(is_v6 ? len - 2 : len), text + is_v6);
        port = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || port > 65535)
                return -1;
        memset(ret, 0, sizeof *ret);
        if (is_v6) {
                ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
                                                 .sin6_port = htons((uint16_t)port) };
                *ret_len = sizeof ret->v6;
                return inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1 ? 0 : -1;
        }
        ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
        *ret_len = sizeof ret->v4;
        return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1 ? 0 : -1;
}

int
listeners_tcp(struct listeners *l, enum graph_slot slot, const char *option, const char *text,
              struct error *e)
{
        scoped_fd int fd = -1;
        union address a;
        socklen_t len = 0;
        int yes = 1;

        if (l->fds[slot] >= 0)
                return 0;
        if (address_read(text, &a, &len) < 0) {
                bool is_port = strlen(text) <= 5 && text[0] >= '1' && text[0] <= '9' &&
                               strspn(text, "0123456789") == strlen(text);

                (void)fail_at(e, ERROR_INVALID_ARGUMENT, option, NULL,
                              "%s needs ADDRESS:PORT, not \"%.64s\"", option, text);
                error_hint(e, "For example: %s 127.0.0.1:%s, or %s [::1]:0 for a free port.",
                           option, is_port ? text : "7070", option);
                return -1;
        }
        if (!is_loopback(&a)) {
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, option, "not_loopback",
                              "%s %.64s would be reached from other machines", option, text);
                error_hint(e, "Listen on 127.0.0.1 and put a proxy that speaks TLS in front.");
                return -1;
        }
        fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a socket");
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (bind(fd, &a.any, len) < 0 || listen(fd, BACKLOG) < 0) {
                (void)fail_sys(e, ERROR_INVALID_ARGUMENT, errno, "listening on %.64s", text);
                error_hint(e, "Choose another port; 0 takes one that is free.");
                return -1;
        }
        l->fds[slot] = fd_take(&fd);
        return 0;
}

/* -- after the start --------------------------------------------------------------------------- */

unsigned
listeners_port(const struct listeners *l, enum graph_slot slot)
{
        union address a = { .any = { .sa_family = AF_UNSPEC } };
        socklen_t len = sizeof a;

        if (l->fds[slot] < 0 || getsockname(l->fds[slot], &a.any, &len) < 0)
                return 0;
        return a.any.sa_family == AF_INET6  ? ntohs(a.v6.sin6_port)
               : a.any.sa_family == AF_INET ? ntohs(a.v4.sin_port)
                                            : 0;
}

void
listeners_url(const struct listeners *l, enum graph_slot slot, char out[64])
{
        union address a = { .any = { .sa_family = AF_UNSPEC } };
        socklen_t len = sizeof a;
        char host[INET6_ADDRSTRLEN] = "";

        out[0] = '\0';
        if (l->fds[slot] < 0 || getsockname(l->fds[slot], &a.any, &len) < 0)
                return;
        if (a.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof host))
                (void)snprintf(out, 64, "http://[%.40s]:%u", host, ntohs(a.v6.sin6_port));
        else if (a.any.sa_family == AF_INET &&
                 inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof host))
                (void)snprintf(out, 64, "http://%.40s:%u", host, ntohs(a.v4.sin_port));
}

void
listeners_fini(struct listeners *l, const struct state *state)
{
        for (int slot = 0; slot < SLOT_MAX; slot++) {
                if (l->fds[slot] < 0)
                        continue;
                if (names[slot].name && !l->is_given[slot] && state->fd >= 0)
                        (void)unlinkat(state->fd, names[slot].name, 0);
                (void)close(l->fds[slot]);
                l->fds[slot] = -1;
        }
}
