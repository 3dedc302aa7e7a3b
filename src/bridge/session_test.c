/*
 * bridge/session_test.c - which message may come next, as a table of sequences.
 */
#include "bridge/session.h"

#include <string.h>

#include "base/unit.h"

/* A word a message: h hello, v hello of another version, r reply, e error, s started, o output,
 * O more output than the credit, x exited, c credit. The number after it is the request. */
static void
read_word(const char *word, struct bridge_message *m)
{
        static const struct {
                char letter;
                enum bridge_kind kind;
        } kinds[] = {
                { 'h', BRIDGE_HELLO },  { 'v', BRIDGE_HELLO },   { 'r', BRIDGE_REPLY },
                { 'e', BRIDGE_ERROR },  { 's', BRIDGE_STARTED }, { 'o', BRIDGE_OUTPUT },
                { 'O', BRIDGE_OUTPUT }, { 'x', BRIDGE_EXITED },  { 'c', BRIDGE_CREDIT_GIVEN }
        };

        *m = (struct bridge_message){ .id = word[1] > ' ' ? (uint32_t)(word[1] - '0') : 0,
                                      .protocol = word[0] == 'v' ? 2 : 1,
                                      .name = "x",
                                      .len = word[0] == 'O' ? BRIDGE_CREDIT + 1 : 1,
                                      .bytes = 1 };
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if (kinds[i].letter == word[0])
                        m->kind = kinds[i].kind;
}

/* Request 1 is a command, 2 is not. */
static const char *
play(const char *words)
{
        static struct bridge_session s;
        static struct error e;
        unsigned is_end;

        bridge_session_init(&s);
        (void)bridge_session_open(&s, 1);
        (void)bridge_session_open(&s, 0);
        for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
                struct bridge_message m;

                read_word(at, &m);
                at += strcspn(at, " ");
                if (bridge_session_take(&s, &m, &is_end, &e) < 0)
                        return e.reason;
        }
        return "";
}

static void
each_sequence_is_judged(void **state)
{
        static const struct {
                const char *words, *reason;
        } cases[] = {
                { "h s1 o1 x1 r2", "" },
                { "h s1 e1", "" },
                { "h e1 e2", "" },
                { "h s1 c1 x1 c1", "" },
                { "s1", "no_greeting" },
                { "v", "version" },
                { "h h", "greeted_twice" },
                { "h s1 x1 x1", "answered_twice" },
                { "h s1 x1 o1", "answered_twice" },
                { "h r2 e2", "answered_twice" },
                { "h r3", "unasked" },
                { "h o1", "order" },
                { "h x1", "order" },
                { "h s1 s1", "order" },
                { "h r1", "order" },
                { "h s2", "order" },
                { "h x2", "order" },
                { "h s1 O1", "flood" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (strcmp(play(cases[i].words), cases[i].reason) != 0)
                        fail_msg("%s: %s", cases[i].words, play(cases[i].words));
}

static void
requests_have_a_bound(void **state)
{
        static struct bridge_session s;

        (void)state;
        bridge_session_init(&s);
        for (uint32_t i = 1; i <= BRIDGE_REQUESTS_MAX; i++)
                assert_int_equal(bridge_session_open(&s, 1), i);
        assert_int_equal(bridge_session_open(&s, 1), 0);
        s.requests[3].id = 0;
        assert_int_equal(bridge_session_open(&s, 1), BRIDGE_REQUESTS_MAX + 1);
}

static void
a_promise_that_is_not_kept_is_named(void **state)
{
        struct bridge_session s = { .abilities = 1u << BRIDGE_CAN_STDIN };

        (void)state;
        assert_int_equal(bridge_session_lacks(&s, 1u << BRIDGE_CAN_STDIN), BRIDGE_ABILITIES);
        assert_int_equal(bridge_session_lacks(&s, 1u << BRIDGE_CAN_STDIN | 1u << BRIDGE_CAN_EGRESS),
                         BRIDGE_CAN_EGRESS);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_sequence_is_judged),
                cmocka_unit_test(requests_have_a_bound),
                cmocka_unit_test(a_promise_that_is_not_kept_is_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
