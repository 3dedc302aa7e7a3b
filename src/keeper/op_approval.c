/*
 * keeper/op_approval.c - approval.list, approval.get, approval.answer.
 *
 * Room: keeper (joining). Touches: nothing.
 */
#include <string.h>

#include "keeper/approval.h"
#include "keeper/op.h"

enum call_state
op_approval_list(struct call *c, struct error *e)
{
        struct record_writer w;

        if (page_begin(c, e) < 0)
                return CALL_FAILED;
        if (!parts_begin(c, &w))
                return CALL_WAITS;
        for (const struct approval *a = approval_next(c->cursor); a;
             a = approval_next(approval_number(a))) {
                uint64_t number = approval_number(a);

                if (!approval_is_visible(a, &c->caller) || !page_has(c, number, ""))
                        continue;
                if (page_is_full(c, &w))
                        break;
                if (!parts_add(c, &w, approval_write, NULL, a, number))
                        return CALL_WAITS;
                page_add(c, number, "");
        }
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

static void
reply_approval(struct call *c, const struct approval *a)
{
        struct record_writer w = reply_begin(c);

        approval_write(&w, NULL, a);
        reply_send(c, &w, 0, -1);
}

enum call_state
op_approval_get(struct call *c, struct error *e)
{
        const struct approval *a =
                approval_find(&c->caller, record_get_text(&c->record, FIELD_ID, ""), e);

        if (!a)
                return CALL_FAILED;
        reply_approval(c, a);
        return CALL_DONE;
}

enum call_state
op_approval_answer(struct call *c, struct error *e)
{
        const char *verdict = record_get_text(&c->record, FIELD_VERDICT, "");
        bool is_approved = strcmp(verdict, "approve") == 0;
        struct approval *a;

        if (!is_approved && strcmp(verdict, "deny") != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "verdict", "unknown",
                               "a verdict is approve or deny"),
                       CALL_FAILED;
        a = approval_find(&c->caller, record_get_text(&c->record, FIELD_ID, ""), e);
        if (!a || approval_answer(a, &c->caller, is_approved,
                                  record_get_text(&c->record, FIELD_REASON, ""), e) < 0)
                return CALL_FAILED;
        reply_approval(c, a);
        approval_wake(a);
        return CALL_DONE;
}
