/*
 * keeper/sandbox.c - the life of one sandbox.
 *
 * Room: keeper (joining). Touches: the store; its box through keeper/box.c.
 *
 *                first use              READY
 *    pending ----------------> starting -------> running <--------> paused
 *       ^   <----------------      |                |    freeze, thaw  |
 *       |    start failed          +----------------+------------------+---> stopping ---> gone
 *       |                          |                                        (no row, no memory)
 *       |                          +-- box died, was killed, out of memory ---> failed
 *     create                       +-- stop, deadline, scheduled deletion, destroy_on ---> stopping
 *
 *    failed --stop--> gone
 *
 * Theory: a sandbox that ends loses its row first. Whatever dies in between, a box without a row is
 * asked to end (N8). The row says "made" before any caller learns that something runs in it (N1).
 * Calls wait for a box in order of arrival.
 */
#include "keeper/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "keeper/limits.h"
#include "plan/failure.h"
#include "prepare/rootfs.h"
#include "spec/lifecycle.h"
#include "text/tree_pack.h"

/* -- status ------------------------------------------------------------------------------------ */

const char *
sandbox_status(const struct sandbox *s)
{
        static const char *const names[] = {
                [SANDBOX_PENDING] = "pending",   [SANDBOX_STARTING] = "pending",
                [SANDBOX_RUNNING] = "running",   [SANDBOX_PAUSED] = "paused",
                [SANDBOX_STOPPING] = "stopping", [SANDBOX_FAILED] = "failed",
        };

        return s->state == SANDBOX_STARTING && s->is_attached ? "running" : names[s->state];
}

/* -- whose it is ------------------------------------------------------------------------------- */

const char *
sandbox_user(const struct sandbox *s)
{
        return s->row.owner ? s->row.owner : s->keeper->owner;
}

const char *
sandbox_actor(const struct sandbox *s)
{
        const char *user = sandbox_user(s);

        return strcmp(user, s->keeper->owner) != 0 ? user : NULL;
}

/* -- judging ----------------------------------------------------------------------------------- */

enum { READS_MAX = 64, KEEPING_LEN = 4096 + 8 };

static struct prepare_request
request_of(const struct sandbox *s)
{
        return (struct prepare_request){ .id = s->id,
                                         .workspace = s->row.workspace,
                                         .runtime = s->row.runtime,
                                         .provider = s->row.provider,
                                         .owner = s->row.owner,
                                         .caller_uid = s->row.caller_uid,
                                         .actor = sandbox_actor(s),
                                         .now_s = (int64_t)(loop_wall_ms() / 1000),
                                         .watches_exec = !s->keeper->host.rules->ignores_executions,
                                         .is_living = true };
}

/* A manifest that is refused because of its secrets: nothing else reports that. */
static void
publish_refused_secret(struct sandbox *s, const struct error *e)
{
        if (e->code == ERROR_AUTH_UNRESOLVABLE)
                sandbox_publish(s, event_secret_denied(
                                           (struct event_secret_denied){ .slug = "a secret",
                                                                         .actor = sandbox_user(s),
                                                                         .purpose = e->path }));
}

/* Other sandboxes of the owner. Without an owner (a pool) nothing is counted. */
static bool
count_usage(const struct sandbox *s, struct grant_usage *ret)
{
        *ret = (struct grant_usage){ 0, GRANT_USAGE_EACH, GRANT_USAGE_EACH };
        for (const struct sandbox *other = s->keeper->first; other && s->row.owner;
             other = other->next)
                ret->sandboxes += other != s && other->state != SANDBOX_FAILED &&
                                  other->row.owner && strcmp(other->row.owner, s->row.owner) == 0;
        return s->row.owner != NULL;
}

