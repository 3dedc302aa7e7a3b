/* spec/reference_test.c - the three forms of a reference, and texts that are not references. */
#include "spec/reference.h"

#include <string.h>

#include "base/unit.h"

static void
good_references_come_apart(void **state)
{
        static const struct {
                const char *text, *name;
                enum reference_kind kind;
                const char *a, *b;
        } cases[] = {
                { "./sandbox/main.SANDBOX.md", "SANDBOX.md", REFERENCE_PATH,
                  "sandbox/main.SANDBOX.md", "" },
                { "./SANDBOX.md", "SANDBOX.md", REFERENCE_PATH, "SANDBOX.md", "" },
                { ".//a/./b/../x.SANDBOX.md", "SANDBOX.md", REFERENCE_PATH, "a/x.SANDBOX.md", "" },
                { "./SECRETS.md", "SECRETS.md", REFERENCE_PATH, "SECRETS.md", "" },
                { "./anything", NULL, REFERENCE_PATH, "anything", "" },
                { "../common/team.SANDBOX.md", "SANDBOX.md", REFERENCE_SIBLING, "team.SANDBOX.md",
                  "common" },
                { "..//common/a/../team.SANDBOX.md", "SANDBOX.md", REFERENCE_SIBLING,
                  "team.SANDBOX.md", "common" },
                { "@acme-corp/shared-modal-policy", "SANDBOX.md", REFERENCE_SLUG,
                  "shared-modal-policy", "acme-corp" },
                { "@0/0", "SANDBOX.md", REFERENCE_SLUG, "0", "0" },
        };
        struct arena arena;

        (void)state;
        arena_init(&arena, 1 << 20);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct reference r;
                struct error e;

                if (reference_read(&arena, cases[i].text, cases[i].name, &r, &e) < 0)
                        fail_msg("%s: %s", cases[i].text, e.message);
                assert_int_equal(r.kind, cases[i].kind);
                assert_string_equal(r.kind == REFERENCE_SLUG ? r.slug : r.path, cases[i].a);
                if (r.kind != REFERENCE_PATH)
                        assert_string_equal(r.kind == REFERENCE_SLUG ? r.owner : r.sibling,
                                            cases[i].b);
        }
        arena_fini(&arena);
}

static void
bad_references_have_a_reason(void **state)
{
        static const struct {
                const char *text, *reason;
        } cases[] = {
                { "", "invalid_form" },
                { ".", "invalid_form" },
                { "..", "invalid_form" },
                { "./", "invalid_form" },
                { "../", "invalid_form" },
                { "main.SANDBOX.md", "invalid_form" },
                { "/etc/x.SANDBOX.md", "invalid_form" },
                { "https://x.test/a.SANDBOX.md", "invalid_form" },
                { "~/x.SANDBOX.md", "invalid_form" },
                { "../x.SANDBOX.md", "invalid_form" },
                { "../common/", "invalid_form" },
                { "./x.SANDBOX.md/", "invalid_form" },
                { "./a\nb.SANDBOX.md", "invalid_form" },
                { ".././x/y.SANDBOX.md", "invalid_form" },
                { "@Acme/x", "invalid_form" },
                { "@acme", "invalid_form" },
                { "@acme/", "invalid_form" },
                { "@acme/x/y", "invalid_form" },
                { "@-a/x", "invalid_form" },
                { "@a/-x", "invalid_form" },
                { "@/x", "invalid_form" },
                { "@a/x ", "invalid_form" },
                { "@a/../x", "invalid_form" },
                { "./sandbox/../../etc/x.SANDBOX.md", "outside_workspace" },
                { "./../x.SANDBOX.md", "outside_workspace" },
                { "../../root/x.SANDBOX.md", "outside_workspace" },
                { "../common/../x.SANDBOX.md", "outside_workspace" },
                { "../common/a/../../x.SANDBOX.md", "outside_workspace" },
                { "./x.md", "wrong_kind" },
                { "./xSANDBOX.md", "wrong_kind" },
                { "./.SANDBOX.md", "wrong_kind" },
                { "./x.sandbox.md", "wrong_kind" },
                { "./SANDBOX.md/x", "wrong_kind" },
                { "../common/x.md", "wrong_kind" },
        };
        static char longer[4200];
        struct arena arena;
        struct reference r;
        struct error e;

        (void)state;
        arena_init(&arena, 1 << 20);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if (reference_read(&arena, cases[i].text, "SANDBOX.md", &r, &e) == 0 ||
                    strcmp(e.reason, cases[i].reason) != 0)
                        fail_msg("\"%s\" gave \"%s\", expected \"%s\"", cases[i].text, e.reason,
                                 cases[i].reason);
                assert_int_equal(e.code, ERROR_REF_UNRESOLVABLE);
        }
        memset(longer, 'a', sizeof longer - 1);
        memcpy(longer, "./", 2);
        assert_int_equal(reference_read(&arena, longer, NULL, &r, &e), -1);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(good_references_come_apart),
                cmocka_unit_test(bad_references_have_a_reason),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
