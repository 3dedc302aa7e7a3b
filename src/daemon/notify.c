/*
 * daemon/notify.c - reports the daemon's state to a service manager.
 *
 * Room: daemon (joining). Touches: one datagram socket, the environment.
 */
#include "daemon/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/scoped.h"

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_len;

void
notify_init(void)
{
        static const char name[] = "NOTIFY_SOCKET=";
        char *path = getenv("NOTIFY_SOCKET");
        size_t len = path ? strlen(path) : 0;

        if (len > 1 && len < sizeof address.sun_path && (path[0] == '/' || path[0] == '@')) {
                memcpy(address.sun_path, path, len);
                if (path[0] == '@') /* the abstract namespace */
                        address.sun_path[0] = '\0';
                address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
        }
        (void)unsetenv("NOTIFY_SOCKET");
        if (path) /* a fork's /proc/PID/environ shows it still */
                explicit_bzero(path - (sizeof name - 1), sizeof name - 1 + len);
}

void
notify(const char *state)
{
        scoped_fd int fd = -1;

        if (address_len == 0)
                return;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0)
                (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                             (const struct sockaddr *)&address, address_len);
}
