/*
 * http/request.h - reads the request of a connection. For serve.c, which calls these
 * functions.
 */
#ifndef CARREL_HTTP_REQUEST_H
#define CARREL_HTTP_REQUEST_H

#include "http/connection.h"

enum { REQUEST_OWNER_LEN = 24 };

/* Writes the keeper's name for an owner that is a user of this machine. */
void request_owner_of_uid(uid_t uid, char ret[REQUEST_OWNER_LEN]);

/*
 * Read the received bytes in the states HEAD and BODY. Return 1 if there may be more to do at once.
 */
int request_head(struct connection *c);
int request_body(struct connection *c);

/* While there is no handler: sends the error, then closes. */
void request_deny(struct connection *c, const struct error *e);

#endif
