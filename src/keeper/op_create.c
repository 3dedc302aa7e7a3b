/*
 * keeper/op_create.c - create and claim.
 *
 *     same key? -> name free? -> a ready box? -> check -> plan -> release -> store -> answer
 *
 * Room: keeper (joining). Touches: the store; the host's directories through room prepare.
 * Theory: create reports every possible error, and starts no process (A36-173). One key has one
 * effect, one name has one sandbox (Z24).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "keeper/digest.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "plan/disk.h"
#include "plan/wall.h"
#include "prepare/admission.h"
#include "prepare/rootfs.h"

enum {
        ID_TRIES = 64,
        WARNINGS_ROOM = 32 * 1024,
        FILES_ROOM = 128,
        ENV_ITEMS_MAX = 512,
        READS_MAX = 64,
        PATH_LEN = 4096,
        CLOCKS_DIFFER_MS = 60000
};

/* -- reading the request ----------------------------------------------------------------------- */

static int
name_wrong(const char *name, struct error *e)
{
        char example[32];
        size_t len = 0;

        for (size_t i = 0; name[i] != '\0' && len + 1 < sizeof example; i++) {
                char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
                bool is_letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

                if (is_letter || (len > 0 && example[len - 1] != '-'))
                        example[len++] = is_letter || c == '_' || c == '.' ? c : '-';
        }
        while (len > 0 && example[len - 1] == '-')
                len--;
        example[len] = '\0';
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "name", "shape", "a name is " NAME_SHAPE);
        error_hint(e, NAME_HINT " For example: %s",
                   len > 0 && len != SANDBOX_ID_LEN - 1 ? example : "my-box");
        return -1;
}

static int
check_env(const char *item, struct error *e)
{
        size_t len = strcspn(item, "=");

        if (item[len] != '=' || len == 0 || (item[0] >= '0' && item[0] <= '9') ||
            strspn(item, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") < len)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "env", "shape",
                               "an entry of env is NAME=value: %.40s", item);
        return 0;
}

/* Refuses a path that no client can have read: one with "..", an empty or a too long one. */
static int
check_read(const char *path, struct error *e)
{
        size_t len = strlen(path);

        for (const char *piece = path; piece; piece = strchr(piece, '/')) {
                piece += *piece == '/';
                if (strcmp(piece, "..") == 0 || strncmp(piece, "../", 3) == 0)
                        len = 0;
        }
        return len > 0 && len < PATH_LEN
                       ? 0
                       : fail_at(e, ERROR_INVALID_ARGUMENT, "reads", "shape",
                                 "an entry of reads is a path without \"..\", of at most %d bytes",
                                 PATH_LEN - 1);
}

/* Joins the entries of one field, each with its NUL. */
static int
join_texts(const struct record *r, struct arena *memory, uint16_t tag, struct store_bytes *ret,
           struct error *e)
{
        struct record_entry entry;
        size_t at = 0, len = 0, count = 0;
        char *bytes;

        while (record_next(r, &at, &entry) > 0)
                if (entry.tag == tag) {
                        if ((tag == FIELD_ENV ? check_env(entry.value, e)
                                              : check_read(entry.value, e)) < 0)
                                return -1;
                        len += entry.len;
                        count++;
                }
        if (tag == FIELD_ENV && count > ENV_ITEMS_MAX)
                return fail_at(e, ERROR_QUOTA_EXCEEDED, "env", NULL,
                               "a sandbox has at most %d names in its environment", ENV_ITEMS_MAX);
        if (tag == FIELD_READS && count > READS_MAX)
                return fail_at(e, ERROR_QUOTA_EXCEEDED, "reads", NULL,
                               "at most %d files are read to judge one sandbox", READS_MAX);
        bytes = arena_alloc(memory, len + 1);
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "no memory for a sandbox");
        *ret = (struct store_bytes){ bytes, len };
        at = 0;
        while (record_next(r, &at, &entry) > 0)
                if (entry.tag == tag) {
                        memcpy(bytes, entry.value, entry.len);
                        bytes += entry.len;
                }
        return 0;
}

