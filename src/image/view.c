/*
 * image/view.c - all layers of an image as one root.
 *
 * Room: image (joining). Touches: fd (the layers of the store, for reading).
 * Theory: what overlayfs does at a mount is done here for one path, so that a process without
 * rights and without a mount has the same answer. A directory is the list of the layers that have a
 * part of it, the highest first. A name in it is what the first of them has: a file or a link hides
 * those below, a directory joins them until an opaque one ends the list, a whiteout ends it too.
 * Every open is beneath the store and follows no link (openat2); links are followed here, by their
 * text, and the root is the parent of itself. Layers are never written, so what was walked once
 * stays true.
 */
#include "image/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/scoped.h"

enum {
        LINKS_MAX = 40, /* as in the kernel */
        TRIES_MAX = 16,
        TEXT_ROOM = 2 * IMAGE_VIEW_PATH
};

struct image_directory {
        struct image_directory *parent, *next;
        const char *path; /* "" is the root */
        size_t layer_count;
        unsigned char layers[]; /* indices in the view, ascending */
};

struct image_cover {
        struct image_cover *next;
        const char *path; /* "/" is the root */
};

/* A name in a directory. */
struct entry {
        struct stat st;
        char target[IMAGE_VIEW_PATH]; /* of a link */
        size_t layer_count;
        unsigned char layers[OCI_LAYERS_MAX]; /* the file's, or all of a directory */
};

/* -- one layer --------------------------------------------------------------------------------- */

/* -1 with errno. */
static int
open_beneath(int directory, const char *path, int flags)
{
        struct open_how how = { .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                           RESOLVE_NO_MAGICLINKS };
        long fd = -1;

        for (int i = 0; i == 0 || (fd < 0 && errno == EAGAIN && i < TRIES_MAX); i++)
                fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
        return (int)fd;
}

static int
open_in(const struct image_view *v, size_t layer, const char *directory, const char *name,
        int flags)
{
        char path[TEXT_ROOM];
        int len = snprintf(path, sizeof path, "%s%s%s%s", v->layers[layer], directory,
                           name[0] != '\0' ? "/" : "", name);

        if (len < 0 || len >= (int)sizeof path) {
                errno = ENAMETOOLONG;
                return -1;
        }
        return open_beneath(v->store, path, flags);
}

