/*
 * keeper/judging.c - asks carrel-judge whether commands may run.
 *
 * Room: keeper (joining). Touches: fd, the system's directories of programs, layers of images.
 * Theory: each judgement is a process of its own, made by carrel-judge for the socket that it is
 * sent. The keeper never waits for it: a call that is judged waits, at most JUDGE_PATIENCE_MS from
 * the question on, and everything but an answer denies. At most OWNER_MAX judgements of one owner
 * run at once, and OWNER_WAITING_MAX wait, so that nobody's commands wait for another's.
 */
#include "keeper/judging.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "judge/asker.h"
#include "judge/tool.h"
#include "keeper/approval.h"
#include "keeper/judging_arguments.h"
#include "keeper/peer.h"
#include "keeper/seats.h"
#include "keeper/validating.h"
#include "prepare/commands.h"

enum {
        ACTIVE_MAX = 16,
        OWNER_MAX = 4,
        OWNER_WAITING_MAX = 64,
        WAITING_MAX = 1024,
        QUESTIONS_MAX = 16,
        MEMORY = 8 << 20
};

struct call_judging {
        struct peer peer; /* first */
        struct seat seat; /* its call too */
        struct loop_timer timer;
        struct arena memory;
        struct host_programs programs;
        struct judge_asker asker;
        const char *tool;
        /* for the program that the host's rules name for the tool; none without one */
        struct validating_question questions[QUESTIONS_MAX];
        size_t question_count, answered_count;
        bool is_done, is_failed, is_looked_up;
        struct error why;
};

/* One for each keeper. */
static struct {
        struct peer peer; /* first */
        struct keeper *keeper;
        struct seats seats;
} judges = { .seats = { .inside_max = ACTIVE_MAX,
                        .owner_inside_max = OWNER_MAX,
                        .waiting_max = WAITING_MAX,
                        .owner_waiting_max = OWNER_WAITING_MAX,
                        .owner_reason = "judging",
                        .reason = "judging_all",
                        .says = "commands wait to be judged" } };

static _Alignas(8) unsigned char body[WIRE_BODY_MAX];

bool
judging_is_needed(const struct sandbox *s)
{
        return prepare_has_rules(s->prepared->spec, s->prepared->rules);
}

bool
judging_is_done(const struct call *c)
{
        return c->judging && c->judging->is_done;
}

/* -- slots ------------------------------------------------------------------------------------- */

static void
leave(struct call_judging *w)
{
        seats_leave(&judges.seats, &w->seat);
        loop_timer_remove(&w->timer);
        if (w->peer.fd >= 0)
                peer_close(&w->peer);
}

/* The oldest whose owner has a slot left begins again, and takes it. */
static void
wake_next(void)
{
        struct seat *seat = seats_next(&judges.seats);
        struct call *c = seat ? seat->call : NULL;

        if (!c)
                return;
        judging_forget(c);
        call_continue(c);
        wake_next(); /* each time one fewer waits */
}

static void
end(struct call_judging *w, bool is_failed)
{
        struct call *c = w->seat.call;

        leave(w);
        w->is_done = true;
        w->is_failed = is_failed;
        call_continue(c); /* `w` may be gone */
        wake_next();
}

void
judging_forget(struct call *c)
{
        struct call_judging *w = c->judging;

        if (!w)
                return;
        c->judging = NULL;
        leave(w);
        host_programs_fini(&w->programs);
        arena_fini(&w->memory);
        free(w);
}

/* -- asking ------------------------------------------------------------------------------------ */

static void
on_time(struct loop_timer *t)
{
        struct call_judging *w =
                (struct call_judging *)(void *)((char *)t - offsetof(struct call_judging, timer));

        (void)judge_fail(&w->why, "carrel-judge did not answer within 5 s");
        end(w, true);
}

static int
send_to(void *context, uint16_t kind, const void *bytes, size_t len)
{
        struct call_judging *w = context;

        return peer_send(&w->peer, kind, bytes, len, NULL, 0);
}

static void
look(void *context, const char *name, struct wire_judge_file *ret)
{
        struct call_judging *w = context;
        struct host_file_id id;
        const char *found = host_programs_look(&w->programs, name, &id);

        ret->device = id.device;
        ret->inode = id.inode;
        if (found && strlen(found) < sizeof ret->name)
                (void)memccpy(ret->name, found, '\0', sizeof ret->name);
}

static void
on_words(struct peer *p, uint32_t events)
{
        struct call_judging *w = (struct call_judging *)p;
        struct wire_message m;
        int result = wire_receive(p->fd, 0, &m, body, sizeof body);

        (void)events;
        if (result == -EAGAIN && !p->is_broken)
                return;
        if (result > 0) {
                wire_message_close(&m);
                result = judge_asker_take(&w->asker, &m, body, &w->why);
        } else {
                result = judge_fail(&w->why, "carrel-judge has ended");
        }
        if (result != 0)
                end(w, result < 0);
}