static int
join_ports(const struct record *r, struct arena *memory, struct store_bytes *ret, struct error *e)
{
        struct store_port *ports = arena_array(memory, struct store_port, SANDBOX_PORTS_MAX);
        struct record_entry entry;
        size_t at = 0, count = 0;

        if (!ports)
                return fail(e, ERROR_NO_MEMORY, "no memory for ports");
        while (record_next(r, &at, &entry) > 0) {
                uint16_t port =
                        entry.tag == FIELD_PORTS ? (uint16_t) * (const uint64_t *)entry.value : 0;

                for (size_t i = 0; i < count; i++)
                        port = ports[i].port == port ? 0 : port;
                if (port == 0)
                        continue;
                if (count == SANDBOX_PORTS_MAX)
                        return fail_at(e, ERROR_QUOTA_EXCEEDED, "ports", NULL,
                                       "a sandbox has at most %d ports", SANDBOX_PORTS_MAX);
                ports[count].port = port;
                if (random_hex(ports[count++].token, STORE_TOKEN_LEN - 1, e) < 0)
                        return -1;
        }
        *ret = (struct store_bytes){ ports, count * sizeof *ports };
        return 0;
}

/*
 * Creates an id whose last digits are unique: if the daemon is root, they choose the uid of the
 * payload on the host.
 */
static int
make_id(const struct keeper *k, char ret[SANDBOX_ID_LEN], struct error *e)
{
        for (int tries = 0; tries < ID_TRIES; tries++) {
                const struct sandbox *s = k->first;

                if (random_hex(ret, SANDBOX_ID_LEN - 1, e) < 0)
                        return -1;
                while (s && strcmp(s->id + SANDBOX_ID_LEN - 5, ret + SANDBOX_ID_LEN - 5) != 0)
                        s = s->next;
                if (!s)
                        return 0;
        }
        return fail(e, ERROR_QUOTA_EXCEEDED, "there are too many sandboxes");
}

static uint64_t
delete_at(const struct keeper *k, const struct record *r, uint64_t wall)
{
        struct record_entry entry;

        if (record_find(r, FIELD_DELETE_AT, &entry))
                return *(const uint64_t *)entry.value;
        return k->delete_after_ms == STORE_NEVER ? 0 : wall + k->delete_after_ms;
}

static int
row_of(struct call *c, struct arena *memory, char id[SANDBOX_ID_LEN], struct store_sandbox *ret,
       struct error *e)
{
        const struct record *r = &c->record;
        uint64_t timeout = record_get_uint(r, FIELD_TIMEOUT, STORE_NEVER);
        struct record_entry manifest;
        unsigned char *digest = arena_alloc(memory, DIGEST_LEN);

        if (!digest)
                return fail(e, ERROR_NO_MEMORY, "no memory for a sandbox");
        *ret = (struct store_sandbox){ .id = id,
                                       .owner = c->caller.owner,
                                       .name = record_get_text(r, FIELD_NAME, NULL),
                                       .workspace = record_get_text(r, FIELD_WORKSPACE, NULL),
                                       .runtime = record_get_text(r, FIELD_RUNTIME, NULL),
                                       .manifest_name =
                                               record_get_text(r, FIELD_MANIFEST_NAME, NULL),
                                       .metadata = record_get_text(r, FIELD_METADATA, NULL),
                                       .key = record_get_text(r, FIELD_KEY, NULL),
                                       .status = STORE_PENDING,
                                       .caller_uid = c->caller.uid,
                                       .created_ms = loop_wall_ms(),
                                       .boot_id = c->keeper->boot_id,
                                       .remaining_ms = timeout };
        ret->delete_at_ms = delete_at(c->keeper, r, ret->created_ms);
        ret->deadline_ms =
                timeout == STORE_NEVER ? STORE_NEVER : deadline_add(0, loop_now_ms(), timeout);
        if (record_find(r, FIELD_MANIFEST, &manifest))
                ret->manifest = (struct store_bytes){ manifest.value, manifest.len };
        digest_create(r, false, digest);
        ret->digest = (struct store_bytes){ digest, DIGEST_LEN };
        if (ret->name && !name_is_valid(ret->name))
                return name_wrong(ret->name, e);
        return join_texts(r, memory, FIELD_ENV, &ret->env, e) < 0 ||
                               join_texts(r, memory, FIELD_READS, &ret->reads, e) < 0 ||
                               join_ports(r, memory, &ret->ports, e) < 0 ||
                               make_id(c->keeper, id, e) < 0
                       ? -1
                       : 0;
}

/* -- what exists already ----------------------------------------------------------------------- */

