/*
 * audit/content_check.c - the contents that entries of an audit log name.
 *
 * Room: audit (acting). Touches: the files of one directory.
 * Theory: prune collects names without a lock. A content that is kept again meanwhile gets a new
 * time of its file, which is looked at under the lock; one that was removed is written again.
 */
#include "audit/content_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "audit/content.h"
#include "audit/files.h"

static const char *const streams[AUDIT_CONTENT_STREAMS] = { "stdin", "stdout", "stderr", "egress" };

struct name {
        char sha256[AUDIT_HASH_TEXT], time[AUDIT_TIME_TEXT];
        uint64_t seq;
};

struct audit_content_names {
        struct name *items;
        size_t count, room;                  /* room: bytes */
        char from[AUDIT_TIME_TEXT];          /* entries before are left out; "": none */
        char pruned_before[AUDIT_TIME_TEXT]; /* of content.pruned; "": there is none */
        bool is_broken;                      /* no memory */
};

/* -- names in entries -------------------------------------------------------------------------- */

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_STRING ? n->text : NULL;
}

static void
add_name(struct audit_content_names *all, const char *sha256, const struct audit_entry *entry)
{
        char *bytes = (char *)all->items;
        struct name *one;

        if (buffer_reserve(&bytes, &all->room, (all->count + 1) * sizeof *one) < 0) {
                all->is_broken = true;
                return;
        }
        /* lint: buffer_reserve() aligns for any type */
        all->items = (struct name *)(void *)bytes;
        one = &all->items[all->count++];
        *one = (struct name){ .seq = entry->seq };
        (void)snprintf(one->sha256, sizeof one->sha256, "%s", sha256);
        (void)snprintf(one->time, sizeof one->time, "%s", entry->time);
}

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the contents of the audit log");
}

static bool
read_entry(void *ctx, const char *line, size_t len, const struct audit_entry *entry)
{
        struct audit_content_names *all = ctx;
        const struct node *content = node_find(node_find(entry->root, "output"), "content");
        const char *before = text_of(node_find(entry->root, "input"), "before");

        (void)line, (void)len;
        if (strcmp(entry->action, "content.pruned") == 0 && before &&
            strcmp(before, all->pruned_before) > 0)
                (void)snprintf(all->pruned_before, sizeof all->pruned_before, "%s", before);
        if (!content || strcmp(entry->time, all->from) < 0)
                return true;
        for (size_t i = 0; i < AUDIT_CONTENT_STREAMS; i++) {
                const char *sha256 = text_of(node_find(content, streams[i]), "sha256");

                if (sha256)
                        add_name(all, sha256, entry);
        }
        return !all->is_broken;
}

/* For audit_walk_step(). */
static int
read_line(void *ctx, const char *line, size_t len, struct error *e)
{
        struct audit_entry entry;
        struct arena arena;
        int result;

        arena_init(&arena, 64u << 20);
        result = audit_entry_read(&arena, line, len, &entry, e);
        if (result == 0 && !read_entry(ctx, line, len, &entry))
                result = no_memory(e);
        arena_fini(&arena);
        return result;
}

static int
compare(const void *a, const void *b)
{
        const struct name *x = a, *y = b;
        int result = strcmp(x->sha256, y->sha256);

        /* of one content, the last entry first: prune has to keep it the longest */
        return result != 0 ? result : strcmp(y->time, x->time);
}

static void
sort_names(struct audit_content_names *all)
{
        if (all->count > 0)
                qsort(all->items, all->count, sizeof *all->items, compare);
}

static int
read_names(struct audit_log *log, struct audit_content_names *all, struct error *e)
{
        if (audit_log_read(log, 0, read_entry, all, e) < 0)
                return -1;
        if (all->is_broken)
                return no_memory(e);
        sort_names(all);
        return 0;
}

/* -- verifying --------------------------------------------------------------------------------- */

static int
verify_one(const struct audit_log *log, const struct audit_content_names *all,
           const struct name *one, struct audit_content_verdict *v, struct error *e)
{
        struct buffer bytes = { 0 };
        int result = audit_content_read(log, one->sha256, &bytes, e);

        if (result == 0) {
                v->kept++;
                v->bytes += bytes.len;
        } else if (strcmp(e->reason, "content_missing") == 0) {
                bool is_pruned = strcmp(one->time, all->pruned_before) < 0;

                v->pruned += is_pruned;
                result = is_pruned ? 0
                                   : fail_at(e, ERROR_AUDIT_BROKEN, NULL, "content.missing",
                                             "the content %s was removed, and not by `carrel audit "
                                             "prune`",
                                             one->sha256);
        }
        if (result < 0)
                v->at = one->seq;
        buffer_fini(&bytes);
        return result;
}

int
audit_content_verify(struct audit_log *log, struct audit_content_verdict *ret, struct error *e)
{
        struct audit_content_names all = { 0 };
        int result = read_names(log, &all, e);

        *ret = (struct audit_content_verdict){ 0 };
        for (size_t i = 0; i < all.count && result == 0; i++)
                if (i == 0 || strcmp(all.items[i].sha256, all.items[i - 1].sha256) != 0)
                        result = verify_one(log, &all, &all.items[i], ret, e);
        free(all.items);
        return result;
}

