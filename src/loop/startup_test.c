/* loop/startup_test.c - what loop/startup.h promises: what is not in the table is refused. */
#include "loop/startup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/unit.h"

struct given {
        int socket, other;
        int more[2];
        size_t more_count;
        uint64_t number;
        const char *text;
        bool flag;
};

static const struct startup_option rows[] = {
        STARTUP_ROW(struct given, socket, "--socket-fd", STARTUP_FD, 1),
        STARTUP_ROW(struct given, other, "--other-fd", STARTUP_FD, 0),
        STARTUP_LIST(struct given, more, more_count, "--more-fd", STARTUP_FD, 2),
        { "--number", STARTUP_NUMBER, 0, offsetof(struct given, number), 4096, 0, 0 },
        STARTUP_ROW(struct given, text, "--text", STARTUP_TEXT, 0),
        STARTUP_ROW(struct given, flag, "--flag", STARTUP_FLAG, 0),
};

/* "@" is an open descriptor. Returns what startup_read() does. */
static int
read_line(const char *line, int open_fd, struct given *ret, struct error *e)
{
        static char text[256];
        char *argv[32] = { (char *)(uintptr_t) "program" }, fd[16];
        int argc = 1;

        (void)snprintf(fd, sizeof fd, "%d", open_fd);
        (void)snprintf(text, sizeof text, "%s", line);
        for (char *word = text; *word != '\0'; word += strspn(word, " ")) {
                argv[argc++] = *word == '@' ? fd : word;
                word += strcspn(word, " ");
                if (*word != '\0')
                        *word++ = '\0';
        }
        *ret = (struct given){ .socket = -1, .other = -1 };
        return startup_read(rows, sizeof rows / sizeof *rows, argc, argv, ret, e);
}

static void
what_is_listed_is_read(void **state)
{
        int fd = dup(0);
        struct given g;
        struct error e;

        (void)state;
        assert_int_equal(
                read_line("--flag --socket-fd @ --more-fd @ --number 4096 --more-fd @ --text a", fd,
                          &g, &e),
                0);
        assert_int_equal(g.socket, fd);
        assert_int_equal(g.other, -1);
        assert_int_equal(g.more_count, 2);
        assert_int_equal(g.more[1], fd);
        assert_int_equal(g.number, 4096);
        assert_string_equal(g.text, "a");
        assert_true(g.flag);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        (void)close(fd);
}

static void
all_else_is_refused(void **state)
{
        static const struct {
                const char *line, *message;
        } cases[] = {
                { "", "--socket-fd is missing" },
                { "--socket-fd", "--socket-fd has no value" },
                { "--socket-fd @ --socket-fd @", "--socket-fd is given too often" },
                { "--socket-fd @ --more-fd @ --more-fd @ --more-fd @",
                  "--more-fd is given too often" },
                { "--socket-fd @ --door-fd @", "--door-fd is unknown" },
                { "--socket-fd @ word", "word is unknown" },
                { "--socket-fd 0", "--socket-fd is no number of a descriptor" },
                { "--socket-fd -1", "--socket-fd is no number of a descriptor" },
                { "--socket-fd 3x", "--socket-fd is no number of a descriptor" },
                { "--socket-fd 99999999999", "--socket-fd is no number of a descriptor" },
                { "--socket-fd 900", "--socket-fd is no open descriptor" },
                { "--socket-fd @ --number 4097", "--number is no number, or too large" },
                { "--socket-fd @ --number +1", "--number is no number, or too large" },
                { "--socket-fd @ --text", "--text has no value" },
                { "--socket-fd @ --flag --flag", "--flag is given too often" },
        };
        int fd = dup(0);

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct given g;
                struct error e;

                assert_int_equal(read_line(cases[i].line, fd, &g, &e), -1);
                assert_int_equal(e.code, ERROR_INVALID_ARGUMENT);
                assert_string_equal(e.message, cases[i].message);
        }
        (void)close(fd);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_listed_is_read),
                cmocka_unit_test(all_else_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
