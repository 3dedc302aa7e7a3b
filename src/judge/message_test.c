/*
 * judge/message_test.c - requests and answers survive the way, and nonsense denies.
 */
#include "judge/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/yaml.h"
#include "wire/judge.h"
#include "wire/record.h"

enum { ROOM = 200 * 1024 };

static _Alignas(8) unsigned char body[ROOM];

static void
a_request_is_read_as_it_was_written(void **state)
{
        static const char rules[] = "allow: [ls]\ndeny: [rm]\n";
        static const char *const words[] = { "ls", "", "a b" }, *const variables[] = { "A=1", "B" };
        struct judge_request r = { .rules_count = 1,
                                   .words = words,
                                   .word_count = 3,
                                   .variables = variables,
                                   .variable_count = 2 },
                             got;
        struct arena arena;
        struct error e;
        size_t len;

        (void)state;
        arena_init(&arena, 4 << 20);
        assert_int_equal(yaml_read(&arena, rules, sizeof rules - 1, 1, &text_limits_manifest,
                                   &r.rules[0], &e),
                         0);
        len = judge_request_write(&arena, &r, body, sizeof body, &e);
        assert_true(len > 0);
        assert_int_equal(judge_request_read(&arena, body, len, &got, &e), 0);
        assert_null(got.text);
        assert_int_equal(got.word_count, 3);
        assert_string_equal(got.words[1], "");
        assert_string_equal(got.words[2], "a b");
        assert_int_equal(got.variable_count, 2);
        assert_string_equal(got.variables[0], "A");
        assert_int_equal(got.rules_count, 1);
        assert_int_equal(got.rules[0]->len, 2);
        assert_int_equal(judge_request_write(&arena, &r, body, 64, &e), 0);
        assert_string_equal(e.reason, "limit");
        arena_fini(&arena);
}

static size_t
answer(enum command_verdict whole, enum command_verdict one, const char *reason, size_t list)
{
        struct judge_action a = { "rm", "/bin/rm", reason, "rm", one, list };

        return judgement_write(&(struct judgement){ whole, &a, 1, 0 }, body, sizeof body);
}

static void
nonsense_denies(void **state)
{
        struct record_writer w;
        struct judgement j;
        struct arena arena;
        struct error e;
        size_t list, len;

        (void)state;
        arena_init(&arena, 4 << 20);
        len = answer(COMMAND_DENY, COMMAND_DENY, "denied", 0);
        assert_int_equal(judgement_read(&arena, body, len, 1, &j, &list, &e), 0);
        assert_int_equal(j.verdict, COMMAND_DENY);
        assert_string_equal(j.actions[j.deciding].written, "/bin/rm");

        len = answer(COMMAND_ALLOW, COMMAND_DENY, "denied", 0);
        assert_int_equal(judgement_read(&arena, body, len, 1, &j, &list, &e), -1);
        assert_string_equal(e.reason, "judge_failed");
        assert_int_equal(e.code, ERROR_POLICY_DENIED);
        len = answer(COMMAND_DENY, COMMAND_DENY, "\033[31m", 0);
        assert_int_equal(judgement_read(&arena, body, len, 1, &j, &list, &e), -1);
        len = answer(COMMAND_DENY, COMMAND_DENY, "denied", 1);
        assert_int_equal(judgement_read(&arena, body, len, 1, &j, &list, &e), -1);
        assert_int_equal(judgement_read(&arena, body, 0, 1, &j, &list, &e), -1);
        memset(body, 0xff, 64);
        assert_int_equal(judgement_read(&arena, body, 64, 1, &j, &list, &e), -1);
        record_init(&w, body, sizeof body);
        record_uint(&w, JUDGE_ERROR, ERROR_MAX);
        assert_int_equal(judgement_read(&arena, body, w.len, 1, &j, &list, &e), -1);
        assert_string_equal(e.reason, "judge_failed");
        arena_fini(&arena);
}

static void
an_error_of_the_rules_has_its_place(void **state)
{
        struct judgement j;
        struct arena arena;
        struct error why, e;
        size_t list, len;

        (void)state;
        arena_init(&arena, 4 << 20);
        (void)fail_at(&why, ERROR_SCHEMA_INVALID, "deny", "type", "deny: wrong");
        why.line = 3;
        why.column = 9;
        len = judgement_write_error(1, &why, body, sizeof body);
        assert_int_equal(judgement_read(&arena, body, len, 2, &j, &list, &e), -1);
        assert_int_equal(list, 1);
        assert_int_equal(e.code, ERROR_SCHEMA_INVALID);
        assert_int_equal(e.line, 3);
        assert_string_equal(e.path, "deny");
        assert_string_equal(e.reason, "type");
        arena_fini(&arena);
}

static void
a_long_word_is_cut_between_characters(void **state)
{
        static const char sign[] = "\360\237\224\222"; /* four bytes */
        char word[JUDGE_SHOWN_MAX + 8];
        struct judge_action a = { word, word, "denied", word, COMMAND_DENY, 0 };
        struct judgement j;
        struct arena arena;
        struct error e;
        size_t list, len;

        (void)state;
        arena_init(&arena, 4 << 20);
        for (size_t cut = 0; cut < 4; cut++) {
                memset(word, 'a', sizeof word - 1);
                word[sizeof word - 1] = '\0';
                memcpy(word + JUDGE_SHOWN_MAX - cut, sign, 4);
                len = judgement_write(&(struct judgement){ COMMAND_DENY, &a, 1, 0 }, body,
                                      sizeof body);
                assert_int_equal(judgement_read(&arena, body, len, 1, &j, &list, &e), 0);
                assert_int_equal(strlen(j.actions[0].written), JUDGE_SHOWN_MAX - cut);
        }
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_request_is_read_as_it_was_written),
                cmocka_unit_test(nonsense_denies),
                cmocka_unit_test(an_error_of_the_rules_has_its_place),
                cmocka_unit_test(a_long_word_is_cut_between_characters),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
