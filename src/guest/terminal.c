/*
 * guest/terminal.c - a pseudo-terminal of the box's own devpts.
 *
 * Room: guest (program). Touches: fd.
 */
#include "guest/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

static int
open_slave(int master)
{
        char path[32];
        int number, unlocked = 0, fd;

        /* By number, because the two C libraries use different types for a request. */
        if (syscall(SYS_ioctl, master, TIOCSPTLCK, &unlocked) < 0 ||
            syscall(SYS_ioctl, master, TIOCGPTN, &number) < 0)
                return -errno;
        (void)snprintf(path, sizeof path, "/dev/pts/%d", number);
        fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int
terminal_open(uint16_t rows, uint16_t columns, int *ret_master, int *ret_slave)
{
        struct winsize size = { .ws_row = rows, .ws_col = columns };
        int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        int slave;

        if (master < 0)
                return -errno;
        slave = open_slave(master);
        if (slave < 0) {
                (void)close(master);
                return slave;
        }
        if (rows > 0 && columns > 0)
                (void)ioctl(slave, TIOCSWINSZ, &size);
        *ret_master = master;
        *ret_slave = slave;
        return 0;
}
