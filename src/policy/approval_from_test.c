/*
 * policy/approval_from_test.c - what a required approval makes wait, and who may give it.
 */
#include "policy/approval_from.h"

#include "base/unit.h"

static void
applies_to_operations_by_their_action(void **state)
{
        static const char *const execute[] = { "sandbox:execute" },
                                 *const egress[] = { "sandbox:network-egress" },
                                 *const files[] = { "storage:*" };
        static const struct {
                struct spec_names actions;
                size_t destinations;
                const char *operation;
                bool waits;
        } rows[] = {
                { { execute, 1 }, 0, "exec.start", true },
                { { execute, 1 }, 0, "network", false },
                { { execute, 1 }, 0, "file.write", false },
                { { egress, 1 }, 0, "network", true },
                { { egress, 1 }, 0, "exec.start", false },
                { { egress, 1 }, 1, "exec.start", true },
                { { egress, 1 }, 1, "file.read", false },
                { { files, 1 }, 0, "file.read", true },
                { { files, 1 }, 0, "file.remove", true },
                { { files, 1 }, 0, "exec.start", false },
                { { NULL, 0 }, 0, "exec.start", true },
                { { NULL, 0 }, 0, "file.move", true },
                { { NULL, 0 }, 0, "extend", false },
        };
        static const struct host_rules rules;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct spec_approval_from r = { .actions = rows[i].actions };
                const struct spec spec = { .egress_count = rows[i].destinations,
                                           .approval_from = &r,
                                           .approval_from_count = 1 };

                if (approval_from_waits(&spec, &rules, rows[i].operation) != rows[i].waits)
                        fail_msg("row %zu: %s", i, rows[i].operation);
        }
}

static void
names_who_may_answer(void **state)
{
        static const struct {
                const char *party, *owner;
                bool is_one;
        } rows[] = {
                { "*", "ann", true },
                { "ann", "ann", true },
                { "ann", "anna", false },
                { "user://ann", "ann", true },
                { "user://uid:7", "uid:7", false },
                { "uid:7", "uid:7", true },
                { "uid:7", "uid:77", false },
                { "operator://uid-7", "uid:7", true },
                { "operator://uid-7", "uid:70", false },
                { "operator://uid-7", "7", false },
                { "operator://me", "uid:1", true },
                { "operator://me", "uid:7", false },
                { "operator://me", "operator://you", false },
                { "bot://ann", "ann", false },
                { "", "ann", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (approval_from_names(rows[i].party, rows[i].owner, "operator://me", "uid:1") !=
                    rows[i].is_one)
                        fail_msg("%s, %s", rows[i].party, rows[i].owner);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(applies_to_operations_by_their_action),
                cmocka_unit_test(names_who_may_answer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
