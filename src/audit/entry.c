/*
 * audit/entry.c - writes and checks one entry of an audit log.
 *
 * Room: audit (acting). Touches: mem.
 * Theory: the line is the canonical form itself. So a reader that canonicalises what it read must
 * get the same bytes, and no byte of a line can change unnoticed, not even white space.
 */
#include "audit/entry.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/jcs.h"
#include "text/json.h"

enum { SCRATCH_LEN = 16 * 1024 };

static const struct text_limits line_limits = { AUDIT_LINE_MAX, 32, 65536 };

static const char *const path_hash[] = { "hash" };
static const char *const path_hmac[] = { "metadata", "carrel", "hmac" };
static const struct jcs_without without[] = { { path_hash, 1 }, { path_hmac, 3 } };
enum { WITHOUT_HASH = 1, WITHOUT_BOTH = 2 };

static void
hex(char *out, size_t room, const unsigned char *bytes, size_t len)
{
        (void)sodium_bin2hex(out, room, bytes, len);
}

void
audit_key_name(struct audit_key *key)
{
        static const char label[] = "carrel audit key";
        unsigned char sum[crypto_auth_hmacsha256_BYTES];

        (void)crypto_auth_hmacsha256(sum, (const unsigned char *)label, sizeof label - 1,
                                     key->bytes);
        hex(key->id, sizeof key->id, sum, 8);
}

void
audit_head_init(struct audit_head *h, const char *chain, const char *key_id)
{
        *h = (struct audit_head){ .hash = "GENESIS" };
        (void)snprintf(h->chain, sizeof h->chain, "%s", chain);
        (void)snprintf(h->key_id, sizeof h->key_id, "%s", key_id);
}

/* -- hashes ------------------------------------------------------------------------------------ */

static int
hash_of(const struct node *root, char ret[AUDIT_HASH_TEXT], struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct buffer text = { 0 };
        int result = jcs_write(root, without, WITHOUT_HASH, AUDIT_LINE_MAX, &text, e);

        if (result == 0) {
                (void)crypto_hash_sha256(sum, (const unsigned char *)text.bytes, text.len);
                hex(ret, AUDIT_HASH_TEXT, sum, sizeof sum);
        }
        buffer_fini(&text);
        return result;
}

static int
hmac_of(const struct node *root, const char *previous, const struct audit_key *key,
        char ret[AUDIT_HASH_TEXT], struct error *e)
{
        unsigned char sum[crypto_auth_hmacsha256_BYTES];
        crypto_auth_hmacsha256_state state;
        struct buffer text = { 0 };
        int result = jcs_write(root, without, WITHOUT_BOTH, AUDIT_LINE_MAX, &text, e);

        if (result == 0) {
                (void)crypto_auth_hmacsha256_init(&state, key->bytes, sizeof key->bytes);
                (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)previous,
                                                    strlen(previous));
                (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)text.bytes,
                                                    text.len);
                (void)crypto_auth_hmacsha256_final(&state, sum);
                sodium_memzero(&state, sizeof state);
                hex(ret, AUDIT_HASH_TEXT, sum, sizeof sum);
        }
        buffer_fini(&text);
        return result;
}

/* -- writing ----------------------------------------------------------------------------------- */

void
audit_time_text(uint64_t wall_ms, char ret[AUDIT_TIME_TEXT])
{
        /* years with four digits: the texts sort as the moments do */
        uint64_t last_ms = UINT64_C(253402300799999);
        uint64_t ms = wall_ms < last_ms ? wall_ms : last_ms;
        time_t seconds = (time_t)(ms / 1000);
        char text[AUDIT_TIME_TEXT];
        struct tm parts;

        (void)gmtime_r(&seconds, &parts);
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
        (void)snprintf(ret, AUDIT_TIME_TEXT, "%.19s.%03uZ", text, (unsigned)(ms % 1000));
}

static void
write_member_json(struct json_writer *w, const char *key, const char *json)
{
        if (!json)
                return;
        json_key(w, key);
        json_raw(w, json, strlen(json));
}

