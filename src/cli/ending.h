/*
 * cli/ending.h - how a command ended, as `carrel run --json` and `carrel exec --json` print it.
 */
#ifndef CARREL_CLI_ENDING_H
#define CARREL_CLI_ENDING_H

#include <stddef.h>

#include "carrel/carrel.h"
#include "outcome/outcome.h"
#include "outcome/time_limit.h"
#include "text/json.h"

/* libcarrel's form of an ending, as the one that api/ending.h writes. */
struct outcome ending_of_carrel(const struct carrel_end *end);

struct ending {
        struct outcome outcome;
        struct time_limit limit; /* the command's; by: TIME_LIMIT_NONE for none */
        const char *out, *err;   /* borrowed; NULL where the length is 0 */
        size_t out_len, err_len;
};

/*
 * Writes the members of the ending into an open map (api/ending.h), then timeout_ms and timeout_by
 * if it had a limit, timed_out, stdout, stderr and truncated. AIP-36 names the flag timed_out
 * (A36-074); it says the same as the outcome "timed_out".
 */
void ending_write_json(struct json_writer *w, const struct ending *x);

/* Writes the member "error" if an error goes with the outcome. */
void ending_write_error(struct json_writer *w, const struct ending *x);

#endif
