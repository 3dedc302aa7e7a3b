/*
 * changes/server.c - carrel-files, and its fork for one sandbox.
 *
 * Room: changes (joining, program: a fork of the launcher). Touches: processes, fd, its own
 * privileges; the files below the mounts of sandboxes, which it reads.
 *
 *     carrel-files: waiting --BEGIN--> forks --> waiting
 *     carrel-files: waiting --TREE--> forks --> waiting; the fork: sealed --> answer --> end
 *     of a sandbox: sealed --> base --> waiting --LOOK--> rows --> waiting --ADOPT--> waiting
 *
 * Theory: a look can take long, or wait for the server of a file system, so each sandbox has a
 * process of its own. It may read the sandbox's mounts and nothing else (Landlock), and write
 * nothing. The socket closes with the keeper or the sandbox.
 */
#include "changes/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "changes/look.h"
#include "changes/message.h"
#include "seal/landlock.h"
#include "seal/seal.h"
#include "wire/message.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { SOCKET = 3, FD_LAST = 4096, BROKEN = 125, NICE = 10 };

static _Alignas(8) unsigned char body[WIRE_BODY_MAX];

static void
close_from(int first)
{
        if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) < 0)
                for (int fd = first; fd < FD_LAST; fd++)
                        (void)close(fd);
}

/* -- one sandbox ------------------------------------------------------------------------------- */

/* One process has one sandbox. */
static struct {
        struct changes *changes;
        struct changes_root roots[CHANGES_ROOTS_MAX];
        size_t count;
} now;

static int
send_rows(void *ctx, bool is_by, const struct json_writer *rows, struct error *e)
{
        struct wire_files_rows head = { .is_by = is_by };

        (void)ctx;
        if (rows->len > sizeof body - sizeof head)
                return fail(e, ERROR_INTERNAL, "a list of changed files is too long");
        memcpy(body, &head, sizeof head);
        memcpy(body + sizeof head, rows->text, rows->len);
        if (wire_send_in_time(SOCKET, WIRE_FILES_ROWS, body, sizeof head + rows->len, NULL, 0) < 0)
                _exit(0);
        return 0;
}

/* Nobody waits for this look any more. */
static bool
is_alone(void *ctx)
{
        struct pollfd p = { .fd = SOCKET, .events = POLLIN };

        (void)ctx;
        if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0)
                _exit(0);
        return false;
}

static struct changes_look
look_of(const struct wire_files_look *asked)
{
        return (struct changes_look){ .roots = now.roots,
                                      .root_count = now.count,
                                      .rows_max = asked->rows_max < CHANGES_ROWS_MAX
                                                          ? (size_t)asked->rows_max
                                                          : CHANGES_ROWS_MAX,
                                      .since_ms = asked->since_ms,
                                      .part = send_rows,
                                      .is_over = is_alone };
}

static void
look_once(const struct wire_files_look *asked)
{
        struct changes_look look = look_of(asked);
        struct changes_result found;
        struct error ignored;

        if (changes_look(now.changes, &look, &found, &ignored) < 0)
                found.has_failed = true;
        if (wire_send_in_time(SOCKET, WIRE_FILES_DONE, &found, sizeof found, NULL, 0) < 0)
                _exit(0);
}

static _Noreturn void
serve_sandbox(bool has_base)
{
        const struct wire_files_look first = { 0 };
        struct changes_look look = look_of(&first);
        struct changes_result found;
        struct wire_message m;
        struct error ignored;
        struct wire_files_look asked;

        now.changes = changes_new();
        if (!now.changes)
                _exit(BROKEN);
        /* without memory for it the first look says so */
        if (has_base && changes_begin(now.changes, &look, &found, &ignored) < 0)
                has_base = false;
        if (wire_send_in_time(SOCKET, WIRE_FILES_BEGUN, has_base ? &found : NULL,
                              has_base ? sizeof found : 0, NULL, 0) < 0)
                _exit(0);
        while (wire_receive(SOCKET, 1, &m, body, sizeof body) > 0) {
                wire_message_close(&m);
                if (m.kind == WIRE_FILES_ADOPT)
                        changes_adopt(now.changes);
                if (m.kind != WIRE_FILES_LOOK || m.len != sizeof asked)
                        continue;
                memcpy(&asked, body, sizeof asked);
                look_once(&asked);
        }
        _exit(0);
}

/* Where the mounts are: texts in a copy of the message. false: it is malformed. */
static bool
read_roots(const struct wire_message *m, const struct wire_files_begin *begin)
{
        static char texts[WIRE_BODY_MAX];
        size_t at = sizeof(struct wire_files_begin);

        memcpy(texts, body, m->len);
        for (size_t i = 0; i < begin->root_count; i++) {
                const char *words[2];

                for (size_t w = 0; w < 2; w++) {
                        const char *end =
                                at < m->len ? memchr(texts + at, '\0', m->len - at) : NULL;

                        if (!end)
                                return false;
                        words[w] = texts + at;
                        at = (size_t)(end - texts) + 1;
                }
                if (words[0][0] == '\0')
                        return false;
                now.roots[i] = (struct changes_root){ SOCKET + 1 + (int)i, words[0],
                                                      words[1][0] != '\0' ? words[1] : NULL,
                                                      (begin->volumes[i / 64] >> i % 64 & 1) != 0 };
        }
        now.count = begin->root_count;
        return true;
}

