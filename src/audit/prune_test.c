/*
 * audit/prune_test.c - old files are removed whole, the rest verifies, and a log that begins
 * elsewhere does not (L5).
 *
 * slow: 40 s: with sanitizers, as it verifies every log that it leaves
 */
#include "audit/files.h"
#include "audit/prune.h"
#include "audit/retain.h"
#include "base/unit.h"
#include "base/unit_directory.h"
#include "clock/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 2000, SMALL_FILE = 1200 };

static char directory[64];
static struct audit_log here;
static struct error error;

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
set_up(void **state)
{
        (void)state;
        return unit_directory_make(directory, "prune", true);
}

static int
tear_down(void **state)
{
        (void)state;
        audit_log_close(&here);
        return unit_directory_remove(directory);
}

/* A log of several files. */
static void
fill(size_t count)
{
        char chain[AUDIT_ID_TEXT];
        uint64_t seq;

        assert_int_equal(audit_log_open(&here, directory, true, &error), 0);
        here.file_max = SMALL_FILE;
        for (size_t i = 0; i < count; i++)
                assert_int_equal(audit_log_append(&here, &event, 1, &seq, chain, &error), 0);
}

static const char *
verify(struct audit_verdict *verdict)
{
        error = (struct error){ 0 };
        return audit_log_verify(&here, NULL, true, verdict, &error) == 0 ? "" : error.reason;
}

static uint64_t
file_number(size_t index)
{
        struct audit_file_list list;
        uint64_t result;

        assert_int_equal(audit_file_list(here.dir, &list, &error), 0);
        assert_true(index < list.count);
        result = list.first[index];
        audit_file_list_fini(&list);
        return result;
}

static void
remove_file(uint64_t first)
{
        char name[AUDIT_FILE_NAME_MAX];

        audit_file_name(first, name);
        assert_int_equal(unlinkat(here.dir, name, 0), 0);
}

static int
prune(struct audit_pruned *ret)
{
        return audit_log_prune(&here, clock_wall_ms() + 1000, "uid:1000", ret, &error);
}

static void
removes_old_files(void **state)
{
        struct audit_verdict verdict;
        struct audit_pruned pruned;

        (void)state;
        fill(10);
        assert_int_equal(audit_log_prune(&here, 1000, "uid:1000", &pruned, &error), 0);
        assert_int_equal(pruned.files, 0);
        assert_string_equal(verify(&verdict), "");
        assert_int_equal(verdict.head.next, 11);
        assert_int_equal(prune(&pruned), 0);
        assert_true(pruned.files > 1);
        assert_string_equal(verify(&verdict), "");
        assert_int_equal(verdict.begin, pruned.last + 1);
        assert_int_equal(verdict.begin, file_number(0));
        assert_int_equal(verdict.head.next, 12);
        audit_log_close(&here);
        /* a second time: the first log.pruned goes as well */
        fill(6);
        assert_int_equal(prune(&pruned), 0);
        assert_int_equal(pruned.first, verdict.begin);
        assert_true(pruned.last >= 11);
        assert_string_equal(verify(&verdict), "");
}

static void
refuses_another_beginning(void **state)
{
        struct audit_verdict verdict;
        struct audit_pruned pruned;

        (void)state;
        fill(10);
        remove_file(0);
        assert_string_equal(verify(&verdict), "chain.seq_gap");
        assert_int_equal(verdict.at, 0);
        /* and such a log is not pruned, which would permit it */
        assert_int_equal(prune(&pruned), -1);
        assert_string_equal(error.reason, "chain.seq_gap");
        audit_log_close(&here);
        remove_log();
        fill(10);
        assert_int_equal(prune(&pruned), 0);
        audit_log_close(&here);
        fill(6);
        assert_string_equal(verify(&verdict), "");
        remove_file(file_number(0));
        assert_string_equal(verify(&verdict), "chain.seq_gap");
}

/* An entry of the log's own key, but about another end of what was removed. */
static void
refuses_another_hash(void **state)
{
        struct audit_verdict verdict;
        char chain[AUDIT_ID_TEXT], input[200];
        struct audit_event forged = event;
        uint64_t seq, first;

        (void)state;
        fill(10);
        remove_file(0);
        first = file_number(0);
        forged.action = "log.pruned";
        forged.input = input;
        (void)snprintf(input, sizeof input, "{\"first\":%llu,\"prevHash\":\"%064d\"}",
                       (unsigned long long)first, 1);
        assert_int_equal(audit_log_append(&here, &forged, 1, &seq, chain, &error), 0);
        assert_string_equal(verify(&verdict), "chain.broken");
        assert_int_equal(verdict.begin, first);
}

/* `carrel audit prune`, or the automatic retention. */
static bool is_automatic;

static int
apply(struct audit_pruned *ret)
{
        if (!is_automatic)
                return prune(ret);
        return audit_log_retain(&here, 1000, clock_wall_ms() + 2000, ret, &error);
}

/* Kills the call before its system call number `when`. False: it ended before. */
static bool
killed_at(int when)
{
        pid_t child = fork();
        int status = 0;

        if (child == 0) {
                struct audit_pruned pruned;

                audit_log_close(&here);
                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                        _exit(2);
                (void)raise(SIGSTOP);
                _exit(audit_log_open(&here, directory, false, &error) == 0 && apply(&pruned) == 0
                              ? 0
                              : 1);
        }
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
        return true;
}

/* -- while it is read -------------------------------------------------------------------------- */

struct reading {
        uint64_t seen, next;
        bool is_pruned;
};

