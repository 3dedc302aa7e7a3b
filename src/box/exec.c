/*
 * box/exec.c - the table of execs, and the life of one.
 *
 * Room: box (program). Touches: pipes, the engine.
 *
 *     (waiting) --sent to the engine--> STARTING --started--> RUNNING --ended--> ENDED
 *                                      | exec_failed             | the box ended: lost
 *                                      v                         v
 *                                   FAILED                     ENDED (kept, then freed)
 *
 * Theory: the end is reported once, in exec_finish(), for every way to end. An exec that was killed
 * before it had begun ends with the outcome of that kill. P23: an exec that has not ended some time
 * after it was killed ends its box. The kernel kills a whole namespace without help of pid 1,
 * whatever blocks the exec. Processes that the command leaves behind may keep its pipes open. The
 * end counts the bytes in the pipes at that moment, and does not wait (P10).
 */
#include "box/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/channel.h"
#include "box/handover.h"
#include "box/holder.h"
#include "box/keeper.h"
#include "box/limits.h"
#include "box/meter.h"
#include "box/one.h"
#include "box/state.h"
#include "box/streams.h"
#include "box/wall.h"
#include "outcome/outcome.h"
#include "wire/command.h"

static const uint32_t UNDECIDED = UINT32_MAX; /* an outcome */

/* of execs that end with the box */
static const uint32_t words[] = {
        [BOX_GONE_STOPPED] = OUTCOME_KILLED, [BOX_GONE_DEADLINE] = OUTCOME_TIMED_OUT,
        [BOX_GONE_OOM] = OUTCOME_OOM_KILLED, [BOX_GONE_POLICY] = OUTCOME_POLICY_KILLED,
        [BOX_GONE_DIED] = OUTCOME_LOST,      [BOX_GONE_MAKE_FAILED] = OUTCOME_LOST,
        [BOX_GONE_STUCK] = OUTCOME_LOST,     [BOX_GONE_DISK] = OUTCOME_POLICY_KILLED,
};

static uint32_t
box_word(const struct box *b)
{
        return words[b->gone.cause];
}

/* Which outer time limit ends every exec of this box, if one does. */
static unsigned
has_passed(const struct box *b)
{
        return b->state >= BOX_ENDING && b->gone.cause == BOX_GONE_DEADLINE ? OUTCOME_SANDBOX_TIME
                                                                            : 0;
}

/* -- the table --------------------------------------------------------------------------------- */

struct exec *
exec_find(struct box *b, uint32_t number)
{
        struct exec *x = b->execs;

        while (x && x->number != number)
                x = x->next;
        return x;
}

struct exec *
exec_with_key(struct box *b, const char *key)
{
        struct exec *x = key[0] != '\0' ? b->execs : NULL;

        while (x && strcmp(x->key, key) != 0)
                x = x->next;
        return x;
}

static const struct exec_calls calls;
static const struct output_user output_calls;

struct exec *
exec_add(struct box *b)
{
        struct exec *x = calloc(1, sizeof *x);

        if (!x)
                return NULL;
        *x = (struct exec){ .box = b,
                            .next = b->execs,
                            .state = BOX_EXEC_STARTING,
                            .word = UNDECIDED,
                            .calls = &calls,
                            .in = { .fd = -1 },
                            .theirs = { -1, -1, -1 } };
        for (int i = 0; i < 2; i++)
                output_init(&x->out[i], b->loop, i, &x->budget, &output_calls);
        streams_init(x);
        x->timer.due_ms = LOOP_NEVER;
        if (b->execs)
                b->execs->previous = x;
        else
                b->oldest = x;
        b->execs = x;
        return x;
}

static void
close_theirs(struct exec *x, size_t first, size_t count)
{
        for (size_t i = first; i < first + count; i++) {
                if (x->theirs[i] >= 0)
                        (void)close(x->theirs[i]);
                x->theirs[i] = -1;
        }
}

static void
drop_waiting(struct exec *x)
{
        if (x->waiting)
                /* the environment may contain secrets */
                explicit_bzero(x->waiting, x->waiting_len);
        free(x->waiting);
        x->waiting = NULL;
}

