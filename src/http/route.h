/*
 * http/route.h - finds the handler of a request, in the tables of the facades.
 *
 * A facade is an API on this server: a room with a `struct facade`, which door/facades.c lists.
 */
#ifndef CARREL_HTTP_ROUTE_H
#define CARREL_HTTP_ROUTE_H

#include "api/operation.h"
#include "codec/codec.h"
#include "http/handler.h"

enum route_flag {
        ROUTE_OPEN = 1u << 0,      /* needs no credential */
        ROUTE_STREAM = 1u << 1,    /* the body is streamed: the handler is called before it */
        ROUTE_ANY_TYPE = 1u << 2,  /* the body may have any type */
        ROUTE_OWN_QUERY = 1u << 3, /* the handler checks the query itself */
};

/* A route without an operation. */
struct facade_route {
        const char *method, *route; /* "/v1/sandboxes/{id}/files" */
        route_handler *handle;
        unsigned flags; /* enum route_flag */
};

struct facade {
        const struct facade_route *routes;
        size_t count;
        /* serves the routes of the operation table; NULL: another facade does */
        route_handler *(*handler)(enum operation_code code);
};

/* A route that matched, with the decoded values for its braces. */
struct route {
        const struct operation *operation; /* NULL: a facade's own route */
        route_handler *handle;
        const char *method, *pattern; /* from its row */
        unsigned flags;
        struct path_words path;
};

/*
 * Finds the route in `facades`, which end with NULL. Errors: ERROR_ROUTE_NOT_FOUND;
 * ERROR_METHOD_NOT_ALLOWED, and `allow` (`room` bytes) then lists the allowed methods;
 * ERROR_INVALID_ARGUMENT if a word of the path is badly encoded.
 */
int route_find(const struct facade *const *facades, const char *method, const char *path,
               struct route *ret, char *allow, size_t room, struct error *e);

#endif
