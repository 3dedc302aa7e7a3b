/*
 * box/ns/groups.c - a control group for every exec.
 *
 * Room: box/ns (program). Touches: cgroup files beneath the box's own group.
 */
#include "box/ns/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counter.h"
#include "wire/message.h"

enum {
        NAME_ROOM = 48,
        LOOKS = 4,
        LEFT_MAX = 4,
        KEPT_OPEN = 16 /* groups whose files stay open: usually as many as run at once */
};

static int
write_file(int directory, const char *name, const char *value)
{
        int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
        int result = 0;

        if (fd < 0)
                return -errno;
        if (write(fd, value, strlen(value)) < 0)
                result = -errno;
        (void)close(fd);
        return result;
}

static const char *
name_of(char name[NAME_ROOM], const struct group *of, const char *file)
{
        (void)snprintf(name, NAME_ROOM, "g%u%s%s", of->number, file[0] != '\0' ? "/" : "", file);
        return name;
}

int
groups_open(struct groups *g, int take_root)
{
        int result = 0;

        *g = (struct groups){ .root = take_root, .work = -1, .events = -1 };
        if (take_root < 0)
                return -ENOENT;
        if (mkdirat(take_root, "work", 0755) < 0 && errno != EEXIST)
                result = -errno;
        if (result == 0 && (g->work = openat(take_root, "work",
                                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
                result = -errno;
        /* Without cgroup.kill (before Linux 5.14) pid 1 kills a tree, and a group would only hinder
         * it. */
        if (result == 0 && faccessat(g->work, "cgroup.kill", W_OK, 0) < 0)
                result = -errno;
        if (result < 0) {
                if (g->work >= 0)
                        (void)close(g->work);
                g->work = -1;
                return result;
        }
        g->events = openat(g->work, "cgroup.events", O_RDONLY | O_CLOEXEC);
        g->can_freeze = g->events >= 0 && faccessat(g->work, "cgroup.freeze", W_OK, 0) == 0;
        return 0;
}

/* The runtime has not made the group below it yet. */
void
groups_open_whole(struct groups *g, int take_root, const char *below)
{
        *g = (struct groups){ .root = take_root, .work = -1, .events = -1, .whole = below };
        g->can_freeze = take_root >= 0 && faccessat(take_root, "cgroup.freeze", F_OK, 0) == 0;
}

static void
free_all(struct group *first)
{
        while (first) {
                struct group *next = first->next;

                const int fds[] = { first->members, first->events, first->used };

                for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
                        if (fds[i] >= 0)
                                (void)close(fds[i]);
                free(first);
                first = next;
        }
}

void
groups_fini(struct groups *g)
{
        const int fds[] = { g->root, g->work, g->events };

        for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
        free_all(g->idle);
        free_all(g->left);
        *g = (struct groups){ .root = -1, .work = -1, .events = -1 };
}

int
groups_is_empty(const struct groups *g, const struct group *of)
{
        char name[NAME_ROOM];

        if (of->events >= 0)
                return counter_read(of->events, "populated") == 0;
        return counter_read_at(g->work, name_of(name, of, "cgroup.events"), "populated") == 0;
}

int
groups_is(const struct groups *g, const struct group *of, uint64_t id)
{
        char name[NAME_ROOM];
        struct stat found;

        return fstatat(g->work, name_of(name, of, ""), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
               found.st_ino == id;
}

int
groups_has_left(const struct groups *g)
{
        unsigned left = 0;

        for (const struct group *one = g->left; one; one = one->next)
                if (++left > LEFT_MAX || !groups_is_empty(g, one))
                        return 1;
        return 0;
}

/*
 * Checks a few of the non-empty groups for each new exec. So the cost does not grow with their
 * number, until no other group can be created.
 */
static struct group *
take_left(struct groups *g)
{
        struct group **at = &g->left;

        for (unsigned looks = g->made < GROUPS_MAX ? LOOKS : GROUPS_MAX; *at && looks > 0;
             looks--) {
                struct group *one = *at;

                if (groups_is_empty(g, one)) {
                        *at = one->next;
                        return one;
                }
                at = &one->next;
        }
        return NULL;
}

static struct group *
make(struct groups *g)
{
        struct group *one = g->made < GROUPS_MAX ? malloc(sizeof *one) : NULL;
        char name[NAME_ROOM];

        if (!one)
                return NULL;
        *one = (struct group){ .number = g->made, .events = -1, .used = -1 };
        if (mkdirat(g->work, name_of(name, one, ""), 0755) < 0 && errno != EEXIST) {
                free(one);
                return NULL;
        }
        one->members = openat(g->work, name_of(name, one, "cgroup.procs"), O_WRONLY | O_CLOEXEC);
        if (one->number < KEPT_OPEN) {
                one->events =
                        openat(g->work, name_of(name, one, "cgroup.events"), O_RDONLY | O_CLOEXEC);
                one->used = openat(g->work, name_of(name, one, "cpu.stat"), O_RDONLY | O_CLOEXEC);
        }
        g->made++;
        return one;
}

/* CPU time used so far does not count for the next exec. */
static void
settle(struct group *one)
{
        one->cpu_before_us = one->cpu_seen_us;
}

struct group *
groups_take(struct groups *g)
{
        struct group *one = g->idle;

        if (g->work < 0)
                return NULL;
        if (one)
                g->idle = one->next;
        else if ((one = take_left(g)) != NULL) {
                (void)groups_cpu_us(g, one);
                settle(one);
        } else if ((one = make(g)) == NULL)
                return NULL;
        one->next = NULL;
        return one;
}

int
groups_give_empty(struct groups *g, struct group *of)
{
        if (!groups_is_empty(g, of))
                return 0;
        (void)groups_cpu_us(g, of);
        groups_give_settled(g, of);
        return 1;
}

void
groups_give_settled(struct groups *g, struct group *take)
{
        settle(take);
        take->next = g->idle;
        g->idle = take;
}

void
groups_give(struct groups *g, struct group *take)
{
        struct group **list = &g->left;

        if (groups_give_empty(g, take))
                return;
        while (*list) /* append: the oldest is most likely to be empty */
                list = &(*list)->next;
        take->next = NULL;
        *list = take;
}

int
groups_kill(const struct groups *g, const struct group *of)
{
        char name[NAME_ROOM];

        return write_file(g->work, name_of(name, of, "cgroup.kill"), "1");
}

int
groups_kill_all(const struct groups *g)
{
        return g->work < 0 ? -ENOENT : write_file(g->work, "cgroup.kill", "1");
}

uint64_t
groups_cpu_us(const struct groups *g, struct group *of)
{
        char name[NAME_ROOM];
        uint64_t used = of->used >= 0 ? counter_read(of->used, "usage_usec")
                                      : counter_read_at(g->work, name_of(name, of, "cpu.stat"),
                                                        "usage_usec");

        of->cpu_seen_us = used == UINT64_MAX ? 0 : used;
        return used == UINT64_MAX || used < of->cpu_before_us ? used : used - of->cpu_before_us;
}

uint64_t
groups_box_cpu_us(const struct groups *g)
{
        return counter_read_at(g->root, "cpu.stat", "usage_usec");
}

int
groups_freeze(struct groups *g, int is_wanted)
{
        const char *value = is_wanted ? "1" : "0";
        char name[NAME_ROOM];

        if (!g->can_freeze)
                return -ENOTSUP;
        if (!g->whole)
                return write_file(g->work, "cgroup.freeze", value);
        if (g->events < 0) {
                (void)snprintf(name, sizeof name, "%scgroup.events", g->whole);
                g->events = openat(g->root, name, O_RDONLY | O_CLOEXEC);
        }
        (void)snprintf(name, sizeof name, "%scgroup.freeze", g->whole);
        return g->events < 0 ? -errno : write_file(g->root, name, value);
}

int
groups_is_frozen(const struct groups *g)
{
        uint64_t value = counter_read(g->events, "frozen");

        return value == UINT64_MAX ? -EIO : value != 0;
}
