/*
 * gate/flow_test.c - bytes arrive as sent, ends are passed on, and bytes that may not pass are
 * refused.
 */
#include "gate/flow.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unit.h"
#include "gate/gate.h"
#include "gate/wall.h"

enum { BLOCK = 4096, BLOCKS = 1000, REQUESTS = 200, A_TURN = 3 * 1024 /* judged bytes */ };

static struct gate the_gate;
static struct wall the_wall;
static struct flow flow;
static int sender, receiver;

/* Two connected TCP sockets, because splice(2) is used for those. */
static void
connect_pair(int ret[2])
{
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof at;
        int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(l, (struct sockaddr *)&at, sizeof at) | listen(l, 1) |
                                 getsockname(l, (struct sockaddr *)&at, &len),
                         0);
        ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(ret[0], (struct sockaddr *)&at, sizeof at), 0);
        ret[1] = accept(l, NULL, NULL);
        assert_true(ret[1] >= 0);
        (void)close(l);
}

static int
begin(void **state)
{
        int in[2], out[2];

        (void)state;
        connect_pair(in);
        connect_pair(out);
        memset(&the_wall, 0, sizeof the_wall);
        memset(&the_gate, 0, sizeof the_gate);
        the_gate.pipes.max = 8;
        the_gate.held = (struct fair_share_pool){ .max = GATE_HELD_MAX, .common_percent = 50 };
        fair_share_join(&the_gate.held, &the_wall.held);
        the_wall.gate = &the_gate;
        the_wall.turn.left = INT64_MAX; /* no limit */
        assert_int_equal(fcntl(in[1], F_SETFL, O_NONBLOCK) | fcntl(out[0], F_SETFL, O_NONBLOCK), 0);
        sender = in[0];
        receiver = out[1];
        flow = (struct flow){ .wall = &the_wall,
                              .from = in[1],
                              .to = out[0],
                              .is_out = true,
                              .from_ready = true,
                              .to_ready = true };
        return 0;
}

static int
finish(void **state)
{
        (void)state;
        (void)close(flow.from);
        (void)close(flow.to);
        (void)close(sender);
        (void)close(receiver);
        flow_fini(&flow);
        pipes_fini(&the_gate.pipes);
        assert_int_equal(the_gate.pipes.count, 0);
        return 0;
}

/* Sets the flags that epoll would report now. */
static enum flow_state
pump(void)
{
        flow.from_ready = flow.to_ready = true;
        return flow_pump(&flow);
}

