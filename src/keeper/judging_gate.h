/*
 * keeper/judging_gate.h - rules for tools: the call of an operation that is a tool (judge/tool.h)
 * is judged before it begins. Commands are judged by op_exec.c, after what they would run is known.
 */
#ifndef CARREL_KEEPER_JUDGING_GATE_H
#define CARREL_KEEPER_JUDGING_GATE_H

#include "keeper/keeper.h"

/*
 * CALL_DONE: rules say nothing about this call, or allow it. CALL_WAITS, CALL_FAILED: as
 * judging_begin() and judging_verdict(). May be called again for the same call.
 */
enum call_state judging_gate(struct call *c, struct error *e);

#endif
