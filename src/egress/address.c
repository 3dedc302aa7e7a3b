/*
 * egress/address.c - which addresses may be dialled, for any name that leads to them.
 *
 * Room: egress (deciding, pure). Touches: nothing.
 * Theory: an address that is not known to be on the internet is refused. IPv4 is a table of
 * exceptions. IPv6 is the reverse: global unicast (2000::/3) and forms that contain an IPv4 address
 * are permitted, with a table of exceptions. A contained IPv4 address is judged as if it were
 * dialled, because a translator on the way will use it.
 */
#include "egress/address.h"

#include <string.h>

/*
 * The kinds of refusals. egress_address_is_private() says which of them a private name may lead to.
 */
static const char DENIED[] = "denied", LOOPBACK[] = "loopback", PRIVATE[] = "private",
                  SHARED[] = "shared", LINK_LOCAL[] = "link-local", METADATA[] = "metadata",
                  MULTICAST[] = "multicast", UNSPECIFIED[] = "unspecified", RESERVED[] = "reserved",
                  DOCUMENTATION[] = "documentation", BENCHMARKING[] = "benchmarking",
                  DISCARD[] = "discard", TRANSLATED[] = "translated", NOT_GLOBAL[] = "not-global";

struct block {
        const char *network;
        const char *kind;
};

/*
 * Services that give out a machine's credentials. They are listed one by one: a permitted network
 * does not include them, unless it is this one address.
 */
static const struct block metadata[] = {
        { "169.254.169.254", METADATA }, /* AWS, Google, Azure, OpenStack, DigitalOcean, Oracle */
        { "169.254.170.2", METADATA },   /* AWS ECS: credentials of a task */
        { "169.254.170.23", METADATA },  /* AWS EKS: identity of a pod */
        { "169.254.169.123", METADATA }, /* AWS: time; on the same network */
        { "169.254.169.253", METADATA }, /* AWS: resolver */
        { "169.254.169.249", METADATA }, /* AWS: licences */
        { "169.254.0.23", METADATA },    /* Tencent */
        { "169.254.10.10", METADATA },   /* Tencent */
        { "169.254.42.42", METADATA },   /* Scaleway */
        { "192.0.0.192", METADATA },     /* Oracle, classic */
        { "100.100.100.200", METADATA }, /* Alibaba */
        { "168.63.129.16", METADATA },   /* Azure: wire server, a public address */
        { "fd00:ec2::254", METADATA },   /* AWS */
        { "fd00:ec2::253", METADATA },   /* AWS: resolver */
        { "fd00:ec2::123", METADATA },   /* AWS: time */
        { "fd00:ec2::23", METADATA },    /* AWS EKS */
        { "fd20:ce::254", METADATA },    /* Google */
        { "fd00:42::42", METADATA },     /* Scaleway */
        { "fd00:c1::a9fe:a9fe", METADATA }, /* Oracle */
};

/* IANA IPv4 Special-Purpose Address Registry; multicast: RFC 5771. More specific rows first. */
static const struct block v4[] = {
        { "0.0.0.0/32", UNSPECIFIED },    /* RFC 1122: for most hosts, the host itself */
        { "0.0.0.0/8", RESERVED },        /* RFC 791: this network */
        { "10.0.0.0/8", PRIVATE },        /* RFC 1918 */
        { "100.64.0.0/10", SHARED },      /* RFC 6598: carriers' NAT */
        { "127.0.0.0/8", LOOPBACK },      /* RFC 1122 */
        { "169.254.0.0/16", LINK_LOCAL }, /* RFC 3927 */
        { "172.16.0.0/12", PRIVATE },     /* RFC 1918 */
        { "192.0.0.0/24", RESERVED }, /* RFC 6890: IETF protocol assignments, among them DS-Lite and
                                         NAT64 discovery */
        { "192.0.2.0/24", DOCUMENTATION },    /* RFC 5737 */
        { "192.31.196.0/24", RESERVED },      /* RFC 7535: AS112 */
        { "192.52.193.0/24", RESERVED },      /* RFC 7450: AMT */
        { "192.88.99.0/24", RESERVED },       /* RFC 7526: 6to4 relays, deprecated */
        { "192.168.0.0/16", PRIVATE },        /* RFC 1918 */
        { "192.175.48.0/24", RESERVED },      /* RFC 7534: AS112 */
        { "198.18.0.0/15", BENCHMARKING },    /* RFC 2544; inside a wall, names */
        { "198.51.100.0/24", DOCUMENTATION }, /* RFC 5737 */
        { "203.0.113.0/24", DOCUMENTATION },  /* RFC 5737 */
        { "224.0.0.0/4", MULTICAST },         /* RFC 5771 */
        { "240.0.0.0/4", RESERVED },          /* RFC 1112, with 255.255.255.255 */
};