static void
send_text(const char *text)
{
        assert_int_equal(send(sender, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void
expect_text(const char *text)
{
        char got[256] = "";
        ssize_t len = recv(receiver, got, sizeof got - 1, MSG_DONTWAIT);

        assert_int_equal(len, strlen(text));
        assert_string_equal(got, text);
}

static void
what_is_held_goes_first(void **state)
{
        (void)state;
        assert_true(held_make_room(&flow));
        memcpy(flow.hold.bytes, "first ", 6);
        flow.hold.len = flow.hold.judged = 6;
        send_text("second");
        assert_int_equal(pump(), FLOW_WAITS);
        expect_text("first second");
        assert_null(flow.hold.bytes);
        assert_int_equal(the_wall.counted.out, 12);
}

static void
bytes_before_an_end_arrive_with_it(void **state)
{
        (void)state;
        send_text("last words");
        assert_int_equal(shutdown(sender, SHUT_WR), 0);
        flow.from_ends = true;
        assert_int_equal(pump(), FLOW_OVER);
        expect_text("last words");
        expect_text(""); /* the end */
}

/* If both sockets are closed next, the close signals the end. */
static void
the_last_end_is_left_to_closing(void **state)
{
        char byte;

        (void)state;
        send_text("x");
        assert_int_equal(shutdown(sender, SHUT_WR), 0);
        flow.is_last = true;
        assert_int_equal(pump(), FLOW_OVER);
        expect_text("x");
        assert_int_equal(recv(receiver, &byte, 1, MSG_DONTWAIT), -1);
        assert_int_equal(close(flow.to), 0);
        flow.to = -1;
        expect_text("");
}

/* Bytes that entered the pipe before the bandwidth was used up still pass. */
static void
what_lies_in_a_pipe_was_allowed(void **state)
{
        (void)state;
        send_text("words");
        flow.from_ready = true;
        flow.to_ready = false;
        flow.pipe = pipes_take(&the_gate.pipes);
        assert_non_null(flow.pipe);
        assert_int_equal(flow_pump(&flow), FLOW_WAITS);
        assert_int_equal(flow.piped, 5);
        the_wall.caps.bytes_per_second = 1;
        the_wall.out = (struct bucket){ .tokens = 0, .at_ms = loop_now_ms() };
        assert_int_equal(pump(), FLOW_LATER);
        expect_text("words");
}

static void
an_idle_flow_holds_no_pipe(void **state)
{
        (void)state;
        send_text("x");
        assert_int_equal(pump(), FLOW_WAITS);
        assert_null(flow.pipe);
        assert_int_equal(the_gate.pipes.count, the_gate.pipes.spare_count);
}

static void
an_end_is_passed_on_after_the_bytes(void **state)
{
        char byte;

        (void)state;
        send_text("last");
        (void)shutdown(sender, SHUT_WR);
        assert_int_equal(pump(), FLOW_OVER);
        expect_text("last");
        assert_int_equal(recv(receiver, &byte, 1, 0), 0);
        assert_int_equal(pump(), FLOW_OVER);
}

/* Sends as many blocks as fit, pumps, and reads now and then. Everything arrives in order. */
static void
carry_all(void)
{
        char block[BLOCK], got[BLOCK];
        size_t sent = 0, received = 0, total = (size_t)BLOCK * BLOCKS;

        while (received < total) {
                ssize_t n;

                for (size_t i = 0; i < sizeof block; i++)
                        block[i] = (char)((sent + i) % 251);
                n = sent < total ? send(sender, block,
                                        total - sent < sizeof block ? total - sent : sizeof block,
                                        MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : -1;
                sent += n > 0 ? (size_t)n : 0;
                assert_in_range(pump(), FLOW_WAITS, FLOW_AGAIN);
                if (n > 0 && sent < total && sent % (64 * BLOCK) != 0)
                        continue; /* a slow reader */
                while ((n = recv(receiver, got, sizeof got, MSG_DONTWAIT)) > 0)
                        for (ssize_t i = 0; i < n; i++)
                                assert_int_equal(got[i], (char)(received++ % 251));
        }
        assert_int_equal(the_wall.counted.out, total);
}

static void
a_slow_reader_loses_nothing(void **state)
{
        (void)state;
        carry_all();
}

static void
without_a_pipe_bytes_are_copied(void **state)
{
        (void)state;
        the_gate.pipes.max = 0;
        carry_all();
        assert_null(flow.pipe);
}

static void
the_cap_on_bytes_ends_it(void **state)
{
        (void)state;
        the_wall.caps.bytes_out = 3;
        send_text("four");
        assert_int_equal(pump(), FLOW_REFUSED);
        assert_int_equal(flow.reason, DENIAL_BYTES);
}

static int asked;

static void
note_question(struct quota *q, const struct wire_gate_quota_ask *ask)
{
        asked++;
}

/* Gives the wall so many bytes of the day; 0: none until the day ends. */
static void
permit(uint64_t bytes)
{
        const struct wire_gate_quota m = { .number = 1, .bytes = bytes, .until_ms = LOOP_NEVER };

        assert_int_equal(quota_hear(&the_wall.quota, &m), 0);
}

static void
send_within_the_day(void)
{
        struct loop *loop;

        asked = 0;
        assert_int_equal(loop_new(&loop), 0);
        quota_begin(&the_wall.quota, loop, note_question);
        quota_need(&the_wall.quota, true);
        send_text("1234567890");
        assert_int_equal(pump(), FLOW_LATER);
        assert_true(asked == 1 && the_wall.counted.out == 0);
        permit(4);
        assert_int_equal(pump(), FLOW_LATER);
        expect_text("1234");
        assert_true(asked == 2 && the_wall.counted.out == 4);
        permit(3);
        assert_int_equal(pump(), FLOW_LATER);
        expect_text("567");
        permit(0);
        assert_int_equal(pump(), FLOW_REFUSED);
        assert_true(flow.reason == DENIAL_DAY_BYTES && the_wall.counted.out == 7);
        /* what comes back is of no wall's day, and a flow that has nothing to send is closed too */
        flow.is_out = false;
        assert_int_equal(pump(), FLOW_WAITS);
        expect_text("890");
        flow.is_out = true;
        assert_int_equal(pump(), FLOW_REFUSED);
        quota_end(&the_wall.quota);
        loop_free(loop);
}

static void
no_byte_passes_beyond_the_day(void **state)
{
        (void)state;
        send_within_the_day();
}

static void
nor_does_one_without_a_pipe(void **state)
{
        (void)state;
        the_gate.pipes.max = 0;
        send_within_the_day();
}

static void
held_bytes_are_of_the_day_too(void **state)
{
        struct loop *loop;

        (void)state;
        asked = 0;
        assert_int_equal(loop_new(&loop), 0);
        quota_begin(&the_wall.quota, loop, note_question);
        quota_need(&the_wall.quota, true);
        assert_true(held_make_room(&flow));
        memcpy(flow.hold.bytes, "greeting", 8);
        flow.hold.len = flow.hold.judged = 8;
        assert_int_equal(pump(), FLOW_LATER);
        permit(5);
        assert_int_equal(pump(), FLOW_LATER);
        expect_text("greet");
        permit(0);
        assert_int_equal(flow_send_rest(&flow), FLOW_BROKEN);
        assert_int_equal(pump(), FLOW_REFUSED);
        assert_int_equal(the_wall.counted.out, 5);
        quota_end(&the_wall.quota);
        loop_free(loop);
}

static void
what_waits_in_a_pipe_is_of_the_day_too(void **state)
{
        static char block[BLOCK];
        enum flow_state now = FLOW_LATER;
        struct loop *loop;
        uint64_t passed;

        (void)state;
        assert_int_equal(loop_new(&loop), 0);
        quota_begin(&the_wall.quota, loop, note_question);
        quota_need(&the_wall.quota, true);
        assert_int_equal(quota_room(&the_wall.quota, 1), 0);
        permit(UINT64_MAX / 2);
        while (flow.piped == 0 || now != FLOW_WAITS) { /* until the receiver is full */
                (void)send(sender, block, sizeof block, MSG_NOSIGNAL | MSG_DONTWAIT);
                now = pump();
        }
        /* another connection of the wall sends the rest */
        quota_take(&the_wall.quota, UINT64_MAX / 2);
        passed = the_wall.counted.out;
        while (recv(receiver, block, sizeof block, MSG_DONTWAIT) > 0)
                continue;
        assert_int_equal(pump(), FLOW_LATER);
        assert_true(flow.piped > 0 && the_wall.counted.out == passed);
        quota_end(&the_wall.quota);
        loop_free(loop);
}

static void
a_used_up_bandwidth_waits(void **state)
{
        (void)state;
        the_wall.caps.bytes_per_second = 1;
        the_wall.out = (struct bucket){ .tokens = 0, .at_ms = loop_now_ms() };
        send_text("12345678");
        assert_int_equal(pump(), FLOW_LATER);
        assert_int_equal(the_wall.counted.out, 0);
        the_wall.out.tokens = 8;
        assert_int_equal(pump(), FLOW_LATER); /* does not even check for more bytes */
        expect_text("12345678");
}

static void
a_reset_is_passed_on(void **state)
{
        struct linger at_once = { 1, 0 };

        (void)state;
        (void)setsockopt(sender, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        (void)close(sender);
        sender = dup(receiver);
        assert_int_equal(pump(), FLOW_BROKEN);
}

static void
a_held_greeting_is_bounded(void **state)
{
        (void)state;
        while (held_make_room(&flow))
                flow.hold.len = flow.hold.room;
        assert_int_equal(flow.hold.room, JUDGE_HOLD_MAX);
}

/*
 * Many small requests cost much to judge: each turn judges some. No byte is lost or passed early,
 * and neither is the end.
 */
static void
many_requests_take_many_turns(void **state)
{
        static const struct egress_host host = { "api.test" };
        static const char list[] = "api.test", get[] = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n";
        struct policy *p = policy_new(list, sizeof list, 1, 0, 1);
        uint64_t got = 0, before = 0;
        char bytes[sizeof get - 1];

        (void)state;
        assert_non_null(p);
        flow.judge = judge_new(p, &host, 80, PROTOCOL_HTTP1);
        assert_non_null(flow.judge);
        for (size_t i = 0; i < REQUESTS; i++)
                send_text(get);
        assert_int_equal(shutdown(sender, SHUT_WR), 0);
        flow.from_ends = true;
        for (the_wall.turn.left = 0; pump() != FLOW_OVER; before = the_wall.counted.out)
                assert_in_range(the_wall.counted.out, before, before + A_TURN);
        while (recv(receiver, bytes, sizeof bytes, MSG_DONTWAIT | MSG_WAITALL) > 0) {
                assert_memory_equal(bytes, get, sizeof bytes);
                got++;
        }
        assert_int_equal(got, REQUESTS);
        policy_unref(p);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_is_held_goes_first, begin, finish),
                cmocka_unit_test_setup_teardown(bytes_before_an_end_arrive_with_it, begin, finish),
                cmocka_unit_test_setup_teardown(the_last_end_is_left_to_closing, begin, finish),
                cmocka_unit_test_setup_teardown(what_lies_in_a_pipe_was_allowed, begin, finish),
                cmocka_unit_test_setup_teardown(an_idle_flow_holds_no_pipe, begin, finish),
                cmocka_unit_test_setup_teardown(an_end_is_passed_on_after_the_bytes, begin, finish),
                cmocka_unit_test_setup_teardown(a_slow_reader_loses_nothing, begin, finish),
                cmocka_unit_test_setup_teardown(without_a_pipe_bytes_are_copied, begin, finish),
                cmocka_unit_test_setup_teardown(the_cap_on_bytes_ends_it, begin, finish),
                cmocka_unit_test_setup_teardown(no_byte_passes_beyond_the_day, begin, finish),
                cmocka_unit_test_setup_teardown(nor_does_one_without_a_pipe, begin, finish),
                cmocka_unit_test_setup_teardown(what_waits_in_a_pipe_is_of_the_day_too, begin,
                                                finish),
                cmocka_unit_test_setup_teardown(held_bytes_are_of_the_day_too, begin, finish),
                cmocka_unit_test_setup_teardown(a_used_up_bandwidth_waits, begin, finish),
                cmocka_unit_test_setup_teardown(a_reset_is_passed_on, begin, finish),
                cmocka_unit_test_setup_teardown(a_held_greeting_is_bounded, begin, finish),
                cmocka_unit_test_setup_teardown(many_requests_take_many_turns, begin, finish),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
