/*
 * image/unpack/target.c - puts the entries of an archive below one directory, and nowhere else.
 *
 * Room: image/unpack (program). Touches: fd (everything beneath one directory).
 * Theory: a name is brought into a normal form as text, and walked by the kernel, which follows no
 * link. So what an entry names is always what this archive made before.
 */
#include "image/unpack/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/scoped.h"

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"
#define NOTE WHITEOUT WHITEOUT
#define OPAQUE_MARK "user.overlay.opaque"

enum { LOOK_EVERY = 64 << 20, MODE_KEPT = 0777, NAME_LONGEST = 255 };

/* -- refusals ---------------------------------------------------------------------------------- */

int
target_refuse(struct target *p, const char *entry, const char *reason, int sys)
{
        struct target_refusal *r = &p->refusal;
        size_t len = entry ? strnlen(entry, sizeof r->entry - 1) : 0;

        *r = (struct target_refusal){ .reason = reason, .sys = sys };
        for (size_t i = 0; i < len; i++)
                r->entry[i] = (unsigned char)entry[i] < ' ' || entry[i] == 0x7f ? '?' : entry[i];
        return -1;
}

static int
refuse(struct target *p, const char *reason)
{
        return target_refuse(p, p->name, reason, 0);
}

static int
failed(struct target *p, int sys)
{
        if (sys == ENOSPC || sys == EDQUOT)
                return target_refuse(p, p->name, "room", sys);
        if (sys == EOVERFLOW)
                return refuse(p, "entries");
        if (sys == ELOOP || sys == ENOTDIR)
                return target_refuse(p, p->name, "beneath_link", 0);
        return target_refuse(p, p->name, "failed", sys);
}

/* -- names ------------------------------------------------------------------------------------- */

static const char *
name_fault(const char *raw)
{
        if (!raw || raw[0] == '\0')
                return "name_empty";
        if (raw[0] == '/')
                return "absolute";
        return strnlen(raw, TARGET_PATH_MAX + 1) > TARGET_PATH_MAX ? "name_long" : NULL;
}

/* Writes the normal form: no ".", no empty component. "" is the directory itself. */
static const char *
name_normal(const char *raw, char *out)
{
        const char *fault = name_fault(raw);
        unsigned depth = 0;
        size_t used = 0;

        out[0] = '\0';
        while (!fault && *raw) {
                size_t len = strcspn(raw, "/");

                if (len == 2 && memcmp(raw, "..", 2) == 0)
                        return "dot_dot";
                if (len > NAME_LONGEST)
                        return "name_long";
                if (len > 0 && !(len == 1 && raw[0] == '.')) {
                        if (++depth > TARGET_DEPTH_MAX)
                                return "name_long";
                        if (used > 0)
                                out[used++] = '/';
                        memcpy(out + used, raw, len);
                        used += len;
                        out[used] = '\0';
                }
                raw += len + (raw[len] == '/');
        }
        return fault;
}

static int
open_beneath(int root, const char *name)
{
        struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                           RESOLVE_NO_MAGICLINKS };

        return (int)syscall(SYS_openat2, root, name[0] ? name : ".", &how, sizeof how);
}

/* What overlayfs reads as a whiteout. */
static bool
is_hidden(int parent, const char *last)
{
        struct stat st;

        return fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode);
}

