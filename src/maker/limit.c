/*
 * maker/limit.c - other limits for a box that runs.
 *
 * Room: maker (program). Touches: cgroup files, resource limits of the box's processes.
 * Theory: what a box may have was decided outside; here it is written. Version 1 refuses a limit of
 * memory below what is in use (EBUSY). Version 2 kills for it, so memory.high has the kernel take
 * back what it can first, and slows down whoever takes more meanwhile; only then memory.max is
 * written. A write may need another one before it (version 1 keeps memory.limit_in_bytes at or
 * below memory.memsw.limit_in_bytes), so what is refused as invalid is tried once more after the
 * others.
 */
#include "maker/limit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/counter.h"
#include "maker/group.h"

enum { LIMITS_MAX = 16, TEXT_ROOM = 64, PATH_ROOM = 4096 };
enum { TASKS_SPARE = 64 /* as in plan/harden.c */, INNER_LEVELS = 3, READ_ROOM = 4096 };

struct limit {
        uint32_t step;    /* of the box's plan */
        uint32_t wanted;  /* of the message */
        const char *path; /* of the plan */
        char before[TEXT_ROOM], text[TEXT_ROOM];
        bool is_written;
};

struct change {
        uint64_t number;
        size_t count;
        struct limit limits[LIMITS_MAX];
};

/* What the box has now, where it is not what its plan says; and the last change, to undo it. */
static struct change now, last;

/* -- files of a group -------------------------------------------------------------------------- */

