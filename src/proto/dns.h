/*
 * proto/dns.h - the questions that a sandbox's programs put to a name server, and the answers that
 * the gate gives them.
 *
 * Deciding, pure. One question a message, class IN, opcode QUERY, no compression; an OPT record
 * (EDNS, version 0) is allowed. Whatever else comes is answered with the code that says what was
 * wrong with it, or not at all. Framing over TCP (two bytes of length) is the caller's. Source: RFC
 * 1035, 2308 (answers that deny), 6891 (EDNS), 8482 (ANY), 8914 (extended errors); attacks H10,
 * H20.
 */
#ifndef CARREL_PROTO_DNS_H
#define CARREL_PROTO_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        DNS_HEADER_LEN = 12,
        DNS_NAME_MAX = 253 /* as text */,
        DNS_WIRE_NAME_MAX = 255,
        DNS_UDP_MIN = 512,
        DNS_UDP_MAX =
                1232, /* bytes of an answer over UDP: without EDNS, and the most we ever send */
        DNS_ANSWER_MAX = 1024 /* no answer of ours is longer */
};

enum dns_type {
        DNS_A = 1,
        DNS_NS = 2,
        DNS_CNAME = 5,
        DNS_SOA = 6,
        DNS_PTR = 12,
        DNS_MX = 15,
        DNS_TXT = 16,
        DNS_AAAA = 28,
        DNS_SRV = 33,
        DNS_OPT = 41,
        DNS_SVCB = 64,
        DNS_HTTPS = 65,
        DNS_ANY = 255
};
enum dns_rcode {
        DNS_NOERROR = 0,
        DNS_FORMERR = 1,
        DNS_SERVFAIL = 2,
        DNS_NXDOMAIN = 3,
        DNS_NOTIMP = 4,
        DNS_REFUSED = 5,
        DNS_BADVERS = 16
};
enum dns_reason {
        DNS_REASON_NONE = 0,
        DNS_REASON_BLOCKED = 15,
        DNS_REASON_PROHIBITED = 18
}; /* of an extended error */

struct dns_query {
        uint16_t id, flags; /* flags as they came */
        uint16_t type;      /* enum dns_type, or another */
        uint16_t udp_size;  /* bytes that the client takes over UDP: DNS_UDP_MIN to DNS_UDP_MAX */
        bool has_edns;
        size_t question_len; /* 0: none could be read */
        uint8_t question[DNS_WIRE_NAME_MAX +
                         4]; /* name, type and class byte for byte as asked: 0x20 case comes back */
        char name[DNS_NAME_MAX + 1]; /* as text, case as asked, no final dot; "" is the root */
};

enum dns_verdict {
        DNS_ASKED,      /* a question; the caller decides on q->name and q->type */
        DNS_NOT_A_NAME, /* well-formed, but no host name: a label holds a dot, NUL, or a byte that
                           is no letter, digit, "-" or "_". To be answered NXDOMAIN */
        DNS_FAULTY,     /* to be answered with *ret_rcode */
        DNS_DROPPED     /* too short to answer, or an answer itself: no reply */
};

/* Reads one message. *ret is filled as far as an answer needs it, with every verdict but
 * DNS_DROPPED. *ret_rcode is the code to answer with (DNS_ASKED: DNS_NOERROR). */
enum dns_verdict dns_query_read(const uint8_t *bytes, size_t len, struct dns_query *ret,
                                enum dns_rcode *ret_rcode);

struct dns_answer {
        enum dns_rcode rcode;
        const uint8_t *address; /* borrowed; NULL: none (with DNS_NOERROR that says: the name is
                                   there, this type is not) */
        size_t address_len; /* 4 for A, 16 for AAAA; one that does not fit the question's type is
                               left out */
        uint32_t ttl_s;     /* of the address, or of the denial (the SOA's minimum) */
        enum dns_reason reason;  /* told if the query had EDNS */
        const char *reason_text; /* UTF-8 for people, may be NULL; shortened if it does not fit */
};

/*
 * Writes the answer to `q`, at most `room` bytes, and over UDP at most what the client takes:
 * without the sentence if that is too long, and with TC and nothing but the question if it does not
 * fit then. Denials (NXDOMAIN, or NOERROR without an address) carry a SOA record, so that they are
 * cached for ttl_s. Gives the length; 0: room < DNS_ANSWER_MAX (a mistake of ours).
 *
 * Use: A and AAAA of a permitted name get its address; every other type of a permitted name (HTTPS
 * and SVCB, which would carry ECH keys, SRV, MX, TXT, ANY, ...) DNS_NOERROR without one. Names that
 * are not permitted: NXDOMAIN, but NOERROR where a permitted name lies below (egress/admit.h).
 */
size_t dns_answer_write(const struct dns_query *q, const struct dns_answer *a, bool is_udp,
                        uint8_t *ret, size_t room);

/* -- names as bytes ---------------------------------------------------------------------------- */

/*
 * Reads the name at bytes[*at], no compression, to text: *at is then behind it. 0; 1: well-formed,
 * but not text (see DNS_NOT_A_NAME), `ret` is ""; -1: cut, too long, or compressed; `ret` is "",
 * too.
 */
int dns_name_read(const uint8_t *bytes, size_t len, size_t *at, char ret[DNS_NAME_MAX + 1]);

/* Writes a name, final dot or not. Gives its length with the root; 0: no name (an empty label, one
 * past 63 bytes, 255 in all). "" is the root. */
size_t dns_name_write(const char *name, uint8_t ret[DNS_WIRE_NAME_MAX]);

#endif