/* What lower layers have in this directory is not seen. */
static int
mark_opaque(int parent, const char *last)
{
        scoped_fd int dir = openat(parent, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return dir < 0 ? -1 : fsetxattr(dir, OPAQUE_MARK, "y", 1, 0);
}

/*
 * Makes a directory that only names of its files speak of. In place of a whiteout it is opaque: the
 * layer removed a directory, and made another one. It counts as an entry. -1 with errno.
 */
static int
make_part(struct target *p, const char *part)
{
        const char *slash = strrchr(part, '/'), *last = slash ? slash + 1 : part;
        char above_name[TARGET_PATH_MAX + 1];
        scoped_fd int above = -1;
        bool was_hidden;

        (void)snprintf(above_name, sizeof above_name, "%.*s", slash ? (int)(slash - part) : 0,
                       part);
        above = open_beneath(p->root, above_name);
        if (above < 0)
                return -1;
        was_hidden = is_hidden(above, last);
        if (++p->entries > p->limits.entries) {
                errno = EOVERFLOW;
                return -1;
        }
        if (was_hidden && unlinkat(above, last, 0) < 0)
                return -1;
        if (mkdirat(above, last, 0755) < 0) {
                errno = errno == EEXIST ? ENOTDIR : errno;
                return -1;
        }
        return was_hidden ? mark_opaque(above, last) : 0;
}

/* Opens a directory beneath the root, and makes those on the way that are missing. */
static int
open_parent(struct target *p, const char *name)
{
        char part[TARGET_PATH_MAX + 1];
        int fd = open_beneath(p->root, name);

        for (size_t at = 0; fd < 0 && (errno == ENOENT || errno == ENOTDIR) && name[at];) {
                scoped_fd int there = -1;

                at += name[at] == '/';
                at += strcspn(name + at, "/");
                memcpy(part, name, at);
                part[at] = '\0';
                there = open_beneath(p->root, part);
                if (there < 0 && ((errno != ENOENT && errno != ENOTDIR) || make_part(p, part) < 0))
                        return -1;
                if (!name[at])
                        return open_beneath(p->root, name);
                errno = ENOENT;
        }
        return fd;
}

/* The directory that holds `name`; *ret_last: its last component. -1 with errno. Kept until the
 * next entry of another directory. */
static int
enter_parent(struct target *p, const char *name, const char **ret_last)
{
        const char *slash = strrchr(name, '/');
        char parent[TARGET_PATH_MAX + 1];

        *ret_last = slash ? slash + 1 : name;
        (void)snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - name) : 0, name);
        if (p->parent >= 0 && strcmp(parent, p->parent_name) == 0)
                return p->parent;
        if (p->parent >= 0)
                (void)close(p->parent);
        p->parent = open_parent(p, parent);
        (void)snprintf(p->parent_name, sizeof p->parent_name, "%s", parent);
        return p->parent;
}

static void
leave_parent(struct target *p)
{
        if (p->parent >= 0)
                (void)close(p->parent);
        p->parent = -1;
}

/* -- entries ----------------------------------------------------------------------------------- */

/* Removes what an earlier entry made there. A directory must be empty. 0 or -1 with p->refusal. */
static int
make_way(struct target *p, int parent, const char *last)
{
        if (unlinkat(parent, last, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR && errno != EPERM)
                return failed(p, errno);
        leave_parent(p); /* it may be the directory that is removed */
        if (unlinkat(enter_parent(p, p->name, &last), last, AT_REMOVEDIR) == 0)
                return 0;
        return errno == ENOTEMPTY ? refuse(p, "directory") : failed(p, errno);
}

static bool
remember_name(struct target *p, size_t len)
{
        size_t room = p->names_room ? p->names_room : 4096;
        char *grown;

        while (room < p->names_len + len + 1)
                room *= 2;
        grown = room == p->names_room ? p->names : realloc(p->names, room);
        if (!grown)
                return false;
        p->names = grown;
        p->names_room = room;
        memcpy(p->names + p->names_len, p->name, len + 1);
        p->names_len += len + 1;
        return true;
}

/* A directory's time changes with what is put there, so it is set at the end. */
static int
remember_time(struct target *p, const struct timespec *at)
{
        size_t name = p->names_len;

        if (p->time_count == p->time_room) {
                size_t room = p->time_room ? p->time_room * 2 : 64;
                struct target_time *grown = reallocarray(p->times, room, sizeof *grown);

                if (!grown)
                        return failed(p, ENOMEM);
                p->times = grown;
                p->time_room = room;
        }
        if (!remember_name(p, strlen(p->name)))
                return failed(p, ENOMEM);
        p->times[p->time_count++] = (struct target_time){ name, *at };
        return 0;
}

static int
make_directory(struct target *p, int parent, const char *last, const struct target_entry *entry)
{
        mode_t mode = (entry->mode & (MODE_KEPT | S_ISVTX)) | S_IRWXU;
        bool was_hidden = is_hidden(parent, last);
        struct stat st;

        if (p->name[0] == '\0')
                return 0;
        if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
            unlinkat(parent, last, 0) < 0)
                return failed(p, errno);
        if (mkdirat(parent, last, S_IRWXU) < 0 && errno != EEXIST)
                return failed(p, errno);
        if (fchmodat(parent, last, mode, 0) < 0 || (was_hidden && mark_opaque(parent, last) < 0))
                return failed(p, errno);
        return remember_time(p, &entry->at);
}

