/*
 * cli/plan_summary.h - a plan in words for people: what commands can see, write, reach, receive and
 * use up.
 */
#ifndef CARREL_CLI_PLAN_SUMMARY_H
#define CARREL_CLI_PLAN_SUMMARY_H

#include <stdio.h>

#include "cli/prepare.h"

/* `w` has a plan. Names from outside are escaped. */
void plan_summary_print(FILE *out, const struct run_way *w);

#endif
