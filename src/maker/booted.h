/*
 * maker/booted.h - this program as pid 1 of a virtual machine.
 */
#ifndef CARREL_MAKER_BOOTED_H
#define CARREL_MAKER_BOOTED_H

/*
 * Mounts what a machine needs, opens its port to the relay (wire/stream.h), receives the steps that
 * follow MACHINE in the plan, does them, and serves. Refuses if it is not pid 1. When it ends, the
 * machine does. With the word PLAN_MACHINE_ASLEEP it sleeps before it opens the stream, and becomes
 * this program with PLAN_MACHINE_WOKEN (maker/asleep.h). NULL: neither.
 */
_Noreturn void booted_inside(const char *word);

#endif
