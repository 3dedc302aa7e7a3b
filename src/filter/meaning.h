/*
 * filter/meaning.h - what a call is answered, told twice: by the table's words, and by running the program.
 */
#ifndef CARREL_FILTER_MEANING_H
#define CARREL_FILTER_MEANING_H

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "filter/table.h"

/* The table's own word, as the value a filter returns (SECCOMP_RET_...). */
uint32_t meaning_of_table(const struct table *t, const struct seccomp_data *call);

/* What the program returns; 0 (kill the thread) for a program that leaves its bounds or is not understood. */
uint32_t meaning_of_steps(const struct sock_filter *steps, size_t count, const struct seccomp_data *call);

/*
 * Asks both about every number up to NUMBERS_MAX and some far beyond, with the arguments that matter to any test
 * of that call and their neighbours, with high halves empty and full. 0 where they never differ; else -1, and
 * *ret_call is the first call they differ about.
 */
int meaning_check(const struct table *t, const struct sock_filter *steps, size_t count, struct seccomp_data *ret_call);

#endif
