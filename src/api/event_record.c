/*
 * api/event_record.c - an event in bytes.
 *
 * Room: api (deciding, pure). Touches: nothing.
 * Theory: event/event.def has the members once; record and JSON differ only in how a value is
 * written.
 */
#include "api/event_record.h"

#include <string.h>

#include "api/ending.h"
#include "api/operation.h"

/* The types of the fields, to compare with those of the members. */
enum {
#define FIELD(number, name, json, type, help) TYPE_OF_##name = FIELD_TYPE_##type,
#include "api/fields.def"
#undef FIELD
};

#define FIELD_OF_TEXT FIELD_TYPE_TEXT
#define FIELD_OF_UINT FIELD_TYPE_UINT
#define FIELD_OF_ENDING FIELD_TYPE_TEXT
#define MEMBER(TAG, member, TYPE) \
        _Static_assert((int)TYPE_OF_##TAG == (int)FIELD_OF_##TYPE, #TAG " is of another type");
#include "event/event.def"

/* -- records ----------------------------------------------------------------------------------- */

static void
write_uint(struct record_writer *w, uint16_t tag, uint64_t value)
{
        if (value != 0)
                record_uint(w, tag, value);
}

static void
write_end(struct record_writer *w, const struct outcome *end)
{
        if (end)
                ending_record(w, end);
}

void
event_record(struct record_writer *w, const struct event *e)
{
        record_text(w, FIELD_EVENT, e->word);
        write_uint(w, FIELD_AT, e->from.at_ms);
        record_text(w, FIELD_ID, e->from.id);
        record_text(w, FIELD_STATUS, e->from.status);
        record_text(w, FIELD_CAUSE, e->from.cause);
#define WRITE_TEXT(TAG, member) record_text(w, FIELD_##TAG, e->member);
#define WRITE_UINT(TAG, member) write_uint(w, FIELD_##TAG, e->member);
#define WRITE_ENDING(TAG, member) write_end(w, e->member);
#define MEMBER(TAG, member, TYPE) WRITE_##TYPE(TAG, member)
#include "event/event.def"
}

int
event_record_read(const struct record *r, struct event *ret, struct outcome *ret_end)
{
        const char *word = record_get_text(r, FIELD_EVENT, NULL);

        if (!word)
                return -1;
        *ret = (struct event){
                .kind = event_find(word),
                .word = word,
                .from = { .at_ms = record_get_uint(r, FIELD_AT, 0),
                          .id = record_get_text(r, FIELD_ID, NULL),
                          .status = record_get_text(r, FIELD_STATUS, NULL),
                          .cause = record_get_text(r, FIELD_CAUSE, NULL) },
#define READ_TEXT(TAG) record_get_text(r, FIELD_##TAG, NULL)
#define READ_UINT(TAG) record_get_uint(r, FIELD_##TAG, 0)
#define READ_ENDING(TAG) ending_read(r, ret_end) ? ret_end : NULL
#define MEMBER(TAG, member, TYPE) .member = READ_##TYPE(TAG),
#include "event/event.def"
        };
        return 0;
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void
json_text_of(struct json_writer *w, uint16_t tag, const char *value)
{
        if (value)
                json_member_text(w, api_field(tag)->name, value);
}

static void
json_uint_of(struct json_writer *w, uint16_t tag, uint64_t value)
{
        if (value == 0)
                return;
        json_key(w, api_field(tag)->name);
        json_uint(w, value);
}

static void
json_end(struct json_writer *w, const struct outcome *end)
{
        if (end)
                ending_write(w, end);
}

void
event_json(struct json_writer *w, const struct event *e)
{
        json_text_of(w, FIELD_EVENT, e->word);
        json_uint_of(w, FIELD_AT, e->from.at_ms);
        json_text_of(w, FIELD_ID, e->from.id);
        json_text_of(w, FIELD_STATUS, e->from.status);
        json_text_of(w, FIELD_CAUSE, e->from.cause);
#define JSON_TEXT(TAG, member) json_text_of(w, FIELD_##TAG, e->member);
#define JSON_UINT(TAG, member) json_uint_of(w, FIELD_##TAG, e->member);
#define JSON_ENDING(TAG, member) json_end(w, e->member);
#define MEMBER(TAG, member, TYPE) JSON_##TYPE(TAG, member)
#include "event/event.def"
}

/* -- the audit log ----------------------------------------------------------------------------- */

/* Bytes of the first word of a command, as event/fact.h writes it. */
static size_t
word_len(const char *text)
{
        size_t i = 2;

        if (text[0] == '\'')
                return strcspn(text + 1, "'") + 2;
        if (text[0] != '$')
                return strcspn(text, " ");
        while (text[i] != '\0' && text[i] != '\'')
                i += text[i] == '\\' && text[i + 1] != '\0' ? 2 : 1;
        return i + 1;
}

/* Word by word, because what follows an option like --password is removed from the log. */
static void
write_words(struct json_writer *w, const char *command)
{
        json_key(w, "argv");
        json_open_list(w);
        while (*command != '\0') {
                size_t quote = command[0] == '\'' ? 1 : 0, len = word_len(command);

                json_bytes(w, command + quote, len - 2 * quote);
                command += len;
                command += *command == ' ';
        }
        json_close_list(w);
}

/* The one place through which texts of a command pass on their way into the log. */
void
event_audit_json(struct json_writer *w, const struct event *e)
{
        struct event rest = *e;

        rest.command = NULL;
        event_json(w, &rest);
        if (e->command)
                write_words(w, e->command);
}
