/*
 * audit/log.h - an audit log on disk: one directory, one chain, many writers.
 *
 *   log-000000000000.jsonl   entries, named by the first one's number; the next file continues
 *   key-ID                   an HMAC key in hex, mode 0600; older keys stay to check older entries
 *   checkpoint.seed          the Ed25519 seed that signs checkpoints, in hex, mode 0600
 *   checkpoint.json          the last checkpoint: audit/checkpoint.h
 *
 * The directory belongs to this user and is closed to others. A writer holds a lock on it only
 * while it appends. Entries are on the disk (fdatasync) before audit_log_append() returns, so that
 * what is recorded first can be done afterwards.
 *
 *   L1  An entry follows an intact one: the end of the chain is checked before anything is added.
 *       Before the first one of a writer, also that no line is missing near it: audit/recent.h.
 *   L2  What was only partly written when the machine stopped is cut off, and the entry
 *       log.recovered says how long it was and what its SHA-256 is. That is a part of a line at the
 *       end, and everything from the first line on that has a zero byte: canonical JSON has none.
 *   L3  After a failed write, sync or checkpoint nothing of it stays in the file.
 *   L4  A log that ends before its last checkpoint is not continued. With `keeps_end` the
 * checkpoint can be AUDIT_SIGN_MS behind.
 *   L5  A log whose first entry is not number 0 is intact only if a signed entry log.pruned permits
 *       that beginning: audit/prune.h.
 */
#ifndef CARREL_AUDIT_LOG_H
#define CARREL_AUDIT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "audit/checkpoint.h"
#include "audit/entry.h"
#include "base/buffer.h"
#include "base/error.h"

enum {
        AUDIT_FILE_MAX =
                64 << 20,      /* bytes, after which the next file begins; also each day (UTC) */
        AUDIT_EVENTS_MAX = 64, /* in one call of audit_log_append() */
        AUDIT_SIGN_MS = 1000,  /* with `keeps_end`: after an entry, before its checkpoint, */
        AUDIT_SIGN_ENTRIES = 1024, /* and entries without one */
};

struct audit_log {
        int dir; /* owned; -1: not open */
        char path[4096];
        int64_t file_max;       /* bytes of a file: AUDIT_FILE_MAX; smaller in tests */
        bool has_begun_file;    /* by an append; whoever applies a retention clears it */
        bool is_recent_checked; /* L1 */
        struct audit_key *keys; /* read when needed; owned */
        size_t key_count;
        /*
         * For one process that writes most of the entries: the end of the chain is kept between two
         * calls, and not read again unless somebody else has written. It calls audit_log_sign().
         */
        bool keeps_end;
        struct audit_end *end; /* or NULL; owned */
        struct buffer lines;   /* memory of the last append; owned */
};

/* Set before a log is written: appends do not wait for the disk. Only for measurements, in the
 * build with test switches. */
extern bool audit_log_is_unsynced;

/*
 * Opens the log in the directory `path` (absolute). If `makes`, it is created with its parents if
 * it is missing; its first entry is written with the first event. Errors: ERROR_AUDIT_UNAVAILABLE
 * ("missing", or it belongs to another user, or others can reach it).
 */
int audit_log_open(struct audit_log *log, const char *path, bool makes, struct error *e);

/*
 * Appends `count` events (1 to AUDIT_EVENTS_MAX) with one sync. Gives the number of the last one,
 * and the id of the chain. Errors: ERROR_AUDIT_UNAVAILABLE (no space, an I/O error, a key is
 * missing), ERROR_AUDIT_BROKEN (L1, L4), those of audit_entry_write().
 */
int audit_log_append(struct audit_log *log, const struct audit_event *events, size_t count,
                     uint64_t *ret_seq, char ret_chain[AUDIT_ID_TEXT], struct error *e);

/*
 * With `keeps_end`, appends leave checkpoint.json as it is for a while. audit_log_due_ms(): when
 * (boot clock) it is to be written again, UINT64_MAX: it names the last entry. audit_log_sign()
 * does so. Errors: those of audit_log_append(); the next append tries again.
 */
uint64_t audit_log_due_ms(const struct audit_log *log);
int audit_log_sign(struct audit_log *log, struct error *e);

/*
 * Signs with a new key from now on. The entry key.rotated names it, signed with the old one.
 * Errors: those of audit_log_append(); ERROR_AUDIT_UNAVAILABLE if the log has 240 keys.
 */
int audit_log_rotate_key(struct audit_log *log, const char *actor_id, struct error *e);

/*
 * Calls `each` for the entries from number `from` on (0: all), in order, checked one by one as
 * audit_entry_read() does; those before it are not. Ends early, without an error, when `each`
 * returns false. A part of a line at the end is left out. If files are removed meanwhile
 * (audit/prune.h), it goes on with the first entry that is kept. Errors: ERROR_AUDIT_UNAVAILABLE,
 * ERROR_AUDIT_BROKEN.
 */
int audit_log_read(struct audit_log *log, uint64_t from,
                   bool (*each)(void *ctx, const char *line, size_t len,
                                const struct audit_entry *entry),
                   void *ctx, struct error *e);

struct audit_verdict {
        struct audit_head head;  /* behind the last entry that is right */
        uint64_t unsigned_count; /* entries whose signature was not checked, because there is no key
                                  */
        uint64_t begin;          /* number of the first entry; not 0: audit/prune.h */
        size_t torn;             /* bytes of a part of a write at the end: L2 */
        uint64_t at;             /* number of the entry, or of the missing one, that is wrong */
        char file[40];           /* and its file */
        bool has_checkpoint;     /* checkpoint.json is there and right */
};

/*
 * Checks everything, from the beginning again if files are removed meanwhile: each line, the chain
 * over all files, signatures, the last checkpoint here, and `kept` (may be NULL), a checkpoint that
 * somebody kept elsewhere. With `needs_keys` false, missing keys are counted, not refused. Errors:
 * ERROR_AUDIT_BROKEN with the reason of audit_entry_follow(), "chain.file" (a file does not begin
 * with the entry in its name), "chain.truncated" (fewer entries than a checkpoint says),
 * "checkpoint.signature", "checkpoint.other" (the chain has another entry at that number, or
 * another id), ERROR_AUDIT_UNAVAILABLE "key" (a key is missing), "empty".
 */
int audit_log_verify(struct audit_log *log, const struct audit_checkpoint *kept, bool needs_keys,
                     struct audit_verdict *ret, struct error *e);

/* For audit/verify.c: reads the keys of the log again. Errors: ERROR_AUDIT_UNAVAILABLE. */
int audit_log_load_keys(struct audit_log *log, struct error *e);

/* Says that key `id` is missing, with a hint. Returns -1: ERROR_AUDIT_UNAVAILABLE "key". */
int audit_log_key_is_missing(const char *id, struct error *e);

/*
 * The last checkpoint of this directory. Errors: ERROR_AUDIT_UNAVAILABLE "missing", also if a power
 * failure left a part of it; ERROR_AUDIT_BROKEN "checkpoint.form", "checkpoint.signature".
 */
int audit_log_checkpoint(struct audit_log *log, struct audit_checkpoint *ret, struct error *e);

/* Signs what is not signed yet, closes it and erases the keys from memory. Accepts one that is not
 * open. */
void audit_log_close(struct audit_log *log);

#endif
