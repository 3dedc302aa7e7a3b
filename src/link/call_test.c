/*
 * link/call_test.c - one asynchronous call over a scripted link: its states, its last callback, and
 * who owns a descriptor.
 */
#include <dirent.h>
#include <sys/resource.h>

#include "link/script.h"

/* -- a caller that records its callbacks ------------------------------------------------------- */

struct caller {
        struct link_call call; /* must be first */
        struct world *world;
        char told[512];
        enum operation_code next; /* begun in the last callback; 0: none */
        int fd;
};

struct world {
        struct loop *loop;
        struct script script;
        struct caller a, b;
        size_t fds; /* open before the first call */
};

static size_t
open_fds(void)
{
        DIR *d = opendir("/proc/self/fd");
        size_t count = 0;

        assert_non_null(d);
        while (readdir(d))
                count++;
        (void)closedir(d);
        return count;
}

static void begin(struct caller *c, enum operation_code op);

/* Was this the last callback? Then the call is IDLE, and the next one may begin. */
static __attribute__((format(printf, 3, 4))) void
tell(struct link_call *call, bool is_last, const char *format, ...)
{
        struct caller *c = (struct caller *)(void *)call;
        size_t at = strlen(c->told);
        va_list args;

        assert_true(at + 64 < sizeof c->told);
        va_start(args, format);
        (void)vsnprintf(c->told + at, sizeof c->told - at, format, args);
        va_end(args);
        (void)strncat(c->told, " ", sizeof c->told - strlen(c->told) - 1);
        assert_int_equal(call->state == LINK_CALL_IDLE, is_last);
        if (is_last && c->next) {
                enum operation_code next = c->next;

                c->next = 0;
                begin(c, next);
        }
}

static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        bool has_channel = (operation(c->op)->flags & OPERATION_CHANNEL) != 0;

        tell(c, is_last && !has_channel && !c->ops->event, "%s%s",
             record_get_text(fields, FIELD_NAME, "reply"), is_last ? "" : "+");
}

static void
on_refused(struct link_call *c, const struct error *e)
{
        tell(c, true, "%s%s", error_wire_name(e->code), strstr(e->message, "not known") ? "?" : "");
}

static void
on_started(struct link_call *c, const struct channel_started *s)
{
        tell(c, false, "started:%d", s->pid);
}

static void
on_failed(struct link_call *c, const struct wire_exec_failed *f)
{
        tell(c, true, "failed:%d", f->sys);
}

static void
on_output(struct link_call *c, int stream, const void *bytes, size_t len, uint64_t offset)
{
        tell(c, false, "%d:%.*s@%d", stream, (int)len, (const char *)bytes, (int)offset);
}

static void
on_ended(struct link_call *c, const struct channel_end *end)
{
        tell(c, true, "%s:%d/%d/%d", outcome_name(end->word), end->exit_code,
             (int)end->stdout_bytes, (int)end->dropped_bytes);
}

static void
on_lost(struct link_call *c)
{
        tell(c, true, "lost");
}

static void
on_cut(struct link_call *c, const struct channel_end *end)
{
        tell(c, true, "cut:%d", (int)end->stdout_bytes);
}

static void
on_quiet(struct link_call *c)
{
        tell(c, false, "quiet");
}

static void
on_event(struct link_call *c, const struct record *fields)
{
        tell(c, false, "event:%s", record_get_text(fields, FIELD_NAME, ""));
}

static void
on_given(struct link_call *c, const struct record *fields, int take_fd)
{
        ((struct caller *)(void *)c)->fd = take_fd;
        tell(c, false, "given");
}

static void
on_unopened(struct link_call *c, const struct record *fields)
{
        tell(c, true, "unopened");
}

#define ALL                                                                                   \
        .reply = on_reply, .refused = on_refused, .started = on_started, .failed = on_failed, \
        .output = on_output, .ended = on_ended, .lost = on_lost

