/*
 * door/exchange.h - one HTTP request and its answer, as a route's handler sees them.
 *
 * A handler is called once, with the whole body (up to BODY_MAX) or, where its route says so, before the body, which then comes
 * through hooks->body. It answers now or later, with one of: exchange_answer(), exchange_json(), exchange_fail(); or
 * exchange_begin(), any number of writes or events, exchange_end(). After that, and after hooks->gone, the exchange is no
 * longer the handler's: it must not be touched. A handler that does not answer before it returns must have called exchange_hold().
 */
#ifndef CARREL_DOOR_EXCHANGE_H
#define CARREL_DOOR_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "door/keeper.h"
#include "loop/loop.h"
#include "text/json.h"

enum { EXCHANGE_HIGH = 512 * 1024 /* queued bytes above which to pause the source */ };

struct exchange;

struct exchange_hooks {
        /* The client went away, or took too long: release everything; the exchange is gone with it. Without this hook the answer is still tried. */
        void (*gone)(struct exchange *x);
        void (*drained)(struct exchange *x);                               /* what was written has been taken; go on */
        void (*body)(struct exchange *x, const void *bytes, size_t len);   /* streamed bodies: len 0 is the end */
};

struct exchange {
        const char *method;            /* "GET", "POST", "PUT", "DELETE" */
        const char *path;              /* as sent, without the query; begins with '/' */
        const char *query;             /* as sent, after '?'; "" where there is none */
        const char *body;              /* the whole body; NUL-terminated; "" while it streams */
        size_t body_len;
        struct api_peer peer;       /* who asks */
        struct keeper *keeper;
        struct loop *loop;
        void *state;                   /* the handler's */
        const struct exchange_hooks *hooks;
        int has_begun;                 /* the answer's head was written */
};

/* The value of a header (its name in any case), or NULL. Valid while the exchange is the handler's. */
const char *exchange_header(const struct exchange *x, const char *name);

/* Does the Accept header name this media type ("text/event-stream")? Wildcards do not count. */
int exchange_accepts(const struct exchange *x, const char *type);

/* Keeps the exchange for later. `hooks` lives as long as the program. */
void exchange_hold(struct exchange *x, const struct exchange_hooks *hooks, void *state);

/* Streamed bodies: no further hooks->body until resume. Bytes that were already read may still come. */
void exchange_body_pause(struct exchange *x);
void exchange_body_resume(struct exchange *x);

/* A header for the answer, before it begins. Line ends in a value are never written. */
void exchange_add(struct exchange *x, const char *name, const char *value);

/*
 * The handler holds `len` bytes in all for the answer, or for a body that it collects itself, which count against whoever asks. -1: that is too much (429), and it
 * counts as before. With the end of the exchange nothing counts any more; what waits for the client counts besides, by itself.
 */
int exchange_keep(struct exchange *x, size_t len, struct error *e);
int exchange_keep_body(struct exchange *x, size_t len, struct error *e);

/* How many bytes to read at once for an answer in parts: less where whoever asks has too much that waits. */
size_t exchange_burst(const struct exchange *x);

/* Whole answers. `type` NULL with len 0: no content type. */
void exchange_answer(struct exchange *x, int status, const char *type, const void *bytes, size_t len);
void exchange_json(struct exchange *x, int status, struct json_writer *take_w);      /* ends the writer, too; a broken one becomes an error; a long one goes by door/pour.h */
void exchange_fail(struct exchange *x, const struct error *e);                       /* {"error":{...}} and the code's status */

/*
 * An answer in parts. `length` of the body, or -1 where it is not known. write and event answer how many bytes now wait for the
 * client: above EXCHANGE_HIGH pause the source until hooks->drained. An end before `length` bytes cuts the connection.
 */
void exchange_begin(struct exchange *x, int status, const char *type, int64_t length);
size_t exchange_write(struct exchange *x, const void *bytes, size_t len);
size_t exchange_event(struct exchange *x, const char *event, const char *id, const char *data, size_t len);      /* event, id may be NULL; data has one line or more */
size_t exchange_event_id(struct exchange *x, const char *id);                        /* what a client reconnects with before it had an event; NULL: a comment */
size_t exchange_comment(struct exchange *x);                                         /* keeps a quiet stream alive */
void exchange_end(struct exchange *x);

/* {"error":{...}} into a writer that is begun here. Where there is no memory, its length is 0. */
void exchange_error_text(struct json_writer *ret_w, const struct error *e);

/* Will the same request be answered in a moment? Then the answer has Retry-After. */
int exchange_error_passes(const struct error *e);

/* {"code",...}: the members that an error has, as one JSON object. */
void exchange_error_write(struct json_writer *w, const struct error *e);

/* Cuts the connection: what was begun cannot be finished. */
void exchange_abort(struct exchange *x);

#endif
