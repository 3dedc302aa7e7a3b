/*
 * keeper/judging.c - asks carrel-judge whether commands may run.
 *
 * Room: keeper (joining). Touches: fd, the system's directories of programs.
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
#include "keeper/approval.h"
#include "keeper/peer.h"
#include "prepare/commands.h"

enum {
        ACTIVE_MAX = 16,
        OWNER_MAX = 4,
        OWNER_WAITING_MAX = 64,
        WAITING_MAX = 1024,
        MEMORY = 8 << 20
};

struct call_judging {
        struct peer peer; /* first */
        struct loop_timer timer;
        struct call_judging *next; /* of those that wait for a slot */
        struct call *call;
        struct arena memory;
        struct host_programs programs;
        struct judge_asker asker;
        bool is_active, is_done, is_failed;
        struct error why;
};

/* One for each keeper. */
static struct {
        struct peer peer; /* first */
        struct keeper *keeper;
        struct call_judging *waiting;
        struct call_judging *active[ACTIVE_MAX];
} judges;

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

static bool
take_slot(struct call_judging *w)
{
        struct call_judging **free_slot = NULL;
        size_t mine = 0;

        for (size_t i = 0; i < ACTIVE_MAX; i++) {
                if (!judges.active[i])
                        free_slot = &judges.active[i];
                else
                        mine += strcmp(judges.active[i]->call->caller.owner,
                                       w->call->caller.owner) == 0;
        }
        if (!free_slot || mine >= OWNER_MAX)
                return false;
        *free_slot = w;
        w->is_active = true;
        return true;
}

static void
leave(struct call_judging *w)
{
        for (size_t i = 0; i < ACTIVE_MAX; i++)
                if (judges.active[i] == w)
                        judges.active[i] = NULL;
        for (struct call_judging **at = &judges.waiting; *at; at = &(*at)->next)
                if (*at == w) {
                        *at = w->next;
                        break;
                }
        if (w->is_active) {
                loop_timer_remove(&w->timer);
                peer_close(&w->peer);
        }
        w->is_active = false;
}

static void
go_on(struct call *c)
{
        if (c->is_cancelled || !c->connection)
                call_end(c);
        else
                call_begin(c);
}

/* The oldest whose owner has a slot left begins again, and takes it. */
static void
wake_next(void)
{
        for (struct call_judging *w = judges.waiting; w; w = w->next) {
                struct call *c = w->call;

                if (!take_slot(w))
                        continue;
                w->is_active = false; /* it has no socket yet */
                leave(w);
                judging_forget(c);
                go_on(c);
                wake_next(); /* the list has changed; each time one fewer waits */
                return;
        }
}

static void
end(struct call_judging *w, bool is_failed)
{
        struct call *c = w->call;

        leave(w);
        w->is_done = true;
        w->is_failed = is_failed;
        go_on(c); /* `w` may be gone */
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
        arena_fini(&w->memory);
        free(w);
}

/* -- asking ------------------------------------------------------------------------------------ */

static void
on_time(struct loop_timer *t)
{
        struct call_judging *w =
                (struct call_judging *)(void *)((char *)t - offsetof(struct call_judging, timer));

        (void)judge_fail(&w->why, "carrel-judge did not answer within 2 s");
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
                                         .sandbox_env = items };

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
        struct node *map = arena_new(&w->memory, struct node),
                    *members = arena_array(&w->memory, struct node, of->argument_count + 1);

        if (!map || !members)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a call");
        map->kind = NODE_MAP;
        map->len = of->argument_count;
        for (size_t i = of->argument_count; i > 0; i--) {
                members[i - 1] = (struct node){ .kind = NODE_STRING,
                                                .key = of->arguments[i - 1].name,
                                                .text = of->arguments[i - 1].text,
                                                .len = strlen(of->arguments[i - 1].text),
                                                .next = map->first };
                map->first = &members[i - 1];
        }
        *request = (struct judge_request){ .tool = of->tool,
                                           .arguments = map,
                                           .cwd = s->prepared->cwd ? s->prepared->cwd : "/" };
        prepare_rules(s->prepared->spec, s->prepared->rules, request);
        prepare_usual_programs(&w->memory, &w->programs);
        return 0;
}

static int
ask(struct call_judging *w, struct sandbox *s, const struct judging_subject *of, struct error *e)
{
        struct judge_request request;
        int result = of->command ? prepare_command_request(w, s, of->command, &request, e)
                                 : prepare_tool_request(w, s, of, &request, e);

        if (result < 0 || connect_judge(w, e) < 0)
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

static void
fail_crowd(const char *owner, bool is_own, struct error *e)
{
        if (is_own)
                (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "judging",
                              "%d commands of %.64s wait to be judged already, and no more may",
                              OWNER_WAITING_MAX, owner);
        else
                (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "judging_all",
                              "%d commands of all owners wait to be judged, and no more may",
                              WAITING_MAX);
        error_hint(e, "Repeat the call when some of them have begun.");
}

/* At the end of those that wait. */
static enum call_state
join_waiting(struct call_judging *w, struct error *e)
{
        struct call_judging **at = &judges.waiting;
        const char *owner = w->call->caller.owner;
        size_t count = 0, own = 0;

        for (; *at; at = &(*at)->next) {
                count++;
                own += strcmp((*at)->call->caller.owner, owner) == 0;
        }
        if (own >= OWNER_WAITING_MAX || count >= WAITING_MAX) {
                fail_crowd(owner, own >= OWNER_WAITING_MAX, e);
                judging_forget(w->call);
                return CALL_FAILED;
        }
        *at = w;
        return CALL_WAITS;
}

/* Its sandbox would be made while others wait. */
static enum call_state
fail_program(struct error *e)
{
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "commands/validators", "validator_program",
                      "the host file names a program as a validator, and the daemon runs none, so "
                      "it starts no command");
        error_hint(e, "Use `carrel run`, or remove `program` from validators of the host file: "
                      "docs/POLICY.md.");
        return CALL_FAILED;
}

enum call_state
judging_begin(struct call *c, struct sandbox *s, const struct judging_subject *of, struct error *e)
{
        struct call_judging *w;

        judging_forget(c);
        if (commands_find_program(s->prepared->rules->commands))
                return fail_program(e);
        w = calloc(1, sizeof *w);
        if (!w)
                return fail(e, ERROR_NO_MEMORY, "no memory to judge a command"), CALL_FAILED;
        c->judging = w;
        w->call = c;
        w->peer.fd = -1;
        arena_init(&w->memory, MEMORY);
        if (!take_slot(w))
                return join_waiting(w, e);
        w->is_active = false;
        if (ask(w, s, of, e) < 0) {
                leave(w);
                judging_forget(c);
                return CALL_FAILED;
        }
        w->is_active = true;
        return CALL_WAITS;
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

enum call_state
judging_verdict(struct call *c, struct sandbox *s, struct error *e)
{
        struct call_judging *w = c->judging;
        const struct spec *spec = s->prepared->spec;

        if (w->is_failed) {
                *e = w->why;
                if (e->code == ERROR_SCHEMA_INVALID)
                        (void)prepare_refuse_rules(spec, s->prepared->rules, w->asker.bad_list, e);
                return deny(s, NULL, e);
        }
        if (w->asker.judgement.verdict == COMMAND_ALLOW)
                return CALL_DONE;
        if (prepare_refuse_missing(&w->programs, &w->asker.judgement, e))
                return deny(s, &w->asker.judgement, e);
        (void)prepare_refuse(spec, s->prepared->rules, &w->asker.judgement, &w->why);
        if (w->asker.judgement.verdict == COMMAND_ASK)
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
