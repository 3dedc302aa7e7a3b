/*
 * cli/recorder.c - the process that writes the audit log of `carrel run --audit`.
 *
 * Room: cli (joining, program). Touches: processes, fd, its own privileges, the audit log.
 * Theory, the ladder: the log is opened by path while the caller still may; the recorder keeps the
 * directory and its socket, can open nothing outside of it, and leaves the session, so that no
 * signal of a terminal interrupts it. The only text it reads is JSON that `carrel` wrote.
 *
 *    carrel --event--> recorder --number--> carrel       one at a time
 *           --end of the socket, a command was started--> the recorder writes exec.ended, lost
 */
#include "cli/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "daemon/state.h"
#include "seal/landlock.h"
#include "seal/seal.h"
#include "wire/message.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { ON_SOCKET = 3, ON_LOG = 4, FD_LAST = 1024, TEXTS = 7, BROKEN = 125, ARENA_MAX = 64 * 1024 };

/* WIRE_AUDIT: seven texts of an event, each with its NUL; "" for no input and no output.
 * WIRE_AUDITED: this, then three texts: reason, message, hint. */
struct audited {
        uint32_t code, reserved; /* enum error_code */
        uint64_t seq;
        char chain[AUDIT_ID_TEXT];
};

static struct {
        int fd;
        pid_t pid;
} recorder = { -1, 0 };

int
recorder_directory(struct arena *arena, const char *named, const char **ret, struct error *e)
{
        char path[PATH_MAX];
        const char *state;

        if (named && !realpath(named, path)) {
                (void)fail_sys(e, ERROR_AUDIT_UNAVAILABLE, errno, "opening the audit log %s",
                               named);
                error_hint(e, "Check the path of --log. Without it, your own log is read.");
                return -1;
        }
        if (!named && state_choose(arena, NULL, &state, e) < 0)
                return -1;
        if (!named && (size_t)snprintf(path, sizeof path, "%s/audit/uid:%u", state,
                                       (unsigned)geteuid()) >= sizeof path)
                return fail(e, ERROR_AUDIT_UNAVAILABLE, "the path of the audit log is too long");
        *ret = arena_text(arena, path);
        return *ret ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for a path");
}

/* -- the process ------------------------------------------------------------------------------- */

struct work {
        struct audit_log log;
        /* of a command that was started and has not ended: its actor and its subject */
        char actor_id[64], actor_role[32], subject_kind[32], subject_ref[64];
        bool is_running;
};

static void
keep_text(char *out, size_t room, const char *text)
{
        (void)snprintf(out, room, "%s", text);
}

static void
answer(const struct audited *head, const struct error *e)
{
        unsigned char body[sizeof *head + sizeof *e];
        const char *texts[3] = { e->reason, e->message, e->hint };
        size_t at = sizeof *head;

        memcpy(body, head, sizeof *head);
        for (size_t i = 0; i < 3; i++) {
                size_t len = strlen(texts[i]) + 1;

                memcpy(body + at, texts[i], len);
                at += len;
        }
        /* a caller that has ended meanwhile is seen at the next message */
        (void)wire_send(ON_SOCKET, WIRE_AUDITED, body, at, NULL, 0);
}

/* Splits the body into `count` texts that end at its end. */
static bool
split(const unsigned char *body, size_t len, const char **texts, size_t count)
{
        size_t at = 0;

        for (size_t i = 0; i < count; i++) {
                const unsigned char *end = memchr(body + at, '\0', len - at);

                if (!end)
                        return false;
                texts[i] = (const char *)body + at;
                at = (size_t)(end - body) + 1;
        }
        return at == len;
}

static void
append(struct work *w, const struct audit_event *event)
{
        struct audited head = { 0 };
        struct error e = { 0 };

        if (audit_log_append(&w->log, event, 1, &head.seq, head.chain, &e) < 0) {
                head.code = (uint32_t)e.code;
        } else if (strcmp(event->action, "exec.started") == 0) {
                w->is_running = true;
                keep_text(w->actor_id, sizeof w->actor_id, event->actor_id);
                keep_text(w->actor_role, sizeof w->actor_role, event->actor_role);
                keep_text(w->subject_kind, sizeof w->subject_kind, event->subject_kind);
                keep_text(w->subject_ref, sizeof w->subject_ref, event->subject_ref);
        } else {
                w->is_running = false;
        }
        answer(&head, &e);
}

static void
append_lost(struct work *w)
{
        struct audit_event event = { .action = "exec.ended",
                                     .actor_id = w->actor_id,
                                     .actor_role = w->actor_role,
                                     .subject_kind = w->subject_kind,
                                     .subject_ref = w->subject_ref,
                                     .output = "{\"outcome\":\"lost\"}" };
        char chain[AUDIT_ID_TEXT];
        struct error e;
        uint64_t seq;

        (void)audit_log_append(&w->log, &event, 1, &seq, chain, &e);
}

static _Noreturn void
serve(struct work *w)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];

        for (;;) {
                const char *t[TEXTS];
                struct wire_message m;
                int result = wire_receive(ON_SOCKET, 1, &m, body, sizeof body);

                if (result == -EINTR)
                        continue;
                if (result <= 0)
                        break;
                wire_message_close(&m);
                if (m.kind != WIRE_AUDIT || !split(body, m.len, t, TEXTS))
                        _exit(BROKEN);
                append(w, &(struct audit_event){ t[0], t[1], t[2], t[3], t[4],
                                                 t[5][0] != '\0' ? t[5] : NULL,
                                                 t[6][0] != '\0' ? t[6] : NULL });
        }
        if (w->is_running)
                append_lost(w);
        audit_log_close(&w->log);
        _exit(0);
}

