/*
 * git/path_test.c - words lead within a workspace, or nowhere.
 */
#include "git/path.h"

#include <string.h>

#include "base/unit.h"

static void
words_lead_within_or_nowhere(void **state)
{
        static const struct {
                const char *root, *base, *words, *where;
        } rows[] = {
                { "/w", "", "a", "a" },
                { "/w", "a/b", "../c", "a/c" },
                { "/w", "a", "./b//c/", "a/b/c" },
                { "/w", "a", "../../c", NULL },
                { "/w", "a", "..", NULL },
                { "/w", "", ".", NULL },
                { "/w", "a", "/w/x/../y", "y" },
                { "/w", "a", "/w", NULL },
                { "/w", "a", "/wx/y", NULL },
                { "/w", "a", "/etc", NULL },
                { "/", "a", "/etc/x", "etc/x" },
                { "/w", "a", "../../w/b", NULL },
                { "/w", "", "1234567890123", "1234567890123" },
                { "/w", "", "12345678901234567", NULL },
        };
        char got[16];

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                bool leads = git_path_resolve(rows[i].root, rows[i].base, rows[i].words, got,
                                              sizeof got);

                if (leads != (rows[i].where != NULL) || (leads && strcmp(got, rows[i].where) != 0))
                        fail_msg("%s in %s of %s: %s", rows[i].words, rows[i].base, rows[i].root,
                                 leads ? got : "nowhere");
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(words_lead_within_or_nowhere) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
