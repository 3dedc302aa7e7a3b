/*
 * cli/plan_summary.h - what a plan means, for people: what commands see, write, reach, are given, and may use up.
 */
#ifndef CARREL_CLI_PLAN_SUMMARY_H
#define CARREL_CLI_PLAN_SUMMARY_H

#include <stdio.h>

#include "cli/prepare.h"

/* `w` has a plan. Names that came from outside are escaped. */
void plan_summary_print(FILE *out, const struct run_way *w);

#endif
