/*
 * http/route.c - finds the handler of a request.
 *
 * Room: http (joining). Touches: mem.
 */
#include "http/route.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "codec/encode.h"

/* A route of any facade, or of the operation table. */
struct row {
        const char *method, *route;
        const struct operation *operation;
        route_handler *handle;
        unsigned flags;
};

/*
 * Compares one word of the path with one of the pattern. Returns 1 if it matches, 0 if not, -1 if
 * it would match but is badly encoded.
 */
static int
fit_word(const char *pattern, size_t pattern_len, const char *path, size_t path_len,
         struct route *ret)
{
        size_t len;

        if (pattern[0] != '{')
                return pattern_len == path_len && memcmp(pattern, path, path_len) == 0;
        if (path_len == 0)
                return 0;
        if (ret->path.count == PATH_WORDS_MAX || path_len >= PATH_WORD_ROOM ||
            percent_read(path, path_len, 0, ret->path.list[ret->path.count].value, &len) < 0)
                return -1;
        ret->path.list[ret->path.count++].name = pattern + 1;
        return 1;
}

static int
fit(const char *pattern, const char *path, struct route *ret)
{
        ret->path.count = 0;
        while (*pattern == '/' && *path == '/') {
                size_t a = strcspn(++pattern, "/"), b = strcspn(++path, "/");
                int fits = fit_word(pattern, a, path, b, ret);

                if (fits <= 0)
                        return fits;
                pattern += a;
                path += b;
        }
        return *pattern == '\0' && *path == '\0';
}

/* A place in the tables: each facade's own routes, then its operations. */
struct cursor {
        const struct facade *const *facade;
        size_t own, operation;
};

/* Returns all rows one by one. */
static bool
next_row(struct cursor *at, struct row *ret)
{
        for (; *at->facade; at->facade++, at->own = at->operation = 0) {
                const struct facade *f = *at->facade;
                const struct operation *o = NULL;

                if (at->own < f->count) {
                        const struct facade_route *own = &f->routes[at->own++];

                        *ret = (struct row){ own->method, own->route, NULL, own->handle,
                                             own->flags };
                        return true;
                }
                do
                        o = f->handler ? operation_next(&at->operation) : NULL;
                while (o && !o->route);
                if (o) {
                        *ret = (struct row){ o->method, o->route, o, f->handler(o->code), 0 };
                        return true;
                }
        }
        return false;
}

static void
note_method(char *allow, size_t room, const char *method)
{
        size_t used = strlen(allow);

        if (!strstr(allow, method))
                (void)snprintf(allow + used, room - used, "%s%s", used > 0 ? ", " : "", method);
}

int
route_find(const struct facade *const *facades, const char *method, const char *path,
           struct route *ret, char *allow, size_t room, struct error *e)
{
        struct cursor at = { facades, 0, 0 };
        struct row row;
        int fits;

        allow[0] = '\0';
        while (next_row(&at, &row)) {
                fits = fit(row.route, path, ret);
                if (fits < 0)
                        return fail_at(e, ERROR_INVALID_ARGUMENT, "path", "encoding",
                                       "a word of the path is not well encoded");
                if (fits == 0)
                        continue;
                if (strcmp(row.method, method) == 0) {
                        ret->operation = row.operation;
                        ret->handle = row.handle;
                        ret->flags = row.flags;
                        ret->method = row.method;
                        ret->pattern = row.route;
                        allow[0] = '\0';
                        return 0;
                }
                note_method(allow, room, row.method);
        }
        if (allow[0] != '\0')
                return fail(e, ERROR_METHOD_NOT_ALLOWED, "this route has no %s", method);
        return fail(e, ERROR_ROUTE_NOT_FOUND, "there is no such route");
}
