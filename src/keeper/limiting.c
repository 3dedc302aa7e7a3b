/*
 * keeper/limiting.c - limits, limits.set: the limits of a sandbox, and what is used of them.
 *
 * Room: keeper (joining). Touches: the store, clock; its box writes to control groups.
 * Theory: other limits are a change of the manifest, which is judged again as a whole: the host
 * caps them as at create. The plan of the new manifest says what is written to the groups, so that
 * a limit means the same as at create. The change is recorded first, then written, then stored; if
 * it cannot be stored, it is taken back.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/audit.h"
#include "keeper/limiting.h"
#include "keeper/op.h"
#include "keeper/rewrite.h"
#include "plan/pack.h"
#include "recorder/words.h"
#include "spec/provider.h"

enum kind {
        KIND_LATER, /* the keeper's own: of commands that begin later */
        KIND_GROUP, /* files of control groups */
        KIND_FIXED  /* of a sandbox that exists it cannot change */
};

struct row {
        uint16_t tag;
        enum kind kind;
        const char *name;
        size_t offset;     /* in struct spec_limits */
        const char *camel; /* its other name in `limits` of AIP-36; NULL: it is Carrel's own */
        const char *file;  /* how the names of its files in a group begin */
        const char *word;  /* in its lines of io.max */
        const char *why;   /* of KIND_FIXED */
};

#define AT(TAG, KIND, member) \
        FIELD_##TAG, KIND_##KIND, #member, offsetof(struct spec_limits, member)
static const struct row rows[] = {
        { AT(TIMEOUT, LATER, timeout_ms), "timeoutMs", NULL, NULL, NULL },
        { AT(MEMORY_MB, GROUP, memory_mb), "memoryMb", "memory.", NULL, NULL },
        { AT(CPU_MILLICORES, GROUP, cpu_millicores), NULL, "cpu.", NULL, NULL },
        { AT(PIDS, GROUP, pids), NULL, "pids.", NULL, NULL },
        { AT(IO_READ, GROUP, io_read_bps), NULL, "blkio.throttle.read", " rbps=", NULL },
        { AT(IO_WRITE, GROUP, io_write_bps), NULL, "blkio.throttle.write", " wbps=", NULL },
        { AT(OUTPUT_BYTES, LATER, output_bytes), NULL, NULL, NULL, NULL },
        { AT(OPEN_FILES, FIXED, open_files), NULL, NULL, NULL,
          "each process has it from its start" },
        { AT(DISK_MB, FIXED, disk_mb), NULL, NULL, NULL,
          "it is the size of file systems that are mounted" },
};
#undef AT

enum { ROWS = sizeof rows / sizeof *rows, STEPS_MAX = 16, WORDS_ROOM = 512 };

/* SPEC_UNSET: not asked for. */
struct wanted {
        uint64_t of[ROWS];
};

struct limiting {
        uint64_t number;
        struct wanted wanted;
        const struct row *of[STEPS_MAX]; /* the limit of each step that its box was sent */
        bool is_answered;
        struct error why; /* ERROR_NONE: it is in force, and stored */
};

static uint64_t
value_of(const struct spec *spec, const struct row *row)
{
        uint64_t value;

        memcpy(&value, (const char *)&spec->limits + row->offset, sizeof value);
        return value;
}

/* -- the answer -------------------------------------------------------------------------------- */

/* As the plan judges it (plan/limits.c). */
static bool
is_enforced(const struct keeper *k, const struct row *row)
{
        static const struct {
                uint16_t tag;
                enum cgroup_controller controller;
        } needs[] = { { FIELD_MEMORY_MB, CGROUP_MEMORY },
                      { FIELD_CPU_MILLICORES, CGROUP_CPU },
                      { FIELD_IO_READ, CGROUP_IO },
                      { FIELD_IO_WRITE, CGROUP_IO } };

        for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
                if (needs[i].tag == row->tag) {
                        const struct cgroup_place *place =
                                &k->host.facts.cgroup.place[needs[i].controller];

                        return place->version != 0 && !place->is_limited;
                }
        return true;
}

