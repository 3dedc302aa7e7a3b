/*
 * rest/exec.c - runs a command, or reads the output of one. It answers when the command has
 * ended, at once, or as output arrives.
 *
 * Room: rest (joining). Touches: mem, fd (through its follower).
 * Theory: the keeper gives a channel and takes no further part. If a client disconnects while its
 * foreground command runs, its channel closes and the box kills the tree (C15). A client that only
 * watches closes nothing but its own view. The output buffer is bounded: a client that does not
 * read pauses the follower, and the box then acts by the exec's flags. The end of a command only
 * says whether the wall refused something. The keeper has the details and is asked for them.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/start_error.h"
#include "base/numbers.h"
#include "codec/codec.h"
#include "codec/encode.h"
#include "http/crowd.h"
#include "loop/deferred.h"
#include "outcome/outcome.h"
#include "rest/ask.h"
#include "rest/exec_view.h"
#include "rest/rest.h"

enum mode {
        MODE_WHOLE,   /* JSON when it has ended */
        MODE_STARTED, /* JSON as soon as it runs */
        MODE_NOW,     /* JSON with the output so far */
        MODE_EVENTS,  /* server-sent events until it ends */
        MODE_RAW,     /* bytes of one stream until it ends */
        MODE_RAW_NOW, /* bytes of one stream, those available now */
};

#define LAST_OF_ALL ".end"

enum {
        QUIET_MS = 15 * 1000,
        ID_ROOM = 65,
        NAME_ROOM = 201,
        CWD_ROOM = 201 /* the first bytes of both, for a message */
};

struct session {
        struct link_call call; /* must be first */
        struct loop_timer quiet;
        struct exchange *x;
        enum mode mode;
        /*
         * is_watcher: the exec belongs to another call; stays: the exec keeps running without this
         * client
         */
        int is_watcher, is_base64, stays, stream;
        size_t kept;               /* counted bytes of the captures */
        uint64_t want[2], seen[2]; /* MODE_NOW: bytes printed so far; bytes received so far */
        uint64_t given[2];         /* MODE_EVENTS: offset of each stream after the last event */
        /* MODE_EVENTS: the first bytes of a character that is not complete yet */
        char tails[2][4];
        size_t tail_lens[2];
        uint64_t tail_ends[2];
        char id[ID_ROOM], name[NAME_ROOM], cwd[CWD_ROOM];
        struct exec_view view;
};

static struct session *
of(struct link_call *c)
{
        return (struct session *)(void *)c;
}

static bool
is_raw(const struct session *s)
{
        return s->mode == MODE_RAW || s->mode == MODE_RAW_NOW;
}

/* -- ends -------------------------------------------------------------------------------------- */

static void
end_session(struct session *s)
{
        loop_timer_remove(&s->quiet);
        if (s->is_watcher || s->stays)
                link_call_leave(&s->call);
        else
                link_call_end(&s->call);
        exec_view_fini(&s->view);
        deferred_free(s);
}

static void
client_gone(struct exchange *x)
{
        end_session(x->state);
}

static void
fail_session(struct session *s, const struct error *e)
{
        struct json_writer w;

        /* now, not when the answer is written: of many that grow at once, one finds room */
        exec_view_fini(&s->view);
        (void)exchange_keep(s->x, 0, NULL);
        if (!s->x->has_begun) {
                exchange_fail(s->x, e);
        } else if (s->mode == MODE_EVENTS) {
                json_init(&w, false);
                exchange_error_write(&w, e);
                if (!w.is_broken)
                        (void)exchange_event(s->x, "error", NULL, w.text, w.len);
                json_fini(&w);
                exchange_end(s->x);
        } else {
                exchange_abort(s->x);
        }
        end_session(s);
}

static void
answer_view(struct session *s, int status)
{
        s->view.has_output = s->mode != MODE_STARTED || s->view.is_ended;
        exec_view_answer(s->x, status, &s->view, s->is_base64);
        end_session(s);
}

/* -- events ------------------------------------------------------------------------------------ */

