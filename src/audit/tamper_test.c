/*
 * audit/tamper_test.c - one change anywhere in a log, its keys or its checkpoint is found and
 * named, in a log of 1000 entries (J01, J02, J11; P30).
 *
 * slow: 40 s: hundreds of thousands of changed entries are read
 */
#include "audit/files.h"
#include "audit/keys.h"
#include "audit/log.h"
#include "base/sanitized.h"
#include "base/unit.h"
#include "base/unit_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES = 1000, SOME = 120 /* entries of a log of which each is removed, doubled, moved */ };

static char directory[64], other_directory[64];
static struct audit_log here;
static struct error error;

static const struct audit_event event = { .action = "exec.started",
                                          .actor_id = "uid:1000",
                                          .actor_role = "operator",
                                          .subject_kind = "sandbox",
                                          .subject_ref = "sb-1",
                                          .input = "{\"argv\":[\"true\"]}" };

/* A file in memory. */
struct text {
        char *bytes;
        size_t len;
};

static int
set_up(void **state)
{
        (void)state;
        if (unit_directory_make(directory, "tamper", true) < 0 ||
            unit_directory_make(other_directory, "tamper", true) < 0)
                return -1;
        return audit_log_open(&here, directory, false, &error);
}

static int
tear_down(void **state)
{
        (void)state;
        audit_log_close(&here);
        return unit_directory_remove(directory) | unit_directory_remove(other_directory);
}

/* `count` entries with the first one, log.initialized. `log->file_max` divides them into files. */
static void
fill(struct audit_log *log, size_t count)
{
        struct audit_event many[AUDIT_EVENTS_MAX];
        char chain[AUDIT_ID_TEXT];
        uint64_t seq = 0;

        for (size_t i = 0; i < AUDIT_EVENTS_MAX; i++)
                many[i] = event;
        for (size_t left = count - 1; left > 0;) {
                size_t some = left < AUDIT_EVENTS_MAX ? left : AUDIT_EVENTS_MAX;

                if (log->file_max < AUDIT_FILE_MAX)
                        some = 1;
                assert_int_equal(audit_log_append(log, many, some, &seq, chain, &error), 0);
                left -= some;
        }
        assert_int_equal(seq, count - 1);
}

static struct text
read_file(int dir, const char *name)
{
        int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        struct text t = { malloc(4 << 20), 0 };
        ssize_t got;

        assert_true(fd >= 0 && t.bytes);
        while ((got = read(fd, t.bytes + t.len, (4 << 20) - t.len)) > 0)
                t.len += (size_t)got;
        assert_true(got == 0);
        (void)close(fd);
        return t;
}

static void
write_file(int dir, const char *name, const char *bytes, size_t len)
{
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
        (void)close(fd);
}

/* The reason; *ret_at: the entry that is named. */
static const char *
verify(const struct audit_checkpoint *kept, struct audit_verdict *v)
{
        error = (struct error){ 0 };
        return audit_log_verify(&here, kept, true, v, &error) == 0 ? "" : error.reason;
}

/* Where line `number` begins; lines[count] is the end. */
static size_t
find_lines(struct text t, size_t *lines)
{
        size_t count = 0;

        for (size_t at = 0; at < t.len; count++) {
                lines[count] = at;
                at = (size_t)((const char *)memchr(t.bytes + at, '\n', t.len - at) - t.bytes) + 1;
        }
        lines[count] = t.len;
        return count;
}

/* -- J01 --------------------------------------------------------------------------------------- */

/* The two functions by which verify judges each line. */
static bool
is_found(struct text line, const struct audit_key *key, const struct audit_head *before)
{
        struct audit_head head = *before;
        struct audit_entry entry;
        struct arena arena;
        bool result;

        arena_init(&arena, 64u << 20);
        result = audit_entry_read(&arena, line.bytes, line.len, &entry, &error) < 0 ||
                 audit_entry_follow(&entry, key, &head, &error) < 0;
        arena_fini(&arena);
        return result;
}

