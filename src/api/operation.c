/*
 * api/operation.c - the table of operations and fields.
 *
 * Room: api (deciding, pure). Touches: mem.
 * Theory: each fact is stated once. The order of rows is the order of the manual.
 */
#include "api/operation.h"

#include <string.h>

#include "base/numbers.h"
#include "wire/file.h"

static const struct api_field fields[] = {
#define FIELD(number, name, json, type, help) { (number), json, FIELD_TYPE_##type, help },
#include "api/fields.def"
#undef FIELD
};

#define MAX63 0, 63
#define ANY 0, 0

/* -- result members ---------------------------------------------------------------------------- */

static const struct api_param sandbox_results[] = {
        { FIELD_ID, PARAM_REQUIRED, ANY },
        { FIELD_NAME, 0, ANY },
        { FIELD_STATUS, PARAM_REQUIRED, ANY },
        { FIELD_CREATED_AT, PARAM_REQUIRED, ANY },
        { FIELD_TIMEOUT, 0, ANY },
        { FIELD_DELETE_AT, 0, ANY },
        { FIELD_OWNER, 0, ANY },
        { FIELD_PROVIDER, 0, ANY },
        { FIELD_RUNTIME, 0, ANY },
        { FIELD_WORKSPACE, 0, ANY },
        { FIELD_DISK, 0, ANY },
        { FIELD_DISK_AT, 0, ANY },
        { FIELD_DISK_MB, 0, ANY },
        { FIELD_PORTS, PARAM_REPEATED, ANY },
        { FIELD_READ_ONLY, 0, ANY },
        { FIELD_CAUSE, 0, ANY },
        { FIELD_METADATA, 0, ANY },
        { FIELD_WARNINGS, PARAM_REPEATED, ANY },
        { FIELD_LEFT_BEHIND, PARAM_REPEATED | PARAM_SPARSE, ANY },
        { FIELD_LEFT_MORE, 0, ANY },
};
static const struct api_param left_results[] = {
        { FIELD_LEFT_BEHIND, PARAM_REPEATED | PARAM_SPARSE, ANY },
        { FIELD_LEFT_MORE, 0, ANY },
};
static const struct api_param stop_results[] = {
        { FIELD_EXISTED, PARAM_REQUIRED, ANY },
        { FIELD_LEFT_BEHIND, PARAM_REPEATED | PARAM_SPARSE, ANY },
        { FIELD_LEFT_MORE, 0, ANY },
};
static const struct api_param exec_results[] = {
        { FIELD_EXEC, PARAM_REQUIRED, ANY },
        { FIELD_COMMAND, 0, ANY },
        { FIELD_STATE, PARAM_REQUIRED, ANY },
        { FIELD_PID, 0, ANY },
        { FIELD_TASK, 0, ANY },
        { FIELD_KEY, 0, ANY },
        { FIELD_BACKGROUND, 0, ANY },
        { FIELD_STARTED_AT, 0, ANY },
        { FIELD_TIMEOUT, 0, ANY },
        { FIELD_TIMEOUT_BY, 0, ANY },
        { FIELD_OUTCOME, 0, ANY },
        { FIELD_EXIT_CODE, 0, ANY },
        { FIELD_SIGNAL, 0, ANY },
        { FIELD_DURATION, 0, ANY },
        { FIELD_CPU, 0, ANY },
        { FIELD_MEMORY_PEAK, 0, ANY },
        { FIELD_LIMITS_REACHED, PARAM_REPEATED | PARAM_SPARSE, ANY },
        { FIELD_STDOUT, 0, ANY },
        { FIELD_STDERR, 0, ANY },
        { FIELD_STDOUT_BYTES, 0, ANY },
        { FIELD_STDERR_BYTES, 0, ANY },
        { FIELD_DROPPED, 0, ANY },
        { FIELD_STDOUT_OFFSET, 0, ANY },
        { FIELD_STDERR_OFFSET, 0, ANY },
        { FIELD_DENIED, PARAM_REPEATED | PARAM_SPARSE, ANY },
        { FIELD_DENIED_MORE, 0, ANY },
        { FIELD_PORT, 0, ANY },
};
static const struct api_param entry_results[] = {
        { FIELD_PATH, PARAM_REQUIRED, ANY },
        { FIELD_KIND, PARAM_REQUIRED, ANY },
        { FIELD_SIZE, 0, ANY },
        { FIELD_MODE, 0, ANY },
        { FIELD_MODIFIED_AT, 0, ANY },
        { FIELD_TARGET, 0, ANY },
};
static const struct api_param items_results[] = { { FIELD_ITEMS, PARAM_REPEATED, ANY } };
static const struct api_param page_results[] = { { FIELD_ITEMS, PARAM_REPEATED, ANY },
                                                 { FIELD_NEXT_CURSOR, 0, ANY } };
