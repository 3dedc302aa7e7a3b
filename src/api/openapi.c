/*
 * api/openapi.c - the operation table as an OpenAPI 3.1 document.
 *
 * Room: api (deciding, pure). Touches: mem.
 * Theory: all facts about an operation come from its row. Routes without an operation are in
 * `extra`, with what a body of raw bytes needs.
 */
#include "api/openapi.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/openapi_parts.h"
#include "api/query.h"
#include "base/numbers.h"

/* -- one route --------------------------------------------------------------------------------- */

static void
write_parameter(struct json_writer *w, const char *where, const struct api_field *f,
                const struct api_param *p)
{
        json_open_map(w);
        json_member_text(w, "name", f->name);
        json_member_text(w, "in", where);
        json_member_bool(w, "required",
                         strcmp(where, "path") == 0 || (p && (p->flags & PARAM_REQUIRED) != 0));
        json_member_text(w, "description", f->help);
        json_key(w, "schema");
        json_open_map(w);
        openapi_type(w, f);
        openapi_bounds(w, f, p);
        json_close_map(w);
        json_close_map(w);
}

static void
write_queries(struct json_writer *w, const char *method, const char *route)
{
        const struct api_query *row;
        size_t at = 0;

        while ((row = api_query_next(method, route, &at))) {
                json_open_map(w);
                json_member_text(w, "name", row->name);
                json_member_text(w, "in", "query");
                json_member_bool(w, "required", row->is_required);
                json_member_text(w, "description", row->help);
                json_key(w, "schema");
                json_open_map(w);
                json_member_text(w, "type", row->kind == API_QUERY_FLAG ? "boolean" : "string");
                if (row->kind == API_QUERY_WORD)
                        openapi_words(w, row->words);
                json_close_map(w);
                json_close_map(w);
        }
}

static void
write_header(struct json_writer *w, const char *name, const char *help, int max_len)
{
        json_open_map(w);
        json_member_text(w, "name", name);
        json_member_text(w, "in", "header");
        json_member_bool(w, "required", false);
        json_member_text(w, "description", help);
        json_key(w, "schema");
        json_open_map(w);
        json_member_text(w, "type", "string");
        json_member_int(w, "minLength", 1);
        json_member_int(w, "maxLength", max_len);
        json_close_map(w);
        json_close_map(w);
}

/* The header form of `key` in the body. */
static void
write_key_header(struct json_writer *w)
{
        write_header(w, "Idempotency-Key", api_field(FIELD_KEY)->help, 63);
}

static bool
takes(const struct operation *o, uint16_t tag)
{
        for (size_t i = 0; i < o->param_count; i++)
                if (o->params[i].tag == tag)
                        return true;
        return false;
}

static void
write_parameters(struct json_writer *w, const struct operation *o)
{
        json_key(w, "parameters");
        json_open_list(w);
        for (size_t i = 0; i < o->param_count; i++) {
                const struct api_field *f = api_field(o->params[i].tag);

                if ((o->params[i].flags & (PARAM_IN_PATH | PARAM_IN_QUERY)) != 0)
                        write_parameter(
                                w, (o->params[i].flags & PARAM_IN_PATH) != 0 ? "path" : "query", f,
                                &o->params[i]);
        }
        write_queries(w, o->method, o->route);
        if (takes(o, FIELD_KEY))
                write_key_header(w);
        for (size_t i = 0; i < o->param_count; i++)
                if ((o->params[i].flags & PARAM_IN_HEADER) != 0)
                        write_header(w, "Last-Event-ID", api_field(o->params[i].tag)->help,
                                     (int)o->params[i].max);
        /*
         * 204 is not listed among its answers: every typed client would have to expect it, with and
         * without the header
         */
        if ((o->flags & OPERATION_OUTPUT) != 0 && (o->flags & OPERATION_READ) != 0)
                write_header(
                        w, "Last-Event-ID",
                        "For text/event-stream: continue after the event with this id. It replaces "
                        "stdout_offset and stderr_offset. After `end` the answer is 204.",
                        64);
        json_close_list(w);
}

static void
write_error_answers(struct json_writer *w)
{
        json_key(w, "4XX");
        openapi_ref(w, "responses", "Refused");
        json_key(w, "5XX");
        openapi_ref(w, "responses", "Failed");
}

