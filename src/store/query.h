/*
 * store/query.h - one statement of the database: shared by the files of this room. Other rooms do not include it.
 */
#ifndef CARREL_STORE_QUERY_H
#define CARREL_STORE_QUERY_H

#include <sqlite3.h>
#include <stdbool.h>

#include "store/store.h"

enum store_query {
        QUERY_BEGIN, QUERY_COMMIT, QUERY_ROLLBACK,
        QUERY_SANDBOX_ADD, QUERY_SANDBOX_WRITE, QUERY_SANDBOX_REMOVE, QUERY_SANDBOX_ALL,
        QUERY_ENDED_ADD, QUERY_ENDED_PRUNE, QUERY_ENDED_FIND,
        QUERY_KEY_FIND, QUERY_KEY_ADD, QUERY_KEY_PRUNE,
        QUERY_TASK_PUT, QUERY_TASK_REMOVE, QUERY_TASK_ALL,
        QUERY_TOKEN_ADD, QUERY_TOKEN_REMOVE, QUERY_TOKEN_ALL, QUERY_TOKEN_FIND,
        QUERY_MAX
};

struct store {
        sqlite3 *db;
        sqlite3_stmt *statements[QUERY_MAX];
        int lock;
        bool is_failed, is_open;       /* is_open: between begin and commit */
        bool is_lax, may_be_lax;       /* commits are not synced; and are meant not to be */
};

/*
 * A statement with its arguments bound: `kinds` has a letter for each: t text or NULL, i uint64_t, b struct store_bytes. NULL and *e on failure.
 * Call sqlite3_reset() after the last step.
 */
sqlite3_stmt *query_bind(struct store *s, enum store_query q, struct error *e, const char *kinds, ...);

/* Runs one that gives no rows. The number of rows it changed, or -1. */
int query_run(struct store *s, sqlite3_stmt *statement, struct error *e);

/* Teaches the database row_sum(...): what its arguments hash to, each with its kind and length (sum.c). */
int query_teach_sum(struct store *s, struct error *e);

/* Are commits from here on not synced? Where that cannot be set back, query_run() tries again before it writes anything. */
int query_set_lax(struct store *s, bool is_lax, struct error *e);

/* The database is damaged, as `what` says: ERROR_STATE_UNUSABLE with what helps. Always -1. */
int query_damaged(const char *what, struct error *e);

/* The same for one that this user may not read or write. */
int query_unwritable(const char *what, struct error *e);

/* What the database said last, as an error; a failed sync is remembered. Always -1. */
int query_fail(struct store *s, struct error *e);

#endif