static const struct link_call_ops all = { ALL };
static const struct link_call_ops all_cut = { ALL, .cut = on_cut, .unopened = on_unopened };
static const struct link_call_ops all_quiet = { ALL, .quiet = on_quiet };
static const struct link_call_ops all_events = { ALL, .event = on_event };
static const struct link_call_ops all_given = { ALL, .given = on_given };
static const struct link_call_ops nothing = { 0 };

static int
try(struct caller *c, enum operation_code op, struct error *e)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer w;

        record_init(&w, bytes, sizeof bytes);
        switch (op) {
        case OP_EXEC:
                record_text(&w, FIELD_COMMAND, "true");
                break;
        case OP_FILE_MKDIR:
                record_text(&w, FIELD_PATH, "/a");
                break;
        case OP_PORT_CONNECT:
                record_text(&w, FIELD_TOKEN, "t");
                break;
        case OP_EXEC_SIGNAL:
                record_int(&w, FIELD_SIGNAL, 15);
                /* fall through */
        case OP_EXEC_ATTACH:
                record_uint(&w, FIELD_EXEC, 1);
                break;
        default:
                break;
        }
        if (op != OP_LIST && op != OP_INFO && op != OP_WATCH && op != OP_PORT_CONNECT)
                record_text(&w, FIELD_ID, "box");
        return link_call_begin(&c->world->script.link, &c->call, &(struct api_peer){ .uid = 7 }, op,
                               &w, e);
}

static void
begin(struct caller *c, enum operation_code op)
{
        struct error e;

        assert_int_equal(try(c, op, &e), 0);
        hear(&c->world->script);
}

static void
build(struct world *w, unsigned flags)
{
        *w = (struct world){ .a = { .world = w, .call.ops = &all, .fd = -1 },
                             .b = { .world = w, .call.ops = &all, .fd = -1 } };
        assert_int_equal(loop_new(&w->loop), 0);
        script_open(&w->script, w->loop, flags);
        w->script.is_door = true;
        w->fds = open_fds();
}

/* Every call is IDLE, and no descriptor is left but those of the link. */
static void
raze(struct world *w)
{
        assert_int_equal(w->script.link.count, 0);
        for (size_t i = 0; i < w->script.count; i++)
                if (w->script.calls[i]->channel >= 0)
                        (void)close(w->script.calls[i]->channel);
        for (size_t i = 0; i < w->script.count; i++)
                w->script.calls[i]->channel = -1;
        assert_int_equal(open_fds(), w->fds - (w->script.fd < 0));
        script_close(&w->script);
        loop_free(w->loop);
}

static struct noted *
last(struct world *w)
{
        assert_true(w->script.count > 0);
        return w->script.calls[w->script.count - 1];
}

static void
reply_name(struct noted *n, uint32_t flags, const char *name)
{
        unsigned char bytes[128] __attribute__((aligned(8)));
        struct record_writer w;

        record_init(&w, bytes, sizeof bytes);
        record_text(&w, FIELD_NAME, name);
        send_reply(n, flags, &w, -1);
        turn(n->script);
}

static void
expect(struct caller *c, const char *told)
{
        if (strcmp(c->told, told) != 0)
                fail_msg("told\n%s\nnot\n%s", c->told, told);
        c->told[0] = '\0';
}

/* -- replies ----------------------------------------------------------------------------------- */

static void
test_replies_find_their_call(void **state)
{
        struct world w;

        (void)state;
        build(&w, 0);
        begin(&w.a, OP_LIST);
        begin(&w.b, OP_GET);
        reply_name(w.script.calls[1], 0, "b");
        expect(&w.b, "b ");
        reply_name(w.script.calls[0], REPLY_MORE, "a1");
        assert_int_equal(w.a.call.state, LINK_CALL_SENT);
        reply_name(w.script.calls[0], 0, "a2");
        expect(&w.a, "a1+ a2 ");
        reply_name(w.script.calls[0], 0, "too late");
        expect(&w.a, "");
        raze(&w);
}