static void
open_answer(struct json_writer *w, const char *status, const char *help)
{
        json_key(w, status);
        json_open_map(w);
        json_member_text(w, "description", help);
}

static void
write_content(struct json_writer *w, const char *type, const char *component)
{
        json_key(w, type);
        json_open_map(w);
        json_key(w, "schema");
        if (component) {
                openapi_ref(w, "schemas", component);
        } else {
                json_open_map(w);
                json_member_text(w, "type", "string");
                json_member_text(w, "format", "binary");
                json_close_map(w);
        }
        json_close_map(w);
}

static void
write_plain(struct json_writer *w)
{
        json_key(w, "text/plain");
        json_open_map(w);
        json_key(w, "schema");
        openapi_simple(w, "string", NULL);
        json_close_map(w);
}

/* Writes the results of an operation, as JSON. */
static void
write_result(struct json_writer *w, const struct operation *o)
{
        json_key(w, "application/json");
        json_open_map(w);
        json_key(w, "schema");
        openapi_result(w, o);
        json_close_map(w);
}

static void
write_contents(struct json_writer *w, const struct operation *o)
{
        bool is_events = (o->flags & OPERATION_EVENTS) != 0;

        json_key(w, "content");
        json_open_map(w);
        if ((o->flags & OPERATION_RAW) != 0)
                write_content(w, "application/octet-stream", NULL);
        if ((o->flags & OPERATION_PLAIN) != 0)
                write_plain(w);
        if (is_events || (o->flags & OPERATION_OUTPUT) != 0)
                write_content(w, "text/event-stream", is_events ? o->result->name : "ExecStream");
        if (o->result && !is_events)
                write_result(w, o);
        json_close_map(w);
}

static void
write_answers(struct json_writer *w, const struct operation *o)
{
        char status[12];

        (void)snprintf(status, sizeof status, "%d", o->status);
        json_key(w, "responses");
        json_open_map(w);
        open_answer(w, status, o->status == 204 ? "Done." : "The answer.");
        if (o->status != 204)
                write_contents(w, o);
        json_close_map(w);
        if (takes(o, FIELD_BACKGROUND)) {
                open_answer(w, "201", "With background: it was started.");
                json_key(w, "content");
                json_open_map(w);
                write_result(w, o);
                json_close_map(w);
                json_close_map(w);
        }
        write_error_answers(w);
        json_close_map(w);
}

static void
write_body(struct json_writer *w, const struct operation *o)
{
        int has_body = (o->flags & OPERATION_FILES) != 0, is_required = has_body;

        for (size_t i = 0; i < o->param_count; i++) {
                has_body |= openapi_is_in_body(&o->params[i]);
                is_required |= openapi_is_in_body(&o->params[i]) &&
                               (o->params[i].flags & PARAM_REQUIRED) != 0;
        }
        if (!has_body)
                return;
        json_key(w, "requestBody");
        json_open_map(w);
        json_member_bool(w, "required", is_required);
        json_key(w, "content");
        json_open_map(w);
        json_key(w, "application/json");
        json_open_map(w);
        json_key(w, "schema");
        if ((o->flags & OPERATION_FILES) != 0)
                openapi_batch(w);
        else
                openapi_arguments(w, o);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}

static void
write_lower(struct json_writer *w, const char *method)
{
        char name[8] = "";

        for (size_t i = 0; i < sizeof name - 1 && method[i] != '\0'; i++)
                name[i] = (char)(method[i] | 0x20);
        json_key(w, name);
}

static void
write_operation(struct json_writer *w, const struct operation *o)
{
        write_lower(w, o->method);
        json_open_map(w);
        json_member_text(w, "operationId", o->name);
        json_member_text(w, "summary", o->help);
        write_parameters(w, o);
        write_body(w, o);
        write_answers(w, o);
        json_close_map(w);
}

/* -- routes without an operation --------------------------------------------------------------- */

static const struct {
        const char *route, *method, *id, *help, *body, *status;
} extra[] = {
        { "/v1/sandboxes/{id}/files", "PUT", "file.put", "Writes one file from the raw body.",
          "application/octet-stream", "204" },
        { "/v1/sandboxes/{id}/execs/{exec}/stdin", "POST", "exec.stdin",
          "Writes the raw body to standard input.", "application/octet-stream", "204" },
        { "/v1/sandboxes/{id}/execs/{exec}/resize", "POST", "exec.resize",
          "Changes the terminal's size: {rows, columns}.", "application/json", "204" },
        { "/v1/openapi.json", "GET", "openapi", "This document.", NULL, "200" },
        { "/healthz", "GET", "health", "Is the door open? Needs no credential.", NULL, "204" },
};

