/*
 * client/answer.c - the structs that the library returns; each owns its memory.
 *
 * Room: client (joining). Touches: mem.
 * Theory: records come from another process, and their lengths were checked on arrival. Only types
 * are checked here. A field of the wrong type is ignored; if it is required, the answer is a
 * protocol error.
 */
#include "client/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/operation.h"

/* -- memory ------------------------------------------------------------------------------------ */

enum { HEAD = 64 };
_Static_assert(sizeof(struct arena) <= HEAD && HEAD % _Alignof(max_align_t) == 0,
               "the hidden head has room for an arena");

void *
answer_new(size_t len)
{
        unsigned char *all = calloc(1, HEAD + len);

        if (!all)
                return NULL;
        arena_init((struct arena *)(void *)all, ANSWER_MAX);
        return all + HEAD;
}

struct arena *
answer_arena(void *answer)
{
        return (struct arena *)(void *)((unsigned char *)answer - HEAD);
}

void
carrel_free(void *given)
{
        if (!given)
                return;
        arena_fini(answer_arena(given));
        free(answer_arena(given));
}

int
answer_fail(struct carrel_error *out, const struct error *e)
{
        if (!out)
                return -1;
        memset(out, 0, sizeof *out);
        (void)snprintf(out->code, sizeof out->code, "%s", error_wire_name(e->code));
        (void)snprintf(out->reason, sizeof out->reason, "%s", e->reason);
        (void)snprintf(out->path, sizeof out->path, "%s", e->path);
        (void)snprintf(out->message, sizeof out->message, "%s", e->message);
        (void)snprintf(out->hint, sizeof out->hint, "%s", error_hint_text(e));
        out->line = e->line;
        out->column = e->column;
        out->sys = e->sys;
        out->exit_status = error_exit_status(e->code);
        return -1;
}

int
answer_check(const struct arena *a, struct error *e)
{
        return arena_is_full(a) ? fail(e, ERROR_NO_MEMORY, "no memory for the answer") : 0;
}

/* -- fields ------------------------------------------------------------------------------------ */

const char *
answer_text(struct arena *a, const struct record *r, uint16_t tag)
{
        const char *text = record_get_text(r, tag, NULL);

        return text ? arena_text(a, text) : NULL;
}

static size_t
count_tag(const struct record *r, uint16_t tag, enum record_type type)
{
        struct record_entry entry;
        size_t at = 0, count = 0;

        while (record_next(r, &at, &entry) > 0)
                count += entry.tag == tag && entry.type == type;
        return count;
}

const char **
answer_texts(struct arena *a, const struct record *r, uint16_t tag, size_t *ret_count)
{
        size_t count = count_tag(r, tag, RECORD_TEXT), i = 0, at = 0;
        const char **texts = arena_array(a, const char *, count + 1);
        struct record_entry entry;

        *ret_count = texts ? count : 0;
        while (texts && record_next(r, &at, &entry) > 0)
                if (entry.tag == tag && entry.type == RECORD_TEXT)
                        texts[i++] = arena_text(a, entry.value);
        return texts;
}

static void
read_ports(struct arena *a, const struct record *r, struct carrel_sandbox *ret)
{
        size_t count = count_tag(r, FIELD_PORTS, RECORD_UINT), i = 0, at = 0;
        uint16_t *ports = arena_array(a, uint16_t, count + 1);
        struct record_entry entry;

        while (ports && record_next(r, &at, &entry) > 0)
                if (entry.tag == FIELD_PORTS && entry.type == RECORD_UINT)
                        ports[i++] = (uint16_t) * (const uint64_t *)entry.value;
        ret->ports = ports;
        ret->port_count = i;
}

static void
read_warnings(struct arena *a, const struct record *r, struct carrel_sandbox *ret)
{
        size_t count = count_tag(r, FIELD_WARNINGS, RECORD_NESTED), i = 0, at = 0;
        struct carrel_warning *warnings = arena_array(a, struct carrel_warning, count + 1);
        struct record_entry entry;

        while (warnings && record_next(r, &at, &entry) > 0) {
                struct record inner = { entry.value, entry.len };

                if (entry.tag != FIELD_WARNINGS || entry.type != RECORD_NESTED)
                        continue;
                warnings[i++] = (struct carrel_warning){
                        .code = arena_text(a, record_get_text(&inner, FIELD_CODE, "")),
                        .path = arena_text(a, record_get_text(&inner, FIELD_AT_PATH, "")),
                        .message = arena_text(a, record_get_text(&inner, FIELD_MESSAGE, "")),
                        .line = (unsigned)record_get_uint(&inner, FIELD_LINE, 0),
                        .column = (unsigned)record_get_uint(&inner, FIELD_COLUMN, 0),
                };
        }
        ret->warnings = warnings;
        ret->warning_count = i;
}

