/*
 * store/power_test.c - power loss, torn writes, flipped bits: recovery gives what was committed, or
 * an earlier state of it (Z07, Z08, Z21).
 *
 * A child prints a number after each change and is killed with its log as it is. The test cuts the
 * log at every boundary of a frame, one byte before and after it, and at bytes between. It also
 * changes bytes of the log and of the database. POWER_STEP (1 for every byte) or CARREL_TEST_DEEP
 * sets how many bytes. Then it opens each image, which must hold the state after one of the
 * changes, never a mixture.
 * slow: 30 s: with --all thousands of images of a database are opened
 */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"
#include "store/store.h"

enum {
        CHANGES = 24,
        LOG_HEAD = 32,
        FRAME_HEAD = 24,
        PAGE = 4096,
        FRAME = FRAME_HEAD + PAGE,
        SAID_MAX = 65536,
        STEP = 3001,
        TURN_STEP = 307,
        DEEP_STEP = 499,
        DEEP_TURN_STEP = 61
};

struct image {
        unsigned char *bytes;
        size_t len;
};

static char directory[64], copy[64];
static struct image database, journal;
static char *states[CHANGES + 1]; /* the content after each change, as text */
static size_t step = STEP, turn_step = TURN_STEP;

/* -- the content as text ----------------------------------------------------------------------- */

struct text {
        char bytes[SAID_MAX];
        size_t len;
        int damaged;
};

static void
say(struct text *t, const char *what, const void *bytes, size_t len)
{
        assert_true(t->len + strlen(what) + 2 * len + 2 < sizeof t->bytes);
        t->len += (size_t)snprintf(t->bytes + t->len, sizeof t->bytes - t->len, "%s ", what);
        for (size_t i = 0; i < len; i++)
                t->len += (size_t)snprintf(t->bytes + t->len, sizeof t->bytes - t->len, "%02x",
                                           ((const unsigned char *)bytes)[i]);
        t->bytes[t->len++] = '\n';
}

static int
say_sandbox(void *context, const struct store_sandbox *r)
{
        struct text *t = context;

        if (r->is_damaged) {
                t->damaged++;
                return 0;
        }
        say(t, r->id, r->manifest.bytes, r->manifest.len);
        say(t, r->owner ? r->owner : "-", r->env.bytes, r->env.len);
        say(t, r->key ? r->key : "-", &r->deadline_ms, sizeof r->deadline_ms);
        say(t, r->metadata ? r->metadata : "-", &r->status, sizeof r->status);
        return 0;
}

static int
say_task(void *context, const struct store_task *task)
{
        say(context, task->task, &task->deadline_ms, sizeof task->deadline_ms);
        return 0;
}

static int
say_token(void *context, const struct store_token *token)
{
        say(context, token->owner, token->scope, strlen(token->scope));
        return 0;
}

static int
say_all(struct store *s, struct text *t, struct error *e)
{
        struct store_ended ended;
        int gone;

        *t = (struct text){ .len = 0 };
        if (store_sandbox_each(s, say_sandbox, t, e) < 0 ||
            store_task_each(s, say_task, t, e) < 0 || store_token_each(s, say_token, t, e) < 0)
                return -1;
        gone = store_ended_find(s, "uid:1", "key0", 5, &ended, e);
        if (gone > 0)
                say(t, "ended", ended.id, strlen(ended.id));
        return gone < 0 ? -1 : 0;
}

/* -- the changes ------------------------------------------------------------------------------- */

static const unsigned char manifest[6000] = { 1, 2, 3 }; /* longer than a page */

static struct store_sandbox
row(const char *id, const char *key)
{
        return (struct store_sandbox){ .id = id,
                                       .owner = "uid:1",
                                       .key = key,
                                       .status = STORE_PENDING,
                                       .boot_id = "b",
                                       .created_ms = 7,
                                       .deadline_ms = STORE_NEVER,
                                       .remaining_ms = STORE_NEVER,
                                       .manifest = { manifest, sizeof manifest },
                                       .env = { "A=1", 4 },
                                       .metadata = "{}" };
}

