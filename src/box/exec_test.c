/*
 * box/exec_test.c - the table of execs: what is found, reported and freed. The test acts as
 * the engine.
 */
#include "base/unit.h"
#include "box/engine_unit.h"
#include "box/exec.h"
#include "box/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outcome/outcome.h"

static char directory_name[] = "/tmp/carrel-exec-XXXXXX";
static struct box b;
static struct noted noted;

static int
set_up(void **state)
{
        (void)state;
        memset(&b, 0, sizeof b);
        (void)snprintf(directory_name, sizeof directory_name, "%s", "/tmp/carrel-exec-XXXXXX");
        if (!mkdtemp(directory_name) || loop_new(&b.loop) < 0)
                return -1;
        b.directory = open(directory_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        b.begin.keep_bytes = 1 << 16;
        b.begin.deadline_ms = BOX_NEVER;
        b.state = BOX_RUNNING;
        noted_init(&noted);
        b.engine = &noted.engine;
        b.calls = &box_calls;
        b.deadline.due_ms = b.floor.due_ms = b.late.due_ms = LOOP_NEVER;
        b.protocol = 2;
        if (journal_open(&b.journal, b.directory, 2) < 0)
                return -1;
        return 0;
}

static int
tear_down(void **state)
{
        (void)state;
        while (b.execs)
                exec_free(b.execs);
        noted_drop(&noted);
        journal_close(&b.journal);
        (void)unlinkat(b.directory, "journal", 0);
        (void)close(b.directory);
        loop_free(b.loop);
        return rmdir(directory_name);
}

static int
ask(uint32_t number, uint32_t flags, const char *key)
{
        static _Alignas(8) unsigned char bytes[256];
        struct wire_exec wire = { .argc = 2, .strings_len = sizeof "echo\0a\033b\0/" };
        struct wire_box_exec what = { .flags = flags,
                                      .exec = number,
                                      .deadline_ms = BOX_NEVER,
                                      .timeout_ms = BOX_NEVER,
                                      .cpu_ms = BOX_NEVER,
                                      .output_bytes = BOX_NEVER };
        int pair[2];

        (void)snprintf(what.key, sizeof what.key, "%s", key);
        memcpy(bytes, &wire, sizeof wire);
        memcpy(bytes + sizeof wire, "echo\0a\033b\0/", wire.strings_len);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        exec_start(&b, &what, bytes, sizeof wire + wire.strings_len, pair[0]);
        return pair[1];
}

/* The last command's descriptors; its number. */
static uint32_t
heard(int ret_fds[3])
{
        for (int i = 0; i < 3; i++) {
                ret_fds[i] = noted.fds[i];
                assert_true(ret_fds[i] >= 0);
                noted.fds[i] = -1;
        }
        return noted.number;
}

static void
let_go(const int fds[3])
{
        for (int i = 0; i < 3; i++)
                (void)close(fds[i]);
}

static void
ended(uint32_t number, int code, int status)
{
        exec_ended(exec_find(&b, number), &(struct engine_ended){ .code = code, .status = status });
}

/* Reads frames until the end and returns it; `text` collects both streams. */
static struct channel_end
end_of(int channel, char *text, size_t room)
{
        struct channel_frame head;
        struct channel_end end = { .word = OUTCOME_MAX };
        unsigned char body[4096];
        size_t used = 0;

        while (recv(channel, &head, sizeof head, MSG_WAITALL | MSG_DONTWAIT) ==
               (ssize_t)sizeof head) {
                assert_true(head.len <= sizeof body);
                assert_int_equal(recv(channel, body, head.len, MSG_WAITALL | MSG_DONTWAIT),
                                 head.len);
                if (head.kind == CHANNEL_END)
                        memcpy(&end, body, sizeof end);
                else if (head.kind != CHANNEL_STARTED && used + head.len < room) {
                        memcpy(text + used, body, head.len);
                        used += head.len;
                }
        }
        text[used] = '\0';
        (void)close(channel);
        return end;
}

static const struct {
        const char *what;
        int code, status;
        uint32_t killed, word;
        int exit_code, signal;
} ends[] = {
        { "by itself", CLD_EXITED, 3, UINT32_MAX, OUTCOME_EXITED, 3, 0 },
        { "by a signal", CLD_KILLED, 15, UINT32_MAX, OUTCOME_SIGNALED, -1, 15 },
        { "with a core", CLD_DUMPED, 11, UINT32_MAX, OUTCOME_SIGNALED, -1, 11 },
        { "killed on request", CLD_KILLED, 9, OUTCOME_KILLED, OUTCOME_KILLED, -1, 0 },
        { "out of time", CLD_KILLED, 9, OUTCOME_TIMED_OUT, OUTCOME_TIMED_OUT, -1, 0 },
        { "ended by itself while it was killed", CLD_EXITED, 0, OUTCOME_CPU_LIMIT,
          OUTCOME_CPU_LIMIT, -1, 0 },
};

static void
each_end_has_one_word(void **state)
{
        char text[64];

        (void)state;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
                uint32_t number = (uint32_t)i + 1;
                int channel = ask(number, 0, ""), fds[3];
                struct channel_end end;

                assert_int_equal(heard(fds), number);
                exec_started(exec_find(&b, number), 77, -1);
                assert_int_equal(write(fds[1], "out", 3), 3);
                assert_int_equal(write(fds[2], "err", 3), 3);
                if (ends[i].killed != UINT32_MAX) {
                        noted.kills = 0;
                        exec_kill(exec_find(&b, number), ends[i].killed);
                        assert_int_equal(noted.kills, 1);
                }
                ended(number, ends[i].code, ends[i].status);
                end = end_of(channel, text, sizeof text);
                assert_string_equal(text, "outerr");
                if (end.word != ends[i].word || end.exit_code != ends[i].exit_code ||
                    end.signal != ends[i].signal)
                        fail_msg("%s: %u, %d, %d", ends[i].what, end.word, end.exit_code,
                                 end.signal);
                assert_true(end.stdout_bytes == 3 && end.stderr_bytes == 3 &&
                            end.dropped_bytes == 0);
                let_go(fds);
        }
        assert_int_equal(b.running, 0);
        assert_int_equal(b.starting, 0);
        assert_int_equal(b.journal.len,
                         (1 + 2 * sizeof ends / sizeof *ends) * sizeof(struct box_journal));
}