static int
take_descriptors(int socket, int log)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        /* closed with all others below; after a failure this process ends */
        int at_socket = fcntl(socket, F_DUPFD_CLOEXEC, ON_LOG + 1);
        int at_log = fcntl(log, F_DUPFD_CLOEXEC, ON_LOG + 1);

        if (null < 0 || at_socket < 0 || at_log < 0)
                return -errno;
        for (int fd = 0; fd < 3; fd++)
                if (dup2(null, fd) < 0)
                        return -errno;
        if (dup3(at_socket, ON_SOCKET, O_CLOEXEC) < 0 || dup3(at_log, ON_LOG, O_CLOEXEC) < 0)
                return -errno;
        if (syscall(SYS_close_range, ON_LOG + 1, ~0u, 0) < 0)
                for (int other = ON_LOG + 1; other < FD_LAST; other++)
                        (void)close(other);
        return 0;
}

static _Noreturn void
become_recorder(struct audit_log *log, int socket)
{
        struct seal_place place = { LANDLOCK_READ_FILE | LANDLOCK_READ_DIR | LANDLOCK_WRITE_FILE |
                                            LANDLOCK_TRUNCATE | LANDLOCK_MAKE_REG |
                                            LANDLOCK_REMOVE_FILE,
                                    ON_LOG };
        struct work w = { .log = *log };
        struct error e = { 0 };
        sigset_t all;

        (void)prctl(PR_SET_NAME, "carrel-recorder", 0, 0, 0);
        (void)setsid();
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (chdir("/") < 0 || take_descriptors(socket, log->dir) < 0) {
                (void)fail_sys(&e, ERROR_BACKEND_FAILED, errno, "taking its descriptors");
        } else if (seal_enter(SEAL_RECORDER, &place, 1, &e) == 0) {
                w.log.dir = ON_LOG;
                serve(&w);
        }
        answer(&(struct audited){ .code = (uint32_t)e.code }, &e);
        _exit(BROKEN);
}

/* -- the caller -------------------------------------------------------------------------------- */

int
recorder_start(struct error *e)
{
        struct audit_log log = { .dir = -1 };
        const char *directory = NULL;
        struct arena arena;
        int pair[2] = { -1, -1 }, result;

        arena_init(&arena, ARENA_MAX);
        result = recorder_directory(&arena, NULL, &directory, e);
        if (result == 0)
                result = audit_log_open(&log, directory, true, e);
        arena_fini(&arena);
        if (result == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                result = fail_sys(e, ERROR_BACKEND_FAILED, errno, "creating a pair of sockets");
        if (result < 0) {
                audit_log_close(&log);
                return -1;
        }
        recorder.pid = fork();
        if (recorder.pid == 0) {
                (void)close(pair[0]);
                become_recorder(&log, pair[1]);
        }
        (void)close(pair[1]);
        audit_log_close(&log);
        if (recorder.pid < 0) {
                (void)close(pair[0]);
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting the recorder");
        }
        recorder.fd = pair[0];
        return 0;
}

static int
ended(struct error *e)
{
        return fail(e, ERROR_AUDIT_UNAVAILABLE, "the process that writes the audit log has ended");
}

static int
read_answer(const unsigned char *body, size_t len, char ret_ref[RECORDER_REF_MAX], struct error *e)
{
        struct audited head;
        const char *texts[3];

        if (len < sizeof head || !split(body + sizeof head, len - sizeof head, texts, 3))
                return ended(e);
        memcpy(&head, body, sizeof head);
        if (head.code != 0) {
                (void)fail_at(e, head.code < ERROR_MAX ? head.code : ERROR_INTERNAL, NULL, texts[0],
                              "%s", texts[1]);
                if (texts[2][0] != '\0')
                        error_hint(e, "%s", texts[2]);
                return -1;
        }
        head.chain[sizeof head.chain - 1] = '\0';
        (void)snprintf(ret_ref, RECORDER_REF_MAX, "audit://%s/%llu", head.chain,
                       (unsigned long long)head.seq);
        return 0;
}

int
recorder_append(const struct audit_event *event, char ret_ref[RECORDER_REF_MAX], struct error *e)
{
        const char *texts[TEXTS] = { event->action,
                                     event->actor_id,
                                     event->actor_role,
                                     event->subject_kind,
                                     event->subject_ref,
                                     event->input ? event->input : "",
                                     event->output ? event->output : "" };
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        struct wire_message m;
        size_t at = 0;
        int result;

        for (size_t i = 0; i < TEXTS; i++) {
                size_t len = strlen(texts[i]) + 1;

                if (len > sizeof body - at)
                        return fail(e, ERROR_AUDIT_UNAVAILABLE,
                                    "the event is too large for the audit log");
                memcpy(body + at, texts[i], len);
                at += len;
        }
        if (wire_send(recorder.fd, WIRE_AUDIT, body, at, NULL, 0) < 0)
                return ended(e);
        do
                result = wire_receive(recorder.fd, 1, &m, body, sizeof body);
        while (result == -EINTR);
        if (result <= 0 || m.kind != WIRE_AUDITED)
                return ended(e);
        wire_message_close(&m);
        return read_answer(body, m.len, ret_ref, e);
}

void
recorder_end(void)
{
        scoped_fd_close(&recorder.fd);
        if (recorder.pid > 0)
                while (waitpid(recorder.pid, NULL, 0) < 0 && errno == EINTR)
                        continue;
        recorder.pid = 0;
}
