/*
 * cli/cp_in.c - `carrel cp` into a sandbox.
 *
 * Room: cli (joining, program). Touches: fd (files that the caller names, and those below them);
 * libcarrel does the rest.
 * Theory: below the named path no link is followed. Files go in batches, each put in place as a
 * whole; where rules must see each file, each is a call of its own. A link is created by `ln`
 * inside, because its target has its meaning only there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/cp.h"

enum { BATCH_FILES = 1000 };
#define BATCH_BYTES (UINT64_C(256) << 20)

struct batch {
        struct copying *c;
        struct carrel_writer *w;
        unsigned count;
        uint64_t bytes;
        bool is_announced; /* each file is a call of its own, which announces it */
};

static int
commit(struct batch *b)
{
        struct carrel_error e;
        int status = 0;

        if (b->w && carrel_writer_commit(b->w, &e) < 0)
                status = cp_failed(b->c, &e);
        carrel_writer_free(b->w);
        *b = (struct batch){ .c = b->c, .is_announced = b->is_announced };
        return status;
}

/* A batch announces nothing, which is refused where rules must see its files. */
static int
open_writer(struct batch *b, const struct carrel_file *file, struct carrel_error *e)
{
        int result = carrel_writer_open_for(b->c->ask.c, b->c->id, NULL, file,
                                            b->is_announced ? 1 : 0, &b->w, e);

        if (result == 0 || b->is_announced || strcmp(e->reason, "validator_arguments") != 0)
                return result;
        b->is_announced = true;
        return carrel_writer_open_for(b->c->ask.c, b->c->id, NULL, file, 1, &b->w, e);
}

static int
begin_file(struct batch *b, const char *to, int mode, uint64_t len)
{
        const struct carrel_file file = { .path = to, .len = len };
        bool is_full = b->count >= (b->is_announced ? 1 : BATCH_FILES) || b->bytes >= BATCH_BYTES;
        int status = is_full ? commit(b) : 0;
        struct carrel_error e;

        if (status != 0)
                return status;
        if ((!b->w && open_writer(b, &file, &e) < 0) ||
            carrel_writer_file(b->w, to, mode, len, &e) < 0)
                return cp_failed(b->c, &e);
        b->count++;
        b->bytes += len;
        b->c->files++;
        return 0;
}

/*
 * Sends the size that the file had when it was examined. A file that grows is cut there; one that
 * shrinks is an error, and nothing is put in place.
 */
static int
send_bytes(struct batch *b, int fd, uint64_t len, const char *name)
{
        static char buffer[CP_BUFFER];
        struct carrel_error e;

        while (len > 0) {
                ssize_t got = read(fd, buffer, len < sizeof buffer ? (size_t)len : sizeof buffer);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return cp_wrong(b->c, got < 0 ? errno : ESTALE,
                                        got < 0 ? "reading" : "while it was read, something cut",
                                        name);
                if (carrel_writer_bytes(b->w, buffer, (size_t)got, &e) < 0)
                        return cp_failed(b->c, &e);
                len -= (uint64_t)got;
                cp_progress(b->c, (uint64_t)got);
        }
        return 0;
}

static int
send_file(struct batch *b, int fd, const struct stat *st, const char *to, const char *name)
{
        int status = begin_file(b, to, (int)(st->st_mode & 0777), (uint64_t)st->st_size);

        return status != 0 ? status : send_bytes(b, fd, (uint64_t)st->st_size, name);
}

static int
make_directory(struct copying *c, const char *to, unsigned mode)
{
        struct carrel_error e;

        return carrel_mkdir(c->ask.c, c->id, to, (mode & 0777) | 0700, 1, &e) < 0 ? cp_failed(c, &e)
                                                                                  : 0;
}

static int
make_link(struct copying *c, int dir, const char *name, const char *to)
{
        char target[CP_PATH_MAX];
        const char *argv[] = { "ln", "-sfn", "--", target, to };
        const struct carrel_command command = { .argv = argv, .argc = 5, .kills_rest = 1 };
        ssize_t len = readlinkat(dir, name, target, sizeof target - 1);
        struct carrel_result *result;

        if (len < 0)
                return cp_wrong(c, errno, "reading the link", name);
        target[len] = '\0';
        if (carrel_run(c->ask.c, c->id, &command, 0, NULL, NULL, &result, NULL) < 0) {
                cp_leave_out(c, to, "a link, and the sandbox has no ln to make it");
                return 0;
        }
        if (result->end.exit_status != 0)
                cp_leave_out(c, to, "a link, and ln inside could not make it");
        else
                c->files++;
        carrel_free(result);
        return 0;
}

static int send_directory(struct batch *b, int take_fd, const char *to, unsigned mode, int depth);

