/*
 * proto/greeting.h - which protocol begins with these bytes.
 *
 * Deciding, pure; a guess that is never wrong about the reader to ask: what looks like one protocol
 * here and breaks its rules is refused by that reader.
 */
#ifndef CARREL_PROTO_GREETING_H
#define CARREL_PROTO_GREETING_H

#include <stddef.h>
#include <stdint.h>

enum greeting {
        GREETING_MORE,  /* no byte yet that tells; at most GREETING_MAX - 1 bytes say so */
        GREETING_TLS,   /* proto/hello.h */
        GREETING_HTTP1, /* proto/http1.h: a word of capitals (a method), and a blank */
        GREETING_HTTP2, /* proto/http2.h: its preface, whole */
        GREETING_UNKNOWN
};
enum { GREETING_MAX = 32 };

enum greeting greeting_read(const uint8_t *bytes, size_t len);

#endif