void
exec_free(struct exec *x)
{
        struct box *b = x->box;

        while (x->channels)
                channel_free(x->channels);
        loop_timer_remove(&x->timer);
        drop_waiting(x);
        close_theirs(x, 0, 3);
        input_close(&x->in);
        for (int i = 0; i < 2; i++) {
                output_close(&x->out[i]);
                output_forget(&x->out[i]);
                log_fini(&x->out[i].log);
        }
        streams_fini(x);
        job_forget(&x->job);
        if (x->is_over && (x->flags & BOX_EXEC_QUIET) == 0)
                b->kept--;
        b->kept_bytes -= x->kept_bytes;
        wall_forget(b, x, 0);
        if (x->next)
                x->next->previous = x->previous;
        else
                b->oldest = x->previous;
        if (x->previous)
                x->previous->next = x->next;
        else
                b->execs = x->next;
        free(x);
}

/* Frees the oldest finished execs; one that is being read stays until it was read. */
void
exec_prune(struct box *b)
{
        struct exec *x = b->oldest;

        while (x && b->busy == 0 && (b->kept > EXECS_KEPT_MAX || b->kept_bytes > LOGS_KEPT_MAX)) {
                struct exec *younger = x->previous;

                if (x->is_over && !x->channels)
                        exec_free(x);
                x = younger;
        }
}

/* -- from below -------------------------------------------------------------------------------- */

static void
drained(struct input *in)
{
        channel_feed_all(box_holder(in, struct exec, in));
}

static struct exec *
exec_of(const struct output *o)
{
        return o->stream == 0 ? box_holder(o, struct exec, out[0])
                              : box_holder(o, struct exec, out[1]);
}

static size_t
room(const struct output *o, size_t most)
{
        for (const struct channel *c = exec_of(o)->channels; c; c = c->next)
                if (c->is_lossless) {
                        size_t behind = log_free_behind(&o->log, c->holds ? c->from[o->stream]
                                                                          : c->at[o->stream]);

                        most = behind < most ? behind : most;
                }
        return most;
}

static void
count_output(struct exec *x)
{
        x->end.stdout_bytes = output_bytes(&x->out[0]);
        x->end.stderr_bytes = output_bytes(&x->out[1]);
        x->end.dropped_bytes = x->out[0].beyond + x->out[1].beyond;
        memset(&x->end.sanitized, 0, sizeof x->end.sanitized);
        for (int i = 0; i < 2; i++)
                output_count_removed(&x->out[i], &x->end.sanitized);
}

static void
grown(struct output *o)
{
        struct exec *x = exec_of(o);

        if (x->is_over) /* sanitised bytes are counted when they are read */
                count_output(x);
        channel_push_all(x);
}

static void
closed(struct output *o)
{
        struct exec *x = exec_of(o);

        if (x->lingers == 0 || x->out[0].fd >= 0 || x->out[1].fd >= 0)
                return;
        x->lingers = 0;
        x->box->lingering--;
}

static const struct output_user output_calls = { .room = room, .grown = grown, .closed = closed };

/* A caller has left, or has received everything. */
static void
left(struct exec *x, unsigned is_owner)
{
        struct box *b = x->box;

        if (is_owner && !x->is_over && (x->flags & BOX_EXEC_BACKGROUND) == 0 &&
            !handover_has_owner(x)) {
                /* an exec that still waited is freed by this */
                exec_kill(x, OUTCOME_KILLED);
        } else if (x->is_over && (x->flags & BOX_EXEC_QUIET) != 0 && !x->channels &&
                   !streams_is_held(x)) {
                exec_free(x);
        } else {
                for (int i = 0; i < 2; i++)
                        output_watch(&x->out[i]);
        }
        exec_prune(b);
        b->calls->check_over(b);
}

static void exec_lost(struct exec *x, uint32_t word);

static const struct exec_calls calls = { .left = left, .kill = exec_kill, .lose = exec_lost };

/* -- reports ----------------------------------------------------------------------------------- */