static void
finds_a_bit_of_every_byte(void **state)
{
        static const char name[] = "log-000000000000.jsonl";
        /* every byte, or every fourth one, from another one on in each entry; with a sanitizer,
         * which takes eight times as long and looks at the reader, every sixteenth */
        size_t lines[ENTRIES + 1] = { 0 }, tried = 0;
        const char *deep = getenv("CARREL_TEST_DEEP");
        size_t step = IS_SANITIZED ? 16 : deep && strcmp(deep, "1") == 0 ? 1 : 4;
        struct audit_head head;
        struct audit_entry entry;
        struct arena arena;
        struct text t;

        (void)state;
        fill(&here, ENTRIES);
        t = read_file(here.dir, name);
        assert_int_equal(find_lines(t, lines), ENTRIES);
        assert_int_equal(audit_log_load_keys(&here, &error), 0);
        for (size_t i = 0; i < ENTRIES; i++) {
                struct text line = { t.bytes + lines[i], lines[i + 1] - lines[i] - 1 };

                arena_init(&arena, 64u << 20);
                assert_int_equal(audit_entry_read(&arena, line.bytes, line.len, &entry, &error), 0);
                if (i == 0)
                        audit_head_init(&head, entry.chain, entry.key_id);
                for (size_t at = i % step; at < line.len; at += step, tried++) {
                        char bit = (char)(1 << (tried / 3 % 8));

                        line.bytes[at] ^= bit;
                        if (!is_found(line, here.keys, &head))
                                fail_msg("entry %zu, byte %zu, bit %d", i, at, bit);
                        line.bytes[at] ^= bit;
                }
                assert_int_equal(audit_entry_follow(&entry, here.keys, &head, &error), 0);
                arena_fini(&arena);
        }
        print_message("# %zu bytes\n", tried);
        assert_true(tried > 500000 / step);
        free(t.bytes);
}

/* And verify names the entry: a byte of each, also the line end. */
static void
names_the_entry_that_was_changed(void **state)
{
        static const char name[] = "log-000000000000.jsonl";
        size_t lines[ENTRIES + 1] = { 0 };
        struct audit_verdict v;
        struct text t;

        (void)state;
        fill(&here, ENTRIES);
        t = read_file(here.dir, name);
        (void)find_lines(t, lines);
        for (size_t i = 0; i < ENTRIES; i += 1 + i / 16) {
                size_t len = lines[i + 1] - lines[i];
                size_t places[] = { lines[i] + (i * 7919) % (len - 1), lines[i + 1] - 1 };

                for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
                        t.bytes[places[k]] ^= 1;
                        write_file(here.dir, name, t.bytes, t.len);
                        if (verify(NULL, &v)[0] == '\0' || v.at != i)
                                fail_msg("byte %zu of entry %zu: %s at %zu", places[k], i,
                                         error.reason, (size_t)v.at);
                        t.bytes[places[k]] ^= 1;
                }
        }
        write_file(here.dir, name, t.bytes, t.len);
        assert_string_equal(verify(NULL, &v), "");
        free(t.bytes);
}

/* -- J02 --------------------------------------------------------------------------------------- */

static size_t
put(char *out, size_t at, struct text t, const size_t *lines, size_t line)
{
        memcpy(out + at, t.bytes + lines[line], lines[line + 1] - lines[line]);
        return at + lines[line + 1] - lines[line];
}

enum change { REMOVED, DOUBLED, SWAPPED, CUT, CHANGES };

/* The log with entry `i` changed. Returns its length; *ret_at: the entry that verify names. */
static size_t
change(enum change how, struct text t, const size_t *lines, size_t i, char *out, uint64_t *ret_at)
{
        size_t len = 0;

        for (size_t line = 0; line < SOME && !(how == CUT && line == i); line++) {
                if (how == REMOVED && line == i)
                        continue;
                if (how == SWAPPED && line == i) {
                        len = put(out, len, t, lines, ++line);
                        len = put(out, len, t, lines, i);
                        continue;
                }
                len = put(out, len, t, lines, line);
                if (how == DOUBLED && line == i)
                        len = put(out, len, t, lines, line);
        }
        *ret_at = how == DOUBLED ? i + 1 : i;
        return len;
}

static void
finds_each_entry_removed_doubled_swapped_or_cut(void **state)
{
        static const char name[] = "log-000000000000.jsonl";
        size_t lines[SOME + 1] = { 0 };
        struct audit_verdict v;
        struct text t;
        char *out;

        (void)state;
        fill(&here, SOME);
        t = read_file(here.dir, name);
        (void)find_lines(t, lines);
        out = malloc(2 * t.len);
        for (enum change how = 0; how < CHANGES; how++)
                for (size_t i = 0; i + (how == SWAPPED) < SOME; i++) {
                        bool is_tail = how == CUT || (how == REMOVED && i + 1 == SOME);
                        uint64_t at;
                        size_t len = change(how, t, lines, i, out, &at);
                        const char *reason;

                        write_file(here.dir, name, out, len);
                        reason = verify(NULL, &v);
                        if (strcmp(reason, is_tail ? "chain.truncated" : "chain.seq_gap") != 0 ||
                            (v.at != at && i > 0))
                                fail_msg("%d of %zu: %s at %zu", how, i, reason, (size_t)v.at);
                }
        write_file(here.dir, name, t.bytes, t.len);
        assert_string_equal(verify(NULL, &v), "");
        free(t.bytes);
        free(out);
}

