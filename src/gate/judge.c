/*
 * gate/judge.c - judges each request of a plain HTTP connection before a byte of it leaves. Also
 * judges the second TLS greeting, if a server asks for one.
 *
 * Room: gate (acting). Touches: mem.
 * Theory: the parsers of proto/ find heads and their hosts; admit_evidence() compares them with the
 * host of the connection. Bytes that are not judged are not sent, so a smuggled second request
 * stays in the gate's buffer (H12). A second greeting may contain any name, and servers use it. So
 * nothing follows the first until the server has answered (H13).
 */
#include "gate/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/test_switches.h"
#include "proto/hello.h"
#include "proto/http1.h"
#include "proto/http2.h"

enum { PORT_LEN = 6 /* ":65535" */ };

struct judge {
        const struct policy *policy;
        const struct egress_host *host;
        uint16_t port;
        enum egress_protocol protocol;
        bool has_request;
        size_t record_left;  /* of a TLS record that may pass */
        struct hello *hello; /* while the second greeting is read */
        struct http1 http1;
        struct http2 *http2;
        struct answers answers;
};

struct judge *
judge_new(const struct policy *p, const struct egress_host *host, uint16_t port,
          enum egress_protocol protocol)
{
        struct judge *j = calloc(1, sizeof *j);

        if (!j)
                return NULL;
        j->policy = p;
        j->host = host;
        j->port = port;
        j->protocol = protocol;
        if (protocol == PROTOCOL_HTTP2)
                j->http2 = http2_new();
        else
                http1_init(&j->http1);
        if (protocol == PROTOCOL_HTTP2 && !j->http2) {
                free(j);
                return NULL;
        }
        return j;
}

void
judge_free(struct judge *j)
{
        if (!j)
                return;
        http2_free(j->http2);
        free(j->hello);
        free(j);
}

/* Compares the host and port of a request with those of the connection. */
static enum denial
judge_host(const struct judge *j, const struct authority *a, struct egress_host *ret_other)
{
        struct egress_host said = { "" };
        enum denial d;

        if (switch_is_off(SWITCH_JUDGE))
                return DENIAL_NONE;
        if (!egress_host_read(a->host, said.text)) {
                (void)snprintf(ret_other->text, sizeof ret_other->text, "%.*s", EGRESS_HOST_MAX,
                               a->host);
                return DENIAL_HOST_OTHER;
        }
        d = admit_evidence(&j->policy->p, j->host, j->port, j->protocol, &said);
        if (d != DENIAL_NONE) {
                *ret_other = said;
        } else if (a->port != 0 && a->port != j->port) {
                d = DENIAL_HOST_OTHER;
                (void)snprintf(ret_other->text, sizeof ret_other->text, "%.*s:%u",
                               EGRESS_HOST_MAX - PORT_LEN, said.text, (unsigned)a->port);
        }
        return d;
}

static enum denial
judge_http1(const struct judge *j, struct egress_host *ret_other)
{
        const struct http1_request *r = &j->http1.request;

        if (switch_is_off(SWITCH_JUDGE))
                return DENIAL_NONE;
        if (r->form == HTTP1_ABSOLUTE || r->form == HTTP1_AUTHORITY) {
                (void)snprintf(ret_other->text, sizeof ret_other->text, "%.*s", EGRESS_HOST_MAX,
                               r->target.host);
                return r->form == HTTP1_ABSOLUTE ? DENIAL_PROXY_FORM : DENIAL_CONNECT;
        }
        if (r->upgrade == HTTP1_H2C || r->upgrade == HTTP1_OTHER)
                return DENIAL_UPGRADE;
        return judge_host(j, &r->host, ret_other);
}

static enum judge_verdict
take_http1(struct judge *j, const char *bytes, size_t len, size_t *ret_pass,
           enum denial *ret_reason, struct egress_host *ret_other)
{
        struct error e;

        for (;;) {
                size_t pass = 0;
                enum http1_verdict v =
                        http1_take(&j->http1, bytes + *ret_pass, len - *ret_pass, &pass, &e);

                *ret_pass += pass;
                if (v == HTTP1_MORE || v == HTTP1_WAITING)
                        return v == HTTP1_MORE ? JUDGE_PASS : JUDGE_WAITS;
                *ret_reason = v == HTTP1_NO_HOST     ? DENIAL_HOST_NONE
                              : v == HTTP1_MALFORMED ? DENIAL_MALFORMED
                                                     : judge_http1(j, ret_other);
                if (*ret_reason != DENIAL_NONE)
                        return JUDGE_REFUSED;
                j->has_request = true;
                answers_asked(&j->answers, strcmp(j->http1.request.method, "HEAD") == 0);
                http1_permit(&j->http1);
        }
}

static enum judge_verdict
take_http2(struct judge *j, const char *bytes, size_t len, size_t *ret_pass,
           enum denial *ret_reason, struct egress_host *ret_other)
{
        static const enum denial reasons[] = { [HTTP2_NO_HOST] = DENIAL_HOST_NONE,
                                               [HTTP2_CONNECT] = DENIAL_CONNECT,
                                               [HTTP2_MALFORMED] = DENIAL_MALFORMED,
                                               [HTTP2_NO_MEMORY] = DENIAL_FAILED };
        struct error e;

