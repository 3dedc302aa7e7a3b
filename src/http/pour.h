/*
 * http/pour.h - sends a long JSON answer in pieces, as the client reads it.
 *
 * The contents of a string wait unescaped and are escaped piece by piece. So an answer needs memory
 * for its bytes and a queue, not six times its bytes. No turn of the loop takes longer than one
 * piece.
 */
#ifndef CARREL_HTTP_POUR_H
#define CARREL_HTTP_POUR_H

#include <stddef.h>

#include "http/handler.h"
#include "text/json.h"

enum { POUR_HOLES = 2, POUR_LEAST = 64 * 1024 /* bytes: shorter answers are sent at once */ };

/* Bytes to insert into a text at an offset: within the quotes of a string. */
struct pour_hole {
        size_t at; /* offset in the text; ascending */
        /* from malloc; `len` bytes of it from `first` on are written */
        char *take_memory;
        size_t first, len;
        int is_base64;
};

/*
 * Sends the answer, and ends the exchange when everything was written. Takes the writer and the
 * memory of the holes, also on failure (a broken writer: 500). Bytes counted for the exchange
 * (exchange_keep) count until the end.
 */
void pour(struct exchange *x, int status, struct json_writer *take_w, const struct pour_hole *holes,
          size_t count);

/*
 * Answers with JSON, a long one in pieces. Ends the writer too; a broken one becomes an error.
 */
void exchange_json(struct exchange *x, int status, struct json_writer *take_w);

#endif
