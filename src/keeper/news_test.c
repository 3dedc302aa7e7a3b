/* keeper/news_test.c - keeps the last events, within two bounds, by number. */
#include "keeper/news.h"

#include <string.h>

#include "base/unit.h"

static void
the_last_ones_are_kept_by_number(void **state)
{
        struct news *n = news_new();

        assert_null(news_at(n, 1));
        for (uint64_t i = 1; i <= 3 * NEWS_COUNT_MAX; i++) {
                news_add(n, i % 2 == 0 ? "even" : "odd", &i, sizeof i);
                assert_int_equal(n->next, i + 1);
        }
        assert_int_equal(n->first, 2 * NEWS_COUNT_MAX + 1);
        for (uint64_t i = 0; i <= 3 * NEWS_COUNT_MAX + 1; i++) {
                const struct news_item *item = news_at(n, i);

                assert_true((item != NULL) == (i > 2 * NEWS_COUNT_MAX && i <= 3 * NEWS_COUNT_MAX));
                if (!item)
                        continue;
                assert_memory_equal(item->body, &i, sizeof i);
                assert_string_equal(item->id, i % 2 == 0 ? "even" : "odd");
        }
        news_free(n);
}

static void
long_ones_push_out_more(void **state)
{
        static const char half[NEWS_BYTES_MAX / 2];
        struct news *n = news_new();

        for (int i = 0; i < 10; i++)
                news_add(n, "a", "x", 1);
        news_add(n, "a", half, sizeof half);
        assert_int_equal(n->next - n->first, 11);
        news_add(n, "a", half, sizeof half);
        assert_int_equal(n->next - n->first, 2);
        assert_int_equal(n->bytes, NEWS_BYTES_MAX);
        news_add(n, "a", "x", 1);
        assert_int_equal(n->next - n->first, 2);
        assert_int_equal(n->bytes, NEWS_BYTES_MAX / 2 + 1);
        news_free(n);
        news_free(NULL);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(the_last_ones_are_kept_by_number),
                                            cmocka_unit_test(long_ones_push_out_more) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
