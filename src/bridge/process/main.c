/*
 * bridge/process/main.c - carrel-bridge: between the box of a sandbox elsewhere and the provider's
 * program.
 *
 * Room: bridge/process (program). Touches: fd, processes.
 *
 *     idle --first command--> greeting --hello--> creating --reply--> ready --the box hangs up-->
 *       ^                        |                    |                            ending --> exit
 *       '------------------------'--------------------'  the waiting commands fail
 *
 * Theory: it runs inside a sandbox of the local engine, with the provider's program, and has fewer
 * rights than this program: what it reads is foreign bytes, and the box links no JSON. It
 * speaks the messages of pid 1 to the box (wire/message.h). Nothing is asked of a provider before
 * the first command (AIP-36: materialisation is lazy).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/switches.h"
#include "bridge/process/relay.h"
#include "bridge/process/starter.h"
#include "bridge/test_switches.h"
#include "seal/seal.h"

enum {
        BOX = 0, /* its standard input is the socket to the box */
        BROKEN = 1,
        FILE_MAX = 256 * 1024,
        TEXT_ROOM = 1400,
        GREETING_MS = 10000,
        CREATING_MS = 180000,
        KILLING_MS = 4000,
        QUEUE_MAX = 4 << 20
};

static struct relay relay;
static _Alignas(8) unsigned char body[WIRE_BODY_MAX];

void
relay_say_box(struct relay *r, uint16_t kind, const void *message, size_t len)
{
        if (wire_queue_send(&r->to_box, kind, message, len, NULL, 0) < 0)
                _exit(BROKEN); /* without the box nothing is left to do; the box sees it end */
        (void)loop_watch_change(&r->box, r->state == RELAY_ENDING ? 0u
                                         : r->to_box.first        ? (uint32_t)(EPOLLIN | EPOLLOUT)
                                                                  : (uint32_t)EPOLLIN);
}

/* -- the sandbox ------------------------------------------------------------------------------- */

/* Nothing was made: the commands that wait fail, and the next one tries again. */
static void
give_up(struct relay *r, int sys, const char *why)
{
        char text[TEXT_ROOM];

        loop_timer_remove(&r->patience);
        provider_stop(&r->provider);
        r->state = RELAY_IDLE;
        r->asked = 0;
        (void)snprintf(text, sizeof text, "carrel: the provider made no sandbox: %s\n", why);
        task_fail_all(r, sys, text);
        url_fail_all(r, sys);
        pause_settle(r);
}

static void
impatient(struct loop_timer *t)
{
        struct relay *r = &relay;

        (void)t;
        if (r->state == RELAY_ENDING)
                _exit(0);
        give_up(r, ETIMEDOUT,
                r->state == RELAY_GREETING ? "its program sent no greeting within 10 s"
                                           : "it did not answer within 180 s");
}

/* Sends `create`, or `kill`. */
static void
ask(struct relay *r, const char *kind)
{
        struct json_writer w;

        r->asked = bridge_session_open(&r->provider.session, 0);
        json_init(&w, false);
        bridge_begin(&w, kind, r->asked);
        if (r->state == RELAY_ENDING)
                json_member_text(&w, "sandbox", r->sandbox);
        for (const struct node *n = r->state == RELAY_ENDING ? NULL : r->create->first; n;
             n = n->next) {
                json_key(&w, n->key);
                json_node(&w, n);
        }
        bridge_end(&w);
        provider_say(&r->provider, &w);
        json_fini(&w);
}

