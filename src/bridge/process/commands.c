/*
 * bridge/process/commands.c - commands: orders of the box to requests, and what becomes of them.
 *
 * Room: bridge/process (program). Touches: fd, mem.
 *
 *     waiting --ready--> sent --started--> running --exited, error--> ended --written--> reported
 *        '----- killed, failed -----'---------------------------------------> reported
 *
 * Theory: an end is reported to the box once everything that was printed is in the command's pipes.
 * What a reader has taken is credited again, so a slow one holds up its own command alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/process/relay.h"
#include "bridge/test_switches.h"
#include "text/utf8.h"

enum { PID_INSIDE = 1, WORDS_MAX = 40000, STANDARD_ROWS = 24, STANDARD_COLUMNS = 80 };

#define holder(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static void
say(struct task *t, struct json_writer *w)
{
        bridge_end(w);
        provider_say(&t->relay->provider, w);
        json_fini(w);
}

static void
say_about(struct task *t, const char *kind, const char *member, int64_t value)
{
        struct json_writer w;

        if (t->id == 0)
                return;
        json_init(&w, false);
        bridge_begin(&w, kind, t->id);
        if (member)
                json_member_int(&w, member, value);
        say(t, &w);
}

static struct task *
task_of(struct relay *r, uint32_t exec)
{
        struct task *t = r->tasks;

        while (t && t->exec != exec)
                t = t->next;
        return t;
}

const char *
task_variable(const struct task *t, const char *name)
{
        size_t len = strlen(name);

        for (uint32_t i = 0; i < t->envc; i++) {
                const char *item = t->words[t->argc + 1 + i];

                if (strncmp(item, name, len) == 0 && item[len] == '=')
                        return item + len + 1;
        }
        return NULL;
}

/* -- the end ----------------------------------------------------------------------------------- */

static void
close_stream(struct stream *s)
{
        loop_watch_remove(&s->watch);
        if (s->fd >= 0)
                (void)close(s->fd);
        s->fd = -1;
        bytes_fini(&s->pending);
}

void
task_close_input(struct task *t)
{
        loop_watch_remove(&t->input_watch);
        if (t->input >= 0)
                (void)close(t->input);
        t->input = -1;
}

/* The message holds the environment, with its secrets. */
static void
forget_body(struct task *t)
{
        if (t->body)
                explicit_bzero(t->body, t->len);
        free(t->body);
        free(t->words);
        t->body = NULL;
        t->words = NULL;
        t->argc = t->envc = 0;
}

static void
drop(struct task *t)
{
        struct task **at = &t->relay->tasks;

        while (*at != t)
                at = &(*at)->next;
        *at = t->next;
        task_close_input(t);
        for (int i = 0; i < RELAY_STREAMS; i++)
                close_stream(&t->out[i]);
        bytes_fini(&t->content);
        forget_body(t);
        free(t->path);
        free(t->after);
        free(t);
}

/* Reports the end once all its output is written. It may free the task. */
static void
look_at_end(struct task *t)
{
        struct wire_exec_ended ended = { .exec = t->exec, .code = t->code, .status = t->status };

        if (!t->has_ended || t->out[0].pending.len > 0 || t->out[1].pending.len > 0)
                return;
        relay_say_box(t->relay, WIRE_EXEC_ENDED, &ended, sizeof ended);
        drop(t);
}

void
task_end(struct task *t, int32_t code, int32_t status)
{
        t->has_ended = 1;
        t->code = code;
        t->status = status;
        t->id = 0;
        task_close_input(t);
        look_at_end(t);
}

void
task_fail(struct task *t, int sys, const char *text)
{
        struct wire_exec_failed failed = { t->exec, sys,
                                           sys == ENOENT ? WIRE_STAGE_LOOKUP
                                                         : WIRE_STAGE_PROVIDER };

        if (text && t->out[1].fd >= 0) /* a pipe that is empty: it takes a short line at once */
                (void)!write(t->out[1].fd, text, strlen(text));
        relay_say_box(t->relay, WIRE_EXEC_FAILED, &failed, sizeof failed);
        drop(t);
}

