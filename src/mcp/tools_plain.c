/*
 * mcp/tools_plain.c - tools that make one operation and answer at once; and the tool that clears
 * the cache.
 *
 * Room: mcp (joining). Touches: mem.
 */
#include <string.h>

#include "codec/codec.h"
#include "mcp/server.h"
#include "mcp/tools.h"

static void
answer_fields(struct mcp_request *r, const struct record *fields)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        codec_write(&w, operation(r->tool->op), fields, 0);
        json_close_map(&w);
        request_structured(r, &w, false);
}

/* A model that does not manage sandboxes sees only the configured one. */
static bool
is_shown(const struct mcp_request *r, const struct record_entry *entry)
{
        struct record item = { entry->value, entry->len };

        if (r->tool->op != OP_LIST || r->flags & MCP_MANAGE || !r->sandbox ||
            entry->tag != FIELD_ITEMS || entry->type != RECORD_NESTED)
                return true;
        return strcmp(record_get_text(&item, FIELD_ID, ""), r->sandbox) == 0 ||
               strcmp(record_get_text(&item, FIELD_NAME, ""), r->sandbox) == 0;
}

static void
gather(struct mcp_request *r, const struct record *fields)
{
        struct record_entry entry;
        size_t at = 0, before = 0;

        while (record_next(fields, &at, &entry) == 1) {
                if (is_shown(r, &entry))
                        mcp_bytes_put(&r->wire, (const char *)fields->bytes + before, at - before);
                before = at;
        }
}

/* A list comes in several replies: their items are collected in one record. */
static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);
        struct record all;
        struct error e;

        gather(r, fields);
        if (!is_last)
                return;
        all = (struct record){ (const unsigned char *)r->wire.text, r->wire.len };
        if (!r->wire.is_broken) {
                answer_fields(r, &all);
                return;
        }
        (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for this answer");
        request_fail(r, &e);
}

static const struct link_call_ops plain_ops = { .reply = on_reply, .refused = request_on_refused };

static void
call(struct mcp_request *r)
{
        struct record_writer w;

        if (request_arguments(r, &w, REQUEST_RECORD) < 0)
                return;
        if (r->tool->op == OP_CREATE || r->tool->op == OP_EXTEND)
                record_text(&w, FIELD_KEY, r->idempotency_key);
        (void)request_call(r, r->tool->op, &w, &plain_ops);
}

void
tool_plain(struct mcp_request *r)
{
        if (r->tool->flags & TOOL_SANDBOX)
                request_with_sandbox(r, call);
        else
                call(r);
}

void
tool_clear_cache(struct mcp_request *r)
{
        const struct node *key = node_find(r->arguments, "key");
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "cleared",
                        request_clear_cache(r, key && key->kind == NODE_STRING ? key->text : NULL));
        json_close_map(&w);
        request_structured(r, &w, false);
}
