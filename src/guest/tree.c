/*
 * guest/tree.c - every process below some of pid 1's children, found in /proc and killed.
 *
 * Room: guest (program). Touches: processes, /proc, clock.
 * Theory: a tree that does not fork dies of the first look. One whose members fork and end faster than a look reads is always somewhere else:
 * neither a kill nor a stop of what was seen meets it. kill(-1) meets it: the kernel signals every process of the namespace at once, and
 * who is forking has not forked, or its child has the signal too. So the second means is to stop everything, look, kill, and wake the
 * rest. That is felt by other commands of the box (a shell may tell that a job was stopped; who had been stopped goes on), so it comes
 * only when the first did not help, or does not get done: among two thousand who spin we have a two-thousandth of the processors, where no
 * group of control groups or of sessions gives us more, and one look would take as long as theirs to go round a dozen times.
 */
#include "guest/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock/clock.h"

enum { TREE_UNKNOWN = -1, TREE_STRAY = -2 };       /* in place of the index of a root */
enum { PROCESSES_MAX = 32768, STOPS = 2 /* somebody may be waking others */, LIST_LEN = 16 * 1024, STAT_LEN = 512, THREADS_FIELD = 20, LOOK_MAX_MS = 200 };

struct process { pid_t pid, parent; int owner; int is_alive; };
struct entry { uint64_t inode; int64_t next; unsigned short len; unsigned char type; char name[]; };

static struct process processes[PROCESSES_MAX];
static size_t process_count;
static pid_t self;

/* What ended its first thread and has others looks like a zombie, and is none. `at` is where the name ends. */
static int
is_alive(const char *at)
{
        char state = at[2];

        for (int field = 2; field < THREADS_FIELD && *at != '\0'; field++)
                at += strcspn(at + 1, " ") + 1;
        return (state != 'Z' && state != 'X' && state != 'x') || strtol(at, NULL, 10) > 1;
}

static int
read_process(int proc, const char *name, struct process *ret)
{
        char path[32], text[STAT_LEN];
        const char *at;
        ssize_t len;
        int fd;

        (void)snprintf(path, sizeof path, "%.16s/stat", name);
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        len = read(fd, text, sizeof text - 1);
        (void)close(fd);
        if (len <= 0)
                return -1;
        text[len] = '\0';
        at = strrchr(text, ')');               /* a name may hold anything but ends with the last one */
        if (!at || at[1] != ' ' || at[2] == '\0' || at[3] != ' ')
                return -1;
        *ret = (struct process){ (pid_t)strtol(name, NULL, 10), (pid_t)strtol(at + 4, NULL, 10), TREE_UNKNOWN, is_alive(at) };
        return 0;
}

static int
by_pid(const void *a, const void *b)
{
        const struct process *p = a, *q = b;

        return p->pid < q->pid ? -1 : p->pid > q->pid;
}

/*
 * In ascending order, as /proc lists them. What does not fit is found by a later pass, when some of these are gone. -ETIME where the
 * moment `until_ms` came first.
 */
static int
look(uint64_t until_ms)
{
        static _Alignas(8) char list[LIST_LEN];
        int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), is_late = 0;
        long len;

        if (proc < 0)
                return -errno;
        process_count = 0;
        while (!is_late && (len = syscall(SYS_getdents64, proc, list, sizeof list)) > 0)
                for (long at = 0; at < len && process_count < PROCESSES_MAX && !(is_late = clock_boot_ms() > until_ms);) {
                        const struct entry *e = (const void *)(list + at);

                        at += e->len;
                        if (e->name[0] >= '1' && e->name[0] <= '9' && read_process(proc, e->name, &processes[process_count]) == 0)
                                process_count++;
                }
        (void)close(proc);
        if (is_late)
                return -ETIME;
        for (size_t i = 1; i < process_count; i++)
                if (processes[i].pid <= processes[i - 1].pid)
                        return -EAGAIN;        /* not seen so far; the search below counts on it */
        return len < 0 ? -errno : 0;
}

static struct process *
find(pid_t pid)
{
        struct process wanted = { .pid = pid };

        return bsearch(&wanted, processes, process_count, sizeof *processes, by_pid);
}

/* Whose it is: the index of a root, TREE_STRAY below ourselves, TREE_UNKNOWN where the way up has a gap. Everybody on the way learns it. */
static int
owner_of(struct process *p)
{
        struct process *at = p;
        int owner = TREE_UNKNOWN;
        size_t steps = 0;

        while (at && at->owner == TREE_UNKNOWN && at->parent > 0 && at->parent != self && steps++ < process_count)
                at = find(at->parent);
        if (at)
                owner = at->owner != TREE_UNKNOWN ? at->owner : at->parent == self ? TREE_STRAY : TREE_UNKNOWN;
        for (at = p; owner != TREE_UNKNOWN && at && at->owner == TREE_UNKNOWN; at = find(at->parent))
                at->owner = owner;
        return owner;
}

static void
strike(struct process *p, struct tree_root *root, int is_root)
{
        if (!p->is_alive || !root->is_dying || (is_root && !root->is_included))
                return;
        root->living++;
        (void)kill(p->pid, SIGKILL);
}

static void
strike_stray(struct process *p, struct tree_strays *strays)
{
        if (!p->is_alive || !strays->is_dying)
                return;
        strays->living++;
        (void)kill(p->pid, SIGKILL);
}

static void
strike_all(struct tree_root *roots, size_t count, struct tree_strays *strays)
{
        for (size_t i = 0; i < count; i++) {
                struct process *p = find(roots[i].pid);

                roots[i].living = 0;
                if (p)
                        p->owner = (int)i;
        }
        strays->living = strays->unknown = 0;
        for (size_t i = 0; i < process_count; i++) {
                struct process *p = &processes[i];
                int owner = p->pid == self ? 0 : owner_of(p);

                if (p->pid == self)
                        continue;
                if (owner >= 0)
                        strike(p, &roots[owner], p->pid == roots[owner].pid);
                else if (owner == TREE_STRAY)
                        strike_stray(p, strays);
                else
                        strays->unknown++;
        }
}

static void
stop_all(void)
{
        for (int i = 0; i < STOPS; i++)
                (void)kill(-1, SIGSTOP);
}

int
tree_pass(struct tree_root *roots, size_t count, struct tree_strays *strays, int is_frozen)
{
        int result;

        self = getpid();
        if (self != 1)                         /* there -1 means the whole host */
                is_frozen = 0;
        if (is_frozen)
                stop_all();
        result = look(is_frozen || self != 1 ? CLOCK_NEVER : clock_boot_ms() + LOOK_MAX_MS);
        if (result == -ETIME) {
                is_frozen = 1;
                stop_all();
                result = look(INT64_MAX);
        }
        if (result == 0)
                strike_all(roots, count, strays);
        if (is_frozen)
                (void)kill(-1, SIGCONT);       /* to all, and not to those we saw: a child whose making was under way is in no list */
        return result < 0 ? result : is_frozen;
}
