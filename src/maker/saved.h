/*
 * maker/saved.h - starts QEMU with a saved machine, or saves the one that it boots.
 */
#ifndef CARREL_MAKER_SAVED_H
#define CARREL_MAKER_SAVED_H

#include "plan/step.h"

/*
 * The SAVED step `saved` with the MACHINE step `machine`. `file`, borrowed: what the step's source
 * is, to read; or, to save (its number is PLAN_MACHINE_SAVES), a file with a head to write. `tap`
 * as in struct machine_given. When it returns, the machine is awake (wire/saved.h). Returns this
 * end of the stream to its pid 1, or -errno: -ETIMEDOUT; -EBADMSG if it does not wake, or cannot be
 * saved.
 */
int saved_start(const struct step *saved, int file, int tap, const struct step *machine);

#endif
