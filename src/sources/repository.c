/*
 * sources/repository.c - finds what the host's git runs because files of a repository point to it
 * (H4).
 *
 * Room: sources (joining). Touches: fd, host directories (reading only).
 * Theory: fixed names are not enough. `core.hooksPath` and `include.path` name other files, and a
 * link in `.git/hooks` leads to another file. A submodule has its own configuration and hooks,
 * which `git status` at the top reads. A bounded search finds each of them, and each is held like
 * the rows of the table. Paths are resolved as text; hold() refuses a path with a link in it.
 */
#include "sources/repository.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/config.h"
#include "git/index.h"
#include "git/path.h"
#include "plan/protect.h"
#include "ref/file.h"

enum {
        PATH_ROOM = 4096,
        LINKS_MAX = 256,
        MODULES_DEPTH = 6,
        MODULES_MAX = 48,
        NESTED_MAX = 24,
        WORKTREES_MAX = 24,
        LOOK_DEPTH = 1,
        LOOK_MAX = 1024,
        INCLUDES_DEPTH = 4,
        GITFILE_MAX = 8192
};

struct looking {
        const struct repository *r;
        struct error *e;
        unsigned modules, nested, looks, worktrees; /* so far */
        int result;
};

static void
hold(struct looking *l, const char *path, unsigned flags, const char *why)
{
        const char *copy = l->result == 0 ? arena_text(l->r->arena, path) : NULL;

        if (l->result == 0)
                l->result = copy ? l->r->hold(l->r->holder, copy, flags, why, l->e)
                                 : fail(l->e, ERROR_NO_MEMORY, "no memory for a protected name");
}

static bool
join(char ret[PATH_ROOM], const char *directory, const char *name)
{
        return snprintf(ret, PATH_ROOM, "%s%s%s", directory, directory[0] != '\0' ? "/" : "",
                        name) < PATH_ROOM;
}