int
sandbox_judge(struct sandbox *s, struct error *e)
{
        struct prepare_request request = request_of(s);
        struct grant_usage usage;
        const struct node *tree = NULL;
        struct prepared *p;

        if (s->prepared)
                return 0;
        request.usage = count_usage(s, &usage) ? &usage : NULL;
        arena_init(&s->tree_memory, LIMITS_TREE_MEMORY);
        if (s->row.manifest.len > 0 &&
            tree_unpack(&s->tree_memory, s->row.manifest.bytes, s->row.manifest.len,
                        &limits_manifest, &tree, e) < 0) {
                arena_fini(&s->tree_memory);
                return -1;
        }
        p = malloc(sizeof *p);
        if (!p) {
                arena_fini(&s->tree_memory);
                return fail(e, ERROR_NO_MEMORY, "no memory for a judgment");
        }
        prepared_init(p);
        if (prepare_judge(&s->keeper->host, &request, tree, p, e) < 0) {
                publish_refused_secret(s, e);
                prepared_fini(p);
                free(p);
                arena_fini(&s->tree_memory);
                return -1;
        }
        p->cwd = s->row.cwd;
        p->cpu = (enum plan_cpu)s->row.cpu;
        s->prepared = p;
        return 0;
}

int
sandbox_pin(struct sandbox *s, struct error *e)
{
        const struct node *tree;
        void *bytes;
        size_t len;

        if (!s->prepared->image)
                return 0;
        tree = rootfs_pin(&s->tree_memory, s->prepared->image, s->prepared->tree);
        len = tree ? tree_pack_len(tree) : 0;
        bytes = tree ? malloc(len) : NULL;
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for a manifest");
        tree_pack(tree, bytes);
        free((void *)(uintptr_t)s->row.manifest.bytes);
        s->row.manifest = (struct store_bytes){ bytes, len };
        return 0;
}

/* -- starting ---------------------------------------------------------------------------------- */

int
sandbox_plan(struct sandbox *s, struct error *e)
{
        struct prepare_request request = request_of(s);
        const char *reads[READS_MAX];
        const char *at = s->row.reads.bytes, *end = at ? at + s->row.reads.len : NULL;
        char keeping[KEEPING_LEN];

        while (at && at < end && request.read_count < READS_MAX) {
                reads[request.read_count++] = at;
                at += strlen(at) + 1;
        }
        request.reads = reads;
        if (s->keeper->host.state && snprintf(keeping, sizeof keeping, "%s/kept",
                                              s->keeper->host.state) < (int)sizeof keeping)
                request.keeping = keeping;
        return prepare_plan(&s->keeper->host, &request, s->prepared, e);
}

int
sandbox_start(struct sandbox *s, struct error *e)
{
        if (sandbox_judge(s, e) < 0 || sandbox_plan(s, e) < 0)
                return -1;
        if (box_make(s, e) < 0) {
                prepared_release(s->prepared);
                return -1;
        }
        s->state = SANDBOX_STARTING;
        s->is_attached = false;
        /* a failed start is retried */
        if (!s->row.cwd || strcmp(s->row.cwd, s->prepared->cwd) != 0)
                s->row.cwd = sandbox_text(s, s->prepared->cwd);
        s->row.cpu = (uint32_t)s->prepared->cpu;
        s->row.is_writable = s->prepared->sources->writable_count > 0;
        sandbox_note_machine(s);
        return 0;
}

static enum call_state
failed_state(const struct sandbox *s, struct error *e)
{
        bool is_oom = s->row.cause && strcmp(s->row.cause, "oom") == 0;

        (void)fail_at(e, is_oom ? ERROR_OOM : ERROR_BACKEND_FAILED, "", s->row.cause,
                      "the sandbox %s has failed (%s)", s->id,
                      s->row.cause ? s->row.cause : "lost");
        if (s->row.cause && strcmp(s->row.cause, "damaged") == 0)
                error_hint(e, "What was kept of it on disk is not what was written. Stop it, "
                              "create another, and look at the disk.");
        else if (s->is_later)
                error_hint(e,
                           "A later version of carrel started it, and its commands keep running. "
                           "Start that version with this state directory, or end it: carrel stop "
                           "%s",
                           s->id);
        else if (!is_oom)
                error_hint(e, "Stop it, and create another.");
        return CALL_FAILED;
}

/* Records in the store that a box exists, before any caller gets a success. */
static int
say_made(struct sandbox *s, struct error *e)
{
        if (s->row.status == STORE_MADE)
                return 0;
        s->row.status = STORE_MADE;
        if (sandbox_save(s, e) == 0)
                return 0;
        s->row.status = STORE_PENDING;
        return -1;
}

