/* run/run_test.c - what run/run.h promises, with a box that plays by script. */
#include "base/unit.h"
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "spec/spec.h"
#include "wire/box.h"
#include "wire/message.h"

/* -- a box in a child process ------------------------------------------------------------------ */

enum fake_end {
        FAKE_ENDS,        /* with `end` */
        FAKE_EXEC_FAILED, /* with `failed` */
        FAKE_MAKE_FAILED, /* with `made` */
        FAKE_GONE,        /* says no end of the command */
        FAKE_LOST,        /* closes without a word */
        FAKE_REFUSES,     /* start() fails */
};

struct fake_script {
        enum fake_end end;
        struct channel_end_listed how;
        struct wire_exec_failed failed; /* exec is ignored */
        struct wire_failed made;
        bool never_starts;        /* the command does not start */
        bool ends_twice;          /* reports a second, different end */
        enum wire_kept_what kept; /* 0: no name was touched */
        const char *out, *err;    /* what the command writes, NULL: nothing */
        size_t out_times;         /* how often it writes `out`; 0 is once */
        int signals[2];      /* sent to its keeper, each once the last was passed on; 0: none */
        bool waits_for_kill; /* the end comes when it is ordered, with the ordered word */
        bool closes_late;    /* the command's streams stay open until it is gone */
};

struct fake_record { /* shared with the child */
        unsigned starts, kills;
        size_t argc, fd_count, source_count;
        char first[64];
        int signals[8];
        size_t signal_count;
        struct wire_box_begin begin;
        struct wire_box_exec ask;
        struct wire_exec exec;
};

static const struct fake_script *play;
static struct fake_record *record;

static void
fake_play(const struct fake_script *s)
{
        play = s;
        memset(record, 0, sizeof *record);
}

static size_t
fake_receive(int box, uint16_t kind, struct wire_message *m, unsigned char *body)
{
        if (wire_receive(box, 1, m, body, WIRE_BODY_MAX) != 1 || m->kind != kind)
                _exit(1);
        return m->len;
}

static void
fake_take_command(int box, int stdio[3])
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        const char *words = (const char *)body + sizeof record->ask + sizeof record->exec;
        struct wire_message m;

        (void)fake_receive(box, WIRE_BOX_BEGIN, &m, body);
        memcpy(&record->begin, body, sizeof record->begin);
        record->source_count = m.fd_count;
        (void)fake_receive(box, WIRE_BOX_EXEC, &m, body);
        memcpy(&record->ask, body, sizeof record->ask);
        memcpy(&record->exec, body + sizeof record->ask, sizeof record->exec);
        (void)memccpy(record->first, words, '\0', sizeof record->first - 1);
        record->argc = record->exec.argc;
        record->fd_count = m.fd_count;
        for (size_t i = 0; i < 3 && i < m.fd_count; i++)
                stdio[i] = m.fds[i];
}

/* At once: each piece that is moved takes a place in the pipe of a reader that does not read. */
static void
fake_write(const int stdio[3])
{
        static char bytes[16384];
        size_t times = !play->out ? 0 : play->out_times > 0 ? play->out_times : 1, len = 0;

        for (size_t i = 0; i < times; i++, len += strlen(play->out))
                memcpy(bytes + len, play->out, strlen(play->out));
        (void)!write(stdio[1], bytes, len);
        if (play->err)
                (void)!write(stdio[2], play->err, strlen(play->err));
}

static void
fake_say(int box, uint16_t kind, const void *body, size_t len)
{
        if (wire_send(box, kind, body, len, NULL, 0) < 0)
                _exit(1);
}