/* One tenant of several cannot use up all sandboxes. */
static int
check_room(const struct keeper *k, const struct caller *who, struct error *e)
{
        uint64_t most = prepare_limits(&k->host, who->uid).sandboxes;
        size_t count = 0;

        if (k->sandbox_count >= SANDBOXES_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "there are %d sandboxes already",
                            SANDBOXES_MAX);
        for (const struct sandbox *s = k->first; s && most != SPEC_UNSET; s = s->next)
                count += sandbox_belongs(s, who);
        if (count < most)
                return 0;
        (void)fail_at(e, ERROR_QUOTA_EXCEEDED, "", "sandboxes_max",
                      "%.64s has %zu sandboxes, and this host permits at most %" PRIu64, who->owner,
                      count, most);
        error_hint(e, "Stop one, or have the operator raise sandboxes_max in the host file.");
        return -1;
}

static int
check_same(const struct store_sandbox *row, const void *digest, size_t len, struct error *e)
{
        if (len == DIGEST_LEN && memcmp(digest, row->digest.bytes, DIGEST_LEN) == 0)
                return 0;
        (void)fail_at(e, ERROR_EXISTS, "key", "key_reused",
                      "this key was used to create another sandbox");
        error_hint(e, "%s", STORE_KEY_HINT);
        return -1;
}

/* The sandbox of this key has ended. Its caller does not mean to create a second one. */
static int
check_ended(const struct keeper *k, const struct store_sandbox *row, struct error *e)
{
        struct store_ended ended;
        int found = store_ended_find(k->store, row->owner, row->key, loop_wall_ms(), &ended, e);

        if (found <= 0)
                return found;
        if (check_same(row, ended.digest, ended.digest_len, e) < 0)
                return -1;
        return fail_at(e, ERROR_GONE, "key", "ended",
                       "the sandbox %s, which this key created, has ended", ended.id);
}

/* 1: this call was answered before, and `ret` is its sandbox; 0: it is new; -1. */
static int
find_same(struct call *c, const struct store_sandbox *row, struct sandbox **ret, struct error *e)
{
        struct sandbox *s = row->key ? registry_find_key(c->keeper, row->owner, row->key) : NULL;

        if (s) {
                if (check_same(row, s->row.digest.bytes, s->row.digest.len, e) < 0)
                        return -1;
                *ret = s;
                return 1;
        }
        if (row->key && check_ended(c->keeper, row, e) < 0)
                return -1;
        s = row->name ? registry_find_name(c->keeper, row->owner, row->name) : NULL;
        /* a failed sandbox gives up its name once the new one is checked */
        if (s && (s->state != SANDBOX_FAILED || s->is_later))
                return fail_at(e, ERROR_EXISTS, "name", "name_taken",
                               "there is a sandbox named %s already", row->name);
        if (row->delete_at_ms != 0 && row->delete_at_ms <= row->created_ms - CLOCKS_DIFFER_MS) {
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, "delete_at_ms", "past",
                              "delete_at_ms lies in the past");
                error_hint(e, "It is a moment, in milliseconds since 1970; how long it lives is "
                              "timeout_ms.");
                return -1;
        }
        return check_room(c->keeper, &c->caller, e);
}

/* -- creating ---------------------------------------------------------------------------------- */

static void
warn_of_ports(struct sandbox *s)
{
        const struct store_port *ports = s->row.ports.bytes;

        for (size_t i = 0; i < s->row.ports.len / sizeof *ports &&
                           !plan_has_low_ports(s->prepared->spec, &s->keeper->host.facts);
             i++)
                if (ports[i].port < PLAN_LOW_PORT)
                        findings_warn(
                                &s->prepared->findings, "port_unbindable", "ports", 0, 0,
                                "no server inside can listen on port %u: with network.egress, "
                                "ports below %d belong to the gate. Use another, for example -p "
                                "%u, or write metadata: {carrel: {egress: {routed: true}}}",
                                ports[i].port, PLAN_LOW_PORT, ports[i].port + 8000u);
}

/* What its plan found out: where its files are, and the warnings. */
static void
write_findings(struct sandbox *s)
{
        const struct prepared *p = s->prepared;
        const char *place = prepared_disk(p);
        size_t room = FILES_ROOM + (place ? strlen(place) : 0) +
                      (p->image ? strlen(p->image->ref) : 0) +
                      (p->spec->choice ? strlen(p->spec->choice) : 0) +
                      (p->findings.warning_count > 0 ? WARNINGS_ROOM : 0);
        void *bytes = arena_alloc(&s->memory, room);
        struct record_writer w;

        if (!bytes)
                return;
        record_init(&w, bytes, room);
        record_text(&w, FIELD_DISK, plan_disk_name(p->plan));
        record_text(&w, FIELD_DISK_AT, place);
        if (p->plan->disk_mb != SPEC_UNSET)
                record_uint(&w, FIELD_DISK_MB, p->plan->disk_mb);
        record_text(&w, FIELD_IMAGE, p->image ? p->image->ref : NULL);
        record_text(&w, FIELD_CHOSEN, p->spec->choice);
        answer_warnings(&w, &p->findings);
        if (!w.is_broken)
                s->row.warnings = (struct store_bytes){ bytes, w.len };
}

