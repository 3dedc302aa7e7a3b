/*
 * guest/terminal.h - a pseudo-terminal of the box's own devpts.
 */
#ifndef CARREL_GUEST_TERMINAL_H
#define CARREL_GUEST_TERMINAL_H

#include <stdint.h>

/* Opens a pair; both are close-on-exec, and the caller owns them. 0 or -errno. */
int terminal_open(uint16_t rows, uint16_t columns, int *ret_master, int *ret_slave);

#endif
