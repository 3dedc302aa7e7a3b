/*
 * audit/export.c - entries of a log as rows of other signed logs.
 *
 * Room: audit (acting). Touches: mem.
 */
#include "audit/export.h"

#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/jcs.h"
#include "text/json.h"

static const struct text_limits row_limits = { 2 * AUDIT_LINE_MAX, 33, 65536 + 64 };

void
audit_export_init(struct audit_export *x, const unsigned char *secret, size_t len)
{
        *x = (struct audit_export){ .secret = secret, .secret_len = len };
        (void)memset(x->previous, '0', sizeof x->previous - 1);
}

void
audit_export_sign(const struct audit_export *x, const char *row, size_t len,
                  char ret[AUDIT_HASH_TEXT])
{
        unsigned char sum[crypto_auth_hmacsha256_BYTES];
        crypto_auth_hmacsha256_state state;

        (void)crypto_auth_hmacsha256_init(&state, x->secret, x->secret_len);
        (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)x->previous,
                                            strlen(x->previous));
        (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)row, len);
        (void)crypto_auth_hmacsha256_final(&state, sum);
        sodium_memzero(&state, sizeof state);
        (void)sodium_bin2hex(ret, AUDIT_HASH_TEXT, sum, sizeof sum);
}

static void
write_row(struct json_writer *w, const struct audit_export *x, const struct audit_entry *entry,
          const char *signature)
{
        bool is_system = strncmp(entry->actor, "host:", 5) == 0;
        const struct node *kind = node_find(node_find(entry->root, "subject"), "kind");
        char id[AUDIT_ID_TEXT + 24];

        (void)snprintf(id, sizeof id, "%s:%llu", entry->chain, (unsigned long long)entry->seq);
        json_open_map(w);
        json_member_text(w, "schema", "agentgovernance/v1");
        json_member_text(w, "doctype", "audit-event");
        json_member_text(w, "actorKind", is_system ? "system" : "user");
        json_member_text(w, "actorId", entry->actor);
        json_member_text(w, "entityType",
                         kind && kind->kind == NODE_STRING ? kind->text : "audit-event");
        json_member_text(w, "entityId", entry->subject);
        json_member_text(w, "id", id);
        json_member_text(w, "action", entry->action);
        json_member_text(w, "createdAt", entry->time);
        json_member_text(w, "prevSignature", x->previous);
        if (signature)
                json_member_text(w, "signature", signature);
        json_key(w, "payload");
        json_node(w, entry->root);
        json_close_map(w);
}

static int
canonical(const struct audit_export *x, const struct audit_entry *entry, const char *signature,
          struct buffer *out, struct error *e)
{
        const struct node *root = NULL;
        struct json_writer w;
        struct arena arena;
        int result;

        json_init(&w, false);
        write_row(&w, x, entry, signature);
        arena_init(&arena, 128u << 20);
        if (w.is_broken)
                result = fail(e, ERROR_NO_MEMORY, "no memory for a row");
        else
                result = json_read(&arena, w.text, w.len, &row_limits, &root, e);
        if (result == 0)
                result = jcs_write(root, NULL, 0, SIZE_MAX / 2, out, e);
        arena_fini(&arena);
        json_fini(&w);
        return result;
}

int
audit_export_row(struct audit_export *x, const struct audit_entry *entry, struct buffer *out,
                 struct error *e)
{
        char signature[AUDIT_HASH_TEXT];
        struct buffer row = { 0 };
        int result = canonical(x, entry, NULL, &row, e);

        if (result == 0) {
                audit_export_sign(x, row.bytes, row.len, signature);
                result = canonical(x, entry, signature, out, e);
        }
        buffer_fini(&row);
        if (result == 0 && buffer_add(out, "\n", 1, SIZE_MAX / 2) < 0)
                result = fail(e, ERROR_NO_MEMORY, "no memory for a row");
        if (result == 0)
                memcpy(x->previous, signature, sizeof signature);
        return result;
}

/* -- AgentsKit --------------------------------------------------------------------------------- */

/* Is it a key that JavaScript puts before all others, by its value: "0" to "4294967294"? */
static bool
is_index(const char *key, uint64_t *ret)
{
        size_t len = strspn(key, "0123456789");

        *ret = len > 0 && len <= 10 ? strtoull(key, NULL, 10) : UINT64_MAX;
        return len > 0 && key[len] == '\0' && (key[0] != '0' || len == 1) && *ret < UINT32_MAX;
}

