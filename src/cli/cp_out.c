/*
 * cli/cp_out.c - `carrel cp` out of a sandbox.
 *
 * Room: cli (joining, program). Touches: fd (files below the path that the caller names); libcarrel
 * does the rest.
 * Theory: commands inside chose names and links. Each name is one component, created beneath a
 * directory handle without following a link. A link is created only if it stays within the copy.
 * Set-id bits are never copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/write_all.h"
#include "cli/cp.h"
#include "cli/output_target.h"

enum { PART_MAX = 1000 /* entries requested at once */ };

/* -- bytes ------------------------------------------------------------------------------------- */

static int
take_bytes(struct copying *c, struct carrel_reader *r, int fd, const char *name)
{
        struct carrel_error e;
        const void *bytes;
        size_t len;
        int got;

        while ((got = carrel_reader_next(r, &bytes, &len, &e)) == 1) {
                int result = write_all(fd, bytes, len);

                if (result < 0)
                        return cp_wrong(c, -result, "writing", name);
                cp_progress(c, len);
        }
        if (got < 0)
                return cp_failed(c, &e);
        c->files++;
        return 0;
}

static unsigned
permitted_mode(unsigned mode)
{
        mode_t mask = umask(0);

        (void)umask(mask);
        return mode & 0777 & ~mask;
}

