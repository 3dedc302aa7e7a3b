/*
 * guest/list.c - lists a directory, and those below it up to a depth.
 *
 * Room: guest (program). Touches: names of the box, fd.
 * Theory: one directory per level is open, each opened in the one above without following a link.
 * So a listing never leaves its start. Names are bytes, in the directory's own order. A page is
 * sorted by name instead, because a position in the directory's own order is not valid for a later
 * call. For a page, each level is read from its start. It keeps the first names after the last
 * listed one, as many as it has room for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/write_all.h"
#include "guest/files_parts.h"
#include "guest/path_walk.h"

enum {
        OUT_LEN = 64 * 1024,
        LIST_LEN = 8 * 1024,
        RECORD_MAX = sizeof(struct file_entry) + 2 * (FILE_AFTER_MAX + 1),
        SORTED_FIRST = 1024,
        SORTED_BELOW = 64
};

typedef char sorted_name[PATH_WALK_NAME_MAX + 1];

/* The sorted names of one directory that follow `after`. */
struct sorted {
        sorted_name *names;
        uint16_t *order;        /* indices of names */
        size_t room, count, at; /* at: the next in order */
        int is_read, is_whole;  /* is_whole: no name follows the last one */
        sorted_name after;
};

struct level {
        int fd;
        size_t path_len;       /* of the directory's own path */
        struct sorted *sorted; /* NULL: in the directory's own order */
        long at, len;          /* in list */
        _Alignas(8) char list[LIST_LEN];
};

/* Only the levels that a listing uses are touched. */
static struct level levels[FILE_DEPTH_MAX];
static char out[OUT_LEN];
static size_t out_len;
static char path[FILE_PATH_MAX + 1]; /* of the current entry, relative */
static char last[FILE_PATH_MAX + 1]; /* of the last printed entry, relative */
static int is_page;

/* The first level has the most room, because large directories are seldom below others. */
static struct sorted sorts[FILE_DEPTH_MAX];
static sorted_name first_names[SORTED_FIRST], other_names[FILE_DEPTH_MAX - 1][SORTED_BELOW];
static uint16_t first_order[SORTED_FIRST], other_order[FILE_DEPTH_MAX - 1][SORTED_BELOW];

static int
flush(int fd)
{
        int sys = -write_all(fd, out, out_len);

        out_len = 0;
        return sys;
}

static int
print(int fd, const struct file_entry *entry, const char *target)
{
        int sys = sizeof out - out_len < RECORD_MAX ? flush(fd) : 0;

        memcpy(last, path, entry->path_len);
        last[entry->path_len] = '\0';
        memcpy(out + out_len, entry, sizeof *entry);
        memcpy(out + out_len + sizeof *entry, path, entry->path_len);
        memcpy(out + out_len + sizeof *entry + entry->path_len, target, entry->target_len);
        out_len += sizeof *entry + entry->path_len + entry->target_len;
        return sys;
}

static struct sorted *
sorted_begin(size_t level)
{
        struct sorted *s = &sorts[level];

        s->names = level == 0 ? first_names : other_names[level - 1];
        s->order = level == 0 ? first_order : other_order[level - 1];
        s->room = level == 0 ? SORTED_FIRST : SORTED_BELOW;
        s->count = s->at = 0;
        s->is_read = s->is_whole = 0;
        s->after[0] = '\0';
        return s;
}

static int
open_level(struct level *l, int dir, const char *name, size_t path_len)
{
        int fd;

        if (path_len + 1 + PATH_WALK_NAME_MAX > FILE_PATH_MAX)
                return ENAMETOOLONG;
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return errno;
        if (path_walk_is_proc(fd)) {
                (void)close(fd);
                return EACCES;
        }
        l->fd = fd;
        l->path_len = path_len;
        l->at = l->len = 0;
        l->sorted = is_page ? sorted_begin((size_t)(l - levels)) : NULL;
        return 0;
}