static void
write_members(struct json_writer *w, const struct audit_event *event, const struct audit_head *head,
              const char *time, uint64_t boot_ms)
{
        json_open_map(w);
        json_member_text(w, "$schema", "agentgovernance/v1");
        json_member_text(w, "doctype", "audit-event");
        json_key(w, "seq");
        json_uint(w, head->next);
        json_member_text(w, "ts", time);
        json_key(w, "actor");
        json_open_map(w);
        json_member_text(w, "id", event->actor_id);
        json_member_text(w, "role", event->actor_role);
        json_close_map(w);
        json_member_text(w, "action", event->action);
        json_key(w, "subject");
        json_open_map(w);
        json_member_text(w, "kind", event->subject_kind);
        json_member_text(w, "ref", event->subject_ref);
        json_close_map(w);
        write_member_json(w, "input", event->input);
        write_member_json(w, "output", event->output);
        json_member_text(w, "prevHash", head->hash);
        json_member_text(w, "hashAlg", "sha256");
        json_key(w, "metadata");
        json_open_map(w);
        json_key(w, "carrel");
        json_open_map(w);
        json_member_text(w, "chain", head->chain);
        json_member_text(w, "key", head->key_id);
        json_key(w, "boot_ms");
        json_uint(w, boot_ms);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}

/* The entry as a tree, without its signature. */
static int
make_tree(struct arena *arena, const struct audit_event *event, const struct audit_head *head,
          const char *time, uint64_t boot_ms, const struct node **ret, struct error *e)
{
        struct json_writer w;
        int result;

        json_init(&w, false);
        write_members(&w, event, head, time, boot_ms);
        if (w.is_broken)
                result = fail(e, ERROR_NO_MEMORY, "no memory for an audit entry");
        else if (w.len > AUDIT_LINE_MAX)
                result = fail(e, ERROR_REQUEST_TOO_LARGE, "the audit entry exceeds %d bytes",
                              AUDIT_LINE_MAX);
        else
                result = json_read(arena, w.text, w.len, &line_limits, ret, e);
        json_fini(&w);
        return result;
}

/* The canonical form without "hash" and "metadata.carrel.hmac", and where these belong. */
struct unsigned_entry {
        struct buffer text;
        size_t at_hash, at_hmac;
};

static int
write_unsigned(const struct node *root, const struct audit_head *head, struct unsigned_entry *ret,
               struct error *e)
{
        /* as RFC 8785 sorts them; what is absent is left out */
        static const char *const order[] = { "$schema",  "action", "actor",    "doctype",
                                             "hashAlg",  "input",  "metadata", "output",
                                             "prevHash", "seq",    "subject",  "ts" };
        struct buffer *text = &ret->text;

        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
                const struct node *member = node_find(root, order[i]);
                char key[24];
                int len;

                if (!member)
                        continue;
                len = snprintf(key, sizeof key, "%c\"%s\":", i == 0 ? '{' : ',', order[i]);
                if (strcmp(order[i], "hashAlg") == 0)
                        ret->at_hash = text->len + 1;
                if (buffer_add(text, key, (size_t)len, AUDIT_LINE_MAX) < 0 ||
                    jcs_write(member, NULL, 0, AUDIT_LINE_MAX, text, e) < 0)
                        return fail(e, ERROR_REQUEST_TOO_LARGE, "the audit entry exceeds %d bytes",
                                    AUDIT_LINE_MAX);
                /* {"carrel":{"boot_ms":1,"chain":"...", here "key":"..."}} */
                if (strcmp(order[i], "metadata") == 0)
                        ret->at_hmac = text->len - strlen("\"key\":\"\"}}") - strlen(head->key_id);
        }
        return buffer_add(text, "}", 1, AUDIT_LINE_MAX) < 0
                       ? fail(e, ERROR_NO_MEMORY, "no memory for an audit entry")
                       : 0;
}

/* "hmac":"...", and "hash":"...", as they are inserted. */
struct member {
        char text[AUDIT_HASH_TEXT + 16];
        size_t len;
};

