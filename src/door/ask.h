/*
 * door/ask.h - from an exchange to a call of the keeper: what every handler of an operation begins with.
 */
#ifndef CARREL_DOOR_ASK_H
#define CARREL_DOOR_ASK_H

#include "base/arena.h"
#include "codec/codec.h"
#include "door/exchange.h"
#include "door/routes.h"
#include "text/tree.h"

enum { ASK_MEMORY = 16 << 20 };

/* The buffer that records are written in, one after the other. Valid until the next call of it. */
struct record_writer ask_record(void);

/*
 * Reads path, query and body as `o` takes them, adds who asks, and calls. `names`: what the query may hold besides. Errors: as
 * codec_read() and keeper_call().
 */
int ask(struct exchange *x, const struct route *r, const struct operation *o, const char *const *names, struct keeper_call *c, struct error *e);

/* Reads it into a record, and no more. Errors: as codec_read(). */
int ask_read(const struct codec_call *call, struct record_writer *w, struct error *e);

/* The same, of a record already written. */
int ask_with(struct exchange *x, const struct operation *o, struct record_writer *w, struct keeper_call *c, struct error *e);

/* Is ?encoding=base64 asked for? */
int ask_base64(const struct exchange *x);

/* Out of memory, said and done. */
void ask_no_memory(struct exchange *x);

#endif
