/*
 * sources/sources.c - opens, examines and holds the host directories behind a spec's mounts and
 * tools.
 *
 * Room: sources (joining). Touches: fd, host directories (reading only).
 * Theory: a source is opened once, by handle. Its real path is read back from the handle and judged
 * again, because the permitted path may have led through a symbolic link to a place that is not
 * permitted (P3, B14).
 */
#include "sources/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/below.h"
#include "base/scoped.h"
#include "sources/beneath.h"
#include "sources/protected.h"

enum { PATH_ROOM = 4096 };

struct opening {
        struct arena *arena;
        const struct spec *spec;
        const struct host_rules *rules;
        const char *workspace;
        const struct sources_volumes *volumes;
        struct sources *s;
        struct protected_scope scope;
};

static int
real_path(struct arena *arena, int fd, const char **ret, struct error *e)
{
        char link[64], path[PATH_ROOM];
        ssize_t len;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        len = readlink(link, path, sizeof path);
        if (len <= 0 || (size_t)len == sizeof path)
                return fail_sys(e, ERROR_MOUNT_UNRESOLVABLE, len < 0 ? errno : ENAMETOOLONG,
                                "reading a path back");
        *ret = arena_copy(arena, path, (size_t)len);
        return *ret ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}

static int
add_source(struct opening *o, int take_fd, struct plan_source **ret, struct error *e)
{
        struct sources *s = o->s;
        struct plan_source *source;
        struct stat st;

        if (s->count == SOURCES_MAX) {
                (void)close(take_fd);
                return fail(e, ERROR_QUOTA_EXCEEDED, "more than %d mounts and tools", SOURCES_MAX);
        }
        source = &s->items[s->count];
        s->fds[s->count] = take_fd;
        s->count++;
        if (fstat(take_fd, &st) < 0)
                return fail_sys(e, ERROR_MOUNT_UNRESOLVABLE, errno, "looking at a mount source");
        *source = (struct plan_source){ .device = st.st_dev,
                                        .inode = st.st_ino,
                                        .owner_uid = st.st_uid,
                                        .owner_gid = st.st_gid,
                                        .is_directory = S_ISDIR(st.st_mode) };
        if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
                return fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "mounts", "wrong_kind",
                               "a mount source is neither a directory nor a regular file");
        if (real_path(o->arena, take_fd, &source->host_path, e) < 0)
                return -1;
        *ret = source;
        return 0;
}

static int
open_path(const struct opening *o, const char *path, int *ret_fd, struct error *e)
{
        const char *full = path;

        if (path[0] != '/') {
                if (!o->workspace)
                        return fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "mounts", "no_parent_workspace",
                                       "there is no workspace");
                full = strcmp(path, ".") == 0 ? o->workspace
                                              : arena_format(o->arena, "%s/%s", o->workspace, path);
        }
        if (!full)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        *ret_fd = open(full, O_PATH | O_CLOEXEC);
        if (*ret_fd < 0) {
                int sys = errno;

                (void)fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "mounts", "not_found",
                              "opening the mount source %.300s: %s", full, strerror(sys));
                e->sys = sys;
                if (sys == ENOENT)
                        error_hint(
                                e,
                                "Make the directory on the host, or name another: mkdir -p %.300s",
                                full);
                return -1;
        }
        return 0;
}

/*
 * The real path must be permitted too: below the workspace for a relative one, below a root for an
 * absolute one.
 */
static int
judge_again(const struct opening *o, const struct plan_source *source, const char *named,
            bool is_tool, struct error *e)
{
        const struct spec_names *roots = is_tool ? &o->rules->tool_roots : &o->rules->mount_roots;

        if (named[0] != '/' ? path_below(source->host_path, o->workspace) != NULL
                            : host_path_is_below(roots, source->host_path))
                return 0;
        for (size_t i = 0; named[0] == '/' && i < o->rules->mountable_count; i++)
                if (o->rules->mountables[i].path &&
                    strcmp(o->rules->mountables[i].path, named) == 0)
                        return 0; /* the host file itself names it, link or not */
        (void)fail_at(e, ERROR_MOUNT_DENIED, "mounts", "link_leads_out",
                      "%.200s leads to %.200s, which is not permitted", named, source->host_path);
        if (named[0] == '/' && o->rules->allow)
                error_hint(e, "To permit it, run: %.80s %s %.120s", o->rules->allow,
                           is_tool ? "tool" : "mount", source->host_path);
        return -1;
}