static int
lacks(struct error *e, const char *what)
{
        return fail(e, ERROR_PROTOCOL, "the daemon's answer lacks %s", what);
}

int
answer_read_sandbox(struct arena *a, const struct record *r, struct carrel_sandbox *ret,
                    struct error *e)
{
        *ret = (struct carrel_sandbox){
                .id = answer_text(a, r, FIELD_ID),
                .status = answer_text(a, r, FIELD_STATUS),
                .name = answer_text(a, r, FIELD_NAME),
                .owner = answer_text(a, r, FIELD_OWNER),
                .provider = answer_text(a, r, FIELD_PROVIDER),
                .runtime = answer_text(a, r, FIELD_RUNTIME),
                .workspace = answer_text(a, r, FIELD_WORKSPACE),
                .disk = answer_text(a, r, FIELD_DISK),
                .disk_at = answer_text(a, r, FIELD_DISK_AT),
                .disk_mb = record_get_uint(r, FIELD_DISK_MB, 0),
                .cause = answer_text(a, r, FIELD_CAUSE),
                .metadata = answer_text(a, r, FIELD_METADATA),
                .created_at_ms = record_get_uint(r, FIELD_CREATED_AT, 0),
                .remaining_ms = record_get_uint(r, FIELD_TIMEOUT, CARREL_NONE),
                .delete_at_ms = record_get_uint(r, FIELD_DELETE_AT, CARREL_NONE),
                .is_read_only = record_get_bool(r, FIELD_READ_ONLY, 0),
        };
        if (ret->delete_at_ms == 0)
                ret->delete_at_ms = CARREL_NONE;
        read_ports(a, r, ret);
        read_warnings(a, r, ret);
        if (answer_read_lefts(a, r, &ret->left, e) < 0 || answer_check(a, e) < 0)
                return -1;
        return ret->id && ret->status ? 0 : lacks(e, "the sandbox's id or status");
}

void
answer_end(const struct outcome *o, struct carrel_end *ret)
{
        *ret = (struct carrel_end){ .outcome = outcome_name(o->word),
                                    .exit_code = o->word == OUTCOME_EXITED ? o->exit_code : -1,
                                    .signal = o->word == OUTCOME_SIGNALED ? o->signal : 0,
                                    .exit_status = outcome_status(o),
                                    .duration_ms = o->duration_ms,
                                    .cpu_ms = o->cpu_ms,
                                    .memory_peak_kb = o->memory_peak_kb,
                                    .stdout_bytes = o->stdout_bytes,
                                    .stderr_bytes = o->stderr_bytes,
                                    .dropped_bytes = o->dropped_bytes,
                                    .denied_count = o->denied,
                                    .limits_reached = o->reached };
}

int
answer_read_exec(struct arena *a, const struct record *r, struct carrel_exec_info *ret,
                 struct error *e)
{
        struct outcome o;
        bool has_end = ending_read(r, &o);

        *ret = (struct carrel_exec_info){
                .exec = (uint32_t)record_get_uint(r, FIELD_EXEC, 0),
                .state = answer_text(a, r, FIELD_STATE),
                .command = answer_text(a, r, FIELD_COMMAND),
                .task = answer_text(a, r, FIELD_TASK),
                .key = answer_text(a, r, FIELD_KEY),
                .pid = (int)record_get_uint(r, FIELD_PID, 0),
                .is_background = record_get_bool(r, FIELD_BACKGROUND, 0),
                .started_at_ms = record_get_uint(r, FIELD_STARTED_AT, 0),
                .stdout_offset = record_get_uint(r, FIELD_STDOUT_OFFSET, 0),
                .stderr_offset = record_get_uint(r, FIELD_STDERR_OFFSET, 0),
                .has_end = has_end,
                .port = (unsigned)record_get_uint(r, FIELD_PORT, 0),
                .timeout_ms = record_get_uint(r, FIELD_TIMEOUT, 0),
                .timeout_by = answer_text(a, r, FIELD_TIMEOUT_BY),
        };
        answer_end(&o, &ret->end);
        if (!has_end)
                ret->end.outcome = NULL;
        if (answer_check(a, e) < 0)
                return -1;
        return ret->exec != 0 && ret->state ? 0 : lacks(e, "the exec's number or state");
}

