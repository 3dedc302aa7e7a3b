/* sandbox/run_test.c - what sandbox/run.h promises, with a scripted backend. */
#include "base/unit.h"
#include "sandbox/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/fake/fake.h"
#include "spec/spec.h"

static const struct step steps[] = {
        { STEP_SPAWN, 0, STEP_NO_SOURCE, 0, 0, "", "", 0, "" },
        { STEP_BIND, 0, 0, 0, 0, "/workspace", "/home/u", 7, "" },
        { STEP_FILTER, 0, STEP_NO_SOURCE, 0, 0, "", "", 0, "" },
};
static struct plan plan = { .id = "0123456789abcdef",
                            .steps = steps,
                            .step_count = 3,
                            .source_count = 1,
                            .cwd = "/",
                            .shell = "/bin/sh" };
static const char *const argv[] = { "true", "a" };
static const char *const envp[] = { "A=b" };

static struct run_options
options(void)
{
        plan.cpu = PLAN_CPU_GROUP;
        return (struct run_options){ .backend = &backend_fake,
                                     .plan = &plan,
                                     .argv = argv,
                                     .argc = 2,
                                     .envp = envp,
                                     .envc = 1,
                                     .cwd = "/",
                                     .captures = true,
                                     .in = -1,
                                     .out = -1,
                                     .err = -1,
                                     .timeout_ms = 20000,
                                     .cpu_ms = SPEC_UNSET,
                                     .output_bytes = SPEC_UNSET,
                                     .cpu_count = 1 };
}

static size_t
count_fds(void)
{
        DIR *list = opendir("/proc/self/fd");
        size_t count = 0;

        assert_non_null(list);
        while (readdir(list))
                count++;
        (void)closedir(list);
        return count;
}

/* -- the words --------------------------------------------------------------------------------- */

static void
interrupt_twice(unsigned turn)
{
        if (turn == 2)
                (void)raise(SIGINT);
        if (turn == 3)
                (void)raise(SIGTERM);
}

static void
pass_one_on(unsigned turn)
{
        if (turn == 2)
                (void)raise(SIGUSR1);
}

#define MS(n) ((uint64_t)(n)*1000000)

struct word_row {
        const char *what;
        struct fake_script script;
        uint64_t timeout_ms, cpu_ms; /* 0: none */
        enum plan_cpu counter;
        enum outcome_word word;
        int exit_code, signal, status;
        unsigned kills;
};

