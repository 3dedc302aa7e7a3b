/*
 * store/rows.c - the rows of the tables as structs.
 *
 * Room: store (acting). Touches: the database.
 */
#include <stdio.h>
#include <string.h>

#include "store/query.h"
#include "store/store.h"

enum {
        AT_ID,
        AT_CREATED,
        AT_MANIFEST,
        AT_OWNER,
        AT_NAME,
        AT_CAUSE,
        AT_PROVIDER,
        AT_WORKSPACE,
        AT_RUNTIME,
        AT_MANIFEST_NAME,
        AT_METADATA,
        AT_KEY,
        AT_STATUS,
        AT_CALLER_UID,
        AT_READ_ONLY,
        AT_PAUSED,
        AT_DELETE_AT,
        AT_DEADLINE,
        AT_REMAINING,
        AT_STARTED,
        AT_BOOT_ID,
        AT_CWD,
        AT_CPU,
        AT_WRITABLE,
        AT_ENV,
        AT_PORTS,
        AT_DIGEST,
        AT_WARNINGS,
        AT_READS,
        AT_IS_WHOLE
};

/* The columns, in the order of the statements. */
#define KINDS \
        "tib" \
        "tttttttttiiiiiiiittiibbbbb"
#define COLUMNS_OF(r)                                                                              \
        (r)->id, (r)->created_ms, (r)->manifest, (r)->owner, (r)->name, (r)->cause, (r)->provider, \
                (r)->workspace, (r)->runtime, (r)->manifest_name, (r)->metadata, (r)->key,         \
                (uint64_t)(r)->status, (uint64_t)(r)->caller_uid, (uint64_t)(r)->is_read_only,     \
                (uint64_t)(r)->is_paused, (r)->delete_at_ms, (r)->deadline_ms, (r)->remaining_ms,  \
                (r)->started_ms, (r)->boot_id, (r)->cwd, (uint64_t)(r)->cpu,                       \
                (uint64_t)(r)->is_writable, (r)->env, (r)->ports, (r)->digest, (r)->warnings,      \
                (r)->reads

int
store_sandbox_add(struct store *s, const struct store_sandbox *row, struct error *e)
{
        return query_run(s, query_bind(s, QUERY_SANDBOX_ADD, e, KINDS, COLUMNS_OF(row)), e) < 0 ? -1
                                                                                                : 0;
}

int
store_sandbox_write(struct store *s, const struct store_sandbox *row, struct error *e)
{
        return query_run(s, query_bind(s, QUERY_SANDBOX_WRITE, e, KINDS, COLUMNS_OF(row)), e) < 0
                       ? -1
                       : 0;
}

int
store_sandbox_note(struct store *s, const struct store_sandbox *row, struct error *e)
{
        return query_unsynced_begin(s, e) < 0
                       ? -1
                       : query_unsynced_end(s, store_sandbox_write(s, row, e), e);
}

static const char *
text_at(sqlite3_stmt *statement, int at)
{
        return (const char *)sqlite3_column_text(statement, at);
}

static uint64_t
number_at(sqlite3_stmt *statement, int at)
{
        return (uint64_t)sqlite3_column_int64(statement, at);
}

static struct store_bytes
bytes_at(sqlite3_stmt *statement, int at)
{
        const void *bytes = sqlite3_column_blob(statement, at);

        return (struct store_bytes){ bytes, (size_t)sqlite3_column_bytes(statement, at) };
}

static struct store_sandbox
sandbox_at(sqlite3_stmt *st)
{
        return (struct store_sandbox){
                .id = text_at(st, AT_ID),
                .owner = text_at(st, AT_OWNER),
                .name = text_at(st, AT_NAME),
                .cause = text_at(st, AT_CAUSE),
                .provider = text_at(st, AT_PROVIDER),
                .workspace = text_at(st, AT_WORKSPACE),
                .runtime = text_at(st, AT_RUNTIME),
                .manifest_name = text_at(st, AT_MANIFEST_NAME),
                .metadata = text_at(st, AT_METADATA),
                .key = text_at(st, AT_KEY),
                .status = (uint32_t)number_at(st, AT_STATUS),
                .caller_uid = (uint32_t)number_at(st, AT_CALLER_UID),
                .is_read_only = number_at(st, AT_READ_ONLY) != 0,
                .is_paused = number_at(st, AT_PAUSED) != 0,
                .created_ms = number_at(st, AT_CREATED),
                .delete_at_ms = number_at(st, AT_DELETE_AT),
                .deadline_ms = number_at(st, AT_DEADLINE),
                .remaining_ms = number_at(st, AT_REMAINING),
                .started_ms = number_at(st, AT_STARTED),
                .boot_id = text_at(st, AT_BOOT_ID),
                .cwd = text_at(st, AT_CWD),
                .cpu = (uint32_t)number_at(st, AT_CPU),
                .is_writable = number_at(st, AT_WRITABLE) != 0,
                .manifest = bytes_at(st, AT_MANIFEST),
                .env = bytes_at(st, AT_ENV),
                .ports = bytes_at(st, AT_PORTS),
                .digest = bytes_at(st, AT_DIGEST),
                .warnings = bytes_at(st, AT_WARNINGS),
                .reads = bytes_at(st, AT_READS),
                .is_damaged = number_at(st, AT_IS_WHOLE) == 0,
        };
}

