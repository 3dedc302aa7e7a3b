/*
 * audit/verify.c - checks a whole audit log: lines, chain, signatures, checkpoints.
 *
 * Room: audit (acting). Touches: the files of one directory, through audit/walk.h.
 */
#include <stdio.h>
#include <string.h>

#include "audit/keys.h"
#include "audit/log.h"
#include "audit/walk.h"

struct verifier {
        struct audit_log *log;
        struct audit_verdict *verdict;
        const struct audit_checkpoint *checkpoints[2]; /* NULL: none */
        bool needs_keys, may_begin;     /* an entry log.pruned permits its first entry */
        char previous[AUDIT_HASH_TEXT]; /* of its first entry */
        char public_key[65];            /* of the chain's checkpoints */
};

static int
check_checkpoints(const struct verifier *v, const struct audit_entry *entry, struct error *e)
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
learn_public_key(struct verifier *v, const struct audit_entry *entry, struct error *e)
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
first_entry(struct verifier *v, const struct audit_entry *entry, struct error *e)
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
check_pruned(struct verifier *v, const struct audit_entry *entry, struct error *e)
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
        struct verifier *v = ctx;
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
check_end(const struct verifier *v, struct error *e)
{
        const struct audit_head *head = &v->verdict->head;

        if (head->next > 0 && !v->may_begin)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.seq_gap",
                               "the log begins with entry %llu, and no entry log.pruned permits "
                               "that",
                               (unsigned long long)v->verdict->begin);

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

static int
verify_once(struct audit_log *log, const struct audit_checkpoint *kept, bool needs_keys,
            struct audit_verdict *ret, struct error *e)
{
        struct verifier v = { .log = log, .verdict = ret, .needs_keys = needs_keys };
        struct audit_walk w = { .each = verify_line, .ctx = &v };
        struct audit_checkpoint here = { 0 };
        int result;

        *ret = (struct audit_verdict){ 0 };
        if (audit_log_load_keys(log, e) < 0)
                return -1;
        ret->has_checkpoint = audit_log_checkpoint(log, &here, e) == 0;
        if (!ret->has_checkpoint && e->code == ERROR_AUDIT_BROKEN)
                return -1;
        v.checkpoints[0] = ret->has_checkpoint ? &here : NULL;
        v.checkpoints[1] = kept;
        result = audit_walk_log(log, &w, e);
        if (result == 0)
                result = check_end(&v, e);
        ret->torn = w.torn;
        ret->at = result < 0 && ret->begin > 0 && !v.may_begin ? 0 : ret->head.next;
        (void)snprintf(ret->file, sizeof ret->file, "%s", w.name);
        return result;
}

int
audit_log_verify(struct audit_log *log, const struct audit_checkpoint *kept, bool needs_keys,
                 struct audit_verdict *ret, struct error *e)
{
        int result = -1;

        for (int i = 0; i < AUDIT_READS_MAX; i++) {
                result = verify_once(log, kept, needs_keys, ret, e);
                if (!audit_walk_was_removed(result, e))
                        break;
        }
        return result;
}