/* Until everything is killed. Returns the ordered word. */
static uint32_t
fake_obey(int box, unsigned passed_on)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        struct wire_message m;

        while (wire_receive(box, 1, &m, body, sizeof body) == 1) {
                const struct wire_exec_number *number = (const void *)body;

                if (m.kind == WIRE_BOX_KILL) {
                        record->kills++;
                        return ((const struct wire_box_kill *)(const void *)body)->word;
                }
                if (m.kind != WIRE_BOX_SIGNAL || record->signal_count == 8)
                        continue;
                record->signals[record->signal_count++] = number->number;
                if (++passed_on < 2 && play->signals[passed_on] != 0)
                        (void)kill(getppid(), play->signals[passed_on]);
                else if (!play->waits_for_kill)
                        return OUTCOME_EXITED;
        }
        _exit(1);
}

static _Noreturn void
fake_box(int box)
{
        const struct wire_box_found kept = {
                .number = 1, .kept = { .what = play->kept, .name = "/home/u/.git/config" }
        };
        struct wire_box_listed listed = { .exec = 1, .state = BOX_EXEC_RUNNING };
        struct wire_box_gone gone = { .cause = BOX_GONE_DIED };
        int stdio[3] = { -1, -1, -1 };

        fake_take_command(box, stdio);
        if (!play->never_starts && play->end < FAKE_MAKE_FAILED && play->end != FAKE_EXEC_FAILED)
                fake_say(box, WIRE_BOX_STARTED, &listed, sizeof listed);
        if ((play->end == FAKE_GONE || play->end == FAKE_LOST) && !play->never_starts)
                fake_say(box, WIRE_BOX_STARTED, &listed, sizeof listed);
        fake_write(stdio);
        listed.end = play->how;
        if (play->signals[0] != 0)
                (void)kill(getppid(), play->signals[0]);
        if (play->signals[0] != 0 || play->waits_for_kill) {
                uint32_t word = fake_obey(box, 0);

                if (play->waits_for_kill)
                        listed.end = (struct channel_end_listed){ .word = word, .exit_code = -1 };
        }
        for (int i = 0; i < 3 && !play->closes_late; i++)
                (void)close(stdio[i]);
        if (play->kept != 0)
                fake_say(box, WIRE_BOX_FOUND, &kept, sizeof kept);
        if (play->end == FAKE_LOST)
                _exit(0);
        listed.state = play->end == FAKE_EXEC_FAILED ? BOX_EXEC_FAILED : BOX_EXEC_ENDED;
        if (play->end == FAKE_EXEC_FAILED)
                listed.failed = play->failed;
        if (play->end == FAKE_MAKE_FAILED) {
                listed.end = (struct channel_end_listed){ .word = OUTCOME_LOST, .exit_code = -1 };
                gone = (struct wire_box_gone){ .cause = BOX_GONE_MAKE_FAILED,
                                               .failed = play->made };
        }
        if (play->end != FAKE_GONE)
                fake_say(box, WIRE_BOX_FINISHED, &listed, sizeof listed);
        listed.end.exit_code = 99;
        if (play->ends_twice)
                fake_say(box, WIRE_BOX_FINISHED, &listed, sizeof listed);
        fake_say(box, WIRE_BOX_GONE, &gone, sizeof gone);
        _exit(0);
}

static int
fake_start(int *ret_socket, pid_t *ret_pid, struct error *e)
{
        int pair[2];

        record->starts++;
        if (play->end == FAKE_REFUSES)
                return fail(e, ERROR_QUOTA_EXCEEDED, "the script refuses");
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        *ret_pid = fork();
        if (*ret_pid == 0) {
                (void)close(pair[0]);
                fake_box(pair[1]);
        }
        (void)close(pair[1]);
        *ret_socket = pair[0];
        return 0;
}

/* -- a run ------------------------------------------------------------------------------------- */

static const struct step steps[] = {
        { STEP_SPAWN, 0, STEP_NO_SOURCE, 0, 0, "", "", 0, "" },
        { STEP_BIND, 0, STEP_NO_SOURCE, 0, 0, "/workspace", "/home/u", 7, "" },
        { STEP_FILTER, 0, STEP_NO_SOURCE, 0, 0, "", "", 0, "" },
};
static struct plan plan = { .id = "0123456789abcdef",
                            .steps = steps,
                            .step_count = 3,
                            .source_count = 0,
                            .cwd = "/",
                            .shell = "/bin/sh" };
