/*
 * sources/sources.c - opens, examines and holds the host directories behind a spec's mounts and
 * tools.
 *
 * Room: sources (joining). Touches: fd, host directories (reading only).
 * Theory: a source is opened once, by handle. Its real path is read back from the handle and judged
 * again, because the permitted path may have led through a symbolic link to a place that is not
 * permitted (P3, B14).
 */
#include "sources/sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/scoped.h"
#include "git/config.h"
#include "git/index.h"
#include "plan/protect.h"
#include "ref/file.h"
#include "sources/beneath.h"
#include "sources/repository.h"
#include "sources/worktree.h"

enum {
        PATH_ROOM = 4096,
        PROTECT_MAX = 512,
        NAMES_MAX = 8192,
        LEADS_ROOM = 24 << 10,
        LEADS_SPARE = 4 /* for 'L' and 'T' */
};

struct opening {
        struct arena *arena;
        const struct spec *spec;
        const struct host_rules *rules;
        const char *workspace;
        const struct spec_names *reads;
        const struct sources_volumes *volumes;
        bool as_owner;
        struct sources *s;
        size_t config_count;  /* names that are judged by their content */
        struct worktree tree; /* of the workspace's mount; tree_fd is its repository's directory */
        int tree_fd;
};

static int
real_path(struct arena *arena, int fd, const char **ret, struct error *e)
{
        char link[64], path[PATH_ROOM];
        ssize_t len;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        len = readlink(link, path, sizeof path);
        if (len <= 0 || (size_t)len == sizeof path)
                return fail_sys(e, ERROR_MOUNT_UNRESOLVABLE, len < 0 ? errno : ENAMETOOLONG,
                                "reading a path back");
        *ret = arena_copy(arena, path, (size_t)len);
        return *ret ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}

static bool
is_below(const char *path, const char *root)
{
        size_t len = strlen(root);

        return strncmp(path, root, len) == 0 &&
               (path[len] == '\0' || path[len] == '/' || strcmp(root, "/") == 0);
}

/* -- protected names --------------------------------------------------------------------------- */

struct protecting {
        struct opening *o;
        bool is_tree, is_common; /* a linked worktree; the directory of its repository */
        int fd;                  /* the source */
        bool is_writable;        /* may this process, and so the payload, create names in it? */
        struct plan_protect *items;
        size_t count;
        const char *index; /* git's; NULL: none */
        size_t index_len;
        bool is_index_read;
        char *leads; /* LEADS_ROOM; NULL: none yet */
        size_t leads_len;
        char tracked[PATH_ROOM]; /* the last tracked name that was recorded */
        bool has_more[2];        /* 'L' or 'T' is in the list */
};

static bool
is_opened_up(const struct spec *spec, const char *path)
{
        for (size_t i = 0; i < spec->carrel.unprotect.count; i++) {
                const char *open = spec->carrel.unprotect.items[i];

                if (is_below(path, open))
                        return true;
        }
        return false;
}

static bool
has_protect(const struct protecting *p, const char *path)
{
        for (size_t i = 0; i < p->count; i++)
                if (strcmp(p->items[i].path, path) == 0)
                        return true;
        return false;
}

static int
refuse_link(const char *path, struct error *e)
{
        (void)fail_at(
                e, ERROR_MOUNT_DENIED, "mounts", "protected_symlink",
                "the protected name %.200s is a symbolic link, and a link cannot be held in place",
                path);
        error_hint(e, "List it under metadata.carrel.unprotect to open it, or replace the link by "
                      "what it leads to.");
        return -1;
}

/* A mount holds a name; the same file could still be written through a second hard link. */
static int
refuse_second_name(const char *path, struct error *e)
{
        (void)fail_at(
                e, ERROR_MOUNT_DENIED, "mounts", "protected_hard_link",
                "the protected file %.200s has a second name (a hard link), which cannot be held",
                path);
        error_hint(e, "Make it a file of its own: cp -p FILE FILE.new && mv FILE.new FILE. Or list "
                      "it under metadata.carrel.unprotect.");
        return -1;
}

