/*
 * proto/hello.c - the greeting of a TLS client: whom does it ask for?
 *
 * Room: proto (deciding, pure). Touches: nothing.
 * Theory: records are counted as they become whole, each once, so that bytes which come one at a
 * time cost no more than their number. Once the counted ones hold the ClientHello it is read, in
 * one pass, by a cursor that steps over record headers; a nested length is checked before anything
 * in it is.
 *
 *     records --whole hello--> version, random, session, ciphers, compression --> extensions --> {
 * server_name, ALPN, ECH }, the others stepped over
 */
#include "proto/hello.h"

#include <string.h>

enum {
        RECORD_HEADER = 5,
        RECORD_MAX = 16384,
        RECORD_HANDSHAKE = 22,
        HANDSHAKE_HEADER = 4,
        CLIENT_HELLO = 1,
        SERVER_HELLO = 2,
        MAJOR = 3,
        MINOR_MAX = 4,
        RANDOM_LEN = 32,
        SESSION_MAX = 32,
        EXTENSION_NAME = 0,
        EXTENSION_ALPN = 16,
        EXTENSION_ECH = 0xfe0d,
        HOST_NAME = 0
};
enum { SEEN_NAME = 1u << 0, SEEN_ALPN = 1u << 1, SEEN_ECH = 1u << 2 };

/* -- bytes of the handshake, wherever they lie ------------------------------------------------- */

struct cursor {
        const uint8_t *bytes;
        size_t at, in_record, left;
};

/* The next `len` bytes, to `ret` if it is not NULL. False: there are not so many. */
static bool
take(struct cursor *c, size_t len, uint8_t *ret)
{
        if (len > c->left)
                return false;
        c->left -= len;
        while (len > 0) {
                size_t here;

                if (c->in_record == 0) {
                        c->in_record = (size_t)c->bytes[c->at + 3] << 8 | c->bytes[c->at + 4];
                        c->at += RECORD_HEADER;
                }
                here = len < c->in_record ? len : c->in_record;
                if (ret) {
                        memcpy(ret, c->bytes + c->at, here);
                        ret += here;
                }
                c->at += here;
                c->in_record -= here;
                len -= here;
        }
        return true;
}

static bool
take_number(struct cursor *c, unsigned len, size_t *ret)
{
        uint8_t bytes[3];

        if (!take(c, len, bytes))
                return false;
        *ret = 0;
        for (unsigned i = 0; i < len; i++)
                *ret = *ret << 8 | bytes[i];
        return true;
}

/* A vector behind a length of `width` bytes, to be read by itself: *ret covers only the vector, `c`
 * continues after it. */
static bool
take_vector(struct cursor *c, unsigned width, struct cursor *ret)
{
        size_t len;

        if (!take_number(c, width, &len) || len > c->left)
                return false;
        *ret = *c;
        ret->left = len;
        return take(c, len, NULL);
}

/* -- extensions -------------------------------------------------------------------------------- */

/* Is the last label a number, as in every spelling of an IPv4 address? */
static bool
is_address(const char *name)
{
        const char *last = strrchr(name, '.');
        const char *digits = "0123456789";

        last = last ? last + 1 : name;
        if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X')) {
                last += 2;
                digits = "0123456789abcdefABCDEF";
        }
        return last[strspn(last, digits)] == '\0';
}

static bool
is_name(const char *name, size_t len)
{
        static const char good[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

        return strspn(name, good) == len && name[0] != '.' && name[len - 1] != '.' &&
               !strstr(name, "..") && !is_address(name);
}

/* server_name: one list of one host_name, and nothing else. */
static bool
name_read(struct hello *h, struct cursor *c)
{
        struct cursor list, name;
        size_t type;

        if (!take_vector(c, 2, &list) || c->left > 0 || !take_number(&list, 1, &type) ||
            type != HOST_NAME || !take_vector(&list, 2, &name) || list.left > 0)
                return false;
        if (name.left == 0 || name.left > HELLO_NAME_MAX)
                return false;
        h->name[name.left] = '\0';
        type = name.left;
        return take(&name, name.left, (uint8_t *)h->name) && is_name(h->name, type);
}

static bool
alpn_read(struct hello *h, struct cursor *c)
{
        struct cursor list, entry;

        if (!take_vector(c, 2, &list) || c->left > 0 || list.left == 0)
                return false;
        h->has_alpn = true;
        while (list.left > 0) {
                size_t len;

                if (!take_vector(&list, 1, &entry) || entry.left == 0)
                        return false;
                len = entry.left;
                if (h->alpn_len + 1 + len > HELLO_ALPN_MAX)
                        continue;
                h->alpn[h->alpn_len] = (uint8_t)len;
                if (!take(&entry, len, h->alpn + h->alpn_len + 1))
                        return false;
                h->alpn_len += 1 + len;
        }
        return true;
}

static bool
ech_read(struct hello *h, struct cursor *c)
{
        h->has_ech = true;
        return take(c, c->left, NULL);
}

static const struct {
        unsigned type, seen;
        bool (*read)(struct hello *h, struct cursor *c);
} extensions[] = {
        { EXTENSION_NAME, SEEN_NAME, name_read },
        { EXTENSION_ALPN, SEEN_ALPN, alpn_read },
        { EXTENSION_ECH, SEEN_ECH, ech_read },
};

static bool
extension_read(struct hello *h, size_t type, struct cursor *body, unsigned *seen)
{
        for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
                if (extensions[i].type != type)
                        continue;
                if ((*seen & extensions[i].seen) != 0)
                        return false;
                *seen |= extensions[i].seen;
                return extensions[i].read(h, body);
        }
        return true;
}