/* -- removing ---------------------------------------------------------------------------------- */

struct removal {
        const struct audit_content_names *named;
        uint64_t before_ms;
        bool removes; /* false: only counts */
        int sys;
        struct audit_content_pruned done;
};

static bool
is_named(const struct audit_content_names *all, const char *sha256)
{
        size_t from = 0, to = all->count;

        while (from < to) {
                size_t middle = (from + to) / 2;
                int order = strcmp(all->items[middle].sha256, sha256);

                if (order == 0)
                        return true;
                if (order < 0)
                        from = middle + 1;
                else
                        to = middle;
        }
        return false;
}

static bool
look_at_file(void *ctx, int dir, const char *sha256, uint64_t mtime_ms, uint64_t bytes)
{
        struct removal *r = ctx;

        if (mtime_ms >= r->before_ms || is_named(r->named, sha256))
                return true;
        if (r->removes && unlinkat(dir, sha256, 0) < 0 && errno != ENOENT) {
                r->sys = errno;
                return false;
        }
        r->done.files++;
        r->done.bytes += bytes;
        return true;
}

static int
record(struct audit_log *log, const char *before, const char *actor_id,
       const struct audit_content_pruned *found, struct error *e)
{
        char input[128], output[128], chain[AUDIT_ID_TEXT];
        const struct audit_event event = { .action = "content.pruned",
                                           .actor_id = actor_id,
                                           .actor_role = "operator",
                                           .subject_kind = "audit",
                                           .subject_ref = "content",
                                           .input = input,
                                           .output = output };
        uint64_t seq;

        (void)snprintf(input, sizeof input, "{\"before\":\"%s\"}", before);
        (void)snprintf(output, sizeof output, "{\"bytes\":%" PRIu64 ",\"files\":%" PRIu64 "}",
                       found->bytes, found->files);
        return audit_log_append(log, &event, 1, &seq, chain, e);
}

static int
remove_files(struct audit_log *log, struct removal *r, struct error *e)
{
        int result;

        r->removes = true;
        r->done = (struct audit_content_pruned){ 0 };
        if (audit_file_lock(log->dir, LOCK_EX, e) < 0)
                return -1;
        result = audit_content_list(log, look_at_file, r, e);
        audit_file_unlock(log->dir);
        if (result == 0 && r->sys != 0)
                result = fail_sys(e, ERROR_AUDIT_UNAVAILABLE, r->sys,
                                  "removing a content of the audit log");
        return result;
}

void
audit_content_prune_init(struct audit_content_prune *p, struct audit_log *log, uint64_t before_ms,
                         const char *actor_id)
{
        *p = (struct audit_content_prune){ .log = log,
                                           .before_ms = before_ms,
                                           .actor_id = actor_id };
}

static void
forget_names(struct audit_content_prune *p)
{
        if (p->names)
                free(p->names->items);
        free(p->names);
        p->names = NULL;
}

void
audit_content_prune_fini(struct audit_content_prune *p)
{
        audit_walk_end(&p->walk);
        forget_names(p);
}

/* 1: the log is to be read; 0: nothing is old enough, even if no entry names it. */
static int
begin(struct audit_content_prune *p, struct error *e)
{
        struct audit_content_names none = { 0 };
        struct removal r = { .named = &none, .before_ms = p->before_ms };

        if (audit_content_list(p->log, look_at_file, &r, e) < 0)
                return -1;
        if (r.done.files == 0)
                return 0;
        p->names = calloc(1, sizeof *p->names);
        if (!p->names)
                return no_memory(e);
        audit_time_text(p->before_ms, p->names->from);
        p->walk = (struct audit_walk){ .each = read_line, .ctx = p->names };
        return audit_walk_begin(p->log, &p->walk, e) < 0 ? -1 : 1;
}

/* Every entry was read. */
static int
remove_unnamed(struct audit_content_prune *p, struct error *e)
{
        struct removal r = { .named = p->names, .before_ms = p->before_ms };

        sort_names(p->names);
        if (audit_content_list(p->log, look_at_file, &r, e) < 0)
                return -1;
        if (r.done.files > 0 && (record(p->log, p->names->from, p->actor_id, &r.done, e) < 0 ||
                                 remove_files(p->log, &r, e) < 0))
                return -1;
        p->done = r.done;
        return 0;
}

int
audit_content_prune_step(struct audit_content_prune *p, size_t bytes, struct error *e)
{
        int result;

        if (!p->names) {
                result = begin(p, e);
                if (result <= 0)
                        return result;
        }
        result = audit_walk_step(p->log, &p->walk, bytes, e);
        if (result == 0)
                return remove_unnamed(p, e);
        if (!audit_walk_was_removed(result, e) || ++p->reads >= AUDIT_READS_MAX)
                return result;
        audit_content_prune_fini(p); /* again, from the beginning */
        return 1;
}
