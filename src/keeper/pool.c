/*
 * keeper/pool.c - ready boxes for one kind of sandbox.
 *
 * Room: keeper (joining). Touches: the store; boxes through keeper/sandbox.h; standard error.
 * Theory: a ready box is a sandbox without an owner, so after a kill of the keeper its boxes are
 * collected like all others. A box is given away once and never returned. The pool is refilled one
 * box at a time, after waiting callers have been served.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keeper/digest.h"
#include "keeper/port_index.h"
#include "keeper/sandbox.h"
#include "prepare/rootfs.h"

enum { REFILL_MS = 5, RETRY_MS = 5000, POOL_MAX = 256 };

struct pool {
        struct loop_timer timer; /* first */
        struct keeper *keeper;
        size_t size;
        void *manifest;
        size_t manifest_len;
        unsigned char digest[DIGEST_LEN];
        enum error_code said; /* last reported error, if none could be created */
};

static bool
is_ready(const struct sandbox *s)
{
        return !s->row.owner && s->state == SANDBOX_RUNNING && s->box && s->box->is_ready &&
               !s->box->peer.is_broken;
}

size_t
pool_ready(const struct keeper *k)
{
        size_t count = 0;

        for (const struct sandbox *s = k->first; s; s = s->next)
                count += is_ready(s);
        return count;
}

static bool
is_current(const struct sandbox *s)
{
        const struct prepared *p = s->prepared;

        return !p || !p->image || rootfs_is_current(&s->keeper->host, p->image);
}

/* The name of their image means another one now: all are made again. */
static struct sandbox *
drop_stale(struct keeper *k)
{
        struct sandbox *next;
        struct error ignored;

        for (struct sandbox *s = k->first; s; s = next) {
                next = s->next;
                if (is_ready(s))
                        (void)sandbox_stop(s, "image", &ignored);
        }
        return NULL;
}

bool
pool_is_for(const struct keeper *k, const struct store_bytes *digest)
{
        return k->pool && memcmp(k->pool->digest, digest->bytes, DIGEST_LEN) == 0;
}

struct sandbox *
pool_find(struct keeper *k, const struct store_bytes *digest)
{
        if (!pool_is_for(k, digest))
                return NULL;
        for (struct sandbox *s = k->first; s; s = s->next)
                if (is_ready(s))
                        return is_current(s) ? s : drop_stale(k);
        return NULL;
}

static const char *
copy(struct sandbox *s, const char *text)
{
        return sandbox_text(s, text);
}

static struct store_bytes
copy_bytes(struct sandbox *s, struct store_bytes from)
{
        void *bytes = from.len > 0 ? arena_alloc(&s->memory, from.len) : NULL;

        if (!bytes)
                return (struct store_bytes){ NULL, 0 };
        memcpy(bytes, from.bytes, from.len);
        return (struct store_bytes){ bytes, from.len };
}

/* Moves it to the end of the list: sandboxes are in the order of their owners' requests. */
static void
move_last(struct sandbox *s)
{
        struct keeper *k = s->keeper;

        if (k->last == s)
                return;
        *(s->prev ? &s->prev->next : &k->first) = s->next;
        s->next->prev = s->prev;
        s->prev = k->last;
        s->next = NULL;
        k->last->next = s;
        k->last = s;
        s->number = ++k->last_sandbox;
}

int
pool_hand_over(struct sandbox *s, const struct store_sandbox *row, struct error *e)
{
        struct store_sandbox before = s->row;
        struct wire_box_deadline deadline = { row->deadline_ms };

        s->row.owner = copy(s, row->owner);
        s->row.name = copy(s, row->name);
        s->row.metadata = copy(s, row->metadata);
        s->row.manifest_name = copy(s, row->manifest_name);
        s->row.key = copy(s, row->key);
        s->row.env = copy_bytes(s, row->env);
        s->row.ports = copy_bytes(s, row->ports);
        s->row.digest = copy_bytes(s, row->digest);
        s->row.caller_uid = row->caller_uid;
        s->row.created_ms = row->created_ms;
        s->row.delete_at_ms = row->delete_at_ms;
        s->row.deadline_ms = row->deadline_ms;
        s->row.status = STORE_MADE;
        s->row.remaining_ms = deadline_remaining(s, loop_now_ms());
        if (arena_is_full(&s->memory) || port_index_add(s) < 0
                    ? fail(e, ERROR_NO_MEMORY, "no memory for a sandbox") < 0
                    : store_sandbox_note(s->keeper->store, &s->row, e) < 0) {
                port_index_remove(s);
                s->row = before;
                return -1;
        }
        (void)box_send(s->box, WIRE_BOX_DEADLINE, &deadline, sizeof deadline);
        move_last(s);
        pool_fill(s->keeper);
        return 0;
}

/* -- filling ----------------------------------------------------------------------------------- */

