/*
 * client/answer_test.c - any record can be converted to a struct; a missing required field is a
 * protocol error.
 */
#include "client/answer.h"

#include <string.h>

#include "base/unit.h"
#include "client/call.h"
#include "client/record.h"

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
        record_text(&w, FIELD_MESSAGE, "not here");
        record_uint(&w, FIELD_LINE, 3);
        record_close(&w, mark);
        record_text(&w, 999, "of a later version");
        return finish(&w);
}

/* Reads a record as the answer of an operation. */
static int
read_as(enum operation_code op, const struct record *r, void *ret, struct error *e)
{
        return client_read(answer_shape_of(operation(op)), r, ret, e);
}

static void
a_sandbox_is_read(void **state)
{
        struct record r = sandbox(), kept;
        struct carrel_sandbox *s;
        struct error e;

        assert_int_equal(read_as(OP_GET, &r, &s, &e), 0);
        kept = client_record(s);
        assert_int_equal(kept.len, r.len);
        memset(bytes, 0, sizeof bytes); /* texts are not borrowed from the connection */
        assert_string_equal(s->id, "abc");
        assert_null(s->name);
        assert_int_equal(s->port_count, 2);
        assert_int_equal(s->ports[1], 3000);
        assert_true(s->remaining_ms == CARREL_NONE && s->delete_at_ms == CARREL_NONE);
        assert_int_equal(s->warning_count, 1);
        assert_string_equal(s->warnings[0].code, "limit_unenforceable");
        assert_string_equal(s->warnings[0].message, "not here");
        assert_null(s->warnings[0].path);
        assert_int_equal(s->warnings[0].line, 3);
        assert_int_equal(s->left.count, 0);
        carrel_free(s);
}

static void
what_must_be_there_is_asked_for(void **state)
{
        static const uint16_t given[][3] = { { FIELD_ID, FIELD_STATUS },
                                             { FIELD_ID, FIELD_CREATED_AT },
                                             { FIELD_STATUS, FIELD_CREATED_AT } };
        struct carrel_sandbox *s;
        struct error e;

        for (size_t i = 0; i < 3; i++) {
                struct record_writer w;
                struct record r;

                record_init(&w, bytes, sizeof bytes);
                for (size_t j = 0; j < 2; j++)
                        if (given[i][j] == FIELD_CREATED_AT)
                                record_uint(&w, given[i][j], 1);
                        else
                                record_text(&w, given[i][j], "x");
                r = finish(&w);
                assert_int_equal(read_as(OP_GET, &r, &s, &e), -1);
                assert_int_equal(e.code, ERROR_PROTOCOL);
        }
}

/* Members that the library reads in another way, or not at all. */
static bool
is_left_out(const struct api_type *type, uint16_t tag)
{
        static const uint16_t of_exec[] = {
                FIELD_OUTCOME,      FIELD_EXIT_CODE,   FIELD_SIGNAL,         FIELD_DURATION,
                FIELD_CPU,          FIELD_MEMORY_PEAK, FIELD_LIMITS_REACHED, FIELD_STDOUT_BYTES,
                FIELD_STDERR_BYTES, FIELD_DROPPED,                     /* ending_read() */
                FIELD_STDOUT,       FIELD_STDERR,                      /* the channel */
                FIELD_DENIED,       FIELD_DENIED_MORE, FIELD_SANITIZED /* ending_read() */
        };

        for (size_t i = 0; type == &api_type_exec && i < sizeof of_exec / sizeof *of_exec; i++)
                if (of_exec[i] == tag)
                        return true;
        return tag == FIELD_NEXT_CURSOR; /* the library asks for whole lists */
}

static bool
has_row(const struct answer_shape *shape, uint16_t tag)
{
        for (size_t i = 0; i < shape->count; i++)
                if (shape->members[i].tag == tag)
                        return true;
        return false;
}

static void
every_member_of_an_answer_is_read(void **state)
{
        const struct answer_shape *shape;
        size_t at = 0, count = 0;

        while ((shape = answer_shape_next(&at)) != NULL) {
                size_t own = 0;

                for (size_t i = 0; i < shape->type->count; i++) {
                        uint16_t tag = shape->type->members[i].tag;

                        if (has_row(shape, tag) == is_left_out(shape->type, tag))
                                fail_msg("%s of shape %zu", api_field(tag)->name, at);
                        own += has_row(shape, tag);
                }
                assert_int_equal(own, shape->count); /* and no other */
                count++;
        }
        assert_true(count > 10);
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
        struct carrel_exec_info *x;
        struct record_writer w;
        struct record r;
        struct error e;

        record_init(&w, bytes, sizeof bytes);
        record_uint(&w, FIELD_EXEC, 4);
        record_text(&w, FIELD_STATE, "running");
        record_uint(&w, FIELD_STDOUT_BYTES, 12);
        r = finish(&w);
        assert_int_equal(read_as(OP_EXEC_GET, &r, &x, &e), 0);
        assert_false(x->has_end);
        assert_null(x->end.outcome);
        assert_int_equal(x->end.stdout_bytes, 12);
        carrel_free(x);
        record_text(&w, FIELD_OUTCOME, "a word of a later version");
        r = finish(&w);
        assert_int_equal(read_as(OP_EXEC_GET, &r, &x, &e), 0);
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
                cmocka_unit_test(every_member_of_an_answer_is_read),
                cmocka_unit_test(exit_statuses_are_those_of_a_shell),
                cmocka_unit_test(an_exec_that_runs_has_no_end),
                cmocka_unit_test(errors_come_with_hint_and_status),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
