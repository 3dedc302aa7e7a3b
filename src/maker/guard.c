/*
 * maker/guard.c - watches names that did not exist in a host directory when the sandbox started,
 * and content that may change.
 *
 * Room: maker (program). Touches: fd, names beneath a source, the sandbox's keeping.
 *
 *     absent --created--> found --moved--> absent (the 65th time: the box is killed)
 *                           | cannot be moved: reported, and no longer watched
 *     absent --created, and allowed--> reported
 *     content --changed when the box ends--> reported
 *     configuration --changed--> judged --runs nothing--> configuration
 *                                  | else: moved, restored, reported
 *     absent --created while no payload process runs--> the host's --removed--> absent
 *                                                          | changed when a command or the box
 * ends: reported
 *
 * Theory: Carrel never creates anything of its own in a host directory. inotify only says when to
 * look. The decision is made by a look at every name. The look after the last process of the box
 * has ended is the guarantee.
 */
#include "maker/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "maker/kept.h"
#include "maker/owner.h"
#include "wire/message.h"

enum { WATCHED = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR, WATCHED_TOO = IN_DELETE | IN_MOVED_FROM };
enum { PIECE_ROOM = 256, PATH_ROOM = KEPT_PATH_ROOM, MARK_ENTRIES_MAX = 1024, MARK_DEPTH_MAX = 4 };

/* -- finding ----------------------------------------------------------------------------------- */

/*
 * Opens the directory that holds the last component of `path`. If a component before it is a
 * symbolic link, that link counts as the name, because it leads host programs to the guarded name.
 * -ENOENT: no part of it exists.
 */
static int
find(int source, const char *path, char name[PIECE_ROOM], struct stat *st)
{
        size_t first = strcspn(path, "/");
        int dir;

        /* Usually nothing is there, and one call shows it. */
        if (first > 0 && first < PIECE_ROOM) {
                memcpy(name, path, first);
                name[first] = '\0';
                if (fstatat(source, name, st, AT_SYMLINK_NOFOLLOW) < 0)
                        return -errno;
        }
        dir = fcntl(source, F_DUPFD_CLOEXEC, 4);
        while (dir >= 0) {
                const char *slash = strchr(path, '/');
                size_t len = slash ? (size_t)(slash - path) : strlen(path);
                int next, result;

                if (len == 0 || len >= PIECE_ROOM || (len == 2 && memcmp(path, "..", 2) == 0)) {
                        (void)close(dir);
                        return -EINVAL;
                }
                memcpy(name, path, len);
                name[len] = '\0';
                result = fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
                if (result < 0) {
                        (void)close(dir);
                        return result;
                }
                if (!slash || S_ISLNK(st->st_mode))
                        return dir;
                next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                result = -errno;
                (void)close(dir);
                if (next < 0)
                        return result == -ENOTDIR || result == -ELOOP ? -ENOENT : result;
                dir = next;
                path = slash + 1;
        }
        return -errno;
}

/* -- content ----------------------------------------------------------------------------------- */

static void
add(uint64_t *mark, const void *bytes, size_t len)
{
        const unsigned char *at = bytes;

        for (size_t i = 0; i < len; i++)
                *mark = (*mark ^ at[i]) * UINT64_C(1099511628211);
}

static void mark_below(int dir, const char *name, unsigned depth, unsigned *left, uint64_t *mark);

