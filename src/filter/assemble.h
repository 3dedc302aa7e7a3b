/*
 * filter/assemble.h - translates decisions into the kernel's filter language.
 */
#ifndef CARREL_FILTER_ASSEMBLE_H
#define CARREL_FILTER_ASSEMBLE_H

#include <linux/filter.h>

#include "filter/table.h"

enum { STEPS_MAX = 1024 };

/* A program, written backwards: steps[first] .. steps[STEPS_MAX - 1]. */
struct assembly {
        struct sock_filter steps[STEPS_MAX];
        size_t first;
};

/*
 * Writes the program for `t` into *a (caller's memory; its old content is lost). 0, or -1: the
 * program would be longer than STEPS_MAX.
 */
int assemble(struct assembly *a, const struct table *t);

#endif
