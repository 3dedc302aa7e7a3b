/*
 * changes/result.c - what a look found beside its rows.
 *
 * Room: changes (joining). Touches: mem.
 */
#include "changes/result.h"

static bool
is_truncated(const struct changes_result *r)
{
        return r->has_too_many || r->is_too_deep || r->is_late;
}

bool
changes_result_is_whole(const struct changes_result *r)
{
        return r->more == 0 && r->unreadable == 0 && !is_truncated(r) && !r->has_no_base &&
               !r->has_failed;
}

void
changes_result_write(struct json_writer *w, const struct changes_result *r)
{
        if (r->has_failed)
                json_member_text(w, "error", "no_memory");
        if (r->more > 0) {
                json_key(w, "more");
                json_uint(w, r->more);
        }
        if (r->unreadable > 0) {
                json_key(w, "unreadable");
                json_uint(w, r->unreadable);
        }
        if (r->has_no_base)
                json_member_text(w, "base", "unknown");
        if (!is_truncated(r))
                return;
        json_key(w, "truncated");
        json_open_list(w);
        if (r->has_too_many)
                json_text(w, "names");
        if (r->is_too_deep)
                json_text(w, "depth");
        if (r->is_late)
                json_text(w, "time");
        json_close_list(w);
}
