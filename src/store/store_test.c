/*
 * store/store_test.c - promises of the store: one holder, a later schema is refused, changes are
 * atomic.
 */
#include "store/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit.h"

static char directory[64];

static int
set_up(void **state)
{
        (void)snprintf(directory, sizeof directory, "/tmp/carrel-store-XXXXXX");
        return mkdtemp(directory) ? 0 : -1;
}

static int
tear_down(void **state)
{
        static const char *const names[] = { "state.db", "state.db-wal", "state.db-shm",
                                             "state.db-journal", "lock" };
        char path[128];

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
                (void)unlink(path);
        }
        return rmdir(directory);
}

static struct store *
opened(void)
{
        struct store *s = NULL;
        struct error e;

        if (store_open(directory, &s, &e) < 0)
                fail_msg("%s", e.message);
        return s;
}

static struct store_sandbox
row(const char *id, const char *owner, const char *name, const char *key)
{
        return (struct store_sandbox){ .id = id,
                                       .owner = owner,
                                       .name = name,
                                       .key = key,
                                       .status = STORE_PENDING,
                                       .boot_id = "b",
                                       .created_ms = 7,
                                       .deadline_ms = STORE_NEVER,
                                       .remaining_ms = STORE_NEVER,
                                       .manifest = { "mm", 2 },
                                       .env = { "A=1", 4 },
                                       .metadata = "{\"a\":1}" };
}

struct seen {
        int count;
        char ids[8][33];
        uint64_t deadline;
};

static int
see(void *context, const struct store_sandbox *r)
{
        struct seen *seen = context;

        assert_true(seen->count < 8);
        (void)snprintf(seen->ids[seen->count++], 33, "%s", r->id);
        seen->deadline = r->deadline_ms;
        assert_memory_equal(r->manifest.bytes, "mm", 2);
        assert_int_equal(r->env.len, 4);
        assert_string_equal(r->metadata, "{\"a\":1}");
        return 0;
}

static struct seen
all(struct store *s)
{
        struct seen seen = { 0 };
        struct error e;

        assert_int_equal(store_sandbox_each(s, see, &seen, &e), 0);
        return seen;
}

static void
rows_come_back_in_order_after_closing(void **state)
{
        struct store *s = opened();
        struct store_sandbox a = row("b1", "uid:1", "x", NULL), b = row("a2", "uid:1", NULL, "k");
        struct error e;

        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        assert_int_equal(store_sandbox_add(s, &b, &e), 0);
        b.deadline_ms = 123456;
        assert_int_equal(store_sandbox_write(s, &b, &e), 0);
        store_close(s);
        s = opened();
        assert_int_equal(all(s).count, 2);
        assert_string_equal(all(s).ids[0], "b1");
        assert_int_equal(all(s).deadline, 123456);
        assert_int_equal(store_sandbox_remove(s, "b1", &e), 0);
        assert_int_equal(store_sandbox_remove(s, "b1", &e), 0);
        assert_int_equal(all(s).count, 1);
        store_close(s);
}

static void
a_name_or_key_is_unique_for_its_owner(void **state)
{
        static const struct {
                const char *owner, *name, *key;
                int result;
        } cases[] = {
                { "uid:1", "n", NULL, -1 }, { "uid:1", "m", "k", -1 }, { "uid:2", "n", "k", 0 },
                { "uid:1", "m", "l", 0 },   { NULL, NULL, NULL, 0 },   { NULL, NULL, NULL, 0 },
                { "uid:1", NULL, NULL, 0 },
        };
        struct store *s = opened();
        struct store_sandbox first = row("first", "uid:1", "n", "k");
        struct error e;
        char id[8];

        assert_int_equal(store_sandbox_add(s, &first, &e), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct store_sandbox r = row(id, cases[i].owner, cases[i].name, cases[i].key);

                (void)snprintf(id, sizeof id, "i%zu", i);
                assert_int_equal(store_sandbox_add(s, &r, &e), cases[i].result);
                if (cases[i].result < 0)
                        assert_int_equal(e.code, ERROR_EXISTS);
        }
        store_close(s);
}

