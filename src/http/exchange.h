/*
 * http/exchange.h - one HTTP request and its answer, as the handler of a route sees them.
 *
 * A handler is called once, with the whole body (up to BODY_MAX). If its route says so, it is
 * called before the body, which then comes through hooks->body. It answers now or later, with one
 * of: exchange_answer(), exchange_json() (http/pour.h), exchange_fail(); or exchange_begin(), any
 * number of writes or events, exchange_end(). After that, and after hooks->gone, the handler must
 * not touch the exchange. A handler that does not answer before it returns must have called
 * exchange_hold().
 */
#ifndef CARREL_HTTP_EXCHANGE_H
#define CARREL_HTTP_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "http/handler.h"
#include "text/json.h"

/*
 * The value of a header (the name in any case), or NULL. Valid until the handler ends the exchange.
 */
const char *exchange_header(const struct exchange *x, const char *name);

/* Does the Accept header name this media type ("text/event-stream")? Wildcards do not count. */
int exchange_accepts(const struct exchange *x, const char *type);

/* Keeps the exchange after the handler returns. `hooks` must live as long as the program. */
void exchange_hold(struct exchange *x, const struct exchange_hooks *hooks, void *state);

/* Streamed bodies: no hooks->body until resume. Bytes that were already read may still arrive. */
void exchange_body_pause(struct exchange *x);
void exchange_body_resume(struct exchange *x);

/* Adds a header to the answer, before it begins. Line breaks in a value are never written. */
void exchange_add(struct exchange *x, const char *name, const char *value);

/*
 * Sets how many bytes in total the handler holds for the answer, or for a body that it collects.
 * They count against the caller's limit. Returns -1 if that is too much (429); the earlier count
 * then remains. The count ends with the exchange. Bytes that are queued for the client are counted
 * separately.
 */
int exchange_keep(struct exchange *x, size_t len, struct error *e);
int exchange_keep_body(struct exchange *x, size_t len, struct error *e);

/*
 * How many bytes to read at once for an answer in parts: fewer if too many bytes already wait for
 * the caller.
 */
size_t exchange_burst(const struct exchange *x);

/* Complete answers. `type` NULL with len 0: no content type. */
void exchange_answer(struct exchange *x, int status, const char *type, const void *bytes,
                     size_t len);
/* Sends {"error":{...}} with the HTTP status of the code. */
void exchange_fail(struct exchange *x, const struct error *e);

/* Answers with ERROR_NO_MEMORY. */
void exchange_no_memory(struct exchange *x);

/*
 * An answer in parts. `length` is the bytes of the body, or -1 if unknown. Write and event return
 * how many bytes now wait for the client: above EXCHANGE_HIGH, pause the source until
 * hooks->drained. An end before `length` bytes closes the connection.
 */
void exchange_begin(struct exchange *x, int status, const char *type, int64_t length);
size_t exchange_write(struct exchange *x, const void *bytes, size_t len);
/* Event and id may be NULL; data has one or more lines. */
size_t exchange_event(struct exchange *x, const char *event, const char *id, const char *data,
                      size_t len);
/* The id from which a client that had no event yet reconnects; NULL: a comment. */
size_t exchange_event_id(struct exchange *x, const char *id);
/* Keeps an idle stream open. */
size_t exchange_comment(struct exchange *x);
void exchange_end(struct exchange *x);

/* Writes {"error":{...}} into a writer that is initialised here. Out of memory, its length is 0. */
void exchange_error_text(struct json_writer *ret_w, const struct error *e);

/* May the same request succeed in a moment? Then the answer has Retry-After. */
int exchange_error_passes(const struct error *e);

/* Writes the members of an error as one JSON object: {"code",...}. */
void exchange_error_write(struct json_writer *w, const struct error *e);

/* Closes the connection, because an answer that has begun cannot be completed. */
void exchange_abort(struct exchange *x);

#endif
