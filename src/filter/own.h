/*
 * filter/own.h - restricts Carrel's own processes to the system calls that they need
 * (filter/own.def).
 *
 * This is the last step of dropping privileges: afterwards only listed calls work.
 */
#ifndef CARREL_FILTER_OWN_H
#define CARREL_FILTER_OWN_H

enum filter_own {
        FILTER_KEEPER,
        FILTER_DOOR,
        FILTER_BOX,
        FILTER_GATE,
        FILTER_JUDGE,
        FILTER_RECORDER,
        FILTER_UNPACK,
        FILTER_RELAY,
        FILTER_LOOK,
        FILTER_BRIDGE,
        FILTER_STAND_IN, /* a gate that dials nothing */
        FILTER_OWN_MAX
};

/*
 * Applies to this process, irrevocably. Needs no_new_privs. 0 or -errno (EINVAL: a kernel without
 * filters). In a build with a sanitizer, which makes its own calls, it does nothing and returns 0.
 */
int filter_enter(enum filter_own who);

#endif
