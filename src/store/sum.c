/*
 * store/sum.c - a short sum of a row.
 *
 * Room: store (acting). Touches: nothing.
 * Theory: the write-ahead log has checksums, the database's pages do not. A bit that flips on the
 * disk can silently give a row another owner, another deadline or a manifest with another policy.
 * The sum covers every column with its kind and its length, so different rows never give the same
 * bytes. It finds errors, not attacks: a process that can write the file can write a sum.
 */
#include <sodium.h>

#include "store/query.h"
#include "store/store.h"

static void
add(crypto_generichash_state *state, sqlite3_value *value)
{
        int kind = sqlite3_value_type(value);
        sqlite3_int64 number = kind == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
        const void *bytes =
                kind == SQLITE_INTEGER || kind == SQLITE_NULL ? NULL : sqlite3_value_blob(value);
        uint64_t head[3] = { (uint64_t)kind, (uint64_t)number,
                             bytes ? (uint64_t)sqlite3_value_bytes(value) : 0 };

        (void)crypto_generichash_update(state, (const unsigned char *)head, sizeof head);
        if (bytes)
                (void)crypto_generichash_update(state, bytes, head[2]);
}

static void
row_sum(sqlite3_context *context, int count, sqlite3_value **values)
{
        unsigned char sum[STORE_SUM_LEN];
        crypto_generichash_state state;

        (void)crypto_generichash_init(&state, NULL, 0, sizeof sum);
        for (int i = 0; i < count; i++)
                add(&state, values[i]);
        (void)crypto_generichash_final(&state, sum, sizeof sum);
        sqlite3_result_blob(context, sum, sizeof sum, SQLITE_TRANSIENT);
}

int
query_teach_sum(struct store *s, struct error *e)
{
        int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

        return sqlite3_create_function_v2(s->db, "row_sum", -1, flags, NULL, row_sum, NULL, NULL,
                                          NULL) == SQLITE_OK
                       ? 0
                       : query_fail(s, e);
}