/*
 * sysfs names the whole disk as the parent of a partition; a file system without a disk has no such
 * entry.
 */
static int
add_disk(const struct opening *o, const struct plan_source *source, struct error *e)
{
        char path[96], text[32];
        scoped_fd int fd = -1;
        ssize_t len;
        const char *disk;

        (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", major(source->device),
                       minor(source->device));
        (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", major(source->device),
                       minor(source->device), access(path, F_OK) == 0 ? "../dev" : "dev");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        len = fd < 0 ? 0 : read(fd, text, sizeof text);
        if (len <= 1)
                return 0;
        disk = arena_copy(o->arena, text, (size_t)len - (text[len - 1] == '\n'));
        if (!disk)
                return fail(e, ERROR_NO_MEMORY, "no memory for a name");
        for (size_t i = 0; i < o->s->disk_count; i++)
                if (strcmp(o->s->disks[i], disk) == 0)
                        return 0;
        o->s->disks[o->s->disk_count++] = disk;
        return 0;
}

/* Adds the repository of a workspace that is a linked worktree, if it has the same owner. */
static int
add_common(struct opening *o, uint32_t owner, struct error *e)
{
        struct plan_source *source = NULL;
        int fd = fcntl(o->scope.tree_fd, F_DUPFD_CLOEXEC, 3), index = (int)o->s->count;

        if (fd < 0)
                return fail_sys(e, ERROR_MOUNT_UNRESOLVABLE, errno,
                                "opening the worktree's repository");
        if (add_source(o, fd, &source, e) < 0 || !source)
                return -1;
        if (source->owner_uid != owner || !source->is_directory || !source->host_path ||
            strcmp(source->host_path, o->scope.tree.common) != 0)
                return worktree_refuse(o->scope.tree.common,
                                       "it belongs to another user than the workspace", e);
        o->s->mounts[index] = (struct plan_mount){ .source = index, .at = o->scope.tree.at };
        o->s->common = index;
        o->s->writable[o->s->writable_count++] = fd;
        if (beneath_look(o->arena, source, e) < 0 || add_disk(o, source, e) < 0)
                return -1;
        return protected_find(&o->scope, source, fd, PROTECTED_COMMON, e);
}

static int
add_workspace(struct opening *o, struct plan_source *source, int fd, const char *at,
              struct error *e)
{
        uint32_t owner = source->owner_uid;
        scoped_fd int tree = -1;

        if (o->scope.tree.common ||
            worktree_find(o->arena, fd, source->host_path, at, &o->scope.tree, e) < 0)
                return o->scope.tree.common
                               ? protected_find(&o->scope, source, fd, PROTECTED_PLAIN, e)
                               : -1;
        if (!o->scope.tree.common)
                return protected_find(&o->scope, source, fd, PROTECTED_PLAIN, e);
        tree = open(o->scope.tree.common, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (tree < 0)
                return worktree_refuse(o->scope.tree.common, "it cannot be opened", e);
        o->scope.tree_fd = tree;
        return protected_find(&o->scope, source, fd, PROTECTED_TREE, e) < 0
                       ? -1
                       : add_common(o, owner, e);
}

static int
add_mount(struct opening *o, const char *named, const char *at, bool is_read_only, bool is_tool,
          struct error *e)
{
        struct plan_source *source = NULL;
        int fd = -1, index = (int)o->s->count;

