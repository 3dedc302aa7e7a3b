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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/content.h"
#include "audit/log.h"
#include "audit/redact.h"
#include "audit/retain.h"
#include "base/scoped.h"
#include "clock/clock.h"
#include "recorder/contents.h"
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
        bool is_running, keeps, has_egress;
        uint64_t keep_ms;                    /* retention; 0: forever */
        int contents[AUDIT_CONTENT_STREAMS]; /* files in memory */
        /* bytes of each stream, known once the command has ended */
        uint64_t lengths[AUDIT_CONTENT_STREAMS];
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

/* -- contents of streams ----------------------------------------------------------------------- */

static void
take_files(struct work *w, struct wire_message *m)
{
        struct recorder_answer head = { 0 };
        struct error e = { 0 };

        if ((m->fd_count != AUDIT_CONTENT_STREAMS && m->fd_count != AUDIT_CONTENT_EGRESS) ||
            w->keeps)
                _exit(RECORDER_BROKEN);
        if (audit_content_begin(&w->log, &e) < 0)
                head.code = (uint32_t)e.code;
        w->has_egress = m->fd_count == AUDIT_CONTENT_STREAMS;
        for (size_t i = 0; i < m->fd_count; i++)
                w->contents[i] = fd_take(&m->fds[i]);
        w->keeps = head.code == 0;
        answer(&head, &e);
}

/* The value of the member `content`. */
static void
write_contents(struct work *w, struct json_writer *out)
{
        struct contents_streams s = {
                .which = (1u << (w->has_egress ? AUDIT_CONTENT_STREAMS : AUDIT_CONTENT_EGRESS)) - 1
        };

        memcpy(s.fds, w->contents, sizeof s.fds);
        memcpy(s.lengths, w->lengths, sizeof s.lengths);
        recorder_contents_write(&w->log, &s, out);
        w->keeps = false;
}

static void
answer_contents(struct work *w, const void *lengths, size_t len)
{
        struct json_writer out;

        if (!w->keeps || len != sizeof w->lengths)
                _exit(RECORDER_BROKEN);
        memcpy(w->lengths, lengths, len);
        json_init(&out, false);
        write_contents(w, &out);
        if (out.is_broken)
                _exit(RECORDER_BROKEN);
        (void)wire_send(RECORDER_SOCKET, WIRE_AUDIT_CONTENT_DONE, out.text, out.len, NULL, 0);
        json_fini(&out);
}

static void
append_lost(struct work *w)
{
        struct json_writer output;
        struct audit_event event = { .action = "exec.ended",
                                     .actor_id = w->actor_id,
                                     .actor_role = w->actor_role,
                                     .subject_kind = w->subject_kind,
                                     .subject_ref = w->subject_ref };
        char chain[AUDIT_ID_TEXT];
        struct error e;
        uint64_t seq;

        json_init(&output, false);
        json_open_map(&output);
        json_member_text(&output, "outcome", "lost");
        if (w->keeps) {
                json_key(&output, "content");
                write_contents(w, &output);
        }
        json_close_map(&output);
        event.output = output.is_broken ? "{\"outcome\":\"lost\"}" : output.text;
        (void)audit_log_append(&w->log, &event, 1, &seq, chain, &e);
        json_fini(&output);
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

/* The body of WIRE_AUDIT_KEEP. */
struct kept {
        uint64_t keep_ms, redact_off;
};

static void
take_kept(struct work *w, const unsigned char *body)
{
        struct kept k;

        memcpy(&k, body, sizeof k);
        w->keep_ms = k.keep_ms;
        redact_leave((unsigned)k.redact_off);
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
                if (m.kind == WIRE_AUDIT_KEEP && m.len == sizeof(struct kept))
                        take_kept(w, body);
                else if (m.kind == WIRE_AUDIT_CONTENT)
                        take_files(w, &m);
                else if (m.kind == WIRE_AUDIT_CONTENT_DONE)
                        answer_contents(w, body, m.len);
                else if (m.kind == WIRE_AUDIT && recorder_event_read(body, m.len, &event))
                        append(w, &event);
                else
                        _exit(RECORDER_BROKEN);
                wire_message_close(&m);
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

        if (recorder_become(socket, log->dir, false, true, &e) == 0) {
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

static int
make_files(int *fds, size_t count, struct error *e)
{
        for (size_t i = 0; i < count; i++) {
                fds[i] = memfd_create("content", MFD_CLOEXEC);
                if (fds[i] < 0)
                        return fail_sys(e, ERROR_BACKEND_FAILED, errno,
                                        "creating a file in memory");
        }
        return 0;
}

/* Waits for an answer, and receives it into `body`. */
static int
hear(uint16_t expected, unsigned char *body, size_t *ret_len, struct error *e)
{
        struct wire_message m;
        int result;

        do
                result = wire_receive(recorder.fd, 1, &m, body, WIRE_BODY_MAX);
        while (result == -EINTR);
        if (result <= 0 || m.kind != expected)
                return ended(e);
        wire_message_close(&m);
        *ret_len = m.len;
        return 0;
}

int
recorder_content_begin(bool has_egress, int ret_fds[AUDIT_CONTENT_STREAMS], struct error *e)
{
        const size_t count = has_egress ? AUDIT_CONTENT_STREAMS : AUDIT_CONTENT_EGRESS;
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        char ignored[RECORDER_REF_MAX];
        size_t len;

        if (make_files(ret_fds, count, e) < 0)
                return -1;
        if (wire_send(recorder.fd, WIRE_AUDIT_CONTENT, NULL, 0, ret_fds, count) < 0)
                return ended(e);
        if (hear(WIRE_AUDITED, body, &len, e) < 0)
                return -1;
        return recorder_answer_read(body, len, ignored, e);
}

int
recorder_content_end(const uint64_t lengths[AUDIT_CONTENT_STREAMS], struct json_writer *w,
                     struct error *e)
{
        static _Alignas(8) unsigned char body[WIRE_BODY_MAX];
        size_t len = AUDIT_CONTENT_STREAMS * sizeof *lengths;

        if (wire_send(recorder.fd, WIRE_AUDIT_CONTENT_DONE, lengths, len, NULL, 0) < 0)
                return ended(e);
        if (hear(WIRE_AUDIT_CONTENT_DONE, body, &len, e) < 0)
                return -1;
        json_raw(w, (const char *)body, len);
        return 0;
}

void
recorder_keep(uint64_t keep_ms, uint32_t redact_off)
{
        const struct kept k = { keep_ms, redact_off };

        /* a recorder that has ended is seen by the next entry */
        if (recorder.fd >= 0)
                (void)wire_send(recorder.fd, WIRE_AUDIT_KEEP, &k, sizeof k, NULL, 0);
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