static int
make_file(struct target *p, int parent, const char *last, const struct target_entry *entry,
          int *ret_fd)
{
        if (entry->size > p->limits.bytes || p->bytes > p->limits.bytes - entry->size)
                return refuse(p, "size");
        p->bytes += entry->size;
        *ret_fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return *ret_fd < 0 ? failed(p, errno) : 0;
}

static int
make_link(struct target *p, int parent, const char *last, const struct target_entry *entry)
{
        struct timespec times[2] = { entry->at, entry->at };

        if (!entry->link || !entry->link[0] || strnlen(entry->link, PATH_MAX) >= PATH_MAX)
                return refuse(p, "name_empty");
        if (symlinkat(entry->link, parent, last) < 0)
                return failed(p, errno);
        (void)utimensat(parent, last, times, AT_SYMLINK_NOFOLLOW);
        return 0;
}

/*
 * A name of a file that this layer has; what it links to in another layer is unknown here. Some
 * builders write it as a path of the root, with a slash.
 */
static int
make_hard_link(struct target *p, const struct target_entry *entry)
{
        char target[TARGET_PATH_MAX + 1], above[TARGET_PATH_MAX + 1];
        const char *hard = entry->hard + strspn(entry->hard, "/");
        const char *fault = name_normal(hard, target), *slash = strrchr(target, '/');
        const char *last = slash ? slash + 1 : target, *own;
        scoped_fd int from = -1;
        struct stat st;
        int parent;

        if (fault || !target[0])
                return refuse(p, "link_out");
        (void)snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - target) : 0, target);
        from = open_beneath(p->root, above);
        if (from < 0 || fstatat(from, last, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode) ||
            S_ISCHR(st.st_mode)) /* a whiteout is no file */
                return refuse(p, "link_out");
        if (strcmp(target, p->name) == 0)
                return 0;
        parent = enter_parent(p, p->name, &own);
        if (parent < 0)
                return failed(p, errno);
        if (make_way(p, parent, own) < 0)
                return -1;
        parent = enter_parent(p, p->name, &own);
        return linkat(from, last, parent, own, 0) < 0 ? failed(p, errno) : 0;
}

/* -- whiteouts --------------------------------------------------------------------------------- */

