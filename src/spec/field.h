/*
 * spec/field.h - the fields of a manifest as rows: type, bounds, default and help, and what reads them.
 *
 * A row is written once. field.c decodes by it, schema.c prints JSON Schema from it, help.c the reference page.
 * Two spellings of one field (timeout_ms, timeoutMs) are folded here: in YAML the second warns, in JSON the first;
 * both with different values is an error. Three different answers are given to a key that is unknown (with the name
 * it may have been meant to be), a field that is known and not supported here, and a value that is bad.
 */
#ifndef CARREL_SPEC_FIELD_H
#define CARREL_SPEC_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/numbers.h"
#include "spec/judge.h"
#include "text/tree.h"

#define FIELD_NOWHERE SIZE_MAX               /* checked, not stored */
#define FIELD_INTEGER_MAX NUMBER_EXACT_MAX

enum field_kind {
        FIELD_TEXT,             /* stored as const char *; min and max are bytes; `matches` may narrow it */
        FIELD_UINT,             /* stored as uint64_t; exact, min to max */
        FIELD_BOOL,             /* stored as bool */
        FIELD_CHOICE,           /* stored as const char *: one of `choices` */
        FIELD_MAP,              /* with `members`: decoded into base + offset; without: stored as const struct node * */
        FIELD_LIST,             /* of `item`; min and max are items; stored as const struct node *, or see `read` */
        FIELD_ONE_OF,           /* one of the forms in `members`; needs `read` */
        FIELD_UNSUPPORTED,      /* known, and refused here; `help` says where it belongs */
};

enum field_flag {
        FIELD_REQUIRED = 1u << 0,
        FIELD_OLD = 1u << 1,          /* another spelling of `instead`: accepted, warns */
        FIELD_UNLISTED = 1u << 2,     /* not in the JSON Schema */
        FIELD_SECRET = 1u << 3,       /* names a secret: warns where AIP-19 could not hold such a slug */
        FIELD_LOOSE_TYPE = 1u << 4,   /* a number is a bad pattern, not a bad type (an unquoted version) */
};

struct field {
        const char *name;             /* canonical; NULL for list items and for forms of a FIELD_ONE_OF */
        const char *camel;            /* second spelling, or NULL */
        enum field_kind kind;
        unsigned flags;
        size_t offset;                /* into the struct being filled, or FIELD_NOWHERE */
        uint64_t min, max;            /* max 0: no bound */
        uint64_t fallback;            /* FIELD_UINT: the default, UINT64_MAX for none */
        const char *pattern;          /* FIELD_TEXT: ECMA 262 expression for the JSON Schema */
        bool (*matches)(const char *text);   /* ... and the code that decides */
        const char *const *choices;   /* NULL-terminated */
        const struct field_set *members;
        const struct field *item;
        const char *instead;          /* FIELD_OLD: the spelling to use */
        /* Instead of storing: called once the type is right (FIELD_ONE_OF: any type); `base` is not moved by offset. */
        void (*read)(struct judge *j, const struct node *value, const struct trail *at, void *base);
        const char *unwritten;        /* FIELD_UINT: what holds where nobody wrote it, if that is not `fallback`; or NULL */
        const char *help;             /* one sentence */
};

struct field_set {
        const struct field *rows;
        size_t count;                 /* at most FIELD_SET_MAX */
        enum error_code code;         /* what a fault in one of them is called */
        bool is_open;                 /* other keys are permitted */
        const char *hint;             /* for an unknown key that resembles none; or NULL */
};

enum { FIELD_SET_MAX = 24 };

#define FIELD_SET(table) .rows = (table), .count = sizeof(table) / sizeof((table)[0])

/*
 * Reports unknown keys and folds spellings: values[i] becomes the node for row i, or NULL. `map` must be a map.
 * Missing required fields are left to field_read().
 */
void fields_fold(struct judge *j, const struct field_set *set, const struct node *map, const struct trail *at,
                 const struct node *values[FIELD_SET_MAX]);

/* Decodes one folded value (NULL: absent; `map` is where it should have stood). Answers: is it there and good? */
bool field_read(struct judge *j, const struct field_set *set, const struct field *row, const struct node *map,
                const struct node *value, const struct trail *at, void *base);

/* As field_read(), for an item of a list: the only row of `set`, at `at` itself. */
bool field_item_read(struct judge *j, const struct field_set *set, const struct node *item, const struct trail *at,
                     void *base);

/* Both, for every row in order; a value that is no map is a type error. Answers: was there no fault? */
bool fields_read(struct judge *j, const struct field_set *set, const struct node *map, const struct trail *at,
                 void *base);

/* Writes the default of every FIELD_UINT row. */
void fields_default(const struct field_set *set, void *base);

/* "a string", "a map", ...: for sentences. */
const char *field_kind_words(enum field_kind kind);

/* Is `text` shaped as an AIP-19 secret slug ("acme/openai-key")? */
bool field_slug_check(const char *text);

#endif