/*
 * The index of the repository at this source's top, read once. NULL if it is missing or cannot be
 * read whole.
 */
static const char *
index_of(struct protecting *p, size_t *ret_len)
{
        struct error ignored;

        if (!p->is_index_read &&
            ref_file_read_beneath(p->o->arena, p->is_tree ? p->o->tree_fd : p->fd,
                                  p->is_tree ? p->o->tree.index : ".git/index", GIT_INDEX_MAX, NULL,
                                  &p->index, &p->index_len, &ignored) < 0)
                p->index = NULL;
        p->is_index_read = true;
        *ret_len = p->index_len;
        return p->index;
}

static bool
is_content(struct protecting *p, const char *path, unsigned flags)
{
        size_t len = 0;
        const char *index = (flags & PROTECT_ALWAYS) == 0 && !p->o->spec->carrel.is_strict
                                    ? index_of(p, &len)
                                    : NULL;

        return index && git_index_tracks(index, len, path) == GIT_TRACKS_YES;
}

/* Beneath a missing `.git` nothing is examined: its creation is reported. */
static bool
is_in_absent_git(const char *piece, const char *path)
{
        size_t len = strlen(piece);

        return strcmp(piece, path) != 0 && len >= 4 && strcmp(piece + len - 4, ".git") == 0 &&
               (len == 4 || piece[len - 5] == '/');
}

/* Is it a configuration that is missing or can be read, and may it change? */
static bool
is_judged(struct protecting *p, const char *path, unsigned flags, bool is_there)
{
        const char *bytes = "";
        struct git_config c;
        struct git_entry entry;
        struct error ignored;
        size_t len = 0;
        int got;

        if ((flags & PROTECT_JUDGE) == 0 || !p->is_writable || p->o->spec->carrel.is_strict ||
            p->o->config_count == PLAN_CONFIGS_MAX)
                return false;
        if (is_there && ref_file_read_beneath(p->o->arena, p->fd, path, GIT_CONFIG_MAX, NULL,
                                              &bytes, &len, &ignored) < 0)
                return false;
        git_config_open(&c, bytes, len);
        while ((got = git_config_next(&c, &entry)) > 0)
                continue;
        p->o->config_count += got == 0;
        p->o->s->has_guards |= got == 0;
        return got == 0;
}

/* Decides the state of one name, component by component. See the card of plan/protect.c. */
static int
protect_one(struct protecting *p, const char *path, unsigned flags, const char *why,
            struct error *e)
{
        struct plan_protect *item = &p->items[p->count];
        const char *end = path;
        struct stat st;

