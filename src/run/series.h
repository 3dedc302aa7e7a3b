/*
 * run/series.h - commands one after the other in one sandbox, as the daemon runs them: what one
 * leaves, in files and processes, the next one finds.
 */
#ifndef CARREL_RUN_SERIES_H
#define CARREL_RUN_SERIES_H

#include <stdbool.h>

#include "base/error.h"
#include "run/options.h"
#include "run/result.h"

struct series;

/*
 * Begins the sandbox. Of the options, those of the box count: start, plan, sources, cpu_count and
 * wall, which are borrowed until the end. Errors: those of the start. A plan that cannot be carried
 * out is an error of the first command.
 */
int series_open(const struct run_options *options, struct series **ret, struct error *e);

/*
 * Runs a command, and waits. Of the options, those of the command count. All of its output is only
 * passed to `seen`, unchanged: `out`, `err`, `captures`, `sanitize` and `output_bytes` are not
 * used, and there is no terminal. kills_rest: processes that it leaves are killed when it ends. -1
 * if it never ran, as of sandbox_run(). Then no other command can run.
 */
int series_run(struct series *s, const struct run_options *options, bool kills_rest,
               struct run_result *ret, struct error *e);

/* Ends the sandbox, and waits until everything is undone. Accepts NULL. */
void series_close(struct series *s);

#endif
