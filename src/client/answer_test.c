/*
 * client/answer_test.c - any record can be converted to a struct; a missing required field is a
 * protocol error.
 */
#include "client/answer.h"

#include <string.h>

#include "api/operation.h"
#include "base/unit.h"

static _Alignas(8) unsigned char bytes[4096];

static struct record
finish(const struct record_writer *w)
{
        assert_false(w->is_broken);
        return (struct record){ bytes, w->len };
}

static struct record
sandbox(void)
{
        struct record_writer w;
        size_t mark;

        record_init(&w, bytes, sizeof bytes);
        record_text(&w, FIELD_ID, "abc");
        record_text(&w, FIELD_STATUS, "running");
        record_uint(&w, FIELD_CREATED_AT, 5);
        record_uint(&w, FIELD_PORTS, 80);
        record_text(&w, FIELD_PORTS, "not a port");
        record_uint(&w, FIELD_PORTS, 3000);
        record_uint(&w, FIELD_NAME, 7); /* wrong type: ignored */
        mark = record_open(&w, FIELD_WARNINGS);
        record_text(&w, FIELD_CODE, "limit_unenforceable");
        record_uint(&w, FIELD_LINE, 3);
        record_close(&w, mark);
        record_text(&w, 999, "of a later version");
        return finish(&w);
}

static void
a_sandbox_is_read(void **state)
{
        struct record r = sandbox();
        struct carrel_sandbox *s = answer_new(sizeof *s);
        struct error e;

        assert_int_equal(answer_read_sandbox(answer_arena(s), &r, s, &e), 0);
        assert_string_equal(s->id, "abc");
        assert_null(s->name);
        assert_int_equal(s->port_count, 2);
        assert_int_equal(s->ports[1], 3000);
        assert_true(s->remaining_ms == CARREL_NONE && s->delete_at_ms == CARREL_NONE);
        assert_int_equal(s->warning_count, 1);
        assert_string_equal(s->warnings[0].code, "limit_unenforceable");
        assert_string_equal(s->warnings[0].message, "");
        assert_int_equal(s->warnings[0].line, 3);
        carrel_free(s);
}

static void
what_must_be_there_is_asked_for(void **state)
{
        static const uint16_t lacking[] = { FIELD_ID, FIELD_STATUS };
        struct error e;

        for (size_t i = 0; i < 2; i++) {
                struct carrel_sandbox *s = answer_new(sizeof *s);
                struct record_writer w;
                struct record r;

                record_init(&w, bytes, sizeof bytes);
                record_text(&w, lacking[1 - i], "x");
                r = finish(&w);
                assert_int_equal(answer_read_sandbox(answer_arena(s), &r, s, &e), -1);
                assert_int_equal(e.code, ERROR_PROTOCOL);
                carrel_free(s);
        }
}

static void
exit_statuses_are_those_of_a_shell(void **state)
{
        static const struct {
                struct outcome o;
                const char *word;
                int exit_code, signal, status;
        } cases[] = {
                { { .word = OUTCOME_EXITED, .exit_code = 3 }, "exited", 3, 0, 3 },
                { { .word = OUTCOME_SIGNALED, .exit_code = 9, .signal = 15 },
                  "signaled",
                  -1,
                  15,
                  143 },
                { { .word = OUTCOME_TIMED_OUT, .signal = 9 }, "timed_out", -1, 0, 124 },
                { { .word = OUTCOME_OOM_KILLED }, "oom_killed", -1, 0, 137 },
                { { .word = OUTCOME_LOST }, "lost", -1, 0, 125 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct carrel_end end;

                answer_end(&cases[i].o, &end);
                assert_string_equal(end.outcome, cases[i].word);
                assert_int_equal(end.exit_code, cases[i].exit_code);
                assert_int_equal(end.signal, cases[i].signal);
                assert_int_equal(end.exit_status, cases[i].status);
        }
}

static void
an_exec_that_runs_has_no_end(void **state)
{
        struct carrel_exec_info *x = answer_new(sizeof *x);
        struct record_writer w;
        struct record r;
        struct error e;

        record_init(&w, bytes, sizeof bytes);
        record_uint(&w, FIELD_EXEC, 4);
        record_text(&w, FIELD_STATE, "running");
        record_uint(&w, FIELD_STDOUT_BYTES, 12);
        r = finish(&w);
        assert_int_equal(answer_read_exec(answer_arena(x), &r, x, &e), 0);
        assert_false(x->has_end);
        assert_null(x->end.outcome);
        assert_int_equal(x->end.stdout_bytes, 12);
        record_text(&w, FIELD_OUTCOME, "a word of a later version");
        r = finish(&w);
        assert_int_equal(answer_read_exec(answer_arena(x), &r, x, &e), 0);
        assert_false(x->has_end);
        carrel_free(x);
}

static void
errors_come_with_hint_and_status(void **state)
{
        struct carrel_error out;
        struct error e;

        (void)fail_at(&e, ERROR_NOT_FOUND, "id", NULL, "there is none");
        assert_int_equal(answer_fail(&out, &e), -1);
        assert_string_equal(out.code, "sandbox_not_found");
        assert_string_equal(out.hint, error_code_hint(ERROR_NOT_FOUND));
        assert_int_equal(out.exit_status, 126);
        assert_int_equal(answer_fail(NULL, &e), -1);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_sandbox_is_read),
                cmocka_unit_test(what_must_be_there_is_asked_for),
                cmocka_unit_test(exit_statuses_are_those_of_a_shell),
                cmocka_unit_test(an_exec_that_runs_has_no_end),
                cmocka_unit_test(errors_come_with_hint_and_status),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