static const struct api_param denials_results[] = { { FIELD_ITEMS, PARAM_REPEATED, ANY },
                                                    { FIELD_DENIED_MORE, 0, ANY },
                                                    { FIELD_NEXT_CURSOR, 0, ANY } };
static const struct api_param existed_results[] = { { FIELD_EXISTED, PARAM_REQUIRED, ANY } };
static const struct api_param url_results[] = { { FIELD_URL, PARAM_REQUIRED, ANY },
                                                { FIELD_BROWSER_URL, 0, ANY },
                                                { FIELD_PORT, 0, ANY },
                                                { FIELD_TOKEN, 0, ANY } };
static const struct api_param text_results[] = { { FIELD_TEXT, PARAM_REQUIRED, ANY } };
static const struct api_param owner_results[] = { { FIELD_OWNER, 0, ANY } };
static const struct api_param token_results[] = {
        { FIELD_ID, PARAM_REQUIRED, ANY }, { FIELD_TOKEN, 0, ANY },      { FIELD_OWNER, 0, ANY },
        { FIELD_SCOPE, 0, ANY },           { FIELD_CREATED_AT, 0, ANY },
};
static const struct api_param volume_results[] = {
        { FIELD_NAME, PARAM_REQUIRED, ANY }, { FIELD_SIZE, 0, ANY },
        { FIELD_FILE_COUNT, 0, ANY },        { FIELD_PARTIAL, 0, ANY },
        { FIELD_USED_AT, 0, ANY },           { FIELD_USED_BY, 0, ANY },
};
static const struct api_param info_results[] = {
        { FIELD_VERSION, PARAM_REQUIRED, ANY },
        { FIELD_RUNTIMES, PARAM_REPEATED, ANY },
        { FIELD_SANDBOXES, 0, ANY },
        { FIELD_POOL, 0, ANY },
};
static const struct api_param event_results[] = {
        { FIELD_EVENT, PARAM_REQUIRED, ANY },
        { FIELD_AT, 0, ANY },
        { FIELD_ID, 0, ANY },
        { FIELD_EXEC, 0, ANY },
        { FIELD_STATUS, 0, ANY },
        { FIELD_CAUSE, 0, ANY },
        { FIELD_OUTCOME, 0, ANY },
        { FIELD_EXIT_CODE, 0, ANY },
        { FIELD_SIGNAL, 0, ANY },
        { FIELD_DURATION, 0, ANY },
        { FIELD_CPU, 0, ANY },
        { FIELD_MEMORY_PEAK, 0, ANY },
        { FIELD_LIMITS_REACHED, PARAM_REPEATED | PARAM_SPARSE, ANY },
        { FIELD_STDOUT_BYTES, 0, ANY },
        { FIELD_STDERR_BYTES, 0, ANY },
        { FIELD_DROPPED, 0, ANY },
        { FIELD_STDOUT, 0, ANY },
        { FIELD_STDERR, 0, ANY },
        { FIELD_SLUG, 0, ANY },
        { FIELD_ACTOR, 0, ANY },
        { FIELD_PURPOSE, 0, ANY },
        { FIELD_GRANTED_BY, 0, ANY },
        { FIELD_HOST_PATH, 0, ANY },
        { FIELD_KEPT_AT, 0, ANY },
        { FIELD_REASON, 0, ANY },
        { FIELD_HOST, 0, ANY },
        { FIELD_PORT, 0, ANY },
        { FIELD_ADDRESS, 0, ANY },
        { FIELD_SAID, 0, ANY },
        { FIELD_COUNT, 0, ANY },
        { FIELD_MESSAGE, 0, ANY },
        { FIELD_EVENT_ID, 0, ANY },
};