static void
speak(struct loop_timer *t)
{
        struct session *s = (struct session *)(void *)((char *)t - offsetof(struct session, quiet));

        (void)loop_timer_set(s->x->loop, &s->quiet, loop_now_ms() + QUIET_MS, speak);
        (void)exchange_comment(s->x);
}

/*
 * The id of an event: the offsets of standard output and standard error after it, and whether it is
 * the last one.
 */
static size_t
send_event(struct session *s, const char *event, bool is_end, const struct json_writer *w)
{
        char id[64];

        (void)snprintf(id, sizeof id, "%" PRIu64 ".%" PRIu64 "%s", s->given[0], s->given[1],
                       is_end ? LAST_OF_ALL : "");
        return w->is_broken ? 0 : exchange_event(s->x, event, id, w->text, w->len);
}

static void
begin_events(struct session *s)
{
        struct json_writer w;

        if (s->x->has_begun)
                return;
        exchange_begin(s->x, 200, "text/event-stream", -1);
        (void)loop_timer_set(s->x->loop, &s->quiet, loop_now_ms() + QUIET_MS, speak);
        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "exec", s->view.started.exec);
        json_member_int(&w, "pid", s->view.started.pid);
        json_close_map(&w);
        (void)send_event(s, "started", false, &w);
        json_fini(&w);
}

static size_t
send_piece(struct session *s, int i, const char *bytes, size_t len, uint64_t offset)
{
        struct json_writer w;
        size_t queued;

        json_init(&w, false);
        json_open_map(&w);
        json_key(&w, "offset");
        json_uint(&w, offset);
        encode_member(&w, "data", bytes, len, s->is_base64);
        if (s->is_base64)
                json_member_text(&w, "encoding", "base64");
        json_close_map(&w);
        s->given[i] = offset + len;
        queued = send_event(s, i == 0 ? "stdout" : "stderr", false, &w);
        json_fini(&w);
        return queued;
}

/*
 * A character that is cut at the end of a piece waits for the rest. After a gap the rest never
 * arrives.
 */
static size_t
tell_text(struct session *s, int i, const char *bytes, size_t len, uint64_t offset)
{
        char *joined = NULL;
        size_t held = s->tail_lens[i], whole, queued = 0;

        if (held > 0 && offset == s->tail_ends[i])
                joined = malloc(held + len);
        if (joined) {
                memcpy(joined, s->tails[i], held);
                memcpy(joined + held, bytes, len);
                bytes = joined;
                len += held;
                offset -= held;
        } else if (held > 0) {
                queued = send_piece(s, i, s->tails[i], held, s->tail_ends[i] - held);
        }
        whole = encode_whole_len(bytes, len);
        if (whole > 0)
                queued = send_piece(s, i, bytes, whole, offset);
        memcpy(s->tails[i], bytes + whole, len - whole);
        s->tail_lens[i] = len - whole;
        s->tail_ends[i] = offset + len;
        free(joined);
        return queued;
}

static void
end_events(struct session *s)
{
        struct json_writer w;

        begin_events(s);
        for (int i = 0; i < 2; i++)
                if (s->tail_lens[i] > 0)
                        (void)send_piece(s, i, s->tails[i], s->tail_lens[i],
                                         s->tail_ends[i] - s->tail_lens[i]);
        json_init(&w, false);
        exec_view_write(&w, &s->view, s->is_base64);
        (void)send_event(s, "end", true, &w);
        json_fini(&w);
        exchange_end(s->x);
        end_session(s);
}

/* -- callbacks of the channel ------------------------------------------------------------------ */

static void
on_started(struct link_call *c, const struct channel_started *started)
{
        struct session *s = of(c);

        s->view.is_started = 1;
        s->view.started = *started;
        if (s->mode == MODE_STARTED)
                answer_view(s, 201);
        else if (s->mode == MODE_EVENTS)
                begin_events(s);
}

static void
on_failed(struct link_call *c, const struct wire_exec_failed *failed)
{
        struct session *s = of(c);
        struct error e;

        (void)start_error_read(&e, failed, s->name, s->cwd);
        fail_session(s, &e);
}