static DIR *
open_list(const struct repository *r, const char *path)
{
        int fd = openat(r->fd, path[0] != '\0' ? path : ".",
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

        if (fd >= 0 && !list)
                (void)close(fd);
        return list;
}

static const char *
read_text(const struct repository *r, const char *path, size_t max, size_t *ret_len)
{
        const char *bytes = NULL;
        struct error ignored;

        return ref_file_read_beneath(r->arena, r->fd, path, max, NULL, &bytes, ret_len, &ignored) <
                               0
                       ? NULL
                       : bytes;
}

/* -- what its files point to ------------------------------------------------------------------- */

static void
hold_links(struct looking *l, const char *directory)
{
        DIR *list = open_list(l->r, directory);
        char target[PATH_ROOM], path[PATH_ROOM];
        struct dirent *entry;

        for (int i = 0; list && i < LINKS_MAX && (entry = readdir(list)) != NULL; i++) {
                ssize_t len = readlinkat(dirfd(list), entry->d_name, target, sizeof target - 1);

                if (len <= 0)
                        continue;
                target[len] = '\0';
                if (git_path_resolve(l->r->host_path, directory, target, path, sizeof path))
                        hold(l, path, PROTECT_ALWAYS,
                             "a link in a protected directory leads there");
        }
        if (list)
                (void)closedir(list);
}

static bool
is_include(const char *key)
{
        size_t len = strlen(key);

        return strcmp(key, "include.path") == 0 ||
               (strncmp(key, "includeif.", 10) == 0 && len > 15 &&
                strcmp(key + len - 5, ".path") == 0);
}

static void follow(struct looking *l, const char *config, const char *tree, unsigned depth);

/*
 * `base`: the directory that contains it, NULL: outside of the source; `tree`: the directory in
 * which hooks run.
 */
static void
follow_text(struct looking *l, const char *bytes, size_t len, const char *base, const char *tree,
            unsigned depth)
{
        char path[PATH_ROOM];
        struct git_config c;
        struct git_entry entry;

        git_config_open(&c, bytes, len);
        while (l->result == 0 && git_config_next(&c, &entry) > 0) {
                if (strcmp(entry.key, "core.hookspath") == 0 &&
                    git_path_resolve(l->r->host_path, tree, entry.value, path, sizeof path)) {
                        hold(l, path, PROTECT_ALWAYS, "core.hooksPath: git runs hooks from there");
                        hold_links(l, path);
                } else if (base && is_include(entry.key) &&
                           git_path_resolve(l->r->host_path, base, entry.value, path,
                                            sizeof path)) {
                        hold(l, path, PROTECT_ALWAYS,
                             "include.path: git reads it as configuration");
                        if (depth < INCLUDES_DEPTH)
                                follow(l, path, tree, depth + 1);
                }
        }
}

/* An included file may include others. */
static void
follow(struct looking *l, const char *config, const char *tree, unsigned depth)
{
        size_t len = 0;
        const char *bytes = read_text(l->r, config, GIT_CONFIG_MAX, &len),
                   *slash = strrchr(config, '/');
        char base[PATH_ROOM];

        (void)snprintf(base, sizeof base, "%.*s", slash ? (int)(slash - config) : 0, config);
        if (bytes)
                follow_text(l, bytes, len, base, tree, depth);
}

/* The hooks of a linked worktree are where its repository says, relative to the worktree. */
static void
follow_common(struct looking *l)
{
        const char *bytes = NULL;
        struct error ignored;
        size_t len = 0;

        if (ref_file_read_beneath(l->r->arena, l->r->common_fd, "config", GIT_CONFIG_MAX, NULL,
                                  &bytes, &len, &ignored) == 0)
                follow_text(l, bytes, len, NULL, "", 0);
}

/* -- repositories ------------------------------------------------------------------------------ */

static void hold_modules(struct looking *l, const char *directory, unsigned depth);

/* The directory of a repository, like `.git` at the top. */
static void
hold_repository(struct looking *l, const char *git, const char *tree)
{
        static const struct {
                const char *name;
                unsigned flags;
        } parts[] = {
                { "hooks", PROTECT_ALWAYS },
                { "config", PROTECT_ALWAYS | PROTECT_JUDGE },
                { "config.worktree", PROTECT_ALWAYS | PROTECT_JUDGE },
                { "commondir", PROTECT_ALWAYS },
        };
        char path[PATH_ROOM];

        l->r->know(l->r->holder, 'k', git);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                if (join(path, git, parts[i].name))
                        hold(l, path, parts[i].flags, "of a repository within");
        if (join(path, git, "hooks"))
                hold_links(l, path);
        if (join(path, git, "config"))
                follow(l, path, tree, 0);
        if (join(path, git, "config.worktree"))
                follow(l, path, tree, 0);
        if (join(path, git, "modules"))
                hold_modules(l, path, 0);
}

static bool
is_directory(const struct repository *r, const char *path)
{
        struct stat st;

        return fstatat(r->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Submodule names may contain slashes: a directory without HEAD may lead to one. */
static void
hold_modules(struct looking *l, const char *directory, unsigned depth)
{
        DIR *list = depth < MODULES_DEPTH ? open_list(l->r, directory) : NULL;
        char path[PATH_ROOM], head[PATH_ROOM];
        struct dirent *entry;

        while (list && l->result == 0 && l->modules < MODULES_MAX &&
               (entry = readdir(list)) != NULL) {
                struct stat st;

                if (entry->d_name[0] == '.' || !join(path, directory, entry->d_name) ||
                    !is_directory(l->r, path) || !join(head, path, "HEAD"))
                        continue;
                l->modules++;
                if (fstatat(l->r->fd, head, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        hold_repository(l, path, path);
                else
                        hold_modules(l, path, depth + 1);
        }
        if (list)
                (void)closedir(list);
}

/* Linked worktrees of the top, wherever they are: git in one of them reads these files. */
static void
hold_worktrees(struct looking *l, const char *directory)
{
        static const char *const parts[] = { "commondir", "config.worktree" };
        DIR *list = open_list(l->r, directory);
        char path[PATH_ROOM], part[PATH_ROOM];
        struct dirent *entry;

        while (list && l->result == 0 && l->worktrees < WORKTREES_MAX &&
               (entry = readdir(list)) != NULL) {
                if (entry->d_name[0] == '.' || !join(path, directory, entry->d_name) ||
                    !is_directory(l->r, path))
                        continue;
                l->worktrees++;
                l->r->know(l->r->holder, 'k', path);
                for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                        if (join(part, path, parts[i]))
                                hold(l, part, PROTECT_ALWAYS, "of a linked worktree");
        }
        if (list)
                (void)closedir(list);
}

/*
 * `tree` may be the top of a repository: it has a directory `.git`, or a file that says where it
 * is.
 */
static void
hold_nested(struct looking *l, const char *tree)
{
        char git[PATH_ROOM], path[PATH_ROOM];
        struct stat st;
        const char *text;
        size_t len = 0;

        if (l->nested == NESTED_MAX || !join(git, tree, ".git") ||
            fstatat(l->r->fd, git, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return;
        l->nested++;
        if (S_ISDIR(st.st_mode)) {
                hold_repository(l, git, tree);
                return;
        }
        hold(l, git, PROTECT_ALWAYS, "of a repository within");
        text = S_ISREG(st.st_mode) ? read_text(l->r, git, GITFILE_MAX, &len) : NULL;
        if (!text || strncmp(text, "gitdir: ", 8) != 0)
                return;
        (void)snprintf(git, sizeof git, "%.*s", (int)strcspn(text + 8, "\n"), text + 8);
        if (git_path_resolve(l->r->host_path, tree, git, path, sizeof path) &&
            is_directory(l->r, path))
                hold_repository(l, path, tree);
}

static void
hold_link(void *looking, const char *name)
{
        struct looking *l = looking;

        l->r->know(l->r->holder, 'l', name);
        if (l->result == 0)
                hold_nested(l, name);
}

/*
 * Repositories that are not registered: a shell prompt runs git in them as soon as a person enters.
 */
static void
look_below(struct looking *l, const char *directory, unsigned depth)
{
        DIR *list = open_list(l->r, directory);
        char path[PATH_ROOM];
        struct dirent *entry;

        while (list && l->result == 0 && l->looks < LOOK_MAX && (entry = readdir(list)) != NULL) {
                l->looks++;
                if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
                    strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                    strcmp(entry->d_name, ".git") == 0 ||
                    strcmp(entry->d_name, "node_modules") == 0 ||
                    !join(path, directory, entry->d_name))
                        continue;
                hold_nested(l, path);
                if (depth + 1 < LOOK_DEPTH)
                        look_below(l, path, depth + 1);
        }
        if (list)
                (void)closedir(list);
}

int
repository_hold(const struct repository *r, struct error *e)
{
        struct looking l = { .r = r, .e = e };

        if (r->common_fd >= 0)
                follow_common(&l);
        if (r->is_bare) {
                hold_repository(&l, "", "");
                hold_worktrees(&l, "worktrees");
                return l.result;
        }
        if (is_directory(r, ".git")) {
                r->know(r->holder, 'k', ".git");
                hold_links(&l, ".git/hooks");
                follow(&l, ".git/config", "", 0);
                follow(&l, ".git/config.worktree", "", 0);
                hold_modules(&l, ".git/modules", 0);
                hold_worktrees(&l, ".git/worktrees");
        }
        if (r->index)
                (void)git_index_links(r->index, r->index_len, hold_link, &l);
        look_below(&l, "", 0);
        return l.result;
}
