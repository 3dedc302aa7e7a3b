/* spec/help_test.c - docs/FIELDS.md agrees with the tables. Run with --write to write the page. */
#include "spec/help.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"

/*
 * This file's path leads to the page, because tests run in the directory where they were compiled.
 */
static const char *
page_path(void)
{
        static char path[1024];
        const char *here = __FILE__, *end = strstr(here, "src/spec/help_test.c");

        (void)snprintf(path, sizeof path, "%.*sdocs/FIELDS.md", end ? (int)(end - here) : 0, here);
        return path;
}

static void
the_committed_page_is_the_tables(void **state)
{
        static char written[1 << 17];
        struct arena arena;
        const char *text;
        FILE *f = fopen(page_path(), "r");
        size_t len;

        (void)state;
        if (!f)
                fail_msg("%s cannot be read", page_path());
        len = fread(written, 1, sizeof written - 1, f);
        (void)fclose(f);
        written[len] = '\0';
        arena_init(&arena, 1 << 20);
        text = spec_help_text(&arena);
        assert_non_null(text);
        if (strcmp(text, written) != 0)
                fail_msg("%s is not what the tables say; run build-test/src/test-spec-help --write",
                         page_path());
        arena_fini(&arena);
}

static int
page_write(void)
{
        struct arena arena;
        const char *text;
        FILE *f = fopen(page_path(), "w");
        int result = -1;

        arena_init(&arena, 1 << 20);
        text = spec_help_text(&arena);
        if (f && text && fputs(text, f) >= 0)
                result = 0;
        if (f && fclose(f) != 0)
                result = -1;
        arena_fini(&arena);
        return result == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(the_committed_page_is_the_tables) };

        if (argc == 2 && strcmp(argv[1], "--write") == 0)
                return page_write();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
