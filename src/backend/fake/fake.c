/*
 * backend/fake/fake.c - a backend that makes no process.
 *
 * Room: backend/fake (acting). Touches: fd.
 * Theory: all that a box would say is put into its sockets at once when it starts, so that the
 * order is the sockets' own and no test waits for luck; what depends on being killed is said when
 * kill() is called.
 */
#include "backend/fake/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"

struct backend_box {
        const struct plan *plan;
        int news[2]; /* ours to read, the box's to write */
        int guest;   /* the guest's end */
        int stdio[3];
        uint64_t cpu_ns;
        bool has_ended;
};

static const struct fake_script *script;
static struct fake_record record;

void
fake_play(const struct fake_script *s)
{
        script = s;
        record = (struct fake_record){ .starts = 0 };
}

const struct fake_record *
fake_record(void)
{
        return &record;
}

/* -- the guest's side
 * ----------------------------------------------------------------------------------------- */

static int
take_command(struct backend_box *box)
{
        static _Alignas(8) char body[WIRE_BODY_MAX];
        struct wire_message m;

        if (wire_receive(box->guest, 0, &m, body, sizeof body) != 1 || m.kind != WIRE_EXEC ||
            m.len < sizeof record.exec)
                return -1;
        memcpy(&record.exec, body, sizeof record.exec);
        record.argc = record.exec.argc;
        record.fd_count = m.fd_count;
        for (size_t i = 0; i + 1 < sizeof record.first && body[sizeof record.exec + i] != '\0'; i++)
                record.first[i] = body[sizeof record.exec + i];
        for (size_t i = 0; i < 3 && i < m.fd_count; i++) {
                box->stdio[i] = m.fds[i];
                m.fds[i] = -1;
        }
        wire_message_close(&m);
        return 0;
}

static void
say(struct backend_box *box, uint16_t kind, const void *body, size_t len)
{
        (void)wire_send(box->guest, kind, body, len, NULL, 0);
}

static void
write_output(const struct backend_box *box)
{
        for (size_t i = 0; script->out && i < (script->out_times > 0 ? script->out_times : 1); i++)
                (void)!write(box->stdio[1], script->out, strlen(script->out));
        if (script->err)
                (void)!write(box->stdio[2], script->err, strlen(script->err));
}

static void
say_ended(struct backend_box *box)
{
        struct wire_exec_ended ended = { .code = script->end == FAKE_EXITED ? CLD_EXITED
                                                                            : CLD_KILLED,
                                         .status = script->number,
                                         .user_us = 3000,
                                         .system_us = 2000,
                                         .max_rss_kb = 77 };

        say(box, WIRE_EXEC_ENDED, &ended, sizeof ended);
        if (script->ends_twice) {
                ended.code = CLD_EXITED;
                ended.status = 99;
                say(box, WIRE_EXEC_ENDED, &ended, sizeof ended);
        }
}

/* -- the box's end
 * -------------------------------------------------------------------------------------------- */

static void
leave(struct backend_box *box)
{
        for (size_t i = 0; i < 3; i++)
                scoped_fd_close(&box->stdio[i]);
        if (!script->closes_late)
                scoped_fd_close(&box->guest);
}

static void
tell(struct backend_box *box, const struct backend_news *news)
{
        (void)send(box->news[1], news, sizeof *news, MSG_NOSIGNAL);
}

static void
end_box(struct backend_box *box)
{
        struct backend_news news = { .kind = BACKEND_ENDED,
                                     .cpu_ns = script->cpu_ns,
                                     .oom_kills = script->oom_kills };

        if (box->has_ended)
                return;
        box->has_ended = true;
        leave(box);
        tell(box, &news);
}

static void
fail_step(struct backend_box *box)
{
        struct wire_failed failed = { script->step, script->number };
        struct backend_news news = { .kind = BACKEND_FAILED };

        if (script->end == FAKE_BOX_FAILED) {
                say(box, WIRE_BOX_FAILED, &failed, sizeof failed);
                end_box(box);
                return;
        }
        (void)backend_step_failed(&news.error, box->plan, script->step, script->number);
        box->has_ended = true;
        leave(box);
        tell(box, &news);
}

