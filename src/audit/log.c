/*
 * audit/log.c - an audit log on disk: opening and appending.
 *
 * Room: audit (acting). Touches: fd, the files of one directory, clock.
 * Theory: nothing is kept in memory between two calls, so that any number of processes can write
 * one chain. Each append reads the end of the chain, checks it, adds lines, syncs them, and signs a
 * checkpoint. The daemon's recorder keeps the end, and signs once a second.
 */
#include "audit/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/files.h"
#include "audit/keys.h"
#include "audit/recent.h"
#include "audit/redact.h"
#include "base/scoped.h"
#include "base/switches.h"
#include "base/write_all.h"
#include "clock/clock.h"
#include "text/json.h"

/* Fewer than can be read: a log with too many keys would take no further entry. The rest is for
 * rotations at the same time. */
enum { KEYS_ROTATED_MAX = AUDIT_KEYS_MAX - 16 };

enum {
        DAY_LEN = 10 /* "2026-01-01" of a time */,
        SCRATCH_LEN = 16 * 1024,
        LINES_KEPT = 256 * 1024
};

/*
 * Where the last append ended. Another writer leaves a longer file or, if it began another one, a
 * new checkpoint.json: the one that is open here has no name any more.
 */
struct audit_end {
        int fd;         /* of the last file */
        int checkpoint; /* checkpoint.json */
        off_t whole;
        struct audit_head head;
        uint64_t signed_next; /* head.next of the checkpoint */
        uint64_t due_ms;      /* boot clock; UINT64_MAX: nothing is to be signed */
};

/* -- the directory ----------------------------------------------------------------------------- */

int
audit_log_open(struct audit_log *log, const char *path, bool makes, struct error *e)
{
        *log = (struct audit_log){ .dir = -1, .file_max = AUDIT_FILE_MAX };
        (void)snprintf(log->path, sizeof log->path, "%s", path);
        log->dir = audit_file_open_directory(path, makes, e);
        return log->dir < 0 ? -1 : 0;
}

static void
forget_end(struct audit_log *log)
{
        if (log->end && log->end->fd >= 0)
                (void)close(log->end->fd);
        if (log->end && log->end->checkpoint >= 0)
                (void)close(log->end->checkpoint);
        free(log->end);
        log->end = NULL;
}

void
audit_log_close(struct audit_log *log)
{
        struct error ignored;

        if (!log)
                return;
        (void)audit_log_sign(log, &ignored);
        audit_keys_free(log->keys, log->key_count);
        log->keys = NULL;
        log->key_count = 0;
        forget_end(log);
        buffer_fini(&log->lines);
        if (log->dir >= 0)
                (void)close(log->dir);
        log->dir = -1;
}

int
audit_log_load_keys(struct audit_log *log, struct error *e)
{
        audit_keys_free(log->keys, log->key_count);
        log->keys = NULL;
        log->key_count = 0;
        return audit_keys_read(log->dir, &log->keys, &log->key_count, e);
}

int
audit_log_key_is_missing(const char *id, struct error *e)
{
        (void)fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "key", "the key %s of the log is missing",
                      id);
        error_hint(e,
                   "Put the file key-%s back into the log's directory. `carrel audit verify "
                   "--no-keys` "
                   "checks hashes and chain without it.",
                   id);
        return -1;
}

/* -- the end of the chain ---------------------------------------------------------------------- */

struct tail {
        int fd;      /* of the last file, for appending; -1: there is none yet */
        off_t whole; /* bytes of whole lines in it */
        off_t added; /* bytes behind them after write_lines() */
        size_t torn; /* bytes behind them */
        struct audit_head head;
        bool is_empty; /* no entry in any file */
};

/* The state of a chain after its last entry, of which only the line itself is checked. */
static int
head_after(struct audit_log *log, const char *line, size_t len, struct audit_head *ret,
           struct error *e)
{
        const struct audit_key *key;
        struct audit_entry entry;
        struct arena arena;
        int result;

        arena_init(&arena, 64u << 20);
        result = audit_entry_read(&arena, line, len, &entry, e);
        if (result == 0) {
                audit_head_init(ret, entry.chain, entry.key_id);
                ret->next = entry.seq;
                (void)snprintf(ret->hash, sizeof ret->hash, "%s", entry.previous);
                key = audit_keys_find(log->keys, log->key_count, entry.key_id);
                result = key ? audit_entry_follow(&entry, key, ret, e)
                             : audit_log_key_is_missing(entry.key_id, e);
        }
        arena_fini(&arena);
        if (result < 0)
                (void)error_wrap(e, "the last entry of the audit log is not intact");
        return result;
}

