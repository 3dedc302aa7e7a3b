/*
 * recorder/owner_test.c - what recorder/owner.h promises: an entry that no log can take holds up no
 * other one, and the log says that it is missing.
 */
#include "audit/log.h"
#include "base/unit.h"
#include "base/unit_directory.h"
#include "clock/clock.h"
#include "recorder/owner.h"
#include "recorder/retention.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64];
static struct owners *owners;
static uint32_t answered; /* code of the last answer */
static struct error error;

static void
note_answer(const struct recorder_done *done, const struct error *e)
{
        assert_int_equal(done->answer.code, e->code);
        answered = done->answer.code;
}

static void
note_open(const struct recorder_open *open)
{
        (void)open;
}

static unsigned kept_count;

static void
note_kept(const struct recorder_exec *of)
{
        kept_count++;
        assert_string_equal(of->sandbox, "sb-1");
}

static int
set_up(void **state)
{
        static const struct owner_reports reports = { note_answer, note_open, note_kept };

        (void)state;
        answered = UINT32_MAX;
        if (unit_directory_make(directory, "owner", false) < 0 || chdir(directory) < 0)
                return -1;
        owners = owners_new(directory, 0, &reports);
        return owners ? 0 : -1;
}

static int
tear_down(void **state)
{
        (void)state;
        owners_free(owners);
        return unit_directory_remove(directory);
}

static void
add(const char *owner, enum recorder_what what, const char *action, const char *input,
    const char *output)
{
        static unsigned char entry[sizeof(struct recorder_entry) + 3 * RECORDER_JSON_MAX];
        const struct audit_event event = { action, "uid:1000", "operator", "sandbox",
                                           "sb-1", input,      output };
        struct recorder_entry head = { .of = { .sandbox = "sb-1", .exec = 1 }, .what = what };
        size_t len = recorder_event_write(&event, entry + sizeof head, sizeof entry - sizeof head);

        assert_true(len > 0);
        (void)snprintf(head.of.owner, sizeof head.of.owner, "%s", owner);
        memcpy(entry, &head, sizeof head);
        assert_true(owners_add(owners, entry, sizeof head + len, NULL, 0));
}

static bool
note_action(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        char *actions = ctx;
        size_t used = strlen(actions);
        const struct node *count = node_find(node_find(entry->root, "output"), "count");

        (void)line;
        (void)len;
        (void)snprintf(actions + used, 512 - used, "%s%s", used > 0 ? " " : "", entry->action);
        used = strlen(actions);
        if (count)
                (void)snprintf(actions + used, 512 - used, "=%lld", (long long)count->integer);
        return true;
}

/* The actions in a log, each with its count. */
static const char *
actions(const char *owner)
{
        static char text[512];
        struct audit_log log;

        text[0] = '\0';
        assert_int_equal(audit_log_open(&log, owner, false, &error), 0);
        assert_int_equal(audit_log_read(&log, 0, note_action, text, &error), 0);
        audit_log_close(&log);
        return text;
}

/* An object with a list of `count` numbers, and in it one of `depth` levels. */
static const char *
many(size_t count, size_t depth)
{
        static char texts[2][RECORDER_JSON_MAX];
        char *text = texts[depth > 0];
        size_t at = (size_t)snprintf(text, RECORDER_JSON_MAX, "{\"a\":[1");

        for (size_t i = 1; i < count; i++)
                at += (size_t)snprintf(text + at, RECORDER_JSON_MAX - at, ",1");
        for (size_t i = 0; i < depth; i++)
                at += (size_t)snprintf(text + at, RECORDER_JSON_MAX - at, i == 0 ? ",[" : "[");
        for (size_t i = 0; i < depth; i++)
                at += (size_t)snprintf(text + at, RECORDER_JSON_MAX - at, "]");
        (void)snprintf(text + at, RECORDER_JSON_MAX - at, "]}");
        return text;
}

static const struct unfit {
        const char *input, *output;
        size_t values, levels; /* instead of them, if not 0 */
} unfit[] = {
        { .input = "{" },
        { .output = "no JSON" },
        { .input = "[]" },
        { .output = "\"text\"" },
        { .input = "{} {}" },
        { .input = "{\"a\":1,\"a\":2}" },
        { .output = "{\"a\":\"\\u0000\"}" },
        { .input = "{\"a\":\"\xff\"}" },
        { .input = "{\"a\":1e999}" },
        { .output = "{\"a\":9007199254740993}" },
        { .input = "{\"a\":\"--password=hunter2hunter2\",\"b\":1e999}" },
        { .levels = 64 },
        { .values = 40000 },
};

enum { CASES = sizeof unfit / sizeof unfit[0] };

static void
add_unfit(const char *owner, enum recorder_what what, const char *action, const struct unfit *u)
{
        const char *input = u->input, *output = u->output;

        if (u->values + u->levels > 0)
                input = output = many(u->values, u->levels);
        add(owner, what, action, input, output);
}

