/*
 * audit/prune.c - removes old files of an audit log, so that the rest still verifies.
 *
 * Room: audit (acting). Touches: the files of one directory.
 * Theory: all files but the last are never written again. So no lock is needed from the decision to
 * the removal: two calls at the same time write two entries, and either permits the beginning.
 */
#include "audit/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/keys.h"
#include "base/scoped.h"

/* The last entry of a file that another one follows. */
static int
last_entry(int dir, uint64_t first, char ret_time[AUDIT_TIME_TEXT], char ret_hash[AUDIT_HASH_TEXT],
           struct error *e)
{
        scoped_fd int fd = audit_file_open_log(dir, first, O_RDONLY, e);
        struct audit_file_tail end;
        struct audit_entry entry;
        struct arena arena;
        int result = -1;

        if (fd < 0 || audit_file_read_tail(fd, &end, e) < 0)
                return -1;
        arena_init(&arena, 64u << 20);
        if (!end.line) {
                (void)fail(e, ERROR_AUDIT_UNAVAILABLE, "a file of the audit log is empty");
        } else if (audit_entry_read(&arena, end.line, end.len, &entry, e) == 0) {
                (void)snprintf(ret_time, AUDIT_TIME_TEXT, "%s", entry.time);
                (void)snprintf(ret_hash, AUDIT_HASH_TEXT, "%s", entry.hash);
                result = 0;
        }
        arena_fini(&arena);
        free(end.memory);
        return result;
}

/* How many of the oldest files are old enough; the last one is not looked at. */
static int
count_old(const struct audit_log *log, const struct audit_file_list *list, const char *before,
          size_t *ret, char ret_hash[AUDIT_HASH_TEXT], struct error *e)
{
        char time[AUDIT_TIME_TEXT], hash[AUDIT_HASH_TEXT];

        for (*ret = 0; *ret + 1 < list->count; (*ret)++) {
                if (last_entry(log->dir, list->first[*ret], time, hash, e) < 0)
                        return -1;
                if (strcmp(time, before) >= 0)
                        break;
                memcpy(ret_hash, hash, sizeof hash);
        }
        return 0;
}

static int
record(struct audit_log *log, const struct audit_file_list *list, size_t count, const char *hash,
       const char *before, const char *actor_id, struct audit_pruned *ret, struct error *e)
{
        unsigned char seed[AUDIT_SEED_LEN];
        char public_key[65], chain[AUDIT_ID_TEXT], input[512];
        const struct audit_event event = { .action = "log.pruned",
                                           .actor_id = actor_id,
                                           .actor_role = "operator",
                                           .subject_kind = "audit",
                                           .subject_ref = "log",
                                           .input = input };

        if (audit_keys_seed(log->dir, false, seed, e) < 0)
                return -1;
        audit_public_key(seed, public_key);
        sodium_memzero(seed, sizeof seed);
        *ret = (struct audit_pruned){ .first = list->first[0],
                                      .last = list->first[count] - 1,
                                      .files = count };
        (void)snprintf(input, sizeof input,
                       "{\"before\":\"%s\",\"checkpoint_key\":\"%s\",\"first\":%" PRIu64
                       ",\"prevHash\":\"%s\",\"removed\":{\"files\":%zu,\"first\":%" PRIu64
                       ",\"last\":%" PRIu64 ",\"last_hash\":\"%s\"}}",
                       before, public_key, ret->last + 1, hash, count, ret->first, ret->last, hash);
        return audit_log_append(log, &event, 1, &ret->seq, chain, e);
}

/* Each removal is on the disk before the next: a log has no gap. */
static int
remove_files(const struct audit_log *log, const struct audit_file_list *list, size_t count,
             struct error *e)
{
        for (size_t i = 0; i < count; i++) {
                char name[AUDIT_FILE_NAME_MAX];

                audit_file_name(list->first[i], name);
                if ((unlinkat(log->dir, name, 0) < 0 && errno != ENOENT) || fsync(log->dir) < 0)
                        return fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno,
                                        "removing %s of the audit log", name);
        }
        return 0;
}

void
audit_prune_init(struct audit_prune *p, struct audit_log *log, uint64_t before_ms,
                 const char *actor_id)
{
        *p = (struct audit_prune){ .log = log, .before_ms = before_ms, .actor_id = actor_id };
        audit_time_text(before_ms, p->before);
        audit_check_init(&p->check, log, NULL, true, &p->verdict);
        audit_content_prune_init(&p->content, log, before_ms, actor_id);
}

void
audit_prune_fini(struct audit_prune *p)
{
        audit_content_prune_fini(&p->content);
        audit_check_fini(&p->check);
        audit_file_list_fini(&p->list);
}

/* The log is intact. */
static int
remove_old(struct audit_prune *p, struct error *e)
{
        if (record(p->log, &p->list, p->count, p->hash, p->before, p->actor_id, &p->done, e) < 0)
                return -1;
        return remove_files(p->log, &p->list, p->count, e);
}

int
audit_prune_step(struct audit_prune *p, size_t bytes, struct error *e)
{
        int result;

        if (!p->is_begun) {
                if (audit_file_list(p->log->dir, &p->list, e) < 0 ||
                    count_old(p->log, &p->list, p->before, &p->count, p->hash, e) < 0)
                        return -1;
                p->is_begun = true;
        }
        if (p->count > 0 && !p->has_pruned) {
                result = audit_check_step(&p->check, bytes, e);
                if (result == 0)
                        result = remove_old(p, e);
                if (result < 0)
                        return -1;
                p->has_pruned = result == 0;
                return 1;
        }
        result = audit_content_prune_step(&p->content, bytes, e);
        p->done.content = p->content.done;
        return result;
}

int
audit_log_prune(struct audit_log *log, uint64_t before_ms, const char *actor_id,
                struct audit_pruned *ret, struct error *e)
{
        struct audit_prune p;
        int result;

        audit_prune_init(&p, log, before_ms, actor_id);
        do
                result = audit_prune_step(&p, SIZE_MAX, e);
        while (result > 0);
        *ret = p.done;
        audit_prune_fini(&p);
        return result;
}