/*
 * A view that cannot hold the requested output is refused: the client can repeat the request
 * without losing output.
 */
static void
add_output(struct session *s, struct capture *c, const void *bytes, size_t len, uint64_t offset)
{
        struct error e;

        capture_add(c, bytes, len, offset);
        if (!c->is_refused)
                return;
        (void)crowd_too_much(CROWD_ANSWERS, &e);
        fail_session(s, &e);
}

static size_t
room_for_output(struct link_call *c)
{
        return exchange_burst(of(c)->x);
}

static void
on_output(struct link_call *c, int stream, const void *bytes, size_t len, uint64_t offset)
{
        struct session *s = of(c);
        size_t queued = 0;

        s->seen[stream - 1] = offset + len;
        if (s->mode == MODE_EVENTS)
                queued = s->is_base64 ? send_piece(s, stream - 1, bytes, len, offset)
                                      : tell_text(s, stream - 1, bytes, len, offset);
        else if (!is_raw(s))
                add_output(s, &s->view.streams[stream - 1], bytes, len, offset);
        else if (stream == s->stream)
                queued = exchange_write(s->x, bytes, len);
        if (queued > EXCHANGE_HIGH)
                link_call_pause(c);
}

static void
drained(struct exchange *x)
{
        link_call_resume(&((struct session *)x->state)->call);
}

static void
tell_end(struct session *s)
{
        if (s->mode == MODE_EVENTS) {
                end_events(s);
        } else if (is_raw(s)) {
                exchange_end(s->x);
                end_session(s);
        } else {
                answer_view(s, s->mode == MODE_STARTED ? 201 : 200);
        }
}

static void
refusals_told(struct link_call *c, const struct record *fields, bool is_last)
{
        (void)exec_view_keep(&of(c)->view, fields);
        tell_end(of(c));
}

/* Reports the end even if this call failed: the denials can still be read later. */
static void
refusals_unknown(struct link_call *c, const struct error *e)
{
        tell_end(of(c));
}

static int
ask_refusals(struct session *s)
{
        static const struct link_call_ops ops = { .reply = refusals_told,
                                                  .refused = refusals_unknown };
        struct record_writer w = ask_record();
        struct error e;

        s->call.ops = &ops;
        record_text(&w, FIELD_ID, s->id);
        record_uint(&w, FIELD_EXEC, s->view.started.exec);
        return ask_with(s->x, operation(OP_EXEC_GET), &w, &s->call, &e);
}

static void
on_end(struct link_call *c, const struct channel_end *end)
{
        struct session *s = of(c);

        s->view.is_ended = 1;
        s->view.end = *end;
        if (end->denied == 0 || is_raw(s) || ask_refusals(s) < 0)
                tell_end(s);
}

static void
fail_lost(struct session *s)
{
        struct error e;

        (void)fail_at(
                &e, ERROR_BACKEND_FAILED, NULL, "lost",
                "the sandbox ended, or its box broke off, before the command's end was known");
        fail_session(s, &e);
}

/*
 * A command that started reports exactly one end, also if its box was killed and its exact end is
 * unknown. A raw stream cannot carry an error: it is cut off.
 */
static void
on_cut(struct link_call *c, const struct channel_end *end)
{
        if (is_raw(of(c)))
                fail_lost(of(c));
        else
                on_end(c, end);
}

static void
on_lost(struct link_call *c)
{
        struct session *s = of(c);
        struct record fields = { s->view.reply, s->view.reply ? s->view.reply_len : 0 };
        struct error e;

        if (strcmp(record_get_text(&fields, FIELD_STATE, ""), "ended") == 0) {
                (void)fail_at(&e, ERROR_EXEC_NOT_FOUND, "exec", "forgotten",
                              "the command has ended, and what it printed is no longer kept");
                fail_session(s, &e);
        } else if (s->is_watcher) {
                fail_lost(s);
        } else {
                on_cut(c, &(struct channel_end){ .word = OUTCOME_LOST, .exit_code = -1 });
        }
}

