/*
 * proto/hello.h - the greeting of a TLS client: whom does it ask for?
 *
 * Deciding, pure. Reads the ClientHello in place, however it is cut into segments and records,
 * without copying it: the bytes stay with the caller, who passes them on once they are judged. What
 * two readers could read in two ways (an extension twice, a name twice, a length that does not add
 * up) is malformed. Nothing behind the ClientHello is looked at. A server may have it said again,
 * and then it need not be the same: hello_retry(). Source: RFC 8446 4.1.2 and 5.1, RFC 6066 3
 * (SNI), RFC 7301 (ALPN), RFC 8701 (GREASE), RFC 9849 (ECH); attack H13.
 */
#ifndef CARREL_PROTO_HELLO_H
#define CARREL_PROTO_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        HELLO_MAX = 16 * 1024, /* bytes of a ClientHello */
        HELLO_WIRE_MAX =
                32 * 1024, /* with its record headers: what the caller must be ready to hold */
        HELLO_NAME_MAX = 253,
        HELLO_ALPN_MAX = 256
};

enum hello_verdict {
        HELLO_MORE,      /* so far nothing is wrong; never beyond HELLO_WIRE_MAX bytes */
        HELLO_TLS,       /* whole: the members below are filled */
        HELLO_MALFORMED, /* TLS by its first bytes, and breaks the rules, or is too long */
        HELLO_NOT_TLS    /* also the greeting of SSL 2 */
};

struct hello {
        char name[HELLO_NAME_MAX + 1]; /* host_name as written: letters, digits, "-", "_", "."; no
                                          address, no final dot; "": no SNI */
        /* has encrypted_client_hello (0xfe0d). Clients also send it at random (GREASE), which
         * cannot be distinguished from the real one: the name above is then the outer one, and
         * still the only one that the gate lets lead anywhere. */
        bool has_ech;
        bool has_alpn;
        /* The reader's own. */
        enum hello_verdict verdict;
        size_t record_at, need, have;
        size_t alpn_len;
        uint8_t alpn[HELLO_ALPN_MAX]; /* whole entries, each behind its length byte; those that do
                                         not fit are left out */
};

void hello_init(struct hello *h);

/* `bytes` is all that came since the connection began, `len` of them; more at each call. */
enum hello_verdict hello_read(struct hello *h, const uint8_t *bytes, size_t len);

/*
 * The first bytes of the server's answer. 1: the client must send its greeting once more, in clear
 * text (HelloRetryRequest), or this cannot be excluded; 0: anything else; -1: more bytes are
 * needed. What the client says in between (RFC 8446 4.2.10, D.4) are records of other types.
 */
int hello_retry(const uint8_t *bytes, size_t len);

/* Does the client offer this protocol ("h2", "http/1.1")? */
bool hello_offers(const struct hello *h, const char *protocol);

#endif