/* What is noted already, without the machine. */
static void
copy_noted(struct record_writer *w, struct store_bytes noted)
{
        struct record r = { noted.bytes, noted.len };
        struct record_entry entry;
        size_t at = 0;

        while (noted.len > 0 && record_next(&r, &at, &entry) > 0)
                if (entry.tag != FIELD_MACHINE_START && entry.tag != FIELD_MACHINE_WHY)
                        record_bytes(w, entry.tag, entry.type, entry.value, entry.len);
}

static bool
has_noted(const struct sandbox *s, const char *how, const char *why)
{
        const struct record r = { s->row.warnings.bytes, s->row.warnings.len };
        const char *noted, *noted_why;

        if (s->row.warnings.len == 0)
                return false;
        noted = record_get_text(&r, FIELD_MACHINE_START, "");
        noted_why = record_get_text(&r, FIELD_MACHINE_WHY, "");
        return strcmp(noted, how) == 0 && strcmp(noted_why, why ? why : "") == 0;
}

/* It is planned anew at each start, when a machine may have been saved. */
void
sandbox_note_machine(struct sandbox *s)
{
        const struct plan_machine *m = s->prepared->machine;
        const char *how = m && m->start == PLAN_MACHINE_WAKES ? "saved" : "booted";
        struct record_writer w;
        size_t room;
        void *bytes;

        if (!m || has_noted(s, how, m->why))
                return;
        room = s->row.warnings.len + FILES_ROOM + (m->why ? strlen(m->why) : 0);
        bytes = arena_alloc(&s->memory, room);
        if (!bytes)
                return;
        record_init(&w, bytes, room);
        copy_noted(&w, s->row.warnings);
        record_text(&w, FIELD_MACHINE_START, how);
        record_text(&w, FIELD_MACHINE_WHY, m->why);
        if (!w.is_broken)
                s->row.warnings = (struct store_bytes){ bytes, w.len };
}

int
sandbox_describe(struct sandbox *s, struct error *e)
{
        if (sandbox_plan(s, e) < 0)
                return -1;
        s->row.is_writable = s->prepared->sources->writable_count > 0;
        s->row.is_read_only = s->prepared->spec->is_read_only;
        s->row.provider = sandbox_text(s, s->prepared->spec->provider);
        s->row.cwd = sandbox_text(s, s->prepared->cwd);
        s->row.cpu = (uint32_t)s->prepared->cpu;
        warn_of_ports(s);
        write_findings(s);
        sandbox_note_machine(s);
        prepared_release(s->prepared);
        return 0;
}

static int
check_risk(const struct call *c, const struct prepared *p, struct error *e)
{
        return admission_check(p->rules, p->spec, record_get_text(&c->record, FIELD_RISK, NULL), e);
}

static int
judge(const struct call *c, struct sandbox *s, struct error *e)
{
        return sandbox_judge(s, e) < 0 || check_risk(c, s->prepared, e) < 0 || sandbox_pin(s, e) < 0
                       ? -1
                       : sandbox_describe(s, e);
}

/* Stops a sandbox that failed or was lost (a reboot), so that the next one can have its name. */
static void
free_name(struct call *c, const struct store_sandbox *row)
{
        struct sandbox *s = row->name ? registry_find_name(c->keeper, row->owner, row->name) : NULL;
        struct error ignored;

        if (s && s->state == SANDBOX_FAILED)
                (void)sandbox_stop(s, "replaced", &ignored);
        registry_remove_rows(c->keeper);
}

static struct sandbox *
create(struct call *c, const struct store_sandbox *row, struct error *e)
{
        struct sandbox *s = registry_add(c->keeper, row, e);
        const char *name;

        if (!s)
                return NULL;
        if (judge(c, s, e) < 0) {
                registry_remove(s);
                return NULL;
        }
        name = s->row.name;
        s->row.name = NULL; /* find the other sandbox of this name */
        free_name(c, row);
        s->row.name = name;
        if (store_sandbox_add(c->keeper->store, &s->row, e) < 0) {
                registry_remove(s);
                return NULL;
        }
        return s;
}

