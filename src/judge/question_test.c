/*
 * judge/question_test.c - what a program that judges is asked, and that only its status 0 allows.
 */
#include "judge/question.h"

#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"
#include "wire/validator.h"

static struct arena arena;
static struct error e;

static const struct node *
rules(const char *text)
{
        const struct node *root = NULL;

        assert_int_equal(yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &root, &e),
                         0);
        return root;
}

static void
the_program_of_a_tool_is_found_by_each_of_its_names(void **state)
{
        const struct node *some = rules(
                "validators: {write_file: {program: {command: [/bin/true, x], timeout_ms: 7}}, "
                "shell: {cmd: {max_length: 3}}}");
        struct validator_program p;

        assert_int_equal(question_find(&arena, some, "file.write", &p, &e), 0);
        assert_int_equal(p.command.count, 2);
        assert_int_equal(p.timeout_ms, 7);
        assert_int_equal(p.memory_mb, VALIDATOR_PROGRAM_MB);
        assert_int_equal(question_find(&arena, some, "shell", &p, &e), 0);
        assert_int_equal(p.command.count, 0);
        assert_int_equal(question_find(&arena, NULL, "shell", &p, &e), 0);
        assert_int_equal(p.command.count, 0);
        some = rules("validators: {shell: {program: {command: [true]}}}");
        assert_int_equal(question_find(&arena, some, "shell", &p, &e), -1);
        assert_int_equal(e.code, ERROR_SCHEMA_INVALID);
}

static void
a_question_has_the_words_and_the_call(void **state)
{
        const char *const words[] = { "ls", "a b" }, *const env[] = { "A=hidden", "B" };
        const char *const command[] = { "/bin/true", "x" };
        const struct judge_request request = {
                .words = words, .word_count = 2, .variables = env, .variable_count = 2, .cwd = "/w"
        };
        const struct validator_program program = { { command, 2 }, 9, 8 };
        static const char json[] = "{\"tool\":\"shell\",\"arguments\":{\"cmd\":\"ls a b\",\"argv\":"
                                   "[\"ls\",\"a b\"],\"cwd\":\"/w\",\"env\":[\"A\",\"B\"]}}";
        struct wire_validate head;
        char out[512];
        size_t len = question_write(&arena, &program, &request, out, sizeof out, &e);

        memcpy(&head, out, sizeof head);
        assert_int_equal(len, sizeof head + head.words_len + head.json_len);
        assert_int_equal(head.timeout_ms, 9);
        assert_int_equal(head.memory_mb, 8);
        assert_int_equal(head.word_count, 2);
        assert_memory_equal(out + sizeof head, "/bin/true\0x", head.words_len);
        assert_int_equal(head.json_len, sizeof json - 1);
        assert_memory_equal(out + sizeof head + head.words_len, json, sizeof json - 1);
        for (size_t room = 0; room < len; room++)
                assert_int_equal(question_write(&arena, &program, &request, out, room, &e), 0);
        assert_string_equal(e.reason, "validator_failed");
}

static void
only_status_0_allows(void **state)
{
        static const struct {
                struct wire_validated told;
                const char *says;
                int result;
                const char *sentence;
        } rows[] = {
                { { VALIDATED_ENDED, 0 }, "no", 0, NULL },
                { { VALIDATED_ENDED, 1 }, "no\nmore", 1, "no" },
                { { VALIDATED_ENDED, 1 }, "", 1, "it gave no reason" },
                { { VALIDATED_ENDED, 123 }, "a\x1b[1mb\x7f", 1, "a?[1mb?" },
                { { VALIDATED_ENDED, 123 }, "a\xff", 1, "a" },
                { { VALIDATED_ENDED, 124 }, "", -1, "did not end in time" },
                { { VALIDATED_ENDED, 125 }, "", -1, "could not be run" },
                { { VALIDATED_ENDED, 127 }, "", -1, "could not be run" },
                { { VALIDATED_ENDED, 137 }, "", -1, "it was killed" },
                { { VALIDATED_ENDED, -1 }, "", -1, "was killed" },
                { { VALIDATED_LATE, 0 }, "", -1, "did not end in time" },
                { { VALIDATED_FLOOD, 0 }, "", -1, "4096 bytes" },
                { { VALIDATED_KILLED, 0 }, "", -1, "was killed" },
                { { 77, 0 }, "", -1, "was killed" },
        };
        char body[sizeof(struct wire_validated) + VALIDATE_OUTPUT_MAX + 1], sentence[256];

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                size_t len = strlen(rows[i].says);

                memcpy(body, &rows[i].told, sizeof rows[i].told);
                memcpy(body + sizeof rows[i].told, rows[i].says, len);
                assert_int_equal(question_answer_read("/bin/x", body, sizeof rows[i].told + len,
                                                      sentence, &e),
                                 rows[i].result);
                if (rows[i].result > 0)
                        assert_string_equal(sentence, rows[i].sentence);
                if (rows[i].result < 0) {
                        assert_non_null(strstr(e.message, rows[i].sentence));
                        assert_string_equal(e.reason, "validator_failed");
                }
        }
        memset(body, 0, sizeof body);
        assert_int_equal(question_answer_read("/bin/x", body, 7, sentence, &e), -1);
        assert_int_equal(question_answer_read("/bin/x", body, sizeof body, sentence, &e), -1);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_program_of_a_tool_is_found_by_each_of_its_names),
                cmocka_unit_test(a_question_has_the_words_and_the_call),
                cmocka_unit_test(only_status_0_allows),
        };
        int failed;

        arena_init(&arena, 1 << 20);
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        arena_fini(&arena);
        return failed;
}
