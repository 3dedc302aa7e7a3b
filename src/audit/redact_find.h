/*
 * audit/redact_find.h - what the rules of audit/redact.def find at one place of a text.
 */
#ifndef CARREL_AUDIT_REDACT_FIND_H
#define CARREL_AUDIT_REDACT_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "text/redact_group.h"

/* A row of audit/redact.def. */
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

/* What goes: `len` bytes behind the first `kept` ones. len 0: nothing found. */
struct redact_cut {
        size_t kept, len;
};

/* A text and a place in it. */
struct redact_place {
        const char *text;
        size_t at, len;
};

enum {
        REDACT_ASSIGNMENT = 2, /* the row "assignment" */
        REDACT_RULES = 0
#define REDACT(name, group, finder, heads, set, least, most, authority) +1
#include "audit/redact.def"
#undef REDACT
};

extern const struct redact_rule redact_rules_all[];

/* The number of the first rule that finds something at the place; REDACT_RULES: none does. */
size_t redact_find(const struct redact_place *p, struct redact_cut *ret);

/* Does a name end with one of a credential? Case, "_" and "-" do not matter. */
bool redact_is_secret_name(const char *name, size_t len);

#endif