/* Makes a ready box the caller's: rewrites its row under the same id. */
static struct sandbox *
take_ready(struct call *c, const struct store_sandbox *row, struct error *e)
{
        unsigned char digest[DIGEST_LEN];
        struct store_bytes wanted = { digest, sizeof digest };
        struct host_limits most;
        struct sandbox *s;

        digest_create(&c->record, true, digest);
        s = pool_find(c->keeper, &wanted);
        most = prepare_limits(&c->keeper->host, c->caller.uid);
        if (!s || !s->prepared || !host_limits_hold(&most, &s->prepared->spec->limits))
                return NULL; /* instead, create one within the caller's own limits */
        if (check_risk(c, s->prepared, e) < 0)
                return NULL;
        free_name(c, row);
        return pool_hand_over(s, row, e) < 0 ? NULL : s;
}

static void
answer(struct call *c, const struct sandbox *s)
{
        struct record_writer w = reply_begin(c);

        answer_sandbox(&w, s);
        reply_send(c, &w, 0, -1);
}

/* An earlier attempt of this call created the sandbox and waited for its box. */
static enum call_state
answer_started(struct call *c, struct error *e)
{
        struct sandbox *s = registry_find(c->keeper, &c->caller, c->made, e);

        if (!s)
                return CALL_FAILED;
        answer(c, s);
        return CALL_DONE;
}

static enum call_state
begin(struct call *c, struct sandbox *s, struct error *e)
{
        enum call_state state;

        struct error ignored;

        memcpy(c->made, s->id, sizeof c->made);
        state = s->row.is_read_only ? CALL_DONE : sandbox_need_box(s, c, e);
        if (state == CALL_DONE)
                answer(c, s);
        else if (state == CALL_FAILED)
                /* a refused create leaves nothing behind */
                (void)sandbox_stop(s, "failed", &ignored);
        return state;
}

static struct sandbox *
not_ready(const struct keeper *k, const struct record *r, struct error *e)
{
        unsigned char digest[DIGEST_LEN];

        digest_create(r, true, digest);
        if (k->pool && pool_is_for(k, &(struct store_bytes){ digest, sizeof digest }))
                return (void)fail(e, ERROR_UNAVAILABLE, "no sandbox of the pool is ready for this"),
                       NULL;
        if (k->pool) { /* however long the caller waits */
                (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, NULL, "pool_manifest",
                              "the pool has no sandbox with this manifest, workspace and runtime");
                error_hint(e,
                           "A claim takes the manifest of `carrel serve --pool-manifest`, or none "
                           "without that option, and no workspace or runtime. Or create a "
                           "sandbox without claiming one.");
                return NULL;
        }
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, NULL, "no_pool",
                      "this daemon keeps no pool of ready sandboxes");
        error_hint(
                e,
                "Start it with `carrel serve --pool N`, or create a sandbox without claiming one.");
        return NULL;
}

static enum call_state
create_or_claim(struct call *c, bool may_make, struct error *e)
{
        struct arena memory;
        struct store_sandbox row = { 0 };
        char id[SANDBOX_ID_LEN];
        struct sandbox *s = NULL;
        enum call_state state = CALL_FAILED;
        int found;

        if (c->made[0] != '\0')
                return answer_started(c, e);
        arena_init(&memory, 1 << 20);
        e->code = ERROR_NONE;
        registry_remove_rows(c->keeper); /* one of them may hold the name */
        found = row_of(c, &memory, id, &row, e) < 0 ? -1 : find_same(c, &row, &s, e);
        if (found == 0) {
                s = take_ready(c, &row, e);
                if (!s && e->code == ERROR_NONE)
                        s = may_make ? create(c, &row, e) : not_ready(c->keeper, &c->record, e);
                if (s) {
                        deadline_arm(s);
                        sandbox_touch(s);
                        sandbox_publish(s, event_created());
                }
        }
        if (s && record_get_bool(&c->record, FIELD_START, 0)) {
                state = begin(c, s, e);
        } else if (s) {
                answer(c, s);
                state = CALL_DONE;
        }
        arena_fini(&memory);
        return state;
}

enum call_state
op_create(struct call *c, struct error *e)
{
        return create_or_claim(c, true, e);
}

enum call_state
op_claim(struct call *c, struct error *e)
{
        return create_or_claim(c, false, e);
}
