/* keeper/ended_test.c - promises of keeper/ended.h. */
#include "keeper/ended.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"

static struct ended all;

static void
the_cause_is_reported_to_the_owner_alone(void **state)
{
        struct error e;

        (void)state;
        memset(&all, 0, sizeof all);
        ended_add(&all, "00aa", "box", "anna", "deadline", 1000);
        assert_int_equal(ended_fail(&all, "anna", "box", 2500, &e), -1);
        assert_int_equal(e.code, ERROR_NOT_FOUND);
        assert_string_equal(e.reason, "deadline");
        assert_string_equal(e.message, "the sandbox box ended 1 s ago: its time was up");
        assert_int_equal(ended_fail(&all, "anna", "00aa", 10800 * 1000 + 1000, &e), -1);
        assert_string_equal(e.message, "the sandbox 00aa ended 3 h ago: its time was up");
        assert_int_equal(ended_fail(&all, "bert", "box", 2500, &e), -1);
        assert_string_equal(e.message, "there is no sandbox box");
        assert_string_equal(e.reason, "");
        assert_string_equal(e.hint, "");
        assert_int_equal(ended_fail(&all, "anna", "", 2500, &e), -1);
        assert_string_equal(e.message, "there is no sandbox ");
}

static void
the_newest_is_reported_and_the_oldest_forgotten(void **state)
{
        struct error e;
        char id[16];

        (void)state;
        memset(&all, 0, sizeof all);
        ended_add(&all, "old", "box", "anna", "deadline", 0);
        ended_add(&all, "new", "box", "anna", "stopped", 0);
        (void)ended_fail(&all, "anna", "box", 0, &e);
        assert_string_equal(e.reason, "stopped");
        for (unsigned i = 0; i < ENDED_MAX - 1; i++) {
                (void)snprintf(id, sizeof id, "%u", i);
                ended_add(&all, id, NULL, "anna", "an odd cause", 0);
        }
        (void)ended_fail(&all, "anna", "old", 0, &e);
        assert_string_equal(e.message, "there is no sandbox old");
        (void)ended_fail(&all, "anna", "new", 0, &e);
        assert_string_equal(e.reason, "stopped");
        (void)ended_fail(&all, "anna", "0", 0, &e);
        assert_string_equal(e.message, "the sandbox 0 ended 0 s ago: an odd cause");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_cause_is_reported_to_the_owner_alone),
                cmocka_unit_test(the_newest_is_reported_and_the_oldest_forgotten),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
