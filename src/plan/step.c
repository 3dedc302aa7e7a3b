/*
 * plan/step.c - one action of a plan, as a value: the facts of the table.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 */
#include "plan/step.h"

struct step_row {
        const char *wire;
        enum step_phase phase;
        const char *arguments, *undo, *safe;
};

static const struct step_row rows[STEP_MAX] = {
#define STEP(name, wire, phase, arguments, undo, safe) \
        [STEP_##name] = { wire, STEP_PHASE_##phase, arguments, undo, safe },
#include "plan/steps.def"
#undef STEP
};

const char *
step_name(enum step_op op)
{
        return rows[op].wire;
}

enum step_phase
step_phase_of(enum step_op op)
{
        return rows[op].phase;
}

const char *
step_phase_name(enum step_phase phase)
{
        static const char *const names[] = { "host", "box", "guest" };

        return names[phase];
}

const char *
step_arguments(enum step_op op)
{
        return rows[op].arguments;
}

const char *
step_undo(enum step_op op)
{
        return rows[op].undo;
}

const char *
step_safe(enum step_op op)
{
        return rows[op].safe;
}
