/*
 * mcp/tools_fields.c - converts a tool's arguments to an operation's record.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: the operation table has name, type and bounds of every field; this file only defines how
 * each type is written in JSON. Three fields are special: env is an object, a manifest may be text,
 * metadata is any value and is passed unchanged.
 */
#include "mcp/tools_fields.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encode.h"
#include "manifest/frontmatter.h"
#include "text/nearest.h"
#include "text/tree_pack.h"
#include "text/utf8.h"

/* -- which parameters -------------------------------------------------------------------------- */

bool
tools_leaves_out(const struct tool *t, uint16_t tag)
{
        for (const uint16_t *leave = t->leave_out; leave && *leave; leave++)
                if (*leave == tag)
                        return true;
        return false;
}

static const struct api_param *
param_find(const struct tool *t, const char *name)
{
        const struct operation *o = operation(t->op);

        for (size_t i = 0; o && i < o->param_count; i++) {
                const struct api_field *f = api_field(o->params[i].tag);

                if (!tools_leaves_out(t, f->tag) &&
                    strcmp(f->tag == FIELD_ID ? "sandbox_id" : f->name, name) == 0)
                        return &o->params[i];
        }
        return NULL;
}

/* -- arguments to a record --------------------------------------------------------------------- */

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "there is no memory left for these arguments");
}

static int
wrong(struct error *e, const char *name, const char *expected)
{
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, name, NULL, "`%.64s` must be %s", name, expected);
        error_hint(
                e,
                strcmp(name, "argv") == 0
                        ? "Write argv: [\"ls\", \"-l\"]; a line for a shell is command: \"ls -l\"."
                        : "tools/list shows what it takes.");
        return -1;
}

static int
put_env(struct record_writer *w, const struct node *value, struct arena *arena, struct error *e)
{
        if (value->kind != NODE_MAP)
                return wrong(e, "env", "an object of texts");
        node_each(member, value)
        {
                const char *text;

                if (member->kind != NODE_STRING || strchr(member->key, '=') || !*member->key)
                        return wrong(e, "env", "an object of texts, with names that hold no `=`");
                if (!(text = arena_format(arena, "%s=%s", member->key, member->text)))
                        return no_memory(e);
                record_text(w, FIELD_ENV, text);
        }
        return 0;
}

/* Reads it like a file: front matter, YAML alone or JSON. The keeper validates its contents. */
static int
read_manifest(struct arena *arena, const char *text, size_t len, const struct node **ret,
              struct error *e)
{
        struct frontmatter front = { text, len, 1 };

        if (frontmatter_begins(text, len) && frontmatter_find(text, len, &front, e) < 0)
                return -1;
        if (len > 0 && *text == '{')
                return json_read(arena, text, len, &text_limits_manifest, ret, e);
        return yaml_read(arena, front.text, front.len, front.first_line, &text_limits_manifest, ret,
                         e);
}

static int
put_manifest(struct record_writer *w, const struct node *value, struct arena *arena,
             struct error *e)
{
        const struct node *tree = value;
        void *packed;

        if (value->kind == NODE_STRING &&
            read_manifest(arena, value->text, value->len, &tree, e) < 0)
                return -1;
        if (tree->kind != NODE_MAP)
                return wrong(e, "manifest", "an object, or the text of a SANDBOX.md");
        if (!(packed = arena_alloc(arena, tree_pack_len(tree))))
                return no_memory(e);
        tree_pack(tree, packed);
        record_bytes(w, FIELD_MANIFEST, RECORD_TREE, packed, tree_pack_len(tree));
        return 0;
}

static int
put_json(struct record_writer *w, uint16_t tag, const struct node *value, struct error *e)
{
        struct json_writer json;
        int is_broken;

        json_init(&json, false);
        json_node(&json, value);
        is_broken = json.is_broken;
        if (!is_broken)
                record_json(w, tag, json.text);
        json_fini(&json);
        return is_broken ? no_memory(e) : 0;
}