static void
test_refusal_is_the_last(void **state)
{
        struct world w;
        struct error e;

        (void)state;
        build(&w, 0);
        begin(&w.a, OP_EXEC);
        (void)fail(&e, ERROR_NOT_FOUND, "none");
        refuse(last(&w), &e);
        expect(&w.a, "sandbox_not_found ");
        begin(&w.a, OP_EXEC); /* a channel is missing */
        send_reply(last(&w), 0, NULL, -1);
        turn(&w.script);
        expect(&w.a, "protocol_error ");
        w.a.call.ops = &all_cut;
        begin(&w.a, OP_EXEC);
        send_reply(last(&w), 0, NULL, -1);
        turn(&w.script);
        expect(&w.a, "unopened ");
        raze(&w);
}

/* L1: in each last callback the next call may begin in the same struct. */
static void
test_last_callback_begins_the_next(void **state)
{
        const struct wire_exec_failed failed = { 1, 2, WIRE_STAGE_LOOKUP };
        struct world w;
        struct error e;

        (void)state;
        build(&w, 0);
        w.a.next = OP_INFO;
        begin(&w.a, OP_GET);
        reply(last(&w), NULL);
        assert_int_equal(last(&w)->op, OP_INFO);
        w.a.next = OP_EXEC;
        (void)fail(&e, ERROR_NOT_FOUND, "none");
        refuse(last(&w), &e);
        assert_int_equal(last(&w)->op, OP_EXEC);
        w.a.next = OP_EXEC;
        put_frame(last(&w), CHANNEL_FAILED, &failed, sizeof failed);
        turn(&w.script);
        w.a.next = OP_EXEC;
        started(last(&w), 1, 5);
        exit_with(last(&w), OUTCOME_EXITED, 3);
        w.a.next = OP_EXEC;
        reply(last(&w), NULL);
        lose(last(&w));
        w.a.next = OP_GET;
        started(last(&w), 1, 6);
        lose(last(&w));
        reply(last(&w), NULL);
        expect(&w.a,
               "reply sandbox_not_found reply failed:2 reply started:5 exited:3/0/0 reply lost "
               "reply started:6 lost:-1/0/0 reply ");
        raze(&w);
}

/* -- the channel ------------------------------------------------------------------------------- */

static void
test_channel(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w, 0);
        w.a.call.ops = &all_quiet;
        begin(&w.a, OP_EXEC);
        n = last(&w);
        start_exec(n, 1, 77);
        put_text(n, 1, "ab");
        print(n, 2, "c");
        link_call_send(&w.a.call, CHANNEL_STDIN, "in", 2);
        turn(&w.script);
        assert_memory_equal(w.script.sent, "in", 2);
        exit_with(n, OUTCOME_EXITED, 0);
        expect(&w.a, "reply started:77 quiet 1:ab@0 2:c@0 quiet exited:0/0/0 ");
        link_call_send(&w.a.call, CHANNEL_STDIN, "in", 2); /* IDLE */
        raze(&w);
}

/* What is left to read decides, not the frame that was not taken. */
static void
test_sends_to_an_ended_exec(void **state)
{
        const struct channel_started begun = { 1, 77 };
        const struct channel_end end = { .word = OUTCOME_EXITED };
        struct world w;
        struct noted *n;

        (void)state;
        build(&w, 0);
        begin(&w.a, OP_EXEC);
        n = last(&w);
        reply(n, NULL);
        put_frame(n, CHANNEL_STARTED, &begun, sizeof begun);
        put_frame(n, CHANNEL_END, &end, sizeof end);
        (void)close(n->channel);
        n->channel = -1;
        link_call_send(&w.a.call, CHANNEL_STDIN, "in", 2);
        link_call_send(&w.a.call, CHANNEL_STDIN_END, NULL, 0);
        turn(&w.script);
        expect(&w.a, "reply started:77 exited:0/0/0 ");
        raze(&w);
}

