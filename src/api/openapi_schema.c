/*
 * api/openapi_schema.c - fields, records and errors as JSON Schemas.
 *
 * Room: api (deciding, pure). Touches: mem.
 * Theory: an answer that several routes return is a named component, so that generated clients have
 * one type for it.
 */
#include "api/openapi_parts.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/openapi.h"
#include "base/numbers.h"
#include "wire/file.h"

void
openapi_simple(struct json_writer *w, const char *type, const char *help)
{
        json_open_map(w);
        json_member_text(w, "type", type);
        if (help)
                json_member_text(w, "description", help);
        json_close_map(w);
}

void
openapi_bounds(struct json_writer *w, const struct api_field *f, const struct api_param *p)
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

void
openapi_words(struct json_writer *w, const char *const *words)
{
        json_key(w, "enum");
        json_open_list(w);
        for (; *words; words++)
                json_text(w, *words);
        json_close_list(w);
}

/* Writes the allowed values of a field that has only a few. */
static void
write_enum(struct json_writer *w, const struct api_field *f)
{
        static const struct {
                uint16_t tag;
                const char *words[9];
        } rows[] = {
                { FIELD_STATUS,
                  { "pending", "running", "paused", "stopping", "stopped", "failed" } },
                { FIELD_STATE, { "starting", "running", "ended", "failed" } },
                { FIELD_OUTCOME,
                  { "exited", "signaled", "timed_out", "oom_killed", "cpu_limit", "killed",
                    "policy_killed", "lost" } },
                { FIELD_KIND, { "file", "directory", "link", "fifo", "socket", "device" } },
                { FIELD_SCOPE, { "all", "read" } },
                { FIELD_TIMEOUT_BY, { "call", "manifest", "host" } },
                { FIELD_LIMITS_REACHED,
                  { "disk_mb", "pids", "per_task_loop", "per_sandbox_lifetime" } },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].tag == f->tag)
                        openapi_words(w, rows[i].words);
}

void
openapi_type(struct json_writer *w, const struct api_field *f)
{
        static const char *const names[] = {
                [FIELD_TYPE_TEXT] = "string",  [FIELD_TYPE_UINT] = "integer",
                [FIELD_TYPE_INT] = "integer",  [FIELD_TYPE_BOOL] = "boolean",
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
        write_enum(w, f);
}

/* -- answers ----------------------------------------------------------------------------------- */

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void
write_ref(struct json_writer *w, const char *kind, const char *name)
{
        char place[96];

        (void)snprintf(place, sizeof place, "#/components/%s/%s", kind, name);
        json_member_text(w, "$ref", place);
}

void
openapi_ref(struct json_writer *w, const char *kind, const char *name)
{
        json_open_map(w);
        write_ref(w, kind, name);
        json_close_map(w);
}

static void
write_field(struct json_writer *w, const struct api_type *item, const struct api_param *p,
            int is_answer)
{
        const struct api_field *f = api_field(p->tag);
        int is_list = (p->flags & PARAM_REPEATED) != 0;
        const struct api_type *of = p->tag == FIELD_ITEMS ? item : api_type_nested(p->tag);

        json_open_map(w);
        json_member_text(w, "description", f->help);
        if (is_answer && of && !is_list) {
                write_ref(w, "schemas", of->name);
        } else if (p->tag == FIELD_ENV) {
                json_member_text(w, "type", "object");
                json_key(w, "additionalProperties");
                openapi_simple(w, "string", NULL);
        } else if (is_list) {
                json_member_text(w, "type", "array");
                json_key(w, "items");
                if (is_answer && of) {
                        openapi_ref(w, "schemas", of->name);
                } else {
                        json_open_map(w);
                        openapi_type(w, f);
                        openapi_bounds(w, f, is_answer ? NULL : p);
                        json_close_map(w);
                }
        } else {
                openapi_type(w, f);
                openapi_bounds(w, f, is_answer ? NULL : p);
        }
        json_close_map(w);
}

int
openapi_is_in_body(const struct api_param *p)
{
        return (p->flags & (PARAM_PLACES | PARAM_DOOR_ONLY)) == 0;
}

static void
write_encoding(struct json_writer *w, const char *other, const char *help)
{
        const char *const words[] = { "base64", other, NULL };

        json_open_map(w);
        json_member_text(w, "type", "string");
        openapi_words(w, words);
        json_member_text(w, "description", help);
        json_close_map(w);
}

/* An empty list of an answer is present as an empty list. */
static bool
is_always(const struct api_param *p, int is_answer)
{
        return (p->flags & PARAM_REQUIRED) != 0 ||
               (is_answer && (p->flags & PARAM_REPEATED) != 0 && (p->flags & PARAM_SPARSE) == 0);
}

/* `item`: the type of FIELD_ITEMS, or NULL. */
static void
write_object(struct json_writer *w, const struct api_type *item, const struct api_param *params,
             size_t count, int is_answer)
{
        int has_bytes = 0, has_required = 0;

        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        for (size_t i = 0; i < count; i++) {
                if (!is_answer && !openapi_is_in_body(&params[i]))
                        continue;
                json_key(w, api_field(params[i].tag)->name);
                write_field(w, item, &params[i], is_answer);
                has_bytes |= api_field(params[i].tag)->type == FIELD_TYPE_BYTES;
                has_required |= is_always(&params[i], is_answer);
        }
        if (has_bytes) {
                json_key(w, "encoding");
                write_encoding(w, is_answer ? NULL : "utf-8",
                               "base64: values that are bytes are written so.");
        }
        json_close_map(w);
        if (has_required) {
                json_key(w, "required");
                json_open_list(w);
                for (size_t i = 0; i < count; i++)
                        if (is_always(&params[i], is_answer) &&
                            (is_answer || openapi_is_in_body(&params[i])))
                                json_text(w, api_field(params[i].tag)->name);
                json_close_list(w);
        }
        if (!is_answer)
                json_member_bool(w, "additionalProperties", false);
        json_close_map(w);
}

static void
write_file(struct json_writer *w)
{
        static const struct api_param mode = { FIELD_MODE, 0, NUMBER_MODE };
        static const uint16_t tags[] = { FIELD_PATH, FIELD_CONTENT, FIELD_MODE };

        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
                json_key(w, api_field(tags[i])->name);
                json_open_map(w);
                json_member_text(w, "description", api_field(tags[i])->help);
                openapi_type(w, api_field(tags[i]));
                openapi_bounds(w, api_field(tags[i]), tags[i] == FIELD_MODE ? &mode : NULL);
                json_close_map(w);
        }
        json_key(w, "encoding");
        write_encoding(w, "utf-8", "base64: content is written so.");
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "path");
        json_text(w, "content");
        json_close_list(w);
        json_close_map(w);
}