/* L4 */
static int
check_against_checkpoint(struct audit_log *log, const struct tail *t, struct error *e)
{
        struct audit_checkpoint c;

        /* written without a sync: missing or empty after a power failure, but not changed */
        if (audit_log_checkpoint(log, &c, e) < 0)
                return e->code == ERROR_AUDIT_BROKEN ? -1 : 0;
        if (t->is_empty || (strcmp(c.chain, t->head.chain) == 0 && c.seq >= t->head.next))
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "chain.truncated",
                               "the audit log ends before entry %llu, which its checkpoint names",
                               (unsigned long long)c.seq);
        if (strcmp(c.chain, t->head.chain) != 0)
                return fail_at(e, ERROR_AUDIT_BROKEN, NULL, "checkpoint.other",
                               "the audit log's checkpoint belongs to another chain");
        return 0;
}

/*
 * The end of one file, read again if it may hold a part of the last write: blocks of it that never
 * reached the disk are zeros, with right lines behind them. The checkpoint names the last entry of
 * every write that was completed.
 */
static int
read_end(struct audit_log *log, int fd, struct audit_file_tail *ret, struct error *e)
{
        char member[AUDIT_HASH_TEXT + 16];
        struct audit_checkpoint c;
        struct error ignored;

        if (audit_file_read_tail(fd, ret, e) < 0)
                return -1;
        if (!ret->line)
                return 0;
        if (audit_log_checkpoint(log, &c, &ignored) == 0) {
                (void)snprintf(member, sizeof member, "\"hash\":\"%s\"", c.hash);
                if (ret->torn == 0 && memmem(ret->line, ret->len, member, strlen(member)))
                        return 0;
        }
        free(ret->memory);
        return audit_file_read_written(fd, ret, e);
}

/* L1 */
static int
check_recent(struct audit_log *log, const struct tail *t, struct error *e)
{
        if (log->is_recent_checked || t->is_empty || t->fd < 0)
                return 0;
        if (audit_recent_check(t->fd, t->whole, t->head.next, e) < 0)
                return -1;
        log->is_recent_checked = true;
        return 0;
}

static int
find_tail(struct audit_log *log, struct tail *t, struct error *e)
{
        struct audit_file_list list;
        bool has_line = false;

        *t = (struct tail){ .fd = -1, .is_empty = true };
        if (audit_file_list(log->dir, &list, e) < 0)
                return -1;
        for (size_t i = list.count; i-- > 0 && !has_line;) {
                scoped_fd int fd =
                        audit_file_open_log(log->dir, list.first[i], O_RDWR | O_APPEND, e);
                struct audit_file_tail end;

                if (fd < 0 || (i + 1 == list.count ? read_end(log, fd, &end, e)
                                                   : audit_file_read_tail(fd, &end, e)) < 0)
                        goto failed;
                has_line = end.line != NULL;
                if (i + 1 == list.count) {
                        t->whole = end.whole;
                        t->torn = end.torn;
                        t->fd = fd_take(&fd);
                }
                if (has_line && head_after(log, end.line, end.len, &t->head, e) < 0) {
                        free(end.memory);
                        goto failed;
                }
                free(end.memory);
        }
        t->is_empty = !has_line;
        audit_file_list_fini(&list);
        return check_recent(log, t, e) < 0 ? -1 : check_against_checkpoint(log, t, e);
failed:
        audit_file_list_fini(&list);
        return -1;
}

/* -- appending --------------------------------------------------------------------------------- */

static const struct audit_event first_event = { .action = "log.initialized",
                                                .actor_id = "host:carrel",
                                                .actor_role = "system",
                                                .subject_kind = "audit" };

static int
add_redacted(const struct audit_event *event, const struct audit_key *key, struct audit_head *head,
             struct buffer *lines, struct error *e)
{
        struct buffer input = { 0 }, output = { 0 };
        struct audit_event clean = *event;
        int result = 0;