/* Changes several rows of several tables, or none. */
static int
change(struct store *s, int number, struct error *e)
{
        unsigned char hash[STORE_HASH_LEN] = { (unsigned char)number };
        struct store_token token = { "t", "uid:1", "read", 1 };
        struct store_task task = { "a0", "task", (uint64_t)number };
        struct store_bytes digest = { "d", 1 };
        struct store_sandbox r;
        char id[16], key[16];

        (void)snprintf(id, sizeof id, "a%d", number / 6);
        (void)snprintf(key, sizeof key, "key%d", number / 6);
        r = row(id, key);
        r.deadline_ms = (uint64_t)number;
        switch (number % 6) {
        case 0:
                return store_sandbox_add(s, &r, e);
        case 1:
                return store_begin(s, e) < 0 ||
                                       store_key_add(s, id, "extend", "k", digest, e) < 0 ||
                                       store_sandbox_write(s, &r, e) < 0
                               ? -1
                               : store_commit(s, e);
        case 2:
                return number == 2 ? store_task_put(s, &task, e) : store_sandbox_write(s, &r, e);
        case 3:
                return number == 3 ? store_token_add(s, &token, hash, e)
                                   : store_sandbox_write(s, &r, e);
        case 4:
                r.status = STORE_MADE;
                return store_sandbox_write(s, &r, e);
        default:
                return number == 11 ? store_sandbox_end(s, "a0", 5, e)
                                    : store_sandbox_write(s, &r, e);
        }
}

static void
work_and_die(int told)
{
        static struct text t;
        struct store *s = NULL;
        struct error e;

        if (store_open(directory, &s, &e) < 0)
                _exit(1);
        for (int i = 0; i <= CHANGES; i++) {
                if ((i > 0 && change(s, i - 1, &e) < 0) || say_all(s, &t, &e) < 0)
                        _exit(2);
                if (write(told, &t.len, sizeof t.len) < 0 || write(told, t.bytes, t.len) < 0)
                        _exit(3);
        }
        (void)kill(getpid(), SIGKILL);
}

static void
read_whole(int fd, void *bytes, size_t len)
{
        for (size_t at = 0; at < len;) {
                ssize_t got = read(fd, (char *)bytes + at, len - at);

                assert_true(got > 0);
                at += (size_t)got;
        }
}

static struct image
image_of(const char *folder, const char *name)
{
        char path[128];
        struct image i;
        struct stat found;
        int fd;

        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        fd = open(path, O_RDONLY);
        assert_true(fd >= 0 && fstat(fd, &found) == 0);
        i = (struct image){ malloc((size_t)found.st_size + 1), (size_t)found.st_size };
        read_whole(fd, i.bytes, i.len);
        (void)close(fd);
        return i;
}

static void
clear(const char *path)
{
        static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm",
                                             "state.db-journal", "lock" };
        char name[128];

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                (void)snprintf(name, sizeof name, "%s/%s", path, names[i]);
                (void)unlink(name);
        }
}

static int
work(void **state)
{
        const char *wanted = getenv("POWER_STEP"), *deep = getenv("CARREL_TEST_DEEP");
        int told[2], status;
        pid_t child;

        if (deep && strcmp(deep, "1") == 0) {
                step = DEEP_STEP;
                turn_step = DEEP_TURN_STEP;
        }
        if (wanted) {
                step = strtoul(wanted, NULL, 10);
                turn_step = step > 1 ? turn_step : 1;
        }
        (void)snprintf(directory, sizeof directory, "/tmp/carrel-power-XXXXXX");
        (void)snprintf(copy, sizeof copy, "/tmp/carrel-power-XXXXXX");
        if (!mkdtemp(directory) || !mkdtemp(copy) || pipe(told) < 0)
                return -1;
        child = fork();
        if (child == 0)
                work_and_die(told[1]);
        (void)close(told[1]);
        for (int i = 0; i <= CHANGES; i++) {
                size_t len;

                read_whole(told[0], &len, sizeof len);
                states[i] = calloc(1, len + 1);
                read_whole(told[0], states[i], len);
        }
        (void)close(told[0]);
        if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
                return -1;
        database = image_of(directory, "state.db");
        journal = image_of(directory, "state.db-wal");
        return 0;
}