static const struct word_row words[] = {
        { "exited", { .end = FAKE_EXITED }, 0, 0, PLAN_CPU_NONE, OUTCOME_EXITED, 0, 0, 0, 0 },
        { "exited with a status",
          { .end = FAKE_EXITED, .number = 7 },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_EXITED,
          7,
          0,
          7,
          0 },
        { "signaled",
          { .end = FAKE_SIGNALED, .number = SIGSEGV },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_SIGNALED,
          -1,
          SIGSEGV,
          139,
          0 },
        { "a second end is not heard",
          { .end = FAKE_SIGNALED, .number = SIGSEGV, .ends_twice = true },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_SIGNALED,
          -1,
          SIGSEGV,
          139,
          0 },
        { "the guest's socket stays open",
          { .end = FAKE_EXITED, .number = 3, .closes_late = true },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_EXITED,
          3,
          0,
          3,
          0 },
        { "timed out",
          { .end = FAKE_NEVER_ENDS },
          1,
          0,
          PLAN_CPU_NONE,
          OUTCOME_TIMED_OUT,
          -1,
          0,
          124,
          1 },
        { "timed out before it started",
          { .end = FAKE_NEVER_ENDS, .never_starts = true },
          1,
          0,
          PLAN_CPU_NONE,
          OUTCOME_TIMED_OUT,
          -1,
          0,
          124,
          1 },
        { "out of memory",
          { .end = FAKE_SIGNALED, .number = SIGKILL, .oom_kills = 1 },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_OOM_KILLED,
          -1,
          SIGKILL,
          137,
          0 },
        { "a child was out of memory",
          { .end = FAKE_EXITED, .number = 1, .oom_kills = 1 },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_OOM_KILLED,
          -1,
          0,
          137,
          0 },
        { "out of memory, and well all the same",
          { .end = FAKE_EXITED, .oom_kills = 1 },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_EXITED,
          0,
          0,
          0,
          0 },
        { "pid 1 was out of memory",
          { .end = FAKE_SILENT, .oom_kills = 2 },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_OOM_KILLED,
          -1,
          0,
          137,
          0 },
        { "CPU time",
          { .end = FAKE_NEVER_ENDS, .cpu_step_ns = MS(60) },
          0,
          100,
          PLAN_CPU_GROUP,
          OUTCOME_CPU_LIMIT,
          -1,
          0,
          137,
          1 },
        { "CPU time of one process",
          { .end = FAKE_SIGNALED, .number = SIGXCPU },
          0,
          1000,
          PLAN_CPU_RLIMIT,
          OUTCOME_CPU_LIMIT,
          -1,
          SIGXCPU,
          137,
          0 },
        { "its own SIGXCPU",
          { .end = FAKE_SIGNALED, .number = SIGXCPU },
          0,
          1000,
          PLAN_CPU_GROUP,
          OUTCOME_SIGNALED,
          -1,
          SIGXCPU,
          128 + SIGXCPU,
          0 },
        { "killed by the second signal",
          { .end = FAKE_NEVER_ENDS, .on_turn = interrupt_twice },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_KILLED,
          -1,
          0,
          137,
          1 },
        { "another signal is passed on and ends nothing",
          { .end = FAKE_NEVER_ENDS, .on_turn = pass_one_on },
          5,
          0,
          PLAN_CPU_NONE,
          OUTCOME_TIMED_OUT,
          -1,
          0,
          124,
          1 },
        { "gone without a word",
          { .end = FAKE_SILENT },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_LOST,
          -1,
          0,
          125,
          0 },
        { "the maker is gone while it ran",
          { .end = FAKE_MAKER_LOST },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_LOST,
          -1,
          0,
          125,
          0 },
        { "the maker is gone and the guest is not",
          { .end = FAKE_MAKER_LOST, .closes_late = true },
          0,
          0,
          PLAN_CPU_NONE,
          OUTCOME_LOST,
          -1,
          0,
          125,
          0 },
};

static void
every_end_has_its_one_word(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                const struct word_row *row = &words[i];
                struct run_options o = options();
                struct run_result r;
                struct error e = { .code = ERROR_NONE };
                size_t before = count_fds();

                plan.cpu = row->counter;
                o.timeout_ms = row->timeout_ms ? row->timeout_ms : 20000;
                o.cpu_ms = row->cpu_ms ? row->cpu_ms : SPEC_UNSET;
                fake_play(&row->script);
                if (sandbox_run(&o, &r, &e) < 0)
                        fail_msg("%s: %s", row->what, e.message);
                if (r.outcome.word != row->word)
                        fail_msg("%s: %s", row->what, outcome_name(r.outcome.word));
                if (r.outcome.word == OUTCOME_EXITED && r.outcome.exit_code != row->exit_code)
                        fail_msg("%s: exit code %d", row->what, r.outcome.exit_code);
                if (r.outcome.signal != row->signal || outcome_status(&r.outcome) != row->status)
                        fail_msg("%s: signal %d, status %d", row->what, r.outcome.signal,
                                 outcome_status(&r.outcome));
                if (fake_record()->kills < row->kills || fake_record()->starts != 1 ||
                    fake_record()->closes != 1)
                        fail_msg("%s: %u starts, %u kills, %u closes", row->what,
                                 fake_record()->starts, fake_record()->kills,
                                 fake_record()->closes);
                run_result_fini(&r);
                if (count_fds() != before)
                        fail_msg("%s: descriptors stay open", row->what);
        }
}

static void
signals_reach_the_command(void **state)
{
        const struct fake_script script = { .end = FAKE_NEVER_ENDS, .on_turn = interrupt_twice };
        struct run_options o = options();
        struct run_result r;
        struct error e;

        (void)state;
        fake_play(&script);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        assert_int_equal(fake_record()->signal_count, 2);
        assert_int_equal(fake_record()->signals[0], SIGINT);
        assert_int_equal(fake_record()->signals[1], SIGTERM);
        run_result_fini(&r);
}