/*
 * All received bytes were passed on. A snapshot is complete once it has as many bytes as were
 * printed at the time of the request.
 */
static void
on_quiet(struct link_call *c)
{
        struct session *s = of(c);

        if (!s->view.is_started || s->seen[0] < s->want[0] || s->seen[1] < s->want[1])
                return;
        if (s->mode == MODE_NOW) {
                answer_view(s, 200);
        } else if (s->mode == MODE_RAW_NOW) {
                exchange_end(s->x);
                end_session(s);
        }
}

/* -- the keeper's replies ---------------------------------------------------------------------- */

static void
on_refused(struct link_call *c, const struct error *e)
{
        fail_session(of(c), e);
}

static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        struct session *s = of(c);
        struct error e;

        s->want[0] = s->stream == 2 ? 0 : record_get_uint(fields, FIELD_STDOUT_BYTES, 0);
        s->want[1] = s->stream == 1 ? 0 : record_get_uint(fields, FIELD_STDERR_BYTES, 0);
        if (exec_view_keep(&s->view, fields) < 0) {
                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left to follow this command");
                fail_session(s, &e);
        } else if (is_raw(s)) {
                exchange_begin(s->x, 200, "application/octet-stream", -1);
        }
}

/* The same call, repeated after the end of its exec. */
static void
on_unopened(struct link_call *c, const struct record *fields)
{
        struct session *s = of(c);

        if (exec_view_keep(&s->view, fields) == 0) {
                answer_view(s, 200);
                return;
        }
        exchange_no_memory(s->x);
        end_session(s);
}

static void
tell_port(struct session *s, const char *event)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        json_member_int(&w, "exec", s->view.started.exec);
        if (s->view.port != 0)
                json_member_int(&w, "port", (int64_t)s->view.port);
        json_close_map(&w);
        if (!w.is_broken)
                (void)exchange_event(s->x, event, NULL, w.text, w.len);
        json_fini(&w);
}

/*
 * A declared port listens, or the wait for it has timed out: answers the waiting client, and the
 * command keeps running.
 */
static void
port_told(struct link_call *c, const struct record *fields)
{
        struct session *s = of(c);

        s->view.port = record_get_uint(fields, FIELD_PORT, 0);
        s->stays = 1;
        if (s->mode != MODE_EVENTS) {
                answer_view(s, 200);
                return;
        }
        begin_events(s);
        tell_port(s, s->view.port != 0 ? "port" : "port-timeout");
}

#define FOLLOWS                                                                                    \
        .reply = on_reply, .refused = on_refused, .unopened = on_unopened, .started = on_started,  \
        .failed = on_failed, .output = on_output, .ended = on_end, .cut = on_cut, .lost = on_lost, \
        .room = room_for_output

static const struct link_call_ops to_the_end = { FOLLOWS };
static const struct link_call_ops to_a_port = { FOLLOWS, .event = port_told };
static const struct link_call_ops what_is_there = { FOLLOWS, .quiet = on_quiet };

/* -- requests ---------------------------------------------------------------------------------- */

static const struct exchange_hooks hooks = { .gone = client_gone, .drained = drained };

static int
may_grow(void *of, size_t by)
{
        struct session *s = of;
        struct error e;

        if (exchange_keep(s->x, s->kept + by, &e) < 0)
                return -1;
        s->kept += by;
        return 0;
}

static struct session *
begin(struct exchange *x, int is_watcher)
{
        struct session *s = deferred_make(x->loop, struct session);

        if (!s) {
                exchange_no_memory(x);
                return NULL;
        }
        s->x = x;
        s->is_base64 = ask_base64(x);
        s->is_watcher = is_watcher;
        for (int i = 0; i < 2; i++)
                s->view.streams[i] = (struct capture){ .cap = CAPTURE_DEFAULT,
                                                       .may_grow = may_grow,
                                                       .of = s,
                                                       .is_strict = is_watcher };
        exchange_hold(x, &hooks, s);
        return s;
}