static void
hear_greeting(struct relay *r)
{
        enum bridge_ability lacking = bridge_session_lacks(&r->provider.session, r->needs);
        char why[TEXT_ROOM / 2];

        if (lacking != BRIDGE_ABILITIES && !bridge_switch_is_off(BRIDGE_SWITCH_NEEDS)) {
                (void)snprintf(why, sizeof why,
                               "the host file says that it has the ability \"%s\", and its "
                               "greeting does not",
                               bridge_ability_word(lacking));
                give_up(r, EOPNOTSUPP, why);
                return;
        }
        task_refuse_terminals(r);
        if (!r->tasks && !r->urls) { /* nobody waits for a sandbox any more */
                give_up(r, EOPNOTSUPP, "it has no terminal");
                return;
        }
        r->state = RELAY_CREATING;
        (void)loop_timer_set(r->loop, &r->patience, loop_now_ms() + CREATING_MS, impatient);
        ask(r, "create");
}

static void
hear_created(struct relay *r, const struct bridge_message *m)
{
        const struct node *id = m->result ? node_find(m->result, "sandbox") : NULL;

        r->asked = 0;
        loop_timer_remove(&r->patience);
        if (m->kind == BRIDGE_ERROR) {
                give_up(r,
                        m->code == BRIDGE_CODE_AUTH        ? EACCES
                        : m->code == BRIDGE_CODE_NOT_FOUND ? ENOPKG
                                                           : EIO,
                        m->text);
                return;
        }
        if (!id || id->kind != NODE_STRING || id->len == 0 || id->len > BRIDGE_NAME_MAX) {
                give_up(r, EPROTO, "its answer to create names no sandbox");
                return;
        }
        memcpy(r->sandbox, id->text, id->len + 1);
        r->state = RELAY_READY;
        pause_settle(r);
        if (pause_lets_through(r))
                task_send_all(r);
        url_send_all(r);
}

static void
heard(struct provider *p, const struct bridge_message *m, unsigned is_end)
{
        struct relay *r = &relay;

        (void)p;
        if (m->kind == BRIDGE_HELLO)
                hear_greeting(r);
        else if (r->state == RELAY_ENDING && is_end && m->id == r->asked)
                _exit(0);
        else if (r->state == RELAY_CREATING && is_end && m->id == r->asked)
                hear_created(r, m);
        else if (r->state == RELAY_READY && !pause_heard(r, m, is_end) && !url_heard(r, m))
                task_heard(r, m);
}

/* With a sandbox, its commands are lost: the box ends, and reports each of them as lost. */
static void
broke(struct provider *p, const struct error *why)
{
        (void)p;
        if (relay.state >= RELAY_READY)
                _exit(BROKEN);
        give_up(&relay, EPROTO, why->message);
}

static const struct provider_news news = { heard, broke };

/* With the provider's own key, which came with the command's environment. */
static void
start(struct relay *r)
{
        const char *key = task_variable(r->tasks, RELAY_KEY);
        struct provider_process process;
        struct error e;
        int result;

        r->state = RELAY_GREETING;
        result = starter_start(r->starter, key ? key - sizeof RELAY_KEY : NULL, &process, &e);
        if (result == 0)
                result = provider_open(&r->provider, r->loop, &news, &process, &e);
        if (result < 0)
                give_up(r, EIO, e.message);
        else
                (void)loop_timer_set(r->loop, &r->patience, loop_now_ms() + GREETING_MS, impatient);
}

/* -- the box ----------------------------------------------------------------------------------- */

static void
end(struct relay *r)
{
        loop_watch_remove(&r->box);
        if (r->state != RELAY_READY)
                _exit(0);
        r->state = RELAY_ENDING;
        (void)loop_timer_set(r->loop, &r->patience, loop_now_ms() + KILLING_MS, impatient);
        ask(r, "kill");
}