static int
connect_judge(struct call_judging *w, struct error *e)
{
        struct keeper *k = judges.keeper;
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return judge_fail(e, "no socket can be made");
        if (peer_open(&w->peer, k->loop, pair[0], on_words) < 0) {
                (void)close(pair[1]);
                return judge_fail(e, "its socket cannot be waited for");
        }
        if (peer_send(&judges.peer, WIRE_JUDGE, NULL, 0, &pair[1], 1) < 0 ||
            loop_timer_set(k->loop, &w->timer, loop_now_ms() + JUDGE_PATIENCE_MS, on_time) < 0) {
                peer_close(&w->peer);
                return judge_fail(e, "carrel-judge does not run");
        }
        return 0;
}

static int
prepare_command_request(struct call_judging *w, struct sandbox *s,
                        const struct wire_command *command, struct judge_request *request,
                        struct error *e)
{
        const char *bytes = s->row.env.bytes;
        const char **items = arena_array(&w->memory, const char *, ENVIRONMENT_MAX + 1);
        struct prepare_command asked = { .command = command,
                                         .host = s->keeper->environment,
                                         .sandbox_env = items,
                                         .is_first = s->box && !s->box->is_used,
                                         .upper = s->box && s->box->upper >= 0 ? &s->box->upper
                                                                               : NULL };

        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a command");
        for (size_t at = 0; at < s->row.env.len && asked.sandbox_env_count < ENVIRONMENT_MAX;
             at += strlen(bytes + at) + 1)
                items[asked.sandbox_env_count++] = bytes + at;
        return prepare_judging(&w->memory, s->prepared, &asked, request, &w->programs, e);
}

static int
prepare_tool_request(struct call_judging *w, struct sandbox *s, const struct judging_subject *of,
                     struct judge_request *request, struct error *e)
{
        *request = (struct judge_request){ .tool = of->tool,
                                           .cwd = s->prepared->cwd ? s->prepared->cwd : "/" };
        if (judging_arguments(&w->memory, w->seat.call, &request->arguments, e) < 0)
                return -1;
        prepare_rules(s->prepared->spec, s->prepared->rules, request);
        prepare_usual_programs(&w->memory, &w->programs);
        return 0;
}

static int
add_question(struct call_judging *w, const struct validator_program *program,
             const struct judge_request *request, struct error *e)
{
        size_t len = question_write(&w->memory, program, request, body, sizeof body, e);
        void *bytes = len > 0 ? arena_alloc(&w->memory, len) : NULL;
        const char *name = arena_text(&w->memory, program->command.items[0]);

        if (len == 0)
                return -1;
        if (!bytes || !name)
                return fail(e, ERROR_NO_MEMORY, "no memory to ask a validator");
        memcpy(bytes, body, len);
        w->questions[w->question_count++] =
                (struct validating_question){ name, program->timeout_ms, bytes, len };
        return 0;
}

/* The questions are written while the words of the command are there: one for each file. */
static int
prepare_questions(struct call_judging *w, const struct sandbox *s,
                  const struct judge_request *request, struct error *e)
{
        const struct node *list = request->arguments;
        struct validator_program program;
        struct judge_request one = *request;

        if (question_find(&w->memory, s->prepared->rules->commands, w->tool, &program, e) < 0)
                return -1;
        if (program.command.count == 0)
                return 0;
        if (!list || list->kind != NODE_LIST)
                return add_question(w, &program, request, e);
        if (list->len > QUESTIONS_MAX)
                return question_fail(program.command.items[0],
                                     "it is asked for each file, for at most 16 in one call", e);
        node_each(file, list)
        {
                one.arguments = file;
                if (add_question(w, &program, &one, e) < 0)
                        return -1;
        }
        return 0;
}

static int
ask(struct call_judging *w, struct sandbox *s, const struct judging_subject *of, struct error *e)
{
        struct judge_request request = { .rules_count = 0 };
        int result = of->command ? prepare_command_request(w, s, of->command, &request, e)
                                 : prepare_tool_request(w, s, of, &request, e);

        w->tool = of->command ? TOOL_SHELL : tool_name(of->tool);
        if (result < 0 || prepare_questions(w, s, &request, e) < 0 || connect_judge(w, e) < 0)
                return -1;
        w->asker = (struct judge_asker){
                .send = send_to, .look = look, .context = w, .arena = &w->memory
        };
        if (judge_asker_begin(&w->asker, &request, body, e) == 0)
                return 0;
        loop_timer_remove(&w->timer);
        peer_close(&w->peer);
        return -1;
}

