/*
 * store/store.c - the state directory: its lock, its database, its schema.
 *
 * Room: store (acting). Touches: fd, the database.
 * Theory: a flock(2) lock ends with its holder, so it is never stale. The write-ahead log is synced
 * at each commit (synchronous FULL): what was committed survives a loss of power. A later schema is
 * refused, never guessed at. An older one is migrated, step by step, in one transaction. Nothing in
 * the database is trusted to be code.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "store/query.h"

enum { PATH_LEN = 4096, BUSY_PID_LEN = 32 };

/* migrations[i] brings version i to i + 1. */
static const char *const migrations[STORE_SCHEMA] = {
        "CREATE TABLE sandboxes (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created "
        "INTEGER NOT NULL, manifest BLOB NOT NULL, owner TEXT, name TEXT, cause TEXT, "
        "provider TEXT, workspace TEXT, runtime TEXT, manifest_name TEXT, metadata TEXT, key TEXT, "
        "status INTEGER NOT NULL, caller_uid INTEGER NOT NULL, "
        "is_read_only INTEGER NOT NULL, is_paused INTEGER NOT NULL, delete_at INTEGER NOT NULL, "
        "deadline INTEGER NOT NULL, remaining INTEGER NOT NULL, "
        "started INTEGER NOT NULL, boot_id TEXT NOT NULL, cwd TEXT, cpu INTEGER NOT NULL, "
        "is_writable INTEGER NOT NULL, env BLOB NOT NULL, ports BLOB NOT NULL, digest BLOB NOT "
        "NULL, warnings BLOB NOT NULL) STRICT;"
        "CREATE UNIQUE INDEX sandbox_names ON sandboxes (owner, name) WHERE name IS NOT NULL;"
        "CREATE UNIQUE INDEX sandbox_keys ON sandboxes (owner, key) WHERE key IS NOT NULL;"
        "CREATE TABLE keys (sandbox TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE, op "
        "TEXT NOT NULL, key TEXT NOT NULL, digest INTEGER NOT NULL, "
        "PRIMARY KEY (sandbox, op, key)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE tasks (sandbox TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE, "
        "task TEXT NOT NULL, deadline INTEGER NOT NULL, "
        "PRIMARY KEY (sandbox, task)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE tokens (id TEXT PRIMARY KEY, owner TEXT NOT NULL, scope TEXT NOT NULL, "
        "created INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE) STRICT, WITHOUT ROWID;",
        /* version 2: rows have sums; keys are counted, and outlive their sandbox for a while */
        "ALTER TABLE sandboxes ADD COLUMN sum BLOB NOT NULL DEFAULT x'';"
        "ALTER TABLE tasks ADD COLUMN sum BLOB NOT NULL DEFAULT x'';"
        "ALTER TABLE tokens ADD COLUMN sum BLOB NOT NULL DEFAULT x'';"
        "UPDATE sandboxes SET sum = row_sum(id, created, manifest, owner, name, cause, provider, "
        "workspace, runtime, manifest_name, metadata, key, status, caller_uid, "
        "is_read_only, is_paused, delete_at, deadline, remaining, started, boot_id, cwd, cpu, "
        "is_writable, env, ports, digest, warnings);"
        "UPDATE tasks SET sum = row_sum(sandbox, task, deadline);"
        "UPDATE tokens SET sum = row_sum(id, owner, scope, created, hash);"
        "ALTER TABLE keys RENAME TO keys1;"
        "CREATE TABLE keys (number INTEGER PRIMARY KEY, sandbox TEXT NOT NULL REFERENCES sandboxes "
        "(id) ON DELETE CASCADE, op TEXT NOT NULL, key TEXT NOT NULL, "
        "digest BLOB NOT NULL, UNIQUE (sandbox, op, key)) STRICT;"
        "CREATE INDEX keys_of ON keys (sandbox, op);"
        "INSERT INTO keys (sandbox, op, key, digest) SELECT sandbox, op, key, CAST(CAST(digest AS "
        "TEXT) AS BLOB) FROM keys1;"
        "DROP TABLE keys1;"
        "CREATE TABLE ended (number INTEGER PRIMARY KEY, owner TEXT NOT NULL, key TEXT NOT NULL, "
        "digest BLOB NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, "
        "UNIQUE (owner, key)) STRICT;"
        "CREATE INDEX ended_at ON ended (at);",
        /* version 3: the files that checks read; a row that was damaged before stays damaged */
        "ALTER TABLE sandboxes ADD COLUMN reads BLOB NOT NULL DEFAULT x'';"
        "UPDATE sandboxes SET sum = row_sum(id, created, manifest, owner, name, cause, provider, "
        "workspace, runtime, manifest_name, metadata, key, status, caller_uid, "
        "is_read_only, is_paused, delete_at, deadline, remaining, started, boot_id, cwd, cpu, "
        "is_writable, env, ports, digest, warnings, reads) WHERE sum = row_sum(id, created, "
        "manifest, owner, name, cause, provider, workspace, runtime, manifest_name, metadata, key, "
        "status, caller_uid, "
        "is_read_only, is_paused, delete_at, deadline, remaining, started, boot_id, cwd, cpu, "
        "is_writable, env, ports, digest, warnings);",
};