static void
the_counted_time_is_the_groups(void **state)
{
        static const struct {
                uint64_t cpu_ns, expected_ms;
        } rows[] = { { 0, 5 }, { MS(40), 40 } };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                const struct fake_script script = { .end = FAKE_EXITED, .cpu_ns = rows[i].cpu_ns };
                struct run_options o = options();
                struct run_result r;
                struct error e;

                fake_play(&script);
                assert_int_equal(sandbox_run(&o, &r, &e), 0);
                assert_int_equal(r.outcome.cpu_ms, rows[i].expected_ms);
                assert_int_equal(r.outcome.memory_peak_kb, 77);
                run_result_fini(&r);
        }
}

/* -- what never ran ---------------------------------------------------------------------------- */

struct failed_row {
        struct fake_script script;
        enum error_code code;
        const char *part;
};

static const struct failed_row failed[] = {
        { { .end = FAKE_EXEC_FAILED, .number = ENOENT, .stage = WIRE_STAGE_LOOKUP },
          ERROR_COMMAND_NOT_FOUND,
          "true" },
        { { .end = FAKE_EXEC_FAILED, .number = ENOTDIR, .stage = WIRE_STAGE_LOOKUP },
          ERROR_COMMAND_NOT_FOUND,
          "true" },
        { { .end = FAKE_EXEC_FAILED, .number = EACCES, .stage = WIRE_STAGE_LOOKUP },
          ERROR_COMMAND_NOT_EXECUTABLE,
          "Permission" },
        { { .end = FAKE_EXEC_FAILED, .number = ENOEXEC, .stage = WIRE_STAGE_LOOKUP },
          ERROR_COMMAND_NOT_EXECUTABLE,
          "format" },
        { { .end = FAKE_EXEC_FAILED, .number = ENOENT, .stage = WIRE_STAGE_DIRECTORY },
          ERROR_INVALID_ARGUMENT,
          "directory" },
        { { .end = FAKE_EXEC_FAILED, .number = EIO, .stage = WIRE_STAGE_TERMINAL },
          ERROR_BACKEND_FAILED,
          "terminal" },
        { { .end = FAKE_EXEC_FAILED, .number = EAGAIN, .stage = WIRE_STAGE_SPAWN },
          ERROR_QUOTA_EXCEEDED,
          "starting" },
        { { .end = FAKE_BOX_FAILED, .number = ESTALE, .step = 1 },
          ERROR_MOUNT_UNRESOLVABLE,
          "/workspace" },
        { { .end = FAKE_BOX_FAILED, .number = EINVAL, .step = 2 },
          ERROR_CAPABILITY_UNAVAILABLE,
          "filter" },
        { { .end = FAKE_BOX_FAILED, .number = EPROTO, .step = UINT32_MAX },
          ERROR_PROTOCOL,
          "plan" },
        { { .end = FAKE_MAKE_FAILED, .number = EPERM, .step = 0 },
          ERROR_CAPABILITY_UNAVAILABLE,
          "spawn" },
        { { .end = FAKE_MAKE_FAILED, .number = ENOSPC, .step = 1 }, ERROR_STORAGE_FULL, "bind" },
        { { .end = FAKE_MAKER_LOST, .never_starts = true }, ERROR_BACKEND_FAILED, "maker" },
        { { .end = FAKE_REFUSES }, ERROR_QUOTA_EXCEEDED, "refuses" },
};

static void
a_command_that_never_ran_has_a_reason(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof failed / sizeof *failed; i++) {
                struct run_options o = options();
                struct run_result r;
                struct error e = { .code = ERROR_NONE };
                size_t before = count_fds();

                fake_play(&failed[i].script);
                assert_int_equal(sandbox_run(&o, &r, &e), -1);
                if (e.code != failed[i].code || !strstr(e.message, failed[i].part))
                        fail_msg("row %zu: %s: %s", i, error_wire_name(e.code), e.message);
                assert_int_equal(count_fds(), before);
        }
}

static void
refuses_what_no_box_could_receive(void **state)
{
        static const struct fake_script script = { .end = FAKE_EXITED };
        struct run_options o = options();
        char *huge = calloc(1, WIRE_BODY_MAX + 1);
        const char *words_huge[1] = { huge };
        struct run_result r;
        struct error e;

        (void)state;
        memset(huge, 'x', WIRE_BODY_MAX);
        fake_play(&script);
        o.argc = 0;
        assert_int_equal(sandbox_run(&o, &r, &e), -1);
        assert_int_equal(e.code, ERROR_INVALID_ARGUMENT);
        o.argc = 1;
        o.argv = words_huge;
        assert_int_equal(sandbox_run(&o, &r, &e), -1);
        assert_int_equal(e.code, ERROR_INVALID_ARGUMENT);
        assert_int_equal(fake_record()->starts, 0);
        free(huge);
}

