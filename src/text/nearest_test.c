/* text/nearest_test.c - which words are similar, and which one of many is found. */
#include "text/nearest.h"

#include "base/unit.h"

static void
edits_are_counted(void **state)
{
        static const struct {
                const char *a, *b;
                size_t edits;
        } cases[] = {
                { "stop", "stop", 0 },
                { "STOP", "stop", 0 },
                { "sotp", "stop", 1 },
                { "creat", "create", 1 },
                { "creaate", "create", 1 },
                { "krill", "kill", 1 },
                { "craete", "create", 1 },
                { "--tmeuot", "--timeout", 2 },
                { "list", "ls", 2 },
                { "destroy", "create", 3 },
                { "", "ab", 2 },
                { "ca", "abc", 3 },
                { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 3 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (nearest_edits(cases[i].a, cases[i].b) != cases[i].edits ||
                    nearest_edits(cases[i].b, cases[i].a) != cases[i].edits)
                        fail_msg("%s, %s: %zu", cases[i].a, cases[i].b,
                                 nearest_edits(cases[i].a, cases[i].b));
}

static void
the_nearest_is_found(void **state)
{
        static const char *const known[] = { "run", "plan",   "exec",   "stop",
                                             "ls",  "create", "extend", "timeout_ms" };
        static const struct {
                const char *word, *found;
        } cases[] = {
                { "sotp", "stop" },
                { "exce", "exec" },
                { "rn", NULL },
                { "rub", "run" },
                { "l", NULL },
                { "extent", "extend" },
                { "xyzzy", NULL },
                { "crete", "create" },
                { "create_sandbox", NULL },
                { "timeout", "timeout_ms" },
                { "time", NULL },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct nearest n = nearest_begin(cases[i].word);

                for (size_t k = 0; k < sizeof known / sizeof *known; k++)
                        (void)nearest_try(&n, known[k], known[k]);
                if ((n.found == NULL) != (cases[i].found == NULL))
                        fail_msg("%s: %s", cases[i].word, n.found ? n.found : "(none)");
                if (n.found)
                        assert_string_equal(n.found, cases[i].found);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(edits_are_counted),
                                            cmocka_unit_test(the_nearest_is_found) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
