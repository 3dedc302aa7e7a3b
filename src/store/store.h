/*
 * store/store.h - the durable state of one keeper: one directory, one database, one lock.
 *
 * A function that changes something returns 0 only after it committed the change; otherwise nothing
 * changed. So its caller may report a 0 as done (N1, N2). Between store_begin() and store_commit()
 * this applies to all changes together. After a failed sync the store refuses every change, but can
 * still be read (N9). Strings and bytes of arguments are borrowed.
 */
#ifndef CARREL_STORE_STORE_H
#define CARREL_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/bytes.h"

struct store;

enum {
        STORE_SCHEMA = 3,
        STORE_HASH_LEN = 32,
        STORE_BOOT_ID_LEN = 37,
        STORE_SUM_LEN = 16,
        STORE_ID_LEN = 33,
        STORE_KEYS_MAX = 1024,   /* newest keys kept for one operation of a sandbox */
        STORE_ENDED_MAX = 65536, /* newest keys kept of sandboxes that ended, of all owners */
        STORE_ENDED_MS = 86400000
}; /* how long those are kept, in ms by the wall clock */
#define STORE_NEVER UINT64_MAX

/* Hint of every error about a key that was used for two different calls. */
#define STORE_KEY_HINT "Use a key of its own for each call; one key is for repeating the same."

/*
 * Locks `directory` and opens its state.db, migrating an older schema. Creates a missing directory
 * with mode 0700; refuses one that other users may write to. Errors: ERROR_STATE_IN_USE (names the
 * holder's pid), ERROR_STATE_UNUSABLE (a newer schema, no database, damaged), ERROR_STORAGE_FULL,
 * ERROR_INTERNAL.
 */
int store_open(const char *directory, struct store **ret, struct error *e);
void store_close(struct store *s);

/*
 * Commits several changes as one. A failed commit is rolled back. Errors: ERROR_STORAGE_FULL,
 * ERROR_INTERNAL.
 */
int store_begin(struct store *s, struct error *e);
int store_commit(struct store *s, struct error *e);
void store_rollback(struct store *s);

/* Has a sync failed? Then all changes are refused until the next start. */
bool store_is_failed(const struct store *s);

/* -- sandboxes --------------------------------------------------------------------------------- */

enum store_status { STORE_PENDING = 1, STORE_MADE, STORE_FAILED };

struct store_sandbox {
        const char *id;    /* never changes */
        const char *owner; /* NULL: a ready box of the pool */
        /* NULL: none */
        const char *name, *cause, *provider, *workspace, *runtime, *manifest_name, *metadata, *key;
        uint32_t status; /* enum store_status */
        uint32_t caller_uid;
        bool is_read_only, is_paused;
        uint64_t created_ms, delete_at_ms; /* milliseconds since 1970; delete_at_ms 0: never */
        uint64_t deadline_ms;              /* boot clock of `boot_id`; STORE_NEVER: none */
        uint64_t remaining_ms;             /* as of the last change */
        uint64_t started_ms;               /* start of its box, boot clock; 0: it had no box */
        const char *boot_id;
        const char *cwd;             /* as planned, inside; NULL: not planned yet */
        uint32_t cpu;                /* enum plan_cpu, as planned */
        bool is_writable;            /* has a writable mount */
        struct store_bytes manifest; /* a packed tree, or empty */
        struct store_bytes env;      /* NAME=value, each ends with a NUL */
        struct store_bytes ports;    /* struct store_port[] */
        /* paths of the files that its checks read, each ends with a NUL */
        struct store_bytes reads;
        struct store_bytes digest;   /* of the create call: recognises a repeated call */
        struct store_bytes warnings; /* a record (wire/record.h) */
        /* Set if a row that was read has a wrong sum: trust none of its fields. Never written. */
        bool is_damaged;
};

enum { STORE_TOKEN_LEN = 33 };
struct store_port {
        uint16_t port;
        char token[STORE_TOKEN_LEN];
};

/* Adds a row. Errors: ERROR_EXISTS if the owner has a row with this name or key. */
int store_sandbox_add(struct store *s, const struct store_sandbox *row, struct error *e);

/* Writes all fields except the id of the row with this id. */
int store_sandbox_write(struct store *s, const struct store_sandbox *row, struct error *e);

/*
 * As store_sandbox_write(), but not synced: the change survives the death of this process, but not
 * a crash of the machine. Use it only for facts that such a crash makes untrue: a ready box that
 * got an owner is gone then.
 */
int store_sandbox_note(struct store *s, const struct store_sandbox *row, struct error *e);

/* Returns 0 also if the row does not exist. */
int store_sandbox_remove(struct store *s, const char *id, struct error *e);

/*
 * As store_sandbox_remove(), and remembers its key. So a late repetition of the call creates no
 * second sandbox. The key is kept for STORE_ENDED_MS from `wall_ms` (milliseconds since 1970),
 * among the newest STORE_ENDED_MAX.
 */
int store_sandbox_end(struct store *s, const char *id, uint64_t wall_ms, struct error *e);

struct store_ended {
        char id[STORE_ID_LEN];
        unsigned char digest[STORE_HASH_LEN];
        size_t digest_len;
};

