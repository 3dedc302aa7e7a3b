/* prepare/caps_test.c - what prepare/caps.h promises. */
#include "base/unit.h"
#include "prepare/caps.h"

static void
what_is_not_given_is_left_to_the_gate(void **state)
{
        const struct spec_egress_caps none = { SPEC_UNSET, SPEC_UNSET, SPEC_UNSET, SPEC_UNSET,
                                               SPEC_UNSET };
        const struct spec_egress_caps some = { 5, SPEC_UNSET, 1000, 2000, 300 };
        struct wire_gate_caps caps = wall_caps(&none);

        (void)state;
        assert_int_equal(caps.connections + caps.names + caps.bytes_out + caps.bytes_in +
                                 caps.bytes_per_second,
                         0);
        caps = wall_caps(&some);
        assert_int_equal(caps.connections, 5);
        assert_int_equal(caps.names, 0);
        assert_int_equal(caps.bytes_out, 1000);
        assert_int_equal(caps.bytes_in, 2000);
        assert_int_equal(caps.bytes_per_second, 300);
}

/* A number that the wire format cannot hold must not become a small limit, or none. */
static void
what_is_too_great_stays_great(void **state)
{
        const struct spec_egress_caps great = { UINT32_MAX + UINT64_C(1), UINT64_C(1) << 40, 1, 1,
                                                1 };
        struct wire_gate_caps caps = wall_caps(&great);

        (void)state;
        assert_int_equal(caps.connections, UINT32_MAX);
        assert_int_equal(caps.names, UINT32_MAX);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_not_given_is_left_to_the_gate),
                                            cmocka_unit_test(what_is_too_great_stays_great) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