/* The parameters of these routes, in the form that operations use. */
static const struct api_param extra_params[] = {
        { FIELD_ID, PARAM_REQUIRED | PARAM_IN_PATH, 1, 64 },
        { FIELD_EXEC, PARAM_REQUIRED | PARAM_IN_PATH, NUMBER_EXEC }
};
static const struct api_param sides[] = { { FIELD_ROWS, PARAM_REQUIRED, NUMBER_TERMINAL_SIDE },
                                          { FIELD_COLUMNS, PARAM_REQUIRED, NUMBER_TERMINAL_SIDE } };

static void
write_extra_body(struct json_writer *w, const char *type)
{
        json_key(w, "requestBody");
        json_open_map(w);
        json_member_bool(w, "required", strcmp(type, "application/json") == 0);
        json_key(w, "content");
        json_open_map(w);
        if (strcmp(type, "application/json") == 0) {
                json_key(w, type);
                json_open_map(w);
                json_key(w, "schema");
                openapi_members(w, sides, sizeof sides / sizeof *sides);
                json_close_map(w);
        } else {
                write_content(w, type, NULL);
        }
        json_close_map(w);
        json_close_map(w);
}

static void
write_extra_answers(struct json_writer *w, size_t i)
{
        json_key(w, "responses");
        json_open_map(w);
        open_answer(w, extra[i].status,
                    strcmp(extra[i].status, "204") == 0 ? "Done." : "The document.");
        if (strcmp(extra[i].status, "204") != 0) {
                json_key(w, "content");
                json_open_map(w);
                json_key(w, "application/json");
                json_open_map(w);
                json_key(w, "schema");
                openapi_simple(w, "object", NULL);
                json_close_map(w);
                json_close_map(w);
        }
        json_close_map(w);
        write_error_answers(w);
        json_close_map(w);
}

static void
write_extra(struct json_writer *w, size_t i)
{
        write_lower(w, extra[i].method);
        json_open_map(w);
        json_member_text(w, "operationId", extra[i].id);
        json_member_text(w, "summary", extra[i].help);
        if (strcmp(extra[i].route, "/healthz") == 0) {
                json_key(w, "security");
                json_open_list(w);
                json_close_list(w);
        }
        json_key(w, "parameters");
        json_open_list(w);
        for (size_t p = 0; p < sizeof extra_params / sizeof *extra_params; p++)
                if (strstr(extra[i].route, extra_params[p].tag == FIELD_ID ? "{id}" : "{exec}"))
                        write_parameter(w, "path", api_field(extra_params[p].tag),
                                        &extra_params[p]);
        write_queries(w, extra[i].method, extra[i].route);
        if (strcmp(extra[i].id, "file.put") == 0)
                write_key_header(w);
        json_close_list(w);
        if (extra[i].body)
                write_extra_body(w, extra[i].body);
        write_extra_answers(w, i);
        json_close_map(w);
}

/* Is this the first row with its route? Then the path is written, with all its methods. */
static int
is_first_of_route(const struct operation *o)
{
        const struct operation *other;
        size_t at = 0;

        while ((other = operation_next(&at)) && other != o)
                if (other->route && strcmp(other->route, o->route) == 0)
                        return 0;
        return 1;
}

static void
write_path(struct json_writer *w, const struct operation *first)
{
        const struct operation *o;
        size_t at = 0;

        json_key(w, first->route);
        json_open_map(w);
        while ((o = operation_next(&at)))
                if (o->route && strcmp(o->route, first->route) == 0)
                        write_operation(w, o);
        for (size_t i = 0; i < sizeof extra / sizeof *extra; i++)
                if (strcmp(extra[i].route, first->route) == 0)
                        write_extra(w, i);
        json_close_map(w);
}

static int
is_operation_route(const char *route)
{
        const struct operation *o;
        size_t at = 0;

        while ((o = operation_next(&at)))
                if (o->route && strcmp(o->route, route) == 0)
                        return 1;
        return 0;
}

