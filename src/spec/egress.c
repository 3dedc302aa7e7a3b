/*
 * spec/egress.c - the grammar of network.egress, and which hosts an entry permits.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Theory: the canonical host that is built here is compared and later dialled; two parsers of one
 * name once let a NUL byte open a proxy. A name is refused in this order: first its bytes, then
 * forms that are not names (URL, address), then the name itself. A name whose last label is a
 * number is an address for some resolvers.
 */
#include "spec/egress.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_MAX = 63, PORT_MAX = 65535 };

static const char RESERVED[] = "carrel.internal";
static const char *const private_names[] = { "localhost", "local", "internal", "localdomain",
                                             "home.arpa" };

static bool
is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_label_char(char c)
{
        return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_' || c == '-';
}

static char
lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* A number in the forms of inet_aton(): decimal, octal or 0x hexadecimal. */
static bool
is_number(const char *label, size_t len)
{
        bool is_hexadecimal = len >= 2 && label[0] == '0' && lower(label[1]) == 'x';

        for (size_t i = is_hexadecimal ? 2 : 0; i < len; i++)
                if (!(is_hexadecimal ? is_hex(label[i]) : is_digit(label[i])))
                        return false;
        return len > 0;
}

enum host_fault { HOST_GOOD, HOST_CHARSET, HOST_ADDRESS, HOST_BAD };

/* Checks every label; counts the labels, and the numbers among them. */
static enum host_fault
labels_check(const char *host, size_t *ret_count)
{
        size_t count = 0, numbers = 0;
        bool is_last_number = false;

        for (const char *label = host;; label++) {
                size_t len = strcspn(label, ".");

                if (len == 0 || len > LABEL_MAX || label[0] == '-' || label[len - 1] == '-')
                        return HOST_BAD;
                is_last_number = is_number(label, len);
                numbers += is_last_number;
                count++;
                label += len;
                if (!*label)
                        break;
        }
        *ret_count = count;
        if (numbers == count)
                return HOST_ADDRESS;
        return is_last_number ? HOST_BAD : HOST_GOOD;
}

/* Converts `text` of `len` bytes, without "*." and port, to its canonical form. */
static enum host_fault
host_read(const char *text, size_t len, char ret[EGRESS_HOST_MAX + 1], size_t *ret_count)
{
        if (len > 0 && text[len - 1] == '.')
                len--;
        for (size_t i = 0; i < len; i++)
                if (text[i] != '.' && !is_label_char(lower(text[i])))
                        return HOST_CHARSET;
        if (len == 0 || len > EGRESS_HOST_MAX)
                return HOST_BAD;
        for (size_t i = 0; i < len; i++)
                ret[i] = lower(text[i]);
        ret[len] = '\0';
        return labels_check(ret, ret_count);
}

bool
egress_host_read(const char *text, char ret[EGRESS_HOST_MAX + 1])
{
        size_t count;

        return host_read(text, strlen(text), ret, &count) == HOST_GOOD;
}

static int
port_read(const char *text, uint16_t *ret)
{
        unsigned port = 0;
        size_t len = strspn(text, "0123456789");

        if (len == 0 || len > 5 || text[len] != '\0' || text[0] == '0')
                return -1;
        for (size_t i = 0; i < len; i++)
                port = port * 10 + (unsigned)(text[i] - '0');
        if (port > PORT_MAX)
                return -1;
        *ret = (uint16_t)port;
        return 0;
}

enum refusal {
        WILDCARD,
        FOREIGN_FORM,
        ADDRESS,
        HOSTNAME,
        PORT,
        CHARSET,
        WHITESPACE,
        SEVERAL,
        FINE
};

