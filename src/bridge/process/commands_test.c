/*
 * bridge/process/commands_test.c - input of commands: what is read, and when it is not watched.
 */
#include "bridge/process/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/unit.h"
#include "wire/file.h"

enum { PART = 64 * 1024, REST = 10, ROUNDS = 64 };

void
relay_say_box(struct relay *r, uint16_t kind, const void *body, size_t len)
{
        (void)r, (void)kind, (void)body, (void)len;
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

/* A relay with a sandbox, and one command in it. */
static void
begin(struct rig *g, const char *word, uint32_t flags)
{
        static const struct provider_news news = { heard, broke };
        struct {
                struct wire_exec head;
                char strings[16];
        } order = { .head = { .exec = 1, .flags = flags, .argc = 1 } };
        struct wire_message m = { .fd_count = 1 + RELAY_STREAMS };
        struct provider_process process = { 0 };
        struct error e;
        int pair[2];

        *g = (struct rig){ .relay = { .state = RELAY_READY } };
        assert_int_equal(loop_new(&g->relay.loop), 0);
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        process.to = pair[1];
        g->messages = pair[0];
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        process.from = pair[0];
        g->unused[0] = pair[1];
        assert_int_equal(provider_open(&g->relay.provider, g->relay.loop, &news, &process, &e), 0);
        g->relay.provider.session.abilities = 1u << BRIDGE_CAN_STDIN | 1u << BRIDGE_CAN_FILES;
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        m.fds[0] = pair[0];
        g->input = pair[1];
        for (int i = 0; i < RELAY_STREAMS; i++) {
                assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
                g->unused[1 + i] = pair[0];
                m.fds[1 + i] = pair[1];
        }
        memcpy(order.strings, word, strlen(word));
        order.strings[strlen(word) + 1] = '/';
        order.head.strings_len = (uint32_t)strlen(word) + 3;
        task_new(&g->relay, &order, sizeof order.head + order.head.strings_len, &m);
        assert_non_null(g->relay.tasks);
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
        begin(&g, "cat", 0);
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
        begin(&g, "write", WIRE_EXEC_BUILTIN);
        assert_int_equal(write(g.input, &head, sizeof head), sizeof head);
        assert_int_equal(write(g.input, "a", 1), 1);
        fill(&g);
        assert_int_equal(loop_poll(g.relay.loop), 0);
        finish(&g);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(input_without_credit),
                cmocka_unit_test(file_without_answer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
