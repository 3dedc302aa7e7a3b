/*
 * audit/log_test.c - what audit/log.h promises: durable before it returns, one chain for many
 * writers, and every change of the files is found and named (L1 to L4; J01, J02, J08 to J10).
 *
 * slow: 25 s: with sanitizers, as each change of the files is verified
 */
#include "audit/keys.h"
#include "audit/log.h"
#include "base/unit.h"
#include "base/unit_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64], file[128];
static struct audit_log log_here;
static struct error error;

static const struct audit_event event = { .action = "exec.started",
                                          .actor_id = "uid:1000",
                                          .actor_role = "operator",
                                          .subject_kind = "sandbox",
                                          .subject_ref = "sb-1",
                                          .input = "{\"argv\":[\"true\"]}" };

static int
set_up(void **state)
{
        (void)state;
        if (unit_directory_make(directory, "audit", false) < 0)
                return -1;
        (void)snprintf(file, sizeof file, "%s/log-000000000000.jsonl", directory);
        return audit_log_open(&log_here, directory, false, &error);
}

static int
tear_down(void **state)
{
        (void)state;
        audit_log_close(&log_here);
        return unit_directory_remove(directory);
}

static int
append(size_t count)
{
        char chain[AUDIT_ID_TEXT];
        uint64_t seq;
        int result = 0;

        for (size_t i = 0; i < count && result == 0; i++)
                result = audit_log_append(&log_here, &event, 1, &seq, chain, &error);
        return result;
}

/* The reason why it is refused, or "" */
static const char *
verify(const struct audit_checkpoint *kept)
{
        struct audit_verdict verdict;

        error = (struct error){ 0 };
        return audit_log_verify(&log_here, kept, true, &verdict, &error) == 0 ? "" : error.reason;
}

static char *
read_file(size_t *ret_len)
{
        static char text[1 << 20];
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        ssize_t len = read(fd, text, sizeof text);

        assert_true(len >= 0);
        (void)close(fd);
        *ret_len = (size_t)len;
        return text;
}

static void
write_file(const char *text, size_t len)
{
        int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, text, len), len);
        (void)close(fd);
}

static void
begins_and_continues_a_chain(void **state)
{
        struct audit_event many[3] = { event, event, event };
        struct audit_verdict verdict;
        char chain[AUDIT_ID_TEXT];
        uint64_t seq = 0;

        (void)state;
        assert_string_equal(verify(NULL), "empty");
        assert_int_equal(append(2), 0);
        assert_int_equal(audit_log_append(&log_here, many, 3, &seq, chain, &error), 0);
        assert_int_equal(seq, 5); /* log.initialized is entry 0 */
        assert_int_equal(audit_log_verify(&log_here, NULL, true, &verdict, &error), 0);
        assert_int_equal(verdict.head.next, 6);
        assert_true(verdict.has_checkpoint);
        assert_string_equal(verdict.head.chain, chain);
}

static void
finds_every_changed_byte(void **state)
{
        size_t len;
        char *text;

        (void)state;
        assert_int_equal(append(3), 0);
        text = read_file(&len);
        for (size_t i = 0; i < len; i++) {
                text[i] ^= 1;
                write_file(text, len);
                if (verify(NULL)[0] == '\0')
                        fail_msg("byte %zu", i);
                text[i] ^= 1;
        }
        write_file(text, len);
        assert_string_equal(verify(NULL), "");
}

/* The lines of the file, in another order: "0123" is as it was. */
static void
write_lines(const char *order)
{
        size_t len, count = 0, at = 0;
        char *text = read_file(&len), *out = malloc(2 * len), *lines[16];

        for (size_t i = 0; i < len; i++)
                if (i == 0 || text[i - 1] == '\n')
                        lines[count++] = text + i;
        for (; *order != '\0'; order++) {
                const char *line = lines[*order - '0'];
                size_t part = (size_t)((const char *)memchr(line, '\n', len) - line) + 1;

                memcpy(out + at, line, part);
                at += part;
        }
        write_file(out, at);
        free(out);
}

