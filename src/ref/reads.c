/*
 * ref/reads.c - the list of files that were read to judge a manifest.
 *
 * Room: ref (acting). Touches: names of the file system (looking only).
 * Theory: a path is walked as the kernel walks it, one piece after another, so that each link on
 * the way is seen. A link that the payload could replace would lead the next judgement to another
 * file, as surely as a changed file would.
 */
#include "ref/reads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, LINKS_MAX = 40 };

struct walking {
        char at[PATH_ROOM];   /* where the walk is: absolute, without links; "" is the root */
        char rest[PATH_ROOM]; /* what is still to be walked */
        unsigned links;
};

static int
keep(struct ref_reads *reads, struct arena *arena, const char *path, struct error *e)
{
        const char *copy;

        for (size_t i = 0; i < reads->count; i++)
                if (strcmp(reads->paths[i], path) == 0)
                        return 0;
        if (reads->count == REF_READS_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "more than %d files were read to judge one manifest", REF_READS_MAX);
        copy = arena_text(arena, path);
        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for the list of files read");
        reads->paths[reads->count++] = copy;
        return 0;
}

static int
too_long(const char *path, struct error *e)
{
        return fail_sys(e, ERROR_FILE_UNREADABLE, ENAMETOOLONG, "walking %.200s", path);
}

/* Where a relative path begins. */
static int
begin(struct walking *w, int directory, const char *path, struct error *e)
{
        char link[64];
        ssize_t len;

        w->links = 0;
        w->at[0] = '\0';
        if (snprintf(w->rest, sizeof w->rest, "%s", path) >= (int)sizeof w->rest)
                return too_long(path, e);
        if (path[0] == '/')
                return 0;
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        len = readlink(directory == AT_FDCWD ? "/proc/self/cwd" : link, w->at, sizeof w->at);
        if (len <= 0 || (size_t)len >= sizeof w->at)
                return fail_sys(e, ERROR_FILE_UNREADABLE, len < 0 ? errno : ENAMETOOLONG,
                                "reading the path of a directory back");
        w->at[len == 1 ? 0 : len] = '\0';
        return 0;
}

/* Takes the next piece off the rest; false at the end. */
static bool
next_piece(struct walking *w, char piece[PATH_ROOM])
{
        size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/");

        memcpy(piece, w->rest + skip, len);
        piece[len] = '\0';
        memmove(w->rest, w->rest + skip + len, strlen(w->rest + skip + len) + 1);
        return len > 0;
}

static int
follow(struct walking *w, const char *link, struct error *e)
{
        char target[PATH_ROOM], joined[2 * PATH_ROOM];
        ssize_t len = readlink(link, target, sizeof target);

        if (len <= 0 || (size_t)len >= sizeof target || ++w->links > LINKS_MAX)
                return fail_sys(e, ERROR_FILE_UNREADABLE, len < 0 ? errno : ELOOP,
                                "following %.200s", link);
        target[len] = '\0';
        if (target[0] == '/')
                w->at[0] = '\0';
        (void)snprintf(joined, sizeof joined, "%s/%s", target, w->rest);
        if (strlen(joined) >= sizeof w->rest)
                return too_long(link, e);
        memcpy(w->rest, joined, strlen(joined) + 1);
        return 0;
}

/* One piece further. A name that is not there ends the walk: the rest follows as it is written. */
static int
step(struct walking *w, const char *piece, struct ref_reads *reads, struct arena *arena,
     struct error *e)
{
        static char here[2 * PATH_ROOM]; /* as in ref_reads_add() */
        struct stat st;

        if (strcmp(piece, ".") == 0)
                return 0;
        if (strcmp(piece, "..") == 0) {
                char *slash = strrchr(w->at, '/');

                if (slash)
                        *slash = '\0';
                return 0;
        }
        (void)snprintf(here, sizeof here, "%s/%s", w->at, piece);
        if (strlen(here) >= sizeof w->at)
                return too_long(here, e);
        if (lstat(here, &st) == 0 && S_ISLNK(st.st_mode))
                return keep(reads, arena, here, e) < 0 ? -1 : follow(w, here, e);
        memcpy(w->at, here, strlen(here) + 1);
        return 0;
}

int
ref_reads_add(struct ref_reads *reads, struct arena *arena, int directory, const char *path, int fd,
              struct error *e)
{
        /* not on the stack, where the compiler clears them for each call */
        static struct walking w;
        static char piece[PATH_ROOM];
        struct stat opened, found;

        if (!reads)
                return 0;
        if (begin(&w, directory, path, e) < 0)
                return -1;
        while (next_piece(&w, piece))
                if (step(&w, piece, reads, arena, e) < 0)
                        return -1;
        /* A file without a name, as a shell makes them for `<<END`, cannot be reached by a name
         * either. */
        if (fd >= 0 && fstat(fd, &opened) == 0 && opened.st_nlink == 0)
                return 0;
        if (fd >= 0 && (fstat(fd, &opened) < 0 || lstat(w.at, &found) < 0 ||
                        opened.st_dev != found.st_dev || opened.st_ino != found.st_ino))
                return fail_at(e, ERROR_FILE_UNREADABLE, "", "changed",
                               "\"%.200s\" was replaced while it was read", path);
        return keep(reads, arena, w.at, e);
}

const char *
ref_reads_below(const char *path, const char *workspace)
{
        size_t len = workspace ? strlen(workspace) : 0;

        return len > 1 && strncmp(path, workspace, len) == 0 && path[len] == '/' ? path + len + 1
                                                                                 : path;
}