/* The form that the kernel's overlay reads: a mark on the directory, or a device 0:0. */
static int
make_whiteout(struct target *p, int parent, const char *last)
{
        const char *hidden = last + strlen(WHITEOUT);

        if (strcmp(last, OPAQUE) == 0)
                return mark_opaque(parent, ".") < 0 ? failed(p, errno) : 0;
        if (strncmp(hidden, WHITEOUT, strlen(WHITEOUT)) == 0)
                return 0; /* a storage driver's own note */
        if (hidden[0] == '\0' || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
                return refuse(p, "dot_dot");
        if (mknodat(parent, hidden, S_IFCHR, makedev(0, 0)) == 0)
                return 0;
        /* what this layer has itself is not hidden, wherever its whiteout comes */
        if (errno != EEXIST ||
            (mark_opaque(parent, hidden) < 0 && errno != ENOTDIR && errno != ELOOP))
                return failed(p, errno);
        return 0;
}

/* A storage driver's own files at the top: .wh..wh.aufs, .wh..wh.plnk/1.2 */
static bool
is_note(const struct target *p)
{
        return p->is_layer && strncmp(p->name, NOTE, strlen(NOTE)) == 0 &&
               strcmp(p->name, OPAQUE) != 0;
}

static bool
is_whiteout(const struct target *p, const char *last)
{
        return p->is_layer && strncmp(last, WHITEOUT, strlen(WHITEOUT)) == 0;
}

/* -- the calls --------------------------------------------------------------------------------- */

void
target_open(struct target *p, int root, bool is_layer, const struct target_limits *limits)
{
        *p = (struct target){ .root = root,
                              .is_layer = is_layer,
                              .limits = *limits,
                              .since_look = LOOK_EVERY,
                              .parent = -1 };
}

void
target_close(struct target *p)
{
        leave_parent(p);
        free(p->times);
        free(p->names);
        p->times = NULL;
        p->names = NULL;
}

int
target_room(struct target *p, size_t len)
{
        struct statvfs disk;

        p->since_look += len;
        if (p->since_look < LOOK_EVERY)
                return 0;
        p->since_look = 0;
        if (fstatvfs(p->root, &disk) < 0)
                return failed(p, errno);
        if ((uint64_t)disk.f_bavail * disk.f_frsize < p->limits.floor + LOOK_EVERY)
                return target_refuse(p, p->name, "room", ENOSPC);
        return 0;
}

static int
make_other(struct target *p, int parent, const char *last, const struct target_entry *entry,
           int *ret_fd)
{
        switch (entry->mode & S_IFMT) {
        case S_IFREG:
                return make_file(p, parent, last, entry, ret_fd);
        case S_IFLNK:
                return make_link(p, parent, last, entry);
        case S_IFIFO:
                return mkfifoat(parent, last, entry->mode & MODE_KEPT) < 0 ? failed(p, errno) : 0;
        default:
                return refuse(p, "unsupported");
        }
}

/* Devices are not made, and a socket in an archive leads nowhere. */
static bool
is_left_out(const struct target_entry *entry)
{
        return S_ISCHR(entry->mode) || S_ISBLK(entry->mode) || S_ISSOCK(entry->mode);
}

/* What the archive of an image consists of: files, directories, links between them. */
static bool
is_plain(mode_t mode)
{
        return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

int
target_make(struct target *p, const struct target_entry *entry, int *ret_fd)
{
        const char *fault = name_normal(entry->name, p->name), *last;
        int parent;

        *ret_fd = -1;
        if (fault)
                return target_refuse(p, entry->name, fault, 0);
        if (++p->entries > p->limits.entries)
                return refuse(p, "entries");
        if (!p->is_layer && (entry->hard || !is_plain(entry->mode)))
                return refuse(p, "unsupported");
        if (target_room(p, NAME_LONGEST) < 0)
                return -1;
        if (is_note(p))
                return 0;
        parent = enter_parent(p, p->name, &last);
        if (parent < 0)
                return failed(p, errno);
        if (is_whiteout(p, last))
                return make_whiteout(p, parent, last);
        if (entry->hard)
                return make_hard_link(p, entry);
        if (is_left_out(entry)) {
                p->left_out++;
                return 0;
        }
        if (S_ISDIR(entry->mode))
                return make_directory(p, parent, last, entry);
        if (p->name[0] == '\0')
                return target_refuse(p, entry->name, "name_empty", 0);
        if (make_way(p, parent, last) < 0)
                return -1;
        return make_other(p, enter_parent(p, p->name, &last), last, entry, ret_fd);
}

int
target_filled(struct target *p, const struct target_entry *entry, int fd)
{
        struct timespec times[2] = { entry->at, entry->at };
        int sys = 0;

        if (ftruncate(fd, (off_t)entry->size) < 0 || fchmod(fd, entry->mode & MODE_KEPT) < 0 ||
            futimens(fd, times) < 0)
                sys = errno;
        (void)close(fd);
        return sys ? failed(p, sys) : 0;
}

int
target_end(struct target *p)
{
        leave_parent(p);
        for (size_t i = p->time_count; i-- > 0;) {
                const char *name = p->names + p->times[i].name;
                struct timespec times[2] = { p->times[i].at, p->times[i].at };
                scoped_fd int dir = open_beneath(p->root, name);

                /* a later entry may have replaced it */
                if (dir >= 0 && utimensat(dir, "", times, AT_EMPTY_PATH) < 0 && errno != ENOENT &&
                    errno != EINVAL)
                        return target_refuse(p, name, "failed", errno);
        }
        return 0;
}
