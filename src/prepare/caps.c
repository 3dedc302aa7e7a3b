/*
 * prepare/caps.c - converts the caps of a spec to the form that the gate receives.
 *
 * Room: prepare (joining). Touches: nothing.
 */
#include "prepare/caps.h"

static uint64_t
or_none(uint64_t value, uint64_t max)
{
        if (value == SPEC_UNSET)
                return 0;
        return value < max ? value : max;
}

struct wire_gate_caps
wall_caps(const struct spec_egress_caps *caps)
{
        return (struct wire_gate_caps){ .connections =
                                                (uint32_t)or_none(caps->connections, UINT32_MAX),
                                        .names = (uint32_t)or_none(caps->names, UINT32_MAX),
                                        .bytes_out = or_none(caps->bytes_out, UINT64_MAX),
                                        .bytes_in = or_none(caps->bytes_in, UINT64_MAX),
                                        .bytes_per_second =
                                                or_none(caps->bytes_per_second, UINT64_MAX) };
}
