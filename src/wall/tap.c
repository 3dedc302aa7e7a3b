/*
 * wall/tap.c - creates a tap device.
 *
 * Room: wall (words). Touches: /dev/net/tun, the network namespace it is called in.
 * Theory: the descriptor belongs to the namespace in which it was opened, and stays there whoever
 * holds it. So its holder reaches what this namespace answers, and nothing else.
 */
#include "wall/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

int
tap_open(const char *name)
{
        struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
        int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), result;

        if (fd < 0)
                return -errno;
        (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
        if (ioctl(fd, TUNSETIFF, &request) == 0)
                return fd;
        result = -errno;
        (void)close(fd);
        return result;
}
