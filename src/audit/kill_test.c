/*
 * audit/kill_test.c - a writer is killed at each system call of an append, of the beginning of a
 * file, of a first entry and of a new key: the log goes on, with everything that was answered (J10,
 * N6).
 *
 * slow: 35 s: with sanitizers, as it verifies a log for each system call
 */
#include "audit/log.h"
#include "base/unit.h"
#include "base/unit_directory.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 2000, SMALL_FILE = 3000 };

static char directory[64];
static struct audit_log here;
static struct error error;
static uint64_t *answered; /* entries that the writer knows to be there; shared with it */

static const struct audit_event event = { .action = "exec.started",
                                          .actor_id = "uid:1000",
                                          .actor_role = "operator",
                                          .subject_kind = "sandbox",
                                          .subject_ref = "sb-1",
                                          .input = "{\"argv\":[\"true\"]}" };

static void
remove_log(void)
{
        const struct dirent *entry;
        DIR *list = opendir(directory);

        while (list && (entry = readdir(list)))
                (void)unlinkat(dirfd(list), entry->d_name, 0);
        if (list)
                (void)closedir(list);
}

static int
open_log(struct audit_log *log)
{
        int result = audit_log_open(log, directory, true, &error);

        log->file_max = SMALL_FILE;
        return result;
}

static int
append(struct audit_log *log, size_t count)
{
        char chain[AUDIT_ID_TEXT];
        uint64_t seq;

        for (size_t i = 0; i < count; i++) {
                if (audit_log_append(log, &event, 1, &seq, chain, &error) < 0)
                        return -1;
                *answered = seq + 1;
        }
        return 0;
}

/* One append into the file that is there. */
static int
one_entry(struct audit_log *log)
{
        return append(log, 1);
}

/* Enough of them that another file begins. */
static int
another_file(struct audit_log *log)
{
        return append(log, 3);
}

static int
another_key(struct audit_log *log)
{
        return audit_log_rotate_key(log, "uid:1000", &error) < 0 ? -1 : append(log, 1);
}

static void
write_until_killed(int (*work)(struct audit_log *log))
{
        struct audit_log own;

        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                _exit(2);
        (void)raise(SIGSTOP);
        _exit(open_log(&own) == 0 && work(&own) == 0 ? 0 : 1);
}

/* Kills the writer before its system call number `when`. False: it ended before. */
static bool
killed_at(int (*work)(struct audit_log *log), int when)
{
        pid_t child = fork();
        int status = 0;

        if (child == 0)
                write_until_killed(work);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSTOPPED(status));
        /* each call stops it twice */
        for (int i = 0; i < 2 * when - 1; i++) {
                assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
                assert_int_equal(waitpid(child, &status, 0), child);
                if (WIFEXITED(status)) {
                        assert_int_equal(WEXITSTATUS(status), 0);
                        return false;
                }
        }
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        return true;
}

static void
must_go_on(int when)
{
        struct audit_verdict verdict;
        uint64_t known = *answered;

        if (open_log(&here) < 0 || append(&here, 2) < 0)
                fail_msg("killed at %d: %s", when, error.message);
        if (audit_log_verify(&here, NULL, true, &verdict, &error) < 0)
                fail_msg("killed at %d: %s", when, error.message);
        if (verdict.head.next < known + 2 || verdict.torn > 0)
                fail_msg("killed at %d: %llu entries after %llu", when,
                         (unsigned long long)verdict.head.next, (unsigned long long)known);
        audit_log_close(&here);
}

/* `before`: entries that are there already. */
static void
sweep(size_t before, int (*work)(struct audit_log *log))
{
        int when = 1;

        for (bool is_killed = true; is_killed && when < CALLS_MAX; when++) {
                remove_log();
                *answered = 0;
                assert_int_equal(open_log(&here), 0);
                assert_int_equal(append(&here, before), 0);
                audit_log_close(&here);
                is_killed = killed_at(work, when);
                must_go_on(when);
        }
        assert_true(when > 20 && when < CALLS_MAX);
        print_message("# %d places\n", when - 1);
}

static void
in_the_first_entry(void **state)
{
        (void)state;
        sweep(0, one_entry);
}

static void
in_an_entry(void **state)
{
        (void)state;
        sweep(1, one_entry);
}

static void
in_another_file(void **state)
{
        (void)state;
        sweep(3, another_file);
}

static void
in_another_key(void **state)
{
        (void)state;
        sweep(1, another_key);
}

static int
set_up(void **state)
{
        (void)state;
        /* memory: a killed process leaves the same there as on a disk */
        answered = mmap(NULL, sizeof *answered, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
        return answered == MAP_FAILED ? -1 : unit_directory_make(directory, "kill", true);
}

static int
tear_down(void **state)
{
        (void)state;
        return unit_directory_remove(directory);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(in_the_first_entry),
                cmocka_unit_test(in_an_entry),
                cmocka_unit_test(in_another_file),
                cmocka_unit_test(in_another_key),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
