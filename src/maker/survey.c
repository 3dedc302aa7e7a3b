/*
 * maker/survey.c - finds repositories and names that a command created or changed in a host
 * directory.
 *
 * Room: maker (program). Touches: fd, names beneath a source (reading; below.c moves some), clock.
 *
 *     index of the top, if it changed --> gitlinks that are new --+
 *     .git/modules of the top --> submodules ---------------------+--> gitdir.h: new or changed?
 * what would git run? --> reported every directory, breadth first --> .git, or a bare one -----+
 *                   +--> .envrc, .vscode, ... (below.h) --> moved or reported
 *
 * Theory: of the start only the time is kept. Whatever was created since has a ctime that is not
 * before it, under any name, and a command cannot set a ctime. So a start costs nothing. A
 * directory that did not change and has no subdirectories is not even opened.
 */
#include "maker/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "clock/clock.h"
#include "git/path.h"
#include "maker/below.h"
#include "maker/beneath.h"
#include "maker/gitdir.h"
#include "maker/gitlinks.h"
#include "maker/kept.h"
#include "maker/kernel.h"
#include "maker/owner.h"

enum {
        PIECE_ROOM = 256,
        PATH_ROOM = BENEATH_PATH_ROOM,
        MODULES_DEPTH = 6,
        LOOKS_PER_CLOCK = 64,
        ENTRIES_ROOM = 32 << 10,
        ENTRY_ROOM = 300
};
enum {
        EXT_MAGIC = 0xef53,
        XFS_MAGIC = 0x58465342,
        TMPFS_MAGIC = 0x01021994,
        F2FS_MAGIC = (int)0xf2f52010
};

struct looking {
        struct survey *s;
        const struct survey_source *source;
        struct timespec since;
        uint64_t until;                      /* boot clock */
        unsigned directories, reports, told; /* so far; `told` counts the list below */
        bool is_partial;                     /* something was left out, but the look continues */
        uint64_t seen[SURVEY_REPORTS_MAX];   /* marks of the repositories that were reported */
        bool has_counts;                     /* the file system counts directories in st_nlink */
        bool is_cut;                         /* a bound was reached */
};

static struct below below;

/* Directories still to search: one path after the other, "" first. */
static char names[SURVEY_NAMES_MAX];
static size_t names_len;

/* -- names ------------------------------------------------------------------------------------- */

static bool
has(const struct survey_source *source, char letter, const char *path)
{
        return gitlinks_has(source->list, source->list_len, letter, path);
}

static bool
is_opened(const struct survey_source *source, const char *path)
{
        for (const char *at = source->list, *end = at + source->list_len; at < end;
             at += strlen(at) + 1) {
                size_t len = strlen(at) - 1;

                if (at[0] == 'o' && strncmp(at + 1, path, len) == 0 &&
                    (path[len] == '\0' || path[len] == '/'))
                        return true;
        }
        return false;
}

static bool
is_since(const struct looking *l, int dir, const char *name)
{
        struct stat st;

        return fstatat(dir, name, &st,
                       AT_SYMLINK_NOFOLLOW | (name[0] == '\0' ? AT_EMPTY_PATH : 0)) == 0 &&
               gitdir_is_since(&st, &l->since);
}

/* Is the look over? */
static bool
is_over(struct looking *l)
{
        if (!l->is_cut && l->directories % LOOKS_PER_CLOCK == 0 && clock_boot_ms() >= l->until)
                l->is_cut = true;
        return l->is_cut;
}

/* No more repositories are reported; names are still searched. */
static bool
has_enough(const struct looking *l)
{
        return l->reports > SURVEY_REPORTS_MAX;
}

static bool
count_directory(struct looking *l)
{
        if (is_over(l))
                return false;
        l->is_cut = l->directories == SURVEY_DIRECTORIES_MAX;
        l->directories += !l->is_cut;
        return !l->is_cut;
}

/* -- reporting --------------------------------------------------------------------------------- */

static void
send(const struct looking *l, unsigned what, const char *path, const char *runs, uint64_t evidence)
{
        struct wire_kept news = { .what = what };
        char whole[2 * PATH_ROOM];
        size_t len;

        (void)snprintf(whole, sizeof whole, "%s%s%s", l->source->path, path[0] != '\0' ? "/" : "",
                       path);
        len = strlen(whole);
        (void)snprintf(news.name, sizeof news.name, "%s",
                       whole + (len < sizeof news.name ? 0 : len - sizeof news.name + 1));
        if (what != KEPT_BOUND)
                (void)snprintf(news.kept, sizeof news.kept, "%s", runs);
        if (told_before(&l->s->told, &news, evidence))
                return;
        (void)snprintf(news.kept, sizeof news.kept, "%s", runs);
        if (l->s->report)
                l->s->report(&news);
}

