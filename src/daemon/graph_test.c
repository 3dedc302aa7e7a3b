/* daemon/graph_test.c - promises of daemon/graph.h. */
#include "base/unit.h"
#include "daemon/graph.h"

#include <stdlib.h>
#include <string.h>

/* Of the launcher: no program of its own. */
static bool
is_fork(int process)
{
        return process == PROCESS_FETCHER || process == PROCESS_RECORDER ||
               process == PROCESS_FILES || process == PROCESS_VALIDATORS;
}

static void
every_process_is_described(void **state)
{
        (void)state;
        for (int p = 0; p < PROCESS_MAX; p++) {
                const struct graph_process_row *row = graph_process((enum graph_process)p);

                assert_true(row->name && *row->name && row->purpose && *row->purpose &&
                            row->started_by && row->keeps && row->closes);
                assert_int_equal(p < PROCESS_CHILDREN, strcmp(row->started_by, "launcher") == 0);
                assert_true(p >= PROCESS_CHILDREN ||
                            (row->program && (row->image == PROGRAM_MAX) == is_fork(p)));
        }
}

/* Each descriptor from the launcher needs an option that names it; only one may have none. */
static void
every_descriptor_has_an_option(void **state)
{
        unsigned nameless[PROCESS_MAX] = { 0 };
        const struct graph_link_row *link;

        (void)state;
        for (size_t i = 0; (link = graph_link_at(i)) != NULL; i++) {
                assert_true(link->kind && *link->kind && link->says && *link->says &&
                            link->from < PROCESS_MAX && link->to < PROCESS_MAX);
                if (link->slot == SLOT_ELSEWHERE)
                        continue;
                assert_true(link->to < PROCESS_CHILDREN);
                assert_true(link->slot != SLOT_PAIR || link->from < PROCESS_CHILDREN);
                nameless[link->to] += link->to_option == NULL;
                if (link->slot == SLOT_PAIR)
                        nameless[link->from] += link->from_option == NULL;
        }
        for (int p = 0; p < PROCESS_MAX; p++)
                assert_true(nameless[p] <= 1);
}

static void
is_printed_both_ways(void **state)
{
        (void)state;
        for (int is_json = 0; is_json < 2; is_json++) {
                char *text = NULL;
                size_t len = 0;
                FILE *out = open_memstream(&text, &len);

                assert_non_null(out);
                assert_int_equal(graph_print(out, is_json), 0);
                assert_int_equal(fclose(out), 0);
                for (int p = 0; p < PROCESS_MAX; p++)
                        assert_non_null(strstr(text, graph_process((enum graph_process)p)->name));
                free(text);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_process_is_described),
                cmocka_unit_test(every_descriptor_has_an_option),
                cmocka_unit_test(is_printed_both_ways),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