static const char *
file_of(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* The path of another file of the same group. false: it is too long. */
static bool
beside(char room[PATH_ROOM], const char *path, const char *file)
{
        size_t len = (size_t)(file_of(path) - path);

        if (len + strlen(file) >= PATH_ROOM)
                return false;
        memcpy(room, path, len);
        memcpy(room + len, file, strlen(file) + 1);
        return true;
}

/* UINT64_MAX: there is none. */
static uint64_t
number_in(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        uint64_t value = counter_read(fd, "");

        if (fd >= 0)
                (void)close(fd);
        return value;
}

static uint64_t
number_beside(const char *path, const char *file)
{
        char room[PATH_ROOM];

        return beside(room, path, file) ? number_in(room) : UINT64_MAX;
}

static int
write_beside(const char *path, const char *file, const char *text)
{
        char room[PATH_ROOM];

        return beside(room, path, file) ? group_write(room, text, strlen(text)) : -ENAMETOOLONG;
}

static bool
is_file(const char *path, const char *file)
{
        return strcmp(file_of(path), file) == 0;
}

/* -- what is used ------------------------------------------------------------------------------ */

static void
look(const struct plan_view *own, struct wire_limited *ret)
{
        ret->memory_bytes = ret->tasks = ret->cpu_ns = UINT64_MAX;
        for (uint32_t i = 0; i < own->step_count; i++) {
                struct step s = plan_view_step(own, i);

                if (s.op != STEP_CGROUP_LIMIT)
                        continue;
                if (is_file(s.path, "memory.max"))
                        ret->memory_bytes = number_beside(s.path, "memory.current");
                else if (is_file(s.path, "memory.limit_in_bytes"))
                        ret->memory_bytes = number_beside(s.path, "memory.usage_in_bytes");
                else if (is_file(s.path, "pids.max"))
                        ret->tasks = number_beside(s.path, "pids.current");
        }
}

/* -- which step is meant ----------------------------------------------------------------------- */

/* Bytes at the start of a text that say what the number is of: "8:0 rbps=", "8:0 ", or none. */
static size_t
subject_len(const char *text)
{
        const char *end = strchr(text, '=');

        if (!strchr(text, ':'))
                return 0;
        end = end ? end : strchr(text, ' ');
        return end ? (size_t)(end - text) + 1 : 0;
}

static bool
is_same(const struct step *a, const struct step *b)
{
        size_t len = subject_len(a->text);

        return strcmp(file_of(a->path), file_of(b->path)) == 0 && len == subject_len(b->text) &&
               memcmp(a->text, b->text, len) == 0;
}

static const char *
text_now(uint32_t step, const char *planned)
{
        for (size_t i = 0; i < now.count; i++)
                if (now.limits[i].step == step)
                        return now.limits[i].text;
        return planned;
}

static void
note(const struct limit *l, const char *text)
{
        size_t i = 0;

        while (i < now.count && now.limits[i].step != l->step)
                i++;
        if (i == LIMITS_MAX)
                return; /* a plan has fewer: read_change() */
        if (i == now.count)
                now.limits[now.count++] = *l;
        memcpy(now.limits[i].text, text, TEXT_ROOM);
}

/* 0 or -errno. */
static int
find_limit(const struct plan_view *own, const struct step *wanted, struct limit *ret)
{
        unsigned limits = 0;

        for (uint32_t i = 0; i < own->step_count; i++) {
                struct step s = plan_view_step(own, i);

                if (s.op != STEP_CGROUP_LIMIT)
                        continue;
                if (++limits > LIMITS_MAX || s.text_len >= TEXT_ROOM)
                        return -E2BIG;
                if (!is_same(&s, wanted))
                        continue;
                *ret = (struct limit){ .step = i, .path = s.path };
                (void)snprintf(ret->before, TEXT_ROOM, "%s", text_now(i, s.text));
                (void)snprintf(ret->text, TEXT_ROOM, "%s", wanted->text);
                return 0;
        }
        return -ENOENT;
}

static int
read_change(const struct plan_view *own, const struct plan_view *wanted, struct change *ret,
            uint32_t *ret_step)
{
        for (uint32_t i = 0; i < wanted->step_count; i++) {
                struct step s = plan_view_step(wanted, i);
                int result;

                *ret_step = i;
                if (s.op != STEP_CGROUP_LIMIT || s.text_len >= TEXT_ROOM ||
                    ret->count == LIMITS_MAX)
                        return -EPROTO;
                result = find_limit(own, &s, &ret->limits[ret->count]);
                if (result < 0)
                        return result;
                ret->limits[ret->count++].wanted = i;
        }
        return 0;
}

/* -- tasks that a process may have by itself ----------------------------------------------------
 */

/*
 * Each process has a limit of tasks of its own (plan/harden.c), which only grows here: the group
 * holds the number. 0 or -errno: this process may not raise it.
 */
static int
raise_tasks_of(pid_t pid, uint64_t most)
{
        struct rlimit has, wanted = { most, most };

        if (syscall(SYS_prlimit64, pid, RLIMIT_NPROC, NULL, &has) < 0)
                return errno == ESRCH ? 0 : -errno;
        if (has.rlim_max == RLIM_INFINITY || has.rlim_max >= most)
                return 0;
        return syscall(SYS_prlimit64, pid, RLIMIT_NPROC, &wanted, NULL) < 0 && errno != ESRCH
                       ? -errno
                       : 0;
}

static int
raise_tasks_listed(int directory, uint64_t most)
{
        int fd = openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC), result = 0;
        char text[READ_ROOM];
        pid_t pid = 0;
        ssize_t len = 0;

        if (fd < 0)
                return -errno;
        while (result == 0 && (len = read(fd, text, sizeof text)) > 0)
                for (ssize_t i = 0; i < len && result == 0; i++) {
                        if (text[i] >= '0' && text[i] <= '9') {
                                pid = pid * 10 + (text[i] - '0');
                                continue;
                        }
                        if (pid > 0)
                                result = raise_tasks_of(pid, most);
                        pid = 0;
                }
        (void)close(fd);
        return result;
}

