/*
 * keeper/registry.c - every sandbox of this keeper, in memory and in the store.
 *
 * Room: keeper (joining). Touches: mem, the store.
 * Theory: another owner's sandbox is answered like an unknown one. A row that is unreadable or
 * damaged (Z21) fails its own sandbox only. The box of that sandbox is ended, because its rules are
 * unknown.
 */
#include <stdlib.h>
#include <string.h>

#include "keeper/audit.h"
#include "keeper/changed.h"
#include "keeper/executed.h"
#include "keeper/port_index.h"
#include "keeper/sandbox.h"
#include "keeper/workspace.h"
#include "text/tree_pack.h"

/*
 * TIMERS_EACH: lifetime, idleness, its box and the wall of that; a failed task timer fails alone.
 */
enum { MEMORY_MAX = 2 << 20, TIMERS_OF_OURS = 64, TIMERS_EACH = 5 };

static bool
is_id(const char *text)
{
        return strlen(text) == SANDBOX_ID_LEN - 1 &&
               strspn(text, "0123456789abcdef") == SANDBOX_ID_LEN - 1;
}

/* -- finding ----------------------------------------------------------------------------------- */

bool
sandbox_belongs(const struct sandbox *s, const struct caller *who)
{
        return s->row.owner && strcmp(s->row.owner, who->owner) == 0;
}

struct sandbox *
registry_find_name(const struct keeper *k, const char *owner, const char *name)
{
        for (struct sandbox *s = k->first; s; s = s->next)
                if (s->row.name && s->state != SANDBOX_STOPPING && strcmp(s->row.name, name) == 0 &&
                    s->row.owner && strcmp(s->row.owner, owner) == 0)
                        return s;
        return NULL;
}

struct sandbox *
registry_find_key(const struct keeper *k, const char *owner, const char *key)
{
        for (struct sandbox *s = k->first; s; s = s->next)
                if (s->row.key && s->state != SANDBOX_STOPPING && strcmp(s->row.key, key) == 0 &&
                    s->row.owner && strcmp(s->row.owner, owner) == 0)
                        return s;
        return NULL;
}

struct sandbox *
registry_find(struct keeper *k, const struct caller *who, const char *id, struct error *e)
{
        struct sandbox *found = NULL;

        for (struct sandbox *s = k->first; s && !found; s = s->next)
                if (strcmp(s->id, id) == 0)
                        found = s;
        if (found && !sandbox_belongs(found, who))
                found = NULL;
        if (!found)
                found = registry_find_name(k, who->owner, id);
        if (!found)
                (void)ended_fail(&k->ended, who->owner, id, loop_now_ms(), e);
        return found;
}

struct sandbox *
registry_of_call(struct call *c, struct error *e)
{
        return registry_find(c->keeper, &c->caller, record_get_text(&c->record, FIELD_ID, ""), e);
}

/* -- keeping ----------------------------------------------------------------------------------- */

const char *
sandbox_text(struct sandbox *s, const char *text)
{
        return text ? arena_text(&s->memory, text) : NULL;
}

static struct store_bytes
copy_bytes(struct sandbox *s, struct store_bytes from)
{
        void *copy = from.len > 0 ? arena_alloc(&s->memory, from.len) : NULL;

        if (!copy)
                return (struct store_bytes){ NULL, 0 };
        memcpy(copy, from.bytes, from.len);
        return (struct store_bytes){ copy, from.len };
}

/*
 * A manifest can change during a sandbox's life (op_wall.c), so each is a separate block, freed
 * with the sandbox.
 */
static struct store_bytes
copy_manifest(struct store_bytes from)
{
        void *copy = from.len > 0 ? malloc(from.len) : NULL;

        if (!copy)
                return (struct store_bytes){ NULL, 0 };
        memcpy(copy, from.bytes, from.len);
        return (struct store_bytes){ copy, from.len };
}

