/*
 * mcp/tools_fields.c - converts a tool's arguments to an operation's record.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: the operation table has name, type and bounds of every field, and the codec reads each,
 * as for REST. This file only decides which of them a tool has.
 */
#include "mcp/tools_fields.h"

#include <string.h>

#include "codec/codec.h"
#include "codec/encode.h"
#include "text/nearest.h"
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

static const char *
hint_for(const char *name)
{
        return strcmp(name, "argv") == 0
                       ? "Write argv: [\"ls\", \"-l\"]; a line for a shell is command: \"ls -l\"."
                       : "tools/list shows what it takes.";
}

/* Arguments that are not parameters of the operation; other code reads them. */
static bool
is_extra(const struct tool *t, const char *name)
{
        static const struct {
                enum operation_code op;
                const char *name;
        } extras[] = {
                { OP_FILE_WRITE, "files" }, { OP_EXEC, "encoding" },       { OP_CODE, "encoding" },
                { OP_EXEC_ATTACH, "wait" }, { OP_EXEC_ATTACH, "wait_ms" },
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
        int is_base64;

        if (check_required(t, arguments, sandbox, e) < 0 ||
            codec_encoding(arguments, &is_base64, e) < 0)
                return -1;
        if (t->flags & TOOL_SANDBOX && !node_find(arguments, "sandbox_id"))
                record_text(w, FIELD_ID, sandbox);
        for (const struct node *value = arguments ? arguments->first : NULL; value;
             value = value->next) {
                const struct api_param *p = param_find(t, value->key);

                if (!p && !is_extra(t, value->key))
                        return unknown_argument(t, value->key, e);
                if (p && value->kind != NODE_NULL &&
                    codec_param(arena, p, value, is_base64, w, e) < 0)
                        return error_hint(e, "%s", hint_for(value->key)), -1;
        }
        if (w->is_broken)
                return fail(e, ERROR_INVALID_ARGUMENT, "these arguments are too long");
        return 0;
}

/* -- bytes ----------------------------------------------------------------------------------- */

void
tools_bytes(struct json_writer *w, const char *key, const char *bytes, size_t len)
{
        int is_text = utf8_valid_len(bytes, len) == len && !memchr(bytes, '\0', len);

        encode_member(w, key, bytes, len, !is_text);
        if (!is_text)
                json_member_text(w, "encoding", "base64");
}