        if (open_path(o, named, &fd, e) < 0 || add_source(o, fd, &source, e) < 0 || !source)
                return -1;
        if (judge_again(o, source, named, is_tool, e) < 0)
                return -1;
        o->s->mounts[index] = (struct plan_mount){
                .source = index, .at = at, .is_read_only = is_read_only, .is_tool = is_tool
        };
        if (beneath_look(o->arena, source, e) < 0)
                return -1;
        if (is_read_only)
                return 0;
        o->s->writable[o->s->writable_count++] = fd;
        if (add_disk(o, source, e) < 0)
                return -1;
        if (!is_tool && strcmp(named, ".") == 0 && !protected_is_open(o->spec, ".git"))
                return add_workspace(o, source, fd, at, e);
        return protected_find(&o->scope, source, fd, PROTECTED_PLAIN, e);
}

/* -- volumes ----------------------------------------------------------------------------------- */

/*
 * Opens the volume if it exists, else the nearest directory above it, only to find the free space.
 */
static int
open_nearest(const struct opening *o, const char *path, int *ret_fd, bool *ret_is_above,
             struct error *e)
{
        char *at = arena_text(o->arena, path);
        int fd;

        if (!at)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        while ((fd = open(*at != '\0' ? at : "/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 &&
               *at != '\0')
                *strrchr(at, '/') = '\0';
        *ret_fd = fd;
        *ret_is_above = strcmp(at, path) != 0;
        return fd < 0 ? fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                 "opening the directory of the volumes, %.300s", path)
                      : 0;
}

static int
add_volume(struct opening *o, const char *name, const char *at, bool is_read_only, struct error *e)
{
        struct sources *s = o->s;
        struct plan_source *source = NULL;
        int fd = -1, index = (int)s->count;
        const char *path;
        bool is_unmade = false;

        if (!o->volumes->place) {
                (void)fail_at(e, ERROR_STATE_UNUSABLE, "", "volumes",
                              "nothing says where the volume %.64s is: neither CARREL_STATE, "
                              "XDG_STATE_HOME nor HOME",
                              name);
                return -1;
        }
        path = arena_format(o->arena, "%s/%s/data", o->volumes->place, name);
        if (!path)
                return fail(e, ERROR_NO_MEMORY, "no memory for a path");
        if (open_nearest(o, path, &fd, &is_unmade, e) < 0 || add_source(o, fd, &source, e) < 0 ||
            !source)
                return -1;
        /* The name is kept as written; check_volumes() examines the real path, with links
         * resolved. */
        s->volumes[index] = source->host_path;
        *source = (struct plan_source){ .host_path = path,
                                        .owner_uid = geteuid(),
                                        .owner_gid = getegid(),
                                        .is_directory = true,
                                        .device = source->device,
                                        .volume = name,
                                        .is_unmade = is_unmade,
                                        .volume_place = o->volumes->place,
                                        .volumes_max = o->volumes->most };
        s->mounts[index] =
                (struct plan_mount){ .source = index, .at = at, .is_read_only = is_read_only };
        if (is_read_only)
                return 0;
        s->writable[s->writable_count++] = fd;
        return add_disk(o, source, e);
}

/*
 * Below a mount, the volume could be reached by anything that sees the mount, and host programs act
 * there.
 */
static int
check_volumes(const struct sources *s, struct error *e)
{
        for (size_t v = 0; v < s->count; v++)
                for (size_t i = 0; i < s->count && s->items[v].volume; i++) {
                        if (s->items[i].volume || !path_below(s->volumes[v], s->items[i].host_path))
                                continue;
                        (void)fail_at(e, ERROR_MOUNT_DENIED, "mounts", "holds_volume",
                                      "the volume %.64s would lie below the mount of %.200s, which "
                                      "shows it as well",
                                      s->items[v].volume, s->items[i].host_path);
                        error_hint(e, "Mount a part of that directory, or keep volumes elsewhere: "
                                      "CARREL_STATE=DIR.");
                        return -1;
                }
        return 0;
}

/* With a second mount at the home it would be unclear which one is meant. */
static int
open_home(struct opening *o, struct error *e)
{
        const char *home = o->spec->carrel.home;
        int result = 0;

        for (size_t i = 0; home && result == 0 && i < o->spec->mount_count; i++)
                if (strcmp(o->spec->mounts[i].at, PLAN_HOME) == 0)
                        result = fail_at(e, ERROR_MOUNT_INVALID, "", "duplicate",
                                         "another mount is at " PLAN_HOME
                                         ", and the home is the volume %.64s",
                                         home);
        if (home && result == 0)
                result = add_volume(o, home, PLAN_HOME, false, e);
        if (result == 0)
                return 0;
        (void)snprintf(e->path, sizeof e->path, "metadata/carrel/home");
        e->line = o->spec->carrel.home_place.line;
        e->column = o->spec->carrel.home_place.column;
        return -1;
}

static int
open_mount(struct opening *o, const struct spec_mount *m, struct error *e)
{
        const char *named = m->volume ? m->volume : host_mount_path(o->rules, m);

        if (!named)
                return fail_at(e, ERROR_MOUNT_UNRESOLVABLE, "", "not_found",
                               "the host knows no directory behind this mount");
        return m->volume ? add_volume(o, named, m->at, m->is_read_only, e)
                         : add_mount(o, named, m->at, m->is_read_only, false, e);
}

static int
open_mounts(struct opening *o, struct error *e)
{
        for (size_t i = 0; i < o->spec->mount_count; i++) {
                const struct spec_mount *m = &o->spec->mounts[i];

                if (open_mount(o, m, e) == 0)
                        continue;
                (void)snprintf(e->path, sizeof e->path, "mounts/%zu/source", i);
                e->line = m->place.line;
                e->column = m->place.column;
                return -1;
        }
        return 0;
}

static int
open_tools(struct opening *o, struct error *e)
{
        for (size_t i = 0; i < o->spec->carrel.tools.count; i++) {
                const char *tool = o->spec->carrel.tools.items[i];

                if (add_mount(o, tool, tool, true, true, e) < 0) {
                        (void)snprintf(e->path, sizeof e->path, "metadata/carrel/tools/%zu", i);
                        return -1;
                }
        }
        return 0;
}

int
sources_open(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
             const char *workspace, const struct spec_names *reads,
             const struct sources_volumes *volumes, bool as_owner, struct sources *ret,
             struct error *e)
{
        struct opening o = { .arena = arena,
                             .spec = spec,
                             .rules = rules,
                             .workspace = workspace,
                             .volumes = volumes,
                             .s = ret,
                             .scope = { .arena = arena,
                                        .spec = spec,
                                        .workspace = workspace,
                                        .reads = reads,
                                        .as_owner = as_owner } };

