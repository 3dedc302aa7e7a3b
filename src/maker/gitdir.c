/*
 * maker/gitdir.c - examines one repository in a host directory. Was it created or changed since a
 * given time, and what would the host's git run in it?
 *
 * Room: maker (program). Touches: fd, files of one repository.
 * Theory: names and times are examined here; a child that can only answer parses text (confined.h).
 */
#include "maker/gitdir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "git/config.h"
#include "maker/config.h"
#include "maker/confined.h"
#include "maker/told.h"

enum { LINK_MAX_BYTES = 8192, COARSE_S = 2 };

/* The hooks of githooks(5). */
static const char *const hooks[] = {
        "applypatch-msg",
        "pre-applypatch",
        "post-applypatch",
        "pre-commit",
        "pre-merge-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "pre-rebase",
        "post-checkout",
        "post-merge",
        "pre-push",
        "pre-receive",
        "update",
        "proc-receive",
        "post-receive",
        "post-update",
        "reference-transaction",
        "push-to-checkout",
        "pre-auto-gc",
        "post-rewrite",
        "sendemail-validate",
        "fsmonitor-watchman",
        "p4-changelist",
        "p4-prepare-changelist",
        "p4-post-changelist",
        "p4-pre-submit",
        "post-index-change",
};

static struct config text; /* 64 KiB: the current file */

bool
gitdir_is_since(const struct stat *st, const struct timespec *since)
{
        if (st->st_ctim.tv_nsec == 0)
                return st->st_ctim.tv_sec + COARSE_S >= since->tv_sec;
        return st->st_ctim.tv_sec > since->tv_sec ||
               (st->st_ctim.tv_sec == since->tv_sec && st->st_ctim.tv_nsec >= since->tv_nsec);
}

static bool
is_name_since(int dir, const char *name, const struct timespec *since, uint64_t *evidence)
{
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        *evidence = told_mix(*evidence, &st);
        return gitdir_is_since(&st, since);
}

static bool
is_there(int dir, const char *name)
{
        struct stat st;

        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
add(char *runs, const char *word, const char *more)
{
        size_t len = strlen(runs), word_len = strlen(word), more_len = strlen(more);

        if (len + word_len + more_len + 2 > GITDIR_RUNS_ROOM)
                return;
        if (len > 0)
                runs[len++] = '\n';
        memcpy(runs + len, word, word_len); /* lint: its end is copied below */
        memcpy(runs + len + word_len, more, more_len + 1);
}

/* -- configuration ----------------------------------------------------------------------------- */

static size_t
list_runs(const void *about, void *ret)
{
        return git_config_runs(text.bytes, text.len,
                               (*(const unsigned *)about & GITDIR_SUBMODULE) != 0, ret,
                               GITDIR_RUNS_ROOM) +
               1;
}

static void
add_config(int git, const char *name, unsigned flags, char *runs)
{
        char found[GITDIR_RUNS_ROOM] = "";
        int result = guarded_config_read(git, name, &text);

        if (result == 0 && !text.is_there)
                return;
        if (result < 0 || confined_ask(list_runs, &flags, found, sizeof found) <= 0)
                memcpy(found, "config", sizeof "config");
        found[sizeof found - 1] = '\0';
        for (char *at = found, *end; *at != '\0'; at = end) {
                end = at + strcspn(at, "\n");
                if (*end == '\n')
                        *end++ = '\0';
                add(runs, at, "");
        }
}

/* -- hooks ------------------------------------------------------------------------------------- */

/*
 * Adds the hooks that git would run. Returns whether one of them, or the directory, changed since.
 */
static bool
add_hooks(int git, const struct timespec *since, char *runs, uint64_t *evidence)
{
        struct stat st;
        bool is_since;
        int dir;

        if (fstatat(git, "hooks", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        is_since = gitdir_is_since(&st, since);
        *evidence = told_mix(*evidence, &st);
        if (S_ISLNK(st.st_mode))
                add(runs, "hooks", "");
        dir = openat(git, "hooks", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        for (size_t i = 0; dir >= 0 && i < sizeof hooks / sizeof *hooks; i++) {
                if (fstatat(dir, hooks[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    !(S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0)))
                        continue;
                add(runs, "hooks/", hooks[i]);
                is_since |= gitdir_is_since(&st, since);
                *evidence = told_mix(*evidence, &st);
        }
        if (dir >= 0)
                (void)close(dir);
        return is_since;
}

/* -- the whole --------------------------------------------------------------------------------- */

/* Git itself writes "../.." for a linked worktree. */
static bool
leads_elsewhere(int git, unsigned flags)
{
        int result = guarded_config_read(git, "commondir", &text);

        if (result == 0 && !text.is_there)
                return false;
        return (flags & GITDIR_WORKTREE) == 0 || result < 0 || text.len < 5 || text.len > 6 ||
               memcmp(text.bytes, "../..\n", text.len) != 0;
}

void
gitdir_look(int git, const struct timespec *since, unsigned flags, bool is_moved,
            struct gitdir *ret)
{
        char hooked[GITDIR_RUNS_ROOM] = "";
        uint64_t evidence = 0;
        bool is_config = is_name_since(git, "config", since, &evidence),
             is_head = is_name_since(git, "HEAD", since, &evidence),
             is_worktree = is_name_since(git, "config.worktree", since, &evidence),
             is_common = is_name_since(git, "commondir", since, &evidence);

        *ret = (struct gitdir){ .runs = "" };
        ret->is_new = is_moved && is_head && (is_config || !is_there(git, "config"));
        ret->is_changed = add_hooks(git, since, hooked, &evidence);
        ret->is_changed |= is_config || is_worktree || is_common;
        ret->evidence = evidence;
        if (!ret->is_changed && !is_moved)
                return;
        add_config(git, "config", flags, ret->runs);
        add_config(git, "config.worktree", flags, ret->runs);
        if (leads_elsewhere(git, flags))
                add(ret->runs, "commondir", "");
        if (hooked[0] != '\0')
                add(ret->runs, hooked, "");
}

/* -- files that point to a repository ---------------------------------------------------------- */

static size_t
take_path(const void *about, void *ret)
{
        size_t len = 8, end;

        (void)about;
        if (text.len <= 8 || text.len > LINK_MAX_BYTES || memcmp(text.bytes, "gitdir: ", 8) != 0)
                return 0;
        for (end = len; end < text.len && text.bytes[end] != '\n' && text.bytes[end] != '\r' &&
                        text.bytes[end] != '\0';
             end++)
                continue;
        if (end - len >= GITDIR_PATH_ROOM)
                return 0;
        memcpy(ret, text.bytes + len, end - len);
        ((char *)ret)[end - len] = '\0';
        return end - len + 1;
}

int
gitdir_read_link(int dir, const char *name, char *ret)
{
        ssize_t got;

        if (guarded_config_read(dir, name, &text) < 0 || !text.is_there)
                return -1;
        got = confined_ask(take_path, NULL, ret, GITDIR_PATH_ROOM);
        return got > 1 && ret[got - 1] == '\0' ? 0 : -1;
}