static void
play(struct backend_box *box)
{
        struct wire_exec_failed failed = { record.exec.exec, script->number, script->stage };
        bool is_made = script->end != FAKE_MAKE_FAILED && script->end != FAKE_BOX_FAILED &&
                       script->end != FAKE_EXEC_FAILED;

        if (script->end != FAKE_MAKE_FAILED)
                tell(box, &(struct backend_news){ .kind = BACKEND_SPAWNED });
        if (is_made && !script->never_starts)
                say(box, WIRE_EXEC_STARTED, &(struct wire_exec_number){ record.exec.exec, 2 },
                    sizeof(struct wire_exec_number));
        if (is_made)
                write_output(box);
        switch (script->end) {
        case FAKE_EXITED:
        case FAKE_SIGNALED:
                say_ended(box);
                end_box(box);
                break;
        case FAKE_SILENT:
                end_box(box);
                break;
        case FAKE_EXEC_FAILED:
                say(box, WIRE_EXEC_FAILED, &failed, sizeof failed);
                end_box(box);
                break;
        case FAKE_BOX_FAILED:
        case FAKE_MAKE_FAILED:
                fail_step(box);
                break;
        case FAKE_MAKER_LOST:
                leave(box);
                scoped_fd_close(&box->news[1]);
                box->has_ended = true;
                break;
        default:
                break;
        }
}

/* -- the backend
 * ---------------------------------------------------------------------------------------------- */

static void
take_signals(struct backend_box *box)
{
        _Alignas(8) char body[256];
        struct wire_message m;

        while (box->guest >= 0 && wire_receive(box->guest, 0, &m, body, sizeof body) == 1) {
                if (m.kind == WIRE_SIGNAL &&
                    record.signal_count < sizeof record.signals / sizeof *record.signals)
                        record.signals[record.signal_count++] =
                                ((const struct wire_exec_number *)(const void *)body)->number;
                wire_message_close(&m);
        }
}

static void
fake_close(struct backend_box *box)
{
        record.closes++;
        if (!box)
                return;
        take_signals(box);
        leave(box);
        scoped_fd_close(&box->guest);
        for (size_t i = 0; i < 2; i++)
                scoped_fd_close(&box->news[i]);
        free(box);
}

static int
fake_start(struct backend_box **ret, const struct plan *plan, const int *sources, int guest,
           struct error *e)
{
        struct backend_box *box;

        (void)sources;
        record.starts++;
        if (script->end == FAKE_REFUSES)
                return fail(e, ERROR_QUOTA_EXCEEDED, "the script refuses");
        box = calloc(1, sizeof *box);
        if (!box)
                return fail(e, ERROR_NO_MEMORY, "no memory for a box");
        *box = (struct backend_box){ .plan = plan,
                                     .guest = fcntl(guest, F_DUPFD_CLOEXEC, 3),
                                     .stdio = { -1, -1, -1 } };
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, box->news) < 0) {
                box->news[0] = box->news[1] = -1;
                fake_close(box);
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a socket for news");
        }
        if (take_command(box) < 0) {
                fake_close(box);
                return fail(e, ERROR_PROTOCOL, "no command was waiting");
        }
        play(box);
        *ret = box;
        return 0;
}

static int
fake_descriptor(const struct backend_box *box)
{
        record.turns++;
        if (script->on_turn)
                script->on_turn(record.turns);
        return box->news[0];
}

static int
fake_read(struct backend_box *box, struct backend_news *ret, struct error *e)
{
        ssize_t got = recv(box->news[0], ret, sizeof *ret, MSG_DONTWAIT);

        record.reads++;
        if (got < 0 && errno == EAGAIN) {
                *ret = (struct backend_news){ .kind = BACKEND_QUIET };
                return 0;
        }
        return got == (ssize_t)sizeof *ret
                       ? 0
                       : fail_sys(e, ERROR_BACKEND_FAILED, ECONNRESET, "the maker is gone");
}

static uint64_t
fake_cpu_ns(const struct backend_box *box)
{
        struct backend_box *b = (struct backend_box *)(uintptr_t)box;

        if (script->cpu_step_ns == 0)
                return UINT64_MAX;
        b->cpu_ns += script->cpu_step_ns;
        return b->cpu_ns;
}

static void
fake_kill(struct backend_box *box)
{
        record.kills++;
        take_signals(box);
        end_box(box);
}

const struct backend backend_fake = {
        .name = "fake",
        .start = fake_start,
        .descriptor = fake_descriptor,
        .read = fake_read,
        .cpu_ns = fake_cpu_ns,
        .kill = fake_kill,
        .close = fake_close,
};