static void
a_key_that_was_used_starts_nothing(void **state)
{
        int first = ask(1, 0, "again"), second, fds[3];
        char text[64];

        (void)state;
        (void)heard(fds);
        second = ask(2, 0, "again");
        assert_int_equal(noted.execs, 1);
        assert_null(exec_find(&b, 2));
        exec_started(exec_find(&b, 1), 5, -1);
        assert_int_equal(write(fds[1], "once", 4), 4);
        ended(1, CLD_EXITED, 0);
        assert_int_equal(end_of(first, text, sizeof text).word, OUTCOME_EXITED);
        assert_int_equal(end_of(second, text, sizeof text).word, OUTCOME_EXITED);
        assert_string_equal(text, "once");
        assert_int_equal(end_of(ask(3, 0, "again"), text, sizeof text).word, OUTCOME_EXITED);
        assert_string_equal(text, "once");
        let_go(fds);
}

/* Sends input, or its end, and lets the box handle it. */
static void
say(int channel, const char *text)
{
        struct channel_frame head = { text ? CHANNEL_STDIN : CHANNEL_STDIN_END,
                                      text ? (uint32_t)strlen(text) : 0, 0 };

        assert_int_equal(send(channel, &head, sizeof head, 0), sizeof head);
        if (text)
                assert_int_equal(send(channel, text, strlen(text), 0), strlen(text));
        loop_turn(b.loop);
}

static void
one_key_has_one_input_of_any_caller(void **state)
{
        int first = ask(1, BOX_EXEC_BACKGROUND, "again"), second, fds[3];
        char text[64] = "";

        (void)state;
        (void)heard(fds);
        exec_started(exec_find(&b, 1), 5, -1);
        second = ask(2, BOX_EXEC_BACKGROUND, "again");
        say(first, "one ");
        say(second, "one two ");
        say(first, "two thr");
        say(second, "three");
        say(first, "ee");
        say(first, NULL);
        say(second, NULL);
        assert_int_equal(read(fds[0], text, sizeof text), sizeof "one two three" - 1);
        assert_string_equal(text, "one two three");
        assert_int_equal(read(fds[0], text, sizeof text), 0);
        (void)close(first);
        (void)close(second);
        let_go(fds);
}

static void
a_number_that_is_taken_or_a_torn_message_is_refused(void **state)
{
        int first = ask(1, 0, ""), fds[3];
        struct channel_frame head;
        int second;

        (void)state;
        (void)heard(fds);
        second = ask(1, 0, "");
        assert_int_equal(recv(second, &head, sizeof head, MSG_DONTWAIT), sizeof head);
        assert_int_equal(head.kind, CHANNEL_FAILED);
        (void)close(second);
        (void)close(first);
        let_go(fds);
}

