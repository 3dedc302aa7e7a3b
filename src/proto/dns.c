/*
 * proto/dns.c - the questions that a sandbox's programs put to a name server, and the answers that
 * the gate gives them.
 *
 * Room: proto (deciding, pure). Touches: nothing; bytes in, bytes out.
 * Theory: a question is echoed byte for byte and never built again, so that a client's checks of
 * its own question hold. The text of a name is made once, here, of bytes that mean the same to
 * everybody; any other byte makes it no name.
 */
#include "proto/dns.h"

#include <string.h>

enum {
        QR = 0x8000,
        OPCODE = 0x7800,
        AA = 0x0400,
        TC = 0x0200,
        RD = 0x0100,
        RA = 0x0080,
        CD = 0x0010
};
enum {
        CLASS_IN = 1,
        TYPE_TKEY = 249,
        TYPE_MAILA = 254,
        LABEL_MAX = 63,
        POINTER = 0xc0,
        OPT_LEN = 11,
        OPTION_REASON = 15
};

static uint16_t
get16(const uint8_t *at)
{
        return (uint16_t)(at[0] << 8 | at[1]);
}

/* -- names ------------------------------------------------------------------------------------- */

static bool
is_text(const uint8_t *label, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                uint8_t c = label[i];

                if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_'))
                        return false;
        }
        return true;
}

int
dns_name_read(const uint8_t *bytes, size_t len, size_t *at, char ret[DNS_NAME_MAX + 1])
{
        size_t i = *at, out = 0;
        bool is_name = true;

        ret[0] = '\0';
        for (;;) {
                size_t label = i < len ? bytes[i] : POINTER;

                if (label > LABEL_MAX || len - i - 1 < label ||
                    i + 1 + label - *at > DNS_WIRE_NAME_MAX - (label > 0)) {
                        ret[0] = '\0';
                        return -1;
                }
                i++;
                if (label == 0)
                        break;
                if (out > 0)
                        ret[out++] = '.';
                memcpy(ret + out, bytes + i, label);
                is_name = is_name && is_text(bytes + i, label);
                out += label;
                i += label;
        }
        *at = i;
        ret[is_name ? out : 0] = '\0';
        return is_name ? 0 : 1;
}

size_t
dns_name_write(const char *name, uint8_t ret[DNS_WIRE_NAME_MAX])
{
        size_t out = 0;

        while (*name) {
                size_t label = strcspn(name, ".");

                if (label == 0 || label > LABEL_MAX || out + 1 + label + 1 > DNS_WIRE_NAME_MAX)
                        return 0;
                ret[out++] = (uint8_t)label;
                memcpy(ret + out, name, label);
                out += label;
                name += label;
                name += *name == '.';
        }
        ret[out++] = 0;
        return out;
}

/* -- questions --------------------------------------------------------------------------------- */

/* The options of an OPT record: do their lengths add up? */
static bool
options_check(const uint8_t *bytes, size_t len)
{
        while (len >= 4) {
                size_t option = 4 + (size_t)get16(bytes + 2);

                if (option > len)
                        return false;
                bytes += option;
                len -= option;
        }
        return len == 0;
}

/* The one record that a question may bring along: OPT, to the end of the message. */
static enum dns_rcode
edns_read(const uint8_t *bytes, size_t len, struct dns_query *ret)
{
        uint16_t size;

        if (len < OPT_LEN || bytes[0] != 0 || get16(bytes + 1) != DNS_OPT ||
            get16(bytes + 9) != len - OPT_LEN || !options_check(bytes + OPT_LEN, len - OPT_LEN))
                return DNS_FORMERR;
        size = get16(bytes + 3);
        ret->has_edns = true;
        ret->udp_size = size < DNS_UDP_MIN ? DNS_UDP_MIN : size > DNS_UDP_MAX ? DNS_UDP_MAX : size;
        return bytes[6] == 0 ? DNS_NOERROR : DNS_BADVERS;
}

static enum dns_rcode
question_check(uint16_t type, uint16_t class)
{
        if (type == 0 || type == DNS_OPT)
                return DNS_FORMERR;
        if (class != CLASS_IN || (type >= TYPE_TKEY && type <= TYPE_MAILA))
                return DNS_NOTIMP;
        return DNS_NOERROR;
}

/* Name, type and class of the one question, and what follows it. */
static enum dns_rcode
body_read(const uint8_t *bytes, size_t len, struct dns_query *ret, bool *ret_is_name)
{
        size_t at = DNS_HEADER_LEN;
        enum dns_rcode edns = DNS_NOERROR, asked;
        int name = dns_name_read(bytes, len, &at, ret->name);

        if (name < 0 || len - at < 4) {
                ret->name[0] = '\0';
                return DNS_FORMERR;
        }
        *ret_is_name = name == 0;
        ret->type = get16(bytes + at);
        asked = question_check(ret->type, get16(bytes + at + 2));
        at += 4;
        ret->question_len = at - DNS_HEADER_LEN;
        memcpy(ret->question, bytes + DNS_HEADER_LEN, ret->question_len);
        if (get16(bytes + 10) == 1)
                edns = edns_read(bytes + at, len - at, ret);
        else if (at != len)
                return DNS_FORMERR;
        return edns != DNS_NOERROR ? edns : asked;
}

