/*
 * maker/memory.h - the memory of a virtual machine that is saved, or wakes.
 */
#ifndef CARREL_MAKER_MEMORY_H
#define CARREL_MAKER_MEMORY_H

#include <stdint.h>

#define MEMORY_NAME "memory"

/*
 * Creates the file MEMORY_NAME of `size` bytes, all zero, in the directory `dir`. Every id of the
 * box may open it. Returns a descriptor, which is the caller's, or -errno.
 */
int memory_open(int dir, uint64_t size);

/*
 * Copies what is not zero in `memory` to the file of a saved machine (wire/saved.h), from the
 * offset `at` on. *ret_end: where the file ends. Returns 0 or -errno.
 */
int memory_save(int memory, int file, uint64_t at, uint64_t *ret_end);

/*
 * Copies it back, into an empty `memory`. Returns 0 or -errno: -EBADMSG if the file is not one of a
 * saved machine, or of one with another size.
 */
int memory_restore(int file, int memory);

#endif
