/*
 * egress/admit.c - decides whether a connection may leave. If not, gives the reason and a hint.
 *
 * Room: egress (deciding, pure). Touches: nothing.
 * Theory: every decision ends in a search of one list. egress/rules.h returns what spec/egress.h
 * would decide for each entry. No path permits anything without an entry. The order of checks: a
 * name exists, the name is listed, the port is listed, the first bytes match.
 */
#include "egress/admit.h"

#include <stdio.h>
#include <string.h>

enum { HTTP = 80, HTTPS = 443 };

int
admit_policy_make(struct arena *arena, struct egress_policy *p)
{
        if (rules_make(arena, p->allow, p->allow_count, &p->allow_rules) < 0)
                return -1;
        return rules_make(arena, p->private_names, p->private_count, &p->private_rules);
}

enum denial
admit_name(const struct egress_policy *p, const struct egress_host *host, int *ret_entry)
{
        *ret_entry = -1;
        if (host->text[0] == '\0')
                return DENIAL_BAD_NAME;
        *ret_entry = rules_find(&p->allow_rules, host->text, 0);
        if (*ret_entry >= 0)
                return DENIAL_NONE;
        return egress_is_host(host->text) ? DENIAL_HOST_PORT : DENIAL_NOT_LISTED;
}

/*
 * An entry for HTTP has two ports; an entry with an explicit port has one. A port of the host
 * itself needs no look: there is no other name behind it.
 */
bool
admit_needs_look(const struct egress_policy *p, const struct egress_host *host, uint16_t port)
{
        if ((port == HTTP || port == HTTPS || port == 0) && !egress_is_host(host->text))
                return true;
        return rules_find(&p->allow_rules, host->text, port) < 0;
}

enum denial
admit_connection(const struct egress_policy *p, const struct egress_host *host, uint16_t port,
                 int *ret_entry)
{
        enum denial denial;
        int any;

        *ret_entry = -1;
        if (host->text[0] == '\0')
                return DENIAL_NO_NAME;
        denial = admit_name(p, host, &any);
        if (denial != DENIAL_NONE)
                return denial;
        if (port > 0)
                *ret_entry = rules_find(&p->allow_rules, host->text, port);
        if (*ret_entry >= 0)
                return DENIAL_NONE;
        return egress_is_host(host->text) ? DENIAL_HOST_PORT : DENIAL_PORT;
}

/* The denial if the bytes contain no name, or another name. */
static enum denial
said_check(const struct egress_host *host, const struct egress_host *said, enum denial none,
           enum denial other)
{
        if (said->text[0] == '\0')
                return none;
        return strcmp(host->text, said->text) == 0 ? DENIAL_NONE : other;
}

enum denial
admit_evidence(const struct egress_policy *p, const struct egress_host *host, uint16_t port,
               enum egress_protocol protocol, const struct egress_host *said)
{
        int entry;
        enum denial denial = admit_connection(p, host, port, &entry);

        if (denial != DENIAL_NONE)
                return denial;
        switch (protocol) {
        case PROTOCOL_TLS:
                return said_check(host, said, DENIAL_SNI_NONE, DENIAL_SNI_OTHER);
        case PROTOCOL_HTTP1:
        case PROTOCOL_HTTP2:
                return said_check(host, said, DENIAL_HOST_NONE, DENIAL_HOST_OTHER);
        case PROTOCOL_TCP:
                return admit_needs_look(p, host, port) ? DENIAL_PROTOCOL : DENIAL_NONE;
        case PROTOCOL_UNKNOWN:
                break;
        }
        return DENIAL_PROTOCOL;
}

bool
admit_may_be_private(const struct egress_policy *p, const struct egress_host *host, uint16_t port)
{
        return host->text[0] != '\0' && port != 0 &&
               rules_find(&p->private_rules, host->text, port) >= 0;
}

enum admit_reach
admit_reach(const struct egress_policy *p, const struct egress_host *host, uint16_t port)
{
        static const char name[] = "localhost";
        size_t len = strlen(host->text), name_len = sizeof name - 1;

        if (egress_is_host(host->text))
                return port != 0 && rules_find(&p->allow_rules, host->text, port) >= 0
                               ? REACH_HOST_PORT
                               : REACH_PUBLIC;
        if (!admit_may_be_private(p, host, port))
                return REACH_PUBLIC;
        if (len < name_len || strcmp(host->text + len - name_len, name) != 0 ||
            (len > name_len && host->text[len - name_len - 1] != '.'))
                return REACH_PRIVATE;
        return REACH_THIS_HOST;
}

bool
admit_is_above(const struct egress_policy *p, const struct egress_host *host)
{
        return rules_are_below(&p->allow_rules, host->text);
}

/*
 * Reads "host:port" as an entry, with the parser of entries; only a leading "*." is not valid in a
 * host.
 */