enum dns_verdict
dns_query_read(const uint8_t *bytes, size_t len, struct dns_query *ret, enum dns_rcode *ret_rcode)
{
        bool is_name = false;

        memset(ret, 0, sizeof *ret);
        ret->udp_size = DNS_UDP_MIN;
        *ret_rcode = DNS_FORMERR;
        if (len < DNS_HEADER_LEN || (get16(bytes + 2) & QR) != 0)
                return DNS_DROPPED;
        ret->id = get16(bytes);
        ret->flags = get16(bytes + 2);
        if ((ret->flags & OPCODE) != 0) {
                *ret_rcode = DNS_NOTIMP;
                return DNS_FAULTY;
        }
        if ((ret->flags & TC) != 0 || get16(bytes + 4) != 1 || get16(bytes + 6) != 0 ||
            get16(bytes + 8) != 0 || get16(bytes + 10) > 1)
                return DNS_FAULTY;
        *ret_rcode = body_read(bytes, len, ret, &is_name);
        if (*ret_rcode != DNS_NOERROR)
                return DNS_FAULTY;
        if (!is_name) {
                *ret_rcode = DNS_NXDOMAIN;
                return DNS_NOT_A_NAME;
        }
        return DNS_ASKED;
}

/* -- answers ----------------------------------------------------------------------------------- */

struct out {
        uint8_t *at;
        size_t len, room;
};

/* Past the room it only counts: who wrote too much sees it at the end. */
static void
put(struct out *o, const void *bytes, size_t len)
{
        if (o->len + len <= o->room && len > 0)
                memcpy(o->at + o->len, bytes, len);
        o->len += len;
}

static void
put16(struct out *o, unsigned value)
{
        uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

        put(o, bytes, sizeof bytes);
}

static void
put32(struct out *o, uint32_t value)
{
        put16(o, value >> 16);
        put16(o, value & 0xffff);
}

static void
put_header(struct out *o, const struct dns_query *q, unsigned rcode, unsigned more_flags,
           unsigned answers, unsigned authorities)
{
        put16(o, q->id);
        put16(o, QR | RA | (q->flags & (OPCODE | RD | CD)) | more_flags | (rcode & 15));
        put16(o, q->question_len > 0);
        put16(o, answers);
        put16(o, authorities);
        put16(o, q->has_edns);
        put(o, q->question, q->question_len);
}

static void
put_address(struct out *o, const struct dns_query *q, const struct dns_answer *a)
{
        put16(o, POINTER << 8 | DNS_HEADER_LEN);
        put16(o, q->type);
        put16(o, CLASS_IN);
        put32(o, a->ttl_s);
        put16(o, (unsigned)a->address_len);
        put(o, a->address, a->address_len);
}

/* An SOA of the root: whatever the name was, it lies below. RFC 2308: its TTL and minimum say for
 * how long a denial holds. */
static void
put_authority(struct out *o, const struct dns_answer *a)
{
        static const uint8_t names[] =
                "\4gate\7invalid\0\6nobody\7invalid"; /* the second root is the string's own NUL */

        put(o, "", 1);
        put16(o, DNS_SOA);
        put16(o, CLASS_IN);
        put32(o, a->ttl_s);
        put16(o, sizeof names + 20);
        put(o, names, sizeof names);
        put32(o, 1); /* serial, refresh, retry, expire */
        put32(o, 3600);
        put32(o, 600);
        put32(o, 86400);
        put32(o, a->ttl_s);
}

/* Bytes of `text`, at most `most`, that end where a character ends. */
static size_t
shortened(const char *text, size_t most)
{
        size_t len = strlen(text);

        if (len <= most)
                return len;
        while (most > 0 && ((uint8_t)text[most] & 0xc0) == 0x80)
                most--;
        return most;
}

static void
put_edns(struct out *o, const struct dns_answer *a, size_t limit)
{
        size_t before = o->len + OPT_LEN + 6, text = 0;
        bool has_reason = a->reason != DNS_REASON_NONE && before <= limit;

        if (has_reason && a->reason_text)
                text = shortened(a->reason_text, limit - before);
        put(o, "", 1);
        put16(o, DNS_OPT);
        put16(o, DNS_UDP_MAX);
        put32(o, (uint32_t)a->rcode >> 4 << 24);
        put16(o, has_reason ? (unsigned)(6 + text) : 0);
        if (!has_reason)
                return;
        put16(o, OPTION_REASON);
        put16(o, (unsigned)(2 + text));
        put16(o, (unsigned)a->reason);
        if (text > 0)
                put(o, a->reason_text, text);
}

size_t
dns_answer_write(const struct dns_query *q, const struct dns_answer *a, bool is_udp, uint8_t *ret,
                 size_t room)
{
        static const struct dns_answer nothing;
        struct out o = { .at = ret, .room = room };
        size_t limit = is_udp && q->udp_size < DNS_ANSWER_MAX ? q->udp_size : DNS_ANSWER_MAX;
        bool has_address = a->address && ((q->type == DNS_A && a->address_len == 4) ||
                                          (q->type == DNS_AAAA && a->address_len == 16));
        bool is_denial = a->rcode == DNS_NXDOMAIN || (a->rcode == DNS_NOERROR && !has_address);
        unsigned rcode = a->rcode;

        if (room < DNS_ANSWER_MAX)
                return 0;
        if (rcode > 15 && !q->has_edns)
                rcode = DNS_SERVFAIL;
        put_header(&o, q, rcode, 0, has_address, is_denial);
        if (has_address)
                put_address(&o, q, a);
        if (is_denial)
                put_authority(&o, a);
        if (q->has_edns)
                put_edns(&o, a, limit);
        if (o.len <= limit)
                return o.len;
        o.len = 0;
        put_header(&o, q, rcode, TC, 0, 0);
        if (q->has_edns)
                put_edns(&o, &nothing, limit);
        return o.len;
}