static void
copy_row(struct sandbox *s, const struct store_sandbox *row)
{
        s->row = *row;
        s->row.id = s->id;
        s->row.owner = sandbox_text(s, row->owner);
        s->row.name = sandbox_text(s, row->name);
        s->row.cause = sandbox_text(s, row->cause);
        s->row.provider = sandbox_text(s, row->provider);
        s->row.workspace = sandbox_text(s, row->workspace);
        s->row.runtime = sandbox_text(s, row->runtime);
        s->row.manifest_name = sandbox_text(s, row->manifest_name);
        s->row.metadata = sandbox_text(s, row->metadata);
        s->row.key = sandbox_text(s, row->key);
        s->row.cwd = sandbox_text(s, row->cwd);
        s->row.boot_id = s->keeper->boot_id;
        s->row.manifest = copy_manifest(row->manifest);
        s->row.env = copy_bytes(s, row->env);
        s->row.ports = copy_bytes(s, row->ports);
        s->row.digest = copy_bytes(s, row->digest);
        s->row.warnings = copy_bytes(s, row->warnings);
        s->row.reads = copy_bytes(s, row->reads);
}

static void
append(struct keeper *k, struct sandbox *s)
{
        s->prev = k->last;
        if (k->last)
                k->last->next = s;
        else
                k->first = s;
        k->last = s;
        s->number = ++k->last_sandbox;
        k->sandbox_count++;
}

static void
end(struct sandbox *s)
{
        free((void *)(uintptr_t)s->row.manifest.bytes);
        arena_fini(&s->memory);
        found_fini(&s->found);
        free(s);
}

struct sandbox *
registry_add(struct keeper *k, const struct store_sandbox *row, struct error *e)
{
        struct sandbox *s =
                loop_timers_reserve(k->loop,
                                    TIMERS_OF_OURS + TIMERS_EACH * (k->sandbox_count + 1)) == 0
                        ? calloc(1, sizeof *s)
                        : NULL;

        if (!s) {
                (void)fail(e, ERROR_NO_MEMORY, "no memory for a sandbox");
                return NULL;
        }
        s->keeper = k;
        s->life.due_ms = s->idle.due_ms = LOOP_NEVER;
        (void)memccpy(s->id, row->id, '\0', sizeof s->id - 1);
        arena_init(&s->memory, MEMORY_MAX);
        calls_init(&s->waiting);
        calls_init(&s->pausing);
        calls_init(&s->resuming);
        calls_init(&s->stopping);
        copy_row(s, row);
        s->active_ms = loop_now_ms();
        if (arena_is_full(&s->memory) || s->row.manifest.len != row->manifest.len ||
            port_index_add(s) < 0) {
                end(s);
                (void)fail(e, ERROR_NO_MEMORY, "no memory for a sandbox");
                return NULL;
        }
        append(k, s);
        return s;
}

static void
let_go(struct sandbox *s)
{
        struct keeper *k = s->keeper;

        *(s->prev ? &s->prev->next : &k->first) = s->next;
        *(s->next ? &s->next->prev : &k->last) = s->prev;
        k->sandbox_count--;
        loop_timer_remove(&s->life);
        loop_timer_remove(&s->idle);
        while (s->tasks)
                task_remove(s->tasks);
        if (s->box)
                box_forget(s->box);
        changed_gone(s);
        workspace_close(s);
        executed_gone(s); /* its last entry names what is in `prepared` */
        if (s->prepared) {
                prepared_fini(s->prepared);
                free(s->prepared);
        }
        arena_fini(&s->tree_memory);
        port_index_remove(s);
        audit_gone(s);
        s->prepared = NULL;
}

void
registry_remove(struct sandbox *s)
{
        let_go(s);
        end(s);
}

void
registry_bury(struct sandbox *s)
{
        let_go(s);
        s->next = s->keeper->buried;
        s->keeper->buried = s;
}

void
registry_remove_rows(struct keeper *k)
{
        for (struct sandbox *s = k->first; s; s = s->next)
                if (s->state == SANDBOX_STOPPING && s->is_failing_store)
                        sandbox_leave_store(s, s->stop_cause);
        while (k->buried) {
                struct sandbox *s = k->buried;

                sandbox_leave_store(s, s->stop_cause);
                if (s->is_failing_store)
                        return;
                k->buried = s->next;
                end(s);
        }
}

/* -- loading ----------------------------------------------------------------------------------- */

static bool
is_sound(const struct store_sandbox *row)
{
        return row->status >= STORE_PENDING && row->status <= STORE_FAILED && row->boot_id &&
               row->ports.len % sizeof(struct store_port) == 0 &&
               (row->env.len == 0 || ((const char *)row->env.bytes)[row->env.len - 1] == '\0') &&
               (row->name == NULL || row->name[0] != '\0');
}

/*
 * Subtracts the time that passed without a keeper: by the boot clock, or, after a reboot, from the
 * stored remaining time.
 */
