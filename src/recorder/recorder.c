/*
 * recorder/recorder.c - the process that writes the audit log of `carrel run --audit`.
 *
 * Room: recorder (joining). Touches: processes, fd, its own privileges, the audit log.
 * Theory, the ladder: the log is opened by path while the caller still may; the recorder keeps the
 * directory and its socket, can open nothing outside of it, and leaves the session, so that no
 * signal of a terminal interrupts it. The only text it reads is JSON that `carrel` wrote.
 *
 *    carrel --event--> recorder --number--> carrel       one at a time
 *           --end of the socket, a command was started--> the recorder writes exec.ended, lost
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/log.h"
#include "audit/retain.h"
#include "base/scoped.h"
#include "clock/clock.h"
#include "recorder/process.h"
#include "wire/message.h"

static struct {
        int fd;
        pid_t pid;
} recorder = { -1, 0 };

/* -- the process ------------------------------------------------------------------------------- */

struct work {
        struct audit_log log;
        /* of a command that was started and has not ended: its actor and its subject */
        char actor_id[64], actor_role[32], subject_kind[32], subject_ref[64];
        bool is_running;
        uint64_t keep_ms; /* retention; 0: forever */
};

static void
keep_text(char *out, size_t room, const char *text)
{
        (void)snprintf(out, room, "%s", text);
}

static void
answer(const struct recorder_answer *head, const struct error *e)
{
        unsigned char body[sizeof *head + sizeof *e];
        size_t len = recorder_answer_write(head, e, body);

        /* a caller that has ended meanwhile is seen at the next message */
        (void)wire_send(RECORDER_SOCKET, WIRE_AUDITED, body, len, NULL, 0);
}

static void
append(struct work *w, const struct audit_event *event)
{
        struct recorder_answer head = { 0 };
        struct error e = { 0 };

        if (audit_log_append(&w->log, event, 1, &head.seq, head.chain, &e) < 0) {
                head.code = (uint32_t)e.code;
        } else if (strcmp(event->action, "exec.started") == 0) {
                w->is_running = true;
                keep_text(w->actor_id, sizeof w->actor_id, event->actor_id);
                keep_text(w->actor_role, sizeof w->actor_role, event->actor_role);
                keep_text(w->subject_kind, sizeof w->subject_kind, event->subject_kind);
                keep_text(w->subject_ref, sizeof w->subject_ref, event->subject_ref);
        } else if (strncmp(event->action, "exec.", strlen("exec.")) == 0) {
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

/* Nobody waits for an answer: what fails is in the log (retention.refused). */
static void
retain(struct work *w)
{
        struct audit_pruned pruned;
        struct error ignored;

        if (w->log.has_begun_file)
                (void)audit_log_retain(&w->log, w->keep_ms, clock_wall_ms(), &pruned, &ignored);
}

static _Noreturn void
serve(struct work *w)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];

        for (;;) {
                struct audit_event event;
                struct wire_message m;
                int result = wire_receive(RECORDER_SOCKET, 1, &m, body, sizeof body);

                if (result == -EINTR)
                        continue;
                if (result <= 0)
                        break;
                wire_message_close(&m);
                if (m.kind == WIRE_AUDIT_KEEP && m.len == sizeof w->keep_ms) {
                        memcpy(&w->keep_ms, body, sizeof w->keep_ms);
                        continue;
                }
                if (m.kind != WIRE_AUDIT || !recorder_event_read(body, m.len, &event))
                        _exit(RECORDER_BROKEN);
                append(w, &event);
        }
        if (w->is_running)
                append_lost(w);
        retain(w);
        audit_log_close(&w->log);
        _exit(0);
}

static _Noreturn void
become_recorder(struct audit_log *log, int socket)
{
        struct work w = { .log = *log };
        struct error e = { 0 };

        if (recorder_become(socket, log->dir, false, false, &e) == 0) {
                w.log.dir = RECORDER_LOG;
                serve(&w);
        }
        answer(&(struct recorder_answer){ .code = (uint32_t)e.code }, &e);
        _exit(RECORDER_BROKEN);
}

/* -- the caller -------------------------------------------------------------------------------- */

int
recorder_start(const char *directory, struct error *e)
{
        struct audit_log log = { .dir = -1 };
        int pair[2] = { -1, -1 };
        int result = audit_log_open(&log, directory, true, e);

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

int
recorder_append(const struct audit_event *event, char ret_ref[RECORDER_REF_MAX], struct error *e)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        struct wire_message m;
        size_t len = recorder_event_write(event, body, sizeof body);
        int result;

        if (len == 0)
                return fail(e, ERROR_AUDIT_UNAVAILABLE, "the event is too large for the audit log");
        if (wire_send(recorder.fd, WIRE_AUDIT, body, len, NULL, 0) < 0)
                return ended(e);
        do
                result = wire_receive(recorder.fd, 1, &m, body, sizeof body);
        while (result == -EINTR);
        if (result <= 0 || m.kind != WIRE_AUDITED)
                return ended(e);
        wire_message_close(&m);
        return recorder_answer_read(body, m.len, ret_ref, e);
}

void
recorder_keep(uint64_t keep_ms)
{
        /* a recorder that has ended is seen by the next entry */
        if (recorder.fd >= 0)
                (void)wire_send(recorder.fd, WIRE_AUDIT_KEEP, &keep_ms, sizeof keep_ms, NULL, 0);
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
