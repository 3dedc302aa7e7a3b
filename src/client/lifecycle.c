/*
 * client/lifecycle.c - sandboxes from their declaration to their end, tasks, tokens, and the daemon
 * itself.
 *
 * Room: client (joining). Touches: what its connection touches.
 * Theory: each function writes the members of a call. Which struct its answer is follows from the
 * row of the operation (client/call.h).
 */
#include <stdio.h>
#include <string.h>

#include "client/call.h"
#include "client/manifest.h"
#include "text/json.h"

enum { MANIFEST_ARENA_MAX = 16 << 20 };

/* -- sandboxes --------------------------------------------------------------------------------- */

static void
write_config(struct record_writer *w, const struct carrel_config *config)
{
        record_text(w, FIELD_NAME, config->name);
        record_text(w, FIELD_RUNTIME, config->runtime);
        if (config->timeout_ms > 0)
                record_uint(w, FIELD_TIMEOUT, config->timeout_ms);
        if (config->delete_at_ms > 0)
                record_uint(w, FIELD_DELETE_AT, config->delete_at_ms);
        for (size_t i = 0; i < config->env_count; i++)
                record_text(w, FIELD_ENV, config->env[i]);
        for (size_t i = 0; i < config->port_count; i++)
                record_uint(w, FIELD_PORTS, config->ports[i]);
        record_json(w, FIELD_METADATA, config->metadata);
        if (config->is_started_now)
                record_bool(w, FIELD_START, 1);
        record_text(w, FIELD_RISK, config->risk);
        record_text(w, FIELD_KEY, config->key);
}

/* The keeper does not parse JSON, so this side checks it. */
static int
check_metadata(struct arena *arena, const char *metadata, struct error *e)
{
        static const struct text_limits limits = { 64 << 10, 32, 16384 };
        const struct node *root;

        if (!metadata || json_read(arena, metadata, strlen(metadata), &limits, &root, e) == 0)
                return 0;
        e->code = ERROR_INVALID_ARGUMENT;
        (void)snprintf(e->path, sizeof e->path, "metadata");
        e->line = e->column = 0;
        error_hint(e, "metadata is one JSON value of at most 64 KiB: {\"team\": \"a\"}.");
        return error_wrap(e, "metadata");
}

static int
call_config(struct carrel *c, enum operation_code op, const struct carrel_config *config,
            struct carrel_sandbox **ret, struct carrel_error *e)
{
        struct record_writer *w = connection_begin(c);
        struct client_manifest manifest;
        struct arena arena;
        struct error inner;
        int result;

        arena_init(&arena, MANIFEST_ARENA_MAX);
        result = check_metadata(&arena, config->metadata, &inner);
        if (result == 0)
                result = client_manifest_read(&arena, config, &manifest, &inner);
        if (result == 0)
                result = client_manifest_write(&arena, &manifest, w, &inner);
        arena_fini(&arena);
        if (result < 0)
                return answer_fail(e, &inner);
        write_config(w, config);
        return client_call(c, op, ret, e);
}

int
carrel_create(struct carrel *c, const struct carrel_config *config, struct carrel_sandbox **ret,
              struct carrel_error *e)
{
        return call_config(c, OP_CREATE, config, ret, e);
}

int
carrel_claim(struct carrel *c, const struct carrel_config *config, struct carrel_sandbox **ret,
             struct carrel_error *e)
{
        return call_config(c, OP_CLAIM, config, ret, e);
}

int
carrel_get(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_find(c, OP_GET, ERROR_NOT_FOUND, ret, e);
}

int
carrel_list(struct carrel *c, struct carrel_sandboxes **ret, struct carrel_error *e)
{
        (void)connection_begin(c);
        return client_call(c, OP_LIST, ret, e);
}

int
carrel_stop(struct carrel *c, const char *id, int *ret_existed, struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_existed(c, OP_STOP, ret_existed, e);
}

/* The answer for a sandbox that is not there. */
static int
never_existed(struct answer_stopped **ret, struct error *e)
{
        _Alignas(RECORD_ALIGN) unsigned char bytes[32];
        struct record_writer w;

        record_init(&w, bytes, sizeof bytes);
        record_bool(&w, FIELD_EXISTED, 0);
        return client_read(answer_shape_of(operation(OP_STOP)), &(struct record){ bytes, w.len },
                           ret, e);
}