static void
take_cap(struct session *s, const struct record *call)
{
        uint64_t keep = record_get_uint(call, FIELD_KEEP_BYTES, CAPTURE_DEFAULT);

        s->view.streams[0].cap = s->view.streams[1].cap =
                keep < CAPTURE_MAX ? (size_t)keep : CAPTURE_MAX;
}

static int
read_call(struct session *s, const struct route *r, const struct operation *o,
          const char *const *names, struct record_writer *w, struct error *e)
{
        struct exchange *x = s->x;
        struct codec_call call = { .operation = o,
                                   .path = &r->path,
                                   .query = x->query,
                                   .query_names = names,
                                   .body = x->body,
                                   .body_len = x->body_len,
                                   .key = exchange_header(x, "idempotency-key") };
        struct arena arena;
        int result;

        arena_init(&arena, ASK_MEMORY);
        result = codec_read(&arena, &call, w, NULL, e);
        arena_fini(&arena);
        return result;
}

void
rest_exec(struct exchange *x, const struct route *r)
{
        static const char *const names[] = { "encoding", NULL };
        struct record_writer w = ask_record();
        struct session *s = begin(x, 0);
        struct record call;
        struct error e;

        if (!s)
                return;
        if (read_call(s, r, r->operation, names, &w, &e) < 0) {
                fail_session(s, &e);
                return;
        }
        call = (struct record){ w.bytes, w.len };
        (void)snprintf(s->id, sizeof s->id, "%s", record_get_text(&call, FIELD_ID, ""));
        (void)snprintf(
                s->name, sizeof s->name, "%.*s", NAME_ROOM - 1,
                record_get_text(&call, FIELD_ARGV, record_get_text(&call, FIELD_LANGUAGE, "")));
        (void)snprintf(s->cwd, sizeof s->cwd, "%.*s", CWD_ROOM - 1,
                       record_get_text(&call, FIELD_CWD, ""));
        s->stays = record_get_bool(&call, FIELD_BACKGROUND, 0);
        s->mode = exchange_accepts(x, "text/event-stream")                   ? MODE_EVENTS
                  : s->stays && !record_get_bool(&call, FIELD_WAIT_PORTS, 0) ? MODE_STARTED
                                                                             : MODE_WHOLE;
        s->call.ops = record_get_bool(&call, FIELD_WAIT_PORTS, 0) ? &to_a_port : &to_the_end;
        take_cap(s, &call);
        if (ask_with(x, r->operation, &w, &s->call, &e) < 0)
                fail_session(s, &e);
}

static int
read_output_mode(struct session *s, struct error *e)
{
        struct exchange *x = s->x;
        bool waits = false, follows = true;
        const char *stream;
        struct arena arena;

        if (codec_query_bool(x->query, "wait", &waits, e) < 0 ||
            codec_query_bool(x->query, "follow", &follows, e) < 0)
                return -1;
        s->mode = exchange_accepts(x, "text/event-stream") ? MODE_EVENTS
                  : waits                                  ? MODE_WHOLE
                                                           : MODE_NOW;
        if (s->mode == MODE_EVENTS || !exchange_accepts(x, "application/octet-stream"))
                return 0;
        s->mode = follows ? MODE_RAW : MODE_RAW_NOW;
        arena_init(&arena, 64 * 1024);
        stream = codec_query(&arena, x->query, "stream");
        s->stream = !stream || strcmp(stream, "stdout") == 0 ? 1
                    : strcmp(stream, "stderr") == 0          ? 2
                                                             : 0;
        arena_fini(&arena);
        if (s->stream == 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "stream", "value",
                               "stream is stdout or stderr");
        return 0;
}

/* Reads one of the two numbers of an event's id; advances `*at`. */
static bool
read_given(const char **at, uint64_t *ret)
{
        char *end;

        if (!isdigit((unsigned char)**at))
                return false;
        *ret = strtoull(*at, &end, 10);
        *at = end;
        return *ret <= NUMBER_EXACT_MAX;
}

