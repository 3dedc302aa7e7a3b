/* manifest/frontmatter_test.c - what manifest/frontmatter.h promises. */
#include "base/unit.h"
#include "manifest/frontmatter.h"

#include <stdlib.h>
#include <string.h>

#define BYTES(text) (text), sizeof(text) - 1

static void
finds_the_text_between_the_dashes(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                const char *text, *reason;
        } cases[] = {
                { BYTES("---\na: 1\n---\nbody\n"), "a: 1\n", NULL },
                { BYTES("---\r\na: 1\r\n---\r\nbody"), "a: 1\r\n", NULL },
                { BYTES("---  \na: 1\n--- \t"), "a: 1\n", NULL },
                { BYTES("---\n---\n"), "", NULL },
                { BYTES("---\na: 1\n---\nb: 2\n---\n"), "a: 1\n", NULL },
                { BYTES("---\na: |\n  ---\n---\n"), "a: |\n  ---\n", NULL },
                { BYTES("---\na: 1\n----\n--- x\n---"), "a: 1\n----\n--- x\n", NULL },
                { BYTES(""), NULL, "no_frontmatter" },
                { BYTES("# My sandbox\n"), NULL, "no_frontmatter" },
                { BYTES("\n---\na: 1\n---\n"), NULL, "no_frontmatter" },
                { BYTES(" ---\na: 1\n---\n"), NULL, "no_frontmatter" },
                { BYTES("----\na: 1\n---\n"), NULL, "no_frontmatter" },
                { BYTES("--- # c\na: 1\n---\n"), NULL, "no_frontmatter" },
                { BYTES("---\0\na: 1\n---\n"), NULL, "no_frontmatter" },
                { BYTES("--"), NULL, "no_frontmatter" },
                { BYTES("---"), NULL, "unterminated_frontmatter" },
                { BYTES("---\nschema: sandbox/v1\nprovider: local\n"), NULL,
                  "unterminated_frontmatter" },
                { BYTES("---\na: 1\n ---\n"), NULL, "unterminated_frontmatter" },
                { BYTES("---\na: 1\n---\0"), NULL, "unterminated_frontmatter" },
                { BYTES("\xef\xbb\xbf---\na: 1\n---\n"), NULL, "yaml" },
                { BYTES("\xff\xfe-\0-\0-\0"), NULL, "yaml" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                char *exact = malloc(cases[i].len > 0 ? cases[i].len : 1);
                struct frontmatter front = { 0 };
                struct error e = { 0 };
                int result;

                assert_non_null(exact);
                memcpy(exact, cases[i].bytes, cases[i].len);
                result = frontmatter_find(exact, cases[i].len, &front, &e);
                if (cases[i].text) {
                        if (result != 0)
                                fail_msg("%s: %s", cases[i].bytes, e.message);
                        assert_int_equal(front.len, strlen(cases[i].text));
                        assert_memory_equal(front.text, cases[i].text, front.len);
                        assert_int_equal(front.first_line, 2);
                } else {
                        if (result == 0 || strcmp(e.reason, cases[i].reason) != 0)
                                fail_msg("%s: %s", cases[i].bytes, e.reason);
                        assert_int_equal(e.code, ERROR_MANIFEST_SYNTAX);
                        assert_int_equal(e.line, 1);
                }
                free(exact);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_the_text_between_the_dashes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