static void
test_pause(void **state)
{
        struct world w;

        (void)state;
        build(&w, 0);
        link_call_pause(&w.a.call); /* without a channel */
        link_call_resume(&w.a.call);
        begin(&w.a, OP_EXEC);
        start_exec(last(&w), 1, 77);
        link_call_pause(&w.a.call);
        print(last(&w), 1, "a");
        expect(&w.a, "reply started:77 ");
        link_call_resume(&w.a.call);
        turn(&w.script);
        expect(&w.a, "1:a@0 ");
        link_call_end(&w.a.call);
        raze(&w);
}

/* A command that started reports one end: what was received, and what of it is missing. */
static void
test_lost_channel(void **state)
{
        struct world w;

        (void)state;
        build(&w, 0);
        begin(&w.a, OP_EXEC);
        start_exec(last(&w), 1, 77);
        print(last(&w), 1, "abc");
        last(&w)->offsets[0] += 4;
        print(last(&w), 1, "d");
        lose(last(&w));
        expect(&w.a, "reply started:77 1:abc@0 1:d@7 lost:-1/8/4 ");
        w.a.call.ops = &all_cut;
        begin(&w.a, OP_EXEC);
        start_exec(last(&w), 1, 77);
        print(last(&w), 1, "abc");
        lose(last(&w));
        expect(&w.a, "reply started:77 1:abc@0 cut:3 ");
        raze(&w);
}

/* -- cancelling -------------------------------------------------------------------------------- */

/* L2, L3: from every state, and a late reply's descriptor is closed. */
static void
test_no_callback_after_end(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w, 0);
        link_call_end(&w.a.call); /* IDLE */
        begin(&w.a, OP_EXEC);
        n = last(&w);
        link_call_end(&w.a.call); /* SENT */
        turn(&w.script);
        assert_true(n->is_ended);
        reply(n, NULL);
        assert_int_equal(n->channel, -1); /* the box sees its channel close */
        begin(&w.a, OP_EXEC);
        n = last(&w);
        reply(n, NULL);
        put_text(n, 1, "unread");
        link_call_end(&w.a.call); /* OPEN */
        turn(&w.script);
        assert_true(n->is_ended && !n->is_left);
        begin(&w.a, OP_EXEC);
        n = last(&w);
        start_exec(n, 1, 78);
        put_text(n, 1, "unread");
        link_call_leave(&w.a.call); /* RUNNING */
        turn(&w.script);
        assert_true(n->is_ended && n->is_left);
        expect(&w.a, "reply reply started:78 ");
        begin(&w.a, OP_GET);
        link_call_end(&w.a.call);
        hang_up(&w.script);
        expect(&w.a, "");
        assert_int_equal(w.script.gone, 1);
        raze(&w);
}

static void
test_unused_callbacks(void **state)
{
        const struct wire_exec_failed failed = { 1, 2, WIRE_STAGE_LOOKUP };
        struct world w;
        struct error e;

        (void)state;
        build(&w, 0);
        w.a.call.ops = &nothing;
        begin(&w.a, OP_GET);
        reply(last(&w), NULL);
        begin(&w.a, OP_GET);
        (void)fail(&e, ERROR_NOT_FOUND, "none");
        refuse(last(&w), &e);
        begin(&w.a, OP_EXEC);
        put_frame(last(&w), CHANNEL_FAILED, &failed, sizeof failed);
        turn(&w.script);
        begin(&w.a, OP_EXEC);
        start_exec(last(&w), 1, 77);
        print(last(&w), 1, "a");
        lose(last(&w));
        begin(&w.a, OP_EXEC);
        reply(last(&w), NULL);
        lose(last(&w));
        raze(&w);
}

/* -- calls that last --------------------------------------------------------------------------- */

static void
send_event(struct noted *n, const char *name)
{
        static unsigned char bytes[256] __attribute__((aligned(8)));
        struct wire_call head = { .serial = n->serial };
        struct record_writer w;

        memcpy(bytes, &head, sizeof head);
        record_init(&w, bytes + sizeof head, sizeof bytes - sizeof head);
        record_text(&w, FIELD_NAME, name);
        assert_int_equal(wire_send(n->script->fd, WIRE_EVENT, bytes, sizeof head + w.len, NULL, 0),
                         0);
        turn(n->script);
}

