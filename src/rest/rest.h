/*
 * rest/rest.h - the handlers of the routes under /v1. Each answers its exchange, now or later
 * (http/exchange.h).
 */
#ifndef CARREL_REST_REST_H
#define CARREL_REST_REST_H

#include "http/exchange.h"
#include "http/route.h"

/* The routes under /v1, and /healthz. */
extern const struct facade rest_facade;

/* rest.c: handlers that make one call and answer. */
void rest_call(struct exchange *x, const struct route *r);
void rest_health(struct exchange *x, const struct route *r);
void rest_openapi(struct exchange *x, const struct route *r);
void rest_watch(struct exchange *x, const struct route *r);

/* metrics.c */
void rest_metrics(struct exchange *x, const struct route *r);

/* exec.c */
void rest_exec(struct exchange *x, const struct route *r);
void rest_output(struct exchange *x, const struct route *r);

/* input.c */
void rest_stdin(struct exchange *x, const struct route *r);
void rest_resize(struct exchange *x, const struct route *r);

/* file.c, put.c */
void rest_file_read(struct exchange *x, const struct route *r);
void rest_file_list(struct exchange *x, const struct route *r);
void rest_file_stat(struct exchange *x, const struct route *r);
void rest_file_change(struct exchange *x, const struct route *r);
void rest_file_write(struct exchange *x, const struct route *r);
void rest_file_put(struct exchange *x, const struct route *r);

#endif