void
task_fail_all(struct relay *r, int sys, const char *text)
{
        while (r->tasks)
                task_fail(r->tasks, sys, text);
}

void
task_say_started(struct task *t)
{
        struct wire_exec_number started = { t->exec, PID_INSIDE };

        t->is_started = 1;
        relay_say_box(t->relay, WIRE_EXEC_STARTED, &started, sizeof started);
}

/* -- output ------------------------------------------------------------------------------------ */

/* Gives credit for what was written, or dropped because nobody reads. */
static void
credit(struct task *t, size_t len)
{
        struct bridge_request *request = bridge_session_find(&t->relay->provider.session, t->id);

        if (len == 0 || !request || !request->is_command)
                return;
        request->credit += len;
        say_about(t, "credit", "bytes", (int64_t)len);
}

/* 1: all is written; 0: the pipe is full. */
static int
flush(struct task *t, struct stream *s)
{
        size_t written = 0;

        while (s->pending.len > 0 && s->fd >= 0) {
                ssize_t put = write(s->fd, s->pending.at + s->pending.first, s->pending.len);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0 && errno == EAGAIN)
                        break;
                if (put < 0) {
                        written += s->pending.len;
                        close_stream(s);
                        break;
                }
                bytes_drop(&s->pending, (size_t)put);
                written += (size_t)put;
        }
        if (s->fd < 0) {
                written += s->pending.len;
                bytes_fini(&s->pending);
        }
        credit(t, written);
        return s->pending.len == 0;
}

/* A reader that has left is reported whether it is watched or not. */
static void
stream_ready(struct task *t, struct stream *s, uint32_t events)
{
        int is_done;

        if ((events & (EPOLLERR | EPOLLHUP)) != 0)
                close_stream(s);
        is_done = flush(t, s);
        if (s->fd >= 0 && is_done)
                (void)loop_watch_change(&s->watch, 0);
        look_at_end(t);
}

static void
out_ready(struct loop_watch *w, uint32_t events)
{
        struct task *t = holder(w, struct task, out[0].watch);

        stream_ready(t, &t->out[0], events);
}

static void
error_ready(struct loop_watch *w, uint32_t events)
{
        struct task *t = holder(w, struct task, out[1].watch);

        stream_ready(t, &t->out[1], events);
}

void
task_print(struct task *t, unsigned which, const void *bytes, size_t len)
{
        struct stream *s = &t->out[which];

        if (bytes_put(&s->pending, bytes, len) < 0)
                _exit(1); /* its output is lost: the box ends, and reports that */
        if (!flush(t, s))
                (void)loop_watch_change(&s->watch, EPOLLOUT);
}

/* -- input ------------------------------------------------------------------------------------- */

/* A terminal's input ends with the command. */
static void
end_input(struct task *t)
{
        task_close_input(t);
        if ((t->flags & WIRE_EXEC_TTY) == 0)
                say_about(t, "stdinEnd", NULL, 0);
}

static void input_ready(struct loop_watch *w, uint32_t events);

/*
 * A caller that has left is reported as long as its pipe is watched, also when nothing is asked
 * for. So what may not be read yet is not watched.
 */
int
task_watch_input(struct task *t, int is_wanted)
{
        if (!is_wanted)
                loop_watch_remove(&t->input_watch);
        else if (t->input >= 0 && t->input_watch.fd < 0)
                return loop_watch_add(t->relay->loop, &t->input_watch, t->input, EPOLLIN,
                                      input_ready);
        return 0;
}

static void
send_input(struct task *t, struct bridge_request *request)
{
        char bytes[BRIDGE_DATA_MAX];
        size_t most = request->input < sizeof bytes ? (size_t)request->input : sizeof bytes;
        ssize_t got = most > 0 ? read(t->input, bytes, most) : -1;
        struct json_writer w;

        if (got == 0 || (got < 0 && most > 0 && errno != EAGAIN && errno != EINTR)) {
                end_input(t);
                return;
        }
        if (got > 0) {
                json_init(&w, false);
                bridge_begin(&w, "stdin", t->id);
                bridge_member_data(&w, "data", bytes, (size_t)got);
                say(t, &w);
                request->input -= (uint64_t)got;
        }
        /* it is read again when the program has taken what it got */
        (void)task_watch_input(t, request->input > 0);
}