bool
sandbox_is_settling(const struct sandbox *s)
{
        return (s->state == SANDBOX_RUNNING || s->state == SANDBOX_PAUSED) && s->box &&
               !s->box->is_gone && s->box->peer.is_broken;
}

enum call_state
sandbox_need_box(struct sandbox *s, struct call *c, struct error *e)
{
        sandbox_touch(s);
        if (sandbox_is_settling(s)) {
                /* handled soon, also if the keeper's own queue was full */
                (void)shutdown(s->box->peer.fd, SHUT_RDWR);
                calls_add(&s->waiting, c);
                return CALL_WAITS;
        }
        switch (s->state) {
        case SANDBOX_RUNNING:
                if (s->was_freezing)
                        break;
                return say_made(s, e) < 0 ? CALL_FAILED : CALL_DONE;
        case SANDBOX_PENDING:
                if (sandbox_start(s, e) < 0)
                        return CALL_FAILED;
                break;
        case SANDBOX_PAUSED:
                if (sandbox_freeze(s, false, e) < 0)
                        return CALL_FAILED;
                break;
        case SANDBOX_STARTING:
                break;
        case SANDBOX_STOPPING:
                return fail_at(e, ERROR_NOT_FOUND, "id", s->stop_cause,
                               "the sandbox %s is stopping", s->id),
                       CALL_FAILED;
        case SANDBOX_FAILED:
                return failed_state(s, e);
        }
        calls_add(&s->waiting, c);
        return CALL_WAITS;
}

/*
 * Fails the calls that wait. True: one of them created the sandbox. A refused create leaves nothing
 * behind.
 */
static bool
fail_waiting(struct sandbox *s, const struct error *e)
{
        bool is_refused = false;

        for (const struct call *c = s->waiting.first; c; c = c->next)
                is_refused = is_refused || strcmp(c->made, s->id) == 0;
        calls_fail(&s->waiting, e);
        return is_refused;
}

void
sandbox_box_ready(struct sandbox *s)
{
        struct error e;

        if (s->prepared && s->prepared->plan)
                prepared_release(s->prepared);
        if (s->state != SANDBOX_STARTING)
                return;
        s->row.cause = NULL;
        s->state = s->box->hello.is_frozen ? SANDBOX_PAUSED : SANDBOX_RUNNING;
        s->was_freezing = false;
        s->row.started_ms = s->box->hello.started_ms;
        if (say_made(s, &e) < 0 && fail_waiting(s, &e)) {
                (void)sandbox_stop(s, "failed", &e);
                return;
        }
        sandbox_touch(s);
        if (!s->is_attached)
                sandbox_publish(s, event_started());
        if (s->state == SANDBOX_PAUSED && s->waiting.first && sandbox_freeze(s, false, &e) < 0)
                calls_fail(&s->waiting, &e);
        if (s->state == SANDBOX_RUNNING)
                calls_begin(&s->waiting);
        pool_fill(s->keeper);
}

/* -- pausing ----------------------------------------------------------------------------------- */

int
sandbox_check_here(struct sandbox *s, const char *path, const char *what, struct error *e)
{
        struct error ignored; /* one that is not permitted any more may still be paused */

        if (sandbox_judge(s, &ignored) < 0 || !s->prepared->bridge)
                return 0;
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, path, "elsewhere",
                      "the sandbox %s is with a provider, which has no %s", s->id, what);
        error_hint(e, "docs/BRIDGE.md lists what sandboxes elsewhere cannot do.");
        return -1;
}

int
sandbox_freeze(struct sandbox *s, bool wants_frozen, struct error *e)
{
        struct wire_number wanted = { wants_frozen };

        if (!s->box || !s->box->is_ready || s->box->peer.is_broken)
                return fail(e, ERROR_BACKEND_FAILED, "the sandbox %s does not answer", s->id);
        if (s->was_freezing)
                return 0; /* checked again when the current freeze or thaw is done */
        s->was_freezing = true;
        s->freeze_wanted = wants_frozen;
        return box_send(s->box, WIRE_BOX_FREEZE, &wanted, sizeof wanted) < 0
                       ? fail(e, ERROR_BACKEND_FAILED, "the sandbox %s does not answer", s->id)
                       : 0;
}