static void
an_event_that_no_log_can_take_is_counted(void **state)
{
        char owner[16];

        (void)state;
        for (size_t i = 0; i < CASES; i++) {
                (void)snprintf(owner, sizeof owner, "event-%zu", i);
                add(owner, RECORDER_EVENT, "file.read", "{}", NULL);
                add_unfit(owner, RECORDER_EVENT, "file.read", &unfit[i]);
                add(owner, RECORDER_EVENT, "file.written", "{}", NULL);
                (void)owners_flush(owners, OWNER_ENDS_MS);
                assert_string_equal(actions(owner),
                                    "log.initialized file.read events.missed=1 file.written");
        }
}

/* Nothing comes behind it. */
static void
the_last_event_is_counted_at_once(void **state)
{
        (void)state;
        add("ann", RECORDER_EVENT, "file.read", "{", NULL);
        (void)owners_flush(owners, OWNER_ENDS_MS);
        assert_string_equal(actions("ann"), "log.initialized events.missed=1");
}

static void
a_start_that_no_log_can_take_is_refused(void **state)
{
        char owner[16];

        (void)state;
        for (size_t i = 0; i < CASES; i++) {
                (void)snprintf(owner, sizeof owner, "start-%zu", i);
                add_unfit(owner, RECORDER_START, "exec.started", &unfit[i]);
                add(owner, RECORDER_EVENT, "file.read", "{}", NULL);
                answered = ERROR_NONE;
                (void)owners_flush(owners, OWNER_ENDS_MS);
                assert_true(answered == ERROR_INVALID_ARGUMENT ||
                            answered == ERROR_REQUEST_TOO_LARGE);
                assert_string_equal(actions(owner), "log.initialized file.read");
        }
}

/* What it said cannot be recorded; that the command has ended can. */
static void
an_end_that_no_log_can_take_is_lost(void **state)
{
        (void)state;
        add("ann", RECORDER_START, "exec.started", "{\"exec\":1}", NULL);
        (void)owners_flush(owners, OWNER_ENDS_MS);
        assert_int_equal(answered, ERROR_NONE);
        add("ann", RECORDER_END, "exec.ended", NULL, "{");
        add("ann", RECORDER_EVENT, "file.read", "{}", NULL);
        (void)owners_flush(owners, 2 * OWNER_ENDS_MS);
        assert_string_equal(actions("ann"),
                            "log.initialized exec.started events.missed=1 file.read exec.ended");
}

/* Three files of one log, each with one entry of `len` bytes or more. */
static void
fill_files(const char *owner, size_t len)
{
        static char input[RETENTION_STEP + 64];
        const struct audit_event event = { "file.read", "uid:1000", "operator", "sandbox",
                                           "sb-1",      input,      NULL };
        uint64_t seq, begin;
        char chain[AUDIT_ID_TEXT];
        struct audit_log log;
        char path[128];

        (void)snprintf(input, sizeof input, "{\"a\":\"%0*d\"}", (int)len, 0);
        (void)snprintf(path, sizeof path, "%s/%s", directory, owner);
        assert_int_equal(audit_log_open(&log, path, true, &error), 0);
        log.file_max = 1;
        for (int i = 0; i < 3; i++)
                assert_int_equal(audit_log_append(&log, &event, 1, &seq, chain, &error), 0);
        audit_log_close(&log);
        /* older than the retention of 1 ms */
        begin = clock_wall_ms();
        while (clock_wall_ms() <= begin + 3)
                continue;
}

static size_t
count_files(const char *owner)
{
        DIR *list = opendir(owner);
        const struct dirent *entry;
        size_t count = 0;

        assert_non_null(list);
        while ((entry = readdir(list)))
                count += strncmp(entry->d_name, "log-", 4) == 0;
        (void)closedir(list);
        return count;
}

static void
load_with_retention(void)
{
        static const struct owner_reports reports = { note_answer, note_open, note_kept };

        owners = owners_new(directory, 1, &reports);
        assert_non_null(owners);
        owners_load(owners);
}

/* All steps of the retention. */
static uint64_t
flush_all(uint64_t now_ms)
{
        uint64_t next_ms;

        do
                next_ms = owners_flush(owners, now_ms);
        while (next_ms <= now_ms);
        return next_ms;
}

/* At the start, and a day after that by the boot clock, which the test moves; not in between. */
static void
retention_is_applied_once_a_day(void **state)
{
        const uint64_t start = 5000, day = 24ull * 3600 * 1000;
        size_t before;

        (void)state;
        owners_free(owners);
        fill_files("ann", 1);
        load_with_retention();
        before = count_files("ann");
        assert_int_equal(flush_all(start), start + day);
        assert_true(count_files("ann") < before);
        fill_files("ann", 1);
        before = count_files("ann");
        assert_int_equal(flush_all(start + day - 1), start + day);
        assert_int_equal(count_files("ann"), before);
        (void)flush_all(start + day);
        assert_true(count_files("ann") < before);
        assert_int_equal(flush_all(start + day + 1), start + 2 * day);
}