static void
input_ready(struct loop_watch *w, uint32_t events)
{
        struct task *t = holder(w, struct task, input_watch);
        struct bridge_request *request = bridge_session_find(&t->relay->provider.session, t->id);

        (void)events;
        if ((t->flags & WIRE_EXEC_BUILTIN) != 0)
                files_input(t);
        else if (request)
                send_input(t, request);
        else
                task_close_input(t);
}

/* A file is always ready, and is not watched: it is read here to its end. */
void
task_begin_input(struct task *t)
{
        struct bridge_request *request = bridge_session_find(&t->relay->provider.session, t->id);
        int result;

        if (t->input < 0)
                return;
        if (!t->wants_input && (t->flags & WIRE_EXEC_BUILTIN) == 0) {
                task_close_input(t);
                return;
        }
        result = task_watch_input(t, 1);
        while (result < 0 && t->input >= 0 && request && request->input > 0)
                send_input(t, request);
}

/* -- the beginning ----------------------------------------------------------------------------- */

static int
take_descriptors(struct task *t, struct wire_message *m)
{
        static void (*const ready[])(struct loop_watch * w, uint32_t events) = { out_ready,
                                                                                 error_ready };

        if (m->fd_count < 1 + RELAY_STREAMS)
                return -1;
        t->input = m->fds[0];
        m->fds[0] = -1;
        for (int i = 0; i < RELAY_STREAMS; i++) {
                struct stream *s = &t->out[i];

                s->fd = m->fds[1 + i];
                m->fds[1 + i] = -1;
                (void)fcntl(s->fd, F_SETFL, O_WRONLY | O_NONBLOCK);
                (void)loop_watch_add(t->relay->loop, &s->watch, s->fd, 0, ready[i]);
        }
        return fcntl(t->input, F_SETFL, O_RDONLY | O_NONBLOCK);
}

static int
read_words(struct task *t, const void *body, size_t len)
{
        struct wire_exec head;

        t->body = malloc(len);
        t->words = malloc(sizeof *t->words * (2 * WORDS_MAX + 3));
        if (!t->body || !t->words)
                return -ENOMEM;
        memcpy(t->body, body, len);
        t->len = len;
        if (wire_command_read(t->body, len, t->words, 2 * (size_t)WORDS_MAX + 3, &head) < 0)
                return -EPROTO;
        t->exec = head.exec;
        t->argc = head.argc;
        t->envc = head.envc;
        t->flags = head.flags;
        t->rows = head.rows;
        t->columns = head.columns;
        return 0;
}

void
task_new(struct relay *r, const void *body, size_t len, struct wire_message *m)
{
        struct task *t = calloc(1, sizeof *t), **last = &r->tasks;
        int result;

        if (!t)
                return;
        *t = (struct task){ .relay = r, .input = -1 };
        t->input_watch.fd = -1;
        for (int i = 0; i < RELAY_STREAMS; i++) {
                t->out[i].fd = -1;
                t->out[i].watch.fd = -1;
        }
        while (*last)
                last = &(*last)->next;
        *last = t;
        result = read_words(t, body, len);
        if (result == 0 && take_descriptors(t, m) < 0)
                result = -EBADF;
        if (result < 0)
                task_fail(t, -result, NULL);
        else if (r->state == RELAY_READY && pause_lets_through(r))
                task_send(t);
}

static int
has_terminal(const struct task *t)
{
        return (t->flags & WIRE_EXEC_TTY) != 0;
}

static int
is_sendable(const struct task *t)
{
        for (uint32_t i = 0; i < t->argc + t->envc + 2; i++) {
                const char *word = t->words[i];

                if (word && utf8_valid_len(word, strlen(word)) != strlen(word))
                        return 0;
        }
        return 1;
}

