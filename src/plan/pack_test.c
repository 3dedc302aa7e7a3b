/* plan/pack_test.c - what plan/pack.h promises. */
#include "base/unit.h"
#include "plan/pack.h"

#include <stdlib.h>
#include <string.h>

static const struct step some[] = {
        { STEP_LEASE, 0, STEP_NO_SOURCE, 0, 0, "/run/carrel/a.lease", "", 0, "why" },
        { STEP_CGROUP_LIMIT, 0, STEP_NO_SOURCE, 0, 0, "/g/pids.max", "513", 3, "why" },
        { STEP_SPAWN, 0, STEP_NO_SOURCE, UINT64_MAX, 1, "", "", 0, "why" },
        { STEP_BIND, STEP_READ_ONLY | STEP_DEV, 1, 0, UINT64_MAX, "/w", "/home/u", 7, "why" },
        { STEP_FILE, 0, STEP_NO_SOURCE, 0444, 0, "/etc/x", "with\0nul", 8, "why" },
        { STEP_FILTER, 0, STEP_NO_SOURCE, 1, 0, "", "", 0, "why" },
};
enum { SOME = sizeof some / sizeof *some, SOURCES = 2 };

static unsigned char *
packed(const struct step *steps, size_t count, size_t *ret_len)
{
        unsigned char *bytes;

        *ret_len = plan_pack_len(steps, count);
        assert_true(*ret_len > 0);
        bytes = malloc(*ret_len); /* exact size: a sanitizer reports a read of one byte too many */
        assert_non_null(bytes);
        plan_pack(steps, count, SOURCES, bytes);
        return bytes;
}

static void
same_step(const struct step *a, const struct step *b)
{
        assert_int_equal(a->op, b->op);
        assert_int_equal(a->flags, b->flags);
        assert_int_equal(a->source, b->source);
        assert_true(a->number == b->number && a->number2 == b->number2);
        assert_string_equal(a->path, b->path);
        assert_int_equal(a->text_len, b->text_len);
        assert_memory_equal(a->text, b->text, a->text_len + 1);
        assert_string_equal(b->why, "");
}

static void
comes_back_as_it_went(void **state)
{
        (void)state;
        for (size_t count = 0; count <= SOME; count++) {
                struct plan_view view;
                size_t len;
                unsigned char *bytes = packed(some, count, &len);

                assert_int_equal(plan_unpack(bytes, len, &view), 0);
                assert_int_equal(view.step_count, count);
                assert_int_equal(view.source_count, SOURCES);
                for (uint32_t i = 0; i < count; i++) {
                        struct step s = plan_view_step(&view, i);

                        same_step(&some[i], &s);
                }
                free(bytes);
        }
}

/* Steps with any numbers and texts of any length are unpacked unchanged. */
static void
comes_back_whatever_it_holds(void **state)
{
        static char text[300];
        struct step steps[40];
        uint64_t seed = 88172645463325252u;

        (void)state;
        memset(text, 'x', sizeof text - 1);
        for (int round = 0; round < 200; round++) {
                size_t count = (size_t)(seed % 40), len;
                struct plan_view view;
                unsigned char *bytes;

                for (size_t i = 0; i < count; i++) {
                        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                        steps[i] = (struct step){
                                .op = (enum step_op)((STEP_MAX - 1) * i / 40),
                                .flags = seed & 0xff,
                                .source = (int)(seed >> 8 & 1),
                                .number = seed,
                                .number2 = ~seed,
                                .path = text + (sizeof text - 1 - (seed >> 16 & 0xff)),
                                .text = text + (sizeof text - 1 - (seed >> 24 & 0xff)),
                                .text_len = (size_t)(seed >> 24 & 0xff),
                                .why = ""
                        };
                }
                bytes = packed(steps, count, &len);
                assert_int_equal(plan_unpack(bytes, len, &view), 0);
                for (uint32_t i = 0; i < count; i++) {
                        struct step s = plan_view_step(&view, i);

                        same_step(&steps[i], &s);
                }
                free(bytes);
                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        }
}

enum part { HEAD, STEP0, STEP_LAST, STRINGS };

struct damage_row {
        const char *what;
        enum part part;
        size_t offset, size;
        uint64_t value;
};

#define IN_HEAD(member) \
        HEAD, offsetof(struct packed_head, member), sizeof(((struct packed_head *)0)->member)
#define IN_STEP(part, member) \
        part, offsetof(struct packed_step, member), sizeof(((struct packed_step *)0)->member)

