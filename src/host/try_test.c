/*
 * host/try_test.c - what host/try.h promises: time limits, killed attempts, and the verdict from
 * all results.
 */
#include "base/unit.h"
#include "host/facts.h"
#include "host/try.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum attempt_result
hangs(struct attempt *a)
{
        for (;;)
                (void)pause();
        return attempt_works(a, "never");
}

static enum attempt_result
dies(struct attempt *a)
{
        (void)raise(SIGKILL);
        return attempt_works(a, "never");
}

static enum attempt_result
leaves(struct attempt *a)
{
        _exit(0);
        return attempt_works(a, "never");
}

static enum attempt_result
works(struct attempt *a)
{
        return attempt_works(a, "as told");
}

static enum attempt_result
fails_with_a_better_command(struct attempt *a)
{
        (void)snprintf(a->mend, sizeof a->mend, "better");
        return attempt_fails(a, 1, "opening");
}

static void
counts_silence_as_failure(void **state)
{
        static const struct {
                struct host_try row;
                enum attempt_result result;
                const char *detail, *mend;
        } cases[] = {
                { { "hangs", "", hangs, "row", false },
                  ATTEMPT_FAILS,
                  "no answer before the deadline",
                  "row" },
                { { "dies", "", dies, "row", false },
                  ATTEMPT_FAILS,
                  "the attempt was killed by signal 9",
                  "row" },
                { { "leaves", "", leaves, "row", false },
                  ATTEMPT_FAILS,
                  "the attempt ended without an answer",
                  "row" },
                { { "works", "", works, "row", false }, ATTEMPT_WORKS, "as told", "" },
                { { "fails", "", fails_with_a_better_command, "row", false },
                  ATTEMPT_FAILS,
                  "opening: Operation not permitted",
                  "better" },
        };
        struct host_facts facts = { .kernel = "6.1" };
        struct host_try_result r;
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                assert_int_equal(host_try_one(&facts, &cases[i].row, 150, &r, &e), 0);
                assert_int_equal(r.result, cases[i].result);
                assert_string_equal(r.detail, cases[i].detail);
                assert_string_equal(r.mend, cases[i].mend);
        }
}

