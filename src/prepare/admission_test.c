/* prepare/admission_test.c - what prepare/admission.h promises. */
#include "prepare/admission.h"

#include "base/unit.h"

static int
check(bool needs_risk, const char *provider, const char *risk, struct error *e)
{
        const struct host_rules rules = { .needs_risk = needs_risk };
        const struct spec spec = { .provider = provider };

        *e = (struct error){ .code = ERROR_NONE };
        return admission_check(&rules, &spec, risk, e);
}

static void
decides_by_the_tier_of_the_provider(void **state)
{
        static const struct {
                const char *provider, *risk, *reason; /* NULL: allowed */
        } cases[] = {
                { "local", NULL, NULL },
                { "local", "low", NULL },
                { "local", "medium", "refuse:tier" },
                { "local", "high", "refuse:tier" },
                { "not-known-here", "low", "refuse:tier" },
        };
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                int result = check(false, cases[i].provider, cases[i].risk, &e);

                assert_int_equal(result, cases[i].reason ? -1 : 0);
                if (!cases[i].reason)
                        continue;
                assert_int_equal(e.code, ERROR_DOCUMENT_DENIED);
                assert_string_equal(e.reason, cases[i].reason);
                assert_string_equal(e.path, "risk");
        }
}

static void
a_host_can_require_a_risk(void **state)
{
        struct error e;

        (void)state;
        assert_int_equal(check(true, "local", NULL, &e), -1);
        assert_int_equal(e.code, ERROR_DOCUMENT_DENIED);
        assert_string_equal(e.reason, "risk_required");
        assert_int_equal(check(true, "local", "low", &e), 0);
        assert_int_equal(check(true, "local", "high", &e), -1);
        assert_string_equal(e.reason, "refuse:tier");
}

static void
another_word_is_no_risk(void **state)
{
        static const char *const words[] = { "", "LOW", "lo", "critical", "medium " };
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                assert_int_equal(check(false, "local", words[i], &e), -1);
                assert_int_equal(e.code, ERROR_INVALID_ARGUMENT);
                assert_string_equal(e.reason, "enum");
        }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(decides_by_the_tier_of_the_provider),
                cmocka_unit_test(a_host_can_require_a_risk),
                cmocka_unit_test(another_word_is_no_risk),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
