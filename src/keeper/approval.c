/*
 * keeper/approval.c - requests for approval: from the question to the one use of the answer.
 *
 * Room: keeper (joining). Touches: random, clock, mem.
 * Theory: the table is in approval.h. A call that waits begins again when its request is answered,
 * and computes the request again: what it then does is what was shown, or it is refused. A request
 * is kept for a while after its end, so that a person sees what became of it.
 */
#include "keeper/approval.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/event_record.h"
#include "base/switches.h"
#include "keeper/approval_bind.h"
#include "keeper/approval_party.h"
#include "keeper/limits.h"
#include "keeper/sandbox.h"
#include "policy/approval_from.h"
#include "policy/requirement.h"
#include "spec/approve.h"
#include "text/tree_pack.h"

enum { KEPT_MS = 10 * 60 * 1000, BY_ROOM = KEEPER_OWNER_LEN + 32 };

enum state { REQUESTED, APPROVED, DENIED, EXPIRED, WITHDRAWN, USED };

static const char *const states[] = { "requested", "approved",  "denied",
                                      "expired",   "withdrawn", "used" };

struct approval {
        struct loop_timer timer; /* first: the end of its time, later its removal */
        struct approval *next;
        struct keeper *keeper;
        struct sandbox *sandbox; /* NULL: it has ended */
        struct call *call;       /* waits for it, or uses it; NULL: none */
        const struct operation *op;
        enum state state;
        bool is_called_for; /* a call that does not wait asked for it */
        bool is_waiting;    /* `call` is in no other list: it begins again when this is answered */
        uint64_t number, at_ms, expires_ms; /* at and expires: since 1970 */
        unsigned char digest[APPROVAL_DIGEST_LEN], policy[APPROVAL_DIGEST_LEN];
        char id[APPROVAL_ID_LEN], owner[KEEPER_OWNER_LEN], sandbox_id[SANDBOX_ID_LEN];
        struct approval_parties parties; /* whose answers it needs */
        char asked_by[BY_ROOM], reason[APPROVAL_REASON_LEN];
        char answered_by[BY_ROOM * SPEC_APPROVAL_FROM_MAX]; /* all who approved, or who denied */
        size_t lines_len;
        char lines[]; /* each ends with a NUL */
};

static struct approval *first, **last = &first; /* by number: oldest first */
static uint64_t newest;
static size_t total;

/* -- events ------------------------------------------------------------------------------------ */

static void
publish_requested(const struct approval *a)
{
        sandbox_publish(a->sandbox, event_approval_requested((struct event_approval_requested){
                                            .approval = a->id,
                                            .operation = a->op->name,
                                            .expires_at = a->expires_ms }));
}

static void
publish_over(const struct approval *a)
{
        if (a->sandbox)
                sandbox_publish(a->sandbox,
                                event_approval_answered((struct event_approval_answered){
                                        .approval = a->id,
                                        .operation = a->op->name,
                                        .reason = states[a->state],
                                        .answered_by = a->answered_by[0] != '\0' ? a->answered_by
                                                                                 : NULL }));
}

/* To the caller itself: `carrel exec` says what it waits for. */
static void
tell_caller(const struct approval *a, const struct call *c)
{
        struct keeper *k = a->keeper;
        struct event e = event_approval_requested((struct event_approval_requested){
                .approval = a->id, .operation = a->op->name, .expires_at = a->expires_ms });
        struct record_writer w;

        if (!c->connection)
                return;
        record_init(&w, k->out + sizeof(struct wire_call),
                    sizeof k->out - sizeof(struct wire_call));
        e.from = (struct event_source){ .at_ms = a->at_ms, .id = a->sandbox_id };
        event_record(&w, &e);
        reply_event(c->connection, c->serial, &w);
}

/* -- one request ------------------------------------------------------------------------------- */

static void
remove_one(struct approval *a)
{
        struct approval **at = &first;

        while (*at != a)
                at = &(*at)->next;
        *at = a->next;
        if (last == &a->next)
                last = at;
        total--;
        if (a->call)
                a->call->approval = NULL;
        loop_timer_remove(&a->timer);
        approval_parties_fini(&a->parties);
        free(a);
}

static void on_kept(struct loop_timer *t);

static void
keep(struct approval *a)
{
        (void)loop_timer_set(a->keeper->loop, &a->timer, loop_now_ms() + KEPT_MS, on_kept);
}

static void
on_kept(struct loop_timer *t)
{
        struct approval *a = (struct approval *)t;

        if (a->call)
                keep(a);
        else
                remove_one(a);
}

