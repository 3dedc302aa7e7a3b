/*
 * egress/transcript_test.c - reads what servers answered.
 */
#include "egress/transcript.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/unit.h"

#define DIGEST "abcdefghijklmnopabcdefghijklmnopabcdefghijklmnopabcdefghijklmnop"
#define FIRST TRANSCRIPT_FIRST_LINE

static struct arena arena;

static int
read_text(const char *text, struct transcript *ret)
{
        arena_fini(&arena);
        arena_init(&arena, TRANSCRIPT_ARENA_MAX);
        return transcript_read(&arena, text, strlen(text), ret);
}

static void
turns_are_read_in_order(void **state)
{
        static const char text[] = FIRST
                "open 1 db.test 5432\nfailed 2 gone.test 80 unresolved\nopen 3 db.test 5432\n"
                "got 1 7\nhello\n\n\nsent 3 5 " DIGEST "\nsent 1 12 " DIGEST "\ngot 1 4\nopen\n"
                "over 1 client\nover 1 server\nclose 1\nstop tls a.test 443\nstop ssh - 0\nend\n";
        const struct transcript_item *i;
        struct transcript t;

        (void)state;
        assert_int_equal(read_text(text, &t), 0);
        assert_int_equal(t.count, 3);
        assert_true(t.is_complete);
        assert_string_equal(t.stop, "tls"); /* the first one */
        assert_string_equal(t.stop_host.text, "a.test");
        assert_int_equal(t.stop_port, 443);
        assert_int_equal(t.connections[1]->failed, DENIAL_UNRESOLVED);
        assert_string_equal(t.connections[1]->host.text, "gone.test");
        assert_null(t.connections[1]->first);
        i = t.connections[0]->first;
        assert_int_equal(i->kind, TRANSCRIPT_GOT);
        assert_int_equal(i->len, 7);
        assert_memory_equal(i->bytes, "hello\n\n", 7);
        i = i->next;
        assert_int_equal(i->kind, TRANSCRIPT_SENT);
        assert_int_equal(i->len, 12);
        assert_memory_equal(i->bytes, DIGEST, TRANSCRIPT_DIGEST);
        i = i->next;
        assert_memory_equal(i->bytes, "open", 4); /* an answer may look like a line */
        assert_int_equal(i->next->kind, TRANSCRIPT_CLIENT_OVER);
        assert_int_equal(i->next->next->kind, TRANSCRIPT_SERVER_OVER);
        assert_null(i->next->next->next);
        assert_int_equal(t.connections[2]->first->len, 5);
}

static void
a_replay_says_what_it_was(void **state)
{
        struct transcript t;

        (void)state;
        assert_int_equal(read_text(FIRST "replays 1 2\ndiffers 1 2 3 400 bytes a.test 80\n"
                                         "differs 2 0 1 0 unexpected b.test 81\nend\n",
                                   &t),
                         0);
        assert_int_equal(t.replayed_count, 1);
        assert_int_equal(t.replayed[0], 2);
        assert_int_equal(t.differences->recorded, 2);
        assert_int_equal(t.differences->turn, 3);
        assert_int_equal(t.differences->byte, 400);
        assert_string_equal(t.differences->what, "bytes");
        assert_string_equal(t.differences->next->host.text, "b.test");
        assert_null(t.differences->next->next);
}

static void
altered_ones_are_refused(void **state)
{
        static const char *const wrong[] = {
                "",
                "carrel egress 2\nend\n",
                FIRST "end",
                FIRST "end\nend\n",
                FIRST "open 2 a.test 80\n",
                FIRST "open 1 a.test 80 \n",
                FIRST "open 1 A.test 80\n",
                FIRST "open 1 a.test 65536\n",
                FIRST "open 01 a.test 80\n",
                FIRST "open 1 a.test -1\n",
                FIRST "open 1  80\n",
                FIRST "got 1 1\nx\n",
                FIRST "open 1 a.test 80\ngot 1 2\nx\n",
                FIRST "open 1 a.test 80\ngot 1 0\n\n",
                FIRST "open 1 a.test 80\ngot 1 99999999999999999999\nx\n",
                FIRST "open 1 a.test 80\ngot 1 1\nxx\n",
                FIRST "open 1 a.test 80\nsent 1 1 abc\n",
                FIRST "open 1 a.test 80\nsent 1 0 " DIGEST "\n",
                FIRST "open 1 a.test 80\nover 1 both\n",
                FIRST "failed 1 a.test 80 none\n",
                FIRST "failed 1 a.test 80 unresolved\nsent 1 1 " DIGEST "\n",
                FIRST "replays 1 0\n",
                FIRST "differs 1 1 1 1 bytes a.test\n",
                FIRST "more\n",
        };
        struct transcript t;

        (void)state;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                if (read_text(wrong[i], &t) != -EPROTO)
                        fail_msg("%zu: %s", i, wrong[i]);
}

static void
one_that_was_cut_off_is_not_complete(void **state)
{
        static const char text[] =
                FIRST "open 1 a.test 80\nsent 1 5 " DIGEST "\ngot 1 3\nabc\nclose 1\nend\n";
        struct transcript t;

        (void)state;
        for (size_t len = 0; len < sizeof text; len++) {
                arena_fini(&arena);
                arena_init(&arena, TRANSCRIPT_ARENA_MAX);
                if (transcript_read(&arena, text, len, &t) == 0)
                        assert_int_equal(t.is_complete, len == sizeof text - 1);
        }
}

static void
its_memory_is_bounded(void **state)
{
        struct arena small;
        struct transcript t;

        (void)state;
        arena_init(&small, 1024);
        assert_int_equal(transcript_read(&small, FIRST "end\n", sizeof FIRST "end\n" - 1, &t),
                         -ENOMEM);
        arena_fini(&small);
}

static void
a_digest_has_no_digits(void **state)
{
        unsigned char sum[TRANSCRIPT_DIGEST / 2] = { 0x01, 0xf2 };
        char text[TRANSCRIPT_DIGEST];

        (void)state;
        transcript_digest(sum, text);
        assert_memory_equal(text, "abpcaaaa", 8);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(turns_are_read_in_order),
                cmocka_unit_test(a_replay_says_what_it_was),
                cmocka_unit_test(altered_ones_are_refused),
                cmocka_unit_test(one_that_was_cut_off_is_not_complete),
                cmocka_unit_test(its_memory_is_bounded),
                cmocka_unit_test(a_digest_has_no_digits),
        };
        int result = cmocka_run_group_tests(tests, NULL, NULL);

        arena_fini(&arena);
        return result;
}
