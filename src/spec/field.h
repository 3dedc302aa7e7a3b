/*
 * spec/field.h - the fields of a manifest as rows: type, bounds, default and help, and the
 * functions that read them.
 *
 * A row is written once. field.c decodes by it, schema.c prints JSON Schema from it, help.c the
 * reference page. Two spellings of one field (timeout_ms, timeoutMs) are treated as one. In YAML
 * the second spelling warns, in JSON the first; both with different values is an error. Three
 * errors differ: an unknown key (with the nearest known name), a field that is known but not
 * supported here, and a bad value.
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

#define FIELD_NOWHERE SIZE_MAX /* checked, not stored */
#define FIELD_INTEGER_MAX NUMBER_EXACT_MAX

enum field_kind {
        FIELD_TEXT,   /* stored as const char *; min and max are bytes; `matches` may narrow it */
        FIELD_UINT,   /* stored as uint64_t; exact, min to max */
        FIELD_BOOL,   /* stored as bool */
        FIELD_CHOICE, /* stored as const char *: one of `choices` */
        /* with `members`: decoded into base + offset; without: stored as const struct node * */
        FIELD_MAP,
        FIELD_LIST,   /* of `item`; min and max are items; stored as const struct node *, or see
                         `read` */
        FIELD_ONE_OF, /* one of the forms in `members`; needs `read` */
        FIELD_UNSUPPORTED, /* known, but refused here; `help` says where it belongs */
};

enum field_flag {
        FIELD_REQUIRED = 1u << 0,
        FIELD_OLD = 1u << 1,      /* another spelling of `instead`: accepted, warns */
        FIELD_UNLISTED = 1u << 2, /* not in the JSON Schema */
        FIELD_SECRET = 1u << 3,   /* names a secret: warns if it cannot be an AIP-19 slug */
        FIELD_LOOSE_TYPE =
                1u << 4, /* a number is a bad pattern, not a bad type (an unquoted version) */
};

struct field {
        const char *name;  /* canonical; NULL for list items and for forms of a FIELD_ONE_OF */
        const char *camel; /* second spelling, or NULL */
        enum field_kind kind;
        unsigned flags;
        size_t offset;                     /* into the struct being filled, or FIELD_NOWHERE */
        uint64_t min, max;                 /* max 0: no bound */
        uint64_t fallback;                 /* FIELD_UINT: the default, UINT64_MAX for none */
        const char *pattern;               /* FIELD_TEXT: ECMA 262 expression for the JSON Schema */
        bool (*matches)(const char *text); /* ... and the code that decides */
        const char *const *choices;        /* NULL-terminated */
        const struct field_set *members;
        const struct field *item;
        const char *instead; /* FIELD_OLD: the spelling to use */
        /* Instead of storing: called once the type is right (FIELD_ONE_OF: any type); `base` is not
         * moved by offset. */
        void (*read)(struct judge *j, const struct node *value, const struct trail *at, void *base);
        /* FIELD_UINT: the text of what applies if the field is not written, if that is not
         * `fallback`; or NULL */
        const char *unwritten;
        const char *help; /* one sentence */
};

struct field_set {
        const struct field *rows;
        size_t count;         /* at most FIELD_SET_MAX */
        enum error_code code; /* the error code of a fault in one of the fields */
        bool is_open;         /* other keys are permitted */
        const char *hint;     /* for an unknown key that resembles none; or NULL */
};

enum { FIELD_SET_MAX = 24 };

#define FIELD_SET(table) .rows = (table), .count = sizeof(table) / sizeof((table)[0])

/*
 * The next step after a mistake, as a sentence for error_hint(). Each gives NULL where the help of
 * the row is the best advice. Static, or in the judge's arena.
 */
struct field_advice {
        /* For `member`, whose key no row of `set` has. */
        const char *(*key)(struct judge *j, const struct field_set *set, const struct node *member);
        /* For a value whose type differs from that of `row`, a row of `set`. */
        const char *(*type)(struct judge *j, const struct field_set *set, const struct field *row,
                            const struct node *value);
        /* For a value that is not one of the choices of `row`. */
        const char *(*choice)(struct judge *j, const struct field *row, const char *text);
        /* "`config: {}`": a line for the field `name`, which may be NULL. */
        const char *(*example)(struct judge *j, const char *name);
};

/*
 * Reports unknown keys and merges spellings: values[i] becomes the node for row i, or NULL. `map`
 * must be a map. field_read() reports missing required fields.
 */
void fields_fold(struct judge *j, const struct field_set *set, const struct node *map,
                 const struct trail *at, const struct node *values[FIELD_SET_MAX]);

/*
 * Decodes one value of fields_fold() (NULL: absent; `map` is the map it belongs to). Returns true
 * if the value is present and good.
 */
bool field_read(struct judge *j, const struct field_set *set, const struct field *row,
                const struct node *map, const struct node *value, const struct trail *at,
                void *base);

/* As field_read(), for an item of a list: the only row of `set`, at `at` itself. */
bool field_item_read(struct judge *j, const struct field_set *set, const struct node *item,
                     const struct trail *at, void *base);

/*
 * Both, for every row in order; a value that is not a map is a type error. Returns true if there
 * was no fault.
 */
bool fields_read(struct judge *j, const struct field_set *set, const struct node *map,
                 const struct trail *at, void *base);

/* Writes the default of every FIELD_UINT row. */
void fields_default(const struct field_set *set, void *base);

/* "a string", "a map", ...: for messages. */
const char *field_kind_words(enum field_kind kind);

/* Is `text` shaped as an AIP-19 secret slug ("acme/openai-key")? */
bool field_slug_check(const char *text);

#endif
