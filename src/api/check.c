/*
 * api/check.c - checks a record against its operation; converts errors to records.
 *
 * Room: api (deciding, pure). Touches: mem.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/operation.h"
#include "text/utf8.h"
#include "wire/file.h"

enum { OTHER_FIELDS = 4096 /* bytes that the caller's identity takes, and more */ };

enum record_type
api_record_type(const struct api_field *f)
{
        static const enum record_type types[] = {
                [FIELD_TYPE_TEXT] = RECORD_TEXT,   [FIELD_TYPE_UINT] = RECORD_UINT,
                [FIELD_TYPE_INT] = RECORD_INT,     [FIELD_TYPE_BOOL] = RECORD_BOOL,
                [FIELD_TYPE_BYTES] = RECORD_BYTES, [FIELD_TYPE_NESTED] = RECORD_NESTED,
                [FIELD_TYPE_TREE] = RECORD_TREE,   [FIELD_TYPE_JSON] = RECORD_JSON,
        };

        return types[f->type];
}

static const struct api_param *
find_param(const struct operation *o, uint16_t tag)
{
        for (size_t i = 0; i < o->param_count; i++)
                if (o->params[i].tag == tag)
                        return &o->params[i];
        return NULL;
}

int
api_number_wrong(const struct api_param *p, const char *reason, const char *given, struct error *e)
{
        const char *name = api_field(p->tag)->name;

        return fail_at(e, ERROR_INVALID_ARGUMENT, name, reason,
                       "%s must be a whole number, %" PRIu64 " to %" PRIu64 ", not %.40s", name,
                       p->min, p->max, given);
}

static int
check_bounds(const struct api_field *f, const struct api_param *p, const struct record_entry *entry,
             struct error *e)
{
        uint64_t value = f->type == FIELD_TYPE_UINT  ? *(const uint64_t *)entry->value
                         : f->type == FIELD_TYPE_INT ? (uint64_t) * (const int64_t *)entry->value
                         : f->type == FIELD_TYPE_TEXT || f->type == FIELD_TYPE_JSON ? entry->len - 1
                                                                                    : entry->len;
        char given[24];

        if ((p->min == 0 && p->max == 0) || f->type == FIELD_TYPE_BOOL ||
            (value >= p->min && value <= p->max))
                return 0;
        if (f->type != FIELD_TYPE_UINT && f->type != FIELD_TYPE_INT)
                return fail_at(e, ERROR_INVALID_ARGUMENT, f->name, "range",
                               "%s must have %" PRIu64 " to %" PRIu64 " bytes, not %" PRIu64,
                               f->name, p->min, p->max, value);
        (void)snprintf(given, sizeof given, f->type == FIELD_TYPE_INT ? "%" PRId64 : "%" PRIu64,
                       value);
        return api_number_wrong(p, "range", given, e);
}

static int
check_entry(const struct operation *o, const struct record_entry *entry, int is_door,
            struct error *e)
{
        const struct api_field *f = api_field(entry->tag);
        const struct api_param *p = find_param(o, entry->tag);

        if (is_door && (entry->tag == FIELD_UID || (entry->tag == FIELD_TOKEN && !p)))
                return 0;
        if (entry->tag == FIELD_APPROVAL_NOW && entry->type == RECORD_BOOL)
                return 0;
        /* what the caller of a write announces: REST and MCP take it from the files themselves */
        if (entry->tag == FIELD_WRITES && entry->type == RECORD_TEXT &&
            (o->flags & OPERATION_FILES) != 0)
                return 0;
        if (entry->tag == FIELD_INPUT && entry->type == RECORD_BYTES &&
            entry->len <= API_CONTENT_MAX && (o->flags & OPERATION_FILES) != 0)
                return 0;
        if (!f || !p || ((p->flags & PARAM_DOOR_ONLY) != 0 && !is_door))
                return fail_at(e, ERROR_INVALID_ARGUMENT, f ? f->name : "", "unknown_field",
                               "%s takes no %s", o->name, f ? f->name : "such field");
        if (entry->type != api_record_type(f))
                return fail_at(e, ERROR_INVALID_ARGUMENT, f->name, "type", "%s is of another type",
                               f->name);
        return check_bounds(f, p, entry, e);
}

