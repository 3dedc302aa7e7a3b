/*
 * audit/retain.c - applies the retention of the host file to a log.
 *
 * Room: audit (acting). Touches: the files of one directory.
 */
#include "audit/retain.h"

#include <stdint.h>
#include <string.h>

#include "text/json.h"

static const char actor[] = "host:carrel";

/* Without this entry, too, the caller has the error. */
static void
record_refusal(struct audit_log *log, const struct error *why)
{
        struct audit_event event = { .action = "retention.refused",
                                     .actor_id = actor,
                                     .actor_role = "system",
                                     .subject_kind = "audit",
                                     .subject_ref = "log" };
        char chain[AUDIT_ID_TEXT];
        struct json_writer w;
        struct error ignored;
        uint64_t seq;

        json_init(&w, false);
        json_open_map(&w);
        json_key(&w, "error");
        json_open_map(&w);
        json_member_text(&w, "code", error_wire_name(why->code));
        json_member_text(&w, "reason", why->reason);
        json_member_text(&w, "message", why->message);
        json_close_map(&w);
        json_close_map(&w);
        event.output = w.text;
        if (!w.is_broken)
                (void)audit_log_append(log, &event, 1, &seq, chain, &ignored);
        json_fini(&w);
}

void
audit_retain_init(struct audit_prune *p, struct audit_log *log, uint64_t keep_ms, uint64_t now_ms)
{
        audit_prune_init(p, log, now_ms > keep_ms ? now_ms - keep_ms : 0, actor);
}

int
audit_retain_step(struct audit_prune *p, size_t bytes, struct error *e)
{
        int result = audit_prune_step(p, bytes, e);

        if (result < 0 && (e->code == ERROR_AUDIT_BROKEN || strcmp(e->reason, "key") == 0))
                record_refusal(p->log, e);
        return result;
}

int
audit_log_retain(struct audit_log *log, uint64_t keep_ms, uint64_t now_ms, struct audit_pruned *ret,
                 struct error *e)
{
        struct audit_prune p;
        int result;

        log->has_begun_file = false;
        *ret = (struct audit_pruned){ 0 };
        if (keep_ms == 0)
                return 0;
        audit_retain_init(&p, log, keep_ms, now_ms);
        do
                result = audit_retain_step(&p, SIZE_MAX, e);
        while (result > 0);
        *ret = p.done;
        audit_prune_fini(&p);
        return result;
}
