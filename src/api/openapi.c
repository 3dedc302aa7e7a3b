/*
 * api/openapi.c - the operation table as an OpenAPI 3.1 document.
 *
 * Room: api (deciding, pure). Touches: mem.
 * Theory: nothing is said here about an operation that its row does not say. The routes that are no operation stand in `extra`, with
 * what a body of raw bytes needs.
 */
#include "api/openapi.h"

#include <stdio.h>
#include <string.h>

#include "api/operation.h"
#include "api/query.h"

/* -- schemas --------------------------------------------------------------------------------------------------------- */

static void
member_schema(struct json_writer *w, const char *type, const char *help)
{
        json_open_map(w);
        json_member_text(w, "type", type);
        if (help)
                json_member_text(w, "description", help);
        json_close_map(w);
}

static void
write_bounds(struct json_writer *w, const struct api_field *f, const struct api_param *p)
{
        if (!p || (p->min == 0 && p->max == 0))
                return;
        if (f->type == FIELD_TYPE_UINT || f->type == FIELD_TYPE_INT) {
                json_key(w, "minimum");
                json_uint(w, p->min);
                json_key(w, "maximum");
                json_uint(w, p->max);
        } else if (f->type == FIELD_TYPE_TEXT) {
                json_key(w, "minLength");
                json_uint(w, p->min > 0 ? 1 : 0);
                json_key(w, "maxLength");
                json_uint(w, p->max);
        }
}

static void
write_words(struct json_writer *w, const char *const *words)
{
        json_key(w, "enum");
        json_open_list(w);
        for (; *words; words++)
                json_text(w, *words);
        json_close_list(w);
}

/* The words of a field that has few. */
static void
write_enum(struct json_writer *w, const struct api_field *f)
{
        static const struct { uint16_t tag; const char *words[9]; } rows[] = {
                { FIELD_STATUS, { "pending", "running", "paused", "stopping", "stopped", "failed" } },
                { FIELD_STATE, { "starting", "running", "ended", "failed" } },
                { FIELD_OUTCOME, { "exited", "signaled", "timed_out", "oom_killed", "cpu_limit", "killed", "policy_killed", "lost" } },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].tag == f->tag)
                        write_words(w, rows[i].words);
}

static void
write_type(struct json_writer *w, const struct api_field *f)
{
        static const char *const names[] = {
                [FIELD_TYPE_TEXT] = "string", [FIELD_TYPE_UINT] = "integer", [FIELD_TYPE_INT] = "integer", [FIELD_TYPE_BOOL] = "boolean",
                [FIELD_TYPE_BYTES] = "string", [FIELD_TYPE_NESTED] = "object",
        };

        if (f->type == FIELD_TYPE_TREE) {
                json_key(w, "type");
                json_open_list(w);
                json_text(w, "object");
                json_text(w, "string");
                json_close_list(w);
        } else if (f->type != FIELD_TYPE_JSON) {
                json_member_text(w, "type", names[f->type]);
        }
        if (f->type == FIELD_TYPE_UINT)
                json_member_text(w, "format", "int64");
        write_enum(w, f);
}

/* What a list holds, where the table knows. */
static const struct operation *
item_of(const struct operation *o)
{
        return o->code == OP_LIST ? operation(OP_GET) : o->code == OP_EXEC_LIST ? operation(OP_EXEC_GET)
               : o->code == OP_FILE_LIST ? operation(OP_FILE_STAT) : o->code == OP_TOKEN_LIST ? operation(OP_TOKEN_CREATE) : NULL;
}

static void write_object(struct json_writer *w, const struct operation *of, const struct api_param *params, size_t count, int is_answer);

static void
write_field(struct json_writer *w, const struct operation *o, const struct api_param *p, int is_answer)
{
        const struct api_field *f = api_field(p->tag);
        int is_list = (p->flags & PARAM_REPEATED) != 0;
        const struct operation *item = is_answer && p->tag == FIELD_ITEMS ? item_of(o) : NULL;

        json_open_map(w);
        json_member_text(w, "description", f->help);
        if (p->tag == FIELD_ENV) {
                json_member_text(w, "type", "object");
                json_key(w, "additionalProperties");
                member_schema(w, "string", NULL);
        } else if (is_list) {
                json_member_text(w, "type", "array");
                json_key(w, "items");
                if (item) {
                        write_object(w, item, item->results, item->result_count, 1);
                } else {
                        json_open_map(w);
                        write_type(w, f);
                        write_bounds(w, f, is_answer ? NULL : p);
                        json_close_map(w);
                }
        } else {
                write_type(w, f);
                write_bounds(w, f, is_answer ? NULL : p);
        }
        json_close_map(w);
}

static int
is_in_body(const struct api_param *p)
{
        return (p->flags & (PARAM_IN_PATH | PARAM_IN_QUERY | PARAM_DOOR_ONLY)) == 0;
}

