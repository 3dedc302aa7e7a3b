/*
 * audit/entry.c - writes and checks one entry of an audit log.
 *
 * Room: audit (acting). Touches: mem.
 * Theory: the line is the canonical form itself. So a reader that canonicalises what it read must
 * get the same bytes, and no byte of a line can change unnoticed, not even white space. The writer
 * knows the order of the members, so only input and output become trees.
 */
#include "audit/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/jcs.h"
#include "text/json.h"

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

/* A line as it grows in `out`, behind `start`. Where its hash and its signature belong is left free
 * until they are known. */
struct line {
        struct buffer *out;
        size_t start, hash, hmac; /* places in `out` */
        struct error *e;
};

/* "hash":"64 hex digits", */
enum { HASH_MEMBER = sizeof "\"hash\":\"\"," - 1 + AUDIT_HASH_TEXT - 1, HASH_HEAD = 8 };

static int
too_long(struct error *e)
{
        return fail(e, ERROR_REQUEST_TOO_LARGE, "the audit entry exceeds %d bytes", AUDIT_LINE_MAX);
}

static int
put(struct line *l, const char *bytes, size_t len)
{
        int result = buffer_add(l->out, bytes, len, l->start + AUDIT_LINE_MAX);

        if (result == 0)
                return 0;
        return result == -E2BIG ? too_long(l->e)
                                : fail(l->e, ERROR_NO_MEMORY, "no memory for an audit entry");
}

static int
put_literal(struct line *l, const char *text)
{
        return put(l, text, strlen(text));
}

static int
put_node(struct line *l, const struct node *n)
{
        if (jcs_write(n, NULL, 0, l->start + AUDIT_LINE_MAX, l->out, l->e) == 0)
                return 0;
        return l->e->code == ERROR_REQUEST_TOO_LARGE ? too_long(l->e) : -1;
}

static bool
is_plain(const char *text)
{
        for (; *text != '\0'; text++)
                if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
                        return false;
        return true;
}

int
audit_json_read(struct arena *arena, const char *json, size_t len, const struct text_limits *limits,
                const struct node **ret, struct error *e)
{
        if (json_read(arena, json, len, limits, ret, e) == 0)
                return 0;
        if (e->code != ERROR_NO_MEMORY)
                e->code = ERROR_INVALID_ARGUMENT; /* the reader's code is about a manifest */
        return error_wrap(e, "the JSON of an event");
}

/* A text that needs escapes, or is not UTF-8: as the JSON writer writes it, in canonical form. */
static int
put_escaped(struct line *l, const char *text)
{
        const struct node *n = NULL;
        struct json_writer w;
        struct arena arena;
        int result;

        arena_init(&arena, 16u << 20);
        json_init(&w, false);
        json_text(&w, text);
        result = w.is_broken ? fail(l->e, ERROR_NO_MEMORY, "no memory for an audit entry")
                             : audit_json_read(&arena, w.text, w.len, &line_limits, &n, l->e);
        if (result == 0)
                result = put_node(l, n);
        json_fini(&w);
        arena_fini(&arena);
        return result;
}

/* `before`: the end of what is before it, and its key. */
static int
put_text(struct line *l, const char *before, const char *text)
{
        if (put_literal(l, before) < 0)
                return -1;
        if (!text)
                return put_literal(l, "null");
        if (!is_plain(text))
                return put_escaped(l, text);
        return put(l, "\"", 1) < 0 || put_literal(l, text) < 0 || put(l, "\"", 1) < 0 ? -1 : 0;
}

static int
put_number(struct line *l, const char *before, uint64_t number)
{
        char text[24];

        if (number > (uint64_t)JCS_INTEGER_MAX)
                return fail_at(l->e, ERROR_INVALID_ARGUMENT, NULL, "number",
                               "a number that is not an integer up to 2^53");
        (void)snprintf(text, sizeof text, "%" PRIu64, number);
        return put_literal(l, before) < 0 || put_literal(l, text) < 0 ? -1 : 0;
}

static int
put_tree(struct line *l, const char *before, const struct node *n)
{
        if (!n)
                return 0;
        return put_literal(l, before) < 0 || put_node(l, n) < 0 ? -1 : 0;
}

static int
put_hash(struct line *l, const char *key, size_t *ret_at)
{
        char member[HASH_MEMBER + 1];

        (void)snprintf(member, sizeof member, "\"%s\":\"%064d\",", key, 0);
        *ret_at = l->out->len;
        return put(l, member, HASH_MEMBER);
}

/* As RFC 8785 sorts the members. */
static int
put_members(struct line *l, const struct audit_event *event, const struct audit_trees *trees,
            const struct audit_head *head, const char *time, uint64_t boot_ms)
{
        if (put_text(l, "{\"$schema\":\"agentgovernance/v1\",\"action\":", event->action) < 0 ||
            put_text(l, ",\"actor\":{\"id\":", event->actor_id) < 0 ||
            put_text(l, ",\"role\":", event->actor_role) < 0 ||
            put_literal(l, "},\"doctype\":\"audit-event\",") < 0 ||
            put_hash(l, "hash", &l->hash) < 0 || put_literal(l, "\"hashAlg\":\"sha256\"") < 0 ||
            put_tree(l, ",\"input\":", trees->input) < 0 ||
            put_number(l, ",\"metadata\":{\"carrel\":{\"boot_ms\":", boot_ms) < 0 ||
            put_text(l, ",\"chain\":", head->chain) < 0 || put_literal(l, ",") < 0 ||
            put_hash(l, "hmac", &l->hmac) < 0 || put_text(l, "\"key\":", head->key_id) < 0 ||
            put_literal(l, "}}") < 0 || put_tree(l, ",\"output\":", trees->output) < 0 ||
            put_text(l, ",\"prevHash\":", head->hash) < 0 ||
            put_number(l, ",\"seq\":", head->next) < 0 ||
            put_text(l, ",\"subject\":{\"kind\":", event->subject_kind) < 0 ||
            put_text(l, ",\"ref\":", event->subject_ref) < 0 || put_text(l, "},\"ts\":", time) < 0)
                return -1;
        return put(l, "}", 1);
}

