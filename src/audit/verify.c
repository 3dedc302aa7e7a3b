/*
 * audit/verify.c - checks a whole audit log: lines, chain, signatures, checkpoints.
 *
 * Room: audit (acting). Touches: the files of one directory, through audit/walk.h.
 */
#include "audit/verify.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "audit/keys.h"

static int
check_checkpoints(const struct audit_check *v, const struct audit_entry *entry, struct error *e)
{
        for (size_t i = 0; i < 2; i++) {
                const struct audit_checkpoint *c = v->checkpoints[i];

                if (c && c->seq == entry->seq && strcmp(c->hash, entry->hash) != 0)
                        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "checkpoint.other",
                                       "it is not the entry that the checkpoint names");
        }
        return 0;
}

/* log.initialized and log.pruned name the key of the chain's checkpoints. */
static int
learn_public_key(struct audit_check *v, const struct audit_entry *entry, struct error *e)
{
        const struct node *key = node_find(node_find(entry->root, "input"), "checkpoint_key");

        if (key && key->kind == NODE_STRING)
                (void)snprintf(v->public_key, sizeof v->public_key, "%s", key->text);
        for (size_t i = 0; i < 2; i++) {
                const struct audit_checkpoint *c = v->checkpoints[i];

                if (c && strcmp(c->public_key, v->public_key) != 0)
                        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "checkpoint.signature",
                                       "the checkpoint is signed with a key that is not the log's");
        }
        return 0;
}

/* The first entry that is there: of the chain, or behind what `prune` removed. */
static int
first_entry(struct audit_check *v, const struct audit_entry *entry, struct error *e)
{
        v->may_begin = entry->seq == 0;
        (void)snprintf(v->previous, sizeof v->previous, "%s", entry->previous);
        for (size_t i = 0; i < 2; i++) {
                const struct audit_checkpoint *c = v->checkpoints[i];

                if (c && strcmp(c->chain, entry->chain) != 0)
                        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "checkpoint.other",
                                       "the log has the chain %s, the checkpoint %s", entry->chain,
                                       c->chain);
        }
        return entry->seq == 0 ? learn_public_key(v, entry, e) : 0;
}

/*
 * Does this entry permit the log to begin where it does? At its first kept entry, or before it: a
 * prune that was killed has removed a part, and the hashes bind the rest to the kept entry.
 */
static int
check_pruned(struct audit_check *v, const struct audit_entry *entry, struct error *e)
{
        const struct node *input = node_find(entry->root, "input");
        const struct node *first = node_find(input, "first");
        uint64_t kept = first && first->kind == NODE_INT && first->integer > 0
                                ? (uint64_t)first->integer
                                : 0;

        if (v->may_begin || kept > entry->seq || kept < v->verdict->begin)
                return 0;
        if (kept == v->verdict->begin && !node_is_text(node_find(input, "prevHash"), v->previous))
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.broken",
                               "it removed what is before entry %llu, but with another last hash",
                               (unsigned long long)kept);
        v->may_begin = true;
        return learn_public_key(v, entry, e);
}

static int
verify_line(void *ctx, const char *line, size_t len, struct error *e)
{
        struct audit_check *v = ctx;
        const struct audit_key *key;
        bool is_first = v->verdict->head.chain[0] == '\0';
        struct audit_entry entry;
        struct arena arena;
        int result;

        arena_init(&arena, 64u << 20);
        result = audit_entry_read(&arena, line, len, &entry, e);
        if (result == 0 && is_first) {
                audit_head_init(&v->verdict->head, entry.chain, entry.key_id);
                if (entry.seq > 0) {
                        v->verdict->begin = v->verdict->head.next = entry.seq;
                        (void)snprintf(v->verdict->head.hash, sizeof v->verdict->head.hash, "%s",
                                       entry.previous);
                }
        }
        if (result == 0) {
                key = audit_keys_find(v->log->keys, v->log->key_count, entry.key_id);
                /* a key that was made since they were read */
                if (!key && audit_log_load_keys(v->log, e) == 0)
                        key = audit_keys_find(v->log->keys, v->log->key_count, entry.key_id);
                v->verdict->unsigned_count += key ? 0 : 1;
                result = !key && v->needs_keys
                                 ? audit_log_key_is_missing(entry.key_id, e)
                                 : audit_entry_follow(&entry, key, &v->verdict->head, e);
        }
        if (result == 0 && entry.seq + 1 != v->walk.number && v->misnamed[0] == '\0')
                memcpy(v->misnamed, v->walk.name, sizeof v->misnamed);
        if (result == 0 && is_first)
                result = first_entry(v, &entry, e);
        if (result == 0 && strcmp(entry.action, "log.pruned") == 0)
                result = check_pruned(v, &entry, e);
        if (result == 0)
                result = check_checkpoints(v, &entry, e);
        arena_fini(&arena);
        return result;
}

