/*
 * bridge/message.h - the messages of the bridge protocol: what a provider's program writes, read
 * and checked; and what is written to it.
 *
 * One message is one line: a JSON object, and a newline. Every kind has a closed set of members, in
 * one table. An unknown kind, an unknown or missing member and a value of another type or range are
 * refused. Bytes travel as base64. docs/BRIDGE.md is the specification.
 */
#ifndef CARREL_BRIDGE_MESSAGE_H
#define CARREL_BRIDGE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "bridge/ability.h"
#include "text/json.h"
#include "text/tree.h"

enum {
        BRIDGE_VERSION = 1,
        BRIDGE_LINE_MAX = 512 * 1024, /* bytes of one message, with its newline */
        BRIDGE_DATA_MAX = 64 * 1024,  /* bytes of output, input or file content in one message */
        BRIDGE_CREDIT = 256 * 1024,   /* bytes of output, or of input, of a command at its start */
        BRIDGE_TEXT_MAX = 1024,       /* bytes of a text for people */
        BRIDGE_NAME_MAX = 128,        /* bytes of a name or an id */
        BRIDGE_ARENA_MAX = 8 << 20    /* memory to read one message */
};

/* What a provider's program writes. */
enum bridge_kind {
        BRIDGE_HELLO,   /* first, once */
        BRIDGE_REPLY,   /* the end of a request other than runCommand */
        BRIDGE_ERROR,   /* the end of any request */
        BRIDGE_STARTED, /* of runCommand */
        BRIDGE_OUTPUT,
        BRIDGE_EXITED, /* the end of runCommand */
        BRIDGE_CREDIT_GIVEN,
        BRIDGE_KINDS
};

/* Why a request failed: `code` of an error. */
enum bridge_code {
        BRIDGE_CODE_AUTH,
        BRIDGE_CODE_NOT_FOUND,
        BRIDGE_CODE_INVALID,
        BRIDGE_CODE_UNSUPPORTED,
        BRIDGE_CODE_UNAVAILABLE,
        BRIDGE_CODE_CANCELLED,
        BRIDGE_CODE_FAILED,
        BRIDGE_CODE_EXISTS,
        BRIDGE_CODES
};

struct bridge_message {
        enum bridge_kind kind;
        uint32_t id;               /* of the request; 0: BRIDGE_HELLO */
        uint64_t protocol;         /* BRIDGE_HELLO */
        uint32_t abilities;        /* BRIDGE_HELLO: bits 1u << enum bridge_ability */
        const char *name;          /* BRIDGE_HELLO */
        const struct node *result; /* BRIDGE_REPLY: a map */
        enum bridge_code code;     /* BRIDGE_ERROR */
        const char *text;          /* BRIDGE_ERROR: for people */
        unsigned is_stderr;        /* BRIDGE_OUTPUT */
        const void *data;          /* BRIDGE_OUTPUT */
        size_t len;
        int64_t status; /* BRIDGE_EXITED: 0 to 255, or -1: a signal ended it */
        int64_t signal; /* BRIDGE_EXITED: 1 to 64, or 0 */
        uint64_t bytes; /* BRIDGE_CREDIT_GIVEN */
};

/*
 * Reads one line without its newline. Everything in *ret lives in `arena`. Errors: ERROR_PROTOCOL,
 * with the reason "json", "unknown_kind", "unknown_field", "missing" or "range";
 * ERROR_NO_MEMORY.
 */
int bridge_message_read(struct arena *arena, const char *line, size_t len,
                        struct bridge_message *ret, struct error *e);

const char *bridge_kind_word(enum bridge_kind kind);
const char *bridge_code_word(enum bridge_code code);

/* A value that is base64 in a reply ("data"); lives in `arena`. -1: not there, or not base64. */
int bridge_data_read(struct arena *arena, const struct node *value, const void **ret,
                     size_t *ret_len);

/* -- what is written to a provider's program --------------------------------------------------- */

/* Begins a message in an initialised writer; the caller adds members, and ends it. */
void bridge_begin(struct json_writer *w, const char *kind, uint32_t id);
/* A member whose value is bytes. */
void bridge_member_data(struct json_writer *w, const char *key, const void *bytes, size_t len);
/* Closes the object. The line's newline is the caller's. */
void bridge_end(struct json_writer *w);

#endif