static void
put_value(struct record_writer *w, const struct sandbox *s, const struct row *row)
{
        const struct spec *spec = s->prepared->spec;
        uint64_t value = row->tag == FIELD_PIDS ? plan_pids(spec, &s->keeper->host.facts)
                                                : value_of(spec, row);

        /* the default of AIP-36 is for a command of `carrel run` */
        if (row->tag == FIELD_TIMEOUT && !spec->limits.is_timeout_given)
                return;
        if (value != SPEC_UNSET)
                record_uint(w, row->tag, value);
}

static enum call_state
answer(struct call *c, const struct sandbox *s)
{
        enum { NS_IN_MS = 1000000 };
        const struct wire_limited *used = s->box && s->box->is_ready ? &s->box->limited : NULL;
        struct record_writer w = reply_begin(c);

        record_text(&w, FIELD_ID, s->id);
        record_text(&w, FIELD_STATUS, sandbox_status(s));
        for (size_t i = 0; i < ROWS; i++)
                put_value(&w, s, &rows[i]);
        if (used && used->number != 0 && used->memory_bytes != UINT64_MAX)
                record_uint(&w, FIELD_MEMORY_USED, used->memory_bytes);
        if (used && used->number != 0 && used->tasks != UINT64_MAX)
                record_uint(&w, FIELD_PIDS_USED, used->tasks);
        if (used && used->number != 0 && used->cpu_ns != UINT64_MAX)
                record_uint(&w, FIELD_CPU, used->cpu_ns / NS_IN_MS);
        for (size_t i = 0; i < ROWS; i++)
                if (value_of(s->prepared->spec, &rows[i]) != SPEC_UNSET &&
                    !is_enforced(s->keeper, &rows[i]))
                        record_text(&w, FIELD_NOT_ENFORCED, rows[i].name);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

/* -- its box ----------------------------------------------------------------------------------- */

static bool
can_be_asked(const struct box *b)
{
        return b && b->is_ready && !b->is_gone && b->hello.protocol >= BOX_PROTOCOL_LIMIT;
}

/* `steps`: packed, or none. Gives the number of the question. */
static int
ask_box(struct sandbox *s, struct wire_limit head, const void *steps, size_t len,
        uint64_t *ret_number, struct error *e)
{
        static _Alignas(8) unsigned char body[WIRE_LIMIT_MAX];
        struct box *b = s->box;

        if (len > sizeof body - sizeof head)
                return fail(e, ERROR_INTERNAL, "the steps of a change of limits are too long");
        if (head.number == 0)
                head.number = ++b->last_limit;
        memcpy(body, &head, sizeof head);
        if (len > 0)
                memcpy(body + sizeof head, steps, len);
        if (box_send(b, WIRE_BOX_LIMIT, body, sizeof head + len) < 0)
                return box_no_answer(s, e);
        *ret_number = head.number;
        return 0;
}

static enum call_state
wait(struct call *c, struct sandbox *s)
{
        calls_add(&s->box->limiting, c);
        return CALL_WAITS;
}

/* With what is used now. */
static enum call_state
answer_used(struct call *c, struct sandbox *s, struct error *e)
{
        if (!can_be_asked(s->box) || s->state == SANDBOX_STOPPING)
                return answer(c, s);
        if (c->cursor == 0 &&
            ask_box(s, (struct wire_limit){ .what = WIRE_LIMIT_ASK }, NULL, 0, &c->cursor, e) < 0)
                return CALL_FAILED;
        return s->box->limited.number < c->cursor ? wait(c, s) : answer(c, s);
}

enum call_state
op_limits(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);

        return s && sandbox_judge(s, e) == 0 ? answer_used(c, s, e) : CALL_FAILED;
}

/* -- what is asked for ------------------------------------------------------------------------- */

static int
refuse(struct error *e, const struct row *row, const char *reason, const char *id, const char *why)
{
        return fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, row->name, reason,
                       "limits.%s of the sandbox %s cannot change: %s", row->name, id, why);
}

/* What its box was made without, no group holds. */
static int
refuse_without(struct error *e, const struct row *row, const char *id)
{
        (void)refuse(e, row, "no_group", id, "it was made without, so no control group holds it");
        error_hint(e, "Create a sandbox whose SANDBOX.md has this limit. It can be changed in that "
                      "one.");
        return -1;
}

