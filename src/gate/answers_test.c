/*
 * gate/answers_test.c - finds the end of each answer, and never guesses.
 */
#include "gate/answers.h"

#include <string.h>

#include "base/unit.h"

enum { OVER, OWED, UNKNOWN };

static int
state_of(const struct answers *a)
{
        return a->is_unknown ? UNKNOWN : answers_are_over(a) ? OVER : OWED;
}

/* Like a connection: looks while nothing is ahead, and lets at most `most` bytes pass at once. */
static void
pass(struct answers *a, const char *text, size_t seen_max, size_t most)
{
        size_t len = strlen(text), at = 0;

        while (at < len) {
                size_t seen = len - at < seen_max ? len - at : seen_max,
                       go = seen < most ? seen : most;

                if (a->ahead == 0 && !a->is_unknown)
                        answers_look(a, text + at, seen);
                if (!a->is_unknown && go > a->ahead)
                        go = (size_t)a->ahead;
                if (!a->is_unknown)
                        answers_passed(a, go);
                at += go;
                assert_true(go > 0);
        }
}

#define PLAIN "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define CHUNKS "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
#define EMPTY "HTTP/1.1 204 No Content\r\n\r\n"
#define EARLY "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
#define LENGTH_ONLY "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

static const struct {
        const char *asked /* G: GET, H: HEAD */, *text;
        int state;
} cases[] = {
        { "G", PLAIN, OVER },
        { "G", CHUNKS, OVER },
        { "G", EMPTY, OVER },
        { "G", EARLY PLAIN, OVER },
        { "H", LENGTH_ONLY, OVER },
        { "G", LENGTH_ONLY, OWED },
        { "GG", PLAIN, OWED },
        { "GG", PLAIN CHUNKS, OVER },
        { "GHG", CHUNKS LENGTH_ONLY EMPTY, OVER },
        { "G", EARLY, OWED },
        { "G", "", OWED },
        { "G", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", OWED },
        { "G", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", OVER },
        { "G", PLAIN PLAIN, UNKNOWN } /* without a request */,
        { "G", "HTTP/1.0 200 OK\r\n\r\nuntil it ends", UNKNOWN },
        { "", "HTTP/1.1 408 Too Late\r\n\r\n", UNKNOWN },
        { "G", "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n", UNKNOWN },
        { "G", "HTTP/1.1 200 OK\r\nContent-Len", UNKNOWN },
        { "G", "SSH-2.0-x\r\n", UNKNOWN },
        { "G", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", UNKNOWN },
        { "G", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", UNKNOWN },
};

static void
ends_are_found(void **state)
{
        static const size_t sizes[] = { 1, 3, 7, 1000 };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                        struct answers a = { .is_unknown = false };

                        for (const char *at = cases[i].asked; *at; at++)
                                answers_asked(&a, *at == 'H');
                        pass(&a, cases[i].text, 1000, sizes[s]);
                        if (state_of(&a) != cases[i].state)
                                fail_msg("%s of %s, %zu at once: %d", cases[i].text, cases[i].asked,
                                         sizes[s], state_of(&a));
                }
}

static void
nothing_is_guessed(void **state)
{
        struct answers a = { .is_unknown = false };

        (void)state;
        answers_asked(&a, false);
        pass(&a, PLAIN, 20, 1000); /* its head was split */
        assert_int_equal(state_of(&a), UNKNOWN);
        a = (struct answers){ .is_unknown = false };
        for (int i = 0; i < ANSWERS_OWED_MAX; i++)
                answers_asked(&a, false);
        assert_int_equal(state_of(&a), OWED);
        answers_asked(&a, false);
        assert_int_equal(state_of(&a), UNKNOWN);
        a = (struct answers){ .is_unknown = false };
        answers_asked(&a, false);
        answers_look(&a, LENGTH_ONLY, strlen(LENGTH_ONLY));
        answers_passed(&a, strlen(LENGTH_ONLY) + 6); /* more than was ahead */
        assert_int_equal(state_of(&a), UNKNOWN);
}

/* Chunks may be split anywhere: only heads must be complete. */
static void
chunks_come_in_pieces(void **state)
{
        struct answers a = { .is_unknown = false };
        static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                          body[] = "5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n";

        (void)state;
        answers_asked(&a, false);
        pass(&a, head, 1000, 1000);
        for (const char *at = body; *at; at++) {
                const char one[2] = { *at, '\0' };

                assert_int_equal(state_of(&a), OWED);
                pass(&a, one, 1, 1);
        }
        assert_int_equal(state_of(&a), OVER);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = { cmocka_unit_test(ends_are_found),
                                                   cmocka_unit_test(nothing_is_guessed),
                                                   cmocka_unit_test(chunks_come_in_pieces) };

        return cmocka_run_group_tests_name("gate/answers", tests, NULL, NULL);
}
