/*
 * filter/table.h - the content of calls.def as structs, for the build-time generator and its test.
 */
#ifndef CARREL_FILTER_TABLE_H
#define CARREL_FILTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The answer to a call: ALLOW, an errno (1..4095), or the end of the whole process. */
enum { ALLOW = 0, VERDICT_KILL = 4096 };

enum { TESTS_MAX = 3, VALUES_MAX = 4, RULES_MAX = 12 };

enum world { ALWAYS, UNIX_ON, UNIX_OFF };

enum relation {
        TEST_NONE,    /* no test: the row has fewer than TESTS_MAX */
        TEST_ONE_OF,  /* (argument & mask) is one of the values */
        TEST_ANY_BIT, /* (argument & mask) is not 0 */
};

/* One question about the low half of one argument. */
struct test {
        uint32_t relation; /* enum relation */
        uint32_t argument; /* 0..5 */
        uint32_t mask;
        uint32_t count; /* of values, 1..VALUES_MAX; 0 with TEST_ANY_BIT */
        uint32_t values[VALUES_MAX];
};

struct rule {
        struct test tests[TESTS_MAX]; /* all must match */
        int verdict;
};

/* The decision about one number. Without rules the verdict is `otherwise`. */
struct decision {
        const char *name; /* NULL: no row, answered ENOSYS */
        int otherwise;
        unsigned int rule_count;
        struct rule rules[RULES_MAX]; /* the first that matches decides */
};

enum { NUMBERS_MAX = 1024 };

/* All decisions of one variant for one architecture. Numbers from NUMBERS_MAX on return ENOSYS. */
struct table {
        uint32_t audit_arch; /* AUDIT_ARCH_...: the only architecture whose calls are
                              * judged */
        struct decision decisions[NUMBERS_MAX];
};

#endif