        if (p->count == PROTECT_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "more than %d protected names", PROTECT_MAX);
        if (is_opened_up(p->o->spec, path))
                return 0;
        for (;;) {
                size_t len;
                const char *piece;

                end += strcspn(end, "/");
                len = (size_t)(end - path);
                piece = arena_copy(p->o->arena, path, len);
                if (!piece)
                        return fail(e, ERROR_NO_MEMORY, "no memory for a protected name");
                *item = (struct plan_protect){ .path = piece, .why = why };
                if (fstatat(p->fd, piece, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                        if (errno != ENOENT || !p->is_writable || is_in_absent_git(piece, path))
                                /* a name that we cannot create, the payload cannot create either */
                                return 0;
                        item->path = arena_text(p->o->arena, path);
                        if (!item->path)
                                return fail(e, ERROR_NO_MEMORY, "no memory for a protected name");
                        item->state = (flags & PROTECT_MAKE) != 0        ? PROTECT_MAY_BE_MADE
                                      : is_judged(p, path, flags, false) ? PROTECT_CONFIG
                                                                         : PROTECT_ABSENT;
                        p->o->s->has_guards = true;
                        break;
                }
                if ((flags & PROTECT_MAKE) != 0 && *end == '\0')
                        return 0; /* its parts have their own rows */
                if (S_ISLNK(st.st_mode))
                        return refuse_link(piece, e);
                if (is_content(p, piece, flags)) {
                        item->state = PROTECT_CONTENT;
                        p->o->s->has_guards = true;
                        break;
                }
                if (S_ISREG(st.st_mode) && st.st_nlink > 1)
                        return refuse_second_name(piece, e);
                item->state = S_ISDIR(st.st_mode) ? PROTECT_DIRECTORY : PROTECT_FILE;
                if (*end == '\0' && item->state == PROTECT_FILE && is_judged(p, path, flags, true))
                        item->state = PROTECT_CONFIG;
                if (*end == '\0' || item->state != PROTECT_DIRECTORY)
                        break;
                end++;
        }
        if (!has_protect(p, item->path))
                p->count++;
        return 0;
}

static int
refuse_part(const char *name, struct error *e)
{
        (void)fail_at(e, ERROR_MOUNT_DENIED, "mounts", "protected",
                      "a writable mount of the protected name %.200s, or of a part of it", name);
        error_hint(e, "Mount it read-only, or list it under metadata.carrel.unprotect to open it.");
        return -1;
}

/* The rest of `inner` below `outer`: NULL if it is not beneath, "" if they are the same. */
static const char *
rest_of(const char *inner, const char *outer)
{
        const char *rest = is_below(inner, outer) ? inner + strlen(outer) : NULL;

        return rest && *rest == '/' ? rest + 1 : rest;
}

/* A name of the workspace, which this source may show from inside or from above. */
static int
protect_name(struct protecting *p, const char *source, const char *name, unsigned flags,
             const char *why, struct error *e)
{
        const char *workspace = p->o->workspace;
        const char *within = workspace ? rest_of(source, workspace) : NULL;
        const char *above = workspace ? rest_of(workspace, source) : NULL;
        const char *longer, *rest;

        if (protect_one(p, name, flags, why, e) < 0)
                return -1;
        if (is_opened_up(p->o->spec, name))
                return 0;
        if (within && *within != '\0') {
                if ((flags & PROTECT_MAKE) != 0)
                        return 0;
                rest = rest_of(name, within);
                if ((rest && *rest == '\0') || is_below(within, name))
                        return refuse_part(name, e);
                return rest ? protect_one(p, rest, flags, why, e) : 0;
        }
        if (!above || *above == '\0')
                return 0;
        longer = arena_format(p->o->arena, "%s/%s", above, name);
        return longer ? protect_one(p, longer, flags, why, e)
                      : fail(e, ERROR_NO_MEMORY, "no memory for a protected name");
}

/* Names at the top that end as the row says. */
static int
protect_ending(struct protecting *p, const struct protect_row *row, struct error *e)
{
        const char *end = row->path + 1;
        int fd = openat(p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *entry;

        for (int i = 0; list && result == 0 && i < NAMES_MAX && (entry = readdir(list)) != NULL;
             i++) {
                size_t len = strlen(entry->d_name);

                if (len > strlen(end) && strcmp(entry->d_name + len - strlen(end), end) == 0)
                        result = protect_one(p, entry->d_name, row->flags, row->why, e);
        }
        if (list)
                (void)closedir(list);
        else if (fd >= 0)
                (void)close(fd);
        return result;
}

static int
protect_names(struct protecting *p, const char *source, struct error *e)
{
        const struct spec_names *more = &p->o->spec->carrel.protect;
        size_t count;
        const struct protect_row *rows = protect_rows(&count);

        for (size_t i = 0; i < count; i++)
                if ((rows[i].path[0] == '*' ? protect_ending(p, &rows[i], e)
                                            : protect_name(p, source, rows[i].path, rows[i].flags,
                                                           rows[i].why, e)) < 0)
                        return -1;
        for (size_t i = 0; i < more->count; i++)
                if (protect_name(p, source, more->items[i], PROTECT_ALWAYS,
                                 "metadata.carrel.protect", e) < 0)
                        return -1;
        for (size_t i = 0; i < p->o->reads->count; i++) {
                const char *rest = rest_of(p->o->reads->items[i], source);

                if (rest && *rest == '\0')
                        return refuse_part(source, e);
                if (rest && protect_one(p, rest, PROTECT_ALWAYS,
                                        "it was read to judge what this sandbox may do", e) < 0)
                        return -1;
        }
        return 0;
}

static int
hold_lead(void *holder, const char *path, unsigned flags, const char *why, struct error *e)
{
        return protect_one(holder, path, flags, why, e);
}

/*
 * For the search after a command. A repository that does not fit is then reported like a new one;
 * gitlinks are not compared.
 */
static void
know_lead(void *holder, char letter, const char *path)
{
        struct protecting *p = holder;
        size_t len = strlen(path) + 2;

        if (!p->leads)
                p->leads = arena_alloc(p->o->arena, LEADS_ROOM);
        if (!p->leads)
                return;
        if (p->leads_len + len + LEADS_SPARE > LEADS_ROOM) {
                if ((letter != 'l' && letter != 't') || p->has_more[letter == 't'])
                        return;
                p->has_more[letter == 't'] = true;
                letter = letter == 't' ? 'T' : 'L';
                path = "";
                len = 2;
        }
        p->leads[p->leads_len] = letter;
        memcpy(p->leads + p->leads_len + 1, path, len - 1);
        p->leads_len += len;
}

/*
 * Finds, in the path of a file of the index, the name that is searched below the top. Equal names
 * follow one another in an index.
 */
static void
know_tracked(void *holder, const char *name)
{
        struct protecting *p = holder;
        char path[PATH_ROOM];

        for (const char *at = strchr(name, '/'); at; at = strchr(at, '/')) {
                size_t len = strcspn(++at, "/"), whole = (size_t)(at - name) + len;

                if (!protect_find_deep(at, len) || whole >= sizeof path)
                        continue;
                memcpy(path, name, whole);
                path[whole] = '\0';
                if (strcmp(p->tracked, path) != 0)
                        know_lead(p, 't', path);
                (void)snprintf(p->tracked, sizeof p->tracked, "%s", path);
                return;
        }
}

/* An index that cannot be read to its end tracks nothing, as at the top. */
static void
know_all_tracked(struct protecting *p)
{
        size_t len = 0, was = p->leads_len;
        const char *index = index_of(p, &len);

        if (!index || git_index_files(index, len, know_tracked, p) == 0)
                return;
        p->leads_len = was;
        p->has_more[1] = false;
}

/* Holds what the repositories of the source point to (H4). */
static int
protect_leads(struct protecting *p, const char *source, struct error *e)
{
        const struct spec_names *open = &p->o->spec->carrel.unprotect;
        struct repository r = { .arena = p->o->arena,
                                .fd = p->fd,
                                .host_path = source,
                                .hold = hold_lead,
                                .know = know_lead,
                                .holder = p,
                                .is_bare = p->is_common,
                                .common_fd = p->is_tree ? p->o->tree_fd : -1 };

        for (size_t i = 0; i < open->count; i++)
                know_lead(p, 'o', open->items[i]);
        if (p->o->spec->carrel.is_strict)
                know_lead(p, 's', "");
        r.index = index_of(p, &r.index_len);
        if (repository_hold(&r, e) < 0)
                return -1;
        if (p->is_tree) {
                const char *slash = strrchr(p->o->tree.index, '/');
                const char *at =
                        arena_format(p->o->arena, "%s/%.*s", p->o->tree.common,
                                     slash ? (int)(slash - p->o->tree.index) : 0, p->o->tree.index);

                know_lead(p, 'k', ".git"); /* a file, and it exists */
                know_lead(p, 'w', at ? at : "");
        }
        for (size_t i = 0; i < p->count; i++) {
                const char *slash = strrchr(p->items[i].path, '/');

                if (slash && p->items[i].state != PROTECT_ABSENT &&
                    protect_find_deep(slash + 1, strlen(slash + 1)))
                        know_lead(p, 'h', p->items[i].path);
        }
        know_all_tracked(p);
        p->o->s->has_guards |= p->is_writable;
        return 0;
}

enum role { PLAIN, TREE, COMMON }; /* a source's role in a linked worktree */

static int
protect_source(struct opening *o, struct plan_source *source, int fd, enum role role,
               struct error *e)
{
        struct protecting p = { .o = o,
                                .fd = fd,
                                .is_tree = role == TREE,
                                .is_common = role == COMMON,
                                .is_writable =
                                        o->as_owner || faccessat(fd, ".", W_OK, AT_EACCESS) == 0 };

        p.items = arena_array(o->arena, struct plan_protect, PROTECT_MAX + 1);
        if (!p.items)
                return fail(e, ERROR_NO_MEMORY, "no memory for protected names");
        if ((!p.is_common && protect_names(&p, source->host_path, e) < 0) ||
            (source->is_directory && protect_leads(&p, source->host_path, e) < 0))
                return -1;
        source->protect = p.items;
        source->protect_count = p.count;
        source->leads = p.leads;
        source->leads_len = p.leads_len;
        return 0;
}

/* -- sources ----------------------------------------------------------------------------------- */

static int
add_source(struct opening *o, int take_fd, struct plan_source **ret, struct error *e)
{
        struct sources *s = o->s;
        struct plan_source *source;
        struct stat st;

        if (s->count == SOURCES_MAX) {
                (void)close(take_fd);
                return fail(e, ERROR_QUOTA_EXCEEDED, "more than %d mounts and tools", SOURCES_MAX);
        }
        source = &s->items[s->count];
        s->fds[s->count] = take_fd;
        s->count++;
        if (fstat(take_fd, &st) < 0)
                return fail_sys(e, ERROR_MOUNT_UNRESOLVABLE, errno, "looking at a mount source");
        *source = (struct plan_source){ .device = st.st_dev,
                                        .inode = st.st_ino,
                                        .owner_uid = st.st_uid,
                                        .owner_gid = st.st_gid,
                                        .is_directory = S_ISDIR(st.st_mode) };
        if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
                return fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "mounts", "wrong_kind",
                               "a mount source is neither a directory nor a regular file");
        if (real_path(o->arena, take_fd, &source->host_path, e) < 0)
                return -1;
        *ret = source;
        return 0;
}

static int
open_path(const struct opening *o, const char *path, int *ret_fd, struct error *e)
{
        const char *full = path;

        if (path[0] != '/') {
                if (!o->workspace)
                        return fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "mounts", "no_parent_workspace",
                                       "there is no workspace");
                full = strcmp(path, ".") == 0 ? o->workspace
                                              : arena_format(o->arena, "%s/%s", o->workspace, path);
        }
        if (!full)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        *ret_fd = open(full, O_PATH | O_CLOEXEC);
        if (*ret_fd < 0) {
                int sys = errno;

                (void)fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "mounts", "not_found",
                              "opening the mount source %.300s: %s", full, strerror(sys));
                e->sys = sys;
                if (sys == ENOENT)
                        error_hint(
                                e,
                                "Make the directory on the host, or name another: mkdir -p %.300s",
                                full);
                return -1;
        }
        return 0;
}

