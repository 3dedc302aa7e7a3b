/*
 * document/admit.h - what an agent may do in the sandbox that a document describes.
 *
 * Source: Geodocs "How agents consume this doc", rules 1 to 4, in this order.
 */
#ifndef CARREL_DOCUMENT_ADMIT_H
#define CARREL_DOCUMENT_ADMIT_H

#include <stddef.h>
#include <stdint.h>

#include "text/tree.h"

enum document_risk { DOCUMENT_LOW, DOCUMENT_MEDIUM, DOCUMENT_HIGH };

enum document_decision { DOCUMENT_ALLOW, DOCUMENT_ASK_USER, DOCUMENT_REFUSE, DOCUMENT_ABORT };

enum { DOCUMENT_TIMEOUTS = 3, DOCUMENT_HTTPS = 443 };

#define DOCUMENT_NOT_ELAPSED UINT64_MAX

struct document_request {
        enum document_risk risk;
        const char *host;      /* NULL: no connection */
        uint16_t port;         /* 0: 443 */
        const char *operation; /* NULL: none */
        /* milliseconds since the begin of the call, the task and the sandbox */
        uint64_t elapsed_ms[DOCUMENT_TIMEOUTS];
};

struct document_verdict {
        enum document_decision decision;
        const char *word; /* "allow", "ask_user", "refuse:tier", "abort:per_tool_call", ... */
        const char *why;  /* one sentence */
};

/* "per_tool_call", "per_task_loop", "per_sandbox_lifetime". */
extern const char *const document_timeout_names[DOCUMENT_TIMEOUTS];

/*
 * Decides. What the document does not say refuses, asks or aborts; whether the rest of the document
 * is good is the question of document_check(). Pure.
 */
struct document_verdict document_admit(const struct node *root,
                                       const struct document_request *request);

#endif