static void
finds_deleted_swapped_and_doubled_entries(void **state)
{
        static const struct {
                const char *order, *reason;
        } cases[] = {
                { "01235", "chain.seq_gap" },   { "02345", "chain.seq_gap" },
                { "12345", "chain.seq_gap" },   { "012435", "chain.seq_gap" },
                { "0123345", "chain.seq_gap" }, { "01234", "chain.truncated" },
                { "", "chain.truncated" },      { "012345", "" },
        };
        size_t len;
        char *whole, *text;

        (void)state;
        assert_int_equal(append(5), 0);
        text = read_file(&len);
        whole = malloc(len);
        memcpy(whole, text, len);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                write_lines(cases[i].order);
                assert_string_equal(verify(NULL), cases[i].reason);
                write_file(whole, len);
        }
        free(whole);
}

/* L4: what was cut is not continued, and an old copy of everything does not match what was kept. */
static void
finds_a_log_that_was_rolled_back(void **state)
{
        struct audit_checkpoint old, kept;
        size_t len;
        char *text, *copy;
        struct buffer mark = { 0 };

        (void)state;
        assert_int_equal(append(2), 0);
        text = read_file(&len);
        copy = malloc(len);
        memcpy(copy, text, len);
        assert_int_equal(audit_log_checkpoint(&log_here, &old, &error), 0);
        assert_int_equal(append(2), 0);
        assert_int_equal(audit_log_checkpoint(&log_here, &kept, &error), 0);

        write_file(copy, len);
        assert_string_equal(verify(NULL), "chain.truncated");
        assert_int_equal(append(1), -1);
        assert_string_equal(error.reason, "chain.truncated");
        /* the old checkpoint too: only the one that was kept elsewhere shows it */
        assert_int_equal(audit_checkpoint_write(&old, &mark, &error), 0);
        (void)snprintf(file, sizeof file, "%s/checkpoint.json", directory);
        write_file(mark.bytes, mark.len);
        (void)snprintf(file, sizeof file, "%s/log-000000000000.jsonl", directory);
        assert_string_equal(verify(NULL), "");
        assert_string_equal(verify(&old), "");
        assert_string_equal(verify(&kept), "chain.truncated");
        /* it grows again, with other entries */
        assert_int_equal(append(2), 0);
        assert_string_equal(verify(NULL), "");
        assert_string_equal(verify(&kept), "checkpoint.other");
        buffer_fini(&mark);
        free(copy);
}

/* L2, J10: the machine stopped while a line was written. */
static void
continues_behind_a_part_of_a_line(void **state)
{
        struct audit_verdict verdict;
        size_t len, last, now;
        char *text, *copy;

        (void)state;
        assert_int_equal(append(1), 0);
        (void)read_file(&last);
        assert_int_equal(append(1), 0);
        text = read_file(&len);
        copy = malloc(len);
        memcpy(copy, text, len);
        for (size_t cut = last; cut < len; cut++) {
                write_file(copy, cut);
                (void)unlinkat(log_here.dir, "checkpoint.json", 0);
                assert_int_equal(audit_log_verify(&log_here, NULL, true, &verdict, &error), 0);
                assert_int_equal(verdict.torn, cut - last);
                assert_int_equal(append(1), 0);
                assert_int_equal(audit_log_verify(&log_here, NULL, true, &verdict, &error), 0);
                assert_int_equal(verdict.torn, 0);
                assert_int_equal(verdict.head.next, cut == last ? 3 : 4);
                if (cut > last) {
                        const char *grown = read_file(&now);

                        assert_non_null(memmem(grown, now, "log.recovered", 13));
                }
        }
        free(copy);
}

