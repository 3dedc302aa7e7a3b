/*
 * run/terminal.c - the caller's own terminal.
 *
 * Room: run (joining). Touches: the caller's terminal, clock.
 * Theory: with -t the command writes to the terminal directly, and the terminal answers some
 * queries (its size, its name) as if typed. The caller's shell must not read an answer that arrives
 * after the command's end (P14). So restoring waits until the terminal is quiet, and discards its
 * input. It waits only if the terminal received something that it could answer: any control
 * sequence except those known to have no answer.
 *
 *     TEXT --ESC--> ESCAPE --[--> SEQUENCE --?--> PRIVATE        each back to TEXT with the byte
 * that ends it
 */
#include "run/terminal.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock/clock.h"

enum { QUIET_MS = 50, DRAIN_MS = 500, ANSWER_ROOM = 512, NUMBER_MAX = 1000000 };
enum place { TEXT, ESCAPE, SEQUENCE, PRIVATE };

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

static bool
is_one_of(const char *bytes, char c)
{
        return c != '\0' && strchr(bytes, c);
}

/*
 * Modes that change the display: wrapping, the cursor, the alternate screen, pasting. Other modes
 * make some terminals report at once.
 */
static bool
is_silent_mode(uint32_t number)
{
        return number == 1 || number == 7 || number == 12 || number == 25 || number == 1049 ||
               number == 2004;
}

/* The state after this byte; `*ret_asks` is set if this byte may complete a query. */
static enum place
step(struct terminal_mode *mode, char c, bool *ret_asks)
{
        static const char silent[] = "ABCDEFGHIJKLMPSTXZ@`abdefghlmrs";
        enum place place = mode->place;

        if (place == TEXT) {
                /* ENQ, and C1 bytes that replace ESC and another byte */
                *ret_asks = is_one_of("\005\220\230\232\233\235\236\237", c);
                return c == '\033' ? ESCAPE : TEXT;
        }
        if (place == ESCAPE) {
                *ret_asks = is_one_of("PXZ]^_\033", c);
                mode->number = 0;
                return c == '[' ? SEQUENCE : c >= 0x20 && c <= 0x2f ? ESCAPE : TEXT;
        }
        if (place == SEQUENCE && c == '?' && mode->number == 0)
                return PRIVATE;
        if (c >= '0' && c <= '9') {
                mode->number = mode->number < NUMBER_MAX ? mode->number * 10 + (uint32_t)(c - '0')
                                                         : NUMBER_MAX;
                return place;
        }
        if (place == SEQUENCE && (c == ';' || c == ':'))
                return SEQUENCE;
        *ret_asks = place == SEQUENCE ? !is_one_of(silent, c)
                                      : c != 'l' && (c != 'h' || !is_silent_mode(mode->number));
        return TEXT;
}

void
terminal_show(struct terminal_mode *mode, const char *bytes, size_t len)
{
        bool asks = !bytes;

        for (size_t i = 0; !asks && !mode->may_answer && i < len; i++)
                mode->place = (uint8_t)step(mode, bytes[i], &asks);
        mode->may_answer = mode->may_answer || asks;
}

/* In the background, reading would stop this process. */
static void
drain(int fd)
{
        uint64_t until = clock_boot_ms() + DRAIN_MS;
        struct pollfd p = { fd, POLLIN, 0 };
        char answer[ANSWER_ROOM];

        if (tcgetpgrp(fd) != getpgrp())
                return;
        (void)tcdrain(fd);
        while (clock_boot_ms() < until && poll(&p, 1, QUIET_MS) > 0 && (p.revents & POLLIN) != 0 &&
               read(fd, answer, sizeof answer) > 0)
                continue;
}

void
terminal_restore(struct terminal_mode *mode)
{
        if (mode->is_raw) {
                if (mode->may_answer || mode->place != TEXT)
                        drain(mode->fd);
                mode->may_answer = false;
                (void)tcsetattr(mode->fd, TCSAFLUSH, &mode->before);
        }
        mode->is_raw = false;
}