static const char *const argv[] = { "true", "a" };
static const char *const envp[] = { "A=b" };

static struct run_options
options(void)
{
        plan.cpu = PLAN_CPU_GROUP;
        return (struct run_options){ .start = fake_start,
                                     .plan = &plan,
                                     .command = { { .argc = 2, .envc = 1 }, argv, envp, "/" },
                                     .captures = true,
                                     .in = -1,
                                     .out = -1,
                                     .err = -1,
                                     .timeout_ms = 20000,
                                     .cpu_ms = SPEC_UNSET,
                                     .output_bytes = SPEC_UNSET,
                                     .cpu_count = 1 };
}

static size_t
count_fds(void)
{
        DIR *list = opendir("/proc/self/fd");
        size_t count = 0;

        assert_non_null(list);
        while (readdir(list))
                count++;
        (void)closedir(list);
        return count;
}

/* -- the words --------------------------------------------------------------------------------- */

struct word_row {
        const char *what;
        struct fake_script script;
        enum outcome_word word;
        int exit_code, signal, status;
};

#define ENDED(...)                                       \
        {                                                \
                .end = FAKE_ENDS, .how = { __VA_ARGS__ } \
        }

static const struct word_row words[] = {
        { "exited", ENDED(.word = OUTCOME_EXITED), OUTCOME_EXITED, 0, 0, 0 },
        { "exited with a status", ENDED(.word = OUTCOME_EXITED, .exit_code = 7), OUTCOME_EXITED, 7,
          0, 7 },
        { "signaled", ENDED(.word = OUTCOME_SIGNALED, .exit_code = -1, .signal = SIGSEGV),
          OUTCOME_SIGNALED, -1, SIGSEGV, 139 },
        { "a second end is not heard",
          { .end = FAKE_ENDS,
            .how = { .word = OUTCOME_SIGNALED, .exit_code = -1, .signal = SIGSEGV },
            .ends_twice = true },
          OUTCOME_SIGNALED,
          -1,
          SIGSEGV,
          139 },
        { "timed out", ENDED(.word = OUTCOME_TIMED_OUT), OUTCOME_TIMED_OUT, 0, 0, 124 },
        { "timed out before it started",
          { .end = FAKE_ENDS, .how = { .word = OUTCOME_TIMED_OUT }, .never_starts = true },
          OUTCOME_TIMED_OUT,
          0,
          0,
          124 },
        { "out of memory", ENDED(.word = OUTCOME_OOM_KILLED, .signal = SIGKILL), OUTCOME_OOM_KILLED,
          0, SIGKILL, 137 },
        { "CPU time", ENDED(.word = OUTCOME_CPU_LIMIT), OUTCOME_CPU_LIMIT, 0, 0, 137 },
        { "a word of another release", ENDED(.word = 1000), OUTCOME_LOST, 0, 0, 125 },
        { "killed by the second signal",
          { .signals = { SIGINT, SIGTERM }, .waits_for_kill = true },
          OUTCOME_KILLED,
          -1,
          0,
          137 },
        { "another signal is passed on and ends nothing",
          { .signals = { SIGUSR1 }, .how = { .word = OUTCOME_EXITED, .exit_code = 3 } },
          OUTCOME_EXITED,
          3,
          0,
          3 },
        { "a name that ends the sandbox, before the end",
          { .how = { .word = OUTCOME_EXITED }, .kept = KEPT_STRICT },
          OUTCOME_POLICY_KILLED,
          0,
          0,
          137 },
        { "a name that was moved ends nothing",
          { .how = { .word = OUTCOME_EXITED }, .kept = KEPT_MOVED },
          OUTCOME_EXITED,
          0,
          0,
          0 },
        { "gone without a word of the command", { .end = FAKE_GONE }, OUTCOME_LOST, -1, 0, 125 },
        { "the box is lost while it ran", { .end = FAKE_LOST }, OUTCOME_LOST, -1, 0, 125 },
        { "the box is lost, and the streams only then",
          { .end = FAKE_LOST, .closes_late = true },
          OUTCOME_LOST,
          -1,
          0,
          125 },
};

