/*
 * audit/content_test.c - contents are kept by digest, redacted in text parts alone, checked when
 * read, and removed when no entry needs them.
 */
#include "audit/content.h"
#include "audit/content_check.h"
#include "audit/redact.h"
#include "base/unit.h"
#include "base/unit_directory.h"
#include "clock/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static struct audit_log here;
static struct error error;
static size_t counts[64];

static int
set_up(void **state)
{
        (void)state;
        memset(counts, 0, sizeof counts);
        return unit_directory_make(directory, "content", true) == 0 &&
                               audit_log_open(&here, directory, false, &error) == 0
                       ? 0
                       : -1;
}

static int
tear_down(void **state)
{
        (void)state;
        audit_log_close(&here);
        return unit_directory_remove(directory);
}

static struct audit_content
put(const char *bytes, size_t len)
{
        struct audit_content c = { .redacted = counts };

        if (audit_content_put(&here, bytes, len, &c, &error) < 0)
                fail_msg("%s", error.message);
        return c;
}

static void
append(const char *sha256)
{
        char output[256], chain[AUDIT_ID_TEXT];
        const struct audit_event event = { .action = "exec.ended",
                                           .actor_id = "uid:1000",
                                           .actor_role = "operator",
                                           .subject_kind = "sandbox",
                                           .subject_ref = "sb-1",
                                           .output = output };
        uint64_t seq;

        (void)snprintf(output, sizeof output, "{\"content\":{\"stdout\":{\"sha256\":\"%s\"}}}",
                       sha256);
        if (audit_log_append(&here, &event, 1, &seq, chain, &error) < 0)
                fail_msg("%s", error.message);
}

static void
expect_read(const char *sha256, const char *bytes, size_t len)
{
        struct buffer out = { 0 };

        if (audit_content_read(&here, sha256, &out, &error) < 0)
                fail_msg("%s", error.message);
        if (out.len != len || memcmp(out.bytes ? out.bytes : "", bytes, len) != 0)
                fail_msg("another content, of %zu bytes", out.len);
        buffer_fini(&out);
}

static void
keeps_binary_bytes_and_redacts_text_parts(void **state)
{
        static const char mixed[] = "a\0b me@example.org\n\xff\xfe x\nmail me@example.org\n";
        static const char clean[] = "a\0b me@example.org\n\xff\xfe x\nmail [redacted:email]\n";
        struct audit_content c = put(mixed, sizeof mixed - 1);

        (void)state;
        expect_read(c.sha256, clean, sizeof clean - 1);
        c = put("", 0);
        expect_read(c.sha256, "", 0);
}

static void
cuts_a_long_content_at_a_line(void **state)
{
        size_t len = AUDIT_CONTENT_MAX + 1;
        char *bytes = malloc(len);
        struct audit_content c;

        (void)state;
        memset(bytes, 'x', len);
        bytes[99] = '\n';
        c = put(bytes, len);
        if (!c.is_truncated || c.bytes != 100)
                fail_msg("%llu bytes", (unsigned long long)c.bytes);
        expect_read(c.sha256, bytes, 100);
        free(bytes);
}

static void
cuts_a_beginning_at_a_line(void **state)
{
        struct audit_content c = { .redacted = counts, .is_truncated = true };

        (void)state;
        assert_int_equal(audit_content_put(&here, "whole\nmail me@exam", 19, &c, &error), 0);
        assert_true(c.is_truncated);
        expect_read(c.sha256, "whole\n", 6);
}

static void
expect_verdict(const char *reason)
{
        struct audit_content_verdict v;
        int result = audit_content_verify(&here, &v, &error);

        if ((result == 0) != (reason == NULL) || (reason && strcmp(error.reason, reason) != 0))
                fail_msg("%d %s", result, result < 0 ? error.reason : "intact");
}

static void
finds_what_was_changed_or_removed(void **state)
{
        struct audit_content c = put("out\n", 4);
        char path[256];
        int fd;

        (void)state;
        append(c.sha256);
        expect_verdict(NULL);
        (void)snprintf(path, sizeof path, "%s/content/%s", directory, c.sha256);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(fd, "O", 1, 0), 1);
        (void)close(fd);
        expect_verdict("content.tampered");
        (void)put("out\n", 4); /* the next one that is the same replaces it */
        expect_verdict(NULL);
        assert_int_equal(unlink(path), 0);
        expect_verdict("content.missing");
}

static void
make_old(const char *sha256)
{
        const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };
        char path[256];

        (void)snprintf(path, sizeof path, "%s/content/%s", directory, sha256);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A byte in each step. */
static int
prune(uint64_t before_ms, struct audit_content_pruned *ret)
{
        struct audit_content_prune p;
        int result;

        audit_content_prune_init(&p, &here, before_ms, "uid:1000");
        do
                result = audit_content_prune_step(&p, 1, &error);
        while (result > 0);
        *ret = p.done;
        audit_content_prune_fini(&p);
        return result;
}

static void
removes_what_no_later_entry_names(void **state)
{
        struct audit_content unused = put("unused", 6), used = put("used", 4);
        struct audit_content_pruned pruned;

        (void)state;
        append(used.sha256);
        make_old(unused.sha256);
        make_old(used.sha256);
        assert_int_equal(prune(1, &pruned), 0);
        assert_int_equal(pruned.files, 0);
        assert_int_equal(prune(2000 * 1000, &pruned), 0);
        assert_int_equal(pruned.files, 1);
        expect_read(used.sha256, "used", 4);
        expect_verdict(NULL);
        /* entries of the past as well: it is missing, and an entry says why */
        assert_int_equal(prune(clock_wall_ms() + 1000, &pruned), 0);
        assert_int_equal(pruned.files, 1);
        expect_verdict(NULL);
}

static void
removes_what_a_killed_writer_left(void **state)
{
        char path[256];
        int fd;

        (void)state;
        assert_int_equal(audit_content_begin(&here, &error), 0);
        (void)snprintf(path, sizeof path, "%s/content/.new", directory);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        (void)close(fd);
        assert_int_equal(audit_content_begin(&here, &error), 0);
        assert_int_equal(access(path, F_OK), -1);
}

static void
refuses_past_its_bound(void **state)
{
        struct audit_content c = put("large", 5);
        char path[256];

        (void)state;
        (void)snprintf(path, sizeof path, "%s/content/%s", directory, c.sha256);
        assert_int_equal(truncate(path, AUDIT_CONTENT_TOTAL_MAX), 0);
        assert_int_equal(audit_content_begin(&here, &error), -1);
        assert_string_equal(error.reason, "content_full");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(keeps_binary_bytes_and_redacts_text_parts, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(cuts_a_beginning_at_a_line, set_up, tear_down),
                cmocka_unit_test_setup_teardown(cuts_a_long_content_at_a_line, set_up, tear_down),
                cmocka_unit_test_setup_teardown(finds_what_was_changed_or_removed, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(removes_what_no_later_entry_names, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(removes_what_a_killed_writer_left, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(refuses_past_its_bound, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