static int
read_wanted(const struct call *c, const struct sandbox *s, struct wanted *ret, struct error *e)
{
        bool is_empty = true;

        for (size_t i = 0; i < ROWS; i++) {
                ret->of[i] = record_get_uint(&c->record, rows[i].tag, SPEC_UNSET);
                if (ret->of[i] == SPEC_UNSET)
                        continue;
                is_empty = false;
                if (rows[i].kind != KIND_FIXED)
                        continue;
                (void)refuse(e, &rows[i], "fixed", s->id, rows[i].why);
                error_hint(e, "Create another sandbox, whose SANDBOX.md has the other value.");
                return -1;
        }
        if (!is_empty)
                return 0;
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "limits", "missing", "no limit is named");
        error_hint(e, "Name at least one of memory_mb, cpu_millicores, pids, io_read_bps, "
                      "io_write_bps, timeout_ms and output_bytes.");
        return -1;
}

/* In `limits` if that is where AIP-36 has it, else in metadata.carrel.limits. */
static struct node *
with_values(struct arena *a, const struct node *map, const struct wanted *wanted, bool is_aip)
{
        struct node *changed = rewrite_member(a, map, "", NULL);

        for (size_t i = 0; i < ROWS && changed; i++) {
                struct node *value;

                if (wanted->of[i] == SPEC_UNSET || is_aip != (rows[i].camel != NULL))
                        continue;
                value = arena_new(a, struct node);
                if (!value)
                        return NULL;
                *value = (struct node){ .kind = NODE_INT,
                                        .text = arena_format(a, "%" PRIu64, wanted->of[i]),
                                        .integer = (int64_t)wanted->of[i],
                                        .real = (double)wanted->of[i] };
                if (!value->text)
                        return NULL;
                value->len = strlen(value->text);
                if (is_aip)
                        changed = rewrite_member(a, changed, rows[i].camel, NULL);
                if (changed)
                        changed = rewrite_member(a, changed, rows[i].name, value);
        }
        return changed;
}

static struct node *
with_limits(struct arena *a, const struct node *block, const void *context)
{
        const struct node *metadata = node_find(block, "metadata"),
                          *carrel = node_find(metadata, "carrel");
        struct node *changed = with_values(a, node_find(block, "limits"), context, true), *own;

        if (changed)
                changed = rewrite_member(a, block, "limits", changed);
        own = changed ? with_values(a, node_find(carrel, "limits"), context, false) : NULL;
        if (!own || own->len == 0)
                return own ? changed : NULL;
        own = rewrite_member(a, carrel, "limits", own);
        if (own)
                own = rewrite_member(a, metadata, "carrel", own);
        return own ? rewrite_member(a, changed, "metadata", own) : NULL;
}

/* -- may it be, and what is to be written ------------------------------------------------------ */

struct trial {
        const struct wanted *wanted;
        struct step steps[STEPS_MAX];
        size_t count;
        unsigned char packed[WIRE_LIMIT_MAX - sizeof(struct wire_limit)];
        size_t len;
        const struct row *of[STEPS_MAX]; /* the limit of each step */
};

/* The manifest's own runner may hold a lower number. */
static int
check_values(const struct sandbox *s, const struct wanted *wanted, struct error *e)
{
        const struct spec *spec = s->prepared->spec;

        for (size_t i = 0; i < ROWS; i++) {
                if (wanted->of[i] == SPEC_UNSET)
                        continue;
                if (rows[i].kind == KIND_GROUP && s->prepared->bridge)
                        return refuse(e, &rows[i], "elsewhere", s->id,
                                      "its provider is elsewhere, and has no message for it");
                if (rows[i].kind == KIND_GROUP && spec->provider &&
                    strcmp(spec->provider, provider_of_machines()) == 0)
                        return refuse(e, &rows[i], "machine", s->id,
                                      "a virtual machine has the size with which it started");
                if (value_of(spec, &rows[i]) != wanted->of[i])
                        return fail_at(e, ERROR_INVALID_ARGUMENT, rows[i].name, "narrowed",
                                       "limits.%s would be %" PRIu64 ", not %" PRIu64
                                       ": the manifest holds a lower number",
                                       rows[i].name, value_of(spec, &rows[i]), wanted->of[i]);
        }
        return 0;
}

