/*
 * mcp/tools_refused.c - reports what the wall refused to a command, together with how the command
 * ended.
 *
 * Room: mcp (joining). Touches: mem.
 * Theory: a model that sees only "could not resolve host" tries mirrors and proxies. If it reads
 * which line is missing, it asks for that line. The end of a command says whether anything was
 * refused; only then is the keeper asked. Without its answer the result is still sent.
 */
#include "mcp/tools_refused.h"

#include <inttypes.h>

#include "codec/codec.h"
#include "outcome/outcome.h"

static const char *
sandbox_of(const struct mcp_request *r)
{
        const struct node *id = node_find(r->arguments, "sandbox_id");

        return id && id->kind == NODE_STRING ? id->text : r->sandbox ? r->sandbox : "";
}

static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        struct mcp_request *r = request_of(c);

        if (is_last)
                r->exec.refused(r, &r->exec.end, fields);
}

static void
on_refused(struct link_call *c, const struct error *e)
{
        struct mcp_request *r = request_of(c);

        (void)e;
        r->exec.refused(r, &r->exec.end, NULL);
}

static const struct link_call_ops ops = { .reply = on_reply, .refused = on_refused };

static int
ask(struct mcp_request *r)
{
        unsigned char bytes[1024] __attribute__((aligned(16)));
        struct record_writer w;
        struct error e;

        link_call_end(&r->call);
        loop_timer_remove(&r->timer); /* the answer came in time */
        r->call = (struct link_call){ .ops = &ops };
        record_init(&w, bytes, sizeof bytes);
        record_text(&w, FIELD_ID, sandbox_of(r));
        record_uint(&w, FIELD_EXEC, r->exec.exec);
        return link_call_begin(r->server->link, &r->call, &r->peer, OP_EXEC_GET, &w, &e);
}

void
tools_ended(struct mcp_request *r, const struct channel_end *end, tools_ended_fn *then)
{
        r->exec.end = *end;
        r->exec.refused = then;
        if (end->denied == 0 || ask(r) < 0)
                then(r, &r->exec.end, NULL);
}

void
tools_refused_members(struct json_writer *w, const struct record *fields)
{
        struct record_entry entry;

        if (!fields || !record_find(fields, FIELD_DENIED, &entry))
                return;
        codec_write_list(w, api_field(FIELD_DENIED)->name, FIELD_DENIED, fields, 0);
        if (record_find(fields, FIELD_DENIED_MORE, &entry))
                codec_write_member(w, api_field(FIELD_DENIED_MORE)->name, &entry, 0);
}

static void
put_one(struct mcp_bytes *text, const struct record *denied)
{
        uint64_t count = record_get_uint(denied, FIELD_COUNT, 1);

        mcp_bytes_text(text, "\n- ");
        mcp_bytes_text(text, record_get_text(denied, FIELD_MESSAGE, ""));
        if (count > 1)
                mcp_bytes_format(text, " (%" PRIu64 " times)", count);
}

void
tools_refused_text(struct mcp_bytes *text, const struct record *fields)
{
        struct record_entry entry;
        uint64_t more = fields ? record_get_uint(fields, FIELD_DENIED_MORE, 0) : 0;
        size_t at = 0;

        if (!fields || !record_find(fields, FIELD_DENIED, &entry))
                return;
        mcp_bytes_text(text, "\n\nRefused by the sandbox's network rules:");
        while (record_next(fields, &at, &entry) > 0)
                if (entry.tag == FIELD_DENIED && entry.type == RECORD_NESTED)
                        put_one(text, &(struct record){ entry.value, entry.len });
        if (more > 0)
                mcp_bytes_format(text,
                                 "\n- and %" PRIu64 " more requests; list_denials tells the last",
                                 more);
}

void
tools_limits_text(struct mcp_bytes *text, unsigned reached)
{
        const struct outcome_limit_words *l;

        for (size_t i = 0; (l = outcome_limit_at(i)) != NULL; i++)
                if ((reached & l->limit & ~(unsigned)OUTCOME_OUTER_TIME) != 0)
                        mcp_bytes_format(text, "\n\nLimit reached: %s. %s", l->sentence, l->hint);
}
