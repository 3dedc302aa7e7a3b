/* outcome/outcome_test.c - what outcome/outcome.h promises. */
#include "base/unit.h"
#include "outcome/outcome.h"

#include <string.h>

struct word_row {
        enum outcome_word word;
        const char *name;
        enum error_code error;
        int status; /* -1: the exit status of the command itself */
};

static const struct word_row words[] = {
        { OUTCOME_EXITED, "exited", ERROR_NONE, -1 },
        { OUTCOME_SIGNALED, "signaled", ERROR_NONE, -1 },
        { OUTCOME_TIMED_OUT, "timed_out", ERROR_TIMEOUT, 124 },
        { OUTCOME_OOM_KILLED, "oom_killed", ERROR_OOM, 137 },
        { OUTCOME_CPU_LIMIT, "cpu_limit", ERROR_CPU_LIMIT, 137 },
        { OUTCOME_KILLED, "killed", ERROR_NONE, 137 },
        { OUTCOME_POLICY_KILLED, "policy_killed", ERROR_STORAGE_FULL, 137 },
        { OUTCOME_LOST, "lost", ERROR_BACKEND_FAILED, 125 },
};

static void
every_word_has_one_meaning(void **state)
{
        (void)state;
        assert_int_equal(sizeof words / sizeof *words, OUTCOME_MAX);
        for (size_t i = 0; i < OUTCOME_MAX; i++) {
                assert_int_equal(words[i].word, i);
                assert_string_equal(outcome_name(words[i].word), words[i].name);
                assert_true(strlen(outcome_help(words[i].word)) > 10);
                assert_int_equal(outcome_error(words[i].word), words[i].error);
                assert_int_equal(outcome_word_status(words[i].word), words[i].status);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(words[k].name, words[i].name);
        }
}

static const struct {
        struct outcome outcome;
        int status;
} statuses[] = {
        { { .word = OUTCOME_EXITED, .exit_code = 0 }, 0 },
        { { .word = OUTCOME_EXITED, .exit_code = 255 }, 255 },
        { { .word = OUTCOME_SIGNALED, .exit_code = -1, .signal = 1 }, 129 },
        { { .word = OUTCOME_SIGNALED, .exit_code = -1, .signal = 9 }, 137 },
        { { .word = OUTCOME_SIGNALED, .exit_code = -1, .signal = 64 }, 192 },
        { { .word = OUTCOME_TIMED_OUT, .exit_code = -1, .signal = 9 }, 124 },
        { { .word = OUTCOME_OOM_KILLED, .exit_code = -1, .signal = 9 }, 137 },
        { { .word = OUTCOME_CPU_LIMIT, .exit_code = -1, .signal = 24 }, 137 },
        { { .word = OUTCOME_KILLED, .exit_code = -1 }, 137 },
        { { .word = OUTCOME_POLICY_KILLED, .exit_code = -1 }, 137 },
        { { .word = OUTCOME_LOST, .exit_code = -1 }, 125 },
};

static void
a_status_is_the_commands_own_or_the_words(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
                if (outcome_status(&statuses[i].outcome) != statuses[i].status)
                        fail_msg("row %zu: %d, not %d", i, outcome_status(&statuses[i].outcome),
                                 statuses[i].status);
}

static void
a_word_is_found_by_its_name(void **state)
{
        (void)state;
        for (int word = 0; word < OUTCOME_MAX; word++)
                assert_int_equal(outcome_find(outcome_name((enum outcome_word)word)), word);
        assert_int_equal(outcome_find("event"), OUTCOME_MAX);
        assert_int_equal(outcome_find(""), OUTCOME_MAX);
        assert_int_equal(outcome_find(NULL), OUTCOME_MAX);
}

static void
an_error_goes_with_the_words_that_have_one(void **state)
{
        const struct time_limit limit = { 2000, TIME_LIMIT_CALL };

        (void)state;
        for (size_t i = 0; i < OUTCOME_MAX; i++) {
                struct outcome outcome = { .word = words[i].word };
                struct error e = { .code = ERROR_NONE };

                assert_int_equal(outcome_explain(&outcome, &limit, &e),
                                 words[i].error != ERROR_NONE);
                assert_int_equal(e.code, words[i].error);
                if (words[i].word == OUTCOME_TIMED_OUT)
                        assert_non_null(strstr(e.message, "2 s"));
                else if (words[i].error != ERROR_NONE)
                        assert_non_null(strstr(e.message, outcome_help(words[i].word)));
        }
}

static void
an_outer_time_limit_is_named_instead_of_the_commands_own(void **state)
{
        static const struct {
                unsigned reached;
                const char *message, *hint;
        } cases[] = {
                { OUTCOME_TASK_TIME, "timeout_ms of task.begin", "/tasks" },
                { OUTCOME_SANDBOX_TIME, "timeout_ms of create", "carrel extend ID" },
                { OUTCOME_PIDS, "timed out after 2 s", "--timeout" },
        };
        const struct time_limit limit = { 2000, TIME_LIMIT_CALL };
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct outcome outcome = { .word = OUTCOME_TIMED_OUT,
                                                 .reached = cases[i].reached };

                assert_true(outcome_explain(&outcome, &limit, &e));
                assert_int_equal(e.code, ERROR_TIMEOUT);
                assert_non_null(strstr(e.message, cases[i].message));
                assert_non_null(strstr(e.hint, cases[i].hint));
        }
}

static void
an_end_for_disk_mb_names_it_and_what_to_raise(void **state)
{
        const struct outcome outcome = { .word = OUTCOME_POLICY_KILLED, .reached = OUTCOME_DISK };
        const struct outcome full = { .word = OUTCOME_EXITED, .reached = OUTCOME_DISK };
        const struct time_limit limit = { 2000, TIME_LIMIT_CALL };
        struct error e;

        (void)state;
        assert_true(outcome_is_over_disk(&outcome));
        assert_false(outcome_is_over_disk(&full));
        assert_true(outcome_explain(&outcome, &limit, &e));
        assert_int_equal(e.code, ERROR_STORAGE_FULL);
        assert_non_null(strstr(e.message, "limits.disk_mb"));
        assert_non_null(strstr(e.hint, "Raise metadata.carrel.limits.disk_mb"));
}

static void
each_limit_has_words(void **state)
{
        const struct outcome_limit_words *l;
        unsigned seen = 0;

        (void)state;
        for (size_t i = 0; (l = outcome_limit_at(i)) != NULL; i++) {
                assert_int_equal(seen & l->limit, 0);
                seen |= l->limit;
                assert_non_null(strstr(l->sentence, l->name));
                assert_non_null(strstr(l->hint, l->name));
        }
        assert_int_equal(seen, OUTCOME_DISK | OUTCOME_PIDS | OUTCOME_OUTER_TIME);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_word_has_one_meaning),
                cmocka_unit_test(a_status_is_the_commands_own_or_the_words),
                cmocka_unit_test(a_word_is_found_by_its_name),
                cmocka_unit_test(an_outer_time_limit_is_named_instead_of_the_commands_own),
                cmocka_unit_test(an_end_for_disk_mb_names_it_and_what_to_raise),
                cmocka_unit_test(an_error_goes_with_the_words_that_have_one),
                cmocka_unit_test(each_limit_has_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