static void
every_end_has_its_one_word(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                const struct word_row *row = &words[i];
                struct run_options o = options();
                struct run_result r;
                struct error e = { .code = ERROR_NONE };
                size_t before = count_fds();

                fake_play(&row->script);
                if (sandbox_run(&o, &r, &e) < 0)
                        fail_msg("%s: %s", row->what, e.message);
                if (r.outcome.word != row->word)
                        fail_msg("%s: %s", row->what, outcome_name(r.outcome.word));
                if (r.outcome.exit_code != row->exit_code)
                        fail_msg("%s: exit code %d", row->what, r.outcome.exit_code);
                if (r.outcome.signal != row->signal || outcome_status(&r.outcome) != row->status)
                        fail_msg("%s: signal %d, status %d", row->what, r.outcome.signal,
                                 outcome_status(&r.outcome));
                if (record->starts != 1 || record->kills != row->script.waits_for_kill)
                        fail_msg("%s: %u starts, %u kills", row->what, record->starts,
                                 record->kills);
                if (r.kept_count != (row->script.kept != 0))
                        fail_msg("%s: %zu names", row->what, r.kept_count);
                run_result_fini(&r);
                if (count_fds() != before)
                        fail_msg("%s: descriptors stay open", row->what);
        }
}

static void
signals_reach_the_command(void **state)
{
        const struct fake_script both = { .signals = { SIGINT, SIGTERM }, .waits_for_kill = true };
        struct run_options o = options();
        struct run_result r;
        struct error e;

        (void)state;
        fake_play(&both);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        assert_int_equal(record->signal_count, 2);
        assert_int_equal(record->signals[0], SIGINT);
        assert_int_equal(record->signals[1], SIGTERM);
        run_result_fini(&r);
}

static void
the_box_gets_the_limits(void **state)
{
        const struct fake_script one = { .how = { .word = OUTCOME_EXITED,
                                                  .cpu_ms = 40,
                                                  .memory_peak_kb = 77,
                                                  .reached = OUTCOME_PIDS } };
        struct run_options o = options();
        struct run_result r;
        struct error e;

        (void)state;
        for (int i = 0; i < 2; i++) {
                plan.cpu = i == 0 ? PLAN_CPU_GROUP : PLAN_CPU_RLIMIT;
                o.cpu_ms = 1500;
                fake_play(&one);
                assert_int_equal(sandbox_run(&o, &r, &e), 0);
                assert_int_equal(record->begin.flags, BOX_BEGIN_ONE);
                assert_string_equal(record->begin.id, "0123456789abcdef");
                assert_int_equal(record->ask.exec, 1);
                assert_true(record->ask.deadline_ms != UINT64_MAX &&
                            record->ask.timeout_ms == UINT64_MAX);
                /* whichever counts: the group, or the kernel for one process */
                assert_true(record->ask.cpu_ms == (i == 0 ? 1500 : UINT64_MAX));
                assert_int_equal(record->exec.cpu_seconds, i == 0 ? 0 : 2);
                assert_int_equal(r.outcome.cpu_ms, 40);
                assert_int_equal(r.outcome.memory_peak_kb, 77);
                assert_int_equal(r.outcome.reached, OUTCOME_PIDS);
                run_result_fini(&r);
        }
}

/* -- what never ran ---------------------------------------------------------------------------- */

struct failed_row {
        struct fake_script script;
        enum error_code code;
        const char *part;
};

#define FAILED(number, where)                                           \
        {                                                               \
                .end = FAKE_EXEC_FAILED, .failed = { 1, number, where } \
        }
