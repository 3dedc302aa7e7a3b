/*
 * proto/http_reader.c - llhttp behind http_head.c.
 *
 * Room: proto (deciding, pure). Touches: mem.
 */
#include "proto/http_reader.h"

#include <llhttp.h>
#include <string.h>

_Static_assert(sizeof(llhttp_t) <= sizeof(((struct reader *)NULL)->parser),
               "there is room for the parser");

static llhttp_t *
parser_of(struct reader *r)
{
        return (llhttp_t *)(void *)&r->parser;
}

static struct reader *
of(llhttp_t *parser)
{
        return parser->data;
}

static int
on_url(llhttp_t *parser, const char *at, size_t len)
{
        of(parser)->target_len += len;
        return 0;
}

static int
on_field(llhttp_t *parser)
{
        of(parser)->field_count++;
        return 0;
}

/* Upgrades are decided by us: to the parser every message is an ordinary one. */
static int
on_head(llhttp_t *parser)
{
        struct reader *r = of(parser);

        r->has_head = 1;
        parser->upgrade = 0;
        return r->has_no_body;
}

static int
on_body(llhttp_t *parser, const char *at, size_t len)
{
        struct reader *r = of(parser);

        if (r->sink && len > 0)
                r->sink(r->data, at, len);
        return 0;
}

static int
on_complete(llhttp_t *parser)
{
        of(parser)->is_complete = 1;
        return 0;
}

static llhttp_settings_t settings = {
        .on_url = on_url,
        .on_header_value_complete = on_field,
        .on_headers_complete = on_head,
        .on_body = on_body,
        .on_message_complete = on_complete,
};

void
reader_init(struct reader *r, int is_answer, int has_no_body)
{
        memset(r, 0, sizeof *r);
        llhttp_init(parser_of(r), is_answer ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
        parser_of(r)->data = r;
        r->has_no_body = has_no_body;
}

static int
disagree(struct error *e, const char *what)
{
        return fail_at(e, ERROR_REQUEST_MALFORMED, NULL, "disagreement",
                       "the message can be read in two ways: %s", what);
}

static int
is_method(struct reader *r, struct http_text method)
{
        const char *name = llhttp_method_name((llhttp_method_t)parser_of(r)->method);

        return strlen(name) == method.len && memcmp(name, method.at, method.len) == 0;
}

static int
feed(struct reader *r, const char *bytes, size_t len, struct error *e)
{
        llhttp_errno_t result = llhttp_execute(parser_of(r), bytes, len);

        if (result != HPE_OK)
                return fail_at(e, ERROR_REQUEST_MALFORMED, NULL, "parser",
                               "the message is not well-formed (%s)", llhttp_errno_name(result));
        return 0;
}

int
reader_head(struct reader *r, const char *bytes, const struct http_head *h, struct error *e)
{
        int has_body = h->framing != HTTP_NO_BODY && !r->has_no_body;

        if (feed(r, bytes, h->len, e) < 0)
                return -1;
        if (!r->has_head || r->target_len != h->target.len || r->field_count != h->field_count)
                return disagree(e, "where its head ends");
        if (h->status != 0 ? parser_of(r)->status_code != h->status : !is_method(r, h->method_text))
                return disagree(e, "what it is");
        if (h->status < 200 && h->status != 0)
                return 0; /* an answer that is not the last: whatever follows is another message */
        if (r->is_complete == has_body)
                return disagree(e, "whether it has a body");
        return 0;
}

int
reader_body(struct reader *r, const char *bytes, size_t len,
            void (*sink)(void *data, const char *bytes, size_t len), void *data, struct error *e)
{
        r->sink = sink;
        r->data = data;
        return feed(r, bytes, len, e);
}
