/*
 * api/operation.h - one table of all operations of the daemon.
 *
 * Its rows are in api/operation.def, the records of answers in api/types.def, their fields in
 * api/fields.def. Both sides check calls against it.
 */
#ifndef CARREL_API_OPERATION_H
#define CARREL_API_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/record.h"

enum field_type {
        FIELD_TYPE_TEXT,
        FIELD_TYPE_UINT,
        FIELD_TYPE_INT,
        FIELD_TYPE_BOOL,
        FIELD_TYPE_BYTES,
        FIELD_TYPE_NESTED,
        FIELD_TYPE_TREE,
        FIELD_TYPE_JSON
};

enum field_tag {
#define FIELD(number, name, json, type, help) FIELD_##name = (number),
#include "api/fields.def"
#undef FIELD
        FIELD_TAG_MAX
};

struct api_field {
        uint16_t tag;
        const char *name; /* in JSON */
        enum field_type type;
        const char *help;
};

/* Returns the field with this tag or JSON name, or NULL. */
const struct api_field *api_field(uint16_t tag);
const struct api_field *api_field_find(const char *name);

/* Returns the type of the entries of this field in a record. */
enum record_type api_record_type(const struct api_field *f);

enum operation_code {
#define OPERATION(number, NAME, ...) OP_##NAME = (number),
#include "api/operation.def"
#undef OPERATION
};

enum { /* the numbers of the rows have gaps */
       OPERATIONS_COUNT = 0
#define OPERATION(...) +1
#include "api/operation.def"
#undef OPERATION
};

enum param_flag {
        PARAM_REQUIRED = 1u << 0,
        PARAM_REPEATED = 1u << 1,
        /* where REST carries it; default: in the body */
        PARAM_IN_PATH = 1u << 2,
        PARAM_IN_QUERY = 1u << 3,
        /* set by the door; clients cannot set it */
        PARAM_DOOR_ONLY = 1u << 4,
        /* for a list in an answer: omitted if empty */
        PARAM_SPARSE = 1u << 5,
        PARAM_IN_HEADER = 1u << 6, /* REST carries it in a header: Last-Event-ID */
        PARAM_PLACES = PARAM_IN_PATH | PARAM_IN_QUERY | PARAM_IN_HEADER,
};

struct api_param {
        uint16_t tag;
        uint16_t flags;
        uint64_t min,
                max; /* of a UINT; for a TEXT its length in bytes; 0, 0: the bounds of the type */
};

enum operation_flag {
        /* changes nothing: allowed with a token of scope "read" if CONTEXT is also set */
        OPERATION_READ = 1u << 0,
        /* the only operations that a read-only token allows: get, list, metrics */
        OPERATION_CONTEXT = 1u << 1,
        OPERATION_CHANNEL = 1u << 2,  /* its reply carries a channel (wire/channel.h) */
        OPERATION_SOCKET = 1u << 3,   /* its reply carries a connected socket */
        OPERATION_EVENTS = 1u << 4,   /* its reply is followed by events until it is cancelled */
        OPERATION_ADMIN = 1u << 5,    /* only for the user that runs the daemon */
        OPERATION_INTERNAL = 1u << 6, /* used by the door itself: has no route */
        OPERATION_IDEMPOTENT = 1u << 7,
        OPERATION_OUTPUT = 1u << 8, /* REST also answers with the events of an exec */
        OPERATION_RAW = 1u << 9,    /* REST also answers with raw bytes */
        OPERATION_FILES =
                1u << 10, /* its body has files, whose bytes do not pass through the keeper */
        OPERATION_APPROVER = 1u << 11, /* also allowed with a token of scope "approve" */
        /* with OPERATION_ADMIN: also allowed with a token of the user that runs the daemon */
        OPERATION_OPERATOR = 1u << 12,
        /* REST answers with text/plain, unless Accept names application/json */
        OPERATION_PLAIN = 1u << 13,
};

/* A record of an answer. */
struct api_type {
        const char *name; /* its component in OpenAPI; NULL: none */
        uint16_t nested;  /* the field whose entries are such records; 0: none */
        const struct api_param *members;
        size_t count;
};

#define TYPE(name, ...) extern const struct api_type api_type_##name;
#include "api/types.def"
#undef TYPE

/* Returns all types in order. `*at` starts at 0. NULL at the end. */
const struct api_type *api_type_next(size_t *at);

/* Returns the type of the entries of this field, or NULL. */
const struct api_type *api_type_nested(uint16_t tag);

struct operation {
        enum operation_code code;
        const char *name;           /* "create", "exec.start" */
        const char *method, *route; /* "POST", "/v1/sandboxes/{id}/execs" */
        int status;                 /* of REST, on success */
        unsigned flags;
        const struct api_param *params;
        size_t param_count;
        const struct api_type *result; /* NULL: it answers nothing */
        const struct api_type *item;   /* of FIELD_ITEMS, for a list; else NULL */
        const char *help;              /* one sentence */
};

/* Returns the operation with this code or name, or NULL. */
const struct operation *operation(enum operation_code code);
const struct operation *operation_find(const char *name);

/* Returns all operations in order. `*at` starts at 0. NULL at the end. */
const struct operation *operation_next(size_t *at);

/*
 * Checks that the record fits the operation: each entry is known, of its type and within bounds.
 * All required entries must be present, and only repeated ones may occur twice. Errors:
 * ERROR_INVALID_ARGUMENT with the field's name as the place. Pure.
 */
int operation_check(const struct operation *o, const struct record *r, int is_door,
                    struct error *e);

/*
 * Writes the error for a value that is not a number, or is out of bounds. It has the parameter's
 * name as the place, both bounds, and `given` as the caller wrote it. Always returns -1.
 */
int api_number_wrong(const struct api_param *p, const char *reason, const char *given,
                     struct error *e);

/*
 * Announces a file of a write (FIELD_WRITES). A path that is no UTF-8 is not announced, and the
 * write is refused where a validator must see it.
 */
void api_announce_file(struct record_writer *w, uint64_t size, const char *path, size_t path_len);

/*
 * After the last of them; `before`: the writer before the first. If they do not fit in one call,
 * with room for its other fields, none is announced.
 */
void api_announce_end(struct record_writer *w, const struct record_writer *before);

/*
 * A rule that names `content` must see what a write puts into its files. The call without it is
 * refused with this reason. Its caller repeats it with FIELD_INPUT: all that its channel would
 * carry (wire/file.h), complete, at most API_CONTENT_MAX bytes. The keeper then sends it to the
 * sandbox.
 */
#define API_CONTENT_ASKED "validator_content"
enum { API_CONTENT_MAX = 64 << 10 };

/* Is this error that refusal? */
bool api_content_is_asked(const struct error *e);

/* Writes an error as a record, and reads it back. Never fails: text that does not fit is cut. */
void api_error_write(struct record_writer *w, const struct error *e);
void api_error_read(const struct record *r, struct error *ret);

#endif