/* Its end is reported once, and it stays visible for a while. */
static void
end(struct approval *a, enum state state)
{
        a->state = state;
        keep(a);
        publish_over(a);
}

static void
on_time(struct loop_timer *t)
{
        struct approval *a = (struct approval *)t;

        end(a, EXPIRED);
        approval_wake(a);
}

void
approval_wake(struct approval *a)
{
        struct call *c = a->call;

        if (!c || !a->is_waiting || a->state == REQUESTED)
                return;
        a->is_waiting = false;
        if (c->connection && !c->is_cancelled)
                call_begin(c);
        else
                call_end(c);
}

static const char *
way_of(const struct caller *who)
{
        return !who->is_token ? "socket" : who->is_approver ? "token of scope approve" : "token";
}

/* -- who waits --------------------------------------------------------------------------------- */

static bool
is_over(const struct approval *a)
{
        return a->state != REQUESTED && a->state != APPROVED && !a->call;
}

static size_t
count_of(const char *owner)
{
        size_t count = 0;

        for (const struct approval *a = first; a; a = a->next)
                count += strcmp(a->owner, owner) == 0;
        return count;
}

/* The oldest that is over goes; owner NULL: of any owner. */
static void
drop_oldest(const char *owner)
{
        struct approval *a = first;

        while (a && (!is_over(a) || (owner && strcmp(a->owner, owner) != 0)))
                a = a->next;
        if (a)
                remove_one(a);
}

/* Of all owners. A test cannot have as many. */
static size_t
most(void)
{
#ifdef CARREL_TEST_SWITCHES
        const char *text = getenv("CARREL_TEST_APPROVALS_MAX");

        if (text)
                return (size_t)strtoul(text, NULL, 10);
#endif
        return APPROVALS_MAX;
}

/* Makes room for one more request of this owner. */
static void
drop_old(const char *owner)
{
        if (count_of(owner) >= APPROVALS_OWNER_KEPT)
                drop_oldest(owner);
        if (total >= most())
                drop_oldest(NULL);
}

/* All that is in the table waits, or runs: of other owners too. */
static int
fail_full(struct error *e)
{
        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "approvals_all",
                      "the daemon keeps at most %zu requests for approval, and all of them are in "
                      "use",
                      most());
        error_hint(e, "Repeat the call when others were answered.");
        return -1;
}

static int
check_count(const char *owner, struct error *e)
{
        size_t count = 0;

        for (const struct approval *a = first; a; a = a->next)
                count += (a->state == REQUESTED || a->state == APPROVED) &&
                         strcmp(a->owner, owner) == 0;
        if (count < APPROVALS_OWNER_MAX)
                return total < most() ? 0 : fail_full(e);
        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "approvals",
                      "%zu requests of %.64s wait for an answer already, and at most %d may", count,
                      owner, APPROVALS_OWNER_MAX);
        error_hint(e, "Answer some of them: `carrel approvals` lists them.");
        return -1;
}

static bool
is_same(const struct approval *a, const struct call *c, const struct approval_bound *bound)
{
        return !a->call && strcmp(a->owner, c->caller.owner) == 0 &&
               memcmp(a->digest, bound->digest, sizeof a->digest) == 0;
}

/*
 * A request without a call, in this state, with exactly this content. A denial counts until a call
 * got it.
 */
static struct approval *
find_same(const struct call *c, const struct approval_bound *bound, enum state state)
{
        struct approval *a = first;

        while (a && (a->state != state || !is_same(a, c, bound) ||
                     (state == DENIED && !a->is_called_for)))
                a = a->next;
        return a;
}

static int
make_id(char id[APPROVAL_ID_LEN], struct error *e)
{
        const struct approval *a;

        do {
                if (random_hex(id, APPROVAL_ID_LEN - 1, e) < 0)
                        return -1;
                for (a = first; a && strcmp(a->id, id) != 0; a = a->next)
                        ;
        } while (a);
        return 0;
}

/* Code is a command too: a list that names exec holds for it. */
static const char *
waits_as(const struct operation *o)
{
        return o->code == OP_CODE ? spec_approve_operation("exec") : o->name;
}

static uint64_t
patience(const struct sandbox *s)
{
        uint64_t ms = s->prepared->spec->carrel.approve_ms;

        return ms > 0 ? ms : SPEC_APPROVE_MS;
}

