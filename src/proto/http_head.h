/*
 * proto/http_head.h - what may be an HTTP message at all: looked at byte by byte before any parser
 * sees it.
 *
 * RFC 9112 read strictly, with every leniency that has let two readers disagree taken out: CRLF
 * alone ends a line, no folding, one framing, one Host, no control byte. What passes is then read
 * by llhttp as well (proto/http_reader.h), which has to agree. Pure: bytes in, verdict out. Errors
 * carry the code, hence the HTTP status, that the refusal is answered with.
 */
#ifndef CARREL_DOOR_GATE_H
#define CARREL_DOOR_GATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { HTTP_HEAD_MAX = 16 * 1024, HTTP_TARGET_MAX = 8 * 1024, HTTP_FIELDS_MAX = 64 };

enum http_method {
        HTTP_METHOD_GET = 1u << 0,
        HTTP_METHOD_POST = 1u << 1,
        HTTP_METHOD_PUT = 1u << 2,
        HTTP_METHOD_DELETE = 1u << 3,
        HTTP_METHOD_HEAD = 1u << 4,
        HTTP_METHOD_OPTIONS = 1u << 5,
        HTTP_METHOD_PATCH = 1u << 6,
        HTTP_METHOD_ANY = 1u << 7, /* whatever llhttp knows, and a target of any form; CONNECT may
                                      lack Host. For who passes requests on as they are */
};
enum {
        HTTP_METHODS_REST = HTTP_METHOD_GET | HTTP_METHOD_POST | HTTP_METHOD_PUT |
                            HTTP_METHOD_DELETE | HTTP_METHOD_PATCH,
        HTTP_METHODS_PROXY = HTTP_METHODS_REST | HTTP_METHOD_HEAD | HTTP_METHOD_OPTIONS
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_CLOSE /* answers only */ };

struct http_text {
        const char *at;
        size_t len;
};
struct http_field {
        struct http_text name, value;
}; /* the value without blanks around it */

/* Borrows the bytes it was read from. */
struct http_head {
        enum http_method method; /* of a request; 0: one of HTTP_METHOD_ANY */
        struct http_text method_text;
        struct http_text target;
        int status; /* of an answer */
        int minor;  /* HTTP/1.0 or 1.1 */
        struct http_field fields[HTTP_FIELDS_MAX];
        size_t field_count;
        enum http_framing framing;
        uint64_t length;    /* HTTP_LENGTH */
        int is_last;        /* the connection ends with this message */
        int wants_upgrade;  /* Connection: upgrade */
        int wants_continue; /* Expect: 100-continue */
        size_t len;         /* of the head, with its empty line */
};

/*
 * Looks for the end of a head in `len` bytes; *at is where the last look stopped, 0 at first. 1:
 * *ret_len bytes are a head; 0: more is needed; -1: a byte that no head has, or too many.
 */
int http_head_scan(const char *bytes, size_t len, size_t *at, size_t *ret_len, struct error *e);

/* Reads a head that http_head_scan() found. `methods`: those that are let through; 0: it is an
 * answer's head. */
int http_head_read(const char *bytes, size_t len, unsigned methods, struct http_head *ret,
                   struct error *e);

/* The field of this name (any case), or NULL. */
const struct http_field *http_head_find(const struct http_head *h, const char *name);

/* Is it this word, in any case? */
int http_text_is(struct http_text t, const char *word);

/* Does a list of words with commas between hold this one? */
int http_list_has(struct http_text list, const char *word);

const char *http_method_name(enum http_method m);

/* -- bodies ------------------------------------------------------------------------------------ */

struct http_body {
        enum http_framing framing;
        uint64_t left; /* of the body, or of the chunk */
        int state;
        unsigned digits;
        int is_over;
};

void http_body_init(struct http_body *b, const struct http_head *h);

/*
 * How many of these bytes belong to the message: *ret_taken of them may be given to the parser.
 * After is_over what follows is the next message's. -1: the framing is broken.
 */
int http_body_take(struct http_body *b, const char *bytes, size_t len, size_t *ret_taken,
                   struct error *e);

#endif
