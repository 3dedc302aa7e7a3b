/*
 * bridge/message_test.c - each kind of message is read, and everything else is refused by name.
 */
#include "bridge/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

static int
read_text(struct arena *arena, const char *text, struct bridge_message *m, struct error *e)
{
        arena_init(arena, BRIDGE_ARENA_MAX);
        return bridge_message_read(arena, text, strlen(text), m, e);
}

static void
each_kind_is_read(void **state)
{
        struct bridge_message m;
        struct arena arena;
        struct error e;

        assert_int_equal(read_text(&arena,
                                   "{\"kind\":\"hello\",\"protocol\":1,\"name\":\"x\","
                                   "\"abilities\":[\"stdin\",\"files\"]}",
                                   &m, &e),
                         0);
        assert_int_equal(m.kind, BRIDGE_HELLO);
        assert_int_equal(m.abilities, 1u << BRIDGE_CAN_STDIN | 1u << BRIDGE_CAN_FILES);
        arena_fini(&arena);
        assert_int_equal(read_text(&arena,
                                   "{\"kind\":\"output\",\"id\":7,\"stream\":\"stderr\","
                                   "\"data\":\"aGk=\"}",
                                   &m, &e),
                         0);
        assert_true(m.id == 7 && m.is_stderr && m.len == 2 && memcmp(m.data, "hi", 2) == 0);
        arena_fini(&arena);
        assert_int_equal(read_text(&arena, "{\"kind\":\"exited\",\"id\":7,\"signal\":9}", &m, &e),
                         0);
        assert_true(m.status == -1 && m.signal == 9);
        arena_fini(&arena);
        assert_int_equal(read_text(&arena,
                                   "{\"kind\":\"error\",\"id\":1,\"code\":\"auth\","
                                   "\"message\":\"no key\"}",
                                   &m, &e),
                         0);
        assert_true(m.code == BRIDGE_CODE_AUTH && strcmp(m.text, "no key") == 0);
        arena_fini(&arena);
        (void)state;
}

static void
what_breaks_the_form_is_refused_by_name(void **state)
{
        static const struct {
                const char *line, *reason;
        } cases[] = {
                { "", "json" },
                { "not json", "json" },
                { "[1]", "unknown_kind" },
                { "{}", "unknown_kind" },
                { "{\"kind\":\"dance\",\"id\":1}", "unknown_kind" },
                { "{\"kind\":\"started\"}", "missing" },
                { "{\"kind\":\"started\",\"id\":0}", "range" },
                { "{\"kind\":\"started\",\"id\":-1}", "range" },
                { "{\"kind\":\"started\",\"id\":\"1\"}", "range" },
                { "{\"kind\":\"started\",\"id\":1,\"pid\":4}", "unknown_field" },
                { "{\"kind\":\"started\",\"id\":1,\"id\":1}", "json" },
                { "{\"kind\":\"exited\",\"id\":1}", "missing" },
                { "{\"kind\":\"exited\",\"id\":1,\"status\":0,\"signal\":9}", "missing" },
                { "{\"kind\":\"exited\",\"id\":1,\"status\":256}", "range" },
                { "{\"kind\":\"exited\",\"id\":1,\"signal\":65}", "range" },
                { "{\"kind\":\"output\",\"id\":1,\"stream\":\"both\",\"data\":\"aGk=\"}", "range" },
                { "{\"kind\":\"output\",\"id\":1,\"stream\":\"stdout\",\"data\":\"a\"}", "range" },
                { "{\"kind\":\"output\",\"id\":1,\"stream\":\"stdout\",\"data\":\"\"}", "range" },
                { "{\"kind\":\"error\",\"id\":1,\"code\":\"odd\",\"message\":\"x\"}", "range" },
                { "{\"kind\":\"reply\",\"id\":1,\"result\":[]}", "range" },
                { "{\"kind\":\"credit\",\"id\":1,\"bytes\":0}", "range" },
                { "{\"kind\":\"hello\",\"protocol\":1,\"name\":\"x\",\"abilities\":[\"fly\"]}",
                  "range" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct bridge_message m;
                struct arena arena;
                struct error e;

                if (read_text(&arena, cases[i].line, &m, &e) == 0 ||
                    strcmp(e.reason, cases[i].reason) != 0 || e.code != ERROR_PROTOCOL)
                        fail_msg("%s", cases[i].line);
                arena_fini(&arena);
        }
}

static void
output_has_a_bound(void **state)
{
        static const char head[] =
                "{\"kind\":\"output\",\"id\":1,\"stream\":\"stdout\",\"data\":\"";
        size_t len = BRIDGE_DATA_MAX / 3 * 4 + 8;
        char *line = calloc(1, len + 128);
        struct bridge_message m;
        struct arena arena;
        struct error e;

        (void)state;
        assert_non_null(line);
        memcpy(line, head, sizeof head);
        memset(line + sizeof head - 1, 'A', len);
        memcpy(line + sizeof head - 1 + len, "\"}", 3);
        assert_int_equal(read_text(&arena, line, &m, &e), -1);
        assert_string_equal(e.reason, "range");
        arena_fini(&arena);
        free(line);
}

static void
what_is_written_is_one_line(void **state)
{
        struct json_writer w;

        (void)state;
        json_init(&w, false);
        bridge_begin(&w, "stdin", 3);
        bridge_member_data(&w, "data", "a\nb", 3);
        bridge_end(&w);
        assert_string_equal(w.text, "{\"kind\":\"stdin\",\"id\":3,\"data\":\"YQpi\"}");
        json_fini(&w);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_kind_is_read),
                cmocka_unit_test(what_breaks_the_form_is_refused_by_name),
                cmocka_unit_test(output_has_a_bound),
                cmocka_unit_test(what_is_written_is_one_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
