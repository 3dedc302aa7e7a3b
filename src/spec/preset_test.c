/* spec/preset_test.c - what spec/preset.h promises. */
#include "spec/preset.h"

#include <string.h>

#include "base/arena.h"
#include "base/unit.h"
#include "spec/egress.h"

/*
 * Each host is a complete name, without wildcards, and not private: a preset permits exactly what
 * it lists.
 */
static void
every_host_is_an_exact_public_name(void **state)
{
        const struct egress_preset *preset;
        struct arena arena;
        struct error e;
        size_t count = 0;

        (void)state;
        arena_init(&arena, 1u << 20);
        for (; (preset = egress_preset_at(count)) != NULL; count++) {
                assert_true(egress_preset_is(preset->name));
                assert_true(preset->hosts[0] && strlen(preset->help) > 0);
                for (size_t h = 0; preset->hosts[h]; h++) {
                        struct spec_egress entry;

                        assert_int_equal(egress_read(&arena, preset->hosts[h], &entry, &e), 0);
                        assert_false(entry.is_wildcard || egress_is_private_name(entry.host));
                }
        }
        assert_true(count >= 6);
        arena_fini(&arena);
}

static void
an_unknown_one_lists_all(void **state)
{
        static const char *const wrong[] = { "@", "@NPM", "@npn", "@npm ", "@@npm", "@npm:80" };
        const struct egress_preset *preset;
        struct error e;

        (void)state;
        assert_int_equal(egress_preset_find("@npm", &preset, &e), 0);
        assert_string_equal(preset->hosts[0], "registry.npmjs.org");
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                assert_int_equal(egress_preset_find(wrong[i], &preset, &e), -1);
                assert_int_equal(e.code, ERROR_EGRESS_INVALID);
                assert_string_equal(e.reason, "preset");
                for (size_t p = 0; egress_preset_at(p); p++)
                        assert_non_null(strstr(e.hint, egress_preset_at(p)->name));
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_host_is_an_exact_public_name),
                cmocka_unit_test(an_unknown_one_lists_all),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