int
carrel_stop_and_list(struct carrel *c, const char *id, int *ret_existed, struct carrel_lefts **ret,
                     struct carrel_error *e)
{
        struct answer_stopped *s = NULL;
        struct error inner;

        (void)client_begin(c, id);
        if (client_try(c, OP_STOP, &s, &inner) < 0 &&
            (inner.code != ERROR_NOT_FOUND || never_existed(&s, &inner) < 0))
                return answer_fail(e, &inner);
        if (ret_existed)
                /* lint: both calls give it on success */
                *ret_existed = s->existed;
        *ret = &s->left;
        return 0;
}

int
carrel_extend_timeout(struct carrel *c, const char *id, uint64_t duration_ms, const char *key,
                      struct carrel_sandbox **ret, struct carrel_error *e)
{
        struct record_writer *w = client_begin(c, id);

        record_uint(w, FIELD_DURATION, duration_ms);
        record_text(w, FIELD_KEY, key);
        return client_call(c, OP_EXTEND, ret, e);
}

int
carrel_set_network(struct carrel *c, const char *id, const char *const *egress, size_t count,
                   struct carrel_sandbox **ret, struct carrel_error *e)
{
        struct record_writer *w = client_begin(c, id);

        for (size_t i = 0; i < count; i++)
                record_text(w, FIELD_EGRESS, egress[i]);
        return client_call(c, OP_NETWORK, ret, e);
}

int
carrel_get_limits(struct carrel *c, const char *id, struct carrel_limits **ret,
                  struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_LIMITS, ret, e);
}

int
carrel_set_limits(struct carrel *c, const char *id, const struct carrel_limits *wanted,
                  struct carrel_limits **ret, struct carrel_error *e)
{
        const struct {
                uint16_t field;
                uint64_t value;
        } values[] = {
                { FIELD_TIMEOUT, wanted->timeout_ms },
                { FIELD_MEMORY_MB, wanted->memory_mb },
                { FIELD_CPU_MILLICORES, wanted->cpu_millicores },
                { FIELD_PIDS, wanted->pids },
                { FIELD_IO_READ, wanted->io_read_bps },
                { FIELD_IO_WRITE, wanted->io_write_bps },
                { FIELD_OUTPUT_BYTES, wanted->output_bytes },
                { FIELD_OPEN_FILES, wanted->open_files },
                { FIELD_DISK_MB, wanted->disk_mb },
        };
        struct record_writer *w = client_begin(c, id);

        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
                if (values[i].value != 0)
                        record_uint(w, values[i].field, values[i].value);
        return client_call(c, OP_LIMITS_SET, ret, e);
}

int
carrel_list_denials(struct carrel *c, const char *id, struct carrel_denials **ret,
                    struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_DENIALS, ret, e);
}

int
carrel_take_left(struct carrel *c, const char *id, struct carrel_lefts **ret,
                 struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_LEFT_TAKE, ret, e);
}

int
carrel_exec_denials(struct carrel *c, const char *id, uint32_t exec, struct carrel_denials **ret,
                    struct carrel_error *e)
{
        struct error inner;

        record_uint(client_begin(c, id), FIELD_EXEC, exec);
        return client_try_as(c, OP_EXEC_GET, &answer_exec_denials, ret, &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_pause(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_PAUSE, ret, e);
}

int
carrel_resume(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_RESUME, ret, e);
}

static int
get_url(struct carrel *c, const char *id, unsigned port, uint16_t field, char **ret,
        struct carrel_error *e)
{
        struct error inner;

        record_uint(client_begin(c, id), FIELD_PORT, port);
        if (client_text(c, OP_URL, field, ret, &inner) == 0)
                return 0;
        if (error_http_status(inner.code) != 404)
                return answer_fail(e, &inner);
        *ret = NULL;
        return 0;
}

int
carrel_get_url(struct carrel *c, const char *id, unsigned port, char **ret, struct carrel_error *e)
{
        return get_url(c, id, port, FIELD_URL, ret, e);
}

int
carrel_get_browser_url(struct carrel *c, const char *id, unsigned port, char **ret,
                       struct carrel_error *e)
{
        return get_url(c, id, port, FIELD_BROWSER_URL, ret, e);
}

int
carrel_instructions(struct carrel *c, const char *id, char **ret, struct carrel_error *e)
{
        struct error inner;

        (void)client_begin(c, id);
        return client_text(c, OP_INSTRUCTIONS, FIELD_TEXT, ret, &inner) < 0 ? answer_fail(e, &inner)
                                                                            : 0;
}

