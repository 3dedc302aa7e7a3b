/* maker/told_test.c - what maker/told.h promises. */
#include "maker/told.h"

#include <stdio.h>

#include "base/unit.h"

static void
a_find_is_reported_once_for_its_evidence(void **state)
{
        struct told t = { .count = 0 };
        struct wire_kept news = { .what = KEPT_REPOSITORY, .name = "/a/.git", .kept = "alias.x" };
        struct stat st = { .st_ino = 5, .st_ctim = { 7, 8 } };
        uint64_t evidence = told_mix(0, &st);

        (void)state;
        assert_false(told_before(&t, &news, evidence));
        assert_true(told_before(&t, &news, evidence));
        st.st_ctim.tv_nsec++;
        assert_false(told_before(&t, &news, told_mix(0, &st)));
        st.st_ino++;
        assert_false(told_before(&t, &news, told_mix(0, &st)));
        assert_false(told_before(&t, &news, told_mix(evidence, &st)));
        news.kept[0] = 'A';
        assert_false(told_before(&t, &news, evidence));
        news.name[1] = 'b';
        assert_false(told_before(&t, &news, evidence));
        news.what = KEPT_BARE;
        assert_false(told_before(&t, &news, evidence));
}

static void
a_full_list_forgets_nothing_and_hides_nothing(void **state)
{
        struct told t = { .count = 0 };
        struct wire_kept news = { .what = KEPT_BARE };

        (void)state;
        for (unsigned i = 0; i < TOLD_MAX + 2; i++) {
                (void)snprintf(news.name, sizeof news.name, "%u", i);
                assert_false(told_before(&t, &news, 0));
        }
        assert_false(told_before(&t, &news, 0));
        (void)snprintf(news.name, sizeof news.name, "0");
        assert_true(told_before(&t, &news, 0));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_find_is_reported_once_for_its_evidence),
                cmocka_unit_test(a_full_list_forgets_nothing_and_hides_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
