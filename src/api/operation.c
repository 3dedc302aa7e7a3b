/*
 * api/operation.c - the tables of operations, records and fields.
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

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* -- the records of answers -------------------------------------------------------------------- */

#define MUST(field)                                 \
        {                                           \
                FIELD_##field, PARAM_REQUIRED, 0, 0 \
        }
#define MAY(field)                     \
        {                              \
                FIELD_##field, 0, 0, 0 \
        }
#define LIST(field)                                 \
        {                                           \
                FIELD_##field, PARAM_REPEATED, 0, 0 \
        }
#define SOME(field)                                                \
        {                                                          \
                FIELD_##field, PARAM_REPEATED | PARAM_SPARSE, 0, 0 \
        }

#define PARAMS(...)                \
        (const struct api_param[]) \
        {                          \
                __VA_ARGS__        \
        }
#define COUNTED(...) PARAMS(__VA_ARGS__), COUNT(PARAMS(__VA_ARGS__))

#define RESULTS_TEXT(TAG) MAY(TAG)
#define RESULTS_UINT(TAG) MAY(TAG)
#define RESULTS_ENDING(TAG)                                                                   \
        MAY(OUTCOME), MAY(EXIT_CODE), MAY(SIGNAL), MAY(DURATION), MAY(CPU), MAY(MEMORY_PEAK), \
                SOME(LIMITS_REACHED), MAY(STDOUT_BYTES), MAY(STDERR_BYTES), MAY(DROPPED),     \
                MAY(SANITIZED)
static const struct api_param event_members[] = {
        MUST(EVENT), MAY(AT), MAY(ID), MAY(STATUS), MAY(CAUSE),
#define MEMBER(TAG, member, TYPE) RESULTS_##TYPE(TAG),
#include "event/event.def"
};

#define TYPE_OF(name, component, nested, members) \
        const struct api_type api_type_##name = { component, nested, members, COUNT(members) };
#define TYPE(name, component, nested, ...) \
        const struct api_type api_type_##name = { component, nested, COUNTED(__VA_ARGS__) };
#include "api/types.def"
#undef TYPE

static const struct api_type *const types[] = {
#define TYPE(name, ...) &api_type_##name,
#include "api/types.def"
#undef TYPE
};

/* -- the operations ---------------------------------------------------------------------------- */

#define ANY 0, 0
#define MAX63 0, 63
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
#define KEY_IN_BODY                 \
        {                           \
                FIELD_KEY, 0, 1, 63 \
        }
#define PAGE_IN_QUERY                                 \
        { FIELD_LIMIT, PARAM_IN_QUERY, NUMBER_LIST }, \
        {                                             \
                FIELD_CURSOR, PARAM_IN_QUERY, 1, 64   \
        }
#define CREATE_PARAMS                                                                             \
        { FIELD_NAME, 0, 1, 64 }, { FIELD_MANIFEST, 0, ANY }, { FIELD_MANIFEST_NAME, 0, 0, 255 }, \
                { FIELD_WORKSPACE, 0, 1, 4095 }, { FIELD_READS, PARAM_REPEATED, ANY },            \
                { FIELD_RUNTIME, 0, 1, 64 }, { FIELD_TIMEOUT, 0, NUMBER_DURATION_MS },            \
                { FIELD_DELETE_AT, 0, NUMBER_MOMENT_MS }, { FIELD_ENV, PARAM_REPEATED, ANY },     \
                { FIELD_PORTS, PARAM_REPEATED, NUMBER_PORT }, { FIELD_METADATA, 0, 0, 65536 },    \
                { FIELD_START, 0, ANY }, { FIELD_RISK, 0, 1, 8 }, KEY_IN_BODY
/* What a command takes beside its words. */
#define EXEC_PARAMS                                                                             \
        { FIELD_CWD, 0, 1, 4095 }, { FIELD_ENV, PARAM_REPEATED, ANY },                          \
                { FIELD_TIMEOUT, 0, NUMBER_DURATION_MS }, { FIELD_CPU, 0, NUMBER_DURATION_MS }, \
                { FIELD_BACKGROUND, 0, ANY }, { FIELD_STDIN_OPEN, 0, ANY },                     \
                { FIELD_INPUT, 0, 0, 65536 }, { FIELD_TTY, 0, ANY },                            \
                { FIELD_ROWS, 0, NUMBER_TERMINAL_SIDE },                                        \
                { FIELD_COLUMNS, 0, NUMBER_TERMINAL_SIDE },                                     \
                { FIELD_KEEP_BYTES, 0, NUMBER_KEPT_BYTES },                                     \
                { FIELD_OUTPUT_BYTES, 0, NUMBER_BYTES }, { FIELD_LOSSLESS, 0, ANY },            \
                { FIELD_KILL_REST, 0, ANY }, { FIELD_WAIT_PORTS, 0, ANY },                      \
                { FIELD_WAIT_PORTS_MS, 0, NUMBER_DURATION_MS }, { FIELD_TASK, 0, 1, 63 },       \
                KEY_IN_BODY,                                                                    \
        {                                                                                       \
                FIELD_CLIENT, PARAM_DOOR_ONLY, 1, 62                                            \
        }

#define TAKES(...) COUNTED(__VA_ARGS__)
#define TAKES_NOTHING NULL, 0
#define GIVES(type) &api_type_##type, NULL
#define LISTS(type, item) &api_type_##type, &api_type_##item
#define GIVES_NOTHING NULL, NULL

static const struct operation operations[] = {
#define OPERATION(number, NAME, function, name, method, route, status, flags, takes, gives, help) \
        { OP_##NAME, name, method, route, status, flags, takes, gives, help },
#include "api/operation.def"
#undef OPERATION
};

const struct api_type *
api_type_next(size_t *at)
{
        return *at < COUNT(types) ? types[(*at)++] : NULL;
}

const struct api_type *
api_type_nested(uint16_t tag)
{
        for (size_t i = 0; i < COUNT(types); i++)
                if (types[i]->nested == tag && tag != 0)
                        return types[i];
        return NULL;
}

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
