/*
 * filter/meaning.h - what a call is answered, computed in two ways: from the table, and by running
 * the program.
 */
#ifndef CARREL_FILTER_MEANING_H
#define CARREL_FILTER_MEANING_H

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "filter/table.h"

/* The table's answer, as the value that a filter returns (SECCOMP_RET_...). */
uint32_t meaning_of_table(const struct table *t, const struct seccomp_data *call);

/*
 * The program's result; 0 (kill the thread) for a program that leaves its bounds or has an unknown
 * instruction.
 */
uint32_t meaning_of_steps(const struct sock_filter *steps, size_t count,
                          const struct seccomp_data *call);

/*
 * Compares the two for every number up to NUMBERS_MAX and some far beyond. It uses the arguments
 * that matter to any test of that call and their neighbours, with high halves empty and full. 0:
 * always equal; -1: *ret_call is the first call with a difference.
 */
int meaning_check(const struct table *t, const struct sock_filter *steps, size_t count,
                  struct seccomp_data *ret_call);

#endif