/* One name in the open directory `dir`. */
static int
send_entry(struct batch *b, int dir, const char *name, const char *to, int depth)
{
        scoped_fd int fd = -1;
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : cp_wrong(b->c, errno, "looking at", name);
        if (S_ISLNK(st.st_mode))
                return make_link(b->c, dir, name, to);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
                cp_leave_out(b->c, to, "neither a file, a directory nor a link");
                return 0;
        }
        fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return cp_wrong(b->c, errno, "opening", name);
        if (S_ISDIR(st.st_mode))
                return send_directory(b, fd_take(&fd), to, st.st_mode, depth + 1);
        return S_ISREG(st.st_mode) ? send_file(b, fd, &st, to, name) : 0;
}

static int
send_directory(struct batch *b, int take_fd, const char *to, unsigned mode, int depth)
{
        DIR *d = fdopendir(take_fd);
        int status = depth > CP_DEPTH_MAX ? cp_wrong(b->c, ELOOP, "copying", to)
                                          : make_directory(b->c, to, mode);
        const struct dirent *entry;
        char path[CP_PATH_MAX];

        if (!d) {
                (void)close(take_fd);
                return status != 0 ? status
                                   : cp_wrong(b->c, errno, "reading the directory for", to);
        }
        while (status == 0 && (entry = readdir(d)) != NULL) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                status = cp_join(path, to, entry->d_name) < 0
                                 ? cp_wrong(b->c, ENAMETOOLONG, "copying", entry->d_name)
                                 : send_entry(b, dirfd(d), entry->d_name, path, depth);
        }
        (void)closedir(d);
        return status;
}

/* -- target ------------------------------------------------------------------------------------ */

/* Into an existing directory under its own name; else under the given name. */
static int
choose_target(struct copying *c, char *to)
{
        size_t len = strlen(c->inside);
        bool is_directory = len == 0 || c->inside[len - 1] == '/';
        char base[CP_PATH_MAX];
        struct carrel_entry *entry;
        struct carrel_error e;

        if (!is_directory) {
                if (carrel_stat(c->ask.c, c->id, c->inside, &entry, &e) < 0)
                        return cp_failed(c, &e);
                is_directory = entry && strcmp(entry->kind, "directory") == 0;
                carrel_free(entry);
        }
        cp_base(base, c->here, "");
        if (cp_join(to, c->inside, is_directory ? base : "") < 0)
                return cp_wrong(c, ENAMETOOLONG, "copying to", c->inside);
        return 0;
}

/*
 * The length must be known before the first byte is sent, so the input is first stored in an
 * unnamed file.
 */
static int
send_stdin(struct batch *b)
{
        static char buffer[CP_BUFFER];
        FILE *spool = tmpfile();
        size_t got = 0;
        struct stat st = { .st_size = 0 };
        int status = 0;

        while (spool && (got = fread(buffer, 1, sizeof buffer, stdin)) > 0)
                if (fwrite(buffer, 1, got, spool) != got)
                        break;
        if (!spool || got > 0 || ferror(stdin) || fflush(spool) != 0 ||
            fstat(fileno(spool), &st) < 0 || lseek(fileno(spool), 0, SEEK_SET) < 0)
                status = cp_wrong(b->c, errno, "keeping standard input for", b->c->inside);
        b->is_announced = true;
        if (status == 0)
                status = begin_file(b, b->c->inside, -1, (uint64_t)st.st_size);
        if (status == 0)
                status = send_bytes(b, fileno(spool), (uint64_t)st.st_size, "standard input");
        if (spool)
                (void)fclose(spool);
        return status;
}

static int
send_path(struct batch *b, const char *to)
{
        scoped_fd int fd = open(b->c->here, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return cp_wrong(b->c, errno, "opening", b->c->here);
        if (S_ISDIR(st.st_mode))
                return send_directory(b, fd_take(&fd), to, st.st_mode, 0);
        if (!S_ISREG(st.st_mode))
                return cp_wrong(b->c, EINVAL, "only files and directories are copied, not",
                                b->c->here);
        b->is_announced = true;
        return send_file(b, fd, &st, to, b->c->here);
}

int
copy_in(struct copying *c)
{
        struct batch b = { .c = c };
        char to[CP_PATH_MAX];
        int status;

        if (strcmp(c->here, "-") == 0) {
                status = *c->inside == '\0'
                                 ? cp_wrong(c, EINVAL,
                                            "standard input needs the name of a file inside, not",
                                            c->id)
                                 : send_stdin(&b);
        } else {
                status = choose_target(c, to);
                if (status == 0)
                        status = send_path(&b, to);
        }
        if (status == 0)
                return commit(&b);
        carrel_writer_free(b.w);
        return status;
}
