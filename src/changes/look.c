/*
 * changes/look.c - which files of a sandbox's writable mounts changed between two looks.
 *
 * Room: changes (joining). Touches: fd, the files below the mounts, which it reads; clock, mem.
 * Theory: both looks visit names in one order, so the walk of the second is also the comparison. A
 * row is written while the directory is open, so that no path is opened a second time. What may
 * be wrong is left out: if the walk ends early, names behind that point are not "removed".
 */
#include "changes/look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/files.h"
#include "audit/names.h"
#include "base/scoped.h"
#include "changes/row.h"
#include "changes/table.h"
#include "clock/clock.h"

enum { BLOCK = 512 /* of st_blocks */ };
enum { NANO_PER_MS = 1000 * 1000, NANO_PER_S = 1000 * 1000 * 1000, NAMES_PER_CLOCK = 256 };

struct changes {
        struct changes_table base, next;
        bool has_base;
};

struct looking {
        struct changes *c;
        const struct changes_look *look;
        struct changes_result *result;
        const struct changes_root *root;
        unsigned index;                   /* of the mount */
        int64_t root_changed_ns;          /* ctime of the mount's directory */
        bool is_root_closed, has_stopped; /* stopped: at a bound of the whole look */
        size_t at;                        /* the next entry of the base */
        int64_t since_ns, fresh_ns;
        uint64_t until_ms, bytes_left;
        struct json_writer
                lists[2]; /* of what changed before `since`, and since; text NULL: none */
        char path[CHANGES_PATH_MAX];
        size_t lens[CHANGES_DEPTH_MAX + 1];          /* of the path of the directory at a depth */
        uint32_t directories[CHANGES_DEPTH_MAX + 1]; /* its index */
};

/* -- rows -------------------------------------------------------------------------------------- */

static int
flush(struct looking *l, bool is_by, struct error *e)
{
        struct json_writer *list = &l->lists[is_by];
        int result = 0;

        if (!list->text)
                return 0;
        json_close_list(list);
        result = list->is_broken ? fail(e, ERROR_NO_MEMORY, "no memory for changed files")
                                 : l->look->part(l->look->ctx, is_by, list, e);
        json_fini(list);
        *list = (struct json_writer){ .text = NULL };
        return result;
}

static int
write_row(struct looking *l, bool is_by, const struct changes_row *row, struct error *e)
{
        struct json_writer *list = &l->lists[is_by];

        if (!list->text) {
                json_init(list, false);
                json_open_list(list);
        }
        changes_row_write(list, row);
        l->result->rows++;
        if (list->is_broken)
                return fail(e, ERROR_NO_MEMORY, "no memory for changed files");
        return list->len >= CHANGES_PART_LEN ? flush(l, is_by, e) : 0;
}

static bool
has_room(struct looking *l)
{
        if (l->result->rows < l->look->rows_max)
                return true;
        l->result->more++;
        return false;
}

/* -- contents ---------------------------------------------------------------------------------- */

