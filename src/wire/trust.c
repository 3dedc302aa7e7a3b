/*
 * wire/trust.c - who is at the other end of a unix socket.
 *
 * Room: wire (words). Touches: fd, the environment (CARREL_DAEMON_UID).
 * Theory: a name in the file system says nothing about who listens behind it: in /tmp anybody can
 * make it first. The kernel remembers who called listen().
 */
#include "wire/trust.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int
trust_peer_uid(int fd, uid_t *ret)
{
        struct ucred peer;
        socklen_t len = sizeof peer;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
                return -errno;
        *ret = peer.uid;
        return 0;
}

static bool
is_ours(uid_t peer)
{
        const char *text = getenv("CARREL_DAEMON_UID");
        char *end;
        unsigned long named;

        if (peer == geteuid() || peer == 0)
                return true;
        if (!text || *text < '0' || *text > '9')
                return false;
        errno = 0;
        named = strtoul(text, &end, 10);
        return *end == '\0' && errno == 0 && named == peer;
}

int
trust_check(int fd, const char *state, struct error *e)
{
        uid_t peer = (uid_t)-1;
        int sys = trust_peer_uid(fd, &peer);

        if (sys < 0)
                return fail_sys(e, ERROR_DAEMON_UNREACHABLE, -sys, "asking who listens in %.300s",
                                state);
        if (is_ours(peer))
                return 0;
        (void)fail_at(e, ERROR_DAEMON_UNREACHABLE, NULL, "untrusted",
                      "user %lu listens in %.300s, neither you nor root: nothing was sent",
                      (unsigned long)peer, state);
        error_hint(e,
                   "If you trust this user with all that you send, set CARREL_DAEMON_UID=%lu. Else "
                   "name your own daemon with --state DIR.",
                   (unsigned long)peer);
        return -1;
}