static void
answer_all(struct calls *l, const struct sandbox *s)
{
        for (struct call *c = calls_take(l); c; c = calls_take(l)) {
                struct record_writer w = reply_begin(c);

                answer_sandbox(&w, s);
                reply_send(c, &w, 0, -1);
                call_end(c);
        }
}

/* Applies requests made meanwhile. Calls that need it running come before calls that pause it. */
static void
go_on_freezing(struct sandbox *s)
{
        struct error e = { .code = ERROR_NONE };

        if (s->state == SANDBOX_PAUSED && (s->waiting.first || s->resuming.first)) {
                if (sandbox_freeze(s, false, &e) < 0) {
                        calls_fail(&s->waiting, &e);
                        calls_fail(&s->resuming, &e);
                }
                return;
        }
        if (s->state == SANDBOX_RUNNING) /* the pause before their resume did not happen */
                answer_all(&s->resuming, s);
        if (s->state == SANDBOX_RUNNING && s->waiting.first)
                calls_begin(&s->waiting);
        if (s->state == SANDBOX_RUNNING && s->pausing.first && sandbox_freeze(s, true, &e) < 0)
                calls_fail(&s->pausing, &e);
}

void
sandbox_box_frozen(struct sandbox *s, bool is_frozen, int sys)
{
        struct error e;
        struct calls *l = is_frozen ? &s->pausing : &s->resuming;

        s->was_freezing = false;
        if (s->state != SANDBOX_RUNNING && s->state != SANDBOX_PAUSED)
                return;
        if (sys == ESRCH) /* it is ending, which answers all waiting calls */
                return;
        /* ECANCELED: thawed meanwhile; a pause that still waits is sent again */
        if (sys != 0 && sys != ECANCELED) {
                (void)fail_sys(
                        &e, sys == ENOTSUP ? ERROR_CAPABILITY_UNAVAILABLE : ERROR_BACKEND_FAILED,
                        sys, is_frozen ? "freezing the sandbox %s" : "thawing the sandbox %s",
                        s->id);
                /* the provider's program has said so, if it is elsewhere */
                if (sys == ENOTSUP && sandbox_check_here(s, "", "pause", &e) == 0)
                        error_hint(&e, "Pausing needs the cgroup freezer: run the daemon as root, "
                                       "or where cgroup v2 is delegated to its user.");
                calls_fail(l, &e);
                if (!is_frozen)
                        calls_fail(&s->waiting, &e);
        } else if (sys == 0) {
                bool was_frozen = s->state == SANDBOX_PAUSED;

                s->state = is_frozen ? SANDBOX_PAUSED : SANDBOX_RUNNING;
                if (was_frozen != is_frozen)
                        sandbox_publish(s, is_frozen ? event_paused() : event_resumed());
                if (!is_frozen)
                        sandbox_touch(s);
                answer_all(l, s);
        }
        go_on_freezing(s);
}

/* -- ending ------------------------------------------------------------------------------------ */

/*
 * A box that did not report its end may be alive. The next start connects to it again if its socket
 * is still there.
 */
static void
remove_directory(struct sandbox *s)
{
        if (!s->leaves_directory)
                box_remove_directory(s->keeper, s->id);
}