        if ((event->input && redact_json(event->input, key, &input, e) < 0) ||
            (event->output && redact_json(event->output, key, &output, e) < 0))
                result = -1;
        if (input.len > 0)
                clean.input = input.bytes;
        if (output.len > 0)
                clean.output = output.bytes;
        if (result == 0)
                result = audit_entry_write(&clean, key, clock_wall_ms(), clock_boot_ms(), head,
                                           lines, e);
        buffer_fini(&input);
        buffer_fini(&output);
        return result;
}

static bool
is_no_map(const struct node *n)
{
        return n && n->kind != NODE_MAP;
}

static int
add_line(struct audit_log *log, const struct audit_event *event, struct tail *t,
         struct buffer *lines, struct error *e)
{
        const struct audit_key *key = audit_keys_find(log->keys, log->key_count, t->head.key_id);

        /* most entries fit: no system call for their memory */
        _Alignas(16) unsigned char scratch[SCRATCH_LEN] = { 0 };
        struct audit_trees trees;
        struct arena arena;
        int result;

        if (!key)
                return audit_log_key_is_missing(t->head.key_id, e);
        arena_init_in(&arena, 64u << 20, scratch, sizeof scratch);
        result = audit_trees_read(&arena, event, &trees, e);
        if (result == 0 && (is_no_map(trees.input) || is_no_map(trees.output)))
                result = fail(e, ERROR_INVALID_ARGUMENT, "an event has something else than a map");
        /* nothing that a rule finds reaches the disk: audit/redact.h */
        if (result == 0 && (redact_finds(trees.input) || redact_finds(trees.output)))
                result = add_redacted(event, key, &t->head, lines, e);
        else if (result == 0)
                result = audit_entry_write_trees(event, &trees, key, clock_wall_ms(),
                                                 clock_boot_ms(), &t->head, lines, e);
        arena_fini(&arena);
        return result;
}

/* The first entry: the chain's id, its key, and the key of its checkpoints. */
static int
begin_chain(struct audit_log *log, struct tail *t, struct buffer *lines, struct error *e)
{
        unsigned char seed[AUDIT_SEED_LEN], id[16];
        char chain[AUDIT_ID_TEXT], public_key[65], input[256];
        struct audit_event event = first_event;

        if (log->key_count == 0 &&
            (audit_keys_add(log->dir, NULL, e) < 0 || audit_log_load_keys(log, e) < 0))
                return -1;
        if (audit_keys_seed(log->dir, true, seed, e) < 0)
                return -1;
        randombytes_buf(id, sizeof id);
        (void)sodium_bin2hex(chain, sizeof chain, id, sizeof id);
        audit_public_key(seed, public_key);
        sodium_memzero(seed, sizeof seed);
        audit_head_init(&t->head, chain, log->keys[0].id);
        (void)snprintf(input, sizeof input, "{\"checkpoint_key\":\"%s\"}", public_key);
        event.subject_ref = chain;
        event.input = input;
        return add_line(log, &event, t, lines, e);
}

/* L2: the entry about what write_lines() cuts off. */
static int
add_recovered(struct audit_log *log, struct tail *t, struct buffer *lines, struct error *e)
{
        struct audit_event event = first_event;
        char hash[AUDIT_HASH_TEXT], output[256];

        if (audit_file_hash(t->fd, t->whole, t->torn, hash, e) < 0)
                return -1;
        (void)snprintf(output, sizeof output, "{\"bytes\":%zu,\"sha256\":\"%s\"}", t->torn, hash);
        event.action = "log.recovered";
        event.subject_ref = t->head.chain;
        event.output = output;
        return add_line(log, &event, t, lines, e);
}

/* On the disk: another file may follow this one. */
static int
cut_torn(const struct tail *t, struct error *e)
{
        if (ftruncate(t->fd, t->whole) < 0 || fdatasync(t->fd) < 0)
                return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno,
                                "cutting a part of a line at the end of the audit log");
        return 0;
}

static int
begin_file(struct audit_log *log, struct tail *t, uint64_t first, struct error *e)
{
        if (t->fd >= 0)
                (void)close(t->fd);
        log->has_begun_file = true;
        t->whole = 0;
        t->fd = audit_file_open_log(log->dir, first, O_RDWR | O_APPEND | O_CREAT, e);
        if (t->fd < 0)
                return -1;
        if (fsync(log->dir) < 0)
                return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "syncing %s", log->path);
        return 0;
}