/* L2, Z08: blocks of the last write reached the disk in another order. */
static void
continues_behind_blocks_that_were_not_written(void **state)
{
        struct audit_event many[3] = { event, event, event };
        struct audit_verdict verdict;
        char chain[AUDIT_ID_TEXT];
        size_t len, last;
        char *text, *copy;
        uint64_t seq;

        (void)state;
        assert_int_equal(append(1), 0);
        (void)read_file(&last);
        assert_int_equal(audit_log_append(&log_here, many, 3, &seq, chain, &error), 0);
        text = read_file(&len);
        copy = malloc(len);
        memcpy(copy, text, len);
        for (size_t at = last; at + 100 < len; at += 301) {
                memcpy(text, copy, len);
                memset(text + at, 0, 100);
                write_file(text, len);
                /* the checkpoint of the entries before it is on the disk, or none */
                (void)unlinkat(log_here.dir, "checkpoint.json", 0);
                assert_int_equal(audit_log_verify(&log_here, NULL, true, &verdict, &error), 0);
                assert_true(verdict.torn >= len - at);
                assert_int_equal(append(1), 0);
                assert_string_equal(verify(NULL), "");
        }
        free(copy);
}

/* Whoever writes zeros into an entry that was answered cuts the log: the checkpoint names it. */
static void
finds_zeros_in_an_answered_entry(void **state)
{
        size_t len;
        char *text;

        (void)state;
        assert_int_equal(append(3), 0);
        text = read_file(&len);
        text[len - 30] = '\0';
        write_file(text, len);
        assert_string_equal(verify(NULL), "chain.truncated");
        assert_int_equal(append(1), -1);
        assert_int_equal(error.code, ERROR_AUDIT_BROKEN);
}

/* J11: the chain goes over all files. */
static void
finds_a_file_that_was_removed(void **state)
{
        char *name = file + strlen(directory) + 1;
        size_t count = 0;

        (void)state;
        log_here.file_max = 1200;
        assert_int_equal(append(6), 0);
        assert_string_equal(verify(NULL), "");
        for (uint64_t first = 1; first < 7; first++) {
                (void)snprintf(name, 40, "log-%012llu.jsonl", (unsigned long long)first);
                if (renameat(log_here.dir, name, log_here.dir, "away") < 0)
                        continue;
                count++;
                assert_string_not_equal(verify(NULL), "");
                assert_int_equal(renameat(log_here.dir, "away", log_here.dir, name), 0);
                assert_string_equal(verify(NULL), "");
        }
        assert_true(count >= 3);
}

/* J02: an entry of another log with the same key and number. */
static void
finds_an_entry_of_another_log(void **state)
{
        char *text, *copy, *end;
        size_t len, count;

        (void)state;
        assert_int_equal(append(2), 0);
        text = read_file(&len);
        copy = malloc(len);
        memcpy(copy, text, len);
        assert_int_equal(unlink(file), 0);
        assert_int_equal(unlinkat(log_here.dir, "checkpoint.json", 0), 0);
        assert_int_equal(append(3), 0);
        text = read_file(&count);
        /* the first two entries of this log, the last one of the other */
        end = memchr(text, '\n', count);
        end = memchr(end + 1, '\n', (size_t)(text + count - end - 1));
        assert_non_null(end);
        count = (size_t)(end - text) + 1;
        end = memrchr(copy, '\n', len - 1);
        memmove(text + count, end + 1, (size_t)(copy + len - end - 1));
        write_file(text, count + (size_t)(copy + len - end - 1));
        (void)unlinkat(log_here.dir, "checkpoint.json", 0);
        assert_string_equal(verify(NULL), "chain.broken");
        free(copy);
}

/* L1 */
static void
does_not_continue_a_changed_entry(void **state)
{
        size_t len;
        char *text;

        (void)state;
        assert_int_equal(append(1), 0);
        text = read_file(&len);
        text[len - 20] ^= 1;
        write_file(text, len);
        assert_int_equal(append(1), -1);
        assert_int_equal(error.code, ERROR_AUDIT_BROKEN);
}