/*
 * Tables that an older release does not read: it works on with the same state, and the number of
 * the schema stays. `usage`: what sandboxes used; -1: not measured. `days`: bytes out of the
 * sandboxes of each owner on the last day.
 */
static const char additions[] =
        "CREATE TABLE IF NOT EXISTS usage (owner TEXT NOT NULL, sandbox TEXT NOT NULL, at INTEGER "
        "NOT NULL, wall INTEGER NOT NULL, cpu INTEGER NOT NULL, memory INTEGER NOT NULL, execs "
        "INTEGER NOT NULL, output INTEGER NOT NULL, egress_out INTEGER NOT NULL, egress_in "
        "INTEGER NOT NULL, PRIMARY KEY (owner, sandbox)) STRICT, WITHOUT ROWID;"
        "CREATE UNIQUE INDEX IF NOT EXISTS usage_of ON usage (sandbox) WHERE sandbox <> '';"
        "CREATE TABLE IF NOT EXISTS days (owner TEXT PRIMARY KEY, day INTEGER NOT NULL, bytes "
        "INTEGER NOT NULL, time INTEGER NOT NULL, boot INTEGER NOT NULL, boot_id TEXT NOT NULL, "
        "sum BLOB NOT NULL) STRICT, WITHOUT ROWID;";

static int
make_directory(const char *directory, struct error *e)
{
        struct stat found;

        if (mkdir(directory, 0700) < 0 && errno != EEXIST)
                return fail_sys(e, errno == ENOSPC ? ERROR_STORAGE_FULL : ERROR_STATE_UNUSABLE,
                                errno, "making the state directory %.200s", directory);
        if (stat(directory, &found) < 0)
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                "looking at the state directory %.200s", directory);
        if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 022) != 0) {
                (void)fail(e, ERROR_STATE_UNUSABLE,
                           "the state directory %.200s is not a directory of this user's that only "
                           "he may change",
                           directory);
                error_hint(e, "chown and chmod 700 it, or choose another with --state DIR.");
                return -1;
        }
        return 0;
}

/* Takes the lock, held while the descriptor is open. The lock file names the holder. */
static int
take_lock(const char *directory, int *ret, struct error *e)
{
        scoped_fd int fd = -1;
        char path[PATH_LEN], holder[BUSY_PID_LEN] = "";
        ssize_t len;

        (void)snprintf(path, sizeof path, "%s/lock", directory);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return fail_sys(e, errno == ENOSPC ? ERROR_STORAGE_FULL : ERROR_STATE_UNUSABLE,
                                errno, "opening %.200s", path);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                len = pread(fd, holder, sizeof holder - 1, 0);
                holder[len > 0 ? strspn(holder, "0123456789") : 0] = '\0';
                return fail(e, ERROR_STATE_IN_USE,
                            "another daemon (pid %s) holds the state directory %.200s",
                            holder[0] != '\0' ? holder : "unknown", directory);
        }
        (void)snprintf(holder, sizeof holder, "%ld\n", (long)getpid());
        if (ftruncate(fd, 0) < 0 || pwrite(fd, holder, strlen(holder), 0) < 0)
                return fail_sys(e, errno == ENOSPC ? ERROR_STORAGE_FULL : ERROR_STATE_UNUSABLE,
                                errno, "writing %.200s", path);
        *ret = fd_take(&fd);
        return 0;
}

