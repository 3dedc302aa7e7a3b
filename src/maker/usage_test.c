/* maker/usage_test.c - what maker/usage.h promises, with children of this test. */
#include "base/unit.h"
#include "maker/usage.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 16 << 20, SPUN_MS = 60 };

static void
spin(void)
{
        struct timespec t;

        do
                (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < SPUN_MS);
}

/* A child and a large grandchild. Both use the processor and report it through the pipe. */
static pid_t
start_family(int out)
{
        pid_t pid = fork();

        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (fork() == 0) {
                        volatile char *bytes = malloc(BYTES);

                        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                        for (size_t i = 0; bytes && i < BYTES; i += 4096)
                                bytes[i] = 1;
                        spin();
                        (void)!write(out, "x", 1);
                        (void)pause();
                }
                spin();
                (void)!write(out, "x", 1);
                (void)pause();
        }
        return pid;
}

static void
sees_the_whole_tree(void **state)
{
        struct usage u;
        char two[2];
        int ends[2];
        pid_t pid;

        (void)state;
        assert_int_equal(pipe(ends), 0);
        pid = start_family(ends[1]);
        assert_true(pid > 0);
        for (size_t got = 0; got < sizeof two; got++)
                assert_int_equal(read(ends[0], two, 1), 1);
        usage_look(getpid(), &u);
        /* of both processes; the kernel's ticks are coarse */
        assert_true(u.cpu_ns >= (uint64_t)SPUN_MS * 1000000);
        assert_true(u.peak_bytes >= BYTES);
        usage_look(pid, &u);
        assert_true(u.peak_bytes >= BYTES);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
}

static void
gives_zero_for_an_unknown_process(void **state)
{
        struct usage u = { 1, 1 };
        pid_t pid = fork();

        (void)state;
        if (pid == 0)
                _exit(0);
        (void)waitpid(pid, NULL, 0);
        usage_look(pid, &u);
        assert_true(u.cpu_ns == 0 && u.peak_bytes == 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(sees_the_whole_tree),
                                            cmocka_unit_test(gives_zero_for_an_unknown_process) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