/* -- call parameters --------------------------------------------------------------------------- */

#define ID_IN_PATH                                              \
        {                                                       \
                FIELD_ID, PARAM_REQUIRED | PARAM_IN_PATH, 1, 64 \
        }
#define EXEC_IN_PATH                                                    \
        {                                                               \
                FIELD_EXEC, PARAM_REQUIRED | PARAM_IN_PATH, NUMBER_EXEC \
        }
#define PATH_IN_QUERY                                                \
        {                                                            \
                FIELD_PATH, PARAM_REQUIRED | PARAM_IN_QUERY, 1, 4095 \
        }
#define PATH_IN_BODY                                \
        {                                           \
                FIELD_PATH, PARAM_REQUIRED, 1, 4095 \
        }

static const struct api_param create_params[] = {
        { FIELD_NAME, 0, 1, 64 },
        { FIELD_MANIFEST, 0, ANY },
        { FIELD_MANIFEST_NAME, 0, 0, 255 },
        { FIELD_WORKSPACE, 0, 1, 4095 },
        { FIELD_READS, PARAM_REPEATED, ANY },
        { FIELD_RUNTIME, 0, 1, 64 },
        { FIELD_TIMEOUT, 0, NUMBER_DURATION_MS },
        { FIELD_DELETE_AT, 0, NUMBER_MOMENT_MS },
        { FIELD_ENV, PARAM_REPEATED, ANY },
        { FIELD_PORTS, PARAM_REPEATED, NUMBER_PORT },
        { FIELD_METADATA, 0, 0, 65536 },
        { FIELD_START, 0, ANY },
        { FIELD_KEY, 0, 1, 63 },
};
#define PAGE_IN_QUERY                                 \
        { FIELD_LIMIT, PARAM_IN_QUERY, NUMBER_LIST }, \
        {                                             \
                FIELD_CURSOR, PARAM_IN_QUERY, 1, 64   \
        }
static const struct api_param page_params[] = { PAGE_IN_QUERY };
static const struct api_param id_page_params[] = { ID_IN_PATH, PAGE_IN_QUERY };
static const struct api_param id_params[] = { ID_IN_PATH };
static const struct api_param extend_params[] = {
        ID_IN_PATH, { FIELD_DURATION, PARAM_REQUIRED, NUMBER_DURATION_MS }, { FIELD_KEY, 0, 1, 63 }
};
static const struct api_param url_params[] = {
        ID_IN_PATH, { FIELD_PORT, PARAM_REQUIRED | PARAM_IN_PATH, NUMBER_PORT }
};
static const struct api_param event_params[] = {
        { FIELD_ID, PARAM_IN_PATH | PARAM_REQUIRED, 1, 64 }, { FIELD_EVENT, PARAM_REQUIRED, 1, 128 }
};
static const struct api_param task_params[] = { ID_IN_PATH,
                                                { FIELD_TASK, PARAM_REQUIRED, 1, 63 },
                                                { FIELD_TIMEOUT, PARAM_REQUIRED,
                                                  NUMBER_DURATION_MS } };
