/*
 * audit/entry.h - one entry of an audit log: a line of canonical JSON, chained to the one before.
 *
 *   hash     = SHA-256 of the canonical entry without "hash"
 *   prevHash = hash of the entry before; "GENESIS" in the first one
 *   hmac     = HMAC-SHA-256 (key, prevHash and the canonical entry without "hash" and "hmac"), in
 *              metadata.carrel
 *
 * The key makes entries that only its holder can write; the hash lets everybody check the chain.
 * Source: AIP-7 (schema and chain), RFC 8785 (canonical form); test vectors in
 * test/conformance/audit-chain.json.
 */
#ifndef CARREL_AUDIT_ENTRY_H
#define CARREL_AUDIT_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "text/limits.h"
#include "text/tree.h"

enum {
        AUDIT_LINE_MAX = 1 << 20, /* bytes of one entry, without the line end */
        AUDIT_HASH_TEXT = 65,     /* hex digits of a hash and a NUL; also "GENESIS" */
        AUDIT_TIME_TEXT = 25,     /* "2026-01-01T00:00:00.000Z" and a NUL */
        AUDIT_ID_TEXT = 33,       /* a chain's id: 32 hex digits and a NUL */
        AUDIT_KEY_LEN = 32,       /* bytes of a key */
        AUDIT_KEY_TEXT = 17,      /* a key's id: 16 hex digits and a NUL */
};

struct audit_key {
        char id[AUDIT_KEY_TEXT]; /* made from the bytes: audit_key_name() */
        unsigned char bytes[AUDIT_KEY_LEN];
};

/* What happened. All is borrowed; texts are UTF-8. */
struct audit_event {
        const char *action;                     /* "exec.started" */
        const char *actor_id, *actor_role;      /* "uid:1000", "operator" */
        const char *subject_kind, *subject_ref; /* "sandbox", its id */
        const char *input, *output;             /* JSON objects, or NULL */
};

/* Input and output of an event, read; NULL: there is none. */
struct audit_trees {
        const struct node *input, *output; /* live as long as the arena */
};

/* The end of a chain, which the next entry continues. */
struct audit_head {
        char chain[AUDIT_ID_TEXT];
        uint64_t next;               /* seq of the next entry; 0: there is none yet */
        char hash[AUDIT_HASH_TEXT];  /* of the last entry, or "GENESIS" */
        char time[AUDIT_TIME_TEXT];  /* of the last entry, or "" */
        char key_id[AUDIT_KEY_TEXT]; /* that signs the next entry */
};

struct audit_entry {
        uint64_t seq;
        const char *time, *action, *actor, *subject, *hash,
                *previous; /* live as long as the arena */
        const char *chain, *key_id, *hmac;
        const struct node *root; /* the whole entry */
};

/* The form of `ts`; at most the last moment of the year 9999. */
void audit_time_text(uint64_t wall_ms, char ret[AUDIT_TIME_TEXT]);

/* Writes the id that goes with the bytes of a key. */
void audit_key_name(struct audit_key *key);

/* A chain without entries. `chain` has 32 hex digits; `key_id` 16. */
void audit_head_init(struct audit_head *h, const char *chain, const char *key_id);

/*
 * Appends the line of `event`, with its line end, to `out`, and moves the head on. `wall_ms`: since
 * 1970; an entry never has an earlier time than the one before. `boot_ms`: of the boot clock. `key`
 * is the one that the head names. After an error `out` may hold a part of the line.
 *
 * Errors: ERROR_INVALID_ARGUMENT (input or output is not JSON, is too deep or has too many values),
 * ERROR_REQUEST_TOO_LARGE (AUDIT_LINE_MAX), ERROR_NO_MEMORY.
 */
int audit_entry_write(const struct audit_event *event, const struct audit_key *key,
                      uint64_t wall_ms, uint64_t boot_ms, struct audit_head *head,
                      struct buffer *out, struct error *e);

/*
 * json_read() of `len` bytes of input or output. Errors: ERROR_INVALID_ARGUMENT with the reason of
 * json_read(), ERROR_NO_MEMORY.
 */
int audit_json_read(struct arena *arena, const char *json, size_t len,
                    const struct text_limits *limits, const struct node **ret, struct error *e);

/*
 * The same in two parts, for a caller that looks at the trees in between. audit_trees_read() reads
 * the JSON of `event`; audit_entry_write_trees() writes `trees` instead of it.
 */
int audit_trees_read(struct arena *arena, const struct audit_event *event, struct audit_trees *ret,
                     struct error *e);
int audit_entry_write_trees(const struct audit_event *event, const struct audit_trees *trees,
                            const struct audit_key *key, uint64_t wall_ms, uint64_t boot_ms,
                            struct audit_head *head, struct buffer *out, struct error *e);

/*
 * Reads one line (without its line end) and checks that it is canonical and that its hash is right.
 * The chain and the key are not looked at. Errors: ERROR_AUDIT_BROKEN "chain.tampered",
 * ERROR_NO_MEMORY.
 */
int audit_entry_read(struct arena *arena, const char *line, size_t len, struct audit_entry *ret,
                     struct error *e);

/*
 * Is `entry` the one that comes after `head`, and signed with `key`? Moves the head on. `key` NULL:
 * the signature is not looked at. `head` may be audit_head_init() with the chain and key of the
 * first entry. Errors: ERROR_AUDIT_BROKEN with "chain.seq_gap", "chain.broken" (prevHash, another
 * chain, another key), "chain.time", "chain.signature"; ERROR_NO_MEMORY.
 */
int audit_entry_follow(const struct audit_entry *entry, const struct audit_key *key,
                       struct audit_head *head, struct error *e);

#endif