static int
tidy(void **state)
{
        clear(directory);
        clear(copy);
        for (int i = 0; i <= CHANGES; i++)
                free(states[i]);
        free(database.bytes);
        free(journal.bytes);
        return rmdir(directory) < 0 || rmdir(copy) < 0 ? -1 : 0;
}

/* -- recovery ---------------------------------------------------------------------------------- */

static void
put(const char *name, const unsigned char *bytes, size_t len)
{
        char path[128];
        int fd;

        (void)snprintf(path, sizeof path, "%s/%s", copy, name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
        (void)close(fd);
}

/* Runs the database's own checks: no partial row, and every index matches its table. */
static void
assert_sound(void)
{
        sqlite3_stmt *statement;
        char path[128];
        sqlite3 *db;

        (void)snprintf(path, sizeof path, "%s/state.db", copy);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
        (void)sqlite3_finalize(statement);
        (void)sqlite3_close(db);
}

/* The number of the change after which the content was this; -1: none. */
static int
place_of(const struct text *t)
{
        for (int i = CHANGES; i >= 0; i--)
                if (strlen(states[i]) == t->len && memcmp(states[i], t->bytes, t->len) == 0)
                        return i;
        return -1;
}

static int
recovered(const unsigned char *log, size_t len)
{
        static struct text t;
        struct store *s = NULL;
        struct error e;
        int place;

        clear(copy);
        put("state.db", database.bytes, database.len);
        if (log)
                put("state.db-wal", log, len);
        if (store_open(copy, &s, &e) < 0 || say_all(s, &t, &e) < 0)
                fail_msg("at %zu: %s", len, e.message);
        store_close(s);
        assert_sound();
        place = place_of(&t);
        if (place < 0 || t.damaged > 0)
                fail_msg("at %zu something was found that never was:\n%s", len, t.bytes);
        return place;
}

/*
 * Every cut gives an earlier state, a longer log never an older one, and no complete change is
 * missing (N1, N2).
 */
static void
a_log_cut_anywhere_is_a_beginning(void **state)
{
        int last = 0, cuts = 0;

        /* everything is in the log, and the database file is empty */
        assert_true(database.len > 0 && journal.len > LOG_HEAD + FRAME);
        assert_int_equal(recovered(NULL, 0), 0);
        for (size_t at = 0; at <= journal.len; at++) {
                size_t in = at >= LOG_HEAD ? (at - LOG_HEAD) % FRAME : at;
                bool is_border = in <= 1 || in == FRAME - 1 || in == FRAME_HEAD;
                int place;

                if (!is_border && at % step != 0 && at != journal.len)
                        continue;
                place = recovered(journal.bytes, at);
                if (place < last)
                        fail_msg("%zu bytes hold less (%d) than fewer did (%d)", at, place, last);
                last = place;
                cuts++;
        }
        assert_int_equal(last, CHANGES);
        print_message("# %d cuts of %zu bytes\n", cuts, journal.len);
}

/* Recovery stops at a changed byte of the log. */
static void
a_turned_byte_of_the_log_is_seen(void **state)
{
        unsigned char *log = malloc(journal.len);
        int last = 0;

        for (size_t at = 0; at < journal.len; at += at < LOG_HEAD + 2 * FRAME_HEAD ? 1 : step) {
                memcpy(log, journal.bytes, journal.len);
                log[at] ^= 0x10;
                last = recovered(log, journal.len);
                if (at >= LOG_HEAD && last == CHANGES)
                        fail_msg("byte %zu was turned, and everything is there", at);
        }
        free(log);
}

/* Frames that reached the disk in another order than they were written. */
static void
frames_that_came_out_of_order_are_no_frames(void **state)
{
        size_t count = (journal.len - LOG_HEAD) / FRAME;
        unsigned char *log = malloc(journal.len);

        for (size_t i = 0; i + 1 < count; i++) {
                unsigned char *first = log + LOG_HEAD + i * FRAME;
                int place;

                memcpy(log, journal.bytes, journal.len);
                memset(first, 0, FRAME); /* this frame was lost, the next one arrived */
                place = recovered(log, journal.len);
                assert_true(place < CHANGES);
                assert_int_equal(place, recovered(journal.bytes, LOG_HEAD + i * FRAME));
        }
        free(log);
}

/*
 * SQLite takes an empty database for a new one, and would discard the log beside it with all its
 * content.
 */
static void
a_log_without_its_database_is_refused_and_kept(void **state)
{
        struct store *s = NULL;
        struct error e;
        struct image left;

        for (int is_there = 0; is_there < 2; is_there++) {
                clear(copy);
                if (is_there)
                        put("state.db", database.bytes, 0);
                put("state.db-wal", journal.bytes, journal.len);
                assert_int_equal(store_open(copy, &s, &e), -1);
                assert_int_equal(e.code, ERROR_STATE_UNUSABLE);
                left = image_of(copy, "state.db-wal");
                assert_int_equal(left.len, journal.len);
                free(left.bytes);
        }
}

/*
 * SQLite's pages have no checksums. Whichever bit changes, the result must be an error with a code,
 * a row marked as damaged, or the old content. It must never be a sandbox, a token or a deadline
 * that did not exist.
 */
static void
a_turned_byte_of_the_database_makes_nothing_up(void **state)
{
        static struct text t;
        struct store *s = NULL;
        struct error e;
        struct image whole;
        int refused = 0, damaged = 0, same = 0, less = 0;
        char *all = NULL;

        clear(copy);
        put("state.db", database.bytes, database.len);
        put("state.db-wal", journal.bytes, journal.len);
        assert_int_equal(store_open(copy, &s, &e), 0);
        assert_int_equal(say_all(s, &t, &e), 0);
        store_close(s); /* this moves the log into the database */
        all = strdup(t.bytes);
        whole = image_of(copy, "state.db");
        for (size_t at = 0; at < whole.len; at += turn_step) {
                whole.bytes[at] ^= (unsigned char)(1u << at % 8);
                clear(copy);
                put("state.db", whole.bytes, whole.len);
                whole.bytes[at] ^= (unsigned char)(1u << at % 8);
                s = NULL;
                if (store_open(copy, &s, &e) < 0 || say_all(s, &t, &e) < 0) {
                        assert_true(e.code == ERROR_STATE_UNUSABLE || e.code == ERROR_INTERNAL ||
                                    e.code == ERROR_EXISTS || e.code == ERROR_NO_MEMORY);
                        refused++;
                } else {
                        for (char *line = t.bytes, *end; (end = strchr(line, '\n')) != NULL;
                             line = end + 1) {
                                *end = '\0';
                                if (!strstr(all, line))
                                        fail_msg("byte %zu was turned, and there is %s", at, line);
                        }
                        *(t.damaged > 0 ? &damaged : t.len == strlen(all) ? &same : &less) += 1;
                }
                store_close(s);
        }
        print_message("# %zu bytes: %d refused, %d rows damaged, %d the same, %d with less\n",
                      whole.len, refused, damaged, same, less);
        assert_true(refused > 0 && damaged > 0);
        free(whole.bytes);
        free(all);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_log_cut_anywhere_is_a_beginning),
                cmocka_unit_test(a_turned_byte_of_the_log_is_seen),
                cmocka_unit_test(frames_that_came_out_of_order_are_no_frames),
                cmocka_unit_test(a_log_without_its_database_is_refused_and_kept),
                cmocka_unit_test(a_turned_byte_of_the_database_makes_nothing_up),
        };

        return cmocka_run_group_tests(tests, work, tidy);
}