/* The member that follows `last` in JavaScript's order; NULL: none does. */
static const struct node *
next_member(const struct node *map, const struct node *last)
{
        const struct node *best = NULL, *from;
        uint64_t value, bound = 0, least = UINT64_MAX;
        bool has_index = !last || is_index(last->key, &bound);

        if (has_index)
                node_each(member, map)
                {
                        if (is_index(member->key, &value) && (!last || value > bound) &&
                            value < least) {
                                best = member;
                                least = value;
                        }
                }
        if (best)
                return best;
        from = has_index ? map->first : last->next;
        while (from && is_index(from->key, &value))
                from = from->next;
        return from;
}

static int
add(struct buffer *out, const char *text, struct error *e)
{
        return buffer_add(out, text, strlen(text), SIZE_MAX / 2) < 0
                       ? fail(e, ERROR_NO_MEMORY, "no memory for a row")
                       : 0;
}

static int
add_string(struct buffer *out, const char *text, struct error *e)
{
        const struct node n = { .kind = NODE_STRING, .text = text, .len = strlen(text) };

        return jcs_write(&n, NULL, 0, SIZE_MAX / 2, out, e);
}

static int add_value(struct buffer *out, const struct node *n, struct error *e);

/* lint: the depth is bounded by the reader's limits */
static int
add_map(struct buffer *out, const struct node *map, struct error *e)
{
        const char *mark = "{";

        for (const struct node *m = next_member(map, NULL); m; m = next_member(map, m)) {
                if (add(out, mark, e) < 0 || add_string(out, m->key, e) < 0 ||
                    add(out, ":", e) < 0 || add_value(out, m, e) < 0)
                        return -1;
                mark = ",";
        }
        return add(out, map->first ? "}" : "{}", e);
}

/* lint: the depth is bounded by the reader's limits */
static int
add_value(struct buffer *out, const struct node *n, struct error *e)
{
        const char *mark = "[";

        if (n->kind == NODE_MAP)
                return add_map(out, n, e);
        if (n->kind != NODE_LIST)
                return jcs_write(n, NULL, 0, SIZE_MAX / 2, out, e);
        node_each(item, n)
        {
                if (add(out, mark, e) < 0 || add_value(out, item, e) < 0)
                        return -1;
                mark = ",";
        }
        return add(out, n->first ? "]" : "[]", e);
}

static int
add_members(const struct audit_export *x, const struct audit_entry *entry, struct buffer *out,
            struct error *e)
{
        char seq[32];

        (void)snprintf(seq, sizeof seq, "{\"seq\":%llu", (unsigned long long)x->count + 1);
        return add(out, seq, e) < 0 || add(out, ",\"timestamp\":", e) < 0 ||
                               add_string(out, entry->time, e) < 0 ||
                               add(out, ",\"actor\":", e) < 0 ||
                               add_string(out, entry->actor, e) < 0 ||
                               add(out, ",\"action\":", e) < 0 ||
                               add_string(out, entry->action, e) < 0 ||
                               add(out, ",\"payload\":", e) < 0 ||
                               add_value(out, entry->root, e) < 0 ||
                               add(out, ",\"prevHash\":", e) < 0 ||
                               add_string(out, x->count == 0 ? "" : x->previous, e) < 0
                       ? -1
                       : 0;
}

int
audit_export_agentskit(struct audit_export *x, const struct audit_entry *entry, struct buffer *out,
                       struct error *e)
{
        unsigned char sum[crypto_auth_hmacsha256_BYTES];
        crypto_auth_hmacsha256_state state;
        char signature[AUDIT_HASH_TEXT];
        struct buffer row = { 0 };
        int result = add_members(x, entry, &row, e) < 0 || add(&row, "}", e) < 0 ? -1 : 0;

        if (result == 0) {
                const unsigned char *bytes = (const unsigned char *)row.bytes;

                (void)crypto_auth_hmacsha256_init(&state, x->secret, x->secret_len);
                (void)crypto_auth_hmacsha256_update(&state, bytes, row.len);
                (void)crypto_auth_hmacsha256_final(&state, sum);
                sodium_memzero(&state, sizeof state);
                (void)sodium_bin2hex(signature, sizeof signature, sum, sizeof sum);
                (void)crypto_hash_sha256(sum, bytes, row.len);
                if (buffer_add(out, row.bytes, row.len - 1, SIZE_MAX / 2) < 0)
                        result = fail(e, ERROR_NO_MEMORY, "no memory for a row");
        }
        if (result == 0 && (add(out, ",\"signature\":\"", e) < 0 || add(out, signature, e) < 0 ||
                            add(out, "\"}\n", e) < 0))
                result = -1;
        if (result == 0) {
                (void)sodium_bin2hex(x->previous, sizeof x->previous, sum, sizeof sum);
                x->count++;
        }
        buffer_fini(&row);
        return result;
}
