/* base/write_all_test.c - what base/write_all.h promises. */
#include "base/write_all.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "base/unit.h"

enum { LEN = 1 << 22 }; /* more than a pipe holds */

static char sent[LEN], received[LEN];

static void
ignore(int number)
{
        (void)number;
}

static void *
take(void *fd)
{
        size_t got = 0;
        ssize_t part;

        while ((part = read(*(int *)fd, received + got, sizeof received - got)) > 0)
                got += (size_t)part;
        return NULL;
}

static void
every_byte_arrives_once_though_signals_interrupt(void **state)
{
        const struct sigaction action = { .sa_handler = ignore };
        const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
        sigset_t alarm;
        pthread_t reader;
        int ends[2];

        (void)state;
        for (size_t i = 0; i < sizeof sent; i++)
                sent[i] = (char)(i * 31 >> 8);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
        (void)sigemptyset(&alarm);
        (void)sigaddset(&alarm, SIGALRM);
        (void)pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* the reader inherits it */
        assert_int_equal(pthread_create(&reader, NULL, take, &ends[0]), 0);
        (void)pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
        (void)setitimer(ITIMER_REAL, &often, NULL);
        assert_int_equal(write_all(ends[1], sent, sizeof sent), 0);
        (void)setitimer(ITIMER_REAL, &never, NULL);
        (void)close(ends[1]);
        (void)pthread_join(reader, NULL);
        assert_memory_equal(sent, received, sizeof sent);
        (void)close(ends[0]);
}

static void
a_failure_is_its_errno(void **state)
{
        const struct sigaction unheard = { .sa_handler = SIG_IGN };
        int ends[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);

        (void)state;
        assert_int_equal(sigaction(SIGPIPE, &unheard, NULL), 0);
        assert_int_equal(write_all(full, "x", 1), -ENOSPC);
        assert_int_equal(write_all(full, "x", 0), 0);
        (void)close(full);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        (void)close(ends[0]);
        assert_int_equal(write_all(ends[1], "x", 1), -EPIPE);
        (void)close(ends[1]);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_byte_arrives_once_though_signals_interrupt),
                cmocka_unit_test(a_failure_is_its_errno),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