static void
people_read_no_control_bytes(void **state)
{
        struct wire_box_listed listed;
        int fds[3], channel = ask(1, BOX_EXEC_BACKGROUND, "");

        (void)state;
        (void)heard(fds);
        exec_list(exec_find(&b, 1), &listed);
        assert_string_equal(listed.command, "echo a?b");
        assert_true(listed.state == BOX_EXEC_STARTING && listed.end.exit_code == -1);
        (void)close(channel);
        let_go(fds);
}

static void
only_so_many_finished_ones_are_kept(void **state)
{
        char text[64];

        (void)state;
        for (uint32_t i = 1; i <= EXECS_KEPT_MAX + 20; i++) {
                int fds[3], channel = ask(i, 0, "");

                (void)heard(fds);
                exec_started(exec_find(&b, i), 5, -1);
                ended(i, CLD_EXITED, 0);
                (void)end_of(channel, text, sizeof text);
                let_go(fds);
        }
        assert_int_equal(b.kept, EXECS_KEPT_MAX);
        assert_null(exec_find(&b, 20));
        assert_non_null(exec_find(&b, 21));
        assert_int_equal(b.oldest->number, 21);
}

static void
a_quiet_one_is_forgotten_at_once(void **state)
{
        uint64_t len = b.journal.len;
        int fds[3], channel = ask(1, BOX_EXEC_QUIET, "");
        char text[8];

        (void)state;
        (void)heard(fds);
        exec_started(exec_find(&b, 1), 5, -1);
        ended(1, CLD_EXITED, 0);
        assert_int_equal(end_of(channel, text, sizeof text).word, OUTCOME_EXITED);
        assert_null(b.execs);
        assert_int_equal(b.journal.len, len);
        let_go(fds);
}

static void
a_long_journal_is_rewritten_with_what_is_kept(void **state)
{
        char text[8];

        (void)state;
        for (uint32_t i = 1; i <= 4000; i++) {
                int fds[3], channel = ask(i, 0, "");

                (void)heard(fds);
                exec_started(exec_find(&b, i), 5, -1);
                ended(i, CLD_EXITED, 0);
                (void)end_of(channel, text, sizeof text);
                let_go(fds);
                assert_true(b.journal.len <= JOURNAL_LONG + 2 * sizeof(struct box_journal));
        }
        assert_true(b.journal.len > EXECS_KEPT_MAX * sizeof(struct box_journal));
}

/*
 * When a box ends, starting and running execs get one outcome. A program that was not found stays
 * "not found".
 */
static void
starting_and_running_execs_end_alike(void **state)
{
        static const struct {
                uint32_t stage;
                int sys, has_failed;
        } starts[] = {
                { WIRE_STAGE_SPAWN, ECANCELED, 0 },
                { WIRE_STAGE_PREPARE, ENODEV, 0 },
                { WIRE_STAGE_TERMINAL, EIO, 0 },
                { WIRE_STAGE_LOOKUP, ENOENT, 1 },
        };
        char text[64];

        (void)state;
        for (uint32_t i = 0; i <= sizeof starts / sizeof *starts; i++) {
                int fds[3], channel = ask(i + 1, 0, "");
                struct channel_end end;

                (void)heard(fds);
                b.state = BOX_ENDING;
                b.gone.cause = BOX_GONE_STOPPED;
                if (i < sizeof starts / sizeof *starts) {
                        exec_failed(exec_find(&b, i + 1),
                                    &(struct wire_exec_failed){ i + 1, starts[i].sys,
                                                                starts[i].stage });
                } else {
                        exec_started(exec_find(&b, i + 1), 5, -1);
                        ended(i + 1, CLD_KILLED, 9);
                }
                end = end_of(channel, text, sizeof text);
                assert_int_equal(end.word,
                                 i < sizeof starts / sizeof *starts && starts[i].has_failed
                                         ? OUTCOME_MAX
                                         : OUTCOME_KILLED);
                b.state = BOX_RUNNING;
                let_go(fds);
        }
        assert_int_equal(b.starting + b.running, 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(each_end_has_one_word, set_up, tear_down),
                cmocka_unit_test_setup_teardown(starting_and_running_execs_end_alike, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_key_that_was_used_starts_nothing, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(one_key_has_one_input_of_any_caller, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_number_that_is_taken_or_a_torn_message_is_refused,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(people_read_no_control_bytes, set_up, tear_down),
                cmocka_unit_test_setup_teardown(only_so_many_finished_ones_are_kept, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_quiet_one_is_forgotten_at_once, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_long_journal_is_rewritten_with_what_is_kept,
                                                set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
