/*
 * cli/doc_prove_times.c - proves the three layers of time of a document.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches, and a daemon of its own.
 * Theory: commands sleep, one after the other, until one is ended by the layer that is tried. The
 * moment before the layer is set and the moment after its end enclose its time, so "too early" is
 * never the machine's load. Without a daemon a task and a lifetime do not exist.
 */
#include "cli/doc_proof.h"

#include <inttypes.h>
#include <string.h>

#include "cli/doc_daemon.h"
#include "clock/clock.h"
#include "document/value.h"

enum { TRIED_MAX_MS = 60000, SCALED_MS = 1000, GRACE_MS = 10000, CALL, TASK, LIFE, LAYERS };

#define PATH "resources.timeouts."
static const char task_name[] = "loop";

struct times {
        uint64_t call_ms, task_ms, life_ms; /* as claimed */
        bool is_scaled;
};

static void
prove_call(struct doc_proving *p, uint64_t claimed_ms)
{
        static const char path[] = PATH "per_tool_call";
        uint64_t real = p->way->limit.ms;
        bool is_scaled = real > TRIED_MAX_MS;
        struct doc_probe probe = p->probe;
        struct doc_probed done;
        const char *const command[] = { "sleep",
                                        arena_format(&p->a->arena, "%" PRIu64, real / 1000 + 30),
                                        NULL };

        if (real == SPEC_UNSET || claimed_ms != real) {
                doc_say(p, DOC_REFUTED, path, "a command is ended after %" PRIu64 " ms here",
                        real == SPEC_UNSET ? 0 : real);
                return;
        }
        if (is_scaled && !p->a->is_scaled) {
                doc_say(p, DOC_REMARK, path,
                        "%" PRIu64 " ms is the limit; not tried, because it takes that long. Add "
                        "--scaled to try with %d ms",
                        real, SCALED_MS);
                return;
        }
        probe.timeout_ms = is_scaled ? SCALED_MS : 0;
        (void)doc_output(p, &probe, command, &done);
        doc_say(p, strcmp(doc_ending(&done), "timed_out") == 0 ? DOC_PROVEN : DOC_REFUTED, path,
                "a command that slept was %s after %" PRIu64 " ms%s",
                strcmp(doc_ending(&done), "timed_out") == 0 ? "ended" : "not ended",
                done.took_us / 1000, is_scaled ? " (scaled)" : "");
}

/* -- a task and a lifetime --------------------------------------------------------------------- */

static const struct layer {
        const char *path, *other;
        unsigned limit; /* enum carrel_limit */
        bool is_task;
} task_layer = { PATH "per_task_loop", "per_sandbox_lifetime", CARREL_LIMIT_TASK_TIME, true },
  life_layer = { PATH "per_sandbox_lifetime", "per_task_loop", CARREL_LIMIT_SANDBOX_TIME, false };

/* A sandbox, and for a task the task. `ret_since_ms` is a moment before the layer was set. */
static int
begin(struct doc_proving *p, struct doc_daemon *d, const struct layer *l, const struct times *t,
      struct carrel_sandbox **ret, uint64_t *ret_since_ms, struct carrel_error *e)
{
        const struct carrel_config config = { .manifest_file = p->probe.file,
                                              .workspace = p->probe.workspace || p->probe.file
                                                                   ? p->probe.workspace
                                                                   : ".",
                                              .timeout_ms = t->life_ms,
                                              .is_started_now = 1 };

        *ret_since_ms = clock_boot_ms();
        if (carrel_create(d->c, &config, ret, e) < 0)
                return -1;
        if (!l->is_task)
                return 0;
        *ret_since_ms = clock_boot_ms();
        return carrel_task_begin(d->c, (*ret)->id, task_name, t->task_ms, e);
}

/* One command, until it ends or until `until_ms`. Gives the outer layers that it reached. */
static int
sleep_once(struct doc_daemon *d, const char *id, const char *task, uint64_t until_ms,
           unsigned *ret_limits, struct carrel_error *e)
{
        static const char *const argv[] = { "sleep", "86400" };
        const struct carrel_command command = { .argv = argv, .argc = 2, .task = task };
        uint64_t now = clock_boot_ms();
        struct carrel_exec *x;
        struct carrel_piece piece;
        int got;

        if (carrel_exec(d->c, id, &command, &x, e) < 0)
                return -1;
        do {
                got = carrel_exec_read(x, (int)(until_ms > now ? until_ms - now : 0), &piece, e);
                now = clock_boot_ms();
        } while (got > 0 && piece.kind != CARREL_END);
        if (got > 0)
                *ret_limits = carrel_exec_end(x)->limits_reached;
        carrel_exec_free(x);
        return got < 0 ? -1 : 0;
}

