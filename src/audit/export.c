/*
 * audit/export.c - entries of a log in the form of AgentsKit's signed log.
 *
 * Room: audit (acting). Touches: mem.
 */
#include "audit/export.h"

#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
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
