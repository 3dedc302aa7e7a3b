/*
 * recorder/handed_test.c - recorder/handed.h: only sealed files are read, each is kept once, and
 * who holds them learns that they are not needed any more.
 */
#include "audit/content.h"
#include "audit/log.h"
#include "base/unit.h"
#include "base/unit_directory.h"
#include "recorder/owner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *owner = "uid:1000";
static uint32_t exec_number = 1;
static bool waits;                     /* the entries are only added */
static char directory[64], last[4096]; /* the last entry */
static struct owners *owners;
static unsigned kept_count;
static uint64_t now_ms = 1000;
static uint32_t answered = UINT32_MAX;
static struct error error;

static void
note_answer(const struct recorder_done *done, const struct error *e)
{
        (void)e;
        answered = done->answer.code;
}

static void
note_open(const struct recorder_open *open)
{
        (void)open;
}

static void
note_kept(const struct recorder_exec *of)
{
        assert_string_equal(of->sandbox, "sb-1");
        kept_count++;
}

static int
set_up(void **state)
{
        static const struct owner_reports reports = { note_answer, note_open, note_kept };

        (void)state;
        kept_count = 0;
        if (unit_directory_make(directory, "handed", false) < 0 || chdir(directory) < 0)
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
add(struct recorder_entry head, const char *action, const char *output, int *fds, size_t count)
{
        static unsigned char entry[sizeof head + 4096];
        const struct audit_event event = { action, owner,          "operator", "sandbox",
                                           "sb-1", "{\"exec\":1}", output };
        size_t len = recorder_event_write(&event, entry + sizeof head, sizeof entry - sizeof head);

        (void)snprintf(head.of.owner, sizeof head.of.owner, "%s", owner);
        (void)snprintf(head.of.sandbox, sizeof head.of.sandbox, "sb-1");
        head.of.exec = exec_number;
        memcpy(entry, &head, sizeof head);
        assert_true(owners_add(owners, entry, sizeof head + len, fds, count));
        for (int i = 0; i < 2 && !waits; i++) /* an end waits for others */
                (void)owners_flush(owners, now_ms += OWNER_ENDS_MS);
}

static void
start(void)
{
        add((struct recorder_entry){ .what = RECORDER_START, .keeps = 1 }, "exec.started", NULL,
            NULL, 0);
        assert_int_equal(answered, 0);
}

static int
file_of(const char *text, int seals)
{
        int fd = memfd_create("content", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
        return fd;
}

/* The end of the command: standard output is `take_fd`, of `bytes`; standard error is empty. */
static void
end(int take_fd, uint64_t bytes)
{
        struct recorder_entry head = {
                .what = RECORDER_END, .keeps = 6, .files = 2, .lengths = { 0, bytes, 0 }
        };

        add(head, "exec.ended", "{\"outcome\":\"exited\"}", &take_fd, 1);
        if (take_fd >= 0)
                (void)close(take_fd);
}

static bool
note_line(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        (void)ctx;
        (void)entry;
        (void)snprintf(last, sizeof last, "%.*s", (int)len, line);
        return true;
}

static const char *
last_entry(void)
{
        struct audit_log log;

        assert_int_equal(audit_log_open(&log, owner, false, &error), 0);
        assert_int_equal(audit_log_read(&log, 0, note_line, NULL, &error), 0);
        audit_log_close(&log);
        return last;
}

#define SHA_OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA_OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const int whole = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

static void
a_sealed_file_is_kept_and_named_in_the_end(void **state)
{
        struct stat st;

        (void)state;
        start();
        end(file_of("abc", whole), 3);
        assert_non_null(strstr(last_entry(),
                               "\"content\":{\"stderr\":{\"bytes\":0,\"sha256\":\"" SHA_OF_NOTHING
                               "\"},\"stdout\":{\"bytes\":3,\"sha256\":\"" SHA_OF_ABC "\"}}"));
        assert_non_null(strstr(last, "\"outcome\":\"exited\""));
        assert_int_equal(stat("uid:1000/content/" SHA_OF_ABC, &st), 0);
        assert_int_equal(st.st_size, 3);
        assert_int_equal(kept_count, 1);
}

/* Its bytes could change while they are read, or reading them could wait. */
static void
a_file_that_is_not_sealed_is_not_read(void **state)
{
        static const int less[] = { 0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_WRITE | F_SEAL_GROW };
        int pair[2];

        (void)state;
        for (size_t i = 0; i < sizeof less / sizeof *less; i++) {
                start();
                end(file_of("abc", less[i]), 3);
                assert_non_null(strstr(last_entry(),
                                       "\"stdout\":{\"bytes\":0,\"sha256\":\"" SHA_OF_NOTHING
                                       "\",\"truncated\":true}"));
        }
        start();
        assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
        end(pair[0], 3); /* would wait for ever */
        assert_non_null(strstr(last_entry(), "\"truncated\":true"));
        (void)close(pair[1]);
}

static void
an_end_without_a_start_keeps_nothing(void **state)
{
        struct stat st;

        (void)state;
        start();
        end(file_of("abc", whole), 3);
        end(file_of("other", whole), 5);
        assert_int_equal(kept_count, 2); /* the box may free both */
        assert_non_null(strstr(last_entry(), SHA_OF_ABC));
        assert_int_equal(stat("uid:1000/content", &st), 0);
        assert_int_equal(st.st_nlink, 2);
}

/* Redacting takes time, so the content of one owner does not hold up the starts of another. */
static void
content_of_one_command_is_kept_in_a_turn(void **state)
{
        (void)state;
        for (exec_number = 1; exec_number <= 3; exec_number++)
                start();
        waits = true;
        for (exec_number = 1; exec_number <= 3; exec_number++)
                end(file_of("abc", whole), 3);
        exec_number = 1;
        owner = "uid:1001";
        answered = UINT32_MAX;
        add((struct recorder_entry){ .what = RECORDER_START }, "exec.started", NULL, NULL, 0);
        waits = false;
        owner = "uid:1000";
        (void)owners_flush(owners, now_ms += OWNER_ENDS_MS);
        (void)owners_flush(owners, now_ms += OWNER_ENDS_MS);
        assert_int_equal(answered, 0);
        assert_int_equal(kept_count, 1);
        (void)owners_flush(owners, now_ms);
        assert_int_equal(kept_count, 2);
        (void)owners_flush(owners, now_ms);
        assert_int_equal(kept_count, 3);
}

static void
limit_files(rlim_t bytes)
{
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* No file can grow for a while, as on a full disk: the end waits, and has its content later. */
static void
an_end_that_waits_has_its_content_later(void **state)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        struct rlimit before;
        int fd = file_of("abc", whole);

        (void)state;
        (void)sigaction(SIGXFSZ, &ignore, NULL);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        start();
        limit_files(1);
        end(fd, 3);
        assert_int_equal(kept_count, 0);
        limit_files(before.rlim_cur);
        for (int i = 0; i < 4; i++)
                (void)owners_flush(owners, now_ms += OWNER_RETRY_MS);
        assert_non_null(strstr(last_entry(), "\"stdout\":{\"bytes\":3,\"sha256\":\"" SHA_OF_ABC));
        assert_null(strstr(last, "\"error\""));
        assert_int_equal(kept_count, 1);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_sealed_file_is_kept_and_named_in_the_end, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_file_that_is_not_sealed_is_not_read, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_end_without_a_start_keeps_nothing, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_end_that_waits_has_its_content_later, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(content_of_one_command_is_kept_in_a_turn, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