int
store_sandbox_each(struct store *s, int (*each)(void *context, const struct store_sandbox *row),
                   void *context, struct error *e)
{
        sqlite3_stmt *statement = query_bind(s, QUERY_SANDBOX_ALL, e, "");
        int result = SQLITE_ERROR;
        bool is_damaged = false;

        if (!statement)
                return -1;
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
                struct store_sandbox row = sandbox_at(statement);

                is_damaged = is_damaged || row.is_damaged;
                if (each(context, &row) != 0) {
                        result = SQLITE_DONE;
                        break;
                }
        }
        if (query_walked(s, statement, result, e) < 0)
                return -1;
        /* an index may still hold the old value; then the row could not be removed by its id */
        if (is_damaged)
                (void)sqlite3_exec(s->db, "REINDEX sandboxes", NULL, NULL, NULL);
        return 0;
}

/* -- rows that end, and the keys they leave ---------------------------------------------------- */

int
store_sandbox_remove(struct store *s, const char *id, struct error *e)
{
        return query_run(s, query_bind(s, QUERY_SANDBOX_REMOVE, e, "t", id), e) < 0 ? -1 : 0;
}

int
store_sandbox_end(struct store *s, const char *id, uint64_t wall_ms, struct error *e)
{
        uint64_t oldest = wall_ms > STORE_ENDED_MS ? wall_ms - STORE_ENDED_MS : 0,
                 most = STORE_ENDED_MAX;

        if (store_begin(s, e) < 0)
                return -1;
        if (query_run(s, query_bind(s, QUERY_ENDED_ADD, e, "ti", id, wall_ms), e) < 0 ||
            query_run(s, query_bind(s, QUERY_ENDED_PRUNE, e, "ii", oldest, most), e) < 0 ||
            store_sandbox_remove(s, id, e) < 0) {
                store_rollback(s);
                return -1;
        }
        return store_commit(s, e);
}

int
store_ended_find(struct store *s, const char *owner, const char *key, uint64_t wall_ms,
                 struct store_ended *ret, struct error *e)
{
        uint64_t oldest = wall_ms > STORE_ENDED_MS ? wall_ms - STORE_ENDED_MS : 0;
        sqlite3_stmt *statement = query_bind(s, QUERY_ENDED_FIND, e, "tti", owner, key, oldest);
        int result;

        if (!statement)
                return -1;
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
                struct store_bytes digest = bytes_at(statement, 1);

                *ret = (struct store_ended){ .digest_len = digest.len < sizeof ret->digest
                                                                   ? digest.len
                                                                   : sizeof ret->digest };
                (void)snprintf(ret->id, sizeof ret->id, "%s", text_at(statement, 0));
                if (ret->digest_len > 0)
                        memcpy(ret->digest, digest.bytes, ret->digest_len);
        }
        if (query_walked(s, statement, result == SQLITE_ROW ? SQLITE_DONE : result, e) < 0)
                return -1;
        return result == SQLITE_ROW;
}

int
store_key_find(struct store *s, const char *sandbox, const char *op, const char *key,
               struct store_bytes digest, struct error *e)
{
        sqlite3_stmt *statement = query_bind(s, QUERY_KEY_FIND, e, "ttt", sandbox, op, key);
        bool is_same = false;
        int result;

        if (!statement)
                return -1;
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
                struct store_bytes found = bytes_at(statement, 0);

