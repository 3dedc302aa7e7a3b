/*
 * client/call.h - one call of an operation, and its answer as a struct of carrel.h.
 *
 * Only this room uses it.
 */
#ifndef CARREL_CLIENT_CALL_H
#define CARREL_CLIENT_CALL_H

#include "client/answer.h"
#include "client/connection.h"

/* Starts a call with the id of a sandbox (or of a token). The writer takes further members. */
struct record_writer *client_begin(struct carrel *c, const char *id);

/*
 * Makes the call that was written, and gives its answer: a new struct of the type that the row of
 * the operation says (client/shape.c). `ret` is a `struct X **`; NULL: the answer is not read.
 * Errors: those of connection_call(); ERROR_PROTOCOL; ERROR_NO_MEMORY.
 */
int client_try(struct carrel *c, enum operation_code op, void *ret, struct error *e);

/* The same with an error for the caller of the library. */
int client_call(struct carrel *c, enum operation_code op, void *ret, struct carrel_error *e);

/* The same, and *ret is NULL for an error of this code. */
int client_find(struct carrel *c, enum operation_code op, enum error_code absent, void *ret,
                struct carrel_error *e);

/* As client_try(), for answers that the shape reads into another struct. */
int client_try_as(struct carrel *c, enum operation_code op, const struct answer_shape *shape,
                  void *ret, struct error *e);

/* Reads a copy of a record into a new struct, which it gives in `ret`. Returns 0 or -1. */
int client_read(const struct answer_shape *shape, const struct record *r, void *ret,
                struct error *e);

/*
 * Makes a call whose answer says whether the object existed. A sandbox that is not there to be
 * stopped did not exist. `ret_existed` may be NULL.
 */
int client_existed(struct carrel *c, enum operation_code op, int *ret_existed,
                   struct carrel_error *e);

/* Gives a text of the answer, as a string of its own. */
int client_text(struct carrel *c, enum operation_code op, uint16_t tag, char **ret,
                struct error *e);

#endif
