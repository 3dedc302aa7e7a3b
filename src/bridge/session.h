/*
 * bridge/session.h - what is open between Carrel and a provider's program: which message may come
 * next, and which breaks the protocol.
 *
 *     opened --hello--> greeted: requests may be opened
 *
 *     runCommand:  open --started--> running --output*--> ended by exited or error
 *     the others:  open --> ended by reply or error
 *
 * Each request has one end. A message for a request that ended, that never was, or that does not
 * allow it is an error, and so is output beyond the credit. The caller ends the program then.
 */
#ifndef CARREL_BRIDGE_SESSION_H
#define CARREL_BRIDGE_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "bridge/message.h"

enum { BRIDGE_REQUESTS_MAX = 256 };

struct bridge_request {
        uint32_t id; /* 0: a free place */
        unsigned is_command, is_started;
        uint64_t credit; /* bytes of output that may still come */
        uint64_t input;  /* bytes of input that may still be sent */
};

struct bridge_session {
        unsigned has_greeted;
        uint32_t abilities, last_id;
        char name[BRIDGE_NAME_MAX + 1];
        struct bridge_request requests[BRIDGE_REQUESTS_MAX];
};

void bridge_session_init(struct bridge_session *s);

/* The number of a new request; 0: too many are open. */
uint32_t bridge_session_open(struct bridge_session *s, unsigned is_command);

struct bridge_request *bridge_session_find(struct bridge_session *s, uint32_t id);

/*
 * Judges a message, and notes it. *ret_is_end: the request has ended, and its number is free of
 * meaning. Errors: ERROR_PROTOCOL, with the reason "version", "no_greeting", "greeted_twice",
 * "answered_twice", "unasked", "order" or "flood".
 */
int bridge_session_take(struct bridge_session *s, const struct bridge_message *m,
                        unsigned *ret_is_end, struct error *e);

/* Does the greeting say all of `wanted` (bits of enum bridge_ability)? The first missing one, or
 * BRIDGE_ABILITIES. */
enum bridge_ability bridge_session_lacks(const struct bridge_session *s, uint32_t wanted);

#endif
