/*
 * audit/redact.c - removes secrets and personal data from the texts of an event.
 *
 * Room: audit (acting). Touches: mem.
 * Theory: text/redact_find.h says what goes at one place. Here the places of a text, and the
 * strings of a JSON object, are visited in order.
 */
#include "audit/redact.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text/json.h"

enum { DEPTH_MAX = 40, SCRATCH_LEN = 16 * 1024 };

static const struct text_limits json_limits = { AUDIT_LINE_MAX, 32, 65536 };

static int
out_of_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for an audit entry");
}

static int
add_mark(size_t rule, size_t *counts, struct buffer *out)
{
        char mark[REDACT_MARK_MAX];
        size_t len = redact_mark(rule, mark);

        counts[rule]++;
        return buffer_add(out, mark, len, SIZE_MAX / 2);
}

int
redact_text(const char *text, size_t *counts, struct buffer *out, struct error *e)
{
        struct redact_place p = { .text = text, .len = strlen(text) };
        size_t from = 0;

        while (p.at < p.len) {
                struct redact_cut cut;
                size_t rule = redact_find(&p, &cut);

                if (rule == REDACT_RULES) {
                        p.at++;
                        continue;
                }
                if (buffer_add(out, text + from, p.at + cut.kept - from, SIZE_MAX / 2) < 0 ||
                    add_mark(rule, counts, out) < 0)
                        return out_of_memory(e);
                p.at += cut.kept + cut.len;
                from = p.at;
        }
        return buffer_add(out, text + from, p.len - from, SIZE_MAX / 2) < 0 ? out_of_memory(e) : 0;
}

/* Does a rule find anything in it? */
static bool
text_finds(const char *text, size_t len)
{
        struct redact_place p = { .text = text, .len = len };
        struct redact_cut ignored;

        for (; p.at < len; p.at++)
                if (redact_find(&p, &ignored) < REDACT_RULES)
                        return true;
        return false;
}

/* -- JSON -------------------------------------------------------------------------------------- */

struct walk {
        struct json_writer w;
        size_t counts[REDACT_RULES];
        const struct audit_key *key; /* NULL: the digest stays */
        struct error *e;
};

static int
write_text(struct walk *walk, const char *text)
{
        struct buffer out = { 0 };
        int result = redact_text(text, walk->counts, &out, walk->e);

        if (result == 0)
                json_bytes(&walk->w, out.len > 0 ? out.bytes : "", out.len);
        buffer_fini(&out);
        return result;
}

/* Is it an option whose value is the next word: --password, -token? */
static bool
is_secret_option(const struct node *n)
{
        return n && n->kind == NODE_STRING && n->text[0] == '-' && !strchr(n->text, '=') &&
               redact_is_secret_name(n->text, n->len);
}

static int
write_removed(struct walk *walk)
{
        struct buffer out = { 0 };
        int result =
                add_mark(REDACT_ASSIGNMENT, walk->counts, &out) < 0 ? out_of_memory(walk->e) : 0;

        if (result == 0)
                json_bytes(&walk->w, out.bytes, out.len);
        buffer_fini(&out);
        return result;
}

static void
write_hmac(struct walk *walk, const struct node *digest)
{
        unsigned char sum[crypto_auth_hmacsha256_BYTES];
        char text[AUDIT_HASH_TEXT];

        (void)crypto_auth_hmacsha256(sum, (const unsigned char *)digest->text, digest->len,
                                     walk->key->bytes);
        (void)sodium_bin2hex(text, sizeof text, sum, sizeof sum);
        json_member_text(&walk->w, "argv_hmac_sha256", text);
}

static int write_node(struct walk *walk, const struct node *n, unsigned depth);

static int
write_member(struct walk *walk, const struct node *n, unsigned depth)
{
        if (walk->key && n->kind == NODE_STRING && strcmp(n->key, "argv_sha256") == 0) {
                write_hmac(walk, n);
                return 0;
        }
        json_key(&walk->w, n->key);
        return write_node(walk, n, depth);
}

