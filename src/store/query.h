/*
 * store/query.h - one statement of the database. Only the files of this room include it.
 */
#ifndef CARREL_STORE_QUERY_H
#define CARREL_STORE_QUERY_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/bytes.h"

enum store_query {
        QUERY_BEGIN,
        QUERY_COMMIT,
        QUERY_ROLLBACK,
        QUERY_SANDBOX_ADD,
        QUERY_SANDBOX_WRITE,
        QUERY_SANDBOX_REMOVE,
        QUERY_SANDBOX_ALL,
        QUERY_ENDED_ADD,
        QUERY_ENDED_PRUNE,
        QUERY_ENDED_FIND,
        QUERY_KEY_FIND,
        QUERY_KEY_ADD,
        QUERY_KEY_PRUNE,
        QUERY_TASK_PUT,
        QUERY_TASK_REMOVE,
        QUERY_TASK_ALL,
        QUERY_TOKEN_ADD,
        QUERY_TOKEN_REMOVE,
        QUERY_TOKEN_ALL,
        QUERY_TOKEN_FIND,
        QUERY_USAGE_ADD,
        QUERY_USAGE_WRITE,
        QUERY_USAGE_FOLD,
        QUERY_USAGE_FOLDED,
        QUERY_USAGE_ALL,
        QUERY_USAGE_OWNERS,
        QUERY_DAY_FIND,
        QUERY_DAY_PUT,
        QUERY_MAX
};

struct store {
        sqlite3 *db;
        sqlite3_stmt *statements[QUERY_MAX];
        int lock;
        bool is_failed, is_open; /* is_open: between begin and commit */
        bool is_lax, may_be_lax; /* commits are not synced; commits should not be synced */
};

/*
 * Binds the arguments of a statement. `kinds` has one letter for each: t text or NULL, i uint64_t,
 * b struct store_bytes. NULL and *e on failure. Call sqlite3_reset() after the last step.
 */
sqlite3_stmt *query_bind(struct store *s, enum store_query q, struct error *e, const char *kinds,
                         ...);

/* Runs a statement that returns no rows. The number of rows it changed, or -1. */
int query_run(struct store *s, sqlite3_stmt *statement, struct error *e);

/*
 * Registers the SQL function row_sum(...): a hash of its arguments, each with its kind and length
 * (sum.c).
 */
int query_teach_sum(struct store *s, struct error *e);

/* Undoes an open transaction, if there is one. */
void query_rollback(struct store *s);

/*
 * Chooses whether commits from now on are synced. If syncing cannot be switched on again,
 * query_run() retries that before it writes.
 */
int query_set_lax(struct store *s, bool is_lax, struct error *e);

/*
 * Commits several changes as one, without a sync. Inside a transaction of the caller they are
 * synced after all. `result` -1: undoes them.
 */
int query_unsynced_begin(struct store *s, struct error *e);
int query_unsynced_end(struct store *s, int result, struct error *e);

/*
 * Ends a walk: 0, or -1 with the error of the database. `result`: that of the last step, or
 * SQLITE_DONE if the walker stopped.
 */
int query_walked(struct store *s, sqlite3_stmt *statement, int result, struct error *e);

/*
 * Sets the error for a damaged database: ERROR_STATE_UNUSABLE with a hint; `what` describes the
 * damage. Always -1.
 */
int query_damaged(const char *what, struct error *e);

/* The same for a database that this user may not read or write. */
int query_unwritable(const char *what, struct error *e);

/* Turns the last error of the database into an error; remembers a failed sync. Always -1. */
int query_fail(struct store *s, struct error *e);

#endif
