/*
 * box/one_test.c - a box of one command: what its end was. The test acts as pid 1, maker and
 * keeper.
 */
#include "base/unit.h"
#include "box/engine_unit.h"
#include "box/exec.h"
#include "box/keeper.h"
#include "box/one.h"
#include "box/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outcome/outcome.h"

static struct box b;
static struct noted noted;
static int keeper = -1;

static int
set_up(void **state)
{
        int pair[2];

        (void)state;
        memset(&b, 0, sizeof b);
        if (loop_new(&b.loop) < 0)
                return -1;
        b.directory = b.journal.fd = b.wall.link = b.link.fd = -1;
        b.begin.deadline_ms = BOX_NEVER;
        noted_init(&noted);
        b.engine = &noted.engine;
        b.calls = &box_calls;
        b.deadline.due_ms = b.floor.due_ms = b.late.due_ms = LOOP_NEVER;
        b.protocol = BOX_PROTOCOL;
        b.one = (struct one){ .is_on = 1, .streams = { -1, -1, -1 } };
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -1;
        keeper = pair[1];
        return keeper_accept(&b, pair[0]);
}

static int
tear_down(void **state)
{
        (void)state;
        while (b.execs)
                exec_free(b.execs);
        b.state = BOX_OVER;
        b.busy = 1; /* the process of the test goes on */
        while (b.keepers)
                keeper_drop(b.keepers);
        noted_drop(&noted);
        (void)close(keeper);
        loop_free(b.loop);
        return 0;
}

/* With so many streams in the message. */
static void
ask(size_t streams, uint64_t deadline_ms)
{
        static _Alignas(8) unsigned char bytes[256];
        struct wire_exec wire = { .argc = 1, .strings_len = sizeof "true\0/" };
        const struct wire_box_exec what = { .exec = 1,
                                            .deadline_ms = deadline_ms,
                                            .timeout_ms = BOX_NEVER,
                                            .cpu_ms = BOX_NEVER,
                                            .output_bytes = BOX_NEVER };
        struct wire_message m = { .fd_count = streams };

        for (size_t i = 0; i < streams; i++)
                m.fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        memcpy(bytes, &wire, sizeof wire);
        memcpy(bytes + sizeof wire, "true\0/", wire.strings_len);
        one_take_streams(&b, &m);
        exec_start(&b, &what, bytes, sizeof wire + wire.strings_len, -1);
        for (size_t i = 0; i < streams; i++)
                assert_int_equal(m.fds[i], -1);
}

/* Skips other reports. */
static struct wire_box_listed
finished(void)
{
        static _Alignas(8) unsigned char body[1024];
        struct wire_box_listed listed;
        struct wire_message m;

        do {
                assert_int_equal(wire_receive(keeper, 0, &m, body, sizeof body), 1);
                wire_message_close(&m);
        } while (m.kind != WIRE_BOX_FINISHED);
        memcpy(&listed, body, sizeof listed);
        return listed;
}

static void
a_command_is_sent_at_once(void **state)
{
        (void)state;
        ask(3, BOX_NEVER);
        assert_int_equal(b.state, BOX_MAKING);
        assert_int_equal(noted.execs, 1);
        assert_true(noted.fds[2] >= 0);
        /* else the command's output would never end */
        for (int i = 0; i < 3; i++)
                assert_int_equal(b.execs->theirs[i], -1);
        ask(3, BOX_NEVER);
        assert_null(b.execs->next); /* there is one */
        assert_int_equal(noted.execs, 1);
        for (int i = 0; i < 3; i++)
                if (b.one.streams[i] >= 0)
                        (void)close(b.one.streams[i]);
}

static void
without_streams_it_does_not_start(void **state)
{
        (void)state;
        ask(2, BOX_NEVER);
        assert_int_equal(finished().state, BOX_EXEC_FAILED);
}

struct row {
        const char *what;
        struct engine_ended ended; /* code 0: the engine did not report it */
        uint64_t oom_kills;
        uint32_t cause;           /* enum box_gone */
        uint64_t deadline_ms;     /* 0: none */
        uint32_t kill_word, word; /* kill_word UINT32_MAX: no limit killed it */
        int32_t exit_code, signal;
};

#define NO_KILL UINT32_MAX
#define EXIT(number)                                 \
        {                                            \
                .code = CLD_EXITED, .status = number \
        }
#define SIGNAL(number)                               \
        {                                            \
                .code = CLD_KILLED, .status = number \
        }
#define CPU_USED                                                        \
        {                                                               \
                .code = CLD_KILLED, .status = SIGXCPU, .is_cpu_used = 1 \
        }

