/* base/unit.h - what every unit test includes: cmocka with its needs, and our fail() given back. */
#ifndef CARREL_BASE_UNIT_H
#define CARREL_BASE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#endif
