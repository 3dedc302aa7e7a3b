/*
 * guest/tree.c - finds every process below some of pid 1's children in /proc, and kills them.
 *
 * Room: guest (program). Touches: processes, /proc, clock.
 * Theory: the first pass kills a tree that does not fork. If processes fork and end faster than a
 * pass reads, neither a kill nor a stop reaches those that it saw. kill(-1) reaches them: the
 * kernel signals every process of the namespace at once. A process that is forking has either not
 * forked yet, or its child has the signal too.
 *
 * So the second method stops all processes, does a pass, kills, and continues the rest. Other
 * commands of the box notice that: a shell may print that a job was stopped, and a process that was
 * stopped before is continued. So it is used only if the first method did not help, or takes too
 * long. Among two thousand busy processes, pid 1 gets a two-thousandth of the processor time,
 * unless a group of control groups or of sessions gives it more. One pass would then take as long
 * as a dozen rounds of theirs.
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

enum { TREE_UNKNOWN = -1, TREE_STRAY = -2 }; /* instead of the index of a root */
enum {
        PROCESSES_MAX = 32768,
        STOPS = 2 /* other processes may continue stopped ones */,
        LIST_LEN = 16 * 1024,
        STAT_LEN = 512,
        THREADS_FIELD = 20,
        LOOK_MAX_MS = 200
};

struct process {
        pid_t pid, parent;
        int owner;
        int is_alive;
};
struct entry {
        uint64_t inode;
        int64_t next;
        unsigned short len;
        unsigned char type;
        char name[];
};

static struct process processes[PROCESSES_MAX];
static size_t process_count;
static pid_t self;

/*
 * A process whose first thread has ended, and that has other threads, looks like a zombie but is
 * alive. `at` is the end of the name.
 */
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
        at = strrchr(text, ')'); /* a name may contain any byte; the last ")" ends
                                  * it */
        if (!at || at[1] != ' ' || at[2] == '\0' || at[3] != ' ')
                return -1;
        *ret = (struct process){ (pid_t)strtol(name, NULL, 10), (pid_t)strtol(at + 4, NULL, 10),
                                 TREE_UNKNOWN, is_alive(at) };
        return 0;
}

pid_t
tree_parent(pid_t pid)
{
        int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct process found = { .parent = 0 };
        char name[16];

        (void)snprintf(name, sizeof name, "%d", (int)pid);
        if (proc >= 0) {
                if (read_process(proc, name, &found) < 0)
                        found.parent = 0;
                (void)close(proc);
        }
        return found.parent;
}

static int
by_pid(const void *a, const void *b)
{
        const struct process *p = a, *q = b;

        return p->pid < q->pid ? -1 : p->pid > q->pid;
}

/*
 * Reads the processes in ascending order, as /proc lists them. A later pass finds those without
 * room, when some of these have ended. -ETIME: `until_ms` was reached first.
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
                for (long at = 0; at < len && process_count < PROCESSES_MAX &&
                                  !(is_late = clock_boot_ms() > until_ms);) {
                        const struct entry *e = (const void *)(list + at);

                        at += e->len;
                        if (e->name[0] >= '1' && e->name[0] <= '9' &&
                            read_process(proc, e->name, &processes[process_count]) == 0)
                                process_count++;
                }
        (void)close(proc);
        if (is_late)
                return -ETIME;
        for (size_t i = 1; i < process_count; i++)
                if (processes[i].pid <= processes[i - 1].pid)
                        return -EAGAIN; /* has not been seen; the search below needs the
                                         * order */
        return len < 0 ? -errno : 0;
}

static struct process *
find(pid_t pid)
{
        struct process wanted = { .pid = pid };

        return bsearch(&wanted, processes, process_count, sizeof *processes, by_pid);
}

/*
 * The owner of a process: the index of a root, TREE_STRAY below pid 1, TREE_UNKNOWN if a parent was
 * not found. Stores it for every process on the way.
 */
static int
owner_of(struct process *p)
{
        struct process *at = p;
        int owner = TREE_UNKNOWN;
        size_t steps = 0;

        while (at && at->owner == TREE_UNKNOWN && at->parent > 0 && at->parent != self &&
               steps++ < process_count)
                at = find(at->parent);
        if (at)
                owner = at->owner != TREE_UNKNOWN ? at->owner
                        : at->parent == self      ? TREE_STRAY
                                                  : TREE_UNKNOWN;
        for (at = p; owner != TREE_UNKNOWN && at && at->owner == TREE_UNKNOWN;
             at = find(at->parent))
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
        if (self != 1) /* there -1 would signal the whole host */
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
                /* to all, not only to those that were seen: a child of a fork in progress is in no
                 * list */
                (void)kill(-1, SIGCONT);
        return result < 0 ? result : is_frozen;
}
