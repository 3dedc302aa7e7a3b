/*
 * mcp/tools_schema.c - JSON Schemas of the tools' input and output, generated from the operation
 * table.
 *
 * Room: mcp (joining). Touches: mem.
 */
#include "api/openapi.h"
#include "mcp/tools_fields.h"

static void
write_bounds(struct json_writer *w, const struct api_param *p, enum field_type type)
{
        bool is_text = type == FIELD_TYPE_TEXT || type == FIELD_TYPE_BYTES;

        if (type == FIELD_TYPE_UINT && p->min == 0)
                json_member_int(w, "minimum", 0);
        if (p->min == 0 && p->max == 0)
                return;
        if (p->min > 0 && (is_text || type == FIELD_TYPE_UINT))
                json_member_int(w, is_text ? "minLength" : "minimum", (int64_t)p->min);
        if (p->max > 0 && (is_text || type == FIELD_TYPE_UINT))
                json_member_int(w, is_text ? "maxLength" : "maximum", (int64_t)p->max);
}

static void
write_type(struct json_writer *w, const struct api_param *p, const struct api_field *f)
{
        static const char *const names[] = {
                [FIELD_TYPE_TEXT] = "string",  [FIELD_TYPE_UINT] = "integer",
                [FIELD_TYPE_INT] = "integer",  [FIELD_TYPE_BOOL] = "boolean",
                [FIELD_TYPE_BYTES] = "string", [FIELD_TYPE_NESTED] = "object",
        };

        if (f->type == FIELD_TYPE_JSON)
                return; /* any value */
        json_key(w, "type");
        if (f->type == FIELD_TYPE_TREE) {
                json_open_list(w);
                json_text(w, "object");
                json_text(w, "string");
                json_close_list(w);
        } else {
                json_text(w, names[f->type]);
        }
        write_bounds(w, p, f->type);
}

static void
write_property(struct json_writer *w, const char *name, const struct api_param *p)
{
        const struct api_field *f = api_field(p->tag);

        json_key(w, name);
        json_open_map(w);
        json_member_text(w, "description", f->help);
        if (f->tag == FIELD_ENV) {
                json_member_text(w, "type", "object");
                json_key(w, "additionalProperties");
                json_open_map(w);
                json_member_text(w, "type", "string");
                json_close_map(w);
        } else if (p->flags & PARAM_REPEATED) {
                json_member_text(w, "type", "array");
                json_key(w, "items");
                json_open_map(w);
                write_type(w, p, f);
                json_close_map(w);
        } else {
                write_type(w, p, f);
        }
        json_close_map(w);
}

static void
write_text_property(struct json_writer *w, const char *name, const char *type, const char *help)
{
        json_key(w, name);
        json_open_map(w);
        json_member_text(w, "description", help);
        json_member_text(w, "type", type);
        json_close_map(w);
}

static const char encoding_help[] =
        "base64 if the text is encoded as base64; otherwise the text is plain.";

static void
write_extras(struct json_writer *w, const struct tool *t)
{
        if (t->op == OP_FILE_WRITE) {
                json_key(w, "files");
                openapi_files(w);
        }
        if (t->op == OP_EXEC)
                write_text_property(w, "encoding", "string", encoding_help);
        if (t->op == OP_EXEC_ATTACH) {
                write_text_property(w, "wait", "boolean",
                                    "Wait for its end, but not longer than wait_ms.");
                write_text_property(
                        w, "wait_ms", "integer",
                        "How long to wait, milliseconds; five minutes where it is not said.");
        }
}

static void
open_schema(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
        json_member_text(w, "type", "object");
        json_key(w, "properties");
        json_open_map(w);
}

void
tools_input_schema(struct json_writer *w, const struct tool *t, enum tools_id id)
{
        const struct operation *o = operation(t->op);

        open_schema(w);
        for (size_t i = 0; i < o->param_count; i++)
                if (!tools_leaves_out(t, o->params[i].tag) &&
                    (o->params[i].tag != FIELD_ID || id != TOOLS_ID_NONE))
                        write_property(w,
                                       o->params[i].tag == FIELD_ID
                                               ? "sandbox_id"
                                               : api_field(o->params[i].tag)->name,
                                       &o->params[i]);
        write_extras(w, t);
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        for (size_t i = 0; i < o->param_count; i++)
                if (o->params[i].flags & PARAM_REQUIRED &&
                    (o->params[i].tag != FIELD_ID || id == TOOLS_ID_REQUIRED))
                        json_text(w, o->params[i].tag == FIELD_ID
                                             ? "sandbox_id"
                                             : api_field(o->params[i].tag)->name);
        if (t->op == OP_FILE_WRITE)
                json_text(w, "files");
        json_close_list(w);
        json_member_bool(w, "additionalProperties", false);
        json_close_map(w);
}

static const struct api_param read_gives[] = {
        { FIELD_PATH, PARAM_REQUIRED, 0, 0 },
        { FIELD_SIZE, PARAM_REQUIRED, 0, 0 },
        { FIELD_MODE, 0, 0, 0 },
        { FIELD_MODIFIED_AT, 0, 0, 0 },
        { FIELD_CONTENT, PARAM_REQUIRED, 0, 0 },
};

void
tools_output_schema(struct json_writer *w, const struct tool *t)
{
        const struct api_type *result = operation(t->op)->result;
        const struct api_param *gives = result ? result->members : NULL;
        size_t count = result ? result->count : 0;

        if (t->op == OP_FILE_READ) {
                gives = read_gives;
                count = sizeof read_gives / sizeof *read_gives;
        }
        open_schema(w);
        for (size_t i = 0; i < count; i++)
                write_property(w, api_field(gives[i].tag)->name, &gives[i]);
        if (t->op == OP_FILE_READ)
                write_text_property(w, "encoding", "string", encoding_help);
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        for (size_t i = 0; i < count; i++)
                if (gives[i].flags & PARAM_REQUIRED)
                        json_text(w, api_field(gives[i].tag)->name);
        json_close_list(w);
        json_close_map(w);
}
