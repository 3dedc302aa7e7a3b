/*
 * sandbox/terminal.h - the caller's own terminal: its size, raw while a terminal inside is shown on it, and back.
 */
#ifndef CARREL_SANDBOX_TERMINAL_H
#define CARREL_SANDBOX_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal_mode {
        int fd;
        bool is_raw;
        bool may_answer;               /* it was asked something, or that cannot be excluded */
        uint8_t place;                 /* in a control sequence that has begun, */
        uint32_t number;               /* and the number in it */
        struct termios before;
};

/* Rows and columns of the terminal at fd; zeros where it is none. */
void terminal_size(int fd, uint16_t *ret_rows, uint16_t *ret_columns);

/* Keys go through untouched from here on. Nothing happens where fd is no terminal. */
void terminal_raw(struct terminal_mode *mode, int fd);

/* These bytes go to the terminal. NULL: some go there that nobody sees here. */
void terminal_show(struct terminal_mode *mode, const char *bytes, size_t len);

/* As it was before, and what was typed or answered meanwhile is discarded. Takes 50 ms where the terminal may answer. Accepts a mode that was only zeroed. */
void terminal_restore(struct terminal_mode *mode);

#endif