/*
 * The real path must be permitted too: below the workspace for a relative one, below a root for an
 * absolute one.
 */
static int
judge_again(const struct opening *o, const struct plan_source *source, const char *named,
            bool is_tool, struct error *e)
{
        const struct spec_names *roots = is_tool ? &o->rules->tool_roots : &o->rules->mount_roots;

        if (named[0] != '/' ? is_below(source->host_path, o->workspace)
                            : host_path_is_below(roots, source->host_path))
                return 0;
        for (size_t i = 0; named[0] == '/' && i < o->rules->mountable_count; i++)
                if (o->rules->mountables[i].path &&
                    strcmp(o->rules->mountables[i].path, named) == 0)
                        return 0; /* the host file itself names it, link or not */
        (void)fail_at(e, ERROR_MOUNT_DENIED, "mounts", "link_leads_out",
                      "%.200s leads to %.200s, which is not permitted", named, source->host_path);
        if (named[0] == '/' && o->rules->allow)
                error_hint(e, "To permit it, run: %.80s %s %.120s", o->rules->allow,
                           is_tool ? "tool" : "mount", source->host_path);
        return -1;
}

/*
 * sysfs names the whole disk as the parent of a partition; a file system without a disk has no such
 * entry.
 */
static int
add_disk(const struct opening *o, const struct plan_source *source, struct error *e)
{
        char path[96], text[32];
        scoped_fd int fd = -1;
        ssize_t len;
        const char *disk;

        (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", major(source->device),
                       minor(source->device));
        (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", major(source->device),
                       minor(source->device), access(path, F_OK) == 0 ? "../dev" : "dev");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        len = fd < 0 ? 0 : read(fd, text, sizeof text);
        if (len <= 1)
                return 0;
        disk = arena_copy(o->arena, text, (size_t)len - (text[len - 1] == '\n'));
        if (!disk)
                return fail(e, ERROR_NO_MEMORY, "no memory for a name");
        for (size_t i = 0; i < o->s->disk_count; i++)
                if (strcmp(o->s->disks[i], disk) == 0)
                        return 0;
        o->s->disks[o->s->disk_count++] = disk;
        return 0;
}

