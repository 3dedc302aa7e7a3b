/*
 * wire/record.h - typed fields in one flat run of bytes: what a call carries between the keeper and
 * who calls it.
 *
 * A record is a sequence of entries: a head of 8 bytes (tag, type, length), then the value, padded
 * to 8. Entries may repeat: a list is a tag that stands several times. A record inside a record is
 * an entry whose value is one. There is nothing to parse but lengths; every reader checks them, and
 * an entry that does not fit ends the record as malformed. No allocation, no pointer, nothing but
 * libc: host byte order, because both ends are processes of one machine.
 */
#ifndef CARREL_WIRE_RECORD_H
#define CARREL_WIRE_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum record_type {
        RECORD_UINT = 1, /* uint64_t */
        RECORD_INT,      /* int64_t */
        RECORD_BOOL,     /* uint64_t, 0 or 1 */
        RECORD_TEXT,     /* UTF-8 and a NUL, which the length counts; no other NUL */
        RECORD_BYTES,    /* any bytes */
        RECORD_NESTED,   /* a record */
        RECORD_TREE,     /* a tree of values (text/tree_pack.h) */
        RECORD_JSON, /* as RECORD_TEXT; the text of one JSON value, carried and never looked into */
        RECORD_TYPE_MAX
};

enum { RECORD_ALIGN = 8, RECORD_DEPTH_MAX = 4 };

/* -- writing ----------------------------------------------------------------------------------- */

/* `bytes` is the caller's, aligned to 8. What does not fit sets is_broken, and every later call
 * does nothing. */
struct record_writer {
        unsigned char *bytes;
        size_t len, room;
        int is_broken;
};

void record_init(struct record_writer *w, void *bytes, size_t room);
void record_uint(struct record_writer *w, uint16_t tag, uint64_t value);
void record_int(struct record_writer *w, uint16_t tag, int64_t value);
void record_bool(struct record_writer *w, uint16_t tag, int value);
void record_text(struct record_writer *w, uint16_t tag, const char *text); /* NULL writes nothing */
void record_json(struct record_writer *w, uint16_t tag, const char *text); /* NULL writes nothing */
void record_bytes(struct record_writer *w, uint16_t tag, enum record_type type, const void *bytes,
                  size_t len);

/* What is written between the two belongs to the nested record. open gives a mark for close. */
size_t record_open(struct record_writer *w, uint16_t tag);
void record_close(struct record_writer *w, size_t mark);

/* -- reading ----------------------------------------------------------------------------------- */

struct record {
        const unsigned char *bytes;
        size_t len;
}; /* borrowed, aligned to 8 */

struct record_entry {
        uint16_t tag;
        enum record_type type;
        const void *value; /* aligned to 8 */
        size_t len;        /* of the value, without padding */
};

/* Walks: start with *at 0. 1: an entry; 0: the end; -1: malformed. */
int record_next(const struct record *r, size_t *at, struct record_entry *ret);

/* Is every entry, at every depth, whole and of the shape its type says? Readers below count on it.
 * 0 or -1. */
int record_check(const struct record *r);

/* The first entry of this tag. 1: found; 0: not found (ret is not changed). */
int record_find(const struct record *r, uint16_t tag, struct record_entry *ret);

/* The value of the first entry of this tag, or the fallback if it is missing or has another type.
 */
uint64_t record_get_uint(const struct record *r, uint16_t tag, uint64_t fallback);
int64_t record_get_int(const struct record *r, uint16_t tag, int64_t fallback);
int record_get_bool(const struct record *r, uint16_t tag, int fallback);
const char *record_get_text(const struct record *r, uint16_t tag,
                            const char *fallback); /* also RECORD_JSON; borrowed */
struct record record_get_nested(const struct record *r, uint16_t tag); /* empty if missing */

#endif