                is_same = found.len == digest.len &&
                          memcmp(found.bytes, digest.bytes, found.len) == 0;
        }
        if (query_walked(s, statement, result == SQLITE_ROW ? SQLITE_DONE : result, e) < 0)
                return -1;
        if (result == SQLITE_DONE)
                return 0;
        if (is_same)
                return 1;
        (void)fail_at(e, ERROR_EXISTS, "key", "key_reused", "this key was used for another call");
        error_hint(e, "%s", STORE_KEY_HINT);
        return -1;
}

int
store_key_add(struct store *s, const char *sandbox, const char *op, const char *key,
              struct store_bytes digest, struct error *e)
{
        uint64_t most = STORE_KEYS_MAX;

        if (query_run(s, query_bind(s, QUERY_KEY_ADD, e, "tttb", sandbox, op, key, digest), e) < 0)
                return -1;
        return query_run(s, query_bind(s, QUERY_KEY_PRUNE, e, "tti", sandbox, op, most), e) < 0 ? -1
                                                                                                : 0;
}

int
store_key_note(struct store *s, const char *sandbox, const char *op, const char *key,
               struct store_bytes digest, struct error *e)
{
        return query_unsynced_begin(s, e) < 0
                       ? -1
                       : query_unsynced_end(s, store_key_add(s, sandbox, op, key, digest, e), e);
}

int
store_task_put(struct store *s, const struct store_task *task, struct error *e)
{
        return query_run(s,
                         query_bind(s, QUERY_TASK_PUT, e, "tti", task->sandbox, task->task,
                                    task->deadline_ms),
                         e) < 0
                       ? -1
                       : 0;
}

int
store_task_remove(struct store *s, const char *sandbox, const char *task, struct error *e)
{
        return query_run(s, query_bind(s, QUERY_TASK_REMOVE, e, "tt", sandbox, task), e) < 0 ? -1
                                                                                             : 0;
}

int
store_task_each(struct store *s, int (*each)(void *context, const struct store_task *task),
                void *context, struct error *e)
{
        sqlite3_stmt *statement = query_bind(s, QUERY_TASK_ALL, e, "");
        int result = SQLITE_ERROR;

        if (!statement)
                return -1;
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
                struct store_task task = { text_at(statement, 0), text_at(statement, 1),
                                           number_at(statement, 2) };

                if (each(context, &task) != 0) {
                        result = SQLITE_DONE;
                        break;
                }
        }
        return query_walked(s, statement, result, e);
}

int
store_token_add(struct store *s, const struct store_token *token,
                const unsigned char hash[STORE_HASH_LEN], struct error *e)
{
        struct store_bytes bytes = { hash, STORE_HASH_LEN };

        return query_run(s,
                         query_bind(s, QUERY_TOKEN_ADD, e, "tttib", token->id, token->owner,
                                    token->scope, token->created_ms, bytes),
                         e) < 0
                       ? -1
                       : 0;
}

int
store_token_remove(struct store *s, const char *id, struct error *e)
{
        return query_run(s, query_bind(s, QUERY_TOKEN_REMOVE, e, "t", id), e);
}

int
store_token_each(struct store *s, int (*each)(void *context, const struct store_token *token),
                 void *context, struct error *e)
{
        sqlite3_stmt *statement = query_bind(s, QUERY_TOKEN_ALL, e, "");
        int result = SQLITE_ERROR;

        if (!statement)
                return -1;
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
                struct store_token token = { text_at(statement, 0), text_at(statement, 1),
                                             text_at(statement, 2), number_at(statement, 3) };

                if (each(context, &token) != 0) {
                        result = SQLITE_DONE;
                        break;
                }
        }
        return query_walked(s, statement, result, e);
}

int
store_token_find(struct store *s, const unsigned char hash[STORE_HASH_LEN], char *ret_owner,
                 size_t owner_len, char *ret_scope, size_t scope_len, struct error *e)
{
        struct store_bytes bytes = { hash, STORE_HASH_LEN };
        sqlite3_stmt *statement = query_bind(s, QUERY_TOKEN_FIND, e, "b", bytes);
        int result, fits = 1;

        if (!statement)
                return -1;
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW)
                fits = (size_t)snprintf(ret_owner, owner_len, "%s", text_at(statement, 0)) <
                               owner_len &&
                       (size_t)snprintf(ret_scope, scope_len, "%s", text_at(statement, 1)) <
                               scope_len;
        if (query_walked(s, statement, result == SQLITE_ROW ? SQLITE_DONE : result, e) < 0)
                return -1;
        if (!fits)
                return fail(e, ERROR_INTERNAL, "a token's owner is too long");
        return result == SQLITE_ROW;
}