void
exec_list(const struct exec *x, struct wire_box_listed *ret)
{
        memset(ret, 0, sizeof *ret);
        ret->exec = x->number;
        ret->state = x->state;
        ret->flags = x->flags;
        ret->pid = x->pid;
        memcpy(ret->key, x->key, sizeof ret->key);
        memcpy(ret->task, x->task, sizeof ret->task);
        memcpy(ret->command, x->command, sizeof ret->command);
        ret->started_ms = x->started_ms;
        ret->stdout_first = x->out[0].log.first;
        ret->stderr_first = x->out[1].log.first;
        memcpy(&ret->end, &x->end, sizeof ret->end);
        if (x->state == BOX_EXEC_FAILED)
                ret->failed = x->failed;
        else if (x->timeout_ms != BOX_NEVER)
                wire_timeout_set(ret, x->timeout_ms);
        if (x->is_over)
                return;
        ret->end.stdout_bytes = output_bytes(&x->out[0]);
        ret->end.stderr_bytes = output_bytes(&x->out[1]);
        ret->end.dropped_bytes = x->out[0].beyond + x->out[1].beyond;
}

/* Rewrites a long journal with only the entries that a later keeper could still be sent. */
static void
shorten_journal(struct box *b)
{
        struct journal anew;
        struct wire_box_listed listed;
        int result = 0;

        if (b->journal.len < JOURNAL_LONG ||
            b->journal.len < 4 * (b->kept + b->running + 1ull) * sizeof(struct box_journal) ||
            journal_begin_anew(&b->journal, &anew, b->protocol) < 0)
                return;
        for (struct exec *x = b->oldest; x && result == 0; x = x->previous)
                if ((x->flags & BOX_EXEC_QUIET) == 0 && x->state != BOX_EXEC_STARTING) {
                        exec_list(x, &listed);
                        streams_note(x, &anew);
                        result = journal_append(&anew,
                                                x->is_over ? WIRE_BOX_FINISHED : WIRE_BOX_STARTED,
                                                x->number, &listed);
                }
        if (result < 0 || journal_end_anew(&b->journal, &anew) < 0)
                journal_close(&anew);
}

/*
 * The order is: journal, keepers, callers. So when a caller has read an end and asks the keeper
 * about it, the keeper knows it. May free a quiet exec, and no other.
 */
static void
tell(struct exec *x, uint16_t kind)
{
        struct box *b = x->box;
        struct wire_box_listed listed;
        unsigned is_quiet = (x->flags & BOX_EXEC_QUIET) != 0;

        if (kind == WIRE_BOX_FINISHED) {
                meter_exec(b, x);
                streams_tell(x);
        }
        if (!is_quiet) {
                exec_list(x, &listed);
                (void)journal_append(&b->journal, kind, x->number, &listed);
                keeper_say_all(b, kind, &listed, sizeof listed);
        } else if (streams_is_told(x) && kind == WIRE_BOX_FINISHED) {
                exec_list(x, &listed);
                keeper_say_all(b, kind, &listed, sizeof listed);
        }
        b->busy++;
        channel_push_all(x);
        b->busy--;
        if (!is_quiet)
                shorten_journal(b);
}

/* -- the begin --------------------------------------------------------------------------------- */

/* For people: the arguments with blanks between, without bytes that a terminal interprets. */
static void
describe(struct exec *x, const struct wire_exec *wire)
{
        const char *at = (const char *)(wire + 1);
        size_t len = 0;

        for (uint32_t i = 0; i < wire->argc; i++, at += strlen(at) + 1)
                len = box_command_add(x->command, len, at);
}

/* The box's ends are non-blocking; the command's ends are as a program expects them. */
static int
open_pipe(int ret[2], int ours)
{
        if (pipe2(ret, O_CLOEXEC) < 0)
                return -errno;
        return fcntl(ret[ours], F_SETFL, O_NONBLOCK | (ours == 1 ? O_WRONLY : O_RDONLY)) < 0
                       ? -errno
                       : 0;
}