        for (;;) {
                size_t pass = 0;
                enum http2_verdict v = http2_take(j->http2, (const uint8_t *)bytes + *ret_pass,
                                                  len - *ret_pass, &pass, &e);

                *ret_pass += pass;
                if (v == HTTP2_MORE)
                        return JUDGE_PASS;
                *ret_reason = v == HTTP2_REQUEST
                                      ? judge_host(j, &http2_request(j->http2)->host, ret_other)
                                      : reasons[v];
                if (*ret_reason != DENIAL_NONE)
                        return JUDGE_REFUSED;
                j->has_request = true;
                http2_permit(j->http2);
        }
}

/* -- TLS, after an accepted greeting ----------------------------------------------------------- */

enum {
        RECORD_HEADER = 5,
        RECORD_CHANGE_CIPHER = 20,
        RECORD_ALERT = 21,
        RECORD_HANDSHAKE = 22,
        RECORD_DATA = 23
};

static enum judge_verdict
take_second_hello(struct judge *j, const char *bytes, size_t len, size_t *ret_pass,
                  enum denial *ret_reason, struct egress_host *ret_other)
{
        struct egress_host said = { "" };

        if (!j->hello) {
                j->hello = calloc(1, sizeof *j->hello);
                if (j->hello)
                        hello_init(j->hello);
        }
        switch (j->hello ? hello_read(j->hello, (const uint8_t *)bytes + *ret_pass, len - *ret_pass)
                         : HELLO_MALFORMED) {
        case HELLO_MORE:
                return JUDGE_PASS;
        case HELLO_TLS:
                break;
        case HELLO_MALFORMED:
        case HELLO_NOT_TLS:
                *ret_reason = j->hello ? DENIAL_MALFORMED : DENIAL_FAILED;
                return JUDGE_REFUSED;
        }
        (void)snprintf(ret_other->text, sizeof ret_other->text, "%s", j->hello->name);
        *ret_reason = j->hello->name[0] != '\0' && !egress_host_read(j->hello->name, said.text)
                              ? DENIAL_SNI_OTHER
                              : admit_evidence(&j->policy->p, j->host, j->port, j->protocol, &said);
        if (*ret_reason != DENIAL_NONE)
                return JUDGE_REFUSED;
        ret_other->text[0] = '\0';
        *ret_pass = len;
        return JUDGE_OVER;
}

/*
 * Records other than a handshake may precede the second greeting. Servers ignore them, and so does
 * the gate.
 */
static enum judge_verdict
take_tls(struct judge *j, const char *bytes, size_t len, size_t *ret_pass, enum denial *ret_reason,
         struct egress_host *ret_other)
{
        for (;;) {
                const uint8_t *record = (const uint8_t *)bytes + *ret_pass;
                size_t there = len - *ret_pass,
                       passes = there < j->record_left ? there : j->record_left;

                j->record_left -= passes;
                *ret_pass += passes;
                if (passes > 0)
                        continue;
                if (there > 0 && record[0] == RECORD_HANDSHAKE)
                        return take_second_hello(j, bytes, len, ret_pass, ret_reason, ret_other);
                if (there > 0 && record[0] != RECORD_CHANGE_CIPHER && record[0] != RECORD_ALERT &&
                    record[0] != RECORD_DATA) {
                        *ret_reason = DENIAL_MALFORMED;
                        return JUDGE_REFUSED;
                }
                if (there < RECORD_HEADER)
                        return JUDGE_PASS;
                j->record_left = RECORD_HEADER + ((size_t)record[3] << 8 | record[4]);
        }
}

enum judge_verdict
judge_take(struct judge *j, const char *bytes, size_t len, size_t *ret_pass,
           enum denial *ret_reason, struct egress_host *ret_other)
{
        *ret_pass = 0;
        *ret_reason = DENIAL_NONE;
        ret_other->text[0] = '\0';
        if (j->protocol == PROTOCOL_TLS)
                return take_tls(j, bytes, len, ret_pass, ret_reason, ret_other);
        return j->protocol == PROTOCOL_HTTP2
                       ? take_http2(j, bytes, len, ret_pass, ret_reason, ret_other)
                       : take_http1(j, bytes, len, ret_pass, ret_reason, ret_other);
}

bool
judge_has_request(const struct judge *j)
{
        return j->has_request;
}

uint32_t
judge_stream(const struct judge *j, bool *ret_is_head)
{
        const struct http2_request *r = j && j->http2 ? http2_request(j->http2) : NULL;

        *ret_is_head = r && strcmp(r->method, "HEAD") == 0;
        return r ? r->stream : 0;
}

struct answers *
judge_answers(struct judge *j)
{
        return j && j->protocol == PROTOCOL_HTTP1 ? &j->answers : NULL;
}

int
judge_answered(struct judge *j, const char *bytes, size_t len)
{
        int answer;

        if (j->protocol == PROTOCOL_TLS) {
                answer = len > 0 ? hello_retry((const uint8_t *)bytes, len) : 0;
                return answer < 0 ? -1 : !answer;
        }
        answer = http1_answer_status(bytes, len);
        if (answer >= 0)
                http1_switched(&j->http1, answer == 1);
        return answer;
}
