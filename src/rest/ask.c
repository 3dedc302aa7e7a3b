/*
 * rest/ask.c - makes a call to the keeper from an exchange.
 *
 * Room: rest (joining). Touches: mem.
 */
#include "rest/ask.h"

#include <string.h>

#include "codec/codec.h"

struct record_writer
ask_record(void)
{
        static _Alignas(16) unsigned char room[CALL_RECORD_MAX];
        struct record_writer w;

        record_init(&w, room, sizeof room / 8 * 8);
        return w;
}

int
ask_with(struct exchange *x, const struct operation *o, struct record_writer *w,
         struct link_call *c, struct error *e)
{
        return link_call_begin(x->link, c, &x->peer, o->code, w, e);
}

int
ask_read(const struct codec_call *call, struct record_writer *w, struct error *e)
{
        struct arena arena;
        int result;

        arena_init(&arena, ASK_MEMORY);
        result = codec_read(&arena, call, w, NULL, e);
        arena_fini(&arena);
        return result;
}

int
ask(struct exchange *x, const struct route *r, const struct operation *o, const char *const *names,
    struct link_call *c, struct error *e)
{
        struct codec_call call = { .operation = o,
                                   .path = &r->path,
                                   .query = x->query,
                                   .query_names = names,
                                   .body = x->body,
                                   .body_len = x->body_len,
                                   .key = exchange_header(x, "idempotency-key"),
                                   .last_event = exchange_header(x, "last-event-id") };
        struct record_writer w = ask_record();

        return ask_read(&call, &w, e) < 0 ? -1 : ask_with(x, o, &w, c, e);
}

int
ask_base64(const struct exchange *x)
{
        const char *at = strstr(x->query, "encoding=base64");

        return at && (at == x->query || at[-1] == '&') && (at[15] == '\0' || at[15] == '&');
}
