/*
 * prepare/caps.h - converts the caps of a spec to the form that the gate receives.
 */
#ifndef CARREL_PREPARE_CAPS_H
#define CARREL_PREPARE_CAPS_H

#include "spec/spec.h"
#include "wire/gate.h"

/* A cap that is not given becomes 0: the gate's default. */
struct wire_gate_caps wall_caps(const struct spec_egress_caps *caps);

#endif