static const struct damage_row damages[] = {
        { "another magic", IN_HEAD(magic), 0x4c505244 },
        { "another version", IN_HEAD(version), 1 },
        { "no version", IN_HEAD(version), 0 },
        { "a step more than there is", IN_HEAD(step_count), SOME + 1 },
        { "a step fewer", IN_HEAD(step_count), SOME - 1 },
        { "too many steps", IN_HEAD(step_count), PLAN_STEPS_MAX + 1 },
        { "so many steps that the length wraps", IN_HEAD(step_count), UINT32_MAX },
        { "too many sources", IN_HEAD(source_count), PLAN_SOURCES_MAX + 1 },
        { "fewer sources than a step names", IN_HEAD(source_count), 1 },
        { "no strings", IN_HEAD(strings_len), 0 },
        { "longer strings", IN_HEAD(strings_len), 4096 },
        { "strings without end", IN_HEAD(strings_len), UINT32_MAX },
        { "a head with something in its blank", IN_HEAD(zero), 1 },
        { "an operation that is none", IN_STEP(STEP0, op), STEP_MAX },
        { "an operation far out", IN_STEP(STEP0, op), UINT16_MAX },
        { "a phase that comes too early", IN_STEP(STEP0, op), STEP_FILTER },
        { "a phase that goes back", IN_STEP(STEP_LAST, op), STEP_LEASE },
        { "an unknown flag", IN_STEP(STEP0, flags), 1u << 17 },
        { "the highest flag", IN_STEP(STEP0, flags), 1u << 31 },
        { "a source that is not there", IN_STEP(STEP0, source), SOURCES },
        { "a source below none", IN_STEP(STEP0, source), (uint32_t)-2 },
        { "a path past the end", IN_STEP(STEP0, path), 1u << 16 },
        { "a path at the last number", IN_STEP(STEP0, path), UINT32_MAX },
        { "a text past the end", IN_STEP(STEP0, text), 1u << 16 },
        { "a text whose end wraps", IN_STEP(STEP0, text_len), UINT32_MAX },
        { "a text longer than it is", IN_STEP(STEP0, text_len), 1u << 16 },
        { "a text that does not end", IN_STEP(STEP0, text_len), 3 },
        { "a blank with something in it", IN_STEP(STEP0, zero), 1 },
        { "an empty string that is not", STRINGS, 0, 1, 'x' },
        { "strings that do not end", STRINGS, SIZE_MAX, 1, 'x' },
};

static size_t
place_of(const struct damage_row *row, size_t len)
{
        size_t steps = sizeof(struct packed_head),
               strings = steps + SOME * sizeof(struct packed_step);

        switch (row->part) {
        case HEAD:
                return row->offset;
        case STEP0:
                return steps + row->offset;
        case STEP_LAST:
                return strings - sizeof(struct packed_step) + row->offset;
        default:
                return row->offset == SIZE_MAX ? len - 1 : strings + row->offset;
        }
}

static void
refuses_every_class_of_damage(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
                struct step steps[SOME];
                struct plan_view view;
                size_t len;
                unsigned char *bytes;

                memcpy(steps, some, sizeof steps);
                steps[0].text = "abc", steps[0].text_len = 2;
                steps[SOME - 1].text = "last", steps[SOME - 1].text_len = 4;
                if (damages[i].part == STEP0 && damages[i].size == 4 && damages[i].value == 3)
                        steps[0].text = "abcdef", steps[0].text_len = 6;
                bytes = packed(steps, SOME, &len);
                assert_int_equal(plan_unpack(bytes, len, &view), 0);
                memcpy(bytes + place_of(&damages[i], len), &damages[i].value, damages[i].size);
                if (plan_unpack(bytes, len, &view) == 0)
                        fail_msg("passed: %s", damages[i].what);
                free(bytes);
        }
}

static void
refuses_any_other_length(void **state)
{
        struct plan_view view;
        size_t len;
        unsigned char *bytes = packed(some, SOME, &len);

        (void)state;
        for (size_t cut = 0; cut < len; cut++) {
                unsigned char *part = malloc(cut + 8);

                memcpy(part, bytes, cut);
                if (plan_unpack(part, cut, &view) == 0)
                        fail_msg("%zu of %zu bytes passed", cut, len);
                free(part);
        }
        free(bytes);
        assert_int_equal(plan_unpack("", 0, &view), -1);
}

/*
 * For every value of one byte: a plan that is accepted can be read without a read out of bounds. A
 * sanitizer checks it.
 */
static void
one_changed_byte_is_refused_or_harmless(void **state)
{
        size_t len, sum = 0;
        unsigned char *bytes = packed(some, SOME, &len);

        (void)state;
        for (size_t at = 0; at < len; at++) {
                for (int bit = 0; bit < 8; bit++) {
                        struct plan_view view;

                        bytes[at] ^= (unsigned char)(1u << bit);
                        if (plan_unpack(bytes, len, &view) == 0)
                                for (uint32_t i = 0; i < view.step_count; i++) {
                                        struct step s = plan_view_step(&view, i);

                                        assert_true(s.op < STEP_MAX &&
                                                    s.source < (int)view.source_count);
                                        assert_int_equal(s.text[s.text_len], 0);
                                        sum += strlen(s.path) + strlen(s.text);
                                }
                        bytes[at] ^= (unsigned char)(1u << bit);
                }
        }
        assert_true(sum > 0);
        free(bytes);
}

static void
refuses_to_pack_too_much(void **state)
{
        static char text[4096];
        static struct step steps[PLAN_STEPS_MAX + 1];

        (void)state;
        memset(text, 'x', sizeof text - 1);
        for (size_t i = 0; i <= PLAN_STEPS_MAX; i++)
                steps[i] = (struct step){
                        .op = STEP_DIR, .source = STEP_NO_SOURCE, .path = "", .text = "", .why = ""
                };
        assert_true(plan_pack_len(steps, PLAN_STEPS_MAX) > 0);
        assert_int_equal(plan_pack_len(steps, PLAN_STEPS_MAX + 1), 0);
        for (size_t i = 0; i < PLAN_STEPS_MAX; i++)
                steps[i].path = text;
        assert_int_equal(plan_pack_len(steps, PLAN_STEPS_MAX), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(comes_back_as_it_went),
                cmocka_unit_test(comes_back_whatever_it_holds),
                cmocka_unit_test(refuses_every_class_of_damage),
                cmocka_unit_test(refuses_any_other_length),
                cmocka_unit_test(one_changed_byte_is_refused_or_harmless),
                cmocka_unit_test(refuses_to_pack_too_much),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
