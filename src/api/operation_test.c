/*
 * api/operation_test.c - the table is complete, and calls are checked against it.
 */
#include "api/operation.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/unit.h"

static _Alignas(8) unsigned char bytes[1024];

static void
every_row_names_known_fields_once(void **state)
{
        const struct operation *o;
        size_t at = 0, count = 0;

        while ((o = operation_next(&at)) != NULL) {
                count++;
                assert_ptr_equal(operation(o->code), o);
                assert_ptr_equal(operation_find(o->name), o);
                for (size_t i = 0; i < o->param_count; i++) {
                        const struct api_field *f = api_field(o->params[i].tag);

                        assert_non_null(f);
                        if ((o->params[i].flags & PARAM_IN_PATH) != 0) {
                                char hole[64];
                                int len = snprintf(hole, sizeof hole, "{%s}", f->name);

                                assert_true(len > 0 && (size_t)len < sizeof hole);
                                assert_non_null(strstr(o->route, hole));
                        }
                        for (size_t j = 0; j < i; j++)
                                assert_int_not_equal(o->params[i].tag, o->params[j].tag);
                }
                assert_ptr_equal(operation(o->code), o);
                assert_int_equal(o->status != 0, o->route != NULL);
                assert_int_equal(o->status == 204,
                                 o->route && !o->result && (o->flags & OPERATION_RAW) == 0);
                assert_true(!o->item || o->result->members[0].tag == FIELD_ITEMS);
        }
        assert_int_equal(count, OPERATIONS_COUNT);
}

static void
every_type_has_known_members_once(void **state)
{
        const struct api_type *type;
        size_t at = 0, count = 0;

        while ((type = api_type_next(&at)) != NULL) {
                count++;
                if (type->nested != 0) {
                        assert_int_equal(api_field(type->nested)->type, FIELD_TYPE_NESTED);
                        assert_ptr_equal(api_type_nested(type->nested), type);
                }
                for (size_t i = 0; i < type->count; i++) {
                        uint16_t tag = type->members[i].tag;

                        assert_non_null(api_field(tag));
                        if (api_field(tag)->type == FIELD_TYPE_NESTED && tag != FIELD_ITEMS)
                                assert_non_null(api_type_nested(tag));
                        for (size_t j = 0; j < i; j++)
                                assert_int_not_equal(tag, type->members[j].tag);
                }
        }
        assert_true(count > 10);
        assert_null(api_type_nested(0));
}

/* A number without an upper bound could overflow when it is added or multiplied. */
static void
every_number_of_a_call_has_both_ends(void **state)
{
        const struct operation *o;
        size_t at = 0, count = 0;

        while ((o = operation_next(&at)) != NULL)
                for (size_t i = 0; i < o->param_count; i++) {
                        const struct api_param *p = &o->params[i];
                        enum field_type type = api_field(p->tag)->type;

                        if (type != FIELD_TYPE_UINT && type != FIELD_TYPE_INT)
                                continue;
                        count++;
                        if (p->max <= p->min || p->max > NUMBER_EXACT_MAX)
                                fail_msg("%s: %s", o->name, api_field(p->tag)->name);
                }
        assert_true(count > 20);
}

static int
check_one(enum operation_code code, void (*write)(struct record_writer *w), int is_door,
          struct error *e)
{
        struct record_writer w;
        struct record r;

        record_init(&w, bytes, sizeof bytes);
        write(&w);
        r = (struct record){ bytes, w.len };
        return operation_check(operation(code), &r, is_door, e);
}

static void
good_url(struct record_writer *w)
{
        record_text(w, FIELD_ID, "abc");
        record_uint(w, FIELD_PORT, 80);
}
static void
no_port(struct record_writer *w)
{
        record_text(w, FIELD_ID, "abc");
}
static void
port_too_large(struct record_writer *w)
{
        record_text(w, FIELD_ID, "abc");
        record_uint(w, FIELD_PORT, 65536);
}
static void
port_twice(struct record_writer *w)
{
        good_url(w);
        record_uint(w, FIELD_PORT, 81);
}
static void
port_as_text(struct record_writer *w)
{
        record_text(w, FIELD_ID, "abc");
        record_text(w, FIELD_PORT, "80");
}
static void
foreign_field(struct record_writer *w)
{
        good_url(w);
        record_text(w, FIELD_CWD, "/");
}
static void
door_field(struct record_writer *w)
{
        good_url(w);
        record_uint(w, FIELD_UID, 0);
}

static void
calls_are_held_to_their_row(void **state)
{
        static const struct {
                const char *reason;
                void (*write)(struct record_writer *w);
                int is_door, result;
        } rows[] = {
                { "", good_url, 0, 0 },
                { "missing", no_port, 0, -1 },
                { "range", port_too_large, 0, -1 },
                { "repeated", port_twice, 0, -1 },
                { "type", port_as_text, 0, -1 },
                { "unknown_field", foreign_field, 0, -1 },
                { "unknown_field", door_field, 0, -1 },
                { "", door_field, 1, 0 },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct error e = { .code = ERROR_NONE };

                assert_int_equal(check_one(OP_URL, rows[i].write, rows[i].is_door, &e),
                                 rows[i].result);
                if (rows[i].result < 0)
                        assert_string_equal(e.reason, rows[i].reason);
        }
}

static void
errors_travel(void **state)
{
        struct record_writer w;
        struct record r;
        struct error e, back;

        (void)fail_at(&e, ERROR_POLICY_DENIED, "policy", "sandbox:execute", "no grant");
        record_init(&w, bytes, sizeof bytes);
        api_error_write(&w, &e);
        r = (struct record){ bytes, w.len };
        assert_int_equal(record_check(&r), 0);
        api_error_read(&r, &back);
        assert_int_equal(back.code, e.code);
        assert_string_equal(back.path, e.path);
        assert_string_equal(back.reason, e.reason);
        assert_string_equal(back.message, e.message);
        assert_string_equal(back.hint, error_hint_text(&e));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_row_names_known_fields_once),
                cmocka_unit_test(every_type_has_known_members_once),
                cmocka_unit_test(every_number_of_a_call_has_both_ends),
                cmocka_unit_test(calls_are_held_to_their_row),
                cmocka_unit_test(errors_travel),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