static uint64_t
verified_entries(const char *owner)
{
        struct audit_verdict verdict;
        struct audit_log log;

        assert_int_equal(audit_log_open(&log, owner, false, &error), 0);
        assert_int_equal(audit_log_verify(&log, NULL, true, &verdict, &error), 0);
        audit_log_close(&log);
        return verdict.head.next;
}

/* A start is answered between any two steps of the verification, for this owner and another. */
static void
entries_go_on_during_retention(void **state)
{
        const uint64_t now_ms = 5000;
        size_t before, steps = 0;

        (void)state;
        owners_free(owners);
        fill_files("ann", RETENTION_STEP);
        load_with_retention();
        before = count_files("ann");
        do {
                assert_int_equal(count_files("ann"), before);
                answered = UINT32_MAX;
                add(steps % 2 ? "ann" : "eve", RECORDER_START, "exec.started", "{}", NULL);
                if (owners_flush(owners, now_ms) > now_ms)
                        break;
                assert_int_equal(answered, ERROR_NONE);
        } while (++steps < 100 && count_files("ann") == before);
        assert_true(steps > 3 && steps < 100);
        (void)flush_all(now_ms);
        assert_true(count_files("ann") < before);
        assert_true(verified_entries("ann") > 4);
        assert_non_null(strstr(actions("ann"), "log.pruned"));
}

/* What was verified is removed, and a change behind it keeps every file. */
static void
retention_finds_a_change_that_it_has_not_reached(void **state)
{
        const uint64_t now_ms = 5000;
        size_t before;
        FILE *file;

        (void)state;
        owners_free(owners);
        fill_files("ann", RETENTION_STEP);
        load_with_retention();
        before = count_files("ann");
        for (int i = 0; i < 3; i++)
                assert_int_equal(owners_flush(owners, now_ms), now_ms);
        file = fopen("ann/log-000000000003.jsonl", "r+");
        assert_non_null(file);
        assert_int_equal(fseek(file, 100, SEEK_SET), 0);
        assert_int_not_equal(fputc('#', file), EOF);
        assert_int_equal(fclose(file), 0);
        (void)flush_all(now_ms);
        assert_int_equal(count_files("ann"), before);
}

/* A recorder that ends meanwhile has removed nothing, and the next one begins again. */
static void
retention_begins_again_after_a_restart(void **state)
{
        const uint64_t now_ms = 5000;
        size_t before;

        (void)state;
        owners_free(owners);
        fill_files("ann", RETENTION_STEP);
        load_with_retention();
        before = count_files("ann");
        for (int i = 0; i < 3; i++)
                assert_int_equal(owners_flush(owners, now_ms), now_ms);
        owners_free(owners);
        assert_int_equal(count_files("ann"), before);
        load_with_retention();
        (void)flush_all(now_ms);
        assert_true(count_files("ann") < before);
        assert_true(verified_entries("ann") > 4);
}

/* A sync of its own would make the start of the next command wait. */
static void
an_execution_waits_for_another_entry(void **state)
{
        static const struct {
                const char *what, *action;
                uint64_t after_ms;
                bool is_written;
        } cases[] = {
                { "at once", "process.executed", 0, false },
                { "after a moment", "process.executed", OWNER_ENDS_MS, true },
                { "at once", "file.changed", 0, false },
                { "another event", "file.read", 0, true },
        };
        char owner[16];

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const uint64_t now_ms = 10 * OWNER_ENDS_MS;
                const char *found;

                (void)snprintf(owner, sizeof owner, "late-%zu", i);
                add(owner, RECORDER_EVENT, "file.read", "{}", NULL);
                (void)owners_flush(owners, now_ms);
                add(owner, RECORDER_EVENT, cases[i].action, "{}", NULL);
                (void)owners_flush(owners, now_ms);
                (void)owners_flush(owners, now_ms + cases[i].after_ms);
                found = strstr(actions(owner), "file.read") + strlen("file.read");
                if ((found[0] != '\0') != cases[i].is_written)
                        fail_msg("%s: %s", cases[i].what, actions(owner));
        }
        add(owner, RECORDER_EVENT, "process.executed", "{}", NULL);
        add(owner, RECORDER_START, "exec.started", "{\"exec\":1}", NULL);
        (void)owners_flush(owners, 10 * OWNER_ENDS_MS);
        assert_non_null(strstr(actions(owner), "process.executed exec.started"));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_event_that_no_log_can_take_is_counted, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(the_last_event_is_counted_at_once, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_start_that_no_log_can_take_is_refused, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_end_that_no_log_can_take_is_lost, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(retention_is_applied_once_a_day, set_up, tear_down),
                cmocka_unit_test_setup_teardown(entries_go_on_during_retention, set_up, tear_down),
                cmocka_unit_test_setup_teardown(retention_finds_a_change_that_it_has_not_reached,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(retention_begins_again_after_a_restart, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_execution_waits_for_another_entry, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
