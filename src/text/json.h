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

/* Reads one JSON value of `len` bytes into a tree in `arena`; errors as yaml_read() gives them. */
int json_read(struct arena *arena, const char *bytes, size_t len, const struct text_limits *limits,
              const struct node **ret_root, struct error *e);

/*
 * A JSON text under construction. Commas and colons are put in by the writer; the caller opens, writes and
 * closes. Memory is the writer's own, taken with malloc; a failed allocation makes `is_broken` true and
 * every later call do nothing. Bytes that are not UTF-8 become U+FFFD.
 */
struct json_writer {
        char *text;            /* NUL-terminated once anything was written */
        size_t len, room;
        unsigned depth;
        bool needs_comma;
        bool is_broken;
        bool is_pretty;        /* two-space indentation and line ends */
};

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
void json_real(struct json_writer *w, double value);
void json_bool(struct json_writer *w, bool value);
void json_null(struct json_writer *w);
void json_node(struct json_writer *w, const struct node *n);              /* a whole tree */

/* key and value in one call */
void json_member_text(struct json_writer *w, const char *key, const char *text);
void json_member_int(struct json_writer *w, const char *key, int64_t value);
void json_member_bool(struct json_writer *w, const char *key, bool value);

#endif
