/*
 * audit/checkpoint.c - signed checkpoints of an audit log.
 *
 * Room: audit (acting). Touches: mem.
 */
#include "audit/checkpoint.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "text/jcs.h"
#include "text/json.h"

static const struct text_limits checkpoint_limits = { AUDIT_CHECKPOINT_MAX, 2, 32 };

void
audit_public_key(const unsigned char seed[AUDIT_SEED_LEN], char ret[65])
{
        unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];

        (void)crypto_sign_seed_keypair(public, secret, seed);
        sodium_memzero(secret, sizeof secret);
        (void)sodium_bin2hex(ret, 65, public, sizeof public);
}

static int
write_form(const struct audit_checkpoint *c, bool is_signed, struct buffer *out, struct error *e)
{
        const struct node *root = NULL;
        struct json_writer w;
        struct arena arena;
        int result;

        json_init(&w, false);
        json_open_map(&w);
        json_member_text(&w, "doctype", "audit-checkpoint");
        json_member_text(&w, "chain", c->chain);
        json_key(&w, "seq");
        json_uint(&w, c->seq);
        json_member_text(&w, "hash", c->hash);
        json_member_text(&w, "ts", c->time);
        json_member_text(&w, "public_key", c->public_key);
        if (is_signed)
                json_member_text(&w, "signature", c->signature);
        json_close_map(&w);
        arena_init(&arena, 1u << 20);
        if (w.is_broken)
                result = fail(e, ERROR_NO_MEMORY, "no memory for a checkpoint");
        else
                result = json_read(&arena, w.text, w.len, &checkpoint_limits, &root, e);
        if (result == 0)
                result = jcs_write(root, NULL, 0, AUDIT_CHECKPOINT_MAX, out, e);
        arena_fini(&arena);
        json_fini(&w);
        return result;
}

int
audit_checkpoint_make(const struct audit_head *head, const unsigned char seed[AUDIT_SEED_LEN],
                      struct audit_checkpoint *ret, struct error *e)
{
        unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES],
                signature[crypto_sign_BYTES];
        struct audit_checkpoint c = { .seq = head->next - 1 };
        struct buffer text = { 0 };

        memcpy(c.chain, head->chain, sizeof c.chain);
        memcpy(c.hash, head->hash, sizeof c.hash);
        memcpy(c.time, head->time, sizeof c.time);
        audit_public_key(seed, c.public_key);
        if (write_form(&c, false, &text, e) < 0) {
                buffer_fini(&text);
                return -1;
        }
        (void)crypto_sign_seed_keypair(public, secret, seed);
        (void)crypto_sign_detached(signature, NULL, (const unsigned char *)text.bytes, text.len,
                                   secret);
        sodium_memzero(secret, sizeof secret);
        (void)sodium_bin2hex(c.signature, sizeof c.signature, signature, sizeof signature);
        buffer_fini(&text);
        *ret = c;
        return 0;
}

int
audit_checkpoint_write(const struct audit_checkpoint *c, struct buffer *out, struct error *e)
{
        if (write_form(c, true, out, e) < 0)
                return -1;
        return buffer_add(out, "\n", 1, SIZE_MAX / 2) == 0
                       ? 0
                       : fail(e, ERROR_NO_MEMORY, "no memory for a checkpoint");
}

static bool
take_text(const struct node *root, const char *key, char *out, size_t room)
{
        const struct node *n = node_find(root, key);

        if (!n || n->kind != NODE_STRING || n->len >= room)
                return false;
        memcpy(out, n->text, n->len + 1);
        return true;
}

/* One form for each value: letters are small. */
static bool
from_hex(const char *text, unsigned char *out, size_t len)
{
        size_t got = 0;

        return strpbrk(text, "ABCDEF") == NULL &&
               sodium_hex2bin(out, len, text, strlen(text), NULL, &got, NULL) == 0 && got == len;
}

/* Is `text` what this checkpoint is written as, byte for byte? */
static bool
is_its_form(const struct audit_checkpoint *c, const char *text, size_t len)
{
        struct buffer again = { 0 };
        struct error ignored;
        bool result;

        while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
                len--;
        result = write_form(c, true, &again, &ignored) == 0 && again.len == len &&
                 memcmp(again.bytes, text, len) == 0;
        buffer_fini(&again);
        return result;
}

static int
check_signature(const struct audit_checkpoint *c, struct error *e)
{
        unsigned char public[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];
        struct buffer text = { 0 };
        bool is_right;

        if (write_form(c, false, &text, e) < 0) {
                buffer_fini(&text);
                return -1;
        }
        is_right = from_hex(c->public_key, public, sizeof public) &&
                   from_hex(c->signature, signature, sizeof signature) &&
                   crypto_sign_verify_detached(signature, (const unsigned char *)text.bytes,
                                               text.len, public) == 0;
        buffer_fini(&text);
        return is_right ? 0
                        : fail_at(e, ERROR_AUDIT_BROKEN, NULL, "checkpoint.signature",
                                  "the checkpoint's signature is not right");
}

int
audit_checkpoint_read(const char *text, size_t len, struct audit_checkpoint *ret, struct error *e)
{
        struct audit_checkpoint c = { 0 };
        const struct node *root = NULL, *seq;
        struct arena arena;
        bool is_whole;

        arena_init(&arena, 1u << 20);
        is_whole = json_read(&arena, text, len, &checkpoint_limits, &root, e) == 0;
        if (!is_whole && e->code == ERROR_NO_MEMORY) {
                arena_fini(&arena);
                return -1;
        }
        seq = is_whole ? node_find(root, "seq") : NULL;
        is_whole = seq && seq->kind == NODE_INT && seq->integer >= 0 &&
                   take_text(root, "chain", c.chain, sizeof c.chain) &&
                   take_text(root, "hash", c.hash, sizeof c.hash) &&
                   take_text(root, "ts", c.time, sizeof c.time) &&
                   take_text(root, "public_key", c.public_key, sizeof c.public_key) &&
                   take_text(root, "signature", c.signature, sizeof c.signature);
        c.seq = is_whole ? (uint64_t)seq->integer : 0;
        arena_fini(&arena);
        if (!is_whole || !is_its_form(&c, text, len))
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "checkpoint.form",
                               "this is not a checkpoint of an audit log");
        if (check_signature(&c, e) < 0)
                return -1;
        *ret = c;
        return 0;
}
