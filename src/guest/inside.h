/*
 * guest/inside.h - the guest as the first program of a sandbox that another program made: a
 * container of an OCI runtime.
 */
#ifndef CARREL_GUEST_INSIDE_H
#define CARREL_GUEST_INSIDE_H

#define GUEST_INSIDE_WORD "guest" /* the argument that starts it */

/*
 * Standard input is the stream to the relay (wire/stream.h), both ways. Receives the GUEST steps of
 * the plan, applies them to itself, and serves. Refuses if it is not pid 1.
 */
_Noreturn void guest_inside(void);

#endif