static bool
extensions_read(struct hello *h, struct cursor *c)
{
        struct cursor all, body;
        unsigned seen = 0;

        if (c->left == 0)
                return true; /* before TLS 1.2 there may be none */
        if (!take_vector(c, 2, &all) || c->left > 0)
                return false;
        while (all.left > 0) {
                size_t type;

                if (!take_number(&all, 2, &type) || !take_vector(&all, 2, &body) ||
                    !extension_read(h, type, &body, &seen))
                        return false;
        }
        return true;
}

/* -- the greeting ------------------------------------------------------------------------------ */

static bool
greeting_read(struct hello *h, const uint8_t *bytes)
{
        struct cursor c = { .bytes = bytes, .left = h->need }, session, ciphers, compression;
        size_t version;

        if (!take(&c, HANDSHAKE_HEADER, NULL) || !take_number(&c, 2, &version) ||
            version >> 8 != MAJOR || !take(&c, RANDOM_LEN, NULL))
                return false;
        if (!take_vector(&c, 1, &session) || session.left > SESSION_MAX ||
            !take_vector(&c, 2, &ciphers) || ciphers.left == 0 || ciphers.left % 2 != 0)
                return false;
        return take_vector(&c, 1, &compression) && compression.left > 0 && extensions_read(h, &c);
}

/* The header at record_at: may it be one of a ClientHello? As far as it is there. */
static enum hello_verdict
record_check(const struct hello *h, const uint8_t *bytes, size_t len)
{
        const uint8_t *header = bytes + h->record_at;
        size_t there = len - h->record_at, body;

        if (there > 0 && header[0] != RECORD_HANDSHAKE)
                return h->record_at == 0 ? HELLO_NOT_TLS : HELLO_MALFORMED;
        if (there > 1 && header[1] != MAJOR)
                return h->record_at == 0 ? HELLO_NOT_TLS : HELLO_MALFORMED;
        if (there > 2 && header[2] > MINOR_MAX)
                return HELLO_MALFORMED;
        if (there < RECORD_HEADER)
                return HELLO_MORE;
        body = (size_t)header[3] << 8 | header[4];
        if (body == 0 || body > RECORD_MAX)
                return HELLO_MALFORMED;
        if (h->record_at == 0 && there > RECORD_HEADER && header[RECORD_HEADER] != CLIENT_HELLO)
                return HELLO_MALFORMED;
        return HELLO_MORE;
}

/* The length of the handshake message, once its header is counted. */
static bool
need_read(struct hello *h, const uint8_t *bytes)
{
        struct cursor c = { .bytes = bytes, .left = h->have };
        size_t type, len;

        if (h->need > 0 || h->have < HANDSHAKE_HEADER)
                return true;
        if (!take_number(&c, 1, &type) || !take_number(&c, 3, &len) || type != CLIENT_HELLO ||
            len > HELLO_MAX - HANDSHAKE_HEADER)
                return false;
        h->need = HANDSHAKE_HEADER + len;
        return true;
}

void
hello_init(struct hello *h)
{
        memset(h, 0, sizeof *h);
        h->verdict = HELLO_MORE;
}

enum hello_verdict
hello_read(struct hello *h, const uint8_t *bytes, size_t len)
{
        while (h->verdict == HELLO_MORE) {
                size_t body;

                h->verdict = record_check(h, bytes, len);
                if (h->verdict != HELLO_MORE)
                        break;
                body = len - h->record_at >= RECORD_HEADER
                               ? (size_t)bytes[h->record_at + 3] << 8 | bytes[h->record_at + 4]
                               : 0;
                if (h->record_at + RECORD_HEADER + body > HELLO_WIRE_MAX)
                        h->verdict = HELLO_MALFORMED;
                else if (body == 0 || len - h->record_at - RECORD_HEADER < body)
                        return HELLO_MORE;
                else {
                        h->have += body;
                        h->record_at += RECORD_HEADER + body;
                        if (!need_read(h, bytes) || (h->need > 0 && h->have > h->need))
                                h->verdict = HELLO_MALFORMED;
                        else if (h->need > 0 && h->have == h->need)
                                h->verdict = greeting_read(h, bytes) ? HELLO_TLS : HELLO_MALFORMED;
                }
        }
        return h->verdict;
}

int
hello_retry(const uint8_t *bytes, size_t len)
{
        /* The random of a HelloRetryRequest: SHA-256 of its name (RFC 8446 4.1.3). */
        static const uint8_t retry[RANDOM_LEN] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
                                                   0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
                                                   0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
                                                   0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };
        enum {
                TYPE_AT = RECORD_HEADER,
                RANDOM_AT = RECORD_HEADER + HANDSHAKE_HEADER + 2,
                BODY_LEAST = HANDSHAKE_HEADER + 2 + RANDOM_LEN
        };

        if (len > 0 && bytes[0] != RECORD_HANDSHAKE)
                return 0;
        if (len <= TYPE_AT)
                return -1;
        if (bytes[TYPE_AT] != SERVER_HELLO || ((size_t)bytes[3] << 8 | bytes[4]) < BODY_LEAST)
                return 1; /* cut into pieces, or out of order: a search for a second greeting misses
                             nothing */
        if (len < RANDOM_AT + RANDOM_LEN)
                return -1;
        return memcmp(bytes + RANDOM_AT, retry, RANDOM_LEN) == 0;
}

bool
hello_offers(const struct hello *h, const char *protocol)
{
        size_t want = strlen(protocol);

        for (size_t i = 0; i < h->alpn_len; i += 1 + (size_t)h->alpn[i])
                if (h->alpn[i] == want && memcmp(h->alpn + i + 1, protocol, want) == 0)
                        return true;
        return false;
}