static void
test_events(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w, 0);
        w.a.call.ops = &all_events;
        begin(&w.a, OP_WATCH);
        n = last(&w);
        send_event(n, "early");
        reply(n, NULL);
        assert_int_equal(w.a.call.state, LINK_CALL_ANSWERED);
        send_event(n, "late");
        link_call_end(&w.a.call);
        turn(&w.script);
        assert_true(n->is_ended);
        send_event(n, "too late");
        expect(&w.a, "event:early reply event:late ");
        begin(&w.a, OP_WATCH);
        reply(last(&w), NULL);
        hang_up(&w.script);
        expect(&w.a, "reply unavailable ");
        raze(&w);
}

/* The descriptor belongs to the caller, also after the link is lost. */
static void
test_given(void **state)
{
        struct world w;
        int fds[2];

        (void)state;
        build(&w, 0);
        w.a.call.ops = &all_given;
        begin(&w.a, OP_PORT_CONNECT);
        send_reply(last(&w), 0, NULL, -1);
        turn(&w.script);
        expect(&w.a, "protocol_error ");
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        begin(&w.a, OP_PORT_CONNECT);
        send_reply(last(&w), 0, NULL, fds[1]);
        (void)close(fds[1]);
        turn(&w.script);
        hang_up(&w.script);
        expect(&w.a, "given unavailable ");
        assert_int_equal(write(fds[0], "x", 1), 1);
        (void)close(w.a.fd);
        (void)close(fds[0]);
        raze(&w);
}

/* A second last reply is none: its descriptor is closed. */
static void
test_answered_twice(void **state)
{
        struct world w;
        int fds[2], other[2];
        char byte;

        (void)state;
        build(&w, 0);
        w.a.call.ops = &all_given;
        begin(&w.a, OP_PORT_CONNECT);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other), 0);
        send_reply(last(&w), 0, NULL, fds[1]);
        send_reply(last(&w), 0, NULL, other[1]);
        (void)close(fds[1]);
        (void)close(other[1]);
        turn(&w.script);
        expect(&w.a, "given ");
        assert_int_equal(read(other[0], &byte, 1), 0);
        (void)close(w.a.fd);
        (void)close(fds[0]);
        (void)close(other[0]);
        w.a.call.ops = &all_events;
        link_call_end(&w.a.call);
        begin(&w.a, OP_WATCH);
        send_reply(last(&w), 0, NULL, -1);
        send_reply(last(&w), 0, NULL, -1);
        turn(&w.script);
        expect(&w.a, "reply ");
        link_call_end(&w.a.call);
        turn(&w.script);
        raze(&w);
}