/* The descriptors of the message become SOCKET, SOCKET + 1, ...; no other stays, except 0 to 2. */
static bool
take_descriptors(const struct wire_message *m)
{
        int away[WIRE_FDS_MAX], first = SOCKET + (int)m->fd_count;

        for (size_t i = 0; i < m->fd_count; i++) {
                away[i] = fcntl(m->fds[i], F_DUPFD_CLOEXEC, first);
                if (away[i] < 0)
                        return false;
        }
        for (size_t i = 0; i < m->fd_count; i++)
                if (dup3(away[i], SOCKET + (int)i, O_CLOEXEC) < 0)
                        return false;
        close_from(first);
        return true;
}

static _Noreturn void
be_sandbox(const struct wire_message *m, pid_t parent)
{
        struct seal_place places[CHANGES_ROOTS_MAX];
        struct wire_files_begin begin;
        struct error e;

        memcpy(&begin, body, sizeof begin);
        (void)prctl(PR_SET_NAME, "carrel-files", 0, 0, 0);
        (void)setpriority(PRIO_PROCESS, 0, NICE);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent ||
            begin.root_count > CHANGES_ROOTS_MAX || m->fd_count != begin.root_count + 1 ||
            !read_roots(m, &begin) || !take_descriptors(m))
                _exit(BROKEN);
        for (size_t i = 0; i < now.count; i++) {
                struct stat st;
                bool is_directory = fstat(now.roots[i].fd, &st) == 0 && S_ISDIR(st.st_mode);

                places[i] = (struct seal_place){
                        LANDLOCK_READ_FILE | (is_directory ? LANDLOCK_READ_DIR : 0), now.roots[i].fd
                };
        }
        if (seal_enter(SEAL_LOOK, places, now.count, &e) < 0) {
                (void)fprintf(stderr, "carrel-files: %s\n", e.message);
                _exit(BROKEN);
        }
        serve_sandbox(begin.has_base != 0);
}

/* -- the workspace of a sandbox before its first command ------------------------------------------
 */

static _Noreturn void
be_tree(const struct wire_message *m, pid_t parent)
{
        struct seal_place place = { LANDLOCK_READ_FILE | LANDLOCK_READ_DIR, SOCKET + 1 };
        struct wire_files_tree found = { .error = "" };
        struct error e;

        (void)prctl(PR_SET_NAME, "carrel-files", 0, 0, 0);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent ||
            m->fd_count != 2 || !take_descriptors(m))
                _exit(BROKEN);
        if (seal_enter(SEAL_LOOK, &place, 1, &e) < 0) {
                (void)fprintf(stderr, "carrel-files: %s\n", e.message);
                _exit(BROKEN);
        }
        if (audit_tree_read_fd(SOCKET + 1, &found.tree, &e) < 0)
                (void)snprintf(found.error, sizeof found.error, "%s",
                               e.reason[0] != '\0' ? e.reason : "unreadable");
        (void)wire_send_in_time(SOCKET, WIRE_FILES_TREE, &found, sizeof found, NULL, 0);
        _exit(0);
}

/* -- carrel-files ------------------------------------------------------------------------------ */

static _Noreturn void
serve(void)
{
        struct wire_message m;
        pid_t self = getpid(), pid;
        int got;

        while ((got = wire_receive(SOCKET, 1, &m, body, sizeof body)) > 0 || got == -EINTR) {
                if (got < 0)
                        continue;
                if (m.kind == WIRE_FILES_BEGIN && m.len >= sizeof(struct wire_files_begin)) {
                        pid = fork();
                        if (pid == 0)
                                be_sandbox(&m, self);
                } else if (m.kind == WIRE_FILES_TREE) {
                        pid = fork();
                        if (pid == 0)
                                be_tree(&m, self);
                }
                /* without a fork the keeper sees the sandbox's socket close */
                wire_message_close(&m);
        }
        _exit(0);
}

static int
become(int socket, struct error *e)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        int at = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET + 1);
        sigset_t all;

        (void)prctl(PR_SET_NAME, "carrel-files", 0, 0, 0);
        (void)setsid();
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        /* no fork is waited for, and none becomes a zombie */
        (void)sigaction(SIGCHLD, &ignored, NULL);
        if (null < 0 || at < 0 || chdir("/") < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
            dup3(at, SOCKET, O_CLOEXEC) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "taking its descriptors");
        close_from(SOCKET + 1);
        return seal_enter(SEAL_FILES, NULL, 0, e);
}

int
changes_serve(int fd, void (*forget)(void *ctx), void *ctx, pid_t *ret, struct error *e)
{
        pid_t parent = getpid(), pid = fork();

        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting carrel-files");
        if (pid > 0) {
                *ret = pid;
                return 0;
        }
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
                _exit(BROKEN);
        forget(ctx);
        if (become(fd, e) < 0) {
                (void)fprintf(stderr, "carrel-files: %s\n", e->message);
                _exit(BROKEN);
        }
        serve();
}
