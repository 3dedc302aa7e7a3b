/*
 * text/redact_find.h - what the rules of text/redact.def find at one place of a text: an entry of
 * an audit log (audit/redact.h), or what a command printed (text/sanitize.h).
 */
#ifndef CARREL_TEXT_REDACT_FIND_H
#define CARREL_TEXT_REDACT_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "text/redact_group.h"

/* A row of text/redact.def. */
struct redact_rule {
        const char *name;
        enum redact_group group;
        const char *authority;
};

/* All rules; `ret_count` receives their number. */
const struct redact_rule *redact_rules(size_t *ret_count);

/*
 * The rules of these groups remove nothing from now on, in this process: a bit for each enum
 * redact_group. The bit of the credentials has no effect. Until the first call, every rule applies.
 */
void redact_leave(unsigned groups);

/* The line that ends a private key: this, its label, and the second. */
#define REDACT_KEY_END "-----END "
#define REDACT_KEY_CLOSE "-----"

/* What goes: `len` bytes behind the first `kept` ones. len 0: nothing found. */
struct redact_cut {
        size_t kept, len;
        bool is_open_key; /* a private key whose last line is not in the text */
};

/* A text and a place in it. The byte before the place counts, too. */
struct redact_place {
        const char *text;
        size_t at, len;
        unsigned leaves; /* groups that are not tried, beside those of redact_leave() */
        /* set if a rule looked past the end: more text could change the answer. NULL: not set */
        bool *met_end;
};

enum {
        REDACT_ASSIGNMENT = 2, /* the row "assignment" */
        REDACT_RULES = 0
#define REDACT(name, group, finder, heads, set, least, most, authority) +1
#include "text/redact.def"
#undef REDACT
};

extern const struct redact_rule redact_rules_all[];

/* The number of the first rule that finds something at the place; REDACT_RULES: none does. */
size_t redact_find(const struct redact_place *p, struct redact_cut *ret);

/* What replaces the text that a rule found; returns its length. */
enum { REDACT_MARK_MAX = 64 };
size_t redact_mark(size_t rule, char ret[REDACT_MARK_MAX]);

/* Does it end a value of the rule "assignment": space, a quote, & ; or a comma? */
bool redact_ends_value(char c);

/* Does a name end with one of a credential? Case, "_" and "-" do not matter. */
bool redact_is_secret_name(const char *name, size_t len);

#endif
