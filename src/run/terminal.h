/*
 * run/terminal.h - the caller's own terminal: its size, raw mode while it shows a terminal
 * inside, and restoring it.
 */
#ifndef CARREL_RUN_TERMINAL_H
#define CARREL_RUN_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal_mode {
        int fd;
        bool is_raw;
        bool may_answer; /* a query was sent to it, or that cannot be excluded */
        uint8_t place;   /* position in a control sequence that has begun */
        uint32_t number; /* and the number in that sequence */
        struct termios before;
};

/* Rows and columns of the terminal at fd; zeros if it is not a terminal. */
void terminal_size(int fd, uint16_t *ret_rows, uint16_t *ret_columns);

/* Switches to raw mode: keys pass unchanged. Does nothing if fd is not a terminal. */
void terminal_raw(struct terminal_mode *mode, int fd);

/* Notes bytes that are sent to the terminal. NULL: bytes are sent that this module cannot see. */
void terminal_show(struct terminal_mode *mode, const char *bytes, size_t len);

/*
 * Restores the mode and discards typed keys and answers received meanwhile. Takes 50 ms if the
 * terminal may answer. Accepts a mode that was only zeroed.
 */
void terminal_restore(struct terminal_mode *mode);

#endif