/* -- J11: files -------------------------------------------------------------------------------- */

static size_t
list_files(struct audit_file_list *ret)
{
        assert_int_equal(audit_file_list(here.dir, ret, &error), 0);
        return ret->count;
}

static void
move(uint64_t from, const char *to)
{
        char name[AUDIT_FILE_NAME_MAX];

        audit_file_name(from, name);
        assert_int_equal(renameat(here.dir, name, here.dir, to), 0);
}

static void
move_back(const char *from, uint64_t to)
{
        char name[AUDIT_FILE_NAME_MAX];

        audit_file_name(to, name);
        assert_int_equal(renameat(here.dir, from, here.dir, name), 0);
}

/* Each file is missing, has the name of an entry that it does not begin with, or another's place.
 */
static void
finds_files_that_were_removed_renamed_or_exchanged(void **state)
{
        struct audit_file_list list;
        char name[AUDIT_FILE_NAME_MAX];
        struct audit_verdict v;

        (void)state;
        here.file_max = 4000;
        fill(&here, SOME);
        assert_true(list_files(&list) > 10);
        for (size_t i = 0; i < list.count; i++) {
                move(list.first[i], "away");
                assert_string_not_equal(verify(NULL, &v), "");
                move_back("away", list.first[i]);
                /* no two files have this name, and the order of the files stays */
                audit_file_name(list.first[i] + 1, name);
                move(list.first[i], name);
                assert_string_equal(verify(NULL, &v), "chain.file");
                assert_non_null(strstr(error.message, name));
                move_back(name, list.first[i]);
                if (i + 1 == list.count)
                        continue;
                move(list.first[i], "away");
                move(list.first[i + 1], "next");
                move_back("away", list.first[i + 1]);
                move_back("next", list.first[i]);
                assert_string_equal(verify(NULL, &v), "chain.seq_gap");
                move(list.first[i], "next");
                move(list.first[i + 1], "away");
                move_back("away", list.first[i]);
                move_back("next", list.first[i + 1]);
                assert_string_equal(verify(NULL, &v), "");
        }
        audit_file_list_fini(&list);
}

/* Two logs with the same keys: an old copy of the directory that went on by itself. */
static void
finds_files_of_another_log(void **state)
{
        struct audit_file_list list, others;
        struct audit_log other;
        struct audit_verdict v;
        size_t found = 0;

        (void)state;
        here.file_max = 4000;
        fill(&here, SOME);
        (void)list_files(&list);
        for (const struct audit_key *k = here.keys; k < here.keys + here.key_count; k++) {
                char name[AUDIT_FILE_NAME_MAX];
                struct text t;

                (void)snprintf(name, sizeof name, "key-%s", k->id);
                t = read_file(here.dir, name);
                assert_int_equal(audit_log_open(&other, other_directory, false, &error), 0);
                write_file(other.dir, name, t.bytes, t.len);
                free(t.bytes);
        }
        other.file_max = 4000;
        fill(&other, SOME);
        assert_int_equal(audit_file_list(other.dir, &others, &error), 0);
        for (size_t i = 0; i < list.count && i < others.count; i++) {
                char name[AUDIT_FILE_NAME_MAX];
                struct text own, theirs;

                if (list.first[i] != others.first[i])
                        continue;
                audit_file_name(list.first[i], name);
                own = read_file(here.dir, name);
                theirs = read_file(other.dir, name);
                write_file(here.dir, name, theirs.bytes, theirs.len);
                found++;
                /* the first one takes its checkpoint's chain away, the others continue another */
                if (strcmp(verify(NULL, &v), i == 0 ? "checkpoint.other" : "chain.broken") != 0)
                        fail_msg("file %zu: %s", i, error.reason);
                assert_int_equal(v.at, i == 0 ? 1 : list.first[i]);
                write_file(here.dir, name, own.bytes, own.len);
                free(own.bytes);
                free(theirs.bytes);
        }
        assert_true(found > 10);
        assert_string_equal(verify(NULL, &v), "");
        audit_log_close(&other);
        audit_file_list_fini(&list);
        audit_file_list_fini(&others);
}

/* -- keys and checkpoints ---------------------------------------------------------------------- */

static bool
is_named(const struct audit_verdict *v, const char *reason)
{
        if (strcmp(reason, "checkpoint.signature") == 0 ||
            strcmp(reason, "checkpoint.other") == 0 || strcmp(reason, "checkpoint.form") == 0)
                return true;
        /* as a power failure leaves it: verify says that it is missing */
        return reason[0] == '\0' && !v->has_checkpoint;
}

