/* base/unit.h - what every unit test includes: cmocka with its needs, and our fail() given back. */
#ifndef CARREL_BASE_UNIT_H
#define CARREL_BASE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail
#undef fail_msg

/* Ends a test with a sentence: which row of a table went wrong. */
#define fail_msg(...)                      \
        do {                               \
                print_error(__VA_ARGS__);  \
                print_error("\n");         \
                _fail(__FILE__, __LINE__); \
        } while (0)

#endif