void
openapi_files(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "description", api_field(FIELD_FILES)->help);
        json_member_text(w, "type", "array");
        json_member_int(w, "minItems", 1);
        json_member_int(w, "maxItems", FILE_BATCH_MAX);
        json_key(w, "items");
        write_file(w);
        json_close_map(w);
}

void
openapi_batch(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "files");
        json_close_list(w);
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "files");
        openapi_files(w);
        json_close_map(w);
        json_close_map(w);
}

/* -- whole records ----------------------------------------------------------------------------- */

void
openapi_result(struct json_writer *w, const struct operation *o)
{
        if (o->result->name)
                openapi_ref(w, "schemas", o->result->name);
        else
                write_object(w, o->item, o->result->members, o->result->count, 1);
}

void
openapi_arguments(struct json_writer *w, const struct operation *o)
{
        write_object(w, NULL, o->params, o->param_count, 0);
}

void
openapi_members(struct json_writer *w, const struct api_param *params, size_t count)
{
        write_object(w, NULL, params, count, 0);
}

/* -- components -------------------------------------------------------------------------------- */

/* Stable codes, for programs. */
static void
write_codes(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "type", "string");
        json_member_text(w, "description",
                         "Stable, for programs; docs/ERRORS.md says what each means.");
        json_key(w, "enum");
        json_open_list(w);
#define ERROR_CODE(name, wire, http, exit_status, hint) json_text(w, wire);
#include "base/error_codes.def"
#undef ERROR_CODE
        json_close_list(w);
        json_close_map(w);
}

static void
write_problem(struct json_writer *w)
{
        static const struct {
                const char *name, *type, *help;
        } members[] = {
                { "path", "string", "Place in the caller's own input, slash-separated." },
                { "line", "integer", "Line in that input." },
                { "column", "integer", "Column in that input." },
                { "reason", "string", "A word that narrows the code." },
                { "message", "string", "One sentence." },
                { "hint", "string", "What to do next." },
        };
        static const char *const always[] = { "code", "message", "hint" };

        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "code");
        write_codes(w);
        for (size_t i = 0; i < COUNT(members); i++) {
                json_key(w, members[i].name);
                openapi_simple(w, members[i].type, members[i].help);
        }
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        for (size_t i = 0; i < COUNT(always); i++)
                json_text(w, always[i]);
        json_close_list(w);
        json_close_map(w);
}

static void
write_error(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "error");
        openapi_ref(w, "schemas", "Problem");
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "error");
        json_close_list(w);
        json_close_map(w);
}

/* Two required members, and what one event of a stream means by them. */
static void
write_pair(struct json_writer *w, const char *help, const char *first, const char *first_type,
           const char *second, const char *second_type, int has_encoding)
{
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_member_text(w, "description", help);
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, first);
        openapi_simple(w, first_type, NULL);
        json_key(w, second);
        openapi_simple(w, second_type, NULL);
        if (has_encoding) {
                json_key(w, "encoding");
                write_encoding(w, NULL, "base64: data is written so.");
        }
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        json_text(w, first);
        json_text(w, second);
        json_close_list(w);
        json_close_map(w);
}

static void
write_stream(struct json_writer *w)
{
        static const char *const names[] = { "ExecStarted", "ExecOutput", "Exec", "Problem" };

        json_open_map(w);
        json_member_text(w, "description",
                         "The data of one event. `started`: ExecStarted; `stdout` and `stderr`: "
                         "ExecOutput; last comes `end`: Exec, or `error`: Problem.");
        json_key(w, "anyOf");
        json_open_list(w);
        for (size_t i = 0; i < COUNT(names); i++)
                openapi_ref(w, "schemas", names[i]);
        json_close_list(w);
        json_close_map(w);
}

void
openapi_schemas(struct json_writer *w)
{
        const struct api_type *type;
        size_t at = 0;

        json_open_map(w);
        while ((type = api_type_next(&at)) != NULL)
                if (type->name) {
                        json_key(w, type->name);
                        write_object(w, NULL, type->members, type->count, 1);
                }
        json_key(w, "ExecStarted");
        write_pair(w, "The command runs.", "exec", "integer", "pid", "integer", 0);
        json_key(w, "ExecOutput");
        write_pair(w, "A piece of its output, and the number of bytes of that stream before it.",
                   "offset", "integer", "data", "string", 1);
        json_key(w, "ExecStream");
        write_stream(w);
        json_key(w, "Problem");
        write_problem(w);
        json_key(w, "Error");
        write_error(w);
        json_close_map(w);
}