#define UNMADE(number, at)                                      \
        {                                                       \
                .end = FAKE_MAKE_FAILED, .made = { at, number } \
        }

static const struct failed_row failed[] = {
        { FAILED(ENOENT, WIRE_STAGE_LOOKUP), ERROR_COMMAND_NOT_FOUND, "true" },
        { FAILED(ENOTDIR, WIRE_STAGE_LOOKUP), ERROR_COMMAND_NOT_FOUND, "true" },
        { FAILED(EACCES, WIRE_STAGE_LOOKUP), ERROR_COMMAND_NOT_EXECUTABLE, "Permission" },
        { FAILED(ENOEXEC, WIRE_STAGE_LOOKUP), ERROR_COMMAND_NOT_EXECUTABLE, "format" },
        { FAILED(ENOENT, WIRE_STAGE_DIRECTORY), ERROR_INVALID_ARGUMENT, "directory" },
        { FAILED(EIO, WIRE_STAGE_TERMINAL), ERROR_BACKEND_FAILED, "terminal" },
        { FAILED(EAGAIN, WIRE_STAGE_SPAWN), ERROR_QUOTA_EXCEEDED, "starting" },
        { UNMADE(ESTALE, 1), ERROR_MOUNT_UNRESOLVABLE, "/workspace" },
        { UNMADE(EINVAL, 2), ERROR_CAPABILITY_UNAVAILABLE, "filter" },
        { UNMADE(EPROTO, UINT32_MAX), ERROR_PROTOCOL, "plan" },
        { UNMADE(EPERM, 0), ERROR_CAPABILITY_UNAVAILABLE, "spawn" },
        { UNMADE(ENOSPC, 1), ERROR_STORAGE_FULL, "bind" },
        { { .end = FAKE_LOST, .never_starts = true }, ERROR_BACKEND_FAILED, "maker" },
        { { .end = FAKE_GONE, .never_starts = true }, ERROR_BACKEND_FAILED, "ended" },
        { { .end = FAKE_REFUSES }, ERROR_QUOTA_EXCEEDED, "refuses" },
};

static void
a_command_that_never_ran_has_a_reason(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof failed / sizeof *failed; i++) {
                struct run_options o = options();
                struct run_result r;
                struct error e = { .code = ERROR_NONE };
                size_t before = count_fds();

                fake_play(&failed[i].script);
                assert_int_equal(sandbox_run(&o, &r, &e), -1);
                if (e.code != failed[i].code || !strstr(e.message, failed[i].part))
                        fail_msg("row %zu: %s: %s", i, error_wire_name(e.code), e.message);
                assert_int_equal(count_fds(), before);
        }
}

static void
refuses_what_no_box_could_receive(void **state)
{
        static const struct fake_script script = { .end = FAKE_ENDS };
        struct run_options o = options();
        char *huge = calloc(1, WIRE_BODY_MAX + 1);
        const char *words_huge[1] = { huge };
        struct run_result r;
        struct error e;

        (void)state;
        memset(huge, 'x', WIRE_BODY_MAX);
        fake_play(&script);
        o.command.head.argc = 0;
        assert_int_equal(sandbox_run(&o, &r, &e), -1);
        assert_int_equal(e.code, ERROR_INVALID_ARGUMENT);
        o.command.head.argc = 1;
        o.command.argv = words_huge;
        assert_int_equal(sandbox_run(&o, &r, &e), -1);
        assert_int_equal(e.code, ERROR_INVALID_ARGUMENT);
        assert_int_equal(record->starts, 0);
        free(huge);
}

/* -- output ------------------------------------------------------------------------------------ */

