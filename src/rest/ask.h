/*
 * rest/ask.h - makes a call to the keeper from an exchange: the first step of each operation's
 * handler.
 */
#ifndef CARREL_REST_ASK_H
#define CARREL_REST_ASK_H

#include "base/arena.h"
#include "codec/codec.h"
#include "http/exchange.h"
#include "http/route.h"
#include "text/tree.h"

enum { ASK_MEMORY = 16 << 20 };

/* Returns the buffer in which records are written. Valid until the next call of this function. */
struct record_writer ask_record(void);

/*
 * Reads path, query and body as `o` declares them, adds the caller's identity, and begins the
 * call, which has its ops. `names`: query names that the handler reads itself. Errors: as
 * codec_read() and link_call_begin().
 */
int ask(struct exchange *x, const struct route *r, const struct operation *o,
        const char *const *names, struct link_call *c, struct error *e);

/* Only reads the call into a record. Errors: as codec_read(). */
int ask_read(const struct codec_call *call, struct record_writer *w, struct error *e);

/* As ask(), with a record that is already written. */
int ask_with(struct exchange *x, const struct operation *o, struct record_writer *w,
             struct link_call *c, struct error *e);

/* Does the query have encoding=base64? */
int ask_base64(const struct exchange *x);

#endif