static int
put_text(struct record_writer *w, const struct api_param *p, const struct api_field *f,
         const struct node *value, struct error *e)
{
        if (value->kind != NODE_STRING)
                return wrong(e, f->name, "a text");
        if (p->max > 0 && (value->len < p->min || value->len > p->max))
                return fail_at(e, ERROR_INVALID_ARGUMENT, f->name, NULL,
                               "`%s` must have %llu to %llu bytes", f->name,
                               (unsigned long long)p->min, (unsigned long long)p->max);
        record_text(w, f->tag, value->text);
        return 0;
}

static int
put_number(struct record_writer *w, const struct api_param *p, const struct api_field *f,
           const struct node *value, struct error *e)
{
        if (value->kind != NODE_INT || (f->type == FIELD_TYPE_UINT && value->integer < 0))
                return wrong(e, f->name,
                             f->type == FIELD_TYPE_UINT ? "a whole number from 0 on"
                                                        : "a whole number");
        if (f->type == FIELD_TYPE_UINT && ((uint64_t)value->integer < p->min ||
                                           (p->max > 0 && (uint64_t)value->integer > p->max)))
                return fail_at(e, ERROR_INVALID_ARGUMENT, f->name, NULL,
                               "`%s` must be %llu to %llu", f->name, (unsigned long long)p->min,
                               (unsigned long long)(p->max > 0 ? p->max : INT64_MAX));
        if (f->type == FIELD_TYPE_UINT)
                record_uint(w, f->tag, (uint64_t)value->integer);
        else
                record_int(w, f->tag, value->integer);
        return 0;
}

static int
put_value(struct record_writer *w, const struct api_param *p, const struct node *value,
          const struct node *arguments, struct arena *arena, struct error *e)
{
        const struct api_field *f = api_field(p->tag);
        const char *bytes = "";
        size_t len = 0;

        switch (f->type) {
        case FIELD_TYPE_TEXT:
                return put_text(w, p, f, value, e);
        case FIELD_TYPE_UINT:
        case FIELD_TYPE_INT:
                return put_number(w, p, f, value, e);
        case FIELD_TYPE_BOOL:
                if (value->kind != NODE_BOOL)
                        return wrong(e, f->name, "true or false");
                record_bool(w, f->tag, value->boolean);
                return 0;
        case FIELD_TYPE_BYTES:
                if (tools_content(arguments, f->name, arena, &bytes, &len, e) < 0)
                        return -1;
                record_bytes(w, f->tag, RECORD_BYTES, bytes, len);
                return 0;
        case FIELD_TYPE_JSON:
                return put_json(w, f->tag, value, e);
        case FIELD_TYPE_TREE:
                return put_manifest(w, value, arena, e);
        case FIELD_TYPE_NESTED:
                break;
        }
        return wrong(e, f->name, "left out");
}

static int
put_argument(struct record_writer *w, const struct api_param *p, const struct node *value,
             const struct node *arguments, struct arena *arena, struct error *e)
{
        if (p->tag == FIELD_ENV)
                return put_env(w, value, arena, e);
        if (!(p->flags & PARAM_REPEATED))
                return put_value(w, p, value, arguments, arena, e);
        if (value->kind != NODE_LIST)
                return wrong(e, api_field(p->tag)->name, "a list");
        node_each(item, value) if (put_value(w, p, item, arguments, arena, e) < 0) return -1;
        return 0;
}

/* Arguments that are not parameters of the operation; other code reads them. */
static bool
is_extra(const struct tool *t, const char *name)
{
        static const struct {
                enum operation_code op;
                const char *name;
        } extras[] = {
                { OP_FILE_WRITE, "files" },
                { OP_EXEC, "encoding" },
                { OP_EXEC_ATTACH, "wait" },
                { OP_EXEC_ATTACH, "wait_ms" },
        };

        for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
                if (extras[i].op == t->op && strcmp(extras[i].name, name) == 0)
                        return true;
        return false;
}