/* The next name in the directory's own order. 1; 0: at its end; -errno. */
static int
next_unsorted(struct level *l, const char **ret)
{
        for (;;) {
                const struct files_dirent *e;

                if (l->at >= l->len) {
                        l->at = 0;
                        l->len = files_dirents(l->fd, l->list, sizeof l->list);
                        if (l->len <= 0)
                                return (int)l->len;
                }
                e = (const void *)(l->list + l->at);
                l->at += e->len;
                *ret = e->name;
                if (!files_is_dots(e->name))
                        return 1;
        }
}

/* Keeps the name if it is one of the first; drops the last one if there is no room. */
static void
sort_in(struct sorted *s, const char *name)
{
        size_t low = 0, high = s->count, slot = high;

        if (s->count == s->room && strcmp(name, s->names[s->order[s->count - 1]]) > 0) {
                s->is_whole = 0;
                return;
        }
        while (low < high) {
                size_t middle = (low + high) / 2;

                if (strcmp(s->names[s->order[middle]], name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (s->count == s->room) {
                slot = s->order[--s->count];
                s->is_whole = 0;
        }
        memmove(&s->order[low + 1], &s->order[low], (s->count - low) * sizeof *s->order);
        s->order[low] = (uint16_t)slot;
        memcpy(s->names[slot], name, strlen(name) + 1);
        s->count++;
}

/* Reads the first names after `after`. 0 or -errno. */
static int
sort_names(struct level *l)
{
        struct sorted *s = l->sorted;
        const char *name = "";
        int got;

        s->count = s->at = 0;
        s->is_read = s->is_whole = 1;
        l->at = l->len = 0;
        if (lseek(l->fd, 0, SEEK_SET) < 0)
                return -errno;
        while ((got = next_unsorted(l, &name)) == 1)
                if (strlen(name) <= PATH_WALK_NAME_MAX && strcmp(name, s->after) > 0)
                        sort_in(s, name);
        return got;
}

/* The next name of a directory. 1; 0: at its end; -errno. */
static int
next_name(struct level *l, const char **ret)
{
        struct sorted *s = l->sorted;
        int got;

        if (!s)
                return next_unsorted(l, ret);
        if (s->at == s->count && s->is_read && s->is_whole)
                return 0;
        if (s->at == s->count && (got = sort_names(l)) < 0)
                return got;
        if (s->count == 0)
                return 0;
        *ret = s->names[s->order[s->at++]];
        memcpy(s->after, *ret, strlen(*ret) + 1);
        return 1;
}

/* Appends the name to its directory's path; there is room for any name. */
static size_t
name_path(const struct level *l, const char *name)
{
        size_t at = l->path_len, len = strlen(name);

        if (at > 0)
                path[at++] = '/';
        memcpy(path + at, name, len + 1);
        return at + len;
}

/*
 * Prints one entry. Opens the level below if the entry is a directory and the depth allows. 1:
 * opened; 0: not; -errno.
 */
static int
list_one(int fd, const struct level *l, const char *name, struct level *below)
{
        char target[FILE_PATH_MAX];
        size_t path_len = name_path(l, name);
        struct file_entry entry;
        struct stat st;
        ssize_t len;
        int sys, opens;

        if (fstatat(l->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno; /* removed meanwhile */
        entry = files_entry(&st);
        entry.path_len = (uint32_t)path_len;
        if (S_ISLNK(st.st_mode) && (len = readlinkat(l->fd, name, target, sizeof target)) > 0)
                entry.target_len = (uint32_t)len;
        opens = S_ISDIR(st.st_mode) && below;
        if (opens)
                entry.sys = open_level(below, l->fd, name, path_len);
        sys = print(fd, &entry, target);
        if (sys != 0)
                return -sys;
        return opens && entry.sys == 0;
}

/* Prints the entry that says there is more; for a page, with the cursor. */
static int
print_more(int fd)
{
        static const char digits[] = "0123456789abcdef";
        struct file_entry more = { .kind = FILE_MORE };
        char *text;
        int sys;

        if (sizeof out - out_len < RECORD_MAX && (sys = flush(fd)) != 0)
                return sys;
        text = out + out_len + sizeof more;
        for (const char *at = last; is_page && *at != '\0'; at++) {
                text[more.path_len++] = digits[(unsigned char)*at >> 4];
                text[more.path_len++] = digits[(unsigned char)*at & 15];
        }
        memcpy(out + out_len, &more, sizeof more);
        out_len += sizeof more + more.path_len;
        return flush(fd);
}

static int
list_tree(int fd, uint64_t depth, uint64_t max, unsigned level)
{
        uint64_t count = 0;

        for (;;) {
                const char *name = "";
                int got = next_name(&levels[level], &name);

                if (got < 0)
                        return -got;
                if (got == 0) {
                        (void)close(levels[level].fd);
                        if (level-- == 0)
                                return flush(fd);
                        continue;
                }
                if (count++ == max)
                        return print_more(fd);
                got = list_one(fd, &levels[level], name,
                               level + 1 < depth ? &levels[level + 1] : NULL);
                if (got < 0)
                        return -got;
                level += (unsigned)got;
        }
}

static int
hex_digit(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the cursor into `last`. 0 or EINVAL: no page printed it. */
static int
read_after(const char *text)
{
        size_t len = 0;

        for (; *text != '\0'; text += 2) {
                int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

                if (low < 0 || len == FILE_PATH_MAX || (high == 0 && low == 0))
                        return EINVAL;
                last[len++] = (char)(high << 4 | low);
        }
        last[len] = '\0';
        return 0;
}

/* Reads the next name at `*at`, and moves `*at` behind it. 0 or EINVAL. */
static int
take_name(const char **at, sorted_name ret)
{
        size_t len = strcspn(*at, "/");

        if (len == 0 || len > PATH_WALK_NAME_MAX)
                return EINVAL;
        memcpy(ret, *at, len); /* lint: a part is listed with sorted names */
        ret[len] = '\0';
        *at += len;
        if (**at == '/' && *++*at == '\0')
                return EINVAL;
        return files_is_dots(ret) ? EINVAL : 0;
}

/*
 * Opens the directories of the last entry, and the entry itself, as far as they still exist. Each
 * level continues after its name.
 */
static int
go_on(uint64_t depth, unsigned *level)
{
        const char *at = last;

        while (*at != '\0') {
                struct level *l = &levels[*level];
                int sys = take_name(&at, l->sorted->after);
                size_t path_len;

                if (sys != 0)
                        return sys;
                path_len = name_path(l, l->sorted->after);
                if (*level + 1 < depth && open_level(l + 1, l->fd, l->sorted->after, path_len) == 0)
                        ++*level;
                else
                        return 0;
        }
        return 0;
}

static int
list(char *const *argv, const char *after, struct files_io *io)
{
        uint64_t depth, max;
        unsigned level = 0;
        struct path_walk w;
        int sys;

        if (files_number(argv[2], FILE_DEPTH_MAX, &depth) != 0 || depth == 0 ||
            files_number(argv[3], UINT64_MAX - 1, &max) != 0 || read_after(after) != 0)
                return EINVAL;
        sys = path_walk_open(argv[1], PATH_WALK_FOLLOW, &w);
        if (sys != 0)
                return sys;
        out_len = 0;
        sys = open_level(&levels[0], w.dir, w.name, 0);
        path_walk_fini(&w);
        if (sys == 0 && is_page)
                sys = go_on(depth, &level);
        return sys != 0 ? sys : list_tree(io->out, depth, max, level);
}

int
files_list(char *const *argv, struct files_io *io)
{
        is_page = 0;
        return list(argv, "", io);
}

int
files_page(char *const *argv, struct files_io *io)
{
        is_page = 1;
        return list(argv, argv[4], io);
}