/* Adds up each entry's mark, so that the order of names does not matter. */
static void
mark_one(int dir, const char *name, unsigned depth, unsigned *left, uint64_t *mark)
{
        uint64_t own = UINT64_C(14695981039346656037);
        struct stat st = { .st_ino = 0 };

        if (*left == 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return;
        --*left;
        add(&own, name, strlen(name));
        add(&own, &st.st_ino, sizeof st.st_ino);
        add(&own, &st.st_mode, sizeof st.st_mode);
        if (!S_ISDIR(st.st_mode))
                add(&own, &st.st_ctim, sizeof st.st_ctim);
        *mark += own;
        if (S_ISDIR(st.st_mode) && depth < MARK_DEPTH_MAX)
                mark_below(dir, name, depth + 1, left, mark);
}

static void
mark_below(int dir, const char *name, unsigned depth, unsigned *left, uint64_t *mark)
{
        _Alignas(8) char entries[4096];
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        long got;

        while (fd >= 0 && (got = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
                for (long at = 0; at < got;) {
                        const struct kept_dirent *d =
                                (const struct kept_dirent *)(const void *)(entries + at);

                        if (strcmp(d->name, ".") != 0 && strcmp(d->name, "..") != 0)
                                mark_one(fd, d->name, depth, left, mark);
                        at += d->len;
                }
        if (fd >= 0)
                (void)close(fd);
}

static uint64_t
mark_of(int source, const char *path)
{
        unsigned left = MARK_ENTRIES_MAX;
        char name[PIECE_ROOM] = "";
        uint64_t mark = 0;
        struct stat st;
        int dir = find(source, path, name, &st);

        if (dir < 0)
                return 0;
        mark_one(dir, name, 0, &left, &mark);
        (void)close(dir);
        return mark;
}

/* Items of one source are consecutive: the owner's identity is taken once for all of them. */
static void
turn_to(const struct guard *g, size_t i)
{
        /* lint: i is below g->count */
        if (i > 0 && g->items[i].source == g->items[i - 1].source)
                return;
        owner_leave();
        owner_enter(g->dirs[g->items[i].source]);
}

/* -- beginning --------------------------------------------------------------------------------- */

static void
take_list(struct guard *g, const struct step *s, int source)
{
        const char *at = s->text, *end = s->text + s->text_len;

        if (g->dirs[s->source] < 0) {
                g->dirs[s->source] = fcntl(source, F_DUPFD_CLOEXEC, 4);
                g->paths[s->source] = s->path;
        }
        while (at < end && g->count < GUARD_ITEMS_MAX) {
                g->items[g->count++] = (struct guard_item){ .path = at + 1,
                                                            .source = (uint16_t)s->source,
                                                            .mode = at[0] };
                at += strlen(at) + 1;
        }
}

/*
 * Watches the directories that hold guarded names, if they exist. A second watch of the same
 * directory returns the first.
 */
static void
watch_directory(struct guard *g, int dir, unsigned more)
{
        char path[64];

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
        if (g->inotify >= 0 && inotify_add_watch(g->inotify, path,
                                                 WATCHED | IN_MASK_ADD | more |
                                                         (g->has_hosts ? WATCHED_TOO : 0)) < 0) {
                (void)close(g->inotify);
                g->inotify = -1;
        }
}

/* The name's directory, or -errno. */
static int
open_parent(const struct guard *g, const struct guard_item *item)
{
        const char *slash = strrchr(item->path, '/');
        char parent[PATH_ROOM], name[PIECE_ROOM];
        size_t len = slash ? (size_t)(slash - item->path) : 0;
        struct stat st;
        int dir, found;

        if (len >= sizeof parent)
                return -EINVAL;
        if (!slash) {
                found = fcntl(g->dirs[item->source], F_DUPFD_CLOEXEC, 4);
                return found < 0 ? -errno : found;
        }
        memcpy(parent, item->path, len);
        parent[len] = '\0';
        dir = find(g->dirs[item->source], parent, name, &st);
        if (dir < 0)
                return dir;
        found = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (found < 0)
                found = -errno;
        (void)close(dir);
        return found;
}

static void
watch_item(struct guard *g, const struct guard_item *item)
{
        int found = g->inotify < 0 ? -1 : open_parent(g, item);

        if (found < 0)
                return;
        watch_directory(g, found, item->mode == 'g' ? IN_CLOSE_WRITE : 0);
        (void)close(found);
}

/* Reads its state into `ret`. */
static int
read_config(const struct guard *g, const struct guard_item *item, struct config *ret)
{
        char name[PIECE_ROOM] = "";
        struct stat st;
        int dir = find(g->dirs[item->source], item->path, name, &st);
        int result = dir < 0 && dir != -ENOENT ? dir : guarded_config_read(dir, name, ret);

        if (dir >= 0)
                (void)close(dir);
        return result;
}

/* A configuration that cannot be read is not judged: any change is reported. */
static void
begin_config(struct guard *g, struct guard_item *item)
{
        if (g->config_count == GUARD_CONFIGS_MAX ||
            read_config(g, item, &g->configs[g->config_count].good) < 0) {
                item->mode = 'c';
                item->mark = mark_of(g->dirs[item->source], item->path);
                return;
        }
        item->config = (uint16_t)g->config_count++;
        watch_item(g, item);
}

static void
watch_sources(struct guard *g)
{
        for (size_t i = 0; i < PLAN_SOURCES_MAX; i++)
                if (g->dirs[i] >= 0)
                        watch_directory(g, g->dirs[i], 0);
}

static void
begin_item(struct guard *g, struct guard_item *item)
{
        char name[PIECE_ROOM];
        struct stat st;
        int dir;

        if (item->mode == 'c') {
                item->mark = mark_of(g->dirs[item->source], item->path);
                return;
        }
        if (item->mode == 'g') {
                begin_config(g, item);
                return;
        }
        dir = find(g->dirs[item->source], item->path, name, &st);
        if (dir >= 0) {
                item->mode = 0; /* created on the host after it was judged: not to be moved */
                (void)close(dir);
                return;
        }
        watch_item(g, item);
}

void
guard_begin(struct guard *g, const struct plan_view *view, const int *sources, bool is_watching)
{
        memset(g, 0, offsetof(struct guard, items));
        g->view = view;
        g->inotify = -1;
        g->is_busy = !is_watching;
        for (size_t i = 0; i < PLAN_SOURCES_MAX; i++)
                g->dirs[i] = -1;
        for (uint32_t i = 0; i < view->step_count; i++) {
                struct step s = plan_view_step(view, i);

                if (s.op == STEP_GUARD && s.source != STEP_NO_SOURCE)
                        take_list(g, &s, sources[s.source]);
        }
        kept_places_read(&g->places, view);
        if (g->count == 0)
                return;
        if (is_watching)
                g->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        watch_sources(g);
        for (size_t i = 0; i < g->count; i++) {
                turn_to(g, i);
                begin_item(g, &g->items[i]);
        }
        owner_leave();
}

/* -- looking ----------------------------------------------------------------------------------- */

static void
tell(const struct guard *g, const struct guard_item *item, unsigned what, int sys, const char *kept,
     const char *key)
{
        struct wire_kept news = { .what = what, .sys = sys };
        char path[2 * PATH_ROOM];
        size_t len, kept_len = strlen(kept);

        (void)snprintf(path, sizeof path, "%s/%s", g->paths[item->source], item->path);
        len = strlen(path);
        (void)snprintf(news.name, sizeof news.name, "%s",
                       path + (len < sizeof news.name ? 0 : len - sizeof news.name + 1));
        (void)snprintf(news.kept, sizeof news.kept, "%s",
                       kept + (kept_len < sizeof news.kept ? 0 : kept_len - sizeof news.kept + 1));
        (void)snprintf(news.key, sizeof news.key, "%s", key);
        if (g->report)
                g->report(&news);
}

/*
 * Moves it into the keeping; `kept` (PATH_ROOM bytes) receives the path. 0; 1: it is gone; -errno:
 * the box must end.
 */
static int
take_away(struct guard *g, struct guard_item *item, int dir, const char *name, char *kept)
{
        int result = -EDQUOT;

        if (g->moves < GUARD_MOVES_MAX)
                result = kept_take(&g->places, g->dirs[item->source], item->source, dir, name,
                                   item->path, NULL, kept);
        if (result == -ENOENT)
                return 1;
        g->moves++;
        return result;
}

/*
 * It stays where host programs find it, but no program runs it now. The payload did not create
 * names that belong to another user.
 */
static void
be_stuck(struct guard *g, struct guard_item *item, int result, bool is_owners)
{
        item->mode = 0;
        tell(g, item, KEPT_STUCK, -result, "", "");
        g->must_kill = g->must_kill || is_owners;
}

static void
move(struct guard *g, struct guard_item *item, int dir, const char *name, bool is_owners)
{
        char kept[PATH_ROOM] = "";
        int result = take_away(g, item, dir, name, kept);

        if (result < 0)
                be_stuck(g, item, result, is_owners);
        if (result != 0)
                return;
        tell(g, item, item->mode == 's' ? KEPT_STRICT : KEPT_MOVED, 0, kept, "");
        if (item->mode == 's')
                g->must_kill = 1;
}

/*
 * Moves away what is there and writes the old content again. If another file is created in between,
 * the next look finds it.
 */
static void
put_back(struct guard *g, struct guard_item *item, const char *key)
{
        /* lint: begin_config() counted it */
        const struct config *good = &g->configs[item->config].good;
        const char *slash = strrchr(item->path, '/'), *name = slash ? slash + 1 : item->path;
        char kept[PATH_ROOM] = "";
        int dir = open_parent(g, item);
        int result = dir < 0 ? dir : take_away(g, item, dir, name, kept);

        g->moves += result == 1; /* a payload that removes it without end is stopped too */
        if (result >= 0 && good->is_there)
                result = config_write(dir, name, good);
        if (result < 0 && result != -EEXIST && dir != -ENOENT)
                be_stuck(g, item, result, true);
        else if (dir >= 0)
                tell(g, item, KEPT_RESTORED, 0, kept, key);
        if (dir >= 0)
                (void)close(dir);
}

static void
look_at_config(struct guard *g, struct guard_item *item)
{
        struct guard_config *c = &g->configs[item->config];
        char key[GIT_KEY_ROOM] = "";
        int result = read_config(g, item, &c->seen);

        if (result == 0 && config_is_same(&c->good, &c->seen))
                return;
        if (result == 0 && config_may_become(&c->good, &c->seen, key))
                c->good = c->seen;
        else
                put_back(g, item, key);
}

static void
look_at(struct guard *g, struct guard_item *item)
{
        char name[PIECE_ROOM];
        struct stat st = { .st_ino = 0 }, owner;
        int dir;

        if (item->mode == 'g') {
                look_at_config(g, item);
                return;
        }
        dir = find(g->dirs[item->source], item->path, name, &st);
        if (dir < 0) {
                item->is_hosts = item->is_hosts && dir != -ENOENT;
                return;
        }
        if (item->is_hosts) {
                (void)close(dir);
                return;
        }
        if (item->mode == 't') {
                tell(g, item, KEPT_MADE, 0, "", "");
                item->mode = 0;
        } else {
                move(g, item, dir, name,
                     fstat(g->dirs[item->source], &owner) < 0 || owner.st_uid == st.st_uid);
        }
        (void)close(dir);
}

static void
drain(const struct guard *g)
{
        char events[4096];

        while (g->inotify >= 0 && read(g->inotify, events, sizeof events) > 0)
                continue;
}

/* Of a repository only the files on which git acts: its other files change with every commit. */
static uint64_t
hosts_mark(const struct guard *g, const struct guard_item *item)
{
        static const char *const parts[] = { "config", "hooks" };
        int source = g->dirs[item->source];
        char path[PATH_ROOM];
        uint64_t mark = 0;

        if (item->mode != 't')
                return mark_of(source, item->path);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                if (snprintf(path, sizeof path, "%s/%s", item->path, parts[i]) < (int)sizeof path)
                        mark += mark_of(source, path);
        return mark;
}

static bool
is_looked_for(const struct guard_item *item)
{
        return item->mode != 0 && item->mode != 'c';
}

static void
see(struct guard *g, struct guard_item *item)
{
        char name[PIECE_ROOM];
        struct stat st;
        int dir;

        if (item->mode == 'g') {
                g->configs[item->config].seen_result =
                        read_config(g, item, &g->configs[item->config].seen);
                return;
        }
        if (strchr(item->path, '/'))
                /* first, so that a name created after the look causes an event */
                watch_item(g, item);
        dir = find(g->dirs[item->source], item->path, name, &st);
        item->is_found = dir >= 0;
        if (dir >= 0)
                (void)close(dir);
}

/* The host's own file may have any content. */
static void
adopt_config(struct guard *g, struct guard_item *item)
{
        struct guard_config *c = &g->configs[item->config];

        if (c->seen_result < 0) {
                item->mode = 'c';
                item->mark = mark_of(g->dirs[item->source], item->path);
        } else if (!config_is_same(&c->good, &c->seen)) {
                c->good = c->seen;
        }
}

/*
 * The creator is known only if no payload process started until a moment after the name was seen.
 */
static void
look_while_quiet(struct guard *g)
{
        bool had_hosts = g->has_hosts;
        unsigned rests = g->rests;

        for (size_t i = 0; i < g->count; i++) {
                turn_to(g, i);
                if (is_looked_for(&g->items[i]))
                        see(g, &g->items[i]);
        }
        owner_leave();
        if (g->refresh)
                g->refresh(g);
        for (size_t i = 0; i < g->count && !g->is_busy && g->rests == rests; i++) {
                struct guard_item *item = &g->items[i];

                turn_to(g, i);
                if (!is_looked_for(item))
                        continue;
                if (item->mode == 'g') {
                        adopt_config(g, item);
                        continue;
                }
                item->is_hosts = item->is_found;
                item->mark = item->is_hosts ? hosts_mark(g, item) : 0;
                g->has_hosts |= item->is_hosts;
        }
        owner_leave();
        if (g->has_hosts && !had_hosts)
                watch_sources(g);
}

void
guard_sweep(struct guard *g)
{
        drain(g);
        if (!g->is_busy)
                look_while_quiet(g);
        if (!g->is_busy)
                return;
        for (size_t i = 0; i < g->count; i++) {
                struct guard_item *item = &g->items[i];

                turn_to(g, i);
                if (is_looked_for(item))
                        look_at(g, item);
        }
        owner_leave();
}

/*
 * Tracked content is compared when the box ends, because the host's git may check out before that.
 */
void
guard_rest(struct guard *g)
{
        g->is_busy = true;
        guard_sweep(g);
        g->is_busy = false;
        g->rests++;
        for (size_t i = 0; i < g->count; i++) {
                struct guard_item *item = &g->items[i];
                uint64_t mark;

                turn_to(g, i);
                if (is_looked_for(item) && strchr(item->path, '/'))
                        /* its directory may exist by now; names created in it from now on are
                         * the host's */
                        watch_item(g, item);
                if (!item->is_hosts || (mark = hosts_mark(g, item)) == item->mark)
                        continue;
                item->mark = mark;
                tell(g, item, KEPT_CHANGED, 0, "", "");
        }
        owner_leave();
}

void
guard_end(struct guard *g)
{
        if (g->count == 0)
                return;
        if (g->refresh)
                g->refresh(g);
        if (g->is_busy)
                guard_rest(g);
        for (size_t i = 0; i < g->count; i++) {
                struct guard_item *item = &g->items[i];

                if (item->mode != 'c')
                        continue;
                owner_enter(g->dirs[item->source]);
                if (mark_of(g->dirs[item->source], item->path) != item->mark)
                        tell(g, item, KEPT_CHANGED, 0, "", "");
                owner_leave();
        }
        for (size_t i = 0; i < PLAN_SOURCES_MAX; i++)
                if (g->dirs[i] >= 0)
                        (void)close(g->dirs[i]);
        if (g->inotify >= 0)
                (void)close(g->inotify);
        g->inotify = -1;
        g->count = 0;
}