/* Which limit does this step set, of those that are asked for? */
static const struct row *
row_of_step(const struct wanted *wanted, const struct step *s)
{
        const char *slash = strrchr(s->path, '/'), *file = slash ? slash + 1 : s->path;
        const struct row *memory = NULL;

        for (size_t i = 0; i < ROWS; i++) {
                if (wanted->of[i] == SPEC_UNSET || !rows[i].file)
                        continue;
                if (strncmp(file, rows[i].file, strlen(rows[i].file)) == 0 ||
                    (rows[i].word && strstr(s->text, rows[i].word) && strcmp(file, "io.max") == 0))
                        return &rows[i];
                memory = rows[i].tag == FIELD_MEMORY_MB ? &rows[i] : memory;
        }
        /* the number of processes follows from memory if it is not written */
        return strcmp(file, "pids.max") == 0 ? memory : NULL;
}

/* A container's group has room for the threads of its runtime only while that runs. */
static const struct step *
after_start(const struct plan *plan, const struct step *s)
{
        const char *slash = strrchr(s->path, '/');

        for (size_t i = 0; i < plan->step_count && slash && strcmp(slash, "/pids.max") == 0; i++)
                if (plan->steps[i].op == STEP_TASKS)
                        return &plan->steps[i];
        return s;
}

static int
collect(struct trial *t, const struct plan *plan, struct error *e)
{
        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *s = &plan->steps[i];
                const struct row *row =
                        s->op == STEP_CGROUP_LIMIT ? row_of_step(t->wanted, s) : NULL;

                if (!row)
                        continue;
                if (t->count == STEPS_MAX)
                        return fail(e, ERROR_INTERNAL, "a plan has too many limits");
                t->of[t->count] = row;
                t->steps[t->count] = *after_start(plan, s);
                t->steps[t->count++].op = STEP_CGROUP_LIMIT;
        }
        t->len = plan_pack_len(t->steps, t->count);
        if (t->len == 0 || t->len > sizeof t->packed)
                return fail(e, ERROR_INTERNAL, "the steps of a change of limits are too long");
        plan_pack(t->steps, t->count, 0, t->packed);
        return 0;
}

/* What this machine can limit, and no step limits: of the sandbox there is nothing to limit. */
static int
check_held(const struct sandbox *s, const struct trial *t, struct error *e)
{
        for (size_t i = 0; i < ROWS; i++) {
                bool is_held = t->wanted->of[i] == SPEC_UNSET || rows[i].kind != KIND_GROUP ||
                               !is_enforced(s->keeper, &rows[i]);

                for (size_t k = 0; k < t->count; k++)
                        is_held = is_held || t->of[k] == &rows[i];
                if (!is_held)
                        return refuse(e, &rows[i], "no_disk", s->id,
                                      "no writable mount lies on a disk that could be held to it");
        }
        return 0;
}

static int
check_groups(const struct sandbox *s, struct trial *t, struct error *e)
{
        for (size_t i = 0; i < ROWS; i++) {
                if (t->wanted->of[i] == SPEC_UNSET || rows[i].kind != KIND_GROUP)
                        continue;
                if (!can_be_asked(s->box))
                        return refuse(e, &rows[i], "older", s->id,
                                      "an earlier version of Carrel started it");
                if (rows[i].tag == FIELD_PIDS && !s->prepared->plan->counts_pids) {
                        (void)refuse(e, &rows[i], "no_group", s->id,
                                     "no control group counts its processes");
                        error_hint(e, "Run the daemon as root, or where cgroup v2 is delegated to "
                                      "its user.");
                        return -1;
                }
        }
        return collect(t, s->prepared->plan, e) < 0 ? -1 : check_held(s, t, e);
}

static int
check_trial(struct sandbox *s, const struct spec *before, void *context, struct error *e)
{
        struct trial *t = context;
        int result = check_values(s, t->wanted, e);

        (void)before;
        if (result < 0 || !s->box || s->box->is_gone)
                return result;
        result = sandbox_plan(s, e);
        if (result < 0)
                return -1;
        result = check_groups(s, t, e);
        prepared_release(s->prepared);
        return result;
}

/* -- storing it -------------------------------------------------------------------------------- */

static int
check_taken(struct sandbox *s, const struct spec *before, void *context, struct error *e)
{
        (void)before;
        return check_values(s, context, e);
}

