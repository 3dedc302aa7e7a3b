/*
 * keeper/answer.c - writes sandboxes and execs into answers.
 *
 * Room: keeper (joining). Touches: clock.
 */
#include <string.h>

#include "api/ending.h"
#include "keeper/audit.h"
#include "keeper/audit_refs.h"
#include "keeper/content.h"
#include "keeper/limits.h"
#include "keeper/sandbox.h"
#include "spec/provider.h"
#include "text/tree_pack.h"

/* Warnings are stored in the form of an answer: a record of their own. */
void
answer_warnings(struct record_writer *w, const struct findings *f)
{
        for (const struct warning *warning = f->warnings; warning; warning = warning->next) {
                size_t mark = record_open(w, FIELD_WARNINGS);

                record_text(w, FIELD_CODE, warning->name);
                record_text(w, FIELD_AT_PATH, warning->path);
                record_text(w, FIELD_MESSAGE, warning->message);
                if (warning->line > 0) {
                        record_uint(w, FIELD_LINE, warning->line);
                        record_uint(w, FIELD_COLUMN, warning->column);
                }
                record_close(w, mark);
        }
}

static void
copy_entries(struct record_writer *w, struct store_bytes bytes)
{
        struct record r = { bytes.bytes, bytes.len };
        struct record_entry entry;
        size_t at = 0;

        if (bytes.len == 0 || record_check(&r) < 0)
                return;
        while (record_next(&r, &at, &entry) > 0)
                record_bytes(w, entry.tag, entry.type, entry.value, entry.len);
}

/* By its manifest, which a keeper may not have read since it started. */
static const char *
tier_of(const struct sandbox *s)
{
        const struct provider *provider = s->row.provider ? provider_find(s->row.provider) : NULL;
        const struct node *root = NULL, *block;
        const char *tier = NULL;
        struct arena arena;
        struct error ignored;

        if (!provider || s->prepared)
                return provider ? provider_tier(provider, s->prepared->spec->config) : NULL;
        arena_init(&arena, LIMITS_TREE_MEMORY);
        if (s->row.manifest.len == 0 ||
            tree_unpack(&arena, s->row.manifest.bytes, s->row.manifest.len, &limits_manifest, &root,
                        &ignored) == 0) {
                block = node_find(root, "sandbox");
                tier = provider_tier(provider, node_find(block ? block : root, "config"));
        }
        arena_fini(&arena);
        return tier;
}

void
answer_sandbox(struct record_writer *w, const struct sandbox *s)
{
        const struct store_port *ports = s->row.ports.bytes;
        uint64_t remaining = deadline_remaining(s, loop_now_ms());

        record_text(w, FIELD_ID, s->id);
        record_text(w, FIELD_NAME, s->row.name);
        record_text(w, FIELD_STATUS, sandbox_status(s));
        record_uint(w, FIELD_CREATED_AT, s->row.created_ms);
        if (remaining != STORE_NEVER)
                record_uint(w, FIELD_TIMEOUT, remaining);
        if (s->row.delete_at_ms != 0)
                record_uint(w, FIELD_DELETE_AT, s->row.delete_at_ms);
        record_text(w, FIELD_OWNER, s->row.owner);
        record_text(w, FIELD_PROVIDER, s->row.provider);
        record_text(w, FIELD_TIER, tier_of(s));
        record_text(w, FIELD_RUNTIME, s->row.runtime);
        record_text(w, FIELD_WORKSPACE, s->row.workspace);
        for (size_t i = 0; i < s->row.ports.len / sizeof *ports; i++)
                record_uint(w, FIELD_PORTS, ports[i].port);
        record_bool(w, FIELD_READ_ONLY, s->row.is_read_only);
        record_text(w, FIELD_CAUSE, s->row.cause);
        record_json(w, FIELD_METADATA, s->row.metadata);
        copy_entries(w, s->row.warnings);
        answer_found(w, s, 0);
}

static const char *
state_name(uint32_t state)
{
        static const char *const names[] = { [BOX_EXEC_STARTING] = "starting",
                                             [BOX_EXEC_RUNNING] = "running",
                                             [BOX_EXEC_ENDED] = "ended",
                                             [BOX_EXEC_FAILED] = "failed" };

        return state < sizeof names / sizeof *names && names[state] ? names[state] : "starting";
}

bool
answer_exec_outcome(const struct box *b, const struct wire_box_listed *l, struct outcome *ret)
{
        struct channel_sanitized sanitized = content_sanitized(b, l->exec);

        *ret = ending_of_listed(&l->end, &sanitized);
        ret->dropped_bytes += l->stdout_first + l->stderr_first;
        return l->state == BOX_EXEC_ENDED && l->end.word < OUTCOME_MAX;
}

/* Of one that still runs: the counters of its output. */
static void
write_end(struct record_writer *w, const struct box *b, const struct wire_box_listed *l)
{
        struct outcome o;

        if (answer_exec_outcome(b, l, &o))
                ending_record(w, &o);
        else
                ending_record_bytes(w, &o);
}

void
answer_time_limit(struct record_writer *w, const struct time_limit *l)
{
        record_uint(w, FIELD_TIMEOUT, l->ms);
        record_text(w, FIELD_TIMEOUT_BY, time_limit_name(l->by));
}

void
answer_exec(struct record_writer *w, const struct sandbox *s, const struct wire_box_listed *l)
{
        unsigned by = (l->flags & BOX_EXEC_BY) >> BOX_EXEC_BY_SHIFT;
        struct time_limit limit = { wire_timeout_get(l), by < TIME_LIMIT_MAX
                                                                 ? (enum time_limit_by)by
                                                                 : TIME_LIMIT_NONE };
        uint64_t now = loop_now_ms(), wall = loop_wall_ms();
        char ref[RECORDER_REF_MAX];

        record_uint(w, FIELD_EXEC, l->exec);
        record_text(w, FIELD_COMMAND, l->command);
        record_text(w, FIELD_STATE, state_name(l->state));
        if (l->pid > 0)
                record_uint(w, FIELD_PID, (uint64_t)l->pid);
        if (l->task[0] != '\0' && !client_is_task(l->task))
                record_text(w, FIELD_TASK, l->task);
        if (l->key[0] != '\0')
                record_text(w, FIELD_KEY, l->key);
        record_bool(w, FIELD_BACKGROUND, (l->flags & BOX_EXEC_BACKGROUND) != 0);
        if (l->started_ms != 0 && l->started_ms <= now && now - l->started_ms <= wall)
                record_uint(w, FIELD_STARTED_AT, wall - (now - l->started_ms));
        if (limit.ms != 0 && limit.by != TIME_LIMIT_NONE)
                answer_time_limit(w, &limit);
        write_end(w, s->box, l);
        record_uint(w, FIELD_STDOUT_OFFSET, l->stdout_first);
        record_uint(w, FIELD_STDERR_OFFSET, l->stderr_first);
        record_text(w, FIELD_AUDIT_REF, audit_ref(s, l->exec, ref));
        if (port_wait_found(s, l->exec) != 0)
                record_uint(w, FIELD_PORT, port_wait_found(s, l->exec));
        if (s->box)
                answer_denied_to(w, s->box, l->exec);
}
