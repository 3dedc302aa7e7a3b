/*
 * outcome/time_limit.h - how long one command may run, who set that limit, and where it can be
 * raised.
 */
#ifndef CARREL_OUTCOME_TIME_LIMIT_H
#define CARREL_OUTCOME_TIME_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TIME_LIMIT_NEVER UINT64_MAX

enum { TIME_LIMIT_TEXT = 32 };

enum time_limit_by {
        TIME_LIMIT_NONE,     /* there is no limit */
        TIME_LIMIT_DEFAULT,  /* of `carrel run` */
        TIME_LIMIT_MANIFEST, /* limits.timeout_ms */
        TIME_LIMIT_HOST,     /* limits_max.timeout_ms of the host file */
        TIME_LIMIT_CALL,     /* --timeout, or timeout_ms of the call */
        TIME_LIMIT_MAX
};

struct time_limit {
        uint64_t ms; /* TIME_LIMIT_NEVER: none */
        enum time_limit_by by;
};

/* "default", "manifest", "host", "call"; NULL for TIME_LIMIT_NONE. Find gives TIME_LIMIT_NONE for
 * any other word, and for NULL. */
const char *time_limit_name(enum time_limit_by by);
enum time_limit_by time_limit_find(const char *name);

/* 90000 as "90 s": in the greatest unit that needs no fraction. Gives `out`, TIME_LIMIT_TEXT bytes.
 */
const char *time_limit_text(uint64_t ms, char *out);

/* ERROR_TIMEOUT: the command was ended by this limit. The sentence has its value and its name, the
 * hint the place where it can be raised. */
void time_limit_passed(const struct time_limit *l, struct error *e);

#endif