/* Adds the repository of a workspace that is a linked worktree, if it has the same owner. */
static int
add_common(struct opening *o, uint32_t owner, struct error *e)
{
        struct plan_source *source = NULL;
        int fd = fcntl(o->tree_fd, F_DUPFD_CLOEXEC, 3), index = (int)o->s->count;

        if (fd < 0)
                return fail_sys(e, ERROR_MOUNT_UNRESOLVABLE, errno,
                                "opening the worktree's repository");
        if (add_source(o, fd, &source, e) < 0 || !source)
                return -1;
        if (source->owner_uid != owner || !source->is_directory || !source->host_path ||
            strcmp(source->host_path, o->tree.common) != 0)
                return worktree_refuse(o->tree.common,
                                       "it belongs to another user than the workspace", e);
        o->s->mounts[index] = (struct plan_mount){ .source = index, .at = o->tree.at };
        o->s->common = index;
        o->s->writable[o->s->writable_count++] = fd;
        if (beneath_look(o->arena, source, e) < 0 || add_disk(o, source, e) < 0)
                return -1;
        return protect_source(o, source, fd, COMMON, e);
}

static int
add_workspace(struct opening *o, struct plan_source *source, int fd, const char *at,
              struct error *e)
{
        uint32_t owner = source->owner_uid;
        scoped_fd int tree = -1;