static int
write_list(struct walk *walk, const struct node *list, unsigned depth)
{
        const struct node *before = NULL;

        json_open_list(&walk->w);
        node_each(item, list)
        {
                bool goes = is_secret_option(before) && item->kind == NODE_STRING;

                if ((goes ? write_removed(walk) : write_node(walk, item, depth)) < 0)
                        return -1;
                before = item;
        }
        json_close_list(&walk->w);
        return 0;
}

/* lint: the depth is bounded by DEPTH_MAX, and before by the reader's limits */
static int
write_node(struct walk *walk, const struct node *n, unsigned depth)
{
        if (depth > DEPTH_MAX)
                return fail(walk->e, ERROR_INVALID_ARGUMENT, "an audit entry is too deep");
        if (n->kind == NODE_STRING)
                return write_text(walk, n->text);
        if (n->kind == NODE_LIST)
                return write_list(walk, n, depth + 1);
        if (n->kind != NODE_MAP) {
                json_node(&walk->w, n);
                return 0;
        }
        json_open_map(&walk->w);
        node_each(member, n) if (write_member(walk, member, depth + 1) < 0) return -1;
        if (depth == 0 && walk->key) {
                json_key(&walk->w, "redacted");
                json_open_map(&walk->w);
                for (size_t i = 0; i < REDACT_RULES; i++)
                        if (walk->counts[i] > 0)
                                json_member_int(&walk->w, redact_rules_all[i].name,
                                                (int64_t)walk->counts[i]);
                json_close_map(&walk->w);
        }
        json_close_map(&walk->w);
        return 0;
}

static int
write_all(struct walk *walk, const struct node *root)
{
        int result = write_node(walk, root, 0);

        return result == 0 && walk->w.is_broken ? out_of_memory(walk->e) : result;
}

/* lint: the depth is bounded by the reader's limits */
static bool
node_finds(const struct node *n)
{
        const struct node *before = NULL;

        if (n->kind == NODE_STRING)
                return text_finds(n->text, n->len);
        if (n->kind != NODE_LIST && n->kind != NODE_MAP)
                return false;
        node_each(child, n)
        {
                bool goes = n->kind == NODE_LIST && is_secret_option(before) &&
                            child->kind == NODE_STRING;

                if (goes || node_finds(child))
                        return true;
                before = child;
        }
        return false;
}

bool
redact_finds(const struct node *n)
{
        return n && node_finds(n);
}

/* Once to see whether a rule finds anything, and then with what that changes. */
int
redact_json(const char *json, const struct audit_key *key, struct buffer *out, struct error *e)
{
        struct walk first = { .e = e }, second = { .e = e, .key = key };
        const struct node *root = NULL;
        /* most entries fit: no system call for their memory */
        _Alignas(16) unsigned char scratch[SCRATCH_LEN] = { 0 };
        struct arena arena;
        size_t found = 0;
        int result;

        arena_init_in(&arena, 64u << 20, scratch, sizeof scratch);
        json_init(&first.w, false);
        json_init(&second.w, false);
        result = audit_json_read(&arena, json, strlen(json), &json_limits, &root, e);
        if (result == 0 && root->kind != NODE_MAP)
                result = fail(e, ERROR_INVALID_ARGUMENT, "an event has something else than a map");
        if (result == 0)
                result = write_all(&first, root);
        for (size_t i = 0; i < REDACT_RULES; i++)
                found += first.counts[i];
        if (result == 0 && found > 0)
                result = write_all(&second, root);
        if (result == 0 && found > 0 &&
            buffer_add(out, second.w.text, second.w.len, SIZE_MAX / 2) < 0)
                result = out_of_memory(e);
        json_fini(&first.w);
        json_fini(&second.w);
        arena_fini(&arena);
        return result;
}