static const struct {
        const char *reason, *sentence, *hint;
} refusals[] = {
        [WILDCARD] = { "wildcard",
                       "the wildcard * is accepted only as the first label, before a name of two "
                       "or more labels",
                       "List the hosts one by one, or write *.example.com." },
        [FOREIGN_FORM] = { "url_or_cidr", "this is a URL, a path or a network, not a host name",
                           "Write the host name alone, with a port where it is not 80 or 443: "
                           "api.example.com or api.example.com:8443." },
        [ADDRESS] = { "ip_literal", "this is an address, not a name",
                      "Name the host, not its address: an address says nothing about who answers "
                      "there." },
        [HOSTNAME] = { "hostname",
                       "this is not a host name: labels of 1 to 63 characters, joined by dots, 253 "
                       "in all",
                       "Entries are host names: api.example.com, *.example.com, host:port." },
        [PORT] = { "port", "the port must be a number from 1 to 65535",
                   "Write host:port, or the host alone for 80 and 443." },
        [CHARSET] = { "charset", "host names are ASCII: letters, digits, \"-\", \"_\" and dots",
                      "Write an international name in its ASCII form, xn--..." },
        [WHITESPACE] = { "whitespace", "there is white space in this entry",
                         "Give each host an entry of its own." },
        [SEVERAL] = { "charset", "this entry names more than one host",
                      "Give each host an entry of its own: [a.example.com, b.example.com], or "
                      "--allow once for each." },
};

/* The fault of the bytes alone, or what the entry is instead of a name. */
static enum refusal
foreign(const char *text)
{
        size_t colons = 0;
        bool is_address_like = true;

        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
                if (*c == ' ' || (*c >= '\t' && *c <= '\r'))
                        return WHITESPACE;
        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
                if (*c < 0x20 || *c >= 0x7f)
                        return CHARSET;
        if (strpbrk(text, ",;"))
                return SEVERAL;
        if (strpbrk(text, "/@?#"))
                return FOREIGN_FORM;
        for (const char *c = text; *c; c++) {
                colons += *c == ':';
                if (*c == '%')
                        break; /* the zone of an IPv6 address */
                is_address_like = is_address_like && (is_hex(*c) || *c == ':' || *c == '.');
        }
        if (text[0] == '[' || (colons >= 2 && is_address_like))
                return ADDRESS;
        return colons >= 2 ? PORT : FINE;
}

static bool is_below(const char *host, const char *parent);

static int
refuse_reserved(const char *host, unsigned port, struct error *e)
{
        (void)fail_at(e, ERROR_EGRESS_INVALID, NULL, "reserved", "names of %s cannot be listed",
                      RESERVED);
        if (strcmp(host, EGRESS_HOST) == 0)
                error_hint(e,
                           "To reach a port of this machine, write metadata: {carrel: {egress: "
                           "{host_ports: [%u]}}} in SANDBOX.md.",
                           port);
        else
                error_hint(e, "Leave it out: only " EGRESS_HOST
                              " exists, by metadata.carrel.egress.host_ports.");
        return -1;
}

static int
refuse(enum refusal why, struct error *e)
{
        (void)fail_at(e, ERROR_EGRESS_INVALID, NULL, refusals[why].reason, "%s",
                      refusals[why].sentence);
        error_hint(e, "%s", refusals[why].hint);
        return -1;
}

int
egress_read(struct arena *arena, const char *text, struct spec_egress *ret, struct error *e)
{
        static const enum refusal of_host[] = {
                [HOST_CHARSET] = CHARSET, [HOST_ADDRESS] = ADDRESS, [HOST_BAD] = HOSTNAME
        };
        struct spec_egress entry = { .ports = { 80, 443 }, .port_count = 2 };
        enum refusal why = foreign(text);
        const char *port;
        char host[EGRESS_HOST_MAX + 1];
        enum host_fault fault;
        size_t count = 0;

        if (why != FINE)
                return refuse(why, e);
        entry.is_wildcard = strncmp(text, "*.", 2) == 0;
        text += entry.is_wildcard ? 2 : 0;
        if (strchr(text, '*'))
                return refuse(WILDCARD, e);
        port = strchr(text, ':');
        fault = host_read(text, port ? (size_t)(port - text) : strlen(text), host, &count);
        if (entry.is_wildcard && (fault == HOST_GOOD || fault == HOST_ADDRESS || text[0] == '\0') &&
            count < 2)
                return refuse(WILDCARD, e);
        if (fault != HOST_GOOD)
                return refuse(of_host[fault], e);
        if (port) {
                if (port_read(port + 1, &entry.ports[0]) < 0)
                        return refuse(PORT, e);
                entry.ports[1] = 0;
                entry.port_count = 1;
        }
        if (strcmp(host, RESERVED) == 0 || is_below(host, RESERVED))
                return refuse_reserved(host, entry.ports[0], e);
        entry.host = arena_text(arena, host);
        if (!entry.host)
                return fail(e, ERROR_NO_MEMORY, "no memory for an egress entry");
        *ret = entry;
        return 0;
}

