/*
 * door/routes.h - finds the handler of a request: routes of the operation table, and the door's
 * own.
 */
#ifndef CARREL_DOOR_ROUTES_H
#define CARREL_DOOR_ROUTES_H

#include "api/operation.h"
#include "codec/codec.h"
#include "door/exchange.h"

enum route_flag {
        ROUTE_OPEN = 1u << 0,      /* needs no credential */
        ROUTE_STREAM = 1u << 1,    /* the body is streamed: the handler is called before it */
        ROUTE_ANY_TYPE = 1u << 2,  /* the body may have any type */
        ROUTE_OWN_QUERY = 1u << 3, /* the handler checks the query itself */
};

/* A route that matched, with the decoded values for its braces. */
struct route {
        const struct operation *operation; /* NULL: one of the door's own routes */
        void (*handle)(struct exchange *x, const struct route *r);
        const char *method, *pattern; /* from its row */
        unsigned flags;
        struct path_words path;
};

/*
 * Finds the route. Errors: ERROR_ROUTE_NOT_FOUND; ERROR_METHOD_NOT_ALLOWED, and `allow` (`room`
 * bytes) then lists the allowed methods; ERROR_INVALID_ARGUMENT if a word of the path is badly
 * encoded.
 */
int route_find(const char *method, const char *path, const char *query, struct route *ret,
               char *allow, size_t room, struct error *e);

#endif