/* What is removed from its output: a mask, text/sanitize.h. */
static unsigned
sanitizes(const struct exec *x)
{
        return (x->flags & BOX_EXEC_SANITIZE) >> BOX_EXEC_SANITIZE_SHIFT;
}

/*
 * The box keeps the writing ends of the output open until the exec has ended. Otherwise their
 * closing would wake it twice before the end that pid 1 reports anyway. It reads the pipes at that
 * end.
 */
static int
open_streams(struct exec *x)
{
        int pair[2], result;

        for (int i = 0; i < 3; i++) {
                result = i > 0 ? output_sanitize(&x->out[i - 1], sanitizes(x)) : 0;
                if (result == 0)
                        result = open_pipe(pair, i == 0);
                if (result < 0)
                        return result;
                x->theirs[i] = pair[i == 0 ? 0 : 1];
                if (i == 0)
                        input_init(&x->in, x->box->loop, pair[1], 0, drained);
                else if ((result = output_open(&x->out[i - 1], pair[0], 0)) < 0)
                        return result;
        }
        if ((x->flags & BOX_EXEC_NO_STDIN) != 0)
                input_close(&x->in);
        return 0;
}

static void
send_to_engine(struct exec *x, struct wire_exec *wire, size_t len)
{
        struct box *b = x->box;
        struct command c = { .wire = wire, .len = len, .cpu_ms = x->cpu_ms };
        int result;

        while (c.fd_count < 3 && x->theirs[c.fd_count] >= 0) { /* a terminal has none */
                c.fds[c.fd_count] = x->theirs[c.fd_count];
                c.fd_count++;
        }
        limits_credit_oom(b);
        x->oom_kills_before = b->oom_seen;
        x->pids_refused_before = limits_pids_refused(b);
        x->begun_ms = x->started_ms = loop_now_ms();
        x->frozen_before_ms = box_frozen_ms(b);
        x->job.number = x->number;
        result = b->engine->calls->exec(b->engine, &x->job, &c);
        if (result < 0) {
                exec_failed(x,
                            &(struct wire_exec_failed){ x->number, -result, WIRE_STAGE_PREPARE });
                return;
        }
        x->is_sent = 1;
        close_theirs(x, 0, b->one.is_on ? 3 : 1);
        limits_watch(x);
        limits_floor(b);
}

static void
keep_waiting(struct exec *x, const void *wire, size_t len)
{
        x->waiting = malloc(len);
        x->waiting_len = len;
        if (x->waiting)
                memcpy(x->waiting, wire, len);
        else
                exec_failed(x, &(struct wire_exec_failed){ x->number, ENOMEM, WIRE_STAGE_PREPARE });
}

void
exec_send_waiting(struct box *b)
{
        b->busy++;
        for (struct exec *x = b->oldest, *younger; x; x = younger) {
                void *wire = x->waiting;
                size_t len = x->waiting_len;

                younger = x->previous;
                if (!wire)
                        continue;
                x->waiting = NULL;
                send_to_engine(x, wire, len); /* may fail, and free a quiet exec */
                explicit_bzero(wire, len);
                free(wire);
        }
        b->busy--;
}

static void
fill(struct exec *x, const struct wire_box_exec *ask, const struct wire_exec *wire)
{
        struct box *b = x->box;
        uint64_t keep = ask->keep_bytes != 0 ? ask->keep_bytes : b->begin.keep_bytes;

        if ((ask->flags & BOX_EXEC_SANITIZE) != 0 && keep < OUTPUT_SANITIZED_KEEP)
                keep = OUTPUT_SANITIZED_KEEP;
        x->number = ask->exec != 0 ? ask->exec : b->last_number + 1;
        b->last_number = x->number > b->last_number ? x->number : b->last_number;
        x->flags = ask->flags;
        x->wire_flags = wire->flags;
        memcpy(x->key, ask->key, sizeof x->key - 1);
        memcpy(x->task, ask->task, sizeof x->task - 1);
        x->deadline_ms = ask->deadline_ms;
        x->timeout_ms = ask->timeout_ms;
        x->cpu_ms = ask->cpu_ms;
        x->budget = ask->output_bytes;
        x->begun_ms = x->started_ms = loop_now_ms();
        x->end.exit_code = -1;
        describe(x, wire);
        for (int i = 0; i < 2; i++)
                log_init(&x->out[i].log, keep, b->directory);
        streams_begin(x);
}

