/*
 * guest/preforked.c - one child that is started in advance.
 *
 * Room: guest (program). Touches: processes, fd, memory of its own.
 *
 *     none --preforked_make()--> waiting --preforked_pass()--> becoming
 *                               \--dropped, or killed--> none
 *     becoming --its socket closes--> started, failed or lost --preforked_settle()--> none
 *
 * Theory: the spare writes its result into a page that it shares with pid 1. Its socket closes when
 * it executes a program, and also when it ends; then pid 1 reads the result. After its last write
 * (`has_begun`), a spare that is killed before it executes looks like a command that ran and was
 * killed. It is reported as such.
 *
 * It has the payload's uid, so the payload can stop and kill it. Pid 1 continues it when it passes
 * the command, and whenever it stops while it becomes the command; pid 1 learns of a stop as of an
 * end. Its socket shows that it died. Signals that came while it waited were not for the command,
 * and are discarded. It is a fork of pid 1 and not dumpable. It holds 0, 1, 2 and its socket, and
 * no message that pid 1 has read: those are wiped before a fork, and the kept one is in memory that
 * no fork inherits.
 */
#include "guest/preforked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/files.h"

enum { GROUP = COMMAND_KEPT + 1, HIGH = 10, SMALL = 4096 };

struct preforked_mark {
        volatile int32_t sys; /* the errno of the failure; 0: no failure */
        volatile uint32_t stage;
        volatile uint32_t has_begun; /* only the execution is left to do */
};

/* -- the spare itself -------------------------------------------------------------------------- */

static _Alignas(8) char message[WIRE_BODY_MAX]; /* used only in the spare */
static char *pointers[2 * WIRE_COMMAND_STRINGS_MAX];

/* Closes all descriptors except 0, 1, 2, the socket and, for a moment, the group. */
static int
keep_only(int socket, int group)
{
        int high_socket = fcntl(socket, F_DUPFD, HIGH), high_group = fcntl(group, F_DUPFD, HIGH);

        if (high_socket < 0 || high_group < 0)
                return -errno;
        if (dup3(high_socket, COMMAND_KEPT, O_CLOEXEC) < 0 ||
            dup3(high_group, GROUP, O_CLOEXEC) < 0)
                return -errno;
        command_close_from(GROUP + 1);
        return 0;
}

static void
forget_signals(void)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN }, standard = { .sa_handler = SIG_DFL };
        sigset_t pending;

        if (sigpending(&pending) < 0)
                return;
        for (int number = 1; number < NSIG; number++)
                if (sigismember(&pending, number) == 1) {
                        /* discards a pending signal */
                        (void)sigaction(number, &ignored, NULL);
                        (void)sigaction(number, &standard, NULL);
                }
}

static _Noreturn void
fail(struct preforked_mark *mark, int sys, enum wire_exec_stage stage)
{
        mark->stage = stage;
        mark->sys = sys;
        _exit(127);
}

static _Noreturn void
become(const struct command *c, struct preforked_mark *mark)
{
        int result = command_dress(c, COMMAND_KEPT);

        if (result < 0)
                fail(mark, -result, WIRE_STAGE_PREPARE);
        result = command_enter(c->cwd);
        if (result < 0)
                fail(mark, -result, WIRE_STAGE_DIRECTORY);
        if ((c->head.flags & WIRE_EXEC_BUILTIN) == 0) {
                mark->has_begun = 1;
                fail(mark, -command_execute(c), WIRE_STAGE_LOOKUP);
        }
        if (!files_has(c->argv[0]))
                fail(mark, ENOENT, WIRE_STAGE_LOOKUP);
        mark->has_begun = 1;
        (void)munmap(mark, sizeof *mark);
        (void)close(COMMAND_KEPT);
        _exit(files_main(c->argv));
}

static _Noreturn void
serve(int socket, int group, struct preforked_mark *mark)
{
        struct command c = { .group = -1 };
        struct wire_message m;
        sigset_t all;

        (void)sigfillset(&all);
        /* a payload uses `kill -TERM -1` to clean up; that is not meant for a spare */
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || keep_only(socket, group) < 0)
                _exit(1);
        if (write(GROUP, "0", 1) != 1 || setsid() < 0)
                _exit(1);
        (void)close(GROUP);
        if (wire_receive(COMMAND_KEPT, 1, &m, message, sizeof message) != 1)
                _exit(0);
        if (command_read(&m, message, pointers, sizeof pointers / sizeof *pointers, &c) < 0 ||
            m.fd_count != sizeof c.stdio / sizeof *c.stdio)
                _exit(1);
        memcpy(c.stdio, m.fds, sizeof c.stdio);
        forget_signals();
        become(&c, mark);
}

/* -- pid 1 ------------------------------------------------------------------------------------- */