static struct approval *
ask(struct call *c, struct sandbox *s, const struct approval_bound *bound, struct error *e)
{
        struct approval *a;

        drop_old(c->caller.owner);
        if (check_count(c->caller.owner, e) < 0)
                return NULL;
        a = calloc(1, sizeof *a + bound->lines_len);
        if (!a) {
                (void)fail(e, ERROR_NO_MEMORY, "no memory for a request for approval");
                return NULL;
        }
        a->timer.due_ms = LOOP_NEVER;
        if (approval_parties_init(&a->parties, s->prepared->spec, waits_as(c->op), e) < 0) {
                free(a);
                return NULL;
        }
        if (make_id(a->id, e) < 0 ||
            loop_timer_set(c->keeper->loop, &a->timer, loop_now_ms() + patience(s), on_time) < 0) {
                approval_parties_fini(&a->parties);
                free(a);
                (void)fail(e, ERROR_NO_MEMORY, "no memory for a request for approval");
                return NULL;
        }
        a->keeper = c->keeper;
        a->sandbox = s;
        a->op = c->op;
        a->number = ++newest;
        a->at_ms = loop_wall_ms();
        a->expires_ms = a->at_ms + patience(s);
        memcpy(a->digest, bound->digest, sizeof a->digest);
        memcpy(a->policy, bound->policy, sizeof a->policy);
        memcpy(a->owner, c->caller.owner, sizeof a->owner);
        memcpy(a->sandbox_id, s->id, sizeof a->sandbox_id);
        (void)snprintf(a->asked_by, sizeof a->asked_by, "%s, %s", a->owner, way_of(&c->caller));
        memcpy(a->lines, bound->lines, bound->lines_len);
        a->lines_len = bound->lines_len;
        *last = a;
        last = &a->next;
        total++;
        return a;
}

/* -- the calls --------------------------------------------------------------------------------- */

static void
attach(struct approval *a, struct call *c)
{
        a->call = c;
        c->approval = a;
}

static void
detach(struct call *c)
{
        c->approval->call = NULL;
        c->approval = NULL;
}

static enum call_state
use(struct approval *a, struct call *c)
{
        if (a->call != c)
                attach(a, c);
        a->state = USED;
        keep(a);
        return CALL_DONE;
}

static enum call_state
wait(struct approval *a)
{
        a->is_waiting = true;
        return CALL_WAITS;
}

/* Its request is over, and not approved. */
static enum call_state
refuse(struct call *c, struct error *e)
{
        const struct approval *a = c->approval;

        if (a->state == EXPIRED) {
                (void)fail_at(e, ERROR_APPROVAL_EXPIRED, "", "expired",
                              "no person answered the request %s for %s in time, so it was denied",
                              a->id, a->op->name);
                return CALL_FAILED;
        }
        (void)fail_at(e, ERROR_APPROVAL_DENIED, "", "denied", "%s was denied by %.90s%s%.200s",
                      a->op->name, a->answered_by, a->reason[0] != '\0' ? ": " : "", a->reason);
        return CALL_FAILED;
}

/* Answers a call that does not wait: where a person answers, and what to do then. */
static enum call_state
not_yet(const struct approval *a, struct error *e)
{
        (void)fail_at(e, ERROR_APPROVAL_REQUIRED, "approval", a->id,
                      "%s waits for the approval %s; nothing was started", a->op->name, a->id);
        error_hint(e,
                   "Ask the person to run `carrel approve %s` on that machine, then repeat the "
                   "same call.",
                   a->id);
        return CALL_FAILED;
}

static enum call_state
begin(struct call *c, struct sandbox *s, const struct approval_bound *bound, struct error *e)
{
        bool waits = !record_get_bool(&c->record, FIELD_APPROVAL_NOW, 0);
        struct approval *a = find_same(c, bound, APPROVED);

        if (a)
                return use(a, c);
        /* a denial is answered once to a call that did not wait for it */
        a = waits ? NULL : find_same(c, bound, DENIED);
        if (a) {
                a->is_called_for = false;
                attach(a, c);
                return refuse(c, e);
        }
        a = waits ? NULL : find_same(c, bound, REQUESTED);
        if (a)
                return not_yet(a, e);
        a = ask(c, s, bound, e);
        if (!a)
                return CALL_FAILED;
        a->is_called_for = !waits;
        publish_requested(a);
        if (!waits)
                return not_yet(a, e);
        attach(a, c);
        tell_caller(a, c);
        return wait(a);
}

