/*
 * door/routes.h - which handler a request goes to: routes of the operation table, and the door's own.
 */
#ifndef CARREL_DOOR_ROUTES_H
#define CARREL_DOOR_ROUTES_H

#include "api/operation.h"
#include "codec/codec.h"
#include "door/exchange.h"

enum route_flag {
        ROUTE_OPEN = 1u << 0,          /* needs no credential */
        ROUTE_STREAM = 1u << 1,        /* the body streams: the handler is called before it */
        ROUTE_ANY_TYPE = 1u << 2,      /* the body may be of any type */
        ROUTE_OWN_QUERY = 1u << 3,     /* the handler checks the query itself */
};

/* A route that matched, with what stands in its braces, decoded. */
struct route {
        const struct operation *operation;     /* NULL: one of the door's own */
        void (*handle)(struct exchange *x, const struct route *r);
        const char *method, *pattern;          /* of its row */
        unsigned flags;
        struct path_words path;
};

/*
 * Finds it. Errors: ERROR_ROUTE_NOT_FOUND; ERROR_METHOD_NOT_ALLOWED, then `allow` (room bytes) lists the methods; ERROR_INVALID_ARGUMENT where a word
 * is not well encoded.
 */
int route_find(const char *method, const char *path, const char *query, struct route *ret, char *allow, size_t room, struct error *e);

#endif
