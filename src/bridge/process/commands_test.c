/*
 * bridge/process/commands_test.c - input of commands: what is read, and when it is not watched; and
 * commands of a paused sandbox.
 */
#include "bridge/process/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/unit.h"
#include "wire/file.h"

enum { PART = 64 * 1024, REST = 10, ROUNDS = 64 };

static uint16_t told; /* the last message to the box */

void
relay_say_box(struct relay *r, uint16_t kind, const void *body, size_t len)
{
        (void)r, (void)body, (void)len;
        told = kind;
}

static void
heard(struct provider *p, const struct bridge_message *m, unsigned is_end)
{
        (void)p, (void)m, (void)is_end;
}

static void
broke(struct provider *p, const struct error *why)
{
        (void)p;
        fail_msg("%s", why->message);
}

struct rig {
        struct relay relay;
        int input;    /* the caller's end */
        int messages; /* what the program reads */
        int unused[1 + RELAY_STREAMS];
};

/* An order of the box. */
static void
order(struct rig *g, const char *word, uint32_t flags)
{
        struct {
                struct wire_exec head;
                char strings[16];
        } ask = { .head = { .exec = 1, .flags = flags, .argc = 1 } };
        struct wire_message m = { .fd_count = 1 + RELAY_STREAMS };
        int pair[2];

        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        m.fds[0] = pair[0];
        g->input = pair[1];
        for (int i = 0; i < RELAY_STREAMS; i++) {
                assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
                g->unused[1 + i] = pair[0];
                m.fds[1 + i] = pair[1];
        }
        memcpy(ask.strings, word, strlen(word));
        ask.strings[strlen(word) + 1] = '/';
        ask.head.strings_len = (uint32_t)strlen(word) + 3;
        task_new(&g->relay, &ask, sizeof ask.head + ask.head.strings_len, &m);
}

/* A relay with a sandbox. */
static void
begin(struct rig *g)
{
        static const struct provider_news news = { heard, broke };
        struct provider_process process = { 0 };
        struct error e;
        int pair[2];

        *g = (struct rig){ .relay = { .state = RELAY_READY, .patience.due_ms = LOOP_NEVER },
                           .unused = { -1, -1, -1 } };
        assert_int_equal(loop_new(&g->relay.loop), 0);
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        process.to = pair[1];
        g->messages = pair[0];
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        process.from = pair[0];
        g->unused[0] = pair[1];
        assert_int_equal(provider_open(&g->relay.provider, g->relay.loop, &news, &process, &e), 0);
        g->relay.provider.session.abilities =
                1u << BRIDGE_CAN_STDIN | 1u << BRIDGE_CAN_FILES | 1u << BRIDGE_CAN_PAUSE;
}

static void
finish(struct rig *g)
{
        task_fail_all(&g->relay, ECANCELED, NULL);
        g->relay.provider.process.pid = 0;
        loop_watch_remove(&g->relay.provider.output);
        loop_watch_remove(&g->relay.provider.input);
        (void)close(g->relay.provider.process.to);
        (void)close(g->relay.provider.process.from);
        bytes_fini(&g->relay.provider.queue);
        bytes_fini(&g->relay.provider.lines);
        (void)close(g->messages);
        for (size_t i = 0; i < sizeof g->unused / sizeof *g->unused; i++)
                (void)close(g->unused[i]);
        loop_free(g->relay.loop);
}

/* All that is read without an answer; then the caller leaves, with some of it in the pipe. */
static void
fill(struct rig *g)
{
        static const char bytes[PART];

        for (int i = 0; i < ROUNDS; i++) {
                (void)!write(g->input, bytes, sizeof bytes);
                (void)loop_poll(g->relay.loop);
        }
        (void)!write(g->input, bytes, REST);
        (void)close(g->input);
}

/* What was sent since the last call ends so. */
static void
expect_last(struct rig *g, const char *kind)
{
        static char text[PART + 1];
        ssize_t got, len = 0;

        for (int i = 0; i < ROUNDS; i++) {
                while ((got = read(g->messages, text, PART)) > 0)
                        len = got;
                (void)loop_poll(g->relay.loop);
        }
        text[len] = '\0';
        assert_non_null(strstr(text, kind));
}

static void
input_without_credit(void **state)
{
        struct bridge_message more = { .kind = BRIDGE_CREDIT_GIVEN };
        struct bridge_request *request;
        struct rig g;

        (void)state;
        begin(&g);
        order(&g, "cat", 0);
        request = bridge_session_find(&g.relay.provider.session, g.relay.tasks->id);
        assert_non_null(request);
        fill(&g);
        assert_int_equal(request->input, 0);
        assert_int_equal(loop_poll(g.relay.loop), 0); /* nothing wakes it until there is credit */
        more.id = request->id;
        request->input = (uint64_t)PART * 2;
        task_heard(&g.relay, &more);
        expect_last(&g, "stdinEnd"); /* and then it reads to the end */
        assert_int_equal(g.relay.tasks->input, -1);
        finish(&g);
}

static void
file_without_answer(void **state)
{
        struct file_put head = { .len = 1u << 30, .path_len = 1 };
        struct rig g;

        (void)state;
        begin(&g);
        order(&g, "write", WIRE_EXEC_BUILTIN);
        assert_int_equal(write(g.input, &head, sizeof head), sizeof head);
        assert_int_equal(write(g.input, "a", 1), 1);
        fill(&g);
        assert_int_equal(loop_poll(g.relay.loop), 0);
        finish(&g);
}

/* The program answers a request for a pause, or the end of one. */
static void
hear_reply(struct rig *g)
{
        struct bridge_message m = { .kind = BRIDGE_REPLY, .id = g->relay.pause.asked };
        struct error e;
        unsigned is_end;

        assert_int_equal(bridge_session_take(&g->relay.provider.session, &m, &is_end, &e), 0);
        assert_int_equal(pause_heard(&g->relay, &m, is_end), 1);
}

/* Each request of a pause has its time, and an answer ends it. */
static void
pause_has_a_time(void **state)
{
        struct rig g;

        (void)state;
        begin(&g);
        g.relay.provider.session.has_greeted = 1;
        for (unsigned is_wanted = 2; is_wanted-- > 0;) {
                pause_want(&g.relay, is_wanted);
                assert_true(g.relay.patience.due_ms < LOOP_NEVER);
                hear_reply(&g);
                assert_int_equal(g.relay.patience.index, 0);
                assert_int_equal(g.relay.pause.is_paused, is_wanted);
        }
        finish(&g);
}

/* The program has as many requests as it may: a command does not wait for what is not sent. */
static void
paused_without_a_request(void **state)
{
        struct rig g;

        (void)state;
        begin(&g);
        g.relay.pause.is_paused = 1;
        while (bridge_session_open(&g.relay.provider.session, 1) != 0)
                continue;
        order(&g, "cat", 0);
        assert_null(g.relay.tasks);
        assert_int_equal(told, WIRE_EXEC_FAILED);
        (void)close(g.input);
        finish(&g);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(input_without_credit),
                cmocka_unit_test(file_without_answer),
                cmocka_unit_test(pause_has_a_time),
                cmocka_unit_test(paused_without_a_request),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