/* L3, J08: the disk is full. RLIMIT_FSIZE gives a short write, then EFBIG. */
static void
leaves_nothing_of_a_failed_append(void **state)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        struct rlimit before, small;
        size_t len, now;

        (void)state;
        assert_int_equal(append(1), 0);
        (void)read_file(&len);
        (void)sigaction(SIGXFSZ, &ignore, NULL);
        (void)getrlimit(RLIMIT_FSIZE, &before);
        small = before;
        small.rlim_cur = len + 100;
        (void)setrlimit(RLIMIT_FSIZE, &small);
        assert_int_equal(append(1), -1);
        (void)setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(error.code, ERROR_AUDIT_UNAVAILABLE);
        (void)read_file(&now);
        assert_int_equal(now, len);
        assert_string_equal(verify(NULL), "");
        assert_int_equal(append(1), 0);
        assert_string_equal(verify(NULL), "");
}

/* L3: no room for the checkpoint, after the entry was written. */
static void
takes_an_entry_back_without_its_checkpoint(void **state)
{
        size_t len, now;

        (void)state;
        assert_int_equal(append(1), 0);
        (void)read_file(&len);
        assert_int_equal(mkdirat(log_here.dir, ".checkpoint.json.new", 0700), 0);
        assert_int_equal(append(1), -1);
        assert_int_equal(error.code, ERROR_AUDIT_UNAVAILABLE);
        (void)read_file(&now);
        assert_int_equal(now, len);
        assert_string_equal(verify(NULL), "");
        assert_int_equal(unlinkat(log_here.dir, ".checkpoint.json.new", AT_REMOVEDIR), 0);
        assert_int_equal(append(1), 0);
        assert_string_equal(verify(NULL), "");
}

/* L2: what is cut off is in an entry, or it is still there. */
static void
keeps_a_part_of_a_line_that_it_cannot_record(void **state)
{
        struct audit_event wrong = event;
        char chain[AUDIT_ID_TEXT];
        size_t len, now;
        uint64_t seq;
        char *text;

        (void)state;
        assert_int_equal(append(2), 0);
        text = read_file(&len);
        write_file(text, len - 9);
        (void)unlinkat(log_here.dir, "checkpoint.json", 0);
        wrong.input = "{";
        assert_int_equal(audit_log_append(&log_here, &wrong, 1, &seq, chain, &error), -1);
        (void)read_file(&now);
        assert_int_equal(now, len - 9);
}

/* J09 */
static void
has_one_chain_for_many_writers(void **state)
{
        enum { WRITERS = 16, EACH = 8 };
        struct audit_verdict verdict;
        int status, left = WRITERS;

        (void)state;
        for (int i = 0; i < WRITERS; i++)
                if (fork() == 0) {
                        struct audit_log own;
                        char chain[AUDIT_ID_TEXT];
                        uint64_t seq;
                        int result = audit_log_open(&own, directory, false, &error);

                        for (int n = 0; n < EACH && result == 0; n++)
                                result = audit_log_append(&own, &event, 1, &seq, chain, &error);
                        _exit(result == 0 ? 0 : 1);
                }
        for (; left > 0 && wait(&status) > 0; left--)
                assert_int_equal(status, 0);
        assert_int_equal(audit_log_verify(&log_here, NULL, true, &verdict, &error), 0);
        assert_int_equal(verdict.head.next, WRITERS * EACH + 1);
}

static void
changes_its_key(void **state)
{
        struct audit_verdict verdict;
        char name[64];

        (void)state;
        assert_int_equal(append(1), 0);
        assert_int_equal(audit_log_rotate_key(&log_here, "uid:0", &error), 0);
        assert_int_equal(append(1), 0);
        assert_int_equal(audit_log_verify(&log_here, NULL, true, &verdict, &error), 0);
        assert_int_equal(verdict.head.next, 4);
        (void)snprintf(name, sizeof name, "key-%s", verdict.head.key_id);
        assert_int_equal(unlinkat(log_here.dir, name, 0), 0);
        assert_string_equal(verify(NULL), "key");
        assert_int_equal(audit_log_verify(&log_here, NULL, false, &verdict, &error), 0);
        assert_int_equal(verdict.unsigned_count, 1);
        assert_int_equal(append(1), -1);
        assert_string_equal(error.reason, "key");
}

