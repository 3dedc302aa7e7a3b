/*
 * keeper/digest.c - a hash of what a call asks for.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: each field is hashed with its tag and length, so different records never give the same
 * bytes. A manifest is hashed value by value, without line and column. So the same block as YAML,
 * as JSON or from a file has one hash.
 */
#include "keeper/digest.h"

#include <sodium.h>
#include <string.h>

#include "keeper/limits.h"
#include "text/tree_pack.h"

static void
add(crypto_hash_sha256_state *state, uint64_t tag, const void *bytes, size_t len)
{
        const uint64_t head[2] = { tag, len };

        (void)crypto_hash_sha256_update(state, (const unsigned char *)head, sizeof head);
        if (len > 0)
                (void)crypto_hash_sha256_update(state, bytes, len);
}

static void
add_node(crypto_hash_sha256_state *state, const struct node *n)
{
        bool has_children = n->kind == NODE_LIST || n->kind == NODE_MAP;

        add(state, (uint64_t)n->kind, n->key ? n->key : "", n->key ? strlen(n->key) : 0);
        add(state, n->len, has_children ? NULL : n->text, has_children ? 0 : n->len);
        if (has_children)
                node_each(child, n) add_node(state, child);
}

/* An unreadable manifest is hashed as bytes: it is refused later. */
static void
add_manifest(crypto_hash_sha256_state *state, const struct record_entry *entry)
{
        const struct node *root = NULL;
        struct arena scratch;
        struct error e;

        arena_init(&scratch, LIMITS_TREE_MEMORY);
        if (tree_unpack(&scratch, entry->value, entry->len, &limits_manifest, &root, &e) == 0)
                add_node(state, root);
        else
                add(state, FIELD_MANIFEST, entry->value, entry->len);
        arena_fini(&scratch);
}

void
digest_create(const struct record *r, bool for_pool, unsigned char ret[DIGEST_LEN])
{
        crypto_hash_sha256_state state;
        struct record_entry entry;
        size_t at = 0;

        (void)crypto_hash_sha256_init(&state);
        while (record_next(r, &at, &entry) > 0) {
                bool is_box = entry.tag == FIELD_MANIFEST || entry.tag == FIELD_WORKSPACE ||
                              entry.tag == FIELD_READS || entry.tag == FIELD_RUNTIME;
                bool is_journey = entry.tag == FIELD_KEY || entry.tag == FIELD_UID ||
                                  entry.tag == FIELD_TOKEN || entry.tag == FIELD_START ||
                                  entry.tag == FIELD_APPROVAL_NOW;

                if (is_journey || (for_pool && !is_box))
                        continue;
                if (entry.tag == FIELD_MANIFEST)
                        add_manifest(&state, &entry);
                else
                        add(&state, entry.tag, entry.value, entry.len);
        }
        (void)crypto_hash_sha256_final(&state, ret);
}

void
digest_exec(enum operation_code op, const struct record *r, unsigned char ret[DIGEST_LEN])
{
        static const uint16_t left_out[] = {
                FIELD_KEY,      FIELD_ID,           FIELD_UID,     FIELD_TOKEN,
                FIELD_LOSSLESS, FIELD_ROWS,         FIELD_COLUMNS, FIELD_WAIT_PORTS_MS,
                FIELD_CLIENT,   FIELD_APPROVAL_NOW, FIELD_WRITES
        };
        crypto_hash_sha256_state state;
        struct record_entry entry;
        size_t at = 0;

        (void)crypto_hash_sha256_init(&state);
        add(&state, (uint64_t)op, NULL, 0);
        while (record_next(r, &at, &entry) > 0) {
                bool counts = true;

                for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
                        counts = counts && entry.tag != left_out[i];
                if (counts)
                        add(&state, entry.tag, entry.value, entry.len);
        }
        (void)crypto_hash_sha256_final(&state, ret);
}
