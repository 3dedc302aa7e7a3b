/* api/event_record_test.c - an event survives its record, and has the same members as JSON. */
#include "api/event_record.h"

#include <string.h>

#include "api/operation.h"
#include "base/unit.h"

static const struct outcome end = {
        .word = OUTCOME_EXITED, .exit_code = 3, .cpu_ms = 7, .stdout_bytes = 5
};

/* One of each kind, with every member of its row. */
static struct event
full(enum event_kind kind)
{
        struct event e = { .kind = kind,
                           .word = event_row(kind)->word ? event_row(kind)->word : "turn-end",
                           .from = { .at_ms = 9, .id = "a", .status = "running" } };

#define SET_TEXT(member) #member
#define SET_UINT(member) EVENT_HAS_##member + 1
#define SET_ENDING(member) &end
#define MEMBER(TAG, member, TYPE)                                       \
        if ((event_row(kind)->members & 1u << EVENT_HAS_##member) != 0) \
                e.member = SET_##TYPE(member);
#include "event/event.def"
        return e;
}

static void
same_text(const char *a, const char *b)
{
        assert_true((a == NULL) == (b == NULL));
        if (a)
                assert_string_equal(a, b);
}

static void
same_end(const struct outcome *a, const struct outcome *b)
{
        assert_true((a == NULL) == (b == NULL));
        if (!a)
                return;
        assert_int_equal(a->word, b->word);
        assert_int_equal(a->exit_code, b->exit_code);
        assert_int_equal(a->cpu_ms, b->cpu_ms);
        assert_int_equal(a->stdout_bytes, b->stdout_bytes);
}

static void
each_kind_survives_its_record(void **state)
{
        _Alignas(8) unsigned char bytes[4096];

        for (int kind = 0; kind < EVENT_KINDS; kind++) {
                struct event e = full((enum event_kind)kind), got;
                struct record_writer w;
                struct outcome read;

                record_init(&w, bytes, sizeof bytes);
                event_record(&w, &e);
                assert_false(w.is_broken);
                assert_int_equal(event_record_read(&(struct record){ bytes, w.len }, &got, &read),
                                 0);
                assert_int_equal(got.kind, e.kind);
                assert_string_equal(got.word, e.word);
                assert_int_equal(got.from.at_ms, 9);
                same_text(got.from.id, "a");
                same_text(got.from.cause, NULL);
#define SAME_TEXT(member) same_text(got.member, e.member);
#define SAME_UINT(member) assert_int_equal(got.member, e.member);
#define SAME_ENDING(member) same_end(got.member, e.member);
#define MEMBER(TAG, member, TYPE) SAME_##TYPE(member)
#include "event/event.def"
        }
}

static void
a_record_without_a_word_is_no_event(void **state)
{
        _Alignas(8) unsigned char bytes[64];
        struct record_writer w;
        struct outcome read;
        struct event got;

        record_init(&w, bytes, sizeof bytes);
        record_uint(&w, FIELD_AT, 1);
        assert_int_equal(event_record_read(&(struct record){ bytes, w.len }, &got, &read), -1);
}

/* The operation's row lists every member, so that OpenAPI and the clients know it. */
static void
each_member_is_documented(void **state)
{
        const struct operation *o = operation(OP_WATCH);
        _Alignas(8) unsigned char bytes[4096];

        for (int kind = 0; kind < EVENT_KINDS; kind++) {
                struct event e = full((enum event_kind)kind);
                struct record_entry entry;
                struct record_writer w;
                size_t at = 0;

                record_init(&w, bytes, sizeof bytes);
                event_record(&w, &e);
                while (record_next(&(struct record){ bytes, w.len }, &at, &entry) > 0) {
                        size_t i = 0;

                        while (i < o->result->count && o->result->members[i].tag != entry.tag)
                                i++;
                        assert_true(i < o->result->count);
                }
        }
}

static void
json_has_what_the_record_has(void **state)
{
        struct event e = event_exec_ended((struct event_exec_ended){ .exec = 2, .end = &end });
        struct json_writer w;

        e.from = (struct event_source){ .at_ms = 5, .id = "x", .status = "running" };
        json_init(&w, false);
        json_open_map(&w);
        event_json(&w, &e);
        json_close_map(&w);
        assert_false(w.is_broken);
        assert_non_null(strstr(w.text, "{\"event\":\"exec-ended\",\"at_ms\":5,\"id\":\"x\","
                                       "\"status\":\"running\",\"exec\":2,\"outcome\":\"exited\","
                                       "\"exit_code\":3,"));
        json_fini(&w);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_kind_survives_its_record),
                cmocka_unit_test(a_record_without_a_word_is_no_event),
                cmocka_unit_test(each_member_is_documented),
                cmocka_unit_test(json_has_what_the_record_has),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