static bool
target_read(const char *text, struct egress_host *ret_host, uint16_t *ret_port)
{
        char memory[EGRESS_HOST_MAX + 2];
        const char *colon = strchr(text, ':');
        size_t len = colon ? (size_t)(colon - text) : strlen(text);
        unsigned port = 0;

        if (len >= sizeof memory)
                return false;
        memcpy(memory, text, len);
        memory[len] = '\0';
        if (colon) {
                const char *digits = colon + 1;
                size_t count = strspn(digits, "0123456789");

                if (count == 0 || count > 5 || digits[count] != '\0' || digits[0] == '0')
                        return false;
                for (size_t i = 0; i < count; i++)
                        port = port * 10 + (unsigned)(digits[i] - '0');
        }
        *ret_port = (uint16_t)port;
        return port <= UINT16_MAX && egress_host_read(memory, ret_host->text);
}

void
admit_explain(const struct egress_policy *p, const char *text, struct admit_decision *ret)
{
        uint16_t port;

        *ret = (struct admit_decision){ .denial = DENIAL_BAD_NAME, .entry = -1 };
        if (!target_read(text, &ret->host, &ret->port)) {
                ret->host.text[0] = '\0';
                ret->port = 0;
                return;
        }
        ret->denial = ret->port > 0 ? admit_connection(p, &ret->host, ret->port, &ret->entry)
                                    : admit_name(p, &ret->host, &ret->entry);
        /* without a port, the rule's own */
        port = ret->port > 0 || ret->entry < 0 ? ret->port : p->allow[ret->entry].ports[0];
        ret->needs_look = admit_needs_look(p, &ret->host, port);
        ret->may_be_private = admit_may_be_private(p, &ret->host, port);
}

/* -- texts ------------------------------------------------------------------------------------- */

static const struct {
        const char *name, *sentence, *hint;
} denials[DENIAL_MAX] = {
        [DENIAL_NONE] = { "none", "%H may be reached", "" },
#define DENIAL(id, wire, says, helps) [DENIAL_##id] = { wire, says, helps },
#include "egress/denials.def"
#undef DENIAL
};

static const char *
denial_words(enum denial d, int is_hint)
{
        unsigned row = (unsigned)d < DENIAL_MAX ? d : DENIAL_FAILED;

        return is_hint ? denials[row].hint : denials[row].sentence;
}

const char *
denial_name(enum denial d)
{
        return (unsigned)d < DENIAL_MAX ? denials[d].name : denials[DENIAL_FAILED].name;
}

struct out {
        char *at;
        size_t len, room;
};

/*
 * A client's text may contain any byte. Only bytes that are safe for a terminal and in JSON are
 * copied into the sentence.
 */
static void
put(struct out *o, const char *text, size_t len)
{
        for (size_t i = 0; i < len && o->len + 1 < o->room; i++)
                o->at[o->len++] = text[i];
}

static void
put_foreign(struct out *o, const char *text)
{
        for (; *text; text++)
                put(o, *text > ' ' && *text <= '~' && *text != '"' && *text != '\\' ? text : "?",
                    1);
}

/* "name:443", "[address]:443", or the name alone; a general term if neither is known. */
static void
put_destination(struct out *o, const char *host, uint16_t port)
{
        const char *unknown = port > 0 ? "this address" : "it";
        bool is_bracketed = host && port > 0 && strchr(host, ':');
        char number[8];

        if (!host || !host[0])
                put(o, unknown, strlen(unknown));
        put(o, "[", is_bracketed);
        put_foreign(o, host ? host : "");
        put(o, "]", is_bracketed);
        (void)snprintf(number, sizeof number, ":%u", port);
        put(o, number, port > 0 ? strlen(number) : 0);
}

/* The port, or a general term if only a name was requested. */
static void
put_port(struct out *o, uint16_t port)
{
        char number[8] = "PORT";

        if (port > 0)
                (void)snprintf(number, sizeof number, "%u", port);
        put(o, number, strlen(number));
}

static void
put_words(struct out *o, const char *words, const char *host, uint16_t port, const char *other)
{

        for (const char *percent; (percent = strchr(words, '%')) != NULL; words = percent + 2) {
                put(o, words, (size_t)(percent - words));
                if (percent[1] == 'O') {
                        put_foreign(o, other);
                } else if (percent[1] == 'P') {
                        put_port(o, port);
                } else if (percent[1] == 'N') {
                        put_destination(o, host, 0);
                } else {
                        put_destination(o, host, port);
                }
        }
        put(o, words, strlen(words));
}

size_t
denial_text(enum denial d, const char *host, uint16_t port, const char *other, char *ret,
            size_t room)
{
        struct out o = { ret, 0, room };

        if (room == 0)
                return 0;
        other = other && other[0] ? other : "another";
        put_words(&o, denial_words(d, 0), host, port, other);
        if (denial_words(d, 1)[0]) {
                put(&o, ". ", 2);
                put_words(&o, denial_words(d, 1), host, port, other);
        }
        ret[o.len] = '\0';
        return o.len;
}