static int
check_end(const struct audit_check *v, struct error *e)
{
        const struct audit_head *head = &v->verdict->head;

        if (head->next > 0 && !v->may_begin)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.seq_gap",
                               "the log begins with entry %llu, and no entry log.pruned permits "
                               "that",
                               (unsigned long long)v->verdict->begin);
        if (v->misnamed[0] != '\0')
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.file",
                               "the file %s does not begin with the entry in its name",
                               v->misnamed);

        for (size_t i = 0; i < 2; i++) {
                const struct audit_checkpoint *c = v->checkpoints[i];

                if (c && c->seq >= head->next)
                        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.truncated",
                                       "the log ends before it, but a checkpoint names entry %llu",
                                       (unsigned long long)c->seq);
        }
        if (head->next == 0)
                return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "empty",
                               "the log has no entry yet");
        return 0;
}

/* From the beginning, as each time that a file was removed meanwhile. */
static int
begin(struct audit_check *c, struct error *e)
{
        struct audit_verdict *ret = c->verdict;

        *ret = (struct audit_verdict){ 0 };
        c->walk = (struct audit_walk){ .each = verify_line, .ctx = c };
        c->may_begin = false;
        c->public_key[0] = c->misnamed[0] = '\0';
        if (audit_log_load_keys(c->log, e) < 0)
                return -1;
        ret->has_checkpoint = audit_log_checkpoint(c->log, &c->here, e) == 0;
        if (!ret->has_checkpoint && e->code == ERROR_AUDIT_BROKEN)
                return -1;
        c->checkpoints[0] = ret->has_checkpoint ? &c->here : NULL;
        return audit_walk_begin(c->log, &c->walk, e);
}

static int
step(struct audit_check *c, size_t bytes, struct error *e)
{
        struct audit_verdict *ret = c->verdict;
        int result = 0;

        if (!c->is_begun)
                result = begin(c, e);
        c->is_begun = true;
        if (result == 0)
                result = audit_walk_step(c->log, &c->walk, bytes, e);
        if (result == 0)
                result = check_end(c, e);
        ret->torn = c->walk.torn;
        ret->at = result < 0 && ret->begin > 0 && !c->may_begin ? 0 : ret->head.next;
        (void)snprintf(ret->file, sizeof ret->file, "%s", c->walk.name);
        return result;
}

void
audit_check_init(struct audit_check *c, struct audit_log *log, const struct audit_checkpoint *kept,
                 bool needs_keys, struct audit_verdict *ret)
{
        *c = (struct audit_check){
                .log = log, .verdict = ret, .checkpoints = { NULL, kept }, .needs_keys = needs_keys
        };
        *ret = (struct audit_verdict){ 0 };
}

int
audit_check_step(struct audit_check *c, size_t bytes, struct error *e)
{
        int result = step(c, bytes, e);

        if (!audit_walk_was_removed(result, e) || ++c->reads >= AUDIT_READS_MAX)
                return result;
        audit_check_fini(c);
        return 1;
}

void
audit_check_fini(struct audit_check *c)
{
        audit_walk_end(&c->walk);
        c->is_begun = false;
}

int
audit_log_verify(struct audit_log *log, const struct audit_checkpoint *kept, bool needs_keys,
                 struct audit_verdict *ret, struct error *e)
{
        struct audit_check c;
        int result;

        audit_check_init(&c, log, kept, needs_keys, ret);
        do
                result = audit_check_step(&c, SIZE_MAX, e);
        while (result > 0);
        audit_check_fini(&c);
        return result;
}