static void
hear_box(struct relay *r, struct wire_message *m)
{
        struct wire_exec_number number;
        struct wire_exec_size size;
        struct wire_number wanted;
        struct wire_connect ask;

        if (m->kind == WIRE_EXEC) {
                task_new(r, body, m->len, m);
                if (r->state == RELAY_IDLE && r->tasks)
                        start(r);
        } else if (m->kind == WIRE_CONNECT && m->len == sizeof ask) {
                memcpy(&ask, body, sizeof ask);
                url_new(r, &ask);
        } else if (m->kind == WIRE_BOX_FREEZE && m->len == sizeof wanted) {
                memcpy(&wanted, body, sizeof wanted);
                pause_want(r, wanted.number != 0);
        } else if (m->kind == WIRE_RESIZE && m->len == sizeof size) {
                memcpy(&size, body, sizeof size);
                task_resize(r, &size);
        } else if (m->len == sizeof number) {
                memcpy(&number, body, sizeof number);
                if (m->kind == WIRE_SIGNAL)
                        task_signal(r, number.exec, number.number);
                else if (m->kind == WIRE_KILL_TREE)
                        task_kill(r, number.exec);
        }
}

static void
box_ready(struct loop_watch *w, uint32_t events)
{
        struct relay *r = &relay;
        struct wire_message m;
        int got;

        (void)w;
        if ((events & EPOLLOUT) != 0 && wire_queue_flush(&r->to_box) < 0)
                _exit(BROKEN);
        got = wire_receive(BOX, 0, &m, body, sizeof body);
        if (got == -EAGAIN) {
                (void)loop_watch_change(&r->box,
                                        EPOLLIN | (r->to_box.first ? (uint32_t)EPOLLOUT : 0u));
                return;
        }
        if (got <= 0) {
                end(r);
                return;
        }
        hear_box(r, &m);
        explicit_bzero(body, m.len);
        wire_message_close(&m);
}

/* -- the file ---------------------------------------------------------------------------------- */

static int
read_program(struct relay *r, const struct node *list)
{
        size_t count = 0;

        if (!list || list->kind != NODE_LIST || list->len == 0)
                return -1;
        r->argv = arena_array(&r->arena, char *, list->len + 1);
        if (!r->argv)
                return -1;
        node_each(word, list) r->argv[count++] = (char *)(uintptr_t)word->text;
        r->argv[count] = NULL;
        return 0;
}

static int
read_file(struct relay *r)
{
        static const struct text_limits limits = { FILE_MAX, 32, 16384 };
        static char text[FILE_MAX];
        int fd = open(RELAY_FILE, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text);
        const struct node *root, *needs;
        struct error e;

        if (fd >= 0)
                (void)close(fd);
        arena_init(&r->arena, 4 * FILE_MAX);
        if (len <= 0 || json_read(&r->arena, text, (size_t)len, &limits, &root, &e) < 0)
                return -1;
        r->create = node_find(root, "create");
        needs = node_find(root, "needs");
        if (!r->create || !needs || read_program(r, node_find(root, "program")) < 0)
                return -1;
        node_each(word, needs) r->needs |= 1u << bridge_ability_find(word->text);
#ifdef CARREL_TEST_SWITCHES
        bridge_switches_read(node_find(root, "off") ? node_find(root, "off")->text : NULL);
#endif
        return 0;
}

/* What the provider's program prints on its standard error is not kept. */
static int
open_null(void)
{
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        return fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0 ? 0 : -1;
}

int
main(void)
{
        struct sigaction ignored = { .sa_handler = SIG_IGN };
        struct relay *r = &relay;
        struct error e;

        (void)prctl(PR_SET_NAME, "carrel-bridge", 0, 0, 0);
        (void)sigaction(SIGPIPE, &ignored, NULL);
        r->patience.due_ms = LOOP_NEVER;
        if (fcntl(BOX, F_SETFD, FD_CLOEXEC) < 0 || fcntl(BOX, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
            open_null() < 0 || read_file(r) < 0 || starter_fork(r->argv, &r->starter) < 0 ||
            seal_enter(SEAL_BRIDGE, NULL, 0, &e) < 0 || loop_new(&r->loop) < 0)
                return BROKEN;
        wire_queue_init(&r->to_box, BOX, QUEUE_MAX, 0);
        if (loop_watch_add(r->loop, &r->box, BOX, EPOLLIN, box_ready) < 0)
                return BROKEN;
        loop_run(r->loop);
        return BROKEN;
}