enum call_state
approval_ask(struct call *c, struct sandbox *s, const char *why, struct error *e)
{
        struct approval *a = c->approval;
        struct approval_bound bound;

        if (a && a->state == USED)
                return CALL_DONE; /* approval_check() compares once more */
        if (a && (a->state == DENIED || a->state == EXPIRED))
                return refuse(c, e);
        if (approval_bind(c, s, why, &bound, e) < 0)
                return CALL_FAILED;
        if (a && a->state == APPROVED && memcmp(a->digest, bound.digest, sizeof a->digest) == 0)
                return use(a, c);
        approval_forget(c); /* it changed while it waited: the person has not seen this */
        return begin(c, s, &bound, e);
}

enum call_state
approval_need(struct call *c, struct sandbox *s, struct error *e)
{
        return approval_from_waits(s->prepared->spec, s->prepared->rules, waits_as(c->op))
                       ? approval_ask(c, s, NULL, e)
                       : CALL_DONE;
}

/* For a sandbox that cannot be judged any more: has its manifest or the host a list at all? */
static bool
may_be_listed(const struct sandbox *s)
{
        const struct node *tree = NULL, *list = NULL;
        struct arena arena;
        struct error ignored;
        bool result = s->keeper->host.rules->approve.count > 0;

        arena_init(&arena, LIMITS_TREE_MEMORY);
        if (s->row.manifest.len > 0) {
                if (tree_unpack(&arena, s->row.manifest.bytes, s->row.manifest.len,
                                &limits_manifest, &tree, &ignored) < 0 ||
                    requirement_may_be_in(node_find(tree, "policy")))
                        result = true;
                else if ((list = node_find(tree, "metadata")) != NULL &&
                         (list = node_find(list, "carrel")) != NULL)
                        result = result || node_find(list, "approve");
        }
        arena_fini(&arena);
        return result;
}

enum call_state
approval_gate(struct call *c, struct error *e)
{
        struct sandbox *s;

        if (c->op->code == OP_EXEC || !spec_approve_operation(c->op->name))
                return CALL_DONE;
        s = registry_of_call(c, e);
        if (!s)
                return CALL_FAILED;
        if (sandbox_judge(s, e) < 0)
                /* the operation judges it itself; a list that is not permitted can be replaced */
                return may_be_listed(s) ? CALL_FAILED : CALL_DONE;
        if (s->row.is_read_only && (c->op->flags & OPERATION_READ) == 0)
                return CALL_DONE; /* the operation refuses that */
        return approval_need(c, s, e);
}

int
approval_check(const struct call *c, const struct sandbox *s, struct error *e)
{
        struct approval_bound bound;

        if (!c->approval)
                return 0;
        if (approval_bind(c, s, NULL, &bound, e) < 0)
                return -1;
        if (memcmp(c->approval->digest, bound.digest, sizeof bound.digest) == 0)
                return 0;
        (void)fail_at(e, ERROR_APPROVAL_DENIED, "", "changed",
                      "what %s would do changed after it was approved, so nothing was started",
                      c->op->name);
        error_hint(e, "Repeat the call: it asks again, and shows what is there now.");
        return -1;
}

/* -- ends -------------------------------------------------------------------------------------- */

void
approval_forget(struct call *c)
{
        struct approval *a = c->approval;

        if (!a)
                return;
        detach(c);
        if (a->state == REQUESTED || a->state == APPROVED)
                end(a, WITHDRAWN);
}

void
approval_withdraw(const struct connection *connection, const uint32_t *serial)
{
        for (struct approval *a = first; a; a = a->next) {
                struct call *c = a->call;

                if (c && a->state == REQUESTED && c->connection == connection &&
                    (!serial || c->serial == *serial))
                        call_end(c);
        }
}

static void
begin_anew(struct loop_timer *t)
{
        struct approval *a = (struct approval *)t;

        end(a, WITHDRAWN);
        approval_wake(a); /* the operation reports what became of its sandbox */
}

void
approval_sandbox_gone(const struct sandbox *s)
{
        for (struct approval *a = first; a; a = a->next) {
                if (a->sandbox != s)
                        continue;
                if (a->state == REQUESTED || a->state == APPROVED) {
                        a->state = WITHDRAWN;
                        publish_over(a);
                        (void)loop_timer_set(a->keeper->loop, &a->timer, loop_now_ms(), begin_anew);
                }
                a->sandbox = NULL;
        }
}

/* -- for the operations ------------------------------------------------------------------------ */

const struct approval *
approval_next(uint64_t after)
{
        const struct approval *a = first;

        while (a && a->number <= after)
                a = a->next;
        return a;
}

