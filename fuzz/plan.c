/*
 * fuzz/plan.c - any bytes as a packed plan: refused, or a list of steps that can be walked to its
 * last string.
 *
 * The maker has privileges and believes this reader. Beyond not crashing: every step of an accepted
 * plan is known, its source and its phase are in bounds, its strings end where they say; and the
 * steps, packed again, read back the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
steps_check(const struct plan_view *view, struct step *ret)
{
        enum step_phase phase = STEP_PHASE_HOST;

        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(view, i);

                must(s.op < STEP_MAX && s.source >= STEP_NO_SOURCE &&
                     s.source < (int)view->source_count);
                must(step_phase_of(s.op) >= phase && step_name(s.op)[0] != '\0');
                must(strlen(s.path) < view->strings_len && s.text_len < view->strings_len &&
                     s.text[s.text_len] == '\0');
                phase = step_phase_of(s.op);
                ret[i] = s;
        }
}

static int
is_same(const struct step *a, const struct step *b)
{
        return a->op == b->op && a->flags == b->flags && a->source == b->source &&
               a->number == b->number && a->number2 == b->number2 && a->text_len == b->text_len &&
               strcmp(a->path, b->path) == 0 && memcmp(a->text, b->text, a->text_len) == 0;
}

static void
round_trip_check(const struct step *steps, const struct plan_view *view)
{
        size_t len = plan_pack_len(steps, view->step_count);
        struct plan_view again;
        void *bytes;

        if (len == 0) /* shared strings are written out: it may be too long by then */
                return;
        bytes = malloc(len);
        must(bytes != NULL);
        plan_pack(steps, view->step_count, view->source_count, bytes);
        must(plan_unpack(bytes, len, &again) == 0 && again.step_count == view->step_count &&
             again.source_count == view->source_count);
        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(&again, i);

                must(is_same(&steps[i], &s));
        }
        free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        static struct step steps[PLAN_STEPS_MAX];
        struct plan_view view;
        void *bytes =
                malloc(len + (len == 0)); /* exactly as long, and aligned as the maker's own */

        must(bytes != NULL);
        if (len > 0)
                memcpy(bytes, data, len);
        if (plan_unpack(bytes, len, &view) == 0) {
                must(view.step_count <= PLAN_STEPS_MAX && view.source_count <= PLAN_SOURCES_MAX);
                steps_check(&view, steps);
                round_trip_check(steps, &view);
        }
        free(bytes);
        return 0;
}
