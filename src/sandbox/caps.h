/*
 * sandbox/caps.h - the caps of a spec as the gate is told them.
 */
#ifndef CARREL_SANDBOX_CAPS_H
#define CARREL_SANDBOX_CAPS_H

#include "spec/spec.h"
#include "wire/gate.h"

/* What is not given is 0: the gate's own. */
struct wire_gate_caps wall_caps(const struct spec_egress_caps *caps);

#endif
