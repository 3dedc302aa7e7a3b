/*
 * guest/guest.h - pid 1 inside a box: starts commands, reaps, reports; ends when its control socket closes.
 */
#ifndef CARREL_GUEST_GUEST_H
#define CARREL_GUEST_GUEST_H

/* Serves the control socket until it closes or the last command ends. Never returns. */
_Noreturn void guest_serve(int control);

#endif
