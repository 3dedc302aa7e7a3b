/*
 * gate/answers.h - what a server still owes on a plain HTTP/1 connection: is an answer in progress, or is there room between two for one of ours?
 *
 * Looks, and changes nothing: whatever is not understood makes it unknown for good, and bytes pass all the same.
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
        uint64_t asked, answered;              /* requests that may go; answers whose end was seen */
        uint64_t heads;                        /* bit n % 64: request n is a HEAD, and its answer has no body */
        uint64_t ahead;                        /* bytes whose place is known, and that did not pass yet */
        struct http_body body;                 /* is_in_body: in chunks */
};

/* A request may go. */
void answers_asked(struct answers *a, bool is_head);

/* What comes next from the server, `len` bytes at least one: asked only while nothing is ahead. More of it is ahead afterwards, or it is unknown. */
void answers_look(struct answers *a, const char *bytes, size_t len);

/* So many passed, of those that were ahead. */
void answers_passed(struct answers *a, size_t len);

/* Nothing is owed, and the last byte of the last answer has passed. */
bool answers_are_over(const struct answers *a);

#endif