static const unsigned char *
bytes_at(const struct line *l, size_t at)
{
        return (const unsigned char *)l->out->bytes + at;
}

static void
sign(const struct line *l, const struct audit_key *key, const char *previous, unsigned char sum[32])
{
        size_t first = l->hash + HASH_MEMBER, second = l->hmac + HASH_MEMBER;
        crypto_auth_hmacsha256_state state;

        (void)crypto_auth_hmacsha256_init(&state, key->bytes, sizeof key->bytes);
        (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)previous,
                                            strlen(previous));
        (void)crypto_auth_hmacsha256_update(&state, bytes_at(l, l->start), l->hash - l->start);
        (void)crypto_auth_hmacsha256_update(&state, bytes_at(l, first), l->hmac - first);
        (void)crypto_auth_hmacsha256_update(&state, bytes_at(l, second), l->out->len - second);
        (void)crypto_auth_hmacsha256_final(&state, sum);
        sodium_memzero(&state, sizeof state);
}

static void
hash_line(const struct line *l, unsigned char sum[32])
{
        size_t behind = l->hash + HASH_MEMBER;
        crypto_hash_sha256_state state;

        (void)crypto_hash_sha256_init(&state);
        (void)crypto_hash_sha256_update(&state, bytes_at(l, l->start), l->hash - l->start);
        (void)crypto_hash_sha256_update(&state, bytes_at(l, behind), l->out->len - behind);
        (void)crypto_hash_sha256_final(&state, sum);
}

/* Writes the digits into the place that put_hash() left. */
static void
set_hash(const struct line *l, size_t at, const unsigned char sum[32], char ret[AUDIT_HASH_TEXT])
{
        hex(ret, AUDIT_HASH_TEXT, sum, 32);
        memcpy(l->out->bytes + at + HASH_HEAD, ret, AUDIT_HASH_TEXT - 1);
}

int
audit_trees_read(struct arena *arena, const struct audit_event *event, struct audit_trees *ret,
                 struct error *e)
{
        size_t input = event->input ? strlen(event->input) : 0;
        size_t output = event->output ? strlen(event->output) : 0;
        /* so that the line has no more than `line_limits` permits: a value has 2 bytes or more */
        struct text_limits limits = { AUDIT_LINE_MAX, line_limits.depth_max - 1,
                                      line_limits.nodes_max - 64 };

        *ret = (struct audit_trees){ 0 };
        if (input > AUDIT_LINE_MAX || output > AUDIT_LINE_MAX - input)
                return too_long(e);
        if (event->input &&
            audit_json_read(arena, event->input, input, &limits, &ret->input, e) < 0)
                return -1;
        limits.nodes_max -=
                input / 2 < limits.nodes_max / 2 ? (unsigned)(input / 2) : limits.nodes_max / 2;
        return event->output
                       ? audit_json_read(arena, event->output, output, &limits, &ret->output, e)
                       : 0;
}

int
audit_entry_write_trees(const struct audit_event *event, const struct audit_trees *trees,
                        const struct audit_key *key, uint64_t wall_ms, uint64_t boot_ms,
                        struct audit_head *head, struct buffer *out, struct error *e)
{
        struct line l = { .out = out, .start = out->len, .e = e };
        char time[AUDIT_TIME_TEXT], text[AUDIT_HASH_TEXT];
        unsigned char sum[32];

        _Static_assert(crypto_auth_hmacsha256_BYTES == 32 && crypto_hash_sha256_BYTES == 32,
                       "room for a sum");
        audit_time_text(wall_ms, time);
        if (strcmp(time, head->time) < 0)
                memcpy(time, head->time, sizeof time);
        if (put_members(&l, event, trees, head, time, boot_ms) < 0)
                return -1;
        if (buffer_add(out, "\n", 1, SIZE_MAX / 2) < 0)
                return fail(e, ERROR_NO_MEMORY, "no memory for an audit entry");
        out->len--; /* the line end is not signed */
        sign(&l, key, head->hash, sum);
        set_hash(&l, l.hmac, sum, text);
        hash_line(&l, sum);
        set_hash(&l, l.hash, sum, text);
        out->len++;
        memcpy(head->hash, text, sizeof head->hash);
        memcpy(head->time, time, sizeof head->time);
        head->next++;
        return 0;
}

int
audit_entry_write(const struct audit_event *event, const struct audit_key *key, uint64_t wall_ms,
                  uint64_t boot_ms, struct audit_head *head, struct buffer *out, struct error *e)
{
        struct audit_trees trees;
        struct arena arena;
        int result;

        arena_init(&arena, 64u << 20);
        result = audit_trees_read(&arena, event, &trees, e);
        if (result == 0)
                result =
                        audit_entry_write_trees(event, &trees, key, wall_ms, boot_ms, head, out, e);
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
