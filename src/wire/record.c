/*
 * wire/record.c - typed fields in one flat run of bytes.
 *
 * Room: wire (words). Touches: mem.
 */
#include "wire/record.h"

#include <string.h>

struct head {
        uint16_t tag, type;
        uint32_t len;
};

static size_t
padded(size_t len)
{
        return (len + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

/* -- writing ----------------------------------------------------------------------------------- */

void
record_init(struct record_writer *w, void *bytes, size_t room)
{
        *w = (struct record_writer){ .bytes = bytes, .room = room };
}

void
record_bytes(struct record_writer *w, uint16_t tag, enum record_type type, const void *bytes,
             size_t len)
{
        struct head head = { tag, (uint16_t)type, (uint32_t)len };

        if (w->is_broken || len > UINT32_MAX - RECORD_ALIGN ||
            padded(len) + sizeof head > w->room - w->len) {
                w->is_broken = 1;
                return;
        }
        memcpy(w->bytes + w->len, &head, sizeof head);
        memset(w->bytes + w->len + sizeof head, 0, padded(len));
        if (len > 0)
                memcpy(w->bytes + w->len + sizeof head, bytes, len);
        w->len += sizeof head + padded(len);
}

void
record_uint(struct record_writer *w, uint16_t tag, uint64_t value)
{
        record_bytes(w, tag, RECORD_UINT, &value, sizeof value);
}

void
record_int(struct record_writer *w, uint16_t tag, int64_t value)
{
        record_bytes(w, tag, RECORD_INT, &value, sizeof value);
}

void
record_bool(struct record_writer *w, uint16_t tag, int value)
{
        uint64_t number = value != 0;

        record_bytes(w, tag, RECORD_BOOL, &number, sizeof number);
}

void
record_text(struct record_writer *w, uint16_t tag, const char *text)
{
        if (text)
                record_bytes(w, tag, RECORD_TEXT, text, strlen(text) + 1);
}

void
record_json(struct record_writer *w, uint16_t tag, const char *text)
{
        if (text)
                record_bytes(w, tag, RECORD_JSON, text, strlen(text) + 1);
}

size_t
record_open(struct record_writer *w, uint16_t tag)
{
        size_t mark = w->len;

        record_bytes(w, tag, RECORD_NESTED, NULL, 0);
        return mark;
}

void
record_close(struct record_writer *w, size_t mark)
{
        struct head head;

        if (w->is_broken)
                return;
        memcpy(&head, w->bytes + mark, sizeof head);
        head.len = (uint32_t)(w->len - mark - sizeof head);
        memcpy(w->bytes + mark, &head, sizeof head);
}

/* -- reading ----------------------------------------------------------------------------------- */

int
record_next(const struct record *r, size_t *at, struct record_entry *ret)
{
        struct head head;

        if (*at == r->len)
                return 0;
        if (*at > r->len || r->len - *at < sizeof head)
                return -1;
        memcpy(&head, r->bytes + *at, sizeof head);
        if (head.type == 0 || head.type >= RECORD_TYPE_MAX ||
            padded(head.len) > r->len - *at - sizeof head)
                return -1;
        *ret = (struct record_entry){ head.tag, (enum record_type)head.type,
                                      r->bytes + *at + sizeof head, head.len };
        *at += sizeof head + padded(head.len);
        return 1;
}

static int
is_whole(const struct record_entry *e)
{
        switch (e->type) {
        case RECORD_UINT:
        case RECORD_INT:
                return e->len == sizeof(uint64_t);
        case RECORD_BOOL:
                return e->len == sizeof(uint64_t) && *(const uint64_t *)e->value <= 1;
        case RECORD_TEXT:
        case RECORD_JSON:
                return e->len > 0 &&
                       memchr(e->value, '\0', e->len) == (const char *)e->value + e->len - 1;
        default:
                return 1;
        }
}

static int
check(const struct record *r, int depth)
{
        struct record_entry e;
        size_t at = 0;
        int got;

        if (depth > RECORD_DEPTH_MAX)
                return -1;
        while ((got = record_next(r, &at, &e)) > 0) {
                struct record inner = { e.value, e.len };

                if (!is_whole(&e) || (e.type == RECORD_NESTED && check(&inner, depth + 1) < 0))
                        return -1;
        }
        return got;
}

int
record_check(const struct record *r)
{
        return check(r, 1);
}

int
record_find(const struct record *r, uint16_t tag, struct record_entry *ret)
{
        struct record_entry e;
        size_t at = 0;

        while (record_next(r, &at, &e) > 0) {
                if (e.tag == tag) {
                        *ret = e;
                        return 1;
                }
        }
        return 0;
}

uint64_t
record_get_uint(const struct record *r, uint16_t tag, uint64_t fallback)
{
        struct record_entry e;

        return record_find(r, tag, &e) && e.type == RECORD_UINT ? *(const uint64_t *)e.value
                                                                : fallback;
}

int64_t
record_get_int(const struct record *r, uint16_t tag, int64_t fallback)
{
        struct record_entry e;

        return record_find(r, tag, &e) && e.type == RECORD_INT ? *(const int64_t *)e.value
                                                               : fallback;
}

int
record_get_bool(const struct record *r, uint16_t tag, int fallback)
{
        struct record_entry e;

        return record_find(r, tag, &e) && e.type == RECORD_BOOL ? *(const uint64_t *)e.value != 0
                                                                : fallback;
}

const char *
record_get_text(const struct record *r, uint16_t tag, const char *fallback)
{
        struct record_entry e;

        return record_find(r, tag, &e) && (e.type == RECORD_TEXT || e.type == RECORD_JSON)
                       ? e.value
                       : fallback;
}

struct record
record_get_nested(const struct record *r, uint16_t tag)
{
        struct record_entry e;

        if (record_find(r, tag, &e) && e.type == RECORD_NESTED)
                return (struct record){ e.value, e.len };
        return (struct record){ NULL, 0 };
}