static void
finds_every_bit_of_the_checkpoint(void **state)
{
        char chain[AUDIT_ID_TEXT];
        struct audit_verdict v;
        struct text t;
        size_t torn = 0;
        uint64_t seq;

        (void)state;
        fill(&here, 5);
        t = read_file(here.dir, "checkpoint.json");
        for (size_t i = 0; i < 8 * t.len; i++) {
                const char *reason;

                t.bytes[i / 8] ^= (char)(1 << i % 8);
                write_file(here.dir, "checkpoint.json", t.bytes, t.len);
                reason = verify(NULL, &v);
                if (!is_named(&v, reason))
                        fail_msg("bit %zu: %s", i, reason);
                /* and such a log is not continued, which would write another checkpoint */
                if (reason[0] != '\0')
                        assert_int_equal(audit_log_append(&here, &event, 1, &seq, chain, &error),
                                         -1);
                else
                        torn++;
                t.bytes[i / 8] ^= (char)(1 << i % 8);
        }
        assert_true(torn <= 16);
        free(t.bytes);
}

static void
finds_every_bit_of_a_key(void **state)
{
        struct audit_verdict v;
        char name[AUDIT_FILE_NAME_MAX];
        struct text t;

        (void)state;
        fill(&here, 5);
        assert_int_equal(audit_log_load_keys(&here, &error), 0);
        (void)snprintf(name, sizeof name, "key-%s", here.keys[0].id);
        t = read_file(here.dir, name);
        for (size_t i = 0; i < 8 * (t.len - 1); i++) {
                unsigned char byte = (unsigned char)t.bytes[i / 8];

                t.bytes[i / 8] ^= (char)(1 << i % 8);
                write_file(here.dir, name, t.bytes, t.len);
                error = (struct error){ 0 };
                /* the other case of a hex digit is the same key */
                if ((byte ^ (unsigned char)t.bytes[i / 8]) == 0x20 && byte >= 'a')
                        assert_int_equal(audit_log_verify(&here, NULL, true, &v, &error), 0);
                else if (audit_log_verify(&here, NULL, true, &v, &error) == 0 ||
                         !strstr(error.message, name))
                        fail_msg("bit %zu: %s", i, error.message);
                t.bytes[i / 8] ^= (char)(1 << i % 8);
        }
        free(t.bytes);
}

/* A key, the seed, or the checkpoint of another log. */
static void
finds_what_belongs_to_another_log(void **state)
{
        struct audit_verdict v;
        struct audit_log other;
        char name[AUDIT_FILE_NAME_MAX], chain[AUDIT_ID_TEXT];
        struct text own, theirs;
        uint64_t seq;

        (void)state;
        fill(&here, 5);
        assert_int_equal(audit_log_open(&other, other_directory, false, &error), 0);
        fill(&other, 5);
        theirs = read_file(other.dir, "checkpoint.json");
        own = read_file(here.dir, "checkpoint.json");
        write_file(here.dir, "checkpoint.json", theirs.bytes, theirs.len);
        assert_string_equal(verify(NULL, &v), "checkpoint.other");
        assert_int_equal(audit_log_append(&here, &event, 1, &seq, chain, &error), -1);
        assert_string_equal(error.reason, "checkpoint.other");
        write_file(here.dir, "checkpoint.json", own.bytes, own.len);
        free(own.bytes);
        free(theirs.bytes);

        (void)snprintf(name, sizeof name, "key-%s", other.keys[0].id);
        theirs = read_file(other.dir, name);
        (void)snprintf(name, sizeof name, "key-%s", here.keys[0].id);
        own = read_file(here.dir, name);
        write_file(here.dir, name, theirs.bytes, theirs.len);
        (void)verify(NULL, &v);
        assert_non_null(strstr(error.message, "holds another key"));
        assert_int_equal(audit_log_append(&here, &event, 1, &seq, chain, &error), -1);
        write_file(here.dir, name, own.bytes, own.len);
        free(own.bytes);
        free(theirs.bytes);

        theirs = read_file(other.dir, "checkpoint.seed");
        write_file(here.dir, "checkpoint.seed", theirs.bytes, theirs.len);
        assert_string_equal(verify(NULL, &v), "");
        (void)audit_log_append(&here, &event, 1, &seq, chain, &error);
        assert_string_equal(verify(NULL, &v), "checkpoint.signature");
        free(theirs.bytes);
        audit_log_close(&other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(finds_a_bit_of_every_byte),
                TEST(names_the_entry_that_was_changed),
                TEST(finds_each_entry_removed_doubled_swapped_or_cut),
                TEST(finds_files_that_were_removed_renamed_or_exchanged),
                TEST(finds_files_of_another_log),
                TEST(finds_every_bit_of_the_checkpoint),
                TEST(finds_every_bit_of_a_key),
                TEST(finds_what_belongs_to_another_log),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