/* Removes the last traces of the sandbox. */
static void
finish(struct sandbox *s)
{
        struct keeper *k = s->keeper;
        struct error e;

        (void)fail_at(&e, ERROR_NOT_FOUND, "id", s->stop_cause, "the sandbox %s is gone (%s)",
                      s->id, s->stop_cause ? s->stop_cause : "stopped");
        calls_fail(&s->waiting, &e);
        calls_fail(&s->pausing, &e);
        calls_fail(&s->resuming, &e);
        port_wait_sandbox_gone(s);
        approval_sandbox_gone(s);
        port_use_sandbox_gone(s);
        s->state = SANDBOX_STOPPING;
        s->row.cause = s->stop_cause;
        if (s->row.owner)
                ended_add(&k->ended, s->id, s->row.name, s->row.owner,
                          s->stop_cause ? s->stop_cause : "stopped", loop_now_ms());
        sandbox_publish(s, event_stopped());
        for (struct call *c = calls_take(&s->stopping); c; c = calls_take(&s->stopping)) {
                struct record_writer w = reply_begin(c);

                record_bool(&w, FIELD_EXISTED, 1);
                answer_found(&w, s, 0);
                reply_send(c, &w, 0, -1);
                call_end(c);
        }
        remove_directory(s);
        if (s->is_failing_store)
                registry_bury(s);
        else
                registry_remove(s);
        pool_fill(k);
}

/*
 * Removes its row. If that fails, the sandbox ends anyway and the row is removed later: stopping
 * must work on a full disk. Its key is kept for a while, except after a failed create: that call
 * may be repeated.
 */
void
sandbox_leave_store(struct sandbox *s, const char *cause)
{
        bool keeps_key = s->row.key && strcmp(cause, "failed") != 0;
        struct error e;

        s->stop_cause = cause;
        s->is_failing_store =
                (keeps_key ? store_sandbox_end(s->keeper->store, s->id, loop_wall_ms(), &e)
                           : store_sandbox_remove(s->keeper->store, s->id, &e)) < 0;
}

/*
 * Connects to the box of a later version once more, to stop it. If that fails for a moment, the
 * next start of a daemon ends it, because it has no row.
 */
static void
stop_later(struct sandbox *s)
{
        struct error ignored;
        int result = box_attach(s->keeper, s->id, s, &ignored);

        s->is_later = false;
        s->leaves_directory = result < 0;
}

int
sandbox_stop(struct sandbox *s, const char *cause, struct error *e)
{
        if (s->state == SANDBOX_STOPPING)
                return 0;
        if (s->is_later)
                stop_later(s);
        sandbox_leave_store(s, cause);
        loop_timer_remove(&s->life);
        loop_timer_remove(&s->idle);
        if (!s->box || s->box->peer.is_broken || s->state == SANDBOX_FAILED) {
                finish(s);
                return 0;
        }
        s->state = SANDBOX_STOPPING;
        box_stop(s->box);
        return 0;
}

/* It remains visible until it is stopped or its time is over. */
static void
fail_in_memory(struct sandbox *s, const char *cause)
{
        struct error e;

        s->state = SANDBOX_FAILED;
        s->row.cause = cause;
        loop_timer_remove(&s->idle);
        port_wait_sandbox_gone(s);
        approval_sandbox_gone(s);
        port_use_sandbox_gone(s);
        (void)failed_state(s, &e);
        calls_fail(&s->waiting, &e);
        calls_fail(&s->pausing, &e);
        calls_fail(&s->resuming, &e);
        sandbox_publish(s, event_failed());
        remove_directory(s);
}

static void
fail_for_good(struct sandbox *s, const char *cause)
{
        struct error e;

        s->row.cause = cause;
        s->row.status = STORE_FAILED;
        /* if not saved, the next start finds no box and reports the same */
        (void)sandbox_save(s, &e);
        fail_in_memory(s, cause);
}

void
sandbox_box_later(struct sandbox *s)
{
        struct box *b = s->box;

        s->is_later = s->leaves_directory = true;
        /* the row still says that its box runs: the later version finds it again */
        fail_in_memory(s, "later_version");
        box_forget(b);
}

/* The start failed. The next use retries, because the cause may be gone. */
static void
fall_back(struct sandbox *s, const struct error *e)
{
        bool is_refused = !s->row.owner;
        struct error ignored;

        if (s->prepared)
                prepared_release(s->prepared);
        if (s->box)
                box_forget(s->box);
        s->state = SANDBOX_PENDING;
        remove_directory(s);
        is_refused = fail_waiting(s, e) || is_refused;
        calls_fail(&s->pausing, e);
        if (is_refused) /* the create that made it failed, or it has no owner */
                (void)sandbox_stop(s, "failed", &ignored);
}

