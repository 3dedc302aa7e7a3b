/*
 * policy/requirement_test.c - which requirements are understood.
 */
#include "policy/requirement.h"

#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"

static int
read_text(struct arena *a, const char *text, struct spec_approval_from *ret)
{
        const struct node *n;
        struct error e;

        arena_init(a, 1 << 20);
        assert_int_equal(yaml_read(a, text, strlen(text), 1, &text_limits_manifest, &n, &e), 0);
        return requirement_read(a, n, ret);
}

static void
reads_parties_and_actions(void **state)
{
        struct spec_approval_from r;
        struct arena a;

        (void)state;
        assert_int_equal(read_text(&a, "{kind: approval-from, principal: 'user://ann'}", &r), 0);
        assert_int_equal(r.parties.count, 1);
        assert_string_equal(r.parties.items[0], "user://ann");
        assert_int_equal(r.actions.count, 0);
        arena_fini(&a);
        assert_int_equal(read_text(&a,
                                   "{kind: approval-from, from: [ann, 'uid:7'], id: x, actions: "
                                   "['storage:*']}",
                                   &r),
                         0);
        assert_int_equal(r.parties.count, 2);
        assert_string_equal(r.parties.items[1], "uid:7");
        assert_string_equal(r.actions.items[0], "storage:*");
        arena_fini(&a);
}

/* G1: what is not understood never holds. */
static void
refuses_what_it_does_not_understand(void **state)
{
        static const char *const texts[] = {
                "{kind: approval, principal: ann}",
                "{principal: ann}",
                "{kind: approval-from}",
                "{kind: approval-from, principal: ann, from: bob}",
                "{kind: approval-from, principal: []}",
                "{kind: approval-from, principal: ''}",
                "{kind: approval-from, principal: 7}",
                "{kind: approval-from, principal: [ann, 7]}",
                "{kind: approval-from, principal: 'a b'}",
                "{kind: approval-from, principal: 'user://current'}",
                "{kind: approval-from, principal: ann, actions: []}",
                "{kind: approval-from, principal: ann, actions: {}}",
                "{kind: approval-from, principal: ann, unless: weekend}",
                "[approval-from, ann]",
                "approval-from",
                "{kind: approval-from, principal: [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q]}",
        };

        (void)state;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                struct spec_approval_from r;
                struct arena a;

                if (read_text(&a, texts[i], &r) == 0)
                        fail_msg("understood: %s", texts[i]);
                arena_fini(&a);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_parties_and_actions),
                cmocka_unit_test(refuses_what_it_does_not_understand),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
