/*
 * maker/below.c - judges protected names below the top of a host directory that a command created.
 *
 * Room: maker (program). Touches: fd, names beneath a source, the sandbox's keeping.
 * Theory: a name that is not in the table costs no system call; for one that is, its inode is
 * checked first. The surroundings (a package, a repository) are examined only before a move. So a
 * tree without such names costs nothing, and an unchanged tree one fstatat() per name.
 */
#include "maker/below.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "maker/beneath.h"
#include "maker/gitdir.h"
#include "maker/gitlinks.h"
#include "plan/protect.h"

enum { PATH_ROOM = BENEATH_PATH_ROOM, WITHIN_ENTRIES_MAX = 256, WITHIN_DEPTH_MAX = 3 };

/* -- what a name is ---------------------------------------------------------------------------- */

static bool
has(const struct below *b, char letter, const char *path)
{
        return gitlinks_has(b->list, b->list_len, letter, path);
}

static bool
is_opened(const struct below *b, const char *path)
{
        for (const char *at = b->list, *end = at + b->list_len; at < end; at += strlen(at) + 1) {
                size_t len = strlen(at) - 1;

                if (at[0] == 'o' && strncmp(at + 1, path, len) == 0 &&
                    (path[len] == '\0' || path[len] == '/'))
                        return true;
        }
        return false;
}