static int
may_run(const struct sandbox *s, struct error *e)
{
        return s->prepared->spec->is_read_only
                       ? fail_at(e, ERROR_READ_ONLY, "read_only", NULL,
                                 "its manifest says read_only: true, so no command may run")
                       : 0;
}

/*
 * The claiming owner is not known yet, so limits that the manifest leaves open are set as for other
 * users. Limits that the manifest sets are kept; some owners may then not claim the box.
 */
static int
bound(struct sandbox *s, struct error *e)
{
        struct host_limits most = prepare_limits(&s->keeper->host, PREPARE_UID_ANY);
        struct spec *spec = arena_new(&s->prepared->arena, struct spec);

        if (!spec)
                return fail(e, ERROR_NO_MEMORY, "no memory for a sandbox");
        host_limits_of_others(&most);
        *spec = *s->prepared->spec;
        host_limits_lower(&most, &spec->limits);
        s->prepared->spec = spec;
        return 0;
}

static int
make_one(struct pool *p, struct error *e)
{
        struct keeper *k = p->keeper;
        char id[SANDBOX_ID_LEN];
        struct store_sandbox row = { .id = id,
                                     .status = STORE_PENDING,
                                     .caller_uid = PREPARE_UID_ANY,
                                     .created_ms = loop_wall_ms(),
                                     .boot_id = k->boot_id,
                                     .deadline_ms = STORE_NEVER,
                                     .remaining_ms = STORE_NEVER,
                                     .manifest = { p->manifest, p->manifest_len } };
        struct sandbox *s;

        if (random_hex(id, SANDBOX_ID_LEN - 1, e) < 0)
                return -1;
        s = registry_add(k, &row, e);
        if (!s)
                return -1;
        if (sandbox_judge(s, e) < 0 || may_run(s, e) < 0 || sandbox_pin(s, e) < 0 ||
            bound(s, e) < 0 || sandbox_describe(s, e) < 0 ||
            store_sandbox_add(k->store, &s->row, e) < 0) {
                registry_remove(s);
                return -1;
        }
        if (sandbox_start(s, e) == 0)
                return 0;
        return sandbox_stop(s, "failed", e), -1;
}

/* The pool retries again and again; this logs an error once, and again only when it changes. */
static void
say_once(struct pool *p, const struct error *e)
{
        if (p->said != e->code)
                (void)fprintf(stderr,
                              "carrel-keeper: no box of the pool can be made: %s (%s)\n  %s\n",
                              e->message, error_wire_name(e->code), error_hint_text(e));
        p->said = e->code;
}

static void
refill(struct loop_timer *t)
{
        struct pool *p = (struct pool *)t;
        size_t standing = 0;
        struct error e;

        for (const struct sandbox *s = p->keeper->first; s; s = s->next)
                standing +=
                        !s->row.owner && s->state != SANDBOX_STOPPING && s->state != SANDBOX_FAILED;
        if (p->keeper->is_stopping || standing >= p->size)
                return;
        if (make_one(p, &e) < 0) {
                say_once(p, &e);
                (void)loop_timer_set(p->keeper->loop, &p->timer, loop_now_ms() + RETRY_MS, refill);
        } else {
                p->said = ERROR_NONE;
        }
}

void
pool_fill(struct keeper *k)
{
        if (k->pool && !k->is_stopping && k->pool->timer.index == 0)
                (void)loop_timer_set(k->loop, &k->pool->timer, loop_now_ms() + REFILL_MS, refill);
}

/* The digest of a create call that asks for this manifest and nothing else. */
static int
digest(struct pool *p, struct error *e)
{
        size_t room = p->manifest_len + 64;
        struct record_writer w;
        void *bytes = malloc(room);

        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for a pool");
        record_init(&w, bytes, room);
        if (p->manifest_len > 0)
                record_bytes(&w, FIELD_MANIFEST, RECORD_TREE, p->manifest, p->manifest_len);
        digest_create(&(struct record){ bytes, w.len }, true, p->digest);
        free(bytes);
        return 0;
}

int
pool_open(struct keeper *k, size_t size, const void *manifest, size_t len, struct error *e)
{
        struct pool *p;

        if (size == 0)
                return 0;
        p = calloc(1, sizeof *p);
        if (!p || !(p->manifest = malloc(len + 1))) {
                free(p);
                return fail(e, ERROR_NO_MEMORY, "no memory for a pool");
        }
        if (len > 0)
                memcpy(p->manifest, manifest, len);
        p->manifest_len = len;
        p->size = size < POOL_MAX ? size : POOL_MAX;
        p->keeper = k;
        p->timer.due_ms = LOOP_NEVER;
        if (digest(p, e) < 0) {
                free(p->manifest);
                free(p);
                return -1;
        }
        k->pool = p;
        pool_fill(k);
        return 0;
}