static const struct api_param task_end_params[] = {
        ID_IN_PATH, { FIELD_TASK, PARAM_REQUIRED | PARAM_IN_PATH, 1, 63 }
};
static const struct api_param exec_params[] = {
        ID_IN_PATH,
        { FIELD_ARGV, PARAM_REPEATED, ANY },
        { FIELD_COMMAND, 0, 1, 131072 },
        { FIELD_CWD, 0, 1, 4095 },
        { FIELD_ENV, PARAM_REPEATED, ANY },
        { FIELD_TIMEOUT, 0, NUMBER_DURATION_MS },
        { FIELD_CPU, 0, NUMBER_DURATION_MS },
        { FIELD_BACKGROUND, 0, ANY },
        { FIELD_STDIN_OPEN, 0, ANY },
        { FIELD_INPUT, 0, 0, 65536 },
        { FIELD_TTY, 0, ANY },
        { FIELD_ROWS, 0, NUMBER_TERMINAL_SIDE },
        { FIELD_COLUMNS, 0, NUMBER_TERMINAL_SIDE },
        { FIELD_KEEP_BYTES, 0, NUMBER_KEPT_BYTES },
        { FIELD_OUTPUT_BYTES, 0, NUMBER_BYTES },
        { FIELD_LOSSLESS, 0, ANY },
        { FIELD_KILL_REST, 0, ANY },
        { FIELD_WAIT_PORTS, 0, ANY },
        { FIELD_WAIT_PORTS_MS, 0, NUMBER_DURATION_MS },
        { FIELD_TASK, 0, 1, 63 },
        { FIELD_KEY, 0, 1, 63 },
        { FIELD_CLIENT, PARAM_DOOR_ONLY, 1, 62 },
};
static const struct api_param exec_id_params[] = { ID_IN_PATH, EXEC_IN_PATH };
static const struct api_param exec_get_params[] = {
        ID_IN_PATH,
        EXEC_IN_PATH,
        { FIELD_WAIT_PORTS, PARAM_IN_QUERY, ANY },
        { FIELD_WAIT_PORTS_MS, PARAM_IN_QUERY, NUMBER_DURATION_MS },
};
static const struct api_param attach_params[] = {
        ID_IN_PATH,
        EXEC_IN_PATH,
        { FIELD_STDOUT_OFFSET, PARAM_IN_QUERY, NUMBER_BYTES },
        { FIELD_STDERR_OFFSET, PARAM_IN_QUERY, NUMBER_BYTES },
        { FIELD_LOSSLESS, PARAM_IN_QUERY, ANY },
        { FIELD_KEEP_BYTES, PARAM_IN_QUERY, NUMBER_KEPT_BYTES },
};
static const struct api_param signal_params[] = { ID_IN_PATH,
                                                  EXEC_IN_PATH,
                                                  { FIELD_SIGNAL, PARAM_REQUIRED, NUMBER_SIGNAL } };
static const struct api_param read_params[] = { ID_IN_PATH,
                                                PATH_IN_QUERY,
                                                { FIELD_OFFSET, PARAM_IN_QUERY, NUMBER_BYTES },
                                                { FIELD_LENGTH, PARAM_IN_QUERY, NUMBER_BYTES } };
static const struct api_param write_params[] = { ID_IN_PATH, { FIELD_KEY, 0, 1, 63 } };
static const struct api_param list_params[] = {
        ID_IN_PATH,
        PATH_IN_QUERY,
        { FIELD_DEPTH, PARAM_IN_QUERY, NUMBER_DEPTH },
        { FIELD_LIMIT, PARAM_IN_QUERY, NUMBER_LIST },
        { FIELD_CURSOR, PARAM_IN_QUERY, 2, FILE_AFTER_MAX },
};
static const struct api_param stat_params[] = { ID_IN_PATH, PATH_IN_QUERY };
static const struct api_param mkdir_params[] = {
        ID_IN_PATH, PATH_IN_BODY, { FIELD_MODE, 0, NUMBER_MODE }, { FIELD_RECURSIVE, 0, ANY }
};
static const struct api_param move_params[] = { ID_IN_PATH,
                                                PATH_IN_BODY,
                                                { FIELD_TARGET, PARAM_REQUIRED, 1, 4095 } };
static const struct api_param remove_params[] = { ID_IN_PATH,
                                                  PATH_IN_QUERY,
                                                  { FIELD_RECURSIVE, PARAM_IN_QUERY, ANY } };
