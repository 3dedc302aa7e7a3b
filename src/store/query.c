/*
 * store/query.c - the statements, each prepared once.
 *
 * Room: store (acting). Touches: the database.
 * Theory: the text of every statement is in one table, and no value is ever inserted into it.
 * Numbers are unsigned 64 bits, stored as the same bits with a sign. A disk error could give a row
 * to another owner or change its rights. So rows that matter carry a sum (store/sum.c): the
 * statement that writes the row writes it, and the one that reads the row checks it.
 */
#include "store/query.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#define CHANGING_COLUMNS                                                                           \
        "owner, name, cause, provider, workspace, runtime, manifest_name, metadata, key, status, " \
        "caller_uid, is_read_only, is_paused, delete_at, deadline, "                               \
        "remaining, started, boot_id, cwd, cpu, is_writable, env, ports, digest, warnings, reads"
#define SANDBOX_COLUMNS "id, created, manifest, " CHANGING_COLUMNS
#define CHANGING_VALUES                                                                           \
        "?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?" \
        "27,?28,?29"
#define SANDBOX_VALUES "?1,?2,?3," CHANGING_VALUES
#define SUM_OF(columns) "row_sum(" columns ")"
#define TASK_COLUMNS "sandbox, task, deadline"
#define DAY_COLUMNS "owner, day, bytes, time, boot, boot_id"
#define TOKEN_COLUMNS "id, owner, scope, created, hash"

#define USAGE_COLUMNS                                                                   \
        "owner, sandbox, at, wall, cpu, memory, execs, output, egress_out, egress_in, " \
        "memory_time, storage_time"
/* sums of what is known; -1 if nothing is */
#define KNOWN_SUM(column) "coalesce(sum(CASE WHEN " column " >= 0 THEN " column " END), -1)"
#define KNOWN_MORE         \
        KNOWN_SUM("execs") \
        "," KNOWN_SUM("output") "," KNOWN_SUM("egress_out") "," KNOWN_SUM("egress_in")
#define USAGE_SUMS                                  \
        "max(at)," KNOWN_SUM("wall") "," KNOWN_SUM( \
                "cpu") ",max(memory)," KNOWN_MORE   \
                       "," KNOWN_SUM("memory_time") "," KNOWN_SUM("storage_time")
#define ADDED(column)                                                                       \
        column " = CASE WHEN " column " < 0 THEN excluded." column " WHEN excluded." column \
               " < 0 THEN " column " ELSE " column " + excluded." column " END"
#define ADDED_TIMES \
        ADDED("wall") "," ADDED("cpu") "," ADDED("memory_time") "," ADDED("storage_time")
#define ADDED_COUNTS \
        ADDED("execs") "," ADDED("output") "," ADDED("egress_out") "," ADDED("egress_in")
/* ended sandboxes of an owner beyond the newest ?2 */
#define USAGE_OLD                                                                                  \
        "owner = ?1 AND sandbox IN (SELECT sandbox FROM usage WHERE owner = ?1 AND sandbox <> '' " \
        "AND sandbox NOT IN (SELECT id FROM sandboxes) ORDER BY at DESC, sandbox LIMIT -1 OFFSET " \
        "?2)"