static void
carry_on(struct sandbox *s, const struct store_sandbox *row)
{
        struct keeper *k = s->keeper;
        bool is_same_boot = strcmp(row->boot_id, k->boot_id) == 0;

        if (!is_same_boot && row->remaining_ms != STORE_NEVER)
                s->row.deadline_ms = deadline_add(loop_now_ms(), loop_now_ms(), row->remaining_ms);
        s->state = row->status == STORE_FAILED ? SANDBOX_FAILED : SANDBOX_PENDING;
        s->may_live = row->status == STORE_FAILED && is_same_boot && row->owner && row->cause &&
                      strcmp(row->cause, "lost") == 0;
        if (row->status != STORE_MADE || is_same_boot)
                return;
        s->state = SANDBOX_FAILED; /* a reboot ended all processes */
        s->row.status = STORE_FAILED;
        s->row.cause = "lost";
}

/*
 * Keeps only id and owner of a damaged row. A row without an owner is shown to the daemon's own
 * user.
 */
static struct store_sandbox
damaged(const struct keeper *k, const struct store_sandbox *row)
{
        bool is_name =
                row->name && row->name[0] != '\0' &&
                strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == strlen(row->name);

        return (struct store_sandbox){ .id = row->id,
                                       .owner = row->owner ? row->owner : k->owner,
                                       .name = is_name ? row->name : NULL,
                                       .key = row->key,
                                       .cause = "damaged",
                                       .status = STORE_FAILED,
                                       .caller_uid = PREPARE_UID_ANY,
                                       .created_ms = row->created_ms,
                                       .deadline_ms = STORE_NEVER,
                                       .remaining_ms = STORE_NEVER,
                                       .boot_id = k->boot_id };
}

static int
load_damaged(struct keeper *k, const struct store_sandbox *row, struct error *e)
{
        struct store_sandbox kept = damaged(k, row);
        struct sandbox *s = registry_add(k, &kept, e);

        if (!s)
                return -1;
        s->state = SANDBOX_FAILED;
        k->damaged_count++;
        return 0;
}

/*
 * Running out of memory here ends the start: a box without its row would be ended as one without a
 * sandbox.
 */
struct loading {
        struct keeper *keeper;
        struct error *e;
        int result;
};

static int
load_one(struct keeper *k, const struct store_sandbox *row, struct error *e)
{
        struct sandbox *s;

        if (!row->id || !is_id(row->id))
                /* an id that could be a path is not loaded */
                return k->damaged_count += row->is_damaged, 0;
        if (row->is_damaged)
                return load_damaged(k, row, e);
        s = registry_add(k, row, e);
        if (!s)
                return -1;
        if (!is_sound(row)) {
                s->state = SANDBOX_FAILED;
                s->row.cause = "lost";
                s->row.status = STORE_FAILED;
                port_index_remove(s);
                s->row.ports = s->row.env = (struct store_bytes){ NULL, 0 };
        } else {
                carry_on(s, row);
        }
        if (s->state == SANDBOX_FAILED || sandbox_judge(s, e) == 0)
                return 0;
        if (e->code == ERROR_PROTOCOL) {
                s->state = SANDBOX_FAILED; /* its manifest is damaged */
                s->row.cause = "lost";
                s->row.status = STORE_FAILED;
        }
        return e->code == ERROR_NO_MEMORY ? -1 : 0;
}

static int
load_row(void *context, const struct store_sandbox *row)
{
        struct loading *l = context;

        l->result = load_one(l->keeper, row, l->e);
        return l->result;
}

static int
load_task(void *context, const struct store_task *task)
{
        uint64_t deadline_ms = client_is_task(task->task) ? client_deadline() : task->deadline_ms;
        struct loading *l = context;

        for (struct sandbox *s = l->keeper->first; s && l->result == 0; s = s->next)
                if (strcmp(s->id, task->sandbox) == 0 && s->state != SANDBOX_FAILED &&
                    task_begin(s, task->task, deadline_ms, l->e) < 0)
                        l->result = l->e->code == ERROR_NO_MEMORY ? -1 : 0;
        return l->result;
}

int
registry_load(struct keeper *k, struct error *e)
{
        struct loading l = { k, e, 0 };

        if (store_sandbox_each(k->store, load_row, &l, e) < 0 || l.result < 0 ||
            store_task_each(k->store, load_task, &l, e) < 0 || l.result < 0)
                return -1;
        deadline_checkpoint(k);
        return 0;
}