/* "memory_mb 512 (1024 before), ..." */
static void
say_change(const struct spec *before, const struct wanted *wanted, char words[WORDS_ROOM])
{
        size_t len = 0;

        words[0] = '\0';
        for (size_t i = 0; i < ROWS && len < WORDS_ROOM; i++) {
                uint64_t had = before ? value_of(before, &rows[i]) : SPEC_UNSET;

                if (wanted->of[i] == SPEC_UNSET)
                        continue;
                len += (size_t)snprintf(words + len, WORDS_ROOM - len, "%s%s %" PRIu64,
                                        len > 0 ? ", " : "", rows[i].name, wanted->of[i]);
                if (had != SPEC_UNSET && len < WORDS_ROOM)
                        len += (size_t)snprintf(words + len, WORDS_ROOM - len,
                                                " (%" PRIu64 " before)", had);
        }
}

static int
store(struct sandbox *s, struct wanted *wanted, struct error *e)
{
        struct store_bytes manifest;
        char words[WORDS_ROOM];

        say_change(s->prepared ? s->prepared->spec : NULL, wanted, words);
        if (rewrite_manifest(s, with_limits, wanted, &manifest, e) < 0)
                return -1;
        if (rewrite_take(s, &manifest, false, check_taken, wanted, e) < 0) {
                free((void *)(uintptr_t)manifest.bytes);
                return -1;
        }
        sandbox_publish(s, event_limits_changed((struct event_limits_changed){ words }));
        return 0;
}

/* -- the answer of its box --------------------------------------------------------------------- */

static int
fail_told(struct error *e, const struct sandbox *s, const struct limiting *change,
          const struct wire_limited *told)
{
        enum { KIB = 1024 };
        const struct row *row = told->step < STEPS_MAX ? change->of[told->step] : NULL;

        if (told->sys == EBUSY)
                return fail_at(e, ERROR_LIMIT_IN_USE, "memory_mb", "in_use",
                               "the sandbox %s uses %" PRIu64 " KiB of memory, and no limit below "
                               "that is set: nothing was changed, and nothing was killed",
                               s->id, told->memory_bytes / KIB);
        if (row && told->sys == ENOENT)
                return refuse_without(e, row, s->id);
        if (row && told->sys == EPERM) {
                (void)refuse(
                        e, row, "not_permitted", s->id,
                        "its processes have a lower limit of their own, and this daemon may not "
                        "raise it (CAP_SYS_RESOURCE)");
                error_hint(e, "Create a sandbox with the higher number, or ask for at most %d.",
                           (int)SPEC_PIDS);
                return -1;
        }
        return fail_sys(e, ERROR_BACKEND_FAILED, told->sys, "changing the limits of the sandbox %s",
                        s->id);
}

static void
record_refusal(const struct sandbox *s, const struct error *why)
{
        struct json_writer output;

        json_init(&output, false);
        json_open_map(&output);
        recorder_write_error(&output, why);
        json_close_map(&output);
        if (audit_is_there() && s->row.owner)
                audit_named(s->row.owner, s->id, "limits.refused", &output);
        json_fini(&output);
}

static void
settle(struct sandbox *s, struct limiting *change, const struct wire_limited *told)
{
        struct wire_limit undo = { .number = change->number, .what = WIRE_LIMIT_UNDO },
                          keep = { .number = change->number, .what = WIRE_LIMIT_KEEP };
        struct error ignored;
        uint64_t number;

        change->is_answered = true;
        if (told->sys != 0) {
                (void)fail_told(&change->why, s, change, told);
        } else if (store(s, &change->wanted, &change->why) < 0) {
                (void)ask_box(s, undo, NULL, 0, &number, &ignored);
        } else {
                (void)ask_box(s, keep, NULL, 0, &number, &ignored);
                change->why.code = ERROR_NONE;
                return;
        }
        record_refusal(s, &change->why);
}

void
limiting_hear(struct box *b, const struct wire_limited *told)
{
        struct limiting *change = b->change;

        b->limited = *told;
        if (change && change->number == told->number && !change->is_answered && b->sandbox)
                settle(b->sandbox, change, told);
        calls_begin(&b->limiting);
}

