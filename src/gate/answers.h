/*
 * gate/answers.h - follows the answers of a server on a plain HTTP/1 connection, to find a moment
 * between two answers.
 *
 * The gate needs such a moment to insert a refusal of its own. This module only observes. After
 * bytes that it does not understand, the state is unknown for the rest of the connection. All bytes
 * pass in any case.
 */
#ifndef CARREL_GATE_ANSWERS_H
#define CARREL_GATE_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/http_head.h"

enum { ANSWERS_OWED_MAX = 64 };

struct answers {
        bool is_unknown, is_in_body;
        uint64_t asked, answered; /* requests that may pass; answers whose end was
                                   * seen */
        uint64_t heads;           /* bit n % 64: request n is a HEAD, so its answer has
                                   * no body */
        uint64_t ahead;           /* bytes whose meaning is known and that have not
                                   * passed yet */
        struct http_body body;    /* is_in_body: of a chunked body */
};

/* Counts a request that may pass. */
void answers_asked(struct answers *a, bool is_head);

/*
 * Parses the next bytes of the server: `len` is at least 1. Call it only while `ahead` is 0.
 * Afterwards `ahead` is larger, or `is_unknown` is set.
 */
void answers_look(struct answers *a, const char *bytes, size_t len);

/* Counts `len` bytes that passed; at most `ahead`. */
void answers_passed(struct answers *a, size_t len);

/* True: no answer is owed, and the last byte of the last answer has passed. */
bool answers_are_over(const struct answers *a);

#endif