/* What cannot be removed now is found by the next append: L1, L2. */
static int
take_back(const struct tail *t, struct error *e)
{
        return ftruncate(t->fd, t->whole) < 0 ? error_wrap(e, "removing a part of an entry") : -1;
}

#ifdef CARREL_TEST_SWITCHES
bool audit_log_is_unsynced;
#endif

/* bench/living measures what it costs. */
static int
sync_lines(int fd)
{
#ifdef CARREL_TEST_SWITCHES
        if (audit_log_is_unsynced)
                return 0;
#endif
        return fdatasync(fd);
}

/* L3. `before`: the end of the chain before these lines. Each day (UTC) has files of its own, so
 * that old ones can be removed whole: audit/prune.h. */
static int
write_lines(struct audit_log *log, struct tail *t, const struct audit_head *before,
            const struct buffer *lines, struct error *e)
{
        bool is_other_day = before->next > 0 && strncmp(before->time, t->head.time, DAY_LEN) != 0;
        bool is_new = t->fd < 0 || is_other_day || t->whole + (off_t)lines->len > log->file_max;

        if (t->torn > 0 && cut_torn(t, e) < 0)
                return -1;
        if (is_new && begin_file(log, t, before->next, e) < 0)
                return -1;
        t->added = (off_t)lines->len;
        if (write_all(t->fd, lines->bytes, lines->len) == 0 && sync_lines(t->fd) == 0)
                return 0;
        (void)fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "writing the audit log in %s", log->path);
        return take_back(t, e);
}