/* A process without free descriptors loses one call, and keeps its link. */
static void
test_no_descriptor_is_free(void **state)
{
        struct rlimit before, few;
        struct world w;
        int fds[2];

        (void)state;
        build(&w, 0);
        begin(&w.a, OP_EXEC);
        begin(&w.b, OP_GET);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        send_reply(w.script.calls[0], 0, NULL, fds[1]);
        (void)close(fds[1]);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        few = (struct rlimit){ 3, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        turn(&w.script);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        expect(&w.a, "unavailable? ");
        expect(&w.b, "");
        assert_int_equal(w.script.gone, 0);
        reply(last(&w), NULL);
        expect(&w.b, "reply ");
        (void)close(fds[0]);
        raze(&w);
}

/* -- a lost link ------------------------------------------------------------------------------- */

static void
test_lost_link_of_a_door(void **state)
{
        struct world w;
        struct error e;

        (void)state;
        build(&w, LINK_SAYS_WHO);
        begin(&w.a, OP_GET);
        assert_int_equal(record_get_uint(&last(&w)->fields, FIELD_UID, 0), 7);
        hang_up(&w.script);
        expect(&w.a, "unavailable ");
        link_close(&w.script.link);
        assert_int_equal(try(&w.a, OP_GET, &e), -1);
        assert_int_equal(e.code, ERROR_UNAVAILABLE);
        script_connect(&w.script);
        turn(&w.script);
        assert_int_equal(w.script.count, 1); /* nothing was repeated */
        raze(&w);
}

/* The row decides: what reads, what has a key. A signal is not sent twice. */
static void
test_lost_link_that_returns(void **state)
{
        struct world w;
        struct caller c = { .world = &w, .call.ops = &all };
        char key[64];

        (void)state;
        build(&w, LINK_RETURNS);
        begin(&w.a, OP_GET);
        begin(&w.b, OP_EXEC);
        (void)stpncpy(key, record_get_text(&last(&w)->fields, FIELD_KEY, ""), sizeof key - 1);
        assert_memory_equal(key, "own-", 4);
        begin(&c, OP_EXEC_SIGNAL);
        hang_up(&w.script);
        expect(&c, "unavailable? ");
        assert_int_equal(w.a.call.state, LINK_CALL_PARKED);
        script_connect(&w.script);
        assert_int_equal(w.script.count, 5);
        reply(w.script.calls[3]->op == OP_GET ? w.script.calls[3] : w.script.calls[4], NULL);
        expect(&w.a, "reply ");
        assert_string_equal(
                record_get_text(&w.script.calls[w.script.calls[3]->op == OP_GET ? 4 : 3]->fields,
                                FIELD_KEY, ""),
                key);
        link_call_end(&w.b.call);
        raze(&w);
}

static void
test_parked(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w, LINK_RETURNS);
        hang_up(&w.script);
        begin(&w.a, OP_GET);
        begin(&w.b, OP_EXEC_SIGNAL); /* it was never sent: any call may wait */
        assert_int_equal(w.b.call.state, LINK_CALL_PARKED);
        assert_int_equal(loop_timer_set(w.loop, &w.a.call.patience, 0, w.a.call.patience.fire), 0);
        turn(&w.script);
        expect(&w.a, "unavailable ");
        begin(&w.a, OP_GET);
        link_call_end(&w.a.call);
        script_connect(&w.script);
        assert_int_equal(w.script.count, 1);
        begin(&w.a, OP_EXEC); /* sent, so it may have had its effect */
        hang_up(&w.script);
        assert_int_equal(w.a.call.state, LINK_CALL_PARKED);
        assert_int_equal(loop_timer_set(w.loop, &w.a.call.patience, 0, w.a.call.patience.fire), 0);
        turn(&w.script);
        expect(&w.a, "unavailable? ");
        expect(&w.b, "unavailable? ");
        begin(&w.b, OP_EXEC_SIGNAL);
        script_connect(&w.script);
        n = last(&w);
        assert_int_equal(n->op, OP_EXEC_SIGNAL);
        reply(n, NULL);
        expect(&w.b, "reply ");
        expect(&w.a, "");
        raze(&w);
}

static void
test_no_item_twice(void **state)
{
        struct world w;

        (void)state;
        build(&w, LINK_RETURNS);
        begin(&w.a, OP_LIST);
        reply_name(last(&w), REPLY_MORE, "a1");
        hang_up(&w.script);
        expect(&w.a, "a1+ unavailable ");
        script_connect(&w.script);
        assert_int_equal(w.script.count, 1);
        raze(&w);
}

/* A call that has its channel goes on without the link. */
static void
test_lost_link_beside_a_channel(void **state)
{
        struct world w;
        struct noted *a, *b;

        (void)state;
        build(&w, 0);
        w.a.call.ops = &all_events;
        begin(&w.a, OP_EXEC);
        a = last(&w);
        start_exec(a, 1, 77);
        begin(&w.b, OP_EXEC);
        b = last(&w);
        reply(b, NULL);
        hang_up(&w.script);
        print(a, 1, "on");
        exit_with(a, OUTCOME_EXITED, 0);
        started(b, 1, 78);
        exit_with(b, OUTCOME_EXITED, 0);
        expect(&w.a, "reply started:77 1:on@0 exited:0/0/0 ");
        expect(&w.b, "reply started:78 exited:0/0/0 ");
        raze(&w);
}