/* A name in another case counts only if the file system ignores case. */
static bool
is_name(int dir, const char *name, const char *wanted, const struct stat *st)
{
        struct stat other;

        return strcmp(name, wanted) == 0 ||
               (fstatat(dir, wanted, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
                other.st_dev == st->st_dev && other.st_ino == st->st_ino);
}

static bool
is_later(const struct stat *st, const struct timespec *moment)
{
        return (moment->tv_sec != 0 || moment->tv_nsec != 0) &&
               (st->st_ctim.tv_sec > moment->tv_sec ||
                (st->st_ctim.tv_sec == moment->tv_sec && st->st_ctim.tv_nsec > moment->tv_nsec));
}

/*
 * A ctime is the last tick of a clock. An inode with the tick of the beginning was created by the
 * command or just before it.
 */
static bool
is_doubtful(const struct below *b, const struct stat *st)
{
        return (b->begun.tv_sec != 0 || b->begun.tv_nsec != 0) && !is_later(st, &b->begun);
}

/* Changed while the payload had no process: the host did it, and no command touched it later. */
static bool
is_of_host(const struct below *b, const struct stat *st)
{
        if (is_later(st, &b->rested))
                return true;
        for (size_t i = 0; i < b->pause_count; i++)
                if (is_later(st, &b->pauses[i].from) && !gitdir_is_since(st, &b->pauses[i].until))
                        return true;
        return false;
}

/* Changed by a command, as far as can be seen. */
static bool
is_changed_by_command(const struct below *b, const struct stat *st)
{
        return gitdir_is_since(st, &b->since) && !is_of_host(b, st);
}

/*
 * Did a command change any entry of the directory since then? The search is bounded and may miss
 * entries beyond the bound.
 */
static bool
is_changed_within(const struct below *b, int dir, const char *name, unsigned depth, unsigned *left,
                  uint64_t *evidence)
{
        _Alignas(8) char entries[2048];
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        bool is_changed = false;
        long got;

        while (fd >= 0 && *left > 0 &&
               (got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
                for (long at = 0; at<got && * left> 0;) {
                        const struct kept_dirent *d =
                                (const struct kept_dirent *)(const void *)(entries + at);
                        struct stat st;

                        at += d->len;
                        if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0 ||
                            fstatat(fd, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                                continue;
                        --*left;
                        if (is_changed_by_command(b, &st) && !is_doubtful(b, &st)) {
                                *evidence = told_mix(*evidence, &st);
                                is_changed = true;
                        }
                        if (S_ISDIR(st.st_mode) && depth < WITHIN_DEPTH_MAX &&
                            is_changed_within(b, fd, d->name, depth + 1, left, evidence))
                                is_changed = true;
                }
        if (fd >= 0)
                (void)close(fd);
        return is_changed;
}

/* -- where a name is --------------------------------------------------------------------------- */

/*
 * A directory `vendor` belongs to a package manager if it has that manager's files (Go, Composer)
 * or a package's (Cargo).
 */
static bool
is_vendor(const struct below *b, const char *vendor, size_t len)
{
        static const char *const marks[] = { "modules.txt", "autoload.php" };
        const char *package = vendor + len;
        char path[PATH_ROOM];
        struct stat st;
        bool is_one = false;
        int dir;

        (void)snprintf(path, sizeof path, "%.*s", (int)len - 1, vendor);
        dir = beneath_open(b->source, path, O_PATH);
        for (size_t i = 0; i < sizeof marks / sizeof *marks && dir >= 0; i++)
                is_one = is_one || (fstatat(dir, marks[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                                    S_ISREG(st.st_mode));
        if (dir >= 0)
                (void)close(dir);
        (void)snprintf(path, sizeof path, "%.*s", (int)(len + strcspn(package, "/")), vendor);
        dir = is_one ? -1 : beneath_open(b->source, path, O_PATH);
        is_one = is_one ||
                 (dir >= 0 && fstatat(dir, ".cargo-checksum.json", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                  S_ISREG(st.st_mode));
        if (dir >= 0)
                (void)close(dir);
        return is_one;
}

/*
 * Is the directory below one that holds installed packages? That directory itself does not count.
 */
static bool
is_in_packages(const struct below *b, const char *path)
{
        static const char *const holders[] = { "node_modules/",    "site-packages/",
                                               "dist-packages/",   "bower_components/",
                                               "vendor/bundle/",   "pkg/mod/",
                                               ".cargo/registry/", "vendor/" };

        for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
                for (const char *at = path; (at = strstr(at, holders[i])) != NULL; at++) {
                        size_t len = (size_t)(at - path) + strlen(holders[i]);

                        if ((at == path || at[-1] == '/') &&
                            (strcmp(holders[i], "vendor/") != 0 || is_vendor(b, path, len)))
                                return true;
                }
        return false;
}

static bool
is_repository(int dir)
{
        char words[GITDIR_PATH_ROOM];
        struct stat st, head;
        bool is_one;
        int git;

        if (fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        if (!S_ISDIR(st.st_mode))
                return S_ISLNK(st.st_mode) || gitdir_read_link(dir, ".git", words) == 0;
        git = openat(dir, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        is_one = git >= 0 && fstatat(git, "HEAD", &head, AT_SYMLINK_NOFOLLOW) == 0;
        if (git >= 0)
                (void)close(git);
        return is_one;
}

static bool
is_repository_at(const struct below *b, const char *path)
{
        int dir = beneath_open(b->source, path, O_PATH);
        bool is_one = dir >= 0 && is_repository(dir);

        if (dir >= 0)
                (void)close(dir);
        return is_one;
}

/* A repository other than the top's, if that was there at the start. */
static bool
is_in_repository(struct below *b, const char *path)
{
        char way[PATH_ROOM];
        bool is_one = !has(b, 'k', ".git") && is_repository_at(b, "");

        if (b->is_asked && strcmp(b->asked, path) == 0)
                return b->was_in_repository;
        for (const char *at = path; !is_one && *at != '\0'; at += *at == '/') {
                at += strcspn(at, "/");
                (void)snprintf(way, sizeof way, "%.*s", (int)(at - path), path);
                is_one = is_repository_at(b, way);
        }
        (void)snprintf(b->asked, sizeof b->asked, "%s", path);
        b->is_asked = true;
        b->was_in_repository = is_one;
        return is_one;
}

/* -- what is done with a name ------------------------------------------------------------------ */

static void
fold(struct below *b, enum below_kind kind, const char *path, uint64_t evidence,
     const struct stat *st)
{
        struct below_fold *f = &b->folds[kind];
        char whole[2 * PATH_ROOM];
        size_t len;

        f->evidence = told_mix(f->evidence ^ evidence, st);
        if (f->count++ == 0) {
                (void)snprintf(whole, sizeof whole, "%s/%s", b->path, path);
                len = strlen(whole);
                (void)snprintf(f->first, sizeof f->first, "%s",
                               whole + (len < sizeof f->first ? 0 : len - sizeof f->first + 1));
                return;
        }
        len = strlen(path);
        if (strchr(path, '\n') || f->more_len + len + 2 > sizeof f->more)
                return; /* only counted */
        f->more_len += (size_t)snprintf(f->more + f->more_len, sizeof f->more - f->more_len, "%s%s",
                                        f->more_len > 0 ? "\n" : "", path);
}

static void
send(const struct below *b, unsigned what, int sys, const char *path, const char *kept)
{
        struct wire_kept news = { .what = what, .sys = sys };
        size_t len, kept_len = strlen(kept);
        char whole[2 * PATH_ROOM];

        (void)snprintf(whole, sizeof whole, "%s/%s", b->path, path);
        len = strlen(whole);
        (void)snprintf(news.name, sizeof news.name, "%s",
                       whole + (len < sizeof news.name ? 0 : len - sizeof news.name + 1));
        (void)snprintf(news.kept, sizeof news.kept, "%s",
                       kept + (kept_len < sizeof news.kept ? 0 : kept_len - sizeof news.kept + 1));
        if (b->report)
                b->report(&news);
}

/*
 * The command may have removed the owner's access to the directory: the mode is changed for this
 * one rename.
 */
static int
take(struct below *b, int dir, const char *name, const char *path, const struct stat *parent,
     const struct stat *judged, char kept[KEPT_PATH_ROOM])
{
        bool is_closed = (parent->st_mode & 0300) != 0300;
        char link[64];
        int result;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        if (is_closed)
                /* if it fails, so does the rename */
                (void)chmod(link, (parent->st_mode & 07777) | 0300);
        result = kept_take(b->places, b->source, b->index, dir, name, path, judged, kept);
        if (is_closed)
                (void)chmod(link, parent->st_mode & 07777);
        return result;
}

static bool
move(struct below *b, int dir, const char *name, const char *path, const struct stat *parent,
     const struct stat *judged)
{
        bool is_strict = has(b, 's', "");
        char kept[KEPT_PATH_ROOM] = "";
        struct stat owner;
        int result = b->moves < BELOW_MOVES_MAX ? take(b, dir, name, path, parent, judged, kept)
                                                : -EDQUOT;

        if (result == -ENOENT)
                return false; /* a later look finds the name that is there now */
        if (result < 0) {
                /* Report only the first name above the limit. The payload did not create names
                 * that belong to another user. */
                if (b->moves <= BELOW_MOVES_MAX)
                        send(b, KEPT_STUCK, -result, path, "");
                b->moves = result == -EDQUOT ? BELOW_MOVES_MAX + 1 : b->moves + 1;
                b->must_kill = b->must_kill || fstat(b->source, &owner) < 0 ||
                               owner.st_uid == judged->st_uid;
                return false;
        }
        b->moves++;
        send(b, is_strict ? KEPT_STRICT : KEPT_MOVED, 0, path, kept);
        b->must_kill = b->must_kill || is_strict;
        return true;
}

void
below_begin(struct below *b)
{
        b->moves = 0;
        b->closed = 0;
        b->must_kill = b->is_asked = false;
        memset(b->folds, 0, sizeof b->folds);
}

bool
below_meet(struct below *b, int dir, const char *path, const char *name)
{
        const struct protect_row *row = protect_find_deep(name, strlen(name));
        unsigned left = WITHIN_ENTRIES_MAX;
        char whole[PATH_ROOM];
        struct stat st, parent;
        uint64_t evidence = 0;
        bool is_changed;

        if (!row || !beneath_join(whole, path, name) || is_opened(b, whole) || has(b, 't', whole) ||
            has(b, 'h', whole))
                return false;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || fstat(dir, &parent) < 0) {
                if (errno == EACCES)
                        below_be_closed(b, path);
                return false;
        }
        if (!is_name(dir, name, row->path, &st))
                return false;
        is_changed = is_changed_by_command(b, &st);
        if (!(S_ISDIR(st.st_mode) && is_changed_within(b, dir, name, 0, &left, &evidence)) &&
            !is_changed)
                return false;
        if (!is_changed || is_doubtful(b, &st) || !gitdir_is_since(&parent, &b->since) ||
            has(b, 'T', ""))
                fold(b, BELOW_CHANGED, whole, evidence, &st);
        else if (is_in_packages(b, path))
                fold(b, BELOW_PACKAGE, whole, evidence, &st);
        else if (is_in_repository(b, path))
                fold(b, BELOW_REPOSITORY, whole, evidence, &st);
        else
                return move(b, dir, name, whole, &parent, &st);
        return false;
}

static void
compare(struct below *b, const char *path)
{
        const char *slash = strrchr(path, '/'), *name;
        unsigned left = WITHIN_ENTRIES_MAX;
        char directory[PATH_ROOM];
        uint64_t evidence = 0;
        struct stat st;
        int dir;

        (void)snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) : 0, path);
        dir = beneath_open(b->source, directory, O_PATH);
        name = slash ? slash + 1 : path;
        if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            ((S_ISDIR(st.st_mode) && is_changed_within(b, dir, name, 0, &left, &evidence)) ||
             (is_changed_by_command(b, &st) && !is_doubtful(b, &st))))
                fold(b, BELOW_CHANGED, path, evidence, &st);
        if (dir >= 0)
                (void)close(dir);
}

void
below_compare(struct below *b)
{
        for (const char *at = b->list, *end = at + b->list_len; at < end; at += strlen(at) + 1)
                if (at[0] == 't' && !is_opened(b, at + 1))
                        compare(b, at + 1);
}

void
below_be_closed(struct below *b, const char *path)
{
        int dir = beneath_open(b->source, path, O_PATH);
        struct stat st = { .st_ino = 0 };

        /* A directory above it is closed: that one is reported. */
        if (dir < 0)
                return;
        if (fstat(dir, &st) == 0 && gitdir_is_since(&st, &b->since) && st.st_ino != b->closed)
                fold(b, BELOW_CLOSED, path, 0, &st);
        b->closed = st.st_ino;
        (void)close(dir);
}

void
below_end(struct below *b)
{
        static const unsigned words[BELOW_KINDS] = { KEPT_CHANGED_BELOW, KEPT_PACKAGES, KEPT_WITHIN,
                                                     KEPT_CLOSED };

        for (unsigned i = 0; i < BELOW_KINDS; i++) {
                const struct below_fold *f = &b->folds[i];
                struct wire_kept news = { .what = words[i] };

                (void)snprintf(news.name, sizeof news.name, "%s", f->first);
                (void)snprintf(news.kept, sizeof news.kept, "%s", f->more);
                (void)snprintf(news.key, sizeof news.key, "%u", f->count);
                if (f->count > 0 && !told_before(b->told, &news, f->evidence) && b->report)
                        b->report(&news);
        }
}
