/*
 * store/day.c - bytes out of the sandboxes of each owner, of its last day.
 *
 * Room: store (acting). Touches: the database.
 */
#include <stdio.h>

#include "store/query.h"
#include "store/store.h"

int
store_day_find(struct store *s, const char *owner, struct store_day *ret, struct error *e)
{
        sqlite3_stmt *st = query_bind(s, QUERY_DAY_FIND, e, "t", owner);
        int result = st ? sqlite3_step(st) : SQLITE_ERROR;

        if (!st)
                return -1;
        if (result == SQLITE_ROW) {
                const char *boot_id = (const char *)sqlite3_column_text(st, 5);

                *ret = (struct store_day){
                        .day = (uint64_t)sqlite3_column_int64(st, 1),
                        .bytes = (uint64_t)sqlite3_column_int64(st, 2),
                        .time_ms = (uint64_t)sqlite3_column_int64(st, 3),
                        .boot_ms = (uint64_t)sqlite3_column_int64(st, 4),
                        .is_damaged = sqlite3_column_int(st, 6) == 0,
                };
                (void)snprintf(ret->boot_id, sizeof ret->boot_id, "%s", boot_id ? boot_id : "");
                return query_walked(s, st, SQLITE_DONE, e) < 0 ? -1 : 1;
        }
        return query_walked(s, st, result, e);
}

int
store_day_put(struct store *s, const char *owner, const struct store_day *row, struct error *e)
{
        int result;

        if (query_unsynced_begin(s, e) < 0)
                return -1;
        result = query_run(s,
                           query_bind(s, QUERY_DAY_PUT, e, "tiiiit", owner, row->day, row->bytes,
                                      row->time_ms, row->boot_ms, row->boot_id),
                           e);
        return query_unsynced_end(s, result < 0 ? -1 : 0, e);
}
