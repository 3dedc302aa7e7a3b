/*
 * sources/protected.c - finds the protected names of a source: which exist, which could be made,
 * and what the repositories in it point to.
 *
 * Room: sources (joining). Touches: fd, host directories (reading only).
 * Theory: plan/protect.c has the list of names. Here, each of them gets its state, component by
 * component. A link or a second hard link cannot be held by a mount, so it is refused (B14, H4).
 */
#include "sources/protected.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "git/config.h"
#include "git/index.h"
#include "plan/protect.h"
#include "ref/file.h"
#include "sources/repository.h"

enum {
        PATH_ROOM = 4096,
        PROTECT_MAX = 512,
        NAMES_MAX = 8192,
        LEADS_ROOM = 24 << 10,
        LEADS_SPARE = 4 /* for 'L' and 'T' */
};

struct protecting {
        struct protected_scope *scope;
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

bool
protected_is_open(const struct spec *spec, const char *path)
{
        for (size_t i = 0; i < spec->carrel.unprotect.count; i++) {
                const char *open = spec->carrel.unprotect.items[i];

                if (path_below(path, open))
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
            ref_file_read_beneath(p->scope->arena, p->is_tree ? p->scope->tree_fd : p->fd,
                                  p->is_tree ? p->scope->tree.index : ".git/index", GIT_INDEX_MAX,
                                  NULL, &p->index, &p->index_len, &ignored) < 0)
                p->index = NULL;
        p->is_index_read = true;
        *ret_len = p->index_len;
        return p->index;
}

static bool
is_content(struct protecting *p, const char *path, unsigned flags)
{
        size_t len = 0;
        const char *index = (flags & PROTECT_ALWAYS) == 0 && !p->scope->spec->carrel.is_strict
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

        if ((flags & PROTECT_JUDGE) == 0 || !p->is_writable || p->scope->spec->carrel.is_strict ||
            p->scope->config_count == PLAN_CONFIGS_MAX)
                return false;
        if (is_there && ref_file_read_beneath(p->scope->arena, p->fd, path, GIT_CONFIG_MAX, NULL,
                                              &bytes, &len, &ignored) < 0)
                return false;
        git_config_open(&c, bytes, len);
        while ((got = git_config_next(&c, &entry)) > 0)
                continue;
        p->scope->config_count += got == 0;
        p->scope->has_guards |= got == 0;
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
        if (protected_is_open(p->scope->spec, path))
                return 0;
        for (;;) {
                size_t len;
                const char *piece;

                end += strcspn(end, "/");
                len = (size_t)(end - path);
                piece = arena_copy(p->scope->arena, path, len);
                if (!piece)
                        return fail(e, ERROR_NO_MEMORY, "no memory for a protected name");
                *item = (struct plan_protect){ .path = piece, .why = why };
                if (fstatat(p->fd, piece, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                        if (errno != ENOENT || !p->is_writable || is_in_absent_git(piece, path))
                                /* a name that we cannot create, the payload cannot create either */
                                return 0;
                        item->path = arena_text(p->scope->arena, path);
                        if (!item->path)
                                return fail(e, ERROR_NO_MEMORY, "no memory for a protected name");
                        item->state = (flags & PROTECT_MAKE) != 0        ? PROTECT_MAY_BE_MADE
                                      : is_judged(p, path, flags, false) ? PROTECT_CONFIG
                                                                         : PROTECT_ABSENT;
                        p->scope->has_guards = true;
                        break;
                }
                if ((flags & PROTECT_MAKE) != 0 && *end == '\0')
                        return 0; /* its parts have their own rows */
                if (S_ISLNK(st.st_mode))
                        return refuse_link(piece, e);
                if (is_content(p, piece, flags)) {
                        item->state = PROTECT_CONTENT;
                        p->scope->has_guards = true;
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

/* A name of the workspace, which this source may show from inside or from above. */
static int
protect_name(struct protecting *p, const char *source, const char *name, unsigned flags,
             const char *why, struct error *e)
{
        const char *workspace = p->scope->workspace;
        const char *within = workspace ? path_below(source, workspace) : NULL;
        const char *above = workspace ? path_below(workspace, source) : NULL;
        const char *longer, *rest;

        if (protect_one(p, name, flags, why, e) < 0)
                return -1;
        if (protected_is_open(p->scope->spec, name))
                return 0;
        if (within && *within != '\0') {
                if ((flags & PROTECT_MAKE) != 0)
                        return 0;
                rest = path_below(name, within);
                if ((rest && *rest == '\0') || path_below(within, name))
                        return refuse_part(name, e);
                return rest ? protect_one(p, rest, flags, why, e) : 0;
        }
        if (!above || *above == '\0')
                return 0;
        longer = arena_format(p->scope->arena, "%s/%s", above, name);
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
        const struct spec_names *more = &p->scope->spec->carrel.protect;
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
        for (size_t i = 0; i < p->scope->reads->count; i++) {
                const char *rest = path_below(p->scope->reads->items[i], source);

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
                p->leads = arena_alloc(p->scope->arena, LEADS_ROOM);
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
        const struct spec_names *open = &p->scope->spec->carrel.unprotect;
        struct repository r = { .arena = p->scope->arena,
                                .fd = p->fd,
                                .host_path = source,
                                .hold = hold_lead,
                                .know = know_lead,
                                .holder = p,
                                .is_bare = p->is_common,
                                .common_fd = p->is_tree ? p->scope->tree_fd : -1 };

        for (size_t i = 0; i < open->count; i++)
                know_lead(p, 'o', open->items[i]);
        if (p->scope->spec->carrel.is_strict)
                know_lead(p, 's', "");
        r.index = index_of(p, &r.index_len);
        if (repository_hold(&r, e) < 0)
                return -1;
        if (p->is_tree) {
                const char *slash = strrchr(p->scope->tree.index, '/');
                const char *at = arena_format(p->scope->arena, "%s/%.*s", p->scope->tree.common,
                                              slash ? (int)(slash - p->scope->tree.index) : 0,
                                              p->scope->tree.index);

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
        p->scope->has_guards |= p->is_writable;
        return 0;
}

int
protected_find(struct protected_scope *scope, struct plan_source *source, int fd,
               enum protected_role role, struct error *e)
{
        struct protecting p = { .scope = scope,
                                .fd = fd,
                                .is_tree = role == PROTECTED_TREE,
                                .is_common = role == PROTECTED_COMMON,
                                .is_writable = scope->as_owner ||
                                               faccessat(fd, ".", W_OK, AT_EACCESS) == 0 };

        p.items = arena_array(scope->arena, struct plan_protect, PROTECT_MAX + 1);
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
