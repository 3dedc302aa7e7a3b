/*
 * store/usage.c - what sandboxes used, one row each, also after their end.
 *
 * Room: store (acting). Touches: the database.
 * Theory: a row holds absolute totals, and the sum of an owner is made when it is asked for. So a
 * total that arrives twice, or after a restart, is counted once. Rows beyond STORE_USAGE_MAX are
 * added up in one row of the owner, whose sandbox is ''; only sandboxes that have ended are.
 */
#include "store/query.h"
#include "store/store.h"

static int
write_row(struct store *s, const struct store_usage *row, bool is_new, struct error *e)
{
        uint64_t most = STORE_USAGE_MAX;
        int added = is_new ? query_run(s,
                                       query_bind(s, QUERY_USAGE_ADD, e, "tti", row->owner,
                                                  row->sandbox, row->at_ms),
                                       e)
                           : 0;

        if (added < 0 ||
            query_run(s,
                      query_bind(s, QUERY_USAGE_WRITE, e, "tiiiiiiiiii", row->sandbox, row->at_ms,
                                 row->wall_ms, row->cpu_ns, row->memory_peak_kb, row->execs,
                                 row->output_bytes, row->egress_out, row->egress_in,
                                 row->memory_kb_ms, row->storage_kb_ms),
                      e) < 0)
                return -1;
        if (added == 0)
                return 0;
        if (query_run(s, query_bind(s, QUERY_USAGE_FOLD, e, "ti", row->owner, most), e) < 0)
                return -1;
        return query_run(s, query_bind(s, QUERY_USAGE_FOLDED, e, "ti", row->owner, most), e) < 0
                       ? -1
                       : 0;
}

int
store_usage_put(struct store *s, const struct store_usage *row, bool is_new, struct error *e)
{
        return query_unsynced_begin(s, e) < 0
                       ? -1
                       : query_unsynced_end(s, write_row(s, row, is_new, e), e);
}

static struct store_usage
usage_at(sqlite3_stmt *st)
{
        uint64_t numbers[10];

        for (int i = 0; i < 10; i++)
                numbers[i] = (uint64_t)sqlite3_column_int64(st, i + 2);
        return (struct store_usage){
                .owner = (const char *)sqlite3_column_text(st, 0),
                .sandbox = (const char *)sqlite3_column_text(st, 1),
                .at_ms = numbers[0],
                .wall_ms = numbers[1],
                .cpu_ns = numbers[2],
                .memory_peak_kb = numbers[3],
                .execs = numbers[4],
                .output_bytes = numbers[5],
                .egress_out = numbers[6],
                .egress_in = numbers[7],
                .memory_kb_ms = numbers[8],
                .storage_kb_ms = numbers[9],
        };
}

static int
walk(struct store *s, sqlite3_stmt *st, int (*each)(void *context, const struct store_usage *row),
     void *context, struct error *e)
{
        int result = SQLITE_ERROR;

        if (!st)
                return -1;
        while ((result = sqlite3_step(st)) == SQLITE_ROW) {
                struct store_usage row = usage_at(st);

                if (each(context, &row) != 0) {
                        result = SQLITE_DONE;
                        break;
                }
        }
        return query_walked(s, st, result, e);
}

int
store_usage_each(struct store *s, const char *owner,
                 int (*each)(void *context, const struct store_usage *row), void *context,
                 struct error *e)
{
        return walk(s, query_bind(s, QUERY_USAGE_ALL, e, "t", owner), each, context, e);
}

int
store_usage_owners(struct store *s, int (*each)(void *context, const struct store_usage *row),
                   void *context, struct error *e)
{
        return walk(s, query_bind(s, QUERY_USAGE_OWNERS, e, ""), each, context, e);
}
