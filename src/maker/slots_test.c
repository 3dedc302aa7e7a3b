/* maker/slots_test.c - maker/slots.c: a table that a kernel takes, with the places that plans name.
 */
#include "maker/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/request.h"

enum { HEAD_LENGTH_AT = 4, EACH = 0x200, LINE_FIRST = 24 };

static const uint32_t transports_at = 0xfeb00000;

static void
it_has_the_length_and_the_sum_of_a_table(void **state)
{
        unsigned char sum = 0;
        uint32_t length;

        (void)state;
        memcpy(&length, slots_table + HEAD_LENGTH_AT, sizeof length);
        assert_int_equal(length, SLOTS_BYTES);
        for (size_t i = 0; i < SLOTS_BYTES; i++)
                sum = (unsigned char)(sum + slots_table[i]);
        assert_int_equal(sum, 0);
}

/* QEMU's transport N is at that address, and has that interrupt. */
static void
its_places_are_those_where_qemu_gets_devices(void **state)
{
        static const char *const buses[] = { PLAN_MACHINE_NETWORK_AT, PLAN_MACHINE_SHARE_AT };
        size_t at = 0;

        (void)state;
        for (size_t i = 0; i < sizeof buses / sizeof *buses; i++) {
                unsigned number = (unsigned)(buses[i][strlen("virtio-mmio-bus.")] - '0');
                const uint32_t base = transports_at + number * EACH, line = LINE_FIRST + number;
                const unsigned char *found =
                        memmem(slots_table + at, SLOTS_BYTES - at, &base, sizeof base);

                assert_non_null(found);
                assert_true(number > 0); /* not delivered (plan/request.h) */
                at = (size_t)(found - slots_table) + sizeof base;
                assert_non_null(memmem(slots_table + at,
                                       SLOTS_BYTES - at < 16 ? SLOTS_BYTES - at : 16, &line,
                                       sizeof line));
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_has_the_length_and_the_sum_of_a_table),
                cmocka_unit_test(its_places_are_those_where_qemu_gets_devices),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
