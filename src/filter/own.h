/*
 * filter/own.h - closing Carrel's own processes to calls they never make (filter/own.def).
 *
 * The last rung of a ladder: after it, nothing that the list does not name works.
 */
#ifndef CARREL_FILTER_OWN_H
#define CARREL_FILTER_OWN_H

enum filter_own { FILTER_KEEPER, FILTER_DOOR, FILTER_BOX, FILTER_GATE, FILTER_OWN_MAX };

/*
 * For this process, for ever. no_new_privs has to be set. 0 or -errno (EINVAL: a kernel without filters); does nothing, and answers 0, in a build whose
 * sanitizer makes calls of its own.
 */
int filter_enter(enum filter_own who);

#endif