/* IANA IPv6 Special-Purpose Address Registry. */
static const struct block v6[] = {
        { "::/128", UNSPECIFIED },          /* RFC 4291 */
        { "::1/128", LOOPBACK },            /* RFC 4291 */
        { "100::/64", DISCARD },            /* RFC 6666 */
        { "100:0:0:1::/64", RESERVED },     /* RFC 9780 */
        { "2001:2::/48", BENCHMARKING },    /* RFC 5180 */
        { "2001:db8::/32", DOCUMENTATION }, /* RFC 3849 */
        /* RFC 2928: IETF protocol assignments: ORCHID, AS112, AMT, ... (Teredo is handled
         * before) */
        { "2001::/23", RESERVED },
        { "2620:4f:8000::/48", RESERVED }, /* RFC 7534: AS112 */
        { "3fff::/20", DOCUMENTATION },    /* RFC 9637 */
        { "3ffe::/16", RESERVED },         /* RFC 3701: 6bone, no longer used */
        { "5f00::/16", RESERVED },         /* RFC 9602: segment routing */
        { "fc00::/7", PRIVATE },           /* RFC 4193 */
        { "fe80::/10", LINK_LOCAL },       /* RFC 4291 */
        { "fec0::/10", PRIVATE },          /* RFC 3879: site-local, deprecated, but still routed
                                            * by some */
        { "ff00::/8", MULTICAST },         /* RFC 4291 */
};

/*
 * Forms that contain an IPv4 address: its offset, a mask to xor, and whether a packet really
 * arrives at that IPv4 address and nowhere else.
 */
static const struct {
        const char *network;
        uint8_t at, mask;
        bool is_way;
} carriers[] = {
        { "64:ff9b::/96", 12, 0, true },     /* RFC 6052: NAT64 */
        { "::ffff:0:0:0/96", 12, 0, false }, /* RFC 2765: translated (SIIT) */
        { "::/96", 12, 0, false },           /* RFC 4291: compatible, deprecated */
        { "2001::/32", 4, 0, false },        /* RFC 4380: Teredo's server ... */
        { "2001::/32", 12, 0xff, false },    /* ... and its client, complemented */
        { "2002::/16", 2, 0, false },        /* RFC 3056: 6to4 */
};

/*
 * RFC 8215: NAT64 of a local network. The place of the IPv4 address depends on a prefix that only
 * that network knows (RFC 6052 2.2).
 */
static const char nat64_local[] = "64:ff9b:1::/48";
static const uint8_t nat64_layouts[][4] = {
        { 6, 7, 9, 10 }, { 7, 9, 10, 11 }, { 9, 10, 11, 12 }, { 12, 13, 14, 15 }
};

/* -- reading ----------------------------------------------------------------------------------- */

/*
 * Four decimal numbers without leading zeros, as inet_pton() accepts them; moves *text behind them.
 */
static bool
v4_read(const char **text, uint8_t ret[4])
{
        const char *at = *text;

        for (int i = 0; i < 4; i++) {
                size_t digits = strspn(at, "0123456789");
                unsigned value = 0;

                if (digits == 0 || digits > 3 || (digits > 1 && at[0] == '0'))
                        return false;
                for (size_t k = 0; k < digits; k++)
                        value = value * 10 + (unsigned)(at[k] - '0');
                if (value > 255)
                        return false;
                ret[i] = (uint8_t)value;
                at += digits;
                if (i < 3 && *at++ != '.')
                        return false;
        }
        *text = at;
        return true;
}

