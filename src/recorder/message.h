/*
 * recorder/message.h - what a recorder and its client say to each other: an event, and the number
 * of its entry.
 *
 * WIRE_AUDIT: seven texts of an event, each with its NUL; "" for no input and no output.
 * WIRE_AUDITED: struct recorder_answer, then three texts: reason, message, hint.
 */
#ifndef CARREL_RECORDER_MESSAGE_H
#define CARREL_RECORDER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"
#include "base/error.h"

enum { RECORDER_REF_MAX = 80, RECORDER_JSON_MAX = 96 * 1024 /* bytes of input, and of output */ };

struct recorder_answer {
        uint32_t code, reserved; /* enum error_code */
        uint64_t seq;
        char chain[AUDIT_ID_TEXT];
};

/* Writes an event into `body`. Returns its length, or 0 if it does not fit. */
size_t recorder_event_write(const struct audit_event *event, unsigned char *body, size_t room);

/* Reads one; its texts are in `body`. false: no such message. */
bool recorder_event_read(const unsigned char *body, size_t len, struct audit_event *ret);

/* Writes an answer into `body`, which has room for both structs. Returns its length. */
size_t recorder_answer_write(const struct recorder_answer *head, const struct error *e,
                             unsigned char *body);

/*
 * Reads one. `ret_ref` receives "audit://CHAIN/NUMBER". Errors: the one that the answer holds;
 * ERROR_AUDIT_UNAVAILABLE (no such message).
 */
int recorder_answer_read(const unsigned char *body, size_t len, char ret_ref[RECORDER_REF_MAX],
                         struct error *e);

#endif