static const struct api_param connect_params[] = { { FIELD_ID, 0, 1, 64 },
                                                   { FIELD_PORT, 0, NUMBER_PORT },
                                                   { FIELD_TOKEN, 0, MAX63 } };
static const struct api_param token_params[] = { { FIELD_OWNER, 0, 1, 64 },
                                                 { FIELD_SCOPE, 0, 1, 8 } };
static const struct api_param revoke_params[] = { { FIELD_ID, PARAM_REQUIRED | PARAM_IN_PATH, 1,
                                                    64 } };
static const struct api_param volume_params[] = { { FIELD_NAME, PARAM_REQUIRED, 1, 64 } };
static const struct api_param volume_name_params[] = { { FIELD_NAME, PARAM_REQUIRED | PARAM_IN_PATH,
                                                         1, 64 } };
static const struct api_param network_params[] = { ID_IN_PATH,
                                                   { FIELD_EGRESS, PARAM_REPEATED, 1, 264 } };
static const struct api_param client_params[] = { { FIELD_CLIENT, PARAM_REQUIRED | PARAM_DOOR_ONLY,
                                                    1, 62 } };
static const struct api_param watch_params[] = { { FIELD_ID, PARAM_IN_QUERY, 1, 64 },
                                                 { FIELD_LAST_EVENT, PARAM_IN_HEADER, 1, 64 } };

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TAKES(p) p, COUNT(p)
#define NONE NULL, 0