static void
say_step(const struct sandbox *s, const struct wire_box_gone *gone, struct error *e)
{
        const struct plan *plan = s->prepared ? s->prepared->plan : NULL;

        if (plan && gone->cause == BOX_GONE_MAKE_FAILED)
                (void)plan_step_failed(e, plan, gone->failed.step, gone->failed.sys);
        else
                (void)fail(e, ERROR_BACKEND_FAILED,
                           "the box of the sandbox %s ended while it was being made", s->id);
}

void
sandbox_box_gone(struct sandbox *s, const struct wire_box_gone *gone)
{
        static const char *const causes[] = {
                [BOX_GONE_STOPPED] = "stopped", [BOX_GONE_DEADLINE] = "deadline",
                [BOX_GONE_OOM] = "oom",         [BOX_GONE_POLICY] = "policy",
                [BOX_GONE_DIED] = "lost",       [BOX_GONE_MAKE_FAILED] = "lost",
                [BOX_GONE_STUCK] = "stuck",     [BOX_GONE_DISK] = "disk_mb"
        };
        struct error e;

        if (gone->cause == BOX_GONE_DIED)
                box_collect_groups(s->keeper);
        if (s->state == SANDBOX_STOPPING) {
                finish(s);
                return;
        }
        if (s->state == SANDBOX_STARTING && !s->is_attached && gone->cause != BOX_GONE_DEADLINE) {
                say_step(s, gone, &e);
                fall_back(s, &e);
                return;
        }
        if (gone->cause == BOX_GONE_STOPPED || gone->cause == BOX_GONE_DEADLINE) {
                sandbox_leave_store(s, causes[gone->cause]);
                finish(s);
                return;
        }
        fail_for_good(s, gone->cause < sizeof causes / sizeof *causes && causes[gone->cause]
                                 ? causes[gone->cause]
                                 : "lost");
}

void
sandbox_box_lost(struct sandbox *s, const char *why)
{
        struct error e;

        box_collect_groups(s->keeper);
        if (s->state == SANDBOX_STOPPING) {
                finish(s);
        } else if (s->state == SANDBOX_STARTING && !s->is_attached) {
                (void)fail(&e, ERROR_BACKEND_FAILED, "the box of the sandbox %s: %s", s->id, why);
                fall_back(s, &e);
        } else if (!s->row.owner) {
                (void)sandbox_stop(s, "lost", &e);
        } else {
                fail_for_good(s, "lost");
        }
}

/* -- events inside ----------------------------------------------------------------------------- */

void
sandbox_touch(struct sandbox *s)
{
        s->active_ms = loop_now_ms();
        deadline_arm_idle(s);
}

void
sandbox_event(struct sandbox *s, const char *name)
{
        const struct spec_lifecycle *l = s->prepared ? &s->prepared->spec->lifecycle : NULL;
        struct lifecycle_event happened, wanted;
        struct error e;

        lifecycle_event_read(name, &happened);
        sandbox_publish(s, event_reported(name));
        if (!l || happened.kind == LIFECYCLE_UNKNOWN)
                return;
        if (l->destroy_on) {
                lifecycle_event_read(l->destroy_on, &wanted);
                if (strcmp(wanted.name, happened.name) == 0) {
                        (void)sandbox_stop(s, "event", &e);
                        return;
                }
        }
        if (!l->pause_event)
                return;
        lifecycle_event_read(l->pause_event, &wanted);
        if (strcmp(wanted.name, happened.name) == 0 && s->state == SANDBOX_RUNNING)
                /* if it cannot be frozen it keeps running, as create warned */
                (void)sandbox_freeze(s, true, &e);
}

void
sandbox_exec_news(struct sandbox *s, const struct wire_box_listed *l, bool is_end)
{
        if ((l->flags & BOX_EXEC_QUIET) != 0)
                return;
        sandbox_touch(s);
        publish_exec(s, l, is_end);
        if (!is_end)
                return;
        port_wait_exec_ended(s, l->exec);
        if (s->row.is_writable && l->state == BOX_EXEC_ENDED)
                sandbox_event(s, "write");
}