static int
run_text(struct store *s, const char *text, struct error *e)
{
        return sqlite3_exec(s->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : query_fail(s, e);
}

static int
read_version(struct store *s, uint64_t *ret, struct error *e)
{
        sqlite3_stmt *statement = NULL;
        int result = sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &statement, NULL);

        if (result == SQLITE_OK)
                result = sqlite3_step(statement);
        if (result == SQLITE_ROW)
                *ret = (uint64_t)sqlite3_column_int64(statement, 0);
        else
                (void)query_fail(s, e);
        (void)sqlite3_finalize(statement);
        return result == SQLITE_ROW ? 0 : -1;
}

/* A column of a later release is added to a table that has no such column. */
static int
add_column(struct store *s, const char *name, struct error *e)
{
        sqlite3_stmt *statement = NULL;
        char text[128];
        int result;

        (void)snprintf(text, sizeof text, "SELECT %s FROM usage LIMIT 0", name);
        result = sqlite3_prepare_v2(s->db, text, -1, &statement, NULL);
        (void)sqlite3_finalize(statement);
        if (result == SQLITE_OK)
                return 0;
        if (result != SQLITE_ERROR) /* which is the code of a column that does not exist */
                return query_fail(s, e);
        (void)snprintf(text, sizeof text,
                       "ALTER TABLE usage ADD COLUMN %s INTEGER NOT NULL DEFAULT -1", name);
        return run_text(s, text, e);
}

static int
add_tables(struct store *s, struct error *e)
{
        return run_text(s, additions, e) < 0 || add_column(s, "memory_time", e) < 0
                       ? -1
                       : add_column(s, "storage_time", e);
}

static int
migrate(struct store *s, struct error *e)
{
        char text[64];
        uint64_t version;

        if (read_version(s, &version, e) < 0)
                return -1;
        if (version > STORE_SCHEMA) {
                (void)fail(e, ERROR_STATE_UNUSABLE,
                           "a later version of carrel wrote the state database: its schema is "
                           "%" PRIu64 ", and this version knows %d",
                           version, STORE_SCHEMA);
                error_hint(e, "Start that version with this state directory, or this one with "
                              "another: carrel serve --state DIR");
                return -1;
        }
        if (version == STORE_SCHEMA)
                return add_tables(s, e);
        (void)snprintf(text, sizeof text, "PRAGMA user_version = %d", STORE_SCHEMA);
        if (run_text(s, "BEGIN IMMEDIATE", e) < 0)
                return -1;
        for (; version < STORE_SCHEMA; version++)
                if (run_text(s, migrations[version], e) < 0)
                        return -1;
        if (add_tables(s, e) < 0 || run_text(s, text, e) < 0)
                return -1;
        return run_text(s, "COMMIT", e);
}

/* Refuses a link, whatever its target. */
static int
check_kind(const char *path, struct error *e)
{
        struct stat found;

        if (lstat(path, &found) < 0 || S_ISREG(found.st_mode))
                return 0;
        (void)fail(e, ERROR_STATE_UNUSABLE, "the state database %.200s is %s, not a file", path,
                   S_ISLNK(found.st_mode) ? "a symbolic link" : "something else");
        error_hint(e, "Move the database itself there, or remove this to start with an empty one.");
        return -1;
}

/*
 * SQLite takes an empty database for a new one and discards a log beside it. Carrel never leaves
 * such a pair, so it is refused.
 */
static int
check_pair(const char *path, struct error *e)
{
        char log[PATH_LEN + 8];
        struct stat found;

        (void)snprintf(log, sizeof log, "%s-wal", path);
        if ((stat(path, &found) == 0 && found.st_size > 0) || stat(log, &found) < 0 ||
            found.st_size == 0)
                return 0;
        (void)fail(e, ERROR_STATE_UNUSABLE,
                   "the state database %.200s is empty or missing, and its log is not", path);
        error_hint(
                e,
                "Restore state.db beside its log, or remove both to start with an empty database.");
        return -1;
}