void
exec_start(struct box *b, const struct wire_box_exec *ask, void *bytes, size_t len,
           int take_channel)
{
        struct exec *x = exec_with_key(b, ask->key);
        struct wire_exec *wire = bytes, head;
        int result = wire_command_read(bytes, len, NULL, 0, &head);

        if (x) {
                if (take_channel >= 0)
                        channel_open(x, take_channel, CHANNEL_OF_OWNER,
                                     ask->flags & BOX_EXEC_LOSSLESS, 0, 0);
                return;
        }
        x = result < 0 || (ask->exec != 0 && exec_find(b, ask->exec)) || (b->one.is_on && b->execs)
                    ? NULL
                    : exec_add(b);
        if (!x) {
                channel_refuse(take_channel,
                               &(struct wire_exec_failed){ ask->exec, EINVAL, WIRE_STAGE_PREPARE });
                return;
        }
        fill(x, ask, wire);
        b->starting++;
        if (take_channel >= 0)
                channel_open(x, take_channel, CHANNEL_OF_OWNER, ask->flags & BOX_EXEC_LOSSLESS, 0,
                             0);
        else
                x->flags |= BOX_EXEC_BACKGROUND;
        if (b->state >= BOX_ENDING) {
                exec_lost(x, box_word(b));
                return;
        }
        if (b->starting + b->running > EXECS_MAX)
                result = -EAGAIN;
        else if ((wire->flags & WIRE_EXEC_TTY) == 0)
                result = b->one.is_on ? one_give_streams(x) : open_streams(x);
        else if (sanitizes(x) != 0) /* no keeper asks for it */
                result = -EINVAL;
        if (result < 0) {
                exec_failed(x,
                            &(struct wire_exec_failed){ x->number, -result, WIRE_STAGE_PREPARE });
                return;
        }
        wire->exec = x->number;
        wire->spare = 0;
        wire->flags &= (uint32_t) ~(WIRE_EXEC_LAST | WIRE_EXEC_GROUP | WIRE_EXEC_TREE);
        if ((b->begin.flags & BOX_BEGIN_NET_ONLY) == 0)
                wire->flags &= (uint32_t)~WIRE_EXEC_AS_CALLER;
        if ((b->state == BOX_MAKING && !b->one.is_on) || b->is_freezing)
                keep_waiting(x, wire, len);
        else
                send_to_engine(x, wire, len);
}

void
exec_started(struct exec *x, int32_t pid, int take_master)
{
        struct wire_box_listed listed;
        struct box *b = x->box;

        if (x->state != BOX_EXEC_STARTING) {
                if (take_master >= 0)
                        (void)close(take_master);
                return;
        }
        b->starting--;
        b->running++;
        x->state = BOX_EXEC_RUNNING;
        x->pid = pid;
        meter_watch(b);
        if (b->one.is_on) {
                exec_list(x, &listed);
                one_started(b, &listed, take_master);
                return;
        }
        if (take_master >= 0) {
                int copy = fcntl(take_master, F_DUPFD_CLOEXEC, 3);

                (void)fcntl(take_master, F_SETFL, O_RDWR | O_NONBLOCK);
                (void)output_open(&x->out[0], take_master, 1);
                input_init(&x->in, b->loop, copy, 1, drained);
        }
        tell(x, WIRE_BOX_STARTED);
        if (x->word != UNDECIDED && x->state == BOX_EXEC_RUNNING)
                exec_kill(x, x->word);
}

/* -- the end ----------------------------------------------------------------------------------- */

static void
let_go(struct exec *x)
{
        loop_timer_remove(&x->timer);
        drop_waiting(x);
        close_theirs(x, 0, 3);
        input_close(&x->in);
        if (!x->is_alone && (x->flags & BOX_EXEC_KILL_REST) != 0)
                job_kill(&x->job);
        job_over(&x->job);
}