static bool
is_whiteout(const struct stat *st)
{
        return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

/* 1, 0, or -1: cannot be known. */
static int
is_opaque(int directory)
{
        char path[64], value[4];
        ssize_t len;

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
        len = getxattr(path, "user.overlay.opaque", value, sizeof value);
        if (len >= 0)
                return len == 1 && value[0] == 'y';
        return errno == ENODATA || errno == ENOTSUP ? 0 : -1;
}

/* -- one name ---------------------------------------------------------------------------------- */

static bool
read_target(int fd, struct entry *ret)
{
        ssize_t len = readlinkat(fd, "", ret->target, sizeof ret->target);

        if (len <= 0 || (size_t)len == sizeof ret->target)
                return false;
        ret->target[len] = '\0';
        return true;
}

/* Adds what one layer has. 1: layers below count too; 0: they do not; -1: cannot be known. */
static int
add_layer(const struct image_view *v, const struct image_directory *d, unsigned char layer,
          const char *name, struct entry *ret)
{
        scoped_fd int fd = open_in(v, layer, d->path, name, O_PATH);
        struct stat st;
        int opaque;

        if (fd < 0)
                return errno == ENOENT ? 1 : -1;
        if (fstat(fd, &st) < 0)
                return -1;
        if (is_whiteout(&st) || (!S_ISDIR(st.st_mode) && ret->layer_count > 0))
                return 0;
        if (ret->layer_count == 0)
                ret->st = st;
        ret->layers[ret->layer_count++] = layer;
        if (S_ISLNK(st.st_mode) && !read_target(fd, ret))
                return -1;
        opaque = S_ISDIR(st.st_mode) ? is_opaque(fd) : 1;
        return opaque < 0 ? -1 : !opaque;
}

static enum image_found
look_up(const struct image_view *v, const struct image_directory *d, const char *name,
        struct entry *ret)
{
        int more = 1;

        ret->layer_count = 0;
        for (size_t i = 0; i < d->layer_count && more > 0; i++)
                more = add_layer(v, d, d->layers[i], name, ret);
        return more < 0 ? IMAGE_UNKNOWN : ret->layer_count > 0 ? IMAGE_FOUND : IMAGE_ABSENT;
}

/* -- directories ------------------------------------------------------------------------------- */

static struct image_directory *
make_directory(struct image_view *v, struct image_directory *parent, const char *path,
               const unsigned char *layers, size_t count)
{
        struct image_directory *d = arena_alloc(v->arena, sizeof *d + count);

        if (!d)
                return NULL;
        *d = (struct image_directory){ .parent = parent,
                                       .path = arena_text(v->arena, path),
                                       .layer_count = count };
        if (!d->path)
                return NULL;
        memcpy(d->layers, layers, count);
        if (v->root) {
                d->next = v->root->next;
                v->root->next = d;
        }
        return d;
}

static struct image_directory *
known_directory(const struct image_view *v, const char *path)
{
        struct image_directory *d = v->root;

        while (d && strcmp(d->path, path) != 0)
                d = d->next;
        return d;
}

/* -- a path ------------------------------------------------------------------------------------ */

struct walk {
        struct image_view *view;
        struct image_directory *at;
        char path[TEXT_ROOM]; /* without links: of what was looked up last; "" is the root */
        char rest[TEXT_ROOM]; /* what is still to be walked */
        struct entry entry;
        unsigned links;
        bool ignores_covers;
};

static bool
is_covered(const struct walk *w)
{
        const char *path = w->path[0] != '\0' ? w->path : "/";

        for (const struct image_cover *c = w->view->covers; c && !w->ignores_covers; c = c->next)
                if (strcmp(c->path, path) == 0)
                        return true;
        return false;
}

enum above { ABOVE_NOTHING, ABOVE_DIRECTORY, ABOVE_HIDES };

/* A directory that is not opaque, and is one of the image too, shows what the image has in it. */
static enum above
look_above(const struct walk *w)
{
        scoped_fd int fd = -1;
        struct stat st;

        if (w->view->upper < 0 || w->ignores_covers)
                return ABOVE_NOTHING;
        fd = open_beneath(w->view->upper, w->path + 1, O_PATH);
        if (fd < 0)
                return errno == ENOENT ? ABOVE_NOTHING : ABOVE_HIDES;
        return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && is_opaque(fd) == 0 ? ABOVE_DIRECTORY
                                                                                : ABOVE_HIDES;
}

/* A directory on the way to what covers something exists in a sandbox, if not in the image. */
static bool
leads_to_cover(const struct walk *w)
{
        size_t len = strlen(w->path);

        for (const struct image_cover *c = w->view->covers; c && !w->ignores_covers; c = c->next)
                if (strncmp(c->path, w->path, len) == 0 && c->path[len] == '/')
                        return true;
        return false;
}

/* The link's text stands before the rest, which is empty or begins with a slash. */
static enum image_found
follow(struct walk *w)
{
        char rest[TEXT_ROOM];
        int len = snprintf(rest, sizeof rest, "%s%s", w->entry.target, w->rest);

        if (++w->links > LINKS_MAX || len < 0 || len >= (int)sizeof rest)
                return IMAGE_UNKNOWN;
        memcpy(w->rest, rest, (size_t)len + 1);
        if (rest[0] == '/')
                w->at = w->view->root;
        return IMAGE_FOUND;
}

static enum image_found
enter(struct walk *w)
{
        struct image_directory *d = known_directory(w->view, w->path);

        if (!d)
                d = make_directory(w->view, w->at, w->path, w->entry.layers, w->entry.layer_count);
        w->at = d;
        return d ? IMAGE_FOUND : IMAGE_UNKNOWN;
}

/* One name of the way; the rest begins after it. */
static enum image_found
take(struct walk *w, const char *name)
{
        enum image_found found;
        enum above above;
        int len;

        if (strcmp(name, ".") == 0)
                return IMAGE_FOUND;
        if (strcmp(name, "..") == 0) {
                w->at = w->at->parent ? w->at->parent : w->at;
                return IMAGE_FOUND;
        }
        len = snprintf(w->path, sizeof w->path, "%s/%s", w->at->path, name);
        if (len < 0 || len >= IMAGE_VIEW_PATH || is_covered(w))
                return IMAGE_UNKNOWN;
        above = look_above(w);
        if (above == ABOVE_HIDES)
                return IMAGE_UNKNOWN;
        if (known_directory(w->view, w->path))
                return enter(w);
        found = look_up(w->view, w->at, name, &w->entry);
        if (above == ABOVE_DIRECTORY && (found != IMAGE_FOUND || !S_ISDIR(w->entry.st.st_mode)))
                return IMAGE_UNKNOWN;
        if (found == IMAGE_ABSENT && leads_to_cover(w))
                return IMAGE_UNKNOWN;
        if (found != IMAGE_FOUND)
                return found;
        if (S_ISLNK(w->entry.st.st_mode))
                return follow(w);
        if (S_ISDIR(w->entry.st.st_mode))
                return enter(w);
        return w->rest[0] == '\0' ? IMAGE_FOUND : IMAGE_ABSENT;
}

/* *ret_file: it ends at a file, which is w->entry; otherwise at the directory w->at. */
static enum image_found
walk(struct walk *w, const char *path, bool *ret_file)
{
        enum image_found found = IMAGE_FOUND;
        int len = snprintf(w->rest, sizeof w->rest, "%s", path);

        *ret_file = false;
        w->at = w->view->root;
        w->path[0] = '\0';
        if (path[0] != '/' || len >= IMAGE_VIEW_PATH || is_covered(w))
                return IMAGE_UNKNOWN;
        while (found == IMAGE_FOUND && !*ret_file) {
                size_t begin = strspn(w->rest, "/"), name_len = strcspn(w->rest + begin, "/");
                char name[NAME_MAX + 1];

                if (name_len == 0)
                        break;
                if (name_len > NAME_MAX)
                        return IMAGE_ABSENT;
                memcpy(name, w->rest + begin, name_len);
                name[name_len] = '\0';
                memmove(w->rest, w->rest + begin + name_len,
                        strlen(w->rest + begin + name_len) + 1);
                w->entry.layer_count = 0;
                found = take(w, name);
                *ret_file = found == IMAGE_FOUND && w->entry.layer_count > 0 &&
                            !S_ISDIR(w->entry.st.st_mode) && !S_ISLNK(w->entry.st.st_mode);
        }
        return found;
}

/* The state of a directory is that of its highest part. */
static bool
state_of(const struct walk *w, bool is_file, struct stat *ret)
{
        scoped_fd int fd = -1;

        if (is_file) {
                *ret = w->entry.st;
                return true;
        }
        fd = open_in(w->view, w->at->layers[0], w->at->path, "", O_PATH);
        return fd >= 0 && fstat(fd, ret) == 0;
}

enum image_found
image_view_find(struct image_view *v, const char *path, char real[IMAGE_VIEW_PATH],
                struct stat *ret)
{
        struct walk w = { .view = v };
        enum image_found found;
        const char *end;
        bool is_file;

        found = walk(&w, path, &is_file);
        if (found != IMAGE_FOUND)
                return found;
        if (!state_of(&w, is_file, ret))
                return IMAGE_UNKNOWN;
        end = is_file ? w.path : w.at->path; /* shorter than IMAGE_VIEW_PATH: take() */
        if (real)
                memcpy(real, end[0] != '\0' ? end : "/", end[0] != '\0' ? strlen(end) + 1 : 2);
        return IMAGE_FOUND;
}

enum image_found
image_view_read(struct image_view *v, const char *path, int *ret_fd, struct stat *ret)
{
        struct walk w = { .view = v };
        enum image_found found;
        bool is_file;

        *ret_fd = -1;
        found = walk(&w, path, &is_file);
        if (found != IMAGE_FOUND)
                return found;
        if (!is_file || !S_ISREG(w.entry.st.st_mode))
                return IMAGE_ABSENT;
        *ret = w.entry.st;
        *ret_fd = open_in(v, w.entry.layers[0], w.path, "", O_RDONLY);
        return *ret_fd >= 0 ? IMAGE_FOUND : IMAGE_UNKNOWN;
}

static void
list_layer(const struct image_view *v, size_t layer, const char *path,
           void (*visit)(void *context, const char *name), void *context)
{
        int fd = open_in(v, layer, path, "", O_RDONLY | O_DIRECTORY);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

        if (!d) {
                scoped_fd_close(&fd);
                return;
        }
        for (const struct dirent *entry = readdir(d); entry; entry = readdir(d))
                if (entry->d_type != DT_CHR) /* a whiteout */
                        visit(context, entry->d_name);
        (void)closedir(d);
}

void
image_view_each(struct image_view *v, const char *path,
                void (*visit)(void *context, const char *name), void *context)
{
        struct walk w = { .view = v };
        bool is_file;

        if (walk(&w, path, &is_file) != IMAGE_FOUND || is_file)
                return;
        for (size_t i = 0; i < w.at->layer_count; i++)
                list_layer(v, w.at->layers[i], w.at->path, visit, context);
}

/* -- what covers it ---------------------------------------------------------------------------- */

static bool
cover(struct image_view *v, const char *path)
{
        struct image_cover *c = arena_new(v->arena, struct image_cover);

        if (!c)
                return false;
        *c = (struct image_cover){ v->covers, arena_text(v->arena, path) };
        v->covers = c;
        return c->path != NULL;
}

/* Where a mount is made that the image has no place for: the rest of its path, below what exists.
 */
static bool
cover_missing(struct walk *w)
{
        char *rest = w->rest;

        while (*rest != '\0') {
                size_t begin = strspn(rest, "/"), len = strcspn(rest + begin, "/");
                size_t used = strlen(w->path);
                const char *name = rest + begin;

                if (len == 2 && name[0] == '.' && name[1] == '.') {
                        char *slash = strrchr(w->path, '/');

                        if (slash)
                                *slash = '\0';
                } else if (len > 0 && (len != 1 || name[0] != '.')) {
                        if (used + len + 2 > sizeof w->path)
                                return true; /* no path of a sandbox is so long */
                        (void)snprintf(w->path + used, sizeof w->path - used, "/%.*s", (int)len,
                                       name);
                }
                rest += begin + len;
        }
        return cover(w->view, w->path[0] != '\0' ? w->path : "/");
}

bool
image_view_cover(struct image_view *v, const char *path)
{
        struct walk w = { .view = v, .ignores_covers = true };
        const char *end;
        bool is_file;

        switch (walk(&w, path, &is_file)) {
        case IMAGE_FOUND:
                end = is_file ? w.path : w.at->path;
                return cover(v, path) && cover(v, end[0] != '\0' ? end : "/");
        case IMAGE_ABSENT:
                return cover(v, path) && cover_missing(&w);
        default:
                return cover(v, path); /* a loop: nothing is made there either */
        }
}

int
image_view_upper(struct image_view *v, int directory)
{
        v->upper = fcntl(directory, F_DUPFD_CLOEXEC, 0);
        return v->upper < 0 ? -1 : 0;
}

/* -- opening ----------------------------------------------------------------------------------- */

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the files of an image");
}