/*
 * Once for each repository: it may be found by its name, through a gitlink and through a file that
 * points to it.
 */
static bool
is_told(struct looking *l, const char *git)
{
        uint64_t mark = UINT64_C(14695981039346656037);

        for (const char *at = git; *at != '\0'; at++)
                mark = (mark ^ (unsigned char)*at) * UINT64_C(1099511628211);
        for (unsigned i = 0; i < l->told; i++)
                if (l->seen[i] == mark)
                        return true;
        if (l->told < SURVEY_REPORTS_MAX)
                l->seen[l->told++] = mark;
        return false;
}

/* `path` is the path for the report, `git` the repository's directory in the source. */
static void
report(struct looking *l, unsigned what, const char *path, const char *git,
       const struct gitdir *found)
{
        if (is_told(l, git))
                return;
        if (l->reports++ < SURVEY_REPORTS_MAX)
                send(l, what, path, found->runs, found->evidence);
}

/* -- repositories ------------------------------------------------------------------------------ */

/* Judges a directory that is a repository, or could become one. */
static void
judge(struct looking *l, unsigned what, const char *path, int git, unsigned flags, bool is_moved)
{
        struct gitdir found;

        if (has_enough(l) || has(l->source, 'k', path))
                return;
        gitdir_look(git, &l->since, flags, is_moved, &found);
        /* A new `.git` at the top was already reported when it was created (guard.h). */
        if (found.runs[0] != '\0' || (found.is_new && strcmp(path, ".git") != 0))
                report(l, what, path, path, &found);
}

/* `.git` in the directory `dir` is a file or a link that points git to a repository. */
static void
judge_link(struct looking *l, int dir, const char *path, const struct stat *st)
{
        char name[PATH_ROOM], words[PATH_ROOM], target[PATH_ROOM];
        bool is_new = gitdir_is_since(st, &l->since);
        struct gitdir found = { .runs = "" };
        ssize_t len = S_ISLNK(st->st_mode) ? readlinkat(dir, ".git", words, sizeof words - 1)
                      : gitdir_read_link(dir, ".git", words) < 0 ? -1
                                                                 : (ssize_t)strlen(words);
        int git;

        if (!beneath_join(name, path, ".git") || (len < 0 && S_ISLNK(st->st_mode)))
                return;
        if (len > 0)
                words[len] = '\0';
        if (len > 0 && git_path_resolve(l->source->path, path, words, target, sizeof target) &&
            !has(l->source, 'k', target)) {
                bool is_worktree = strncmp(target, ".git/worktrees/", 15) == 0;

                git = beneath_open(l->source->dir, target, O_PATH);
                if (git >= 0) {
                        gitdir_look(git, &l->since,
                                    (is_worktree ? GITDIR_WORKTREE : 0u) | GITDIR_SUBMODULE, is_new,
                                    &found);
                        (void)close(git);
                }
        }
        found.evidence = told_mix(found.evidence, st);
        if (is_new || found.is_changed)
                report(l, KEPT_GITFILE, name, name, &found);
}

