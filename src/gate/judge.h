/*
 * gate/judge.h - judges each request of a plain HTTP connection before a byte of it leaves. Also
 * judges the second TLS greeting, if a server asks for one.
 */
#ifndef CARREL_GATE_JUDGE_H
#define CARREL_GATE_JUDGE_H

#include <stdbool.h>

#include "egress/admit.h"
#include "gate/answers.h"
#include "gate/policy.h"

enum { JUDGE_HOLD_MAX = 36 * 1024 }; /* bytes held until a head is complete */

enum judge_verdict {
        JUDGE_PASS,   /* *ret_pass bytes may pass; the rest waits for more bytes */
        JUDGE_WAITS,  /* the same, and then nothing more until judge_answered() */
        JUDGE_OVER,   /* the same, and then all bytes may pass: the judge is no longer
                       * needed */
        JUDGE_REFUSED /* the same, and then no byte ever: *ret_reason, ret_other */
};

struct judge;

/*
 * Creates a judge for requests to host:port. Borrows the policy and the host. `protocol`:
 * PROTOCOL_HTTP1, PROTOCOL_HTTP2, or PROTOCOL_TLS. With PROTOCOL_TLS it judges what follows an
 * accepted greeting, and starts in the waiting state. NULL: no memory.
 */
struct judge *judge_new(const struct policy *p, const struct egress_host *host, uint16_t port,
                        enum egress_protocol protocol);
void judge_free(struct judge *j);

/* Judges the bytes that did not pass yet. ret_other: the name that contradicts, or "". */
enum judge_verdict judge_take(struct judge *j, const char *bytes, size_t len, size_t *ret_pass,
                              enum denial *ret_reason, struct egress_host *ret_other);

/* True: at least one request was permitted. */
bool judge_has_request(const struct judge *j);

/*
 * HTTP/2: the stream of the last request that was judged, and whether its answer has no body. 0: no
 * request yet, or another protocol.
 */
uint32_t judge_stream(const struct judge *j, bool *ret_is_head);

/* What the server still owes. NULL: not followed. The judge owns it. */
struct answers *judge_answers(struct judge *j);

/*
 * While the judge waits: takes all bytes that the server sent. 1: the server switched protocols or
 * accepted the greeting, and the judge is done. 0: it did not; continue to judge. -1: call again
 * with more bytes. -2: this is not a valid answer.
 */
int judge_answered(struct judge *j, const char *bytes, size_t len);

#endif