static void
write_environment(const struct task *t, struct json_writer *w)
{
        json_key(w, "env");
        json_open_map(w);
        for (uint32_t i = 0; i < t->envc; i++) {
                char *item = t->words[t->argc + 1 + i], *value = strchr(item, '=');

                if (!value || (strncmp(item, RELAY_KEY "=", sizeof RELAY_KEY) == 0 &&
                               !bridge_switch_is_off(BRIDGE_SWITCH_KEY)))
                        continue;
                *value = '\0';
                json_member_text(w, item, value + 1);
                *value = '=';
        }
        json_close_map(w);
}

/* Both are at least 1: a caller need not know its own. */
static void
write_size(struct json_writer *w, uint16_t rows, uint16_t columns)
{
        json_member_int(w, "rows", rows > 0 ? rows : STANDARD_ROWS);
        json_member_int(w, "columns", columns > 0 ? columns : STANDARD_COLUMNS);
}

/* As the guest says of a command that it does not begin: api/start_error.c names it. */
static void
refuse_terminal(struct task *t)
{
        const struct wire_exec_failed failed = { t->exec, EOPNOTSUPP, WIRE_STAGE_PREPARE };

        relay_say_box(t->relay, WIRE_EXEC_FAILED, &failed, sizeof failed);
        drop(t);
}

void
task_refuse_terminals(struct relay *r)
{
        struct task *next;

        if ((r->provider.session.abilities & 1u << BRIDGE_CAN_TERMINAL) != 0)
                return;
        for (struct task *t = r->tasks; t; t = next) {
                next = t->next;
                if (has_terminal(t))
                        refuse_terminal(t);
        }
}

static int
is_waiting(const struct task *t)
{
        return t->id == 0 && !t->is_started && !t->has_ended;
}

void
task_send_all(struct relay *r)
{
        struct task *next;

        for (struct task *t = r->tasks; t && r->state == RELAY_READY; t = next) {
                next = t->next;
                if (is_waiting(t))
                        task_send(t);
        }
}

void
task_fail_waiting(struct relay *r, int sys, const char *text)
{
        struct task *next;

        for (struct task *t = r->tasks; t; t = next) {
                next = t->next;
                if (is_waiting(t))
                        task_fail(t, sys, text);
        }
}

void
task_send(struct task *t)
{
        struct provider *p = &t->relay->provider;
        const char *cwd = t->words[t->argc + 1 + t->envc + 1];
        struct json_writer w;

        if ((t->flags & WIRE_EXEC_BUILTIN) != 0) {
                files_send(t);
                return;
        }
        if (!is_sendable(t)) {
                task_fail(t, EILSEQ, NULL);
                return;
        }
        if (has_terminal(t) && (p->session.abilities & 1u << BRIDGE_CAN_TERMINAL) == 0) {
                refuse_terminal(t);
                return;
        }
        t->wants_input = has_terminal(t) || (p->session.abilities & 1u << BRIDGE_CAN_STDIN) != 0;
        t->id = bridge_session_open(&p->session, 1);
        if (t->id == 0) {
                task_fail(t, EAGAIN, NULL);
                return;
        }
        json_init(&w, false);
        bridge_begin(&w, "runCommand", t->id);
        json_key(&w, "argv");
        json_open_list(&w);
        for (uint32_t i = 0; i < t->argc; i++)
                json_text(&w, t->words[i]);
        json_close_list(&w);
        if (cwd && strcmp(cwd, "/") != 0)
                json_member_text(&w, "cwd", cwd);
        write_environment(t, &w);
        json_member_bool(&w, "stdin", t->wants_input != 0);
        if (has_terminal(t)) {
                json_key(&w, "terminal");
                json_open_map(&w);
                write_size(&w, t->rows, t->columns);
                json_close_map(&w);
        }
        forget_body(t);
        bridge_end(&w);
        provider_say(p, &w);
        if (w.text)
                explicit_bzero(w.text, w.len);
        json_fini(&w);
        if (t->relay->state == RELAY_READY)
                task_begin_input(t);
}

/* -- orders and news --------------------------------------------------------------------------- */