static void
write_object(struct json_writer *w, const struct operation *of, const struct api_param *params, size_t count, int is_answer)
{
        int has_bytes = 0, has_required = 0;

        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        for (size_t i = 0; i < count; i++) {
                if (!is_answer && !is_in_body(&params[i]))
                        continue;
                json_key(w, api_field(params[i].tag)->name);
                write_field(w, of, &params[i], is_answer);
                has_bytes |= api_field(params[i].tag)->type == FIELD_TYPE_BYTES;
                has_required |= (params[i].flags & PARAM_REQUIRED) != 0;
        }
        if (is_answer && of->code == OP_FILE_LIST) {
                json_key(w, "truncated");
                member_schema(w, "boolean", "true: there is more than is listed (at most 100,000 entries). Absent otherwise.");
        }
        if (has_bytes) {
                json_key(w, "encoding");
                member_schema(w, "string", "base64: values that are bytes are written so.");
        }
        json_close_map(w);
        if (has_required) {
                json_key(w, "required");
                json_open_list(w);
                for (size_t i = 0; i < count; i++)
                        if ((params[i].flags & PARAM_REQUIRED) != 0 && (is_answer || is_in_body(&params[i])))
                                json_text(w, api_field(params[i].tag)->name);
                json_close_list(w);
        }
        if (!is_answer)
                json_member_bool(w, "additionalProperties", false);
        json_close_map(w);
}

/* The files of one batch are no field of a record: they go past the keeper. */
static void
write_batch(struct json_writer *w)
{
        static const uint16_t tags[] = { FIELD_PATH, FIELD_CONTENT, FIELD_MODE };

        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "files");
        json_close_list(w);
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "files");
        json_open_map(w);
        json_member_text(w, "type", "array");
        json_key(w, "items");
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
                json_key(w, api_field(tags[i])->name);
                json_open_map(w);
                json_member_text(w, "description", api_field(tags[i])->help);
                write_type(w, api_field(tags[i]));
                json_close_map(w);
        }
        json_key(w, "encoding");
        member_schema(w, "string", "base64: content is written so.");
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}

/* -- one route --------------------------------------------------------------------------------------------------------------- */

static void
write_parameter(struct json_writer *w, const char *where, const struct api_field *f, const struct api_param *p)
{
        json_open_map(w);
        json_member_text(w, "name", f->name);
        json_member_text(w, "in", where);
        json_member_bool(w, "required", strcmp(where, "path") == 0 || (p && (p->flags & PARAM_REQUIRED) != 0));
        json_member_text(w, "description", f->help);
        json_key(w, "schema");
        json_open_map(w);
        write_type(w, f);
        write_bounds(w, f, p);
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
                        write_words(w, row->words);
                json_close_map(w);
                json_close_map(w);
        }
}

/* The same as `key` in the body. */
static void
write_key_header(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "name", "Idempotency-Key");
        json_member_text(w, "in", "header");
        json_member_bool(w, "required", false);
        json_member_text(w, "description", api_field(FIELD_KEY)->help);
        json_key(w, "schema");
        json_open_map(w);
        json_member_text(w, "type", "string");
        json_member_int(w, "minLength", 1);
        json_member_int(w, "maxLength", 63);
        json_close_map(w);
        json_close_map(w);
}

static void
write_parameters(struct json_writer *w, const struct operation *o)
{
        json_key(w, "parameters");
        json_open_list(w);
        for (size_t i = 0; i < o->param_count; i++) {
                const struct api_field *f = api_field(o->params[i].tag);

                if ((o->params[i].flags & (PARAM_IN_PATH | PARAM_IN_QUERY)) != 0)
                        write_parameter(w, (o->params[i].flags & PARAM_IN_PATH) != 0 ? "path" : "query", f, &o->params[i]);
        }
        write_queries(w, o->method, o->route);
        for (size_t i = 0; i < o->param_count; i++)
                if (o->params[i].tag == FIELD_KEY)
                        write_key_header(w);
        json_close_list(w);
}

static void
write_error_answer(struct json_writer *w)
{
        json_key(w, "default");
        json_open_map(w);
        json_member_text(w, "description", "It was refused, or failed.");
        json_key(w, "content");
        json_open_map(w);
        json_key(w, "application/json");
        json_open_map(w);
        json_key(w, "schema");
        json_open_map(w);
        json_member_text(w, "$ref", "#/components/schemas/Error");
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}

static void
open_answer(struct json_writer *w, const char *status, const char *help)
{
        json_key(w, status);
        json_open_map(w);
        json_member_text(w, "description", help);
}

static void
write_content(struct json_writer *w, const char *type, const char *schema_type)
{
        json_key(w, type);
        json_open_map(w);
        if (schema_type) {
                json_key(w, "schema");
                member_schema(w, schema_type, NULL);
        }
        json_close_map(w);
}

/* The results of an operation, as JSON. */
static void
write_result(struct json_writer *w, const struct operation *o)
{
        json_key(w, "application/json");
        json_open_map(w);
        json_key(w, "schema");
        write_object(w, o, o->results, o->result_count, 1);
        json_close_map(w);
}

static const char *
status_of(const struct operation *o)
{
        if (o->code == OP_FILE_READ || o->code == OP_WATCH)
                return "200";
        if (o->result_count == 0)
                return "204";
        return o->code == OP_CREATE || o->code == OP_CLAIM || o->code == OP_TOKEN_CREATE ? "201" : "200";
}