static const struct row rows[] = {
        { "exited", EXIT(7), 0, BOX_GONE_DIED, 0, NO_KILL, OUTCOME_EXITED, 7, 0 },
        { "by itself, with SIGKILL", SIGNAL(SIGKILL), 0, BOX_GONE_DIED, 0, NO_KILL,
          OUTCOME_SIGNALED, -1, SIGKILL },
        { "ended, then the time passed", EXIT(0), 0, BOX_GONE_DIED, 1, NO_KILL, OUTCOME_EXITED, 0,
          0 },
        { "out of memory", SIGNAL(SIGKILL), 1, BOX_GONE_OOM, 0, NO_KILL, OUTCOME_OOM_KILLED, -1,
          SIGKILL },
        { "a child was out of memory", EXIT(1), 1, BOX_GONE_OOM, 0, NO_KILL, OUTCOME_OOM_KILLED, -1,
          0 },
        { "out of memory, and well all the same", EXIT(0), 1, BOX_GONE_OOM, 0, NO_KILL,
          OUTCOME_EXITED, 0, 0 },
        { "pid 1 was out of memory",
          { .code = 0 },
          2,
          BOX_GONE_OOM,
          0,
          NO_KILL,
          OUTCOME_OOM_KILLED,
          -1,
          0 },
        { "CPU time of one process", CPU_USED, 0, BOX_GONE_DIED, 0, NO_KILL, OUTCOME_CPU_LIMIT, -1,
          SIGXCPU },
        { "its own SIGXCPU", SIGNAL(SIGXCPU), 0, BOX_GONE_DIED, 0, NO_KILL, OUTCOME_SIGNALED, -1,
          SIGXCPU },
        { "killed for its time", SIGNAL(SIGKILL), 0, BOX_GONE_STOPPED, 0, OUTCOME_TIMED_OUT,
          OUTCOME_TIMED_OUT, -1, 0 },
        { "killed for its CPU time, and the kernel killed for memory", SIGNAL(SIGKILL), 1,
          BOX_GONE_STOPPED, 0, OUTCOME_CPU_LIMIT, OUTCOME_CPU_LIMIT, -1, 0 },
        { "the maker's own limit",
          { .code = 0 },
          0,
          BOX_GONE_DIED,
          1,
          NO_KILL,
          OUTCOME_TIMED_OUT,
          -1,
          0 },
        { "the disk", { .code = 0 }, 0, BOX_GONE_POLICY, 0, NO_KILL, OUTCOME_POLICY_KILLED, -1, 0 },
        { "its keeper left",
          { .code = 0 },
          0,
          BOX_GONE_STOPPED,
          0,
          NO_KILL,
          OUTCOME_KILLED,
          -1,
          0 },
        { "gone without a word", { .code = 0 }, 0, BOX_GONE_DIED, 0, NO_KILL, OUTCOME_LOST, -1, 0 },
};

static void
every_end_has_its_one_word(void **state)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct row *row = &rows[i];
                struct wire_box_listed told;
                struct exec *x;

                ask(3, row->deadline_ms != 0 ? row->deadline_ms : BOX_NEVER);
                x = b.execs;
                b.state = BOX_RUNNING;
                exec_started(x, 2, -1);
                if (row->kill_word != NO_KILL)
                        exec_kill(x, row->kill_word);
                if (row->ended.code != 0)
                        exec_ended(x, &row->ended);
                assert_false(x->is_over); /* everything must be gone first */
                if (row->ended.code != 0 && row->kill_word == NO_KILL) {
                        exec_ended(x, &(const struct engine_ended)EXIT(99));
                        exec_kill(x, OUTCOME_TIMED_OUT); /* too late */
                }
                b.state = BOX_OVER;
                b.gone.cause = row->cause;
                b.one.usage.oom_kills = row->oom_kills;
                exec_lose_all(&b);
                told = finished();
                if (told.end.word != row->word || told.end.exit_code != row->exit_code ||
                    told.end.signal != row->signal)
                        fail_msg("%s: %s, %d, %d", row->what,
                                 outcome_name((enum outcome_word)told.end.word), told.end.exit_code,
                                 told.end.signal);
                assert_int_equal(tear_down(state), 0);
                assert_int_equal(set_up(state), 0);
        }
}

static void
what_the_box_used_is_the_commands(void **state)
{
        const struct engine_ended ended = {
                .code = CLD_EXITED, .is_disk_full = 1, .cpu_us = 5000, .max_rss_kb = 77
        };
        static const struct {
                uint64_t cpu_ns, expected_ms;
        } used[] = { { 0, 5 }, { 40000000, 40 } };

        for (size_t i = 0; i < 2; i++) {
                struct channel_end_listed end;

                ask(3, BOX_NEVER);
                b.state = BOX_RUNNING;
                exec_started(b.execs, 2, -1);
                exec_ended(b.execs, &ended);
                b.one.usage = (struct engine_gone){ .has_usage = 1,
                                                    .cpu_ns = used[i].cpu_ns,
                                                    .pids_refused = i,
                                                    .memory_peak = 1 << 20 };
                b.state = BOX_OVER;
                b.gone.cause = BOX_GONE_DIED;
                exec_lose_all(&b);
                end = finished().end;
                assert_int_equal(end.cpu_ms, used[i].expected_ms);
                assert_int_equal(end.memory_peak_kb, 77);
                assert_int_equal(end.reached, OUTCOME_DISK | (i == 1 ? OUTCOME_PIDS : 0u));
                assert_int_equal(tear_down(state), 0);
                assert_int_equal(set_up(state), 0);
        }
}

static void
it_ends_with_its_keeper(void **state)
{
        (void)state;
        b.state = BOX_RUNNING;
        keeper_drop(b.keepers);
        assert_int_equal(b.state, BOX_ENDING);
        assert_int_equal(b.gone.cause, BOX_GONE_STOPPED);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_command_is_sent_at_once, set_up, tear_down),
                cmocka_unit_test_setup_teardown(without_streams_it_does_not_start, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(every_end_has_its_one_word, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_the_box_used_is_the_commands, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(it_ends_with_its_keeper, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