size_t
approval_waiting(void)
{
        size_t count = 0;

        for (const struct approval *a = first; a; a = a->next)
                count += a->state == REQUESTED;
        return count;
}

uint64_t
approval_number(const struct approval *a)
{
        return a->number;
}

bool
approval_is_visible(const struct approval *a, const struct caller *who)
{
        return who->is_admin || strcmp(a->owner, who->owner) == 0 ||
               approval_parties_have(&a->parties, a->keeper, who);
}

struct approval *
approval_find(const struct caller *who, const char *id, struct error *e)
{
        struct approval *a = first;

        while (a && (strcmp(a->id, id) != 0 || !approval_is_visible(a, who)))
                a = a->next;
        if (!a)
                (void)fail_at(e, ERROR_APPROVAL_NOT_FOUND, "id", NULL,
                              "there is no request for approval %.32s", id);
        return a;
}

static void
write_digest(struct record_writer *w, uint16_t tag, const unsigned char *digest)
{
        char hex[2 * APPROVAL_DIGEST_LEN + 1];

        record_text(w, tag, sodium_bin2hex(hex, sizeof hex, digest, APPROVAL_DIGEST_LEN));
}

void
approval_write(struct record_writer *w, const void *of, const void *item)
{
        const struct approval *a = item;

        (void)of;
        record_text(w, FIELD_ID, a->id);
        record_text(w, FIELD_STATE, states[a->state]);
        record_text(w, FIELD_OPERATION, a->op->name);
        record_text(w, FIELD_SANDBOX, a->sandbox_id);
        record_text(w, FIELD_NAME, a->sandbox ? a->sandbox->row.name : NULL);
        record_text(w, FIELD_OWNER, a->owner);
        record_text(w, FIELD_ASKED_BY, a->asked_by);
        record_uint(w, FIELD_AT, a->at_ms);
        record_uint(w, FIELD_EXPIRES_AT, a->expires_ms);
        if (a->answered_by[0] != '\0')
                record_text(w, FIELD_ANSWERED_BY, a->answered_by);
        if (a->reason[0] != '\0')
                record_text(w, FIELD_REASON, a->reason);
        approval_parties_write(&a->parties, w);
        write_digest(w, FIELD_DIGEST, a->digest);
        write_digest(w, FIELD_POLICY_VERSION, a->policy);
        for (size_t at = 0; at < a->lines_len; at += strlen(a->lines + at) + 1)
                record_text(w, FIELD_BOUND, a->lines + at);
}

void
approval_note(const struct call *c, struct json_writer *w)
{
        char hex[2 * APPROVAL_DIGEST_LEN + 1];

        if (!c->approval)
                return;
        json_key(w, "approval");
        json_open_map(w);
        json_member_text(w, "id", c->approval->id);
        json_member_text(w, "by", c->approval->answered_by);
        json_member_text(w, "digest",
                         sodium_bin2hex(hex, sizeof hex, c->approval->digest, APPROVAL_DIGEST_LEN));
        json_close_map(w);
}

static void
note_answer(struct approval *a, const struct caller *who, const char *reason)
{
        size_t len = strlen(a->answered_by);

        (void)snprintf(a->answered_by + len, sizeof a->answered_by - len, "%s%s, %s",
                       len > 0 ? "; " : "", who->owner, way_of(who));
        (void)snprintf(a->reason, sizeof a->reason, "%s", reason);
}

int
approval_answer(struct approval *a, const struct caller *who, bool is_approved, const char *reason,
                struct error *e)
{
        if (who->is_token && !who->is_approver) {
                (void)fail_at(e, ERROR_FORBIDDEN, "", "scope",
                              "a token that can ask cannot answer: an agent may hold it");
                error_hint(e,
                           "On that machine: carrel approve %s. From elsewhere: a token of scope "
                           "approve (carrel key new --scope approve).",
                           a->id);
                return -1;
        }
        if (a->state != REQUESTED)
                return fail_at(e, ERROR_APPROVAL_ANSWERED, "id", states[a->state],
                               "the request %s is over: %s", a->id, states[a->state]);
        if (approval_parties_check(&a->parties, a->keeper, who, a->id, e) < 0)
                return -1;
        if (!is_approved) {
                a->answered_by[0] = '\0';
                note_answer(a, who, reason);
                end(a, DENIED);
                return 0;
        }
        note_answer(a, who, reason);
        if (!approval_parties_approve(&a->parties, a->keeper, who))
                return 0;    /* it waits for the others */
        a->state = APPROVED; /* its time goes on: it must be used before it is over */
        publish_over(a);
        return 0;
}