static int
check_required(const struct tool *t, const struct node *arguments, const char *sandbox,
               struct error *e)
{
        const struct operation *o = operation(t->op);

        for (size_t i = 0; i < o->param_count; i++) {
                const char *name = o->params[i].tag == FIELD_ID ? "sandbox_id"
                                                                : api_field(o->params[i].tag)->name;
                const struct node *value = node_find(arguments, name);

                if (!(o->params[i].flags & PARAM_REQUIRED) || (value && value->kind != NODE_NULL) ||
                    (o->params[i].tag == FIELD_ID && sandbox))
                        continue;
                return fail_at(e, ERROR_INVALID_ARGUMENT, name, NULL, "`%s` is missing", name);
        }
        return 0;
}

static int
unknown_argument(const struct tool *t, const char *name, struct error *e)
{
        const struct operation *o = operation(t->op);
        struct nearest n = nearest_begin(name);

        for (size_t i = 0; i < o->param_count; i++) {
                const char *known = o->params[i].tag == FIELD_ID
                                            ? "sandbox_id"
                                            : api_field(o->params[i].tag)->name;

                if (!tools_leaves_out(t, o->params[i].tag))
                        (void)nearest_try(&n, known, known);
        }
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, name, NULL, "`%.64s` is no argument of this tool",
                      name);
        error_hint(e, "%s%s%stools/list shows what it takes.", n.found ? "Did you mean `" : "",
                   n.found ? n.found : "", n.found ? "`? " : "");
        return -1;
}

int
tools_record(const struct tool *t, const struct node *arguments, const char *sandbox,
             struct arena *arena, struct record_writer *w, struct error *e)
{
        if (check_required(t, arguments, sandbox, e) < 0)
                return -1;
        if (t->flags & TOOL_SANDBOX && !node_find(arguments, "sandbox_id"))
                record_text(w, FIELD_ID, sandbox);
        for (const struct node *value = arguments ? arguments->first : NULL; value;
             value = value->next) {
                const struct api_param *p = param_find(t, value->key);

                if (!p && !is_extra(t, value->key))
                        return unknown_argument(t, value->key, e);
                if (p && value->kind != NODE_NULL &&
                    put_argument(w, p, value, arguments, arena, e) < 0)
                        return -1;
        }
        if (w->is_broken)
                return fail(e, ERROR_INVALID_ARGUMENT, "these arguments are too long");
        return 0;
}

/* -- bytes ------------------------------------------------------------------------------------- */

int
tools_content(const struct node *map, const char *key, struct arena *arena, const char **ret,
              size_t *ret_len, struct error *e)
{
        const struct node *text = node_find(map, key), *encoding = node_find(map, "encoding");
        unsigned char *bytes;

        if (!text || text->kind != NODE_STRING)
                return wrong(e, key, "a text");
        *ret = text->text;
        *ret_len = text->len;
        if (!encoding || node_is_text(encoding, "utf-8") || node_is_text(encoding, "text"))
                return 0;
        if (!node_is_text(encoding, "base64"))
                return wrong(e, "encoding", "base64, or left out");
        if (!(bytes = arena_alloc(arena, text->len + 1)))
                return no_memory(e);
        if (sodium_base642bin(bytes, text->len + 1, text->text, text->len, "\r\n", ret_len, NULL,
                              sodium_base64_VARIANT_ORIGINAL) < 0)
                return wrong(e, key, "base64");
        *ret = (const char *)bytes;
        return 0;
}

void
tools_bytes(struct json_writer *w, const char *key, const char *bytes, size_t len)
{
        int is_text = utf8_valid_len(bytes, len) == len && !memchr(bytes, '\0', len);

        encode_member(w, key, bytes, len, !is_text);
        if (!is_text)
                json_member_text(w, "encoding", "base64");
}