int
answer_read_denial(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_denial *d = ret;
        uint64_t count = record_get_uint(r, FIELD_COUNT, 1);

        *d = (struct carrel_denial){
                .at_ms = record_get_uint(r, FIELD_AT, 0),
                .exec = (uint32_t)record_get_uint(r, FIELD_EXEC, 0),
                .count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
                .port = (unsigned)record_get_uint(r, FIELD_PORT, 0),
                .reason = answer_text(a, r, FIELD_REASON),
                .host = answer_text(a, r, FIELD_HOST),
                .address = answer_text(a, r, FIELD_ADDRESS),
                .said = answer_text(a, r, FIELD_SAID),
                .message = answer_text(a, r, FIELD_MESSAGE),
        };
        if (answer_check(a, e) < 0)
                return -1;
        return d->reason && d->message
                       ? 0
                       : fail(e, ERROR_PROTOCOL,
                              "the daemon's answer lacks why something was refused");
}

int
answer_read_token(struct arena *a, const struct record *r, struct carrel_token *ret,
                  struct error *e)
{
        *ret = (struct carrel_token){ .id = answer_text(a, r, FIELD_ID),
                                      .owner = answer_text(a, r, FIELD_OWNER),
                                      .scope = answer_text(a, r, FIELD_SCOPE),
                                      .token = answer_text(a, r, FIELD_TOKEN),
                                      .created_at_ms = record_get_uint(r, FIELD_CREATED_AT, 0) };
        if (answer_check(a, e) < 0)
                return -1;
        return ret->id ? 0 : lacks(e, "the token's id");
}

int
answer_read_list(struct arena *a, const struct record *r, uint16_t tag, size_t size,
                 answer_read_fn *read, void *ret_items, size_t *ret_count, struct error *e)
{
        size_t count = count_tag(r, tag, RECORD_NESTED), i = 0, at = 0;
        unsigned char *items = arena_alloc(a, (count + 1) * size);
        struct record_entry entry;

        if (!items)
                return answer_check(a, e);
        while (record_next(r, &at, &entry) > 0) {
                struct record inner = { entry.value, entry.len };

                if (entry.tag == tag && entry.type == RECORD_NESTED &&
                    read(a, &inner, items + i++ * size, e) < 0)
                        return -1;
        }
        *(void **)ret_items = items;
        *ret_count = count;
        return 0;
}

int
answer_read_items(struct arena *a, const struct record *r, size_t size, answer_read_fn *read,
                  void *ret_items, size_t *ret_count, struct error *e)
{
        return answer_read_list(a, r, FIELD_ITEMS, size, read, ret_items, ret_count, e);
}

static int
read_left(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_left *l = ret;

        *l = (struct carrel_left){
                .at_ms = record_get_uint(r, FIELD_AT, 0),
                .count = record_get_uint(r, FIELD_COUNT, 1),
                .what = answer_text(a, r, FIELD_WHAT),
                .host_path = answer_text(a, r, FIELD_HOST_PATH),
                .kept_at = answer_text(a, r, FIELD_KEPT_AT),
                .reason = answer_text(a, r, FIELD_REASON),
                .message = answer_text(a, r, FIELD_MESSAGE),
                .was_shown = record_get_bool(r, FIELD_SHOWN, 0),
        };
        if (answer_check(a, e) < 0)
                return -1;
        return l->what && l->host_path && l->message ? 0 : lacks(e, "what a command left behind");
}

int
answer_read_lefts(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_lefts *all = ret;

        all->more = record_get_uint(r, FIELD_LEFT_MORE, 0);
        return answer_read_list(a, r, FIELD_LEFT_BEHIND, sizeof *all->items, read_left, &all->items,
                                &all->count, e);
}
