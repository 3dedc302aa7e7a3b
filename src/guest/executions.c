/*
 * guest/executions.c - every execve of every process of the box, reported as it begins.
 *
 * Room: guest (program). Touches: its own filters, memory of the payload (/proc/PID/mem), fd.
 * Theory: the kernel holds the call until pid 1 answers. What pid 1 reads is what the caller's
 * memory contains at that moment. Another thread may change it before the kernel reads it again,
 * so a report says that something was executed, and what the program said it was. Pid 1 has the
 * payload's user id and no capability: it cannot read a process that is closed to tracing, such as
 * a child of its own before it has executed. Such a report has no path.
 */
#include "guest/executions.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/stand_in.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1ul
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, __u64)
#endif
#ifdef __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/* AT_ONCE: calls that are handled before other work. */
enum { AT_ONCE = 16, POINTERS_AT_ONCE = 64, POINTERS_MAX = 8192, PAGE = 4096, PROC_ROOM = 32 };

struct memory {
        int fd;      /* -1: this process's own */
        bool is_own; /* the caller shares it */
};

int
executions_watch(void)
{
        /* Calls of another architecture are ended by the filter of the payload. */
        static const struct sock_filter steps[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        };
        return executions_listen(&(struct filter_program){ steps, sizeof steps / sizeof *steps });
}

int
executions_listen(const struct filter_program *p)
{
        const struct sock_fprog program = { p->count, (struct sock_filter *)(uintptr_t)p->steps };
        long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                          &program);

        if (fd < 0 && errno == EINVAL) /* an older kernel: a signal may repeat a call */
                fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                             &program);
        if (fd < 0)
                return -errno;
        /* The caller and pid 1 run in turn, on one processor. Older kernels do not know it. */
        (void)syscall(SYS_ioctl, (int)fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
                      SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
        return (int)fd;
}

void
executions_init(struct executions *x, int control, const struct executions_asked *asks,
                uint32_t (*exec_of)(pid_t pid))
{
        x->exec_of = exec_of;
        x->control = control;
        x->listener = asks->listener;
        x->reports = asks->reports_exec;
        x->is_due = false;
}

/* The two C libraries have different types for a request. */
static long
control(const struct executions *x, unsigned long request, void *data)
{
        return syscall(SYS_ioctl, x->listener, request, data);
}

/* -- the memory of a caller -------------------------------------------------------------------- */

/* Bytes read, fewer at the end of what is mapped; 0: nothing is there. */
static size_t
peek(const struct memory *m, uint64_t at, void *ret, size_t len)
{
        ssize_t got;

        if (m->is_own) {
                memcpy(ret, (const void *)(uintptr_t)at, len);
                return len;
        }
        got = pread(m->fd, ret, len, (off_t)at);
        return got < 0 ? 0 : (size_t)got;
}

/*
 * Copies the text at `at` with its NUL, as far as there is room; *ret_is_cut if it is longer, or
 * cannot be read. Returns the bytes used.
 */
static size_t
take_text(const struct memory *m, uint64_t at, char *ret, size_t room, bool *ret_is_cut)
{
        size_t len = 0;

        while (len + 1 < room) {
                size_t step = PAGE - (size_t)((at + len) % PAGE), got;
                const char *end;

                step = step < room - 1 - len ? step : room - 1 - len;
                if (m->is_own) {
                        step = strnlen((const char *)(uintptr_t)(at + len), step) + 1;
                        step = step < room - 1 - len ? step : room - 1 - len;
                }
                got = peek(m, at + len, ret + len, step);
                end = memchr(ret + len, '\0', got);
                if (end)
                        return (size_t)(end - ret) + 1;
                len += got;
                if (got < step)
                        break;
        }
        *ret_is_cut = true;
        if (room == 0)
                return 0;
        ret[len] = '\0';
        return len + 1;
}