/* Limits the ended execs whose pipes are still held; closes the oldest ones. */
static void
limit_lingering(struct box *b)
{
        while (b->lingering > EXECS_LINGERING_MAX) {
                struct exec *first = NULL;

                for (struct exec *x = b->execs; x; x = x->next)
                        if (x->lingers != 0 && (!first || x->lingers < first->lingers))
                                first = x;
                if (!first)
                        return;
                for (int i = 0; i < 2; i++) {
                        first->out[i].left = 0;
                        output_close(&first->out[i]);
                }
                channel_push_all(first);
        }
}

static void
exec_finish(struct exec *x)
{
        struct box *b = x->box;
        unsigned is_quiet = (x->flags & BOX_EXEC_QUIET) != 0;

        x->is_over = 1;
        wall_forget(b, x, 1);
        if (!is_quiet)
                b->kept++;
        for (int i = 0; i < 2; i++) {
                x->out[i].is_over = 1;
                if (x->out[i].left == 0)
                        log_shrink(&x->out[i].log);
                x->kept_bytes += x->out[i].log.room;
        }
        b->kept_bytes += x->kept_bytes;
        if (x->out[0].fd >= 0 || x->out[1].fd >= 0) {
                x->lingers = ++b->linger_count;
                b->lingering++;
        }
        if (is_quiet && !x->channels) {
                if (streams_is_told(x))
                        tell(x, WIRE_BOX_FINISHED);
                if (!streams_is_held(x))
                        exec_free(x);
        } else {
                tell(x, WIRE_BOX_FINISHED);
        }
        limit_lingering(b);
        exec_prune(b);
}

static void end_with(struct exec *x, const struct engine_ended *ended);

void
exec_failed(struct exec *x, const struct wire_exec_failed *failed)
{
        unsigned is_its_own =
                failed->stage == WIRE_STAGE_LOOKUP || failed->stage == WIRE_STAGE_DIRECTORY;

        if (x->state != BOX_EXEC_STARTING)
                return;
        /* An exec that was killed meanwhile fails to start because of that, whatever error the
         * kernel reports. */
        if (!is_its_own && (x->word != UNDECIDED || x->box->state >= BOX_ENDING)) {
                exec_lost(x, x->box->state >= BOX_ENDING ? box_word(x->box) : x->word);
                return;
        }
        x->box->starting--;
        x->state = BOX_EXEC_FAILED;
        x->failed = *failed;
        for (int i = 0; i < 2; i++)
                output_close(&x->out[i]);
        let_go(x);
        exec_finish(x);
}

/*
 * True if one of its processes was certainly killed for memory. Also if the kernel counted such a
 * kill, and the exec was killed itself or is a shell that reports a killed child (128 + SIGKILL).
 */
static unsigned
was_short_of_memory(const struct exec *x, const struct engine_ended *ended)
{
        unsigned was_killed = ended->code != CLD_EXITED ? ended->status == SIGKILL
                                                        : ended->status == 128 + SIGKILL;

        return x->oom_own > 0 || (was_killed && x->box->oom_seen > x->oom_kills_before);
}

static void
decide(struct exec *x, const struct engine_ended *ended)
{
        unsigned is_signal = ended && ended->code != CLD_EXITED;

        x->end.exit_code = -1;
        if (x->word != UNDECIDED)
                x->end.word = x->word;
        else if (!ended)
                x->end.word = OUTCOME_LOST;
        else if (x->box->state >= BOX_ENDING && is_signal && ended->status == SIGKILL) {
                /* the maker kills all execs, and pid 1 may report some before it ends */
                x->end.word = box_word(x->box);
                x->outer_time = has_passed(x->box);
        } else if (was_short_of_memory(x, ended))
                x->end.word = OUTCOME_OOM_KILLED;
        else if (!is_signal) {
                x->end.word = OUTCOME_EXITED;
                x->end.exit_code = ended->status;
        } else if (ended->is_cpu_used) {
                x->end.word = OUTCOME_CPU_LIMIT;
        } else {
                x->end.word = OUTCOME_SIGNALED;
                x->end.signal = ended->status;
        }
}