enum call_state
judging_begin(struct call *c, struct sandbox *s, const struct judging_subject *of, struct error *e)
{
        struct call_judging *w;

        judging_forget(c);
        w = calloc(1, sizeof *w);
        if (!w)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a command"), CALL_FAILED;
        c->judging = w;
        w->seat.call = c;
        w->peer.fd = -1;
        w->timer.due_ms = LOOP_NEVER;
        arena_init(&w->memory, MEMORY);
        if (seats_enter(&judges.seats, &w->seat) ? ask(w, s, of, e) == 0
                                                 : seats_wait(&judges.seats, &w->seat, e) == 0)
                return CALL_WAITS;
        judging_forget(c);
        return CALL_FAILED;
}

/* -- the answer -------------------------------------------------------------------------------- */

/* The denial as an event: the program and the rule. */
static enum call_state
deny(struct sandbox *s, const struct judgement *j, const struct error *why)
{
        const struct judge_action *a =
                j && j->deciding < j->count ? &j->actions[j->deciding] : NULL;

        sandbox_publish(s, event_policy_denied((struct event_policy_denied){
                                   .command = a ? a->program ? a->program : a->written : NULL,
                                   .path = why->path,
                                   .reason = why->reason,
                                   .message = why->message,
                           }));
        return CALL_FAILED;
}

/* The program that the host's rules name, once for each question: before a person is asked. */
static enum call_state
validate(struct call *c, struct sandbox *s, struct error *e)
{
        struct call_judging *w = c->judging;
        char sentence[QUESTION_SENTENCE_ROOM];
        int result = 0;

        while (w->answered_count < w->question_count) {
                if (!validating_is_done(c)) {
                        if (validating_ask(c, &w->questions[w->answered_count], e) == CALL_WAITS)
                                return CALL_WAITS;
                        return e->code == ERROR_POLICY_DENIED ? deny(s, NULL, e) : CALL_FAILED;
                }
                result = validating_take(c, sentence, e);
                if (result > 0)
                        (void)question_deny(w->tool, sentence, e);
                if (result != 0)
                        return deny(s, NULL, e);
                w->answered_count++;
        }
        return CALL_DONE;
}

/* Once: a call that waits for a person keeps no descriptor of an image. */
static bool
lacks_program(struct call_judging *w, struct error *e)
{
        bool lacks = !w->is_looked_up && w->asker.judgement.verdict != COMMAND_ALLOW &&
                     prepare_refuse_missing(&w->programs, &w->asker.judgement, e);

        w->is_looked_up = true;
        host_programs_fini(&w->programs);
        return lacks;
}

enum call_state
judging_verdict(struct call *c, struct sandbox *s, struct error *e)
{
        struct call_judging *w = c->judging;
        const struct spec *spec = s->prepared->spec;
        enum command_verdict verdict = w->asker.judgement.verdict;
        enum call_state state;

        if (w->is_failed) {
                *e = w->why;
                if (e->code == ERROR_SCHEMA_INVALID)
                        (void)prepare_refuse_rules(spec, s->prepared->rules, w->asker.bad_list, e);
                return deny(s, NULL, e);
        }
        if (lacks_program(w, e))
                return deny(s, &w->asker.judgement, e);
        if (verdict != COMMAND_DENY) {
                state = validate(c, s, e);
                if (state != CALL_DONE || verdict == COMMAND_ALLOW)
                        return state;
        }
        (void)prepare_refuse(spec, s->prepared->rules, &w->asker.judgement, &w->why);
        if (verdict == COMMAND_ASK)
                return approval_ask(c, s, w->why.message, e);
        *e = w->why;
        return deny(s, &w->asker.judgement, e);
}

/* -- carrel-judge ------------------------------------------------------------------------------ */

static void
on_end(struct peer *p, uint32_t events)
{
        (void)p;
        (void)events;
        (void)fprintf(stderr, "carrel-keeper: carrel-judge has ended; so does this one, to be "
                              "started again\n");
        judges.keeper->is_stopping = true;
        loop_stop(judges.keeper->loop);
}

int
judging_open(struct keeper *k, int take_fd, struct error *e)
{
        int result;

        judges.keeper = k;
        judges.peer.is_broken = take_fd < 0; /* without it, rules deny */
        if (take_fd < 0)
                return 0;
        result = peer_open(&judges.peer, k->loop, take_fd, on_end);
        return result < 0 ? fail_sys(e, ERROR_INTERNAL, -result, "waiting for carrel-judge") : 0;
}