static bool
is_same_state(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* NULL, or why there is no digest. */
static const char *
hash_file(struct looking *l, int dir, const char *name, const struct stat *seen,
          char hash[AUDIT_HASH_TEXT])
{
        scoped_fd int fd = -1;
        struct stat before, after;
        struct error ignored;
        char self[32];

        if ((uint64_t)seen->st_size > l->bytes_left)
                return "too_large";
        if (name[0] != '\0') {
                fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        } else { /* the mount is this file */
                (void)snprintf(self, sizeof self, "/proc/self/fd/%d", dir);
                fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        }
        if (fd < 0)
                return errno == ENOENT || errno == ELOOP || errno == ENXIO ? "changing"
                                                                           : "unreadable";
        if (fstat(fd, &before) < 0 || !S_ISREG(before.st_mode) || !is_same_state(seen, &before))
                return "changing";
        l->bytes_left -= (uint64_t)before.st_size;
        l->result->bytes += (uint64_t)before.st_size;
        if (audit_file_hash(fd, 0, (size_t)before.st_size, hash, &ignored) < 0 ||
            fstat(fd, &after) < 0 || !is_same_state(&before, &after))
                return "changing";
        return NULL;
}

static uint64_t
start_of(const char *hash)
{
        char start[17];

        memcpy(start, hash, 16);
        start[16] = '\0';
        return strtoull(start, NULL, 16);
}

static const char *
read_target(int dir, const char *name, char target[PATH_MAX])
{
        ssize_t len = readlinkat(dir, name, target, PATH_MAX - 1);

        if (len < 0)
                return NULL;
        target[len] = '\0';
        return target;
}

static uint64_t
sum_of(const char *text)
{
        uint64_t sum = UINT64_C(14695981039346656037);

        for (; *text != '\0'; text++)
                sum = (sum ^ (unsigned char)*text) * UINT64_C(1099511628211);
        return sum;
}

/* Its content or target as far as it is known: the members of `row`, and the digest. */
static void
read_content(struct looking *l, int dir, const char *name, const struct stat *st,
             struct changes_entry *entry, struct changes_row *row, char hash[AUDIT_HASH_TEXT],
             char target[PATH_MAX])
{
        if (S_ISREG(st->st_mode)) {
                row->error = hash_file(l, dir, name, st, hash);
                row->sha256 = row->error ? NULL : hash;
        } else if (S_ISLNK(st->st_mode)) {
                row->target = read_target(dir, name, target);
                row->error = row->target ? NULL : "unreadable";
        }
        if (row->sha256)
                entry->digest = start_of(row->sha256);
        else if (row->target)
                entry->digest = sum_of(row->target);
        else
                return;
        entry->flags |= CHANGES_DIGEST;
}

/* -- comparing --------------------------------------------------------------------------------- */

static struct changes_entry *
parent_in(const struct changes_table *t, const struct changes_entry *entry)
{
        return entry->parent == CHANGES_NONE ? NULL : &t->entries[entry->parent];
}

/*
 * An entry of the base that this look did not find. Below a directory that cannot be read, or whose
 * own fate is not known, nothing is known of it.
 */
static int
meet_gone(struct looking *l, struct changes_entry *old, struct error *e)
{
        const struct changes_table *base = &l->c->base, *next = &l->c->next;
        const struct changes_entry *parent = parent_in(base, old), *now = NULL;
        struct changes_row row = { .event = "removed", .mode = old->mode };

        if (next->whole != SIZE_MAX || (!parent && l->is_root_closed))
                return 0;
        if (parent && parent->twin == CHANGES_NONE && (parent->flags & CHANGES_GONE) == 0)
                return 0;
        if (parent && parent->twin != CHANGES_NONE)
                now = &next->entries[parent->twin];
        if (now && (now->flags & CHANGES_CLOSED) != 0)
                return 0;
        old->flags |= CHANGES_GONE;
        if (parent && !now ? (parent->flags & CHANGES_BY) != 0
                           : (now ? now->changed_ns : l->root_changed_ns) >= l->since_ns)
                old->flags |= CHANGES_BY;
        if (!l->look->part || !has_room(l))
                return 0;
        row.at = l->look->roots[old->root].at;
        row.path = changes_table_path(base, old);
        return write_row(l, (old->flags & CHANGES_BY) != 0, &row, e);
}

/* The entries of the base before this name. */
static int
pass_until(struct looking *l, unsigned root, const char *path, struct error *e)
{
        struct changes_table *base = &l->c->base;

        for (; l->at < base->count; l->at++) {
                struct changes_entry *old = &base->entries[l->at];

                if (path && changes_table_compare(old->root, changes_table_path(base, old), root,
                                                  path) >= 0)
                        return 0;
                if (meet_gone(l, old, e) < 0)
                        return -1;
        }
        return 0;
}

static bool
is_other(const struct changes_entry *a, const struct changes_entry *b)
{
        if (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid || a->inode != b->inode ||
            a->device != b->device)
                return true;
        return !S_ISDIR(a->mode) && (a->size != b->size || a->changed_ns != b->changed_ns);
}

static bool
has_content(uint32_t mode)
{
        return S_ISREG(mode) || S_ISLNK(mode);
}

static bool
was_closed(const struct looking *l, const struct changes_entry *entry)
{
        const struct changes_entry *parent = parent_in(&l->c->next, entry);

        return parent && parent->twin != CHANGES_NONE &&
               (l->c->base.entries[parent->twin].flags & CHANGES_CLOSED) != 0;
}

/* NULL: as in the base. Else the event. `old`: NULL, it is not in the base. */
static const char *
event_of(const struct looking *l, const struct changes_entry *entry,
         const struct changes_entry *old)
{
        const struct changes_table *base = &l->c->base;

        if (!old && was_closed(l, entry))
                return "changed";
        if (!old && (base->whole == SIZE_MAX || l->at < base->whole))
                return "added";
        if (!old)
                return (entry->flags & CHANGES_BY) != 0 ? "changed" : NULL;
        return is_other(entry, old) ? "changed" : NULL;
}

static void
compare_with(struct looking *l, uint32_t index, struct changes_entry *old)
{
        struct changes_entry *entry = &l->c->next.entries[index];
        const struct changes_entry *parent = parent_in(&l->c->next, entry);

        if (entry->changed_ns >= l->fresh_ns)
                entry->flags |= CHANGES_FRESH;
        if (old) {
                old->twin = index;
                entry->twin = (uint32_t)l->at++;
        } else {
                entry->flags |= CHANGES_NEW;
        }
        if (entry->changed_ns >= l->since_ns ||
            (!old && parent && (parent->flags & CHANGES_NEW) != 0 &&
             (parent->flags & CHANGES_BY) != 0))
                entry->flags |= CHANGES_BY;
}

/* Compares a name with the base, and writes its row. */
static int
meet(struct looking *l, int dir, const char *name, const struct stat *st, uint32_t index,
     struct error *e)
{
        struct changes_table *base = &l->c->base;
        struct changes_entry *entry = &l->c->next.entries[index], *old = NULL;
        struct changes_row row = {
                .at = l->root->at, .path = l->path, .mode = entry->mode, .bytes = entry->size
        };
        char hash[AUDIT_HASH_TEXT], target[PATH_MAX];
        bool must_compare;

        if (pass_until(l, l->index, l->path, e) < 0)
                return -1;
        if (l->at < base->count &&
            changes_table_compare(base->entries[l->at].root,
                                  changes_table_path(base, &base->entries[l->at]), l->index,
                                  l->path) == 0)
                old = &base->entries[l->at];
        compare_with(l, index, old);
        row.event = event_of(l, entry, old);
        if (old && !row.event) {
                entry->digest = old->digest;
                entry->flags |= old->flags & CHANGES_DIGEST;
        }
        must_compare =
                old && !row.event && has_content(entry->mode) && (old->flags & CHANGES_FRESH) != 0;
        if (must_compare || (row.event && l->look->part && l->result->rows < l->look->rows_max) ||
            (!l->look->part && (entry->flags & CHANGES_FRESH) != 0))
                read_content(l, dir, name, st, entry, &row, hash, target);
        if (must_compare && ((old->flags & CHANGES_DIGEST) == 0 || (!row.sha256 && !row.target) ||
                             entry->digest != old->digest))
                row.event = "changed";
        if (!row.event || !l->look->part || !has_room(l))
                return 0;
        return write_row(l, (entry->flags & CHANGES_BY) != 0, &row, e);
}

/* -- the walk ---------------------------------------------------------------------------------- */

static bool
is_late(struct looking *l)
{
        if (l->result->names % NAMES_PER_CLOCK != 0)
                return false;
        if (l->look->is_over && l->look->is_over(l->look->ctx))
                return true;
        return clock_boot_ms() >= l->until_ms;
}

/* The rest of this look is not known. */
static int
stop(struct looking *l, bool *which)
{
        changes_table_cut(&l->c->next);
        *which = l->has_stopped = true;
        return -1;
}

/* The path of a name in the directory at `depth`. Returns its length; 0: too long. */
static size_t
set_path(struct looking *l, const char *name, unsigned depth)
{
        size_t len = depth == 0 ? 0 : l->lens[depth], name_len = strlen(name);

        if (len + 1 + name_len >= sizeof l->path)
                return 0;
        if (len > 0)
                l->path[len++] = '/';
        memcpy(l->path + len, name, name_len + 1);
        return len + name_len;
}

/* Nothing is known of what is in the directory at `depth`. */
static int
too_deep(struct looking *l, unsigned depth)
{
        l->result->is_too_deep = true;
        if (depth > 0)
                /* lint: the walk goes no deeper than CHANGES_DEPTH_MAX */
                l->c->next.entries[l->directories[depth]].flags |= CHANGES_CLOSED;
        return AUDIT_NAMES_SKIP;
}

static void
count(struct looking *l, const struct stat *st)
{
        l->result->names++;
        if (l->root->is_volume)
                l->result->volume_bytes += (uint64_t)st->st_blocks * BLOCK;
}

static int
on_name(void *ctx, int dir, const char *name, const struct stat *st, unsigned depth,
        struct error *e)
{
        struct looking *l = ctx;
        struct changes_table *next = &l->c->next;
        size_t len = set_path(l, name, depth);
        uint32_t index;

        if (len == 0)
                return too_deep(l, depth);
        if (l->root->hidden && strcmp(l->path, l->root->hidden) == 0)
                return AUDIT_NAMES_SKIP;
        if (l->result->names >= CHANGES_NAMES_MAX)
                return stop(l, &l->result->has_too_many);
        if (is_late(l))
                return stop(l, &l->result->is_late);
        count(l, st);
        index = changes_table_add(next, l->index, l->path,
                                  depth == 0 ? CHANGES_NONE : l->directories[depth], st);
        if (index == CHANGES_NONE)
                return fail(e, ERROR_NO_MEMORY, "no memory for the names of a sandbox");
        if (meet(l, dir, name, st, index, e) < 0)
                return -1;
        if (!S_ISDIR(st->st_mode))
                return 0;
        l->lens[depth + 1] = len;
        l->directories[depth + 1] = index;
        return depth + 1 < CHANGES_DEPTH_MAX ? 0 : too_deep(l, depth + 1);
}

static int
on_leave(void *ctx, unsigned depth, struct error *e)
{
        (void)ctx;
        (void)depth;
        (void)e;
        return 0;
}

/* Of the directory at `depth`, or a name in it, which comes to the same. */
static int
on_unreadable(void *ctx, const char *name, unsigned depth, int sys, struct error *e)
{
        struct looking *l = ctx;
        struct changes_row row = { .event = "changed", .at = l->root->at, .error = "unreadable" };
        const struct changes_entry *old;
        struct changes_entry *entry;

        (void)name;
        if (sys == ENOENT || sys == ENOTDIR || sys == ELOOP)
                return 0; /* it has been moved away meanwhile */
        if (depth == 0) {
                l->result->unreadable += !l->is_root_closed;
                l->is_root_closed = true;
                return 0;
        }
        entry = &l->c->next.entries[l->directories[depth]];
        old = entry->twin == CHANGES_NONE ? NULL : &l->c->base.entries[entry->twin];
        if ((entry->flags & CHANGES_CLOSED) != 0)
                return 0;
        entry->flags |= CHANGES_CLOSED;
        if (old && (old->flags & CHANGES_CLOSED) != 0 && old->changed_ns == entry->changed_ns)
                return 0;
        l->result->unreadable++;
        if (!l->look->part || !has_room(l))
                return 0;
        row.path = changes_table_path(&l->c->next, entry);
        row.mode = entry->mode;
        return write_row(l, (entry->flags & CHANGES_BY) != 0, &row, e);
}

static int
on_cut(void *ctx, struct error *e)
{
        struct looking *l = ctx;

        (void)e;
        changes_table_cut(&l->c->next);
        l->result->has_too_many = true;
        return 0;
}

/* -- one look ---------------------------------------------------------------------------------- */

static int64_t
wall_ns(void)
{
        struct timespec now = { 0, 0 };

        /* the clock with which the kernel stamps inodes */
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return (int64_t)now.tv_sec * NANO_PER_S + now.tv_nsec;
}

static int
look_at_file(struct looking *l, const struct stat *st, struct error *e)
{
        uint32_t index = changes_table_add(&l->c->next, l->index, "", CHANGES_NONE, st);

        if (index == CHANGES_NONE)
                return fail(e, ERROR_NO_MEMORY, "no memory for the names of a sandbox");
        l->result->names++;
        l->path[0] = '\0';
        return meet(l, l->root->fd, "", st, index, e);
}

static int
look_at_root(struct looking *l, struct audit_names *visit, struct error *e)
{
        struct stat st;

        l->root = &l->look->roots[l->index];
        l->is_root_closed = false;
        l->root_changed_ns = INT64_MAX;
        if (l->root->fd < 0)
                return pass_until(l, l->index + 1, "", e);
        if (fstat(l->root->fd, &st) < 0) {
                l->is_root_closed = true;
                return pass_until(l, l->index + 1, "", e);
        }
        l->root_changed_ns = (int64_t)st.st_ctim.tv_sec * NANO_PER_S + st.st_ctim.tv_nsec;
        if (!S_ISDIR(st.st_mode))
                return look_at_file(l, &st, e);
        if (audit_names_walk(l->root->fd, visit, e) < 0)
                return -1;
        return pass_until(l, l->index + 1, "", e);
}

static int
look_at_all(struct looking *l, struct error *e)
{
        struct audit_names visit = { l,        on_name,
                                     on_leave, on_unreadable,
                                     on_cut,   CHANGES_NAMES_MAX + 1 };
        int result = 0;

        for (l->index = 0; l->index < l->look->root_count && result == 0; l->index++) {
                result = look_at_root(l, &visit, e);
                if (l->has_stopped)
                        result = 0;
                if (l->has_stopped)
                        break;
        }
        for (int i = 0; i < 2; i++)
                if (result == 0)
                        result = flush(l, i != 0, e);
                else
                        json_fini(&l->lists[i]);
        return result;
}

static int
look(struct changes *c, const struct changes_look *asked, struct changes_result *ret,
     struct error *e)
{
        struct looking *l = calloc(1, sizeof *l);
        int result;

        *ret = (struct changes_result){ .has_no_base = !c->has_base };
        if (!l)
                return fail(e, ERROR_NO_MEMORY, "no memory for a look at changed files");
        l->c = c;
        l->look = asked;
        l->result = ret;
        l->since_ns = ((int64_t)asked->since_ms - CHANGES_TICK_MS) * NANO_PER_MS;
        l->fresh_ns = wall_ns() - (int64_t)CHANGES_TICK_MS * NANO_PER_MS;
        l->until_ms = clock_boot_ms() + CHANGES_LOOK_MS;
        l->bytes_left = CHANGES_BYTES_MAX;
        changes_table_fini(&c->next);
        for (size_t i = 0; i < c->base.count; i++) {
                c->base.entries[i].twin = CHANGES_NONE;
                c->base.entries[i].flags &= (uint8_t) ~(CHANGES_GONE | CHANGES_BY);
        }
        result = look_at_all(l, e);
        free(l);
        return result;
}

struct changes *
changes_new(void)
{
        struct changes *c = calloc(1, sizeof *c);

        if (!c)
                return NULL;
        changes_table_init(&c->base);
        changes_table_init(&c->next);
        changes_table_cut(&c->base);
        return c;
}

void
changes_free(struct changes *c)
{
        if (!c)
                return;
        changes_table_fini(&c->base);
        changes_table_fini(&c->next);
        free(c);
}

int
changes_begin(struct changes *c, const struct changes_look *asked, struct changes_result *ret,
              struct error *e)
{
        struct changes_look quiet = *asked;

        quiet.part = NULL;
        if (look(c, &quiet, ret, e) < 0)
                return -1;
        changes_adopt(c);
        return 0;
}

int
changes_look(struct changes *c, const struct changes_look *asked, struct changes_result *ret,
             struct error *e)
{
        return look(c, asked, ret, e);
}

void
changes_adopt(struct changes *c)
{
        changes_table_fini(&c->base);
        c->base = c->next;
        c->has_base = true;
        for (size_t i = 0; i < c->base.count; i++)
                c->base.entries[i].flags &= (uint8_t) ~(CHANGES_NEW | CHANGES_BY);
        changes_table_init(&c->next);
}