/* The words, each with its NUL, and how many there are. */
static void
take_words(const struct memory *m, uint64_t at, struct wire_executed *ret, char *text)
{
        uint64_t pointers[POINTERS_AT_ONCE];
        size_t used = 0;
        bool is_cut = false;

        for (uint32_t count = 0; at != 0 && count < POINTERS_MAX; count++, ret->argc = count) {
                size_t in = count % POINTERS_AT_ONCE;

                if (m->is_own || in == 0) {
                        memset(pointers + in, 0, m->is_own ? 8 : sizeof pointers);
                        (void)peek(m, at + 8 * (uint64_t)count, pointers + in,
                                   m->is_own ? 8 : sizeof pointers);
                }
                if (pointers[in] == 0)
                        break;
                if (!is_cut)
                        used += take_text(m, pointers[in], text + used, WIRE_EXECUTED_WORDS - used,
                                          &is_cut);
        }
        ret->words_len = (uint32_t)used;
        if (is_cut)
                ret->flags |= EXECUTED_CUT;
}

static int
open_memory(const struct executions *x, struct seccomp_notif *n)
{
        char path[PROC_ROOM];
        int fd;

        (void)snprintf(path, sizeof path, "/proc/%u/mem", n->pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        /* the process may have ended, and its number be another's */
        if (fd >= 0 && control(x, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) < 0) {
                (void)close(fd);
                return -1;
        }
        return fd;
}

static void
read_call(struct executions *x, struct seccomp_notif *n, bool is_own)
{
        struct memory m = { -1, is_own };
        struct wire_exec_number whose = { x->exec_of((pid_t)n->pid), 0 };
        struct wire_executed *e = (struct wire_executed *)(void *)(x->due + sizeof whose);
        char *text = (char *)(e + 1);
        bool is_at = n->data.nr == SYS_execveat, is_cut = false;

        *e = (struct wire_executed){ .pid = (int32_t)n->pid };
        if (!is_own && (m.fd = open_memory(x, n)) < 0) {
                e->flags = EXECUTED_UNREAD;
        } else {
                e->path_len = (uint32_t)take_text(&m, n->data.args[is_at], text, WIRE_EXECUTED_PATH,
                                                  &is_cut);
                take_words(&m, n->data.args[is_at + 1], e, text + e->path_len);
        }
        if (is_at && e->path_len <= 1)
                e->flags |= EXECUTED_BY_FD;
        if (is_cut)
                e->flags |= EXECUTED_CUT;
        if (m.fd >= 0)
                (void)close(m.fd);
        memcpy(x->due, &whose, sizeof whose);
        x->due_len = sizeof whose + sizeof *e + e->path_len + e->words_len;
        x->is_due = true;
}

/* -- serving ----------------------------------------------------------------------------------- */

/*
 * Does the caller share pid 1's memory? Asked for each call while the kernel holds it: the child
 * may have executed since the last one, and what it then names is in its own memory.
 */
static bool
is_sharing(const struct executions_child *child, pid_t pid)
{
        struct pollfd fd = { child->start, POLLIN, 0 };

        return child->start >= 0 && pid == child->pid && poll(&fd, 1, 0) == 0;
}

int
executions_tell(struct executions *x)
{
        int result =
                x->is_due ? wire_send(x->control, WIRE_EXECUTED, x->due, x->due_len, NULL, 0) : 0;

        if (wire_is_for_later(result))
                return 0;
        x->is_due = false;
        return result < 0 ? -1 : 0;
}

static bool
has_call(const struct executions *x)
{
        struct pollfd fd = { x->listener, POLLIN, 0 };

        return !x->is_due && poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN) != 0;
}

int
executions_serve(struct executions *x, struct executions_child sharing)
{
        for (int i = 0; i < AT_ONCE && x->listener >= 0 && has_call(x); i++) {
                struct seccomp_notif n = { 0 };
                struct seccomp_notif_resp answer = { 0 };

                if (control(x, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
                        continue; /* it has been killed */
                answer.id = n.id;
                if (n.data.nr != SYS_execve && n.data.nr != SYS_execveat)
                        stand_in(x->listener, &n, &answer);
                else
                        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
                if (answer.flags != 0 && x->reports)
                        read_call(x, &n, is_sharing(&sharing, (pid_t)n.pid));
                (void)control(x, SECCOMP_IOCTL_NOTIF_SEND, &answer);
                if (executions_tell(x) < 0)
                        return -1;
        }
        return 0;
}
