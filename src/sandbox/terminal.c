/*
 * sandbox/terminal.c - the caller's own terminal.
 *
 * Room: sandbox (joining). Touches: the caller's terminal.
 */
#include "sandbox/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

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

void
terminal_restore(struct terminal_mode *mode)
{
        if (mode->is_raw)
                (void)tcsetattr(mode->fd, TCSADRAIN, &mode->before);
        mode->is_raw = false;
}