static void
draws_the_line(void **state)
{
        static const struct host_try need_t1 = { "wall", "", works, "", false };
        static const struct host_try need_limit = { "limit", "", works, "", false };
        static const struct host_try need_extra = { "extra", "", works, "", false };
        static const struct {
                enum attempt_result t1, limit, extra;
                bool has_tier;
                const char *why;
        } cases[] = {
                { ATTEMPT_WORKS, ATTEMPT_WORKS, ATTEMPT_WORKS, true,
                  "enforceable, with every limit" },
                { ATTEMPT_WORKS, ATTEMPT_WORKS, ATTEMPT_FAILS, true,
                  "enforceable, with every limit" },
                { ATTEMPT_WORKS, ATTEMPT_IDLE, ATTEMPT_IDLE, true,
                  "enforceable, with every limit" },
                { ATTEMPT_WORKS, ATTEMPT_FAILS, ATTEMPT_WORKS, true,
                  "enforceable; will only warn: limit" },
                { ATTEMPT_FAILS, ATTEMPT_FAILS, ATTEMPT_WORKS, false,
                  "refused, because this fails: wall" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct host_report report = { .count = 3 };

                report.results[0] =
                        (struct host_try_result){ .row = &need_t1, .result = cases[i].t1 };
                report.results[1] = (struct host_try_result){ &need_limit, PROVIDER_NEED_LIMIT,
                                                              cases[i].limit, "", "" };
                report.results[2] = (struct host_try_result){ &need_extra, PROVIDER_NEED_EXTRA,
                                                              cases[i].extra, "", "" };
                host_report_judge(&report);
                assert_int_equal(report.has_tier, cases[i].has_tier);
                assert_string_equal(report.why, cases[i].why);
        }
}

/* Every row has a name for programs, a purpose for people, and a fix for both. */
static void
every_row_has_a_fix(void **state)
{
        static struct host_report report;
        struct host_facts facts;
        struct error e;

        (void)state;
        assert_int_equal(host_facts_read(&facts, &e), 0);
        assert_int_equal(host_try_all(&facts, provider_find(PROVIDER_STANDARD), NULL, &report, &e),
                         0);
        assert_int_equal(report.count, 32); /* every row of host/try.c */
        for (size_t i = 0; i < report.count; i++) {
                const struct host_try_result *r = &report.results[i];

                assert_true(r->row->name[0] && r->row->what_for[0] && strlen(r->row->mend) > 8);
                assert_true(r->detail[0] != '\0');
                assert_int_equal(r->result == ATTEMPT_FAILS, r->mend[0] != '\0');
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(r->row->name, report.results[k].row->name);
                if (r->result == ATTEMPT_FAILS)
                        print_message("# %s: %s\n", r->row->name, r->detail);
        }
}

static void
a_mechanism_that_no_row_has_is_an_error(void **state)
{
        static const char *const names[] = { "seccomp", "witchcraft", NULL };
        static struct host_report report;
        const struct provider p = { .id = "of-tomorrow", .tier = "T3", .tries = { names } };
        struct host_facts facts;
        struct error e;

        (void)state;
        assert_int_equal(host_facts_read(&facts, &e), 0);
        assert_int_equal(host_try_all(&facts, &p, NULL, &report, &e), -1);
        assert_int_equal(e.code, ERROR_INTERNAL);
        assert_non_null(strstr(e.message, "witchcraft"));
        assert_non_null(strstr(e.message, "of-tomorrow"));
}

/* Shared with the child, which is killed before it can report. */
static char *left_group;

static enum attempt_result
leaves_a_group(struct attempt *a)
{
        (void)snprintf(left_group, FACTS_PATH_MAX + 64, "%s/carrel-doctor-%d",
                       a->facts->cgroup.place[CGROUP_PIDS].parent, (int)getpid());
        return mkdir(left_group, 0755) < 0 ? attempt_fails(a, 0, "no group") : hangs(a);
}

static void
collects_what_a_killed_attempt_left(void **state)
{
        static const struct host_try row = { "leaves", "", leaves_a_group, "row", false };
        struct host_facts facts;
        struct host_try_result r;
        struct error e;

        (void)state;
        assert_int_equal(host_facts_read(&facts, &e), 0);
        if (facts.cgroup.place[CGROUP_PIDS].version == 0)
                skip();
        left_group = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(left_group, MAP_FAILED);
        assert_int_equal(host_try_one(&facts, &row, 150, &r, &e), 0);
        assert_string_equal(r.detail, "no answer before the deadline");
        assert_int_equal(left_group[0], '/');
        assert_int_equal(access(left_group, F_OK), -1);
        (void)munmap(left_group, 4096);
}

static void
writes_a_profile_for_one_program(void **state)
{
        static const struct {
                const char *program, *expected;
        } cases[] = {
                { "/usr/bin/carrel",
                  "profile carrel \"/usr/bin/carrel\" flags=(unconfined) {\n  userns,\n}" },
                { "/home/me/my tools/c*", "profile carrel \"/home/me/my tools/c\\*\" flags=" },
                { "/a\"b{c}", "profile carrel \"/a\\\"b\\{c\\}\" flags=" },
                { "/it's", NULL },
                { "/line\nend", NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct attempt a = { .mend = "" };

                attempt_apparmor_mend(&a, cases[i].program);
                if (cases[i].expected)
                        assert_non_null(strstr(a.mend, cases[i].expected));
                else
                        assert_string_equal(a.mend, "");
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(counts_silence_as_failure),
                cmocka_unit_test(draws_the_line),
                cmocka_unit_test(every_row_has_a_fix),
                cmocka_unit_test(a_mechanism_that_no_row_has_is_an_error),
                cmocka_unit_test(collects_what_a_killed_attempt_left),
                cmocka_unit_test(writes_a_profile_for_one_program),
        };

        return cmocka_run_group_tests_name("host/try", tests, NULL, NULL);
}
