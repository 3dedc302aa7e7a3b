/* prepare/language_test.c - what prepare/language.h promises. */
#include "base/unit.h"
#include "prepare/language.h"

#include <stdio.h>
#include <string.h>

static const struct runtime items[] = {
        { "node", "24.1.0", "/opt/node-24/bin/node", "/opt/node-24" },
        { "node", "18.20.4", "/usr/bin/node", NULL },
        { "python", "3.11.2", "/usr/bin/python3.11", NULL },
        { "perl", "5.36.0", "/usr/bin/perl", NULL },
};
static const struct runtimes found = { items, sizeof items / sizeof *items }, nothing = { NULL, 0 };
static const struct language_place place = { .found = &found },
                                   with_node24 = { .found = &found, .chosen = &items[0] },
                                   bare = { .found = &nothing },
                                   with_tools = { .found = &nothing, .has_tools = true },
                                   in_image = { .found = &found, .is_image = true };

static char room[LANGUAGE_CODE_ROOM];

/* The words, joined by "|". */
static const char *
joined(const char *language, const char *code, const struct language_place *p, struct error *e)
{
        static char text[512];
        const char *words[LANGUAGE_WORDS_MAX];
        size_t count, used = 0;

        if (language_words(language, code, p, room, words, &count, e) < 0)
                return error_wire_name(e->code);
        for (size_t i = 0; i < count; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? "|" : "",
                                         words[i]);
        return text;
}

static void
chooses_the_words(void **state)
{
        static const struct {
                const char *language, *code;
                const struct language_place *place;
                const char *words;
        } cases[] = {
                { "python", "print(1)", &place, "python3|-c|print(1)" },
                { "py", "-1", &place, "python3|-c|-1" },
                { "python3", "", &place, "python3|-c|" },
                { "javascript", "1", &place, "node|-e|1" },
                { "node", "-1", &place, "node|-e| -1" },
                { "js", "1", &with_node24, "node|-e|1" },
                { "typescript", "1", &place, "runtime_unknown" },
                { "ts", "1", &with_node24,
                  "node|--experimental-strip-types|--disable-warning=ExperimentalWarning|"
                  "--input-type=module-typescript|-e|1" },
                { "shell", "-x", &bare, "sh|-c| -x" },
                { "sh", "ls", &bare, "sh|-c|ls" },
                { "bash", "ls", &bare, "runtime_unknown" },
                { "bash", "ls", &with_tools, "bash|-c|ls" },
                { "ruby", "1", &in_image, "ruby|-e|1" },
                { "typescript", "1", &in_image,
                  "node|--experimental-strip-types|--disable-warning=ExperimentalWarning|"
                  "--input-type=module-typescript|-e|1" },
                { "typescript", "1", &with_tools, "runtime_unknown" },
                { "perl", "1", &place, "perl|-e|1" },
                { "ruby", "1", &place, "runtime_unknown" },
                { "cobol", "1", &place, "invalid_argument" },
                { "", "1", &place, "invalid_argument" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct error e;

                assert_string_equal(joined(cases[i].language, cases[i].code, cases[i].place, &e),
                                    cases[i].words);
        }
}

static void
a_refusal_lists_the_languages_that_are_inside(void **state)
{
        struct error e;

        (void)state;
        (void)joined("ruby", "1", &place, &e);
        assert_string_equal(e.path, "language");
        assert_string_equal(e.reason, "missing");
        assert_string_equal(e.hint, "The sandbox has javascript, python, shell, perl.");
        (void)joined("cobol", "1", &bare, &e);
        assert_string_equal(e.reason, "unknown_language");
        assert_string_equal(e.hint, "The sandbox has shell.");
        (void)joined("pyhton", "1", &bare, &e);
        assert_string_equal(e.hint, "Did you mean python? The sandbox has shell.");
        (void)joined("ts", "1", &place, &e);
        assert_non_null(strstr(e.hint, "node 22.13 or newer"));
}

static void
a_word_has_at_most_128_kib(void **state)
{
        static char code[LANGUAGE_CODE_MAX + 2];
        const char *words[LANGUAGE_WORDS_MAX];
        struct error e;
        size_t count;

        (void)state;
        memset(code, '-', LANGUAGE_CODE_MAX);
        assert_int_equal(language_words("js", code, &place, room, words, &count, &e), 0);
        assert_int_equal(strlen(words[count - 1]), LANGUAGE_CODE_MAX + 1);
        assert_true(strlen(words[count - 1]) < 128 * 1024);
        code[LANGUAGE_CODE_MAX] = '-';
        assert_int_equal(language_words("js", code, &place, room, words, &count, &e), -1);
        assert_int_equal(e.code, ERROR_REQUEST_TOO_LARGE);
}

static void
knows_a_file(void **state)
{
        static const struct {
                const char *name, *code, *language;
        } cases[] = {
                { "a.py", "", "python" },
                { "/x.y/a.js", "", "javascript" },
                { "a.mts", "", "typescript" },
                { "a.rb", "#!/bin/sh", "ruby" },
                { "run", "#!/bin/sh\nls", "shell" },
                { "run", "#! /usr/bin/env python3\n", "python" },
                { "run", "#!/usr/bin/env", NULL },
                { "run", "#!", NULL },
                { "x.d/run", "ls", NULL },
                { NULL, "#!/usr/bin/perl -w", "perl" },
                { "a.txt", "print(1)", NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const char *language = language_of_file(cases[i].name, cases[i].code);

                assert_int_equal(!language, !cases[i].language);
                if (language)
                        assert_string_equal(language, cases[i].language);
        }
        assert_true(language_uses("ts", "deno"));
        assert_true(language_uses(NULL, "perl"));
        assert_false(language_uses("python", "node"));
        assert_false(language_uses(NULL, "java"));
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(chooses_the_words),
                cmocka_unit_test(a_refusal_lists_the_languages_that_are_inside),
                cmocka_unit_test(a_word_has_at_most_128_kib),
                cmocka_unit_test(knows_a_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
