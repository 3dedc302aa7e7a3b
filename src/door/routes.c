/*
 * door/routes.c - finds the handler of a request.
 *
 * Room: door (joining). Touches: mem.
 * Theory: a route of the operation table is served by the handler of its operation, or by the
 * general one that makes one call and answers. Routes without an operation have their own table.
 */
#include "door/routes.h"

#include <stdio.h>
#include <string.h>

#include "codec/encode.h"
#include "door/mcp_http.h"
#include "door/rest.h"

struct row {
        const char *method, *route;
        const struct operation *operation;
        void (*handle)(struct exchange *x, const struct route *r);
        unsigned flags;
};

/* Operations that need their own handler. */
static const struct {
        enum operation_code code;
        void (*handle)(struct exchange *x, const struct route *r);
} special[] = {
        { OP_EXEC, rest_exec },
        { OP_EXEC_ATTACH, rest_output },
        { OP_FILE_READ, rest_file_read },
        { OP_FILE_WRITE, rest_file_write },
        { OP_FILE_LIST, rest_file_list },
        { OP_FILE_STAT, rest_file_stat },
        { OP_FILE_MKDIR, rest_file_change },
        { OP_FILE_MOVE, rest_file_change },
        { OP_FILE_REMOVE, rest_file_change },
        { OP_WATCH, rest_watch },
};

/* Routes without an operation. */
static const struct row own[] = {
        { "GET", "/healthz", NULL, rest_health, ROUTE_OPEN },
        { "POST", "/mcp", NULL, mcp_http, ROUTE_OWN_QUERY },
        { "GET", "/v1/openapi.json", NULL, rest_openapi, 0 },
        { "PUT", "/v1/sandboxes/{id}/files", NULL, rest_file_put, ROUTE_STREAM | ROUTE_ANY_TYPE },
        { "POST", "/v1/sandboxes/{id}/execs/{exec}/stdin", NULL, rest_stdin,
          ROUTE_STREAM | ROUTE_ANY_TYPE },
        { "POST", "/v1/sandboxes/{id}/execs/{exec}/resize", NULL, rest_resize, 0 },
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

static struct row
row_of(const struct operation *o)
{
        struct row row = { o->method, o->route, o, rest_call, 0 };

        for (size_t i = 0; i < sizeof special / sizeof *special; i++)
                if (special[i].code == o->code)
                        row.handle = special[i].handle;
        return row;
}

/* Returns all rows one by one. */
static int
next_row(size_t *at_own, size_t *at_operation, struct row *ret)
{
        const struct operation *o;

        if (*at_own < sizeof own / sizeof *own) {
                *ret = own[(*at_own)++];
                return 1;
        }
        do
                o = operation_next(at_operation);
        while (o && !o->route);
        if (o)
                *ret = row_of(o);
        return o != NULL;
}

static void
note_method(char *allow, size_t room, const char *method)
{
        size_t used = strlen(allow);

        if (!strstr(allow, method))
                (void)snprintf(allow + used, room - used, "%s%s", used > 0 ? ", " : "", method);
}

int
route_find(const char *method, const char *path, const char *query, struct route *ret, char *allow,
           size_t room, struct error *e)
{
        size_t at_own = 0, at_operation = 0;
        struct row row;
        int fits;

        allow[0] = '\0';
        while (next_row(&at_own, &at_operation, &row)) {
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