int
carrel_notify(struct carrel *c, const char *id, const char *event, struct carrel_error *e)
{
        record_text(client_begin(c, id), FIELD_EVENT, event);
        return client_call(c, OP_EVENT, NULL, e);
}

/* -- tasks ------------------------------------------------------------------------------------- */

int
carrel_task_begin(struct carrel *c, const char *id, const char *task, uint64_t timeout_ms,
                  struct carrel_error *e)
{
        struct record_writer *w = client_begin(c, id);

        record_text(w, FIELD_TASK, task);
        record_uint(w, FIELD_TIMEOUT, timeout_ms);
        return client_call(c, OP_TASK_BEGIN, NULL, e);
}

int
carrel_task_end(struct carrel *c, const char *id, const char *task, int *ret_existed,
                struct carrel_error *e)
{
        record_text(client_begin(c, id), FIELD_TASK, task);
        return client_existed(c, OP_TASK_END, ret_existed, e);
}

/* -- tokens ------------------------------------------------------------------------------------ */

int
carrel_token_create(struct carrel *c, const char *owner, const char *scope,
                    struct carrel_token **ret, struct carrel_error *e)
{
        struct record_writer *w = connection_begin(c);

        record_text(w, FIELD_OWNER, owner);
        record_text(w, FIELD_SCOPE, scope);
        return client_call(c, OP_TOKEN_CREATE, ret, e);
}

int
carrel_token_list(struct carrel *c, struct carrel_tokens **ret, struct carrel_error *e)
{
        (void)connection_begin(c);
        return client_call(c, OP_TOKEN_LIST, ret, e);
}

int
carrel_token_revoke(struct carrel *c, const char *token_id, int *ret_existed,
                    struct carrel_error *e)
{
        (void)client_begin(c, token_id);
        return client_existed(c, OP_TOKEN_REVOKE, ret_existed, e);
}

/* -- volumes ----------------------------------------------------------------------------------- */

int
carrel_volume_create(struct carrel *c, const char *name, struct carrel_volume **ret,
                     struct carrel_error *e)
{
        record_text(connection_begin(c), FIELD_NAME, name);
        return client_call(c, OP_VOLUME_CREATE, ret, e);
}

int
carrel_volume_list(struct carrel *c, struct carrel_volumes **ret, struct carrel_error *e)
{
        (void)connection_begin(c);
        return client_call(c, OP_VOLUME_LIST, ret, e);
}

int
carrel_volume_remove(struct carrel *c, const char *name, int *ret_existed, struct carrel_error *e)
{
        record_text(connection_begin(c), FIELD_NAME, name);
        return client_existed(c, OP_VOLUME_REMOVE, ret_existed, e);
}

/* -- approvals --------------------------------------------------------------------------------- */

int
carrel_approval_list(struct carrel *c, struct carrel_approvals **ret, struct carrel_error *e)
{
        (void)connection_begin(c);
        return client_call(c, OP_APPROVAL_LIST, ret, e);
}

int
carrel_approval_get(struct carrel *c, const char *id, struct carrel_approval **ret,
                    struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_APPROVAL_GET, ret, e);
}

int
carrel_approval_answer(struct carrel *c, const char *id, int is_approved, const char *reason,
                       struct carrel_approval **ret, struct carrel_error *e)
{
        struct record_writer *w = client_begin(c, id);

        record_text(w, FIELD_VERDICT, is_approved ? "approve" : "deny");
        record_text(w, FIELD_REASON, reason);
        return client_call(c, OP_APPROVAL_ANSWER, ret, e);
}

/* -- the daemon -------------------------------------------------------------------------------- */

int
carrel_get_usage(struct carrel *c, const char *id, struct carrel_usage **ret,
                 struct carrel_error *e)
{
        (void)client_begin(c, id);
        return client_call(c, OP_USAGE, ret, e);
}

int
carrel_list_usage(struct carrel *c, struct carrel_usages **ret, struct carrel_error *e)
{
        (void)connection_begin(c);
        return client_call(c, OP_USAGE_LIST, ret, e);
}

int
carrel_info(struct carrel *c, struct carrel_info **ret, struct carrel_error *e)
{
        (void)connection_begin(c);
        return client_call(c, OP_INFO, ret, e);
}