/* First written beside its place, so that a failed copy leaves the old file. */
static int
replace_file(struct copying *c, struct carrel_reader *r, int dir, const char *name)
{
        char beside[CP_PATH_MAX + 32];
        struct carrel_bytes about;
        scoped_fd int fd = -1;
        int status;

        carrel_reader_about(r, &about);
        /* without the name, which may be as long as a name can be */
        (void)snprintf(beside, sizeof beside, ".carrel-%d", (int)getpid());
        fd = openat(dir, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return cp_wrong(c, errno, "making", name);
        status = take_bytes(c, r, fd, name);
        if (status == 0 &&
            (fchmod(fd, permitted_mode(about.mode)) < 0 || renameat(dir, beside, dir, name) < 0))
                status = cp_wrong(c, errno, "putting in place", name);
        if (status != 0)
                (void)unlinkat(dir, beside, 0);
        return status;
}

static int
take_file(struct copying *c, const char *inside, int dir, const char *name)
{
        struct carrel_reader *r;
        struct carrel_error e;
        int status;

        if (carrel_reader_open(c->ask.c, c->id, inside, 0, 0, &r, &e) < 0)
                return cp_failed(c, &e);
        status = replace_file(c, r, dir, name);
        carrel_reader_free(r);
        return status;
}

/* -- directories ------------------------------------------------------------------------------- */

/*
 * Does a link in a directory `depth` levels below the copy's root stay beneath that root? ".." is
 * accepted only at its front: after a name it would start where that name leads, and a name may be
 * another link. If no single link leads out, no chain of links does.
 */
static bool
stays_within(const char *target, int depth)
{
        bool is_front = true;

        if (*target == '/' || *target == '\0')
                return false;
        for (const char *at = target; *at != '\0'; at += strspn(at, "/")) {
                size_t len = strcspn(at, "/");

                if (len == 2 && at[0] == '.' && at[1] == '.') {
                        if (!is_front || --depth < 0)
                                return false;
                } else if (!(len == 1 && at[0] == '.')) {
                        is_front = false;
                }
                at += len;
        }
        return true;
}

static bool
is_one_part(const char *name)
{
        return *name != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
               strchr(name, '/') == NULL;
}

static int take_directory(struct copying *c, const char *inside, int dir, const char *name,
                          unsigned mode, int depth);

static int
take_link(struct copying *c, const char *inside, const struct carrel_entry *entry, int dir,
          int depth)
{
        if (!stays_within(entry->target, depth)) {
                cp_leave_out(c, inside, "a link that leads out of what is copied");
                return 0;
        }
        if (unlinkat(dir, entry->path, 0) < 0 && errno != ENOENT)
                return cp_wrong(c, errno, "replacing", entry->path);
        if (symlinkat(entry->target, dir, entry->path) < 0)
                return cp_wrong(c, errno, "making the link", entry->path);
        c->files++;
        return 0;
}

static int
take_entry(struct copying *c, const char *directory, const struct carrel_entry *entry, int dir,
           int depth)
{
        char inside[CP_PATH_MAX];

        if (!is_one_part(entry->path) || cp_join(inside, directory, entry->path) < 0) {
                cp_leave_out(c, entry->path, "a name that cannot be one here");
                return 0;
        }
        if (strcmp(entry->kind, "directory") == 0)
                return take_directory(c, inside, dir, entry->path, entry->mode, depth + 1);
        if (strcmp(entry->kind, "link") == 0)
                return take_link(c, inside, entry, dir, depth);
        if (strcmp(entry->kind, "file") == 0)
                return take_file(c, inside, dir, entry->path);
        cp_leave_out(c, inside, "neither a file, a directory nor a link");
        return 0;
}

static int
open_directory(int dir, const char *name)
{
        if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
                return -1;
        return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* A directory with more names than one listing. */
static int
take_parts(struct copying *c, const char *inside, int fd, int depth)
{
        struct carrel_entries *before = NULL, *part;
        struct carrel_error e;
        const char *cursor = NULL;
        int status = 0;

        do {
                if (carrel_list_files_part(c->ask.c, c->id, inside, 1, PART_MAX, cursor, &part,
                                           &e) < 0) {
                        carrel_free(before);
                        return cp_failed(c, &e);
                }
                carrel_free(before);
                for (size_t i = 0; i < part->count && status == 0; i++)
                        status = take_entry(c, inside, &part->items[i], fd, depth);
                cursor = part->next_cursor;
                before = part;
        } while (status == 0 && cursor);
        carrel_free(before);
        return status;
}

static int
take_directory(struct copying *c, const char *inside, int dir, const char *name, unsigned mode,
               int depth)
{
        struct carrel_entries *all;
        struct carrel_error e;
        scoped_fd int fd = -1;
        bool is_in_parts;
        int status = 0;

        if (depth > CP_DEPTH_MAX)
                return cp_wrong(c, ELOOP, "copying", inside);
        if (carrel_list_files(c->ask.c, c->id, inside, 1, &all, &e) < 0)
                return cp_failed(c, &e);
        fd = open_directory(dir, name);
        if (fd < 0)
                status = cp_wrong(c, errno, "making the directory", name);
        is_in_parts = all->is_cut;
        for (size_t i = 0; i < all->count && status == 0 && !is_in_parts; i++)
                status = take_entry(c, inside, &all->items[i], fd, depth);
        carrel_free(all);
        if (status == 0 && is_in_parts)
                status = take_parts(c, inside, fd, depth);
        if (status == 0 && depth > 0)
                (void)fchmod(fd, permitted_mode(mode | 0700));
        return status;
}

/* -- target ------------------------------------------------------------------------------------ */

static int
to_descriptor(struct copying *c, const char *inside, int fd, const char *name)
{
        struct carrel_reader *r;
        struct carrel_error e;
        int status;

        if (carrel_reader_open(c->ask.c, c->id, inside, 0, 0, &r, &e) < 0)
                return cp_failed(c, &e);
        status = take_bytes(c, r, fd, name);
        carrel_reader_free(r);
        return status;
}

static void
show(struct output_target *sink, const void *bytes, size_t len)
{
        output_target_put(sink, bytes, len);
        while (output_target_write(sink) == 0 && output_target_is_busy(sink)) {
                struct pollfd p = output_target_poll(sink);

                (void)poll(&p, 1, -1);
        }
}

/* Escapes bytes that would control the terminal. */
static int
to_terminal(struct copying *c, const char *inside)
{
        static struct output_target sink;
        struct carrel_reader *r;
        struct carrel_error e;
        const void *bytes;
        size_t len;
        int got;

        if (carrel_reader_open(c->ask.c, c->id, inside, 0, 0, &r, &e) < 0)
                return cp_failed(c, &e);
        output_target_init(&sink, STDOUT_FILENO, false);
        while ((got = carrel_reader_next(r, &bytes, &len, &e)) == 1 && !sink.is_gone)
                show(&sink, bytes, len);
        output_target_end(&sink);
        (void)output_target_write(&sink);
        output_target_fini(&sink);
        carrel_reader_free(r);
        return got < 0 ? cp_failed(c, &e) : 0;
}

/* An existing path that is not a file (a device, a FIFO) is written to, never replaced. */
static int
to_path(struct copying *c, const char *inside, const char *to)
{
        struct stat st;

        if (stat(to, &st) == 0 && !S_ISREG(st.st_mode)) {
                scoped_fd int fd = open(to, O_WRONLY | O_NOCTTY | O_CLOEXEC);

                return fd < 0 ? cp_wrong(c, errno, "opening", to)
                              : to_descriptor(c, inside, fd, to);
        }
        return take_file(c, inside, AT_FDCWD, to);
}

/* For a name that was not typed: a link is replaced; anything else that is not a file stays. */
static int
to_name(struct copying *c, const char *inside, int dir, const char *name)
{
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
            !S_ISLNK(st.st_mode))
                return cp_wrong(c, EEXIST, "replacing what is no file", name);
        return take_file(c, inside, dir, name);
}

/* 1: a directory; 0: anything else, which reading judges; -1: missing, reported. */
static int
is_directory_inside(struct copying *c, const char *inside, int *ret_status)
{
        struct carrel_entries *all;
        struct carrel_entry *entry;
        struct carrel_error e;
        int is_directory;

        if (carrel_stat(c->ask.c, c->id, inside, &entry, &e) < 0) {
                *ret_status = cp_failed(c, &e);
                return -1;
        }
        if (!entry)
                return 0;
        is_directory = strcmp(entry->kind, "directory") == 0;
        if (strcmp(entry->kind, "link") == 0 &&
            carrel_list_files(c->ask.c, c->id, inside, 1, &all, NULL) == 0) {
                is_directory = 1;
                carrel_free(all);
        }
        carrel_free(entry);
        return is_directory;
}

int
copy_out(struct copying *c)
{
        const char *inside = *c->inside != '\0' ? c->inside : ".";
        char base[CP_PATH_MAX];
        scoped_fd int dir = -1;
        int status = 0, is_directory;

        if (strcmp(c->here, "-") == 0)
                return isatty(STDOUT_FILENO)
                               ? to_terminal(c, inside)
                               : to_descriptor(c, inside, STDOUT_FILENO, "standard output");
        is_directory = is_directory_inside(c, inside, &status);
        if (is_directory < 0)
                return status;
        cp_base(base, inside, c->id);
        /* The typed path may be a link. The name in a directory was not typed, so it may be a
         * link planted from inside. */
        dir = open(c->here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return is_directory ? take_directory(c, inside, AT_FDCWD, c->here, 0755, 0)
                                    : to_path(c, inside, c->here);
        return is_directory ? take_directory(c, inside, dir, base, 0755, 0)
                            : to_name(c, inside, dir, base);
}