/* The keeper ended before the box got its end of the channel: sent again, so many times. */
static void
test_channel_that_never_opened(void **state)
{
        struct world w;

        (void)state;
        build(&w, LINK_RETURNS);
        begin(&w.a, OP_EXEC);
        for (int i = 0; i < LINK_REPEATS_MAX; i++) {
                reply(last(&w), NULL);
                lose(last(&w));
                assert_int_equal(w.script.count, i + 2);
        }
        reply(last(&w), NULL);
        lose(last(&w));
        expect(&w.a, "reply reply reply reply lost ");
        assert_int_equal(w.script.count, LINK_REPEATS_MAX + 1);
        begin(&w.a, OP_FILE_MKDIR); /* its row takes no key */
        reply(last(&w), NULL);
        lose(last(&w));
        expect(&w.a, "reply lost ");
        begin(&w.a, OP_EXEC);
        reply(last(&w), NULL);
        hang_up(&w.script);
        lose(last(&w));
        assert_int_equal(w.a.call.state, LINK_CALL_PARKED);
        link_call_end(&w.a.call);
        raze(&w);
}

/* -- bounds ------------------------------------------------------------------------------------ */

/* L4 */
static void
test_bounds(void **state)
{
        struct caller *many = calloc(LINK_CALLS_MAX, sizeof *many);
        unsigned char bytes[64] __attribute__((aligned(8)));
        struct record_writer broken;
        struct world w;
        struct error e;

        (void)state;
        assert_non_null(many);
        build(&w, LINK_RETURNS);
        hang_up(&w.script);
        for (int i = 0; i < LINK_CALLS_MAX; i++) {
                many[i] = (struct caller){ .world = &w, .call.ops = &all };
                assert_int_equal(try(&many[i], OP_GET, &e), 0);
        }
        assert_int_equal(try(&w.a, OP_GET, &e), -1);
        assert_int_equal(e.code, ERROR_UNAVAILABLE);
        assert_int_equal(w.a.call.state, LINK_CALL_IDLE);
        for (int i = 0; i < LINK_CALLS_MAX; i++)
                link_call_end(&many[i].call);
        record_init(&broken, bytes, sizeof bytes);
        record_text(&broken, FIELD_ID,
                    "an id that is longer than the record has room, by far, and more");
        assert_int_equal(link_call_begin(&w.script.link, &w.a.call, NULL, OP_GET, &broken, &e), -1);
        expect(&w.a, "");
        raze(&w);
        free(many);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_replies_find_their_call),
                cmocka_unit_test(test_refusal_is_the_last),
                cmocka_unit_test(test_last_callback_begins_the_next),
                cmocka_unit_test(test_channel),
                cmocka_unit_test(test_sends_to_an_ended_exec),
                cmocka_unit_test(test_pause),
                cmocka_unit_test(test_lost_channel),
                cmocka_unit_test(test_no_callback_after_end),
                cmocka_unit_test(test_unused_callbacks),
                cmocka_unit_test(test_events),
                cmocka_unit_test(test_given),
                cmocka_unit_test(test_answered_twice),
                cmocka_unit_test(test_no_descriptor_is_free),
                cmocka_unit_test(test_lost_link_of_a_door),
                cmocka_unit_test(test_lost_link_that_returns),
                cmocka_unit_test(test_parked),
                cmocka_unit_test(test_no_item_twice),
                cmocka_unit_test(test_lost_link_beside_a_channel),
                cmocka_unit_test(test_channel_that_never_opened),
                cmocka_unit_test(test_bounds),
        };

        return cmocka_run_group_tests_name("link/call", tests, NULL, NULL);
}
