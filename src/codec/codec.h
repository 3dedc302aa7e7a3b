/*
 * codec/codec.h - converts JSON, path and query to a record, and records to JSON, by the operation
 * table. Pure.
 */
#ifndef CARREL_CODEC_CODEC_H
#define CARREL_CODEC_CODEC_H

#include <stdbool.h>

#include "api/operation.h"
#include "base/arena.h"
#include "base/error.h"
#include "text/json.h"
#include "text/tree.h"

enum { BODY_MAX = 1 << 20 /* bytes of a body that is read as a whole */ };
enum { PATH_WORDS_MAX = 4, PATH_WORD_ROOM = 256 };

/* The values in a path for the names in braces of its route. */
struct path_words {
        /* the name ends at "}" or NUL; the value is decoded */
        struct {
                const char *name;
                char value[PATH_WORD_ROOM];
        } list[PATH_WORDS_MAX];
        size_t count;
};

/* Returns the value with this name, or NULL. */
const char *path_word(const struct path_words *words, const char *name);

/* The parts of a request for an operation. Missing parts are NULL or 0. */
struct codec_call {
        const struct operation *operation;
        const struct path_words *path;
        const char *query;
        /* query names that the handler reads itself, ended by NULL */
        const char *const *query_names;
        const char *body;
        size_t body_len;
        const char *key;        /* of the header Idempotency-Key */
        const char *last_event; /* of the header Last-Event-ID */
};

/*
 * Writes the record of a call, and checks it as the keeper does. Gives the tree of the body, if
 * there is one, in ret_body (may be NULL). Errors: ERROR_INVALID_ARGUMENT with the field as the
 * place and unknown_field, type, range, missing, repeated, json, ...; those of a manifest's text;
 * ERROR_REQUEST_TOO_LARGE; ERROR_NO_MEMORY.
 */
int codec_read(struct arena *arena, const struct codec_call *call, struct record_writer *w,
               const struct node **ret_body, struct error *e);

/* Reads only a body: an object, with places for errors. "" gives an empty object. */
int codec_body(struct arena *arena, const char *body, size_t len, const struct node **ret,
               struct error *e);

/*
 * Writes one parameter into a record: `n` is its JSON, all items of a repeated one. codec_read()
 * uses it, and tools that have no path or query. Errors: ERROR_INVALID_ARGUMENT with the name as
 * the place; those of a manifest that is a text.
 */
int codec_param(struct arena *arena, const struct api_param *p, const struct node *n, int is_base64,
                struct record_writer *w, struct error *e);

/* Reads `encoding` of an object: base64, utf-8, utf8, text, null or none. Errors: as above. */
int codec_encoding(const struct node *map, int *ret_is_base64, struct error *e);

/*
 * Checks the query of a route. It may hold names of the operation `o` (NULL: none) and of
 * api/query.h, each once and with an allowed value. Errors: ERROR_INVALID_ARGUMENT with the name as
 * the place, and unknown_field, repeated, type, value, missing or encoding.
 */
int codec_query_check(const struct operation *o, const char *method, const char *route,
                      const char *query, struct error *e);

/* Returns a query value, decoded into the arena. NULL if it is missing or badly encoded. */
const char *codec_query(struct arena *arena, const char *query, const char *name);

/*
 * Reads a flag of the query. "true", "1" or no value mean yes; "false" or "0" mean no. If the name
 * is missing, *ret does not change. Any other value is ERROR_INVALID_ARGUMENT with the name as the
 * place.
 */
int codec_query_bool(const char *query, const char *name, bool *ret, struct error *e);

/* Writes the members of an answer into an open map, in the order of the table. */
void codec_write(struct json_writer *w, const struct operation *o, const struct record *r,
                 int is_base64);

/* Writes one entry as a member. */
void codec_write_member(struct json_writer *w, const char *name, const struct record_entry *entry,
                        int is_base64);

/* Writes the entries with this tag as one member that is a list. */
void codec_write_list(struct json_writer *w, const char *name, uint16_t tag, const struct record *r,
                      int is_base64);

/*
 * Writes the items of a list answer into an open list: each nested record of FIELD_ITEMS as an
 * object.
 */
void codec_write_items(struct json_writer *w, const struct operation *o, const struct record *r,
                       int is_base64);

/* Writes every entry of a record in the record's own order (events, warnings) into an open map. */
void codec_write_all(struct json_writer *w, const struct record *r, int is_base64);

#endif