        ret->count = ret->writable_count = ret->disk_count = 0;
        ret->has_guards = ret->has_image = false;
        ret->layer_count = 0;
        ret->common = -1;
        if (open_mounts(&o, e) < 0 || open_home(&o, e) < 0 || open_tools(&o, e) < 0)
                return -1;
        ret->has_guards = o.scope.has_guards;
        return check_volumes(ret, e);
}

void
sources_add_image(struct sources *s, int take_fd, const struct plan_source *directory)
{
        s->items[s->count] = *directory;
        s->fds[s->count] = s->writable[s->writable_count] = take_fd;
        s->has_image = true;
}

int
sources_add_layer(struct sources *s, int take_fd, const struct plan_source *directory,
                  struct error *e)
{
        size_t at = sources_total(s);

        if (at == SOURCES_ALL_MAX) {
                (void)close(take_fd);
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "the image's layers and the mounts are more than %d together",
                            SOURCES_ALL_MAX);
        }
        s->items[at] = *directory;
        s->fds[at] = take_fd;
        s->layer_count++;
        return 0;
}

void
sources_fini(struct sources *s)
{
        for (size_t i = 0; i < sources_total(s); i++)
                (void)close(s->fds[i]);
        s->count = s->layer_count = 0;
        s->has_image = false;
}
