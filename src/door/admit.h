/*
 * door/admit.h - may this request come in at all: where it comes from, who sends it, what kind of body. Pure: it looks at a head.
 */
#ifndef CARREL_DOOR_ADMIT_H
#define CARREL_DOOR_ADMIT_H

#include <stdint.h>

#include "base/error.h"
#include "door/keeper.h"
#include "proto/http_head.h"

/* The values of fields are C strings by now. */

/* G05-G07: Host is this machine, Origin the same origin, no page of another site asks. ERROR_FORBIDDEN. */
int admit_origin(const struct http_head *h, int is_tcp, struct error *e);

/* A credential in a URL ends up in logs and histories: refused, with ERROR_UNAUTHENTICATED. */
int admit_query(const char *query, struct error *e);

/* The token of a bearer goes to peer->token (borrowed). Over TCP there has to be one. ERROR_UNAUTHENTICATED. */
int admit_credential(const struct http_head *h, int is_tcp, struct api_peer *peer, struct error *e);

/* G04, G06: JSON is said to be JSON, nothing is packed, nothing beyond `max` bytes is announced. */
int admit_body(const struct http_head *h, int takes_any_type, uint64_t max, struct error *e);

#endif
