/*
 * boxstate/wall_state_test.c - what boxstate/wall_state.h promises. The test holds the sockets of a
 * gate and of a pid 1.
 */
#include "base/unit.h"
#include "boxstate/wall_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct wall_state hold;
static struct wire_wall_listen asked;
static int ask_result;

static int
ask(void *data, const struct wire_wall_listen *wanted)
{
        (void)data;
        asked = *wanted;
        return ask_result;
}

static uint32_t
find_exec(void *data, const struct wire_wall_denied *d)
{
        (void)data;
        return d->cgroup == 77 && d->at_ms < 1000 ? 5 : 0;
}

static int
null_fd(void)
{
        return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static int
open_count(void)
{
        int count = 0;

        for (int fd = 3; fd < 512; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void
take(size_t low_ports)
{
        struct wall_listener listeners[2] = { { .port = 22 }, { .port = 25 } };
        struct wire_message m = { .kind = WIRE_WALL,
                                  .len = low_ports * sizeof *listeners,
                                  .fd_count = WALL_FIXED + low_ports };

        ask_result = 0;
        wall_state_init(&hold, ask, find_exec, NULL);
        for (size_t i = 0; i < m.fd_count; i++)
                m.fds[i] = null_fd();
        assert_int_equal(wall_state_take(&hold, &m, listeners), 0);
        assert_int_equal(m.fds[0], -1);
}

/* Links a gate, and returns its end; everything else that it received is checked and closed. */
static int
link_gate(size_t want_listeners)
{
        struct wall_listener listeners[WALL_STATE_LISTENERS_MAX];
        int fds[WALL_STATE_FDS_MAX + 1];
        size_t fd_count, count;

        assert_int_equal(wall_state_link(&hold, fds, &fd_count, listeners, &count), 0);
        assert_int_equal(count, want_listeners);
        assert_int_equal(fd_count, 1 + WALL_FIXED + want_listeners);
        return fds[0];
}

static uint16_t
receive(int gate, void *body, size_t room, struct wire_message *m)
{
        assert_int_equal(wire_receive(gate, 0, m, body, room), 1);
        return m->kind;
}

static void
expect_counted(int gate, uint64_t out, uint64_t in)
{
        struct wire_wall_counted counted;
        struct wire_message m;

        assert_int_equal(receive(gate, &counted, sizeof counted, &m), WIRE_WALL_COUNTED);
        assert_int_equal(counted.bytes_out, out);
        assert_int_equal(counted.bytes_in, in);
}

static void
expect_begin(int gate)
{
        struct wire_message m;
        char body[8];

        assert_int_equal(wall_state_hear(&hold), 0);
        expect_counted(gate, 0, 0);
        assert_int_equal(receive(gate, body, sizeof body, &m), WIRE_WALL_BEGIN);
}

static void
name(int gate, uint32_t index, const char *host, uint32_t is_retired)
{
        struct wire_wall_named n = { .index = index, .is_retired = is_retired };

        memcpy(n.host, host, strlen(host) + 1);
        assert_int_equal(wire_send(gate, WIRE_WALL_NAMED, &n, sizeof n, NULL, 0), 0);
        assert_int_equal(wall_state_hear(&hold), 0);
}

static void
a_new_gate_receives_everything(void **state)
{
        struct wire_message m;
        struct wire_wall_named n;
        int before = open_count(), gate, again;

        (void)state;
        take(1);
        gate = link_gate(1);
        expect_begin(gate);
        name(gate, 300, "a.example", 0);
        name(gate, 301, "b.example", 0);
        name(gate, 301, "", 1); /* how a gate reports that an index is no longer in use */
        close(gate);
        assert_int_equal(wall_state_hear(&hold), -1);
        assert_int_equal(hold.link, -1);
        again = link_gate(1);
        assert_int_equal(wall_state_hear(&hold), 0);
        assert_int_equal(receive(again, &n, sizeof n, &m), WIRE_WALL_NAMED);
        assert_int_equal(n.index, 300);
        assert_string_equal(n.host, "a.example");
        assert_int_equal(receive(again, &n, sizeof n, &m), WIRE_WALL_NAMED);
        assert_int_equal(n.index, 301);
        assert_string_equal(n.host, "b.example");
        assert_int_equal(n.is_retired, 1);
        expect_counted(again, 0, 0);
        assert_int_equal(receive(again, &n, sizeof n, &m), WIRE_WALL_BEGIN);
        close(again);
        wall_state_fini(&hold);
        assert_int_equal(open_count(), before);
}

/* More names than fit into a socket: each is sent when the gate has read enough. */
static void
many_names_wait_for_room(void **state)
{
        struct wire_message m;
        struct wire_wall_named n;
        int gate, result;
        uint32_t heard = 0;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        for (uint32_t i = 0; i < 3000; i++)
                name(gate, 300 + i, "x.example", 0);
        close(gate);
        assert_int_equal(wall_state_hear(&hold), -1);
        gate = link_gate(0);
        do {
                assert_int_equal(wall_state_hear(&hold), 0);
                while ((result = wire_receive(gate, 0, &m, &n, sizeof n)) == 1 &&
                       m.kind == WIRE_WALL_NAMED)
                        assert_int_equal(n.index, 300 + heard++);
        } while (result == -EAGAIN);
        assert_int_equal(m.kind, WIRE_WALL_COUNTED);
        assert_int_equal(heard, 3000);
        close(gate);
        wall_state_fini(&hold);
}

/* The next gate receives the last counters of the gate before it. */
static void
bytes_outlive_the_gate(void **state)
{
        struct wire_wall_counted counted = { 1 << 20, 7 };
        struct wire_message m;
        char body[8];
        int gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        assert_int_equal(wire_send(gate, WIRE_WALL_COUNTED, &counted, sizeof counted, NULL, 0), 0);
        counted.bytes_out = 5;
        assert_int_equal(wire_send(gate, WIRE_WALL_COUNTED, &counted, sizeof counted, NULL, 0), 0);
        close(gate);
        assert_int_equal(wall_state_hear(&hold), -1);
        gate = link_gate(0);
        assert_int_equal(wall_state_hear(&hold), 0);
        expect_counted(gate, 5, 7);
        assert_int_equal(receive(gate, body, sizeof body, &m), WIRE_WALL_BEGIN);
        close(gate);
        wall_state_fini(&hold);
}

static void
listen_as(int gate, uint32_t request)
{
        struct wire_wall_listen wanted = { .request = request, .index = 300, .port = 5432 };

        asked.request = 0;
        assert_int_equal(wire_send(gate, WIRE_WALL_LISTEN, &wanted, sizeof wanted, NULL, 0), 0);
        assert_int_equal(wall_state_hear(&hold), 0);
}

static void
pid_1_answers(int sys)
{
        struct wire_wall_listened got = { asked.request, sys };
        struct wire_message m = { .fd_count = 2, .fds = { null_fd(), null_fd() } };

        wall_state_listened(&hold, &m, &got);
        wire_message_close(&m);
}

static void
expect_listened(int gate, uint32_t request, int sys)
{
        struct wire_wall_listened got;
        struct wire_message m;

        assert_int_equal(receive(gate, &got, sizeof got, &m), WIRE_WALL_LISTENED);
        assert_int_equal(got.request, request);
        assert_int_equal(got.sys, sys);
        assert_int_equal(m.fd_count, sys == 0 ? 2 : 0);
        wire_message_close(&m);
}

static void
listeners_outlive_the_gate(void **state)
{
        int before = open_count(), gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        name(gate, 300, "db.example", 0);
        listen_as(gate, 9);
        assert_int_equal(asked.port, 5432);
        pid_1_answers(0);
        expect_listened(gate, 9, 0);
        listen_as(gate, 10); /* again: answered with the listeners that are already held */
        assert_int_equal(asked.request, 0);
        expect_listened(gate, 10, 0);
        close(gate);
        assert_int_equal(wall_state_hear(&hold), -1);
        gate = link_gate(2);
        close(gate);
        wall_state_fini(&hold);
        assert_int_equal(open_count(), before);
}

/*
 * The answer for a killed gate is kept. It is not sent to the next gate, whose request numbers are
 * the same.
 */
static void
an_answer_goes_to_the_gate_that_asked(void **state)
{
        struct wire_message m;
        char body[512];
        int gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        name(gate, 300, "db.example", 0);
        listen_as(gate, 9);
        close(gate);
        assert_int_equal(wall_state_hear(&hold), -1);
        gate = link_gate(0);
        assert_int_equal(wall_state_hear(&hold), 0);
        assert_int_equal(receive(gate, body, sizeof body, &m), WIRE_WALL_NAMED);
        expect_counted(gate, 0, 0);
        assert_int_equal(receive(gate, body, sizeof body, &m), WIRE_WALL_BEGIN);
        pid_1_answers(0);
        assert_int_equal(wire_receive(gate, 0, &m, body, sizeof body), -EAGAIN);
        listen_as(gate, 9);
        expect_listened(gate, 9, 0);
        close(gate);
        wall_state_fini(&hold);
}

/* A client asks for both address families at once. */
static void
one_answer_serves_all_questions(void **state)
{
        uint32_t first;
        int gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        name(gate, 300, "db.example", 0);
        listen_as(gate, 1);
        first = asked.request;
        listen_as(gate, 2);
        assert_int_equal(asked.request, 0);
        asked.request = first;
        pid_1_answers(0);
        for (int i = 0; i < 2; i++) {
                struct wire_wall_listened got;
                struct wire_message m;

                assert_int_equal(receive(gate, &got, sizeof got, &m), WIRE_WALL_LISTENED);
                assert_int_equal(got.sys, 0);
                assert_int_equal(m.fd_count, 2);
                wire_message_close(&m);
        }
        assert_int_equal(hold.pair_count, 1);
        close(gate);
        wall_state_fini(&hold);
}

static uint32_t heard_allowed;

static void
hear_allowed(void *data, const struct wire_wall_allowed *a)
{
        (void)data;
        heard_allowed += a->count;
}

/* Its last reports stand behind a question that can no longer be answered. */
static void
the_last_reports_of_a_gate_are_heard(void **state)
{
        const struct wire_wall_listen wanted = { 1, 300, 8443 };
        const struct wire_wall_allowed last = { .count = 7, .host = "a.example" };
        int gate;

        (void)state;
        take(0);
        hold.allowed = hear_allowed;
        heard_allowed = 0;
        ask_result = -ENFILE;
        gate = link_gate(0);
        assert_int_equal(wall_state_hear(&hold), 0);
        assert_int_equal(wire_send(gate, WIRE_WALL_LISTEN, &wanted, sizeof wanted, NULL, 0), 0);
        assert_int_equal(wire_send(gate, WIRE_WALL_ALLOWED, &last, sizeof last, NULL, 0), 0);
        close(gate);
        assert_int_equal(wall_state_hear(&hold), -1);
        assert_int_equal(heard_allowed, 7);
        wall_state_fini(&hold);
}

static void
a_refusal_is_passed_on(void **state)
{
        int gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        name(gate, 300, "db.example", 0);
        listen_as(gate, 4);
        pid_1_answers(EADDRINUSE);
        expect_listened(gate, 4, EADDRINUSE);
        ask_result = -EPIPE;
        listen_as(gate, 5);
        expect_listened(gate, 5, EPIPE);
        close(gate);
        wall_state_fini(&hold);
}

static void
a_retired_name_has_no_listeners(void **state)
{
        int gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        name(gate, 300, "db.example", 0);
        listen_as(gate, 9);
        pid_1_answers(0);
        expect_listened(gate, 9, 0);
        name(gate, 300, "db.example", 1);
        assert_int_equal(hold.pair_count, 0);
        close(gate);
        wall_state_fini(&hold);
}

static void
refuse(int gate, uint16_t port, uint32_t count)
{
        struct wire_wall_denied d = {
                .reason = 1, .count = count, .port = port, .cgroup = 77, .host = "evil.example"
        };

        assert_int_equal(wire_send(gate, WIRE_WALL_DENIED, &d, sizeof d, NULL, 0), 0);
        assert_int_equal(wall_state_hear(&hold), 0);
}

/*
 * The first and the last refusals are kept, in order. Repeated refusals of one host are one entry,
 * also with others between them. All are counted.
 */
static void
denials_are_kept_and_counted(void **state)
{
        uint64_t numbers = 0, last = 0;
        int gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        assert_int_equal(wall_state_denial_after(&hold, 0), 0);
        for (int i = 0; i < 3; i++) {
                refuse(gate, 443, 1);
                refuse(gate, 444, 2);
        }
        assert_int_equal(hold.denied, 2);
        assert_int_equal(wall_state_denial(&hold, 1)->d.count, 3);
        assert_int_equal(wall_state_denial(&hold, 2)->d.count, 6);
        assert_int_equal(wall_state_denial(&hold, 1)->exec, 5);
        for (int i = 0; i < 2 * WALL_STATE_DENIALS_MAX; i++)
                refuse(gate, (uint16_t)(1000 + i), 1);
        refuse(gate, 443, 1);
        assert_int_equal(hold.denied, 2 + 2 * WALL_STATE_DENIALS_MAX);
        assert_int_equal(wall_state_denial(&hold, 1)->d.count, 4);
        for (uint64_t n = wall_state_denial_after(&hold, 0); n != 0;
             n = wall_state_denial_after(&hold, n)) {
                assert_int_equal(wall_state_denial(&hold, n)->number, n);
                assert_int_equal(n, n <= WALL_STATE_DENIALS_FIRST ? last + 1
                                    : last < hold.denied - WALL_STATE_DENIALS_LAST
                                            ? hold.denied - WALL_STATE_DENIALS_LAST + 1
                                            : last + 1);
                last = n;
                numbers++;
        }
        assert_int_equal(numbers, WALL_STATE_DENIALS_MAX);
        assert_int_equal(last, hold.denied);
        assert_null(wall_state_denial(&hold, WALL_STATE_DENIALS_FIRST + 1));
        assert_null(wall_state_denial(&hold, hold.denied + 1));
        assert_null(wall_state_denial(&hold, 0));
        assert_int_equal(hold.refusals.total, 10 + 2 * WALL_STATE_DENIALS_MAX);
        assert_int_equal(refusals_count(refusals_find(&hold.refusals, 5)), hold.refusals.total);
        assert_int_equal(refusals_find(&hold.refusals, 5)->count, NUMBER_REFUSALS_LISTED);
        close(gate);
        wall_state_fini(&hold);
}

/*
 * The same refusal for two execs gives two entries. Refusals that the gate could not send are
 * counted, for no exec.
 */
static void
a_denial_belongs_to_one_exec(void **state)
{
        struct wire_wall_denied d = { .reason = 1,
                                      .count = 1,
                                      .port = 443,
                                      .cgroup = 77,
                                      .host = "evil.example",
                                      .at_ms = 999 };
        int gate;

        (void)state;
        take(0);
        gate = link_gate(0);
        expect_begin(gate);
        for (int i = 0; i < 4; i++) {
                d.cgroup = i % 2 == 0 ? 77 : 78;
                assert_int_equal(wire_send(gate, WIRE_WALL_DENIED, &d, sizeof d, NULL, 0), 0);
        }
        d.cgroup = 77;
        /* the group belongs to another exec now, and the test has no record of it */
        d.at_ms = 1000;
        d.untold = 40;
        assert_int_equal(wire_send(gate, WIRE_WALL_DENIED, &d, sizeof d, NULL, 0), 0);
        assert_int_equal(wall_state_hear(&hold), 0);
        assert_int_equal(hold.denied, 2);
        assert_int_equal(wall_state_denial(&hold, 1)->exec, 5);
        assert_int_equal(wall_state_denial(&hold, 1)->d.count, 2);
        assert_int_equal(wall_state_denial(&hold, 2)->exec, 0);
        assert_int_equal(wall_state_denial(&hold, 2)->d.count, 3);
        assert_int_equal(wall_state_denial(&hold, 2)->d.at_ms, 1000);
        assert_int_equal(refusals_find(&hold.refusals, 0)->more, 40);
        assert_int_equal(hold.refusals.total, 45);
        close(gate);
        wall_state_fini(&hold);
}

/* A gate that breaks the protocol loses its link, and nothing else is affected. */
static void
a_gate_is_not_believed(void **state)
{
        static const struct {
                uint16_t kind;
                size_t len;
        } rows[] = {
                { WIRE_WALL_NAMED, sizeof(struct wire_wall_named) }, /* index 0 */
                { WIRE_WALL_NAMED, 8 },
                { WIRE_WALL_LISTEN, 4 },
                { WIRE_WALL_DENIED, 12 },
                { WIRE_WALL_BEGIN, 0 },
                { WIRE_WALL_COUNTED, 8 },
                { WIRE_EXEC, 16 },
                { WIRE_WALL_DENIED,
                  sizeof(struct wire_wall_denied) }, /* names without a final NUL */
        };
        char body[1024];

        (void)state;
        memset(body, 'x', sizeof body);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                int gate;

                take(0);
                gate = link_gate(0);
                expect_begin(gate);
                assert_int_equal(wire_send(gate, rows[i].kind, body, rows[i].len, NULL, 0), 0);
                assert_int_equal(wall_state_hear(&hold), -1);
                assert_int_equal(hold.link, -1);
                close(gate);
                wall_state_fini(&hold);
        }
}

static void
take_routed(uint32_t stock)
{
        const struct wall_listener listeners[2] = { { .port = 22 }, { .index = stock } };
        struct wire_message m = { .kind = WIRE_WALL,
                                  .len = sizeof listeners,
                                  .fd_count = WALL_FIXED + 1 };

        ask_result = 0;
        wall_state_init(&hold, ask, find_exec, NULL);
        for (size_t i = 0; i < m.fd_count; i++)
                m.fds[i] = null_fd();
        assert_int_equal(wall_state_take(&hold, &m, listeners), 0);
}

static void
pid_1_answers_with(size_t fd_count)
{
        struct wire_wall_listened got = { asked.request, 0 };
        struct wire_message m = { .fd_count = fd_count,
                                  .fds = { null_fd(), fd_count > 1 ? null_fd() : -1 } };

        wall_state_listened(&hold, &m, &got);
        wire_message_close(&m);
}

static void
expect_fds(int gate, uint32_t request, int sys, size_t fd_count)
{
        struct wire_wall_listened got;
        struct wire_message m;

        assert_int_equal(receive(gate, &got, sizeof got, &m), WIRE_WALL_LISTENED);
        assert_int_equal(got.request, request);
        assert_int_equal(got.sys, sys);
        assert_int_equal(m.fd_count, fd_count);
        wire_message_close(&m);
}

/*
 * On a routed wall, a port has one listener for all names, and keeps it as long as the wall exists.
 */
static void
names_share_listeners_of_a_routed_wall(void **state)
{
        struct wire_wall_listen other = { .request = 2, .index = 301, .port = 5432 };
        int before = open_count(), gate;

        (void)state;
        take_routed(3);
        gate = link_gate(1);
        expect_begin(gate);
        assert_int_equal(wall_state_stock(&hold), 3);
        name(gate, 300, "db.example", 0);
        listen_as(gate, 1);
        assert_int_equal(asked.index, 0);
        assert_int_equal(asked.port, 5432);
        pid_1_answers_with(1);
        expect_fds(gate, 1, 0, 1);
        assert_int_equal(wall_state_stock(&hold), 2);
        asked.request = 0;
        assert_int_equal(wire_send(gate, WIRE_WALL_LISTEN, &other, sizeof other, NULL, 0), 0);
        assert_int_equal(wall_state_hear(&hold), 0);
        assert_int_equal(asked.request, 0);
        expect_fds(gate, 2, 0, 1);
        other.port = 5433;
        assert_int_equal(wire_send(gate, WIRE_WALL_LISTEN, &other, sizeof other, NULL, 0), 0);
        assert_int_equal(wall_state_hear(&hold), 0);
        pid_1_answers_with(2); /* two listeners are a wrong answer for a routed wall */
        expect_fds(gate, 2, EPROTO, 0);
        name(gate, 300, "", 1);
        assert_int_equal(wall_state_stock(&hold), 2);
        close(gate);
        assert_int_equal(wall_state_hear(&hold), -1);
        gate = link_gate(2);
        close(gate);
        wall_state_fini(&hold);
        assert_int_equal(open_count(), before);
}

static void
a_wall_comes_once_and_whole(void **state)
{
        struct wall_listener listeners[1] = { { .port = 22 } };
        struct wire_message m = { .len = sizeof listeners, .fd_count = WALL_FIXED };

        (void)state;
        wall_state_init(&hold, ask, NULL, NULL);
        assert_int_equal(wall_state_take(&hold, &m, listeners), -EPROTO);
        m.len = 3;
        assert_int_equal(wall_state_take(&hold, &m, listeners), -EPROTO);
        wall_state_fini(&hold);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_new_gate_receives_everything),
                cmocka_unit_test(many_names_wait_for_room),
                cmocka_unit_test(bytes_outlive_the_gate),
                cmocka_unit_test(listeners_outlive_the_gate),
                cmocka_unit_test(an_answer_goes_to_the_gate_that_asked),
                cmocka_unit_test(the_last_reports_of_a_gate_are_heard),
                cmocka_unit_test(a_refusal_is_passed_on),
                cmocka_unit_test(one_answer_serves_all_questions),
                cmocka_unit_test(a_retired_name_has_no_listeners),
                cmocka_unit_test(denials_are_kept_and_counted),
                cmocka_unit_test(a_denial_belongs_to_one_exec),
                cmocka_unit_test(names_share_listeners_of_a_routed_wall),
                cmocka_unit_test(a_gate_is_not_believed),
                cmocka_unit_test(a_wall_comes_once_and_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
