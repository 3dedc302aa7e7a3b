/* event/event_test.c - what event/event.h promises. */
#include "event/event.h"

#include <string.h>

#include "base/unit.h"
#include "wire/message.h"

static char line[EVENT_LINE_ROOM];

static const char *
line_of(struct event e)
{
        event_line(&e, line);
        return line;
}

static void
every_word_is_one_kind(void **state)
{
        for (int i = 0; i < EVENT_KINDS; i++) {
                const struct event_row *row = event_row((enum event_kind)i);

                assert_true(row->readers != 0);
                assert_true(strlen(row->meaning) > 0);
                if (!row->word)
                        continue;
                assert_int_equal(event_find(row->word), i);
                assert_false(event_may_report(row->word));
        }
        assert_int_equal(event_find("turn-end"), EVENT_REPORTED);
}

static void
a_caller_reports_one_word(void **state)
{
        static const char *const wrong[] = { "",         "a b",        "a\nevent: stopped",
                                             "a\rb",     "a\tb",       "\x7f",
                                             "\xc3\xa9", "exec-ended", "overflow" };
        char word[130];

        assert_true(event_may_report("turn-end"));
        assert_true(event_may_report("acme:deploy.done_2"));
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                assert_false(event_may_report(wrong[i]));
        memset(word, 'x', sizeof word);
        word[129] = '\0';
        assert_false(event_may_report(word));
        word[128] = '\0';
        assert_true(event_may_report(word));
}

/* A line names only members that its row has: with all of them set, nothing of it is dropped. */
static void
lines_have_the_members_of_their_rows(void **state)
{
        const struct outcome end = { .word = OUTCOME_EXITED, .exit_code = 3 };

        for (int i = 0; i < EVENT_KINDS; i++) {
                struct event e = { .kind = (enum event_kind)i };
                const struct event_row *row = event_row(e.kind);
                const char *at = row->line;

#define SET_TEXT "value"
#define SET_UINT 77
#define SET_ENDING &end
#define MEMBER(TAG, member, TYPE)                           \
        if ((row->members & 1u << EVENT_HAS_##member) != 0) \
                e.member = SET_##TYPE;
#include "event/event.def"
                event_line(&e, line);
                assert_null(strpbrk(line, "[]{}|"));
                for (; (at = strchr(at, '{')) != NULL; at++)
                        assert_true(strstr(line, "value") || strstr(line, "77") ||
                                    strstr(line, "exited 3"));
                for (at = row->line; *at == '['; at++)
                        assert_true(line[0] != '\0');
        }
}

static void
a_line_says_what_happened(void **state)
{
        const struct outcome end = { .word = OUTCOME_SIGNALED, .signal = 9, .exit_code = -1 };
        struct event e;

        assert_string_equal(line_of(event_stopped()), "");
        assert_string_equal(
                line_of(event_exec_ended((struct event_exec_ended){ .exec = 2, .end = &end })),
                "signaled 137");
        assert_string_equal(line_of(event_secret_revealed(
                                    (struct event_secret_revealed){ .slug = "key",
                                                                    .purpose = "KEY",
                                                                    .actor = "ops",
                                                                    .granted_by = "role:ops" })),
                            "key as KEY for ops, granted by role:ops");
        assert_string_equal(line_of(event_secret_revealed((struct event_secret_revealed){
                                    .slug = "key", .purpose = "KEY", .actor = "ops" })),
                            "key as KEY for ops");
        assert_string_equal(
                line_of(event_egress_denied((struct event_egress_denied){
                        .reason = "not_listed", .host = "a.test", .address = "::1", .port = 443 })),
                "not_listed a.test:443");
        assert_string_equal(
                line_of(event_egress_denied((struct event_egress_denied){
                        .reason = "no_name", .host = "", .address = "192.0.2.1", .message = "m" })),
                "no_name 192.0.2.1");
        assert_string_equal(line_of(event_egress_denied((struct event_egress_denied){
                                    .count = 5, .message = "5 more" })),
                            "5 more");
        assert_true(event_left_behind(KEPT_MOVED,
                                      (struct event_left){ "/w/.envrc", "/k/0", NULL, 0 }, &e));
        assert_string_equal(line_of(e), "/w/.envrc, now at /k/0");
        assert_string_equal(e.word, "name-moved");
}

static void
what_is_left_behind_has_a_kind(void **state)
{
        struct event e;

        for (unsigned what = KEPT_MOVED; what < KEPT_WHAT_MAX; what++) {
                assert_true(
                        event_left_behind(what, (struct event_left){ "/w", NULL, NULL, 0 }, &e));
                assert_true(e.kind >= EVENT_NAME_MOVED && e.kind <= EVENT_DIRECTORY_CLOSED);
        }
        assert_false(event_left_behind(0, (struct event_left){ "/w", NULL, NULL, 0 }, &e));
        assert_false(
                event_left_behind(KEPT_WHAT_MAX, (struct event_left){ "/w", NULL, NULL, 0 }, &e));
}

static void
a_long_line_is_cut(void **state)
{
        static char path[2 * EVENT_LINE_ROOM];
        struct event e;

        memset(path, 'x', sizeof path - 1);
        assert_true(event_left_behind(KEPT_MADE, (struct event_left){ path, path, path, 2 }, &e));
        assert_int_equal(strlen(line_of(e)), EVENT_LINE_ROOM - 1);
}

static void
actions_have_a_point(void **state)
{
        char action[EVENT_ACTION_ROOM];

        for (enum event_kind kind = 0; kind < EVENT_KINDS; kind++) {
                const char *point;

                if ((event_row(kind)->readers & EVENT_AUDITED) == 0)
                        continue;
                event_action(kind, action);
                point = strchr(action, '.');
                assert_non_null(point);
                assert_null(strchr(point + 1, '.'));
                assert_null(memchr(action, '-', (size_t)(point - action)));
        }
        event_action(EVENT_EGRESS_ALLOWED, action);
        assert_string_equal(action, "egress.allowed");
        event_action(EVENT_TASK_TIMED_OUT, action);
        assert_string_equal(action, "task.timed-out");
        event_action(EVENT_STOPPED, action);
        assert_string_equal(action, "sandbox.stopped");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_word_is_one_kind),
                cmocka_unit_test(a_caller_reports_one_word),
                cmocka_unit_test(lines_have_the_members_of_their_rows),
                cmocka_unit_test(a_line_says_what_happened),
                cmocka_unit_test(what_is_left_behind_has_a_kind),
                cmocka_unit_test(a_long_line_is_cut),
                cmocka_unit_test(actions_have_a_point),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