/* Takes the descriptor of `t`. Without memory the next append reads the end again. */
static void
keep_end(struct audit_log *log, struct tail *t, bool is_signed)
{
        struct audit_end *end = log->end;

        if (!end) {
                end = log->end = malloc(sizeof *end);
                if (!end)
                        return;
                *end = (struct audit_end){ .checkpoint = -1, .due_ms = UINT64_MAX };
        }
        end->fd = t->fd;
        end->whole = t->whole + t->added;
        end->head = t->head;
        t->fd = -1;
        if (!is_signed && end->due_ms == UINT64_MAX)
                end->due_ms = clock_boot_ms() + AUDIT_SIGN_MS;
        if (!is_signed)
                return;
        end->signed_next = t->head.next;
        end->due_ms = UINT64_MAX;
        if (end->checkpoint >= 0)
                (void)close(end->checkpoint);
        end->checkpoint =
                openat(log->dir, "checkpoint.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool
has_name(int fd, struct stat *st)
{
        return fd >= 0 && fstat(fd, st) == 0 && st->st_nlink > 0;
}

/* Is the end still as the last append left it? Then `t` takes it over. */
static bool
take_end(struct audit_log *log, struct tail *t)
{
        struct audit_end *end = log->end;
        struct stat st;

        if (!end)
                return false;
        if (!has_name(end->checkpoint, &st) || !has_name(end->fd, &st) ||
            st.st_size != end->whole) {
                forget_end(log);
                return false;
        }
        *t = (struct tail){ .fd = end->fd, .whole = end->whole, .head = end->head };
        end->fd = -1;
        return true;
}

/* One process that writes most entries signs them together: audit_log_sign(). */
static bool
signs_later(const struct audit_log *log, const struct tail *t)
{
        return log->keeps_end && log->end && log->end->checkpoint >= 0 &&
               t->head.next - log->end->signed_next < AUDIT_SIGN_ENTRIES;
}

static int
sign_checkpoint(struct audit_log *log, struct tail *t, struct error *e)
{
        unsigned char seed[AUDIT_SEED_LEN];
        struct audit_checkpoint c;
        struct buffer text = { 0 };
        int result;

        if (audit_keys_seed(log->dir, false, seed, e) < 0)
                return -1;
        result = audit_checkpoint_make(&t->head, seed, &c, e);
        sodium_memzero(seed, sizeof seed);
        if (result == 0)
                result = audit_checkpoint_write(&c, &text, e);
        if (result == 0)
                result = audit_file_replace(log->dir, "checkpoint.json", text.bytes, text.len,
                                            false, e);
        buffer_fini(&text);
        return result;
}

static int
append_locked(struct audit_log *log, const struct audit_event *events, size_t count, struct tail *t,
              struct error *e)
{
        struct buffer lines = log->lines;
        bool is_signed;
        struct audit_head before;
        int result = -1;

        if (!take_end(log, t) && (audit_log_load_keys(log, e) < 0 || find_tail(log, t, e) < 0))
                return -1;
        before = t->head;
        log->lines = (struct buffer){ 0 };
        lines.len = 0;
        if (t->is_empty && begin_chain(log, t, &lines, e) < 0)
                goto end;
        if (t->torn > 0 && add_recovered(log, t, &lines, e) < 0)
                goto end;
        for (size_t i = 0; i < count; i++)
                if (add_line(log, &events[i], t, &lines, e) < 0)
                        goto end;
        result = write_lines(log, t, &before, &lines, e);
        is_signed = !signs_later(log, t);
        /* an entry that the caller takes for missing must not be there */
        if (result == 0 && is_signed && sign_checkpoint(log, t, e) < 0)
                result = take_back(t, e);
        if (result == 0 && log->keeps_end)
                keep_end(log, t, is_signed);
end:
        if (log->keeps_end && lines.room <= LINES_KEPT)
                log->lines = lines;
        else
                buffer_fini(&lines);
        return result;
}

int
audit_log_append(struct audit_log *log, const struct audit_event *events, size_t count,
                 uint64_t *ret_seq, char ret_chain[AUDIT_ID_TEXT], struct error *e)
{
        struct tail t = { .fd = -1 };
        int result;

        if (audit_file_lock(log->dir, LOCK_EX, e) < 0)
                return -1;
        result = append_locked(log, events, count, &t, e);
        audit_file_unlock(log->dir);
        if (t.fd >= 0)
                (void)close(t.fd);
        if (result == 0) {
                *ret_seq = t.head.next - 1;
                memcpy(ret_chain, t.head.chain, AUDIT_ID_TEXT);
        }
        return result;
}

uint64_t
audit_log_due_ms(const struct audit_log *log)
{
        return log->end ? log->end->due_ms : UINT64_MAX;
}

int
audit_log_sign(struct audit_log *log, struct error *e)
{
        struct tail t = { .fd = -1 };
        int result = 0;

        if (audit_log_due_ms(log) == UINT64_MAX)
                return 0;
        log->end->due_ms = clock_boot_ms() + AUDIT_SIGN_MS; /* should this attempt fail */
        if (audit_file_lock(log->dir, LOCK_EX, e) < 0)
                return -1;
        /* who has written meanwhile has also signed */
        if (take_end(log, &t)) {
                result = sign_checkpoint(log, &t, e);
                keep_end(log, &t, result == 0);
        }
        audit_file_unlock(log->dir);
        return result;
}

int
audit_log_rotate_key(struct audit_log *log, const char *actor_id, struct error *e)
{
        char id[AUDIT_KEY_TEXT], chain[AUDIT_ID_TEXT], input[64];
        struct audit_event event = { .action = "key.rotated",
                                     .actor_id = actor_id,
                                     .actor_role = "operator",
                                     .subject_kind = "audit",
                                     .subject_ref = "key",
                                     .input = input };
        uint64_t seq;

        if (audit_log_load_keys(log, e) < 0)
                return -1;
        if (log->key_count >= KEYS_ROTATED_MAX)
                return fail(e, ERROR_AUDIT_UNAVAILABLE, "the audit log has %d keys: begin another",
                            KEYS_ROTATED_MAX);
        if (audit_keys_add(log->dir, id, e) < 0)
                return -1;
        (void)snprintf(input, sizeof input, "{\"key\":\"%s\"}", id);
        return audit_log_append(log, &event, 1, &seq, chain, e);
}

/* Not synced: a power failure can leave a part of it, or zeros. */
static bool
is_torn(const char *text, size_t len)
{
        return len < 2 || memcmp(text + len - 2, "}\n", 2) != 0 || memchr(text, '\0', len);
}

int
audit_log_checkpoint(struct audit_log *log, struct audit_checkpoint *ret, struct error *e)
{
        char text[AUDIT_CHECKPOINT_MAX];
        size_t len;

        if (audit_file_read(log->dir, "checkpoint.json", text, sizeof text, &len, e) < 0)
                return -1;
        if (audit_checkpoint_read(text, len, ret, e) == 0)
                return 0;
        if (strcmp(e->reason, "checkpoint.form") == 0 && is_torn(text, len))
                return fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, "missing",
                               "there is no checkpoint in %s", log->path);
        return -1;
}
