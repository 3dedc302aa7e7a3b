/*
 * rest/facade.c - which handler serves which route.
 *
 * Room: rest (joining). Touches: mem.
 * Theory: a route of the operation table is served by the handler of its operation, or by the
 * general one that makes one call and answers.
 */
#include "rest/rest.h"

/* Operations that need their own handler. */
static const struct {
        enum operation_code code;
        route_handler *handle;
} special[] = {
        { OP_EXEC, rest_exec },
        { OP_CODE, rest_exec },
        { OP_EXEC_ATTACH, rest_output },
        { OP_FILE_READ, rest_file_read },
        { OP_FILE_WRITE, rest_file_write },
        { OP_FILE_LIST, rest_file_list },
        { OP_FILE_STAT, rest_file_stat },
        { OP_FILE_MKDIR, rest_file_change },
        { OP_FILE_MOVE, rest_file_change },
        { OP_FILE_REMOVE, rest_file_change },
        { OP_WATCH, rest_watch },
        { OP_METRICS, rest_metrics },
};

static route_handler *
handler_of(enum operation_code code)
{
        for (size_t i = 0; i < sizeof special / sizeof *special; i++)
                if (special[i].code == code)
                        return special[i].handle;
        return rest_call;
}

static const struct facade_route routes[] = {
        { "GET", "/healthz", rest_health, ROUTE_OPEN },
        { "GET", "/v1/openapi.json", rest_openapi, 0 },
        { "PUT", "/v1/sandboxes/{id}/files", rest_file_put, ROUTE_STREAM | ROUTE_ANY_TYPE },
        { "POST", "/v1/sandboxes/{id}/execs/{exec}/stdin", rest_stdin,
          ROUTE_STREAM | ROUTE_ANY_TYPE },
        { "POST", "/v1/sandboxes/{id}/execs/{exec}/resize", rest_resize, 0 },
};

const struct facade rest_facade = { routes, sizeof routes / sizeof *routes, handler_of };
