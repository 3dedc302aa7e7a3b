/* api/ending_test.c - what api/ending.h promises. */
#include "api/ending.h"
#include "base/unit.h"

#include <string.h>

#include "api/operation.h"

static const struct {
        struct outcome outcome;
        const char *text;
} rows[] = {
        { { .word = OUTCOME_EXITED,
            .exit_code = 3,
            .duration_ms = 7,
            .cpu_ms = 5,
            .memory_peak_kb = 1024,
            .stdout_bytes = 10,
            .stderr_bytes = 2,
            .dropped_bytes = 1 },
          "{\"outcome\":\"exited\",\"exit_code\":3,\"duration_ms\":7,\"cpu_ms\":5,"
          "\"memory_peak_kb\":1024,\"stdout_bytes\":10,\"stderr_bytes\":2,\"dropped_bytes\":1}" },
        { { .word = OUTCOME_SIGNALED, .exit_code = -1, .signal = 11 },
          "{\"outcome\":\"signaled\",\"exit_code\":139,\"signal\":11,\"duration_ms\":0,\"cpu_ms\":"
          "0,"
          "\"memory_peak_kb\":0,\"stdout_bytes\":0,\"stderr_bytes\":0,\"dropped_bytes\":0}" },
        { { .word = OUTCOME_TIMED_OUT, .exit_code = -1, .signal = 9, .duration_ms = 30000 },
          "{\"outcome\":\"timed_out\",\"exit_code\":124,\"duration_ms\":30000,\"cpu_ms\":0,"
          "\"memory_peak_kb\":0,\"stdout_bytes\":0,\"stderr_bytes\":0,\"dropped_bytes\":0}" },
        { { .word = OUTCOME_EXITED, .exit_code = 1, .reached = OUTCOME_DISK | OUTCOME_PIDS },
          "{\"outcome\":\"exited\",\"exit_code\":1,\"duration_ms\":0,\"cpu_ms\":0,\"memory_peak_"
          "kb\":0,"
          "\"limits_reached\":[\"disk_mb\",\"pids\"],\"stdout_bytes\":0,\"stderr_bytes\":0,"
          "\"dropped_bytes\":0}" },
        { { .word = OUTCOME_EXITED,
            .sanitizes = SANITIZE_control | SANITIZE_secrets,
            .sanitized = { [SANITIZE_BIT_control] = 4, [SANITIZE_BIT_hidden] = 9 } },
          "{\"outcome\":\"exited\",\"exit_code\":0,\"duration_ms\":0,\"cpu_ms\":0,\"memory_peak_"
          "kb\":0,\"stdout_bytes\":0,\"stderr_bytes\":0,\"dropped_bytes\":0,"
          "\"sanitized\":{\"control\":4,\"secrets\":0}}" },
};

static void
assert_text(const struct outcome *o, const char *text)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        ending_write(&w, o);
        json_close_map(&w);
        assert_false(w.is_broken);
        assert_string_equal(w.text, text);
        json_fini(&w);
}

static void
an_ending_has_the_same_members_everywhere(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                unsigned char bytes[1024] __attribute__((aligned(16)));
                struct record_writer w;
                struct outcome back;

                assert_text(&rows[i].outcome, rows[i].text);
                record_init(&w, bytes, sizeof bytes);
                ending_record(&w, &rows[i].outcome);
                assert_false(w.is_broken);
                assert_true(ending_read(&(struct record){ w.bytes, w.len }, &back));
                assert_text(&back, rows[i].text);
        }
}

static void
the_order_is_that_of_the_operation(void **state)
{
        const struct api_type *all_members = &api_type_exec;
        struct outcome all = { .word = OUTCOME_SIGNALED,
                               .signal = 1,
                               .reached = OUTCOME_DISK,
                               .sanitizes = SANITIZE_ALL };
        struct json_writer w;

        (void)state;
        json_init(&w, false);
        json_open_map(&w);
        for (size_t i = 0; i < all_members->count; i++)
                (void)ending_write_member(&w, all_members->members[i].tag, &all);
        json_close_map(&w);
        assert_text(&all, w.text);
        json_fini(&w);
        assert_false(ending_write_member(&w, FIELD_STDOUT, &all));
}

static void
a_running_command_has_the_counters_alone(void **state)
{
        unsigned char bytes[256] __attribute__((aligned(16)));
        const struct outcome o = { .word = OUTCOME_LOST, .stdout_bytes = 4, .dropped_bytes = 3 };
        struct record_writer w;
        struct json_writer json;
        struct outcome back;

        (void)state;
        record_init(&w, bytes, sizeof bytes);
        ending_record_bytes(&w, &o);
        assert_false(ending_read(&(struct record){ w.bytes, w.len }, &back));
        assert_int_equal(back.word, OUTCOME_LOST);
        assert_int_equal(back.stdout_bytes, 4);
        assert_int_equal(back.dropped_bytes, 3);
        json_init(&json, false);
        json_open_map(&json);
        ending_write_bytes(&json, &o);
        json_close_map(&json);
        assert_string_equal(json.text,
                            "{\"stdout_bytes\":4,\"stderr_bytes\":0,\"dropped_bytes\":3}");
        json_fini(&json);
}

static void
what_this_version_does_not_know_is_lost(void **state)
{
        unsigned char bytes[256] __attribute__((aligned(16)));
        struct channel_end end = { .word = OUTCOME_MAX, .exit_code = 3, .stdout_bytes = 5 };
        struct record_writer w;
        struct outcome o = ending_of(&end);

        (void)state;
        assert_int_equal(o.word, OUTCOME_LOST);
        assert_int_equal(outcome_status(&o), 125);
        assert_int_equal(o.stdout_bytes, 5);
        record_init(&w, bytes, sizeof bytes);
        record_text(&w, FIELD_OUTCOME, "evaporated");
        assert_false(ending_read(&(struct record){ w.bytes, w.len }, &o));
        assert_int_equal(o.word, OUTCOME_LOST);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_ending_has_the_same_members_everywhere),
                cmocka_unit_test(the_order_is_that_of_the_operation),
                cmocka_unit_test(a_running_command_has_the_counters_alone),
                cmocka_unit_test(what_this_version_does_not_know_is_lost),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
