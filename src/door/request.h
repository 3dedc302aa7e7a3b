/*
 * door/request.h - the request that a connection is reading. For connection.c, which owns the struct and says when.
 */
#ifndef CARREL_DOOR_REQUEST_H
#define CARREL_DOOR_REQUEST_H

#include "door/connection.h"

enum { REQUEST_OWNER_LEN = 24 };

/* The owner who is a user of this machine, as the keeper calls him. */
void request_owner_of_uid(uid_t uid, char ret[REQUEST_OWNER_LEN]);

/* Each looks at what has come in, in the states HEAD and BODY. 1: there may be more to do at once. */
int request_head(struct connection *c);
int request_body(struct connection *c);

/* Makes the connection ready for its next request. */
void request_forget(struct connection *c);
void request_drop_body(struct connection *c);

#endif
