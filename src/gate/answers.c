/*
 * gate/answers.c - what a server still owes on a plain HTTP/1 connection.
 *
 * Room: gate (acting). Touches: nothing.
 *
 *     HEAD --its head, length known--> that many bytes ahead, HEAD --chunks--> BODY --last--> HEAD
 *       \--a partial head, an end by closing, an answer without a request,
 *          more than ANSWERS_OWED_MAX requests--> unknown
 *
 * Theory: this only finds a place for a refusal where the client reads it as an answer. So the
 * parser is strict and never guesses, and no byte is delayed for it. A body of known length is not
 * even read: splice(2) passes it from socket to socket.
 */
#include "gate/answers.h"

static const uint64_t LENGTH_MAX = UINT64_C(1) << 56;

void
answers_asked(struct answers *a, bool is_head)
{
        uint64_t bit = UINT64_C(1) << a->asked % ANSWERS_OWED_MAX;

        if (a->asked - a->answered >= ANSWERS_OWED_MAX)
                a->is_unknown = true;
        a->heads = is_head ? a->heads | bit : a->heads & ~bit;
        a->asked++;
}

static void
take_head(struct answers *a, const struct http_head *h)
{
        bool is_head = a->heads >> a->answered % ANSWERS_OWED_MAX & 1;

        /* an interim answer; after 101 the protocol is not known */
        if (h->status >= 100 && h->status < 200) {
                a->is_unknown = h->status == 101;
                return;
        }
        if (is_head || h->framing == HTTP_NO_BODY || h->framing == HTTP_LENGTH) {
                a->is_unknown = h->length > LENGTH_MAX;
                a->ahead += is_head || h->framing == HTTP_NO_BODY ? 0 : h->length;
                a->answered++;
        } else if (h->framing == HTTP_CHUNKED) {
                http_body_init(&a->body, h);
                a->is_in_body = true;
        } else {
                a->is_unknown = true;
        }
}

/* Reads one head, or the available part of a body. Returns its bytes; 0: unknown. */
static size_t
look_at_one(struct answers *a, const char *bytes, size_t len)
{
        struct http_head h;
        struct error e;
        size_t at = 0, taken = 0;

        if (a->is_in_body) {
                a->is_unknown = http_body_take(&a->body, bytes, len, &taken, &e) < 0;
                a->is_in_body = !a->body.is_over;
                a->answered += a->body.is_over ? 1 : 0;
                return taken;
        }
        if (a->answered == a->asked || http_head_scan(bytes, len, &at, &taken, &e) <= 0 ||
            http_head_read(bytes, taken, 0, &h, &e) < 0) {
                a->is_unknown = true;
                return 0;
        }
        take_head(a, &h);
        return taken;
}

void
answers_look(struct answers *a, const char *bytes, size_t len)
{
        size_t at = 0;

        while (at < len && !a->is_unknown) {
                size_t body = (size_t)(a->ahead - at < len - at ? a->ahead - at : len - at);
                size_t taken;

                at += body; /* of known length; it may end within these bytes */
                if (at == len)
                        break;
                taken = look_at_one(a, bytes + at, len - at);
                a->ahead += taken;
                at += taken;
        }
}

void
answers_passed(struct answers *a, size_t len)
{
        if (len > a->ahead)
                a->is_unknown = true;
        a->ahead -= len < a->ahead ? len : a->ahead;
}

bool
answers_are_over(const struct answers *a)
{
        return !a->is_unknown && !a->is_in_body && a->ahead == 0 && a->answered == a->asked;
}