static void
what_was_not_committed_never_was(void **state)
{
        struct store *s = opened();
        struct store_sandbox a = row("a", "uid:1", NULL, NULL), b = row("b", "uid:1", NULL, NULL);
        struct error e;

        assert_int_equal(store_begin(s, &e), 0);
        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        store_rollback(s);
        assert_int_equal(all(s).count, 0);
        assert_int_equal(store_begin(s, &e), 0);
        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        assert_int_equal(store_sandbox_add(s, &b, &e), 0);
        assert_int_equal(store_commit(s, &e), 0);
        assert_int_equal(all(s).count, 2);
        store_close(s);
}

static void
what_was_committed_survives_a_kill(void **state)
{
        pid_t child = fork();
        int status;
        struct store *s;

        if (child == 0) {
                struct error e;
                struct store_sandbox a = row("a", "uid:1", NULL, NULL),
                                     b = row("b", "uid:1", NULL, NULL);

                if (store_open(directory, &s, &e) == 0 && store_sandbox_add(s, &a, &e) == 0 &&
                    store_begin(s, &e) == 0 && store_sandbox_add(s, &b, &e) == 0)
                        (void)kill(getpid(), SIGKILL);
                _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        s = opened();
        assert_int_equal(all(s).count, 1);
        store_close(s);
}

static void
what_was_noted_survives_a_kill_and_later_changes_are_synced(void **state)
{
        pid_t child = fork();
        int status;
        struct store *s;

        if (child == 0) {
                struct error e;
                struct store_sandbox a = row("a", NULL, NULL, NULL);

                if (store_open(directory, &s, &e) == 0 && store_sandbox_add(s, &a, &e) == 0) {
                        a.deadline_ms = 77;
                        if (store_sandbox_note(s, &a, &e) == 0 && !store_is_failed(s))
                                (void)kill(getpid(), SIGKILL);
                }
                _exit(1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        s = opened();
        assert_int_equal(all(s).deadline, 77);
        store_close(s);
}

static void
a_second_keeper_is_refused_with_the_holder(void **state)
{
        struct store *s = opened(), *other = NULL;
        struct error e;
        char pid[32];

        assert_int_equal(store_open(directory, &other, &e), -1);
        assert_int_equal(e.code, ERROR_STATE_IN_USE);
        (void)snprintf(pid, sizeof pid, "pid %ld", (long)getpid());
        assert_non_null(strstr(e.message, pid));
        store_close(s);
        store_close(opened());
}

static void
change(const char *text)
{
        char path[128];
        sqlite3 *db;

        (void)snprintf(path, sizeof path, "%s/state.db", directory);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
        (void)sqlite3_close(db);
}

static void
a_later_schema_is_refused_and_left_alone(void **state)
{
        struct store *s = opened();
        struct error e;

        store_close(s);
        change("PRAGMA user_version = 99");
        assert_int_equal(store_open(directory, &s, &e), -1);
        assert_int_equal(e.code, ERROR_STATE_UNUSABLE);
        assert_non_null(strstr(e.message, "later version of carrel"));
        change("PRAGMA user_version = 3");
        store_close(opened());
}

/* The text of the first schema, unchanged. */
#define FIRST_SCHEMA                                                                              \
        "CREATE TABLE sandboxes (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created "   \
        "INTEGER NOT NULL, manifest BLOB NOT NULL, owner TEXT, name TEXT, cause TEXT, "           \
        "provider TEXT, workspace TEXT, runtime TEXT, manifest_name TEXT, metadata TEXT, key "    \
        "TEXT, status INTEGER NOT NULL, caller_uid INTEGER NOT NULL, "                            \
        "is_read_only INTEGER NOT NULL, is_paused INTEGER NOT NULL, delete_at INTEGER NOT NULL, " \
        "deadline INTEGER NOT NULL, remaining INTEGER NOT NULL, "                                 \
        "started INTEGER NOT NULL, boot_id TEXT NOT NULL, cwd TEXT, cpu INTEGER NOT NULL, "       \
        "is_writable INTEGER NOT NULL, env BLOB NOT NULL, ports BLOB NOT NULL, "                  \
        "digest BLOB NOT NULL, warnings BLOB NOT NULL) STRICT;"                                   \
        "CREATE UNIQUE INDEX sandbox_names ON sandboxes (owner, name) WHERE name IS NOT NULL;"    \
        "CREATE UNIQUE INDEX sandbox_keys ON sandboxes (owner, key) WHERE key IS NOT NULL;"       \
        "CREATE TABLE keys (sandbox TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE, "  \
        "op TEXT NOT NULL, key TEXT NOT NULL, digest INTEGER NOT NULL, "                          \
        "PRIMARY KEY (sandbox, op, key)) STRICT, WITHOUT ROWID;"                                  \
        "CREATE TABLE tasks (sandbox TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE, " \
        "task TEXT NOT NULL, deadline INTEGER NOT NULL, "                                         \
        "PRIMARY KEY (sandbox, task)) STRICT, WITHOUT ROWID;"                                     \
        "CREATE TABLE tokens (id TEXT PRIMARY KEY, owner TEXT NOT NULL, scope TEXT NOT NULL, "    \
        "created INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE) STRICT, WITHOUT ROWID;"

static int
see_whole(void *context, const struct store_sandbox *r)
{
        assert_false(r->is_damaged);
        assert_string_equal(r->owner, "uid:1");
        ++*(int *)context;
        return 0;
}

static int
see_task(void *context, const struct store_task *task)
{
        *(uint64_t *)context += task->deadline_ms;
        return 0;
}

static void
the_first_schema_is_brought_up_and_loses_nothing(void **state)
{
        unsigned char hash[STORE_HASH_LEN] = { 0 };
        char owner[16], scope[16];
        uint64_t deadline = 0;
        struct store *s;
        struct error e;
        int count = 0;

        change(FIRST_SCHEMA "INSERT INTO sandboxes VALUES (NULL, 'a', 7, x'6d6d', 'uid:1', 'n', "
                            "NULL, NULL, NULL, NULL, NULL, '{}', 'k', 1, 5, 0, 0, 0, -1, -1, 0, "
                            "'b', NULL, 0, 0, x'', x'', x'', x'');"
                            "INSERT INTO keys VALUES ('a', 'extend', 'e', 5); INSERT INTO tasks "
                            "VALUES ('a', 't', 9);"
                            "INSERT INTO tokens VALUES ('t', 'uid:1', 'read', 1, zeroblob(32)); "
                            "PRAGMA user_version = 1");
        s = opened();
        assert_int_equal(store_sandbox_each(s, see_whole, &count, &e), 0);
        assert_int_equal(count, 1);
        assert_int_equal(store_key_find(s, "a", "extend", "e", (struct store_bytes){ "5", 1 }, &e),
                         1);
        assert_int_equal(store_task_each(s, see_task, &deadline, &e), 0);
        assert_int_equal(deadline, 9);
        assert_int_equal(store_token_find(s, hash, owner, sizeof owner, scope, sizeof scope, &e),
                         1);
        store_close(s);
        store_close(opened());
}

static int
see_damage(void *context, const struct store_sandbox *r)
{
        int *seen = context;

        seen[r->id && strcmp(r->id, "whole") == 0] += r->is_damaged ? 1 : 100;
        return 0;
}

/* A changed column damages its own row only (Z21). */
static void
a_changed_column_damages_its_row_alone(void **state)
{
        static const char *const changes[] = {
                "id = 'hurs'",
                "owner = 'uid:2'",
                "owner = NULL",
                "created = 8",
                "manifest = x'6d6c'",
                "name = 'm'",
                "metadata = '{\"a\":3}'",
                "key = 'l'",
                "status = 2",
                "caller_uid = 9",
                "is_read_only = 1",
                "deadline = 5",
                "remaining = 4",
                "boot_id = 'c'",
                "cpu = 1",
                "is_writable = 1",
                "env = x'413d32'",
                "ports = x'00'",
                "digest = x'01'",
                "sum = x'00'",
                "cause = ''",
                "warnings = x'01'",
                "reads = x'6100'",
                "cwd = ''",
                "provider = 'p'",
                "workspace = '/'",
                "runtime = 'r'",
                "manifest_name = 'n'",
                "started = 1",
                "delete_at = 1",
                "is_paused = 1",
        };
        char text[256];

        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
                struct store_sandbox hurt = row("hurt", "uid:1", "n", "k"),
                                     whole = row("whole", "uid:1", "o", "w");
                int seen[2] = { 0 };
                struct store *s = opened();
                struct error e;

                assert_int_equal(store_sandbox_add(s, &hurt, &e), 0);
                assert_int_equal(store_sandbox_add(s, &whole, &e), 0);
                assert_int_equal(store_sandbox_write(s, &whole, &e), 0);
                store_close(s);
                (void)snprintf(text, sizeof text, "UPDATE sandboxes SET %s WHERE id = 'hurt'",
                               changes[i]);
                change(text);
                s = opened();
                assert_int_equal(store_sandbox_each(s, see_damage, seen, &e), 0);
                if (seen[0] != 1 || seen[1] != 100)
                        fail_msg("%s: %d %d", changes[i], seen[0], seen[1]);
                assert_int_equal(store_sandbox_remove(s, "hurt", &e), 0);
                assert_int_equal(store_sandbox_remove(s, "hurs", &e), 0);
                assert_int_equal(store_sandbox_remove(s, "whole", &e), 0);
                store_close(s);
        }
}

static void
a_damaged_task_or_token_is_none(void **state)
{
        struct store_sandbox a = row("a", "uid:1", NULL, NULL);
        struct store_token token = { "t", "uid:7", "read", 9 };
        unsigned char hash[STORE_HASH_LEN] = { 1 };
        struct store_task task = { "a", "t", 5 };
        char owner[16], scope[16];
        uint64_t sum = 0;
        struct store *s = opened();
        struct error e;

        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        assert_int_equal(store_task_put(s, &task, &e), 0);
        assert_int_equal(store_token_add(s, &token, hash, &e), 0);
        store_close(s);
        change("UPDATE tokens SET scope = 'all'; UPDATE tasks SET deadline = 6");
        s = opened();
        assert_int_equal(store_token_find(s, hash, owner, sizeof owner, scope, sizeof scope, &e),
                         0);
        assert_int_equal(store_task_each(s, see_task, &sum, &e), 0);
        assert_int_equal(sum, 0);
        assert_int_equal(store_token_remove(s, "t", &e), 1);
        store_close(s);
}

static void
the_bytes_of_a_day_are_kept(void **state)
{
        const struct store_day row = { 20000, 5, 7, UINT64_MAX, "boot", false };
        struct store *s = opened();
        struct store_day found;
        struct error e;

        assert_int_equal(store_day_find(s, "uid:1", &found, &e), 0);
        assert_int_equal(store_day_put(s, "uid:1", &(struct store_day){ .day = 19999 }, &e), 0);
        assert_int_equal(store_day_put(s, "uid:1", &row, &e), 0);
        store_close(s);
        s = opened();
        assert_int_equal(store_day_find(s, "uid:1", &found, &e), 1);
        assert_true(found.day == row.day && found.bytes == row.bytes &&
                    found.time_ms == row.time_ms && found.boot_ms == row.boot_ms &&
                    !found.is_damaged);
        assert_string_equal(found.boot_id, "boot");
        assert_int_equal(store_day_find(s, "uid:2", &found, &e), 0);
        store_close(s);
        change("UPDATE days SET bytes = 0");
        s = opened();
        assert_int_equal(store_day_find(s, "uid:1", &found, &e), 1);
        assert_true(found.is_damaged);
        store_close(s);
}

static void
what_is_no_database_is_refused(void **state)
{
        static const char *const texts[] = {
                "this is no database, and it is long enough to have a header of one hundred bytes "
                "or thereabouts, so it is looked at..."
        };
        char path[128];
        struct store *s = NULL;
        struct error e;
        int fd;

        (void)snprintf(path, sizeof path, "%s/state.db", directory);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_true(write(fd, texts[0], strlen(texts[0])) > 0);
        (void)close(fd);
        assert_int_equal(store_open(directory, &s, &e), -1);
        assert_int_equal(e.code, ERROR_STATE_UNUSABLE);
}

static void
a_link_is_no_database(void **state)
{
        static const char *const targets[] = { "nowhere", "/dev/null", "." };
        char path[128];

        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
                struct store *s = NULL;
                struct error e;

                (void)snprintf(path, sizeof path, "%s/state.db", directory);
                assert_int_equal(symlink(targets[i], path), 0);
                assert_int_equal(store_open(directory, &s, &e), -1);
                assert_int_equal(e.code, ERROR_STATE_UNUSABLE);
                assert_non_null(strstr(e.message, "symbolic link"));
                assert_int_equal(unlink(path), 0);
        }
}

static void
a_directory_that_others_may_change_is_refused(void **state)
{
        struct store *s = NULL;
        struct error e;

        assert_int_equal(chmod(directory, 0777), 0);
        assert_int_equal(store_open(directory, &s, &e), -1);
        assert_int_equal(e.code, ERROR_STATE_UNUSABLE);
}

static const struct store_bytes five = { "5", 1 }, six = { "6", 1 };

static int
key_take(struct store *s, const char *key, struct store_bytes digest, struct error *e)
{
        int known = store_key_find(s, "a", "extend", key, digest, e);

        return known != 0 ? known : store_key_add(s, "a", "extend", key, digest, e);
}

static void
a_key_has_one_effect_and_goes_with_its_sandbox(void **state)
{
        struct store *s = opened();
        struct store_sandbox a = row("a", "uid:1", NULL, NULL);
        struct error e;

        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        assert_int_equal(key_take(s, "k", five, &e), 0);
        assert_int_equal(key_take(s, "k", five, &e), 1);
        assert_int_equal(key_take(s, "k", six, &e), -1);
        assert_int_equal(e.code, ERROR_EXISTS);
        assert_int_equal(store_sandbox_remove(s, "a", &e), 0);
        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        assert_int_equal(key_take(s, "k", six, &e), 0);
        store_close(s);
}

static int
count_of(const char *table)
{
        char path[128], text[128];
        sqlite3_stmt *statement;
        sqlite3 *db;
        int count;

        (void)snprintf(path, sizeof path, "%s/state.db", directory);
        (void)snprintf(text, sizeof text, "SELECT count(*) FROM %s", table);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        count = sqlite3_column_int(statement, 0);
        (void)sqlite3_finalize(statement);
        (void)sqlite3_close(db);
        return count;
}

static void
keys_have_a_bound_and_the_newest_stay(void **state)
{
        struct store *s = opened();
        struct store_sandbox a = row("a", "uid:1", NULL, NULL);
        struct error e;
        char key[16];

        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        for (int i = 0; i < STORE_KEYS_MAX + 10; i++) {
                (void)snprintf(key, sizeof key, "k%d", i);
                assert_int_equal(store_key_note(s, "a", "exec", key, five, &e), 0);
        }
        assert_int_equal(store_key_find(s, "a", "exec", key, five, &e), 1);
        assert_int_equal(store_key_find(s, "a", "exec", "k10", five, &e), 1);
        assert_int_equal(store_key_find(s, "a", "exec", "k9", six, &e), 0);
        store_close(s);
        assert_int_equal(count_of("keys"), STORE_KEYS_MAX);
}

/* Its key is kept for a day, for its owner only. A discarded sandbox leaves no key. */
static void
the_key_of_one_that_ended_is_remembered(void **state)
{
        static const struct {
                const char *owner, *key;
                uint64_t at;
                int found;
        } cases[] = {
                { "uid:1", "k", 1000, 1 },
                { "uid:1", "k", 1000 + STORE_ENDED_MS, 1 },
                { "uid:1", "k", 1001 + STORE_ENDED_MS, 0 },
                { "uid:2", "k", 1000, 0 },
                { "uid:1", "other", 1000, 0 },
                { "uid:1", "failed", 1000, 0 },
        };
        struct store *s = opened();
        struct store_sandbox a = row("a", "uid:1", NULL, "k"),
                             b = row("b", "uid:1", NULL, "failed"),
                             c = row("c", "uid:1", NULL, "late"),
                             none = row("d", "uid:1", NULL, NULL);
        struct store_ended ended;
        struct error e;

        a.digest = five;
        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        assert_int_equal(store_sandbox_add(s, &b, &e), 0);
        assert_int_equal(store_sandbox_add(s, &c, &e), 0);
        assert_int_equal(store_sandbox_add(s, &none, &e), 0);
        assert_int_equal(store_sandbox_end(s, "a", 1000, &e), 0);
        assert_int_equal(store_sandbox_remove(s, "b", &e), 0);
        assert_int_equal(store_sandbox_end(s, "d", 1000, &e), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                assert_int_equal(
                        store_ended_find(s, cases[i].owner, cases[i].key, cases[i].at, &ended, &e),
                        cases[i].found);
                if (cases[i].found)
                        assert_true(strcmp(ended.id, "a") == 0 && ended.digest_len == 1 &&
                                    ended.digest[0] == '5');
        }
        /* this drops the old keys */
        assert_int_equal(store_sandbox_end(s, "c", 1001 + STORE_ENDED_MS, &e), 0);
        store_close(s);
        assert_int_equal(count_of("ended"), 1);
}

static void
a_token_is_found_by_its_hash_alone(void **state)
{
        struct store *s = opened();
        struct store_token token = { "t1", "uid:7", "read", 9 };
        unsigned char hash[STORE_HASH_LEN] = { 1, 2, 3 }, other[STORE_HASH_LEN] = { 1, 2 };
        char owner[16], scope[16], small[2];
        struct error e;

        assert_int_equal(store_token_add(s, &token, hash, &e), 0);
        assert_int_equal(store_token_find(s, hash, owner, sizeof owner, scope, sizeof scope, &e),
                         1);
        assert_string_equal(owner, "uid:7");
        assert_string_equal(scope, "read");
        assert_int_equal(store_token_find(s, other, owner, sizeof owner, scope, sizeof scope, &e),
                         0);
        assert_int_equal(store_token_find(s, hash, small, sizeof small, scope, sizeof scope, &e),
                         -1);
        assert_int_equal(store_token_remove(s, "t1", &e), 1);
        assert_int_equal(store_token_remove(s, "t1", &e), 0);
        assert_int_equal(store_token_find(s, hash, owner, sizeof owner, scope, sizeof scope, &e),
                         0);
        store_close(s);
}

static void
tasks_are_put_once_and_go_with_their_sandbox(void **state)
{
        struct store *s = opened();
        struct store_sandbox a = row("a", "uid:1", NULL, NULL);
        struct store_task task = { "a", "t", 5 };
        uint64_t sum = 0;
        struct error e;

        assert_int_equal(store_task_put(s, &task, &e), -1); /* its sandbox does not exist */
        assert_int_equal(store_sandbox_add(s, &a, &e), 0);
        assert_int_equal(store_task_put(s, &task, &e), 0);
        task.deadline_ms = 6;
        assert_int_equal(store_task_put(s, &task, &e), 0);
        assert_int_equal(store_task_each(s, see_task, &sum, &e), 0);
        assert_int_equal(sum, 6);
        assert_int_equal(store_sandbox_remove(s, "a", &e), 0);
        assert_int_equal(store_task_each(s, see_task, &sum, &e), 0);
        assert_int_equal(sum, 6);
        store_close(s);
}

#define HELD(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
        const struct CMUnitTest tests[] = {
                HELD(rows_come_back_in_order_after_closing),
                HELD(a_name_or_key_is_unique_for_its_owner),
                HELD(what_was_not_committed_never_was),
                HELD(what_was_committed_survives_a_kill),
                HELD(what_was_noted_survives_a_kill_and_later_changes_are_synced),
                HELD(a_second_keeper_is_refused_with_the_holder),
                HELD(a_later_schema_is_refused_and_left_alone),
                HELD(what_is_no_database_is_refused),
                HELD(a_link_is_no_database),
                HELD(a_directory_that_others_may_change_is_refused),
                HELD(a_key_has_one_effect_and_goes_with_its_sandbox),
                HELD(keys_have_a_bound_and_the_newest_stay),
                HELD(the_key_of_one_that_ended_is_remembered),
                HELD(the_first_schema_is_brought_up_and_loses_nothing),
                HELD(a_changed_column_damages_its_row_alone),
                HELD(a_damaged_task_or_token_is_none),
                HELD(the_bytes_of_a_day_are_kept),
                HELD(a_token_is_found_by_its_hash_alone),
                HELD(tasks_are_put_once_and_go_with_their_sandbox),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
