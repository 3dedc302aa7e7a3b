/*
 * maker/saved.h - starts QEMU with a saved machine, or saves the one that it boots.
 */
#ifndef CARREL_MAKER_SAVED_H
#define CARREL_MAKER_SAVED_H

#include "plan/step.h"

struct saved_start {
        const struct step *machine, *serve; /* MACHINE; SERVE or NULL, as of machine_start() */
        /* what the SAVED step's source is, to read; or, to save, a file with a head to write */
        int file;
        int memory; /* to save: the machine's memory (maker/memory.h); -1: it is not saved */
        int tap;    /* as in struct machine_given */
};

/*
 * Starts it, or saves one that boots and goes on. All descriptors are borrowed. When it returns,
 * the machine is awake (wire/saved.h). Returns this end of the stream to its pid 1, or -errno:
 * -ETIMEDOUT; -EBADMSG if it does not wake, or cannot be saved.
 */
int saved_start(const struct saved_start *how, int *ret_alive);

#endif
