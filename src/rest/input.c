/*
 * rest/input.c - standard input of a running exec, and the size of its terminal.
 *
 * Room: rest (joining). Touches: mem, fd (through its follower).
 * Theory: it opens a second channel to the exec, with output offsets beyond the end, so that only
 * the end arrives. Input that was sent stays sent if the client disconnects: closing a second
 * channel does not affect the exec.
 */
#include <inttypes.h>
#include <string.h>

#include "base/numbers.h"
#include "codec/codec.h"
#include "loop/deferred.h"
#include "rest/ask.h"
#include "rest/exec_view.h"
#include "rest/rest.h"

struct input {
        struct link_call call; /* must be first */
        struct exchange *x;
        bool wants_end;
        int has_all, is_resize, is_started;
        struct wire_size size;
};

static void
end_input(struct input *in)
{
        link_call_leave(&in->call);
        deferred_free(in);
}

static void
client_gone(struct exchange *x)
{
        end_input(x->state);
}

static void
fail_input(struct input *in, const struct error *e)
{
        exchange_fail(in->x, e);
        end_input(in);
}

static void
finish_when_sent(struct input *in)
{
        if (!in->has_all || link_call_pending(&in->call) > 0)
                return;
        exchange_answer(in->x, 204, NULL, NULL, 0);
        end_input(in);
}

static void
finish_body(struct input *in)
{
        if (in->wants_end)
                link_call_send(&in->call, CHANNEL_STDIN_END, NULL, 0);
        finish_when_sent(in);
}

/* -- the channel ------------------------------------------------------------------------------- */

static void
over(struct link_call *c)
{
        struct error e;

        (void)fail_at(&e, ERROR_INVALID_ARGUMENT, "exec", "ended",
                      "the exec has ended, and takes no input");
        fail_input((struct input *)(void *)c, &e);
}

static void
on_ended(struct link_call *c, const struct channel_end *end)
{
        over(c);
}

static void
on_failed(struct link_call *c, const struct wire_exec_failed *failed)
{
        over(c);
}

static void
on_writable(struct link_call *c)
{
        struct input *in = (struct input *)(void *)c;

        if (in->has_all)
                finish_when_sent(in);
        else
                exchange_body_resume(in->x);
}

static void
on_started(struct link_call *c, const struct channel_started *started)
{
        struct input *in = (struct input *)(void *)c;

        in->is_started = 1;
        if (in->is_resize) {
                link_call_send(c, CHANNEL_RESIZE, &in->size, sizeof in->size);
                in->has_all = 1;
                finish_when_sent(in);
        } else if (in->has_all) {
                finish_body(in);
        } else {
                exchange_body_resume(in->x);
        }
}

static void
on_refused(struct link_call *c, const struct error *e)
{
        fail_input((struct input *)(void *)c, e);
}

static const struct link_call_ops ops = { .refused = on_refused,
                                          .started = on_started,
                                          .failed = on_failed,
                                          .ended = on_ended,
                                          .lost = over,
                                          .writable = on_writable };

static void
body(struct exchange *x, const void *bytes, size_t len)
{
        struct input *in = x->state;

        if (len > 0) {
                link_call_send(&in->call, CHANNEL_STDIN, bytes, len);
                if (link_call_pending(&in->call) > FOLLOW_BURST)
                        exchange_body_pause(x);
                return;
        }
        in->has_all = 1;
        /* a request without a body ends before there is a channel */
        if (in->is_started)
                finish_body(in);
}

static int
ask_channel(struct input *in, const struct route *route, const char *const *names, struct error *e)
{
        struct codec_call call = { .operation = operation(OP_EXEC_ATTACH),
                                   .path = &route->path,
                                   .query = in->x->query,
                                   .query_names = names };
        struct record_writer w = ask_record();

        if (ask_read(&call, &w, e) < 0)
                return -1;
        record_uint(&w, FIELD_STDOUT_OFFSET, NUMBER_EXACT_MAX);
        record_uint(&w, FIELD_STDERR_OFFSET, NUMBER_EXACT_MAX);
        return ask_with(in->x, operation(OP_EXEC_ATTACH), &w, &in->call, e);
}

static struct input *
begin(struct exchange *x)
{
        static const struct exchange_hooks hooks = { .gone = client_gone, .body = body };
        struct input *in = deferred_make(x->loop, struct input);

        if (!in) {
                exchange_no_memory(x);
                return NULL;
        }
        in->call.ops = &ops;
        in->x = x;
        exchange_hold(x, &hooks, in);
        return in;
}

void
rest_stdin(struct exchange *x, const struct route *route)
{
        static const char *const names[] = { "end", NULL };
        struct input *in = begin(x);
        struct error e;

        if (!in)
                return;
        if (codec_query_bool(x->query, "end", &in->wants_end, &e) < 0 ||
            ask_channel(in, route, names, &e) < 0)
                fail_input(in, &e);
        else
                exchange_body_pause(x);
}

static int
read_side(const struct node *body, const char *name, uint16_t *ret, struct error *e)
{
        static const struct {
                uint64_t min, max;
        } bounds = { NUMBER_TERMINAL_SIDE };
        const struct node *n = node_find(body, name);

        if (!n || n->kind != NODE_INT || n->integer < (int64_t)bounds.min ||
            n->integer > (int64_t)bounds.max)
                return fail_at(e, ERROR_INVALID_ARGUMENT, name, n ? "range" : "missing",
                               "%s must be a whole number, %" PRIu64 " to %" PRIu64, name,
                               bounds.min, bounds.max);
        *ret = (uint16_t)n->integer;
        return 0;
}

void
rest_resize(struct exchange *x, const struct route *route)
{
        struct input *in = begin(x);
        const struct node *body_node;
        struct arena arena;
        struct error e;
        int result;

        if (!in)
                return;
        in->is_resize = 1;
        arena_init(&arena, ASK_MEMORY);
        result = codec_body(&arena, x->body, x->body_len, &body_node, &e);
        if (result == 0 && (read_side(body_node, "rows", &in->size.rows, &e) < 0 ||
                            read_side(body_node, "columns", &in->size.columns, &e) < 0))
                result = -1;
        arena_fini(&arena);
        if (result < 0 || ask_channel(in, route, NULL, &e) < 0)
                fail_input(in, &e);
}
