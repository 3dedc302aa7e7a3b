/*
 * document/kind.h - the kinds of values in a sandbox document: what each accepts, as data.
 *
 * One row serves the check, the JSON Schema and the messages. A section is a kind too: a map whose
 * members are the rows of fields.def.
 */
#ifndef CARREL_DOCUMENT_KIND_H
#define CARREL_DOCUMENT_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/tree.h"

enum document_shape {
        DOCUMENT_FREE,    /* any value */
        DOCUMENT_ANY,     /* any value but null and blank text */
        DOCUMENT_TEXT,    /* a text that is not blank */
        DOCUMENT_PATTERN, /* a text that matches `pattern` */
        DOCUMENT_AMOUNT,  /* a text or a number that matches `pattern`, and is not zero */
        DOCUMENT_TEXT_OR_MAP,
        DOCUMENT_BOOL,
        DOCUMENT_NUMBER,  /* finite, 0 or more */
        DOCUMENT_INTEGER, /* 1 to `max` */
        DOCUMENT_WORD,    /* one of `choices`, as it is written there */
        DOCUMENT_CHOICE,  /* one of `choices`, compared as a name */
        DOCUMENT_CHOICES, /* one of `choices`, or a list of them */
        DOCUMENT_PATH,    /* absolute, without ".." */
        DOCUMENT_HOST,
        DOCUMENT_AUTH,    /* a text that names a way of authentication: not blank, not "none" */
        DOCUMENT_TERM,    /* a duration, "forever", or {default: one of these, ...} */
        DOCUMENT_LIST,    /* of `item`, at least `min` */
        DOCUMENT_MAP,     /* of `members` */
        DOCUMENT_CONTROLS /* a list of names or {control, enforced} */
};

enum document_source {
        DOCUMENT_BUILD,
        DOCUMENT_PLAN,
        DOCUMENT_FROM_HOST,
        DOCUMENT_MEASURED,
        DOCUMENT_ROOT,
        DOCUMENT_OPERATOR,
        DOCUMENT_OFFERED
};

struct document_field;

struct document_kind {
        enum document_shape shape;
        const char *pattern;        /* ECMA 262 and POSIX extended: both readers agree */
        const char *const *choices; /* NULL-terminated */
        size_t min;
        int64_t max;
        const struct document_kind *item;
        const struct document_field *members;
        size_t member_count;
        /* a map that is absent, or is no map, is reported as each of its members missing */
        bool is_parts;
        const char *expects; /* for messages: "a duration such as 30s" */
};

struct document_field {
        const char *name; /* as it is written */
        bool is_required;
        const struct document_kind *kind;
        const char *missing, *invalid; /* codes */
        enum document_source source;
        const char *help; /* NULL for members of entries */
};

/* The document: a map of sections and of the recommended fields beside them. */
extern const struct document_kind document_kind;

enum { DOCUMENT_SECTIONS = 10 };

/* The section or the field beside them with this name, or NULL. */
const struct document_field *document_field_find(const struct document_kind *map, const char *name);

/* Is this field of the document a section? */
bool document_is_section(const struct document_field *field);

extern const char document_duration_pattern[];

#endif
