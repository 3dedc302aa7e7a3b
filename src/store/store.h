/*
 * store/store.h - the durable state of one keeper: one directory, one database, one lock.
 *
 * Every function that changes something has committed it when it answers 0, or changed nothing: its caller may then tell somebody (N1, N2).
 * Between store_begin() and store_commit() that holds for all of them together. After a failure to sync, nothing is changed any more
 * (N9): every later change is refused, reading continues. Strings and bytes of arguments are borrowed.
 */
#ifndef CARREL_STORE_STORE_H
#define CARREL_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store;

enum { STORE_SCHEMA = 3, STORE_HASH_LEN = 32, STORE_BOOT_ID_LEN = 37, STORE_SUM_LEN = 16, STORE_ID_LEN = 33,
       STORE_KEYS_MAX = 1024,          /* keys of one operation that are kept of a sandbox: the newest */
       STORE_ENDED_MAX = 65536,        /* keys of sandboxes that ended, of all owners: the newest */
       STORE_ENDED_MS = 86400000 };    /* and for how long, by the wall clock */
#define STORE_NEVER UINT64_MAX

/* What to do where a key is used for two different calls, whichever. */
#define STORE_KEY_HINT "Use a key of its own for each call; one key is for repeating the same."

/*
 * Locks `directory` (made with mode 0700 if missing; one that others may write to is refused) and opens its state.db, migrating an older
 * schema. Errors: ERROR_STATE_IN_USE (names the holder's pid), ERROR_STATE_UNUSABLE (a newer schema, no database, damaged), ERROR_STORAGE_FULL, ERROR_INTERNAL.
 */
int store_open(const char *directory, struct store **ret, struct error *e);
void store_close(struct store *s);

/* Several changes as one. A failed commit has rolled back. Errors: ERROR_STORAGE_FULL, ERROR_INTERNAL. */
int store_begin(struct store *s, struct error *e);
int store_commit(struct store *s, struct error *e);
void store_rollback(struct store *s);

/* Has a sync failed, so that nothing is changed until the next start? */
bool store_is_failed(const struct store *s);

/* -- sandboxes ---------------------------------------------------------------------------------------------------- */

enum store_status { STORE_PENDING = 1, STORE_MADE, STORE_FAILED };

struct store_bytes { const void *bytes; size_t len; };

struct store_sandbox {
        const char *id;                        /* never changes */
        const char *owner;                     /* NULL: a ready box of the pool */
        const char *name, *cause, *provider, *workspace, *runtime, *manifest_name, *metadata, *key;    /* NULL: none */
        uint32_t status;                       /* enum store_status */
        uint32_t caller_uid;
        bool is_read_only, is_paused;
        uint64_t created_ms, delete_at_ms;     /* milliseconds since 1970; delete_at 0: never */
        uint64_t deadline_ms;                  /* boot clock of `boot_id`; STORE_NEVER: none */
        uint64_t remaining_ms;                 /* as it was at the last change */
        uint64_t started_ms;                   /* boot clock: its box's beginning; 0: there was none */
        const char *boot_id;
        const char *cwd;                       /* inside, as it was planned; NULL: not planned yet */
        uint32_t cpu;                          /* enum plan_cpu, as it was planned */
        bool is_writable;                      /* a mount of it is writable */
        struct store_bytes manifest;           /* a packed tree, or nothing */
        struct store_bytes env;                /* NAME=value, each with its NUL */
        struct store_bytes ports;              /* struct store_port[] */
        struct store_bytes reads;              /* paths of what was read to judge, each with its NUL */
        struct store_bytes digest;             /* of what was asked: is a repeated call the same? */
        struct store_bytes warnings;           /* a record (wire/record.h) */
        bool is_damaged;                       /* read, and its sum says that it is not what was written: nothing of it may be believed. Never written */
};

enum { STORE_TOKEN_LEN = 33 };
struct store_port { uint16_t port; char token[STORE_TOKEN_LEN]; };

/* New row; ERROR_EXISTS where owner and name, or owner and key, are taken. */
int store_sandbox_add(struct store *s, const struct store_sandbox *row, struct error *e);

/* Writes everything but the id of the row with this id. */
int store_sandbox_write(struct store *s, const struct store_sandbox *row, struct error *e);

/*
 * The same, written and not synced: it survives the death of this process, not that of the machine. For a row that says only what the
 * machine's end makes untrue: a ready box that has found its owner is gone by then.
 */
int store_sandbox_note(struct store *s, const struct store_sandbox *row, struct error *e);

/* 0 also if it does not exist. */
int store_sandbox_remove(struct store *s, const char *id, struct error *e);

/*
 * The same, and its key is remembered as that of one that ended: for STORE_ENDED_MS from `wall_ms` (milliseconds since 1970) on, and among the newest
 * STORE_ENDED_MAX. A late repetition of the call creates no second sandbox.
 */
int store_sandbox_end(struct store *s, const char *id, uint64_t wall_ms, struct error *e);

struct store_ended { char id[STORE_ID_LEN]; unsigned char digest[STORE_HASH_LEN]; size_t digest_len; };

/* 1: this key of this owner made one that has ended, written to `ret`; 0: none that is remembered; -1. */
int store_ended_find(struct store *s, const char *owner, const char *key, uint64_t wall_ms, struct store_ended *ret, struct error *e);

/*
 * Calls `each` for every row, oldest first; what it is given is borrowed for the call. Its answer not 0 ends the walk. A row that was damaged is
 * given as well, with is_damaged.
 */
int store_sandbox_each(struct store *s, int (*each)(void *context, const struct store_sandbox *row), void *context, struct error *e);

/*
 * -- keys of calls that add to something: one effect a key. They go with their sandbox; of each sandbox and operation the newest
 * STORE_KEYS_MAX are kept, and one older than these is new again.
 */

/* 1: it was used, with this digest; 0: it is new; -1 also where it was used with another (ERROR_EXISTS). */
int store_key_find(struct store *s, const char *sandbox, const char *op, const char *key, struct store_bytes digest, struct error *e);

/* Two changes: between store_begin() and store_commit(), or it is not one. */
int store_key_add(struct store *s, const char *sandbox, const char *op, const char *key, struct store_bytes digest, struct error *e);

/* As one, written and not synced, as store_sandbox_note() does: for what the end of the machine ends as well. */
int store_key_note(struct store *s, const char *sandbox, const char *op, const char *key, struct store_bytes digest, struct error *e);

/* -- tasks -------------------------------------------------------------------------------------------------------- */

struct store_task { const char *sandbox, *task; uint64_t deadline_ms; };

int store_task_put(struct store *s, const struct store_task *task, struct error *e);
int store_task_remove(struct store *s, const char *sandbox, const char *task, struct error *e);
int store_task_each(struct store *s, int (*each)(void *context, const struct store_task *task), void *context, struct error *e);

/* -- tokens: only what they hash to is kept ------------------------------------------------------------------------- */

struct store_token { const char *id, *owner, *scope; uint64_t created_ms; };

int store_token_add(struct store *s, const struct store_token *token, const unsigned char hash[STORE_HASH_LEN], struct error *e);
/* 1: there was one; 0: none; -1. */
int store_token_remove(struct store *s, const char *id, struct error *e);
int store_token_each(struct store *s, int (*each)(void *context, const struct store_token *token), void *context, struct error *e);
/* 1: found, its owner and scope copied (cut never: ERROR_INTERNAL); 0: none; -1. */
int store_token_find(struct store *s, const unsigned char hash[STORE_HASH_LEN], char *ret_owner, size_t owner_len, char *ret_scope, size_t scope_len, struct error *e);

#endif
