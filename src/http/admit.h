/*
 * http/admit.h - checks the head of a request: its origin, its credential and the type of its body.
 *
 * Pure: reads only the head.
 */
#ifndef CARREL_HTTP_ADMIT_H
#define CARREL_HTTP_ADMIT_H

#include <stdint.h>

#include "api/peer.h"
#include "base/error.h"
#include "proto/http_head.h"

/* The field values of the head are NUL-terminated here. */

/*
 * Cases G05-G07: Host must be this machine, Origin the same origin, and no page of another site may
 * ask. Errors: ERROR_FORBIDDEN.
 */
int admit_origin(const struct http_head *h, int is_tcp, struct error *e);

/*
 * Refuses a credential in a URL, because URLs end up in logs and histories. Errors:
 * ERROR_UNAUTHENTICATED.
 */
int admit_query(const char *query, struct error *e);

/*
 * Sets peer->token to the bearer token (borrowed). Over TCP a token is required. Errors:
 * ERROR_UNAUTHENTICATED.
 */
int admit_credential(const struct http_head *h, int is_tcp, struct api_peer *peer, struct error *e);

/*
 * Cases G04, G06: JSON must have the JSON content type, the body must not be compressed, and its
 * declared length is at most `max` bytes.
 */
int admit_body(const struct http_head *h, int takes_any_type, uint64_t max, struct error *e);

#endif