int
egress_private_read(struct arena *arena, const char *text, struct spec_egress *ret, struct error *e)
{
        if (egress_read(arena, text, ret, e) < 0)
                return -1;
        if (!strchr(text, ':'))
                ret->port_count = 0;
        return 0;
}

struct spec_egress
egress_host_port(uint16_t port)
{
        return (struct spec_egress){ .host = EGRESS_HOST, .ports = { port }, .port_count = 1 };
}

bool
egress_is_host(const char *host)
{
        return strcmp(host, EGRESS_HOST) == 0;
}

int
egress_permitted_read(struct arena *arena, const char *text, struct spec_egress *ret,
                      struct error *e)
{
        static const char prefix[] = EGRESS_HOST ":";
        size_t len = sizeof prefix - 1;
        uint16_t port;

        if (strncmp(text, prefix, len) != 0 || port_read(text + len, &port) < 0 || port == 0)
                return egress_read(arena, text, ret, e);
        *ret = egress_host_port(port);
        return 0;
}

const char *
egress_path(const struct spec_egress *entry, char *ret)
{
        (void)snprintf(ret, EGRESS_PATH_ROOM, "%s/%zu",
                       egress_is_host(entry->host) ? "metadata/carrel/egress/host_ports"
                                                   : "network/egress",
                       entry->item);
        return ret;
}

/* Is `host` a name with one or more labels below `parent`? */
static bool
is_below(const char *host, const char *parent)
{
        size_t len = strlen(host), parent_len = strlen(parent);

        return len > parent_len + 1 && host[len - parent_len - 1] == '.' &&
               strcmp(host + len - parent_len, parent) == 0;
}

bool
egress_has_port(const struct spec_egress *entry, uint16_t port)
{
        for (size_t i = 0; i < entry->port_count; i++)
                if (entry->ports[i] == port)
                        return true;
        return port == 0 || entry->port_count == 0;
}

bool
egress_allows(const struct spec_egress *entries, size_t count, const char *host, uint16_t port)
{
        char canonical[EGRESS_HOST_MAX + 1];

        if (!host || !egress_host_read(host, canonical))
                return false;
        for (size_t i = 0; i < count; i++) {
                const struct spec_egress *entry = &entries[i];
                bool is_named = entry->is_wildcard ? is_below(canonical, entry->host)
                                                   : strcmp(canonical, entry->host) == 0;

                if (is_named && egress_has_port(entry, port))
                        return true;
        }
        return false;
}

const char *
egress_text(const struct spec_egress *entry, char *ret)
{
        char port[8] = "";

        if (entry->port_count == 1)
                (void)snprintf(port, sizeof port, ":%u", entry->ports[0]);
        (void)snprintf(ret, EGRESS_TEXT_ROOM, "%s%.253s%s", entry->is_wildcard ? "*." : "",
                       entry->host, port);
        return ret;
}

const char *const *
egress_texts(struct arena *arena, const struct spec_egress *entries, size_t count)
{
        const char **items = arena_array(arena, const char *, count + 1);

        for (size_t i = 0; i < count && items; i++) {
                char *text = arena_alloc(arena, EGRESS_TEXT_ROOM);

                items[i] = text ? egress_text(&entries[i], text) : NULL;
                if (!text)
                        return NULL;
        }
        return items;
}

bool
egress_covers(const struct spec_egress *outer, const struct spec_egress *inner)
{
        bool is_same = strcmp(outer->host, inner->host) == 0;

        for (size_t i = 0; i < inner->port_count; i++)
                if (inner->ports[i] == 0 || !egress_has_port(outer, inner->ports[i]))
                        return false;
        if (!outer->is_wildcard)
                return !inner->is_wildcard && is_same;
        return is_below(inner->host, outer->host) || (inner->is_wildcard && is_same);
}

bool
egress_is_private_name(const char *host)
{
        char canonical[EGRESS_HOST_MAX + 1];

        if (!egress_host_read(host, canonical))
                return false;
        for (size_t i = 0; i < sizeof private_names / sizeof private_names[0]; i++)
                if (strcmp(canonical, private_names[i]) == 0 ||
                    is_below(canonical, private_names[i]))
                        return true;
        return false;
}
