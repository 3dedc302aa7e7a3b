/*
 * maker/booted.h - this program as pid 1 of a virtual machine.
 */
#ifndef CARREL_MAKER_BOOTED_H
#define CARREL_MAKER_BOOTED_H

/*
 * Mounts what a machine needs, opens its port to the relay (wire/stream.h), receives the steps that
 * follow MACHINE in the plan, does them, and serves. Refuses if it is not pid 1. When it ends, the
 * machine does.
 */
_Noreturn void booted_inside(void);

#endif
