/*
 * box/input.h - standard input of a command: a bounded buffer before its pipe or terminal.
 */
#ifndef CARREL_BOX_INPUT_H
#define CARREL_BOX_INPUT_H

#include <stddef.h>

#include "loop/loop.h"

struct input {
        struct loop *loop;
        struct loop_watch watch; /* while bytes are queued */
        int fd;                  /* owned, -1 once it is closed */
        unsigned char *bytes;
        size_t at, len; /* bytes written; bytes queued in all. len 0: there is room */
        unsigned wants_end, is_terminal;
        void (*drained)(struct input *in); /* nothing is queued any more */
};

/* Replaces one that is closed. */
void input_init(struct input *in, struct loop *loop, int take_fd, unsigned is_terminal,
                void (*drained)(struct input *in));

/* Writes or queues bytes; discards them if the command will never read them. */
void input_put(struct input *in, const unsigned char *bytes, size_t len);

/* Ends the input after what is queued: closes a pipe, sends a terminal its end character. */
void input_end(struct input *in);

/* At once. May be called twice. */
void input_close(struct input *in);

#endif