/* A later call fails once a layer has ended all. */
static void
try_layer(struct doc_proving *p, struct doc_daemon *d, const struct layer *l, const struct times *t)
{
        uint64_t claimed_ms = l->is_task ? t->task_ms : t->life_ms, since_ms, took_ms;
        const char *scaled = t->is_scaled ? " (scaled)" : "";
        const unsigned both = CARREL_LIMIT_TASK_TIME | CARREL_LIMIT_SANDBOX_TIME;
        struct carrel_sandbox *made = NULL;
        unsigned limits = 0;
        struct carrel_error e;
        int result = begin(p, d, l, t, &made, &since_ms, &e);

        if (result < 0) {
                doc_say(p, DOC_REFUTED, l->path, "a daemon does not take it: %.300s", e.message);
                carrel_free(made);
                return;
        }
        do {
                result = sleep_once(d, made->id, l->is_task ? task_name : NULL,
                                    since_ms + claimed_ms + GRACE_MS, &limits, &e);
                took_ms = clock_boot_ms() - since_ms;
        } while (result == 0 && (limits & both) == 0 && took_ms < claimed_ms + GRACE_MS);
        if (took_ms < claimed_ms && result < 0)
                doc_say(p, DOC_REFUTED, l->path, "it could not be tried: %.300s", e.message);
        else if (took_ms < claimed_ms)
                doc_say(p, DOC_REFUTED, l->path, "its commands are ended after %" PRIu64 " ms%s%s",
                        took_ms, (limits & both & ~l->limit) != 0 ? " by " : "",
                        (limits & both & ~l->limit) != 0 ? l->other : "");
        else if (result == 0 && (limits & both) == 0)
                doc_say(p, DOC_REFUTED, l->path,
                        "its commands are not ended after %" PRIu64 " ms%s", claimed_ms, scaled);
        else
                doc_say(p, DOC_PROVEN, l->path,
                        "a daemon ended its commands after %" PRIu64 " ms%s", took_ms, scaled);
        (void)carrel_stop(d->c, made->id, NULL, &e);
        carrel_free(made);
}

static bool
is_tried(struct doc_proving *p, const struct layer *l, uint64_t claimed_ms)
{
        if (claimed_ms <= TRIED_MAX_MS || p->a->is_scaled)
                return true;
        doc_say(p, DOC_REMARK, l->path,
                "%" PRIu64 " ms; not tried, because it takes that long. Add --scaled to try with "
                "%d ms",
                claimed_ms, SCALED_MS);
        return false;
}

/* The layer that is tried has a second if it is long; the other one is as long as is claimed. */
static void
prove_layer(struct doc_proving *p, struct doc_daemon *d, const struct layer *l, struct times t)
{
        uint64_t *own = l->is_task ? &t.task_ms : &t.life_ms;
        struct error e;

        if (!is_tried(p, l, *own))
                return;
        if (*own > TRIED_MAX_MS) {
                t.is_scaled = true;
                *own = SCALED_MS;
        }
        if (l->is_task &&
            t.life_ms == t.task_ms) /* the sandbox began earlier, and would end first */
                t.life_ms += GRACE_MS;
        if (!d->c && doc_daemon_open(d, p->a->host_file, &e) < 0) {
                doc_say(p, DOC_REFUTED, l->path, "it could not be tried: %.300s", e.message);
                return;
        }
        try_layer(p, d, l, &t);
}

void
doc_prove_timeouts(struct doc_proving *p, const char *path, const struct node *claim)
{
        struct doc_daemon d = { .pid = 0 };
        struct times t = { 0 };

        (void)path;
        (void)document_duration(node_find(claim, "per_tool_call")->text, &t.call_ms);
        (void)document_duration(node_find(claim, "per_task_loop")->text, &t.task_ms);
        (void)document_duration(node_find(claim, "per_sandbox_lifetime")->text, &t.life_ms);
        prove_call(p, t.call_ms);
        if (t.task_ms > t.life_ms)
                doc_say(p, DOC_REFUTED, task_layer.path,
                        "the sandbox of the task lives for %" PRIu64 " ms", t.life_ms);
        else
                prove_layer(p, &d, &task_layer, t);
        if (p->way->limit.ms != SPEC_UNSET && t.life_ms < p->way->limit.ms)
                doc_say(p, DOC_REFUTED, life_layer.path,
                        "a sandbox of `carrel run` ends with its command, after at most %" PRIu64
                        " ms",
                        p->way->limit.ms);
        else
                prove_layer(p, &d, &life_layer, t);
        doc_daemon_close(&d);
}