static uint16_t
denied_count(struct exec *x)
{
        uint32_t count = (x->flags & BOX_EXEC_QUIET) != 0 ? 0 : wall_denied(x->box, x);

        return count < UINT16_MAX ? (uint16_t)count : UINT16_MAX;
}

/* If several execs ran at once, each of them met the limit, because it is the sandbox's. */
static uint8_t
limits_reached(const struct exec *x, const struct engine_ended *ended)
{
        unsigned reached =
                ((ended && ended->is_disk_full) || x->box->is_over_disk ? OUTCOME_DISK : 0u) |
                (limits_pids_refused(x->box) > x->pids_refused_before ? OUTCOME_PIDS : 0u);

        return (uint8_t)reached;
}

static uint8_t
found_count(const struct exec *x)
{
        uint64_t count = found_unshown(&x->box->found);

        return count < UINT8_MAX ? (uint8_t)count : UINT8_MAX;
}

/* What it used, and how it ended. */
static void
measure(struct exec *x, const struct engine_ended *ended)
{
        uint64_t tree_us;

        x->end.denied = denied_count(x); /* while the engine knows its processes */
        x->end.reached = limits_reached(x, ended);
        x->end.found = found_count(x);
        /* before reading its CPU time, which then cannot grow */
        x->is_alone = x->is_sent && !job_has_processes(&x->job);
        tree_us = job_cpu_us(&x->job);
        limits_credit_oom(x->box);
        decide(x, ended);
        x->end.reached |= (uint8_t)x->outer_time;
        if (x->end.word == OUTCOME_OOM_KILLED && !x->is_alone &&
            engine_can(x->box->engine, ENGINE_TELLS_APART))
                /* processes that the kernel did not kill */
                job_kill(&x->job);
        x->end.duration_ms = loop_now_ms() - x->started_ms;
        x->end.cpu_ms = (tree_us != ENGINE_UNKNOWN ? tree_us : ended ? ended->cpu_us : 0) / 1000;
        x->end.memory_peak_kb = ended ? ended->max_rss_kb : 0;
}

static void
end_with(struct exec *x, const struct engine_ended *ended)
{
        if (x->state != BOX_EXEC_RUNNING && x->state != BOX_EXEC_STARTING)
                return;
        if (x->box->one.is_on)
                one_measure(x);
        else
                measure(x, ended);
        x->box->running -= x->state == BOX_EXEC_RUNNING;
        x->box->starting -= x->state == BOX_EXEC_STARTING;
        x->state = BOX_EXEC_ENDED;
        for (int i = 0; i < 2; i++)
                output_finish(&x->out[i], x->is_alone);
        count_output(x);
        streams_end(x);
        let_go(x);
        exec_finish(x);
}

void
exec_ended(struct exec *x, const struct engine_ended *ended)
{
        if (x->state == BOX_EXEC_RUNNING && x->box->one.is_on)
                one_ended(x, ended);
        else if (x->state == BOX_EXEC_RUNNING)
                end_with(x, ended);
}

static void
exec_lost(struct exec *x, uint32_t word)
{
        if (x->word == UNDECIDED && !x->box->one.is_on) {
                x->word = word;
                x->outer_time = has_passed(x->box);
        }
        end_with(x, NULL);
}

void
exec_lose_all(struct box *b)
{
        b->busy++;
        for (struct exec *x = b->execs, *next; x; x = next) {
                next = x->next;
                if (!x->is_over)
                        exec_lost(x, box_word(b));
        }
        b->busy--;
}

void
exec_kill(struct exec *x, uint32_t word)
{
        if (x->box->one.is_on) {
                one_kill(x, word);
                return;
        }
        if (!x->is_over && x->word == UNDECIDED) {
                x->word = word;
                x->outer_time =
                        word == OUTCOME_TIMED_OUT && limits_is_task_over(x) ? OUTCOME_TASK_TIME : 0;
        }
        if (x->waiting) {
                end_with(x, NULL);
                return;
        }
        limits_overdue(x);
        job_kill(&x->job);
}