/* -- output ------------------------------------------------------------------------------------ */

static void
output_is_drained_after_the_end(void **state)
{
        const struct fake_script script = {
                .end = FAKE_EXITED, .out = "0123456789", .out_times = 1000, .err = "oops"
        };
        struct run_options o = options();
        struct run_result r;
        struct error e;

        (void)state;
        fake_play(&script);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        assert_int_equal(r.out_len, 10000);
        assert_memory_equal(r.out, "01234567890123", 14);
        assert_int_equal(r.err_len, 4);
        assert_memory_equal(r.err, "oops", 4);
        assert_true(r.outcome.stdout_bytes == 10000 && r.outcome.stderr_bytes == 4 &&
                    r.outcome.dropped_bytes == 0);
        assert_int_equal(fake_record()->fd_count, 3);
        assert_string_equal(fake_record()->first, "true");
        run_result_fini(&r);
}

static void
the_budget_holds_and_counts(void **state)
{
        static const struct {
                uint64_t budget;
                bool captures;
        } rows[] = { { 100, true }, { 100, false }, { 0, true }, { 9999, false } };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct fake_script script = { .end = FAKE_EXITED,
                                                    .out = "0123456789",
                                                    .out_times = 1000 };
                struct run_options o = options();
                struct run_result r;
                struct error e;
                int sink[2];
                char got[16384];

                assert_int_equal(pipe2(sink, O_CLOEXEC), 0);
                o.captures = rows[i].captures;
                o.out = o.err = sink[1];
                o.output_bytes = rows[i].budget;
                fake_play(&script);
                assert_int_equal(sandbox_run(&o, &r, &e), 0);
                (void)close(sink[1]);
                assert_int_equal(rows[i].captures ? (ssize_t)r.out_len
                                                  : read(sink[0], got, sizeof got),
                                 rows[i].budget);
                assert_int_equal(r.outcome.stdout_bytes, 10000);
                assert_int_equal(r.outcome.dropped_bytes, 10000 - rows[i].budget);
                (void)close(sink[0]);
                run_result_fini(&r);
        }
}

static void
a_reader_that_is_gone_ends_nothing(void **state)
{
        const struct fake_script script = {
                .end = FAKE_EXITED, .number = 5, .out = "0123456789", .out_times = 100
        };
        struct run_options o = options();
        struct run_result r;
        struct error e;
        int sink[2];

        (void)state;
        assert_int_equal(pipe2(sink, O_CLOEXEC), 0);
        (void)close(sink[0]);
        o.captures = false;
        o.out = o.err = sink[1];
        fake_play(&script);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        assert_int_equal(r.outcome.word, OUTCOME_EXITED);
        assert_int_equal(r.outcome.exit_code, 5);
        (void)close(sink[1]);
        run_result_fini(&r);
}

static void
the_caller_finds_its_signals_as_they_were(void **state)
{
        const struct fake_script script = { .end = FAKE_EXITED };
        struct run_options o = options();
        struct sigaction pipe_after;
        sigset_t before, after;
        struct run_result r;
        struct error e;

        (void)state;
        assert_int_equal(sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL), 0);
        assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &before), 0);
        fake_play(&script);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        run_result_fini(&r);
        assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &after), 0);
        for (int number = 1; number < 32; number++)
                assert_int_equal(sigismember(&before, number), sigismember(&after, number));
        assert_int_equal(sigaction(SIGPIPE, NULL, &pipe_after), 0);
        assert_true(pipe_after.sa_handler == SIG_DFL);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_end_has_its_one_word),
                cmocka_unit_test(signals_reach_the_command),
                cmocka_unit_test(the_counted_time_is_the_groups),
                cmocka_unit_test(a_command_that_never_ran_has_a_reason),
                cmocka_unit_test(refuses_what_no_box_could_receive),
                cmocka_unit_test(output_is_drained_after_the_end),
                cmocka_unit_test(the_budget_holds_and_counts),
                cmocka_unit_test(a_reader_that_is_gone_ends_nothing),
                cmocka_unit_test(the_caller_finds_its_signals_as_they_were),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
