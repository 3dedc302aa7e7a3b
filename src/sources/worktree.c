/*
 * sources/worktree.c - finds the repository of a workspace that is a linked worktree.
 *
 *     WORKSPACE/.git: "gitdir: COMMON/worktrees/NAME" --> COMMON/worktrees/NAME/gitdir:
 * "WORKSPACE/.git", commondir: "../.."
 *
 * Room: sources (joining). Touches: host directories (reading only).
 * Theory: the content of a workspace file alone permits nothing, because a command may have written
 * it. The record on the other side must match, and no command of this workspace could write that.
 * See gitrepository-layout(5).
 */
#include "sources/worktree.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ref/file.h"
#include "spec/path.h"

enum { TEXT_MAX = 8192, PATH_ROOM = 4096 };

int
worktree_refuse(const char *where, const char *why, struct error *e)
{
        (void)fail_at(e, ERROR_MOUNT_DENIED, "mounts", "worktree",
                      "the workspace's .git is a file that leads to the repository %.300s, which "
                      "is not shown inside: %s",
                      where, why);
        error_hint(e,
                   "Use the repository's own directory as the workspace, or run `git worktree "
                   "repair` in it. To run without git, list .git under metadata.carrel.unprotect.");
        return -1;
}

/* The first line without the prefix; NULL if the prefix is missing. */
static const char *
read_line(struct arena *arena, int fd, const char *path, const char *prefix)
{
        const char *bytes = NULL;
        struct error ignored;
        size_t len = 0;

        if (ref_file_read_beneath(arena, fd, path, TEXT_MAX, NULL, &bytes, &len, &ignored) < 0 ||
            strncmp(bytes, prefix, strlen(prefix)) != 0)
                return NULL;
        bytes += strlen(prefix);
        return arena_copy(arena, bytes, strcspn(bytes, "\r\n"));
}

static const char *
real_path(struct arena *arena, const char *path)
{
        char *real = path ? realpath(path, NULL) : NULL;
        const char *copy = real ? arena_text(arena, real) : NULL;

        free(real);
        return copy;
}

/* Resolved as text, as git does inside. */
static const char *
join(struct arena *arena, const char *base, const char *words)
{
        char path[PATH_ROOM];
        size_t len = 0;

        for (int part = words[0] == '/'; part < 2; part++)
                for (const char *at = part == 0 ? base : words; *at != '\0';) {
                        size_t piece = strcspn(at, "/");

                        if (piece == 2 && strncmp(at, "..", 2) == 0) {
                                while (len > 0 && path[--len] != '/')
                                        continue;
                        } else if (piece > 0 && !(piece == 1 && at[0] == '.')) {
                                if (len + piece + 2 > sizeof path)
                                        return NULL;
                                path[len++] = '/';
                                memcpy(path + len, at, piece);
                                len += piece;
                        }
                        at += piece;
                        at += *at == '/';
                }
        return arena_copy(arena, path, len);
}

/* Removes "/worktrees/NAME". */
static const char *
strip_record(struct arena *arena, const char *path)
{
        const char *name = path ? strrchr(path, '/') : NULL;
        size_t len = name ? (size_t)(name - path) : 0;

        return len > 10 && strncmp(path + len - 10, "/worktrees", 10) == 0
                       ? arena_copy(arena, path, len - 10)
                       : NULL;
}

static bool
leads_back(struct arena *arena, const char *record, const char *host_path)
{
        const char *back, *common;
        int fd = open(record, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return false;
        back = read_line(arena, fd, "gitdir", "");
        common = read_line(arena, fd, "commondir", "");
        (void)close(fd);
        if (!back || !common || strcmp(common, "../..") != 0)
                return false;
        back = back[0] == '/' ? back : join(arena, record, back);
        if (!back || strlen(back) < 6 || strcmp(back + strlen(back) - 5, "/.git") != 0)
                return false;
        back = real_path(arena, arena_copy(arena, back, strlen(back) - 5));
        return back && strcmp(back, host_path) == 0;
}

int
worktree_find(struct arena *arena, int fd, const char *host_path, const char *at,
              struct worktree *ret, struct error *e)
{
        const char *words, *outside, *record, *inside;
        size_t root = strlen(host_path);
        struct stat st;

        *ret = (struct worktree){ .common = NULL };
        if (fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            (words = read_line(arena, fd, ".git", "gitdir: ")) == NULL)
                return 0;
        outside = join(arena, host_path, words);
        inside = join(arena, at, words);
        if (!outside || !inside)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        if (strncmp(outside, host_path, root) == 0 &&
            (outside[root] == '/' || outside[root] == '\0'))
                return 0; /* inside the mount: git finds it */
        record = real_path(arena, outside);
        if (!record)
                return worktree_refuse(outside, "it is not there", e);
        if (!leads_back(arena, record, host_path))
                return worktree_refuse(outside, "it has no record of a linked worktree here", e);
        ret->common = strip_record(arena, record);
        inside = strip_record(arena, inside);
        if (!ret->common || !inside || path_read_absolute(arena, inside, &ret->at) != PATH_GOOD)
                return worktree_refuse(outside, "it has another form than git gives it", e);
        ret->index = arena_format(arena, "worktrees%s/index", strrchr(record, '/'));
        return ret->index ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}