/* Of all processes in a group and the groups below it. Takes the directory. */
static int
raise_tasks_below(int take_directory, uint64_t most, int levels)
{
        int result = raise_tasks_listed(take_directory, most);
        DIR *inner = result == 0 ? fdopendir(take_directory) : NULL;
        const struct dirent *entry;

        if (!inner) {
                (void)close(take_directory);
                return result < 0 ? result : -ENOMEM;
        }
        while (levels > 0 && result == 0 && (entry = readdir(inner)) != NULL) {
                int below = entry->d_type == DT_DIR && entry->d_name[0] != '.'
                                    ? openat(dirfd(inner), entry->d_name,
                                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                    : -1;

                if (below >= 0)
                        result = raise_tasks_below(below, most, levels - 1);
        }
        (void)closedir(inner);
        return result;
}

/* What each process began with; UINT64_MAX: no limit. */
static uint64_t
tasks_at_start(const struct plan_view *own)
{
        for (uint32_t i = 0; i < own->step_count; i++) {
                struct step s = plan_view_step(own, i);

                if (s.op == STEP_RLIMIT && s.number == RLIMIT_NPROC)
                        return s.number2;
        }
        return UINT64_MAX;
}

/* Twice: a process that was being made meanwhile has the limit of its parent before. */
static int
raise_tasks(const struct plan_view *own, const struct limit *l)
{
        uint64_t most = counter_find(l->text, "") + TASKS_SPARE;
        char room[PATH_ROOM];
        int result = beside(room, l->path, ".") ? 0 : -ENAMETOOLONG;

        if (most <= tasks_at_start(own))
                return 0;
        for (int round = 0; round < 2 && result == 0; round++) {
                int directory = open(room, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                result = directory < 0 ? -errno : raise_tasks_below(directory, most, INNER_LEVELS);
        }
        return result;
}

/* -- writing ----------------------------------------------------------------------------------- */

static int
write_text(const struct limit *l, const char *text)
{
        uint64_t most = counter_find(text, ""), used;
        int result;

        if (!is_file(l->path, "memory.max"))
                return group_write(l->path, text, strlen(text));
        result = write_beside(l->path, "memory.high", text);
        if (result < 0)
                return result;
        used = number_beside(l->path, "memory.current");
        result = used > most ? -EBUSY : group_write(l->path, text, strlen(text));
        (void)write_beside(l->path, "memory.high", "max");
        return result;
}

/* Did the kernel take the number? Files with a line for each device are not read. */
static int
read_back(const struct limit *l)
{
        if (subject_len(l->text) > 0)
                return 0;
        return number_in(l->path) == counter_find(l->text, "") ? 0 : -EIO;
}

static void
take_back(struct change *c)
{
        for (int round = 0; round < 2; round++)
                for (size_t i = c->count; i-- > 0;) {
                        struct limit *l = &c->limits[i];

                        if (l->is_written && write_text(l, l->before) == 0) {
                                l->is_written = false;
                                note(l, l->before);
                        }
                }
}

/* 0 or -errno; *ret_step: the step of the message that failed. */
static int
write_round(const struct plan_view *own, struct change *c, bool is_last, uint32_t *ret_step)
{
        for (size_t i = 0; i < c->count; i++) {
                struct limit *l = &c->limits[i];
                int result =
                        !l->is_written && is_file(l->path, "pids.max") ? raise_tasks(own, l) : 0;

                if (result == 0 && !l->is_written)
                        result = write_text(l, l->text);
                if (result == -EINVAL && !is_last)
                        continue;
                *ret_step = l->wanted;
                if (result < 0)
                        return result;
                l->is_written = true;
                note(l, l->text);
        }
        return 0;
}

static int
apply(const struct plan_view *own, struct change *c, uint32_t *ret_step)
{
        int result = write_round(own, c, false, ret_step);

        if (result == 0)
                result = write_round(own, c, true, ret_step);
        for (size_t i = 0; i < c->count && result == 0; i++) {
                *ret_step = c->limits[i].wanted;
                result = read_back(&c->limits[i]);
        }
        if (result < 0)
                take_back(c);
        return result;
}

static int
set(const struct plan_view *own, const struct wire_limit *head, const void *steps, size_t len,
    uint32_t *ret_step)
{
        struct change change = { .number = head->number };
        struct plan_view wanted;
        int result;

        if (plan_unpack(steps, len, &wanted) < 0)
                return -EPROTO;
        result = read_change(own, &wanted, &change, ret_step);
        if (result == 0)
                result = apply(own, &change, ret_step);
        if (result == 0)
                last = change;
        return result;
}

void
limit_serve(const struct plan_view *own, const void *wanted, size_t len, struct wire_limited *ret)
{
        struct wire_limit head;

        *ret = (struct wire_limited){ .sys = EPROTO };
        if (len >= sizeof head) {
                memcpy(&head, wanted, sizeof head);
                ret->number = head.number;
                ret->sys = 0;
                if (head.what == WIRE_LIMIT_SET)
                        ret->sys = -set(own, &head, (const char *)wanted + sizeof head,
                                        len - sizeof head, &ret->step);
                else if (head.what == WIRE_LIMIT_UNDO && last.number == head.number)
                        take_back(&last);
        }
        look(own, ret);
}
