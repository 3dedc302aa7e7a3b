/*
 * cli/wall.h - the options of `carrel run` for a list of destinations.
 */
#ifndef CARREL_CLI_WALL_H
#define CARREL_CLI_WALL_H

#include "policy/host_rules.h"
#include "run/run.h"
#include "text/json.h"

/* Gives the spec's list, in `arena`. *ret is NULL if the list is empty. Errors: ERROR_NO_MEMORY. */
int wall_options(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
                 const char *id, const struct run_wall_options **ret, struct error *e);

/* Starts a gate that answers from a transcript, and may not dial (struct run_wall_options). */
int wall_start_stand_in(int *ret_control, pid_t *ret_pid, struct error *e);

/* Prints the first refusal on standard error while the command runs. */
void wall_print_first(const struct wire_wall_denied *first);

/*
 * Print the refused connections: lines on standard error, or a member "denied" of an open map.
 * Nothing if there were none.
 */
void wall_print(const struct run_result *r);
void wall_write_json(struct json_writer *w, const struct run_result *r);

#endif
