/*
 * run/terminal_test.c - a terminal is restored, and answers that arrived meanwhile are not left
 * to read (A34).
 */
#include "run/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"

static const char answer[] = "\033]lcat /etc/passwd\033\\\n";

static int
open_pair(int ret[2])
{
        const char *name;

        ret[0] = posix_openpt(O_RDWR | O_NOCTTY);
        name = ret[0] >= 0 && grantpt(ret[0]) == 0 && unlockpt(ret[0]) == 0 ? ptsname(ret[0])
                                                                            : NULL;
        ret[1] = name ? open(name, O_RDWR | O_NOCTTY) : -1;
        return ret[1] < 0 ? -1 : 0;
}

/* 0: restored, and no input waits. Otherwise the number of the check that failed. */
static int
show_and_restore(const int pair[2], int is_own)
{
        struct terminal_mode mode = { .is_raw = false };
        struct termios before, after;
        int waiting = -1;

        if (is_own && (setsid() < 0 || ioctl(pair[1], TIOCSCTTY, 0) < 0))
                return 1;
        if (tcgetattr(pair[1], &before) < 0)
                return 2;
        terminal_raw(&mode, pair[1]);
        terminal_show(&mode, "\033[21t", 5);
        if (!mode.is_raw || write(pair[0], answer, sizeof answer - 1) != sizeof answer - 1)
                return 3;
        /* the kernel passes it on later: a terminal that answers later than that is not of this
         * test */
        if (poll(&(struct pollfd){ pair[1], POLLIN, 0 }, 1, -1) != 1)
                return 3;
        terminal_restore(&mode);
        if (tcgetattr(pair[1], &after) < 0 || before.c_lflag != after.c_lflag ||
            before.c_iflag != after.c_iflag)
                return 4;
        return ioctl(pair[1], FIONREAD, &waiting) < 0 || waiting != 0 ? 5 : 0;
}

static void
an_answer_is_not_left_to_be_read(void **state)
{
        (void)state;
        for (int is_own = 0; is_own < 2; is_own++) {
                int pair[2], status = -1;
                pid_t pid;

                assert_int_equal(open_pair(pair), 0);
                pid = fork();
                if (pid == 0)
                        _exit(show_and_restore(pair, is_own));
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
                (void)close(pair[0]);
                (void)close(pair[1]);
        }
}

static const struct {
        const char *shown;
        bool may_answer;
} rows[] = {
        { "", false },
        { "plain text\r\n\ttabs \a\b", false },
        { "\033[1;31mred\033[0m", false },
        { "\033[38:2:1:2:3m", false },
        { "\033[2K\r\033[10A", false },
        { "\033[?25l50 %\033[?25h", false },
        { "\033[?1049h\033[H\033[2J\033[?1049l", false },
        { "\033(B\033[m", false },
        { "\0337\0338\033M\033c", false },
        { "caf\303\251", false },
        { "\005", true },
        { "\033[c", true },
        { "\033[>c", true },
        { "\033[6n", true },
        { "\033[?6n", true },
        { "\033[21t", true },
        { "\033[x", true },
        { "\033[>q", true },
        { "\033[?u", true },
        { "\033[?1$p", true },
        { "\033[?1004h", true },
        { "\033[?2048h", true },
        { "\033[?4m", true },
        { "\033[?25;1004h", true },
        { "\033]11;?\a", true },
        { "\033P$qm\033\\", true },
        { "\033_Gi=1\033\\", true },
        { "\033Z", true },
        { "\2336n", true },
        { "\033[\033[6n", true },
        { "\033\033[6n", true },
        { "\033[1\n6n", true },
};

/* The result does not depend on how the bytes are split. */
static void
only_what_may_be_answered_is_waited_for(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct terminal_mode whole = { .is_raw = false }, split = whole;
                size_t len = strlen(rows[i].shown);

                terminal_show(&whole, rows[i].shown, len);
                for (size_t at = 0; at < len; at++)
                        terminal_show(&split, rows[i].shown + at, 1);
                if (whole.may_answer != rows[i].may_answer ||
                    split.may_answer != rows[i].may_answer)
                        fail_msg("row %zu", i);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(an_answer_is_not_left_to_be_read),
                                            cmocka_unit_test(
                                                    only_what_may_be_answered_is_waited_for) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