/* Returns 1 if the client already has all events. */
static int
read_last_event(const char *id, uint64_t *ret, struct error *e)
{
        const char *at = id;

        if (read_given(&at, &ret[0]) && *at++ == '.' && read_given(&at, &ret[1]) &&
            (*at == '\0' || strcmp(at, LAST_OF_ALL) == 0))
                return *at != '\0';
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "Last-Event-ID", "value",
                      "%.60s is not the id of an event of this stream", id);
        return error_hint(e, "Send the `id:` of the last event that came, or leave the header out "
                             "and use stdout_offset and stderr_offset."),
               -1;
}

/* Sets the offset of one stream, whether or not the query has set one. */
static void
put_offset(struct record_writer *w, uint16_t tag, uint64_t value)
{
        struct record r = { w->bytes, w->len };
        struct record_entry entry;

        if (record_find(&r, tag, &entry) && entry.type == RECORD_UINT)
                memcpy(w->bytes + ((const unsigned char *)entry.value - w->bytes), &value,
                       sizeof value);
        else
                record_uint(w, tag, value);
}

/*
 * Resumes after the client's last event. Returns 1 if no events are left; that was answered with
 * 204.
 */
static int
go_on(struct session *s, struct record_writer *w, struct error *e)
{
        const char *id = s->mode == MODE_EVENTS ? exchange_header(s->x, "last-event-id") : NULL;
        uint64_t at[2];
        int has_all = id ? read_last_event(id, at, e) : 0;

        if (!id || has_all < 0)
                return has_all;
        put_offset(w, FIELD_STDOUT_OFFSET, at[0]);
        put_offset(w, FIELD_STDERR_OFFSET, at[1]);
        if (has_all) {
                exchange_answer(s->x, 204, NULL, NULL, 0);
                end_session(s);
        }
        return has_all;
}

void
rest_output(struct exchange *x, const struct route *r)
{
        static const char *const names[] = { "encoding", "wait", "stream", "follow", NULL };
        struct record_writer w = ask_record();
        struct session *s = begin(x, 1);
        struct record_entry other;
        struct record call;
        struct error e;
        int has_all;

        if (!s)
                return;
        if (read_output_mode(s, &e) < 0 || read_call(s, r, r->operation, names, &w, &e) < 0 ||
            (has_all = go_on(s, &w, &e)) < 0) {
                fail_session(s, &e);
                return;
        }
        if (has_all)
                return;
        call = (struct record){ w.bytes, w.len };
        (void)snprintf(s->id, sizeof s->id, "%s", record_get_text(&call, FIELD_ID, ""));
        if (s->stream != 0 &&
            record_find(&call, s->stream == 1 ? FIELD_STDERR_OFFSET : FIELD_STDOUT_OFFSET,
                        &other)) {
                (void)fail_at(&e, ERROR_INVALID_ARGUMENT,
                              s->stream == 1 ? "stderr_offset" : "stdout_offset", "stream",
                              "this answer holds the other stream");
                fail_session(s, &e);
                return;
        }
        s->view.streams[0].first = record_get_uint(&call, FIELD_STDOUT_OFFSET, 0);
        s->view.streams[1].first = record_get_uint(&call, FIELD_STDERR_OFFSET, 0);
        s->given[0] = s->view.streams[0].first;
        s->given[1] = s->view.streams[1].first;
        /* earlier bytes are not requested, so bytes before this offset are not waited for */
        s->seen[0] = s->view.streams[0].first;
        s->seen[1] = s->view.streams[1].first;
        s->call.ops = s->mode == MODE_NOW || s->mode == MODE_RAW_NOW ? &what_is_there : &to_the_end;
        take_cap(s, &call);
        /* no output of the other stream: its offset is beyond the end */
        if (s->stream != 0)
                record_uint(&w, s->stream == 1 ? FIELD_STDERR_OFFSET : FIELD_STDOUT_OFFSET,
                            NUMBER_EXACT_MAX);
        if (ask_with(x, r->operation, &w, &s->call, &e) < 0)
                fail_session(s, &e);
}
