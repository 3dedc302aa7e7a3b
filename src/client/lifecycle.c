/*
 * client/lifecycle.c - sandboxes from their declaration to their end, tasks, tokens, and the daemon
 * itself.
 *
 * Room: client (joining). Touches: what its connection touches.
 * Each function writes a call, makes it, and reads the answer into a struct. The three steps are
 * shared below.
 */
#include <stdio.h>
#include <string.h>

#include "client/answer.h"
#include "client/connection.h"
#include "client/manifest.h"
#include "text/json.h"

enum { MANIFEST_ARENA_MAX = 16 << 20 };

static struct record_writer *
begin_with_id(struct carrel *c, const char *id)
{
        struct record_writer *w = connection_begin(c);

        record_text(w, FIELD_ID, id);
        return w;
}

/* -- the three steps --------------------------------------------------------------------------- */

/* Makes the call, and reads a struct of `size` bytes; `ret` may be NULL. */
static int
call_struct(struct carrel *c, enum operation_code op, size_t size, answer_read_fn *read, void *ret,
            struct error *e)
{
        struct record r;
        void *answer;

        if (connection_call(c, op, &r, NULL, e) < 0)
                return -1;
        if (!ret)
                return 0;
        answer = answer_new(size);
        if (!answer)
                return fail(e, ERROR_NO_MEMORY, "no memory for the answer");
        if (read(answer_arena(answer), &r, answer, e) < 0) {
                carrel_free(answer);
                return -1;
        }
        *(void **)ret = answer;
        return 0;
}

static int
read_sandbox(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        return answer_read_sandbox(a, r, ret, e);
}

static int
read_token(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        return answer_read_token(a, r, ret, e);
}

static int
call_sandbox(struct carrel *c, enum operation_code op, struct carrel_sandbox **ret,
             struct carrel_error *e)
{
        struct error inner;

