/*
 * codec/codec.h - JSON, path and query to a record, and records to JSON, as the operation table says. Pure.
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

/* The values of a path for the names in braces of its route. */
struct path_words {
        struct { const char *name; char value[PATH_WORD_ROOM]; } list[PATH_WORDS_MAX];         /* the name ends at "}" or NUL; decoded */
        size_t count;
};

/* The word of this name, or NULL. */
const char *path_word(const struct path_words *words, const char *name);

/* What a request for an operation is made of. NULL or 0 if missing. */
struct codec_call {
        const struct operation *operation;
        const struct path_words *path;
        const char *query;
        const char *const *query_names;        /* names in the query that are the handler's own, ended by NULL */
        const char *body;
        size_t body_len;
        const char *key;                       /* of the header Idempotency-Key */
        const char *last_event;                /* of the header Last-Event-ID */
};

/*
 * Writes the record of a call, and checks it as the keeper will. The tree of the body, if there is one, is given through ret_body (NULL
 * allowed). Errors: ERROR_INVALID_ARGUMENT with the field as the place and unknown_field, type, range, missing, repeated, json, ...;
 * those of a manifest's text; ERROR_REQUEST_TOO_LARGE; ERROR_NO_MEMORY.
 */
int codec_read(struct arena *arena, const struct codec_call *call, struct record_writer *w, const struct node **ret_body, struct error *e);

/* Reads a body alone: an object, with places. "" gives an empty one. */
int codec_body(struct arena *arena, const char *body, size_t len, const struct node **ret, struct error *e);

/* The object of a JSON body into a record; used by codec_read() and by tools that have no path or query. */
int codec_members(struct arena *arena, const struct operation *o, const struct node *body, struct record_writer *w, struct error *e);

/*
 * Is the query of a route what it takes: names of the operation `o` (NULL: none) and of api/query.h, each once, and words that it knows? Errors:
 * ERROR_INVALID_ARGUMENT with the name as the place, and unknown_field, repeated, type, value, missing or encoding.
 */
int codec_query_check(const struct operation *o, const char *method, const char *route, const char *query, struct error *e);

/* A value of the query, decoded into the arena; NULL if it is missing or badly encoded. */
const char *codec_query(struct arena *arena, const char *query, const char *name);

/*
 * A flag of the query: true, 1 or nothing behind the name is yes, false or 0 is no. Where the name is not there, *ret stays what it was. Any
 * other word is ERROR_INVALID_ARGUMENT, with the name as its place.
 */
int codec_query_bool(const char *query, const char *name, bool *ret, struct error *e);

/* The members of an answer, into an open map, in the order of the table. */
void codec_write(struct json_writer *w, const struct operation *o, const struct record *r, int is_base64);

/* One entry as a member. */
void codec_write_member(struct json_writer *w, const char *name, const struct record_entry *entry, int is_base64);

/* The entries of this tag as a member that is a list. */
void codec_write_list(struct json_writer *w, const char *name, uint16_t tag, const struct record *r, int is_base64);

/* The entries of a list answer: each nested record of FIELD_ITEMS as an object, into an open list. */
void codec_write_items(struct json_writer *w, const struct operation *o, const struct record *r, int is_base64);

/* Every entry of a record in its own order: events, warnings. Into an open map. */
void codec_write_all(struct json_writer *w, const struct record *r, int is_base64);

#endif