static void
cancel(struct task *t)
{
        t->is_killed = 1;
        if (t->has_ended) {
                for (int i = 0; i < RELAY_STREAMS; i++)
                        close_stream(&t->out[i]);
                look_at_end(t);
        } else if (t->id == 0 && !t->is_started) {
                task_fail(t, ECANCELED, NULL);
        } else if ((t->flags & WIRE_EXEC_BUILTIN) != 0) {
                task_end(t, CLD_KILLED, SIGKILL);
        } else {
                say_about(t, "cancel", NULL, 0);
        }
}

void
task_signal(struct relay *r, uint32_t exec, int32_t number)
{
        struct task *t = task_of(r, exec);
        unsigned can = r->provider.session.abilities & 1u << BRIDGE_CAN_SIGNALS;

        if (!t)
                return;
        if (t->id != 0 && can && (t->flags & WIRE_EXEC_BUILTIN) == 0)
                say_about(t, "signal", "signal", number);
        else if (number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP)
                cancel(t);
}

void
task_resize(struct relay *r, const struct wire_exec_size *size)
{
        struct task *t = task_of(r, size->exec);
        struct json_writer w;

        if (!t || !has_terminal(t) || t->has_ended)
                return;
        t->rows = size->rows;
        t->columns = size->columns;
        if (t->id == 0)
                return;
        json_init(&w, false);
        bridge_begin(&w, "resize", t->id);
        write_size(&w, t->rows, t->columns);
        say(t, &w);
}

void
task_kill(struct relay *r, uint32_t exec)
{
        struct task *next;

        for (struct task *t = r->tasks; t; t = next) {
                next = t->next;
                if (exec == 0 || t->exec == exec)
                        cancel(t);
        }
}

static int
errno_of(enum bridge_code code)
{
        static const int known[BRIDGE_CODES] = {
                [BRIDGE_CODE_AUTH] = EACCES,          [BRIDGE_CODE_NOT_FOUND] = ENOENT,
                [BRIDGE_CODE_INVALID] = EINVAL,       [BRIDGE_CODE_UNSUPPORTED] = EOPNOTSUPP,
                [BRIDGE_CODE_UNAVAILABLE] = ENETDOWN, [BRIDGE_CODE_CANCELLED] = ECANCELED,
                [BRIDGE_CODE_FAILED] = EIO,           [BRIDGE_CODE_EXISTS] = EEXIST,
        };

        return known[code];
}

static void
hear_error(struct task *t, const struct bridge_message *m)
{
        if (!t->is_started) {
                t->id = 0;
                task_fail(t, errno_of(m->code), m->text);
                return;
        }
        if (m->code != BRIDGE_CODE_CANCELLED) {
                task_print(t, 1, "carrel: the provider lost the command: ", 40);
                task_print(t, 1, m->text, strlen(m->text));
                task_print(t, 1, "\n", 1);
        }
        task_end(t, CLD_KILLED, SIGKILL);
}

static void
hear_command(struct task *t, const struct bridge_message *m)
{
        struct bridge_request *request = bridge_session_find(&t->relay->provider.session, t->id);

        if (m->kind == BRIDGE_STARTED)
                task_say_started(t);
        else if (m->kind == BRIDGE_OUTPUT)
                task_print(t, m->is_stderr, m->data, m->len);
        else if (m->kind == BRIDGE_EXITED)
                task_end(t, m->status >= 0 ? CLD_EXITED : CLD_KILLED,
                         (int32_t)(m->status >= 0 ? m->status : m->signal));
        else if (m->kind == BRIDGE_ERROR)
                hear_error(t, m);
        else if (request && request->input > 0 && t->input >= 0)
                (void)task_watch_input(t, 1);
}

void
task_heard(struct relay *r, const struct bridge_message *m)
{
        struct task *t = r->tasks;

        while (t && (t->id == 0 || t->id != m->id))
                t = t->next;
        if (t && (t->flags & WIRE_EXEC_BUILTIN) != 0)
                files_heard(t, m);
        else if (t)
                hear_command(t, m);
}