static void
add_key(unsigned number)
{
        struct audit_key key = { .bytes = { (unsigned char)number, (unsigned char)(number >> 8) } };
        char name[32];
        int fd;

        audit_key_name(&key);
        (void)snprintf(name, sizeof name, "key-%s", key.id);
        fd = openat(log_here.dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        for (size_t i = 0; i < sizeof key.bytes; i++)
                assert_int_equal(dprintf(fd, "%02x", key.bytes[i]), 2);
        assert_int_equal(write(fd, "\n", 1), 1);
        (void)close(fd);
}

/* Another key would be one more than can be read: no entry could follow. */
static void
refuses_one_key_too_many(void **state)
{
        (void)state;
        assert_int_equal(append(1), 0);
        for (unsigned i = 1; i < AUDIT_KEYS_MAX; i++)
                add_key(i);
        assert_int_equal(audit_log_rotate_key(&log_here, "uid:0", &error), -1);
        assert_int_equal(error.code, ERROR_AUDIT_UNAVAILABLE);
        assert_int_equal(append(1), 0);
        assert_string_equal(verify(NULL), "");
}

/* J05 */
static void
refuses_a_key_and_a_directory_that_others_can_read(void **state)
{
        struct audit_verdict verdict;
        struct audit_log other;
        char name[96];

        (void)state;
        assert_int_equal(append(1), 0);
        assert_int_equal(audit_log_verify(&log_here, NULL, true, &verdict, &error), 0);
        (void)snprintf(name, sizeof name, "%s/key-%s", directory, verdict.head.key_id);
        assert_int_equal(chmod(name, 0644), 0);
        assert_int_equal(append(1), -1);
        assert_int_equal(error.code, ERROR_AUDIT_UNAVAILABLE);
        assert_int_equal(chmod(name, 0600), 0);
        assert_int_equal(append(1), 0);
        assert_int_equal(chmod(directory, 0755), 0);
        assert_int_equal(audit_log_open(&other, directory, false, &error), -1);
        assert_int_equal(error.code, ERROR_AUDIT_UNAVAILABLE);
        assert_int_equal(chmod(directory, 0700), 0);
}

static bool
count_entries(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        (void)line;
        (void)len;
        *(uint64_t *)ctx = *(uint64_t *)ctx * 10 + entry->seq;
        return entry->seq < 3;
}

static void
reads_from_an_entry_on(void **state)
{
        uint64_t seen = 0;

        (void)state;
        assert_int_equal(append(5), 0);
        assert_int_equal(audit_log_read(&log_here, 2, count_entries, &seen, &error), 0);
        assert_int_equal(seen, 23);
}

static uint64_t
signed_up_to(void)
{
        struct audit_checkpoint c;

        assert_int_equal(audit_log_checkpoint(&log_here, &c, &error), 0);
        return c.seq;
}

/* With `keeps_end`: the first append signs, later ones leave it to audit_log_sign(). */
static void
signs_later_if_it_keeps_the_end(void **state)
{
        (void)state;
        log_here.keeps_end = true;
        assert_int_equal(append(1), 0);
        assert_int_equal(signed_up_to(), 1);
        assert_true(audit_log_due_ms(&log_here) == UINT64_MAX);
        assert_int_equal(append(3), 0);
        assert_int_equal(signed_up_to(), 1);
        assert_true(audit_log_due_ms(&log_here) < UINT64_MAX);
        assert_string_equal(verify(NULL), "");
        assert_int_equal(audit_log_sign(&log_here, &error), 0);
        assert_int_equal(signed_up_to(), 4);
        assert_true(audit_log_due_ms(&log_here) == UINT64_MAX);
        assert_int_equal(append(1), 0);
        audit_log_close(&log_here);
        assert_int_equal(audit_log_open(&log_here, directory, false, &error), 0);
        assert_int_equal(signed_up_to(), 5);
}

static void
signs_at_the_latest_after_some_entries(void **state)
{
        (void)state;
        log_here.keeps_end = true;
        assert_int_equal(append(AUDIT_SIGN_ENTRIES), 0);
        assert_int_equal(signed_up_to(), 1);
        assert_int_equal(append(1), 0);
        assert_int_equal(signed_up_to(), AUDIT_SIGN_ENTRIES + 1);
}

static void
append_elsewhere(int64_t file_max)
{
        struct audit_log other;
        char chain[AUDIT_ID_TEXT];
        uint64_t seq;

        assert_int_equal(audit_log_open(&other, directory, false, &error), 0);
        other.file_max = file_max;
        assert_int_equal(audit_log_append(&other, &event, 1, &seq, chain, &error), 0);
        audit_log_close(&other);
}

/* Another process adds an entry, to the same file or to a new one, whose length says nothing. */
static void
sees_another_writer_while_it_keeps_the_end(void **state)
{
        (void)state;
        log_here.keeps_end = true;
        assert_int_equal(append(3), 0);
        append_elsewhere(AUDIT_FILE_MAX);
        assert_int_equal(append(2), 0);
        append_elsewhere(1);
        assert_int_equal(append(2), 0);
        append_elsewhere(1);
        assert_int_equal(audit_log_sign(&log_here, &error), 0);
        assert_int_equal(signed_up_to(), 10);
        assert_int_equal(append(1), 0);
        assert_string_equal(verify(NULL), "");
        assert_int_equal(signed_up_to(), 11);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static bool
append_meanwhile(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct audit_log other;
        char chain[AUDIT_ID_TEXT];
        uint64_t *count = ctx, seq;
        int lock;

        (void)line, (void)len, (void)entry;
        /* with a lock of the reader, the append would wait for ever */
        lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
        (void)close(lock);
        assert_int_equal(audit_log_open(&other, directory, false, &error), 0);
        assert_int_equal(audit_log_append(&other, &event, 1, &seq, chain, &error), 0);
        audit_log_close(&other);
        ++*count;
        return true;
}

/* `verify` reads with the same walk, audit/walk.h. */
static void
a_reader_holds_up_no_writer(void **state)
{
        uint64_t count = 0;

        (void)state;
        assert_int_equal(append(3), 0);
        assert_int_equal(audit_log_read(&log_here, 0, append_meanwhile, &count, &error), 0);
        assert_int_equal(count, 4); /* those that were there when it began */
        assert_string_equal(verify(NULL), "");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(begins_and_continues_a_chain),
                TEST(finds_every_changed_byte),
                TEST(finds_deleted_swapped_and_doubled_entries),
                TEST(finds_a_log_that_was_rolled_back),
                TEST(continues_behind_a_part_of_a_line),
                TEST(continues_behind_blocks_that_were_not_written),
                TEST(finds_zeros_in_an_answered_entry),
                TEST(finds_a_file_that_was_removed),
                TEST(finds_an_entry_of_another_log),
                TEST(does_not_continue_a_changed_entry),
                TEST(leaves_nothing_of_a_failed_append),
                TEST(takes_an_entry_back_without_its_checkpoint),
                TEST(keeps_a_part_of_a_line_that_it_cannot_record),
                TEST(has_one_chain_for_many_writers),
                TEST(changes_its_key),
                TEST(refuses_one_key_too_many),
                TEST(refuses_a_key_and_a_directory_that_others_can_read),
                TEST(reads_from_an_entry_on),
                TEST(a_reader_holds_up_no_writer),
                TEST(signs_later_if_it_keeps_the_end),
                TEST(signs_at_the_latest_after_some_entries),
                TEST(sees_another_writer_while_it_keeps_the_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
