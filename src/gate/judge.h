/*
 * gate/judge.h - each request of a plain HTTP connection, judged before a byte of it leaves; and the second greeting of TLS, where a server asks for one.
 */
#ifndef CARREL_GATE_JUDGE_H
#define CARREL_GATE_JUDGE_H

#include <stdbool.h>

#include "egress/admit.h"
#include "gate/answers.h"
#include "gate/policy.h"

enum { JUDGE_HOLD_MAX = 36 * 1024 };           /* bytes that may have to be held until a head is whole */

enum judge_verdict {
        JUDGE_PASS,            /* *ret_pass bytes may go; the rest waits for more */
        JUDGE_WAITS,           /* the same, and nothing more until judge_answered() */
        JUDGE_OVER,            /* the same, and from then on everything may: the judge is not needed any more */
        JUDGE_REFUSED          /* the same, and then nothing for ever: *ret_reason, ret_other */
};

struct judge;

/*
 * For requests to host:port (borrowed, as is the policy). `protocol`: PROTOCOL_HTTP1 or PROTOCOL_HTTP2; or PROTOCOL_TLS, for what comes behind a greeting that was
 * found good, and then it waits at once. NULL without memory.
 */
struct judge *judge_new(const struct policy *p, const struct egress_host *host, uint16_t port, enum egress_protocol protocol);
void judge_free(struct judge *j);

/* The bytes that did not pass yet. ret_other: what contradicts, or "". */
enum judge_verdict judge_take(struct judge *j, const char *bytes, size_t len, size_t *ret_pass, enum denial *ret_reason, struct egress_host *ret_other);

/* Was a request permitted yet? */
bool judge_has_request(const struct judge *j);

/* HTTP/2: the stream of the request that was looked at last, and whether its answer has no body; 0: none was, or it is another protocol. */
uint32_t judge_stream(const struct judge *j, bool *ret_is_head);

/* What the server still owes; NULL: that is not followed. The judge's own. */
struct answers *judge_answers(struct judge *j);

/* While it waits: all that the server sent. 1: it switched, or took the greeting: the judge is at its end; 0: it did not, judge on; -1: look again with more; -2: it is no answer. */
int judge_answered(struct judge *j, const char *bytes, size_t len);

#endif
