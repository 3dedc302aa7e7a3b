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

/*
 * Before that, as root of the namespace around it with CAP_SETFCAP: this process gets a user
 * namespace in which it has the uid and gid `id` (decimal), no capability unless that is 0, and
 * executes its program again.
 */
_Noreturn void guest_take_ids(const char *id);

#endif