static void
output_is_drained_after_the_end(void **state)
{
        const struct fake_script script = { .out = "0123456789", .out_times = 1000, .err = "oops" };
        struct run_options o = options();
        struct run_result r;
        struct error e;

        (void)state;
        fake_play(&script);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        assert_int_equal(r.out_len, 10000);
        assert_memory_equal(r.out, "01234567890123", 14);
        assert_int_equal(r.err_len, 4);
        assert_memory_equal(r.err, "oops", 4);
        assert_true(r.outcome.stdout_bytes == 10000 && r.outcome.stderr_bytes == 4 &&
                    r.outcome.dropped_bytes == 0);
        assert_int_equal(record->fd_count, 3);
        assert_string_equal(record->first, "true");
        run_result_fini(&r);
}

static void
the_budget_holds_and_counts(void **state)
{
        static const struct {
                uint64_t budget;
                bool captures;
        } rows[] = { { 100, true }, { 100, false }, { 0, true }, { 9999, false } };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct fake_script script = { .end = FAKE_ENDS,
                                                    .out = "0123456789",
                                                    .out_times = 1000 };
                struct run_options o = options();
                struct run_result r;
                struct error e;
                int sink[2];
                char got[16384];

                assert_int_equal(pipe2(sink, O_CLOEXEC), 0);
                o.captures = rows[i].captures;
                o.out = o.err = sink[1];
                o.output_bytes = rows[i].budget;
                fake_play(&script);
                assert_int_equal(sandbox_run(&o, &r, &e), 0);
                (void)close(sink[1]);
                assert_int_equal(rows[i].captures ? (ssize_t)r.out_len
                                                  : read(sink[0], got, sizeof got),
                                 rows[i].budget);
                assert_int_equal(r.outcome.stdout_bytes, 10000);
                assert_int_equal(r.outcome.dropped_bytes, 10000 - rows[i].budget);
                (void)close(sink[0]);
                run_result_fini(&r);
        }
}

static void
a_reader_that_is_gone_ends_nothing(void **state)
{
        const struct fake_script script = { .how = { .exit_code = 5 },
                                            .out = "0123456789",
                                            .out_times = 100 };
        struct run_options o = options();
        struct run_result r;
        struct error e;
        int sink[2];

        (void)state;
        assert_int_equal(pipe2(sink, O_CLOEXEC), 0);
        (void)close(sink[0]);
        o.captures = false;
        o.out = o.err = sink[1];
        fake_play(&script);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        assert_int_equal(r.outcome.word, OUTCOME_EXITED);
        assert_int_equal(r.outcome.exit_code, 5);
        (void)close(sink[1]);
        run_result_fini(&r);
}

static void
the_caller_finds_its_signals_as_they_were(void **state)
{
        const struct fake_script script = { .end = FAKE_ENDS };
        struct run_options o = options();
        struct sigaction pipe_after;
        sigset_t before, after;
        struct run_result r;
        struct error e;

        (void)state;
        assert_int_equal(sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL), 0);
        assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &before), 0);
        fake_play(&script);
        assert_int_equal(sandbox_run(&o, &r, &e), 0);
        run_result_fini(&r);
        assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &after), 0);
        for (int number = 1; number < 32; number++)
                assert_int_equal(sigismember(&before, number), sigismember(&after, number));
        assert_int_equal(sigaction(SIGPIPE, NULL, &pipe_after), 0);
        assert_true(pipe_after.sa_handler == SIG_DFL);
}

int
main(void)
{
        record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        if (record == MAP_FAILED)
                return 1;

        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_end_has_its_one_word),
                cmocka_unit_test(signals_reach_the_command),
                cmocka_unit_test(the_box_gets_the_limits),
                cmocka_unit_test(a_command_that_never_ran_has_a_reason),
                cmocka_unit_test(refuses_what_no_box_could_receive),
                cmocka_unit_test(output_is_drained_after_the_end),
                cmocka_unit_test(the_budget_holds_and_counts),
                cmocka_unit_test(a_reader_that_is_gone_ends_nothing),
                cmocka_unit_test(the_caller_finds_its_signals_as_they_were),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