static void
member_of(struct member *m, const char *key, const unsigned char sum[32], char ret[AUDIT_HASH_TEXT])
{
        hex(ret, AUDIT_HASH_TEXT, sum, 32);
        m->len = (size_t)snprintf(m->text, sizeof m->text, "\"%s\":\"%s\",", key, ret);
}

static int
add_signed(const struct unsigned_entry *u, const struct audit_key *key, struct audit_head *head,
           struct buffer *out, struct error *e)
{
        const unsigned char *bytes = (const unsigned char *)u->text.bytes;
        size_t len = u->text.len, most = SIZE_MAX / 2;
        crypto_auth_hmacsha256_state keyed;
        crypto_hash_sha256_state plain;
        struct member hmac, hash;
        unsigned char sum[32];
        char text[AUDIT_HASH_TEXT];

        (void)crypto_auth_hmacsha256_init(&keyed, key->bytes, sizeof key->bytes);
        (void)crypto_auth_hmacsha256_update(&keyed, (const unsigned char *)head->hash,
                                            strlen(head->hash));
        (void)crypto_auth_hmacsha256_update(&keyed, bytes, len);
        (void)crypto_auth_hmacsha256_final(&keyed, sum);
        sodium_memzero(&keyed, sizeof keyed);
        member_of(&hmac, "hmac", sum, text);
        (void)crypto_hash_sha256_init(&plain);
        (void)crypto_hash_sha256_update(&plain, bytes, u->at_hmac);
        (void)crypto_hash_sha256_update(&plain, (const unsigned char *)hmac.text, hmac.len);
        (void)crypto_hash_sha256_update(&plain, bytes + u->at_hmac, len - u->at_hmac);
        (void)crypto_hash_sha256_final(&plain, sum);
        member_of(&hash, "hash", sum, text);
        if (len + hash.len + hmac.len > AUDIT_LINE_MAX)
                return fail(e, ERROR_REQUEST_TOO_LARGE, "the audit entry exceeds %d bytes",
                            AUDIT_LINE_MAX);
        if (buffer_add(out, u->text.bytes, u->at_hash, most) < 0 ||
            buffer_add(out, hash.text, hash.len, most) < 0 ||
            buffer_add(out, u->text.bytes + u->at_hash, u->at_hmac - u->at_hash, most) < 0 ||
            buffer_add(out, hmac.text, hmac.len, most) < 0 ||
            buffer_add(out, u->text.bytes + u->at_hmac, len - u->at_hmac, most) < 0 ||
            buffer_add(out, "\n", 1, most) < 0)
                return fail(e, ERROR_NO_MEMORY, "no memory for an audit entry");
        memcpy(head->hash, text, sizeof head->hash);
        return 0;
}

int
audit_entry_write(const struct audit_event *event, const struct audit_key *key, uint64_t wall_ms,
                  uint64_t boot_ms, struct audit_head *head, struct buffer *out, struct error *e)
{
        struct unsigned_entry u = { .text = { 0 } };
        const struct node *root = NULL;
        char time[AUDIT_TIME_TEXT];
        /* most entries fit: no system call for their memory */
        _Alignas(16) unsigned char scratch[SCRATCH_LEN] = { 0 };
        struct arena arena;
        int result;

        audit_time_text(wall_ms, time);
        if (strcmp(time, head->time) < 0)
                memcpy(time, head->time, sizeof time);
        arena_init_in(&arena, 64u << 20, scratch, sizeof scratch);
        result = make_tree(&arena, event, head, time, boot_ms, &root, e);
        if (result == 0)
                result = write_unsigned(root, head, &u, e);
        if (result == 0)
                result = add_signed(&u, key, head, out, e);
        if (result == 0) {
                memcpy(head->time, time, sizeof time);
                head->next++;
        }
        buffer_fini(&u.text);
        arena_fini(&arena);
        return result;
}

/* -- checking ---------------------------------------------------------------------------------- */

static int
tampered(struct error *e, const char *what)
{
        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.tampered", "%s", what);
}

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_STRING ? n->text : NULL;
}