static int
open_database(struct store *s, const char *directory, struct error *e)
{
        char path[PATH_LEN];

        (void)snprintf(path, sizeof path, "%s/state.db", directory);
        if (check_kind(path, e) < 0 || check_pair(path, e) < 0)
                return -1;
        if (sqlite3_open_v2(path, &s->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW |
                                    SQLITE_OPEN_NOMUTEX,
                            NULL) != SQLITE_OK)
                return s->db ? query_fail(s, e)
                             : fail(e, ERROR_NO_MEMORY, "no memory for the state database");
        (void)sqlite3_extended_result_codes(s->db, 1);
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
        (void)sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
        if (query_teach_sum(s, e) < 0)
                return -1;
        return run_text(s,
                        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA "
                        "synchronous = FULL; PRAGMA foreign_keys = ON;"
                        "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON; PRAGMA "
                        "cache_size = -1024; PRAGMA journal_size_limit = 4194304",
                        e);
}

/*
 * Finds damaged pages at the start instead of in a later call. SQLite opens a file read-only if it
 * may not write it.
 */
static int
check_whole(struct store *s, struct error *e)
{
        sqlite3_stmt *statement = NULL;
        int result = -1;

        if (sqlite3_db_readonly(s->db, "main") == 1)
                return query_unwritable("it may be read and not written", e);
        if (sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &statement, NULL) != SQLITE_OK ||
            sqlite3_step(statement) != SQLITE_ROW)
                (void)query_fail(s, e);
        else if (strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0)
                (void)query_damaged((const char *)sqlite3_column_text(statement, 0), e);
        else
                result = 0;
        (void)sqlite3_finalize(statement);
        return result;
}

int
store_open(const char *directory, struct store **ret, struct error *e)
{
        struct store *s = calloc(1, sizeof *s);
        mode_t mask;
        int result;

        if (!s)
                return fail(e, ERROR_NO_MEMORY, "no memory for the state");
        s->lock = -1;
        mask = umask(077);
        result = make_directory(directory, e) < 0 || take_lock(directory, &s->lock, e) < 0 ||
                                 open_database(s, directory, e) < 0 || migrate(s, e) < 0 ||
                                 check_whole(s, e) < 0 || !query_bind(s, QUERY_ROLLBACK, e, "")
                         ? -1
                         : 0;
        (void)umask(mask);
        if (result < 0) {
                store_close(s);
                return -1;
        }
        *ret = s;
        return 0;
}

void
store_close(struct store *s)
{
        if (!s)
                return;
        for (int i = 0; i < QUERY_MAX; i++)
                (void)sqlite3_finalize(s->statements[i]);
        (void)sqlite3_close(s->db);
        scoped_fd_close(&s->lock);
        free(s);
}

bool
store_is_failed(const struct store *s)
{
        return s->is_failed;
}

int
store_begin(struct store *s, struct error *e)
{
        if (query_run(s, query_bind(s, QUERY_BEGIN, e, ""), e) < 0)
                return -1;
        s->is_open = true;
        return 0;
}

int
store_commit(struct store *s, struct error *e)
{
        if (query_run(s, query_bind(s, QUERY_COMMIT, e, ""), e) < 0) {
                store_rollback(s);
                return -1;
        }
        s->is_open = false;
        return 0;
}

void
store_rollback(struct store *s)
{
        s->is_open = false;
        query_rollback(s);
}

int
query_unsynced_end(struct store *s, int result, struct error *e)
{
        struct error ignored;

        if (result < 0)
                store_rollback(s);
        else
                result = store_commit(s, e);
        s->may_be_lax = false;
        (void)query_set_lax(s, false, &ignored);
        return result;
}

int
query_unsynced_begin(struct store *s, struct error *e)
{
        struct error ignored;

        (void)query_set_lax(s, true, &ignored); /* if this fails, the changes are synced */
        s->may_be_lax = true;
        return store_begin(s, e) < 0 ? query_unsynced_end(s, -1, e) : 0;
}