        if (o->tree.common || worktree_find(o->arena, fd, source->host_path, at, &o->tree, e) < 0)
                return o->tree.common ? protect_source(o, source, fd, PLAIN, e) : -1;
        if (!o->tree.common)
                return protect_source(o, source, fd, PLAIN, e);
        tree = open(o->tree.common, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (tree < 0)
                return worktree_refuse(o->tree.common, "it cannot be opened", e);
        o->tree_fd = tree;
        return protect_source(o, source, fd, TREE, e) < 0 ? -1 : add_common(o, owner, e);
}

static int
add_mount(struct opening *o, const char *named, const char *at, bool is_read_only, bool is_tool,
          struct error *e)
{
        struct plan_source *source = NULL;
        int fd = -1, index = (int)o->s->count;

        if (open_path(o, named, &fd, e) < 0 || add_source(o, fd, &source, e) < 0 || !source)
                return -1;
        if (judge_again(o, source, named, is_tool, e) < 0)
                return -1;
        o->s->mounts[index] = (struct plan_mount){
                .source = index, .at = at, .is_read_only = is_read_only, .is_tool = is_tool
        };
        if (beneath_look(o->arena, source, e) < 0)
                return -1;
        if (is_read_only)
                return 0;
        o->s->writable[o->s->writable_count++] = fd;
        if (add_disk(o, source, e) < 0)
                return -1;
        if (!is_tool && strcmp(named, ".") == 0 && !is_opened_up(o->spec, ".git"))
                return add_workspace(o, source, fd, at, e);
        return protect_source(o, source, fd, PLAIN, e);
}

/* -- volumes ----------------------------------------------------------------------------------- */

/*
 * Opens the volume if it exists, else the nearest directory above it, only to find the free space.
 */
static int
open_nearest(const struct opening *o, const char *path, int *ret_fd, bool *ret_is_above,
             struct error *e)
{
        char *at = arena_text(o->arena, path);
        int fd;