static void
write_paths(struct json_writer *w)
{
        const struct operation *o;
        size_t at = 0;

        json_key(w, "paths");
        json_open_map(w);
        while ((o = operation_next(&at)))
                if (o->route && is_first_of_route(o))
                        write_path(w, o);
        for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
                if (is_operation_route(extra[i].route))
                        continue;
                json_key(w, extra[i].route);
                json_open_map(w);
                write_extra(w, i);
                json_close_map(w);
        }
        json_close_map(w);
}

/* -- the rest of the document ------------------------------------------------------------------ */

static const struct {
        int status;
        const char *code;
} codes[] = {
#define ERROR_CODE(name, wire, http, exit_status, hint) { (http), (wire) },
#include "base/error_codes.def"
#undef ERROR_CODE
};

/* "Refused. 400: invalid_argument; 401: ..." */
static void
write_refusal(struct json_writer *w, const char *name, const char *help, int first, int past)
{
        char text[4096];
        size_t len = (size_t)snprintf(text, sizeof text, "%s", help);

        for (int status = first; status < past; status++) {
                const char *between = NULL;

                for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
                        if (codes[i].status != status || len >= sizeof text - 1)
                                continue;
                        if (between)
                                len += (size_t)snprintf(text + len, sizeof text - len, ", %s",
                                                        codes[i].code);
                        else
                                len += (size_t)snprintf(text + len, sizeof text - len, " %d: %s",
                                                        status, codes[i].code);
                        between = ",";
                }
                if (between && len < sizeof text - 1)
                        len += (size_t)snprintf(text + len, sizeof text - len, ".");
        }
        json_key(w, name);
        json_open_map(w);
        json_member_text(w, "description", text);
        json_key(w, "content");
        json_open_map(w);
        write_content(w, "application/json", "Error");
        json_close_map(w);
        json_close_map(w);
}

static void
write_info(struct json_writer *w, const char *version)
{
        json_key(w, "info");
        json_open_map(w);
        json_member_text(w, "title", "Carrel");
        json_member_text(w, "version", version);
        json_member_text(w, "summary",
                         "Sandboxes for agents: declare one, run commands in it, move files, reach "
                         "its ports.");
        json_key(w, "license");
        json_open_map(w);
        json_member_text(w, "name", "Apache License 2.0");
        json_member_text(w, "identifier", "Apache-2.0");
        json_close_map(w);
        json_close_map(w);
}

static void
write_servers(struct json_writer *w)
{
        json_key(w, "servers");
        json_open_list(w);
        json_open_map(w);
        json_member_text(w, "url", "http://127.0.0.1:{port}");
        json_member_text(
                w, "description",
                "As `carrel serve --listen 127.0.0.1:PORT` was started. Without --listen the "
                "daemon answers on the unix socket carrel.sock in its state directory.");
        json_key(w, "variables");
        json_open_map(w);
        json_key(w, "port");
        json_open_map(w);
        json_member_text(w, "default", "7070");
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
        json_close_list(w);
}

void
openapi_write(struct json_writer *w, const char *version)
{
        json_open_map(w);
        json_member_text(w, "openapi", "3.1.0");
        write_info(w, version);
        write_servers(w);
        json_key(w, "security");
        json_open_list(w);
        json_open_map(w);
        json_key(w, "bearer");
        json_open_list(w);
        json_close_list(w);
        json_close_map(w);
        json_open_map(w);
        json_close_map(w);
        json_close_list(w);
        write_paths(w);
        json_key(w, "components");
        json_open_map(w);
        json_key(w, "securitySchemes");
        json_open_map(w);
        json_key(w, "bearer");
        json_open_map(w);
        json_member_text(w, "type", "http");
        json_member_text(w, "scheme", "bearer");
        json_member_text(w, "description",
                         "Over TCP. On the unix socket the peer is known by its user id.");
        json_close_map(w);
        json_close_map(w);
        json_key(w, "responses");
        json_open_map(w);
        write_refusal(w, "Refused", "Refused; error.code says why.", 400, 500);
        write_refusal(w, "Failed", "Failed; error.code says why.", 500, 600);
        json_close_map(w);
        json_key(w, "schemas");
        openapi_schemas(w);
        json_close_map(w);
        json_close_map(w);
}
