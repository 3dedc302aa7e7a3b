/*
 * filter/table.h - the content of calls.def as structs, for the build-time generator and its test.
 */
#ifndef CARREL_FILTER_TABLE_H
#define CARREL_FILTER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The answer to a call: ALLOW, an errno (1..4095), the end of the whole process, or ASK: the call
 * waits until pid 1 has answered it (ENOSYS if the filter was installed without a listener).
 */
enum { ALLOW = 0, VERDICT_KILL = 4096, ASK = 4097 };

enum { TESTS_MAX = 3, VALUES_MAX = 4, RULES_MAX = 12 };

/* A variant of the filter is a set of these; a rule is in the variants that have its world. */
enum world {
        ALWAYS = 0,
        UNIX_ON = 1u << 0,
        UNIX_OFF = 1u << 1,
        ROOT = 1u << 2,   /* uid 0 of the sandbox's own user namespace, in an image */
        ONE_ID = 1u << 3, /* such a user namespace has no other id */
};

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