/* lint: columns and values appear once, between pieces of text */
static const char *const texts[QUERY_MAX] = {
        [QUERY_BEGIN] = "BEGIN IMMEDIATE",
        [QUERY_COMMIT] = "COMMIT",
        [QUERY_ROLLBACK] = "ROLLBACK",
        [QUERY_SANDBOX_ADD] = "INSERT INTO sandboxes (" SANDBOX_COLUMNS
                              ", sum) VALUES (" SANDBOX_VALUES ", " SUM_OF(SANDBOX_VALUES) ")",
        [QUERY_SANDBOX_WRITE] =
                "UPDATE sandboxes SET (created, manifest, " CHANGING_COLUMNS
                ", sum) = (?2,?3," CHANGING_VALUES ", " SUM_OF(SANDBOX_VALUES) ") WHERE id = ?1",
        [QUERY_SANDBOX_REMOVE] = "DELETE FROM sandboxes WHERE id = ?",
        [QUERY_SANDBOX_ALL] = "SELECT " SANDBOX_COLUMNS
                              ", sum = " SUM_OF(SANDBOX_COLUMNS) " FROM sandboxes ORDER BY number",
        [QUERY_ENDED_ADD] = "INSERT OR REPLACE INTO ended (owner, key, digest, id, at) SELECT "
                            "owner, key, digest, id, ?2 FROM sandboxes WHERE id = ?1 AND owner IS "
                            "NOT NULL AND key IS NOT NULL",
        [QUERY_ENDED_PRUNE] =
                "DELETE FROM ended WHERE at < ?1 OR number <= (SELECT max(number) FROM ended) - ?2",
        [QUERY_ENDED_FIND] =
                "SELECT id, digest FROM ended WHERE owner = ?1 AND key = ?2 AND at >= ?3",
        [QUERY_KEY_FIND] = "SELECT digest FROM keys WHERE sandbox = ? AND op = ? AND key = ?",
        [QUERY_KEY_ADD] = "INSERT OR REPLACE INTO keys (sandbox, op, key, digest) VALUES (?,?,?,?)",
        [QUERY_KEY_PRUNE] =
                "DELETE FROM keys WHERE sandbox = ?1 AND op = ?2 AND number <= (SELECT number FROM "
                "keys WHERE sandbox = ?1 AND op = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3)",
        [QUERY_TASK_PUT] = "INSERT OR REPLACE INTO tasks (" TASK_COLUMNS
                           ", sum) VALUES (?1,?2,?3, " SUM_OF("?1,?2,?3") ")",
        [QUERY_TASK_REMOVE] = "DELETE FROM tasks WHERE sandbox = ? AND task = ?",
        [QUERY_TASK_ALL] = "SELECT " TASK_COLUMNS " FROM tasks WHERE sum = " SUM_OF(TASK_COLUMNS),
        [QUERY_TOKEN_ADD] = "INSERT INTO tokens (" TOKEN_COLUMNS
                            ", sum) VALUES (?1,?2,?3,?4,?5, " SUM_OF("?1,?2,?3,?4,?5") ")",
        [QUERY_TOKEN_REMOVE] = "DELETE FROM tokens WHERE id = ?",
        [QUERY_TOKEN_ALL] = "SELECT id, owner, scope, created FROM tokens WHERE sum = " SUM_OF(
                TOKEN_COLUMNS) " ORDER BY created, id",
        [QUERY_TOKEN_FIND] =
                "SELECT owner, scope FROM tokens WHERE hash = ?1 AND sum = " SUM_OF(TOKEN_COLUMNS),
        [QUERY_USAGE_ADD] = "INSERT OR IGNORE INTO usage (" USAGE_COLUMNS
                            ") VALUES (?1,?2,?3,-1,-1,-1,-1,-1,-1,-1,-1,-1)",
        [QUERY_USAGE_WRITE] =
                "UPDATE usage SET at = max(at,?2), wall = max(wall,?3), cpu = max(cpu,?4), "
                "memory = max(memory,?5), execs = max(execs,?6), output = max(output,?7), "
                "egress_out = max(egress_out,?8), egress_in = max(egress_in,?9), memory_time = "
                "max(memory_time,?10), storage_time = max(storage_time,?11) WHERE sandbox = ?1",
        [QUERY_USAGE_FOLD] =
                "INSERT INTO usage (" USAGE_COLUMNS ") SELECT owner, '', " USAGE_SUMS
                " FROM usage WHERE " USAGE_OLD " GROUP BY owner "
                "ON CONFLICT (owner, sandbox) DO UPDATE SET at = max(at, excluded.at), "
                "memory = max(memory, excluded.memory), " ADDED_TIMES "," ADDED_COUNTS,
        [QUERY_USAGE_FOLDED] = "DELETE FROM usage WHERE " USAGE_OLD,
        [QUERY_USAGE_ALL] =
                "SELECT owner, NULL AS sandbox, " USAGE_SUMS
                " FROM usage WHERE ?1 IS NULL OR owner = ?1 GROUP BY owner UNION ALL "
                "SELECT " USAGE_COLUMNS " FROM usage WHERE sandbox <> '' AND (?1 IS NULL OR owner "
                "= ?1) ORDER BY 1, 2",
        [QUERY_USAGE_OWNERS] = "SELECT owner, NULL, " USAGE_SUMS
                               " FROM usage GROUP BY owner ORDER BY 5 DESC, 4 DESC, owner",
        [QUERY_DAY_FIND] =
                "SELECT " DAY_COLUMNS ", sum = " SUM_OF(DAY_COLUMNS) " FROM days WHERE owner = ?1",
        [QUERY_DAY_PUT] = "INSERT OR REPLACE INTO days (" DAY_COLUMNS
                          ", sum) VALUES (?1,?2,?3,?4,?5,?6, " SUM_OF("?1,?2,?3,?4,?5,?6") ")",
};

int
query_damaged(const char *what, struct error *e)
{
        (void)fail(e, ERROR_STATE_UNUSABLE, "the state database is damaged: %.300s", what);
        error_hint(
                e,
                "Put back a copy of state.db, or begin without it: move state.db and state.db-wal "
                "out of the state directory. Sandboxes and tokens in it are then lost.");
        return -1;
}

int
query_unwritable(const char *what, struct error *e)
{
        (void)fail(e, ERROR_STATE_UNUSABLE, "the state database cannot be read and written: %.300s",
                   what);
        error_hint(e, "state.db and state.db-wal in the state directory must be files of the "
                      "daemon's user, who may write them, on a disk that works.");
        return -1;
}

