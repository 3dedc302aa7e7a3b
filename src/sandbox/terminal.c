/*
 * sandbox/terminal.c - the caller's own terminal.
 *
 * Room: sandbox (joining). Touches: the caller's terminal, clock.
 * Theory: with -t the command speaks to the terminal itself, and the terminal answers some of what it is asked (its size, its name) as if it was typed. An answer
 * that comes after the command's end must not be read by the caller's shell (P14): who restores waits until the terminal is quiet, and discards what came.
 */
#include "sandbox/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock/clock.h"

enum { QUIET_MS = 50, DRAIN_MS = 500, ANSWER_ROOM = 512 };

void
terminal_size(int fd, uint16_t *ret_rows, uint16_t *ret_columns)
{
        struct winsize size;

        *ret_rows = *ret_columns = 0;
        if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) < 0)
                return;
        *ret_rows = size.ws_row;
        *ret_columns = size.ws_col;
}

void
terminal_raw(struct terminal_mode *mode, int fd)
{
        struct termios raw;

        if (tcgetattr(fd, &mode->before) < 0)
                return;
        raw = mode->before;
        cfmakeraw(&raw);
        if (tcsetattr(fd, TCSANOW, &raw) < 0)
                return;
        mode->fd = fd;
        mode->is_raw = true;
}

/* In the background reading would stop us. */
static void
drain(int fd)
{
        uint64_t until = clock_boot_ms() + DRAIN_MS;
        struct pollfd p = { fd, POLLIN, 0 };
        char answer[ANSWER_ROOM];

        if (tcgetpgrp(fd) != getpgrp())
                return;
        (void)tcdrain(fd);
        while (clock_boot_ms() < until && poll(&p, 1, QUIET_MS) > 0 && (p.revents & POLLIN) != 0 && read(fd, answer, sizeof answer) > 0)
                continue;
}

void
terminal_restore(struct terminal_mode *mode)
{
        if (mode->is_raw) {
                drain(mode->fd);
                (void)tcsetattr(mode->fd, TCSAFLUSH, &mode->before);
        }
        mode->is_raw = false;
}