void
limiting_gone(struct box *b)
{
        struct error e;

        free(b->change);
        b->change = NULL;
        if (!b->limiting.first)
                return;
        (void)fail(&e, ERROR_UNAVAILABLE, "the connection to the sandbox %s was lost", b->id);
        calls_fail(&b->limiting, &e);
}

/* -- limits.set -------------------------------------------------------------------------------- */

static enum call_state
need_record(struct call *c, const struct sandbox *s, const struct wanted *wanted, struct error *e)
{
        enum call_state state;
        struct json_writer input;

        json_init(&input, false);
        json_open_map(&input);
        json_key(&input, "limits");
        json_open_map(&input);
        for (size_t i = 0; i < ROWS; i++)
                if (wanted->of[i] != SPEC_UNSET)
                        json_member_int(&input, rows[i].name, (int64_t)wanted->of[i]);
        json_close_map(&input);
        json_close_map(&input);
        state = audit_note(c, s, "limits.changing", &input, e);
        json_fini(&input);
        return state;
}

/* The plan is not that of the box. */
static int
check_made_with(const struct sandbox *s, const struct trial *t, struct error *e)
{
        for (size_t i = 0; s->prepared && i < t->count; i++)
                if (value_of(s->prepared->spec, t->of[i]) == SPEC_UNSET)
                        return refuse_without(e, t->of[i], s->id);
        return 0;
}

static int
begin(struct call *c, struct sandbox *s, const struct trial *t, struct error *e)
{
        struct limiting *change = calloc(1, sizeof *change);

        if (!change)
                return fail(e, ERROR_NO_MEMORY, "no memory for a change of limits");
        change->wanted = *t->wanted;
        memcpy(change->of, t->of, sizeof change->of);
        if (ask_box(s, (struct wire_limit){ .what = WIRE_LIMIT_SET }, t->packed, t->len,
                    &change->number, e) < 0) {
                free(change);
                return -1;
        }
        free(s->box->change);
        s->box->change = change;
        c->cursor = change->number;
        return 0;
}

static enum call_state
try(struct call *c, struct sandbox *s, struct error *e)
{
        static struct trial t; /* too large for the stack */
        struct wanted wanted;
        struct store_bytes manifest;
        enum call_state state;
        struct error ignored;
        int result;

        t = (struct trial){ .wanted = &wanted };
        if (read_wanted(c, s, &wanted, e) < 0)
                return CALL_FAILED;
        (void)sandbox_judge(s, &ignored); /* what it has may be no longer permitted */
        if (rewrite_manifest(s, with_limits, &wanted, &manifest, e) < 0)
                return CALL_FAILED;
        result = rewrite_take(s, &manifest, true, check_trial, &t, e);
        free((void *)(uintptr_t)manifest.bytes);
        if (result < 0 || check_made_with(s, &t, e) < 0)
                return CALL_FAILED;
        state = need_record(c, s, &wanted, e);
        if (state != CALL_DONE)
                return state;
        if (t.count > 0)
                /* lint: the box has what begin() allocates; limiting_gone() frees it */
                return begin(c, s, &t, e) < 0 ? CALL_FAILED : wait(c, s);
        if (store(s, &wanted, e) < 0)
                return CALL_FAILED;
        c->has_waited = true; /* it is done, and only answered */
        return answer_used(c, s, e);
}

enum call_state
op_limits_set(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        const struct limiting *change;
        enum call_state state;

        if (!s)
                return CALL_FAILED;
        if (s->state == SANDBOX_STOPPING || s->state == SANDBOX_FAILED)
                return sandbox_need_box(s, c, e);
        if (s->state == SANDBOX_STARTING) { /* its plan is being used */
                calls_add(&s->waiting, c);
                return CALL_WAITS;
        }
        if (c->has_waited)
                return answer_used(c, s, e);
        change = s->box ? s->box->change : NULL;
        if (change && !change->is_answered)
                return wait(c, s);
        if (!change || c->cursor != change->number) {
                state = try(c, s, e);
                if (state == CALL_FAILED && c->audit) /* what is recorded has an outcome */
                        record_refusal(s, e);
                return state;
        }
        if (change->why.code == ERROR_NONE)
                return answer(c, s);
        *e = change->why;
        return CALL_FAILED;
}