int
query_fail(struct store *s, struct error *e)
{
        int code = sqlite3_extended_errcode(s->db), sys = sqlite3_system_errno(s->db);

        if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
                s->is_failed = true;
        if ((code & 0xff) == SQLITE_FULL ||
            ((code & 0xff) == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT)))
                return fail(e, ERROR_STORAGE_FULL, "the disk of the state directory is full");
        if ((code & 0xff) == SQLITE_CONSTRAINT)
                return fail(e, ERROR_EXISTS, "there is one of that name already");
        if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB)
                return query_damaged(sqlite3_errmsg(s->db), e);
        if ((code & 0xff) == SQLITE_NOMEM)
                return fail(e, ERROR_NO_MEMORY, "no memory for the state database");
        if ((code & 0xff) == SQLITE_READONLY || (code & 0xff) == SQLITE_PERM ||
            (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_IOERR)
                return query_unwritable(sys != 0 ? strerror(sys) : sqlite3_errmsg(s->db), e);
        return fail(e, ERROR_INTERNAL, "the state database says: %s", sqlite3_errmsg(s->db));
}

static int
bind_one(sqlite3_stmt *statement, int at, char kind, va_list *ap)
{
        struct store_bytes bytes;

        switch (kind) {
        case 't':
                return sqlite3_bind_text(statement, at, va_arg(*ap, const char *), -1,
                                         SQLITE_STATIC);
        case 'i':
                return sqlite3_bind_int64(statement, at, (sqlite3_int64)va_arg(*ap, uint64_t));
        default:
                bytes = va_arg(*ap, struct store_bytes);
                return sqlite3_bind_blob64(statement, at, bytes.bytes ? bytes.bytes : "", bytes.len,
                                           SQLITE_STATIC);
        }
}

sqlite3_stmt *
query_bind(struct store *s, enum store_query q, struct error *e, const char *kinds, ...)
{
        sqlite3_stmt **statement = &s->statements[q];
        va_list ap;
        int result = SQLITE_OK;

        if (!*statement && sqlite3_prepare_v3(s->db, texts[q], -1, SQLITE_PREPARE_PERSISTENT,
                                              statement, NULL) != SQLITE_OK) {
                (void)query_fail(s, e);
                return NULL;
        }
        va_start(ap, kinds);
        for (int i = 0; kinds[i] != '\0' && result == SQLITE_OK; i++)
                result = bind_one(*statement, i + 1, kinds[i], &ap);
        va_end(ap);
        if (result == SQLITE_OK)
                return *statement;
        (void)query_fail(s, e);
        return NULL;
}

void
query_rollback(struct store *s)
{
        struct error ignored;
        sqlite3_stmt *statement;

        if (sqlite3_get_autocommit(s->db) != 0)
                return;
        /* prepared at the start, so it needs no memory */
        statement = query_bind(s, QUERY_ROLLBACK, &ignored, "");
        if (statement) {
                (void)sqlite3_step(statement);
                (void)sqlite3_reset(statement);
        }
}

/*
 * An earlier failure may have left a transaction open, or commits unsynced. Undoing that late is as
 * good as at once, as long as it comes before the next write.
 */
static int
tidy(struct store *s, struct error *e)
{
        if (!s->is_open && sqlite3_get_autocommit(s->db) == 0) {
                query_rollback(s);
                if (sqlite3_get_autocommit(s->db) == 0)
                        return query_fail(s, e);
        }
        if (s->is_lax && !s->may_be_lax)
                return query_set_lax(s, false, e);
        return 0;
}

int
query_set_lax(struct store *s, bool is_lax, struct error *e)
{
        if (is_lax)
                s->is_lax = true;
        if (sqlite3_exec(s->db,
                         is_lax ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", NULL,
                         NULL, NULL) != SQLITE_OK)
                return query_fail(s, e);
        s->is_lax = is_lax;
        return 0;
}

int
query_run(struct store *s, sqlite3_stmt *statement, struct error *e)
{
        int result;

        if (!statement)
                return -1;
        if (!sqlite3_stmt_readonly(statement) && tidy(s, e) < 0) {
                (void)sqlite3_clear_bindings(statement);
                return -1;
        }
        if (s->is_failed && !sqlite3_stmt_readonly(statement)) {
                (void)sqlite3_clear_bindings(statement);
                return fail(e, ERROR_STORAGE_FULL,
                            "the state could not be written to disk, so nothing is changed until "
                            "the daemon is started again");
        }
        result = sqlite3_step(statement);
        if (result != SQLITE_DONE && result != SQLITE_ROW)
                (void)query_fail(s, e);
        (void)sqlite3_reset(statement);
        (void)sqlite3_clear_bindings(statement);
        return result == SQLITE_DONE || result == SQLITE_ROW ? sqlite3_changes(s->db) : -1;
}

int
query_walked(struct store *s, sqlite3_stmt *statement, int result, struct error *e)
{
        if (result != SQLITE_DONE)
                (void)query_fail(s, e);
        (void)sqlite3_reset(statement);
        (void)sqlite3_clear_bindings(statement);
        return result == SQLITE_DONE ? 0 : -1;
}
