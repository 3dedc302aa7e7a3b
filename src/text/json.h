/*
 * text/json.h - JSON reader and writer. Reader: jansson (strict, duplicate keys refused), into the
 * same tree as YAML. Writer: an append-only text with one escape routine.
 */
#ifndef CARREL_TEXT_JSON_H
#define CARREL_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/limits.h"
#include "text/tree.h"

/*
 * Reads one JSON value (RFC 8259) of `len` bytes into a tree in `arena`, with line and column of
 * every value and key. Refused with ERROR_MANIFEST_SYNTAX and a reason: "json" (not JSON, not
 * UTF-8, a byte order mark, NUL even as \u0000, a number past a double's range), "duplicate_key",
 * "empty", "too_large"; and ERROR_NO_MEMORY. Messages never quote the input's values.
 */
int json_read(struct arena *arena, const char *bytes, size_t len, const struct text_limits *limits,
              const struct node **ret_root, struct error *e);

/*
 * A JSON text under construction. The writer adds commas and colons; the caller opens, writes and
 * closes. The writer allocates its memory with malloc. After a failed allocation `is_broken` is
 * true and later calls do nothing.
 *
 * Bytes that are not UTF-8 become U+FFFD, one for each broken character, as Python's
 * errors='replace' does. Control characters (C0, DEL, C1), U+2028, U+2029 and bidirectional
 * controls are escaped. So a text is one line unless it is pretty, and is safe to show on a
 * terminal. Numbers that JSON does not have (NaN, infinities) become null.
 */
struct json_writer {
        char *text; /* NUL-terminated after the first write */
        size_t len, room;
        unsigned depth;
        bool needs_comma;
        bool is_after_key;
        bool is_broken;
        bool is_pretty; /* two-space indentation and line ends */
};

/*
 * Names that jansson also has (json_real, json_null, json_object, ...) are avoided: both are
 * linked.
 */
void json_init(struct json_writer *w, bool is_pretty);
void json_fini(struct json_writer *w);
void json_open_map(struct json_writer *w);
void json_close_map(struct json_writer *w);
void json_open_list(struct json_writer *w);
void json_close_list(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_text(struct json_writer *w, const char *text);               /* NULL writes null */
void json_bytes(struct json_writer *w, const char *bytes, size_t len); /* a string of len bytes */
void json_int(struct json_writer *w, int64_t value);
void json_uint(struct json_writer *w, uint64_t value);
void json_double(struct json_writer *w, double value);
void json_bool(struct json_writer *w, bool value);
void json_none(struct json_writer *w);                       /* null */
void json_node(struct json_writer *w, const struct node *n); /* a whole tree */
/* one value that another writer produced */
void json_raw(struct json_writer *w, const char *json, size_t len);

/*
 * Empties the text after the caller has copied it; later writes continue the same JSON value. The
 * memory stays allocated.
 */
void json_forget(struct json_writer *w);

/* Begins another JSON value. The memory stays allocated; `text` is as before until the first write.
 */
void json_again(struct json_writer *w);

enum { JSON_ESCAPE_MAX = 6 /* bytes that one byte can become */ };

/*
 * Writes bytes as they appear inside a JSON string, without the quotes: only whole characters, as
 * many as fit into `room` (at least JSON_ESCAPE_MAX). Returns the length; *ret_taken receives the
 * number of bytes read. The end of `bytes` counts as the end of the string.
 */
size_t json_escape(const char *bytes, size_t len, char *out, size_t room, size_t *ret_taken);

/* key and value in one call */
void json_member_text(struct json_writer *w, const char *key, const char *text);
void json_member_int(struct json_writer *w, const char *key, int64_t value);
void json_member_bool(struct json_writer *w, const char *key, bool value);

#endif