/*
 * 1: the sandbox created with this key of this owner has ended, written to `ret`; 0: no such key is
 * kept; -1.
 */
int store_ended_find(struct store *s, const char *owner, const char *key, uint64_t wall_ms,
                     struct store_ended *ret, struct error *e);

/*
 * Calls `each` for every row, oldest first; the row is borrowed for the call. A result other than 0
 * ends the walk. Damaged rows are included, with is_damaged set.
 */
int store_sandbox_each(struct store *s, int (*each)(void *context, const struct store_sandbox *row),
                       void *context, struct error *e);

/*
 * -- keys of calls that add to something --
 *
 * Each key has one effect. Keys are removed with their sandbox. For each sandbox and operation the
 * newest STORE_KEYS_MAX are kept; an older key counts as new.
 */

/*
 * 1: the key was used with this digest; 0: it is new; -1: error, ERROR_EXISTS if it was used with
 * another digest.
 */
int store_key_find(struct store *s, const char *sandbox, const char *op, const char *key,
                   struct store_bytes digest, struct error *e);

/*
 * Makes two changes: call it between store_begin() and store_commit(), otherwise it is not atomic.
 */
int store_key_add(struct store *s, const char *sandbox, const char *op, const char *key,
                  struct store_bytes digest, struct error *e);

/*
 * As store_key_add(), but not synced, like store_sandbox_note(): for effects that a crash of the
 * machine ends as well.
 */
int store_key_note(struct store *s, const char *sandbox, const char *op, const char *key,
                   struct store_bytes digest, struct error *e);

/* -- tasks ------------------------------------------------------------------------------------- */

struct store_task {
        const char *sandbox, *task;
        uint64_t deadline_ms;
};

int store_task_put(struct store *s, const struct store_task *task, struct error *e);
int store_task_remove(struct store *s, const char *sandbox, const char *task, struct error *e);
int store_task_each(struct store *s, int (*each)(void *context, const struct store_task *task),
                    void *context, struct error *e);

/* -- usage (usage.c): one row a sandbox, kept after its end -------------------------------------
 */

enum {
        STORE_USAGE_MAX = 1000
}; /* ended sandboxes of one owner; older ones are added up in one row */
#define STORE_UNKNOWN UINT64_MAX /* not measured on this machine */

/* Totals since the sandbox started. */
struct store_usage {
        const char *owner;
        const char *sandbox; /* NULL: the sum of all of the owner, also of those no longer listed */
        uint64_t at_ms;      /* since 1970: when it was measured */
        uint64_t wall_ms, cpu_ns, memory_peak_kb, execs, output_bytes, egress_out, egress_in;
        /* in use over time: KiB times ms. Storage: private places on a disk, and volumes */
        uint64_t memory_kb_ms, storage_kb_ms;
};

/*
 * Writes the totals of a sandbox. No total ever decreases, and a repeated call changes nothing:
 * each sandbox is counted once. is_new: add a row if there is none; otherwise a sandbox without a
 * row is left out, and `owner` may be NULL. Not synced: a loss of power may lose the last ones.
 */
int store_usage_put(struct store *s, const struct store_usage *row, bool is_new, struct error *e);

/*
 * Calls `each` with the sum of an owner and then with its sandboxes, by id; `owner` NULL: of each
 * owner. The row is borrowed for the call. A result other than 0 ends the walk.
 */
int store_usage_each(struct store *s, const char *owner,
                     int (*each)(void *context, const struct store_usage *row), void *context,
                     struct error *e);

/* Calls `each` with the sum of each owner, the one with the most CPU time first. */
int store_usage_owners(struct store *s, int (*each)(void *context, const struct store_usage *row),
                       void *context, struct error *e);

/* -- bytes of a day (day.c): one row an owner ----------------------------------------------------
 */

struct store_day {
        uint64_t day, bytes, time_ms, boot_ms; /* as in policy/day_count.h */
        char boot_id[STORE_BOOT_ID_LEN];
        bool is_damaged; /* the row that was read has a wrong sum. Never written */
};

/* 1: read; 0: nothing was counted of this owner; -1. */
int store_day_find(struct store *s, const char *owner, struct store_day *ret, struct error *e);

/* Not synced, like store_usage_put(). */
int store_day_put(struct store *s, const char *owner, const struct store_day *row, struct error *e);

/* -- tokens: only their hashes are stored ------------------------------------------------------ */

struct store_token {
        const char *id, *owner, *scope;
        uint64_t created_ms;
};

int store_token_add(struct store *s, const struct store_token *token,
                    const unsigned char hash[STORE_HASH_LEN], struct error *e);
/* 1: removed; 0: unknown id; -1. */
int store_token_remove(struct store *s, const char *id, struct error *e);
int store_token_each(struct store *s, int (*each)(void *context, const struct store_token *token),
                     void *context, struct error *e);
/*
 * 1: found; owner and scope are copied, never truncated (ERROR_INTERNAL if too long); 0: unknown
 * token; -1.
 */
int store_token_find(struct store *s, const unsigned char hash[STORE_HASH_LEN], char *ret_owner,
                     size_t owner_len, char *ret_scope, size_t scope_len, struct error *e);

#endif