static void
write_answers(struct json_writer *w, const struct operation *o)
{
        json_key(w, "responses");
        json_open_map(w);
        open_answer(w, status_of(o), strcmp(status_of(o), "204") == 0 ? "Done." : "The answer.");
        if (strcmp(status_of(o), "204") != 0) {
                json_key(w, "content");
                json_open_map(w);
                if (o->code == OP_FILE_READ || o->code == OP_EXEC_ATTACH)
                        write_content(w, "application/octet-stream", NULL);
                if (o->code == OP_WATCH || o->code == OP_EXEC || o->code == OP_EXEC_ATTACH)
                        write_content(w, "text/event-stream", "string");
                if (o->result_count > 0 && o->code != OP_WATCH)
                        write_result(w, o);
                json_close_map(w);
        }
        json_close_map(w);
        if (o->code == OP_EXEC) {
                open_answer(w, "201", "With background: it was started.");
                json_key(w, "content");
                json_open_map(w);
                write_result(w, o);
                json_close_map(w);
                json_close_map(w);
        }
        write_error_answer(w);
        json_close_map(w);
}

static void
write_body(struct json_writer *w, const struct operation *o)
{
        int has_body = o->code == OP_FILE_WRITE, is_required = has_body;

        for (size_t i = 0; i < o->param_count; i++) {
                has_body |= is_in_body(&o->params[i]);
                is_required |= is_in_body(&o->params[i]) && (o->params[i].flags & PARAM_REQUIRED) != 0;
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
        if (o->code == OP_FILE_WRITE)
                write_batch(w);
        else
                write_object(w, o, o->params, o->param_count, 0);
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

/* -- routes that are no operation --------------------------------------------------------------------------------------------- */

static const struct { const char *route, *method, *id, *help, *body, *status; } extra[] = {
        { "/v1/sandboxes/{id}/files", "PUT", "file.put", "Writes one file from the raw body.", "application/octet-stream", "204" },
        { "/v1/sandboxes/{id}/execs/{exec}/stdin", "POST", "exec.stdin", "Writes the raw body to standard input.", "application/octet-stream", "204" },
        { "/v1/sandboxes/{id}/execs/{exec}/resize", "POST", "exec.resize", "Changes the terminal's size: {rows, columns}.", "application/json", "204" },
        { "/v1/openapi.json", "GET", "openapi", "This document.", NULL, "200" },
        { "/healthz", "GET", "health", "Is the door open? Needs no credential.", NULL, "204" },
};

static void
write_extra(struct json_writer *w, size_t i)
{
        write_lower(w, extra[i].method);
        json_open_map(w);
        json_member_text(w, "operationId", extra[i].id);
        json_member_text(w, "summary", extra[i].help);
        json_key(w, "parameters");
        json_open_list(w);
        if (strstr(extra[i].route, "{id}"))
                write_parameter(w, "path", api_field(FIELD_ID), NULL);
        if (strstr(extra[i].route, "{exec}"))
                write_parameter(w, "path", api_field(FIELD_EXEC), NULL);
        write_queries(w, extra[i].method, extra[i].route);
        json_close_list(w);
        if (extra[i].body) {
                json_key(w, "requestBody");
                json_open_map(w);
                json_key(w, "content");
                json_open_map(w);
                write_content(w, extra[i].body, strcmp(extra[i].body, "application/json") == 0 ? "object" : NULL);
                json_close_map(w);
                json_close_map(w);
        }
        json_key(w, "responses");
        json_open_map(w);
        open_answer(w, extra[i].status, "Done.");
        json_close_map(w);
        write_error_answer(w);
        json_close_map(w);
        json_close_map(w);
}

/* Is this the first row with its route? Then the path is written, with every method it has. */
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

/* -- the rest of the document --------------------------------------------------------------------------------------------------- */

static void
write_error_schema(struct json_writer *w)
{
        static const struct { const char *name, *type, *help; } members[] = {
                { "code", "string", "Stable, for programs." }, { "path", "string", "Place in the caller's own input, slash-separated." },
                { "line", "integer", "Line in that input." }, { "column", "integer", "Column in that input." },
                { "reason", "string", "A word that narrows the code." }, { "message", "string", "One sentence." }, { "hint", "string", "What to do next." },
        };

        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "error");
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
                json_key(w, members[i].name);
                member_schema(w, members[i].type, members[i].help);
        }
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}

void
openapi_write(struct json_writer *w, const char *version)
{
        json_open_map(w);
        json_member_text(w, "openapi", "3.1.0");
        json_key(w, "info");
        json_open_map(w);
        json_member_text(w, "title", "Carrel");
        json_member_text(w, "version", version);
        json_member_text(w, "summary", "Sandboxes for agents: declare one, run commands in it, move files, reach its ports.");
        json_close_map(w);
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
        json_member_text(w, "description", "Over TCP. On the unix socket the peer is known by its user id.");
        json_close_map(w);
        json_close_map(w);
        json_key(w, "schemas");
        json_open_map(w);
        json_key(w, "Error");
        write_error_schema(w);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}
