/*
 * wire/call.h - what a caller says to the keeper: the door, the command line, a program with
 * libcarrel.
 *
 * WIRE_CALL: struct wire_call, then a record (wire/record.h) with the operation's fields
 * (api/operation.h). WIRE_REPLY: struct wire_reply, then a record with the results, or with the
 * members of an error (FIELD_CODE, ...). WIRE_EVENT: struct wire_call (serial of the call that
 * asked for events, op 0), then a record. WIRE_CANCEL: struct wire_call: no more events for this
 * serial, or its wait is over. Calls may be outstanding together; replies come in any order.
 * Descriptors are named by the operation.
 */
#ifndef CARREL_WIRE_CALL_H
#define CARREL_WIRE_CALL_H

#include <stdint.h>

#include "wire/message.h"
#include "wire/record.h"

enum { CALL_PROTOCOL = 1 };

struct wire_call {
        uint32_t serial;
        uint16_t op, protocol;
};

enum { CALL_RECORD_MAX = WIRE_BODY_MAX - sizeof(struct wire_call) }; /* bytes */

enum reply_flag {
        REPLY_ERROR = 1u << 0,
        REPLY_MORE = 1u << 1 /* another reply with further FIELD_ITEMS follows */
};
struct wire_reply {
        uint32_t serial;
        uint32_t flags;
};

#endif
