/*
 * loop/startup.h - what one program of Carrel passes to another on its command line: descriptors
 * and settings.
 *
 * The program has one table. Exactly what it lists is accepted: an unknown option, an option given
 * twice, a missing required one, a value of another form and a descriptor that is not open are
 * refused. Programs of users do not read their options here (cli/options.h).
 */
#ifndef CARREL_LOOP_STARTUP_H
#define CARREL_LOOP_STARTUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum startup_kind {
        STARTUP_FD,     /* int, -1 before: an open descriptor from 3 on; becomes close-on-exec */
        STARTUP_NUMBER, /* uint64_t: decimal, at most `most` */
        STARTUP_TEXT,   /* const char *: borrowed from argv */
        STARTUP_FLAG,   /* bool: the option has no value */
};

struct startup_option {
        const char *name; /* "--keeper-fd" */
        enum startup_kind kind;
        unsigned is_required;
        size_t offset; /* in the struct that is filled; its members keep their values if absent */
        uint64_t most; /* of a number */
        /* If not 0: the member is an array of so many, and offset_count that of its size_t */
        size_t room, offset_count;
};

enum { STARTUP_OPTIONS_MAX = 32 };

/* Rows of these: a member of struct s. */
#define STARTUP_ROW(s, member, name, kind, required)                     \
        {                                                                \
                (name), (kind), (required), offsetof(s, member), 0, 0, 0 \
        }
#define STARTUP_LIST(s, member, member_count, name, kind, room)                              \
        {                                                                                    \
                (name), (kind), 0, offsetof(s, member), 0, (room), offsetof(s, member_count) \
        }

/*
 * Reads argv[1] to argv[argc - 1] by `count` rows (at most STARTUP_OPTIONS_MAX) into `into`.
 * Errors: ERROR_INVALID_ARGUMENT, with the option's name.
 */
int startup_read(const struct startup_option *rows, size_t count, int argc, char **argv, void *into,
                 struct error *e);

#endif