static const struct operation operations[] = {
        { OP_CREATE, "create", "POST", "/v1/sandboxes", 0, TAKES(create_params),
          TAKES(sandbox_results),
          "Creates a sandbox: checked and planned now, started on first use unless start is "
          "true." },
        { OP_CLAIM, "claim", "POST", "/v1/claims", 0, TAKES(create_params), TAKES(sandbox_results),
          "Takes a ready sandbox out of the pool; an error if none is ready." },
        { OP_LIST, "list", "GET", "/v1/sandboxes", OPERATION_READ | OPERATION_CONTEXT,
          TAKES(page_params), TAKES(page_results), "The caller's sandboxes, oldest first." },
        { OP_GET, "get", "GET", "/v1/sandboxes/{id}", OPERATION_READ | OPERATION_CONTEXT,
          TAKES(id_params), TAKES(sandbox_results), "State of one sandbox." },
        { OP_STOP, "stop", "DELETE", "/v1/sandboxes/{id}", OPERATION_IDEMPOTENT, TAKES(id_params),
          TAKES(stop_results),
          "Stops and deletes a sandbox with all its processes and private files." },
        { OP_EXTEND, "extend", "POST", "/v1/sandboxes/{id}/extend", 0, TAKES(extend_params),
          TAKES(sandbox_results), "Adds to the remaining time of a sandbox." },
        { OP_PAUSE, "pause", "POST", "/v1/sandboxes/{id}/pause", OPERATION_IDEMPOTENT,
          TAKES(id_params), TAKES(sandbox_results),
          "Pauses every process of a sandbox; its timers are not reset." },
        { OP_RESUME, "resume", "POST", "/v1/sandboxes/{id}/resume", OPERATION_IDEMPOTENT,
          TAKES(id_params), TAKES(sandbox_results), "Resumes a paused sandbox." },
        { OP_URL, "url", "GET", "/v1/sandboxes/{id}/ports/{port}", OPERATION_IDEMPOTENT,
          TAKES(url_params), TAKES(url_results),
          "A URL with a token that reaches a declared port." },
        { OP_INSTRUCTIONS, "instructions", "GET", "/v1/sandboxes/{id}/instructions", OPERATION_READ,
          TAKES(id_params), TAKES(text_results),
          "Description of the sandbox for a language model." },
        { OP_EVENT, "event", "POST", "/v1/sandboxes/{id}/events", 0, TAKES(event_params),
          TAKES(sandbox_results),
          "Reports an event to a sandbox; its lifecycle rules decide what follows." },
        { OP_TASK_BEGIN, "task.begin", "POST", "/v1/sandboxes/{id}/tasks", 0, TAKES(task_params),
          NONE, "Begins a task: at its timeout, all its execs are killed." },
        { OP_TASK_END, "task.end", "DELETE", "/v1/sandboxes/{id}/tasks/{task}",
          OPERATION_IDEMPOTENT, TAKES(task_end_params), TAKES(existed_results),
          "Ends a task and kills its running execs." },
        { OP_EXEC, "exec.start", "POST", "/v1/sandboxes/{id}/execs", OPERATION_CHANNEL,
          TAKES(exec_params), TAKES(exec_results), "Runs a command." },
        { OP_EXEC_LIST, "exec.list", "GET", "/v1/sandboxes/{id}/execs", OPERATION_READ,
          TAKES(id_page_params), TAKES(page_results),
          "Execs of a sandbox: the running ones, and ended ones whose output is kept." },
        { OP_EXEC_GET, "exec.get", "GET", "/v1/sandboxes/{id}/execs/{exec}", OPERATION_READ,
          TAKES(exec_get_params), TAKES(exec_results), "State of one exec." },
        { OP_EXEC_ATTACH, "exec.attach", "GET", "/v1/sandboxes/{id}/execs/{exec}/output",
          OPERATION_READ | OPERATION_CHANNEL, TAKES(attach_params), TAKES(exec_results),
          "Output of an exec from an offset to its end." },
        { OP_EXEC_SIGNAL, "exec.signal", "POST", "/v1/sandboxes/{id}/execs/{exec}/signal", 0,
          TAKES(signal_params), NONE, "Sends a signal to the process group of an exec." },
        { OP_EXEC_KILL, "exec.kill", "DELETE", "/v1/sandboxes/{id}/execs/{exec}",
          OPERATION_IDEMPOTENT, TAKES(exec_id_params), TAKES(existed_results),
          "Kills the whole process tree of an exec; returns whether it was still running." },
        { OP_FILE_READ, "file.read", "GET", "/v1/sandboxes/{id}/files",
          OPERATION_READ | OPERATION_CHANNEL, TAKES(read_params), NONE,
          "Content of a regular file." },
        { OP_FILE_WRITE, "file.write", "POST", "/v1/sandboxes/{id}/files", OPERATION_CHANNEL,
          TAKES(write_params), NONE,
          "Writes files, each completely or not at all; all are received before the first is "
          "written." },
        { OP_FILE_LIST, "file.list", "GET", "/v1/sandboxes/{id}/files/list",
          OPERATION_READ | OPERATION_CHANNEL, TAKES(list_params), TAKES(page_results),
          "Entries of a directory; with limit or cursor in the order of names." },
        { OP_FILE_STAT, "file.stat", "GET", "/v1/sandboxes/{id}/files/stat",
          OPERATION_READ | OPERATION_CHANNEL, TAKES(stat_params), TAKES(entry_results),
          "Kind, size and mode of a path; links are not followed." },
        { OP_FILE_MKDIR, "file.mkdir", "POST", "/v1/sandboxes/{id}/files/mkdir", OPERATION_CHANNEL,
          TAKES(mkdir_params), NONE, "Creates a directory." },
        { OP_FILE_MOVE, "file.move", "POST", "/v1/sandboxes/{id}/files/move", OPERATION_CHANNEL,
          TAKES(move_params), NONE, "Renames a file or directory." },
        { OP_FILE_REMOVE, "file.remove", "DELETE", "/v1/sandboxes/{id}/files",
          OPERATION_CHANNEL | OPERATION_IDEMPOTENT, TAKES(remove_params), TAKES(existed_results),
          "Removes a file or directory." },
        { OP_PORT_CONNECT, "port.connect", NULL, NULL, OPERATION_INTERNAL | OPERATION_SOCKET,
          TAKES(connect_params), TAKES(owner_results),
          "A connection to a declared port, with the token of the port." },
        { OP_TOKEN_CREATE, "token.create", "POST", "/v1/tokens", OPERATION_ADMIN,
          TAKES(token_params), TAKES(token_results),
          "Creates a token; its value is only in this response." },
        { OP_TOKEN_LIST, "token.list", "GET", "/v1/tokens", OPERATION_ADMIN | OPERATION_READ,
          TAKES(page_params), TAKES(page_results), "Tokens, without their values." },
        { OP_TOKEN_REVOKE, "token.revoke", "DELETE", "/v1/tokens/{id}",
          OPERATION_ADMIN | OPERATION_IDEMPOTENT, TAKES(revoke_params), TAKES(existed_results),
          "Revokes a token." },
        { OP_VOLUME_CREATE, "volume.create", "POST", "/v1/volumes", OPERATION_IDEMPOTENT,
          TAKES(volume_params), TAKES(volume_results),
          "Creates a volume of the caller; an existing one is not changed." },
        { OP_VOLUME_LIST, "volume.list", "GET", "/v1/volumes", OPERATION_READ, NONE,
          TAKES(items_results), "The caller's volumes." },
        { OP_VOLUME_REMOVE, "volume.remove", "DELETE", "/v1/volumes/{name}", OPERATION_IDEMPOTENT,
          TAKES(volume_name_params), TAKES(existed_results),
          "Removes a volume with its content; refused while a sandbox uses it." },
        { OP_INFO, "info", "GET", "/v1/info", OPERATION_READ, NONE, TAKES(info_results),
          "The daemon's version, runtimes and pool." },
        { OP_WATCH, "watch", "GET", "/v1/events", OPERATION_READ | OPERATION_EVENTS,
          TAKES(watch_params), TAKES(event_results),
          "Stream of events of the caller's sandboxes." },
        { OP_DENIALS, "denials", "GET", "/v1/sandboxes/{id}/denials", OPERATION_READ,
          TAKES(id_page_params), TAKES(denials_results),
          "Refused network requests of its commands, oldest first, with the fix for each: the "
          "first " NUMBER_TEXT(NUMBER_REFUSALS_FIRST) " different things and the last " NUMBER_TEXT(
                  NUMBER_REFUSALS_LAST) "." },
        { OP_LEFT_TAKE, "left.take", "POST", "/v1/sandboxes/{id}/left-behind", 0, TAKES(id_params),
          TAKES(left_results),
          "What commands left behind since the last such call. `carrel exec` prints it; `get` "
          "lists "
          "all of it." },
        { OP_NETWORK, "network", "PUT", "/v1/sandboxes/{id}/network", OPERATION_IDEMPOTENT,
          TAKES(network_params), TAKES(sandbox_results),
          "Replaces its allow list, checked like the first one. All of it is applied, or none. "
          "Connections that are no longer allowed are closed." },
        { OP_CALLER, "caller", NULL, NULL, OPERATION_READ | OPERATION_CONTEXT | OPERATION_INTERNAL,
          NONE, TAKES(owner_results), "The owner of a caller's connection." },
        { OP_CLIENT_HEARD, "client.heard", NULL, NULL,
          OPERATION_READ | OPERATION_CONTEXT | OPERATION_INTERNAL, TAKES(client_params), NONE,
          "Reports that a client is connected, so that its commands keep running." },
};

const struct api_field *
api_field(uint16_t tag)
{
        for (size_t i = 0; i < COUNT(fields); i++)
                if (fields[i].tag == tag)
                        return &fields[i];
        return NULL;
}

const struct api_field *
api_field_find(const char *name)
{
        for (size_t i = 0; i < COUNT(fields); i++)
                if (strcmp(fields[i].name, name) == 0)
                        return &fields[i];
        return NULL;
}

const struct operation *
operation(enum operation_code code)
{
        for (size_t i = 0; i < COUNT(operations); i++)
                if (operations[i].code == code)
                        return &operations[i];
        return NULL;
}

const struct operation *
operation_find(const char *name)
{
        for (size_t i = 0; i < COUNT(operations); i++)
                if (strcmp(operations[i].name, name) == 0)
                        return &operations[i];
        return NULL;
}

const struct operation *
operation_next(size_t *at)
{
        return *at < COUNT(operations) ? &operations[(*at)++] : NULL;
}