static int
read_members(const struct node *root, struct audit_entry *ret, struct error *e)
{
        const struct node *seq = node_find(root, "seq");
        const struct node *ours = node_find(node_find(root, "metadata"), "carrel");

        *ret = (struct audit_entry){ .root = root,
                                     .time = text_of(root, "ts"),
                                     .action = text_of(root, "action"),
                                     .actor = text_of(node_find(root, "actor"), "id"),
                                     .subject = text_of(node_find(root, "subject"), "ref"),
                                     .hash = text_of(root, "hash"),
                                     .previous = text_of(root, "prevHash"),
                                     .chain = text_of(ours, "chain"),
                                     .key_id = text_of(ours, "key"),
                                     .hmac = text_of(ours, "hmac") };
        if (!seq || seq->kind != NODE_INT || seq->integer < 0 || !ret->time || !ret->action ||
            !ret->actor || !ret->subject || !ret->hash || !ret->previous || !ret->chain ||
            !ret->key_id || !ret->hmac)
                return tampered(e, "a member is missing or has another type");
        ret->seq = (uint64_t)seq->integer;
        return 0;
}

int
audit_entry_read(struct arena *arena, const char *line, size_t len, struct audit_entry *ret,
                 struct error *e)
{
        struct buffer again = { 0 };
        char hash[AUDIT_HASH_TEXT];
        const struct node *root = NULL;
        bool is_same;

        if (json_read(arena, line, len, &line_limits, &root, e) < 0)
                return e->code == ERROR_NO_MEMORY ? -1 : tampered(e, "it is not one JSON value");
        if (jcs_write(root, NULL, 0, AUDIT_LINE_MAX, &again, e) < 0) {
                buffer_fini(&again);
                return e->code == ERROR_NO_MEMORY ? -1 : tampered(e, "it has no canonical form");
        }
        is_same = again.len == len && memcmp(again.bytes, line, len) == 0;
        buffer_fini(&again);
        if (!is_same)
                return tampered(e, "it is not in canonical form");
        if (hash_of(root, hash, e) < 0)
                return -1;
        return node_is_text(node_find(root, "hash"), hash)
                       ? read_members(root, ret, e)
                       : tampered(e, "its hash is not that of its content");
}

/* After the entry that announces another key, the other key signs. */
static const char *
next_key(const struct audit_entry *entry)
{
        const char *announced = strcmp(entry->action, "key.rotated") == 0
                                        ? text_of(node_find(entry->root, "input"), "key")
                                        : NULL;

        return announced ? announced : entry->key_id;
}

int
audit_entry_follow(const struct audit_entry *entry, const struct audit_key *key,
                   struct audit_head *head, struct error *e)
{
        char hmac[AUDIT_HASH_TEXT];

        if (entry->seq != head->next)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.seq_gap",
                               "it has number %llu instead of %llu", (unsigned long long)entry->seq,
                               (unsigned long long)head->next);
        if (strcmp(entry->previous, head->hash) != 0)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.broken",
                               "it does not continue the entry before it");
        if (strcmp(entry->chain, head->chain) != 0)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.broken",
                               "it belongs to another chain");
        if (strcmp(entry->key_id, head->key_id) != 0)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.broken",
                               "it is signed with key %s instead of %s", entry->key_id,
                               head->key_id);
        if (strlen(entry->time) != AUDIT_TIME_TEXT - 1 || strcmp(entry->time, head->time) < 0)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.time",
                               "its time is before that of the entry before it");
        if (key) {
                if (hmac_of(entry->root, entry->previous, key, hmac, e) < 0)
                        return -1;
                if (strcmp(hmac, entry->hmac) != 0)
                        return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.signature",
                                       "its signature is not made with key %s", key->id);
        }
        (void)snprintf(head->hash, sizeof head->hash, "%s", entry->hash);
        (void)snprintf(head->time, sizeof head->time, "%s", entry->time);
        (void)snprintf(head->key_id, sizeof head->key_id, "%s", next_key(entry));
        head->next++;
        return 0;
}