        if (!at)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        while ((fd = open(*at != '\0' ? at : "/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 &&
               *at != '\0')
                *strrchr(at, '/') = '\0';
        *ret_fd = fd;
        *ret_is_above = strcmp(at, path) != 0;
        return fd < 0 ? fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                 "opening the directory of the volumes, %.300s", path)
                      : 0;
}

static int
add_volume(struct opening *o, const char *name, const char *at, bool is_read_only, struct error *e)
{
        struct sources *s = o->s;
        struct plan_source *source = NULL;
        int fd = -1, index = (int)s->count;
        const char *path;
        bool is_unmade = false;

        if (!o->volumes->place) {
                (void)fail_at(e, ERROR_STATE_UNUSABLE, "", "volumes",
                              "nothing says where the volume %.64s is: neither CARREL_STATE, "
                              "XDG_STATE_HOME nor HOME",
                              name);
                return -1;
        }
        path = arena_format(o->arena, "%s/%s/data", o->volumes->place, name);
        if (!path)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        if (open_nearest(o, path, &fd, &is_unmade, e) < 0 || add_source(o, fd, &source, e) < 0 ||
            !source)
                return -1;
        /* The name is kept as written; check_volumes() examines the real path, with links
         * resolved. */
        s->volumes[index] = source->host_path;
        *source = (struct plan_source){ .host_path = path,
                                        .owner_uid = geteuid(),
                                        .owner_gid = getegid(),
                                        .is_directory = true,
                                        .device = source->device,
                                        .volume = name,
                                        .is_unmade = is_unmade,
                                        .volume_place = o->volumes->place,
                                        .volumes_max = o->volumes->most };
        s->mounts[index] =
                (struct plan_mount){ .source = index, .at = at, .is_read_only = is_read_only };
        if (is_read_only)
                return 0;
        s->writable[s->writable_count++] = fd;
        return add_disk(o, source, e);
}

/*
 * Below a mount, the volume could be reached by anything that sees the mount, and host programs act
 * there.
 */
static int
check_volumes(const struct sources *s, struct error *e)
{
        for (size_t v = 0; v < s->count; v++)
                for (size_t i = 0; i < s->count && s->items[v].volume; i++) {
                        if (s->items[i].volume || !is_below(s->volumes[v], s->items[i].host_path))
                                continue;
                        (void)fail_at(e, ERROR_MOUNT_DENIED, "mounts", "holds_volume",
                                      "the volume %.64s would lie below the mount of %.200s, which "
                                      "shows it as well",
                                      s->items[v].volume, s->items[i].host_path);
                        error_hint(e, "Mount a part of that directory, or keep volumes elsewhere: "
                                      "CARREL_STATE=DIR.");
                        return -1;
                }
        return 0;
}

/* With a second mount at the home it would be unclear which one is meant. */
static int
open_home(struct opening *o, struct error *e)
{
        const char *home = o->spec->carrel.home;
        int result = 0;

        for (size_t i = 0; home && result == 0 && i < o->spec->mount_count; i++)
                if (strcmp(o->spec->mounts[i].at, PLAN_HOME) == 0)
                        result = fail_at(e, ERROR_MOUNT_INVALID, "", "duplicate",
                                         "another mount is at " PLAN_HOME
                                         ", and the home is the volume %.64s",
                                         home);
        if (home && result == 0)
                result = add_volume(o, home, PLAN_HOME, false, e);
        if (result == 0)
                return 0;
        (void)snprintf(e->path, sizeof e->path, "metadata/carrel/home");
        e->line = o->spec->carrel.home_place.line;
        e->column = o->spec->carrel.home_place.column;
        return -1;
}

static int
open_mount(struct opening *o, const struct spec_mount *m, struct error *e)
{
        const char *named = m->volume ? m->volume : host_mount_path(o->rules, m);

        if (!named)
                return fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "", "not_found",
                               "the host knows no directory behind this mount");
        return m->volume ? add_volume(o, named, m->at, m->is_read_only, e)
                         : add_mount(o, named, m->at, m->is_read_only, false, e);
}

static int
open_mounts(struct opening *o, struct error *e)
{
        for (size_t i = 0; i < o->spec->mount_count; i++) {
                const struct spec_mount *m = &o->spec->mounts[i];

                if (open_mount(o, m, e) == 0)
                        continue;
                (void)snprintf(e->path, sizeof e->path, "mounts/%zu/source", i);
                e->line = m->place.line;
                e->column = m->place.column;
                return -1;
        }
        return 0;
}

static int
open_tools(struct opening *o, struct error *e)
{
        for (size_t i = 0; i < o->spec->carrel.tools.count; i++) {
                const char *tool = o->spec->carrel.tools.items[i];

                if (add_mount(o, tool, tool, true, true, e) < 0) {
                        (void)snprintf(e->path, sizeof e->path, "metadata/carrel/tools/%zu", i);
                        return -1;
                }
        }
        return 0;
}

int
sources_open(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
             const char *workspace, const struct spec_names *reads,
             const struct sources_volumes *volumes, bool as_owner, struct sources *ret,
             struct error *e)
{
        struct opening o = { .arena = arena,
                             .spec = spec,
                             .rules = rules,
                             .workspace = workspace,
                             .reads = reads,
                             .volumes = volumes,
                             .as_owner = as_owner,
                             .s = ret };

        ret->count = ret->writable_count = ret->disk_count = 0;
        ret->has_guards = ret->has_image = false;
        ret->layer_count = 0;
        ret->common = -1;
        return open_mounts(&o, e) < 0 || open_home(&o, e) < 0 || open_tools(&o, e) < 0
                       ? -1
                       : check_volumes(ret, e);
}

void
sources_add_image(struct sources *s, int take_fd, const struct plan_source *directory)
{
        s->items[s->count] = *directory;
        s->fds[s->count] = s->writable[s->writable_count] = take_fd;
        s->has_image = true;
}

int
sources_add_layer(struct sources *s, int take_fd, const struct plan_source *directory,
                  struct error *e)
{
        size_t at = sources_total(s);

        if (at == SOURCES_ALL_MAX) {
                (void)close(take_fd);
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "the image's layers and the mounts are more than %d together",
                            SOURCES_ALL_MAX);
        }
        s->items[at] = *directory;
        s->fds[at] = take_fd;
        s->layer_count++;
        return 0;
}

void
sources_fini(struct sources *s)
{
        for (size_t i = 0; i < sources_total(s); i++)
                (void)close(s->fds[i]);
        s->count = s->layer_count = 0;
        s->has_image = false;
}
