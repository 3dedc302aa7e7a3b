/*
 * keeper/page.c - a list in pages, as a caller requests them.
 *
 * Room: keeper (joining). Touches: nothing.
 * Theory: a cursor is the place of the last entry that was answered. It is expressed in terms of
 * the list itself: a growing number, or a time and an id. The keeper stores nothing for it. So it
 * stays valid across a restart, and when that entry is gone. It is opaque to callers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "keeper/keeper.h"

int
page_wrong_cursor(struct error *e)
{
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "cursor", "value",
                      "this is not the cursor of a list");
        error_hint(e, "Pass the next_cursor of the previous response unchanged; without a cursor "
                      "the list starts from the beginning.");
        return -1;
}

int
page_begin(struct call *c, struct error *e)
{
        const char *cursor = record_get_text(&c->record, FIELD_CURSOR, NULL);
        struct page *p = &c->page;
        char own[sizeof "0123456789abcdef-" + PAGE_ID_LEN];

        if (p->is_read)
                return 0;
        p->is_read = true;
        p->limit = record_get_uint(&c->record, FIELD_LIMIT, 0);
        if (!cursor)
                return 0;
        if (sscanf(cursor, "%16" SCNx64 "-%39s", &p->after, p->after_id) >= 1) {
                (void)snprintf(own, sizeof own, "%016" PRIx64 "-%s", p->after, p->after_id);
                if (strcmp(own, cursor) == 0)
                        return 0;
        }
        return page_wrong_cursor(e);
}

bool
page_has(const struct call *c, uint64_t at, const char *id)
{
        return at > c->page.after || (at == c->page.after && strcmp(id, c->page.after_id) > 0) ||
               !record_get_text(&c->record, FIELD_CURSOR, NULL);
}

bool
page_is_full(const struct call *c, struct record_writer *w)
{
        const struct page *p = &c->page;
        char cursor[sizeof "0123456789abcdef-" + PAGE_ID_LEN];

        if (p->limit == 0 || p->count < p->limit)
                return false;
        (void)snprintf(cursor, sizeof cursor, "%016" PRIx64 "-%s", p->at, p->id);
        record_text(w, FIELD_NEXT_CURSOR, cursor);
        return true;
}

void
page_add(struct call *c, uint64_t at, const char *id)
{
        if (c->page.limit == 0)
                return;
        c->page.count++;
        c->page.at = at;
        (void)snprintf(c->page.id, sizeof c->page.id, "%s", id);
}