/* Everything old is removed while the first file is read. */
static bool
prune_now(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct reading *r = ctx;
        struct audit_log other;
        struct audit_pruned pruned;
        struct error e;

        (void)line;
        (void)len;
        assert_true(entry->seq >= r->next);
        r->next = entry->seq + 1;
        r->seen++;
        if (r->is_pruned)
                return true;
        r->is_pruned = true;
        assert_int_equal(audit_log_open(&other, directory, false, &e), 0);
        assert_int_equal(audit_log_prune(&other, clock_wall_ms() + 1000, "uid:1000", &pruned, &e),
                         0);
        assert_true(pruned.files > 1);
        audit_log_close(&other);
        return true;
}

static void
is_read_while_it_is_pruned(void **state)
{
        struct reading r = { 0 };

        (void)state;
        fill(10);
        assert_int_equal(audit_log_read(&here, 0, prune_now, &r, &error), 0);
        /* to the entry log.pruned, which is the last one */
        assert_int_equal(r.next, 12);
        assert_true(r.seen > 1 && r.seen < 12);
}

/* Another process prunes, again and again. */
static void
is_verified_while_it_is_pruned(void **state)
{
        struct audit_verdict verdict;
        int status = 0, count = 0;
        pid_t child;

        (void)state;
        fill(3);
        child = fork();
        if (child == 0) {
                struct audit_pruned pruned;

                audit_log_close(&here);
                for (int i = 0; i < 60; i++) {
                        fill(4);
                        if (prune(&pruned) < 0)
                                _exit(1);
                        audit_log_close(&here);
                }
                _exit(0);
        }
        for (; waitpid(child, &status, WNOHANG) == 0; count++)
                if (strcmp(verify(&verdict), "") != 0)
                        fail_msg("after %d: %s", count, error.message);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_true(count > 0);
}

/* -- retention --------------------------------------------------------------------------------- */

enum { DAY = 24 * 3600 * 1000 };

static bool
keep_last(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        (void)len;
        (void)line;
        (void)snprintf(ctx, AUDIT_LINE_MAX, "%s", entry->action);
        return true;
}

static const char *
last_action(void)
{
        static char action[AUDIT_LINE_MAX];

        assert_int_equal(audit_log_read(&here, 0, keep_last, action, &error), 0);
        return action;
}

static void
keeps_what_is_young(void **state)
{
        uint64_t now = clock_wall_ms();
        struct audit_verdict verdict;
        struct audit_pruned pruned;

        (void)state;
        fill(10);
        assert_true(here.has_begun_file);
        assert_int_equal(audit_log_retain(&here, 0, now + 99ull * DAY, &pruned, &error), 0);
        assert_int_equal(pruned.files, 0);
        assert_false(here.has_begun_file);
        assert_int_equal(audit_log_retain(&here, 30ull * DAY, now + 29ull * DAY, &pruned, &error),
                         0);
        assert_int_equal(pruned.files, 0);
        assert_string_equal(last_action(), "exec.started");
        assert_int_equal(audit_log_retain(&here, 30ull * DAY, now + 31ull * DAY, &pruned, &error),
                         0);
        assert_true(pruned.files > 1);
        assert_string_equal(last_action(), "log.pruned");
        assert_string_equal(verify(&verdict), "");
}

static void
keeps_what_does_not_verify(void **state)
{
        uint64_t now = clock_wall_ms();
        struct audit_file_list list;
        struct audit_pruned pruned;
        size_t count;

        (void)state;
        fill(10);
        remove_file(file_number(1));
        assert_int_equal(audit_file_list(here.dir, &list, &error), 0);
        count = list.count;
        audit_file_list_fini(&list);
        assert_int_equal(audit_log_retain(&here, 30ull * DAY, now + 31ull * DAY, &pruned, &error),
                         -1);
        assert_string_equal(error.reason, "chain.seq_gap");
        assert_string_equal(last_action(), "retention.refused");
        assert_int_equal(audit_file_list(here.dir, &list, &error), 0);
        assert_true(list.count >= count && list.first[0] == 0);
        audit_file_list_fini(&list);
}

static void
sweep(void)
{
        struct audit_verdict verdict;
        struct audit_pruned pruned;
        char chain[AUDIT_ID_TEXT];
        uint64_t seq;
        int when = 1;

        for (bool is_killed = true; is_killed && when < CALLS_MAX; when++) {
                remove_log();
                fill(6);
                is_killed = killed_at(when);
                /* what a write left goes with the next one */
                assert_int_equal(audit_log_append(&here, &event, 1, &seq, chain, &error), 0);
                if (strcmp(verify(&verdict), "") != 0)
                        fail_msg("killed at %d: %s", when, error.message);
                if (prune(&pruned) < 0 || strcmp(verify(&verdict), "") != 0)
                        fail_msg("killed at %d: %s", when, error.message);
                assert_int_equal(verdict.begin, file_number(0));
                audit_log_close(&here);
        }
        assert_true(when > 20 && when < CALLS_MAX);
        print_message("# %d places\n", when - 1);
}

static void
verifies_if_killed(void **state)
{
        (void)state;
        is_automatic = false;
        sweep();
}

static void
verifies_if_retention_is_killed(void **state)
{
        (void)state;
        is_automatic = true;
        sweep();
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(removes_old_files, set_up, tear_down),
                cmocka_unit_test_setup_teardown(refuses_another_beginning, set_up, tear_down),
                cmocka_unit_test_setup_teardown(refuses_another_hash, set_up, tear_down),
                cmocka_unit_test_setup_teardown(is_read_while_it_is_pruned, set_up, tear_down),
                cmocka_unit_test_setup_teardown(is_verified_while_it_is_pruned, set_up, tear_down),
                cmocka_unit_test_setup_teardown(keeps_what_is_young, set_up, tear_down),
                cmocka_unit_test_setup_teardown(keeps_what_does_not_verify, set_up, tear_down),
                cmocka_unit_test_setup_teardown(verifies_if_killed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(verifies_if_retention_is_killed, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
