/*
 * door/pour.h - a long JSON answer, written as the client takes it.
 *
 * What a string holds waits as the bytes that it is, and is escaped piece by piece: an answer costs its bytes and a queue, not six times its
 * bytes; and no turn of the loop is longer than one piece.
 */
#ifndef CARREL_DOOR_POUR_H
#define CARREL_DOOR_POUR_H

#include <stddef.h>

#include "door/exchange.h"
#include "text/json.h"

enum { POUR_HOLES = 2, POUR_LEAST = 64 * 1024 /* bytes: shorter answers go at once */ };

/* Bytes that belong into a text at an offset: within the quotes of a string. */
struct pour_hole {
        size_t at;                     /* in the text; ascending */
        char *take_memory;             /* from malloc; what is written is `len` bytes of it from `first` on */
        size_t first, len;
        int is_base64;
};

/*
 * Answers, and ends the exchange when all is written; takes the writer and the memory of the holes, also on failure (the writer is broken: 500). What
 * is counted for the exchange (exchange_keep) is counted until the end.
 */
void pour(struct exchange *x, int status, struct json_writer *take_w, const struct pour_hole *holes, size_t count);

#endif