static int
add_layers(struct image_view *v, const struct image_record *r, struct error *e)
{
        for (size_t i = r->layer_count; i-- > 0;) {
                char hex[DIGEST_HEX];
                scoped_fd int fd = -1;

                digest_hex(&r->layers[i], hex);
                v->layers[v->layer_count] = arena_format(v->arena, "%s/" IMAGE_LAYER_ROOT, hex);
                if (!v->layers[v->layer_count])
                        return no_memory(e);
                fd = open_in(v, v->layer_count, "", "", O_PATH | O_DIRECTORY);
                if (fd < 0)
                        return fail_at(e, ERROR_IMAGE_NOT_FOUND, "config/image", "layer",
                                       "a layer of the image cannot be read");
                v->layer_count++;
        }
        return 0;
}

/* An opaque root of a layer hides nothing: overlayfs does not look at its attribute. */
static int
add_root(struct image_view *v, struct error *e)
{
        unsigned char all[OCI_LAYERS_MAX];

        for (size_t i = 0; i < v->layer_count; i++)
                all[i] = (unsigned char)i;
        v->root = make_directory(v, NULL, "", all, v->layer_count);
        return v->root ? 0 : no_memory(e);
}

int
image_view_open(struct arena *arena, const char *state, const struct image_record *record,
                struct image_view *ret, struct error *e)
{
        struct image_store store;

        *ret = (struct image_view){ .arena = arena, .store = -1, .upper = -1 };
        if (image_store_look(state, &store, e) < 0)
                return -1;
        ret->store = fd_take(&store.layers);
        image_store_close(&store);
        return add_layers(ret, record, e) < 0 ? -1 : add_root(ret, e);
}

void
image_view_close(struct image_view *v)
{
        scoped_fd_close(&v->store);
        scoped_fd_close(&v->upper);
}
