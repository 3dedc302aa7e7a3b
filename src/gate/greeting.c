/*
 * gate/greeting.c - the first bytes of a connection: which host do they name, and is it the host of
 * the address?
 *
 * Room: gate (acting). Touches: mem.
 * Theory: the gate connects to a server only after the greeting matches the name for which the
 * address was issued. It also reads the first bytes for a destination that is already refused,
 * because they select the form of the refusal. An HTTP/2 client may wait for SETTINGS of its server
 * before its first request. Then the gate connects after a preface that names no host, and judges
 * each request while relaying.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gate/connection.h"
#include "gate/connection_parts.h"
#include "gate/test_switches.h"
#include "proto/greeting.h"
#include "proto/hello.h"

enum { PREFACE_LEN = 24 /* of HTTP/2 */, QUIET_MS = 100 };

struct hello_state {
        struct hello hello;
};

void
greeting_fini(struct connection *c)
{
        free(c->hello);
        c->hello = NULL;
}

/*
 * A server may ask for a second greeting, which can contain any name. So the bytes after the first
 * greeting wait for its answer.
 */
static bool
has_judge(struct connection *c)
{
        if (switch_is_off(SWITCH_EVIDENCE))
                return true;
        c->out.judge = judge_new(c->policy, &c->host, c->port, c->protocol);
        c->out.waits = true;
        return c->out.judge != NULL;
}

/* Compares the name in the bytes with that of the connection, then dials. */
static void
weigh(struct connection *c, const char *said)
{
        struct egress_host name = { "" };
        enum denial reason = DENIAL_NONE;

        if (said[0] != '\0' && !egress_host_read(said, name.text))
                reason = DENIAL_SNI_OTHER;
        else if (!switch_is_off(SWITCH_EVIDENCE))
                reason = admit_evidence(&c->policy->p, &c->host, c->port, c->protocol, &name);
        if (reason == DENIAL_NONE && !has_judge(c))
                reason = DENIAL_FAILED;
        if (reason != DENIAL_NONE)
                connection_deny(c, reason, said);
        else
                connection_dial(c);
}

static void
look_at_tls(struct connection *c)
{
        struct held *h = &c->out.hold;
        char said[HELLO_NAME_MAX + 1];

        c->protocol = PROTOCOL_TLS;
        if (!c->hello) {
                c->hello = calloc(1, sizeof *c->hello);
                if (!c->hello) {
                        connection_reset(c);
                        return;
                }
                hello_init(&c->hello->hello);
        }
        switch (hello_read(&c->hello->hello, (const uint8_t *)h->bytes, h->len)) {
        case HELLO_MORE:
                return;
        case HELLO_TLS:
                h->judged = switch_is_off(SWITCH_EVIDENCE) ? h->len : c->hello->hello.record_at;
                memcpy(said, c->hello->hello.name, sizeof said);
                if (c->refused != DENIAL_NONE)
                        connection_deny(c, c->refused, NULL);
                else
                        weigh(c, said);
                return;
        case HELLO_MALFORMED:
        case HELLO_NOT_TLS:
                connection_deny(c, c->refused != DENIAL_NONE ? c->refused : DENIAL_MALFORMED, NULL);
                return;
        }
}

/*
 * HTTP/2: reads the request even if the connection is refused already, because it says on which
 * stream to refuse.
 */
static void
go_on(struct connection *c)
{
        if (c->refused != DENIAL_NONE)
                connection_deny(c, c->refused, NULL);
        else
                connection_dial(c);
}

/*
 * Waits QUIET_MS for a request after the preface and other frames, which may pass. Without a
 * request the gate then connects. Small pieces do not extend that time.
 */
static void
wait_for_request(struct connection *c)
{
        if (c->protocol != PROTOCOL_HTTP2 || c->out.hold.judged <= PREFACE_LEN || c->is_quiet)
                return;
        c->is_quiet = connection_wait(c, loop_now_ms() + QUIET_MS, go_on) == 0;
}

/*
 * The first request must be complete and name this host before the gate connects. The judge stays
 * for later requests.
 */
static void
look_at_http(struct connection *c, enum egress_protocol protocol)
{
        struct held *h = &c->out.hold;
        struct egress_host other;
        enum denial reason;
        size_t pass;

        c->protocol = protocol;
        if (c->refused != DENIAL_NONE &&
            (protocol != PROTOCOL_HTTP2 || switch_is_off(SWITCH_JUDGE))) {
                connection_deny(c, c->refused, NULL);
                return;
        }
        if (switch_is_off(SWITCH_JUDGE)) {
                h->judged = h->len;
                connection_dial(c);
                return;
        }
        if (!c->out.judge)
                c->out.judge = judge_new(c->policy, &c->host, c->port, protocol);
        if (!c->out.judge) {
                connection_reset(c);
                return;
        }
        switch (judge_take(c->out.judge, h->bytes + h->judged, h->len - h->judged, &pass, &reason,
                           &other)) {
        case JUDGE_REFUSED:
                connection_deny(c, c->refused != DENIAL_NONE ? c->refused : reason,
                                c->refused != DENIAL_NONE ? "" : other.text);
                return;
        case JUDGE_WAITS:
                c->out.waits = true;
                break;
        case JUDGE_PASS:
        case JUDGE_OVER:
                break;
        }
        h->judged += pass;
        if (judge_has_request(c->out.judge))
                go_on(c);
        else
                wait_for_request(c);
}

void
greeting_look(struct connection *c)
{
        switch (greeting_read((const uint8_t *)c->out.hold.bytes, c->out.hold.len)) {
        case GREETING_MORE:
                return;
        case GREETING_TLS:
                look_at_tls(c);
                return;
        case GREETING_HTTP1:
                look_at_http(c, PROTOCOL_HTTP1);
                return;
        case GREETING_HTTP2:
                look_at_http(c, PROTOCOL_HTTP2);
                return;
        case GREETING_UNKNOWN:
                connection_deny(c, c->refused != DENIAL_NONE ? c->refused : DENIAL_PROTOCOL, NULL);
                return;
        }
}
