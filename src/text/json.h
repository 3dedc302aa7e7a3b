/*
 * text/json.h - JSON in and out. Reader: jansson (strict, duplicate keys refused) into the same tree as
 * YAML; writer: an append-only text with one escape routine.
 */
#ifndef CARREL_TEXT_JSON_H
#define CARREL_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"
#include "text/yaml.h"

/*
 * Reads one JSON value (RFC 8259) of `len` bytes into a tree in `arena`, with line and column of every
 * value and key. Refused with ERROR_MANIFEST_SYNTAX and a reason: "json" (not JSON, not UTF-8, a byte order
 * mark, NUL even as \u0000, a number past a double's range), "duplicate_key", "empty", "too_large"; and
 * ERROR_NO_MEMORY. Messages never quote the input's values.
 */
int json_read(struct arena *arena, const char *bytes, size_t len, const struct text_limits *limits,
              const struct node **ret_root, struct error *e);

/*
 * A JSON text under construction. Commas and colons are put in by the writer; the caller opens, writes and
 * closes. Memory is the writer's own, taken with malloc; a failed allocation makes `is_broken` true and
 * every later call do nothing. Bytes that are not UTF-8 become U+FFFD, one for each broken character, as
 * Python's errors='replace' does. Control characters (C0, DEL, C1), U+2028, U+2029 and those that
 * turn the direction of reading are escaped: a text is one line unless it is pretty, and can be shown on a terminal. Numbers that JSON does not know (NaN, infinities) become null.
 */
struct json_writer {
        char *text;            /* NUL-terminated once anything was written */
        size_t len, room;
        unsigned depth;
        bool needs_comma;
        bool is_after_key;
        bool is_broken;
        bool is_pretty;        /* two-space indentation and line ends */
};

/* Names that jansson has too (json_real, json_null, json_object, ...) are left to it: both get linked. */
void json_init(struct json_writer *w, bool is_pretty);
void json_fini(struct json_writer *w);
void json_open_map(struct json_writer *w);
void json_close_map(struct json_writer *w);
void json_open_list(struct json_writer *w);
void json_close_list(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_text(struct json_writer *w, const char *text);                  /* NULL writes null */
void json_bytes(struct json_writer *w, const char *bytes, size_t len);    /* a string of len bytes */
void json_int(struct json_writer *w, int64_t value);
void json_uint(struct json_writer *w, uint64_t value);
void json_double(struct json_writer *w, double value);
void json_bool(struct json_writer *w, bool value);
void json_none(struct json_writer *w);                                       /* null */
void json_node(struct json_writer *w, const struct node *n);              /* a whole tree */
void json_raw(struct json_writer *w, const char *json, size_t len);       /* one value that another writer wrote */

/* The text so far was taken elsewhere: what is written next begins an empty one, and goes on from there. Its memory stays. */
void json_forget(struct json_writer *w);

enum { JSON_ESCAPE_MAX = 6 /* bytes that one byte can become */ };

/*
 * Writes bytes as they stand within a string, without the quotes: whole characters, as many as fit into `room` (JSON_ESCAPE_MAX at least).
 * Gives the length; *ret_taken is how many bytes were read. The last bytes of `bytes` are taken for the string's end.
 */
size_t json_escape(const char *bytes, size_t len, char *out, size_t room, size_t *ret_taken);

/* key and value in one call */
void json_member_text(struct json_writer *w, const char *key, const char *text);
void json_member_int(struct json_writer *w, const char *key, int64_t value);
void json_member_bool(struct json_writer *w, const char *key, bool value);

#endif