void
preforked_init(struct preforked *s)
{
        s->socket = s->group = -1;
        for (size_t i = 0; i < sizeof s->stdio / sizeof *s->stdio; i++)
                s->stdio[i] = -1;
}

static int
open_memory(struct preforked *s)
{
        if (!s->mark) {
                void *shared = mmap(NULL, sizeof *s->mark, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

                if (shared == MAP_FAILED)
                        return -errno;
                s->mark = shared;
        }
        if (!s->kept) {
                void *own = mmap(NULL, WIRE_BODY_MAX, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (own == MAP_FAILED)
                        return -errno;
                s->kept = own;
        }
        return madvise(s->kept, WIRE_BODY_MAX, MADV_DONTFORK) < 0 ? -errno : 0;
}

void
preforked_drop(struct preforked *s)
{
        if (s->exec != 0)
                return;
        if (s->socket >= 0)
                (void)close(s->socket);
        s->socket = -1;
        s->number = 0;
}

void
preforked_make(struct preforked *s, uint32_t number, int group)
{
        int pair[2];
        pid_t pid;

        preforked_drop(s);
        if (s->exec != 0 || open_memory(s) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return;
        (void)fcntl(pair[0], F_SETFL, O_NONBLOCK); /* pid 1 must not block */
        *s->mark = (struct preforked_mark){ .sys = 0 };
        (void)madvise(s->mark, sizeof *s->mark, MADV_DOFORK);
        pid = fork();
        if (pid == 0)
                serve(pair[1], group, s->mark);
        (void)madvise(s->mark, sizeof *s->mark, MADV_DONTFORK);
        (void)close(pair[1]);
        s->socket = pair[0];
        s->pid = pid;
        s->number = number;
        if (pid < 0)
                preforked_drop(s);
}

int
preforked_serves(const struct preforked *s, const struct command *c)
{
        return s->socket >= 0 && s->exec == 0 && c->head.spare != 0 && c->head.spare == s->number &&
               (c->head.flags & WIRE_EXEC_TREE) == 0 && c->head.skip_resets == 0;
}

int
preforked_pass(struct preforked *s, const struct command *c, const char *body, size_t len)
{
        int result;

        (void)kill(s->pid, SIGCONT);
        result = wire_send(s->socket, WIRE_EXEC, body, len, c->stdio,
                           sizeof c->stdio / sizeof *c->stdio);
        if (result < 0) {
                preforked_drop(s);
                return result;
        }
        s->number = 0;
        s->exec = c->head.exec;
        memcpy(s->kept, body, len);
        s->kept_len = len;
        memcpy(s->stdio, c->stdio, sizeof s->stdio);
        s->group = c->group;
        return 0;
}

enum preforked_word
preforked_hear(struct preforked *s, int *ret_sys, enum wire_exec_stage *ret_stage)
{
        char nothing;

        if (s->socket < 0 || (recv(s->socket, &nothing, sizeof nothing, MSG_DONTWAIT) < 0 &&
                              (errno == EAGAIN || errno == EINTR)))
                return PREFORKED_QUIET;
        (void)close(s->socket);
        s->socket = -1;
        s->number = 0;
        if (s->exec == 0)
                return PREFORKED_QUIET;
        *ret_sys = s->mark->sys;
        *ret_stage = (enum wire_exec_stage)s->mark->stage;
        return s->mark->sys != 0    ? PREFORKED_FAILED
               : s->mark->has_begun ? PREFORKED_STARTED
                                    : PREFORKED_LOST;
}

int
preforked_again(struct preforked *s, char **room_for, size_t room, struct command *ret)
{
        struct wire_message m = { .kind = WIRE_EXEC, .len = s->kept_len };
        int result = command_read(&m, s->kept, room_for, room, ret);

        memcpy(ret->stdio, s->stdio, sizeof ret->stdio);
        ret->group = s->group;
        /* a function is a fork, and reads its arguments there */
        if (result == 0 && madvise(s->kept, WIRE_BODY_MAX, MADV_DOFORK) < 0)
                result = -errno;
        return result;
}

static void
close_own(int *fd)
{
        if (*fd >= 0)
                (void)close(*fd);
        *fd = -1;
}

void
preforked_settle(struct preforked *s)
{
        explicit_bzero(s->kept, s->kept_len); /* an environment may contain secrets */
        if (s->kept_len > SMALL)
                (void)madvise(s->kept, WIRE_BODY_MAX, MADV_DONTNEED);
        s->kept_len = 0;
        s->exec = 0;
        if (s->stdio[1] == s->stdio[0]) /* a terminal */
                s->stdio[1] = s->stdio[2] = -1;
        for (size_t i = 0; i < sizeof s->stdio / sizeof *s->stdio; i++)
                close_own(&s->stdio[i]);
        close_own(&s->group);
}