static int
hex_value(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

static bool
group_read(const char **text, uint8_t ret[2])
{
        unsigned value = 0;
        const char *at = *text;

        for (; hex_value(*at) >= 0; at++) {
                if (at - *text == 4)
                        return false;
                value = value * 16 + (unsigned)hex_value(*at);
        }
        ret[0] = (uint8_t)(value >> 8);
        ret[1] = (uint8_t)value;
        if (at == *text)
                return false;
        *text = at;
        return true;
}

/* RFC 4291 2.2; moves *text behind the address. */
static bool
v6_read(const char **text, uint8_t ret[16])
{
        const char *at = *text;
        uint8_t head[16] = { 0 };
        size_t len = 0, gap = 17; /* bytes read; position of "::" */

        if (at[0] == ':' && at[1] == ':') {
                gap = 0;
                at += 2;
        } else if (at[0] == ':') {
                return false;
        }
        while (len < 16 && hex_value(*at) >= 0) {
                const char *dotted = at;

                if (at[strspn(at, "0123456789")] == '.') {
                        if (len > 12 || !v4_read(&dotted, head + len))
                                return false;
                        len += 4;
                        at = dotted;
                        break;
                }
                if (!group_read(&at, head + len))
                        return false;
                len += 2;
                if (at[0] == ':' && at[1] == ':' && gap > 16) {
                        gap = len;
                        at += 2;
                } else if (at[0] == ':' && len < 16 && hex_value(at[1]) >= 0) {
                        at++;
                } else {
                        break;
                }
        }
        if (gap > 16 ? len != 16 : len > 14)
                return false;
        memset(ret, 0, 16);
        if (gap > 16)
                gap = len;
        memcpy(ret, head, gap);
        memcpy(ret + 16 - (len - gap), head + gap, len - gap);
        *text = at;
        return true;
}

static bool
bits_read(const char *text, unsigned most, unsigned *ret)
{
        size_t digits = strspn(text, "0123456789");
        unsigned value = 0;

        if (digits == 0 || digits > 3 || text[digits] != '\0' || (digits > 1 && text[0] == '0'))
                return false;
        for (size_t i = 0; i < digits; i++)
                value = value * 10 + (unsigned)(text[i] - '0');
        *ret = value;
        return value <= most;
}

static bool
is_inside(const struct egress_address *a, const struct egress_network *n)
{
        unsigned whole = n->bits / 8, rest = n->bits % 8;

        return memcmp(a->bytes, n->base.bytes, whole) == 0 &&
               (rest == 0 || (a->bytes[whole] ^ n->base.bytes[whole]) >> (8 - rest) == 0);
}

static bool
has_bits_beyond(const struct egress_network *n)
{
        for (unsigned bit = n->bits; bit < 128; bit++)
                if ((n->base.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0)
                        return true;
        return false;
}

bool
egress_network_read(const char *text, struct egress_network *ret)
{
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
        struct egress_network n = { .bits = 128 };
        bool is_v4 = !strchr(text, ':');
        unsigned bits = is_v4 ? 32 : 128;

        if (is_v4)
                memcpy(n.base.bytes, mapped, sizeof mapped);
        if (!(is_v4 ? v4_read(&text, n.base.bytes + 12) : v6_read(&text, n.base.bytes)))
                return false;
        if (*text != '\0' && (*text != '/' || !bits_read(text + 1, bits, &bits)))
                return false;
        n.bits = (uint8_t)(bits + (is_v4 ? 96 : 0));
        if (has_bits_beyond(&n))
                return false;
        *ret = n;
        return true;
}

bool
egress_network_rule_read(const char *text, struct egress_network *ret)
{
        bool is_denied = text[0] == '!';

        if (!egress_network_read(text + is_denied, ret))
                return false;
        ret->is_denied = is_denied;
        return true;
}

/* -- judging ----------------------------------------------------------------------------------- */

static const struct block *
block_find(const struct egress_address *a, const struct block *blocks, size_t count)
{
        struct egress_network n;

        for (size_t i = 0; i < count; i++)
                if (!egress_network_read(blocks[i].network, &n) || is_inside(a, &n))
                        return &blocks[i]; /* an unreadable row refuses everything, and its test
                                            * fails */
        return NULL;
}
#define FIND(a, blocks) block_find(a, blocks, sizeof(blocks) / sizeof *(blocks))

/* Permitted by the operator. A metadata address must be permitted by itself. */
static bool
is_permitted(const struct egress_address *a, bool is_metadata, const struct egress_network *rules,
             size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (!rules[i].is_denied && is_inside(a, &rules[i]) &&
                    (!is_metadata || rules[i].bits == 128))
                        return true;
        return false;
}

static bool
is_denied(const struct egress_address *a, const struct egress_network *rules, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (rules[i].is_denied && is_inside(a, &rules[i]))
                        return true;
        return false;
}

static bool
is_v4(const struct egress_address *a)
{
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

        return memcmp(a->bytes, mapped, sizeof mapped) == 0;
}

/* The kind of an address, without rules of the operator. */
static const char *
plain_kind(const struct egress_address *a)
{
        const struct block *b = FIND(a, metadata);

        if (!b)
                b = is_v4(a) ? FIND(a, v4) : FIND(a, v6);
        if (b)
                return b->kind;
        return is_v4(a) || (a->bytes[0] & 0xe0) == 0x20 ? NULL : NOT_GLOBAL;
}

static const char *
plain_refused(const struct egress_address *a, const struct egress_network *rules, size_t count)
{
        const char *kind = plain_kind(a);

        if (is_denied(a, rules, count))
                return DENIED;
        return kind && !is_permitted(a, kind == METADATA, rules, count) ? kind : NULL;
}

static struct egress_address
carried(const struct egress_address *a, const uint8_t at[4], uint8_t mask)
{
        struct egress_address inner = { .bytes = { [10] = 0xff, [11] = 0xff } };

        for (unsigned i = 0; i < 4; i++)
                inner.bytes[12 + i] = a->bytes[at[i]] ^ mask;
        return inner;
}

/* The whole network must be permitted; even then a metadata service stays refused. */
static const char *
nat64_local_refused(const struct egress_address *a, const struct egress_network *rules,
                    size_t count)
{
        if (!is_permitted(a, false, rules, count))
                return TRANSLATED;
        for (size_t i = 0; i < sizeof nat64_layouts / sizeof *nat64_layouts; i++) {
                struct egress_address inner = carried(a, nat64_layouts[i], 0);

                if (FIND(&inner, metadata))
                        return METADATA;
                if (is_denied(&inner, rules, count))
                        return DENIED;
        }
        return NULL;
}

static bool
is_in(const struct egress_address *a, const char *network)
{
        struct egress_network n;

        return egress_network_read(network, &n) && is_inside(a, &n);
}

const char *
egress_address_refused(const struct egress_address *a, const struct egress_network *rules,
                       size_t count)
{
        if (is_denied(a, rules, count))
                return DENIED;
        if (is_v4(a) || is_in(a, "::/127"))
                return plain_refused(a, rules, count);
        if (is_in(a, nat64_local))
                return nat64_local_refused(a, rules, count);
        for (size_t i = 0; i < sizeof carriers / sizeof *carriers; i++) {
                uint8_t at = carriers[i].at;
                const uint8_t layout[4] = { at, (uint8_t)(at + 1), (uint8_t)(at + 2),
                                            (uint8_t)(at + 3) };
                struct egress_address inner = carried(a, layout, carriers[i].mask);
                const char *kind =
                        is_in(a, carriers[i].network) ? plain_refused(&inner, rules, count) : NULL;

                if (kind || (carriers[i].is_way && is_in(a, carriers[i].network)))
                        return kind;
        }
        return plain_refused(a, rules, count);
}

bool
egress_address_is_permitted(const struct egress_address *a, const struct egress_network *rules,
                            size_t count)
{
        return is_permitted(a, false, rules, count);
}

bool
egress_address_is_private(const char *kind)
{
        return kind == PRIVATE || kind == SHARED;
}

bool
egress_address_is_loopback(const char *kind)
{
        return kind == LOOPBACK;
}