/* The repository that git finds when it runs in the directory `dir`. */
static void
judge_top(struct looking *l, unsigned what, int dir, const char *path)
{
        char name[PATH_ROOM];
        struct stat st;
        int git;

        if (has_enough(l) || fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !beneath_join(name, path, ".git"))
                return;
        if (S_ISLNK(st.st_mode) || S_ISREG(st.st_mode)) {
                judge_link(l, dir, path, &st);
                return;
        }
        git = S_ISDIR(st.st_mode)
                      ? openat(dir, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                      : -1;
        if (git < 0)
                return;
        judge(l, what, name, git, 0, gitdir_is_since(&st, &l->since) && is_since(l, dir, ""));
        (void)close(git);
}

/* -- gitlinks ---------------------------------------------------------------------------------- */

/* `git status` at the top enters it. */
static void
judge_gitlink(struct looking *l, const char *path, const struct stat *index)
{
        struct gitdir found = { .runs = "" };
        char git[PATH_ROOM], words[PATH_ROOM], target[PATH_ROOM];
        int dir = beneath_open(l->source->dir, path, O_PATH), fd = -1;
        bool is_file = dir >= 0 && gitdir_read_link(dir, ".git", words) == 0;

        if (is_opened(l->source, path) || !beneath_join(git, path, ".git")) {
                if (dir >= 0)
                        (void)close(dir);
                return;
        }
        if (is_file && git_path_resolve(l->source->path, path, words, target, sizeof target))
                fd = beneath_open(l->source->dir, target, O_PATH);
        else if (dir >= 0)
                fd = openat(dir, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) {
                gitdir_look(fd, &l->since, GITDIR_SUBMODULE, true, &found);
                (void)close(fd);
        }
        if (dir >= 0)
                (void)close(dir);
        found.evidence = told_mix(found.evidence, index);
        report(l, KEPT_GITLINK, path, git, &found);
        if (is_file && fd >= 0)
                (void)is_told(l, target);
}

static void
compare_links(struct looking *l, int git)
{
        static struct gitlinks links;
        struct gitdir found = { .runs = "" };
        struct stat index;

        if (fstatat(git, "index", &index, AT_SYMLINK_NOFOLLOW) < 0 ||
            !gitdir_is_since(&index, &l->since))
                return;
        found.evidence = told_mix(0, &index);
        if (has(l->source, 'L', ""))
                links.len = links.is_whole = 0;
        else
                gitlinks_read(git, l->source->list, l->source->list_len, &links);
        for (unsigned at = 0; at < links.len && !is_over(l) && !has_enough(l);
             at += (unsigned)strlen(links.names + at) + 1)
                judge_gitlink(l, links.names + at, &index);
        if (!links.is_whole)
                report(l, KEPT_INDEX, ".git/index", ".git/index", &found);
}

/* -- submodules -------------------------------------------------------------------------------- */

/*
 * Recursive for a directory without HEAD, because submodule names may contain slashes. `dir` is
 * open for reading.
 */
static void
look_at_modules(struct looking *l, int dir, const char *path, unsigned depth)
{
        _Alignas(8) char entries[4096];
        long got;

        while ((got = syscall(SYS_getdents64, dir, entries, sizeof entries)) > 0)
                for (long at = 0; at < got;) {
                        const struct kept_dirent *d =
                                (const struct kept_dirent *)(const void *)(entries + at);
                        char name[PATH_ROOM];
                        struct stat st;
                        int git;

                        at += d->len;
                        if (d->name[0] == '.' || !beneath_join(name, path, d->name) ||
                            !count_directory(l))
                                continue;
                        git = openat(dir, d->name,
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
                        if (git < 0)
                                continue;
                        if (fstatat(git, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0)
                                judge(l, KEPT_SUBMODULE, name, git, GITDIR_SUBMODULE,
                                      is_since(l, git, "") && is_since(l, dir, ""));
                        else if (depth < MODULES_DEPTH)
                                look_at_modules(l, git, name, depth + 1);
                        (void)close(git);
                }
}

/* -- every directory --------------------------------------------------------------------------- */

/* In node_modules, packages are examined, but nothing deeper. */
static bool
is_package(const char *path)
{
        const char *at = path, *found = NULL;

        for (; (at = strstr(at, "node_modules/")) != NULL; at += 13)
                if (at == path || at[-1] == '/')
                        found = at + 13;
        if (!found)
                return false;
        return found[0] != '@' || strchr(found, '/') != NULL;
}

/* What the entries show about their directory. */
struct parts {
        bool has_git, has_head, has_objects, has_refs, has_common;
};

static void
note_part(struct parts *p, const char *name)
{
        p->has_git |= strcasecmp(name, ".git") == 0;
        p->has_head |= strcasecmp(name, "HEAD") == 0;
        p->has_objects |= strcasecmp(name, "objects") == 0;
        p->has_refs |= strcasecmp(name, "refs") == 0;
        p->has_common |= strcasecmp(name, "commondir") == 0;
}

/* Was it just installed by a package manager? */
static void
look_in_package(struct looking *l, int dir, const char *path, const char *name)
{
        _Alignas(8) char entries[4096];
        int fd = count_directory(l)
                         ? openat(dir, name,
                                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                         : -1;
        long got;

        while (fd >= 0 && (got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
                for (long at = 0; at < got;) {
                        const struct kept_dirent *d =
                                (const struct kept_dirent *)(const void *)(entries + at);

                        at += d->len;
                        (void)below_meet(&below, fd, path, d->name);
                }
        if (fd >= 0)
                (void)close(fd);
}

/*
 * A directory in `dir`. It is judged now if nothing in it can be new except a file `.git`;
 * otherwise it is queued.
 */
static void
meet(struct looking *l, int dir, const char *path, const char *name)
{
        char whole[PATH_ROOM];
        struct stat st, git;
        size_t len;
        int fd;

        if (!beneath_join(whole, path, name)) {
                l->is_partial = true;
                return;
        }
        if (is_opened(l->source, whole))
                return;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                if (errno == EACCES)
                        below_be_closed(&below, path);
                return;
        }
        if (!S_ISDIR(st.st_mode))
                return;
        if (is_package(whole) && gitdir_is_since(&st, &l->since))
                look_in_package(l, dir, whole, name);
        if (is_package(whole) ||
            (l->has_counts && st.st_nlink == 2 && !gitdir_is_since(&st, &l->since))) {
                char inner[PIECE_ROOM + 8];

                (void)snprintf(inner, sizeof inner, "%s/.git", name);
                if (fstatat(dir, inner, &git, AT_SYMLINK_NOFOLLOW) < 0 || !count_directory(l))
                        return;
                fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0)
                        return;
                judge_top(l, KEPT_REPOSITORY, fd, whole);
                (void)close(fd);
                return;
        }
        len = strlen(whole) + 1;
        if (names_len + len > sizeof names) {
                l->is_cut = true;
                return;
        }
        memcpy(names + names_len, whole, len);
        names_len += len;
}

static void
look_in(struct looking *l, const char *path)
{
        static _Alignas(8) char entries[ENTRIES_ROOM];
        struct parts parts = { .has_git = false };
        int dir = beneath_open(l->source->dir, path, O_RDONLY | O_NONBLOCK);
        long got = ENTRIES_ROOM;

        /* A known file system fills the buffer if it has more entries. */
        while (dir >= 0 && (!l->has_counts || got > ENTRIES_ROOM - ENTRY_ROOM) &&
               (got = syscall(SYS_getdents64, dir, entries, sizeof entries)) > 0)
                for (long at = 0; at < got;) {
                        const struct kept_dirent *d =
                                (const struct kept_dirent *)(const void *)(entries + at);

                        at += d->len;
                        if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
                                continue;
                        note_part(&parts, d->name);
                        if (path[0] != '\0' && below_meet(&below, dir, path, d->name))
                                continue;
                        if ((d->kind == 4 /* DT_DIR */ || d->kind == 0) &&
                            strcasecmp(d->name, ".git") != 0)
                                meet(l, dir, path, d->name);
                }
        if (dir == -EACCES && path[0] != '\0')
                below_be_closed(&below, path);
        if (parts.has_git && dir >= 0)
                judge_top(l, KEPT_REPOSITORY, dir, path);
        if (parts.has_head && dir >= 0 &&
            (parts.has_common || (parts.has_objects && parts.has_refs)))
                judge(l, KEPT_BARE, path, dir, 0, is_since(l, dir, ""));
        if (dir >= 0)
                (void)close(dir);
}

/* On these file systems a directory with two links has no subdirectory. */
static bool
has_counts(int dir)
{
        struct statfs fs;
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool is_known = fd >= 0 && fstatfs(fd, &fs) == 0 &&
                        ((int)fs.f_type == EXT_MAGIC || (int)fs.f_type == XFS_MAGIC ||
                         (int)fs.f_type == TMPFS_MAGIC || (int)fs.f_type == F2FS_MAGIC);

        if (fd >= 0)
                (void)close(fd);
        return is_known;
}

/*
 * Finds the source that holds the index of a linked worktree. -1: not a linked worktree, or that
 * source is not searched.
 */
static int
open_worktree(const struct looking *l)
{
        for (const char *at = l->source->list, *end = at + l->source->list_len; at < end;
             at += strlen(at) + 1)
                for (size_t i = 0; at[0] == 'w' && i < l->s->count; i++) {
                        const struct survey_source *other = &l->s->sources[i];
                        size_t len = strlen(other->path);
                        int git = strncmp(at + 1, other->path, len) == 0 && at[1 + len] == '/'
                                          ? beneath_open(other->dir, at + 1 + len + 1, O_PATH)
                                          : -1;

                        if (git >= 0)
                                return git;
                }
        return -1;
}

static void
look_at_source(struct looking *l)
{
        int git = beneath_open(l->source->dir, ".git", O_PATH);
        int modules =
                git < 0 ? -1
                        : openat(git, "modules", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        l->has_counts = has_counts(l->source->dir);
        l->told = 0;
        if (git < 0)
                git = open_worktree(l);
        if (git >= 0 && !is_opened(l->source, ".git"))
                compare_links(l, git);
        names[0] = '\0';
        names_len = 1;
        for (size_t at = 0; at < names_len && count_directory(l); at += strlen(names + at) + 1)
                look_in(l, names + at);
        if (modules >= 0 && !is_opened(l->source, ".git"))
                look_at_modules(l, modules, ".git/modules", 0);
        if (modules >= 0)
                (void)close(modules);
        if (git >= 0)
                (void)close(git);
}

/* -- the whole --------------------------------------------------------------------------------- */

/* The clock with which the kernel stamps inodes. */
static struct timespec
wall_now(void)
{
        struct timespec now = { 0, 0 };

        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return now;
}

static void
turn_to(const struct survey_source *source)
{
        below.source = source->dir;
        below.index = source->index;
        below.path = source->path;
        below.list = source->list;
        below.list_len = source->list_len;
}

void
survey_begin(struct survey *s, const struct plan_view *view, const int *sources, bool is_living)
{
        *s = (struct survey){ .since = wall_now(), .is_open = !is_living, .due_ms = UINT64_MAX };
        if (!is_living)
                (void)clock_gettime(CLOCK_REALTIME, &s->begun);
        for (uint32_t i = 0; i < view->step_count && s->count < SURVEY_SOURCES_MAX; i++) {
                struct step step = plan_view_step(view, i);
                int dir = step.op == STEP_SURVEY && step.source != STEP_NO_SOURCE
                                  ? fcntl(sources[step.source], F_DUPFD_CLOEXEC, 4)
                                  : -1;

                if (dir >= 0)
                        s->sources[s->count++] =
                                (struct survey_source){ dir, (unsigned)step.source, step.path,
                                                        step.text, step.text_len };
        }
        kept_places_read(&s->places, view);
}

static bool
is_before(const struct timespec *a, const struct timespec *b)
{
        return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* A wall clock that was set back would give what a command makes the time of a pause. */
static void
check_pauses(struct survey *s, const struct timespec *now)
{
        if (s->pause_count > 0 && is_before(now, &s->pauses[s->pause_count - 1].until))
                s->pause_count = 0;
}

/* A command begins, and the search after those before it is still due. */
static void
add_pause(struct survey *s, const struct timespec *began)
{
        check_pauses(s, began);
        if (s->rested.tv_sec != 0 && is_before(&s->rested, began) &&
            s->pause_count < SURVEY_PAUSES_MAX)
                s->pauses[s->pause_count++] = (struct below_pause){ s->rested, *began };
}

void
survey_mark(struct survey *s, const struct timespec *began)
{
        if (!s->is_open)
                s->since = *began;
        else
                add_pause(s, began);
        s->rested = (struct timespec){ 0, 0 };
        s->is_open = true;
}

void
survey_rest(struct survey *s)
{
        if (s->count == 0 || !s->is_open)
                return;
        if (s->due_ms == UINT64_MAX)
                s->due_ms = clock_boot_ms() + SURVEY_PAUSE_MS;
        /* not the coarse clock: no earlier inode has a later stamp */
        (void)clock_gettime(CLOCK_REALTIME, &s->rested);
}

void
survey_look(struct survey *s, bool is_busy)
{
        struct timespec began = wall_now(), now;
        struct looking l = { .s = s, .since = s->since, .until = clock_boot_ms() + SURVEY_MS };
        char count[16];

        (void)clock_gettime(CLOCK_REALTIME, &now);
        below_begin(&below);
        below.places = &s->places;
        below.report = s->report;
        below.told = &s->told;
        below.since = s->since;
        check_pauses(s, &now);
        below.rested = s->rested;
        below.pauses = s->pauses;
        below.pause_count = s->pause_count;
        below.begun = s->begun;
        for (size_t i = 0; i < s->count && !l.is_cut; i++) {
                l.source = &s->sources[i];
                turn_to(l.source);
                owner_enter(l.source->dir);
                below_compare(&below);
                look_at_source(&l);
                owner_leave();
        }
        below_end(&below);
        s->must_kill = s->must_kill || below.must_kill;
        (void)snprintf(count, sizeof count, "%u", l.directories);
        if (has_enough(&l))
                send(&l, KEPT_MORE, "", "", 0);
        if (l.is_cut || l.is_partial)
                send(&l, KEPT_BOUND, "", count, 0);
        if (!is_busy) { /* otherwise a command could have moved directories out of the search */
                s->since = began;
                s->pause_count = 0;
                s->told.count = 0;
        }
        s->rested = s->begun = (struct timespec){ 0, 0 };
        s->is_open = is_busy;
        s->due_ms = UINT64_MAX;
}

void
survey_end(struct survey *s)
{
        if (s->is_open)
                survey_look(s, false);
        for (size_t i = 0; i < s->count; i++)
                (void)close(s->sources[i].dir);
        s->count = 0;
}