        return call_struct(c, op, sizeof(struct carrel_sandbox), read_sandbox, ret, &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

/*
 * The answer says whether the object existed. If the sandbox does not exist, the object did not
 * exist either.
 */
static int
call_existed(struct carrel *c, enum operation_code op, int *ret_existed, struct carrel_error *e)
{
        struct record r;
        struct error inner;
        int existed = 0;

        if (connection_call(c, op, &r, NULL, &inner) == 0)
                existed = record_get_bool(&r, FIELD_EXISTED, 0);
        else if (op != OP_STOP || inner.code != ERROR_NOT_FOUND)
                return answer_fail(e, &inner);
        if (ret_existed)
                *ret_existed = existed;
        return 0;
}

static int
call_text(struct carrel *c, enum operation_code op, uint16_t tag, char **ret, struct error *e)
{
        struct record r;
        const char *text;
        char *copy;

        if (connection_call(c, op, &r, NULL, e) < 0)
                return -1;
        text = record_get_text(&r, tag, NULL);
        if (!text)
                return fail(e, ERROR_PROTOCOL, "the daemon's answer lacks its text");
        copy = answer_new(strlen(text) + 1);
        if (!copy)
                return fail(e, ERROR_NO_MEMORY, "no memory for the answer");
        memcpy(copy, text, strlen(text) + 1);
        *ret = copy;
        return 0;
}

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
        return call_sandbox(c, op, ret, e);
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
        struct error inner;

        (void)begin_with_id(c, id);
        if (call_struct(c, OP_GET, sizeof(struct carrel_sandbox), read_sandbox, ret, &inner) == 0)
                return 0;
        if (inner.code != ERROR_NOT_FOUND)
                return answer_fail(e, &inner);
        *ret = NULL;
        return 0;
}

static int
read_sandboxes(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_sandboxes *all = ret;

        return answer_read_items(a, r, sizeof *all->items, read_sandbox, &all->items, &all->count,
                                 e);
}

int
carrel_list(struct carrel *c, struct carrel_sandboxes **ret, struct carrel_error *e)
{
        struct error inner;

        (void)connection_begin(c);
        return call_struct(c, OP_LIST, sizeof(struct carrel_sandboxes), read_sandboxes, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_stop(struct carrel *c, const char *id, int *ret_existed, struct carrel_error *e)
{
        (void)begin_with_id(c, id);
        return call_existed(c, OP_STOP, ret_existed, e);
}

struct stopped {
        struct carrel_lefts left; /* first: the caller gets only this */
        int existed;
};

static int
read_stopped(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct stopped *s = ret;

        s->existed = record_get_bool(r, FIELD_EXISTED, 0);
        return answer_read_lefts(a, r, &s->left, e);
}

int
carrel_stop_and_list(struct carrel *c, const char *id, int *ret_existed, struct carrel_lefts **ret,
                     struct carrel_error *e)
{
        struct stopped *s = NULL;
        struct error inner;

        (void)begin_with_id(c, id);
        if (call_struct(c, OP_STOP, sizeof *s, read_stopped, &s, &inner) < 0 &&
            (inner.code != ERROR_NOT_FOUND || (s = answer_new(sizeof *s)) == NULL))
                return answer_fail(e, &inner);
        if (ret_existed)
                /* lint: on success call_struct() has given it, and answer_new() is checked */
                *ret_existed = s->existed;
        *ret = &s->left;
        return 0;
}

int
carrel_extend_timeout(struct carrel *c, const char *id, uint64_t duration_ms, const char *key,
                      struct carrel_sandbox **ret, struct carrel_error *e)
{
        struct record_writer *w = begin_with_id(c, id);

        record_uint(w, FIELD_DURATION, duration_ms);
        record_text(w, FIELD_KEY, key);
        return call_sandbox(c, OP_EXTEND, ret, e);
}

int
carrel_set_network(struct carrel *c, const char *id, const char *const *egress, size_t count,
                   struct carrel_sandbox **ret, struct carrel_error *e)
{
        struct record_writer *w = begin_with_id(c, id);

        for (size_t i = 0; i < count; i++)
                record_text(w, FIELD_EGRESS, egress[i]);
        return call_sandbox(c, OP_NETWORK, ret, e);
}

static int
read_denials(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_denials *all = ret;

        all->more = record_get_uint(r, FIELD_DENIED_MORE, 0);
        return answer_read_items(a, r, sizeof *all->items, answer_read_denial, &all->items,
                                 &all->count, e);
}

int
carrel_list_denials(struct carrel *c, const char *id, struct carrel_denials **ret,
                    struct carrel_error *e)
{
        struct error inner;

        (void)begin_with_id(c, id);
        return call_struct(c, OP_DENIALS, sizeof(struct carrel_denials), read_denials, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_take_left(struct carrel *c, const char *id, struct carrel_lefts **ret,
                 struct carrel_error *e)
{
        struct error inner;

        (void)begin_with_id(c, id);
        return call_struct(c, OP_LEFT_TAKE, sizeof(struct carrel_lefts), answer_read_lefts, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

static int
read_exec_denials(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_denials *all = ret;

        all->more = record_get_uint(r, FIELD_DENIED_MORE, 0);
        return answer_read_list(a, r, FIELD_DENIED, sizeof *all->items, answer_read_denial,
                                &all->items, &all->count, e);
}

int
carrel_exec_denials(struct carrel *c, const char *id, uint32_t exec, struct carrel_denials **ret,
                    struct carrel_error *e)
{
        struct error inner;

        record_uint(begin_with_id(c, id), FIELD_EXEC, exec);
        return call_struct(c, OP_EXEC_GET, sizeof(struct carrel_denials), read_exec_denials, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_pause(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e)
{
        (void)begin_with_id(c, id);
        return call_sandbox(c, OP_PAUSE, ret, e);
}

int
carrel_resume(struct carrel *c, const char *id, struct carrel_sandbox **ret, struct carrel_error *e)
{
        (void)begin_with_id(c, id);
        return call_sandbox(c, OP_RESUME, ret, e);
}

static int
get_url(struct carrel *c, const char *id, unsigned port, uint16_t field, char **ret,
        struct carrel_error *e)
{
        struct error inner;

        record_uint(begin_with_id(c, id), FIELD_PORT, port);
        if (call_text(c, OP_URL, field, ret, &inner) == 0)
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

        (void)begin_with_id(c, id);
        return call_text(c, OP_INSTRUCTIONS, FIELD_TEXT, ret, &inner) < 0 ? answer_fail(e, &inner)
                                                                          : 0;
}

int
carrel_notify(struct carrel *c, const char *id, const char *event, struct carrel_error *e)
{
        record_text(begin_with_id(c, id), FIELD_EVENT, event);
        return call_sandbox(c, OP_EVENT, NULL, e);
}

/* -- tasks ------------------------------------------------------------------------------------- */

int
carrel_task_begin(struct carrel *c, const char *id, const char *task, uint64_t timeout_ms,
                  struct carrel_error *e)
{
        struct record_writer *w = begin_with_id(c, id);
        struct error inner;

        record_text(w, FIELD_TASK, task);
        record_uint(w, FIELD_TIMEOUT, timeout_ms);
        return connection_call(c, OP_TASK_BEGIN, NULL, NULL, &inner) < 0 ? answer_fail(e, &inner)
                                                                         : 0;
}

int
carrel_task_end(struct carrel *c, const char *id, const char *task, int *ret_existed,
                struct carrel_error *e)
{
        record_text(begin_with_id(c, id), FIELD_TASK, task);
        return call_existed(c, OP_TASK_END, ret_existed, e);
}

/* -- tokens ------------------------------------------------------------------------------------ */

int
carrel_token_create(struct carrel *c, const char *owner, const char *scope,
                    struct carrel_token **ret, struct carrel_error *e)
{
        struct record_writer *w = connection_begin(c);
        struct error inner;

        record_text(w, FIELD_OWNER, owner);
        record_text(w, FIELD_SCOPE, scope);
        return call_struct(c, OP_TOKEN_CREATE, sizeof(struct carrel_token), read_token, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

static int
read_tokens(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_tokens *all = ret;

        return answer_read_items(a, r, sizeof *all->items, read_token, &all->items, &all->count, e);
}

int
carrel_token_list(struct carrel *c, struct carrel_tokens **ret, struct carrel_error *e)
{
        struct error inner;

        (void)connection_begin(c);
        return call_struct(c, OP_TOKEN_LIST, sizeof(struct carrel_tokens), read_tokens, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_token_revoke(struct carrel *c, const char *token_id, int *ret_existed,
                    struct carrel_error *e)
{
        (void)begin_with_id(c, token_id);
        return call_existed(c, OP_TOKEN_REVOKE, ret_existed, e);
}

/* -- volumes ----------------------------------------------------------------------------------- */

static int
read_volume(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_volume *volume = ret;

        volume->name = answer_text(a, r, FIELD_NAME);
        volume->size = record_get_uint(r, FIELD_SIZE, 0);
        volume->file_count = record_get_uint(r, FIELD_FILE_COUNT, 0);
        volume->is_partial = record_get_bool(r, FIELD_PARTIAL, false);
        volume->used_at_ms = record_get_uint(r, FIELD_USED_AT, 0);
        volume->used_by = answer_text(a, r, FIELD_USED_BY);
        if (answer_check(a, e) < 0)
                return -1;
        return volume->name ? 0
                            : fail(e, ERROR_PROTOCOL, "the daemon's answer lacks a volume's name");
}

static int
read_volumes(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_volumes *all = ret;

        return answer_read_items(a, r, sizeof *all->items, read_volume, &all->items, &all->count,
                                 e);
}

int
carrel_volume_create(struct carrel *c, const char *name, struct carrel_volume **ret,
                     struct carrel_error *e)
{
        struct error inner;

        record_text(connection_begin(c), FIELD_NAME, name);
        return call_struct(c, OP_VOLUME_CREATE, sizeof(struct carrel_volume), read_volume, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_volume_list(struct carrel *c, struct carrel_volumes **ret, struct carrel_error *e)
{
        struct error inner;

        (void)connection_begin(c);
        return call_struct(c, OP_VOLUME_LIST, sizeof(struct carrel_volumes), read_volumes, ret,
                           &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}

int
carrel_volume_remove(struct carrel *c, const char *name, int *ret_existed, struct carrel_error *e)
{
        record_text(connection_begin(c), FIELD_NAME, name);
        return call_existed(c, OP_VOLUME_REMOVE, ret_existed, e);
}

/* -- the daemon -------------------------------------------------------------------------------- */

static int
read_info(struct arena *a, const struct record *r, void *ret, struct error *e)
{
        struct carrel_info *info = ret;

        info->version = answer_text(a, r, FIELD_VERSION);
        info->runtimes = answer_texts(a, r, FIELD_RUNTIMES, &info->runtime_count);
        info->sandboxes = record_get_uint(r, FIELD_SANDBOXES, 0);
        info->pool = record_get_uint(r, FIELD_POOL, 0);
        if (answer_check(a, e) < 0)
                return -1;
        return info->version ? 0 : fail(e, ERROR_PROTOCOL, "the daemon's answer lacks its version");
}

int
carrel_info(struct carrel *c, struct carrel_info **ret, struct carrel_error *e)
{
        struct error inner;

        (void)connection_begin(c);
        return call_struct(c, OP_INFO, sizeof(struct carrel_info), read_info, ret, &inner) < 0
                       ? answer_fail(e, &inner)
                       : 0;
}