static int
check_presence(const struct operation *o, const struct record *r, struct error *e)
{
        for (size_t i = 0; i < o->param_count; i++) {
                size_t at = 0, count = 0;
                struct record_entry entry;

                while (record_next(r, &at, &entry) > 0)
                        count += entry.tag == o->params[i].tag;
                if (count == 0 && (o->params[i].flags & PARAM_REQUIRED) != 0)
                        return fail_at(e, ERROR_INVALID_ARGUMENT, api_field(o->params[i].tag)->name,
                                       "missing", "%s needs %s", o->name,
                                       api_field(o->params[i].tag)->name);
                if (count > 1 && (o->params[i].flags & PARAM_REPEATED) == 0)
                        return fail_at(e, ERROR_INVALID_ARGUMENT, api_field(o->params[i].tag)->name,
                                       "repeated", "%s stands more than once",
                                       api_field(o->params[i].tag)->name);
        }
        return 0;
}

int
operation_check(const struct operation *o, const struct record *r, int is_door, struct error *e)
{
        struct record_entry entry;
        size_t at = 0;

        if (record_check(r) < 0)
                return fail(e, ERROR_PROTOCOL, "the call's record is malformed");
        while (record_next(r, &at, &entry) > 0)
                if (check_entry(o, &entry, is_door, e) < 0)
                        return -1;
        return check_presence(o, r, e);
}

void
api_announce_file(struct record_writer *w, uint64_t size, const char *path, size_t path_len)
{
        char text[FILE_PATH_MAX + 32];

        if (path_len > FILE_PATH_MAX || utf8_valid_len(path, path_len) != path_len)
                return;
        (void)snprintf(text, sizeof text, "%" PRIu64 " %.*s", size, (int)path_len, path);
        record_text(w, FIELD_WRITES, text);
}

void
api_announce_end(struct record_writer *w, const struct record_writer *before)
{
        if (!before->is_broken && (w->is_broken || w->room - w->len < OTHER_FIELDS))
                *w = *before;
}

bool
api_content_is_asked(const struct error *e)
{
        return e->code == ERROR_CAPABILITY_UNAVAILABLE && strcmp(e->reason, API_CONTENT_ASKED) == 0;
}

void
api_error_write(struct record_writer *w, const struct error *e)
{
        record_text(w, FIELD_CODE, error_wire_name(e->code));
        if (e->path[0] != '\0')
                record_text(w, FIELD_AT_PATH, e->path);
        if (e->reason[0] != '\0')
                record_text(w, FIELD_REASON, e->reason);
        record_text(w, FIELD_MESSAGE, e->message);
        record_text(w, FIELD_HINT, error_hint_text(e));
        if (e->line > 0) {
                record_uint(w, FIELD_LINE, e->line);
                record_uint(w, FIELD_COLUMN, e->column);
        }
}

static void
take(char *out, size_t room, const char *text)
{
        (void)snprintf(out, room, "%s", text ? text : "");
}

void
api_error_read(const struct record *r, struct error *ret)
{
        *ret = (struct error){ .code = error_code_find(record_get_text(r, FIELD_CODE, "")) };
        if (ret->code == ERROR_NONE)
                ret->code = ERROR_PROTOCOL;
        take(ret->path, sizeof ret->path, record_get_text(r, FIELD_AT_PATH, NULL));
        take(ret->reason, sizeof ret->reason, record_get_text(r, FIELD_REASON, NULL));
        take(ret->message, sizeof ret->message, record_get_text(r, FIELD_MESSAGE, NULL));
        take(ret->hint, sizeof ret->hint, record_get_text(r, FIELD_HINT, NULL));
        ret->line = (unsigned)record_get_uint(r, FIELD_LINE, 0);
        ret->column = (unsigned)record_get_uint(r, FIELD_COLUMN, 0);
}
